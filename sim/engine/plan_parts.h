/* What makes a plan: shared by the files that make plans, seen by no other. */
#pragma once

#include "sim/engine/collective_plan.h"
#include "sim/engine/route_loads.h"

/* A copy of the question (kind, group, elements), to be answered by an algorithm. */
CollectivePlan *plan_new(Arena *arena, const CollectivePlan *question, Algorithm algorithm);
/* Adds elements [at, end) as a piece that takes the axes from axis `part` on, but the network between slices
 * last (or, of an all-to-all, in its turn); nothing where there are none. */
void plan_add_piece(Arena *arena, CollectivePlan *plan, uint32_t part, int64_t at, int64_t end);
/* Hops, bytes and time of a plan whose transfers all run side by side. */
void plan_take_loads(CollectivePlan *plan, const RouteLoads *loads, IciCost cost);
/* The plan in words: its axes, algorithm and pieces. */
Str plan_text(Arena *arena, const CollectivePlan *plan);

/* Each part cut into so many pieces; `parts` is 1 or the number of torus axes. */
CollectivePlan *plan_rings(Arena *arena, const CollectivePlan *question, IciCost cost, uint32_t parts,
                           uint32_t pieces);
/* An all-reduce of values too small to be cut: latency once along each axis, instead of twice. */
CollectivePlan *plan_whole(Arena *arena, const CollectivePlan *question, IciCost cost);
/* A gather or a reduction in which each member sends to each other one at once; NULL where it cannot win. */
CollectivePlan *plan_one_shot(Arena *arena, const Pod *pod, const CollectivePlan *question, IciCost cost);
const CollectivePlan *plan_all_to_all(Arena *arena, const CollectivePlan *question, IciCost cost);

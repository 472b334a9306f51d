/* Plans of what goes straight to where it is wanted. An all-to-all takes the axes one after the other, a
 * piece in each order, so that all links work at once; a permute is one DMA; a broadcast is passed on in
 * chunks, so many that the first and the last wait for each other alike. */
#include "sim/engine/plan_parts.h"

#include "sim/engine/route.h"

#include <math.h>

/* Elements over the fullest link of an axis, when each of its chips sends `each` to each other one. */
static double pairs_link_bytes(GroupAxis axis, double each) {
  double length = axis.length, pairs = axis.length % 2 == 0 ? length * length : length * length - 1;
  return axis.load * each * pairs / (axis.ring ? 8 : 4);
}

Slice phase_slice(const CollectivePlan *plan, uint32_t buffer, uint32_t piece, uint32_t phase) {
  const Piece *own = &plan->pieces.at[piece];
  int64_t members = plan->group->members, phases = plan->group->n_axes;
  return (Slice){buffer, (phases * own->at + phase * own->n) * members, own->n * members};
}

static Slice slice_part(Slice slice, uint32_t part, int64_t n) {
  return (Slice){slice.buffer, slice.at + part * n, n};
}

Slice sent_slice(const CollectivePlan *plan, uint32_t piece, uint32_t target) {
  return slice_part(phase_slice(plan, PLAN_WORK, piece, 0), piece_part(plan, piece, target),
                    plan->pieces.at[piece].n);
}

/* In the end the axis that was gone last is the outermost. */
Slice received_slice(const CollectivePlan *plan, uint32_t piece, uint32_t source) {
  const Piece *own = &plan->pieces.at[piece];
  uint32_t part = 0, last = plan->group->n_axes - 1;
  for (uint32_t phase = last + 1; phase-- > 0;) {
    uint32_t axis = own->order[phase];
    part = part * plan->group->axes[axis].length + group_position(plan->group, axis, source);
  }
  return slice_part(phase_slice(plan, PLAN_SLOTS, piece, last), part, own->n);
}

const CollectivePlan *plan_all_to_all(Arena *arena, const CollectivePlan *question, IciCost cost) {
  CollectivePlan *plan = plan_new(arena, question, ALGORITHM_DIRECT);
  uint32_t parts = plan->group->n_axes;
  for (uint32_t part = 0; part < parts; part++)
    plan_add_piece(arena, plan, part, plan->elements * part / parts, plan->elements * (part + 1) / parts);
  if (plan->elements == 0) plan->pieces.n = 1;
  plan->buffers[PLAN_WORK] = plan->buffers[PLAN_SLOTS] = plan->elements * plan->group->members * parts;
  plan->stages = parts;
  plan->n_semaphores = plan->pieces.n * (parts + 1) + 1; /* received in each phase, sent; done */
  plan->done_semaphore = plan->n_semaphores - 1;
  double bytes = (double)plan->elements * plan->group->members * plan->element_bits / 8;
  for (uint32_t i = 0; i < parts; i++) {
    GroupAxis axis = plan->group->axes[i];
    plan->steps += group_axis_steps(axis) * axis.hops;
    plan->link_bytes = fmax(plan->link_bytes, pairs_link_bytes(axis, bytes / axis.length));
  }
  plan->seconds = ici_seconds(cost, plan->steps, plan->link_bytes);
  return plan;
}

/* ---- permute and broadcast */

/* The longest way between a source and its target, in hops; the load of links is not looked at. */
static uint32_t longest_hops(const Pod *pod, const GroupLayout *group, const uint32_t *target_of) {
  uint32_t longest = 0;
  for (uint32_t i = 0; i < group->members; i++) {
    if (target_of[i] == NO_MEMBER) continue;
    uint32_t hops = route_links(pod, group->chips[i], group->chips[target_of[i]], NULL, NULL);
    if (hops > longest) longest = hops;
  }
  return longest;
}

const CollectivePlan *permute_plan(Arena *arena, const Pod *pod, const GroupLayout *group,
                                   const uint32_t *target_of, const uint32_t *source_of, int64_t elements,
                                   uint32_t element_bits) {
  CollectivePlan *plan = ARENA_NEW(arena, CollectivePlan);
  IciCost cost = ici_cost(pod);
  *plan = (CollectivePlan){.kind = COLLECTIVE_PERMUTE,
                           .algorithm = ALGORITHM_DIRECT,
                           .group = group,
                           .element_bits = element_bits,
                           .elements = elements,
                           .target_of = target_of,
                           .source_of = source_of,
                           .buffers = {elements, elements},
                           .n_semaphores = 2,
                           .steps = longest_hops(pod, group, target_of),
                           .text = STR("routes in dimension order")};
  plan->link_bytes = plan->steps == 0 ? 0 : (double)elements * element_bits / 8;
  plan->seconds = ici_seconds(cost, plan->steps, plan->link_bytes);
  return plan;
}

/* Hops of the longest branch. */
static uint32_t tree_depth(const GroupLayout *group) {
  uint32_t depth = 0;
  for (uint32_t i = 0; i < group->n_axes; i++) depth += (group->axes[i].length - 1) * group->axes[i].hops;
  return depth;
}

enum { MOST_CHUNKS = 32 };

/* Chunks that make latency on the way and waiting for the first chunk alike. */
static uint32_t best_chunks(double stream_bytes, uint32_t depth, int64_t elements, IciCost cost) {
  double best = cost.hop == 0 ? MOST_CHUNKS : sqrt(depth * stream_bytes * cost.byte / cost.hop);
  if (best > MOST_CHUNKS) best = MOST_CHUNKS;
  if (best > (double)elements) best = (double)elements;
  return best < 1 ? 1 : (uint32_t)best;
}

const CollectivePlan *broadcast_plan(Arena *arena, const Pod *pod, const GroupLayout *group, uint32_t root,
                                     int64_t elements, uint32_t element_bits) {
  CollectivePlan *plan = ARENA_NEW(arena, CollectivePlan);
  IciCost cost = ici_cost(pod);
  uint32_t streams = 1, depth = tree_depth(group);
  for (uint32_t i = 0; i < group->n_axes; i++)
    if (group->axes[i].ring) streams = 2;
  *plan = (CollectivePlan){.kind = COLLECTIVE_BROADCAST,
                           .algorithm = ALGORITHM_TREE,
                           .group = group,
                           .element_bits = element_bits,
                           .elements = elements,
                           .root = root,
                           .streams = streams,
                           .buffers = {elements, 0},
                           .steps = depth};
  plan->link_bytes = (double)elements * element_bits / 8 / streams;
  plan->chunks = best_chunks(plan->link_bytes, depth, elements / streams, cost);
  plan->ports = streams * plan->chunks;
  plan->done_semaphore = plan->ports + streams * RING_PORTS * group->n_axes;
  plan->n_semaphores = plan->done_semaphore + 1;
  plan->seconds = ici_seconds(cost, depth, plan->link_bytes * (depth + plan->chunks - 1.0) / plan->chunks);
  plan->text = plan_text(arena, plan);
  return plan;
}

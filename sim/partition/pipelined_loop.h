/* Loops that fetch ahead: collectives whose operands are known an iteration early run in the one before. */
#pragma once

#include "sim/partition/partition.h"

typedef struct {
  uint32_t comp, loop; /* the while, of the module */
  uint32_t counter;    /* the element of its state that counts */
  Vec(uint32_t) ahead; /* instructions of the body: the collectives */
} PipelinedLoop;

typedef Vec(PipelinedLoop) PipelinedLoops;

/* Every loop with a counter, and all collectives of its body whose operands follow from the counter, from
 * what the loop passes on as it is, and from constants. */
PipelinedLoops pipelined_loops_find(Arena *arena, const Partitioned *partitioned);

/* The same program with these collectives fetched ahead: the first before the loop, one in each iteration but
 * the last, which stands behind the loop; so each loop must run at least twice. `reasons` go along. `from`
 * must outlive the result, which partitioned_free() frees. */
Partitioned *partitioned_pipeline(const Partitioned *from, const PipelinedLoops *loops);

/* When the groups of a computation are expected to run. */
#pragma once

#include "sim/schedule/fuse.h"

/* By place in the order of groups: when each begins, and whether it holds a product. */
typedef struct {
  int64_t *at_ps;
  bool *multiplies;
} ExpectedStarts;

/* As the TPU compiler expects it when it gives out VMEM. Lives in `arena`. */
ExpectedStarts expected_starts(Arena *arena, const Pod *pod, const Module *module, uint32_t comp,
                               const Groups *groups);

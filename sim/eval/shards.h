/* Shards of arrays: how a global value lies on the devices, cutting it and putting it together, and the copy
 * of a box, which these and the collectives are made of. */
#pragma once

#include "sim/eval/evaluate.h"

/* How a global value of at most EVAL_MAX_RANK dimensions lies on the devices: device d holds box
 * [start[d][dim], stop[d][dim]), padded to `local`. */
typedef struct {
  uint32_t rank, devices;
  const int64_t *start, *stop; /* devices * rank */
  const int64_t *local;        /* rank */
  /* In a manual region nested in another the devices hold parts of several values: value_of[d] is the lowest
   * device that holds a part of the same value as d. NULL where there is one value. */
  const uint32_t *value_of;
} ShardBoxes;

/* Copies a box of `extent` (of the arrays' rank, at most EVAL_MAX_RANK) from one array into another of its
 * type. Starts are NULL for zero. An empty box is fine. */
void tensor_copy_box(Tensor *to, const int64_t *to_start, const Tensor *from, const int64_t *from_start,
                     const int64_t *extent);

/* A device's shard of a global array, padding zero. Where the shard is the whole value it is that value.
 * Unknown values stay unknown. */
Tensor *tensor_shard(Tensor *global, const ShardBoxes *boxes, uint32_t device);
/* The shards of all devices (given); devices with the same box share one tensor. */
void tensor_cut(Tensor *global, const ShardBoxes *boxes, Tensor **locals);
/* Puts the global array of `dims` together. Of devices that hold the same box the first one counts; those
 * with no tensor (NULL) bring nothing. */
Tensor *tensor_join(Tensor *const *locals, const ShardBoxes *boxes, const int64_t *dims);
/* The same for one of several values: of the devices whose value_of is `value`. */
Tensor *tensor_join_value(Tensor *const *locals, const ShardBoxes *boxes, uint32_t value,
                          const int64_t *dims);

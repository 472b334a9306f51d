/* From shardings to boxes: the glue between sim/shard, which knows meshes, and sim/eval, which knows arrays.
 */
#pragma once

#include "sim/eval/interpret.h"
#include "sim/shard/sharding.h"

/* How an array of `dims` lies on the devices 0 … devices-1; all in `arena`. A sharding on one device, and
 * NULL, count as replicated. `manual` (NULL: all) restricts the sharding to these axes. */
ShardBoxes shard_boxes(Arena *arena, const Sharding *sharding, const AxisList *manual, const int64_t *dims,
                       uint32_t rank, uint32_t devices);

/* The callback for the manual regions of `module`, which must be flattened if it has nested ones. `arena`
 * holds what it needs. The mesh of each region must have as many devices. */
Status region_boxes_new(Arena *arena, const Module *module, uint32_t devices, RegionBoxes *regions,
                        Diag *diag);

/* Runs an unpartitioned program on whole inputs (borrowed, a parameter each): outside of manual regions on
 * one value, inside on one a device of the program's mesh. `root` is given. */
Status unpartitioned_run(const Module *module, Tensor *const *inputs, int64_t trip_limit, Tensor **root,
                         Diag *diag);

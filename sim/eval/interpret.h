/* The lockstep interpreter: runs a module for all devices at once, op by op, collectives by their definition,
 * no time. With one device it evaluates an unpartitioned program (the half of --check); with many a
 * partitioned one: the oracle of the partitioner and of the engine's kernels. In an unpartitioned program
 * with manual regions the values inside a region are one a device: GlobalToLocalShape slices,
 * LocalToGlobalShape assembles. */
#pragma once

#include "sim/eval/evaluate.h"
#include "sim/eval/shards.h"

/* Finds how the operands of a GlobalToLocalShape or the results of a LocalToGlobalShape (instruction `instr`
 * of `comp`) lie. Supplied by the caller, since shardings are not eval's. `leaf` counts operands (or
 * results). */
typedef struct {
  void *self;
  Status (*boxes)(void *self, Arena *arena, uint32_t comp, const Instr *instr, uint32_t leaf,
                  ShardBoxes *boxes, Diag *diag);
} RegionBoxes;

typedef struct {
  uint32_t devices;           /* 1 for an unpartitioned program without manual regions */
  const RegionBoxes *regions; /* NULL where the program has none */
  int64_t trip_limit;         /* iterations after which a while is given up */
} InterpretOptions;

/* Runs the entry. inputs[p * devices + d] is parameter p on device d (borrowed); outputs get `devices` roots
 * (given). A device's program that meets another collective than its peers' is an error (STATUS_DEADLOCK with
 * both places). */
Status interpret(const Module *module, const InterpretOptions *options, Tensor *const *inputs,
                 Tensor **outputs, Diag *diag);

/* Values of a random parameter: normal for floats, small integers else, from `seed` and `number` alone
 * (Random123's Philox). */
Tensor *tensor_random(const Shape *shape, uint64_t seed, uint64_t number);

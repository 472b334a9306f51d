/* What a group of instructions demands of a chip. */
#pragma once

#include "sim/schedule/fuse.h"

/* Demand of the group whose last instruction is `last`: its members' work; of HBM what goes in from outside,
 * each value once, and what comes out. Values in another memory space than HBM's count for VMEM alone. */
Demand group_demand(const Pod *pod, const Module *module, uint32_t comp, const Groups *groups, uint32_t last);

/* A value that a group takes from outside, and how many bytes of it; and how many more where a product's
 * operands come in windows, and are gone through several times. */
typedef struct {
  uint32_t value;
  int64_t bytes, more_bytes;
} Read;

typedef Vec(Read) Reads;

/* What the group whose last instruction is `last` reads, by value; in `arena`. */
Reads group_reads(Arena *arena, const Pod *pod, const Module *module, uint32_t comp, const Groups *groups,
                  uint32_t last);

/* Demand of a fusion instruction: of its computation as one group. */
Demand fusion_demand(const Pod *pod, const Module *module, uint32_t comp, const Instr *fusion);

/* A copy that ran before the program began: its time is that of the kernels that read it. */
bool is_prefetch_across(const Instr *instr);

/* Which values lie in VMEM from where they are made to where they are last read. */
#pragma once

#include "sim/schedule/fuse.h"

/* Fills `in_vmem` of the groups, in `arena`. */
void groups_place(Arena *arena, const Pod *pod, const Module *module, uint32_t comp, Groups *groups);

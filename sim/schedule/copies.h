/* Copies between HBM and VMEM beside the kernels. */
#pragma once

#include "sim/schedule/fuse.h"
#include "sim/schedule/vmem_room.h"

/* Fills `copies` of the groups, in `arena`, for values that `in_vmem` leaves in HBM; takes of what is left of
 * the room, whose places are the instructions where groups run. */
void copies_place(Arena *arena, const Pod *pod, const Module *module, uint32_t comp, Groups *groups,
                  VmemRoom *room);

/* Whether a group finds a value of HBM in VMEM. */
bool is_fetched(const Copies *copies, uint32_t group, uint32_t value);

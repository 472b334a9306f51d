/* Which devices a collective joins: its replica_groups or source_target_pairs read in the collective's mode
 * (xla/hlo/ir/collective_op_group_mode.cc) and spelled out as devices. With replicas,
 * device = replica * partitions + partition. */
#pragma once

#include "sim/ir/module.h"

/* The groups of a collective over `devices` devices; members in the order of the text. A device in no group
 * is left out. Ids out of range, devices in two groups and groups of different
 * sizes (where the collective needs equal ones) are errors. */
Status collective_groups(Arena *arena, const Module *module, const Instr *instr, uint32_t devices,
                         GroupList *groups, Diag *diag);
/* The same, none (n == 0) where they are wrong: for those who only choose by them. */
GroupList collective_groups_or_none(Arena *arena, const Module *module, const Instr *instr, uint32_t devices);

/* The pairs of a collective-permute as devices. A device that is twice a source or twice a target is an
 * error. */
Status collective_pairs(Arena *arena, const Module *module, const Instr *instr, uint32_t devices,
                        Pairs *pairs, Diag *diag);

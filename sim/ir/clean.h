/* Clean-ups of a module that the caller is building: they rewrite it in place, and indices change. None of
 * them looks at what an instruction means: the results stay the same for any program. */
#pragma once

#include "sim/ir/module.h"

/* The custom calls that only speak of shardings (Sharding, FuncResultSharding, GlobalToLocalShape, …):
 * without users they mean nothing, whatever they say of side effects. */
bool instr_is_sharding_call(const Instr *instr);

/* Whether each computation does something besides its result (infeed, send, custom calls that say so, or a
 * call of such a computation). */
bool *module_side_effects(Arena *arena, const Module *module);

/* Drops computations that the entry does not reach; the rest are in an order where callees come before their
 * callers. */
void module_compact(Module *module);

/* Drops instructions whose results nobody needs and that have no side effects, then computations likewise.
 * Parameters stay. */
void module_remove_dead(Module *module);

/* Of instructions of one computation that are equal (operation, operands, attributes, called computations,
 * region; metadata and channels left out) keeps the first; returns how many went. Instructions with side
 * effects, random numbers and barriers are left alone. */
uint32_t module_merge_equal(Module *module);

/* The same of constants, and of scalar constants that are broadcast, alone. */
uint32_t module_merge_constants(Module *module);

/* Whether two instructions have the same attributes (called computations by what they compute; metadata and
 * channels left out). */
bool instr_same_attrs(const Module *module, const Instr *a, const Instr *b);

/* Puts operands before their users again, and else leaves the order of a computation as it is. */
void comp_order(Module *module, uint32_t comp);

/* Puts the instructions of each computation in the order in which XLA prints them: depth first from those
 * without users, operands before users, first operands first. */
void module_sort(Module *module);

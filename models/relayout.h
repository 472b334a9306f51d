/* How an order of dimensions in memory goes through an op: pure functions of shapes and attributes. An order
 * lists dimensions from the minor one; with n == 0 it stands for "any". */
#pragma once

#include "sim/ir/module.h"

/* The order of the result that an op gives of its operand `k` in an order, without moving what need not move:
 * of an elementwise op the same, of a transpose or reshape the renamed dimensions. Any, where none follows.
 */
Ints order_through(Arena *arena, const Module *module, uint32_t comp, const Instr *instr, uint32_t k,
                   Ints order);
/* The order in which it takes operand `k` to give its result in an order. Any, where it is all the same. */
Ints order_back(Arena *arena, const Module *module, uint32_t comp, const Instr *instr, uint32_t k,
                Ints order);
/* Whether a laid transpose or reshape only renames dimensions: the bytes stay where they are. */
bool only_renames(const Module *module, uint32_t comp, const Instr *instr);
/* Whether a copy puts a value into another order; and whether what lies along the lanes stays there. */
bool is_relayout(const Module *module, uint32_t comp, const Instr *instr);
bool keeps_lanes(const Module *module, uint32_t comp, const Instr *copy);

/* Verifier: operands, attributes and shapes of every instruction, for the ops whose result shape podsim can
 * infer; others pass. */
#pragma once

#include "sim/ir/module.h"

/* What a compiler scheduled (is_scheduled=true) is held to less: it moves floats between precisions in any
 * op, and drops padding in a bitcast.
 * STATUS_INVALID with the place of the first instruction that is wrong, what was expected and what stands
 * there. */
Status module_verify(const Module *module, Diag *diag);

/* Whether every array has known sizes: STATUS_INVALID with the place of the first `?` else. */
Status module_sizes_known(const Module *module, Diag *diag);

/* The shape that an instruction has by its operands and attributes; NULL where podsim has no rule for it
 * (then what is written counts). A wrong operand is an error. */
Status infer_shape(const Module *module, uint32_t comp, const Instr *instr, Arena *arena, const Shape **shape,
                   Diag *diag);

/* Whether two shapes have the same types and sizes; an unbounded size fits any, and of `mixed` shapes a float
 * any other float. Layouts are not compared. */
bool shape_fits(const Shape *a, const Shape *b, bool mixed);

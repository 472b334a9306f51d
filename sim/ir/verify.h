/* Verifier: operands, attributes and shapes of every instruction, for the ops whose result shape podsim can
 * infer; others pass. */
#pragma once

#include "sim/ir/module.h"

/* STATUS_INVALID with the place of the first instruction that is wrong, what was expected and what stands
 * there. */
Status module_verify(const Module *module, Diag *diag);

/* The shape that an instruction has by its operands and attributes; NULL where podsim has no rule for it
 * (then what is written counts). A wrong operand is an error. */
Status infer_shape(const Module *module, uint32_t comp, const Instr *instr, Arena *arena, const Shape **shape,
                   Diag *diag);

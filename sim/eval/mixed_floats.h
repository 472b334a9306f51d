/* Ops whose float types differ where a program as JAX emits it has one type (mixed_floats.c). */
#pragma once

#include "sim/eval/evaluators.h"

/* Whether an op that takes and gives one float type is given several, or writes another. */
bool mixes_floats(const EvalContext *context, const Instr *instr, Tensor *const *operands);
/* Whether an op must have its operands in the very types that are written. */
bool needs_settled(const Instr *instr);
/* Runs the evaluator on such operands. */
Status eval_settled(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Evaluator evaluator, Tensor **result);
/* Runs the evaluator on operands of one type, and rounds what it gives to the types that are written, if
 * not in excess precision. */
Status eval_mixed_floats(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                         Evaluator evaluator, Tensor **result);

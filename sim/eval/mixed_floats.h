/* Ops whose float types differ where a program as JAX emits it has one type (mixed_floats.c). */
#pragma once

#include "sim/eval/evaluators.h"

/* Whether an op that takes and gives one float type is given several, or writes another. */
bool mixes_floats(const EvalContext *context, const Instr *instr, Tensor *const *operands);
/* Runs the evaluator on operands of one type, and rounds what it gives to the types that are written. */
Status eval_mixed_floats(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                         Evaluator evaluator, Tensor **result);

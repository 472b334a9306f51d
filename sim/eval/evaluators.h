/* The evaluators of opcode.def, one an op or kind of op, each in a file of its own kind, and what they share.
 * An evaluator is called by eval_op() alone: operands are known arrays (tuples only where the op takes them),
 * ranks are at most EVAL_MAX_RANK, and the shapes are those the verifier passed. */
#pragma once

#include "sim/eval/evaluate.h"

#define OP(name, text, arity, evaluator, rule, cost)                                                         \
  Status eval_##evaluator(const EvalContext *context, const Instr *instr, Tensor *const *operands,           \
                          Tensor **result);
#include "sim/ir/opcode.def"
#undef OP

/* An error at the instruction: what is not supported, and a hint. */
Status eval_unsupported(const EvalContext *context, const Instr *instr, const char *what);
/* A tensor for the result: operand `i`, if the caller gives it up, nobody else holds it and it has the bytes
 * that are needed; else a new one. Ops that write each byte after they read it use this. */
Tensor *result_in_place(const EvalContext *context, const Instr *instr, Tensor *const *operands);
/* Whether an evaluator may write into operand `i`. */
bool may_overwrite(const EvalContext *context, const Instr *instr, Tensor *const *operands, uint32_t i);

/* Runs a computation of scalars on n elements at once: operands are vectors of n elements (one a parameter),
 * the result is a vector or a tuple of vectors. Vectorised where every instruction is elementwise, else one
 * element after the other. */
Status comp_map(const EvalContext *context, uint32_t comp, Tensor *const *operands, uint32_t n_operands,
                int64_t n, Tensor **result);

/* Whether the target of a custom call can be evaluated. */
bool custom_call_exists(Str target);

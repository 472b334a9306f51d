/* What each op computes, with the semantics of XLA on a CPU. One function an op (eval_<evaluator> of
 * opcode.def), dispatched here. */
#pragma once

#include "sim/eval/tensor.h"

enum {
  EVAL_MAX_RANK = 32,  /* dimensions of an array that can be evaluated */
  EVAL_MAX_DEPTH = 200 /* computations that call each other */
};

/* What an evaluation knows beside the operands. */
typedef struct {
  const Module *module;
  uint32_t comp;               /* of the instruction */
  uint32_t partition, replica; /* of the device */
  int64_t known_limit; /* results of more elements are left unknown; 0: no limit. For runs without numbers. */
  const bool *given_up;  /* operands that the caller drops after the op: an op may write its result into one
                          * that nobody else holds. NULL: none. */
  bool excess_precision; /* of a scheduled program: what the compiler alone rounds to a narrower float keeps
                          * its bits, so that a tensor's float type may be wider than its instruction's */
  uint32_t depth;        /* of calls */
  Diag *diag;
} EvalContext;

typedef Status (*Evaluator)(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                            Tensor **result);

/* The evaluator of an opcode; NULL where the interpreter or a kernel runs it, or where there is none. */
Evaluator evaluator_of(Opcode op);
/* Whether podsim can compute an instruction's values; control flow and collectives count as yes. */
bool can_evaluate(const Instr *instr);

/* Computes one op. Where an operand is not known the result is not known either, unless the op does not
 * depend on it (shape only). parameter, control flow and collectives are not for this function. */
Status eval_op(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result);

/* The tensor (given) with the element types of `shape`: what excess precision left wider is rounded. */
Tensor *tensor_settled(Tensor *tensor, const Shape *shape);

/* Runs a whole small computation (a reduction's, a comparator's) on operands; result is its root. */
Status eval_comp(const EvalContext *context, uint32_t comp, Tensor *const *operands, uint32_t n,
                 Tensor **result);

/* into[i] = comp(into[i], from[i]) for `n` elements of `dtype`: the step of every reduction and of every
 * collective that reduces. Fast for a plain binary op, by eval_comp() else. Rounded to `dtype` at each step.
 */
Status eval_combine(const EvalContext *context, uint32_t comp, DType dtype, void *into, const void *from,
                    int64_t n);

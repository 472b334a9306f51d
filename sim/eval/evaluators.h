/* The evaluators of opcode.def, one an op or kind of op, each in a file of its own kind, and what they share.
 * An evaluator is called by eval_op() alone: operands are known arrays (tuples only where the op takes them),
 * ranks are at most EVAL_MAX_RANK, and the shapes are those the verifier passed. */
#pragma once

#include "sim/eval/box.h"

#define OP(name, text, arity, evaluator, rule, cost)                                                         \
  Status eval_##evaluator(const EvalContext *context, const Instr *instr, Tensor *const *operands,           \
                          Tensor **result);
#include "sim/ir/opcode.def"
#undef OP
#define TARGET(text, evaluator, passes_on)                                                                   \
  Status eval_##evaluator(const EvalContext *context, const Instr *instr, Tensor *const *operands,           \
                          Tensor **result);
#include "sim/eval/custom_call.def"
#undef TARGET

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
/* The same for the value of one instruction in place of the root's. */
Status comp_map_value(const EvalContext *context, uint32_t comp, uint32_t instr, Tensor *const *operands,
                      uint32_t n_operands, int64_t n, Tensor **result);

/* Values that a computation combines: those that `into_view` selects with those of `from_view`. */
typedef struct {
  Tensor *into;
  View into_view;
  const Tensor *from;
  View from_view;
} Combining;

/* into = comp(into, from) for n pairs of one size at once: the computation takes n values of each and gives
 * n. */
Status comp_combine(const EvalContext *context, uint32_t comp, const Combining *pairs, uint32_t n);

/* A plain op that elements may be combined by in any order (add, maximum, …), if the computation is that and
 * the type has it; else OP_COUNT. */
Opcode plain_reduction(const Module *module, uint32_t comp, DType dtype);
/* The type that a plain reduction keeps its results in: f64 for sums of f32, f32 for smaller floats. */
DType reduction_dtype(Opcode op, DType dtype);
/* The type that products of a dot or convolution are summed in: the widest of operands and result, f32 at
 * least. Integers wrap, so that the result's width is enough. */
DType product_dtype(DType lhs, DType rhs, DType result);
/* Which dimensions of a dot are batch and contracting; the others are free. */
typedef struct {
  Ints lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
} DotDims;
DotDims dot_dims(const Instr *instr);
/* The product as [batch, free of lhs, free of rhs], each group one dimension. */
Tensor *tensor_dot(Tensor *lhs, Tensor *rhs, const DotDims *dims, DType dtype);
/* A dense copy whose dimension d is dimension order[d] of x. */
Tensor *tensor_transposed(const Tensor *x, const int64_t *order);
/* The array in another type: itself (a reference) where it has it. */
Tensor *tensor_converted(Tensor *tensor, DType dtype);

/* Whether the target of a custom call can be evaluated. */
bool custom_call_exists(const Instr *instr);
/* Whether it hands on its operands, known or not. */
bool custom_call_passes_on(Str target);

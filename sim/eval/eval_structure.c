/* Ops that make, pass on or take apart values without computing: constants, ids, tuples, tokens, copies. */
#include "sim/eval/evaluators.h"

#include <stdlib.h>

Status eval_constant(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                     Tensor **result) {
  (void)context, (void)operands;
  *result = tensor_from_literal(instr->literal);
  return STATUS_OK;
}

static Tensor *scalar_u32(uint32_t value) {
  Tensor *tensor = tensor_new_array(DTYPE_U32, NULL, 0, true);
  *(uint32_t *)tensor->data = value;
  return tensor;
}

Status eval_partition_id(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                         Tensor **result) {
  (void)instr, (void)operands;
  *result = scalar_u32(context->partition);
  return STATUS_OK;
}

Status eval_replica_id(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                       Tensor **result) {
  (void)instr, (void)operands;
  *result = scalar_u32(context->replica);
  return STATUS_OK;
}

static Tensor *tuple_of(Tensor *const *parts, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) tensor_retain(parts[i]);
  return tensor_tuple((Tensor **)parts, n);
}

Status eval_tuple(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  (void)context;
  *result = tuple_of(operands, instr->operands.n);
  return STATUS_OK;
}

Status eval_get_tuple_element(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                              Tensor **result) {
  int64_t index = instr_int(instr, ATTR_index, 0);
  if (operands[0]->dtype != DTYPE_TUPLE || index < 0 || index >= operands[0]->rank)
    return eval_unsupported(context, instr, "an element that the tuple has not");
  *result = tensor_retain(operands[0]->parts[index]);
  return STATUS_OK;
}

/* A copy that a compiler made may change the width of floats. */
Status eval_first_operand(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                          Tensor **result) {
  (void)context;
  bool converts = dtype_class(operands[0]->dtype) == DCLASS_FLOAT && shape_is_array(instr->shape);
  *result = converts ? tensor_converted(operands[0], instr->shape->dtype) : tensor_retain(operands[0]);
  return STATUS_OK;
}

Status eval_token(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  (void)context, (void)operands;
  *result = tensor_new(instr->shape, true);
  return STATUS_OK;
}

/* copy-start gives (copy, original, context); copy-done takes the first of them. */
Status eval_copy_start(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                       Tensor **result) {
  const Shape *shape = instr->shape;
  if (!shape_is_tuple(shape) || shape->rank < 2)
    return eval_unsupported(context, instr, "a copy-start that gives no tuple");
  Tensor *parts[3] = {operands[0], operands[0], NULL};
  if (shape->rank > 3)
    return eval_unsupported(context, instr, "a copy-start that gives more than three values");
  if (shape->rank == 3) parts[2] = tensor_new(shape->parts[2], false);
  *result = tuple_of(parts, shape->rank);
  tensor_release(parts[2]);
  return STATUS_OK;
}

Status eval_copy_done(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                      Tensor **result) {
  if (operands[0]->dtype != DTYPE_TUPLE || operands[0]->rank == 0)
    return eval_unsupported(context, instr, "a copy-done of what no copy-start made");
  *result = tensor_retain(operands[0]->parts[0]);
  return STATUS_OK;
}

/* Sizes are static: what was written counts. */
Status eval_get_dimension_size(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                               Tensor **result) {
  Ints dimensions = instr_ints(instr, ATTR_dimensions);
  if (dimensions.n != 1 || dimensions.at[0] >= operands[0]->rank)
    return eval_unsupported(context, instr, "the size of this dimension");
  *result = tensor_new(instr->shape, true);
  tensor_set_double(*result, 0, (double)operands[0]->dims[dimensions.at[0]]);
  return STATUS_OK;
}

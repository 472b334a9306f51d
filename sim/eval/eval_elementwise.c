/* Ops that compute each element of the result from the elements at the same place. */
#include "sim/eval/evaluators.h"
#include "sim/eval/kernel.h"

#include <math.h>
#include <string.h>

static Status undefined_for(const EvalContext *context, const Instr *instr, DType dtype) {
  return diag_fail(context->diag, STATUS_INVALID, instr->place, NULL, "%s is not defined for %s",
                   op_text(instr->op), dtype_text(dtype));
}

Status eval_unary(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  const Tensor *x = operands[0];
  RETURN_IF(!unary_exists(instr->op, x->dtype), undefined_for(context, instr, x->dtype));
  *result = result_in_place(context, instr, operands);
  unary_run(instr->op, x->dtype, tensor_elements(x), x->data, (*result)->data);
  return STATUS_OK;
}

Status eval_binary(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  const Tensor *x = operands[0], *y = operands[1];
  RETURN_IF(!binary_exists(instr->op, x->dtype), undefined_for(context, instr, x->dtype));
  *result = result_in_place(context, instr, operands);
  binary_run(instr->op, x->dtype, tensor_elements(x), x->data, y->data, (*result)->data);
  return STATUS_OK;
}

Status eval_compare(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  const Tensor *x = operands[0], *y = operands[1];
  CompareDirection direction;
  if (!compare_direction_parse(instr_word(instr, ATTR_direction), &direction))
    return eval_unsupported(context, instr, "this direction of compare");
  bool total = str_is(instr_word(instr, ATTR_type), "TOTALORDER");
  *result = tensor_new(instr->shape, true);
  if (compare_run(direction, x->dtype, total, tensor_elements(x), x->data, y->data, (*result)->data))
    return STATUS_OK;
  tensor_release(*result);
  return undefined_for(context, instr, x->dtype);
}

Status eval_select(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  const Tensor *pred = operands[0], *x = operands[1], *y = operands[2];
  if (pred->rank == 0 && x->rank != 0) {
    *result = tensor_retain(operands[*pred->data ? 1 : 2]);
    return STATUS_OK;
  }
  *result = result_in_place(context, instr, operands);
  select_run(dtype_bytes(x->dtype), tensor_elements(x), pred->data, x->data, y->data, (*result)->data);
  return STATUS_OK;
}

/* A bound of clamp as an array of x's shape; it gives a reference. */
static Tensor *spread(Tensor *bound, const Tensor *x) {
  if (bound->rank == x->rank) return tensor_retain(bound);
  Tensor *full = tensor_new_array(bound->dtype, x->dims, x->rank, true);
  box_fill(full->data, bound->data, dtype_bytes(bound->dtype), tensor_elements(full));
  return full;
}

Status eval_clamp(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  const Tensor *x = operands[1];
  RETURN_IF(!binary_exists(OP_MAXIMUM, x->dtype), undefined_for(context, instr, x->dtype));
  Tensor *low = spread(operands[0], x), *high = spread(operands[2], x);
  *result = tensor_new(instr->shape, true);
  int64_t n = tensor_elements(x);
  binary_run(OP_MAXIMUM, x->dtype, n, x->data, low->data, (*result)->data);
  binary_run(OP_MINIMUM, x->dtype, n, (*result)->data, high->data, (*result)->data);
  tensor_release(low);
  tensor_release(high);
  return STATUS_OK;
}

Tensor *tensor_converted(Tensor *tensor, DType dtype) {
  if (tensor->dtype == dtype) return tensor_retain(tensor);
  if (!tensor->known) return tensor_new_array(dtype, tensor->dims, tensor->rank, false);
  Tensor *converted = tensor_new_array(dtype, tensor->dims, tensor->rank, true);
  convert_run(tensor->dtype, dtype, tensor_elements(tensor), tensor->data, converted->data);
  return converted;
}

/* A rounding that no line of the program asks for. */
static bool is_excess(const EvalContext *context, const Instr *instr, const Tensor *x) {
  DType to = instr->shape->dtype;
  bool rounds = dtype_class(x->dtype) == DCLASS_FLOAT && dtype_class(to) == DCLASS_FLOAT &&
                dtype_bits(to) < dtype_bits(x->dtype);
  return context->excess_precision && rounds && !str_ends(instr->origin.op_name, "convert_element_type");
}

Status eval_convert(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  if (is_excess(context, instr, operands[0])) {
    *result = tensor_retain(operands[0]);
    return STATUS_OK;
  }
  *result = tensor_converted(operands[0], instr->shape->dtype);
  return STATUS_OK;
}

/* The magnitude rounded up where the random bits, as a fraction of their range, are below its own fraction.
 */
static double rounded_at_random(double x, uint64_t random, uint32_t bits) {
  double whole = floor(fabs(x)), fraction = (fabs(x) - whole) * ldexp(1, (int)bits);
  return copysign((double)random < fraction ? whole + 1 : whole, x);
}

/* Floats to integers; NaN is 0, and what is too large the limit. */
Status eval_stochastic_convert(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                               Tensor **result) {
  const Tensor *x = operands[0], *random = operands[1];
  if (dtype_class(x->dtype) != DCLASS_FLOAT || dtype_class(random->dtype) != DCLASS_UNSIGNED ||
      !dtype_is_integer(instr->shape->dtype) || tensor_elements(x) != tensor_elements(random))
    return eval_unsupported(context, instr, "stochastic-convert but of floats to integers");
  int64_t n = tensor_elements(x);
  uint32_t bits = dtype_bits(random->dtype);
  Tensor *rounded = tensor_new_array(DTYPE_F64, x->dims, x->rank, true);
  for (int64_t i = 0; i < n; i++)
    ((double *)rounded->data)[i] =
        rounded_at_random(tensor_double_at(x, i), (uint64_t)tensor_int_at(random, i), bits);
  *result = tensor_converted(rounded, instr->shape->dtype);
  tensor_release(rounded);
  return STATUS_OK;
}

Status eval_complex(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  (void)context;
  const Tensor *re = operands[0], *im = operands[1];
  *result = tensor_new(instr->shape, true);
  uint32_t bytes = dtype_bytes(re->dtype);
  int64_t n = tensor_elements(re);
  Box box = box_dense(&n, 1, bytes);
  box.to_step[0] = 2 * bytes;
  box_copy(&box, (*result)->data, re->data);
  box_copy(&box, (*result)->data + bytes, im->data);
  return STATUS_OK;
}

/* Bits `at` to `at + n` of a stream, and back; n is at most 8. */
static uint32_t bits_get(const unsigned char *stream, int64_t at, uint32_t n) {
  uint32_t bits = 0;
  for (uint32_t i = 0; i < n; i++) bits |= (uint32_t)(stream[(at + i) / 8] >> ((at + i) % 8) & 1) << i;
  return bits;
}

static void bits_set(unsigned char *stream, int64_t at, uint32_t n, uint32_t bits) {
  for (uint32_t i = 0; i < n; i++) stream[(at + i) / 8] |= (unsigned char)((bits >> i & 1) << ((at + i) % 8));
}

/* Elements as the device packs them, the first in the lowest bits, and back. */
static void pack(const Tensor *tensor, unsigned char *stream) {
  uint32_t bits = dtype_bits(tensor->dtype);
  int64_t n = tensor_elements(tensor);
  if (bits >= 8) {
    memcpy(stream, tensor->data, tensor->bytes);
    return;
  }
  memset(stream, 0, (size_t)((n * bits + 7) / 8));
  for (int64_t i = 0; i < n; i++) bits_set(stream, i * bits, bits, tensor->data[i]);
}

static void unpack(const unsigned char *stream, Tensor *tensor) {
  uint32_t bits = dtype_bits(tensor->dtype);
  int64_t n = tensor_elements(tensor);
  if (bits >= 8) {
    memcpy(tensor->data, stream, tensor->bytes);
    return;
  }
  for (int64_t i = 0; i < n; i++) tensor->data[i] = (unsigned char)bits_get(stream, i * bits, bits);
  if (dtype_is_integer(tensor->dtype)) values_narrow(tensor->dtype, n, tensor->data, tensor->data);
}

Status eval_bitcast_convert(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                            Tensor **result) {
  (void)context;
  Tensor *x = operands[0];
  const Shape *shape = instr->shape;
  if (dtype_bits(x->dtype) >= 8 && dtype_bits(shape->dtype) >= 8) {
    *result = tensor_viewed(x, shape->dtype, shape->dims, shape->rank);
    return STATUS_OK;
  }
  *result = tensor_new(shape, true);
  Tensor *stream = tensor_new_array(DTYPE_U8, &(int64_t){(int64_t)(x->bytes + (*result)->bytes)}, 1, true);
  pack(x, stream->data);
  unpack(stream->data, *result);
  tensor_release(stream);
  return STATUS_OK;
}

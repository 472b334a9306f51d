/* Ops of a kernel that compute each element from those at the same place: the loops of the HLO ops that they
 * stand for, with the same rounding. Integers of a kernel have no sign of their own, the op says it. */
#include "sim/eval/kernel.h"
#include "sim/eval/mosaic_run.h"

#include <math.h>
#include <string.h>

/* A new tensor like an operand, in a type. */
static Tensor *like(const Tensor *x, DType dtype) {
  return tensor_new_array(dtype, x->dims, x->rank, true);
}

static Status undefined(const MosaicFrame *frame, const MosaicOp *op, DType dtype) {
  return mosaic_fail(frame, op, "it is not defined for %s", dtype_text(dtype));
}

Status mosaic_unary(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  const Tensor *x = mosaic_tensor(frame, op, 0);
  RETURN_IF(x == NULL || !unary_exists(hlo, x->dtype),
            undefined(frame, op, x == NULL ? DTYPE_OPAQUE : x->dtype));
  Tensor *result = like(x, x->dtype);
  unary_run(hlo, x->dtype, tensor_elements(x), x->data, result->data);
  return mosaic_give(frame, op, 0, result);
}

/* Two operands of one type and size. */
static Status pair_of(const MosaicFrame *frame, const MosaicOp *op, Tensor **x, Tensor **y) {
  *x = mosaic_tensor(frame, op, 0);
  *y = mosaic_tensor(frame, op, 1);
  RETURN_IF(*x == NULL || !mosaic_is(frame, op, 1, (*x)->dtype, tensor_elements(*x)),
            mosaic_fail(frame, op, "its operands are not of one type"));
  return STATUS_OK;
}

static Status run_binary(MosaicFrame *frame, const MosaicOp *op, Opcode hlo, bool is_unsigned) {
  Tensor *x = NULL, *y = NULL;
  TRY(pair_of(frame, op, &x, &y));
  DType dtype = is_unsigned ? unsigned_dtype(x->dtype) : x->dtype;
  RETURN_IF(!binary_exists(hlo, dtype), undefined(frame, op, dtype));
  Tensor *result = like(x, x->dtype);
  binary_run(hlo, dtype, tensor_elements(x), x->data, y->data, result->data);
  return mosaic_give(frame, op, 0, result);
}

Status mosaic_binary(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  return run_binary(frame, op, hlo, false);
}

Status mosaic_unsigned_binary(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  return run_binary(frame, op, hlo, true);
}

static void keep_numbers(const Tensor *x, const Tensor *y, Tensor *result) {
  for (int64_t i = 0; i < tensor_elements(x); i++) {
    double left = tensor_double_at(x, i), right = tensor_double_at(y, i);
    if (isnan(left) != isnan(right)) tensor_set_double(result, i, isnan(left) ? right : left);
  }
}

/* The larger or smaller; of a NaN and a number the number. */
Status mosaic_number_binary(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  Tensor *x = NULL, *y = NULL;
  TRY(pair_of(frame, op, &x, &y));
  RETURN_IF(dtype_class(x->dtype) != DCLASS_FLOAT, undefined(frame, op, x->dtype));
  Tensor *result = like(x, x->dtype);
  binary_run(hlo, x->dtype, tensor_elements(x), x->data, y->data, result->data);
  keep_numbers(x, y, result);
  return mosaic_give(frame, op, 0, result);
}

Status mosaic_floor_divide(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *x = NULL, *y = NULL;
  TRY(pair_of(frame, op, &x, &y));
  RETURN_IF(dtype_class(x->dtype) != DCLASS_SIGNED, undefined(frame, op, x->dtype));
  int64_t n = tensor_elements(x);
  Tensor *result = like(x, x->dtype), *rest = like(x, x->dtype);
  binary_run(OP_DIVIDE, x->dtype, n, x->data, y->data, result->data);
  binary_run(OP_REMAINDER, x->dtype, n, x->data, y->data, rest->data);
  for (int64_t i = 0; i < n; i++) {
    int64_t over = tensor_int_at(rest, i), quotient = tensor_int_at(result, i) - 1;
    if (over != 0 && (over < 0) != (tensor_int_at(y, i) < 0))
      memcpy(result->data + i * dtype_bytes(x->dtype), &quotient, dtype_bytes(x->dtype));
  }
  tensor_release(rest);
  return mosaic_give(frame, op, 0, result);
}

/* --- comparisons --- */

static Tensor *compared(CompareDirection direction, DType dtype, const Tensor *x, const Tensor *y) {
  Tensor *result = like(x, DTYPE_PRED);
  if (compare_run(direction, dtype, false, tensor_elements(x), x->data, y->data, result->data)) return result;
  tensor_release(result);
  return NULL;
}

Status mosaic_compare_integers(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  static const CompareDirection directions[] = {COMPARE_EQ, COMPARE_NE, COMPARE_LT, COMPARE_LE, COMPARE_GT,
                                                COMPARE_GE, COMPARE_LT, COMPARE_LE, COMPARE_GT, COMPARE_GE};
  Tensor *x = NULL, *y = NULL;
  int64_t predicate = mosaic_int(op, "predicate", -1);
  TRY(pair_of(frame, op, &x, &y));
  RETURN_IF(predicate < 0 || predicate > 9, mosaic_unsupported(frame, op, "its predicate"));
  DType dtype = predicate >= 6 ? unsigned_dtype(x->dtype) : x->dtype;
  Tensor *result = compared(directions[predicate], dtype, x, y);
  return result == NULL ? undefined(frame, op, dtype) : mosaic_give(frame, op, 0, result);
}

/* In the order of arith's predicates: what holds of (less, equal, greater, unordered), as bits 1, 2, 4, 8.
 * JAX writes the ordered `one` for its !=, which holds for a NaN. */
Status mosaic_compare_floats(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  static const uint8_t holds[16] = {0, 2, 4, 6, 1, 3, 13, 7, 10, 12, 14, 9, 11, 13, 8, 15};
  Tensor *x = NULL, *y = NULL;
  int64_t predicate = mosaic_int(op, "predicate", -1);
  TRY(pair_of(frame, op, &x, &y));
  RETURN_IF(predicate < 0 || predicate > 15, mosaic_unsupported(frame, op, "its predicate"));
  RETURN_IF(dtype_class(x->dtype) != DCLASS_FLOAT, undefined(frame, op, x->dtype));
  Tensor *less = compared(COMPARE_LT, x->dtype, x, y), *equal = compared(COMPARE_EQ, x->dtype, x, y),
         *greater = compared(COMPARE_GT, x->dtype, x, y);
  uint8_t wanted = holds[predicate];
  for (int64_t i = 0; i < tensor_elements(less); i++) {
    uint32_t is = less->data[i] ? 1 : equal->data[i] ? 2 : greater->data[i] ? 4 : 8;
    less->data[i] = (wanted & is) != 0;
  }
  tensor_release(equal);
  tensor_release(greater);
  return mosaic_give(frame, op, 0, less);
}

Status mosaic_select(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *pred = mosaic_tensor(frame, op, 0), *x = mosaic_tensor(frame, op, 1),
         *y = mosaic_tensor(frame, op, 2);
  bool good = pred != NULL && x != NULL && pred->dtype == DTYPE_PRED &&
              mosaic_is(frame, op, 2, x->dtype, tensor_elements(x));
  RETURN_IF(!good, mosaic_fail(frame, op, "its operands are not of one type"));
  if (tensor_elements(pred) == 1) return mosaic_give(frame, op, 0, tensor_retain(*pred->data ? x : y));
  RETURN_IF(tensor_elements(pred) != tensor_elements(x),
            mosaic_fail(frame, op, "its operands are not of one size"));
  Tensor *result = like(x, x->dtype);
  select_run(dtype_bytes(x->dtype), tensor_elements(x), pred->data, x->data, y->data, result->data);
  return mosaic_give(frame, op, 0, result);
}

/* --- conversions --- */

static Status run_convert(MosaicFrame *frame, const MosaicOp *op, DType from, DType to) {
  Tensor *x = mosaic_tensor(frame, op, 0);
  DType dtype = op->result_types[0]->dtype;
  RETURN_IF(x == NULL || dtype_bytes(to) != dtype_bytes(dtype) || dtype_bits(dtype) == 0,
            mosaic_fail(frame, op, "its operand is no number"));
  Tensor *result = like(x, dtype);
  convert_run(from == DTYPE_COUNT ? x->dtype : from, to, tensor_elements(x), x->data, result->data);
  return mosaic_give(frame, op, 0, result);
}

Status mosaic_convert(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  return run_convert(frame, op, DTYPE_COUNT, op->result_types[0]->dtype);
}

/* A bit that is set is -1. */
Status mosaic_convert_signed(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  TRY(run_convert(frame, op, DTYPE_COUNT, op->result_types[0]->dtype));
  Tensor *x = mosaic_tensor(frame, op, 0), *result = frame->values[op->first].tensor;
  if (x->dtype == DTYPE_PRED && unary_exists(OP_NEGATE, result->dtype) && result->dtype != DTYPE_PRED)
    unary_run(OP_NEGATE, result->dtype, tensor_elements(result), result->data, result->data);
  return STATUS_OK;
}

Status mosaic_convert_unsigned(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  return run_convert(frame, op, x == NULL ? DTYPE_COUNT : unsigned_dtype(x->dtype),
                     op->result_types[0]->dtype);
}

Status mosaic_convert_to_unsigned(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  return run_convert(frame, op, DTYPE_COUNT, unsigned_dtype(op->result_types[0]->dtype));
}

/* Floats to integers, rounded as the op says. */
Status mosaic_convert_rounded(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *x = mosaic_tensor(frame, op, 0);
  bool nearest = str_is(mosaic_enum(mosaic_attr(op, "rounding_mode")), "to_nearest_even");
  if (!nearest) return run_convert(frame, op, DTYPE_COUNT, op->result_types[0]->dtype);
  RETURN_IF(x == NULL || !unary_exists(OP_ROUND_NEAREST_EVEN, x->dtype),
            mosaic_fail(frame, op, "its operand is no float"));
  Tensor *rounded = like(x, x->dtype);
  unary_run(OP_ROUND_NEAREST_EVEN, x->dtype, tensor_elements(x), x->data, rounded->data);
  Tensor *result = tensor_converted(rounded, op->result_types[0]->dtype);
  tensor_release(rounded);
  return mosaic_give(frame, op, 0, result);
}

/* The low bits; of one bit alone whether it is set. */
Status mosaic_truncate_integers(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  if (x == NULL || op->result_types[0]->dtype != DTYPE_PRED)
    return run_convert(frame, op, DTYPE_COUNT, op->result_types[0]->dtype);
  Tensor *result = like(x, DTYPE_PRED);
  for (int64_t i = 0; i < tensor_elements(x); i++)
    result->data[i] = (x->data[i * dtype_bytes(x->dtype)] & 1) != 0;
  return mosaic_give(frame, op, 0, result);
}

Status mosaic_bitcast(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *x = mosaic_tensor(frame, op, 0);
  DType dtype = op->result_types[0]->dtype;
  RETURN_IF(x == NULL || dtype_bits(dtype) != dtype_bits(x->dtype) ||
                dtype_bytes(dtype) != dtype_bytes(x->dtype),
            mosaic_fail(frame, op, "its types are not of one width"));
  return mosaic_give(frame, op, 0, tensor_viewed(x, dtype, x->dims, x->rank));
}

/* --- of one operand, by other means --- */

static Status float_operand(const MosaicFrame *frame, const MosaicOp *op, Tensor **x) {
  *x = mosaic_tensor(frame, op, 0);
  bool good = *x != NULL && dtype_class((*x)->dtype) == DCLASS_FLOAT;
  return good ? STATUS_OK : mosaic_fail(frame, op, "its operand is no float");
}

/* An approximate one is that of bf16, as JAX's interpreter has it. */
Status mosaic_reciprocal(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *operand;
  TRY(float_operand(frame, op, &operand));
  Tensor *x = tensor_converted(operand, mosaic_flag(op, "approx") ? DTYPE_BF16 : operand->dtype);
  Tensor *quotient = like(x, x->dtype);
  for (int64_t i = 0; i < tensor_elements(x); i++) tensor_set_double(quotient, i, 1);
  binary_run(OP_DIVIDE, x->dtype, tensor_elements(x), quotient->data, x->data, quotient->data);
  Tensor *result = tensor_converted(quotient, operand->dtype);
  tensor_release(x);
  tensor_release(quotient);
  return mosaic_give(frame, op, 0, result);
}

Status mosaic_power_of_two(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *x;
  TRY(float_operand(frame, op, &x));
  Tensor *result = like(x, x->dtype);
  for (int64_t i = 0; i < tensor_elements(x); i++) tensor_set_double(result, i, exp2(tensor_double_at(x, i)));
  return mosaic_give(frame, op, 0, result);
}

/* Infinite or NaN. */
Status mosaic_not_finite(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *x;
  TRY(float_operand(frame, op, &x));
  Tensor *result = like(x, DTYPE_PRED);
  for (int64_t i = 0; i < tensor_elements(x); i++) {
    bool finite = isfinite(tensor_double_at(x, i));
    result->data[i] = !finite;
  }
  return mosaic_give(frame, op, 0, result);
}

/* --- several narrow numbers in a wide one, the first in the lowest bits --- */

static DType type_attr(const MosaicOp *op, const char *name) {
  const MosaicAttr *attr = mosaic_attr(op, name);
  return attr != NULL && attr->kind == MOSAIC_ATTR_TYPE ? attr->type->dtype : DTYPE_OPAQUE;
}

static bool packs(DType wide, DType narrow) {
  return dtype_bits(narrow) >= 8 && dtype_bytes(narrow) < dtype_bytes(wide);
}

Status mosaic_pack_elementwise(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  DType narrow = type_attr(op, "target_type"), wide = op->result_types[0]->dtype;
  RETURN_IF(x == NULL || !packs(wide, narrow) || dtype_bytes(x->dtype) != dtype_bytes(wide),
            mosaic_unsupported(frame, op, "a packing of these types"));
  uint32_t step = dtype_bytes(wide), bytes = dtype_bytes(narrow);
  int64_t n = tensor_elements(x);
  RETURN_IF(op->operands.n != step / bytes, mosaic_fail(frame, op, "it has too few operands for a word"));
  Tensor *result = like(x, wide);
  for (uint32_t k = 0; k < op->operands.n; k++) {
    Tensor *part = mosaic_tensor(frame, op, k);
    if (!mosaic_is(frame, op, k, x->dtype, n)) {
      tensor_release(result);
      return mosaic_fail(frame, op, "its operands are not of one type");
    }
    Tensor *small = tensor_converted(part, narrow);
    for (int64_t i = 0; i < n; i++)
      memcpy(result->data + i * step + k * bytes, small->data + i * bytes, bytes);
    tensor_release(small);
  }
  return mosaic_give(frame, op, 0, result);
}

Status mosaic_unpack_elementwise(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  DType narrow = type_attr(op, "source_type");
  int64_t index = mosaic_int(op, "index", -1);
  RETURN_IF(x == NULL || !packs(x->dtype, narrow), mosaic_unsupported(frame, op, "a packing of these types"));
  uint32_t step = dtype_bytes(x->dtype), bytes = dtype_bytes(narrow);
  RETURN_IF(index < 0 || index >= step / bytes,
            mosaic_fail(frame, op, "a word has no part %lld", (long long)index));
  Tensor *small = like(x, narrow);
  for (int64_t i = 0; i < tensor_elements(x); i++)
    memcpy(small->data + i * bytes, x->data + i * step + index * bytes, bytes);
  Tensor *result = tensor_converted(small, op->result_types[0]->dtype);
  tensor_release(small);
  return mosaic_give(frame, op, 0, result);
}

/* Ops of a kernel that move elements of vectors: each is one copy of a box between two strided places. */
#include "sim/eval/mosaic_run.h"

#include <string.h>

static const MosaicType *result_type(const MosaicOp *op) {
  return op->result_types[0];
}

static Tensor *result_new(const MosaicOp *op) {
  const MosaicType *type = result_type(op);
  return tensor_new_array(type->dtype, type->dims, type->rank, true);
}

/* Whether operand `i` is a vector of the result's element type. */
static bool is_like_result(const MosaicFrame *frame, const MosaicOp *op, uint32_t i) {
  const Tensor *x = mosaic_tensor(frame, op, i);
  return x != NULL && x->dtype == result_type(op)->dtype;
}

static Status wrong(const MosaicFrame *frame, const MosaicOp *op) {
  return mosaic_fail(frame, op, "its operands are not of the types that its result is for");
}

Status mosaic_same(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const MosaicMemref *memref = mosaic_memref(frame, op, 0);
  if (memref != NULL) return mosaic_give_memref(frame, op, memref);
  Tensor *x = mosaic_tensor(frame, op, 0);
  return x == NULL ? wrong(frame, op) : mosaic_give(frame, op, 0, tensor_retain(x));
}

Status mosaic_reshape(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *x = mosaic_tensor(frame, op, 0);
  return x == NULL ? wrong(frame, op) : mosaic_give(frame, op, 0, tensor_retain(x));
}

static DType semantic_dtype(const MosaicType *type) {
  return type->dtype;
}

static int64_t attr_bits(const MosaicAttr *attr) {
  return attr->kind == MOSAIC_ATTR_INTEGER || attr->kind == MOSAIC_ATTR_FLOAT ? attr->bits : 0;
}

/* One number for all elements, or one each. */
Status mosaic_constant(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const MosaicAttr *value = mosaic_attr(op, "value");
  const MosaicType *type = result_type(op);
  RETURN_IF(value == NULL || (type->kind != MOSAIC_SCALAR && type->kind != MOSAIC_VECTOR),
            mosaic_fail(frame, op, "it has no value"));
  uint32_t bytes = dtype_bytes(semantic_dtype(type));
  int64_t bits = attr_bits(value);
  unsigned char element[16] = {0};
  memcpy(element, &bits, sizeof bits);
  Tensor *result = result_new(op);
  if (value->kind == MOSAIC_ATTR_ELEMENTS && value->raw.n == result->bytes) {
    if (result->bytes != 0) memcpy(result->data, value->raw.at, result->bytes);
  } else if (value->kind == MOSAIC_ATTR_ELEMENTS && value->raw.n != bytes) {
    tensor_release(result);
    return mosaic_unsupported(frame, op, "a constant packed in bits");
  } else {
    if (value->kind == MOSAIC_ATTR_ELEMENTS) memcpy(element, value->raw.at, bytes);
    box_fill(result->data, element, bytes, tensor_elements(result));
  }
  for (int64_t i = 0; type->dtype == DTYPE_PRED && i < tensor_elements(result); i++) result->data[i] &= 1;
  return mosaic_give(frame, op, 0, result);
}

Status mosaic_broadcast(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  const MosaicType *type = result_type(op);
  RETURN_IF(!is_like_result(frame, op, 0) || x->rank > type->rank, wrong(frame, op));
  uint32_t bytes = dtype_bytes(x->dtype), added = type->rank - x->rank;
  int64_t steps[EVAL_MAX_RANK];
  dense_steps(x->dims, x->rank, bytes, steps);
  Box box = box_dense(type->dims, type->rank, bytes);
  for (uint32_t d = 0; d < type->rank; d++) {
    bool repeats = d < added || x->dims[d - added] == 1;
    RETURN_IF(!repeats && x->dims[d - added] != type->dims[d], wrong(frame, op));
    box.from_step[d] = repeats ? 0 : steps[d - added];
  }
  Tensor *result = result_new(op);
  box_copy(&box, result->data, x->data);
  return mosaic_give(frame, op, 0, result);
}

/* The elements from `starts` of the result's sizes, `strides` apart, dimension by dimension. */
static Status give_part(MosaicFrame *frame, const MosaicOp *op, const Tensor *x, const int64_t *starts,
                        const int64_t *sizes, const int64_t *strides) {
  uint32_t bytes = dtype_bytes(x->dtype);
  int64_t steps[EVAL_MAX_RANK], offset = 0;
  dense_steps(x->dims, x->rank, bytes, steps);
  Box box = box_dense(sizes, x->rank, bytes);
  for (uint32_t d = 0; d < x->rank; d++) {
    bool fits = starts[d] >= 0 && strides[d] > 0 && sizes[d] >= 0 && starts[d] <= x->dims[d] &&
                (sizes[d] == 0 || (sizes[d] - 1) <= (x->dims[d] - 1 - starts[d]) / strides[d]);
    RETURN_IF(!fits || (sizes[d] > 0 && starts[d] >= x->dims[d]),
              mosaic_fail(frame, op, "it takes elements that its operand has not"));
    offset += starts[d] * steps[d];
    box.from_step[d] = steps[d] * strides[d];
  }
  Tensor *result = tensor_new_array(x->dtype, sizes, x->rank, true);
  box_copy(&box, result->data, x->data + offset);
  return mosaic_give(frame, op, 0, result);
}

/* Number `i` of a list of integer attributes, or of an array of integers. */
static int64_t list_at(const MosaicAttr *list, uint32_t i, int64_t fallback) {
  if (list == NULL) return fallback;
  if (list->kind == MOSAIC_ATTR_INTS) return i < list->ints.n ? list->ints.at[i] : fallback;
  return list->kind == MOSAIC_ATTR_ARRAY && i < list->n ? attr_bits(list->items[i]) : fallback;
}

Status mosaic_slice(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  int64_t starts[EVAL_MAX_RANK], sizes[EVAL_MAX_RANK], strides[EVAL_MAX_RANK];
  RETURN_IF(!is_like_result(frame, op, 0), wrong(frame, op));
  for (uint32_t d = 0; d < x->rank; d++) {
    starts[d] = list_at(mosaic_attr(op, "offsets"), d, 0);
    sizes[d] = list_at(mosaic_attr(op, "sizes"), d, x->dims[d]);
    strides[d] = list_at(mosaic_attr(op, "strides"), d, 1);
  }
  return give_part(frame, op, x, starts, sizes, strides);
}

/* The part at a place of the first dimensions; a place that the run decides is an operand. */
Status mosaic_extract(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  Ints places = mosaic_ints(op, "static_position");
  int64_t starts[EVAL_MAX_RANK] = {0}, sizes[EVAL_MAX_RANK], strides[EVAL_MAX_RANK];
  RETURN_IF(!is_like_result(frame, op, 0) || places.n > x->rank, wrong(frame, op));
  uint32_t dynamic = 1;
  for (uint32_t d = 0; d < x->rank; d++) {
    sizes[d] = d < places.n ? 1 : x->dims[d];
    strides[d] = 1;
    if (d >= places.n) continue;
    starts[d] = places.at[d];
    if (starts[d] == MOSAIC_DYNAMIC) TRY(mosaic_integers(frame, op, dynamic++, 1, &starts[d]));
  }
  return give_part(frame, op, x, starts, sizes, strides);
}

Status mosaic_transpose(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  const MosaicType *type = result_type(op);
  Ints order = mosaic_ints(op, "permutation");
  RETURN_IF(!is_like_result(frame, op, 0) || order.n != x->rank || type->rank != x->rank, wrong(frame, op));
  uint32_t seen = 0;
  for (uint32_t d = 0; d < order.n; d++) {
    bool good = order.at[d] >= 0 && order.at[d] < x->rank && (seen >> order.at[d] & 1) == 0;
    RETURN_IF(!good || x->dims[order.at[d]] != type->dims[d], wrong(frame, op));
    seen |= 1u << order.at[d];
  }
  return mosaic_give(frame, op, 0, tensor_transposed(x, order.at));
}

Status mosaic_concatenate(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const MosaicType *type = result_type(op);
  int64_t dim = mosaic_int(op, "dimension", 0), at = 0;
  RETURN_IF(dim < 0 || dim >= type->rank, wrong(frame, op));
  uint32_t bytes = dtype_bytes(type->dtype);
  int64_t steps[EVAL_MAX_RANK];
  dense_steps(type->dims, type->rank, bytes, steps);
  Tensor *result = result_new(op);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < op->operands.n && status == STATUS_OK; i++) {
    const Tensor *x = mosaic_tensor(frame, op, i);
    bool good = is_like_result(frame, op, i) && x->rank == type->rank && x->dims[dim] <= type->dims[dim] - at;
    for (uint32_t d = 0; good && d < type->rank; d++) good = d == dim || x->dims[d] == type->dims[d];
    if (!good) {
      status = wrong(frame, op);
      break;
    }
    Box box = box_dense(x->dims, x->rank, bytes);
    for (uint32_t d = 0; d < x->rank; d++) box.to_step[d] = steps[d];
    box_copy(&box, result->data + at * steps[dim], x->data);
    at += x->dims[dim];
  }
  if (status == STATUS_OK && at != type->dims[dim]) status = wrong(frame, op);
  if (status == STATUS_OK) return mosaic_give(frame, op, 0, result);
  tensor_release(result);
  return status;
}

/* The place of element `i` of dense dimensions. */
static void place_of(int64_t i, const int64_t *dims, uint32_t rank, int64_t *place) {
  for (uint32_t d = rank; d-- > 0;) {
    place[d] = i % dims[d];
    i /= dims[d];
  }
}

/* Counts along the given dimensions, the last of them fastest. */
Status mosaic_iota(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const MosaicType *type = result_type(op);
  Ints along = mosaic_ints(op, "dimensions");
  int64_t one = mosaic_int(op, "dimension", 0);
  if (along.n == 0) along = (Ints){&one, 1};
  for (uint32_t i = 0; i < along.n; i++)
    RETURN_IF(along.at[i] < 0 || along.at[i] >= type->rank, wrong(frame, op));
  Tensor *counts = tensor_new_array(DTYPE_S64, type->dims, type->rank, true);
  for (int64_t i = 0; i < tensor_elements(counts); i++) {
    int64_t place[EVAL_MAX_RANK], count = 0;
    place_of(i, type->dims, type->rank, place);
    for (uint32_t k = 0; k < along.n; k++) count = count * type->dims[along.at[k]] + place[along.at[k]];
    ((int64_t *)counts->data)[i] = count;
  }
  Tensor *result = tensor_converted(counts, type->dtype);
  tensor_release(counts);
  return mosaic_give(frame, op, 0, result);
}

Status mosaic_repeat(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  const MosaicType *type = result_type(op);
  int64_t dim = mosaic_int(op, "dimension", 0), times = mosaic_int(op, "times", 1);
  RETURN_IF(!is_like_result(frame, op, 0) || x->rank != type->rank || dim < 0 || dim >= x->rank ||
                times < 0 || times > INT32_MAX,
            wrong(frame, op));
  for (uint32_t d = 0; d < x->rank; d++)
    RETURN_IF(type->dims[d] != (d == dim ? x->dims[d] * times : x->dims[d]), wrong(frame, op));
  uint32_t bytes = dtype_bytes(x->dtype);
  int64_t steps[EVAL_MAX_RANK];
  dense_steps(type->dims, type->rank, bytes, steps);
  Box box = box_dense(x->dims, x->rank, bytes);
  for (uint32_t d = 0; d < x->rank; d++) box.to_step[d] = steps[d];
  Tensor *result = result_new(op);
  for (int64_t k = 0; k < times; k++) box_copy(&box, result->data + k * x->dims[dim] * steps[dim], x->data);
  return mosaic_give(frame, op, 0, result);
}

/* result[i] = x[i - amount] along a dimension, around its end; the amount grows by `stride` along another. */
Status mosaic_rotate(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  int64_t amount = 0, dim = mosaic_int(op, "dimension", -1), stride = mosaic_int(op, "stride", 0);
  int64_t along = mosaic_int(op, "stride_dimension", 0);
  TRY(mosaic_integers(frame, op, 1, 1, &amount));
  RETURN_IF(!is_like_result(frame, op, 0) || dim < 0 || dim >= x->rank || along < 0 || along >= x->rank,
            wrong(frame, op));
  uint32_t bytes = dtype_bytes(x->dtype);
  int64_t steps[EVAL_MAX_RANK], size = x->dims[dim];
  dense_steps(x->dims, x->rank, 1, steps);
  Tensor *result = tensor_new_array(x->dtype, x->dims, x->rank, true);
  for (int64_t i = 0; i < tensor_elements(x); i++) {
    int64_t place[EVAL_MAX_RANK];
    place_of(i, x->dims, x->rank, place);
    int64_t by = (amount % size + stride % size * place[along]) % size;
    int64_t from = ((place[dim] - by) % size + size) % size;
    memcpy(result->data + i * bytes, x->data + (i + (from - place[dim]) * steps[dim]) * bytes, bytes);
  }
  return mosaic_give(frame, op, 0, result);
}

/* result[place] = x[place, but along `dimensions`, taken as one, indices[place]]. */
Status mosaic_gather(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0), *indices = mosaic_tensor(frame, op, 1);
  Ints along = mosaic_ints(op, "dimensions");
  int64_t one = mosaic_int(op, "dimension", 0);
  if (along.n == 0) along = (Ints){&one, 1};
  RETURN_IF(!is_like_result(frame, op, 0) || indices == NULL || indices->rank != x->rank ||
                !dtype_is_integer(indices->dtype),
            wrong(frame, op));
  int64_t together = 1;
  for (uint32_t k = 0; k < along.n; k++) {
    RETURN_IF(along.at[k] < 0 || along.at[k] >= x->rank, wrong(frame, op));
    together *= x->dims[along.at[k]];
  }
  for (uint32_t d = 0; d < x->rank; d++)
    RETURN_IF(!ints_have(along, d) && indices->dims[d] > x->dims[d], wrong(frame, op));
  RETURN_IF(together == 0, wrong(frame, op));
  uint32_t bytes = dtype_bytes(x->dtype);
  int64_t steps[EVAL_MAX_RANK], place[EVAL_MAX_RANK];
  dense_steps(x->dims, x->rank, 1, steps);
  Tensor *result = tensor_new_array(x->dtype, indices->dims, indices->rank, true);
  for (int64_t i = 0; i < tensor_elements(indices); i++) {
    place_of(i, indices->dims, indices->rank, place);
    int64_t index = (tensor_int_at(indices, i) % together + together) % together, from = 0;
    for (uint32_t k = along.n; k-- > 0;) {
      place[along.at[k]] = index % x->dims[along.at[k]];
      index /= x->dims[along.at[k]];
    }
    for (uint32_t d = 0; d < x->rank; d++) from += place[d] * steps[d];
    memcpy(result->data + i * bytes, x->data + from * bytes, bytes);
  }
  return mosaic_give(frame, op, 0, result);
}

/* Rows of narrow elements lie within rows of wide ones, the first in the lowest bits: [.., n w, k] narrow is
 * [.., n, k] wide. */
Status mosaic_bitcast_sublanes(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Tensor *x = mosaic_tensor(frame, op, 0);
  const MosaicType *type = result_type(op);
  RETURN_IF(x == NULL || x->rank != type->rank || x->rank < 1, wrong(frame, op));
  uint32_t from = dtype_bytes(x->dtype), to = dtype_bytes(type->dtype), rank = x->rank;
  if (from == to) return mosaic_give(frame, op, 0, tensor_viewed(x, type->dtype, x->dims, x->rank));
  uint32_t small = from < to ? from : to, ratio = (from < to ? to : from) / small;
  const int64_t *wide = from < to ? type->dims : x->dims, *narrow = from < to ? x->dims : type->dims;
  bool good = rank >= 2 && dtype_bits(x->dtype) >= 8 && dtype_bits(type->dtype) >= 8;
  for (uint32_t d = 0; good && d < rank; d++) good = narrow[d] == wide[d] * (d == rank - 2 ? ratio : 1);
  RETURN_IF(!good, mosaic_unsupported(frame, op, "a bitcast of these shapes"));
  int64_t rows = 1, lanes = wide[rank - 1];
  for (uint32_t d = 0; d + 1 < rank; d++) rows *= wide[d];
  Box box = box_dense((int64_t[]){rows, lanes, ratio}, 3, small);
  int64_t *steps = from < to ? box.from_step : box.to_step;
  steps[0] = ratio * lanes * small, steps[1] = small, steps[2] = lanes * small;
  Tensor *result = result_new(op);
  box_copy(&box, result->data, x->data);
  return mosaic_give(frame, op, 0, result);
}

/* Whether low <= place < high in all dimensions. */
Status mosaic_create_mask(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const MosaicType *type = result_type(op);
  int64_t bounds[2 * EVAL_MAX_RANK], place[EVAL_MAX_RANK];
  RETURN_IF(op->operands.n != 2 * type->rank || type->dtype != DTYPE_PRED, wrong(frame, op));
  TRY(mosaic_integers(frame, op, 0, op->operands.n, bounds));
  Tensor *result = result_new(op);
  for (int64_t i = 0; i < tensor_elements(result); i++) {
    bool inside = true;
    place_of(i, type->dims, type->rank, place);
    for (uint32_t d = 0; d < type->rank; d++)
      inside = inside && place[d] >= bounds[d] && place[d] < bounds[type->rank + d];
    result->data[i] = inside;
  }
  return mosaic_give(frame, op, 0, result);
}

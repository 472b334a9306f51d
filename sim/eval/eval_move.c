/* Ops that move elements without changing them: each is one or a few copies of boxes. */
#include "sim/eval/evaluators.h"
#include "sim/eval/kernel.h"

#include <string.h>

Status eval_reshape(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  (void)context;
  Tensor *x = tensor_converted(operands[0], instr->shape->dtype);
  *result = tensor_reshaped(x, instr->shape->dims, instr->shape->rank);
  tensor_release(x);
  return STATUS_OK;
}

Status eval_broadcast(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                      Tensor **result) {
  (void)context;
  const Tensor *x = operands[0];
  Ints dimensions = instr_ints(instr, ATTR_dimensions);
  *result = tensor_new(instr->shape, true);
  uint32_t bytes = dtype_bytes(x->dtype);
  Box box = box_dense((*result)->dims, (*result)->rank, bytes);
  int64_t x_steps[EVAL_MAX_RANK];
  dense_steps(x->dims, x->rank, bytes, x_steps);
  memset(box.from_step, 0, sizeof box.from_step);
  for (uint32_t d = 0; d < dimensions.n; d++)
    box.from_step[dimensions.at[d]] = x->dims[d] == 1 ? 0 : x_steps[d];
  box_copy(&box, (*result)->data, x->data);
  return STATUS_OK;
}

Tensor *tensor_transposed(const Tensor *x, const int64_t *order) {
  int64_t dims[EVAL_MAX_RANK], steps[EVAL_MAX_RANK];
  for (uint32_t d = 0; d < x->rank; d++) dims[d] = x->dims[order[d]];
  Tensor *out = tensor_new_array(x->dtype, dims, x->rank, true);
  Box box = box_dense(dims, x->rank, dtype_bytes(x->dtype));
  dense_steps(x->dims, x->rank, box.element_bytes, steps);
  for (uint32_t d = 0; d < x->rank; d++) box.from_step[d] = steps[order[d]];
  box_copy(&box, out->data, x->data);
  return out;
}

Status eval_transpose(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                      Tensor **result) {
  (void)context;
  *result = tensor_transposed(operands[0], instr_ints(instr, ATTR_dimensions).at);
  return STATUS_OK;
}

Status eval_slice(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  (void)context;
  const Tensor *x = operands[0];
  Slices slices = instr_slices(instr);
  *result = tensor_new(instr->shape, true);
  uint32_t bytes = dtype_bytes(x->dtype);
  Box box = box_dense((*result)->dims, (*result)->rank, bytes);
  dense_steps(x->dims, x->rank, bytes, box.from_step);
  int64_t offset = 0;
  for (uint32_t d = 0; d < slices.n; d++) {
    offset += slices.at[d].start * box.from_step[d];
    box.from_step[d] *= slices.at[d].stride;
  }
  box_copy(&box, (*result)->data, x->data + offset);
  return STATUS_OK;
}

Status eval_reverse(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  (void)context;
  const Tensor *x = operands[0];
  Ints dimensions = instr_ints(instr, ATTR_dimensions);
  *result = tensor_new(instr->shape, true);
  Box box = box_dense(x->dims, x->rank, dtype_bytes(x->dtype));
  int64_t offset = 0;
  for (uint32_t i = 0; i < dimensions.n && x->bytes != 0; i++) {
    int64_t d = dimensions.at[i];
    offset += (x->dims[d] - 1) * box.from_step[d];
    box.from_step[d] = -box.from_step[d];
  }
  box_copy(&box, (*result)->data, x->data + offset);
  return STATUS_OK;
}

Status eval_concatenate(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                        Tensor **result) {
  (void)context;
  int64_t d = instr_ints(instr, ATTR_dimensions).at[0];
  *result = tensor_new(instr->shape, true);
  uint32_t bytes = dtype_bytes((*result)->dtype);
  int64_t steps[EVAL_MAX_RANK], offset = 0;
  dense_steps((*result)->dims, (*result)->rank, bytes, steps);
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    const Tensor *x = operands[i];
    Box box = box_dense(x->dims, x->rank, bytes);
    memcpy(box.to_step, steps, sizeof steps);
    box_copy(&box, (*result)->data + offset, x->data);
    offset += x->dims[d] * steps[d];
  }
  return STATUS_OK;
}

static int64_t divide_up(int64_t a, int64_t b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}

/* Elements of one dimension that a padding keeps: [first, stop) of them, the first at `place` in the result.
 */
static void kept(PaddingDim padding, int64_t size, int64_t result_size, int64_t *first, int64_t *stop,
                 int64_t *place) {
  int64_t step = padding.interior + 1;
  *first = padding.low < 0 ? divide_up(-padding.low, step) : 0;
  *stop = divide_up(result_size - padding.low, step);
  if (*stop > size) *stop = size;
  if (*stop < *first) *stop = *first;
  *place = padding.low + *first * step;
}

Status eval_pad(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  (void)context;
  const Tensor *x = operands[0];
  Padding padding = instr_padding(instr);
  *result = tensor_new(instr->shape, true);
  Tensor *out = *result;
  uint32_t bytes = dtype_bytes(x->dtype);
  box_fill(out->data, operands[1]->data, bytes, tensor_elements(out));
  Box box = {.rank = x->rank, .element_bytes = bytes};
  dense_steps(out->dims, out->rank, bytes, box.to_step);
  dense_steps(x->dims, x->rank, bytes, box.from_step);
  int64_t from = 0, to = 0;
  for (uint32_t d = 0; d < padding.n; d++) {
    int64_t first, stop, place;
    kept(padding.at[d], x->dims[d], out->dims[d], &first, &stop, &place);
    box.dims[d] = stop - first;
    if (box.dims[d] == 0) return STATUS_OK;
    from += first * box.from_step[d];
    to += place * box.to_step[d];
    box.to_step[d] *= padding.at[d].interior + 1;
  }
  box_copy(&box, out->data + to, x->data + from);
  return STATUS_OK;
}

/* Start indices: a scalar operand a dimension, or one vector; clamped so that the window lies inside. Gives
 * the offset in bytes. */
static int64_t window_offset(Tensor *const *starts, uint32_t n_starts, const int64_t *dims,
                             const int64_t *window, const int64_t *steps, uint32_t rank) {
  int64_t offset = 0;
  bool is_vector = n_starts == 1 && starts[0]->rank == 1;
  for (uint32_t d = 0; d < rank; d++) {
    const Tensor *index = starts[is_vector ? 0 : d];
    int64_t start = tensor_int_at(index, is_vector ? d : 0), last = dims[d] - window[d];
    if (index->dtype == DTYPE_U64 && start < 0) start = last;
    start = start < 0 ? 0 : start > last ? last : start;
    offset += start * steps[d];
  }
  return offset;
}

Status eval_dynamic_slice(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                          Tensor **result) {
  (void)context;
  const Tensor *x = operands[0];
  *result = tensor_new(instr->shape, true);
  Box box = box_dense((*result)->dims, (*result)->rank, dtype_bytes(x->dtype));
  dense_steps(x->dims, x->rank, box.element_bytes, box.from_step);
  int64_t offset =
      window_offset(operands + 1, instr->operands.n - 1, x->dims, box.dims, box.from_step, x->rank);
  box_copy(&box, (*result)->data, x->data + offset);
  return STATUS_OK;
}

Status eval_dynamic_update_slice(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                                 Tensor **result) {
  Tensor *x = operands[0];
  const Tensor *update = operands[1];
  if (may_overwrite(context, instr, operands, 0)) {
    *result = tensor_retain(x);
  } else {
    *result = tensor_new(instr->shape, true);
    if (x->bytes != 0) memcpy((*result)->data, x->data, x->bytes);
  }
  Box box = box_dense(update->dims, update->rank, dtype_bytes(x->dtype));
  dense_steps(x->dims, x->rank, box.element_bytes, box.to_step);
  int64_t offset =
      window_offset(operands + 2, instr->operands.n - 2, x->dims, box.dims, box.to_step, x->rank);
  box_copy(&box, (*result)->data + offset, update->data);
  return STATUS_OK;
}

Status eval_iota(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  (void)context, (void)operands;
  *result = tensor_new(instr->shape, true);
  Tensor *out = *result;
  uint32_t d = (uint32_t)instr_int(instr, ATTR_iota_dimension, 0), bytes = dtype_bytes(out->dtype);
  int64_t n = out->rank == 0 ? 1 : out->dims[d];
  Tensor *counts = tensor_new_array(DTYPE_S64, &n, 1, true),
         *line = tensor_new_array(out->dtype, &n, 1, true);
  for (int64_t i = 0; i < n; i++) ((int64_t *)counts->data)[i] = i;
  convert_run(DTYPE_S64, out->dtype, n, counts->data, line->data);
  Box box = box_dense(out->dims, out->rank, bytes);
  memset(box.from_step, 0, sizeof box.from_step);
  box.from_step[d] = bytes;
  box_copy(&box, out->data, line->data);
  tensor_release(counts);
  tensor_release(line);
  return STATUS_OK;
}

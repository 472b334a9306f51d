/* scan: a computation is applied to one slice of the inputs after the other, with what the one before left
 * (the carries). Operands are inputs and first carries, results the slices that come out, stacked, and the
 * last carries. */
#include "sim/eval/evaluators.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const EvalContext *context;
  uint32_t comp, n_inputs, n_outputs, n_carries, d;
  int64_t length;
} Scan;

/* Slice `at` of an array along dimension d, as a view without that dimension. */
static View slice_view(const Tensor *x, uint32_t d, int64_t at) {
  View view = {.rank = x->rank - 1};
  int64_t steps[EVAL_MAX_RANK];
  dense_steps(x->dims, x->rank, 1, steps);
  view.offset = at * steps[d];
  for (uint32_t i = 0; i < view.rank; i++) {
    view.dims[i] = x->dims[i < d ? i : i + 1];
    view.steps[i] = steps[i < d ? i : i + 1];
  }
  return view;
}

static Tensor *slice_of(const Tensor *x, uint32_t d, int64_t at) {
  View view = slice_view(x, d, at);
  Tensor *vector = view_take(x, &view), *slice = tensor_reshaped(vector, view.dims, view.rank);
  tensor_release(vector);
  return slice;
}

/* One application; carries are replaced by those that come out. */
static Status step(const Scan *scan, Tensor *const *inputs, int64_t at, Tensor **carries, Tensor **outputs) {
  uint32_t n = scan->n_inputs + scan->n_carries;
  Tensor **operands = calloc(n, sizeof *operands), *made = NULL;
  for (uint32_t i = 0; i < scan->n_inputs; i++) operands[i] = slice_of(inputs[i], scan->d, at);
  memcpy(operands + scan->n_inputs, carries, scan->n_carries * sizeof *carries);
  Status status = eval_comp(scan->context, scan->comp, operands, n, &made);
  for (uint32_t i = 0; i < scan->n_inputs; i++) tensor_release(operands[i]);
  free(operands);
  TRY(status);
  for (uint32_t i = 0; i < scan->n_outputs; i++) {
    View view = slice_view(outputs[i], scan->d, at);
    view_put(outputs[i], &view, made->parts[i]);
  }
  for (uint32_t i = 0; i < scan->n_carries; i++) {
    tensor_release(carries[i]);
    carries[i] = tensor_retain(made->parts[scan->n_outputs + i]);
  }
  tensor_release(made);
  return STATUS_OK;
}

static bool same_array(const Shape *shape, DType dtype, const int64_t *dims, uint32_t rank) {
  return shape_is_array(shape) && shape->dtype == dtype && int64s_eq(shape->dims, shape->rank, dims, rank);
}

/* Whether inputs and outputs have the scanned dimension, and the computation gives their slices. */
static bool shapes_fit(const Scan *scan, const Instr *instr, Tensor *const *operands) {
  const Comp *comp = module_comp(scan->context->module, scan->comp);
  const Shape *gives = comp->instrs.at[comp->root].shape, *shape = instr->shape;
  if (!shape_is_tuple(gives) || gives->rank != shape->rank) return false;
  for (uint32_t i = 0; i < scan->n_inputs; i++) {
    if (operands[i]->rank <= scan->d || operands[i]->dims[scan->d] != scan->length) return false;
  }
  for (uint32_t i = 0; i < shape->rank; i++) {
    const Shape *out = shape->parts[i], *of = gives->parts[i];
    if (i >= scan->n_outputs) {
      if (!shape_is_array(of) || !same_array(out, of->dtype, of->dims, of->rank)) return false;
      continue;
    }
    if (!shape_is_array(out) || out->rank <= scan->d || out->dims[scan->d] != scan->length) return false;
    int64_t dims[EVAL_MAX_RANK];
    for (uint32_t k = 0; k + 1 < out->rank; k++) dims[k] = out->dims[k < scan->d ? k : k + 1];
    if (!same_array(of, out->dtype, dims, out->rank - 1)) return false;
  }
  return true;
}

static bool read_form(const EvalContext *context, const Instr *instr, Tensor *const *operands, Scan *scan) {
  Ints dimensions = instr_ints(instr, ATTR_dimensions);
  uint32_t comp = instr_comp(instr, ATTR_to_apply);
  int64_t carries = instr_int(instr, ATTR_num_carries, 0), n = instr->operands.n;
  if (!shape_is_tuple(instr->shape) || comp == NO_ID || dimensions.n != 1 || carries < 0) return false;
  if (carries >= n || carries > instr->shape->rank || dimensions.at[0] < 0) return false;
  *scan = (Scan){.context = context,
                 .comp = comp,
                 .n_inputs = (uint32_t)(n - carries),
                 .n_outputs = (uint32_t)(instr->shape->rank - carries),
                 .n_carries = (uint32_t)carries};
  if (dimensions.at[0] >= operands[0]->rank) return false;
  scan->d = (uint32_t)dimensions.at[0];
  scan->length = operands[0]->dims[scan->d];
  return shapes_fit(scan, instr, operands);
}

Status eval_scan(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  Scan scan;
  if (!read_form(context, instr, operands, &scan))
    return eval_unsupported(context, instr, "a scan of these shapes");
  uint32_t n = instr->shape->rank;
  bool backwards = instr_flag(instr, ATTR_is_reverse);
  Tensor **results = calloc(n, sizeof *results), **carries = results + scan.n_outputs;
  for (uint32_t i = 0; i < scan.n_outputs; i++) results[i] = tensor_new(instr->shape->parts[i], true);
  for (uint32_t i = 0; i < scan.n_carries; i++) carries[i] = tensor_retain(operands[scan.n_inputs + i]);
  Status status = STATUS_OK;
  for (int64_t i = 0; i < scan.length && status == STATUS_OK; i++)
    status = step(&scan, operands, backwards ? scan.length - 1 - i : i, carries, results);
  if (status == STATUS_OK) *result = tensor_tuple(results, n);
  for (uint32_t i = 0; i < n && status != STATUS_OK; i++) tensor_release(results[i]);
  free(results);
  return status;
}

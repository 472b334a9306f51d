/* topk, and the custom call ApproxTopK, which is exact here. */
#include "sim/eval/evaluators.h"
#include "sim/eval/sort.h"

#include <stdlib.h>
#include <string.h>

/* Whether `to` is `x` but for a dimension that is no longer. */
static bool is_cut_of(const Shape *to, const Tensor *x, uint32_t cut) {
  if (!shape_is_array(to) || to->rank != x->rank) return false;
  for (uint32_t d = 0; d < x->rank; d++) {
    if (d == cut ? to->dims[d] > x->dims[d] : to->dims[d] != x->dims[d]) return false;
  }
  return true;
}

/* The k largest (or smallest) of each line with their places, the first of equals first. */
Status eval_topk(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  const Tensor *x = operands[0];
  const Shape *shape = instr->shape;
  bool well_formed = shape_is_tuple(shape) && shape->rank == 2 && x->rank != 0 &&
                     shape->parts[0]->dtype == x->dtype && shape->parts[1]->dtype == DTYPE_S32 &&
                     is_cut_of(shape->parts[0], x, x->rank - 1) && is_cut_of(shape->parts[1], x, x->rank - 1);
  if (!well_formed)
    return eval_unsupported(context, instr, "a topk that does not give values and s32 places");
  Tensor *values = tensor_new(shape->parts[0], true), *places = tensor_new(shape->parts[1], true);
  int64_t n = x->dims[x->rank - 1], k = values->dims[values->rank - 1],
          lines = n ? tensor_elements(x) / n : 0;
  bool largest = instr_flag(instr, ATTR_largest) || instr_attr(instr, ATTR_largest) == NULL;
  uint32_t bytes = dtype_bytes(x->dtype);
  Keyed *keyed = malloc((size_t)(2 * n + 1) * sizeof *keyed);
  for (int64_t line = 0; line < lines; line++) {
    const unsigned char *from = x->data + line * n * bytes;
    sort_keys(x->dtype, n, from, false, keyed);
    if (largest) sort_keys_descending(n, keyed);
    sort_keyed(n, keyed, keyed + n);
    for (int64_t i = 0; i < k; i++) {
      memcpy(values->data + (line * k + i) * bytes, from + keyed[i].place * bytes, bytes);
      ((int32_t *)places->data)[line * k + i] = (int32_t)keyed[i].place;
    }
  }
  free(keyed);
  *result = tensor_tuple((Tensor *[]){values, places}, 2);
  return STATUS_OK;
}

/* The first elements along each dimension. */
static Tensor *first_elements(const Tensor *x, const Shape *shape) {
  Tensor *cut = tensor_new(shape, true);
  Box box = box_dense(cut->dims, cut->rank, dtype_bytes(x->dtype));
  dense_steps(x->dims, x->rank, dtype_bytes(x->dtype), box.from_step);
  box_copy(&box, cut->data, x->data);
  return cut;
}

/* Whether the call is (x, …, initial values) -> (cut of x, …) along dimension d. */
static bool is_approx_topk(const Instr *instr, Tensor *const *operands, int64_t d) {
  const Shape *shape = instr->shape;
  if (!shape_is_tuple(shape) || 2 * shape->rank != instr->operands.n || d < 0 || d >= operands[0]->rank)
    return false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    const Tensor *x = operands[i];
    bool same = x->dtype == shape->parts[i]->dtype &&
                int64s_eq(x->dims, x->rank, operands[0]->dims, operands[0]->rank);
    if (!same || !is_cut_of(shape->parts[i], x, (uint32_t)d)) return false;
  }
  return true;
}

/* All sorted by the comparator, and of each line the first. */
Status eval_approx_topk(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                        Tensor **result) {
  Ids called = instr_comps(instr, ATTR_called_computations);
  int64_t d = -1;
  if (!instr_config_int(instr, "reduction_dim", &d) || called.n != 1 || !is_approx_topk(instr, operands, d))
    return eval_unsupported(context, instr, "an ApproxTopK of this form");
  Attr attrs[] = {{.id = ATTR_dimensions, .ints = {&d, 1}}, {.id = ATTR_to_apply, .comp = called.at[0]}};
  Instr sort = *instr;
  sort.attrs = attrs;
  sort.n_attrs = 2;
  sort.operands.n = instr->shape->rank;
  Tensor *sorted = NULL;
  TRY(eval_sort(context, &sort, operands, &sorted));
  Tensor **parts = calloc(sorted->rank, sizeof *parts);
  for (uint32_t i = 0; i < sorted->rank; i++)
    parts[i] = first_elements(sorted->parts[i], instr->shape->parts[i]);
  *result = tensor_tuple(parts, sorted->rank);
  free(parts);
  tensor_release(sorted);
  return STATUS_OK;
}

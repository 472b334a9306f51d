/* ragged-dot: a dimension of lhs is cut into consecutive groups. Where it is a free dimension, each group of
 * rows has an rhs of its own; where it is contracting, each group gives a product of its own. Rows beyond the
 * last group are 0. */
#include "sim/eval/evaluators.h"

#include <string.h>

/* Elements [first, first + n) of dimension d, a dense copy. */
static Tensor *cut(const Tensor *x, int64_t d, int64_t first, int64_t n) {
  View view = {.rank = x->rank};
  dense_steps(x->dims, x->rank, 1, view.steps);
  memcpy(view.dims, x->dims, x->rank * sizeof *x->dims);
  view.dims[d] = n;
  view.offset = first * view.steps[d];
  Tensor *vector = view_take(x, &view), *out = tensor_reshaped(vector, view.dims, view.rank);
  tensor_release(vector);
  return out;
}

/* The dimension of the result that a free dimension of lhs becomes. */
static uint32_t result_dimension(const DotDims *dims, int64_t lhs_dimension) {
  uint32_t at = dims->lhs_batch.n;
  for (int64_t d = 0; d < lhs_dimension; d++)
    at += !ints_hold(dims->lhs_batch, d) && !ints_hold(dims->lhs_contracting, d);
  return at;
}

/* Rows [first, first + n) of lhs by the rhs of their group, into their rows of the result. */
static void multiply_rows(const Tensor *lhs, const Tensor *rhs, const DotDims *dims, int64_t ragged,
                          int64_t group_dimension, int64_t group, int64_t first, int64_t n, Tensor *result) {
  Tensor *rows = cut(lhs, ragged, first, n), *own = cut(rhs, group_dimension, group, 1);
  Tensor *product = tensor_dot(rows, own, dims, result->dtype);
  uint32_t d = result_dimension(dims, ragged);
  View view = {.rank = result->rank};
  dense_steps(result->dims, result->rank, 1, view.steps);
  memcpy(view.dims, result->dims, result->rank * sizeof *view.dims);
  view.dims[d] = n;
  view.offset = first * view.steps[d];
  view_put(result, &view, product);
  tensor_release(rows);
  tensor_release(own);
  tensor_release(product);
}

/* The product over places [first, first + n) of the ragged contracting dimension, a slice of the result. */
static void contract_group(const Tensor *lhs, const Tensor *rhs, const DotDims *dims, int64_t ragged,
                           int64_t group, int64_t first, int64_t n, Tensor *result) {
  int64_t paired = 0;
  for (uint32_t i = 0; i < dims->lhs_contracting.n; i++) {
    if (dims->lhs_contracting.at[i] == ragged) paired = dims->rhs_contracting.at[i];
  }
  Tensor *left = cut(lhs, ragged, first, n), *right = cut(rhs, paired, first, n);
  Tensor *product = tensor_dot(left, right, dims, result->dtype);
  memcpy(result->data + (size_t)group * product->bytes, product->data, product->bytes);
  tensor_release(left);
  tensor_release(right);
  tensor_release(product);
}

Status eval_ragged_dot(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                       Tensor **result) {
  const Tensor *lhs = operands[0], *rhs = operands[1], *sizes = operands[2];
  Ints ragged_dims = instr_ints(instr, ATTR_lhs_ragged_dims), groups = instr_ints(instr, ATTR_rhs_group_dims);
  DotDims dims = dot_dims(instr);
  if (ragged_dims.n != 1 || sizes->rank != 1 || ints_hold(dims.lhs_batch, ragged_dims.at[0]))
    return eval_unsupported(context, instr, "a ragged-dot whose groups differ along a batch");
  int64_t ragged = ragged_dims.at[0], total = lhs->dims[ragged], first = 0;
  bool contracts = ints_hold(dims.lhs_contracting, ragged);
  if (contracts != (groups.n == 0) || (!contracts && rhs->dims[groups.at[0]] != sizes->dims[0]))
    return eval_unsupported(context, instr, "a ragged-dot with these groups of rhs");
  *result = tensor_new(instr->shape, true);
  memset((*result)->data, 0, (*result)->bytes);
  for (int64_t group = 0; group < sizes->dims[0]; group++) {
    int64_t n = tensor_int_at(sizes, group);
    n = n < 0 ? 0 : n > total - first ? total - first : n;
    if (contracts) {
      contract_group(lhs, rhs, &dims, ragged, group, first, n, *result);
    } else {
      multiply_rows(lhs, rhs, &dims, ragged, groups.at[0], group, first, n, *result);
    }
    first += n;
  }
  return STATUS_OK;
}

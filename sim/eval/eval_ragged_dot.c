/* ragged-dot: a dimension of lhs is cut into consecutive groups. Where it is a free dimension, each group of
 * rows has an rhs of its own; where it is contracting, each group gives a product of its own. Rows beyond the
 * last group are 0. Sizes of groups are one list, or one for each place of the batch. */
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
    at += !ints_have(dims->lhs_batch, d) && !ints_have(dims->lhs_contracting, d);
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

typedef struct {
  DotDims dims;
  int64_t ragged, group_dimension; /* of lhs; of rhs, or -1 where the ragged dimension is contracted */
  int64_t groups;
} Ragged;

/* Fills the result, which is zeros, for one list of `groups` sizes that starts at element `first_size`. */
static void multiply_groups(const Ragged *form, const Tensor *lhs, const Tensor *rhs, const Tensor *sizes,
                            int64_t first_size, Tensor *result) {
  int64_t total = lhs->dims[form->ragged], first = 0;
  for (int64_t group = 0; group < form->groups; group++) {
    int64_t n = tensor_int_at(sizes, first_size + group);
    n = n < 0 ? 0 : n > total - first ? total - first : n;
    if (form->group_dimension < 0)
      contract_group(lhs, rhs, &form->dims, form->ragged, group, first, n, result);
    else
      multiply_rows(lhs, rhs, &form->dims, form->ragged, form->group_dimension, group, first, n, result);
    first += n;
  }
}

/* One place of the batch, as an array whose batch dimensions are 1 long. */
static Tensor *batch_cut(const Tensor *x, Ints batch, const int64_t *place) {
  Tensor *whole = cut(x, batch.at[0], place[0], 1);
  for (uint32_t i = 1; i < batch.n; i++) {
    Tensor *part = cut(whole, batch.at[i], place[i], 1);
    tensor_release(whole);
    whole = part;
  }
  return whole;
}

/* Every place of the batch with sizes of its own. */
static void multiply_batches(const Ragged *form, const Tensor *lhs, const Tensor *rhs, const Tensor *sizes,
                             Tensor *result) {
  uint32_t n = form->dims.lhs_batch.n, lead = form->group_dimension < 0 ? 1 : 0;
  int64_t places = tensor_elements(sizes) / (form->groups > 0 ? form->groups : 1);
  int64_t place[EVAL_MAX_RANK], dims[EVAL_MAX_RANK];
  View view = {.rank = result->rank};
  dense_steps(result->dims, result->rank, 1, view.steps);
  for (uint32_t d = 0; d < result->rank; d++)
    view.dims[d] = dims[d] = d >= lead && d < lead + n ? 1 : result->dims[d];
  for (int64_t at = 0; at < places; at++) {
    int64_t rest = at;
    view.offset = 0;
    for (uint32_t i = n; i-- > 0;) {
      place[i] = rest % sizes->dims[i];
      rest /= sizes->dims[i];
      view.offset += place[i] * view.steps[lead + i];
    }
    Tensor *left = batch_cut(lhs, form->dims.lhs_batch, place);
    Tensor *right = batch_cut(rhs, form->dims.rhs_batch, place);
    Tensor *product = tensor_new_array(result->dtype, dims, result->rank, true);
    memset(product->data, 0, product->bytes);
    multiply_groups(form, left, right, sizes, at * form->groups, product);
    view_put(result, &view, product);
    tensor_release(left);
    tensor_release(right);
    tensor_release(product);
  }
}

/* Whether the sizes are one list, or a list for each place of the batch. */
static bool sizes_fit(const Ragged *form, const Tensor *lhs, const Tensor *sizes) {
  Ints batch = form->dims.lhs_batch;
  if (sizes->rank == 1) return true;
  bool fit = sizes->rank == batch.n + 1;
  for (uint32_t i = 0; i < batch.n && fit; i++) fit = sizes->dims[i] == lhs->dims[batch.at[i]];
  return fit;
}

static Status read_form(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                        Ragged *form) {
  const Tensor *lhs = operands[0], *rhs = operands[1], *sizes = operands[2];
  Ints ragged = instr_ints(instr, ATTR_lhs_ragged_dims), groups = instr_ints(instr, ATTR_rhs_group_dims);
  *form = (Ragged){.dims = dot_dims(instr)};
  if (ragged.n != 1 || sizes->rank == 0)
    return eval_unsupported(context, instr, "a ragged-dot of several ragged dimensions");
  form->ragged = ragged.at[0];
  form->groups = sizes->dims[sizes->rank - 1];
  form->group_dimension = groups.n == 0 ? -1 : groups.at[0];
  if (!sizes_fit(form, lhs, sizes))
    return eval_unsupported(context, instr, "a ragged-dot with sizes of this shape");
  bool contracts = ints_have(form->dims.lhs_contracting, form->ragged);
  if (contracts != (groups.n == 0) || (!contracts && rhs->dims[groups.at[0]] != form->groups))
    return eval_unsupported(context, instr, "a ragged-dot with these groups of rhs");
  return STATUS_OK;
}

/* Groups along a batch dimension change nothing. */
static bool is_plain_dot(const Instr *instr) {
  Ints ragged = instr_ints(instr, ATTR_lhs_ragged_dims);
  return ragged.n == 1 && ints_have(instr_ints(instr, ATTR_lhs_batch_dims), ragged.at[0]);
}

Status eval_ragged_dot(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                       Tensor **result) {
  if (is_plain_dot(instr)) {
    Instr dot = *instr;
    dot.operands.n = 2;
    return eval_dot(context, &dot, operands, result);
  }
  Ragged form;
  TRY(read_form(context, instr, operands, &form));
  *result = tensor_new(instr->shape, true);
  memset((*result)->data, 0, (*result)->bytes);
  if (operands[2]->rank == 1)
    multiply_groups(&form, operands[0], operands[1], operands[2], 0, *result);
  else
    multiply_batches(&form, operands[0], operands[1], operands[2], *result);
  return STATUS_OK;
}

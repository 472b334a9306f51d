/* dot and scaled-dot. The dimensions of each operand are three groups (batch, free, contracting); where each
 * group lies as one dimension the operand is a batch of matrices as it is, else it is transposed first.
 * Floats below f32 are computed in f32 and rounded once; the type of the products is the widest of operands
 * and result. */
#include "sim/eval/dot.h"
#include "sim/eval/evaluators.h"
#include "sim/eval/kernel.h"

#include <string.h>

/* An operand as dimensions in the order batch, rows, columns, each group with its place in `dims`. */
typedef struct {
  int64_t dims[EVAL_MAX_RANK]; /* numbers of the operand's dimensions */
  uint32_t rank, batch_end, row_end;
} Grouping;

static void add_all(Grouping *grouping, Ints dims) {
  for (uint32_t i = 0; i < dims.n; i++) grouping->dims[grouping->rank++] = dims.at[i];
}

static void add_free(Grouping *grouping, const Tensor *x, Ints batch, Ints contracting) {
  for (uint32_t d = 0; d < x->rank; d++) {
    if (!ints_have(batch, d) && !ints_have(contracting, d)) grouping->dims[grouping->rank++] = d;
  }
}

/* lhs is batch, free, contracting (rows by k); rhs is batch, contracting, free (k by columns). */
static Grouping group_dims(const Tensor *x, Ints batch, Ints contracting, bool is_lhs) {
  Grouping grouping = {0};
  add_all(&grouping, batch);
  grouping.batch_end = grouping.rank;
  if (is_lhs) {
    add_free(&grouping, x, batch, contracting);
  } else {
    add_all(&grouping, contracting);
  }
  grouping.row_end = grouping.rank;
  if (is_lhs) {
    add_all(&grouping, contracting);
  } else {
    add_free(&grouping, x, batch, contracting);
  }
  return grouping;
}

static int64_t group_size(const Tensor *x, const Grouping *grouping, uint32_t from, uint32_t to) {
  int64_t size = 1;
  for (uint32_t i = from; i < to; i++) size *= x->dims[grouping->dims[i]];
  return size;
}

/* The one step (in elements) of a group of dimensions; false where they do not lie as one. */
static bool group_step(const Tensor *x, const Grouping *grouping, uint32_t from, uint32_t to, int64_t *step) {
  int64_t steps[EVAL_MAX_RANK], expected = 0;
  dense_steps(x->dims, x->rank, 1, steps);
  *step = 0;
  for (uint32_t i = to; i-- > from;) {
    int64_t d = grouping->dims[i];
    if (x->dims[d] == 1) continue;
    if (*step == 0) {
      *step = steps[d];
    } else if (steps[d] != expected) {
      return false;
    }
    expected = steps[d] * x->dims[d];
  }
  return true;
}

/* Whether the operand is a batch of matrices as it lies. A group of one element may step as it likes. */
static bool as_it_lies(const Tensor *x, const Grouping *grouping, Matrices *matrices) {
  uint32_t b = grouping->batch_end, r = grouping->row_end, n = grouping->rank;
  int64_t rows = group_size(x, grouping, b, r), columns = group_size(x, grouping, r, n);
  if (!group_step(x, grouping, 0, b, &matrices->batch_step)) return false;
  if (!group_step(x, grouping, b, r, &matrices->row_step)) return false;
  if (!group_step(x, grouping, r, n, &matrices->column_step)) return false;
  if (columns == 1 && matrices->row_step != 1) matrices->column_step = 1;
  if (matrices->column_step == 0) matrices->column_step = rows;
  if (matrices->row_step == 0) matrices->row_step = matrices->column_step == 1 ? columns : 1;
  matrices->data = x->data;
  return matrix_is_dense(*matrices, rows, columns);
}

/* The operand in the type of the products, as matrices; gives the tensor that holds them. */
static Tensor *matrices_of(Tensor *x, DType dtype, const Grouping *grouping, Matrices *matrices) {
  Tensor *wide = tensor_converted(x, dtype);
  if (as_it_lies(wide, grouping, matrices)) return wide;
  Tensor *dense = tensor_transposed(wide, grouping->dims);
  tensor_release(wide);
  int64_t rows = group_size(x, grouping, grouping->batch_end, grouping->row_end);
  int64_t columns = group_size(x, grouping, grouping->row_end, grouping->rank);
  *matrices = (Matrices){dense->data, rows * columns, columns, 1};
  return dense;
}

static DType wider(DType a, DType b) {
  return dtype_class(b) > dtype_class(a) ||
                 (dtype_class(b) == dtype_class(a) && dtype_bits(b) > dtype_bits(a))
             ? b
             : a;
}

DType product_dtype(DType lhs, DType rhs, DType result) {
  if (result == DTYPE_PRED) return DTYPE_U32;
  if (dtype_is_integer(result) && dtype_is_integer(lhs) && dtype_is_integer(rhs))
    return compute_dtype(result);
  DType widest = compute_dtype(wider(wider(lhs, rhs), result));
  return dtype_is_integer(widest) || widest == DTYPE_PRED ? DTYPE_S64 : widest;
}

Tensor *tensor_dot(Tensor *lhs, Tensor *rhs, const DotDims *dims, DType dtype) {
  DType wide = product_dtype(lhs->dtype, rhs->dtype, dtype);
  Grouping left = group_dims(lhs, dims->lhs_batch, dims->lhs_contracting, true);
  Grouping right = group_dims(rhs, dims->rhs_batch, dims->rhs_contracting, false);
  int64_t batch = group_size(lhs, &left, 0, left.batch_end);
  int64_t m = group_size(lhs, &left, left.batch_end, left.row_end);
  int64_t k = group_size(lhs, &left, left.row_end, left.rank);
  int64_t n = group_size(rhs, &right, right.row_end, right.rank);
  Matrices a, b;
  Tensor *lhs_holder = matrices_of(lhs, wide, &left, &a), *rhs_holder = matrices_of(rhs, wide, &right, &b);
  Tensor *product = tensor_new_array(wide, (int64_t[]){batch, m, n}, 3, true);
  matmul(wide, batch, m, n, k, a, b, product->data);
  Tensor *result = tensor_converted(product, dtype);
  tensor_release(lhs_holder);
  tensor_release(rhs_holder);
  tensor_release(product);
  return result;
}

DotDims dot_dims(const Instr *instr) {
  return (DotDims){.lhs_batch = instr_ints(instr, ATTR_lhs_batch_dims),
                   .rhs_batch = instr_ints(instr, ATTR_rhs_batch_dims),
                   .lhs_contracting = instr_ints(instr, ATTR_lhs_contracting_dims),
                   .rhs_contracting = instr_ints(instr, ATTR_rhs_contracting_dims)};
}

Status eval_dot(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  if (instr->operands.n != 2) return eval_unsupported(context, instr, "a sparse dot");
  DotDims dims = dot_dims(instr);
  Tensor *product = tensor_dot(operands[0], operands[1], &dims, instr->shape->dtype);
  *result = tensor_reshaped(product, instr->shape->dims, instr->shape->rank);
  tensor_release(product);
  return STATUS_OK;
}

/* An operand of scaled-dot in bf16: each block of elements times its scale. An empty scale is one. */
static Tensor *scaled_operand(Tensor *x, const Tensor *scale) {
  int64_t steps[EVAL_MAX_RANK], n = tensor_elements(x);
  Tensor *narrow = tensor_new_array(DTYPE_BF16, x->dims, x->rank, true);
  dense_steps(scale->dims, scale->rank, 1, steps);
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i, at = 0;
    for (uint32_t d = x->rank; d-- > 0 && scale->rank != 0;) {
      at += rest % x->dims[d] / (x->dims[d] / scale->dims[d]) * steps[d];
      rest /= x->dims[d];
    }
    tensor_set_double(narrow, i, tensor_double_at(x, i) * tensor_double_at(scale, at));
  }
  return narrow;
}

/* Whether each dimension of a scale divides the operand's, or it is a scalar. */
static bool scale_fits(const Tensor *x, const Tensor *scale) {
  if (scale->rank == 0) return true;
  bool fits = scale->rank == x->rank;
  for (uint32_t d = 0; d < x->rank && fits; d++)
    fits = scale->dims[d] != 0 ? x->dims[d] % scale->dims[d] == 0 : x->dims[d] == 0;
  return fits;
}

/* lhs, rhs and the scales of their blocks; a product in bf16, as XLA computes it where the hardware has none.
 */
Status eval_scaled_dot(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                       Tensor **result) {
  if (instr->operands.n != 4 || !scale_fits(operands[0], operands[2]) ||
      !scale_fits(operands[1], operands[3]))
    return eval_unsupported(context, instr, "a scaled-dot of these operands");
  DotDims dims = dot_dims(instr);
  Tensor *lhs = scaled_operand(operands[0], operands[2]), *rhs = scaled_operand(operands[1], operands[3]);
  Tensor *product = tensor_dot(lhs, rhs, &dims, instr->shape->dtype);
  *result = tensor_reshaped(product, instr->shape->dims, instr->shape->rank);
  tensor_release(lhs);
  tensor_release(rhs);
  tensor_release(product);
  return STATUS_OK;
}

/* Shape inference of dots, convolutions, reductions over dimensions and windows, and linear algebra. */
#include "sim/ir/infer.h"

static const Shape *with_dims(const Infer *at, const int64_t *dims, uint32_t rank) {
  return shape_with_dims(at->arena, operand_shape(at, 0), dims, rank);
}

/* The type of a product is the one that is written; where none is, operand 0's. */
static DType product_type(const Infer *at) {
  const Shape *written = at->instr->shape;
  return written != NULL && shape_is_array(written) ? written->dtype : operand_shape(at, 0)->dtype;
}

/* --- Dot. --- */

static Status check_paired_dims(const Infer *at, AttrId lhs_id, AttrId rhs_id) {
  const Shape *lhs = operand_shape(at, 0), *rhs = operand_shape(at, 1);
  Ints l = instr_ints(at->instr, lhs_id), r = instr_ints(at->instr, rhs_id);
  TRY(expect_dims(at, lhs_id, l, lhs->rank));
  TRY(expect_dims(at, rhs_id, r, rhs->rank));
  RETURN_IF(l.n != r.n, INFER_FAIL(at, "%s has %u dimensions, %s has %u", attr_text(lhs_id), l.n,
                                   attr_text(rhs_id), r.n));
  for (uint32_t i = 0; i < l.n; i++) {
    int64_t a = lhs->dims[l.at[i]], b = rhs->dims[r.at[i]];
    RETURN_IF(a != b && a >= 0 && b >= 0,
              INFER_FAIL(at, "dimension %ld of %s is %ld, dimension %ld of %s must be the same and is %ld",
                         (long)l.at[i], shape_words(at, lhs), (long)a, (long)r.at[i], shape_words(at, rhs),
                         (long)b));
  }
  return STATUS_OK;
}

/* Dimensions that are neither batch nor contracted, appended. */
static uint32_t add_free_dims(const Shape *shape, Ints batch, Ints contracting, int64_t *dims, uint32_t n) {
  for (uint32_t d = 0; d < shape->rank; d++) {
    if (!ints_have(batch, d) && !ints_have(contracting, d)) dims[n++] = shape->dims[d];
  }
  return n;
}

Status infer_dot(const Infer *at, const Shape **shape) {
  const Instr *instr = at->instr;
  TRY(expect_operands(at, 2));
  /* A scaled dot has its scales behind; of a dot with metadata of sparse operands what is written counts. */
  RETURN_IF(instr->operands.n > 2 && instr->op == OP_DOT, STATUS_OK);
  TRY(expect_array(at, 0));
  TRY(expect_array(at, 1));
  const Shape *lhs = operand_shape(at, 0), *rhs = operand_shape(at, 1);
  Ints lhs_batch = instr_ints(instr, ATTR_lhs_batch_dims), rhs_batch = instr_ints(instr, ATTR_rhs_batch_dims);
  Ints lhs_contracting = instr_ints(instr, ATTR_lhs_contracting_dims);
  Ints rhs_contracting = instr_ints(instr, ATTR_rhs_contracting_dims);
  TRY(check_paired_dims(at, ATTR_lhs_batch_dims, ATTR_rhs_batch_dims));
  TRY(check_paired_dims(at, ATTR_lhs_contracting_dims, ATTR_rhs_contracting_dims));
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, lhs->rank + rhs->rank);
  uint32_t rank = 0;
  for (; rank < lhs_batch.n; rank++) {
    dims[rank] = lhs->dims[lhs_batch.at[rank]];
    RETURN_IF(ints_have(lhs_contracting, lhs_batch.at[rank]) ||
                  ints_have(rhs_contracting, rhs_batch.at[rank]),
              INFER_FAIL(at, "a dimension is both batch and contracting"));
  }
  rank = add_free_dims(lhs, lhs_batch, lhs_contracting, dims, rank);
  rank = add_free_dims(rhs, rhs_batch, rhs_contracting, dims, rank);
  *shape = shape_array(at->arena, product_type(at), dims, rank);
  return STATUS_OK;
}

/* The sizes of `list` before dimension `end`, appended. */
static uint32_t add_dims_before(const Shape *shape, Ints list, int64_t end, int64_t *dims, uint32_t n) {
  for (uint32_t i = 0; i < list.n && list.at[i] != end; i++) dims[n++] = shape->dims[list.at[i]];
  return n;
}

/* Sizes of groups: one list, or one for each place of the batch and of what lies before the ragged dimension
 * among those of its kind. */
static Status check_group_sizes(const Infer *at, int64_t ragged, Ints batch, Ints contracting) {
  const Shape *lhs = operand_shape(at, 0), *sizes = operand_shape(at, 2);
  RETURN_IF(sizes->rank == 1, STATUS_OK);
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, lhs->rank + 1);
  uint32_t rank = add_dims_before(lhs, batch, ragged, dims, 0);
  if (ints_have(contracting, ragged))
    rank = add_dims_before(lhs, contracting, ragged, dims, rank);
  else if (!ints_have(batch, ragged))
    rank =
        add_free_dims(&(Shape){.rank = (uint32_t)ragged, .dims = lhs->dims}, batch, contracting, dims, rank);
  bool fits = sizes->rank == rank + 1;
  for (uint32_t d = 0; d < rank && fits; d++) fits = sizes->dims[d] == dims[d];
  dims[rank] = sizes->rank == 0 ? 0 : sizes->dims[sizes->rank - 1];
  RETURN_IF(!fits, INFER_FAIL(at, "the sizes of groups must be a vector or %s, operand 2 is %s",
                              shape_words(at, shape_array(at->arena, sizes->dtype, dims, rank + 1)),
                              shape_words(at, sizes)));
  return STATUS_OK;
}

/* Groups of rows have each its slice of operand 1, others have none. */
static Status check_group_dim(const Infer *at, bool rows, Ints group, Ints batch, Ints contracting) {
  const Shape *rhs = operand_shape(at, 1), *sizes = operand_shape(at, 2);
  TRY(expect_dims(at, ATTR_rhs_group_dims, group, rhs->rank));
  RETURN_IF(group.n != (rows ? 1 : 0),
            INFER_FAIL(at, "%s group dimension is expected in operand 1, %u are named", rows ? "one" : "no",
                       group.n));
  RETURN_IF(!rows, STATUS_OK);
  int64_t slices = rhs->dims[group.at[0]], groups = sizes->dims[sizes->rank - 1];
  RETURN_IF(ints_have(batch, group.at[0]) || ints_have(contracting, group.at[0]),
            INFER_FAIL(at, "a dimension both of groups and of batch or contraction"));
  RETURN_IF(slices != groups && slices >= 0 && groups >= 0,
            INFER_FAIL(at, "operand 2 has %ld groups, dimension %ld of %s is of %ld", (long)groups,
                       (long)group.at[0], shape_words(at, rhs), (long)slices));
  return STATUS_OK;
}

/* A dot whose groups, of sizes in operand 2, lie ragged along a dimension of operand 0. Groups of rows take
 * each its own slice of operand 1 (which has a dimension of groups); groups of the contraction give each a
 * result; groups of the batch are a plain dot. */
Status infer_ragged_dot(const Infer *at, const Shape **shape) {
  const Instr *instr = at->instr;
  TRY(expect_operands(at, 3));
  for (uint32_t i = 0; i < 3; i++) TRY(expect_array(at, i));
  const Shape *lhs = operand_shape(at, 0), *rhs = operand_shape(at, 1), *sizes = operand_shape(at, 2);
  Ints ragged = instr_ints(instr, ATTR_lhs_ragged_dims), group = instr_ints(instr, ATTR_rhs_group_dims);
  Ints lhs_batch = instr_ints(instr, ATTR_lhs_batch_dims), rhs_batch = instr_ints(instr, ATTR_rhs_batch_dims);
  Ints lhs_contracting = instr_ints(instr, ATTR_lhs_contracting_dims);
  Ints rhs_contracting = instr_ints(instr, ATTR_rhs_contracting_dims);
  TRY(expect_dims(at, ATTR_lhs_ragged_dims, ragged, lhs->rank));
  TRY(check_paired_dims(at, ATTR_lhs_batch_dims, ATTR_rhs_batch_dims));
  TRY(check_paired_dims(at, ATTR_lhs_contracting_dims, ATTR_rhs_contracting_dims));
  RETURN_IF(ragged.n != 1, INFER_FAIL(at, "a ragged dot has one ragged dimension, %u are named", ragged.n));
  bool of_contraction = ints_have(lhs_contracting, ragged.at[0]);
  bool of_rows = !of_contraction && !ints_have(lhs_batch, ragged.at[0]);
  TRY(check_group_sizes(at, ragged.at[0], lhs_batch, lhs_contracting));
  TRY(check_group_dim(at, of_rows, group, rhs_batch, rhs_contracting));
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, lhs->rank + rhs->rank + 1);
  uint32_t rank = 0;
  if (of_contraction) dims[rank++] = sizes->dims[sizes->rank - 1];
  for (uint32_t b = 0; b < lhs_batch.n; b++) dims[rank++] = lhs->dims[lhs_batch.at[b]];
  rank = add_free_dims(lhs, lhs_batch, lhs_contracting, dims, rank);
  for (uint32_t d = 0; d < rhs->rank; d++) {
    if (!ints_have(rhs_batch, d) && !ints_have(rhs_contracting, d) && !ints_have(group, d))
      dims[rank++] = rhs->dims[d];
  }
  *shape = shape_array(at->arena, product_type(at), dims, rank);
  return STATUS_OK;
}

/* --- Windows. --- */

static Status window_dim(const Infer *at, int64_t size, WindowDim w, uint32_t d, int64_t *out) {
  RETURN_IF(w.size < 1 || w.stride < 1 || w.lhs_dilate < 1 || w.rhs_dilate < 1,
            INFER_FAIL(at, "size, stride and dilations of the window's dimension %u must be at least 1", d));
  int64_t base = size, window = w.size - 1;
  bool fits = size <= 0 || (!__builtin_mul_overflow(size - 1, w.lhs_dilate, &base) &&
                            !__builtin_add_overflow(base, 1, &base));
  fits = fits && !__builtin_add_overflow(base, w.pad_low, &base) &&
         !__builtin_add_overflow(base, w.pad_high, &base) &&
         !__builtin_mul_overflow(window, w.rhs_dilate, &window);
  RETURN_IF(!fits || base < 0,
            INFER_FAIL(at, "the window leaves no size of dimension %u, which is %ld", d, (long)size));
  *out = base <= window ? 0 : (base - window - 1) / w.stride + 1;
  return STATUS_OK;
}

Status window_dims(const Infer *at, const int64_t *dims, uint32_t rank, Window window, int64_t *out) {
  RETURN_IF(window.n != rank,
            INFER_FAIL(at, "the window has %u dimensions, %u are expected", window.n, rank));
  for (uint32_t d = 0; d < rank; d++) TRY(window_dim(at, dims[d], window.at[d], d, &out[d]));
  return STATUS_OK;
}

/* --- Convolution. --- */

static Status check_labels(const Infer *at, const char *what, int64_t a, int64_t b, Ints spatial) {
  uint32_t rank = spatial.n + 2;
  int64_t *all = ARENA_ARRAY(at->arena, int64_t, rank);
  memcpy(all, (const int64_t[]){a, b}, 2 * sizeof *all);
  if (spatial.n != 0) memcpy(all + 2, spatial.at, spatial.n * sizeof *all);
  for (uint32_t i = 0; i < rank; i++)
    RETURN_IF(all[i] < 0 || all[i] >= rank || ints_have((Ints){all, i}, all[i]),
              INFER_FAIL(at, "dim_labels do not name each dimension of the %s once", what));
  return STATUS_OK;
}

static Status check_features(const Infer *at, const ConvLabels *labels, int64_t feature_groups,
                             int64_t batch_groups) {
  const Shape *lhs = operand_shape(at, 0), *rhs = operand_shape(at, 1);
  RETURN_IF(feature_groups < 1 || batch_groups < 1 || (feature_groups > 1 && batch_groups > 1),
            INFER_FAIL(at, "feature_group_count=%ld and batch_group_count=%ld", (long)feature_groups,
                       (long)batch_groups));
  int64_t in = lhs->dims[labels->lhs_feature], out = rhs->dims[labels->rhs_output_feature];
  int64_t in_group = rhs->dims[labels->rhs_input_feature], batch = lhs->dims[labels->lhs_batch];
  RETURN_IF(in % feature_groups != 0 || in / feature_groups != in_group,
            INFER_FAIL(at, "%ld input features in %ld groups, the kernel takes %ld", (long)in,
                       (long)feature_groups, (long)in_group));
  RETURN_IF(out % feature_groups != 0 || out % batch_groups != 0 || batch % batch_groups != 0,
            INFER_FAIL(at, "%ld output features and a batch of %ld do not divide into groups", (long)out,
                       (long)batch));
  return STATUS_OK;
}

/* Floats of any type, and what is true or false with them, as the TPU compiler writes one-hot products. */
static bool multiplies(DType lhs, DType rhs) {
  DClass l = dtype_class(lhs), r = dtype_class(rhs);
  bool floats = (l == DCLASS_FLOAT || l == DCLASS_PRED) && (r == DCLASS_FLOAT || r == DCLASS_PRED);
  return lhs == rhs || (floats && (l == DCLASS_FLOAT || r == DCLASS_FLOAT));
}

Status infer_convolution(const Infer *at, const Shape **shape) {
  const Attr *attr = instr_attr(at->instr, ATTR_dim_labels);
  RETURN_IF(attr == NULL, INFER_FAIL(at, "convolution needs dim_labels"));
  const ConvLabels *labels = attr->labels;
  uint32_t spatial = labels->lhs_spatial.n, rank = spatial + 2;
  RETURN_IF(labels->rhs_spatial.n != spatial || labels->out_spatial.n != spatial,
            INFER_FAIL(at, "dim_labels differ in their spatial dimensions"));
  TRY(check_labels(at, "input", labels->lhs_batch, labels->lhs_feature, labels->lhs_spatial));
  TRY(check_labels(at, "kernel", labels->rhs_input_feature, labels->rhs_output_feature, labels->rhs_spatial));
  TRY(check_labels(at, "output", labels->out_batch, labels->out_feature, labels->out_spatial));
  TRY(expect_rank(at, 0, rank));
  TRY(expect_rank(at, 1, rank));
  const Shape *lhs = operand_shape(at, 0), *rhs = operand_shape(at, 1);
  RETURN_IF(!multiplies(lhs->dtype, rhs->dtype),
            INFER_FAIL(at, "a convolution of %s and %s", shape_words(at, lhs), shape_words(at, rhs)));
  int64_t batch_groups = instr_int(at->instr, ATTR_batch_group_count, 1);
  TRY(check_features(at, labels, instr_int(at->instr, ATTR_feature_group_count, 1), batch_groups));
  Window window = instr_window(at->instr);
  int64_t *base = ARENA_ARRAY(at->arena, int64_t, spatial), *sizes = ARENA_ARRAY(at->arena, int64_t, spatial);
  for (uint32_t d = 0; d < spatial; d++) base[d] = lhs->dims[labels->lhs_spatial.at[d]];
  TRY(window_dims(at, base, spatial, window, sizes));
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, rank);
  dims[labels->out_batch] = lhs->dims[labels->lhs_batch] / batch_groups;
  dims[labels->out_feature] = rhs->dims[labels->rhs_output_feature];
  for (uint32_t d = 0; d < spatial; d++) {
    dims[labels->out_spatial.at[d]] = sizes[d];
    int64_t kernel = rhs->dims[labels->rhs_spatial.at[d]];
    RETURN_IF(kernel != window.at[d].size,
              INFER_FAIL(at, "the window's dimension %u is %ld, the kernel's is %ld", d,
                         (long)window.at[d].size, (long)kernel));
  }
  *shape = shape_array(at->arena, product_type(at), dims, rank);
  return STATUS_OK;
}

/* --- Reductions. --- */

/* n arrays of the same dimensions, then n scalars to start from. Their types go to `types`. */
static Status check_reduced(const Infer *at, uint32_t *n, DType **types) {
  *n = at->instr->operands.n / 2;
  RETURN_IF(*n == 0 || at->instr->operands.n % 2 != 0,
            INFER_FAIL(at, "%s takes arrays and as many start values", op_text(at->instr->op)));
  *types = ARENA_ARRAY(at->arena, DType, *n);
  for (uint32_t i = 0; i < *n; i++) {
    TRY(expect_array(at, i));
    const Shape *array = operand_shape(at, i), *start = operand_shape(at, *n + i);
    RETURN_IF(!dims_eq(array, operand_shape(at, 0)),
              INFER_FAIL(at, "operand %u is %s, operand 0 is %s", i, shape_words(at, array),
                         shape_words(at, operand_shape(at, 0))));
    RETURN_IF(!shape_is_scalar(start),
              INFER_FAIL(at, "start value %u must be a scalar, it is %s", i, shape_words(at, start)));
    RETURN_IF(!type_widens(at, array->dtype, start->dtype),
              INFER_FAIL(at, "operand %u, %s, does not start from %s", i, shape_words(at, array),
                         shape_words(at, start)));
    (*types)[i] = start->dtype;
  }
  return STATUS_OK;
}

/* A result of `dims` for each type. */
static const Shape *results_of(const Infer *at, const DType *types, uint32_t n, const int64_t *dims,
                               uint32_t rank) {
  const Shape **results = ARENA_ARRAY(at->arena, const Shape *, n);
  for (uint32_t i = 0; i < n; i++) results[i] = shape_array(at->arena, types[i], dims, rank);
  return one_or_tuple(at, results, n);
}

Status infer_reduce(const Infer *at, const Shape **shape) {
  uint32_t n;
  DType *types;
  TRY(check_reduced(at, &n, &types));
  const Shape *from = operand_shape(at, 0);
  Ints reduced = instr_ints(at->instr, ATTR_dimensions);
  TRY(expect_dims(at, ATTR_dimensions, reduced, from->rank));
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, from->rank);
  uint32_t rank = add_free_dims(from, reduced, (Ints){0}, dims, 0);
  *shape = results_of(at, types, n, dims, rank);
  return at->instr->shape == NULL ? STATUS_OK : expect_combiner(at, ATTR_to_apply, types, n);
}

Status infer_reduce_window(const Infer *at, const Shape **shape) {
  uint32_t n;
  DType *types;
  TRY(check_reduced(at, &n, &types));
  const Shape *from = operand_shape(at, 0);
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, from->rank);
  TRY(window_dims(at, from->dims, from->rank, instr_window(at->instr), dims));
  *shape = results_of(at, types, n, dims, from->rank);
  return at->instr->shape == NULL ? STATUS_OK : expect_combiner(at, ATTR_to_apply, types, n);
}

Status infer_select_and_scatter(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  const Shape *into = operand_shape(at, 0), *source = operand_shape(at, 1);
  TRY(expect_rank(at, 1, into->rank));
  TRY(expect_scalar(at, 2, into->dtype));
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, into->rank);
  TRY(window_dims(at, into->dims, into->rank, instr_window(at->instr), dims));
  const Shape *expected = with_dims(at, dims, into->rank);
  RETURN_IF(
      !shape_fits(expected, source, at->mixed),
      INFER_FAIL(at, "the source must be %s, it is %s", shape_words(at, expected), shape_words(at, source)));
  TRY(expect_predicate(at, ATTR_select, &into->dtype, 1));
  TRY(expect_combiner(at, ATTR_scatter, &into->dtype, 1));
  *shape = into;
  return STATUS_OK;
}

/* --- Linear algebra and norms. --- */

/* What XLA asks of the real side: its lengths are fft_length; the complex side's last is half of it and one.
 */
static bool fft_lengths_fit(const Shape *from, Ints length, bool from_real) {
  for (uint32_t i = 0; i < length.n; i++) {
    int64_t size = from->dims[from->rank - length.n + i], wanted = length.at[i];
    bool last = i + 1 == length.n;
    if (last && !from_real) wanted = wanted == 0 ? 0 : wanted / 2 + 1;
    if (size != wanted) return false;
  }
  return true;
}

Status infer_fft(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  const Shape *from = operand_shape(at, 0);
  Ints length = instr_ints(at->instr, ATTR_fft_length);
  Str type = instr_word(at->instr, ATTR_fft_type);
  bool from_real = str_is(type, "RFFT"), to_real = str_is(type, "IRFFT");
  RETURN_IF(length.n == 0 || length.n > 3 || length.n > from->rank,
            INFER_FAIL(at, "fft_length has %u dimensions, operand 0 is %s", length.n, shape_words(at, from)));
  RETURN_IF(from_real == (dtype_class(from->dtype) == DCLASS_COMPLEX),
            INFER_FAIL(at, "%.*s takes %s numbers, operand 0 is %s", STR_ARG(type),
                       from_real ? "real" : "complex", shape_words(at, from)));
  RETURN_IF((from_real || to_real) && !fft_lengths_fit(from, length, from_real),
            INFER_FAIL(at, "fft_length does not fit operand 0, %s", shape_words(at, from)));
  RETURN_IF(from_real && from->dtype != DTYPE_F32 && from->dtype != DTYPE_F64,
            INFER_FAIL(at, "RFFT takes f32 or f64, operand 0 is %s", shape_words(at, from)));
  int64_t *dims = arena_copy(at->arena, from->dims, from->rank * sizeof *dims), *last = &dims[from->rank - 1];
  bool wide = from->dtype == DTYPE_F64 || from->dtype == DTYPE_C128;
  DType dtype = from->dtype;
  if (from_real) {
    dtype = wide ? DTYPE_C128 : DTYPE_C64;
    *last = *last == 0 ? 0 : *last / 2 + 1;
  } else if (to_real) {
    dtype = wide ? DTYPE_F64 : DTYPE_F32;
    *last = length.at[length.n - 1];
  }
  *shape = shape_array(at->arena, dtype, dims, from->rank);
  return STATUS_OK;
}

static Status check_square(const Infer *at) {
  const Shape *matrix = operand_shape(at, 0);
  TRY(expect_array(at, 0));
  RETURN_IF(matrix->rank < 2 || matrix->dims[matrix->rank - 1] != matrix->dims[matrix->rank - 2],
            INFER_FAIL(at, "operand 0 must be square matrices, it is %s", shape_words(at, matrix)));
  return STATUS_OK;
}

Status infer_cholesky(const Infer *at, const Shape **shape) {
  TRY(check_square(at));
  *shape = operand_shape(at, 0);
  return STATUS_OK;
}

Status infer_triangular_solve(const Infer *at, const Shape **shape) {
  TRY(check_square(at));
  const Shape *a = operand_shape(at, 0), *b = operand_shape(at, 1);
  TRY(expect_rank(at, 1, a->rank));
  bool left = instr_flag(at->instr, ATTR_left_side), fits = types_fit(at, a->dtype, b->dtype);
  for (uint32_t d = 0; d + 2 < a->rank; d++) fits = fits && a->dims[d] == b->dims[d];
  fits = fits && b->dims[left ? b->rank - 2 : b->rank - 1] == a->dims[a->rank - 1];
  RETURN_IF(!fits, INFER_FAIL(at, "operand 0 is %s, operand 1, %s, does not fit it", shape_words(at, a),
                              shape_words(at, b)));
  Str transpose = instr_word(at->instr, ATTR_transpose_a);
  RETURN_IF(!str_is(transpose, "NO_TRANSPOSE") && !str_is(transpose, "TRANSPOSE") &&
                !str_is(transpose, "ADJOINT"),
            INFER_FAIL(at, "transpose_a is NO_TRANSPOSE, TRANSPOSE or ADJOINT, '%.*s' is written",
                       STR_ARG(transpose)));
  *shape = b;
  return STATUS_OK;
}

/* Operands from `first` to before `end` are vectors of the features of operand 0, whose size goes to
 * `features`. */
static Status check_features_of_norm(const Infer *at, uint32_t first, uint32_t end, int64_t *features) {
  TRY(expect_array(at, 0));
  const Shape *from = operand_shape(at, 0);
  int64_t feature;
  TRY(expect_int(at, ATTR_feature_index, from->rank, &feature));
  *features = from->dims[feature];
  for (uint32_t i = first; i < end; i++) {
    TRY(expect_rank(at, i, 1));
    const Shape *vector = operand_shape(at, i);
    RETURN_IF(vector->dims[0] != *features && vector->dims[0] >= 0 && *features >= 0,
              INFER_FAIL(at, "operand %u must be a vector of the %ld features of %s, it is %s", i,
                         (long)*features, shape_words(at, from), shape_words(at, vector)));
  }
  return STATUS_OK;
}

/* The operand, then two vectors of its features. */
static Status batch_norm_results(const Infer *at, uint32_t vectors_end, const Shape **shape) {
  int64_t features;
  TRY(check_features_of_norm(at, 1, vectors_end, &features));
  const Shape *vector = shape_array(at->arena, operand_shape(at, 1)->dtype, &features, 1);
  const Shape *parts[] = {operand_shape(at, 0), vector, vector};
  *shape = shape_tuple(at->arena, parts, 3);
  return STATUS_OK;
}

Status infer_batch_norm_inference(const Infer *at, const Shape **shape) {
  int64_t features;
  *shape = operand_shape(at, 0);
  return check_features_of_norm(at, 1, 5, &features);
}

Status infer_batch_norm_training(const Infer *at, const Shape **shape) {
  return batch_norm_results(at, 3, shape);
}

Status infer_batch_norm_grad(const Infer *at, const Shape **shape) {
  RETURN_IF(!dims_eq(operand_shape(at, 0), operand_shape(at, 4)),
            INFER_FAIL(at, "operand 4 must have the dimensions of operand 0, %s; it is %s",
                       shape_words(at, operand_shape(at, 0)), shape_words(at, operand_shape(at, 4))));
  return batch_norm_results(at, 4, shape);
}

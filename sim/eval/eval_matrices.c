/* Operands to column-major matrices, a routine for each matrix, results back. */
#include "sim/eval/matrices.h"

#include <string.h>

/* The operands or the results of a call as one list. */
typedef struct {
  uint32_t n, batch_rank;
  Tensor *wide[MATRIX_PARTS]; /* column-major */
} Parts;

/* The type that LAPACK computes a type in. */
static DType wide_dtype(DType dtype) {
  return dtype_class(dtype) == DCLASS_FLOAT && dtype != DTYPE_F64 ? DTYPE_F32 : dtype;
}

static DType real_dtype(DType wide) {
  return wide == DTYPE_C64 ? DTYPE_F32 : wide == DTYPE_C128 ? DTYPE_F64 : wide;
}

static DType complex_dtype(DType wide) {
  return wide == DTYPE_F32 ? DTYPE_C64 : wide == DTYPE_F64 ? DTYPE_C128 : wide;
}

static bool holds_matrices(uint32_t rank, uint32_t batch_rank) {
  return rank == batch_rank + 2;
}

/* The last two dimensions exchanged, where the values are matrices. */
static Tensor *turned(Tensor *x, uint32_t batch_rank) {
  if (!holds_matrices(x->rank, batch_rank)) return tensor_retain(x);
  int64_t order[EVAL_MAX_RANK];
  for (uint32_t d = 0; d < x->rank; d++) order[d] = d;
  order[x->rank - 2] = x->rank - 1;
  order[x->rank - 1] = x->rank - 2;
  return tensor_transposed(x, order);
}

static Tensor *widened(Tensor *x, uint32_t batch_rank) {
  Tensor *wide = tensor_converted(x, wide_dtype(x->dtype));
  Tensor *columns = turned(wide, batch_rank);
  tensor_release(wide);
  return columns;
}

static Tensor *narrowed(Tensor *columns, const Shape *shape, uint32_t batch_rank) {
  Tensor *wide = turned(columns, batch_rank);
  Tensor *x = tensor_converted(wide, shape->dtype);
  tensor_release(wide);
  return x;
}

/* Zeros for a result, column-major. */
static Tensor *new_result(const Shape *shape, uint32_t batch_rank) {
  int64_t dims[EVAL_MAX_RANK];
  for (uint32_t d = 0; d < shape->rank; d++) dims[d] = shape->dims[d];
  if (holds_matrices(shape->rank, batch_rank)) {
    dims[shape->rank - 1] = shape->dims[shape->rank - 2];
    dims[shape->rank - 2] = shape->dims[shape->rank - 1];
  }
  Tensor *wide = tensor_new_array(wide_dtype(shape->dtype), dims, shape->rank, true);
  if (wide->bytes != 0) memset(wide->data, 0, wide->bytes);
  return wide;
}

/* The part of one matrix of the batch. */
static Part part_of(const Tensor *wide, uint32_t batch_rank, int64_t batch) {
  Part part = {.rows = 1, .columns = 1};
  if (wide->rank > batch_rank) part.rows = (int32_t)wide->dims[wide->rank - 1];
  if (holds_matrices(wide->rank, batch_rank)) part.columns = (int32_t)wide->dims[wide->rank - 2];
  part.bytes = (size_t)part.rows * (size_t)part.columns * dtype_bytes(wide->dtype);
  part.at = wide->data + (size_t)batch * part.bytes;
  return part;
}

static void run_batch(const Instr *instr, const Parts *in, const Parts *out, int64_t batch, bool gives_info,
                      MatrixRoutine *routine) {
  MatrixCall call = {.instr = instr, .n_operands = in->n, .n_results = out->n, .dtype = in->wide[0]->dtype};
  for (uint32_t i = 0; i < in->n; i++) call.operands[i] = part_of(in->wide[i], in->batch_rank, batch);
  for (uint32_t i = 0; i < out->n; i++) call.results[i] = part_of(out->wide[i], out->batch_rank, batch);
  int32_t info = routine(&call);
  if (gives_info) *(int32_t *)call.results[out->n - 1].at = info;
}

static uint32_t highest_rank(const Instr *instr, Tensor *const *operands) {
  uint32_t rank = 0;
  for (uint32_t i = 0; i < instr->operands.n; i++) rank = operands[i]->rank > rank ? operands[i]->rank : rank;
  return rank;
}

/* --- What a form asks of operands and results. --- */

/* Sizes that the letters of a form stand for; -1 where none has come yet. */
typedef struct {
  const char *at;
  int64_t sizes['z' + 1];
  DType first; /* wide type of the first operand */
} Form;

static bool bind(Form *form, char name, int64_t size) {
  int64_t m = form->sizes['m'], n = form->sizes['n'], k = m >= 0 && m < n ? m : n;
  int64_t *bound = &form->sizes[(unsigned char)name];
  if (name == 'k') return size == k;
  if (name == 'p') return size == (n > 0 ? n - 1 : 0);
  if (name == 'q' && size > k) return false;
  if (*bound < 0) *bound = size;
  return *bound == size && size <= INT32_MAX;
}

static bool has_type(Form *form, DType wide) {
  if (*form->at != ':') return wide == form->first;
  form->at += 2;
  switch (form->at[-1]) {
  case 'r': return wide == real_dtype(form->first);
  case 'c': return wide == complex_dtype(form->first);
  default: return wide == DTYPE_S32;
  }
}

/* Reads one part of the form, and whether an array has the batch dimensions and then that part. */
static bool part_fits(Form *form, DType dtype, const int64_t *dims, uint32_t rank, const Tensor *of,
                      uint32_t batch_rank) {
  bool fits = rank >= batch_rank;
  for (uint32_t d = 0; d < batch_rank && fits; d++) fits = dims[d] == of->dims[d];
  uint32_t d = batch_rank;
  for (; *form->at >= 'a' && *form->at <= 'z'; form->at++, d++)
    fits = fits && d < rank && bind(form, *form->at, dims[d]);
  fits = has_type(form, wide_dtype(dtype)) && fits && d == rank;
  if (*form->at == ' ' || *form->at == '>') form->at++;
  return fits;
}

static bool shapes_fit(const char *text, const Instr *instr, Tensor *const *operands,
                       const Shape *const *results, uint32_t n, uint32_t batch_rank) {
  Form form = {.at = text, .first = wide_dtype(operands[0]->dtype)};
  bool fit = instr->operands.n <= MATRIX_PARTS && n <= MATRIX_PARTS;
  for (size_t i = 0; i < sizeof form.sizes / sizeof *form.sizes; i++) form.sizes[i] = -1;
  for (uint32_t i = 0; i < instr->operands.n && fit; i++) {
    const Tensor *x = operands[i];
    fit = x->dtype != DTYPE_TUPLE && part_fits(&form, x->dtype, x->dims, x->rank, operands[0], batch_rank);
  }
  for (uint32_t i = 0; i < n && fit; i++) {
    const Shape *x = results[i];
    fit = shape_is_array(x) && part_fits(&form, x->dtype, x->dims, x->rank, operands[0], batch_rank);
  }
  DClass class = dtype_class(form.first);
  return fit && *form.at == 0 && (class == DCLASS_FLOAT || class == DCLASS_COMPLEX);
}

Status eval_matrices(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                     const char *form, MatrixRoutine *routine, Tensor **result) {
  const Shape *shape = instr->shape, *const *shapes = &shape;
  Parts in = {.n = instr->operands.n}, out = {.n = 1};
  if (shape_is_tuple(shape)) {
    shapes = shape->parts;
    out.n = shape->rank;
  }
  uint32_t rank = highest_rank(instr, operands);
  in.batch_rank = out.batch_rank = rank - 2;
  if (rank < 2 || out.n == 0 || !shapes_fit(form, instr, operands, shapes, out.n, rank - 2))
    return eval_unsupported(context, instr, "matrices of these shapes");
  for (uint32_t i = 0; i < in.n; i++) in.wide[i] = widened(operands[i], in.batch_rank);
  for (uint32_t i = 0; i < out.n; i++) out.wide[i] = new_result(shapes[i], out.batch_rank);
  const Shape *last = shapes[out.n - 1];
  bool gives_info = last->dtype == DTYPE_S32 && last->rank == out.batch_rank;
  int64_t batches = 1;
  for (uint32_t d = 0; d < in.batch_rank; d++) batches *= operands[0]->dims[d];
  for (int64_t b = 0; b < batches; b++) run_batch(instr, &in, &out, b, gives_info, routine);
  Tensor *results[MATRIX_PARTS];
  for (uint32_t i = 0; i < out.n; i++) {
    results[i] = narrowed(out.wide[i], shapes[i], out.batch_rank);
    tensor_release(out.wide[i]);
  }
  for (uint32_t i = 0; i < in.n; i++) tensor_release(in.wide[i]);
  *result = shape_is_tuple(shape) ? tensor_tuple(results, out.n) : results[0];
  return STATUS_OK;
}

/* reduce. The dimensions of the input are merged into runs that are all kept or all reduced. With a plain
 * binary op the input is walked once as it lies: a reduced inner run is folded onto one element, a kept one
 * is combined with a row of results. Sums of f32 are kept in f64 meanwhile, those of smaller floats in f32.
 * Any other computation is applied to whole arrays: neighbours along the reduced dimensions are combined in
 * pairs until one is left, so that order is kept and n elements take log n steps. */
#include "sim/eval/evaluators.h"
#include "sim/eval/kernel.h"

#include <stdlib.h>
#include <string.h>

/* The input as runs of dimensions; `out_step` is 0 where they are reduced. In elements. */
typedef struct {
  uint32_t rank;
  int64_t dims[EVAL_MAX_RANK], out_step[EVAL_MAX_RANK];
} Runs;

static Runs runs_of(const Tensor *x, Ints dimensions) {
  Runs runs = {0};
  int64_t out_step = 1;
  bool last_reduced = false;
  for (uint32_t d = x->rank; d-- > 0;) {
    if (x->dims[d] == 1) continue;
    bool reduced = ints_have(dimensions, d);
    if (runs.rank != 0 && reduced == last_reduced) {
      runs.dims[runs.rank - 1] *= x->dims[d];
    } else {
      runs.dims[runs.rank] = x->dims[d];
      runs.out_step[runs.rank++] = reduced ? 0 : out_step;
    }
    last_reduced = reduced;
    if (!reduced) out_step *= x->dims[d];
  }
  if (runs.rank == 0) runs = (Runs){.rank = 1, .dims = {1}, .out_step = {1}};
  return runs; /* the innermost first */
}

/* What a plain reduction runs with. */
typedef struct {
  Opcode op;
  DType from, kept; /* of the input, and of results meanwhile */
} Plain;

DType reduction_dtype(Opcode op, DType dtype) {
  return op == OP_ADD && dtype == DTYPE_F32 ? DTYPE_F64 : compute_dtype(dtype);
}

/* A block of input in the type of the results: the input itself where it has that type. */
static const unsigned char *block_of(const Plain *plain, const unsigned char *from, int64_t n,
                                     double *space) {
  if (plain->from == plain->kept) return from;
  convert_run(plain->from, plain->kept, n, from, space);
  return (const unsigned char *)space;
}

/* What a step of the walk does with `rows` rows of n elements. */
typedef void (*RowsStep)(const Plain *plain, unsigned char *into, const unsigned char *from, int64_t rows,
                         int64_t n);

/* Kept rows into one another's places: into[i] = op(into[i], from[i]) for all elements of all rows. */
static void combine_rows(const Plain *plain, unsigned char *into, const unsigned char *from, int64_t rows,
                         int64_t n) {
  uint32_t from_bytes = dtype_bytes(plain->from), kept_bytes = dtype_bytes(plain->kept);
  double space[KERNEL_BLOCK];
  int64_t total = rows * n, step = plain->from == plain->kept ? total : KERNEL_BLOCK;
  for (int64_t i = 0; i < total; i += step) {
    int64_t some = total - i < step ? total - i : step;
    const unsigned char *block = block_of(plain, from + i * from_bytes, some, space);
    binary_run(plain->op, plain->kept, some, into + i * kept_bytes, block, into + i * kept_bytes);
  }
}

/* All rows into one: into[i] = op(into[i], from[row][i]). As many rows as fit stand side by side in lanes,
 * which are folded in halves at the end. */
static void fold_rows(const Plain *plain, unsigned char *into, const unsigned char *from, int64_t rows,
                      int64_t n) {
  uint32_t from_bytes = dtype_bytes(plain->from), kept_bytes = dtype_bytes(plain->kept);
  complex double lanes[KERNEL_BLOCK];
  double space[KERNEL_BLOCK];
  unsigned char *lane = (unsigned char *)lanes;
  int64_t total = rows * n, side_by_side = KERNEL_BLOCK / n < rows ? KERNEL_BLOCK / n : rows;
  int64_t width = side_by_side * n;
  memcpy(lane, block_of(plain, from, width, space), (size_t)width * kept_bytes);
  for (int64_t i = width; i < total; i += width) {
    int64_t some = total - i < width ? total - i : width;
    const unsigned char *block = block_of(plain, from + i * from_bytes, some, space);
    binary_run(plain->op, plain->kept, some, lane, block, lane);
  }
  for (; side_by_side > 1; side_by_side -= side_by_side / 2) {
    int64_t half = side_by_side / 2, upper = (side_by_side - half) * n;
    binary_run(plain->op, plain->kept, half * n, lane, lane + upper * kept_bytes, lane);
  }
  binary_run(plain->op, plain->kept, n, into, lane, into);
}

/* One run of n elements into one. */
static void fold_run(const Plain *plain, unsigned char *into, const unsigned char *from, int64_t rows,
                     int64_t n) {
  fold_rows(plain, into, from, rows * n, 1);
}

/* Short rows, each into one element: column after column, all rows of a block at once. */
static void fold_columns(const Plain *plain, unsigned char *into, const unsigned char *from, int64_t rows,
                         int64_t n) {
  uint32_t from_bytes = dtype_bytes(plain->from), kept_bytes = dtype_bytes(plain->kept);
  complex double column[KERNEL_BLOCK];
  for (int64_t i = 0; i < rows; i += KERNEL_BLOCK) {
    int64_t some = rows - i < KERNEL_BLOCK ? rows - i : KERNEL_BLOCK;
    Box box = box_dense(&some, 1, from_bytes);
    box.from_step[0] = n * from_bytes;
    for (int64_t c = 0; c < n; c++) {
      box_copy(&box, (unsigned char *)column, from + (i * n + c) * from_bytes);
      combine_rows(plain, into + i * kept_bytes, (unsigned char *)column, 1, some);
    }
  }
}

/* How the inner runs are reduced: by which step, of how many rows (of the second run) at once. */
typedef struct {
  RowsStep step;
  int64_t rows;
} Inner;

static Inner inner_of(const Runs *runs) {
  enum { SHORT = 64 };
  bool reduced = runs->out_step[0] == 0, two = runs->rank > 1;
  if (reduced && two && runs->dims[0] < SHORT) return (Inner){fold_columns, runs->dims[1]};
  if (reduced) return (Inner){fold_run, 1};
  if (two && runs->dims[0] <= KERNEL_BLOCK / 2) return (Inner){fold_rows, runs->dims[1]};
  return (Inner){combine_rows, 1};
}

static void reduce_plain(const Plain *plain, const Runs *runs, const Tensor *x, unsigned char *into) {
  Inner inner = inner_of(runs);
  uint32_t from_bytes = dtype_bytes(plain->from), kept_bytes = dtype_bytes(plain->kept);
  uint32_t outer = inner.rows == 1 ? 1 : 2;
  const unsigned char *from = x->data, *end = x->data + x->bytes;
  int64_t at[EVAL_MAX_RANK] = {0}, n = runs->dims[0];
  while (from < end) {
    inner.step(plain, into, from, inner.rows, n);
    from += inner.rows * n * from_bytes;
    for (uint32_t d = outer; d < runs->rank; d++) {
      into += runs->out_step[d] * kept_bytes;
      if (++at[d] < runs->dims[d]) break;
      into -= runs->out_step[d] * runs->dims[d] * kept_bytes;
      at[d] = 0;
    }
  }
}

static void eval_reduce_plain(Opcode op, Ints dimensions, const Tensor *x, const Tensor *init, Tensor *out) {
  Plain plain = {op, x->dtype, reduction_dtype(op, x->dtype)};
  Runs runs = runs_of(x, dimensions);
  Tensor *kept = tensor_new_array(plain.kept, out->dims, out->rank, true);
  int64_t n = tensor_elements(out);
  for (int64_t i = 0; i < n; i++)
    memcpy(out->data + i * dtype_bytes(x->dtype), init->data, dtype_bytes(x->dtype));
  convert_run(x->dtype, plain.kept, n, out->data, kept->data);
  reduce_plain(&plain, &runs, x, kept->data);
  convert_run(plain.kept, x->dtype, n, kept->data, out->data);
  tensor_release(kept);
}

/* The input as a matrix: reduced elements in order by kept elements. */
static Tensor *reduced_by_kept(const Tensor *x, Ints dimensions, int64_t reduced, int64_t kept) {
  uint32_t bytes = dtype_bytes(x->dtype), rank = 0;
  int64_t steps[EVAL_MAX_RANK], dims[EVAL_MAX_RANK], from_step[EVAL_MAX_RANK];
  dense_steps(x->dims, x->rank, bytes, steps);
  for (int pass = 0; pass < 2; pass++) {
    for (uint32_t d = 0; d < x->rank; d++) {
      if (ints_have(dimensions, d) != (pass == 0)) continue;
      dims[rank] = x->dims[d];
      from_step[rank++] = steps[d];
    }
  }
  Tensor *matrix = tensor_new_array(x->dtype, (int64_t[]){reduced, kept}, 2, true);
  Box box = box_dense(dims, rank, bytes);
  memcpy(box.from_step, from_step, rank * sizeof *from_step);
  box_copy(&box, matrix->data, x->data);
  return matrix;
}

/* Rows 0, 2, 4… or 1, 3, 5… of a matrix as one vector. */
static Tensor *every_other_row(const Tensor *matrix, int64_t first) {
  int64_t pairs = matrix->dims[0] / 2, kept = matrix->dims[1];
  int64_t row = kept * dtype_bytes(matrix->dtype);
  Tensor *rows = tensor_new_array(matrix->dtype, &(int64_t){pairs * kept}, 1, true);
  Box box = box_dense((int64_t[]){pairs, kept}, 2, dtype_bytes(matrix->dtype));
  box.from_step[0] = 2 * row;
  box_copy(&box, rows->data, matrix->data + first * row);
  return rows;
}

static Tensor *part_of(Tensor *value, uint32_t i) {
  return value->dtype == DTYPE_TUPLE ? value->parts[i] : value;
}

/* Combined pairs, and the last row where it had no partner. */
static Tensor *matrix_of_pairs(const Tensor *matrix, const Tensor *pairs) {
  int64_t rows = matrix->dims[0], kept = matrix->dims[1];
  Tensor *next = tensor_new_array(matrix->dtype, (int64_t[]){(rows + 1) / 2, kept}, 2, true);
  memcpy(next->data, pairs->data, pairs->bytes);
  if (rows % 2 != 0)
    memcpy(next->data + pairs->bytes, matrix->data + 2 * pairs->bytes, next->bytes - pairs->bytes);
  return next;
}

/* One step: each matrix becomes one of half the rows. */
static Status halve(const EvalContext *context, uint32_t comp, Tensor **matrices, uint32_t n) {
  int64_t lanes = matrices[0]->dims[0] / 2 * matrices[0]->dims[1];
  Tensor **operands = calloc(2 * n, sizeof *operands), *pairs = NULL;
  for (uint32_t i = 0; i < 2 * n; i++) operands[i] = every_other_row(matrices[i % n], i / n);
  Status status = comp_map(context, comp, operands, 2 * n, lanes, &pairs);
  for (uint32_t i = 0; i < n && status == STATUS_OK; i++) {
    Tensor *next = matrix_of_pairs(matrices[i], part_of(pairs, i));
    tensor_release(matrices[i]);
    matrices[i] = next;
  }
  tensor_release(pairs);
  for (uint32_t i = 0; i < 2 * n; i++) tensor_release(operands[i]);
  free(operands);
  return status;
}

/* The initial values, as rows before all others: a matrix of one more row. */
static Tensor *with_init(const Tensor *matrix, const Tensor *init) {
  int64_t rows = matrix->dims[0], kept = matrix->dims[1];
  Tensor *all = tensor_new_array(matrix->dtype, (int64_t[]){rows + 1, kept}, 2, true);
  box_fill(all->data, init->data, dtype_bytes(init->dtype), kept);
  memcpy(all->data + (all->bytes - matrix->bytes), matrix->data, matrix->bytes);
  return all;
}

static Status eval_reduce_any(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                              Tensor **results) {
  uint32_t n = instr->operands.n / 2, comp = instr_comp(instr, ATTR_to_apply);
  Ints dimensions = instr_ints(instr, ATTR_dimensions);
  int64_t reduced = 1, kept = 1;
  for (uint32_t d = 0; d < operands[0]->rank; d++) {
    if (ints_have(dimensions, d)) {
      reduced *= operands[0]->dims[d];
    } else {
      kept *= operands[0]->dims[d];
    }
  }
  for (uint32_t i = 0; i < n; i++) {
    Tensor *matrix = reduced_by_kept(operands[i], dimensions, reduced, kept);
    results[i] = with_init(matrix, operands[n + i]);
    tensor_release(matrix);
  }
  while (results[0]->dims[0] > 1) TRY(halve(context, comp, results, n));
  return STATUS_OK;
}

/* The last rows under the shapes of the results. */
static Tensor *results_of(const Shape *shape, Tensor **rows, uint32_t n) {
  bool is_tuple = shape_is_tuple(shape);
  for (uint32_t i = 0; i < n; i++) {
    const Shape *part = is_tuple ? shape->parts[i] : shape;
    Tensor *reshaped = tensor_reshaped(rows[i], part->dims, part->rank);
    tensor_release(rows[i]);
    rows[i] = reshaped;
  }
  return is_tuple ? tensor_tuple(rows, n) : rows[0];
}

Opcode plain_reduction(const Module *module, uint32_t comp, DType dtype) {
  Opcode op = comp_binary_op(module, comp);
  switch (op) {
  case OP_ADD:
  case OP_MULTIPLY:
  case OP_MAXIMUM:
  case OP_MINIMUM:
  case OP_AND:
  case OP_OR:
  case OP_XOR: return binary_exists(op, dtype) ? op : OP_COUNT;
  default: return OP_COUNT;
  }
}

Status eval_reduce(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  uint32_t n = instr->operands.n / 2;
  Opcode op = plain_reduction(context->module, instr_comp(instr, ATTR_to_apply), operands[0]->dtype);
  if (n == 1 && op != OP_COUNT && !shape_is_tuple(instr->shape)) {
    *result = tensor_new(instr->shape, true);
    eval_reduce_plain(op, instr_ints(instr, ATTR_dimensions), operands[0], operands[1], *result);
    return STATUS_OK;
  }
  Tensor **rows = calloc(n + 1, sizeof *rows);
  Status status = eval_reduce_any(context, instr, operands, rows);
  if (status == STATUS_OK) {
    *result = results_of(instr->shape, rows, n);
  } else {
    for (uint32_t i = 0; i < n; i++) tensor_release(rows[i]);
  }
  free(rows);
  return status;
}

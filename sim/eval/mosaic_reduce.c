/* Reductions and products of a kernel. Sums of f32 are kept in f64 and those of smaller floats in f32, as the
 * evaluator of HLO keeps them; the result is rounded once. */
#include "sim/eval/kernel.h"
#include "sim/eval/mosaic_run.h"

#include <math.h>
#include <string.h>

static const struct {
  const char *kind;
  Opcode op;
  bool is_unsigned;
} kinds[] = {
    {"add", OP_ADD, false},          {"mul", OP_MULTIPLY, false},    {"minsi", OP_MINIMUM, false},
    {"minui", OP_MINIMUM, true},     {"maxsi", OP_MAXIMUM, false},   {"maxui", OP_MAXIMUM, true},
    {"minimumf", OP_MINIMUM, false}, {"minnumf", OP_MINIMUM, false}, {"maximumf", OP_MAXIMUM, false},
    {"maxnumf", OP_MAXIMUM, false},  {"and", OP_AND, false},         {"or", OP_OR, false},
    {"xor", OP_XOR, false},          {"sum", OP_ADD, false},         {"max", OP_MAXIMUM, false},
    {"min", OP_MINIMUM, false},
};

/* x with the dimensions of `along` first: [reduced, kept]. */
static Tensor *reduced_first(const Tensor *x, const bool *along, int64_t *reduced, int64_t *kept) {
  int64_t order[EVAL_MAX_RANK];
  uint32_t n = 0;
  *reduced = *kept = 1;
  for (uint32_t d = 0; d < x->rank; d++) {
    if (!along[d]) continue;
    order[n++] = d;
    *reduced *= x->dims[d];
  }
  for (uint32_t d = 0; d < x->rank; d++) {
    if (along[d]) continue;
    order[n++] = d;
    *kept *= x->dims[d];
  }
  return tensor_transposed(x, order);
}

/* into[k] = op(into[k], all of x[.., k]), of `kept` elements; both are of `dtype`, `into` is given back in
 * it. */
static Tensor *fold(Opcode op, DType dtype, const Tensor *x, const bool *along, const Tensor *into) {
  int64_t reduced, kept;
  DType wide = reduction_dtype(op, dtype);
  Tensor *first = reduced_first(x, along, &reduced, &kept), *from = tensor_converted(first, wide);
  Tensor *sum = tensor_unique(tensor_converted((Tensor *)into, wide));
  for (int64_t r = 0; r < reduced; r++)
    binary_run(op, wide, kept, sum->data, from->data + r * kept * dtype_bytes(wide), sum->data);
  Tensor *result = tensor_converted(sum, dtype);
  tensor_release(first);
  tensor_release(from);
  tensor_release(sum);
  return result;
}

static bool kind_of(const MosaicOp *op, Opcode *hlo, bool *is_unsigned) {
  Str kind = mosaic_enum(mosaic_attr(op, "kind"));
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!str_is(kind, kinds[i].kind)) continue;
    *hlo = kinds[i].op;
    *is_unsigned = kinds[i].is_unsigned;
    return true;
  }
  return false;
}

/* Of x, with an operand to begin with. */
Status mosaic_reduce(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  Tensor *x = mosaic_tensor(frame, op, 0), *begin = mosaic_tensor(frame, op, 1);
  Ints dims = mosaic_ints(op, "reduction_dims");
  bool along[EVAL_MAX_RANK] = {false}, is_unsigned = false;
  int64_t kept = 1;
  RETURN_IF(!kind_of(op, &hlo, &is_unsigned), mosaic_unsupported(frame, op, "its kind"));
  RETURN_IF(x == NULL || begin == NULL, mosaic_fail(frame, op, "its operands are no vectors"));
  for (uint32_t d = 0; d < x->rank; d++) {
    along[d] = ints_have(dims, d);
    kept *= along[d] ? 1 : x->dims[d];
  }
  DType dtype = is_unsigned ? unsigned_dtype(x->dtype) : x->dtype;
  RETURN_IF(!mosaic_is(frame, op, 1, x->dtype, kept) || !binary_exists(hlo, dtype),
            mosaic_fail(frame, op, "its operands are not of the types that its result is for"));
  Tensor *folded = fold(hlo, dtype, x, along, begin);
  Tensor *result = tensor_viewed(folded, x->dtype, folded->dims, folded->rank);
  tensor_release(folded);
  return mosaic_give(frame, op, 0, result);
}

/* The reduction of a dimension, at each place along it. */
Status mosaic_all_reduce(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  Tensor *x = mosaic_tensor(frame, op, 0);
  int64_t dim = mosaic_int(op, "dim", -1);
  bool along[EVAL_MAX_RANK] = {false}, is_unsigned = false;
  RETURN_IF(!kind_of(op, &hlo, &is_unsigned), mosaic_unsupported(frame, op, "its kind"));
  RETURN_IF(x == NULL || dim < 0 || dim >= x->rank || x->dims[dim] == 0 || !binary_exists(hlo, x->dtype) ||
                op->result_types[0]->dtype != x->dtype,
            mosaic_unsupported(frame, op, "a reduction of these types"));
  int64_t steps[EVAL_MAX_RANK], dims[EVAL_MAX_RANK];
  uint32_t bytes = dtype_bytes(x->dtype);
  dense_steps(x->dims, x->rank, bytes, steps);
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  /* To begin with, the first along the dimension; the others are folded into it. */
  dims[dim] = 1;
  Box head = box_dense(dims, x->rank, bytes);
  memcpy(head.from_step, steps, x->rank * sizeof *steps);
  Tensor *begin = tensor_new_array(x->dtype, dims, x->rank, true);
  box_copy(&head, begin->data, x->data);
  dims[dim] = x->dims[dim] - 1;
  Box tail = box_dense(dims, x->rank, bytes);
  memcpy(tail.from_step, steps, x->rank * sizeof *steps);
  Tensor *rest = tensor_new_array(x->dtype, dims, x->rank, true);
  box_copy(&tail, rest->data, x->data + steps[dim]);
  along[dim] = true;
  Tensor *folded = fold(hlo, x->dtype, rest, along, begin);
  Box spread = box_dense(x->dims, x->rank, bytes);
  dims[dim] = 1;
  dense_steps(dims, x->rank, bytes, spread.from_step);
  spread.from_step[dim] = 0;
  Tensor *result = tensor_new_array(x->dtype, x->dims, x->rank, true);
  box_copy(&spread, result->data, folded->data);
  tensor_release(begin);
  tensor_release(rest);
  tensor_release(folded);
  return mosaic_give(frame, op, 0, result);
}

/* Whether `new` is to be taken for `old`: the first largest (smallest), a NaN before all. */
static bool goes_before(bool largest, double new, double old) {
  if (isnan(old)) return false;
  return isnan(new) || (largest ? new > old : new < old);
}

/* Where along the axis the largest or smallest is. */
Status mosaic_reduce_index(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const Tensor *x = mosaic_tensor(frame, op, 0);
  Str kind = mosaic_enum(mosaic_attr(op, "kind"));
  int64_t axis = mosaic_int(op, "axis", -1);
  bool largest = str_is(kind, "arg_max");
  RETURN_IF(!largest && !str_is(kind, "arg_min"), mosaic_unsupported(frame, op, "its kind"));
  RETURN_IF(x == NULL || axis < 0 || axis >= x->rank, mosaic_fail(frame, op, "its operand has no such axis"));
  int64_t inner = 1, size = x->dims[axis], n = 0;
  for (uint32_t d = (uint32_t)axis + 1; d < x->rank; d++) inner *= x->dims[d];
  n = size == 0 ? 0 : tensor_elements(x) / size;
  Tensor *places = tensor_new_array(DTYPE_S64, &n, 1, true);
  for (int64_t k = 0; k < n; k++) {
    int64_t from = k / inner * size * inner + k % inner, best = 0;
    for (int64_t i = 1; i < size; i++) {
      if (goes_before(largest, tensor_double_at(x, from + i * inner),
                      tensor_double_at(x, from + best * inner)))
        best = i;
    }
    ((int64_t *)places->data)[k] = best;
  }
  Tensor *result = tensor_converted(places, op->result_types[0]->dtype);
  tensor_release(places);
  return mosaic_give(frame, op, 0, result);
}

/* --- products --- */

enum {
  DOT_LISTS = 7,
  LHS_CONTRACTING = 0,
  RHS_CONTRACTING,
  LHS_FREE,
  RHS_FREE,
  OUTPUT_ORDER,
  LHS_BATCH,
  RHS_BATCH
};

typedef struct {
  int64_t numbers[DOT_LISTS][2 * EVAL_MAX_RANK];
  Ints lists[DOT_LISTS];
} DotText;

/* #tpu.dot_dimension_numbers<[1], [0], [0], [1], [0, 0, 1, 1], [], []> */
static bool parse_dot(Str text, DotText *dot) {
  uint32_t list = 0;
  size_t at = str_find(text, '[');
  for (; list < DOT_LISTS && at < text.n; list++) {
    Ints *ints = &dot->lists[list];
    *ints = (Ints){dot->numbers[list], 0};
    for (at++; at < text.n && text.at[at] != ']'; at++) {
      if (text.at[at] < '0' || text.at[at] > '9') continue;
      int64_t number = 0;
      while (at < text.n && text.at[at] >= '0' && text.at[at] <= '9' && number < EVAL_MAX_RANK)
        number = number * 10 + (text.at[at++] - '0');
      if (ints->n >= 2 * EVAL_MAX_RANK || number >= EVAL_MAX_RANK) return false;
      ints->at[ints->n++] = number;
      if (at >= text.n) return false;
      at--;
    }
    while (at < text.n && text.at[at] != '[') at++;
  }
  return list == DOT_LISTS;
}

/* Dimensions of plain matrices, transposed or not: how older kernels say it. */
static void plain_dot(const MosaicOp *op, DotText *dot) {
  bool lhs = mosaic_flag(op, "transpose_lhs"), rhs = mosaic_flag(op, "transpose_rhs");
  const int64_t firsts[DOT_LISTS] = {lhs ? 0 : 1, rhs ? 1 : 0, lhs ? 1 : 0, rhs ? 0 : 1};
  for (uint32_t i = 0; i < DOT_LISTS; i++) {
    dot->numbers[i][0] = firsts[i];
    dot->lists[i] = (Ints){dot->numbers[i], i < OUTPUT_ORDER ? 1 : 0};
  }
}

/* Whether no dimension stands in the lists twice. */
static bool are_distinct(Ints a, Ints b) {
  uint32_t seen = 0;
  for (uint32_t i = 0; i < a.n + b.n; i++) {
    int64_t d = i < a.n ? a.at[i] : b.at[i - a.n];
    if (seen >> d & 1) return false;
    seen |= 1u << d;
  }
  return true;
}

static bool dims_match(const Tensor *lhs, Ints left, const Tensor *rhs, Ints right) {
  if (left.n != right.n) return false;
  for (uint32_t i = 0; i < left.n; i++) {
    if (left.at[i] >= lhs->rank || right.at[i] >= rhs->rank ||
        lhs->dims[left.at[i]] != rhs->dims[right.at[i]])
      return false;
  }
  return true;
}

/* Whether the result has the batch, then the free dimensions of both operands in their order. */
static bool is_plain_order(const DotText *dot) {
  Ints order = dot->lists[OUTPUT_ORDER], batch = dot->lists[LHS_BATCH], left = dot->lists[LHS_FREE],
       right = dot->lists[RHS_FREE];
  if (order.n == 0) return true;
  if (order.n != 2 * (batch.n + left.n + right.n)) return false;
  for (uint32_t i = 0; i < order.n / 2; i++) {
    uint32_t l = i - batch.n, r = l - left.n;
    int64_t wanted = i < batch.n ? batch.at[i] : l < left.n ? left.at[l] : right.at[r];
    if (order.at[2 * i] != (i < batch.n + left.n ? 0 : 1) || order.at[2 * i + 1] != wanted) return false;
  }
  for (uint32_t i = 1; i < left.n; i++) {
    if (left.at[i] <= left.at[i - 1]) return false;
  }
  for (uint32_t i = 1; i < right.n; i++) {
    if (right.at[i] <= right.at[i - 1]) return false;
  }
  return true;
}

/* lhs times rhs, added to what is there. */
static Status run_product(MosaicFrame *frame, const MosaicOp *op, const DotText *numbers) {
  Tensor *lhs = mosaic_tensor(frame, op, 0), *rhs = mosaic_tensor(frame, op, 1);
  const DotText dot = *numbers;
  const MosaicType *type = op->result_types[0];
  Tensor *sum = mosaic_tensor(frame, op, 2);
  bool good = lhs != NULL && rhs != NULL && is_plain_order(&dot) && binary_exists(OP_ADD, type->dtype) &&
              mosaic_is(frame, op, 2, type->dtype, mosaic_elements(type)) &&
              dims_match(lhs, dot.lists[LHS_CONTRACTING], rhs, dot.lists[RHS_CONTRACTING]) &&
              dims_match(lhs, dot.lists[LHS_BATCH], rhs, dot.lists[RHS_BATCH]) &&
              are_distinct(dot.lists[LHS_BATCH], dot.lists[LHS_CONTRACTING]) &&
              are_distinct(dot.lists[RHS_BATCH], dot.lists[RHS_CONTRACTING]);
  RETURN_IF(!good, mosaic_unsupported(frame, op, "a product of these operands"));
  DotDims dims = {.lhs_batch = dot.lists[LHS_BATCH],
                  .rhs_batch = dot.lists[RHS_BATCH],
                  .lhs_contracting = dot.lists[LHS_CONTRACTING],
                  .rhs_contracting = dot.lists[RHS_CONTRACTING]};
  Tensor *product = tensor_dot(lhs, rhs, &dims, type->dtype);
  if (tensor_elements(product) == tensor_elements(sum))
    binary_run(OP_ADD, type->dtype, tensor_elements(sum), product->data, sum->data, product->data);
  return mosaic_give(frame, op, 0, product);
}

Status mosaic_matmul(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  const MosaicAttr *numbers = mosaic_attr(op, "dimension_numbers");
  DotText dot;
  if (numbers == NULL)
    plain_dot(op, &dot);
  else
    RETURN_IF(!parse_dot(numbers->text, &dot), mosaic_unsupported(frame, op, "these dimension numbers"));
  return run_product(frame, op, &dot);
}

/* The loop dimensions that an operand's dimensions are: of affine_map<(d0, d1, d2) -> (d0, d2)> 0 and 2. */
typedef struct {
  int64_t at[EVAL_MAX_RANK];
  uint32_t n;
} Loops;

static bool parse_map(const MosaicAttr *map, Loops *loops) {
  if (map->kind != MOSAIC_ATTR_TEXT) return false;
  size_t at = str_find(map->text, '>');
  for (loops->n = 0; at < map->text.n; at++) {
    if (map->text.at[at] != 'd') continue;
    Str digits = str_sub(map->text, at + 1, map->text.n);
    size_t end = 0;
    while (end < digits.n && digits.at[end] >= '0' && digits.at[end] <= '9') end++;
    if (loops->n == EVAL_MAX_RANK || !str_to_int(str_sub(digits, 0, end), &loops->at[loops->n])) return false;
    loops->n++;
  }
  return true;
}

/* The maps of both operands and the result. */
static bool parse_maps(const MosaicOp *op, Loops maps[3]) {
  const MosaicAttr *attr = mosaic_attr(op, "indexing_maps");
  if (attr == NULL || attr->kind != MOSAIC_ATTR_ARRAY || attr->n != 3) return false;
  return parse_map(attr->items[0], &maps[0]) && parse_map(attr->items[1], &maps[1]) &&
         parse_map(attr->items[2], &maps[2]);
}

static int64_t find_loop(const Loops *loops, int64_t loop) {
  for (uint32_t i = 0; i < loops->n; i++) {
    if (loops->at[i] == loop) return i;
  }
  return -1;
}

static void list_add(DotText *dot, uint32_t list, int64_t dim) {
  dot->numbers[list][dot->lists[list].n++] = dim;
}

static void list_operands(DotText *dot, const Loops *left, const Loops *right, const Loops *out) {
  for (uint32_t d = 0; d < left->n; d++) {
    int64_t in_right = find_loop(right, left->at[d]);
    bool kept = find_loop(out, left->at[d]) >= 0;
    if (in_right < 0) {
      list_add(dot, LHS_FREE, d);
    } else {
      list_add(dot, kept ? LHS_BATCH : LHS_CONTRACTING, d);
      list_add(dot, kept ? RHS_BATCH : RHS_CONTRACTING, in_right);
    }
  }
  for (uint32_t d = 0; d < right->n; d++)
    if (find_loop(left, right->at[d]) < 0) list_add(dot, RHS_FREE, d);
}

static void list_output(DotText *dot, const Loops *left, const Loops *right, const Loops *out) {
  for (uint32_t d = 0; d < out->n; d++) {
    int64_t in_left = find_loop(left, out->at[d]);
    list_add(dot, OUTPUT_ORDER, in_left >= 0 ? 0 : 1);
    list_add(dot, OUTPUT_ORDER, in_left >= 0 ? in_left : find_loop(right, out->at[d]));
  }
}

/* A product told by index maps: a loop of both operands is contracted, or with the result a batch dimension.
 */
Status mosaic_contract(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Loops maps[3];
  RETURN_IF(!parse_maps(op, maps), mosaic_unsupported(frame, op, "its index maps"));
  DotText dot = {0};
  for (uint32_t i = 0; i < DOT_LISTS; i++) dot.lists[i].at = dot.numbers[i];
  list_operands(&dot, &maps[0], &maps[1], &maps[2]);
  list_output(&dot, &maps[0], &maps[1], &maps[2]);
  return run_product(frame, op, &dot);
}

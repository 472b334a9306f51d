/* The simplifications that XLA makes on its way from StableHLO to HLO and that change what a program is made
 * of: constants go to the right of operations that commute, neutral elements are left out, operations on
 * scalar constants are done, and chains of reshapes, transposes and broadcasts become one. The values stay
 * the same, but for the sign of a zero to which another zero is added. Source: the patterns and folders of
 * StableHLO's aggressive simplification. */
#include "sim/read/stablehlo.h"

/* Constants. */

const Literal *constant_everywhere(const Translator *tr, uint32_t instr) {
  const Instr *at = made(tr, instr);
  if (at->op == OP_BROADCAST) at = made(tr, at->operands.at[0]);
  if (at->op != OP_CONSTANT || at->literal->elided || shape_elements(at->shape) != 1) return NULL;
  Literal *scalar = arena_copy(tr->arena, at->literal, sizeof *at->literal);
  scalar->shape = shape_scalar(tr->arena, at->shape->dtype);
  return scalar;
}

uint32_t emit_constant(Translator *tr, const Shape *shape, const Literal *scalar) {
  bool one = shape_elements(shape) == 1;
  Literal *literal = arena_copy(tr->arena, scalar, sizeof *scalar);
  if (one) literal->shape = shape;
  uint32_t instr = emit(tr, OP_CONSTANT, literal->shape, NULL, 0);
  made(tr, instr)->literal = literal;
  return one ? instr : emit_splat(tr, shape, instr);
}

static bool is_constant(const Translator *tr, uint32_t instr) {
  return made(tr, instr)->op == OP_CONSTANT || constant_everywhere(tr, instr) != NULL;
}

/* Whether an instruction is this number everywhere, to the bit. */
static bool is_number(Translator *tr, uint32_t instr, double number) {
  const Literal *literal = constant_everywhere(tr, instr);
  if (literal == NULL) return false;
  const Literal *wanted = literal_scalar(tr->scratch, literal->shape->dtype, number);
  return memcmp(literal->data, wanted->data, dtype_bytes(literal->shape->dtype)) == 0;
}

static bool is_all_ones(const Translator *tr, uint32_t instr) {
  const Literal *literal = constant_everywhere(tr, instr);
  if (literal == NULL) return false;
  uint32_t unused = literal->shape->dtype == DTYPE_PRED ? 63 : 64 - dtype_bits(literal->shape->dtype);
  return (uint64_t)literal_int_at(literal, 0) << unused == UINT64_MAX << unused;
}

/* Arithmetic. */

/* Whether `op` with this right operand gives the left one. */
static bool is_neutral(Translator *tr, Opcode op, uint32_t right) {
  DType dtype = instr_shape(tr, right)->dtype;
  bool real = dtype_class(dtype) != DCLASS_COMPLEX, whole = real && dtype_class(dtype) != DCLASS_FLOAT;
  switch (op) {
  case OP_ADD:
  case OP_SUBTRACT: return real && is_number(tr, right, 0);
  case OP_OR:
  case OP_XOR:
  case OP_SHIFT_LEFT:
  case OP_SHIFT_RIGHT_LOGICAL:
  case OP_SHIFT_RIGHT_ARITHMETIC: return whole && is_number(tr, right, 0);
  case OP_MULTIPLY: return real && is_number(tr, right, 1);
  case OP_AND: return whole && is_all_ones(tr, right);
  default: return false;
  }
}

/* Of two floats; false where the operation is another one. */
static bool fold_floats(Opcode op, const Literal *left, const Literal *right, float *result) {
  float a, b;
  memcpy(&a, left->data, sizeof a);
  memcpy(&b, right->data, sizeof b);
  switch (op) {
  case OP_ADD: *result = a + b; return true;
  case OP_SUBTRACT: *result = a - b; return true;
  case OP_MULTIPLY: *result = a * b; return true;
  case OP_DIVIDE: *result = a / b; return true;
  default: return false;
  }
}

static bool fold_integers(Opcode op, const Literal *left, const Literal *right, uint64_t *result) {
  uint64_t a = (uint64_t)literal_int_at(left, 0), b = (uint64_t)literal_int_at(right, 0);
  switch (op) {
  case OP_ADD: *result = a + b; return true;
  case OP_SUBTRACT: *result = a - b; return true;
  case OP_MULTIPLY: *result = a * b; return true;
  default: return false;
  }
}

/* The constant that `op` gives of two constants of a usual type; NULL for others. */
static const Literal *folded(Translator *tr, Opcode op, uint32_t left, uint32_t right) {
  const Literal *a = constant_everywhere(tr, left), *b = constant_everywhere(tr, right);
  if (a == NULL || b == NULL || a->shape->dtype != b->shape->dtype) return NULL;
  DType dtype = a->shape->dtype;
  uint64_t bits = 0;
  float value;
  bool done = false;
  if (dtype == DTYPE_F32) {
    done = fold_floats(op, a, b, &value);
    if (done) memcpy(&bits, &value, sizeof value);
  } else if (dtype_is_integer(dtype) && dtype_bits(dtype) >= 32) {
    done = fold_integers(op, a, b, &bits);
  }
  if (!done) return NULL;
  Literal *result = ARENA_NEW(tr->arena, Literal);
  *result = (Literal){.shape = a->shape, .data = arena_copy(tr->arena, &bits, sizeof bits)};
  return result;
}

Status translate_binary(Translator *tr, Opcode op) {
  Ids operands;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operands(tr, &operands));
  const Shape *shape = result_type(tr);
  uint32_t left = operands.at[0], right = operands.at[1];
  const Literal *known = folded(tr, op, left, right);
  if (known != NULL) return give(tr, emit_constant(tr, shape, known));
  if (op_is_commutative(op) && is_constant(tr, left) && !is_constant(tr, right)) {
    left = operands.at[1];
    right = operands.at[0];
  }
  if (is_neutral(tr, op, right) && shape_eq(instr_shape(tr, left), shape)) return give(tr, left);
  return give(tr, emit(tr, op, shape, (uint32_t[]){left, right}, 2));
}

/* Shapes. */

/* The operand of a chain of reshapes. */
Status translate_reshape(Translator *tr, Opcode op) {
  uint32_t operand;
  const Shape *shape = result_type(tr);
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  if (made(tr, operand)->op == OP_RESHAPE) operand = made(tr, operand)->operands.at[0];
  const Literal *constant = constant_everywhere(tr, operand);
  if (shape_eq(instr_shape(tr, operand), shape)) return give(tr, operand);
  if (constant != NULL) return give(tr, emit_constant(tr, shape, constant));
  return give(tr, emit(tr, op, shape, &operand, 1));
}

/* Whether only dimensions of size 1 change their places. */
static bool moves_ones(const Shape *from, Ints order) {
  int64_t last = -1;
  for (uint32_t d = 0; d < order.n; d++) {
    if (from->dims[order.at[d]] == 1) continue;
    if (order.at[d] < last) return false;
    last = order.at[d];
  }
  return true;
}

/* Two transposes are one. */
static void compose(Translator *tr, uint32_t *operand, Ints *order) {
  const Instr *inner = made(tr, *operand);
  if (inner->op != OP_TRANSPOSE) return;
  Ints first = instr_ints(inner, ATTR_dimensions),
       both = {ARENA_ARRAY(tr->scratch, int64_t, order->n), order->n};
  for (uint32_t d = 0; d < order->n; d++) both.at[d] = first.at[order->at[d]];
  *operand = inner->operands.at[0];
  *order = both;
}

Status translate_transpose(Translator *tr, Opcode op) {
  uint32_t operand;
  Ints order;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  TRY(need_ints(tr, "permutation", instr_shape(tr, operand)->rank, &order));
  TRY(expect_order(tr, tr->op->at, order, instr_shape(tr, operand)->rank));
  compose(tr, &operand, &order);
  const Shape *shape = result_type(tr);
  if (moves_ones(instr_shape(tr, operand), order)) {
    bool same = shape_eq(instr_shape(tr, operand), shape);
    return give(tr, same ? operand : emit_reshape(tr, shape, operand));
  }
  uint32_t instr = emit(tr, op, shape, &operand, 1);
  instr_set_ints(tr->module, made(tr, instr), ATTR_dimensions, order.at, order.n);
  return give(tr, instr);
}

/* Slices at known places. */

/* The first index of each dimension, as the operation clamps it; false where one is not known. */
static bool known_starts(const Translator *tr, Ids operands, Ints sizes, int64_t *starts) {
  const Shape *shape = instr_shape(tr, operands.at[0]);
  for (uint32_t d = 0; d < sizes.n; d++) {
    const Literal *literal = made(tr, operands.at[d + 1])->literal;
    int64_t most = shape->dims[d] - sizes.at[d];
    if (literal == NULL || literal->elided || literal->shape->rank != 0) return false;
    int64_t start = literal_int_at(literal, 0);
    starts[d] = start < 0 ? 0 : start > most ? most : start;
  }
  return true;
}

static Status emit_slice(Translator *tr, uint32_t operand, const int64_t *starts, Ints sizes) {
  if (shape_eq(instr_shape(tr, operand), result_type(tr))) return give(tr, operand);
  Slices slices = {ARENA_ARRAY(tr->scratch, SliceDim, sizes.n), sizes.n};
  for (uint32_t d = 0; d < sizes.n; d++) slices.at[d] = (SliceDim){starts[d], starts[d] + sizes.at[d], 1};
  uint32_t instr = emit(tr, OP_SLICE, result_type(tr), &operand, 1);
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_slice, .slices = slices});
  return give(tr, instr);
}

Status translate_dynamic_slice(Translator *tr, Opcode op) {
  Ids operands;
  Ints sizes;
  TRY(expect_operand_count(tr, 1, UINT32_MAX));
  TRY(use_operands(tr, &operands));
  const Shape *from = instr_shape(tr, operands.at[0]);
  TRY(need_ints(tr, "slice_sizes", from->rank, &sizes));
  TRY(expect_operand_count(tr, from->rank + 1, from->rank + 1));
  int64_t *starts = ARENA_ARRAY(tr->scratch, int64_t, sizes.n);
  if (known_starts(tr, operands, sizes, starts)) return emit_slice(tr, operands.at[0], starts, sizes);
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, operands.n);
  instr_set_ints(tr->module, made(tr, instr), ATTR_dynamic_slice_sizes, sizes.at, sizes.n);
  return give(tr, instr);
}

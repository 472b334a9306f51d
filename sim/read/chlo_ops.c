/* CHLO: operations that HLO has under another name or not at all. Those without an opcode are written out in
 * operations that HLO has. */
#include "sim/read/stablehlo.h"

#include <math.h>

Status translate_square(Translator *tr, Opcode op) {
  uint32_t operand;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  return give(tr, emit_binary(tr, op, operand, operand));
}

/* The real and imaginary parts of a complex number. */
static void split(Translator *tr, uint32_t operand, uint32_t *real, uint32_t *imag) {
  const Shape *shape = instr_shape(tr, operand);
  const Shape *part = shape_with_dtype(tr->arena, shape, shape->dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64);
  *real = emit(tr, OP_REAL, part, &operand, 1);
  *imag = emit(tr, OP_IMAG, part, &operand, 1);
}

static uint32_t join(Translator *tr, uint32_t real, uint32_t imag) {
  return emit(tr, OP_COMPLEX, result_type(tr), (uint32_t[]){real, imag}, 2);
}

/* atan(x) = atan2(x, 1); of complex numbers -i atanh(ix). */
Status translate_atan(Translator *tr, Opcode op) {
  uint32_t operand, real, imag;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  if (dtype_class(instr_shape(tr, operand)->dtype) == DCLASS_COMPLEX) {
    split(tr, operand, &real, &imag);
    uint32_t turned = emit_unary(tr, OP_ATANH, join(tr, emit_unary(tr, OP_NEGATE, imag), real));
    split(tr, turned, &real, &imag);
    return give(tr, join(tr, imag, emit_unary(tr, OP_NEGATE, real)));
  }
  return give(tr, emit_binary(tr, op, operand, emit_number(tr, result_type(tr), 1)));
}

Status translate_conj(Translator *tr, Opcode op) {
  uint32_t operand, real, imag;
  (void)op;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  if (dtype_class(instr_shape(tr, operand)->dtype) != DCLASS_COMPLEX) return give(tr, operand);
  split(tr, operand, &real, &imag);
  return give(tr, join(tr, real, emit_unary(tr, OP_NEGATE, imag)));
}

static Status equal_to(Translator *tr, uint32_t operand, double value) {
  uint32_t right = emit_number(tr, instr_shape(tr, operand), value);
  return give(tr, emit_compare(tr, "EQ", operand, right));
}

Status translate_is_inf(Translator *tr, Opcode op) {
  uint32_t operand;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  return equal_to(tr, emit_unary(tr, op, operand), INFINITY);
}

Status translate_is_pos_inf(Translator *tr, Opcode op) {
  uint32_t operand;
  (void)op;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  return equal_to(tr, operand, INFINITY);
}

Status translate_is_neg_inf(Translator *tr, Opcode op) {
  uint32_t operand;
  (void)op;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  return equal_to(tr, operand, -INFINITY);
}

Status translate_top_k(Translator *tr, Opcode op) {
  uint32_t operand;
  const MlirAttr *attr;
  int64_t k;
  bool largest;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  TRY(need_attr(tr, "k", &attr));
  TRY(attr_int(tr, "k", 0, &k));
  TRY(attr_flag(tr, "largest", true, &largest));
  uint32_t instr = emit(tr, op, result_type(tr), &operand, 1);
  instr_set_int(tr->module, made(tr, instr), ATTR_k, k);
  instr_set_flag(tr->module, made(tr, instr), ATTR_largest, largest);
  return give(tr, instr);
}

/* The type of a float's bits; false where podsim knows no next number. */
static bool bits_of(DType dtype, DType *bits) {
  *bits = dtype == DTYPE_F64                          ? DTYPE_S64
          : dtype == DTYPE_F32                        ? DTYPE_S32
          : dtype == DTYPE_F16 || dtype == DTYPE_BF16 ? DTYPE_S16
                                                      : DTYPE_COUNT;
  return *bits != DTYPE_COUNT;
}

typedef struct {
  Translator *tr;
  const Shape *shape; /* of the bits */
  uint32_t one, zero, sign_bit;
} Neighbour;

/* The bits without the sign. */
static uint32_t magnitude(const Neighbour *next, uint32_t bits) {
  uint32_t mask = emit_unary(next->tr, OP_NOT, next->sign_bit);
  return emit_binary(next->tr, OP_AND, bits, mask);
}

/* One step in the order of the magnitudes: away from zero where `to` lies further out on the same side. */
static uint32_t step(const Neighbour *next, uint32_t from, uint32_t to) {
  Translator *tr = next->tr;
  uint32_t size = magnitude(next, from), other = magnitude(next, to);
  uint32_t sides = emit_binary(tr, OP_AND, emit_binary(tr, OP_XOR, from, to), next->sign_bit);
  uint32_t across = emit_compare(tr, "NE", sides, next->zero);
  uint32_t inwards = emit_compare(tr, "GT", size, other);
  inwards = emit_binary(tr, OP_OR, inwards, across);
  uint32_t back = emit_unary(tr, OP_NEGATE, next->one);
  uint32_t moved = emit_binary(tr, OP_ADD, from, emit_select(tr, inwards, back, next->one));
  /* From zero the least number of the side of `to`, which is zero again where that is. */
  uint32_t side = emit_binary(tr, OP_AND, to, next->sign_bit);
  uint32_t least = emit_binary(tr, OP_OR, side, next->one);
  least = emit_select(tr, emit_compare(tr, "EQ", other, next->zero), to, least);
  return emit_select(tr, emit_compare(tr, "EQ", size, next->zero), least, moved);
}

/* The number next to x towards y, by its bits; NaN where either is. */
Status translate_next_after(Translator *tr, Opcode op) {
  Ids operands;
  DType dtype;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operands(tr, &operands));
  uint32_t x = operands.at[0], y = operands.at[1];
  const Shape *shape = instr_shape(tr, x);
  RETURN_IF(!bits_of(shape->dtype, &dtype) || !shape_eq(shape, instr_shape(tr, y)),
            OP_FAIL(tr, tr->op->at, NULL, "next_after takes two arrays of floating-point numbers"));
  Neighbour next = {.tr = tr, .shape = shape_with_dtype(tr->arena, shape, dtype)};
  next.one = emit_number(tr, next.shape, 1);
  next.zero = emit_number(tr, next.shape, 0);
  next.sign_bit = emit_number(tr, next.shape, -INFINITY); /* the least integer */
  uint32_t from = emit(tr, OP_BITCAST_CONVERT, next.shape, &x, 1);
  uint32_t to = emit(tr, OP_BITCAST_CONVERT, next.shape, &y, 1);
  uint32_t bits = emit_select(tr, emit_compare(tr, "EQ", x, y), to, step(&next, from, to));
  uint32_t value = emit(tr, op, shape, &bits, 1);
  uint32_t none = emit_compare(tr, "NE", x, x), neither = emit_compare(tr, "NE", y, y);
  none = emit_binary(tr, OP_OR, none, neither);
  return give(tr, emit_select(tr, none, emit_number(tr, shape, NAN), value));
}

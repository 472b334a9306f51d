/* CHLO: operations that HLO has under another name or not at all. Those without an opcode are written out in
 * operations that HLO has. */
#include "sim/read/stablehlo.h"

Status translate_square(Translator *tr, Opcode op) {
  uint32_t operand;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  return give(tr, emit_binary(tr, op, operand, operand));
}

/* atan(x) = atan2(x, 1) */
Status translate_atan(Translator *tr, Opcode op) {
  uint32_t operand;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  return give(tr, emit_binary(tr, op, operand, emit_number(tr, result_type(tr), 1)));
}

Status translate_conj(Translator *tr, Opcode op) {
  uint32_t operand;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  const Shape *shape = result_type(tr);
  DType dtype = shape->dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
  RETURN_IF(dtype_class(shape->dtype) != DCLASS_COMPLEX,
            OP_FAIL(tr, tr->op->at, NULL, "conj takes complex numbers"));
  const Shape *part = shape_with_dtype(tr->arena, shape, dtype);
  uint32_t real = emit(tr, OP_REAL, part, &operand, 1), imag = emit(tr, OP_IMAG, part, &operand, 1);
  return give(tr, emit(tr, op, shape, (uint32_t[]){real, emit_unary(tr, OP_NEGATE, imag)}, 2));
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

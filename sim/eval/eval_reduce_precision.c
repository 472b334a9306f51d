/* reduce-precision: values rounded to a float of fewer exponent and mantissa bits, in their own type. Rounds
 * to even; what is too large becomes infinite, what is below the smallest normal number 0 of its sign. */
#include "sim/eval/evaluators.h"

#include <math.h>

/* The exponent of the smallest normal number of a type; its mantissa's last bits lie there for all below. */
static int lowest_exponent(DType dtype) {
  return dtype == DTYPE_F64 ? -1022 : dtype == DTYPE_F16 ? -14 : -126;
}

/* In doubles, which hold every type below exactly. A type with no more exponents than asked for keeps its
 * own. */
static double reduced(double value, int lowest, int exponent_bits, int mantissa_bits) {
  if (!isfinite(value) || value == 0) return value;
  int exponent = ilogb(value), bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent < lowest) exponent = lowest;
  double rounded = ldexp(rint(ldexp(value, mantissa_bits - exponent)), exponent - mantissa_bits);
  if (1 - bias <= lowest) return rounded;
  if (rounded != 0 && ilogb(rounded) > bias) return copysign(INFINITY, value);
  return rounded == 0 || ilogb(rounded) < 1 - bias ? copysign(0, value) : rounded;
}

Status eval_reduce_precision(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                             Tensor **result) {
  int64_t exponent_bits = instr_int(instr, ATTR_exponent_bits, 0);
  int64_t mantissa_bits = instr_int(instr, ATTR_mantissa_bits, 0);
  if (exponent_bits < 1 || exponent_bits > 11 || mantissa_bits < 0 || mantissa_bits > 52 ||
      dtype_bits(operands[0]->dtype) < 16 || dtype_class(operands[0]->dtype) != DCLASS_FLOAT)
    return eval_unsupported(context, instr, "reduce-precision to these bits");
  int lowest = lowest_exponent(operands[0]->dtype);
  *result = result_in_place(context, instr, operands);
  for (int64_t i = 0; i < tensor_elements(*result); i++) {
    double value = tensor_double_at(operands[0], i);
    tensor_set_double(*result, i, reduced(value, lowest, (int)exponent_bits, (int)mantissa_bits));
  }
  return STATUS_OK;
}

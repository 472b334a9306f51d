/* Comparing arrays element by element, in double. */
#include "sim/eval/compare_tensors.h"

#include <inttypes.h>
#include <math.h>

/* Bits after the leading one. */
static int mantissa_bits(DType dtype) {
  switch (dtype) {
  case DTYPE_F64:
  case DTYPE_C128: return 52;
  case DTYPE_F32:
  case DTYPE_C64: return 23;
  case DTYPE_F16: return 10;
  case DTYPE_BF16: return 7;
  case DTYPE_F8E3M4: return 4;
  case DTYPE_F8E4M3:
  case DTYPE_F8E4M3FN:
  case DTYPE_F8E4M3FNUZ:
  case DTYPE_F8E4M3B11FNUZ:
  case DTYPE_F6E2M3FN: return 3;
  case DTYPE_F8E5M2:
  case DTYPE_F8E5M2FNUZ:
  case DTYPE_F6E3M2FN: return 2;
  case DTYPE_F4E2M1FN: return 1;
  default: return 0;
  }
}

static bool is_inexact(DType dtype) {
  return dtype_class(dtype) == DCLASS_FLOAT || dtype_class(dtype) == DCLASS_COMPLEX;
}

double dtype_tolerance(DType dtype) {
  enum { ULPS = 128, NARROW_ULPS = 4 };
  if (!is_inexact(dtype)) return 0;
  int bits = mantissa_bits(dtype);
  return ldexp(bits > 16 ? ULPS : NARROW_ULPS, -bits - 1);
}

/* Distance in steps between neighbours at the size of `expected`; subnormals are not told apart. */
static double ulps(DType dtype, double expected, double error) {
  if (!is_inexact(dtype) || expected == 0) return error;
  return error / ldexp(1, ilogb(expected) - mantissa_bits(dtype));
}

/* Real numbers in an array: two an element of a complex one. */
static int64_t numbers_in(const Tensor *tensor) {
  return tensor_elements(tensor) * (dtype_class(tensor->dtype) == DCLASS_COMPLEX ? 2 : 1);
}

static double number_at(const Tensor *tensor, int64_t at) {
  if (tensor->dtype == DTYPE_C64) return ((const float *)tensor->data)[at];
  if (tensor->dtype == DTYPE_C128) return ((const double *)tensor->data)[at];
  return tensor_double_at(tensor, at);
}

static double largest(const Tensor *tensor) {
  double scale = 0;
  for (int64_t i = 0; i < numbers_in(tensor); i++) {
    double size = fabs(number_at(tensor, i));
    if (size > scale && !isinf(size)) scale = size;
  }
  return scale;
}

static double error_of(double expected, double found) {
  if (expected == found || (isnan(expected) && isnan(found))) return 0;
  double error = fabs(found - expected);
  return isnan(error) ? INFINITY : error;
}

/* Integers of 64 bits differ although they are the same as doubles. */
static bool hidden_difference(const Tensor *expected, const Tensor *found, int64_t at) {
  return dtype_is_integer(expected->dtype) && tensor_int_at(expected, at) != tensor_int_at(found, at);
}

TensorDifference tensor_compare(const Tensor *expected, const Tensor *found, double tolerance) {
  TensorDifference difference = {.elements = tensor_elements(expected), .tolerance = tolerance, .worst = -1};
  double scale = largest(expected), worst_excess = -INFINITY;
  difference.largest = scale;
  int parts = dtype_class(expected->dtype) == DCLASS_COMPLEX ? 2 : 1;
  int64_t last_outside = -1;
  for (int64_t i = 0; i < numbers_in(expected); i++) {
    double want = number_at(expected, i), have = number_at(found, i), error = error_of(want, have);
    if (error == 0 && hidden_difference(expected, found, i)) error = 1;
    if (error == 0) continue;
    double size = isfinite(want) ? fabs(want) : 0, excess = error - tolerance * (size + scale);
    if (excess > 0 && last_outside != i / parts) {
      difference.outside++;
      last_outside = i / parts;
    }
    difference.max_abs = fmax(difference.max_abs, error);
    if (size != 0) difference.max_rel = fmax(difference.max_rel, error / size);
    difference.max_ulp = fmax(difference.max_ulp, ulps(expected->dtype, size, error));
    if (excess > worst_excess) {
      worst_excess = excess;
      difference.worst = i / parts;
      difference.expected = want;
      difference.found = have;
    }
  }
  return difference;
}

static void add_index(StrBuf *buf, const Tensor *tensor, int64_t at) {
  int64_t below = tensor_elements(tensor);
  buf_char(buf, '[');
  for (uint32_t i = 0; i < tensor->rank; i++) {
    below /= tensor->dims[i];
    buf_printf(buf, i == 0 ? "%" PRId64 : ",%" PRId64, at / below);
    at %= below;
  }
  buf_char(buf, ']');
}

Str tensor_difference_text(Arena *arena, const Tensor *expected, const TensorDifference *difference) {
  if (difference->worst < 0) return STR("equal");
  StrBuf buf = {.arena = arena};
  if (difference->outside == 0) {
    buf_printf(&buf, "%" PRId64 " elements within %.3g; largest error %.3g where the largest value is %.3g",
               difference->elements, difference->tolerance, difference->max_abs, difference->largest);
    return buf_str(&buf);
  }
  buf_printf(&buf, "%" PRId64 " of %" PRId64 " elements beyond %.3g: at ", difference->outside,
             difference->elements, difference->tolerance);
  add_index(&buf, expected, difference->worst);
  buf_printf(&buf, " %.9g for %.9g; largest error %.3g absolute, %.3g relative, %.3g ulp", difference->found,
             difference->expected, difference->max_abs, difference->max_rel, difference->max_ulp);
  return buf_str(&buf);
}

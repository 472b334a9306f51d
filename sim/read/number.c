/* Numbers as programs write them: decimals to doubles, doubles to the bits of an element type. */
#include "sim/read/number.h"

#include "sim/ir/fp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Digits and a small power of ten make an exact double in one step (Clinger 1990); else strtod. */
static bool quick_decimal(Str text, double *value) {
  static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                  1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char *at = text.at, *end = text.at + text.n;
  bool negative = at < end && *at == '-';
  at += negative;
  uint64_t digits = 0;
  int n = 0, scale = 0;
  for (bool point = false; at < end && (*at == '.' || (*at >= '0' && *at <= '9')); at++) {
    if (*at == '.' && point) return false;
    point = point || *at == '.';
    if (*at == '.') continue;
    digits = digits * 10 + (uint64_t)(*at - '0');
    scale -= point;
    if (++n > 15) return false;
  }
  if (at != end || n == 0 || scale < -22) return false;
  double magnitude = (double)digits / powers[-scale];
  *value = negative ? -magnitude : magnitude;
  return true;
}

static bool slow_decimal(Str text, Arena *scratch, double *value) {
  if (text.n == 0 || memchr(text.at, 'x', text.n) != NULL || memchr(text.at, 'X', text.n) != NULL)
    return false;
  const char *terminated = str_terminated(scratch, text);
  char *end;
  *value = strtod(terminated, &end);
  return end == terminated + text.n;
}

bool decimal_read(Str text, Arena *scratch, double *value) {
  return quick_decimal(text, value) || slow_decimal(text, scratch, value);
}

uint64_t float_bits(DType dtype, double value) {
  uint64_t bits = 0;
  float single = (float)value;
  if (dtype == DTYPE_F64)
    memcpy(&bits, &value, sizeof value);
  else if (dtype == DTYPE_F32)
    memcpy(&bits, &single, sizeof single);
  else
    bits = fp_from_double(dtype, value);
  return bits;
}

bool float_overflows(DType dtype, double value, uint64_t bits) {
  if (dtype == DTYPE_F64) return isinf(value);
  if (dtype == DTYPE_F32) return isinf((float)value);
  return !isfinite(fp_to_float(dtype, (uint32_t)bits));
}

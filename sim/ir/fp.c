/* Small floats from a table of formats: OCP 8-bit, 6-bit and 4-bit floats, the FNUZ kinds, IEEE half and
 * bfloat16 (github.com/jax-ml/ml_dtypes). The magnitude's bits, read as an integer, are in the order of the
 * values: so rounding is one rint() to the value's own step, and its carry lands in the exponent by itself.
 */
#include "sim/ir/fp.h"

#include <assert.h>
#include <math.h>

typedef struct {
  int mantissa_bits, bias;
  uint32_t sign;      /* the sign bit; 0 where the format has none */
  uint32_t largest;   /* bits of the largest finite magnitude */
  uint32_t nan;       /* bits of NaN */
  uint32_t overflow;  /* bits of what is larger, and of infinity */
  bool negative_zero; /* false: the bits of -0 mean NaN */
} Format;

static const Format formats[DTYPE_COUNT] = {
    [DTYPE_F4E2M1FN] = {1, 1, 0x8, 0x7, 0x8, 0x7, true},
    [DTYPE_F6E2M3FN] = {3, 1, 0x20, 0x1f, 0x20, 0x1f, true},
    [DTYPE_F6E3M2FN] = {2, 3, 0x20, 0x1f, 0x20, 0x1f, true},
    [DTYPE_F8E3M4] = {4, 3, 0x80, 0x6f, 0x78, 0x70, true},
    [DTYPE_F8E4M3] = {3, 7, 0x80, 0x77, 0x7c, 0x78, true},
    [DTYPE_F8E4M3FN] = {3, 7, 0x80, 0x7e, 0x7f, 0x7f, true},
    [DTYPE_F8E4M3FNUZ] = {3, 8, 0x80, 0x7f, 0x80, 0x80, false},
    [DTYPE_F8E4M3B11FNUZ] = {3, 11, 0x80, 0x7f, 0x80, 0x80, false},
    [DTYPE_F8E5M2] = {2, 15, 0x80, 0x7b, 0x7e, 0x7c, true},
    [DTYPE_F8E5M2FNUZ] = {2, 16, 0x80, 0x7f, 0x80, 0x80, false},
    [DTYPE_F8E8M0FNU] = {0, 127, 0, 0xfe, 0xff, 0xff, false},
    [DTYPE_F16] = {10, 15, 0x8000, 0x7bff, 0x7e00, 0x7c00, true},
    [DTYPE_BF16] = {7, 127, 0x8000, 0x7f7f, 0x7fc0, 0x7f80, true},
};

static const Format *format_of(DType dtype) {
  assert(formats[dtype].largest != 0);
  return &formats[dtype];
}

static uint32_t float_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* F8E8M0FNU holds powers of two alone: no sign, no zero, its smallest is 2^-127. */
static uint32_t power_of_two(const Format *format, double value) {
  if (isnan(value) || isinf(value) || value == 0 || signbit(value)) return format->nan;
  int exponent = ilogb(value);
  if (exponent < -format->bias) exponent = -format->bias;
  double rounded = rint(ldexp(value, -exponent));
  int64_t bits = exponent + format->bias + (int64_t)rounded - 1;
  if (bits < 0) return 0;
  return bits > format->largest ? format->overflow : (uint32_t)bits;
}

uint32_t fp_from_double(DType dtype, double value) {
  const Format *format = format_of(dtype);
  if (format->sign == 0) return power_of_two(format, value);
  uint32_t sign = signbit(value) ? format->sign : 0;
  if (isnan(value)) return format->negative_zero ? format->nan ^ sign : format->nan;
  double magnitude = fabs(value);
  int smallest = 1 - format->bias; /* exponent of the smallest normal, and of the subnormals */
  int exponent = magnitude == 0 ? smallest : isinf(magnitude) ? 1024 : ilogb(magnitude);
  if (exponent < smallest) exponent = smallest;
  uint32_t bits = format->largest + 1;
  if (exponent - smallest < 256)
    bits = ((uint32_t)(exponent - smallest) << format->mantissa_bits) +
           (uint32_t)rint(ldexp(magnitude, format->mantissa_bits - exponent));
  if (bits > format->largest) bits = format->overflow;
  return format->negative_zero ? bits | sign : bits == 0 ? 0 : bits | sign;
}

uint32_t fp_from_float(DType dtype, float value) {
  if (dtype != DTYPE_BF16) return fp_from_double(dtype, value);
  uint32_t bits = float_bits(value);
  if (isnan(value)) return bits >> 31 << 15 | 0x7fc0;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

float fp_to_float(DType dtype, uint32_t bits) {
  if (dtype == DTYPE_BF16) return float_of(bits << 16);
  const Format *format = format_of(dtype);
  if (format->sign == 0) {
    if (bits == format->nan) return NAN;
    return bits == 0 ? 0x1p-127f : float_of(bits << 23);
  }
  uint32_t magnitude = bits & (format->sign - 1), sign = bits & format->sign;
  if (!format->negative_zero && bits == format->nan) return NAN;
  if (magnitude > format->largest) {
    float special = magnitude == format->overflow && format->overflow != format->nan ? INFINITY : NAN;
    return sign ? -special : special;
  }
  /* The same fields in a float, then the exponent's bias put right by a product, which is exact. */
  float value =
      float_of(magnitude << (23 - format->mantissa_bits)) * float_of((uint32_t)(254 - format->bias) << 23);
  return sign ? -value : value;
}

double fp_largest(DType dtype) {
  return dtype == DTYPE_F64   ? 0x1.fffffffffffffp1023
         : dtype == DTYPE_F32 ? 0x1.fffffep127
                              : (double)fp_to_float(dtype, format_of(dtype)->largest);
}

bool fp_has_infinity(DType dtype) {
  if (dtype == DTYPE_F64 || dtype == DTYPE_F32) return true;
  const Format *format = format_of(dtype);
  return format->overflow != format->nan && format->overflow > format->largest;
}

int fp_mantissa_bits(DType dtype) {
  return format_of(dtype)->mantissa_bits;
}

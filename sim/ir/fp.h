/* Small floats: conversions between float and the formats below 32 bits, round to nearest even, by bits. */
#pragma once

#include "sim/ir/shape.h"

/* The bits of `value` as `dtype` (FLOAT class of at most 16 bits), in the low bits; overflow and NaN as
 * ml_dtypes has them. */
uint32_t fp_from_float(DType dtype, float value);
/* The same from a double, rounded once. */
uint32_t fp_from_double(DType dtype, double value);
/* Exact. */
float fp_to_float(DType dtype, uint32_t bits);
/* The largest finite value of a FLOAT class, f32 and f64 too. */
double fp_largest(DType dtype);
/* Whether a FLOAT class has an infinity. */
bool fp_has_infinity(DType dtype);
/* Bits behind the exponent, of a format of at most 16 bits. */
int fp_mantissa_bits(DType dtype);

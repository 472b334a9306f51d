/* Functions of f32 without branches, so that loops over them vectorise. Within 2 units in the last place,
 * with the special values of C. Range reductions and polynomials are those of the Cephes library (S. L.
 * Moshier, Methods and Programs for Mathematical Functions); no step relies on fused multiply-adds. */
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* A loop vectorises only around what is inlined. */
#define VEC_INLINE static inline __attribute__((always_inline))

VEC_INLINE uint32_t f32_bits(float x) {
  union {
    float value;
    uint32_t bits;
  } u = {.value = x};
  return u.bits;
}

VEC_INLINE float f32_from_bits(uint32_t bits) {
  union {
    uint32_t bits;
    float value;
  } u = {.bits = bits};
  return u.value;
}

/* 2^n for n in [-126, 127]. */
VEC_INLINE float f32_power_of_2(int32_t n) {
  return f32_from_bits((uint32_t)(n + 127) << 23);
}

/* x = n ln 2 + r with |r| <= ln 2 / 2. Adding 1.5 * 2^23 leaves the nearest integer in the last bits. */
VEC_INLINE float f32_reduce_exp(float x, int32_t *n) {
  const float shift = 0x1.8p23F;
  float shifted = x * 1.44269504F + shift, whole = shifted - shift;
  *n = (int32_t)(f32_bits(shifted) - f32_bits(shift));
  return (x - whole * 0.693359375F) - whole * -2.12194440e-4F;
}

/* exp(r) - 1 for |r| <= ln 2 / 2. */
VEC_INLINE float f32_expm1_reduced(float r) {
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  return p * (r * r) + r;
}

VEC_INLINE float f32_exp(float x) {
  int32_t n;
  float bounded = x > 89.0F ? 89.0F : x < -104.0F ? -104.0F : x;
  float p = f32_expm1_reduced(f32_reduce_exp(bounded, &n)) + 1;
  int32_t half = n >> 1; /* in two steps: 2^n alone may be no normal number */
  return p * f32_power_of_2(half) * f32_power_of_2(n - half);
}

VEC_INLINE float f32_expm1(float x) {
  int32_t n;
  float bounded = x > 89.0F ? 89.0F : x < -20.0F ? -20.0F : x;
  float p = f32_expm1_reduced(f32_reduce_exp(bounded, &n)), half = f32_power_of_2(n - 1);
  float scaled = 2 * (half * p + (half - 0.5F));
  return n == 0 ? (x == 0 ? x : p) : scaled;
}

/* log of a positive normal m 2^e, m in [sqrt(1/2), sqrt(2)). */
VEC_INLINE float f32_log_normal(float x, float added_exponent) {
  uint32_t bits = f32_bits(x) - 0x3f3504f3; /* of sqrt(1/2) */
  float e = (float)((int32_t)bits >> 23) + added_exponent;
  float f = f32_from_bits((bits & 0x7fffff) + 0x3f3504f3) - 1, square = f * f;
  float p = 7.0376836292e-2F;
  p = p * f - 1.1514610310e-1F;
  p = p * f + 1.1676998740e-1F;
  p = p * f - 1.2420140846e-1F;
  p = p * f + 1.4249322787e-1F;
  p = p * f - 1.6668057665e-1F;
  p = p * f + 2.0000714765e-1F;
  p = p * f - 2.4999993993e-1F;
  p = p * f + 3.3333331174e-1F;
  float tail = f * square * p + e * -2.12194440e-4F - 0.5F * square;
  return (f + tail) + e * 0.693359375F;
}

VEC_INLINE float f32_log(float x) {
  bool small = x < 0x1p-126F;
  float log = f32_log_normal(small ? x * 0x1p23F : x, small ? -23.0F : 0.0F);
  float special = x == 0 ? -INFINITY : x < 0 ? NAN : x; /* infinity and NaN are their own */
  return x > 0 && x < INFINITY ? log : special;
}

/* The rounding of 1 + x is put right by its relative error. */
VEC_INLINE float f32_log1p(float x) {
  float u = 1 + x, lost = x > 1 ? 1 - (u - x) : x - (u - 1);
  float log = f32_log_normal(u, 0) + lost / u;
  float special = u == 0 ? -INFINITY : u < 0 ? NAN : x;
  return u > 0 && x < INFINITY ? (x == 0 ? x : log) : special;
}

VEC_INLINE float f32_tanh(float x) {
  float square = x * x, size = fabsf(x);
  float p = -5.70498872745e-3F;
  p = p * square + 2.06390887954e-2F;
  p = p * square - 5.37397155531e-2F;
  p = p * square + 1.33314422036e-1F;
  p = p * square - 3.33332819422e-1F;
  float near = p * square * size + size, far = 1 - 2 / (f32_exp(2 * size) + 1);
  return copysignf(size < 0.625F ? near : far, x);
}

/* 0 where the true value is below the smallest normal number. */
VEC_INLINE float f32_logistic(float x) {
  return 1 / (1 + f32_exp(-x));
}

/* Near 0 an odd polynomial, else 1 - exp(-g(|x|)); both fitted to the least error over their ranges. */
VEC_INLINE float f32_erf(float x) {
  float square = x * x, size = fabsf(x), bounded = size > 4.0F ? 4.0F : size;
  float p = 8.39728964e-05F;
  p = p * square - 0.000814968778F;
  p = p * square + 0.00520170573F;
  p = p * square - 0.0268596988F;
  p = p * square + 0.112837017F;
  p = p * square - 0.376126349F;
  p = p * square + 0.128379226F; /* 2 / sqrt(pi) - 1 */
  float g = -0.000194946246F;
  g = g * bounded + 0.00303368759F;
  g = g * bounded - 0.0221897587F;
  g = g * bounded + 0.10385634F;
  g = g * bounded + 0.637265801F;
  g = g * bounded + 1.12762737F;
  g = g * bounded + 0.000207013276F;
  return copysignf(size < 0.92F ? p * size + size : x != x ? x : 1 - f32_exp(-g), x);
}

/* The loops of elementwise.def: one function for each row and C type, found by opcode and type. */
#include "sim/eval/kernel.h"
#include "sim/eval/vecmath.h"

#include <tgmath.h>

typedef void (*UnaryKernel)(int64_t n, const void *x, void *out);
typedef void (*BinaryKernel)(int64_t n, const void *x, const void *y, void *out);

#define VEC(f) _Generic(x, float : f32_##f, double : f64_##f)

/* C's functions of f64, in parentheses since tgmath.h has macros of their names. */
static inline double f64_erf(double x) {
  return (erf)(x);
}
static inline double f64_exp(double x) {
  return (exp)(x);
}
static inline double f64_expm1(double x) {
  return (expm1)(x);
}
static inline double f64_log(double x) {
  return (log)(x);
}
static inline double f64_log1p(double x) {
  return (log1p)(x);
}
static inline double f64_tanh(double x) {
  return (tanh)(x);
}
static inline double f64_logistic(double x) {
  return 1 / (1 + (exp)(-x));
}

/* base^exponent modulo 2^64, of which the low bits are right for every narrower type. */
static inline uint64_t integer_power(uint64_t base, uint64_t exponent) {
  uint64_t power = 1;
  for (; exponent != 0; exponent >>= 1, base *= base) {
    if (exponent & 1) power *= base;
  }
  return power;
}

/* exp(x) - 1 without cancellation near 0. */
static inline complex double complex_expm1(complex double x) {
  double half = sin(cimag(x) / 2);
  double real = expm1(creal(x)) * cos(cimag(x)) - 2 * half * half;
  return __builtin_complex(real, exp(creal(x)) * sin(cimag(x)));
}

static inline complex double complex_log1p(complex double x) {
  double re = creal(x), im = cimag(x);
  if (fabs(re) > 0.5 || fabs(im) > 0.5) return log(1 + x);
  return __builtin_complex(log1p(re * (2 + re) + im * im) / 2, atan2(im, 1 + re));
}

static inline complex double complex_power(complex double x, complex double y) {
  if (x != 0) return pow(x, y);
  return y == 0 ? 1 : creal(y) > 0 ? 0 : (complex double)NAN;
}

#define UNARY_KERNEL(dtype, t, s, u, a, w, op, OUT, ...)                                                     \
  VECTORISED static void unary_##op##_##dtype(int64_t n, const void *in, void *out) {                        \
    KERNEL_TYPES(t, s, u, a, w)                                                                              \
    const T *xs = in;                                                                                        \
    OUT *outs = out;                                                                                         \
    EACH(i, n) {                                                                                             \
      const T x = xs[i];                                                                                     \
      outs[i] = (OUT)(__VA_ARGS__);                                                                          \
    }                                                                                                        \
  }
#define BINARY_KERNEL(dtype, t, s, u, a, w, op, ...)                                                         \
  VECTORISED static void binary_##op##_##dtype(int64_t n, const void *left, const void *right, void *out) {  \
    KERNEL_TYPES(t, s, u, a, w)                                                                              \
    const T *xs = left, *ys = right;                                                                         \
    T *outs = out;                                                                                           \
    EACH(i, n) {                                                                                             \
      const T x = xs[i], y = ys[i];                                                                          \
      outs[i] = (T)(__VA_ARGS__);                                                                            \
    }                                                                                                        \
  }
#define UNARY(op, class, ...)      class##_TYPES(UNARY_KERNEL, op, T, __VA_ARGS__)
#define UNARY_REAL(op, class, ...) class##_TYPES(UNARY_KERNEL, op, S, __VA_ARGS__)
#define UNARY_PRED(op, class, ...) class##_TYPES(UNARY_KERNEL, op, uint8_t, __VA_ARGS__)
#define BINARY(op, class, ...)     class##_TYPES(BINARY_KERNEL, op, __VA_ARGS__)
#include "sim/eval/elementwise.def"
#undef UNARY
#undef UNARY_REAL
#undef UNARY_PRED
#undef BINARY

#define UNARY_ROW(dtype, t, s, u, a, w, op)  [OP_##op][DTYPE_##dtype] = unary_##op##_##dtype,
#define BINARY_ROW(dtype, t, s, u, a, w, op) [OP_##op][DTYPE_##dtype] = binary_##op##_##dtype,

static const UnaryKernel unary_kernels[OP_COUNT][DTYPE_COUNT] = {
#define UNARY(op, class, ...)      class##_TYPES(UNARY_ROW, op)
#define UNARY_REAL(op, class, ...) class##_TYPES(UNARY_ROW, op)
#define UNARY_PRED(op, class, ...) class##_TYPES(UNARY_ROW, op)
#define BINARY(op, class, ...)
#include "sim/eval/elementwise.def"
#undef UNARY
#undef UNARY_REAL
#undef UNARY_PRED
#undef BINARY
};

static const BinaryKernel binary_kernels[OP_COUNT][DTYPE_COUNT] = {
#define UNARY(op, class, ...)
#define UNARY_REAL(op, class, ...)
#define UNARY_PRED(op, class, ...)
#define BINARY(op, class, ...) class##_TYPES(BINARY_ROW, op)
#include "sim/eval/elementwise.def"
#undef UNARY
#undef UNARY_REAL
#undef UNARY_PRED
#undef BINARY
};

bool unary_exists(Opcode op, DType dtype) {
  return unary_kernels[op][compute_dtype(dtype)] != NULL;
}

bool binary_exists(Opcode op, DType dtype) {
  return binary_kernels[op][compute_dtype(dtype)] != NULL;
}

/* Ops that look at the bits above those of a type below 8 bits, which a signed value's sign fills. */
static bool sees_high_bits(Opcode op) {
  return op == OP_CLZ || op == OP_POPCNT || op == OP_SHIFT_RIGHT_LOGICAL || op == OP_SHIFT_RIGHT_ARITHMETIC ||
         op == OP_MULHI;
}

static bool is_narrow_integer(DType dtype) {
  return dtype_bits(dtype) < 8 && dtype_is_integer(dtype);
}

/* clz, popcnt, shifts and mulhi of a type below 8 bits: one value at a time, in its own width. */
static uint8_t narrow_bits(Opcode op, DType dtype, int8_t x, int8_t y) {
  uint32_t bits = dtype_bits(dtype), mask = (1U << bits) - 1, low = (uint32_t)x & mask;
  uint32_t shift = (uint32_t)y & mask;
  switch (op) {
  case OP_CLZ: return (uint8_t)(low == 0 ? bits : (uint32_t)__builtin_clz(low) - (32 - bits));
  case OP_POPCNT: return (uint8_t)__builtin_popcount(low);
  case OP_MULHI: return (uint8_t)((x * y) >> bits);
  case OP_SHIFT_RIGHT_ARITHMETIC:
    return (uint8_t)((int32_t)(low << (32 - bits)) >> (32 - bits) >> (shift < bits ? shift : bits - 1));
  default: return (uint8_t)(shift < bits ? low >> shift : 0);
  }
}

static void run_narrow_bits(Opcode op, DType dtype, int64_t n, const int8_t *x, const int8_t *y, void *out) {
  uint8_t *outs = out;
  for (int64_t i = 0; i < n; i++) outs[i] = narrow_bits(op, dtype, x[i], y[i]);
  values_narrow(dtype, n, out, out);
}

/* Bytes of an element of an op's result: is-finite gives pred. */
static uint32_t result_bytes(Opcode op, DType dtype) {
  return op == OP_IS_FINITE ? 1 : dtype_bytes(dtype);
}

bool unary_run(Opcode op, DType dtype, int64_t n, const void *x, void *out) {
  DType computed = compute_dtype(dtype);
  UnaryKernel kernel = unary_kernels[op][computed];
  if (kernel == NULL) return false;
  if (is_narrow_integer(dtype) && sees_high_bits(op)) {
    run_narrow_bits(op, dtype, n, x, x, out);
  } else if (computed == dtype) {
    kernel(n, x, out);
  } else {
    uint32_t in_bytes = dtype_bytes(dtype), out_bytes = result_bytes(op, dtype);
    KernelBlock wide;
    for (int64_t i = 0; i < n; i += KERNEL_BLOCK) {
      int64_t some = n - i < KERNEL_BLOCK ? n - i : KERNEL_BLOCK;
      values_widen(dtype, some, (const char *)x + i * in_bytes, &wide);
      kernel(some, &wide, op == OP_IS_FINITE ? (char *)out + i : (char *)&wide);
      if (op != OP_IS_FINITE) values_narrow(dtype, some, &wide, (char *)out + i * out_bytes);
    }
  }
  return true;
}

bool binary_run(Opcode op, DType dtype, int64_t n, const void *x, const void *y, void *out) {
  DType computed = compute_dtype(dtype);
  BinaryKernel kernel = binary_kernels[op][computed];
  if (kernel == NULL) return false;
  if (is_narrow_integer(dtype) && sees_high_bits(op)) {
    run_narrow_bits(op, dtype, n, x, y, out);
  } else if (computed == dtype) {
    kernel(n, x, y, out);
  } else {
    uint32_t bytes = dtype_bytes(dtype);
    KernelBlock wide_x, wide_y;
    for (int64_t i = 0; i < n; i += KERNEL_BLOCK) {
      int64_t some = n - i < KERNEL_BLOCK ? n - i : KERNEL_BLOCK;
      values_widen(dtype, some, (const char *)x + i * bytes, &wide_x);
      values_widen(dtype, some, (const char *)y + i * bytes, &wide_y);
      kernel(some, &wide_x, &wide_y, &wide_x);
      values_narrow(dtype, some, &wide_x, (char *)out + i * bytes);
    }
  }
  return true;
}

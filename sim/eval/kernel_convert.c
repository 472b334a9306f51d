/* Conversions between element types, as XLA's convert has them: floats to integers truncate and saturate, NaN
 * is 0; integers wrap; anything but 0 is true; complex to real drops the imaginary part. Types that C has
 * not go by way of those it has. */
#include "sim/eval/kernel.h"
#include "sim/ir/fp.h"

#include <math.h>
#include <string.h>

typedef void (*ConvertKernel)(int64_t n, const void *from, void *to);

/* Values of `T`s become `D`s. LOWEST and HIGHEST are D's limits as floats that T can hold. */
#define CONVERT_LOOP(from_dtype, t, to_dtype, d, ...)                                                        \
  VECTORISED static void convert_##from_dtype##_##to_dtype(int64_t n, const void *from, void *to) {          \
    typedef t T;                                                                                             \
    typedef d D;                                                                                             \
    const T *xs = from;                                                                                      \
    D *outs = to;                                                                                            \
    EACH(i, n) {                                                                                             \
      const T x = xs[i];                                                                                     \
      outs[i] = (D)(__VA_ARGS__);                                                                            \
    }                                                                                                        \
  }

#define HIGHEST(D)  ((D)-1 > 0 ? (D)-1 : (D)(((uint64_t)1 << (8 * sizeof(D) - 1)) - 1))
#define LOWEST(D)   ((D)-1 > 0 ? 0 : (D)((uint64_t)1 << (8 * sizeof(D) - 1)))
#define SATURATE(D) (x != x ? 0 : x <= (T)LOWEST(D) ? LOWEST(D) : x >= (T)HIGHEST(D) ? HIGHEST(D) : (D)x)

/* From each class to each class: a loop over the targets inside a loop over the sources. C expands no macro
 * inside itself, so the target lists are spelled here. */
#define TO_INTEGERS(LOOP, from_dtype, t)                                                                     \
  LOOP(from_dtype, t, S8, int8_t)                                                                            \
  LOOP(from_dtype, t, S16, int16_t)                                                                          \
  LOOP(from_dtype, t, S32, int32_t)                                                                          \
  LOOP(from_dtype, t, S64, int64_t)                                                                          \
  LOOP(from_dtype, t, U8, uint8_t)                                                                           \
  LOOP(from_dtype, t, U16, uint16_t)                                                                         \
  LOOP(from_dtype, t, U32, uint32_t)                                                                         \
  LOOP(from_dtype, t, U64, uint64_t)
#define TO_FLOATS(LOOP, from_dtype, t)                                                                       \
  LOOP(from_dtype, t, F32, float)                                                                            \
  LOOP(from_dtype, t, F64, double)
#define TO_COMPLEX(LOOP, from_dtype, t)                                                                      \
  LOOP(from_dtype, t, C64, complex float)                                                                    \
  LOOP(from_dtype, t, C128, complex double)
#define TO_PRED(LOOP, from_dtype, t) LOOP(from_dtype, t, PRED, uint8_t)

#define PLAIN(from_dtype, t, to_dtype, d)      CONVERT_LOOP(from_dtype, t, to_dtype, d, x)
#define SATURATING(from_dtype, t, to_dtype, d) CONVERT_LOOP(from_dtype, t, to_dtype, d, SATURATE(D))
#define TRUTH(from_dtype, t, to_dtype, d)      CONVERT_LOOP(from_dtype, t, to_dtype, d, x != 0)
#define REAL_ONLY(from_dtype, t, to_dtype, d)  CONVERT_LOOP(from_dtype, t, to_dtype, d, __real__ x)

#define FROM_INTEGER(dtype, t, s, u, a, w, ...)                                                              \
  TO_INTEGERS(PLAIN, dtype, t)                                                                               \
  TO_FLOATS(PLAIN, dtype, t)                                                                                 \
  TO_COMPLEX(PLAIN, dtype, t)                                                                                \
  TO_PRED(TRUTH, dtype, t)
#define FROM_FLOAT(dtype, t, s, u, a, w, ...)                                                                \
  TO_INTEGERS(SATURATING, dtype, t)                                                                          \
  TO_FLOATS(PLAIN, dtype, t)                                                                                 \
  TO_COMPLEX(PLAIN, dtype, t)                                                                                \
  TO_PRED(TRUTH, dtype, t)
#define FROM_COMPLEX(dtype, t, s, u, a, w, ...)                                                              \
  TO_FLOATS(REAL_ONLY, dtype, t)                                                                             \
  TO_COMPLEX(PLAIN, dtype, t)                                                                                \
  TO_PRED(TRUTH, dtype, t)

INTEGER_TYPES(FROM_INTEGER, )
PRED_TYPES(FROM_INTEGER, )
FLOAT_TYPES(FROM_FLOAT, )
COMPLEX_TYPES(FROM_COMPLEX, )

#define ROW(from_dtype, t, to_dtype, d) [DTYPE_##to_dtype] = convert_##from_dtype##_##to_dtype,
#define REAL_ROWS(dtype, t, s, u, a, w, ...)                                                                 \
  [DTYPE_##dtype] = {TO_INTEGERS(ROW, dtype, t) TO_FLOATS(ROW, dtype, t) TO_COMPLEX(ROW, dtype, t)           \
                         TO_PRED(ROW, dtype, t)},
#define COMPLEX_ROWS(dtype, t, s, u, a, w, ...)                                                              \
  [DTYPE_##dtype] = {TO_FLOATS(ROW, dtype, t) TO_COMPLEX(ROW, dtype, t) TO_PRED(ROW, dtype, t)},

static const ConvertKernel convert_kernels[DTYPE_COUNT][DTYPE_COUNT] = {INTEGER_TYPES(REAL_ROWS, ) PRED_TYPES(
    REAL_ROWS, ) FLOAT_TYPES(REAL_ROWS, ) COMPLEX_TYPES(COMPLEX_ROWS, )};

DType compute_dtype(DType dtype) {
  switch (dtype_class(dtype)) {
  case DCLASS_SIGNED: return dtype_bits(dtype) < 8 ? DTYPE_S8 : dtype;
  case DCLASS_UNSIGNED: return dtype_bits(dtype) < 8 ? DTYPE_U8 : dtype;
  case DCLASS_FLOAT: return dtype_bits(dtype) < 32 ? DTYPE_F32 : dtype;
  default: return dtype;
  }
}

VECTORISED static void bf16_widen(int64_t n, const uint16_t *from, uint32_t *to) {
  EACH(i, n) to[i] = (uint32_t)from[i] << 16;
}

/* Rounds to even by adding half of the last place kept, less one where that place is even; a NaN stays one.
 */
VECTORISED static void bf16_narrow(int64_t n, const uint32_t *from, uint16_t *to) {
  EACH(i, n) {
    uint32_t x = from[i];
    uint32_t rounded = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
    uint32_t quiet_nan = (x >> 16) | 0x40;
    to[i] = (uint16_t)((x & 0x7fffffff) > 0x7f800000 ? quiet_nan : rounded);
  }
}

#if defined __clang__ && __clang_major__ < 15 /* which has no _Float16 on x86-64 */
static void f16_widen(int64_t n, const uint16_t *from, float *to) {
  EACH(i, n) to[i] = fp_to_float(DTYPE_F16, from[i]);
}

static void f16_narrow(int64_t n, const float *from, uint16_t *to) {
  EACH(i, n) to[i] = (uint16_t)fp_from_float(DTYPE_F16, from[i]);
}
#else
VECTORISED static void f16_widen(int64_t n, const _Float16 *from, float *to) {
  EACH(i, n) to[i] = (float)from[i];
}

VECTORISED static void f16_narrow(int64_t n, const float *from, _Float16 *to) {
  EACH(i, n) to[i] = (_Float16)from[i];
}
#endif

/* By a table where there are more values than there can be different ones. */
static void byte_float_widen(DType dtype, int64_t n, const uint8_t *from, float *to) {
  float values[256];
  if (n < 256) {
    for (int64_t i = 0; i < n; i++) to[i] = fp_to_float(dtype, from[i]);
    return;
  }
  for (uint32_t bits = 0; bits < 256; bits++)
    values[bits] = fp_to_float(dtype, bits & (uint32_t)((1ULL << dtype_bits(dtype)) - 1));
  for (int64_t i = 0; i < n; i++) to[i] = values[from[i]];
}

static void byte_float_narrow(DType dtype, int64_t n, const float *from, uint8_t *to) {
  for (int64_t i = 0; i < n; i++) to[i] = (uint8_t)fp_from_float(dtype, from[i]);
}

VECTORISED static void signed_wrap(uint32_t bits, int64_t n, const int8_t *from, int8_t *to) {
  uint32_t unused = 32 - bits;
  EACH(i, n) to[i] = (int8_t)((int32_t)((uint32_t)from[i] << unused) >> unused);
}

VECTORISED static void unsigned_wrap(uint32_t bits, int64_t n, const uint8_t *from, uint8_t *to) {
  uint32_t mask = (1U << bits) - 1;
  EACH(i, n) to[i] = (uint8_t)(from[i] & mask);
}

void values_widen(DType dtype, int64_t n, const void *from, void *to) {
  if (dtype == DTYPE_BF16) {
    bf16_widen(n, from, to);
  } else if (dtype == DTYPE_F16) {
    f16_widen(n, from, to);
  } else if (compute_dtype(dtype) == DTYPE_F32 && dtype != DTYPE_F32) {
    byte_float_widen(dtype, n, from, to);
  } else if (from != to) {
    memcpy(to, from, (size_t)n * dtype_bytes(dtype));
  }
}

void values_narrow(DType dtype, int64_t n, const void *from, void *to) {
  uint32_t bits = dtype_bits(dtype);
  if (dtype == DTYPE_BF16) {
    bf16_narrow(n, from, to);
  } else if (dtype == DTYPE_F16) {
    f16_narrow(n, from, to);
  } else if (compute_dtype(dtype) == DTYPE_F32 && dtype != DTYPE_F32) {
    byte_float_narrow(dtype, n, from, to);
  } else if (bits < 8 && dtype_class(dtype) == DCLASS_SIGNED) {
    signed_wrap(bits, n, from, to);
  } else if (bits < 8 && dtype_class(dtype) == DCLASS_UNSIGNED) {
    unsigned_wrap(bits, n, from, to);
  } else if (from != to) {
    memcpy(to, from, (size_t)n * dtype_bytes(dtype));
  }
}

/* Floats to an integer of less than 8 bits saturate at its own limits. */
static void saturate_narrow(DType dtype, int64_t n, int8_t *values) {
  int32_t bits = (int32_t)dtype_bits(dtype);
  bool is_signed = dtype_class(dtype) == DCLASS_SIGNED;
  int32_t lowest = is_signed ? -(1 << (bits - 1)) : 0, highest = (1 << (is_signed ? bits - 1 : bits)) - 1;
  for (int64_t i = 0; i < n; i++) {
    int32_t value = is_signed ? values[i] : (uint8_t)values[i];
    values[i] = (int8_t)(value < lowest ? lowest : value > highest ? highest : value);
  }
}

/* From compute type to compute type. A complex value reaches an integer by its real part. */
static void convert_wide(DType from_dtype, DType to_dtype, int64_t n, const void *from, void *to) {
  ConvertKernel kernel = convert_kernels[from_dtype][to_dtype];
  if (kernel != NULL) {
    kernel(n, from, to);
    return;
  }
  double real[KERNEL_BLOCK];
  uint32_t from_bytes = dtype_bytes(from_dtype), to_bytes = dtype_bytes(to_dtype);
  for (int64_t i = 0; i < n; i += KERNEL_BLOCK) {
    int64_t some = n - i < KERNEL_BLOCK ? n - i : KERNEL_BLOCK;
    convert_kernels[from_dtype][DTYPE_F64](some, (const char *)from + i * from_bytes, real);
    convert_kernels[DTYPE_F64][to_dtype](some, real, (char *)to + i * to_bytes);
  }
}

/* f64 to a small float is rounded once, but to bf16 by way of f32, as XLA does. */
static bool rounds_from_double(DType from_dtype, DType to_dtype) {
  return from_dtype == DTYPE_F64 && dtype_class(to_dtype) == DCLASS_FLOAT && dtype_bits(to_dtype) <= 16 &&
         to_dtype != DTYPE_BF16;
}

static void narrow_doubles(DType dtype, int64_t n, const double *from, void *to) {
  for (int64_t i = 0; i < n; i++) {
    uint32_t bits = fp_from_double(dtype, from[i]);
    if (dtype_bytes(dtype) == 1) {
      ((uint8_t *)to)[i] = (uint8_t)bits;
    } else {
      ((uint16_t *)to)[i] = (uint16_t)bits;
    }
  }
}

/* At most KERNEL_BLOCK values, of which at least one type is not its own compute type. */
static void convert_block(DType from_dtype, DType to_dtype, int64_t n, const void *from, void *to) {
  DType from_wide = compute_dtype(from_dtype), to_wide = compute_dtype(to_dtype);
  KernelBlock source, target;
  const void *wide_from = from;
  if (from_wide != from_dtype) {
    values_widen(from_dtype, n, from, &source);
    wide_from = &source;
  }
  void *wide_to = to_wide == to_dtype ? to : &target;
  convert_wide(from_wide, to_wide, n, wide_from, wide_to);
  if (to_wide == to_dtype) return;
  bool from_integer = dtype_is_integer(from_dtype) || from_dtype == DTYPE_PRED;
  if (dtype_is_integer(to_dtype) && !from_integer) saturate_narrow(to_dtype, n, wide_to);
  values_narrow(to_dtype, n, wide_to, to);
}

void convert_run(DType from_dtype, DType to_dtype, int64_t n, const void *from, void *to) {
  if (from_dtype == to_dtype) {
    if (from != to) memcpy(to, from, (size_t)n * dtype_bytes(to_dtype));
  } else if (rounds_from_double(from_dtype, to_dtype)) {
    narrow_doubles(to_dtype, n, from, to);
  } else if (from_dtype == DTYPE_F32 && compute_dtype(to_dtype) == DTYPE_F32) {
    values_narrow(to_dtype, n, from, to);
  } else if (to_dtype == DTYPE_F32 && compute_dtype(from_dtype) == DTYPE_F32) {
    values_widen(from_dtype, n, from, to);
  } else if (compute_dtype(from_dtype) == from_dtype && compute_dtype(to_dtype) == to_dtype) {
    convert_wide(from_dtype, to_dtype, n, from, to);
  } else {
    uint32_t from_bytes = dtype_bytes(from_dtype), to_bytes = dtype_bytes(to_dtype);
    for (int64_t i = 0; i < n; i += KERNEL_BLOCK) {
      int64_t some = n - i < KERNEL_BLOCK ? n - i : KERNEL_BLOCK;
      convert_block(from_dtype, to_dtype, some, (const char *)from + i * from_bytes,
                    (char *)to + i * to_bytes);
    }
  }
}

/* What the typed inner loops share: the element types that loops are written for, and how the others come to
 * them. In: dense arrays of n elements. Out: dense arrays. Loops are made from tables by macros, one for each
 * op and type, so that no switch stands inside a loop; the compiler vectorises them for several processors
 * and picks at start-up. */
#pragma once

#include "sim/ir/module.h"

#include <complex.h>

#if defined(__x86_64__) && !defined(PODSIM_ASAN)
#define VECTORISED __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define VECTORISED
#endif

/* The loop of a kernel: an output may be the very memory of an input, element for element. */
#define EACH(i, n) _Pragma("GCC ivdep") for (int64_t i = 0; i < (n); i++)

/* K(dtype, T its C type, S the signed and U the unsigned type of the same width, A an unsigned type that
 * arithmetic wraps in, W a type that holds a product, ...). */
#define SIGNED_TYPES(K, ...)                                                                                 \
  K(S8, int8_t, int8_t, uint8_t, uint32_t, int64_t, __VA_ARGS__)                                             \
  K(S16, int16_t, int16_t, uint16_t, uint32_t, int64_t, __VA_ARGS__)                                         \
  K(S32, int32_t, int32_t, uint32_t, uint32_t, int64_t, __VA_ARGS__)                                         \
  K(S64, int64_t, int64_t, uint64_t, uint64_t, __int128, __VA_ARGS__)
#define UNSIGNED_TYPES(K, ...)                                                                               \
  K(U8, uint8_t, int8_t, uint8_t, uint32_t, uint64_t, __VA_ARGS__)                                           \
  K(U16, uint16_t, int16_t, uint16_t, uint32_t, uint64_t, __VA_ARGS__)                                       \
  K(U32, uint32_t, int32_t, uint32_t, uint32_t, uint64_t, __VA_ARGS__)                                       \
  K(U64, uint64_t, int64_t, uint64_t, uint64_t, unsigned __int128, __VA_ARGS__)
#define INTEGER_TYPES(K, ...) SIGNED_TYPES(K, __VA_ARGS__) UNSIGNED_TYPES(K, __VA_ARGS__)
#define PRED_TYPES(K, ...)    K(PRED, uint8_t, int8_t, uint8_t, uint32_t, uint32_t, __VA_ARGS__)
#define FLOAT_TYPES(K, ...)                                                                                  \
  K(F32, float, int32_t, uint32_t, uint32_t, double, __VA_ARGS__)                                            \
  K(F64, double, int64_t, uint64_t, uint64_t, double, __VA_ARGS__)
#define COMPLEX_TYPES(K, ...)                                                                                \
  K(C64, complex float, float, float, float, float, __VA_ARGS__)                                             \
  K(C128, complex double, double, double, double, double, __VA_ARGS__)

/* The types of a row above under their names, inside a kernel. For complex types S is the real type. */
#define KERNEL_TYPES(t, s, u, a, w)                                                                          \
  typedef t T __attribute__((unused));                                                                       \
  typedef s S __attribute__((unused));                                                                       \
  typedef u U __attribute__((unused));                                                                       \
  typedef a A __attribute__((unused));                                                                       \
  typedef w W __attribute__((unused));                                                                       \
  enum { BITS __attribute__((unused)) = 8 * sizeof(T) };

/* A block of values that are widened on the way, of a compute type that is not the type itself. */
enum { KERNEL_BLOCK = 512 };
typedef union {
  _Alignas(64) float f32[KERNEL_BLOCK];
  int8_t s8[KERNEL_BLOCK];
  uint8_t u8[KERNEL_BLOCK];
} KernelBlock;

/* The type that values of `dtype` are computed in: f32 for smaller floats, s8 and u8 for smaller integers,
 * else the type itself. */
DType compute_dtype(DType dtype);
/* Between a type and its compute_dtype(): exact one way, rounded (floats) or wrapped (integers) the other. */
void values_widen(DType dtype, int64_t n, const void *from, void *to);
void values_narrow(DType dtype, int64_t n, const void *from, void *to);

/* out[i] = op(x[i]), of any element type; false where the op is not defined on the type. The result of
 * is-finite is pred, that of abs, real and imag of a complex type is real. */
bool unary_run(Opcode op, DType dtype, int64_t n, const void *x, void *out);
/* out[i] = op(x[i], y[i]). */
bool binary_run(Opcode op, DType dtype, int64_t n, const void *x, const void *y, void *out);
bool unary_exists(Opcode op, DType dtype);
bool binary_exists(Opcode op, DType dtype);
/* Values of one type as another, by XLA's rules of convert. */
void convert_run(DType from_dtype, DType to_dtype, int64_t n, const void *from, void *to);

typedef enum { COMPARE_EQ, COMPARE_NE, COMPARE_GE, COMPARE_GT, COMPARE_LE, COMPARE_LT } CompareDirection;
bool compare_direction_parse(Str text, CompareDirection *direction);
/* out[i] (pred) = x[i] direction y[i]; `total` orders floats as -NaN < -inf < … < -0 < +0 < … < NaN. False
 * where the types have no such order. */
bool compare_run(CompareDirection direction, DType dtype, bool total, int64_t n, const void *x, const void *y,
                 uint8_t *out);
/* out[i] = pred[i] ? x[i] : y[i], for elements of any type of that many bytes. */
void select_run(uint32_t element_bytes, int64_t n, const uint8_t *pred, const void *x, const void *y,
                void *out);

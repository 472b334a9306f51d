/* Comparisons and choices. */
#include "sim/eval/kernel.h"

#include <string.h>

typedef void (*CompareKernel)(int64_t n, const void *x, const void *y, uint8_t *out);

#define COMPARE_KERNEL(dtype, t, s, u, a, w, name, operator)                                                 \
  VECTORISED static void compare_##name##_##dtype(int64_t n, const void *x, const void *y, uint8_t *out) {   \
    const t *xs = x, *ys = y;                                                                                \
    EACH(i, n) out[i] = xs[i] operator ys[i];                                                                \
  }
#define COMPARE_ROW(dtype, t, s, u, a, w, name) [COMPARE_##name][DTYPE_##dtype] = compare_##name##_##dtype,

#define ORDERED_TYPES(K, ...)                                                                                \
  PRED_TYPES(K, __VA_ARGS__) INTEGER_TYPES(K, __VA_ARGS__) FLOAT_TYPES(K, __VA_ARGS__)

ORDERED_TYPES(COMPARE_KERNEL, EQ, ==)
ORDERED_TYPES(COMPARE_KERNEL, NE, !=)
ORDERED_TYPES(COMPARE_KERNEL, GE, >=)
ORDERED_TYPES(COMPARE_KERNEL, GT, >)
ORDERED_TYPES(COMPARE_KERNEL, LE, <=)
ORDERED_TYPES(COMPARE_KERNEL, LT, <)
COMPLEX_TYPES(COMPARE_KERNEL, EQ, ==)
COMPLEX_TYPES(COMPARE_KERNEL, NE, !=)

static const CompareKernel compare_kernels[][DTYPE_COUNT] = {
    ORDERED_TYPES(COMPARE_ROW, EQ) ORDERED_TYPES(COMPARE_ROW, NE) ORDERED_TYPES(COMPARE_ROW, GE)
        ORDERED_TYPES(COMPARE_ROW, GT) ORDERED_TYPES(COMPARE_ROW, LE) ORDERED_TYPES(COMPARE_ROW, LT)
            COMPLEX_TYPES(COMPARE_ROW, EQ) COMPLEX_TYPES(COMPARE_ROW, NE)};

static const char *const direction_texts[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};

bool compare_direction_parse(Str text, CompareDirection *direction) {
  for (uint32_t i = 0; i < sizeof direction_texts / sizeof *direction_texts; i++) {
    if (!str_is(text, direction_texts[i])) continue;
    *direction = (CompareDirection)i;
    return true;
  }
  return false;
}

/* The bits of floats as integers in the total order: those of negative values are turned round. */
VECTORISED static void order_f32(int64_t n, const int32_t *from, int32_t *to) {
  EACH(i, n) to[i] = from[i] ^ ((from[i] >> 31) & INT32_MAX);
}

VECTORISED static void order_f64(int64_t n, const int64_t *from, int64_t *to) {
  EACH(i, n) to[i] = from[i] ^ ((from[i] >> 63) & INT64_MAX);
}

typedef union {
  _Alignas(64) int32_t s32[KERNEL_BLOCK];
  int64_t s64[KERNEL_BLOCK];
  float f32[KERNEL_BLOCK];
} OrderBlock;

/* At most KERNEL_BLOCK values as integers in their total order. */
static void order_block(DType dtype, int64_t n, const void *from, OrderBlock *to) {
  if (dtype == DTYPE_F64) {
    order_f64(n, from, to->s64);
  } else if (dtype == DTYPE_F32) {
    order_f32(n, from, to->s32);
  } else {
    values_widen(dtype, n, from, to->f32);
    order_f32(n, to->s32, to->s32);
  }
}

static void compare_total(CompareDirection direction, DType dtype, int64_t n, const char *x, const char *y,
                          uint8_t *out) {
  DType order = dtype == DTYPE_F64 ? DTYPE_S64 : DTYPE_S32;
  uint32_t bytes = dtype_bytes(dtype);
  OrderBlock xs, ys;
  for (int64_t i = 0; i < n; i += KERNEL_BLOCK) {
    int64_t some = n - i < KERNEL_BLOCK ? n - i : KERNEL_BLOCK;
    order_block(dtype, some, x + i * bytes, &xs);
    order_block(dtype, some, y + i * bytes, &ys);
    compare_kernels[direction][order](some, &xs, &ys, out + i);
  }
}

bool compare_run(CompareDirection direction, DType dtype, bool total, int64_t n, const void *x, const void *y,
                 uint8_t *out) {
  DType computed = compute_dtype(dtype);
  CompareKernel kernel = compare_kernels[direction][computed];
  if (kernel == NULL) return false;
  if (total && dtype_class(dtype) == DCLASS_FLOAT) {
    compare_total(direction, dtype, n, x, y, out);
  } else if (computed == dtype) {
    kernel(n, x, y, out);
  } else {
    uint32_t bytes = dtype_bytes(dtype);
    KernelBlock xs, ys;
    for (int64_t i = 0; i < n; i += KERNEL_BLOCK) {
      int64_t some = n - i < KERNEL_BLOCK ? n - i : KERNEL_BLOCK;
      values_widen(dtype, some, (const char *)x + i * bytes, &xs);
      values_widen(dtype, some, (const char *)y + i * bytes, &ys);
      kernel(some, &xs, &ys, out + i);
    }
  }
  return true;
}

#define SELECT_KERNEL(t)                                                                                     \
  VECTORISED static void select_##t(int64_t n, const uint8_t *pred, const void *x, const void *y,            \
                                    void *out) {                                                             \
    const t *xs = x, *ys = y;                                                                                \
    t *outs = out;                                                                                           \
    EACH(i, n) outs[i] = pred[i] ? xs[i] : ys[i];                                                            \
  }
SELECT_KERNEL(uint8_t)
SELECT_KERNEL(uint16_t)
SELECT_KERNEL(uint32_t)
SELECT_KERNEL(uint64_t)

void select_run(uint32_t element_bytes, int64_t n, const uint8_t *pred, const void *x, const void *y,
                void *out) {
  switch (element_bytes) {
  case 1: select_uint8_t(n, pred, x, y, out); break;
  case 2: select_uint16_t(n, pred, x, y, out); break;
  case 4: select_uint32_t(n, pred, x, y, out); break;
  case 8: select_uint64_t(n, pred, x, y, out); break;
  default:
    for (int64_t i = 0; i < n; i++)
      memmove((char *)out + i * element_bytes, (const char *)(pred[i] ? x : y) + i * element_bytes,
              element_bytes);
  }
}

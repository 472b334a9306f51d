/* Small floats against ml_dtypes and numpy: every value of every format, and a sweep of half a million
 * floats. The hashes come from tests/oracle/fp_hashes.py. */
#include "sim/ir/fp.h"

#include <criterion/criterion.h>
#include <math.h>

typedef struct {
  DType dtype;
  uint32_t count;
  uint64_t to_float, from_float;
} Row;

static const Row rows[] = {
    {DTYPE_F4E2M1FN, 16, 0x00737516397f6465, 0xb1b17c148629a60b},
    {DTYPE_F6E2M3FN, 64, 0x437daba9a23d0825, 0x8dfb99c23eafe0b3},
    {DTYPE_F6E3M2FN, 64, 0x4c67d1405afd0825, 0x8b270b120f301a63},
    {DTYPE_F8E3M4, 256, 0xbc74072710fbb725, 0x0b21372c08cfb12d},
    {DTYPE_F8E4M3, 256, 0xb0ba52aad84bb725, 0xbb721b025de2930d},
    {DTYPE_F8E4M3FN, 256, 0x08993af4628bb725, 0xe251916630319b13},
    {DTYPE_F8E4M3FNUZ, 256, 0x4065565af2abb725, 0xa94b272992e998ed},
    {DTYPE_F8E4M3B11FNUZ, 256, 0x8b5af59376abb725, 0xc37dd3a859f698ed},
    {DTYPE_F8E5M2, 256, 0x00cee2838e6bb725, 0xb9eb323eb0b40325},
    {DTYPE_F8E5M2FNUZ, 256, 0x39969815ceabb725, 0xd57a84224727796d},
    {DTYPE_F8E8M0FNU, 256, 0x56f9e0582b6bb725, 0x5ce8d923ad33d4d1},
    {DTYPE_BF16, 65536, 0xae864f38855e2325, 0x5f9c68cf535cba6d},
    {DTYPE_F16, 65536, 0xa29fcd307f1d2325, 0x2dbc53e577c3fced},
};

enum { N_ROWS = sizeof rows / sizeof *rows };
static const uint32_t low_bits[] = {0, 1, 0x1000, 0x7fff, 0x8000, 0x8001, 0xffff};
enum { N_LOW_BITS = sizeof low_bits / sizeof *low_bits };
#define FNV_START UINT64_C(0xcbf29ce484222325)

static uint64_t fnv(uint64_t state, uint64_t value) {
  return (state ^ value) * UINT64_C(0x100000001b3);
}

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return isnan(value) ? 0x7fc00000 : bits;
}

Test(fp, every_value_to_float) {
  for (uint32_t r = 0; r < N_ROWS; r++) {
    uint64_t state = FNV_START;
    for (uint32_t bits = 0; bits < rows[r].count; bits++)
      state = fnv(state, bits_of(fp_to_float(rows[r].dtype, bits)));
    cr_assert_eq(state, rows[r].to_float, "%s", dtype_text(rows[r].dtype));
  }
}

Test(fp, sweep_from_float) {
  for (uint32_t r = 0; r < N_ROWS; r++) {
    uint64_t state = FNV_START;
    for (uint32_t i = 0; i < N_LOW_BITS << 16; i++) {
      float value = float_of(i << 16 | low_bits[i >> 16]);
      bool subnormal = value != 0 && fabsf(value) < 0x1p-126f;
      if (isnan(value) || (subnormal && rows[r].dtype == DTYPE_F8E8M0FNU)) continue;
      state = fnv(state, fp_from_float(rows[r].dtype, value));
    }
    cr_assert_eq(state, rows[r].from_float, "%s", dtype_text(rows[r].dtype));
  }
}

/* Between two neighbours the middle goes to the even one, and what is a hair off it to the nearer. */
Test(fp, doubles_round_to_the_nearest) {
  for (uint32_t r = 0; r < N_ROWS; r++) {
    DType dtype = rows[r].dtype;
    for (uint32_t bits = 0; bits + 1 < rows[r].count && dtype != DTYPE_F8E8M0FNU; bits++) {
      double low = (double)fp_to_float(dtype, bits), high = (double)fp_to_float(dtype, bits + 1);
      if (high > fp_largest(dtype) || !(low < high)) break;
      double middle = (low + high) / 2;
      cr_assert_eq(fp_from_double(dtype, middle), bits + (bits & 1), "%s", dtype_text(dtype));
      cr_assert_eq(fp_from_double(dtype, nextafter(middle, 0)), bits, "%s", dtype_text(dtype));
      cr_assert_eq(fp_from_double(dtype, nextafter(middle, high)), bits + 1, "%s", dtype_text(dtype));
    }
  }
}

Test(fp, a_double_is_rounded_once) {
  /* Just above the middle of 1 and 1 + 2^-7: by way of a float it would be a tie and go to even. */
  cr_assert_eq(fp_from_double(DTYPE_BF16, 1 + 0x1p-8 + 0x1p-40), 0x3f81);
  cr_assert_eq(fp_from_double(DTYPE_BF16, 1 + 0x1p-8), 0x3f80);
}

Test(fp, every_value_reads_back) {
  for (uint32_t r = 0; r < N_ROWS; r++) {
    for (uint32_t bits = 0; bits < rows[r].count; bits++) {
      float value = fp_to_float(rows[r].dtype, bits);
      if (!isnan(value)) cr_assert_eq(fp_from_float(rows[r].dtype, value), bits);
    }
  }
}

Test(fp, nan_infinity_and_overflow) {
  static const struct {
    DType dtype;
    uint32_t nan, minus_nan, infinity, minus_infinity, huge, minus_zero;
  } specials[] = {
      {DTYPE_F4E2M1FN, 0x8, 0x0, 0x7, 0xf, 0x7, 0x8},
      {DTYPE_F6E2M3FN, 0x20, 0x0, 0x1f, 0x3f, 0x1f, 0x20},
      {DTYPE_F6E3M2FN, 0x20, 0x0, 0x1f, 0x3f, 0x1f, 0x20},
      {DTYPE_F8E3M4, 0x78, 0xf8, 0x70, 0xf0, 0x70, 0x80},
      {DTYPE_F8E4M3, 0x7c, 0xfc, 0x78, 0xf8, 0x78, 0x80},
      {DTYPE_F8E4M3FN, 0x7f, 0xff, 0x7f, 0xff, 0x7f, 0x80},
      {DTYPE_F8E4M3FNUZ, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
      {DTYPE_F8E4M3B11FNUZ, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
      {DTYPE_F8E5M2, 0x7e, 0xfe, 0x7c, 0xfc, 0x7c, 0x80},
      {DTYPE_F8E5M2FNUZ, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
      {DTYPE_F8E8M0FNU, 0xff, 0xff, 0xff, 0xff, 0xe3, 0xff},
      {DTYPE_F16, 0x7e00, 0xfe00, 0x7c00, 0xfc00, 0x7c00, 0x8000},
      {DTYPE_BF16, 0x7fc0, 0xffc0, 0x7f80, 0xff80, 0x714a, 0x8000},
  };
  for (uint32_t i = 0; i < sizeof specials / sizeof *specials; i++) {
    DType dtype = specials[i].dtype;
    cr_expect_eq(fp_from_float(dtype, NAN), specials[i].nan, "%s", dtype_text(dtype));
    cr_expect_eq(fp_from_float(dtype, -NAN), specials[i].minus_nan, "%s", dtype_text(dtype));
    cr_expect_eq(fp_from_float(dtype, INFINITY), specials[i].infinity, "%s", dtype_text(dtype));
    cr_expect_eq(fp_from_float(dtype, -INFINITY), specials[i].minus_infinity, "%s", dtype_text(dtype));
    cr_expect_eq(fp_from_float(dtype, 1e30f), specials[i].huge, "%s", dtype_text(dtype));
    cr_expect_eq(fp_from_float(dtype, -0.0f), specials[i].minus_zero, "%s", dtype_text(dtype));
    cr_expect_eq(fp_has_infinity(dtype), isinf(fp_to_float(dtype, specials[i].infinity)) != 0);
  }
}

Test(fp, largest) {
  cr_assert_eq(fp_largest(DTYPE_F8E4M3FN), 448);
  cr_assert_eq(fp_largest(DTYPE_F8E5M2), 57344);
  cr_assert_eq(fp_largest(DTYPE_F16), 65504);
  cr_assert_eq(fp_largest(DTYPE_F32), 0x1.fffffep127);
}

/* Literals: made from numbers, read as integers, and printed so that XLA's parser gets the same bits back.
 * Floats are printed with the fewest digits that read back as the same value. */
#include "sim/ir/literal.h"

#include "sim/ir/fp.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The value as an integer of `bits` bits, clamped to what the type holds; NaN is 0. */
static uint64_t integer_bits(DType dtype, double value) {
  int bits = (int)dtype_bits(dtype);
  if (isnan(value)) return 0;
  bool is_signed = dtype_class(dtype) == DCLASS_SIGNED;
  double low = is_signed ? -ldexp(1, bits - 1) : 0, beyond = ldexp(1, is_signed ? bits - 1 : bits);
  if (value < low) value = low;
  if (value >= beyond) {
    uint64_t all = UINT64_MAX >> (64 - bits);
    return is_signed ? all >> 1 : all;
  }
  return value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value;
}

static void store_number(void *to, DType dtype, double value) {
  uint64_t bits = 0;
  float single = (float)value;
  switch (dtype_class(dtype)) {
  case DCLASS_PRED: bits = value != 0; break;
  case DCLASS_SIGNED:
  case DCLASS_UNSIGNED: bits = integer_bits(dtype, value); break;
  default:
    if (dtype == DTYPE_F64 || dtype == DTYPE_C128)
      memcpy(&bits, &value, sizeof value);
    else if (dtype == DTYPE_F32 || dtype == DTYPE_C64)
      memcpy(&bits, &single, sizeof single);
    else
      bits = fp_from_double(dtype, value);
  }
  uint32_t bytes = dtype_class(dtype) == DCLASS_COMPLEX ? dtype_bytes(dtype) / 2 : dtype_bytes(dtype);
  memcpy(to, &bits, bytes);
}

static const Literal *literal_of(Arena *arena, const Shape *shape, const void *data) {
  Literal *literal = ARENA_NEW(arena, Literal);
  *literal = (Literal){.shape = shape, .data = data};
  return literal;
}

const Literal *literal_scalar(Arena *arena, DType dtype, double value) {
  void *data = arena_alloc(arena, dtype_bytes(dtype));
  store_number(data, dtype, value);
  return literal_of(arena, shape_scalar(arena, dtype), data);
}

const Literal *literal_ints(Arena *arena, DType dtype, const int64_t *values, uint32_t n) {
  size_t bytes = dtype_bytes(dtype);
  unsigned char *data = arena_alloc_array(arena, n, bytes);
  for (uint32_t i = 0; i < n; i++) memcpy(data + i * bytes, &values[i], bytes);
  return literal_of(arena, shape_array(arena, dtype, (const int64_t[]){n}, 1), data);
}

const Literal *literal_copy(Arena *arena, const Literal *literal) {
  Literal *copy = arena_copy(arena, literal, sizeof *literal);
  copy->shape = shape_copy(arena, literal->shape);
  if (literal->data != NULL)
    copy->data = arena_copy(arena, literal->data,
                            (size_t)shape_elements(literal->shape) * dtype_bytes(literal->shape->dtype));
  if (literal->parts == NULL) return copy;
  const Literal **parts = ARENA_ARRAY(arena, const Literal *, literal->shape->rank);
  for (uint32_t i = 0; i < literal->shape->rank; i++) parts[i] = literal_copy(arena, literal->parts[i]);
  copy->parts = parts;
  return copy;
}

/* The element's own bits, low bits first. */
static uint64_t bits_at(const void *data, DType dtype, int64_t at) {
  uint64_t bits = 0;
  size_t bytes = dtype_bytes(dtype);
  memcpy(&bits, (const char *)data + (size_t)at * bytes, bytes);
  return bits;
}

int64_t literal_int_at(const Literal *literal, int64_t at) {
  DType dtype = literal->shape->dtype;
  uint32_t unused = 64 - dtype_bits(dtype);
  uint64_t bits = bits_at(literal->data, dtype, at) << unused;
  return dtype_class(dtype) == DCLASS_SIGNED ? (int64_t)bits >> unused : (int64_t)(bits >> unused);
}

/* The payload where it is not the one that `nan` alone stands for (the quiet bit). */
static void print_nan(StrBuf *buf, uint64_t bits, int mantissa_bits, bool negative) {
  uint64_t payload = bits & ((UINT64_C(1) << mantissa_bits) - 1), quiet = UINT64_C(1) << (mantissa_bits - 1);
  buf_add(buf, negative ? STR("-nan") : STR("nan"));
  if (payload != quiet) buf_printf(buf, "(0x%lx)", (unsigned long)payload);
}

static void print_double(StrBuf *buf, uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  if (isnan(value)) {
    print_nan(buf, bits, 52, signbit(value));
    return;
  }
  char text[40] = "";
  for (int digits = 15; digits <= 17; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  buf_add(buf, str_of(text));
}

static void print_float(StrBuf *buf, uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float value;
  memcpy(&value, &low, sizeof value);
  if (isnan(value)) {
    print_nan(buf, bits, 23, signbit(value));
    return;
  }
  char text[40] = "";
  for (int digits = 6; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    if (strtof(text, NULL) == value) break;
  }
  buf_add(buf, str_of(text));
}

static void print_small_nan(StrBuf *buf, DType dtype, uint64_t bits) {
  bool has_payload = fp_has_infinity(dtype), negative = bits >> (dtype_bits(dtype) - 1) != 0;
  if (has_payload)
    print_nan(buf, bits, fp_mantissa_bits(dtype), negative);
  else /* one NaN, or one of each sign */
    buf_add(buf, bits == fp_from_float(dtype, NAN) ? STR("nan") : STR("-nan"));
}

/* The fewest digits that, read as double or as float, round to the same bits and are not beyond the largest
 * finite value. */
static void print_small_float(StrBuf *buf, DType dtype, uint64_t bits) {
  float value = fp_to_float(dtype, (uint32_t)bits);
  if (isnan(value)) {
    print_small_nan(buf, dtype, bits);
    return;
  }
  char text[40] = "";
  for (int digits = 1; digits <= 9; digits++) {
    snprintf(text, sizeof text, "%.*g", digits, (double)value);
    double back = strtod(text, NULL);
    if (isinf(value) || (fabs(back) <= fp_largest(dtype) && fp_from_double(dtype, back) == bits &&
                         fp_from_float(dtype, (float)back) == bits))
      break;
  }
  buf_add(buf, str_of(text));
}

/* Powers of two whole: XLA's own conversion takes what is a hair above the smallest to the next. */
static void print_power_of_two(StrBuf *buf, uint64_t bits) {
  double value = (double)fp_to_float(DTYPE_F8E8M0FNU, (uint32_t)bits);
  memcpy(&bits, &value, sizeof bits);
  print_double(buf, bits);
}

static void print_real(StrBuf *buf, DType dtype, uint64_t bits) {
  if (dtype == DTYPE_F64)
    print_double(buf, bits);
  else if (dtype == DTYPE_F8E8M0FNU)
    print_power_of_two(buf, bits);
  else if (dtype == DTYPE_F32)
    print_float(buf, bits);
  else
    print_small_float(buf, dtype, bits);
}

static void print_complex(StrBuf *buf, const Literal *literal, int64_t at) {
  DType part = literal->shape->dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
  buf_char(buf, '(');
  print_real(buf, part, bits_at(literal->data, part, 2 * at));
  buf_add(buf, STR(", "));
  print_real(buf, part, bits_at(literal->data, part, 2 * at + 1));
  buf_char(buf, ')');
}

static void print_element(StrBuf *buf, const Literal *literal, int64_t at) {
  DType dtype = literal->shape->dtype;
  int64_t value;
  switch (dtype_class(dtype)) {
  case DCLASS_PRED:
    value = literal_int_at(literal, at);
    /* As XLA does: words for a scalar, digits in an array. */
    buf_add(buf, literal->shape->rank == 0 ? (value ? STR("true") : STR("false"))
                 : value                   ? STR("1")
                                           : STR("0"));
    break;
  case DCLASS_SIGNED: buf_printf(buf, "%ld", (long)literal_int_at(literal, at)); break;
  case DCLASS_UNSIGNED: buf_printf(buf, "%lu", (unsigned long)literal_int_at(literal, at)); break;
  case DCLASS_FLOAT: print_real(buf, dtype, bits_at(literal->data, dtype, at)); break;
  case DCLASS_COMPLEX: print_complex(buf, literal, at); break;
  case DCLASS_OTHER: break;
  }
}

/* Elements from `at` on that dimensions `d` and inner span. */
static int64_t print_dims(StrBuf *buf, const Literal *literal, uint32_t d, int64_t at) {
  const Shape *shape = literal->shape;
  if (d == shape->rank) {
    print_element(buf, literal, at);
    return at + 1;
  }
  bool outer = d + 1 < shape->rank;
  buf_add(buf, outer ? STR("{ ") : STR("{"));
  for (int64_t i = 0; i < shape->dims[d]; i++) {
    if (i != 0) buf_add(buf, STR(", "));
    at = print_dims(buf, literal, d + 1, at);
  }
  buf_add(buf, outer ? STR(" }") : STR("}"));
  return at;
}

static void print_tuple(StrBuf *buf, const Literal *literal) {
  buf_add(buf, STR("( "));
  for (uint32_t i = 0; i < literal->shape->rank; i++) {
    if (i != 0) buf_add(buf, STR(", "));
    literal_print(buf, literal->parts[i]);
  }
  buf_add(buf, STR(" )"));
}

void literal_print(StrBuf *buf, const Literal *literal) {
  if (literal->elided)
    buf_add(buf, STR("{...}"));
  else if (shape_is_tuple(literal->shape))
    print_tuple(buf, literal);
  else
    print_dims(buf, literal, 0, 0);
}

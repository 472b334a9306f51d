/* Shapes and literals: built, counted, compared and printed. */
#include "sim/ir/fp.h"
#include "sim/ir/literal.h"
#include "sim/ir/shape.h"

#include <criterion/criterion.h>
#include <math.h>

static Arena *arena;

static void setup(void) {
  arena = arena_new();
}

static void teardown(void) {
  arena_free(arena);
}

TestSuite(shape, .init = setup, .fini = teardown);
TestSuite(literal, .init = setup, .fini = teardown);

#define DIMS(...) (const int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)

Test(shape, element_types) {
  DType dtype;
  cr_assert(dtype_parse(STR("bf16"), &dtype) && dtype == DTYPE_BF16);
  cr_assert_not(dtype_parse(STR("bf1"), &dtype));
  cr_assert_str_eq(dtype_text(DTYPE_F8E4M3FN), "f8e4m3fn");
  cr_assert_eq(dtype_bits(DTYPE_S4), 4);
  cr_assert_eq(dtype_bytes(DTYPE_S4), 1);
  cr_assert_eq(dtype_bytes(DTYPE_C128), 16);
  cr_assert_eq(dtype_bytes(DTYPE_TOKEN), 0);
  cr_assert(dtype_is_integer(DTYPE_U64));
  cr_assert_not(dtype_is_integer(DTYPE_PRED));
}

Test(shape, bytes_and_elements) {
  const Shape *s4 = shape_array(arena, DTYPE_S4, DIMS(3, 5)),
              *f32 = shape_array(arena, DTYPE_F32, DIMS(2, 3));
  cr_assert_eq(shape_elements(s4), 15);
  cr_assert_eq(shape_bytes(s4), 8);
  cr_assert_eq(shape_bytes(f32), 24);
  cr_assert_eq(shape_bytes(shape_scalar(arena, DTYPE_C64)), 8);
  const Shape *parts[] = {s4, f32, shape_token(arena)};
  cr_assert_eq(shape_bytes(shape_tuple(arena, parts, 3)), 32);
  cr_assert_eq(shape_elements(shape_array(arena, DTYPE_F32, DIMS(4, 0))), 0);
}

Test(shape, equality_leaves_layouts_out) {
  const Shape *a = shape_array(arena, DTYPE_F32, DIMS(2, 3));
  Shape b = *a, c = *a;
  b.layout = &(Layout){.minor_to_major = {(int64_t[]){0, 1}, 2}};
  c.dynamic = (bool[]){true, false};
  cr_assert(shape_eq(a, &b));
  cr_assert_not(shape_eq(a, &c));
  cr_assert_not(shape_eq(a, shape_array(arena, DTYPE_F32, DIMS(3, 2))));
  cr_assert_not(shape_eq(a, shape_with_dtype(arena, a, DTYPE_F16)));
  const Shape *ab[] = {a, &b}, *aa[] = {a, a};
  cr_assert(shape_eq(shape_tuple(arena, ab, 2), shape_tuple(arena, aa, 2)));
  cr_assert_not(shape_eq(shape_tuple(arena, ab, 2), shape_tuple(arena, aa, 1)));
}

static Str printed(const Shape *shape) {
  StrBuf buf = {.arena = arena};
  shape_print(&buf, shape, true);
  return buf_str(&buf);
}

Test(shape, printed_as_xla_does) {
  Shape shape = *shape_array(arena, DTYPE_F32, DIMS(8, 16));
  cr_assert_str_eq(printed(&shape).at, "f32[8,16]");
  shape.layout = &(Layout){.minor_to_major = {(int64_t[]){1, 0}, 2}};
  cr_assert_str_eq(printed(&shape).at, "f32[8,16]{1,0}");
  shape.layout = &(Layout){.text = STR("{1,0:T(8,128)(2,1)S(1)}")};
  shape.dynamic = (bool[]){false, true};
  cr_assert_str_eq(printed(&shape).at, "f32[8,<=16]{1,0:T(8,128)(2,1)S(1)}");
  cr_assert_str_eq(shape_text(arena, &shape).at, "f32[8,<=16]");
  cr_assert_str_eq(printed(shape_scalar(arena, DTYPE_PRED)).at, "pred[]");
  cr_assert_str_eq(printed(shape_token(arena)).at, "token[]");
  const Shape *unbounded = shape_array(arena, DTYPE_S32, DIMS(-1, 2));
  cr_assert_str_eq(printed(unbounded).at, "s32[?,2]");
  const Shape *parts[6];
  for (int i = 0; i < 6; i++) parts[i] = shape_scalar(arena, DTYPE_S8);
  cr_assert_str_eq(printed(shape_tuple(arena, parts, 6)).at,
                   "(s8[], s8[], s8[], s8[], s8[], /*index=5*/s8[])");
  cr_assert_str_eq(printed(shape_tuple(arena, NULL, 0)).at, "()");
  cr_assert_str_eq(printed(&(Shape){.dtype = DTYPE_BUFFER, .rank = 1, .parts = parts}).at, "b(s8[])");
  cr_assert(shape_eq(shape_copy(arena, &shape), &shape));
  cr_assert_str_eq(printed(shape_copy(arena, &shape)).at, printed(&shape).at);
}

static const char *literal_text(const Literal *literal) {
  StrBuf buf = {.arena = arena};
  literal_print(&buf, literal);
  return buf_str(&buf).at;
}

static const char *scalar_text(DType dtype, uint64_t bits) {
  return literal_text(&(Literal){.shape = shape_scalar(arena, dtype), .data = &bits});
}

Test(literal, scalars_from_numbers) {
  cr_assert_eq(literal_int_at(literal_scalar(arena, DTYPE_S4, -3), 0), -3);
  cr_assert_eq(literal_int_at(literal_scalar(arena, DTYPE_U8, 300), 0), 255);
  cr_assert_eq(literal_int_at(literal_scalar(arena, DTYPE_S32, -INFINITY), 0), INT32_MIN);
  cr_assert_eq(literal_int_at(literal_scalar(arena, DTYPE_S64, INFINITY), 0), INT64_MAX);
  cr_assert_eq((uint64_t)literal_int_at(literal_scalar(arena, DTYPE_U64, INFINITY), 0), UINT64_MAX);
  cr_assert_str_eq(literal_text(literal_scalar(arena, DTYPE_BF16, -INFINITY)), "-inf");
  cr_assert_str_eq(literal_text(literal_scalar(arena, DTYPE_F64, 0.1)), "0.1");
  cr_assert_str_eq(literal_text(literal_scalar(arena, DTYPE_C64, 2.5)), "(2.5, 0)");
  cr_assert_str_eq(literal_text(literal_scalar(arena, DTYPE_PRED, 1)), "true");
}

Test(literal, integers_and_nesting) {
  const Literal *flat = literal_ints(arena, DTYPE_S8, (const int64_t[]){-1, 2, 3, 4, 5, -6}, 6);
  cr_assert_str_eq(literal_text(flat), "{-1, 2, 3, 4, 5, -6}");
  cr_assert_eq(literal_int_at(flat, 5), -6);
  Literal matrix = {.shape = shape_array(arena, DTYPE_S8, DIMS(2, 3)), .data = flat->data};
  cr_assert_str_eq(literal_text(&matrix), "{ {-1, 2, 3}, {4, 5, -6} }");
  Literal cube = {.shape = shape_array(arena, DTYPE_S8, DIMS(1, 2, 3)), .data = flat->data};
  cr_assert_str_eq(literal_text(&cube), "{ { {-1, 2, 3}, {4, 5, -6} } }");
  Literal preds = {.shape = shape_array(arena, DTYPE_PRED, DIMS(2)), .data = (unsigned char[]){1, 0}};
  cr_assert_str_eq(literal_text(&preds), "{1, 0}");
  cr_assert_str_eq(literal_text(&(Literal){.shape = flat->shape, .elided = true}), "{...}");
  Literal empty = {.shape = shape_array(arena, DTYPE_S8, DIMS(2, 0)), .data = flat->data};
  cr_assert_str_eq(literal_text(&empty), "{ {}, {} }");
  const Literal *parts[] = {flat, literal_scalar(arena, DTYPE_PRED, 0)};
  const Shape *shapes[] = {parts[0]->shape, parts[1]->shape};
  Literal tuple = {.shape = shape_tuple(arena, shapes, 2), .parts = parts};
  cr_assert_str_eq(literal_text(&tuple), "( {-1, 2, 3, 4, 5, -6}, false )");
  cr_assert_str_eq(literal_text(literal_copy(arena, &tuple)), literal_text(&tuple));
}

Test(literal, nan_with_payload) {
  cr_assert_str_eq(scalar_text(DTYPE_F32, 0x7fc00000), "nan");
  cr_assert_str_eq(scalar_text(DTYPE_F32, 0xffc00000), "-nan");
  cr_assert_str_eq(scalar_text(DTYPE_F32, 0x7fc00001), "nan(0x400001)");
  cr_assert_str_eq(scalar_text(DTYPE_F64, 0x7ff8000000000000), "nan");
  cr_assert_str_eq(scalar_text(DTYPE_BF16, 0xff81), "-nan(0x1)");
  cr_assert_str_eq(scalar_text(DTYPE_F8E4M3FN, 0xff), "-nan");
}

/* The text of every 16-bit float, and a sweep of f32, reads back as the same bits. */
Test(literal, floats_read_back) {
  for (uint32_t bits = 0; bits < 1 << 16; bits++) {
    static const DType halves[] = {DTYPE_BF16, DTYPE_F16};
    for (int i = 0; i < 2; i++) {
      if (isnan(fp_to_float(halves[i], bits))) continue;
      double value = strtod(scalar_text(halves[i], bits), NULL);
      cr_assert_eq(fp_from_double(halves[i], value), bits);
      cr_assert(isinf(value) || fabs(value) <= fp_largest(halves[i]));
    }
    float value;
    uint32_t single = bits * 65537u;
    memcpy(&value, &single, sizeof value);
    if (!isnan(value)) cr_assert_eq(strtof(scalar_text(DTYPE_F32, single), NULL), value);
  }
}

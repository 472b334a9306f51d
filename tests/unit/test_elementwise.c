/* Elementwise ops: XLA's rules at the edges of each class of types. Expected values are those of JAX on a
 * CPU. */
#include "eval_bench.h"

static Tensor *run_unary(Opcode op, DType dtype, DType to, uint32_t n, const double *x) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_of(dtype, 1, &(int64_t){n}, x));
  bench_op(&bench, op, bench_shape(&bench, to, 1, &(int64_t){n}), 1, p);
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

static Tensor *run_binary(Opcode op, DType dtype, uint32_t n, const double *x, const double *y) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_of(dtype, 1, &(int64_t){n}, x));
  uint32_t q = bench_param(&bench, array_of(dtype, 1, &(int64_t){n}, y));
  bench_op(&bench, op, bench_shape(&bench, dtype, 1, &(int64_t){n}), 2, p, q);
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

#define LIST(...)                                                                                            \
  (sizeof((double[]){__VA_ARGS__}) / sizeof(double)), (double[]) {                                           \
    __VA_ARGS__                                                                                              \
  }
#define EXPECT(tensor, ...)                                                                                  \
  do {                                                                                                       \
    Tensor *t_ = (tensor);                                                                                   \
    expect_values(t_, VALUES(__VA_ARGS__));                                                                  \
    tensor_release(t_);                                                                                      \
  } while (0)
#define EXPECT_NEAR(tensor, eps, ...)                                                                        \
  do {                                                                                                       \
    Tensor *t_ = (tensor);                                                                                   \
    expect_near(t_, VALUES(__VA_ARGS__), eps);                                                               \
    tensor_release(t_);                                                                                      \
  } while (0)
#define XS(...)                                                                                              \
  (double[]) {                                                                                               \
    __VA_ARGS__                                                                                              \
  }

Test(binary, integer_division_never_traps) {
  double x[] = {5, -5, 0, INT32_MIN, -7}, y[] = {0, 0, 0, -1, 2};
  EXPECT(run_binary(OP_DIVIDE, DTYPE_S32, 5, x, y), -1, -1, -1, INT32_MIN, -3);
  EXPECT(run_binary(OP_REMAINDER, DTYPE_S32, 5, x, y), 5, -5, 0, 0, -1);
  EXPECT(run_binary(OP_DIVIDE, DTYPE_U8, 2, XS(5, 9), XS(0, 2)), 255, 4);
  EXPECT(run_binary(OP_REMAINDER, DTYPE_U32, 2, XS(5, 9), XS(0, 2)), 5, 1);
  EXPECT(run_binary(OP_DIVIDE, DTYPE_S8, 1, XS(-128), XS(-1)), -128);
}

Test(binary, integers_wrap) {
  EXPECT(run_binary(OP_ADD, DTYPE_S8, 2, XS(127, -128), XS(1, -1)), -128, 127);
  EXPECT(run_binary(OP_MULTIPLY, DTYPE_U16, 1, XS(65535), XS(65535)), 1);
  EXPECT(run_binary(OP_SUBTRACT, DTYPE_U32, 1, XS(0), XS(1)), 4294967295);
  EXPECT(run_binary(OP_ADD, DTYPE_S4, 2, XS(7, -8), XS(1, -1)), -8, 7);
  EXPECT(run_binary(OP_MULTIPLY, DTYPE_U4, 1, XS(15), XS(15)), 1);
}

Test(binary, shifts_beyond_the_width) {
  EXPECT(run_binary(OP_SHIFT_LEFT, DTYPE_S32, 3, XS(1, 1, 1), XS(31, 32, -1)), INT32_MIN, 0, 0);
  EXPECT(run_binary(OP_SHIFT_RIGHT_ARITHMETIC, DTYPE_S32, 3, XS(-8, -8, 8), XS(1, 40, 40)), -4, -1, 0);
  EXPECT(run_binary(OP_SHIFT_RIGHT_LOGICAL, DTYPE_S32, 2, XS(-8, -8), XS(28, -1)), 15, 0);
  EXPECT(run_binary(OP_SHIFT_RIGHT_LOGICAL, DTYPE_S4, 2, XS(-1, -1), XS(1, 4)), 7, 0);
}

Test(binary, maximum_and_minimum_keep_nan_and_order_zeros) {
  double x[] = {1, NAN, 0., -0., 2}, y[] = {NAN, 1, -0., 0., 3};
  for (int i = 0; i < 4; i++) {
    DType dtype = (DType[]){DTYPE_F32, DTYPE_F64, DTYPE_BF16, DTYPE_F16}[i];
    EXPECT(run_binary(OP_MAXIMUM, dtype, 5, x, y), NAN, NAN, 0., 0., 3);
    EXPECT(run_binary(OP_MINIMUM, dtype, 5, x, y), NAN, NAN, -0., -0., 2);
  }
}

Test(binary, integer_powers) {
  EXPECT(run_binary(OP_POWER, DTYPE_S32, 7, XS(2, 2, -1, 1, 0, -2, 3), XS(3, -1, -3, -5, 0, 3, 40)), 8, 0, -1,
         1, 1, -8, (double)(int32_t)(uint32_t)12157665459056928801ULL);
}

Test(binary, mulhi) {
  EXPECT(run_binary(OP_MULHI, DTYPE_S32, 2, XS(INT32_MIN, 65536), XS(INT32_MIN, 65536)), 1 << 30, 1);
  EXPECT(run_binary(OP_MULHI, DTYPE_U64, 1, XS(0x1p63), XS(4)), 2);
}

Test(binary, predicates) {
  double x[] = {0, 0, 1, 1}, y[] = {0, 1, 0, 1};
  EXPECT(run_binary(OP_AND, DTYPE_PRED, 4, x, y), 0, 0, 0, 1);
  EXPECT(run_binary(OP_OR, DTYPE_PRED, 4, x, y), 0, 1, 1, 1);
  EXPECT(run_binary(OP_XOR, DTYPE_PRED, 4, x, y), 0, 1, 1, 0);
  EXPECT(run_unary(OP_NOT, DTYPE_PRED, DTYPE_PRED, 4, x), 1, 1, 0, 0);
}

Test(binary, an_op_that_a_type_lacks_is_an_error) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_of(DTYPE_F32, DIMS(1), (double[]){1}));
  bench_op(&bench, OP_AND, bench_shape(&bench, DTYPE_F32, DIMS(1)), 2, p, p);
  Tensor *result = NULL;
  cr_assert_eq(bench_try(&bench, &result), STATUS_INVALID);
  cr_assert_neq(strstr(diag_error_text(bench.diag).at, "and is not defined for f32"), NULL);
  bench_free(&bench);
}

Test(unary, rounding_and_signs) {
  EXPECT(run_unary(OP_ROUND_NEAREST_AFZ, DTYPE_F32, DTYPE_F32, LIST(.5, 1.5, -2.5)), 1, 2, -3);
  EXPECT(run_unary(OP_ROUND_NEAREST_EVEN, DTYPE_F32, DTYPE_F32, LIST(.5, 1.5, -2.5)), 0, 2, -2);
  EXPECT(run_unary(OP_SIGN, DTYPE_F32, DTYPE_F32, LIST(-3, -0., 0, 2, NAN)), -1, -0., 0, 1, NAN);
  EXPECT(run_unary(OP_SIGN, DTYPE_S8, DTYPE_S8, LIST(-3, 0, 2)), -1, 0, 1);
  EXPECT(run_unary(OP_ABS, DTYPE_S32, DTYPE_S32, LIST(-3, INT32_MIN)), 3, INT32_MIN);
  EXPECT(run_unary(OP_IS_FINITE, DTYPE_BF16, DTYPE_PRED, LIST(1, INFINITY, NAN)), 1, 0, 0);
}

Test(unary, bits) {
  EXPECT(run_unary(OP_POPCNT, DTYPE_S8, DTYPE_S8, LIST(-1, 5)), 8, 2);
  EXPECT(run_unary(OP_POPCNT, DTYPE_S4, DTYPE_S4, LIST(-1, 5)), 4, 2);
  EXPECT(run_unary(OP_CLZ, DTYPE_U16, DTYPE_U16, LIST(0, 1, 32768)), 16, 15, 0);
  EXPECT(run_unary(OP_CLZ, DTYPE_U4, DTYPE_U4, LIST(0, 1, 8)), 4, 3, 0);
  EXPECT(run_unary(OP_NOT, DTYPE_S32, DTYPE_S32, LIST(0, 5)), -1, -6);
}

Test(unary, functions_of_f32) {
  double eps = 3e-7;
  EXPECT_NEAR(run_unary(OP_EXP, DTYPE_F32, DTYPE_F32, LIST(0, 1, -100, 100, -1.5)), eps, 1, 2.71828175,
              3.78350585e-44, INFINITY, 0.22313017);
  EXPECT_NEAR(run_unary(OP_LOG, DTYPE_F32, DTYPE_F32, LIST(1, 10, 0, -1)), eps, 0, 2.30258512, -INFINITY,
              NAN);
  EXPECT_NEAR(run_unary(OP_TANH, DTYPE_F32, DTYPE_F32, LIST(0.5, -20, 1e-4)), eps, 0.462117165, -1, 1e-4);
  EXPECT_NEAR(run_unary(OP_LOGISTIC, DTYPE_F32, DTYPE_F32, LIST(0, 2, -50, 200)), eps, 0.5, 0.880797029,
              1.92874989e-22, 1);
  EXPECT_NEAR(run_unary(OP_ERF, DTYPE_F32, DTYPE_F32, LIST(0.5, -3)), eps, 0.520499885, -0.999977887);
  EXPECT_NEAR(run_unary(OP_RSQRT, DTYPE_F32, DTYPE_F32, LIST(4, 0, 3)), eps, 0.5, INFINITY, 0.577350259);
  EXPECT_NEAR(run_unary(OP_CBRT, DTYPE_F32, DTYPE_F32, LIST(-27, 2)), eps, -3, 1.25992107);
  EXPECT_NEAR(run_unary(OP_LOG1P, DTYPE_F32, DTYPE_F32, LIST(1e-8, 1)), eps, 1e-8, 0.693147182);
  EXPECT_NEAR(run_unary(OP_EXPM1, DTYPE_F32, DTYPE_F32, LIST(1e-8, 1)), eps, 1e-8, 1.71828175);
}

Test(unary, bf16_is_computed_in_f32_and_rounded) {
  EXPECT(run_unary(OP_EXP, DTYPE_BF16, DTYPE_BF16, LIST(1)), 2.71875);
  EXPECT(run_binary(OP_ADD, DTYPE_BF16, 1, XS(256), XS(1)), 256);
}

Test(unary, complex_parts) {
  Bench bench = bench_new();
  uint32_t re = bench_param(&bench, array_of(DTYPE_F32, DIMS(2), (double[]){3, 1}));
  uint32_t im = bench_param(&bench, array_of(DTYPE_F32, DIMS(2), (double[]){4, -2}));
  uint32_t c = bench_op(&bench, OP_COMPLEX, bench_shape(&bench, DTYPE_C64, DIMS(2)), 2, re, im);
  uint32_t square = bench_op(&bench, OP_MULTIPLY, bench_shape(&bench, DTYPE_C64, DIMS(2)), 2, c, c);
  const Shape *real = bench_shape(&bench, DTYPE_F32, DIMS(2));
  uint32_t parts[] = {bench_op(&bench, OP_ABS, real, 1, c), bench_op(&bench, OP_REAL, real, 1, square),
                      bench_op(&bench, OP_IMAG, real, 1, square)};
  bench_op(&bench, OP_TUPLE, shape_tuple(bench.module->arena, (const Shape *[]){real, real, real}, 3), 3,
           parts[0], parts[1], parts[2]);
  Tensor *result = bench_run(&bench);
  expect_near(result->parts[0], VALUES(5, 2.23606798), 3e-7);
  expect_values(result->parts[1], VALUES(-7, -3));
  expect_values(result->parts[2], VALUES(24, -4));
  tensor_release(result);
  bench_free(&bench);
}

Test(convert, floats_to_integers_saturate) {
  double x[] = {NAN, INFINITY, -INFINITY, 1e20, -1e20, 3.7, -3.7, 300.5, -0.5};
  struct {
    DType dtype;
    double expected[9];
  } rows[] = {
      {DTYPE_S8, {0, 127, -128, 127, -128, 3, -3, 127, 0}},
      {DTYPE_U8, {0, 255, 0, 255, 0, 3, 0, 255, 0}},
      {DTYPE_S16, {0, 32767, -32768, 32767, -32768, 3, -3, 300, 0}},
      {DTYPE_S32, {0, INT32_MAX, INT32_MIN, INT32_MAX, INT32_MIN, 3, -3, 300, 0}},
      {DTYPE_U32, {0, UINT32_MAX, 0, UINT32_MAX, 0, 3, 0, 300, 0}},
      {DTYPE_S64, {0, 0x1p63, -0x1p63, 0x1p63, -0x1p63, 3, -3, 300, 0}},
      {DTYPE_U64, {0, 0x1p64, 0, 0x1p64, 0, 3, 0, 300, 0}},
      {DTYPE_S4, {0, 7, -8, 7, -8, 3, -3, 7, 0}},
      {DTYPE_U4, {0, 15, 0, 15, 0, 3, 0, 15, 0}},
      {DTYPE_PRED, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
  };
  for (uint32_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    for (int j = 0; j < 3; j++) {
      DType from = (DType[]){DTYPE_F32, DTYPE_F64, DTYPE_BF16}[j];
      Tensor *got = run_unary(OP_CONVERT, from, rows[i].dtype, 9, x);
      for (int e = 0; e < 9; e++) {
        if (from == DTYPE_BF16 && e == 7) continue;
        cr_assert_eq(tensor_double_at(got, e), rows[i].expected[e], "%s to %s, element %d: %g",
                     dtype_text(from), dtype_text(rows[i].dtype), e, tensor_double_at(got, e));
      }
      tensor_release(got);
    }
  }
}

Test(convert, integers_wrap_and_floats_round_to_even) {
  EXPECT(run_unary(OP_CONVERT, DTYPE_S32, DTYPE_S8, LIST(300, -129, 5)), 44, 127, 5);
  EXPECT(run_unary(OP_CONVERT, DTYPE_S32, DTYPE_U4, LIST(17, -1)), 1, 15);
  EXPECT(run_unary(OP_CONVERT, DTYPE_F32, DTYPE_BF16, LIST(1.00390625, 1.01171875, 3.4e38, NAN)), 1, 1.015625,
         INFINITY, NAN);
  EXPECT(run_unary(OP_CONVERT, DTYPE_F32, DTYPE_F16, LIST(65519, 65520, 2049, 1e-8)), 65504, INFINITY, 2048,
         0);
  EXPECT(run_unary(OP_CONVERT, DTYPE_F32, DTYPE_F8E4M3FN, LIST(17.0001, 448, 464, 465, 1.0625)), 18, 448, 448,
         NAN, 1);
  EXPECT(run_unary(OP_CONVERT, DTYPE_F32, DTYPE_F8E5M2, LIST(464, 1e5, 1.125)), 448, INFINITY, 1);
  EXPECT(run_unary(OP_CONVERT, DTYPE_PRED, DTYPE_F32, LIST(1, 0)), 1, 0);
  EXPECT(run_unary(OP_CONVERT, DTYPE_F64, DTYPE_BF16, LIST(1 + 0x1p-8 + 0x1p-40)), 1);
  EXPECT(run_unary(OP_CONVERT, DTYPE_F64, DTYPE_F16, LIST(1 + 0x1p-11 + 0x1p-40)), 1 + 0x1p-10);
}

Test(convert, long_arrays_are_cut_into_blocks) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_ramp(DTYPE_S32, DIMS(3000), -1500, 1));
  uint32_t f = bench_op(&bench, OP_CONVERT, bench_shape(&bench, DTYPE_F16, DIMS(3000)), 1, p);
  bench_op(&bench, OP_CONVERT, bench_shape(&bench, DTYPE_S16, DIMS(3000)), 1, f);
  Tensor *result = bench_run(&bench);
  for (int64_t i = 0; i < 3000; i++) cr_assert_eq(tensor_int_at(result, i), i - 1500);
  tensor_release(result);
  bench_free(&bench);
}

static Tensor *run_compare(const char *direction, const char *type, DType dtype, uint32_t n, const double *x,
                           const double *y) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_of(dtype, 1, &(int64_t){n}, x));
  uint32_t q = bench_param(&bench, array_of(dtype, 1, &(int64_t){n}, y));
  uint32_t c = bench_op(&bench, OP_COMPARE, bench_shape(&bench, DTYPE_PRED, 1, &(int64_t){n}), 2, p, q);
  instr_set_word(bench.module, bench_instr(&bench, c), ATTR_direction, str_of(direction));
  if (type != NULL) instr_set_word(bench.module, bench_instr(&bench, c), ATTR_type, str_of(type));
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

Test(compare, directions_and_nan) {
  double x[] = {1, 2, 3, NAN}, y[] = {2, 2, 2, NAN};
  EXPECT(run_compare("EQ", NULL, DTYPE_F32, 4, x, y), 0, 1, 0, 0);
  EXPECT(run_compare("NE", NULL, DTYPE_BF16, 4, x, y), 1, 0, 1, 1);
  EXPECT(run_compare("LT", NULL, DTYPE_F64, 4, x, y), 1, 0, 0, 0);
  EXPECT(run_compare("LE", NULL, DTYPE_F16, 4, x, y), 1, 1, 0, 0);
  EXPECT(run_compare("GT", NULL, DTYPE_F32, 4, x, y), 0, 0, 1, 0);
  EXPECT(run_compare("GE", NULL, DTYPE_F32, 4, x, y), 0, 1, 1, 0);
  EXPECT(run_compare("LT", NULL, DTYPE_U32, 1, XS(1), XS(4294967295)), 1);
  EXPECT(run_compare("LT", NULL, DTYPE_S8, 1, XS(1), XS(-1)), 0);
}

Test(compare, total_order) {
  double x[] = {-0., 0., NAN, 1, -NAN, -INFINITY}, y[] = {0., -0., NAN, NAN, -INFINITY, -1};
  EXPECT(run_compare("LT", "TOTALORDER", DTYPE_F32, 6, x, y), 1, 0, 0, 1, 1, 1);
  EXPECT(run_compare("EQ", "TOTALORDER", DTYPE_F64, 6, x, y), 0, 0, 1, 0, 0, 0);
  EXPECT(run_compare("LE", "TOTALORDER", DTYPE_BF16, 6, x, y), 1, 0, 1, 1, 1, 1);
}

Test(select, by_element_and_by_one_predicate) {
  Bench bench = bench_new();
  uint32_t pred = bench_param(&bench, array_of(DTYPE_PRED, DIMS(3), (double[]){1, 0, 1}));
  uint32_t one = bench_param(&bench, array_of(DTYPE_PRED, SCALAR, (double[]){0}));
  uint32_t x = bench_param(&bench, array_of(DTYPE_F32, DIMS(3), (double[]){1, 2, 3}));
  uint32_t y = bench_param(&bench, array_of(DTYPE_F32, DIMS(3), (double[]){-1, -2, -3}));
  const Shape *shape = bench_shape(&bench, DTYPE_F32, DIMS(3));
  uint32_t a = bench_op(&bench, OP_SELECT, shape, 3, pred, x, y);
  uint32_t b = bench_op(&bench, OP_SELECT, shape, 3, one, x, y);
  bench_op(&bench, OP_TUPLE, shape_tuple(bench.module->arena, (const Shape *[]){shape, shape}, 2), 2, a, b);
  Tensor *result = bench_run(&bench);
  expect_values(result->parts[0], VALUES(1, -2, 3));
  expect_values(result->parts[1], VALUES(-1, -2, -3));
  tensor_release(result);
  bench_free(&bench);
}

Test(clamp, scalar_bounds_and_nan) {
  Bench bench = bench_new();
  uint32_t low = bench_param(&bench, array_of(DTYPE_F32, SCALAR, (double[]){0}));
  uint32_t x = bench_param(&bench, array_of(DTYPE_F32, DIMS(4), (double[]){-1, 5, 99, NAN}));
  uint32_t high = bench_param(&bench, array_of(DTYPE_F32, SCALAR, (double[]){10}));
  bench_op(&bench, OP_CLAMP, bench_shape(&bench, DTYPE_F32, DIMS(4)), 3, low, x, high);
  EXPECT(bench_run(&bench), 0, 5, 10, NAN);
  bench_free(&bench);
}

static Tensor *run_bitcast(DType from, uint32_t rank, const int64_t *dims, const double *x, DType to,
                           uint32_t to_rank, const int64_t *to_dims) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_of(from, rank, dims, x));
  bench_op(&bench, OP_BITCAST_CONVERT, bench_shape(&bench, to, to_rank, to_dims), 1, p);
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

Test(bitcast_convert, changes_type_and_width) {
  EXPECT(run_bitcast(DTYPE_F32, DIMS(2), XS(1, -2), DTYPE_U32, DIMS(2)), 0x3f800000, 0xc0000000);
  EXPECT(run_bitcast(DTYPE_U32, DIMS(1), XS(0x01020304), DTYPE_U8, DIMS(1, 4)), 4, 3, 2, 1);
  EXPECT(run_bitcast(DTYPE_U16, DIMS(1, 2), XS(0x0304, 0x0102), DTYPE_U32, DIMS(1)), 0x01020304);
  EXPECT(run_bitcast(DTYPE_U8, DIMS(1), XS(0xf3), DTYPE_S4, DIMS(1, 2)), 3, -1);
  EXPECT(run_bitcast(DTYPE_S4, DIMS(1, 2), XS(3, -1), DTYPE_S8, DIMS(1)), -13);
}

Test(evaluate, writes_into_an_operand_that_is_given_up) {
  Bench bench = bench_new();
  uint32_t x = bench_param(&bench, array_of(DTYPE_F32, DIMS(3), (double[]){1, 2, 3}));
  uint32_t add = bench_op(&bench, OP_ADD, bench_shape(&bench, DTYPE_F32, DIMS(3)), 2, x, x);
  uint32_t neg = bench_op(&bench, OP_NEGATE, bench_shape(&bench, DTYPE_F32, DIMS(3)), 1, add);
  EvalContext context = {.module = bench.module, .comp = bench.comp, .diag = bench.diag};
  Tensor *sum = NULL, *kept = NULL, *negated = NULL;
  context.given_up = (bool[]){true, true};
  Tensor *twice[] = {bench.params[0], bench.params[0]};
  cr_assert_eq(eval_op(&context, bench_instr(&bench, add), twice, &sum), STATUS_OK);
  cr_assert_neq(sum, bench.params[0]);
  context.given_up = NULL;
  cr_assert_eq(eval_op(&context, bench_instr(&bench, neg), &sum, &kept), STATUS_OK);
  cr_assert_neq(sum, kept);
  context.given_up = (bool[]){true};
  cr_assert_eq(eval_op(&context, bench_instr(&bench, neg), &sum, &negated), STATUS_OK);
  cr_assert_eq(sum, negated);
  expect_values(negated, VALUES(-2, -4, -6));
  tensor_release(sum);
  tensor_release(kept);
  tensor_release(negated);
  bench_free(&bench);
}

Test(evaluate, unknown_operands_and_large_results_stay_unknown) {
  Bench bench = bench_new();
  uint32_t x = bench_param(&bench, tensor_new_array(DTYPE_F32, (int64_t[]){3}, 1, false));
  uint32_t neg = bench_op(&bench, OP_NEGATE, bench_shape(&bench, DTYPE_F32, DIMS(3)), 1, x);
  EvalContext context = {.module = bench.module, .comp = bench.comp, .diag = bench.diag, .known_limit = 2};
  Tensor *result = NULL, *known = array_of(DTYPE_F32, DIMS(3), (double[]){1, 2, 3});
  cr_assert_eq(eval_op(&context, bench_instr(&bench, neg), bench.params, &result), STATUS_OK);
  cr_assert_not(result->known);
  tensor_release(result);
  cr_assert_eq(eval_op(&context, bench_instr(&bench, neg), &known, &result), STATUS_OK);
  cr_assert_not(result->known);
  tensor_release(result);
  tensor_release(known);
  bench_free(&bench);
}

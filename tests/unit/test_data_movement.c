/* Ops that move elements. */
#include "eval_bench.h"

#define EXPECT(tensor, ...)                                                                                  \
  do {                                                                                                       \
    Tensor *t_ = (tensor);                                                                                   \
    expect_values(t_, VALUES(__VA_ARGS__));                                                                  \
    tensor_release(t_);                                                                                      \
  } while (0)

static Tensor *run_with_ints(Opcode op, AttrId attr, const int64_t *ints, uint32_t n, Tensor *x,
                             uint32_t rank, const int64_t *dims) {
  Bench bench = bench_new();
  DType dtype = x->dtype;
  uint32_t p = bench_param(&bench, x);
  uint32_t instr = bench_op(&bench, op, bench_shape(&bench, dtype, rank, dims), 1, p);
  instr_set_ints(bench.module, bench_instr(&bench, instr), attr, ints, n);
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

#define INTS(...) (int64_t[]){__VA_ARGS__}, (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

Test(broadcast, into_any_dimensions) {
  EXPECT(
      run_with_ints(OP_BROADCAST, ATTR_dimensions, INTS(1), array_ramp(DTYPE_S32, DIMS(3), 1, 1), DIMS(2, 3)),
      1, 2, 3, 1, 2, 3);
  EXPECT(
      run_with_ints(OP_BROADCAST, ATTR_dimensions, INTS(0), array_ramp(DTYPE_S8, DIMS(2), 1, 1), DIMS(2, 3)),
      1, 1, 1, 2, 2, 2);
  EXPECT(
      run_with_ints(OP_BROADCAST, ATTR_dimensions, NULL, 0, array_ramp(DTYPE_F64, SCALAR, 7, 0), DIMS(2, 2)),
      7, 7, 7, 7);
  EXPECT(run_with_ints(OP_BROADCAST, ATTR_dimensions, INTS(0, 2), array_ramp(DTYPE_C128, DIMS(2, 2), 1, 1),
                       DIMS(2, 2, 2)),
         1, 2, 1, 2, 3, 4, 3, 4);
}

Test(transpose, small) {
  EXPECT(run_with_ints(OP_TRANSPOSE, ATTR_dimensions, INTS(1, 0), array_ramp(DTYPE_S32, DIMS(2, 3), 0, 1),
                       DIMS(3, 2)),
         0, 3, 1, 4, 2, 5);
  EXPECT(run_with_ints(OP_TRANSPOSE, ATTR_dimensions, INTS(2, 0, 1),
                       array_ramp(DTYPE_BF16, DIMS(2, 1, 3), 0, 1), DIMS(3, 2, 1)),
         0, 3, 1, 4, 2, 5);
}

Test(transpose, large_in_tiles) {
  for (int t = 0; t < 4; t++) {
    DType dtype = (DType[]){DTYPE_U16, DTYPE_S32, DTYPE_F64, DTYPE_C128}[t];
    Tensor *x = array_ramp(dtype, DIMS(3, 37, 50), 0, 1);
    Tensor *y = run_with_ints(OP_TRANSPOSE, ATTR_dimensions, INTS(2, 0, 1), x, DIMS(50, 3, 37));
    for (int64_t i = 0; i < 3 * 37 * 50; i++) {
      int64_t c = i / (3 * 37), a = i / 37 % 3, b = i % 37;
      cr_assert_eq(tensor_double_at(y, i), (double)((a * 37 + b) * 50 + c));
    }
    tensor_release(y);
  }
}

Test(reverse, dimensions) {
  EXPECT(run_with_ints(OP_REVERSE, ATTR_dimensions, INTS(0, 1), array_ramp(DTYPE_S32, DIMS(2, 3), 0, 1),
                       DIMS(2, 3)),
         5, 4, 3, 2, 1, 0);
  EXPECT(run_with_ints(OP_REVERSE, ATTR_dimensions, INTS(1), array_ramp(DTYPE_S32, DIMS(2, 3), 0, 1),
                       DIMS(2, 3)),
         2, 1, 0, 5, 4, 3);
}

Test(reshape, keeps_the_order) {
  EXPECT(run_with_ints(OP_RESHAPE, ATTR_dimensions, NULL, 0, array_ramp(DTYPE_S32, DIMS(2, 3), 0, 1),
                       DIMS(3, 2)),
         0, 1, 2, 3, 4, 5);
}

Test(slice, with_strides) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_ramp(DTYPE_S32, DIMS(4, 6), 0, 1));
  uint32_t slice = bench_op(&bench, OP_SLICE, bench_shape(&bench, DTYPE_S32, DIMS(2, 3)), 1, p);
  SliceDim dims[] = {{1, 4, 2}, {0, 5, 2}};
  instr_set(bench.module, bench_instr(&bench, slice), (Attr){.id = ATTR_slice, .slices = {dims, 2}});
  EXPECT(bench_run(&bench), 6, 8, 10, 18, 20, 22);
  bench_free(&bench);
}

static Tensor *run_pad(int64_t n, PaddingDim padding, int64_t out) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_ramp(DTYPE_S32, DIMS(n), 1, 1));
  uint32_t value = bench_param(&bench, array_of(DTYPE_S32, SCALAR, (double[]){0}));
  uint32_t pad = bench_op(&bench, OP_PAD, bench_shape(&bench, DTYPE_S32, DIMS(out)), 2, p, value);
  instr_set(bench.module, bench_instr(&bench, pad), (Attr){.id = ATTR_padding, .padding = {&padding, 1}});
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

Test(pad, negative_and_interior) {
  EXPECT(run_pad(3, (PaddingDim){1, 2, 0}, 6), 0, 1, 2, 3, 0, 0);
  EXPECT(run_pad(3, (PaddingDim){0, 0, 1}, 5), 1, 0, 2, 0, 3);
  EXPECT(run_pad(4, (PaddingDim){-1, -2, 0}, 1), 2);
  EXPECT(run_pad(3, (PaddingDim){-1, 1, 2}, 7), 0, 0, 2, 0, 0, 3, 0);
  EXPECT(run_pad(3, (PaddingDim){-3, 2, 0}, 2), 0, 0);
  EXPECT(run_pad(2, (PaddingDim){2, -3, 1}, 2), 0, 0);
}

Test(concatenate, along_either_dimension) {
  for (int64_t d = 0; d < 2; d++) {
    Bench bench = bench_new();
    uint32_t p = bench_param(&bench, array_ramp(DTYPE_U8, DIMS(2, 2), 0, 1));
    uint32_t q = bench_param(&bench, array_ramp(DTYPE_U8, DIMS(2, 2), 10, 1));
    int64_t dims[] = {d == 0 ? 4 : 2, d == 0 ? 2 : 4};
    uint32_t c = bench_op(&bench, OP_CONCATENATE, bench_shape(&bench, DTYPE_U8, 2, dims), 2, p, q);
    instr_set_ints(bench.module, bench_instr(&bench, c), ATTR_dimensions, &d, 1);
    Tensor *result = bench_run(&bench);
    if (d == 0) {
      expect_values(result, VALUES(0, 1, 2, 3, 10, 11, 12, 13));
    } else {
      expect_values(result, VALUES(0, 1, 10, 11, 2, 3, 12, 13));
    }
    tensor_release(result);
    bench_free(&bench);
  }
}

static Tensor *run_dynamic_slice(double row, double column) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_ramp(DTYPE_S32, DIMS(3, 4), 0, 1));
  uint32_t r = bench_param(&bench, array_of(DTYPE_S32, SCALAR, &row));
  uint32_t c = bench_param(&bench, array_of(DTYPE_S64, SCALAR, &column));
  bench_op(&bench, OP_DYNAMIC_SLICE, bench_shape(&bench, DTYPE_S32, DIMS(2, 2)), 3, p, r, c);
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

Test(dynamic_slice, clamps_its_starts) {
  EXPECT(run_dynamic_slice(1, 1), 5, 6, 9, 10);
  EXPECT(run_dynamic_slice(9, -9), 4, 5, 8, 9);
}

Test(dynamic_update_slice, in_place_only_when_given_up) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_ramp(DTYPE_S32, DIMS(4), 0, 1));
  uint32_t u = bench_param(&bench, array_ramp(DTYPE_S32, DIMS(2), 8, 1));
  uint32_t at = bench_param(&bench, array_of(DTYPE_S32, SCALAR, (double[]){3}));
  uint32_t dus =
      bench_op(&bench, OP_DYNAMIC_UPDATE_SLICE, bench_shape(&bench, DTYPE_S32, DIMS(4)), 3, p, u, at);
  EvalContext context = {.module = bench.module, .comp = bench.comp, .diag = bench.diag};
  Tensor *copy = NULL, *same = NULL;
  cr_assert_eq(eval_op(&context, bench_instr(&bench, dus), bench.params, &copy), STATUS_OK);
  cr_assert_neq(copy, bench.params[0]);
  expect_values(copy, VALUES(0, 1, 8, 9));
  expect_values(bench.params[0], VALUES(0, 1, 2, 3));
  context.given_up = (bool[]){true, false, false};
  cr_assert_eq(eval_op(&context, bench_instr(&bench, dus), bench.params, &same), STATUS_OK);
  cr_assert_eq(same, bench.params[0]);
  expect_values(same, VALUES(0, 1, 8, 9));
  tensor_release(copy);
  tensor_release(same);
  bench_free(&bench);
}

static Tensor *run_iota(DType dtype, int64_t d) {
  Bench bench = bench_new();
  uint32_t iota = bench_op(&bench, OP_IOTA, bench_shape(&bench, dtype, DIMS(2, 3)), 0);
  instr_set_int(bench.module, bench_instr(&bench, iota), ATTR_iota_dimension, d);
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

Test(iota, along_a_dimension) {
  EXPECT(run_iota(DTYPE_S32, 0), 0, 0, 0, 1, 1, 1);
  EXPECT(run_iota(DTYPE_BF16, 1), 0, 1, 2, 0, 1, 2);
}

Test(custom_call, passes_shardings_and_names_the_unknown) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_ramp(DTYPE_F32, DIMS(2), 1, 1));
  const Shape *shape = bench_shape(&bench, DTYPE_F32, DIMS(2));
  uint32_t call = bench_op(&bench, OP_CUSTOM_CALL, shape, 1, p);
  Attr target = {.id = ATTR_custom_call_target, .text = STR("Sharding")};
  instr_set(bench.module, bench_instr(&bench, call), target);
  EXPECT(bench_run(&bench), 1, 2);
  target.text = STR("my_kernel");
  instr_set(bench.module, bench_instr(&bench, call), target);
  Tensor *result = NULL;
  cr_assert_eq(bench_try(&bench, &result), STATUS_INVALID);
  cr_assert_neq(strstr(diag_error_text(bench.diag).at, "'my_kernel'"), NULL);
  cr_assert_not(can_evaluate(bench_instr(&bench, call)));
  bench_free(&bench);
}

/* reduce: plain ops over every choice of dimensions, sums that need more than f32, and other computations. */
#include "eval_bench.h"

/* Reduces a ramp of 2x3x4x5 over the dimensions of `mask`, with one op, and compares with the definition. */
static void check_mask(uint32_t mask, Opcode op, DType dtype) {
  const int64_t dims[] = {2, 3, 4, 5};
  Bench bench = bench_new();
  Tensor *x = array_ramp(dtype, 4, dims, -7, 1);
  uint32_t p = bench_param(&bench, x), init = bench_param(&bench, array_of(dtype, SCALAR, (double[]){3}));
  int64_t kept[4], reduced[4];
  uint32_t n_kept = 0, n_reduced = 0;
  for (uint32_t d = 0; d < 4; d++) {
    if (mask >> d & 1) {
      reduced[n_reduced++] = d;
    } else {
      kept[n_kept++] = dims[d];
    }
  }
  uint32_t reduce = bench_op(&bench, OP_REDUCE, bench_shape(&bench, dtype, n_kept, kept), 2, p, init);
  instr_set_ints(bench.module, bench_instr(&bench, reduce), ATTR_dimensions, reduced, n_reduced);
  instr_set_comp(bench.module, bench_instr(&bench, reduce), ATTR_to_apply,
                 bench_binary_comp(&bench, op, dtype));
  Tensor *result = bench_run(&bench);
  double expected[120];
  for (int i = 0; i < 120; i++) expected[i] = 3;
  for (int64_t i = 0; i < 120; i++) {
    int64_t index[] = {i / 60, i / 20 % 3, i / 5 % 4, i % 5}, at = 0;
    for (uint32_t d = 0; d < 4; d++) at = mask >> d & 1 ? at : at * dims[d] + index[d];
    double value = tensor_double_at(x, i);
    expected[at] = op == OP_ADD ? expected[at] + value : fmax(expected[at], value);
  }
  expect_values(result, expected, tensor_elements(result));
  tensor_release(result);
  bench_free(&bench);
}

Test(reduce, every_choice_of_dimensions) {
  for (uint32_t mask = 0; mask < 16; mask++) {
    check_mask(mask, OP_ADD, DTYPE_F32);
    check_mask(mask, OP_ADD, DTYPE_S32);
    check_mask(mask, OP_MAXIMUM, DTYPE_F64);
    check_mask(mask, OP_MAXIMUM, DTYPE_BF16);
  }
}

static Tensor *run_sum(DType dtype, uint32_t rank, const int64_t *dims, double value, const int64_t *over,
                       uint32_t n_over, uint32_t out_rank, const int64_t *out_dims) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_ramp(dtype, rank, dims, value, 0));
  uint32_t init = bench_param(&bench, array_of(dtype, SCALAR, (double[]){0}));
  uint32_t reduce = bench_op(&bench, OP_REDUCE, bench_shape(&bench, dtype, out_rank, out_dims), 2, p, init);
  instr_set_ints(bench.module, bench_instr(&bench, reduce), ATTR_dimensions, over, n_over);
  instr_set_comp(bench.module, bench_instr(&bench, reduce), ATTR_to_apply,
                 bench_binary_comp(&bench, OP_ADD, dtype));
  Tensor *result = bench_run(&bench);
  bench_free(&bench);
  return result;
}

Test(reduce, long_sums_are_accurate) {
  Tensor *row = run_sum(DTYPE_F32, DIMS(1000003), 0.1, (int64_t[]){0}, 1, SCALAR);
  expect_near(row, VALUES(100000.3), 1e-6);
  Tensor *column = run_sum(DTYPE_F32, DIMS(300001, 2), 0.1, (int64_t[]){0}, 1, DIMS(2));
  expect_near(column, VALUES(30000.1, 30000.1), 1e-6);
  Tensor *bf16 = run_sum(DTYPE_BF16, DIMS(1000), 1, (int64_t[]){0}, 1, SCALAR);
  expect_values(bf16, VALUES(1000));
  tensor_release(row);
  tensor_release(column);
  tensor_release(bf16);
}

/* Rows of every length by which the inner dimensions are taken otherwise, in both directions. */
Test(reduce, short_and_long_rows) {
  for (int64_t n = 1; n <= 1100; n = n * 3 + 1) {
    Tensor *rows = run_sum(DTYPE_S32, DIMS(700, n), 2, (int64_t[]){1}, 1, DIMS(700));
    Tensor *columns = run_sum(DTYPE_F32, DIMS(3, 700, n), 2, (int64_t[]){1}, 1, DIMS(3, n));
    for (int64_t i = 0; i < 700; i++) cr_assert_eq(tensor_int_at(rows, i), 2 * n);
    for (int64_t i = 0; i < 3 * n; i++) cr_assert_eq(tensor_double_at(columns, i), 1400);
    tensor_release(rows);
    tensor_release(columns);
  }
}

Test(reduce, an_empty_dimension_gives_the_initial_value) {
  Tensor *sum = run_sum(DTYPE_F32, DIMS(2, 0), 1, (int64_t[]){1}, 1, DIMS(2));
  expect_values(sum, VALUES(0, 0));
  tensor_release(sum);
}

/* (value, index) of the largest value, the first of equals: as argmax reduces. */
static uint32_t argmax_comp(Bench *bench) {
  Module *module = bench->module;
  const Shape *f32 = shape_scalar(module->arena, DTYPE_F32), *s32 = shape_scalar(module->arena, DTYPE_S32);
  const Shape *pred = shape_scalar(module->arena, DTYPE_PRED);
  uint32_t comp = module_add_comp(module, STR("argmax"));
  const Shape *shapes[] = {f32, s32, f32, s32};
  for (uint32_t i = 0; i < 4; i++) comp_add_parameter(module, comp, i, STR(""), shapes[i]);
  uint32_t greater = comp_add(module, comp, OP_COMPARE, STR(""), pred, (uint32_t[]){0, 2}, 2);
  instr_set_word(module, comp_instr(module, comp, greater), ATTR_direction, STR("GE"));
  uint32_t value = comp_add(module, comp, OP_SELECT, STR(""), f32, (uint32_t[]){greater, 0, 2}, 3);
  uint32_t index = comp_add(module, comp, OP_SELECT, STR(""), s32, (uint32_t[]){greater, 1, 3}, 3);
  const Shape *tuple = shape_tuple(module->arena, (const Shape *[]){f32, s32}, 2);
  module_comp(module, comp)->root =
      comp_add(module, comp, OP_TUPLE, STR(""), tuple, (uint32_t[]){value, index}, 2);
  return comp;
}

Test(reduce, variadic) {
  Bench bench = bench_new();
  uint32_t x =
      bench_param(&bench, array_of(DTYPE_F32, DIMS(2, 5), (double[]){1, 9, 3, 9, 2, -4, -5, -1, -6, -2}));
  uint32_t at =
      bench_param(&bench, array_of(DTYPE_S32, DIMS(2, 5), (double[]){0, 1, 2, 3, 4, 0, 1, 2, 3, 4}));
  uint32_t low = bench_param(&bench, array_of(DTYPE_F32, SCALAR, (double[]){-INFINITY}));
  uint32_t none = bench_param(&bench, array_of(DTYPE_S32, SCALAR, (double[]){-1}));
  const Shape *parts[] = {bench_shape(&bench, DTYPE_F32, DIMS(2)), bench_shape(&bench, DTYPE_S32, DIMS(2))};
  uint32_t reduce =
      bench_op(&bench, OP_REDUCE, shape_tuple(bench.module->arena, parts, 2), 4, x, at, low, none);
  instr_set_ints(bench.module, bench_instr(&bench, reduce), ATTR_dimensions, (int64_t[]){1}, 1);
  instr_set_comp(bench.module, bench_instr(&bench, reduce), ATTR_to_apply, argmax_comp(&bench));
  Tensor *result = bench_run(&bench);
  expect_values(result->parts[0], VALUES(9, -1));
  expect_values(result->parts[1], VALUES(1, 2));
  tensor_release(result);
  bench_free(&bench);
}

Test(combine, plain_ops_round_at_each_step_and_others_run_the_computation) {
  Bench bench = bench_new();
  EvalContext context = {.module = bench.module, .diag = bench.diag};
  Tensor *into = array_of(DTYPE_BF16, DIMS(2), (double[]){256, 1}),
         *from = array_of(DTYPE_BF16, DIMS(2), (double[]){1, 2});
  uint32_t add = bench_binary_comp(&bench, OP_ADD, DTYPE_BF16);
  cr_assert_eq(eval_combine(&context, add, DTYPE_BF16, into->data, from->data, 2), STATUS_OK);
  expect_values(into, VALUES(256, 3));
  const Shape *bf16 = shape_scalar(bench.module->arena, DTYPE_BF16);
  uint32_t comp = bench_binary_comp(&bench, OP_MULTIPLY, DTYPE_BF16);
  uint32_t product = module_comp(bench.module, comp)->root;
  module_comp(bench.module, comp)->root = comp_add(bench.module, comp, OP_NEGATE, STR(""), bf16, &product, 1);
  cr_assert_eq(eval_combine(&context, comp, DTYPE_BF16, into->data, from->data, 2), STATUS_OK);
  expect_values(into, VALUES(-256, -6));
  tensor_release(into);
  tensor_release(from);
  bench_free(&bench);
}

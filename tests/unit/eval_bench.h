/* A computation built by hand and evaluated on tensors: what the tests of evaluators share. */
#pragma once

#include "sim/eval/evaluate.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdarg.h>

typedef struct {
  Module *module;
  uint32_t comp;
  Diag *diag;
  Tensor *params[8];
  uint32_t n_params;
} Bench;

static inline Bench bench_new(void) {
  Bench bench = {.module = module_new(STR("bench")), .diag = diag_new()};
  bench.comp = module_add_comp(bench.module, STR("main"));
  bench.module->entry = bench.comp;
  return bench;
}

static inline const Shape *bench_shape(Bench *bench, DType dtype, uint32_t rank, const int64_t *dims) {
  return shape_array(bench->module->arena, dtype, dims, rank);
}

#define DIMS(...)                                                                                            \
  (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]) {                              \
    __VA_ARGS__                                                                                              \
  }
#define SCALAR 0, NULL

/* An array from doubles. */
static inline Tensor *array_of(DType dtype, uint32_t rank, const int64_t *dims, const double *values) {
  Tensor *tensor = tensor_new_array(dtype, dims, rank, true);
  for (int64_t i = 0; i < tensor_elements(tensor); i++) tensor_set_double(tensor, i, values[i]);
  return tensor;
}

/* start, start + step, … */
static inline Tensor *array_ramp(DType dtype, uint32_t rank, const int64_t *dims, double start, double step) {
  Tensor *tensor = tensor_new_array(dtype, dims, rank, true);
  for (int64_t i = 0; i < tensor_elements(tensor); i++)
    tensor_set_double(tensor, i, start + step * (double)i);
  return tensor;
}

/* A parameter; the bench takes the tensor. */
static inline uint32_t bench_param(Bench *bench, Tensor *tensor) {
  const Shape *shape = bench_shape(bench, tensor->dtype, tensor->rank, tensor->dims);
  bench->params[bench->n_params] = tensor;
  return comp_add_parameter(bench->module, bench->comp, bench->n_params++, STR(""), shape);
}

static inline uint32_t bench_op(Bench *bench, Opcode op, const Shape *shape, uint32_t n, ...) {
  uint32_t operands[8];
  va_list list;
  va_start(list, n);
  for (uint32_t i = 0; i < n; i++) operands[i] = va_arg(list, uint32_t);
  va_end(list);
  return comp_add(bench->module, bench->comp, op, STR(""), shape, operands, n);
}

static inline Instr *bench_instr(Bench *bench, uint32_t instr) {
  return comp_instr(bench->module, bench->comp, instr);
}

static inline Status bench_try(Bench *bench, Tensor **result) {
  EvalContext context = {.module = bench->module, .comp = bench->comp, .diag = bench->diag};
  Comp *comp = module_comp(bench->module, bench->comp);
  comp->root = comp->instrs.n - 1;
  return eval_comp(&context, bench->comp, bench->params, bench->n_params, result);
}

/* The value of the last instruction. */
static inline Tensor *bench_run(Bench *bench) {
  Tensor *result = NULL;
  Status status = bench_try(bench, &result);
  Str text = diag_error_text(bench->diag);
  cr_assert_eq(status, STATUS_OK, "%.*s", STR_ARG(text));
  return result;
}

static inline void bench_free(Bench *bench) {
  for (uint32_t i = 0; i < bench->n_params; i++) tensor_release(bench->params[i]);
  module_free(bench->module);
  diag_free(bench->diag);
}

/* A computation `op(p0, p1)` of scalars. */
static inline uint32_t bench_binary_comp(Bench *bench, Opcode op, DType dtype) {
  const Shape *scalar = shape_scalar(bench->module->arena, dtype);
  uint32_t comp = module_add_comp(bench->module, STR("combine"));
  comp_add_parameter(bench->module, comp, 0, STR("a"), scalar);
  comp_add_parameter(bench->module, comp, 1, STR("b"), scalar);
  module_comp(bench->module, comp)->root =
      comp_add(bench->module, comp, op, STR(""), scalar, (uint32_t[]){0, 1}, 2);
  return comp;
}

/* Every element equals the expected double, NaN for NaN, the sign of 0 included. */
static inline void expect_values(const Tensor *tensor, const double *expected, int64_t n) {
  cr_assert_eq(tensor_elements(tensor), n);
  for (int64_t i = 0; i < n; i++) {
    double got = tensor_double_at(tensor, i);
    bool same =
        isnan(expected[i]) ? isnan(got) != 0 : got == expected[i] && signbit(got) == signbit(expected[i]);
    cr_assert(same, "element %ld is %.17g, not %.17g", (long)i, got, expected[i]);
  }
}

/* Every element is within a relative (or absolute) error. */
static inline void expect_near(const Tensor *tensor, const double *expected, int64_t n, double tolerance) {
  cr_assert_eq(tensor_elements(tensor), n);
  for (int64_t i = 0; i < n; i++) {
    double got = tensor_double_at(tensor, i), error = fabs(got - expected[i]);
    bool near = isnan(expected[i]) ? isnan(got) != 0
                                   : got == expected[i] || error <= tolerance * fmax(1, fabs(expected[i]));
    cr_assert(near, "element %ld is %.9g, not %.9g", (long)i, got, expected[i]);
  }
}

#define VALUES(...) (double[]){__VA_ARGS__}, (int64_t)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))

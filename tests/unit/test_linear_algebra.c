/* cholesky and triangular-solve against the textbook loops (Golub and Van Loan, Matrix Computations, 3.1 and
 * 4.2), on matrices large enough for LAPACK to work in blocks. */
#include "sim/eval/evaluate.h"

#include <criterion/criterion.h>
#include <math.h>

enum { N = 150, VECTORS = 7 };

static double drawn(uint32_t *state) {
  *state = *state * 1664525U + 1013904223U;
  return (double)(*state >> 8) / (1 << 24) - 0.5;
}

static Tensor *matrix(int64_t rows, int64_t columns) {
  return tensor_new_array(DTYPE_F64, (int64_t[]){rows, columns}, 2, true);
}

static double *at(const Tensor *x, int64_t i, int64_t j) {
  return (double *)x->data + i * x->dims[1] + j;
}

/* A lower triangle that is far from singular. */
static Tensor *triangle(void) {
  uint32_t state = 1;
  Tensor *l = matrix(N, N);
  for (int64_t i = 0; i < N; i++) {
    for (int64_t j = 0; j < N; j++) *at(l, i, j) = j > i ? 0 : i == j ? 4 + drawn(&state) : drawn(&state);
  }
  return l;
}

static Tensor *run(Opcode op, Attr *attrs, uint32_t n_attrs, Tensor *const *operands, uint32_t n,
                   const Tensor *like) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  uint32_t numbers[] = {0, 1};
  Instr instr = {.op = op, .operands = {numbers, n}, .attrs = attrs, .n_attrs = n_attrs};
  instr.shape = shape_array(arena, DTYPE_F64, like->dims, like->rank);
  EvalContext context = {.diag = diag};
  Tensor *result = NULL;
  cr_assert_eq(eval_op(&context, &instr, operands, &result), STATUS_OK, "%s", diag_error_text(diag).at);
  diag_free(diag);
  arena_free(arena);
  return result;
}

static void expect_near(const Tensor *got, const Tensor *want) {
  for (int64_t i = 0; i < tensor_elements(want); i++) {
    double x = ((const double *)got->data)[i], y = ((const double *)want->data)[i];
    cr_assert(fabs(x - y) <= 1e-9 * (1 + fabs(y)), "element %ld is %g, not %g", (long)i, x, y);
  }
}

Test(linear_algebra, cholesky_finds_the_triangle) {
  Tensor *l = triangle(), *a = matrix(N, N);
  for (int64_t i = 0; i < N; i++) {
    for (int64_t j = 0; j < N; j++) {
      *at(a, i, j) = 0;
      for (int64_t k = 0; k < N; k++) *at(a, i, j) += *at(l, i, k) * *at(l, j, k);
    }
  }
  Attr lower = {.id = ATTR_lower, .flag = true};
  Tensor *got = run(OP_CHOLESKY, &lower, 1, &a, 1, a);
  expect_near(got, l);
  tensor_release(got);
  tensor_release(a);
  tensor_release(l);
}

Test(linear_algebra, triangular_solve_is_forward_substitution) {
  uint32_t state = 2;
  Tensor *l = triangle(), *b = matrix(N, VECTORS), *x = matrix(N, VECTORS);
  for (int64_t i = 0; i < N; i++) {
    for (int64_t v = 0; v < VECTORS; v++) {
      *at(b, i, v) = *at(x, i, v) = drawn(&state);
      for (int64_t k = 0; k < i; k++) *at(x, i, v) -= *at(l, i, k) * *at(x, k, v);
      *at(x, i, v) /= *at(l, i, i);
    }
  }
  Attr attrs[] = {{.id = ATTR_left_side, .flag = true}, {.id = ATTR_lower, .flag = true}};
  Tensor *operands[] = {l, b};
  Tensor *got = run(OP_TRIANGULAR_SOLVE, attrs, 2, operands, 2, b);
  expect_near(got, x);
  tensor_release(got);
  tensor_release(x);
  tensor_release(b);
  tensor_release(l);
}

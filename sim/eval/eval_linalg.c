/* cholesky and triangular-solve of batches of matrices, by the textbook loops (Golub and Van Loan, Matrix
 * Computations, 3.1 and 4.2), in complex doubles whatever the type. */
#include "sim/eval/evaluators.h"

#include <complex.h>
#include <math.h>

typedef complex double Number;

/* The lower factor L of a = L L^H, in place; what lies above the diagonal becomes 0. NaN all over where the
 * matrix is not positive definite. */
static void cholesky(int64_t n, Number *a) {
  bool definite = true;
  for (int64_t j = 0; j < n; j++) {
    for (int64_t i = j; i < n; i++) {
      Number sum = a[i * n + j];
      for (int64_t k = 0; k < j; k++) sum -= a[i * n + k] * conj(a[j * n + k]);
      if (i == j) definite = definite && creal(sum) > 0;
      a[i * n + j] = i == j ? sqrt(creal(sum)) : sum / a[j * n + j];
    }
    for (int64_t i = 0; i < j; i++) a[i * n + j] = 0;
  }
  for (int64_t i = 0; i < n * n && !definite; i++) a[i] = NAN;
}

/* Conjugate transposed, in place. */
static void adjoint(int64_t n, Number *a) {
  for (int64_t i = 0; i < n; i++) {
    for (int64_t j = i; j < n; j++) {
      Number above = a[i * n + j];
      a[i * n + j] = conj(a[j * n + i]);
      a[j * n + i] = conj(above);
    }
  }
}

Status eval_cholesky(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                     Tensor **result) {
  const Tensor *x = operands[0];
  if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
    return eval_unsupported(context, instr, "a matrix that is not square");
  bool lower = instr_flag(instr, ATTR_lower);
  Tensor *wide = tensor_unique(tensor_converted(operands[0], DTYPE_C128));
  int64_t n = x->dims[x->rank - 1], total = tensor_elements(x);
  Number *numbers = (Number *)wide->data;
  for (int64_t at = 0; at < total; at += n * n) {
    if (!lower) adjoint(n, numbers + at);
    cholesky(n, numbers + at);
    if (!lower) adjoint(n, numbers + at);
  }
  *result = tensor_converted(wide, x->dtype);
  tensor_release(wide);
  return STATUS_OK;
}

/* A triangular matrix as the solver sees it. */
typedef struct {
  const Number *a;
  int64_t n;
  bool lower, unit_diagonal, transposed, conjugated;
} Triangle;

static Number triangle_at(const Triangle *t, int64_t i, int64_t j) {
  Number value = t->transposed ? t->a[j * t->n + i] : t->a[i * t->n + j];
  return t->conjugated ? conj(value) : value;
}

/* Solves t x = b for one vector with a step between its elements, in place: from the first row on where the
 * triangle is lower, else from the last. */
static void substitute(const Triangle *t, Number *b, int64_t step) {
  for (int64_t count = 0; count < t->n; count++) {
    int64_t i = t->lower ? count : t->n - 1 - count;
    Number sum = b[i * step];
    int64_t from = t->lower ? 0 : i + 1, to = t->lower ? i : t->n;
    for (int64_t j = from; j < to; j++) sum -= triangle_at(t, i, j) * b[j * step];
    b[i * step] = t->unit_diagonal ? sum : sum / triangle_at(t, i, i);
  }
}

/* x op(a) = b on the right side is op(a)^T x^T = b^T on the left. */
static Triangle triangle_of(const Instr *instr, int64_t n, bool left) {
  Str transpose = instr_word(instr, ATTR_transpose_a);
  bool adjoint_a = str_is(transpose, "ADJOINT");
  Triangle triangle = {
      .n = n, .unit_diagonal = instr_flag(instr, ATTR_unit_diagonal), .conjugated = adjoint_a};
  triangle.transposed = (adjoint_a || str_is(transpose, "TRANSPOSE")) != !left;
  triangle.lower = instr_flag(instr, ATTR_lower) != triangle.transposed;
  return triangle;
}

Status eval_triangular_solve(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                             Tensor **result) {
  const Tensor *a = operands[0], *b = operands[1];
  bool left = instr_flag(instr, ATTR_left_side);
  int64_t n = a->rank < 2 ? -1 : a->dims[a->rank - 1];
  if (a->rank != b->rank || n < 0 || b->dims[b->rank - (left ? 2 : 1)] != n)
    return eval_unsupported(context, instr, "a triangular-solve of these shapes");
  int64_t vectors = b->dims[b->rank - (left ? 1 : 2)], total = tensor_elements(b);
  Tensor *wide_a = tensor_converted(operands[0], DTYPE_C128);
  Tensor *wide_b = tensor_unique(tensor_converted(operands[1], DTYPE_C128));
  Triangle triangle = triangle_of(instr, n, left);
  for (int64_t batch = 0; batch * n * vectors < total; batch++) {
    triangle.a = (const Number *)wide_a->data + batch * n * n;
    Number *x = (Number *)wide_b->data + batch * n * vectors;
    for (int64_t v = 0; v < vectors; v++) substitute(&triangle, x + (left ? v : v * n), left ? vectors : 1);
  }
  *result = tensor_converted(wide_b, b->dtype);
  tensor_release(wide_a);
  tensor_release(wide_b);
  return STATUS_OK;
}

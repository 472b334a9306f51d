/* fft: discrete Fourier transforms over the last one to three dimensions, in complex doubles. A line of n = p
 * * m is p transforms of m elements and m sums of p (Cooley and Tukey, 1965), p the smallest factor of n. */
#include "sim/eval/evaluators.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

typedef complex double Number;

static int64_t smallest_factor(int64_t n) {
  for (int64_t p = 2; p * p <= n; p++) {
    if (n % p == 0) return p;
  }
  return n;
}

/* out[k] = sum of in[j * step] * root^(j k), where roots[i * stride] are the powers of the n-th root. */
static void transform(int64_t n, const Number *in, int64_t step, Number *out, const Number *roots,
                      int64_t stride, Number *space) {
  if (n == 1) {
    out[0] = in[0];
    return;
  }
  int64_t p = smallest_factor(n), m = n / p;
  for (int64_t r = 0; r < p; r++)
    transform(m, in + r * step, step * p, out + r * m, roots, stride * p, space);
  for (int64_t k = 0; k < m; k++) {
    for (int64_t r = 0; r < p; r++) space[r] = out[r * m + k];
    for (int64_t q = 0; q < p; q++) {
      Number sum = 0;
      for (int64_t r = 0; r < p; r++) sum += space[r] * roots[r * (k + q * m) % n * stride];
      out[k + q * m] = sum;
    }
  }
}

/* All lines along a dimension of a complex array, in place; the inverse is divided by its length. */
static void transform_dimension(Tensor *x, uint32_t d, bool inverse) {
  int64_t n = x->dims[d], inner = 1, total = tensor_elements(x);
  for (uint32_t i = d + 1; i < x->rank; i++) inner *= x->dims[i];
  if (n < 2 || total == 0) return;
  Number *roots = malloc((size_t)(3 * n) * sizeof *roots), *line = roots + n, *space = roots + 2 * n;
  for (int64_t i = 0; i < n; i++) roots[i] = cexp((inverse ? 2 : -2) * M_PI * I * (double)i / (double)n);
  Number *numbers = (Number *)x->data;
  for (int64_t at = 0; at < total; at += at % inner == inner - 1 ? (n - 1) * inner + 1 : 1) {
    transform(n, numbers + at, inner, line, roots, 1, space);
    for (int64_t i = 0; i < n; i++) numbers[at + i * inner] = inverse ? line[i] / (double)n : line[i];
  }
  free(roots);
}

/* A copy whose last dimension is cut or extended to `size`; what is new is 0. */
static Tensor *resized(const Tensor *x, int64_t size) {
  int64_t dims[EVAL_MAX_RANK], old = x->dims[x->rank - 1], kept = old < size ? old : size;
  for (uint32_t d = 0; d < x->rank; d++) dims[d] = x->dims[d];
  dims[x->rank - 1] = size;
  Tensor *out = tensor_new_array(x->dtype, dims, x->rank, true);
  Number *to = (Number *)out->data;
  const Number *from = (const Number *)x->data;
  int64_t lines = size == 0 ? 0 : tensor_elements(out) / size;
  for (int64_t line = 0; line < lines; line++) {
    for (int64_t i = 0; i < size; i++) to[line * size + i] = i < kept ? from[line * old + i] : 0;
  }
  return out;
}

/* The second half of each line from the first, as a transform of real values has it. */
static void complete_hermitian(Tensor *x) {
  int64_t n = x->dims[x->rank - 1], total = tensor_elements(x);
  Number *numbers = (Number *)x->data;
  for (int64_t at = 0; at < total; at += n) {
    numbers[at] = creal(numbers[at]);
    if (n % 2 == 0) numbers[at + n / 2] = creal(numbers[at + n / 2]);
    for (int64_t i = n / 2 + 1; i < n; i++) numbers[at + i] = conj(numbers[at + n - i]);
  }
}

static void transform_outer(Tensor *x, Ints lengths, bool inverse) {
  for (uint32_t i = 0; i + 1 < lengths.n; i++) transform_dimension(x, x->rank - lengths.n + i, inverse);
}

Status eval_fft(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  Str type = instr_word(instr, ATTR_fft_type);
  Ints lengths = instr_ints(instr, ATTR_fft_length);
  uint32_t rank = operands[0]->rank;
  if (lengths.n == 0 || lengths.n > rank)
    return eval_unsupported(context, instr, "an fft of these dimensions");
  bool inverse = str_is(type, "IFFT") || str_is(type, "IRFFT"), to_real = str_is(type, "IRFFT");
  Tensor *x = tensor_unique(tensor_converted(operands[0], DTYPE_C128));
  if (to_real) {
    transform_outer(x, lengths, inverse);
    Tensor *whole = resized(x, lengths.at[lengths.n - 1]);
    tensor_release(x);
    x = whole;
    complete_hermitian(x);
    transform_dimension(x, rank - 1, inverse);
  } else {
    transform_dimension(x, rank - 1, inverse);
    Tensor *kept = resized(x, instr->shape->dims[rank - 1]);
    tensor_release(x);
    x = kept;
    transform_outer(x, lengths, inverse);
  }
  *result = tensor_converted(x, instr->shape->dtype);
  tensor_release(x);
  return STATUS_OK;
}

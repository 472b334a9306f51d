/* dot: every layout of operands against the plain loops. */
#include "eval_bench.h"
#include "sim/eval/dot.h"

/* A dot with every dimension named by a letter: those in both operands and the result are batch, those in
 * both operands only are contracting. A letter says its size. */
typedef struct {
  const char *lhs, *rhs, *out;
} Einsum;

static int64_t size_of(char letter) {
  return letter - 'a' + 2;
}

static uint32_t dims_of(const char *letters, int64_t *dims) {
  uint32_t rank = (uint32_t)strlen(letters);
  for (uint32_t d = 0; d < rank; d++) dims[d] = size_of(letters[d]);
  return rank;
}

/* The places in `letters` of those that both operands have, in the order of rhs: those of the result (batch)
 * or the others (contracting). */
static uint32_t places_of(const Einsum *e, const char *letters, bool batch, int64_t *places) {
  uint32_t n = 0;
  for (const char *c = e->rhs; *c; c++) {
    bool in_both = strchr(e->lhs, *c) != NULL, in_out = strchr(e->out, *c) != NULL;
    if (in_both && in_out == batch) places[n++] = strchr(letters, *c) - letters;
  }
  return n;
}

static void set_dims(Bench *bench, Instr *instr, AttrId id, const Einsum *e, const char *letters,
                     bool batch) {
  int64_t places[8];
  uint32_t n = places_of(e, letters, batch, places);
  instr_set_ints(bench->module, instr, id, places, n);
}

static double element(const Tensor *x, const char *letters, const int64_t *index) {
  int64_t at = 0;
  for (uint32_t d = 0; d < x->rank; d++) at = at * x->dims[d] + index[letters[d] - 'a'];
  return tensor_double_at(x, at);
}

/* The sum over all letters that are not in `out`, by the definition. */
static double expected(const Einsum *e, const Tensor *lhs, const Tensor *rhs, int64_t out_at) {
  int64_t index[8] = {0};
  for (size_t d = strlen(e->out); d-- > 0;) {
    index[e->out[d] - 'a'] = out_at % size_of(e->out[d]);
    out_at /= size_of(e->out[d]);
  }
  char summed[8] = "";
  size_t n = 0;
  for (const char *c = e->lhs; *c; c++) {
    if (strchr(e->out, *c) == NULL) summed[n++] = *c;
  }
  double sum = 0;
  for (;;) {
    sum += element(lhs, e->lhs, index) * element(rhs, e->rhs, index);
    size_t d = 0;
    for (; d < n; d++) {
      if (++index[summed[d] - 'a'] < size_of(summed[d])) break;
      index[summed[d] - 'a'] = 0;
    }
    if (d == n) return sum;
  }
}

static void check_einsum(const Einsum *e, DType dtype, DType result_dtype) {
  Bench bench = bench_new();
  int64_t lhs_dims[8], rhs_dims[8], out_dims[8];
  uint32_t l = dims_of(e->lhs, lhs_dims), r = dims_of(e->rhs, rhs_dims), o = dims_of(e->out, out_dims);
  Tensor *lhs = array_ramp(dtype, l, lhs_dims, -3, 1), *rhs = array_ramp(dtype, r, rhs_dims, 2, -1);
  uint32_t p = bench_param(&bench, lhs), q = bench_param(&bench, rhs);
  uint32_t dot = bench_op(&bench, OP_DOT, bench_shape(&bench, result_dtype, o, out_dims), 2, p, q);
  Instr *instr = bench_instr(&bench, dot);
  set_dims(&bench, instr, ATTR_lhs_batch_dims, e, e->lhs, true);
  set_dims(&bench, instr, ATTR_rhs_batch_dims, e, e->rhs, true);
  set_dims(&bench, instr, ATTR_lhs_contracting_dims, e, e->lhs, false);
  set_dims(&bench, instr, ATTR_rhs_contracting_dims, e, e->rhs, false);
  Tensor *result = bench_run(&bench);
  for (int64_t i = 0; i < tensor_elements(result); i++) {
    double want = expected(e, lhs, rhs, i), got = tensor_double_at(result, i);
    cr_assert_eq(got, want, "%s,%s->%s %s: element %ld is %g, not %g", e->lhs, e->rhs, e->out,
                 dtype_text(dtype), (long)i, got, want);
  }
  tensor_release(result);
  bench_free(&bench);
}

static const Einsum einsums[] = {
    {"ab", "bc", "ac"},    {"ba", "bc", "ac"},      {"ab", "cb", "ac"},      {"ba", "cb", "ac"},
    {"dab", "dbc", "dac"}, {"abd", "bcd", "dac"},   {"adb", "bdc", "dac"},   {"a", "a", ""},
    {"ab", "b", "a"},      {"b", "bc", "c"},        {"a", "b", "ab"},        {"abc", "cbd", "ad"},
    {"cab", "bdc", "ad"},  {"ebad", "edbc", "eac"}, {"aecb", "dbce", "ead"}, {"", "ab", "ab"},
};

Test(dot, every_layout_and_type) {
  const struct {
    DType operand, result;
  } types[] = {{DTYPE_F32, DTYPE_F32},   {DTYPE_F64, DTYPE_F64},  {DTYPE_C64, DTYPE_C64},
               {DTYPE_C128, DTYPE_C128}, {DTYPE_S32, DTYPE_S32},  {DTYPE_S8, DTYPE_S32},
               {DTYPE_U8, DTYPE_U32},    {DTYPE_BF16, DTYPE_F32}, {DTYPE_F16, DTYPE_F32},
               {DTYPE_S16, DTYPE_F32},   {DTYPE_S64, DTYPE_S64}};
  for (uint32_t t = 0; t < sizeof types / sizeof *types; t++) {
    for (uint32_t i = 0; i < sizeof einsums / sizeof *einsums; i++)
      check_einsum(&einsums[i], types[t].operand, types[t].result);
  }
}

static Tensor *run_product(DType dtype, DType result, int64_t k, double x, double y) {
  Bench bench = bench_new();
  uint32_t p = bench_param(&bench, array_ramp(dtype, DIMS(1, k), x, 0));
  uint32_t q = bench_param(&bench, array_ramp(dtype, DIMS(k, 1), y, 0));
  uint32_t dot = bench_op(&bench, OP_DOT, bench_shape(&bench, result, DIMS(1, 1)), 2, p, q);
  instr_set_ints(bench.module, bench_instr(&bench, dot), ATTR_lhs_contracting_dims, (int64_t[]){1}, 1);
  instr_set_ints(bench.module, bench_instr(&bench, dot), ATTR_rhs_contracting_dims, (int64_t[]){0}, 1);
  Tensor *product = bench_run(&bench);
  bench_free(&bench);
  return product;
}

Test(dot, bf16_accumulates_in_f32_and_rounds_once) {
  Tensor *product = run_product(DTYPE_BF16, DTYPE_BF16, 1001, 1, 1);
  expect_values(product, VALUES(1000)); /* 1001 rounded to 8 bits; a bf16 sum would stop at 256 */
  tensor_release(product);
}

Test(dot, integers_wrap) {
  Tensor *product = run_product(DTYPE_S8, DTYPE_S8, 3, 100, 100);
  expect_values(product, VALUES((int8_t)30000));
  tensor_release(product);
}

Test(dot, an_empty_sum_is_zero) {
  Tensor *product = run_product(DTYPE_F32, DTYPE_F32, 0, 1, 1);
  expect_values(product, VALUES(0));
  tensor_release(product);
}

Test(matmul, agrees_with_the_plain_loops) {
  enum { M = 37, N = 41, K = 53, B = 2 };
  for (int t = 0; t < 3; t++) {
    DType dtype = (DType[]){DTYPE_F32, DTYPE_F64, DTYPE_S32}[t];
    Tensor *a = array_ramp(dtype, DIMS(B, M, K), -100, 1), *b = array_ramp(dtype, DIMS(B, N, K), 7, -2);
    Tensor *fast = tensor_new_array(dtype, (int64_t[]){B, M, N}, 3, true);
    Tensor *plain = tensor_new_array(dtype, (int64_t[]){B, M, N}, 3, true);
    Matrices lhs = {a->data, M * K, K, 1}, rhs = {b->data, N * K, 1, K};
    matmul(dtype, B, M, N, K, lhs, rhs, fast->data);
    matmul_plain(dtype, B, M, N, K, lhs, rhs, plain->data);
    for (int64_t i = 0; i < tensor_elements(fast); i++) {
      double got = tensor_double_at(fast, i), want = tensor_double_at(plain, i);
      cr_assert(fabs(got - want) <= 1e-5 * fabs(want) + 1e-3, "%ld: %g and %g", (long)i, got, want);
    }
    tensor_release(a);
    tensor_release(b);
    tensor_release(fast);
    tensor_release(plain);
  }
}

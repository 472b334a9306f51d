/* Linear algebra through LAPACK: cholesky and triangular-solve, the calls that JAX makes on a CPU
 * (lapack_*_ffi: operands, results and attributes are those of the LAPACK routine), and the portable custom
 * calls Qr, LuDecomposition, Eigh and ProductOfElementaryHouseholderReflectors. Anderson et al., LAPACK
 * Users' Guide. */
#include "sim/eval/matrices.h"

#include <complex.h>
#define lapack_complex_float  float complex
#define lapack_complex_double double complex
#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns that a blocked routine works on at once; its workspace is so many times the matrix's side. */
enum { BLOCK = 64 };

/* The routine of the matrix's type: one name for real ones, one for complex ones. */
#define LAPACK(call, real, complex, ...)                                                                     \
  ((call)->dtype == DTYPE_F32   ? LAPACKE_s##real(LAPACK_COL_MAJOR, __VA_ARGS__)                             \
   : (call)->dtype == DTYPE_F64 ? LAPACKE_d##real(LAPACK_COL_MAJOR, __VA_ARGS__)                             \
   : (call)->dtype == DTYPE_C64 ? LAPACKE_c##complex(LAPACK_COL_MAJOR, __VA_ARGS__)                          \
                                : LAPACKE_z##complex(LAPACK_COL_MAJOR, __VA_ARGS__))

static int32_t smaller(int32_t a, int32_t b) {
  return a < b ? a : b;
}

/* A leading dimension, which LAPACK wants to be 1 at least. */
static int32_t leading(int32_t rows) {
  return rows < 1 ? 1 : rows;
}

static void copy_part(const Part *to, const Part *from) {
  if (from->bytes != 0) memcpy(to->at, from->at, from->bytes);
}

static bool is_complex(const MatrixCall *call) {
  return dtype_class(call->dtype) == DCLASS_COMPLEX;
}

/* Element `at` of reals of the matrix's precision. */
static double real_at(const MatrixCall *call, const void *reals, int64_t at) {
  bool single = call->dtype == DTYPE_F32 || call->dtype == DTYPE_C64;
  return single ? (double)((const float *)reals)[at] : ((const double *)reals)[at];
}

static void put_complex(DType dtype, void *numbers, int64_t at, double re, double im) {
  if (dtype == DTYPE_C64)
    ((float complex *)numbers)[at] = __builtin_complex((float)re, (float)im);
  else
    ((double complex *)numbers)[at] = __builtin_complex(re, im);
}

/* A real value as element `at`. */
static void set_real(const MatrixCall *call, const Part *part, int64_t at, double value) {
  if (is_complex(call))
    put_complex(call->dtype, part->at, at, value, 0);
  else if (call->dtype == DTYPE_F32)
    ((float *)part->at)[at] = (float)value;
  else
    ((double *)part->at)[at] = value;
}

static bool is_finite(const MatrixCall *call, const Part *part) {
  int64_t n = (int64_t)part->rows * part->columns * (is_complex(call) ? 2 : 1);
  for (int64_t i = 0; i < n; i++) {
    if (!isfinite(real_at(call, part->at, i))) return false;
  }
  return true;
}

/* Workspace for `n` blocks of numbers of either kind. */
static void *new_work(int32_t n) {
  return calloc((size_t)leading(n) * BLOCK, sizeof(double complex));
}

/* A letter among the call's attributes: uplo = 76 is 'L'. */
static char letter(const MatrixCall *call, const char *key, char fallback) {
  int64_t value;
  return instr_config_int(call->instr, key, &value) ? (char)value : fallback;
}

/* --- Cholesky, LU and QR. --- */

static int32_t potrf(const MatrixCall *call) {
  const Part *a = &call->results[0];
  copy_part(a, &call->operands[0]);
  return LAPACK(call, potrf_work, potrf_work, letter(call, "uplo", 'L'), a->rows, a->at, leading(a->rows));
}

/* The op: zeros in the other triangle; NaN all over where the matrix is not positive definite. */
static int32_t cholesky(const MatrixCall *call) {
  const Part *a = &call->results[0];
  bool lower = instr_flag(call->instr, ATTR_lower);
  copy_part(a, &call->operands[0]);
  int32_t info = LAPACK(call, potrf_work, potrf_work, lower ? 'L' : 'U', a->rows, a->at, leading(a->rows));
  for (int64_t j = 0; j < a->columns; j++) {
    for (int64_t i = 0; i < a->rows; i++) {
      if (info != 0)
        set_real(call, a, j * a->rows + i, NAN);
      else if (lower ? i < j : i > j)
        set_real(call, a, j * a->rows + i, 0);
    }
  }
  return info;
}

static int32_t getrf(const MatrixCall *call) {
  const Part *a = &call->results[0];
  copy_part(a, &call->operands[0]);
  return LAPACK(call, getrf_work, getrf_work, a->rows, a->columns, a->at, leading(a->rows),
                call->results[1].at);
}

/* Factors, the row that each row is exchanged with, and the permutation; rows count from 0. */
static int32_t lu_decomposition(const MatrixCall *call) {
  int32_t info = getrf(call), *pivots = call->results[1].at, *order = call->results[2].at;
  for (int32_t i = 0; i < call->results[2].rows; i++) order[i] = i;
  for (int32_t i = 0; i < call->results[1].rows; i++) {
    int32_t with = --pivots[i], here = order[i];
    order[i] = order[with];
    order[with] = here;
  }
  return info;
}

static int32_t geqrf(const MatrixCall *call) {
  const Part *a = &call->results[0];
  copy_part(a, &call->operands[0]);
  void *work = new_work(a->columns);
  int32_t info = LAPACK(call, geqrf_work, geqrf_work, a->rows, a->columns, a->at, leading(a->rows),
                        call->results[1].at, work, leading(a->columns) * BLOCK);
  free(work);
  return info;
}

/* QR with columns exchanged: the matrix, pivots in; the matrix, pivots, scales out. */
static int32_t geqp3(const MatrixCall *call) {
  const Part *a = &call->results[0];
  copy_part(a, &call->operands[0]);
  copy_part(&call->results[1], &call->operands[1]);
  return LAPACK(call, geqp3, geqp3, a->rows, a->columns, a->at, leading(a->rows), call->results[1].at,
                call->results[2].at);
}

static int32_t orgqr(const MatrixCall *call) {
  const Part *a = &call->results[0], *tau = &call->operands[1];
  copy_part(a, &call->operands[0]);
  void *work = new_work(a->columns);
  int32_t info = LAPACK(call, orgqr_work, ungqr_work, a->rows, a->columns, smaller(tau->rows, a->columns),
                        a->at, leading(a->rows), tau->at, work, leading(a->columns) * BLOCK);
  free(work);
  return info;
}

/* The product of the reflectors with a matrix, on either side. */
static int32_t ormqr(const MatrixCall *call) {
  const Part *a = &call->operands[0], *tau = &call->operands[1], *c = &call->results[0];
  copy_part(c, &call->operands[2]);
  bool left = instr_config_flag(call->instr, "left");
  char transpose = !instr_config_flag(call->instr, "transpose") ? 'N' : is_complex(call) ? 'C' : 'T';
  return LAPACK(call, ormqr, unmqr, left ? 'L' : 'R', transpose, c->rows, c->columns, tau->rows, a->at,
                leading(a->rows), tau->at, c->at, leading(c->rows));
}

/* --- Solving. --- */

typedef struct {
  CBLAS_SIDE side;
  CBLAS_UPLO uplo;
  CBLAS_TRANSPOSE transpose;
  CBLAS_DIAG diagonal;
} Triangle;

#define TRSM(prefix, one)                                                                                    \
  cblas_##prefix##trsm(CblasColMajor, t.side, t.uplo, t.transpose, t.diagonal, x->rows, x->columns, one,     \
                       a->at, leading(a->rows), x->at, leading(x->rows))

static int32_t solve_triangle(const MatrixCall *call, Triangle t) {
  const Part *a = &call->operands[0], *x = &call->results[0];
  copy_part(x, &call->operands[1]);
  switch (call->dtype) {
  case DTYPE_F32: TRSM(s, 1); break;
  case DTYPE_F64: TRSM(d, 1); break;
  case DTYPE_C64: TRSM(c, &(float complex){1}); break;
  default: TRSM(z, &(double complex){1}); break;
  }
  return 0;
}

static CBLAS_TRANSPOSE transpose_of(char first_letter) {
  return first_letter == 'N' ? CblasNoTrans : first_letter == 'T' ? CblasTrans : CblasConjTrans;
}

static int32_t trsm(const MatrixCall *call) {
  return solve_triangle(call, (Triangle){letter(call, "side", 'L') == 'L' ? CblasLeft : CblasRight,
                                         letter(call, "uplo", 'L') == 'L' ? CblasLower : CblasUpper,
                                         transpose_of(letter(call, "trans_x", 'N')),
                                         letter(call, "diag", 'N') == 'U' ? CblasUnit : CblasNonUnit});
}

static int32_t triangular_solve(const MatrixCall *call) {
  const Instr *instr = call->instr;
  Str transpose = instr_word(instr, ATTR_transpose_a);
  return solve_triangle(call, (Triangle){instr_flag(instr, ATTR_left_side) ? CblasLeft : CblasRight,
                                         instr_flag(instr, ATTR_lower) ? CblasLower : CblasUpper,
                                         transpose_of(transpose.n == 0 ? 'N' : transpose.at[0]),
                                         instr_flag(instr, ATTR_unit_diagonal) ? CblasUnit : CblasNonUnit});
}

/* Tridiagonal: diagonals below, on and above, and right sides, each with its result. The first element below
 * and the last above stand for nothing. */
static int32_t gtsv(const MatrixCall *call) {
  for (uint32_t i = 0; i < 4; i++) copy_part(&call->results[i], &call->operands[i]);
  const Part *b = &call->results[3];
  char *below = call->results[0].at;
  return LAPACK(call, gtsv_work, gtsv_work, b->rows, b->columns, (void *)(below + dtype_bytes(call->dtype)),
                call->results[1].at, call->results[2].at, b->at, leading(b->rows));
}

/* --- Eigenvalues and singular values. --- */

static int32_t symmetric(const MatrixCall *call, char uplo, char mode) {
  const Part *vectors = &call->results[0];
  copy_part(vectors, &call->operands[0]);
  return LAPACK(call, syevd, heevd, mode, uplo, vectors->rows, vectors->at, leading(vectors->rows),
                call->results[1].at);
}

static int32_t syevd(const MatrixCall *call) {
  return symmetric(call, letter(call, "uplo", 'L'), letter(call, "mode", 'V'));
}

/* Configured by a text "lower,sort,…". */
static int32_t eigh(const MatrixCall *call) {
  Str config = instr_word(call->instr, ATTR_backend_config);
  bool upper = str_starts(config, "0") || str_starts(config, "\"0");
  return symmetric(call, upper ? 'U' : 'L', 'V');
}

/* Eigenvectors as LAPACK packs those of a real matrix, spread to complex: a pair of conjugate eigenvalues has
 * the real parts in one column and the imaginary ones in the next. */
static void unpack_vectors(const MatrixCall *call, const void *imaginary, const void *packed, void *vectors) {
  int64_t n = call->operands[0].rows;
  DType dtype = call->dtype == DTYPE_F32 ? DTYPE_C64 : DTYPE_C128;
  for (int64_t j = 0; j < n; j++) {
    bool pair = real_at(call, imaginary, j) != 0 && j + 1 < n;
    for (int64_t i = 0; i < n; i++) {
      double re = real_at(call, packed, j * n + i), im = pair ? real_at(call, packed, (j + 1) * n + i) : 0;
      put_complex(dtype, vectors, j * n + i, re, im);
      if (pair) put_complex(dtype, vectors, (j + 1) * n + i, re, -im);
    }
    j += pair;
  }
}

#define GEEV(prefix)                                                                                         \
  LAPACKE_##prefix##geev(LAPACK_COL_MAJOR, left, right, n, call->operands[0].at, leading(n),                 \
                         call->results[0].at, im, (void *)packed, leading(n), (void *)(packed + size),       \
                         leading(n))

static int32_t geev_real(const MatrixCall *call, char left, char right) {
  int32_t n = call->operands[0].rows;
  size_t size = (size_t)leading(n) * leading(n) * dtype_bytes(call->dtype);
  char *packed = calloc(2, size);
  void *im = call->results[1].at;
  int32_t info = call->dtype == DTYPE_F32 ? GEEV(s) : GEEV(d);
  if (left == 'V') unpack_vectors(call, im, packed, call->results[2].at);
  if (right == 'V') unpack_vectors(call, im, packed + size, call->results[3].at);
  free(packed);
  return info;
}

#define GEEV_COMPLEX(prefix)                                                                                 \
  LAPACKE_##prefix##geev(LAPACK_COL_MAJOR, left, right, n, call->operands[0].at, leading(n),                 \
                         call->results[0].at, call->results[1].at, leading(n), call->results[2].at,          \
                         leading(n))

/* Eigenvalues (real and imaginary parts of a real matrix), left and right eigenvectors. */
static int32_t geev(const MatrixCall *call) {
  int32_t n = call->operands[0].rows;
  char left = letter(call, "compute_left", 'N'), right = letter(call, "compute_right", 'V');
  if (!is_finite(call, &call->operands[0])) return -4;
  if (!is_complex(call)) return geev_real(call, left, right);
  return call->dtype == DTYPE_C64 ? GEEV_COMPLEX(c) : GEEV_COMPLEX(z);
}

#define GEES(prefix, ...)                                                                                    \
  LAPACKE_##prefix##gees(LAPACK_COL_MAJOR, mode, 'N', NULL, n, form->at, leading(n), &sorted, __VA_ARGS__,   \
                         vectors->at, leading(n))

/* The Schur form, vectors, eigenvalues (real and imaginary parts of a real matrix), how many were sorted. */
static int32_t gees(const MatrixCall *call) {
  const Part *form = &call->results[0], *vectors = &call->results[1];
  char mode = letter(call, "mode", 'V');
  int32_t n = form->rows, sorted;
  void *re = call->results[2].at, *im = call->results[3].at;
  copy_part(form, &call->operands[0]);
  if (!is_finite(call, form)) return -4;
  switch (call->dtype) {
  case DTYPE_F32: return GEES(s, re, im);
  case DTYPE_F64: return GEES(d, re, im);
  case DTYPE_C64: return GEES(c, re);
  default: return GEES(z, re);
  }
}

/* The matrix (overwritten), singular values, U, V^H. */
static int32_t gesdd(const MatrixCall *call) {
  const Part *a = &call->operands[0], *u = &call->results[2], *v = &call->results[3];
  return LAPACK(call, gesdd, gesdd, letter(call, "mode", 'A'), a->rows, a->columns, a->at, leading(a->rows),
                call->results[1].at, u->at, leading(u->rows), v->at, leading(v->rows));
}

/* --- Reductions to Hessenberg and tridiagonal form. --- */

static int32_t gehrd(const MatrixCall *call) {
  const Part *a = &call->results[0];
  int64_t low = 1, high = a->rows;
  copy_part(a, &call->operands[0]);
  instr_config_int(call->instr, "low", &low);
  instr_config_int(call->instr, "high", &high);
  return LAPACK(call, gehrd, gehrd, a->rows, (int32_t)low, (int32_t)high, a->at, leading(a->rows),
                call->results[1].at);
}

static int32_t sytrd(const MatrixCall *call) {
  const Part *a = &call->results[0];
  copy_part(a, &call->operands[0]);
  return LAPACK(call, sytrd, hetrd, letter(call, "uplo", 'L'), a->rows, a->at, leading(a->rows),
                call->results[1].at, call->results[2].at, call->results[3].at);
}

/* --- The evaluators, with what operands and results hold. --- */

#define EVALUATOR(routine, form)                                                                             \
  Status eval_##routine(const EvalContext *context, const Instr *instr, Tensor *const *operands,             \
                        Tensor **result) {                                                                   \
    return eval_matrices(context, instr, operands, form, routine, result);                                   \
  }

static bool has_complex(Tensor *const *operands) {
  return dtype_class(operands[0]->dtype) == DCLASS_COMPLEX;
}

static bool on_the_left(const Instr *instr) {
  int64_t side = 'L';
  instr_config_int(instr, "side", &side);
  return side == 'L';
}

/* U and V^H whole, of as many columns and rows as there are values, or not asked for. */
static const char *gesdd_form(const Instr *instr) {
  int64_t mode = 'A';
  instr_config_int(instr, "mode", &mode);
  return mode == 'A' ? "mn>mn k:r mm nn :i" : mode == 'S' ? "mn>mn k:r mk kn :i" : "mn>mn k:r ab cd :i";
}

EVALUATOR(cholesky, "nn>nn")
EVALUATOR(triangular_solve, instr_flag(instr, ATTR_left_side) ? "nn na>na" : "nn an>an")
EVALUATOR(potrf, "nn>nn :i")
EVALUATOR(getrf, "mn>mn k:i :i")
EVALUATOR(lu_decomposition, "mn>mn k:i m:i")
EVALUATOR(geqrf, "mn>mn k")
EVALUATOR(geqp3, "mn n:i>mn n:i k")
EVALUATOR(orgqr, "mn q>mn")
EVALUATOR(ormqr, instr_config_flag(instr, "left") ? "mn q ma>ma" : "mn q am>am")
EVALUATOR(trsm, on_the_left(instr) ? "nn na>na" : "nn an>an")
EVALUATOR(gtsv, "n n n na>n n n na :i")
EVALUATOR(syevd, "nn>nn n:r :i")
EVALUATOR(eigh, "nn>nn n:r")
EVALUATOR(geev, has_complex(operands) ? "nn>n nn nn :i" : "nn>n n nn:c nn:c :i")
EVALUATOR(gees, has_complex(operands) ? "nn>nn nn n :i :i" : "nn>nn nn n n :i :i")
EVALUATOR(gesdd, gesdd_form(instr))
EVALUATOR(gehrd, "nn>nn p :i")
EVALUATOR(sytrd, "nn>nn n:r p:r p :i")

/* Matrix products: OpenBLAS on one thread for floats, own loops for integers. */
#include "sim/eval/dot.h"
#include "sim/eval/kernel.h"

#include <cblas.h>
#include <limits.h>
#include <string.h>

/* One thread a call: podsim runs many chips' ops side by side, and numbers must not depend on the threads. */
__attribute__((constructor)) static void use_one_thread(void) {
  openblas_set_num_threads(1);
}

typedef struct {
  int64_t m, n, k;
} Sizes;

/* U is the type that sums wrap in. */
#define PLAIN(name, t, u)                                                                                    \
  static void plain_##name(Sizes size, const void *left, Matrices lhs, const void *right, Matrices rhs,      \
                           void *out) {                                                                      \
    const t *a = left, *b = right;                                                                           \
    t *sums = out;                                                                                           \
    for (int64_t i = 0; i < size.m; i++) {                                                                   \
      for (int64_t j = 0; j < size.n; j++) {                                                                 \
        u sum = 0;                                                                                           \
        for (int64_t p = 0; p < size.k; p++)                                                                 \
          sum += (u)a[i * lhs.row_step + p * lhs.column_step] * b[p * rhs.row_step + j * rhs.column_step];   \
        sums[i * size.n + j] = (t)sum;                                                                       \
      }                                                                                                      \
    }                                                                                                        \
  }

/* Row by row: the inner loop adds a multiple of a dense row of rhs, which the compiler vectorises. */
#define ROWWISE(name, t, u)                                                                                  \
  VECTORISED static void rowwise_##name(Sizes size, const void *left, Matrices lhs, const void *right,       \
                                        Matrices rhs, void *out) {                                           \
    const t *a = left, *b = right;                                                                           \
    for (int64_t i = 0; i < size.m; i++) {                                                                   \
      t *row = (t *)out + i * size.n;                                                                        \
      memset(row, 0, (size_t)size.n * sizeof *row);                                                          \
      for (int64_t p = 0; p < size.k; p++) {                                                                 \
        const u factor = a[i * lhs.row_step + p * lhs.column_step];                                          \
        const t *from = b + p * rhs.row_step;                                                                \
        EACH(j, size.n) row[j] = (t)(row[j] + factor * from[j]);                                             \
      }                                                                                                      \
    }                                                                                                        \
  }

PLAIN(u8, uint8_t, uint32_t)
PLAIN(u16, uint16_t, uint32_t)
PLAIN(u32, uint32_t, uint32_t)
PLAIN(u64, uint64_t, uint64_t)
PLAIN(f32, float, float)
PLAIN(f64, double, double)
PLAIN(c64, complex float, complex float)
PLAIN(c128, complex double, complex double)
ROWWISE(u8, uint8_t, uint32_t)
ROWWISE(u16, uint16_t, uint32_t)
ROWWISE(u32, uint32_t, uint32_t)
ROWWISE(u64, uint64_t, uint64_t)

typedef void (*Product)(Sizes size, const void *left, Matrices lhs, const void *right, Matrices rhs,
                        void *out);

static Product plain_product(DType dtype) {
  switch (dtype) {
  case DTYPE_F32: return plain_f32;
  case DTYPE_F64: return plain_f64;
  case DTYPE_C64: return plain_c64;
  case DTYPE_C128: return plain_c128;
  default: break;
  }
  switch (dtype_bytes(dtype)) {
  case 1: return plain_u8;
  case 2: return plain_u16;
  case 4: return plain_u32;
  default: return plain_u64;
  }
}

bool matrix_is_dense(Matrices matrix, int64_t rows, int64_t columns) {
  bool by_rows = matrix.column_step == 1 && matrix.row_step >= columns;
  bool by_columns = matrix.row_step == 1 && matrix.column_step >= rows;
  return by_rows || by_columns;
}

/* How BLAS is told of a matrix: transposed or not, and the step between its rows. */
typedef struct {
  CBLAS_TRANSPOSE transpose;
  blasint leading;
} BlasMatrix;

static BlasMatrix blas_matrix(Matrices matrix, int64_t rows, int64_t columns) {
  if (matrix.column_step == 1 && matrix.row_step >= columns)
    return (BlasMatrix){CblasNoTrans, (blasint)(matrix.row_step > 0 ? matrix.row_step : 1)};
  (void)rows;
  return (BlasMatrix){CblasTrans, (blasint)(matrix.column_step > 0 ? matrix.column_step : 1)};
}

#define GEMM(name, gemm, one, zero)                                                                          \
  static void blas_##name(Sizes size, const void *left, Matrices lhs, const void *right, Matrices rhs,       \
                          void *out) {                                                                       \
    BlasMatrix a = blas_matrix(lhs, size.m, size.k), b = blas_matrix(rhs, size.k, size.n);                   \
    gemm(CblasRowMajor, a.transpose, b.transpose, (blasint)size.m, (blasint)size.n, (blasint)size.k, one,    \
         left, a.leading, right, b.leading, zero, out, (blasint)size.n);                                     \
  }
GEMM(f32, cblas_sgemm, 1, 0)
GEMM(f64, cblas_dgemm, 1, 0)
GEMM(c64, cblas_cgemm, &(complex float){1}, &(complex float){0})
GEMM(c128, cblas_zgemm, &(complex double){1}, &(complex double){0})

static Product blas_product(DType dtype) {
  switch (dtype) {
  case DTYPE_F32: return blas_f32;
  case DTYPE_F64: return blas_f64;
  case DTYPE_C64: return blas_c64;
  case DTYPE_C128: return blas_c128;
  default: return NULL;
  }
}

static Product rowwise_product(DType dtype) {
  switch (dtype_bytes(dtype)) {
  case 1: return rowwise_u8;
  case 2: return rowwise_u16;
  case 4: return rowwise_u32;
  default: return rowwise_u64;
  }
}

static bool fits_blas(Sizes size, Matrices lhs, Matrices rhs) {
  int64_t largest =
      size.m | size.n | size.k | lhs.row_step | lhs.column_step | rhs.row_step | rhs.column_step;
  return largest < INT_MAX && matrix_is_dense(lhs, size.m, size.k) && matrix_is_dense(rhs, size.k, size.n);
}

static void run_batches(Product product, DType dtype, int64_t batch, Sizes size, Matrices lhs, Matrices rhs,
                        void *out) {
  int64_t bytes = dtype_bytes(dtype);
  for (int64_t b = 0; b < batch; b++)
    product(size, (const char *)lhs.data + b * lhs.batch_step * bytes, lhs,
            (const char *)rhs.data + b * rhs.batch_step * bytes, rhs,
            (char *)out + b * size.m * size.n * bytes);
}

void matmul_plain(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, Matrices lhs, Matrices rhs,
                  void *out) {
  run_batches(plain_product(dtype), dtype, batch, (Sizes){m, n, k}, lhs, rhs, out);
}

void matmul(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, Matrices lhs, Matrices rhs,
            void *out) {
  Sizes size = {m, n, k};
  if (m == 0 || n == 0) return;
  Product blas = blas_product(dtype), product = plain_product(dtype);
  if (k != 0 && blas != NULL && fits_blas(size, lhs, rhs)) product = blas;
  if (blas == NULL && rhs.column_step == 1) product = rowwise_product(dtype);
  run_batches(product, dtype, batch, size, lhs, rhs, out);
}

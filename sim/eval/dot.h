/* Products of matrices, row-major, in batches: what dot and convolution are made of. */
#pragma once

#include "sim/ir/shape.h"

/* A matrix of rows by columns; steps are in elements. */
typedef struct {
  const void *data;
  int64_t batch_step, row_step, column_step;
} Matrices;

/* out[b] = lhs[b] (m by k) times rhs[b] (k by n) for b in [0, batch), out dense [batch, m, n]. All of type
 * `dtype`: f32, f64, c64, c128 or a wrapping integer (signs do not matter, so by the unsigned type of the
 * width). By OpenBLAS where it has the type, else by plain loops. */
void matmul(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, Matrices lhs, Matrices rhs,
            void *out);
/* The same by three plain loops: the oracle. */
void matmul_plain(DType dtype, int64_t batch, int64_t m, int64_t n, int64_t k, Matrices lhs, Matrices rhs,
                  void *out);
/* Whether OpenBLAS can take a matrix as it lies: one step is 1 and the other no smaller than the row it steps
 * over. */
bool matrix_is_dense(Matrices matrix, int64_t rows, int64_t columns);

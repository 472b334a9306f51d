/* Batches of matrices as LAPACK takes them: column-major, of f32, f64, c64 or c128 (smaller floats as f32).
 */
#pragma once

#include "sim/eval/evaluators.h"

enum { MATRIX_PARTS = 6 };

/* An operand or result of one matrix of the batch. A vector has one column. */
typedef struct {
  void *at;
  int32_t rows, columns;
  size_t bytes;
} Part;

typedef struct {
  const Instr *instr;
  DType dtype; /* of the first operand */
  uint32_t n_operands, n_results;
  Part operands[MATRIX_PARTS], results[MATRIX_PARTS];
} MatrixCall;

/* What a routine computes for one matrix of the batch, and LAPACK's info. Results start as zeros. */
typedef int32_t MatrixRoutine(const MatrixCall *call);

/* Runs a routine over the batch dimensions, all before the last two of the operand of highest rank.
 *
 * `form` says what operands and results hold of one matrix: "mn ni>mn k:r :i" is a matrix of m by n and a
 * vector of n; a matrix, a real vector and an s32. A letter is one size throughout, but k is the smaller of m
 * and n, p is n - 1, and q is at most k. Types: r real, c complex, i s32, else that of the first operand.
 * Other shapes are an error. Where the last result is one s32 it is the routine's info. */
Status eval_matrices(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                     const char *form, MatrixRoutine *routine, Tensor **result);

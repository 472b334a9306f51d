/* The product of a sparse matrix, its rows compressed (CSR), with a dense vector or matrix: the call that
 * JAX's BCSR makes on a CPU. Operands are values, where each row starts, columns, and the dense side. */
#include "sim/eval/evaluators.h"

#include <complex.h>
#include <string.h>

typedef struct {
  const Tensor *values, *starts, *columns, *dense;
  int64_t rows, width; /* of the result */
} SparseProduct;

static bool form_fits(const Instr *instr, Tensor *const *operands) {
  const Shape *shape = instr->shape;
  if (instr->operands.n != 4 || !shape_is_array(shape)) return false;
  for (uint32_t i = 0; i < 4; i++) {
    if (operands[i]->dtype == DTYPE_TUPLE) return false;
  }
  const Tensor *values = operands[0], *starts = operands[1], *columns = operands[2], *dense = operands[3];
  return values->rank == 1 && starts->rank == 1 && columns->rank == 1 &&
         values->dims[0] == columns->dims[0] && (dense->rank == 1 || dense->rank == 2) &&
         shape->rank == dense->rank && starts->dims[0] == shape->dims[0] + 1 &&
         (dense->rank == 1 || dense->dims[1] == shape->dims[1]) && dtype_is_integer(starts->dtype) &&
         dtype_is_integer(columns->dtype);
}

/* One row of the result; entries that point beyond the dense side count nothing. */
static void add_row(const SparseProduct *p, int64_t row, Tensor *sums) {
  int64_t first = tensor_int_at(p->starts, row), stop = tensor_int_at(p->starts, row + 1);
  if (first < 0) first = 0;
  if (stop > p->values->dims[0]) stop = p->values->dims[0];
  double complex *sum = (double complex *)sums->data + row * p->width;
  for (int64_t e = first; e < stop; e++) {
    int64_t column = tensor_int_at(p->columns, e);
    if (column < 0 || column >= p->dense->dims[0]) continue;
    const double complex *from = (const double complex *)p->dense->data + column * p->width;
    for (int64_t i = 0; i < p->width; i++) sum[i] += ((const double complex *)p->values->data)[e] * from[i];
  }
}

Status eval_csr_product(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                        Tensor **result) {
  if (!form_fits(instr, operands)) return eval_unsupported(context, instr, "a sparse product of this form");
  const Shape *shape = instr->shape;
  Tensor *values = tensor_converted(operands[0], DTYPE_C128),
         *dense = tensor_converted(operands[3], DTYPE_C128);
  Tensor *sums = tensor_new_array(DTYPE_C128, shape->dims, shape->rank, true);
  memset(sums->data, 0, sums->bytes);
  SparseProduct product = {values, operands[1],    operands[2],
                           dense,  shape->dims[0], shape->rank == 1 ? 1 : shape->dims[1]};
  for (int64_t row = 0; row < product.rows; row++) add_row(&product, row, sums);
  *result = tensor_converted(sums, shape->dtype);
  tensor_release(values);
  tensor_release(dense);
  tensor_release(sums);
  return STATUS_OK;
}

/* Tensors: the values that a run computes. Dense, row-major, an element dtype_bytes() wide. Counted, copied
 * on write; the only counted thing in podsim. A tensor without data (`known` false) stands for values that
 * are not computed: it has a shape only. Ownership: functions that take `Tensor *` borrow it, functions that
 * return one give the caller a reference. */
#pragma once

#include "sim/ir/module.h"

#include <stdatomic.h>

typedef struct Tensor Tensor;
struct Tensor {
  _Atomic uint32_t references;
  DType dtype;   /* DTYPE_TUPLE: `parts` */
  uint32_t rank; /* dimensions, or parts of a tuple */
  int64_t *dims;
  Tensor **parts;
  bool known;
  size_t bytes; /* of data */
  unsigned char *data;
  Tensor *owner; /* holds the data of a reshaped tensor; NULL where the data is its own */
};

/* An array of the shape, its bytes not set; `known` false allocates no data. A tuple shape gives a tuple of
 * such. */
Tensor *tensor_new(const Shape *shape, bool known);
Tensor *tensor_new_array(DType dtype, const int64_t *dims, uint32_t rank, bool known);
/* Takes over the references of `parts`; the list itself stays the caller's. */
Tensor *tensor_tuple(Tensor **parts, uint32_t n);
Tensor *tensor_from_literal(const Literal *literal);
Tensor *tensor_retain(Tensor *tensor);
void tensor_release(Tensor *tensor);
/* Gives up the caller's reference and returns one to a tensor that nobody else holds: the same, or a copy. */
Tensor *tensor_unique(Tensor *tensor);
/* Whether nobody but the one holder of `tensor` can see its data. */
bool tensor_is_unique(const Tensor *tensor);
/* The same bytes under other dimensions or another type of the same total size: a new header that holds a
 * reference to the tensor whose data it shares. */
Tensor *tensor_reshaped(Tensor *tensor, const int64_t *dims, uint32_t rank);
Tensor *tensor_viewed(Tensor *tensor, DType dtype, const int64_t *dims, uint32_t rank);
/* Elements [first, first + n) as a vector that shares the data. */
Tensor *tensor_window(Tensor *tensor, int64_t first, int64_t n);
int64_t tensor_elements(const Tensor *tensor);
/* Whether all of it, tuples included, is known. */
bool tensor_all_known(const Tensor *tensor);
/* Element `at` of an integer or pred array, widened; of a float array, truncated. */
int64_t tensor_int_at(const Tensor *tensor, int64_t at);
/* Element `at` of any real array as a double. */
double tensor_double_at(const Tensor *tensor, int64_t at);
void tensor_set_double(Tensor *tensor, int64_t at, double value);

/* How far two arrays of numbers are apart: for --check, and for tests against JAX. */
#pragma once

#include "sim/eval/tensor.h"

typedef struct {
  int64_t elements, outside; /* those beyond the tolerance; a NaN differs from any number, not from a NaN */
  double tolerance;          /* that was applied */
  double largest;            /* size of the expected elements */
  double max_abs, max_rel;   /* relative to the expected element */
  double max_ulp;            /* in steps of the element type; of integers the difference itself */
  int64_t worst;          /* row-major index of the element with the largest excess; -1 where all are equal */
  double expected, found; /* there; of a complex number its real part */
} TensorDifference;

/* The relative error that a reordered sum of values of `dtype` may show; 0 for integers. */
double dtype_tolerance(DType dtype);

/* Compares two known arrays of one shape and type. An element is within the tolerance if it is off by no more
 * than tolerance * (its own size + the largest size in the array). */
TensorDifference tensor_compare(const Tensor *expected, const Tensor *found, double tolerance);

/* `2 of 128 elements beyond 1e-05: at [1,4] 2.5 for 2.25; largest error 0.25 absolute, 0.1 relative, 3 ulp`
 */
Str tensor_difference_text(Arena *arena, const Tensor *expected, const TensorDifference *difference);

/* Boxes of elements: every op that only moves data is a copy of a box between two strided places. */
#pragma once

#include "sim/eval/evaluate.h"

/* A box of `dims`; element i lies at to + sum of i[d] * to_step[d], and comes from from + sum of i[d] *
 * from_step[d]. Steps are in bytes, may be negative, and 0 in `from_step` (the same element again). */
typedef struct {
  uint32_t rank; /* at most EVAL_MAX_RANK */
  uint32_t element_bytes;
  int64_t dims[EVAL_MAX_RANK], to_step[EVAL_MAX_RANK], from_step[EVAL_MAX_RANK];
} Box;

/* Copies a box. The two places do not overlap. */
void box_copy(const Box *box, unsigned char *to, const unsigned char *from);
/* n copies of one element. */
void box_fill(unsigned char *to, const unsigned char *element, uint32_t element_bytes, int64_t n);
/* Steps in bytes of a dense row-major array. */
void dense_steps(const int64_t *dims, uint32_t rank, uint32_t element_bytes, int64_t *steps);
/* A box of the dimensions of `dims`, dense at both ends; callers change what differs. */
Box box_dense(const int64_t *dims, uint32_t rank, uint32_t element_bytes);

/* A strided selection of an array's elements: that at i lies at offset + sum of i[d] * steps[d], in elements.
 */
typedef struct {
  uint32_t rank;
  int64_t offset;
  int64_t dims[EVAL_MAX_RANK], steps[EVAL_MAX_RANK];
} View;

int64_t view_elements(const View *view);
/* Copies what one view selects to where another of the same dimensions does. */
void view_copy(Tensor *to, const View *to_view, const Tensor *from, const View *from_view);
/* The selected elements as a dense vector, and back. */
Tensor *view_take(const Tensor *from, const View *view);
void view_put(Tensor *to, const View *view, const Tensor *vector);
/* Each element that `into_view` selects becomes op(itself, the element of `from_view`); the tensors are of
 * one type that has the op. */
void view_combine(Opcode op, Tensor *into, const View *into_view, const Tensor *from, const View *from_view);

/* Literals: the values of constants. An array is dense, row-major over its dimensions (layouts are not
 * applied), dtype_bytes() an element (below 8 bits: the low bits, signed ones extended to the byte). Owned by
 * the module's arena, immutable once made. */
#pragma once

#include "sim/ir/shape.h"

typedef struct Literal Literal;
struct Literal {
  const Shape *shape;
  const void *data;            /* NULL where `elided`, or a tuple */
  const Literal *const *parts; /* of a tuple */
  bool elided;                 /* `{...}`: the values are unknown */
};

/* A scalar from a number, converted to `dtype`: integers are clamped to their range (so -INFINITY is the
 * smallest), floats rounded to nearest even, a complex has no imaginary part. */
const Literal *literal_scalar(Arena *arena, DType dtype, double value);
/* A vector of integers of type `dtype`. */
const Literal *literal_ints(Arena *arena, DType dtype, const int64_t *values, uint32_t n);
/* A deep copy. */
const Literal *literal_copy(Arena *arena, const Literal *literal);
/* Element `at` (row-major) of an integer or pred literal. */
int64_t literal_int_at(const Literal *literal, int64_t at);
/* The literal as HLO text has it, e.g. `{ {1, 2}, {3, 4} }`, exact: reading it gives the same bits. */
void literal_print(StrBuf *buf, const Literal *literal);

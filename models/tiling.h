/* What arrays take in a TPU's memory: whole tiles. Pure functions. */
#pragma once

#include "sim/ir/shape.h"

/* Bytes of the shape in memory, tuples summed: by the tiles of its layout where they are said, else as the
 * TPU compiler lays out a parameter. Never overflows: at most 2^62. */
int64_t tiled_bytes(const Shape *shape);

/* The order of dimensions that pads least, from the minor one; of equals the one nearest to row-major. That
 * is how the TPU compiler lays parameters, results, and whatever no op wants otherwise. Rank 1 or more. */
Ints least_padded_order(Arena *arena, const Shape *shape);
Ints row_major_order(Arena *arena, const Shape *shape);
/* The better of the two orders that begin with dimensions `a` and `b`, of equals the one nearest to
 * row-major; the rest follow row-major. */
Ints order_of_minor(Arena *arena, const Shape *shape, uint32_t a, uint32_t b);
/* The same array laid in an order of dimensions, with its tiles. */
const Shape *shape_laid(Arena *arena, const Shape *shape, Ints minor_to_major);
/* Whether the shape says how its tiles lie. */
bool shape_is_laid(const Shape *shape);
/* The order that it says; else the one that pads least. */
Ints laid_order(Arena *arena, const Shape *shape);
/* The dimension along the lanes; 0 of a scalar. */
uint32_t lane_dimension(const Shape *shape);
/* Registers of 8 x 128 words that hold the array as it lies. */
double tiled_registers(const Shape *shape);

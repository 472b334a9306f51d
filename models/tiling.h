/* What arrays take in a TPU's memory: whole tiles. Pure functions. */
#pragma once

#include "sim/ir/shape.h"

/* Bytes of the shape in memory, tuples summed: by the tiles of its layout where they are said, else as the
 * TPU compiler lays out a parameter. Never overflows: at most 2^62. */
int64_t tiled_bytes(const Shape *shape);

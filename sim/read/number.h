/* Numbers as programs write them. */
#pragma once

#include "sim/ir/shape.h"

/* The whole of `text` as a decimal number, inf or nan; false where it is none. */
bool decimal_read(Str text, Arena *scratch, double *value);
/* The bits of a number as an element of a float type, rounded to nearest even. */
uint64_t float_bits(DType dtype, double value);
/* Whether a number became an infinity or a NaN. */
bool float_overflows(DType dtype, double value, uint64_t bits);

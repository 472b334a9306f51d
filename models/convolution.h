/* Convolutions as the TPU compiler has them: how their operands lie, and how they lie on the systolic arrays.
 * Pure functions of shapes, layouts and attributes. */
#pragma once

#include "models/mxu_model.h"

/* The order of dimensions in which a convolution takes its operand number `k`, or for k = 2 gives its result;
 * of an empty one (n == 0) it is all the same. */
Ints convolution_order(Arena *arena, const Module *module, uint32_t comp, const Instr *convolution,
                       uint32_t k);
/* Whether it is a convolution of so few images that they are cut first, in a kernel of its own. */
bool convolution_cuts_image(const Instr *convolution);
/* The products that it runs as; all zero where it says no dim_labels. */
Matmul convolution_product(const Module *module, uint32_t comp, const Instr *convolution);
/* Pairs of elements that meet, neither padding nor a hole of a dilated operand. */
double convolution_multiplications(const Module *module, uint32_t comp, const Instr *convolution);

/* Convolutions as the TPU compiler has them: how their operands lie. Pure functions of shapes. */
#pragma once

#include "sim/ir/module.h"

/* The order of dimensions in which a convolution takes its operand number `k`, or for k = 2 gives its result;
 * of an empty one (n == 0) it is all the same. */
Ints convolution_order(Arena *arena, const Module *module, uint32_t comp, const Instr *convolution,
                       uint32_t k);

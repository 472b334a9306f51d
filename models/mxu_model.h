/* Matrix products on the systolic arrays: sizes of a product, passes, cycles. Pure functions. */
#pragma once

#include "sim/config/pod.h"
#include "sim/ir/module.h"

/* `batch` sums of `parts` products of [m, k] and [k, n] each, as numbers that may pass 2^63. How it lies on
 * the arrays: so many of the batch share a tile; the right operand is held, or (not `held`) whichever is
 * better. Results fill so many registers (0: as they fill them best); so many others the vector unit arranges
 * before they can stream. Where the vector unit does all of it, it takes so many `vector_registers`, once for
 * each tap. */
typedef struct {
  double batch, parts, m, n, k;
  double share;
  bool held;
  double registers, arranged, vector_registers;
} Matmul;

/* The product that a dot, ragged-dot, scaled-dot or convolution is. */
Matmul matmul_of(const Module *module, uint32_t comp, const Instr *instr);
/* Multiplications that the program asks for: no padding. */
double useful_multiplications(const Module *module, uint32_t comp, const Instr *instr);
/* How often the arrays run a product of these operand types to the precision that the instruction asks for: 1
 * for bf16, 0.5 for int8, up to 6 for f32. */
double mxu_passes(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr);
/* Cycles that all of a chip's arrays together need for so many passes of the product. */
double mxu_cycles(const Pod *pod, Matmul product, double passes);
/* Cycles in which results that are narrower than the sums leave the arrays. */
double mxu_rounding_cycles(const Pod *pod, Matmul product);
/* How often operand 0 or 1 is gone through where both come in windows: once for each block of results, which
 * is longer where it is narrow. */
double mxu_rounds(const Pod *pod, Matmul product, uint32_t operand);
/* Cycles to take up partial sums again where both operands come in windows, each of a part of k. */
double mxu_summing_cycles(const Pod *pod, Matmul product);
/* bf16 operations a second of all arrays together. */
double mxu_peak_flops(const Pod *pod);

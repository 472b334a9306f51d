/* The work of Pallas kernels, `tpu_custom_call`. What one demands is what its author
 * says (the cost estimate that JAX attaches to it), else a guess from its operands. */
#pragma once

#include "sim/mosaic/mosaic.h"

typedef enum {
  KERNEL_ESTIMATED,        /* its author's estimate */
  KERNEL_ATTENTION,        /* guessed: products of queries, keys and values, nothing masked */
  KERNEL_MASKED_ATTENTION, /* the same over the blocks that a mask leaves */
  KERNEL_PRODUCT,          /* guessed: rows times a matrix, or times one of a group */
  KERNEL_BYTES             /* guessed: no work but its operands and results */
} KernelBasis;

typedef struct {
  KernelBasis basis;
  bool has_products;                        /* it holds matrix products, so that its FLOPs are the MXU's */
  double flops, transcendentals, hbm_bytes; /* hbm_bytes 0: its operands and results, once each */
} KernelCost;

/* Of a call that holds a kernel. */
KernelCost kernel_cost(const Module *module, uint32_t comp, const Instr *instr);
/* "its author's estimate", "guessed as attention: …". */
const char *kernel_basis_text(KernelBasis basis);

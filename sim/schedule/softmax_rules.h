/* Which kernels a softmax and the products beside it make. */
#pragma once

#include "sim/schedule/fuser.h"

/* Whether a kernel can go on with the rows that a reduction reduces: after the maximum of a softmax. Where
 * rows are widened only, that is sought before, and no longer of what it is taken from. */
bool softmax_goes_on(const Fuser *fuser, const Instr *reduce);
/* Whether it can after the sum of a softmax too: where its quotients are made beside no product. */
bool softmax_ends(const Fuser *fuser, uint32_t at);
/* Whether a value follows, element by element, from the result of a reduction that softmax_goes_on(), and of
 * no other. */
bool softmax_leans(const Fuser *fuser, uint32_t at);
/* The product that a value is made of, one large value after another; NO_ID. `transposed` says whether its
 * dimensions lie in another order. */
uint32_t softmax_product_below(const Fuser *fuser, uint32_t value, bool *transposed);
/* Whether a product's kernel, which makes its results block by block, has what a group's reductions take in
 * together: rows must not be too long for that, less so beside parts of operands, and the kernel not take
 * these apart. */
bool softmax_takes_product(const Fuser *fuser, uint32_t group, uint32_t product);
/* Whether a kernel that cannot join a softmax makes what leads from its product there; not where it is busy
 * with both its operands. */
bool softmax_leaves_to_product(const Fuser *fuser, uint32_t at, uint32_t group);

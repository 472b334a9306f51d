/* The work of Pallas kernels. In: a custom call with the configuration that JAX's Mosaic lowering writes,
 * JSON in text or in a quoted string: `body` is the kernel as MLIR bytecode in base64, `cost_estimate` (where
 * the author gave one) flops, transcendentals and bytes_accessed. Out: what the kernel demands.
 *
 * The guess, where there is no estimate, is by shapes alone. Three operands that lie as queries [.., q, d],
 * keys
 * [.., k, d] and values [.., k, e] make attention: 2 q k (d + e) FLOPs and q k exponentials for each [q, d];
 * its backward kernels have three to five such products. Of these a mask of blocks, as JAX's splash attention
 * has it, leaves a part. Rows [m, k] and a matrix [.., k, n] make a product. */
#include "models/kernel_model.h"

#include "models/vpu_model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool find_text(Str text, const char *word, size_t *after) {
  const char *found = text.n == 0 ? NULL : memmem(text.at, text.n, word, strlen(word));
  if (found == NULL) return false;
  *after = (size_t)(found - text.at) + strlen(word);
  return true;
}

/* The number after a key of the JSON, whose quotes may be escaped. */
static bool number_of(Str json, const char *key, double *value) {
  size_t at;
  if (!find_text(json, key, &at)) return false;
  while (at < json.n && strchr("\\\": \t\n", json.at[at]) != NULL) at++;
  char digits[32];
  size_t n = 0;
  while (at + n < json.n && n + 1 < sizeof digits && strchr("0123456789.eE+-", json.at[at + n]) != NULL) {
    digits[n] = json.at[at + n];
    n++;
  }
  digits[n] = '\0';
  *value = strtod(digits, NULL);
  return n > 0 && *value >= 0;
}

static int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* Whether the bytes that the base64 text stands for hold a word, of at most eight letters. */
static bool base64_holds(Str text, const char *word) {
  uint64_t window = 0, wanted = 0, mask = 0;
  for (const char *c = word; *c != '\0'; c++) {
    wanted = wanted << 8 | (unsigned char)*c;
    mask = mask << 8 | 0xff;
  }
  uint32_t bits = 0, n_bits = 0;
  for (size_t i = 0; i < text.n; i++) {
    int value = base64_value(text.at[i]);
    if (value < 0) break;
    bits = bits << 6 | (uint32_t)value;
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    window = window << 8 | (bits >> n_bits & 0xff);
    if ((window & mask) == wanted) return true;
  }
  return false;
}

/* The Mosaic op tpu.matmul is among the names that the body's bytecode holds. */
static bool holds_products(Str json) {
  size_t at;
  if (!find_text(json, "body", &at)) return false;
  while (at < json.n && strchr("\\\": ", json.at[at]) != NULL) at++;
  return base64_holds(str_sub(json, at, json.n), "u.matmul");
}

static const Shape *operand_of(const Module *module, uint32_t comp, const Instr *instr, uint32_t i) {
  return comp_instr(module, comp, instr->operands.at[i])->shape;
}

static bool is_float_matrix(const Shape *shape) {
  return shape_is_array(shape) && shape->rank >= 2 && dtype_class(shape->dtype) == DCLASS_FLOAT;
}

static double dim_from_end(const Shape *shape, uint32_t back) {
  return (double)shape->dims[shape->rank - back];
}

static bool same_dims(const Shape *a, const Shape *b) {
  return shape_is_array(a) && int64s_eq(a->dims, a->rank, b->dims, b->rank);
}

/* The gradient of the queries as parts, [.., blocks of keys, heads, q, d], which a later sum takes together.
 */
static bool holds_parts_of(const Shape *result, const Shape *queries) {
  uint32_t extra = result->rank - queries->rank;
  return shape_is_array(result) && queries->rank >= 3 && extra == 1 &&
         int64s_eq(result->dims + result->rank - 3, 3, queries->dims + queries->rank - 3, 3);
}

/* Products of [q, d] and [d, k], or of [q, k] and [k, d]: two forward; backward, which takes the result and
 * its gradient too, three for the gradient of the queries, four for those of keys and values, five for all.
 */
static double products_of_attention(const Instr *instr, const Shape *queries, const Shape *keys,
                                    uint32_t floats) {
  if (floats <= 4) return 2;
  uint32_t like_keys = 0, of_queries = 0;
  for (uint32_t i = 0; shape_is_tuple(instr->shape) && i < instr->shape->rank; i++) {
    like_keys += same_dims(instr->shape->parts[i], keys);
    of_queries += holds_parts_of(instr->shape->parts[i], queries);
  }
  return like_keys < 2 ? 3 : of_queries == 0 ? 4 : 5;
}

/* A constant of int8 [heads, blocks of queries, blocks of keys]. */
static const Literal *blocks_of(const Module *module, uint32_t comp, const Instr *instr, uint32_t i) {
  const Instr *operand = comp_instr(module, comp, instr->operands.at[i]);
  if (operand->op != OP_CONSTANT || operand->literal->elided) return NULL;
  const Shape *shape = operand->shape;
  return shape_is_array(shape) && shape->rank == 3 && shape->dtype == DTYPE_S8 ? operand->literal : NULL;
}

static int64_t largest_of(const Literal *literal) {
  int64_t largest = 0;
  for (int64_t i = 0; i < shape_elements(literal->shape); i++) {
    int64_t value = literal_int_at(literal, i);
    if (value > largest) largest = value;
  }
  return largest;
}

/* Of all scores those that are computed. The first operands of splash attention say which block comes next,
 * and whether it is left out (0), masked in part (1) or whole (2). The dimension that the grid walks, keys
 * or, for their gradients, queries, has no more blocks than one row of the grid needs; the last one is named
 * as next. */
static double part_of_scores(const Module *module, uint32_t comp, const Instr *instr, bool walks_queries) {
  enum { NEXT, MASK };
  const Literal *next = blocks_of(module, comp, instr, NEXT), *mask = blocks_of(module, comp, instr, MASK);
  if (next == NULL || mask == NULL || !same_dims(next->shape, mask->shape) || largest_of(mask) > 2) return 1;
  int64_t blocks = shape_elements(mask->shape), walked = mask->shape->dims[walks_queries ? 1 : 2], n = 0;
  for (int64_t i = 0; i < blocks; i++) n += literal_int_at(mask, i) != 0;
  if (blocks == 0) return 1;
  int64_t named = largest_of(next) + 1, all = blocks / walked * (named > walked ? named : walked);
  return (double)n / (double)all;
}

static bool guess_attention(const Module *module, uint32_t comp, const Instr *instr, KernelCost *cost) {
  const Shape *matrices[3] = {0};
  uint32_t floats = 0;
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    const Shape *shape = operand_of(module, comp, instr, i);
    if (!is_float_matrix(shape)) continue;
    if (floats < 3) matrices[floats] = shape;
    floats++;
  }
  if (floats < 3) return false;
  const Shape *queries = matrices[0], *keys = matrices[1], *values = matrices[2];
  double depth = dim_from_end(queries, 1), n_keys = dim_from_end(keys, 2);
  if (dim_from_end(keys, 1) != depth || dim_from_end(values, 2) != n_keys || queries->rank < keys->rank)
    return false;
  double products = products_of_attention(instr, queries, keys, floats);
  double part = part_of_scores(module, comp, instr, products >= 4);
  double scores = elements_of(queries) / depth * n_keys * part;
  *cost = (KernelCost){.basis = part < 1 ? KERNEL_MASKED_ATTENTION : KERNEL_ATTENTION,
                       .has_products = true,
                       .flops = scores * products * (depth + dim_from_end(values, 1)),
                       .transcendentals = scores};
  return true;
}

static bool guess_product(const Module *module, uint32_t comp, const Instr *instr, KernelCost *cost) {
  const Shape *rows = NULL, *matrix = NULL;
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    const Shape *shape = operand_of(module, comp, instr, i);
    if (!is_float_matrix(shape)) continue;
    if (rows != NULL && matrix == NULL && dim_from_end(rows, 1) == dim_from_end(shape, 2)) matrix = shape;
    if (rows == NULL) rows = shape;
  }
  if (matrix == NULL) return false;
  *cost = (KernelCost){.basis = KERNEL_PRODUCT,
                       .has_products = true,
                       .flops = 2 * elements_of(rows) * dim_from_end(matrix, 1)};
  return true;
}

KernelCost kernel_cost(const Module *module, uint32_t comp, const Instr *instr) {
  Str json = instr_word(instr, ATTR_backend_config);
  KernelCost cost = {.basis = KERNEL_ESTIMATED, .has_products = holds_products(json)};
  size_t at;
  if (find_text(json, "cost_estimate", &at)) {
    Str estimate = str_sub(json, at, json.n);
    bool known = number_of(estimate, "flops", &cost.flops);
    number_of(estimate, "transcendentals", &cost.transcendentals);
    number_of(estimate, "bytes_accessed", &cost.hbm_bytes);
    if (known) return cost;
  }
  bool products = cost.has_products;
  cost = (KernelCost){.basis = KERNEL_BYTES};
  if (products && (guess_attention(module, comp, instr, &cost) || guess_product(module, comp, instr, &cost)))
    return cost;
  return cost;
}

const char *kernel_basis_text(KernelBasis basis) {
  switch (basis) {
  case KERNEL_ESTIMATED: return "the cost estimate that its author gave";
  case KERNEL_ATTENTION:
    return "no cost estimate; guessed as attention, nothing masked, from its operands' shapes";
  case KERNEL_MASKED_ATTENTION:
    return "no cost estimate; guessed as attention over the blocks that its mask leaves";
  case KERNEL_PRODUCT: return "no cost estimate; guessed as a matrix product, from its operands' shapes";
  case KERNEL_BYTES: break;
  }
  return "no cost estimate; guessed as bound by its operands' and results' bytes";
}

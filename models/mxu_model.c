/* Matrix products on the systolic arrays. In: an instruction's shapes and attributes; out: cycles.
 *
 * The one idea: an array of size s holds an s x s tile of one operand while rows of the other stream through,
 * one row a cycle (bf16[8,128] x [128,128] in 8 cycles: JAX Scaling Book, "TPUs"). So k and n are padded to
 * s and the rows to 8. The next tile is brought meanwhile, which takes chip.mxu_tile_cycles: with fewer rows
 * than that the tiles set the pace. The tiles are shared out over the arrays. Either operand may be the one
 * that is held; the better is taken. Sums come out as f32; results of a narrower type are rounded on the way
 * out, chip.mxu_round_cycles a register, which sets the pace where k is short.
 *
 * Convolutions are in convolution.c.
 *
 * f32 operands run as bf16 passes: 1 by default, 3 for `high`, 6 for `highest` (jax.lax.Precision); int8 and
 * fp8 at chip.int8_rate and chip.fp8_rate times the rate. Wider integers, f64 and complex products are made
 * of these parts. */
#include "models/mxu_model.h"
#include "models/convolution.h"

#include <math.h>

enum { ROWS_GRAIN = 8 };

static double dims_product(const Shape *shape, Ints dims) {
  double product = 1;
  for (uint32_t i = 0; i < dims.n; i++) product *= (double)shape->dims[dims.at[i]];
  return product;
}

static Matmul matmul_of_dot(const Instr *instr, const Shape *lhs, const Shape *rhs) {
  Ints batch = instr_ints(instr, ATTR_lhs_batch_dims);
  double batches = dims_product(lhs, batch);
  double k = dims_product(lhs, instr_ints(instr, ATTR_lhs_contracting_dims));
  return (Matmul){.batch = batches,
                  .parts = 1,
                  .share = 1,
                  .m = (double)shape_elements(lhs) / fmax(batches * k, 1),
                  .n = (double)shape_elements(rhs) / fmax(batches * k, 1),
                  .k = k};
}

/* lhs rows meet one group's rhs each: as one product with the groups' rows laid one after another. */
static Matmul matmul_of_ragged_dot(const Instr *instr, const Shape *lhs, const Shape *rhs) {
  Matmul product = matmul_of_dot(instr, lhs, rhs);
  product.n /= fmax(dims_product(rhs, instr_ints(instr, ATTR_rhs_group_dims)), 1);
  return product;
}

Matmul matmul_of(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->operands.n < 2) return (Matmul){0};
  const Shape *lhs = comp_instr(module, comp, instr->operands.at[0])->shape;
  const Shape *rhs = comp_instr(module, comp, instr->operands.at[1])->shape;
  if (instr->op == OP_CONVOLUTION) return convolution_product(module, comp, instr);
  if (instr->op == OP_RAGGED_DOT) return matmul_of_ragged_dot(instr, lhs, rhs);
  return matmul_of_dot(instr, lhs, rhs);
}

double useful_multiplications(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->op == OP_CONVOLUTION) return convolution_multiplications(module, comp, instr);
  Matmul product = matmul_of(module, comp, instr);
  return product.batch * product.m * product.n * product.k;
}

static bool says(Str text, const char *word) {
  size_t n = strlen(word);
  for (size_t i = 0; i + n <= text.n; i++) {
    if (memcmp(text.at + i, word, n) == 0) return true;
  }
  return false;
}

/* bf16 passes of an f32 product: by its algorithm where it names one, else by its precision. */
static double f32_passes(const Instr *instr) {
  Str algorithm = instr_word(instr, ATTR_algorithm), precision = instr_word(instr, ATTR_operand_precision);
  if (algorithm.n != 0) {
    if (says(algorithm, "_x9")) return 9;
    if (says(algorithm, "_x6") || says(algorithm, "f32_f32_f32")) return 6;
    return says(algorithm, "_x3") ? 3 : 1;
  }
  if (says(precision, "highest")) return 6;
  return says(precision, "high") ? 3 : 1;
}

/* Passes for one operand's type: wide integers by pairs of bytes, f64 as parts of f32, complex as four
 * products.
 */
static double passes_of(const Pod *pod, const Instr *instr, DType dtype) {
  double bytes = dtype_bits(dtype) / 8.0, integer = 1 / (double)pod->int8_rate;
  switch (dtype_class(dtype)) {
  case DCLASS_PRED:
  case DCLASS_SIGNED:
  case DCLASS_UNSIGNED: return bytes <= 1 ? integer : integer * bytes * bytes;
  case DCLASS_FLOAT:
    if (bytes <= 1) return 1 / (double)pod->fp8_rate;
    return bytes == 2 ? 1 : bytes == 4 ? f32_passes(instr) : 4 * 6;
  case DCLASS_COMPLEX: return bytes == 8 ? 4 * f32_passes(instr) : 4 * 4 * 6;
  case DCLASS_OTHER: break;
  }
  return 1;
}

double mxu_passes(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  double most = 0;
  for (uint32_t i = 0; i < 2 && i < instr->operands.n; i++) {
    DType dtype = comp_instr(module, comp, instr->operands.at[i])->shape->dtype;
    most = fmax(most, passes_of(pod, instr, dtype));
  }
  return most;
}

/* Cycles where [k, n] is held in tiles and m rows stream past each, in all arrays together. */
static double cycles_holding(const Pod *pod, double k, double n, double m, double passes) {
  double size = (double)pod->mxu_size;
  double tiles = ceil(k / size) * ceil(n / size);
  double rows = ceil(m / ROWS_GRAIN) * ROWS_GRAIN * passes;
  double change = (double)pod->mxu_tile_cycles * fmax(passes, 1);
  return tiles * fmax(rows, change) / (double)pod->mxu_count;
}

/* With small groups taken together. */
static Matmul as_tiles(Matmul product) {
  product.batch /= product.share;
  product.k *= product.share;
  product.n *= product.share;
  return product;
}

double mxu_cycles(const Pod *pod, Matmul product, double passes) {
  Matmul tiles = as_tiles(product);
  double one = cycles_holding(pod, tiles.k, tiles.n, tiles.m, passes);
  if (tiles.parts == 1 && !tiles.held)
    one = fmin(one, cycles_holding(pod, tiles.k, tiles.m, tiles.n, passes));
  double arranged = product.arranged * (double)pod->mxu_round_cycles;
  double vector = product.vector_registers * (double)pod->tap_cycles;
  return tiles.batch * tiles.parts * one + (arranged + vector) / (double)pod->cores;
}

/* Registers of a core that hold the results, in the orientation that fills them better. */
static double result_registers(const Pod *pod, Matmul product) {
  double lanes = (double)pod->vpu_lanes, sublanes = (double)pod->vpu_sublanes;
  Matmul tiles = as_tiles(product);
  double registers = tiles.batch * fmin(ceil(tiles.m / sublanes) * ceil(tiles.n / lanes),
                                        ceil(tiles.n / sublanes) * ceil(tiles.m / lanes));
  return (product.registers > 0 ? product.registers : registers) / (double)pod->cores;
}

double mxu_rounding_cycles(const Pod *pod, Matmul product) {
  return result_registers(pod, product) * (double)pod->mxu_round_cycles;
}

double mxu_rounds(const Pod *pod, Matmul product, uint32_t operand) {
  if (product.parts != 1 || product.held || operand > 1) return 1;
  double block = (double)pod->block_length, m = product.m, n = product.n;
  double along = operand == 0 ? n : m, across = operand == 0 ? m : n;
  return fmax(1, ceil(along / fmax(block, block * block / fmax(across, 1))));
}

double mxu_summing_cycles(const Pod *pod, Matmul product) {
  double times = ceil(product.k / (double)pod->sum_length) - 1;
  return result_registers(pod, product) * fmax(times, 0) * (double)pod->sum_cycles;
}

double mxu_peak_flops(const Pod *pod) {
  return 2 * (double)(pod->mxu_size * pod->mxu_size * pod->mxu_count) * pod->clock_hz;
}

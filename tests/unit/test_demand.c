/* Demands: matrix products by their padded passes, vector work by class, bytes by what must move. */
#include "models/cost.h"
#include "models/demand.h"
#include "models/mxu_model.h"
#include "pod_fixture.h"

#include <criterion/criterion.h>

static Arena *arena;
static Diag *diag;
static Pod pod;
static Module *module;
static uint32_t comp;

static void begin(void) {
  arena = arena_new();
  diag = diag_new();
  pod = pod_fixture(arena, "v5e_1x1");
  module = module_new(STR("test"));
  comp = module_add_comp(module, STR("entry"));
}

static void end(void) {
  module_free(module);
  diag_free(diag);
  arena_free(arena);
}

TestSuite(demand, .init = begin, .fini = end);

static const Shape *array(DType dtype, int64_t rows, int64_t columns) {
  return shape_array(arena, dtype, (const int64_t[]){rows, columns}, 2);
}

static uint32_t parameter(const Shape *shape) {
  return comp_add_parameter(module, comp, module_comp(module, comp)->params.n, STR(""), shape);
}

static Instr *add(Opcode op, const Shape *shape, uint32_t a, uint32_t b) {
  const uint32_t operands[] = {a, b};
  return comp_instr(module, comp, comp_add(module, comp, op, STR(""), shape, operands, b == NO_ID ? 1 : 2));
}

static Instr *dot(DType dtype, DType out, int64_t m, int64_t k, int64_t n) {
  Instr *made = add(OP_DOT, array(out, m, n), parameter(array(dtype, m, k)), parameter(array(dtype, k, n)));
  const int64_t lhs[] = {1}, rhs[] = {0};
  instr_set_ints(module, made, ATTR_lhs_contracting_dims, lhs, 1);
  instr_set_ints(module, made, ATTR_rhs_contracting_dims, rhs, 1);
  return made;
}

static Demand demand(const Instr *instr) {
  return demand_of(&pod, module, comp, instr);
}

static double us(Demand of, Bound *bound) {
  return (double)demand_ps(&pod, of, bound) / 1e6;
}

/* bf16 4096 cubed: roofline 698 us; the TPU compiler's estimate for v5e 722 us. */
Test(demand, large_matmul_is_near_its_peak) {
  Bound bound;
  Demand of = demand(dot(DTYPE_BF16, DTYPE_BF16, 4096, 4096, 4096));
  cr_assert_eq(of.flops, 2LL << 36);
  cr_assert_eq(of.hbm_bytes, 3LL * 4096 * 4096 * 2);
  double time_us = us(of, &bound);
  cr_assert(time_us > 698 && time_us < 722 * 1.02, "%g us", time_us);
  cr_assert_eq(bound, BOUND_COMPUTE);
}

/* Weights stream in: 117.5 MB at 90 % of 819 GB/s; the product itself is far shorter. */
Test(demand, few_rows_are_bound_by_hbm) {
  Bound bound;
  Demand of = demand(dot(DTYPE_BF16, DTYPE_BF16, 8, 4096, 14336));
  of.load_bytes = 8 * 4096 * 2; /* the weights are brought to VMEM as a whole */
  cr_assert_float_eq(us(of, &bound), (117506048 + 229376) / (0.9 * 8.19e11) * 1e6, 0.01);
  cr_assert_eq(bound, BOUND_HBM);
  cr_assert_float_eq((double)of.mxu_ps / 1e6, 23.1, 2.5, "the TPU compiler's estimate without HBM");
}

Test(demand, tiles_are_padded) {
  Matmul exact = {.batch = 1, .parts = 1, .m = 1024, .n = 256, .k = 128, .share = 1}, deeper = exact,
         padded = exact;
  deeper.k = 129, padded.k = 256;
  cr_assert_eq(mxu_cycles(&pod, deeper, 1), mxu_cycles(&pod, padded, 1));
  cr_assert_eq(mxu_cycles(&pod, padded, 1), 2 * mxu_cycles(&pod, exact, 1));
  Matmul tall = {.batch = 1, .parts = 1, .m = 4096, .n = 8, .k = 512, .share = 1};
  Matmul wide = {.batch = 1, .parts = 1, .m = 8, .n = 4096, .k = 512, .share = 1};
  cr_assert_eq(mxu_cycles(&pod, tall, 1), mxu_cycles(&pod, wide, 1), "either operand may be held");
  Matmul batch = exact;
  batch.batch = 7;
  cr_assert_float_eq(mxu_cycles(&pod, batch, 1), 7 * mxu_cycles(&pod, exact, 1), 1e-6);
}

/* The TPU compiler's estimates for v5e: cycles of a kernel whose larger operand lies in VMEM already. */
Test(demand, products_take_the_cycles_that_the_compiler_estimates) {
  static const struct {
    int64_t m, k, n;
    DType dtype, out;
    double cycles;
  } rows[] = {
      {8, 4096, 4096, DTYPE_BF16, DTYPE_BF16, 13048},
      {32, 4096, 4096, DTYPE_BF16, DTYPE_BF16, 13748},
      {64, 4096, 4096, DTYPE_BF16, DTYPE_BF16, 22873},
      {256, 4096, 4096, DTYPE_BF16, DTYPE_BF16, 74915},
      {2048, 4096, 4096, DTYPE_BF16, DTYPE_BF16, 548003},
      {4096, 4096, 4096, DTYPE_BF16, DTYPE_BF16, 1083068},
      {4096, 128, 4096, DTYPE_BF16, DTYPE_BF16, 233174},
      {4096, 128, 4096, DTYPE_BF16, DTYPE_F32, 164106},
      {4096, 512, 4096, DTYPE_BF16, DTYPE_BF16, 253620},
      {4096, 512, 4096, DTYPE_BF16, DTYPE_F32, 185256},
      {1000, 3000, 1500, DTYPE_BF16, DTYPE_BF16, 81977},
      {512, 16384, 512, DTYPE_BF16, DTYPE_BF16, 76988},
      {8192, 1024, 8192, DTYPE_BF16, DTYPE_BF16, 1111760},
      {4096, 4096, 4096, DTYPE_S8, DTYPE_S32, 542476},
      {4096, 4096, 4096, DTYPE_F32, DTYPE_F32, 1105216},
      {640, 1664, 128, DTYPE_BF16, DTYPE_BF16, 7801},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Demand of = demand(dot(rows[i].dtype, rows[i].out, rows[i].m, rows[i].k, rows[i].n));
    int64_t element = dtype_bits(rows[i].dtype) / 8, smaller = rows[i].m < rows[i].n ? rows[i].m : rows[i].n;
    of.load_bytes = smaller * rows[i].k * element;
    of.hbm_bytes = 0;
    double cycles = (double)demand_ps(&pod, of, NULL) * 1e-12 * pod.clock_hz;
    cr_assert_float_eq(cycles / rows[i].cycles, 1, 0.12, "%ld x %ld x %ld: %g cycles for %g", (long)rows[i].m,
                       (long)rows[i].k, (long)rows[i].n, cycles, rows[i].cycles);
  }
}

Test(demand, operands_are_gone_through_for_each_block_of_results) {
  Matmul product = {.batch = 1, .parts = 1, .m = 4096, .n = 2048, .k = 512, .share = 1};
  Matmul narrow = {.batch = 1, .parts = 1, .m = 32, .n = 65536, .k = 512, .share = 1};
  cr_assert_eq(mxu_rounds(&pod, product, 0), 2);
  cr_assert_eq(mxu_rounds(&pod, product, 1), 4);
  cr_assert_eq(mxu_rounds(&pod, narrow, 0), 2, "a block is longer where it is narrow");
  cr_assert_eq(mxu_rounds(&pod, narrow, 1), 1);
}

static double passes(DType dtype, const char *precision, const char *algorithm) {
  Instr *made = dot(dtype, dtype, 8, 8, 8);
  if (precision != NULL)
    instr_set(module, made, (Attr){.id = ATTR_operand_precision, .text = str_of(precision)});
  if (algorithm != NULL) instr_set(module, made, (Attr){.id = ATTR_algorithm, .text = str_of(algorithm)});
  return mxu_passes(&pod, module, comp, made);
}

Test(demand, passes_of_a_product) {
  cr_assert_eq(passes(DTYPE_BF16, NULL, NULL), 1);
  cr_assert_eq(passes(DTYPE_F32, NULL, NULL), 1);
  cr_assert_eq(passes(DTYPE_F32, "{high,high}", NULL), 3);
  cr_assert_eq(passes(DTYPE_F32, "{highest,highest}", NULL), 6);
  cr_assert_eq(passes(DTYPE_F32, NULL, "dot_bf16_bf16_f32_x3"), 3);
  cr_assert_eq(passes(DTYPE_F32, NULL, "dot_bf16_bf16_f32"), 1);
  cr_assert_eq(passes(DTYPE_BF16, "{highest,highest}", NULL), 1);
  cr_assert_eq(passes(DTYPE_S8, NULL, NULL), 0.5);
  cr_assert_eq(passes(DTYPE_S32, NULL, NULL), 8);
  cr_assert_gt(passes(DTYPE_F64, NULL, NULL), 6);
}

Test(demand, batched_dot_counts_its_batches) {
  const int64_t lhs[] = {4, 6, 32, 64}, rhs[] = {4, 6, 64, 16}, out[] = {4, 6, 32, 16}, batch[] = {0, 1};
  uint32_t a = parameter(shape_array(arena, DTYPE_F32, lhs, 4)),
           b = parameter(shape_array(arena, DTYPE_F32, rhs, 4));
  Instr *made = add(OP_DOT, shape_array(arena, DTYPE_F32, out, 4), a, b);
  instr_set_ints(module, made, ATTR_lhs_batch_dims, batch, 2);
  instr_set_ints(module, made, ATTR_rhs_batch_dims, batch, 2);
  instr_set_ints(module, made, ATTR_lhs_contracting_dims, (const int64_t[]){3}, 1);
  instr_set_ints(module, made, ATTR_rhs_contracting_dims, (const int64_t[]){2}, 1);
  Matmul product = matmul_of(module, comp, made);
  cr_assert(product.batch == 24 && product.m == 32 && product.k == 64 && product.n == 16);
  cr_assert_eq(demand(made).flops, 2LL * 24 * 32 * 64 * 16);
}

/* A convolution of NHWC images with HWIO kernels; its product. */
static Matmul convolve(const int64_t *images, const int64_t *kernel, const int64_t *out,
                       const WindowDim *window) {
  static int64_t space[] = {1, 2}, kernel_space[] = {0, 1};
  uint32_t a = parameter(shape_array(arena, DTYPE_BF16, images, 4));
  uint32_t b = parameter(shape_array(arena, DTYPE_BF16, kernel, 4));
  Instr *made = add(OP_CONVOLUTION, shape_array(arena, DTYPE_BF16, out, 4), a, b);
  ConvLabels labels = {.lhs_feature = 3,
                       .rhs_input_feature = 2,
                       .rhs_output_feature = 3,
                       .out_feature = 3,
                       .lhs_spatial = {space, 2},
                       .rhs_spatial = {kernel_space, 2},
                       .out_spatial = {space, 2}};
  instr_set(module, made, (Attr){.id = ATTR_dim_labels, .labels = &labels});
  instr_set(module, made, (Attr){.id = ATTR_window, .window = {(WindowDim *)window, 2}});
  return matmul_of(module, comp, made);
}

static const WindowDim window3 = {
    .size = 3, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1, .pad_low = 1, .pad_high = 1};

Test(demand, convolution_is_a_product_for_each_tap) {
  const WindowDim both[] = {window3, window3};
  const int64_t images[] = {8, 56, 56, 128}, kernel[] = {3, 3, 128, 256}, out[] = {8, 56, 56, 256};
  Matmul product = convolve(images, kernel, out, both);
  cr_assert(product.m == 8 * 56 * 56 && product.k == 128 && product.n == 256 && product.parts == 9);
  cr_assert_eq(product.registers, 8 * 56 * 56 * 256 / 1024);
  cr_assert_eq(product.arranged, 0);
}

Test(demand, taps_of_few_channels_share_tiles) {
  const WindowDim both[] = {window3, window3};
  const int64_t images[] = {8, 56, 56, 64}, kernel[] = {3, 3, 64, 128}, out[] = {8, 56, 56, 128};
  Matmul product = convolve(images, kernel, out, both);
  cr_assert(product.k == 128 && product.parts == 5, "nine taps of 64 channels are 4.5 tiles");
  const int64_t colours[] = {8, 56, 56, 3}, few[] = {3, 3, 3, 128};
  product = convolve(colours, few, out, both);
  cr_assert(product.k == 27 && product.parts == 1);
}

Test(demand, with_the_batch_along_the_lanes_images_are_held) {
  const WindowDim both[] = {window3, window3};
  const int64_t images[] = {256, 16, 16, 64}, kernel[] = {3, 3, 64, 32}, out[] = {256, 16, 16, 32};
  Matmul product = convolve(images, kernel, out, both);
  cr_assert(product.batch == 16 * 16 && product.m == 32 && product.n == 256 && product.parts == 5);
  cr_assert_eq(product.arranged, 16 * 16 * 2 * 4, "each register of results");
}

Test(demand, few_images_are_cut) {
  const WindowDim both[] = {window3, window3};
  const int64_t images[] = {1, 64, 64, 128}, kernel[] = {3, 3, 128, 256}, out[] = {1, 64, 64, 256};
  Matmul product = convolve(images, kernel, out, both);
  cr_assert_eq(product.m, 64 * 8 * 9, "eight pieces, each with a column of its neighbour");
}

Test(demand, a_weights_gradient_contracts_all_taps) {
  const WindowDim wide = {.size = 56, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1};
  const WindowDim both[] = {wide, wide};
  const int64_t images[] = {64, 58, 58, 32}, gradient[] = {56, 56, 32, 128}, out[] = {64, 3, 3, 128};
  Matmul product = convolve(images, gradient, out, both);
  cr_assert(product.m == 64 * 9 && product.n == 128 && product.k == 128 && product.parts == 56 * 56 / 4);
}

/* As the TPU compiler writes a batched product: of each window one tap meets no hole. */
Test(demand, holes_are_no_work) {
  const WindowDim holes = {.size = 16, .stride = 15, .lhs_dilate = 16, .rhs_dilate = 1};
  const WindowDim one = {.size = 1, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1};
  const WindowDim batched[] = {holes, one};
  const int64_t images[] = {8, 16, 4, 64}, kernel[] = {16, 1, 64, 128}, out[] = {8, 16, 4, 128};
  Matmul product = convolve(images, kernel, out, batched);
  cr_assert(product.parts == 1 && product.batch == 16 && product.m == 8 * 4 && product.k == 64);
  const WindowDim dilated = {
      .size = 4, .stride = 1, .lhs_dilate = 2, .rhs_dilate = 1, .pad_low = 2, .pad_high = 2};
  const WindowDim transposed[] = {dilated, dilated};
  const int64_t small[] = {16, 28, 28, 128}, wide[] = {4, 4, 128, 128}, large[] = {16, 56, 56, 128};
  cr_assert_eq(convolve(small, wide, large, transposed).parts, 8, "skipped along the last dimension");
}

/* 64M bf16 sums: 403 MB at 819 GB/s. */
Test(demand, elementwise_is_bound_by_hbm) {
  Bound bound;
  const Shape *shape = array(DTYPE_BF16, 8192, 8192);
  Demand of = demand(add(OP_ADD, shape, parameter(shape), parameter(shape)));
  cr_assert_eq(of.hbm_bytes, 402653184);
  cr_assert_eq(of.flops, 8192 * 8192);
  cr_assert_float_eq(us(of, &bound), 402653184 / (0.9 * 8.19e11) * 1e6, 0.01);
  cr_assert_eq(bound, BOUND_HBM);
}

Test(demand, an_operand_used_twice_is_read_once) {
  const Shape *shape = array(DTYPE_F32, 128, 128);
  uint32_t x = parameter(shape);
  cr_assert_eq(demand(add(OP_MULTIPLY, shape, x, x)).hbm_bytes, 2 * 128 * 128 * 4);
}

Test(demand, classes_of_functions) {
  const Shape *shape = array(DTYPE_F32, 1024, 1024);
  uint32_t x = parameter(shape), y = parameter(shape);
  Demand sum = demand(add(OP_ADD, shape, x, y)), quotient = demand(add(OP_DIVIDE, shape, x, y));
  Demand exponential = demand(add(OP_EXP, shape, x, NO_ID));
  cr_assert_lt(sum.vpu_ps, quotient.vpu_ps);
  cr_assert_lt(quotient.vpu_ps, exponential.vpu_ps);
  cr_assert(exponential.transcendentals == 1 << 20 && exponential.flops == 0 &&
            quotient.transcendentals == 0);
  double seconds = (1 << 20) / (8.0 * 128 * 4 * 1.5e9);
  cr_assert_float_eq((double)sum.vpu_ps, seconds * 1e12, 1);
}

Test(demand, wide_elements_take_several_operations) {
  const Shape *narrow = array(DTYPE_S32, 64, 128), *wide = array(DTYPE_S64, 64, 128);
  Demand word = demand(add(OP_ADD, narrow, parameter(narrow), parameter(narrow)));
  Demand pair = demand(add(OP_ADD, wide, parameter(wide), parameter(wide)));
  cr_assert_float_eq((double)pair.vpu_ps, 4 * (double)word.vpu_ps, 4);
}

Test(demand, of_slices_and_updates_only_the_part_moves) {
  const Shape *whole = array(DTYPE_F32, 4096, 1024), *part = array(DTYPE_F32, 1, 1024);
  uint32_t x = parameter(whole), u = parameter(part);
  cr_assert_eq(demand(add(OP_SLICE, part, x, NO_ID)).hbm_bytes, 2 * 4096);
  cr_assert_eq(demand(add(OP_DYNAMIC_UPDATE_SLICE, whole, x, u)).hbm_bytes, 2 * 4096);
}

Test(demand, free_ops_control_flow_and_collectives_ask_nothing) {
  const Shape *shape = array(DTYPE_F32, 64, 128),
              *split = shape_array(arena, DTYPE_F32, (const int64_t[]){8, 8, 128}, 3);
  const Shape *flat = shape_array(arena, DTYPE_F32, (const int64_t[]){64 * 128}, 1);
  uint32_t x = parameter(shape);
  const Instr *nothing[] = {add(OP_BITCAST, shape, x, NO_ID), add(OP_OPT_BARRIER, shape, x, NO_ID),
                            add(OP_RESHAPE, split, x, NO_ID), add(OP_ALL_REDUCE, shape, x, NO_ID),
                            add(OP_WHILE, shape, x, NO_ID),   add(OP_FUSION, shape, x, NO_ID)};
  Bound bound;
  for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++) {
    Demand of = demand(nothing[i]);
    cr_assert(of.hbm_bytes == 0 && of.vpu_ps == 0 && of.mxu_ps == 0 && of.flops == 0, "%zu", i);
    cr_assert_eq(demand_ps(&pod, of, &bound), 0);
    cr_assert_eq(bound, BOUND_FREE);
  }
  cr_assert_gt(demand(add(OP_RESHAPE, flat, x, NO_ID)).hbm_bytes, 0, "the minor dimension changes");
}

Test(demand, reductions_and_sorts_count_their_steps) {
  const Shape *in = array(DTYPE_F32, 256, 1024),
              *out = shape_array(arena, DTYPE_F32, (const int64_t[]){256}, 1);
  Instr *sum = add(OP_REDUCE, out, parameter(in), parameter(shape_scalar(arena, DTYPE_F32)));
  cr_assert_eq(demand(sum).flops, 256 * 1023);
  cr_assert_eq(demand(sum).hbm_bytes, 256 * 1024 * 4 + 256 * 4 + 4);
  Instr *sorted = add(OP_SORT, in, parameter(in), NO_ID);
  instr_set_ints(module, sorted, ATTR_dimensions, (const int64_t[]){1}, 1);
  cr_assert_eq(demand(sorted).flops, 256 * 1024 * 55, "10 * 11 / 2 rounds");
  Instr *largest = add(OP_TOPK, in, parameter(in), NO_ID);
  instr_set_int(module, largest, ATTR_k, 50);
  cr_assert_eq(demand(largest).flops, 256 * 1024 * (21 + 7), "runs of 64, then halves that are merged");
}

Test(demand, sums_do_not_overflow) {
  Demand huge = {.mxu_ps = 1LL << 62, .vpu_ps = 1LL << 61, .hbm_bytes = 1LL << 62, .flops = 1LL << 62};
  Demand sum = demand_add(huge, huge);
  cr_assert(sum.mxu_ps == 1LL << 62 && sum.vpu_ps == 1LL << 62 && sum.flops == 1LL << 62);
  cr_assert_eq(demand_ps(&pod, sum, NULL), 1LL << 62);
  Demand small = demand_add((Demand){.flops = 3, .hbm_bytes = 5}, (Demand){.flops = 4, .transcendentals = 1});
  cr_assert(small.flops == 7 && small.hbm_bytes == 5 && small.transcendentals == 1);
}

Test(demand, every_opcode_has_a_demand) {
  const Shape *shape = array(DTYPE_F32, 16, 128);
  uint32_t x = parameter(shape), y = parameter(shape);
  for (int op = 0; op < OP_COUNT; op++) {
    if (op == OP_PARAMETER || op == OP_CONSTANT) continue;
    Demand of = demand(add((Opcode)op, shape, x, y));
    Cost cost = op_cost((Opcode)op);
    bool none = cost == COST_FREE || cost == COST_COLLECTIVE || cost == COST_CONTROL || op == OP_COPY_DONE ||
                op == OP_RESHAPE;
    cr_assert_eq(of.hbm_bytes == 0, none, "%s", op_text((Opcode)op));
  }
}

/* 1.97e14 / 8.19e11: 240 FLOP a byte; int8 twice the rate over one byte: 243 (JAX Scaling Book, rooflines).
 */
Test(demand, ridge_of_v5e) {
  cr_assert_float_eq(pod.peak_flops / pod.hbm_bw_Bps, 240, 1);
}

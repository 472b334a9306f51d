/* Schedules: order, fusion, traffic, memory, trips. Programs are written as text and read. */
#include "schedule_fixture.h"
#include "sim/schedule/expected_starts.h"

TestSuite(schedule, .init = begin_scheduling, .fini = end_scheduling);

/* Every instruction once, after its operands; every value but the root freed once, after its last use. */
static void check_order(uint32_t comp) {
  const Comp *body = module_comp(module, comp);
  const CompSchedule *made = &schedule->comps[comp];
  uint32_t n = body->instrs.n, time = 0;
  uint32_t *at = ARENA_ARRAY(arena, uint32_t, n), *freed = ARENA_ARRAY(arena, uint32_t, n);
  for (uint32_t s = 0; s < made->steps.n; s++) {
    const Step *step = &made->steps.at[s];
    for (uint32_t i = 0; i < step->instrs.n; i++) {
      const Instr *instr = &body->instrs.at[step->instrs.at[i]];
      cr_assert_eq(at[step->instrs.at[i]], 0, "%.*s runs twice", STR_ARG(instr->name));
      at[step->instrs.at[i]] = ++time;
      for (uint32_t k = 0; k < instr->operands.n; k++) {
        cr_assert_neq(at[instr->operands.at[k]], 0, "%.*s runs before an operand", STR_ARG(instr->name));
        cr_assert_eq(freed[instr->operands.at[k]], 0, "%.*s uses a freed value", STR_ARG(instr->name));
      }
    }
    for (uint32_t i = 0; i < step->frees.n; i++) cr_assert_eq(freed[step->frees.at[i]]++, 0);
  }
  cr_assert_eq(time, n);
  for (uint32_t i = 0; i < n; i++) cr_assert_eq(freed[i], i != body->root);
}

static void run(const char *text) {
  read_program(text);
  cr_assert_eq(module_schedule(module, &pod, &schedule, diag), STATUS_OK, "%s", diag_error_text(diag).at);
  for (uint32_t comp = 0; comp < module->comps.n; comp++) {
    if (schedule->comps[comp].steps.n != 0) check_order(comp);
  }
}

/* Step number `index` of those of the entry that take time or are no kernel. */
static const Step *step(uint32_t index) {
  const CompSchedule *made = &schedule->comps[module->entry];
  for (uint32_t s = 0; s < made->steps.n; s++) {
    const Step *found = &made->steps.at[s];
    if ((found->kind != STEP_COMPUTE || found->time_ps > 0) && index-- == 0) return found;
  }
  return NULL;
}

static void expect_steps(uint32_t n) {
  cr_assert_null(step(n), "more than %u steps", n);
  cr_assert(n == 0 || step(n - 1) != NULL, "fewer than %u steps", n);
}

#define SUM                                                                                                  \
  "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"               \
  "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, b)\n}\n"

Test(schedule, an_elementwise_chain_is_one_step_that_reads_and_writes_once) {
  run("HloModule m\nENTRY e {\n"
      "  x = f32[1024,1024] parameter(0)\n  y = f32[1024,1024] parameter(1)\n  k = f32[] constant(2)\n"
      "  kk = f32[1024,1024] broadcast(k), dimensions={}\n  a = f32[1024,1024] multiply(x, kk)\n"
      "  b = f32[1024,1024] add(a, y)\n  c = f32[1024,1024] tanh(b)\n"
      "  ROOT d = bf16[1024,1024] convert(c)\n}\n");
  expect_steps(1);
  cr_assert_eq(step(0)->instrs.n, 5);
  cr_assert_float_eq((double)step(0)->demand.hbm_bytes, 10.0 * 1024 * 1024, 8);
  cr_assert_eq(step(0)->bound, BOUND_HBM);
  double hbm_s = 10.0 * 1024 * 1024 / (0.9 * 8.19e11), start_s = 1820 / 1.5e9;
  cr_assert_float_eq((double)step(0)->time_ps, (hbm_s + start_s) * 1e12, 100);
}

/* Of a register the TPU compiler estimates 1840 cycles; scalars have a unit of their own. */
Test(schedule, a_kernel_on_arrays_has_a_start) {
  run("HloModule m\nENTRY e {\n  x = f32[8,128] parameter(0)\n  ROOT y = f32[8,128] add(x, x)\n}\n");
  cr_assert_float_eq((double)step(0)->time_ps * 1e-12 * 1.5e9, 1840, 40);
  run("HloModule m\nENTRY e {\n  x = f32[] parameter(0)\n  ROOT y = f32[] add(x, x)\n}\n");
  cr_assert_lt(step(0)->time_ps, 100);
}

#define TWO_KERNELS(size)                                                                                    \
  "HloModule m\nless {\n  p = f32[] parameter(0)\n  q = f32[] parameter(1)\n"                                \
  "  ROOT r = pred[] compare(p, q), direction=LT\n}\nENTRY e {\n"                                            \
  "  x = f32[" size "] parameter(0)\n  a = f32[" size "] sort(x), dimensions={0}, to_apply=less\n"           \
  "  b = f32[" size "] negate(a)\n  c = f32[" size "] sine(a)\n"                                             \
  "  ROOT t = (f32[" size "], f32[" size "]) tuple(b, c)\n}\n"

Test(schedule, what_two_kernels_need_is_stored) {
  run(TWO_KERNELS("8192,8192"));
  expect_steps(3);
  for (uint32_t s = 0; s < 3; s++) cr_assert_eq(step(s)->demand.hbm_bytes, 512 << 20);
}

Test(schedule, what_two_kernels_need_lies_in_vmem_where_it_fits) {
  run(TWO_KERNELS("1024,1024"));
  expect_steps(3);
  for (uint32_t s = 0; s < 3; s++) cr_assert_eq(step(s)->demand.hbm_bytes, 4 << 20);
  cr_assert_eq(schedule->hbm_temp_bytes, 0);
}

/* Beside a product that leaves HBM time, an operand of the next kernel comes in, and a result of the last
 * goes out. */
#define BESIDE_A_DOT(product)                                                                                \
  "HloModule m\nENTRY e {\n"                                                                                 \
  "  a = bf16[4096,4096] parameter(0)\n  x = f32[4096,2048] parameter(1)\n"                                  \
  "  y = f32[4096,2048] parameter(2)\n  before = f32[4096,2048] negate(y)\n"                                 \
  "  p = bf16[4096,4096] " product "\n  after = f32[4096,2048] sine(x)\n"                                    \
  "  ROOT t = (f32[4096,2048], bf16[4096,4096], f32[4096,2048]) tuple(before, p, after)\n}\n"

Test(schedule, copies_run_beside_a_product) {
  run(BESIDE_A_DOT("dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}"));
  expect_steps(3);
  cr_assert_eq(step(0)->demand.hbm_bytes, 32 << 20, "its result is sent on");
  cr_assert_eq(step(2)->demand.hbm_bytes, 32 << 20, "its operand is there");
  cr_assert_eq(step(1)->demand.hbm_bytes, 64 << 20);
  cr_assert_eq(step(1)->demand.copy_bytes, 64 << 20);
  cr_assert_eq(step(1)->bound, BOUND_COMPUTE);
}

Test(schedule, a_kernel_that_fills_hbm_leaves_no_time_for_copies) {
  run(BESIDE_A_DOT("reverse(a), dimensions={0}"));
  expect_steps(3);
  for (uint32_t s = 0; s < 3; s++) {
    cr_assert_eq(step(s)->demand.hbm_bytes, 64 << 20);
    cr_assert_eq(step(s)->demand.copy_bytes, 0);
  }
}

/* Two values to load are dearer than the one that follows from one. */
Test(schedule, what_follows_from_one_value_is_made_anew_for_each_kernel) {
  run("HloModule m\nENTRY e {\n"
      "  x = f32[8192,8192] parameter(0)\n  a = f32[8192,8192] exponential(x)\n"
      "  b = f32[8192,8192] multiply(a, x)\n  c = f32[8192,8192] sine(b)\n  d = f32[8192,8192] cosine(b)\n"
      "  ROOT t = (f32[8192,8192], f32[8192,8192]) tuple(c, d)\n}\n");
  expect_steps(2);
  for (uint32_t s = 0; s < 2; s++) cr_assert_eq(step(s)->demand.hbm_bytes, 512 << 20);
  cr_assert_eq(schedule->hbm_temp_bytes, 0);
}

/* The constants' broadcasts are no values to load. */
Test(schedule, what_follows_from_one_value_and_constants_is_made_anew_too) {
  run("HloModule m\nENTRY e {\n"
      "  x = f32[8192,8192] parameter(0)\n  k = f32[] constant(2)\n"
      "  kk = f32[8192,8192] broadcast(k), dimensions={}\n  a = f32[8192,8192] add(x, kk)\n"
      "  b = f32[8192,8192] multiply(a, kk)\n  c = f32[8192,8192] sine(b)\n  d = f32[8192,8192] cosine(b)\n"
      "  ROOT t = (f32[8192,8192], f32[8192,8192]) tuple(c, d)\n}\n");
  expect_steps(2);
  for (uint32_t s = 0; s < 2; s++) cr_assert_float_eq((double)step(s)->demand.hbm_bytes, 512 << 20, 4);
}

Test(schedule, a_loop_hands_out_what_others_use_too) {
  run("HloModule m\nENTRY e {\n"
      "  x = f32[8192,8192] parameter(0)\n  y = f32[8192,8192] parameter(1)\n"
      "  a = f32[8192,8192] add(x, y)\n  b = f32[8192,8192] multiply(a, y)\n"
      "  ROOT t = (f32[8192,8192], f32[8192,8192]) tuple(a, b)\n}\n");
  expect_steps(1);
  cr_assert_eq(step(0)->demand.hbm_bytes, (int64_t)1024 << 20);
}

/* The reduction takes it through a conversion, which the sine makes anew. */
Test(schedule, a_reduction_joins_what_it_uses_through_what_is_made_anew) {
  run("HloModule m\n"
      "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
      "ENTRY e {\n"
      "  x = bf16[8192,8192] parameter(0)\n  y = bf16[8192,8192] parameter(1)\n"
      "  a = bf16[8192,8192] add(x, y)\n  c = f32[8192,8192] convert(a)\n  d = f32[8192,8192] sine(c)\n"
      "  z = f32[] constant(0)\n  s = f32[8192] reduce(c, z), dimensions={1}, to_apply=add\n"
      "  ROOT t = (f32[8192,8192], f32[8192]) tuple(d, s)\n}\n");
  expect_steps(2);
  cr_assert_float_eq((double)step(0)->demand.hbm_bytes, 384 << 20, 40000);
  cr_assert_eq(step(1)->demand.hbm_bytes, 384 << 20);
}

/* Neither operand fits in VMEM: each is read for sixteen blocks of the other. */
Test(schedule, a_product_reads_operands_anew_for_each_block_of_results) {
  run("HloModule m\nENTRY e {\n"
      "  a = bf16[16384,8192] parameter(0)\n  b = bf16[8192,16384] parameter(1)\n"
      "  ROOT c = bf16[16384,16384] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  expect_steps(1);
  cr_assert_eq(step(0)->demand.hbm_bytes, (int64_t)(16 * 256 + 16 * 256 + 512) << 20);
}

/* The exponentials and their sums come out of one kernel, which stands before the other use. */
Test(schedule, a_reduction_joins_what_makes_its_operand) {
  run("HloModule m\n"
      "add {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
      "ENTRY e {\n"
      "  x = f32[8192,8192] parameter(0)\n  e = f32[8192,8192] exponential(x)\n"
      "  y = f32[8192,8192] cosine(e)\n  z = f32[] constant(0)\n"
      "  s = f32[8192] reduce(e, z), dimensions={1}, to_apply=add\n"
      "  ROOT t = (f32[8192,8192], f32[8192,8192], f32[8192]) tuple(e, y, s)\n}\n");
  expect_steps(2);
  cr_assert_eq(step(0)->instrs.n, 2, "exponential and reduce");
  cr_assert_float_eq((double)step(0)->demand.hbm_bytes, 512 << 20, 40000);
  cr_assert_eq(step(1)->demand.hbm_bytes, 512 << 20);
}

Test(schedule, a_broadcast_for_several_kernels_costs_nothing) {
  run("HloModule m\nENTRY e {\n"
      "  x = f32[8192,8192] parameter(0)\n  k = f32[8192] parameter(1)\n"
      "  kk = f32[8192,8192] broadcast(k), dimensions={1}\n  b = f32[8192,8192] add(x, kk)\n"
      "  c = f32[8192,8192] multiply(x, kk)\n  ROOT t = (f32[8192,8192], f32[8192,8192]) tuple(b, c)\n}\n");
  expect_steps(2);
  for (uint32_t s = 0; s < 2; s++) cr_assert_float_eq((double)step(s)->demand.hbm_bytes, 512 << 20, 8192 * 4);
  cr_assert_eq(schedule->hbm_temp_bytes, 0);
}

Test(schedule, a_dot_takes_its_prologue_and_epilogue) {
  run("HloModule m\nENTRY e {\n"
      "  x = f32[1024,512] parameter(0)\n  w = bf16[512,2048] parameter(1)\n  b = f32[2048] parameter(2)\n"
      "  xx = bf16[1024,512] convert(x)\n"
      "  d = f32[1024,2048] dot(xx, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  bb = f32[1024,2048] broadcast(b), dimensions={1}\n  s = f32[1024,2048] add(d, bb)\n"
      "  ROOT r = f32[1024,2048] tanh(s)\n}\n");
  expect_steps(1);
  cr_assert_eq(step(0)->demand.hbm_bytes, 1024 * 512 * 4 + 512 * 2048 * 2 + 2048 * 4 + 1024 * 2048 * 4);
  cr_assert_eq(step(0)->demand.flops, 2LL * 1024 * 512 * 2048 + 1024 * 2048 + 1024 * 512);
  cr_assert_eq(schedule->flops, step(0)->demand.flops);
}

Test(schedule, two_dots_are_two_steps) {
  run("HloModule m\nENTRY e {\n"
      "  x = bf16[64,64] parameter(0)\n  y = bf16[64,64] parameter(1)\n"
      "  d = bf16[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  g = bf16[64,64] tanh(d)\n"
      "  ROOT f = bf16[64,64] dot(g, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  expect_steps(2);
}

#define SOFTMAX(shape, kept, kept_dims, reduced)                                                             \
  "HloModule m\n" SUM "ENTRY e {\n"                                                                          \
  "  x = f32[" shape "] parameter(0)\n  low = f32[] constant(-inf)\n  zero = f32[] constant(0)\n"            \
  "  m = f32[" kept "] reduce(x, low), dimensions={" reduced "}, to_apply=max\n"                             \
  "  mm = f32[" shape "] broadcast(m), dimensions={" kept_dims "}\n"                                         \
  "  d = f32[" shape "] subtract(x, mm)\n  e = f32[" shape "] exponential(d)\n"                              \
  "  s = f32[" kept "] reduce(e, zero), dimensions={" reduced "}, to_apply=sum\n"                            \
  "  ss = f32[" shape "] broadcast(s), dimensions={" kept_dims "}\n"                                         \
  "  ROOT r = f32[" shape "] divide(e, ss)\n}\n"

/* The compiler finds a softmax of three dimensions, however long its rows, and makes it at once. */
Test(schedule, a_softmax_is_one_kernel) {
  run(SOFTMAX("32,512,4096", "32,512", "0,1", "2"));
  expect_steps(1);
  cr_assert_float_eq((double)step(0)->demand.hbm_bytes, 2.0 * 32 * 512 * 4096 * 4, 16);
}

/* Of two dimensions it does not: three kernels go through the rows; the last writes too. */
Test(schedule, a_softmax_of_two_dimensions_reads_its_rows_again) {
  run(SOFTMAX("16384,4096", "16384", "0", "1"));
  expect_steps(3);
  for (uint32_t s = 0; s < 3; s++)
    cr_assert_float_eq((double)step(s)->demand.hbm_bytes, s < 2 ? 256 << 20 : 512 << 20, 140000);
}

#define ATTENTION(batch, columns, heads, length, scaled)                                                     \
  SUM "ENTRY e {\n"                                                                                          \
      "  x = bf16[" batch "," length "," columns "] parameter(0)\n"                                          \
      "  y = bf16[" batch "," length "," columns "] parameter(1)\n"                                          \
      "  q = bf16[" batch "," length "," heads ",128] reshape(x)\n"                                          \
      "  k = bf16[" batch "," length "," heads ",128] reshape(y)\n"                                          \
      "  p = bf16[" batch "," heads "," length "," length "] dot(q, k), lhs_batch_dims={0,2}, "              \
      "rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={3}\n"                           \
      "  w = f32[" batch "," heads "," length "," length "] convert(p)\n  ten = f32[] constant(0.1)\n"       \
      "  t = f32[" batch "," heads "," length "," length "] broadcast(ten), dimensions={}\n"                 \
      "  f = f32[" batch "," heads "," length "," length "] " scaled "\n"                                    \
      "  low = f32[] constant(-inf)\n  zero = f32[] constant(0)\n"                                           \
      "  m = f32[" batch "," heads "," length "] reduce(f, low), dimensions={3}, to_apply=max\n"             \
      "  mm = f32[" batch "," heads "," length "," length "] broadcast(m), dimensions={0,1,2}\n"             \
      "  d = f32[" batch "," heads "," length "," length "] subtract(f, mm)\n"                               \
      "  e = f32[" batch "," heads "," length "," length "] exponential(d)\n"                                \
      "  s = f32[" batch "," heads "," length "] reduce(e, zero), dimensions={3}, to_apply=sum\n"            \
      "  ss = f32[" batch "," heads "," length "," length "] broadcast(s), dimensions={0,1,2}\n"             \
      "  r = f32[" batch "," heads "," length "," length "] divide(e, ss)\n"                                 \
      "  h = bf16[" batch "," heads "," length "," length "] convert(r)\n"                                   \
      "  v = bf16[" batch "," heads "," length ",128] parameter(2)\n"                                        \
      "  ROOT a = bf16[" batch "," heads "," length ",128] dot(h, v), lhs_batch_dims={0,1}, "                \
      "rhs_batch_dims={0,1}, lhs_contracting_dims={3}, rhs_contracting_dims={2}\n}\n"
#define SCALED "multiply(w, t)"

/* As the TPU compiler has it: scores, maxima, exponentials and their sums in one kernel where heads are
 * there already, and rows are no longer than the kernel's blocks. What stays in f32 is not rounded. */
Test(schedule, a_softmax_is_made_with_the_scores) {
  run("HloModule m\n" ATTENTION("4", "1024", "8", "2048", SCALED));
  expect_steps(2);
  cr_assert_gt(step(0)->demand.mxu_ps, 0);
  cr_assert_eq(step(0)->demand.rounding_ps, 0);
}

Test(schedule, a_softmax_of_long_rows_or_many_heads_follows_the_scores) {
  run("HloModule m\n" ATTENTION("4", "2048", "16", "1024", SCALED));
  expect_steps(3);
  cr_assert_gt(step(0)->demand.rounding_ps, 0, "the scores are stored as bf16");
  run("HloModule m\n" ATTENTION("4", "1024", "8", "4096", SCALED));
  expect_steps(3);
  cr_assert_eq(step(0)->demand.rounding_ps, 0, "the scores are scaled, and stay wide");
}

#define ROTARY(length)                                                                                       \
  "HloModule m\n" SUM "ENTRY e {\n  a = bf16[4," length ",8,64] parameter(0)\n"                              \
  "  b = bf16[4," length ",8,64] parameter(1)\n  k = bf16[4," length ",8,128] parameter(2)\n"                \
  "  q = bf16[4," length ",8,128] concatenate(a, b), dimensions={3}\n"                                       \
  "  p = f32[4,8," length "," length "] dot(q, k), lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, "             \
  "lhs_contracting_dims={3}, rhs_contracting_dims={3}\n"                                                     \
  "  low = f32[] constant(-inf)\n  zero = f32[] constant(0)\n"                                               \
  "  m = f32[4,8," length "] reduce(p, low), dimensions={3}, to_apply=max\n"                                 \
  "  mm = f32[4,8," length "," length "] broadcast(m), dimensions={0,1,2}\n"                                 \
  "  d = f32[4,8," length "," length "] subtract(p, mm)\n"                                                   \
  "  e = f32[4,8," length "," length "] exponential(d)\n"                                                    \
  "  s = f32[4,8," length "] reduce(e, zero), dimensions={3}, to_apply=sum\n"                                \
  "  ss = f32[4,8," length "," length "] broadcast(s), dimensions={0,1,2}\n"                                 \
  "  ROOT r = f32[4,8," length "," length "] divide(e, ss)\n}\n"

/* A kernel that puts heads together from their rotated halves has room for shorter rows. */
Test(schedule, a_softmax_of_rotary_heads_is_made_with_the_scores_of_short_rows) {
  run(ROTARY("1024"));
  expect_steps(1);
  run(ROTARY("2048"));
  expect_steps(2);
}

/* Maxima of what is widened alone are sought with the scores, before it is: the rest reads the scores again.
 */
Test(schedule, a_softmax_of_what_is_widened_alone_reads_the_scores_again) {
  run("HloModule m\n" ATTENTION("4", "1024", "8", "2048", "copy(w)"));
  expect_steps(2);
  run("HloModule m\n" ATTENTION("4", "1024", "8", "2048", "bitcast(w)"));
  expect_steps(3);
  double scores = 4.0 * 8 * 2048 * 2048;
  cr_assert_float_eq((double)step(1)->demand.hbm_bytes, 2 * scores, 2e6);
  cr_assert_float_eq((double)step(2)->demand.hbm_bytes, 2 * scores, 3e7);
}

/* Nor does it find the softmax where partitioning left one sequence to each device. */
Test(schedule, a_softmax_of_one_sequence_of_several_reads_the_scores_again) {
  run("HloModule m\n" ATTENTION("1", "1024", "8", "2048", SCALED));
  expect_steps(2);
  run("HloModule m, num_partitions=8\n" ATTENTION("1", "1024", "8", "2048", SCALED));
  expect_steps(3);
}

Test(schedule, a_product_hands_out_its_result_beside_a_loop_that_follows_it) {
  run("HloModule m\nENTRY e {\n  x = bf16[64,64] parameter(0)\n  y = bf16[64,64] parameter(1)\n"
      "  d = bf16[64,64] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  g = bf16[64,64] tanh(d)\n  ROOT t = (bf16[64,64], bf16[64,64]) tuple(d, g)\n}\n");
  expect_steps(1);
}

/* What moves the lanes is a copy to another layout; a product reads its operands so. */
Test(schedule, a_transpose_is_a_kernel_of_its_own) {
  run("HloModule m\nENTRY e {\n  x = f32[4096,1024] parameter(0)\n"
      "  t = f32[1024,4096] transpose(x), dimensions={1,0}\n  ROOT n = f32[1024,4096] negate(t)\n}\n");
  expect_steps(2);
  run("HloModule m\nENTRY e {\n  x = f32[4096,1024] parameter(0)\n  y = f32[4096,512] parameter(1)\n"
      "  t = f32[1024,4096] transpose(x), dimensions={1,0}\n  n = f32[1024,4096] negate(t)\n"
      "  ROOT d = f32[1024,512] dot(n, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  expect_steps(1);
}

/* As in a rotary embedding. */
Test(schedule, what_is_widened_and_read_in_parts_is_stored_wide) {
  run("HloModule m\nENTRY e {\n  x = bf16[4096,256] parameter(0)\n  w = f32[4096,256] convert(x)\n"
      "  a = f32[4096,128] slice(w), slice={[0:4096], [0:128]}\n"
      "  b = f32[4096,128] slice(w), slice={[0:4096], [128:256]}\n  ROOT r = f32[4096,128] subtract(a, "
      "b)\n}\n");
  expect_steps(2);
}

/* What is updated in place, and then handed out, lies in the output from the beginning. */
Test(schedule, an_output_takes_over_what_it_is_made_from_in_place) {
  run("HloModule m\n" SUM "ENTRY e {\n  i = s32[16] parameter(0)\n  u = f32[16,1024] parameter(1)\n"
      "  z = f32[] constant(0)\n  zz = f32[65536,1024] broadcast(z), dimensions={}\n"
      "  ROOT s = f32[65536,1024] scatter(zz, i, u), update_window_dims={1}, inserted_window_dims={0}, "
      "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum\n}\n");
  cr_assert_lt(schedule->hbm_temp_bytes, 1 << 20, "%ld", (long)schedule->hbm_temp_bytes);
}

/* What an all-reduce sums for an output lies beside it. */
Test(schedule, an_output_does_not_take_over_what_is_sent) {
  run("HloModule m, num_partitions=8\n" SUM "ENTRY e {\n  x = f32[65536,1024] parameter(0)\n"
      "  n = f32[65536,1024] negate(x)\n  ROOT a = f32[65536,1024] all-reduce(n), channel_id=1, "
      "replica_groups=[1,8]<=[8], use_global_device_ids=true, to_apply=sum\n}\n");
  cr_assert_geq(schedule->hbm_temp_bytes, 65536 * 1024 * 4, "%ld", (long)schedule->hbm_temp_bytes);
}

/* A pad between elements is a kernel of its own; one around them joins its users. */
Test(schedule, elements_are_spread_alone) {
  run("HloModule m\nENTRY e {\n  x = f32[4096,4096] parameter(0)\n  y = f32[8191,4096] parameter(1)\n"
      "  z = f32[] constant(0)\n  s = f32[4096,4096] sine(x)\n"
      "  p = f32[8191,4096] pad(s, z), padding=0_0_1x0_0\n  ROOT a = f32[8191,4096] add(p, y)\n}\n");
  expect_steps(3);
  run("HloModule m\nENTRY e {\n  x = f32[4096,4096] parameter(0)\n  y = f32[8192,4096] parameter(1)\n"
      "  z = f32[] constant(0)\n  s = f32[4096,4096] sine(x)\n"
      "  p = f32[8192,4096] pad(s, z), padding=0_4096x0_0\n  ROOT a = f32[8192,4096] add(p, y)\n}\n");
  expect_steps(1);
}

/* A window that holds the whole row from each place is a reduction, not one for each result. */
Test(schedule, a_window_over_all_of_a_row_is_reduced_once) {
  run("HloModule m\n" SUM "ENTRY e {\n  x = f32[4096,1024] parameter(0)\n  z = f32[] constant(0)\n"
      "  ROOT r = f32[4096,1024] reduce-window(x, z), window={size=1x2047 pad=0_0x1023_1023}, "
      "to_apply=max\n}\n");
  int64_t whole_ps = step(0)->demand.vpu_ps;
  run("HloModule m\n" SUM "ENTRY e {\n  x = f32[4096,1024] parameter(0)\n  z = f32[] constant(0)\n"
      "  ROOT r = f32[4096,1024] reduce-window(x, z), window={size=1x1024 pad=0_0x1023_0}, "
      "to_apply=max\n}\n");
  double times = (double)step(0)->demand.vpu_ps / (double)whole_ps;
  cr_assert_float_eq(times, 20, 0.01, "running maxima double their reach");
}

#define LOOKUP(type)                                                                                         \
  "HloModule m\nENTRY e {\n  t = " type "[32000,4096] parameter(0)\n  i = s32[8192] parameter(1)\n"          \
  "  ROOT r = " type "[8192,4096] gather(t, i), offset_dims={1}, collapsed_slice_dims={0}, "                 \
  "start_index_map={0}, index_vector_dim=1, slice_sizes={1,4096}\n}\n"

/* Two rows of bf16 lie in the same words. */
Test(schedule, rows_of_a_narrow_type_come_with_their_neighbours) {
  run(LOOKUP("f32"));
  int64_t rows = 8192 * 4096, indices = 8192 * 4;
  cr_assert_eq(step(0)->demand.hbm_bytes, 2 * rows * 4 + indices);
  run(LOOKUP("bf16"));
  cr_assert_eq(step(0)->demand.hbm_bytes, 2 * rows * 2 + rows * 2 + indices);
}

/* As a gradient that JAX writes at the end: what it is made of need not stay. */
Test(schedule, what_only_leaves_the_program_is_made_early) {
  run("HloModule m\nENTRY e {\n  x = f32[1024,1024] parameter(0)\n"
      "  a = f32[1024,1024] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  b = f32[1024,1024] dot(a, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  c = f32[1024,1024] dot(b, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  d = f32[1024,1024] dot(c, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  k = f32[] constant(2)\n  kk = f32[1024,1024] broadcast(k), dimensions={}\n"
      "  g = f32[1024,1024] dot(a, a), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n"
      "  s = f32[1024,1024] multiply(g, kk)\n  u = f32[1024,1024] subtract(x, s)\n"
      "  ROOT t = (f32[1024,1024], f32[1024,1024]) tuple(d, u)\n}\n");
  const Comp *entry = module_comp(module, module->entry);
  uint32_t third = step(2)->instrs.at[step(2)->instrs.n - 1]; /* beside the step behind `a` */
  cr_assert(str_is(entry->instrs.at[third].name, "u"), "%.*s", STR_ARG(entry->instrs.at[third].name));
}

/* The body makes the broadcast that the loop only carries. */
Test(schedule, a_loop_makes_broadcasts_that_it_carries_anew) {
  run("HloModule m\n"
      "cond {\n  p = (s32[], f32[8192,8192], f32[8192,8192]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n  n = s32[] constant(4)\n"
      "  ROOT r = pred[] compare(i, n), direction=LT\n}\n"
      "body {\n  p = (s32[], f32[8192,8192], f32[8192,8192]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n  one = s32[] constant(1)\n  j = s32[] add(i, one)\n"
      "  x = f32[8192,8192] get-tuple-element(p), index=1\n"
      "  c = f32[8192,8192] get-tuple-element(p), index=2\n  y = f32[8192,8192] add(x, c)\n"
      "  ROOT t = (s32[], f32[8192,8192], f32[8192,8192]) tuple(j, y, c)\n}\n"
      "ENTRY e {\n  x = f32[8192,8192] parameter(0)\n  k = f32[] constant(2)\n"
      "  c = f32[8192,8192] broadcast(k), dimensions={}\n  z = s32[] constant(0)\n"
      "  t = (s32[], f32[8192,8192], f32[8192,8192]) tuple(z, x, c)\n"
      "  w = (s32[], f32[8192,8192], f32[8192,8192]) while(t), condition=cond, body=body\n"
      "  ROOT r = f32[8192,8192] get-tuple-element(w), index=1\n}\n");
  int64_t bytes = 0;
  const CompSchedule *body = &schedule->comps[1];
  for (uint32_t s = 0; s < body->steps.n; s++) bytes += body->steps.at[s].demand.hbm_bytes;
  cr_assert_float_eq((double)bytes, 512 << 20, 64);
}

Test(schedule, a_value_that_is_taken_apart_is_made_once) {
  run("HloModule m\nENTRY e {\n  x = f32[8192,8192] parameter(0)\n  z = f32[8192,8192] parameter(1)\n"
      "  y = f32[8192,8192] multiply(x, z)\n"
      "  a = f32[4096,8192] slice(y), slice={[0:4096], [0:8192]}\n"
      "  b = f32[4096,8192] slice(y), slice={[4096:8192], [0:8192]}\n  ROOT c = f32[4096,8192] add(a, "
      "b)\n}\n");
  expect_steps(2);
  cr_assert_eq(step(0)->demand.hbm_bytes, 768 << 20);
  cr_assert_eq(step(1)->demand.hbm_bytes, 384 << 20);
}

/* A value that a kernel has read stays for the next ones where there is room. */
Test(schedule, what_was_read_stays_in_vmem) {
  run(SOFTMAX("4096,4096", "4096", "0", "1"));
  expect_steps(3);
  cr_assert_float_eq((double)step(0)->demand.hbm_bytes, 64 << 20, 16);
  cr_assert_eq(step(1)->demand.hbm_bytes, 4);
}

Test(schedule, reductions_of_one_value_are_one_kernel) {
  run("HloModule m\n" SUM "ENTRY e {\n"
      "  x = f32[8192,8192] parameter(0)\n  y = f32[8192,8192] parameter(1)\n  z = f32[] constant(0)\n"
      "  a = f32[8192,8192] add(x, y)\n  b = f32[8192,8192] multiply(a, y)\n"
      "  s = f32[8192] reduce(a, z), dimensions={0}, to_apply=sum\n"
      "  t = f32[8192] reduce(b, z), dimensions={0}, to_apply=sum\n"
      "  ROOT r = (f32[8192,8192], f32[8192], f32[8192]) tuple(a, s, t)\n}\n");
  expect_steps(1);
  cr_assert_float_eq((double)step(0)->demand.hbm_bytes, 768 << 20, 70000);
}

Test(schedule, a_product_takes_reductions_of_its_results) {
  run("HloModule m\n" SUM "ENTRY e {\n"
      "  x = bf16[4096,4096] parameter(0)\n  z = f32[] constant(0)\n"
      "  d = f32[4096,4096] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT s = f32[4096] reduce(d, z), dimensions={0}, to_apply=sum\n}\n");
  expect_steps(1);
}

/* Of a loss: the derivative of what was looked up is made element by element. */
Test(schedule, a_scatter_of_single_elements_into_a_constant_is_elementwise) {
  run("HloModule m\n" SUM "ENTRY e {\n"
      "  i = s32[8192,1] parameter(0)\n  u = f32[8192] parameter(1)\n  x = f32[8192,8192] parameter(2)\n"
      "  z = f32[] constant(0)\n  zz = f32[8192,8192] broadcast(z), dimensions={}\n"
      "  n = s32[8192,1] iota(), iota_dimension=0\n  c = s32[8192,2] concatenate(n, i), dimensions={1}\n"
      "  h = f32[8192,8192] scatter(zz, c, u), update_window_dims={}, inserted_window_dims={0,1}, "
      "scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=sum\n"
      "  ROOT y = f32[8192,8192] add(h, x)\n}\n");
  expect_steps(1);
  cr_assert_float_eq((double)step(0)->demand.hbm_bytes, 512 << 20, 140000);
}

Test(schedule, collectives_and_control_flow_are_steps_of_their_own) {
  run("HloModule m, num_partitions=8\n" SUM "ENTRY e {\n"
      "  x = f32[1024] parameter(0)\n  p = pred[] parameter(1)\n  a = f32[1024] negate(x)\n"
      "  r = f32[1024] all-reduce(a), replica_groups={{0,1,2,3,4,5,6,7}}, to_apply=sum\n"
      "  ROOT b = f32[1024] exponential(r)\n}\n");
  expect_steps(3);
  cr_assert_eq(step(0)->kind, STEP_COMPUTE);
  cr_assert(step(1)->kind == STEP_COLLECTIVE && step(1)->time_ps == 0 && step(1)->demand.hbm_bytes == 0);
  cr_assert_eq(schedule->comps[0].steps.n, 0, "a reduction's computation has no schedule");
}

Test(schedule, asynchronous_pairs_start_and_end) {
  run("HloModule m, num_partitions=8\nENTRY e {\n"
      "  x = f32[1024] parameter(0)\n"
      "  s = (f32[1024], f32[8192]) all-gather-start(x), replica_groups={{0,1,2,3,4,5,6,7}}, dimensions={0}\n"
      "  y = f32[1024] negate(x)\n  d = f32[8192] all-gather-done(s)\n"
      "  ROOT t = (f32[8192], f32[1024]) tuple(d, y)\n}\n");
  expect_steps(3);
  cr_assert(step(0)->kind == STEP_START && step(1)->kind == STEP_COMPUTE && step(2)->kind == STEP_DONE);
  cr_assert_eq(schedule->hbm_peak_bytes, 4096 + 32768 + 4096);
}

Test(schedule, a_program_that_comes_fused_keeps_its_groups) {
  run("HloModule m, is_scheduled=true\n"
      "f {\n  a = f32[1024,1024] parameter(0)\n  i = s32[] parameter(1)\n  z = s32[] constant(0)\n"
      "  s = f32[8,1024] dynamic-slice(a, i, z), dynamic_slice_sizes={8,1024}\n"
      "  b = f32[8192] bitcast(s)\n  ROOT e = f32[8192] exponential(b)\n}\n"
      "ENTRY e {\n  x = f32[1024,1024] parameter(0)\n  i = s32[] parameter(1)\n"
      "  g = f32[8192] fusion(x, i), kind=kLoop, calls=f\n  n = f32[8192] negate(g)\n"
      "  ROOT r = f32[8192] sine(n)\n}\n");
  expect_steps(3);
  cr_assert_eq(step(0)->kind, STEP_CALL);
  cr_assert_float_eq((double)step(0)->demand.hbm_bytes, 2 * 32768, 8, "only the slice is read");
  cr_assert_eq(step(0)->demand.transcendentals, 8192);
  cr_assert_gt(step(0)->time_ps, 0);
  const CompSchedule *inner = &schedule->comps[0];
  cr_assert(inner->steps.n == 1 && inner->steps.at[0].time_ps == 0 && inner->steps.at[0].instrs.n == 6);
}

Test(schedule, values_in_vmem_cost_no_hbm) {
  run("HloModule m, is_scheduled=true\nENTRY e {\n  x = f32[1024,128]{1,0} parameter(0)\n"
      "  a = f32[1024,128]{1,0:S(1)} negate(x)\n  ROOT b = f32[1024,128]{1,0} sine(a)\n}\n");
  cr_assert_eq(step(0)->demand.hbm_bytes, 1024 * 128 * 4);
  cr_assert_eq(step(0)->demand.vmem_bytes, 2 * 1024 * 128 * 4);
  cr_assert_eq(step(1)->demand.hbm_bytes, 1024 * 128 * 4);
  cr_assert_eq(schedule->hbm_temp_bytes, 0);
}

Test(schedule, calls_have_schedules_of_their_own) {
  run("HloModule m\nf {\n  a = f32[1024] parameter(0)\n  ROOT b = f32[1024] negate(a)\n}\n"
      "ENTRY e {\n  x = f32[1024] parameter(0)\n  y = f32[1024] call(x), to_apply=f\n"
      "  ROOT z = f32[1024] call(y), to_apply=f\n}\n");
  cr_assert(step(0)->kind == STEP_CALL && step(0)->time_ps == 0);
  cr_assert_gt(schedule->comps[0].steps.at[1].time_ps, 0);
  cr_assert_eq(schedule->flops, 2048);
}

/* ---- loops ---- */

#define LOOP(start, condition, body)                                                                         \
  "HloModule m\n"                                                                                            \
  "bump {\n  a = s32[] parameter(0)\n  k = s32[] constant(3)\n  ROOT r = s32[] add(k, a)\n}\n"               \
  "less {\n  a = s32[] parameter(0)\n  b = s32[] parameter(1)\n  ROOT r = pred[] compare(a, b), "            \
  "direction=LT\n}\n"                                                                                        \
  "cond {\n  s = (s32[], f32[64], s32[]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"          \
  "  n = s32[] get-tuple-element(s), index=2\n  ten = s32[] constant(10)\n" condition "}\n"                  \
  "body {\n  s = (s32[], f32[64], s32[]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"          \
  "  x = f32[64] get-tuple-element(s), index=1\n  n = s32[] get-tuple-element(s), index=2\n"                 \
  "  one = s32[] constant(1)\n  y = f32[64] negate(x)\n" body "}\n"                                          \
  "ENTRY e {\n  x = f32[64] parameter(0)\n  data = s32[] parameter(1)\n  i = s32[] constant(" start ")\n"    \
  "  n = s32[] constant(25)\n  t = (s32[], f32[64], s32[]) tuple(i, x, n)\n"                                 \
  "  w = (s32[], f32[64], s32[]) while(t), condition=cond, body=body\n"                                      \
  "  ROOT r = f32[64] get-tuple-element(w), index=1\n}\n"

#define UP   "  j = s32[] add(i, one)\n  ROOT r = (s32[], f32[64], s32[]) tuple(j, y, n)\n"
#define DOWN "  j = s32[] subtract(i, one)\n  ROOT r = (s32[], f32[64], s32[]) tuple(j, y, n)\n"

static void expect_trips(const char *text, int64_t trips) {
  run(text);
  const Step *loop = NULL;
  for (uint32_t s = 0; step(s) != NULL; s++) loop = step(s)->kind == STEP_WHILE ? step(s) : loop;
  cr_assert_eq(loop->trips, trips, "%ld trips", (long)loop->trips);
  int64_t once = 64 + 1;
  cr_assert_geq(schedule->flops, (trips < 0 ? 1 : trips) * once);
  schedule_free(schedule);
  module_free(module);
  schedule = NULL;
  module = NULL;
}

Test(schedule, trips_of_counters) {
  expect_trips(LOOP("0", "  ROOT c = pred[] compare(i, ten), direction=LT\n", UP), 10);
  expect_trips(LOOP("-5", "  ROOT c = pred[] compare(i, ten), direction=LT\n", UP), 15);
  expect_trips(LOOP("0", "  ROOT c = pred[] compare(ten, i), direction=GT\n", UP), 10);
  expect_trips(LOOP("0", "  ROOT c = pred[] compare(i, ten), direction=LE\n", UP), 11);
  expect_trips(LOOP("10", "  ROOT c = pred[] compare(i, ten), direction=LT\n", UP), 0);
  expect_trips(LOOP("3", "  ROOT c = pred[] compare(i, ten), direction=NE\n", UP), 7);
  expect_trips(LOOP("30", "  ROOT c = pred[] compare(i, ten), direction=GT\n", DOWN), 20);
  expect_trips(LOOP("30", "  ROOT c = pred[] compare(i, ten), direction=GE\n", DOWN), 21);
  expect_trips(LOOP("0", "  ROOT c = pred[] compare(i, n), direction=LT\n", UP), 25);
}

Test(schedule, trips_through_calls_and_steps) {
  expect_trips(
      LOOP("0", "  ROOT c = pred[] call(i, ten), to_apply=less\n",
           "  j = s32[] call(i), to_apply=bump\n  ROOT r = (s32[], f32[64], s32[]) tuple(j, y, n)\n"),
      4);
  expect_trips(LOOP("0", "  ROOT c = pred[] call(i, n), to_apply=less\n",
                    "  h = s32[] add(i, one)\n  j = s32[] add(one, h)\n"
                    "  ROOT r = (s32[], f32[64], s32[]) tuple(j, y, n)\n"),
               13);
}

Test(schedule, trips_that_depend_on_data_are_unknown) {
  expect_trips(LOOP("0", "  ROOT c = pred[] compare(i, n), direction=LT\n",
                    "  j = s32[] add(i, one)\n  m = s32[] add(n, one)\n"
                    "  ROOT r = (s32[], f32[64], s32[]) tuple(j, y, m)\n"),
               -1);
  expect_trips(LOOP("0", "  ROOT c = pred[] compare(i, ten), direction=LT\n",
                    "  j = s32[] multiply(i, one)\n  ROOT r = (s32[], f32[64], s32[]) tuple(j, y, n)\n"),
               -1);
  expect_trips(LOOP("0", "  ROOT c = pred[] compare(i, ten), direction=LT\n", DOWN), -1);
  expect_trips(LOOP("0", "  ROOT c = pred[] compare(i, ten), direction=EQ\n", UP), -1);
  expect_trips(LOOP("0", "  ROOT c = pred[] constant(true)\n", UP), -1);
}

Test(schedule, trips_that_the_text_says) {
  read_program(
      "HloModule m\nc {\n  s = (s32[]) parameter(0)\n  ROOT t = pred[] constant(true)\n}\n"
      "b {\n  ROOT s = (s32[]) parameter(0)\n}\n"
      "ENTRY e {\n  i = s32[] parameter(0)\n  t = (s32[]) tuple(i)\n  ROOT w = (s32[]) while(t), "
      "condition=c, body=b,"
      " backend_config={\"known_trip_count\":{\"n\":\"12\"},\"known_init_step\":{\"init\":\"0\"}}\n}\n");
  const Comp *entry = module_entry(module);
  cr_assert_eq(while_trip_count(module, module->entry, &entry->instrs.at[entry->root]), 12);
}

/* ---- memory ---- */

Test(schedule, memory_of_a_chain_of_kernels) {
  run("HloModule m\nENTRY e {\n"
      "  x = bf16[8192,8192] parameter(0)\n"
      "  a = bf16[8192,8192] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  b = bf16[8192,8192] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  c = bf16[8192,8192] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT d = bf16[8192,8192] dot(c, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  cr_assert_eq(schedule->hbm_argument_bytes, 128 << 20);
  cr_assert_eq(schedule->hbm_output_bytes, 128 << 20);
  cr_assert_eq(schedule->hbm_temp_bytes, 2 * (128 << 20), "two of a, b, c at once");
  cr_assert_eq(schedule->hbm_peak_bytes, 4 * (128 << 20));
}

Test(schedule, a_temporary_lies_in_an_output_that_is_made_later) {
  run("HloModule m\nENTRY e {\n"
      "  x = bf16[8192,8192] parameter(0)\n"
      "  a = bf16[8192,8192] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  b = bf16[8192,8192] dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  ROOT c = bf16[8192,8192] dot(b, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n");
  cr_assert_eq(schedule->hbm_temp_bytes, 128 << 20, "b alone: a has the memory of c");
}

Test(schedule, what_later_kernels_convert_anew_stays_in_vmem) {
  run("HloModule m\n" SUM
      "ENTRY e {\n  x = bf16[4096,1024] parameter(0)\n  w = bf16[1024,4096] parameter(1)\n"
      "  d = bf16[4096,4096] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
      "  m = f32[4096,4096] convert(d)\n  z = f32[] constant(0)\n"
      "  r = f32[4096] reduce(m, z), dimensions={1}, to_apply=sum\n"
      "  p = f32[4096,4096] broadcast(r), dimensions={0}\n  q = f32[4096,4096] divide(m, p)\n"
      "  ROOT o = bf16[4096,4096] convert(q)\n}\n");
  cr_assert_lt(schedule->hbm_temp_bytes, 1 << 20, "%ld", (long)schedule->hbm_temp_bytes);
}

Test(schedule, a_reshape_that_pads_much_is_made_anew) {
  run("HloModule m\n" SUM "ENTRY e {\n  x = f32[8,32,32,256] parameter(0)\n"
      "  g = f32[8,32,32,32,8] reshape(x)\n  z = f32[] constant(0)\n"
      "  a = f32[8,32] reduce(g, z), dimensions={1,2,4}, to_apply=sum\n"
      "  b = f32[8,32,32,32,8] broadcast(a), dimensions={0,3}\n  c = f32[8,32,32,32,8] subtract(g, b)\n"
      "  q = f32[8,32,32,32,8] multiply(c, c)\n"
      "  ROOT v = f32[8,32] reduce(q, z), dimensions={1,2,4}, to_apply=sum\n}\n");
  cr_assert_lt(schedule->hbm_temp_bytes, 8 << 20, "%ld", (long)schedule->hbm_temp_bytes);
}

Test(schedule, what_stays_within_a_step_takes_no_memory) {
  run(SOFTMAX("1024,1024", "1024", "0", "1"));
  cr_assert_eq(schedule->hbm_temp_bytes, 2 * 512, "only the two constants, a tile each");
}

#define STACK(update)                                                                                        \
  "HloModule m\n"                                                                                            \
  "c {\n  s = (s32[], f32[8,1024]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"                \
  "  n = s32[] constant(8)\n  ROOT r = pred[] compare(i, n), direction=LT\n}\n"                              \
  "b {\n  s = (s32[], f32[8,1024]) parameter(0)\n  i = s32[] get-tuple-element(s), index=0\n"                \
  "  x = f32[8,1024] get-tuple-element(s), index=1\n  z = s32[] constant(0)\n  one = s32[] constant(1)\n"    \
  "  v = f32[] constant(7)\n  u = f32[1,1024] broadcast(v), dimensions={}\n" update                          \
  "  j = s32[] add(i, one)\n  ROOT r = (s32[], f32[8,1024]) tuple(j, y)\n}\n"                                \
  "ENTRY e {\n  p = f32[8,1024] parameter(0)\n  x = f32[8,1024] sine(p)\n  i = s32[] constant(0)\n"          \
  "  t = (s32[], f32[8,1024]) tuple(i, x)\n  w = (s32[], f32[8,1024]) while(t), condition=c, body=b\n"       \
  "  ROOT r = f32[8,1024] get-tuple-element(w), index=1\n}\n"

Test(schedule, an_update_of_the_carry_is_in_place) {
  run(STACK("  y = f32[8,1024] dynamic-update-slice(x, u, i, z)\n"));
  cr_assert_leq(schedule->hbm_temp_bytes, 4096 + 64, "%ld", (long)schedule->hbm_temp_bytes);
}

Test(schedule, a_carry_that_is_read_later_is_copied) {
  run(STACK(
      "  y1 = f32[8,1024] dynamic-update-slice(x, u, i, z)\n  y2 = f32[8,1024] reverse(y1), dimensions={0}\n"
      "  y3 = f32[8,1024] reverse(x), dimensions={0}\n  y4 = f32[8,1024] add(y2, y3)\n"
      "  y = f32[8,1024] dynamic-update-slice(y4, u, i, z)\n"));
  cr_assert_geq(schedule->hbm_temp_bytes, 32768, "beside the output, where the loop begins");
}

Test(schedule, donated_parameters_count_once) {
  run("HloModule m, input_output_alias={ {1}: (0, {}, may-alias) }\nENTRY e {\n"
      "  x = f32[1024] parameter(0)\n  y = f32[256] parameter(1)\n  a = f32[1024] sine(x)\n  b = f32[256] "
      "sine(y)\n"
      "  ROOT t = (f32[256], f32[1024]) tuple(b, a)\n}\n");
  cr_assert_eq(schedule->hbm_peak_bytes, 2 * (4096 + 1024) - 4096);
}

Test(schedule, parameters_that_exceed_hbm_show) {
  run("HloModule m\nENTRY e {\n  x = bf16[80,8192,28672] parameter(0)\n  ROOT a = bf16[80,8192,28672] "
      "negate(x)\n}\n");
  cr_assert_gt(schedule->hbm_argument_bytes, pod.hbm_usable_bytes);
}

Test(schedule, branches_count_the_costliest) {
  run("HloModule m\n"
      "f {\n  a = f32[1024] parameter(0)\n  ROOT b = f32[1024] negate(a)\n}\n"
      "g {\n  a = f32[1024] parameter(0)\n  b = f32[1024] reverse(a), dimensions={0}\n  c = f32[1024] add(a, "
      "b)\n"
      "  ROOT d = f32[1024] multiply(c, b)\n}\n"
      "ENTRY e {\n  i = s32[] parameter(0)\n  x = f32[1024] parameter(1)\n"
      "  ROOT r = f32[1024] conditional(i, x, x), branch_computations={f, g}\n}\n");
  cr_assert_eq(step(0)->kind, STEP_CONDITIONAL);
  cr_assert_eq(schedule->flops, 2048);
}

/* As the TPU compiler writes a product: its operands go through fusions that only rename them. */
Test(schedule, a_fusion_within_a_fusion_that_only_names_reads_what_is_behind_it) {
  run("HloModule m, is_scheduled=true\n"
      "name {\n  p = bf16[1024,1024]{1,0:T(8,128)(2,1)} parameter(0)\n"
      "  ROOT b = bf16[1024,1024]{1,0:T(8,128)(2,1)} bitcast(p)\n}\n"
      "f {\n  x = bf16[1024,1024]{1,0:T(8,128)(2,1)S(1)} parameter(0)\n"
      "  y = bf16[1024,1024]{1,0:T(8,128)(2,1)} parameter(1)\n"
      "  a = bf16[1024,1024]{1,0:T(8,128)(2,1)} fusion(x), kind=kLoop, calls=name\n"
      "  b = bf16[1024,1024]{1,0:T(8,128)(2,1)} fusion(y), kind=kLoop, calls=name\n"
      "  ROOT c = bf16[1024,1024]{1,0:T(8,128)(2,1)} dot(a, b), lhs_contracting_dims={1}, "
      "rhs_contracting_dims={0}\n}\n"
      "ENTRY e {\n  x = bf16[1024,1024]{1,0:T(8,128)(2,1)S(1)} parameter(0)\n"
      "  y = bf16[1024,1024]{1,0:T(8,128)(2,1)} parameter(1)\n"
      "  ROOT r = bf16[1024,1024]{1,0:T(8,128)(2,1)} fusion(x, y), kind=kOutput, calls=f\n}\n");
  expect_steps(1);
  cr_assert_eq(step(0)->demand.hbm_bytes, 4 << 20, "y and the result; x lies in VMEM");
  cr_assert_eq(step(0)->demand.vmem_bytes, 6 << 20);
}

/* Of a wide value only a slice is made, and only that much is read. */
Test(schedule, what_a_kernel_only_slices_is_read_in_part) {
  run("HloModule m\nENTRY e {\n"
      "  x = f32[1024,4096] parameter(0)\n  a = f32[1024,4096] negate(x)\n"
      "  s = f32[1024,256] slice(a), slice={[0:1024],[256:512]}\n"
      "  ROOT r = f32[1024,256] exponential(s)\n}\n");
  expect_steps(1);
  cr_assert_eq(step(0)->demand.hbm_bytes, 2 << 20);
}

Test(schedule, an_output_takes_the_place_of_a_parameter_that_is_given_up) {
  run("HloModule m, buffer_donor={ (1, {}) }\nENTRY e {\n"
      "  x = f32[1024,512] parameter(0)\n  y = f32[1024,1024] parameter(1)\n  s = f32[1024,512] sine(x)\n"
      "  c = f32[1024,1024] cosine(y)\n  ROOT t = (f32[1024,512], f32[1024,1024]) tuple(s, c)\n}\n");
  cr_assert_eq(schedule->hbm_argument_bytes, 6 << 20);
  cr_assert_eq(schedule->hbm_output_bytes, 6 << 20);
  cr_assert_eq(schedule->hbm_peak_bytes, 8 << 20);
}

/* Registers of results are rounded by each core, of its part. */
Test(schedule, cores_share_the_results_of_a_product) {
  const char *text =
      "HloModule m\nENTRY e {\n  x = bf16[4096,128] parameter(0)\n  w = bf16[128,4096] parameter(1)\n"
      "  ROOT d = bf16[4096,4096] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n";
  run(text);
  int64_t of_one_ps = step(0)->demand.rounding_ps;
  schedule_free(schedule);
  module_free(module);
  pod.cores = 2;
  run(text);
  cr_assert_eq(step(0)->demand.rounding_ps, of_one_ps / 2);
}

/* A value that is left lying while `n` rows are multiplied with 8192 by 8192. */
#define LEFT_LYING(n)                                                                                        \
  "HloModule m\nENTRY e {\n"                                                                                 \
  "  x = f32[1024,1024] parameter(0)\n  y = f32[1024,1024] parameter(3)\n  a = bf16[" n                      \
  ",8192] parameter(1)\n"                                                                                    \
  "  w = bf16[8192,8192] parameter(2)\n  before = f32[1024,1024] add(x, y)\n"                                \
  "  p = bf16[" n ",8192] dot(a, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                   \
  "  q = bf16[" n ",8192] dot(p, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                   \
  "  s = f32[1024,1024] sine(before)\n  e = f32[1024,1024] exponential(before)\n"                            \
  "  ROOT t = (bf16[" n ",8192], f32[1024,1024], f32[1024,1024]) tuple(q, s, e)\n}\n"

static bool stays_in_vmem(const char *name) {
  const CompSchedule *made = &schedule->comps[module->entry];
  return made->in_vmem[comp_find(module_entry(module), str_of(name))];
}

Test(schedule, what_is_used_soon_stays_in_vmem) {
  run(LEFT_LYING("512"));
  cr_assert(stays_in_vmem("before"));
}

Test(schedule, what_is_used_much_later_is_no_longer_in_vmem) {
  run(LEFT_LYING("8192"));
  cr_assert_not(stays_in_vmem("before"));
}

/* A ring of eight devices goes twice round a loop, which is expected to go five times round. */
#define RING(barrier)                                                                                        \
  "HloModule m, num_partitions=8\nENTRY e {\n"                                                               \
  "  x = bf16[1024,1024] parameter(0)\n  w = bf16[1024,1024] parameter(1)\n"                                 \
  "  b = bf16[1024,1024] " barrier "(x)\n"                                                                   \
  "  c = bf16[1024,1024] collective-permute(w), channel_id=1, "                                              \
  "source_target_pairs={{0,1},{1,2},{2,3},{3,4},{4,5},{5,6},{6,7},{7,0}}\n"                                  \
  "  d = bf16[1024,1024] dot(b, c), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                    \
  "  ROOT t = (bf16[1024,1024], bf16[1024,1024]) tuple(d, c)\n}\n"

static int64_t expected_end_ps(const char *text) {
  module_free(module);
  read_program(text);
  Groups groups = groups_fused(arena, &pod, module, module->entry, NULL);
  return expected_starts(arena, &pod, module, module->entry, &groups).at_ps[module_entry(module)->root];
}

Test(schedule, products_of_a_ring_are_expected_to_loop) {
  int64_t once_ps = expected_end_ps(RING("bitcast"));
  cr_assert_gt(once_ps, 0);
  cr_assert_eq(expected_end_ps(RING("opt-barrier")), once_ps * 5 / 2);
}

/* So is any loop, however often it runs. */
Test(schedule, a_loop_is_expected_to_run_five_times) {
  int64_t looped_ps = expected_end_ps(
      "HloModule m\nb {\n  i = bf16[2048,2048] parameter(0)\n"
      "  ROOT d = bf16[2048,2048] dot(i, i), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n}\n"
      "c {\n  j = bf16[2048,2048] parameter(0)\n  ROOT y = pred[] constant(true)\n}\n"
      "ENTRY e {\n  x = bf16[2048,2048] parameter(0)\n"
      "  w = bf16[2048,2048] while(x), condition=c, body=b\n  ROOT t = (bf16[2048,2048]) tuple(w)\n}\n");
  int64_t once_ps =
      expected_end_ps("HloModule m\nENTRY e {\n  x = bf16[2048,2048] parameter(0)\n"
                      "  d = bf16[2048,2048] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
                      "  ROOT t = (bf16[2048,2048]) tuple(d)\n}\n");
  cr_assert_float_eq((double)looped_ps, 5 * (double)once_ps, 0.1 * (double)looped_ps, "%.0f and %.0f",
                     (double)looped_ps, (double)once_ps);
}

/* Layouts: which order a convolution wants, how it goes through other ops, and where copies stand. */
#include "models/tiling.h"
#include "program_fixture.h"
#include "sim/schedule/layouts.h"

static Module *laid;
static uint32_t **moved;

static void end_layouts(void) {
  module_free(laid);
  end();
}

TestSuite(layouts, .init = begin, .fini = end_layouts);

static void lay(const char *text, bool any) {
  read_program(text);
  laid = module_like(module);
  cr_assert_eq(module_lay_out(arena, module, laid, &moved), any);
}

static const Instr *find(const char *name) {
  const Comp *entry = module_entry(laid);
  uint32_t at = comp_find(entry, str_of(name));
  cr_assert_neq(at, NO_ID, "no %s", name);
  return &entry->instrs.at[at];
}

static void check_order(const char *name, const char *order) {
  Str text = order_text(arena, find(name)->shape);
  cr_assert(str_is(text, order), "%s lies in %.*s", name, STR_ARG(text));
}

static uint32_t count_copies(void) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < module_entry(laid)->instrs.n; i++)
    n += copy_reason(arena, laid, laid->entry, i).n > 0;
  return n;
}

#define CONV(result, x, kernel, window, labels)                                                              \
  "  c = " result " convolution(" x ", " kernel "), window={" window "}, dim_labels=" labels "\n"

Test(layouts, batch_and_features_are_minor_and_copies_stand_at_the_edges) {
  lay("HloModule m\nENTRY e {\n  x = bf16[32,56,56,64] parameter(0)\n  k = bf16[3,3,64,64] parameter(1)\n"
      "  ROOT" CONV("bf16[32,56,56,64]", "x", "k", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f") "}\n",
      true);
  check_order("c", "{3,0,2,1}");
  cr_assert_eq(count_copies(), 2, "of x, and of the result");
  const Instr *root = &module_entry(laid)->instrs.at[module_entry(laid)->root];
  cr_assert_eq(root->op, OP_COPY);
  Str reason = copy_reason(arena, laid, laid->entry, comp_find(module_entry(laid), STR("copy")));
  cr_assert(str_is(reason, "convolution c wants {3,0,2,1}"), "%.*s", STR_ARG(reason));
}

Test(layouts, of_few_channels_the_batch_lies_along_the_lanes) {
  lay("HloModule m\nENTRY e {\n  x = bf16[128,32,32,64] parameter(0)\n  k = bf16[5,5,64,64] parameter(1)\n"
      "  ROOT" CONV("bf16[128,32,32,64]", "x", "k", "size=5x5 pad=2_2x2_2", "b01f_01io->b01f") "}\n",
      true);
  check_order("c", "{0,3,2,1}");
  cr_assert_eq(count_copies(), 0, "parameter and result pad least so");
}

Test(layouts, an_image_of_few_is_cut) {
  lay("HloModule m\nENTRY e {\n  x = bf16[1,64,64,128] parameter(0)\n  k = bf16[3,3,128,256] parameter(1)\n"
      "  ROOT" CONV("bf16[1,64,64,256]", "x", "k", "size=3x3 pad=1_1x1_1", "b01f_01io->b01f") "}\n",
      true);
  check_order("c", "{3,1,2,0}");
  cr_assert_eq(count_copies(), 2);
}

Test(layouts, elementwise_ops_and_transposes_take_the_order_on) {
  lay("HloModule m\nENTRY e {\n  x = bf16[32,56,56,64] parameter(0)\n  k = bf16[3,3,64,64] "
      "parameter(1)\n" CONV("bf16[32,56,56,64]", "x", "k", "size=3x3 pad=1_1x1_1",
                            "b01f_01io->b01f") "  n = bf16[32,56,56,64] negate(c)\n"
                                               "  t = bf16[64,32,56,56] transpose(n), dimensions={3,0,1,2}\n"
                                               "  r = bf16[64,32,3136] reshape(t)\n"
                                               "  ROOT a = bf16[64,32,3136] abs(r)\n}\n",
      true);
  check_order("n", "{3,0,2,1}");
  check_order("t", "{0,1,3,2}");
  check_order("r", "{0,1,2}");
  check_order("a", "{0,1,2}");
  cr_assert_eq(count_copies(), 2, "of x, and of the result");
}

Test(layouts, what_leads_to_a_convolution_lies_as_it_wants) {
  lay("HloModule m\nENTRY e {\n  x = bf16[32,56,56,64] parameter(0)\n  k = bf16[3,3,64,64] parameter(1)\n"
      "  n = bf16[32,56,56,64] negate(x)\n" CONV(
          "bf16[32,56,56,64]", "n", "k", "size=3x3 pad=1_1x1_1",
          "b01f_01io->b01f") "  z = bf16[] constant(0)\n"
                             "  ROOT s = bf16[64] reduce(c, z), dimensions={0,1,2}, to_apply=sum\n}\n"
                             "sum {\n  a = bf16[] parameter(0)\n  b = bf16[] parameter(1)\n  ROOT c = bf16[] "
                             "add(a, b)\n}\n",
      true);
  check_order("n", "{3,0,2,1}");
  cr_assert_eq(count_copies(), 1, "of x");
}

Test(layouts, a_residual_is_added_in_the_order_of_the_result) {
  lay("HloModule m\nENTRY e {\n  x = bf16[32,56,56,24] parameter(0)\n  k = bf16[3,3,24,24] "
      "parameter(1)\n" CONV("bf16[32,56,56,24]", "x", "k", "size=3x3 pad=1_1x1_1",
                            "b01f_01io->b01f") "  ROOT a = bf16[32,56,56,24] add(x, c)\n}\n",
      true);
  check_order("c", "{0,3,2,1}");
  check_order("a", "{2,3,1,0}");
  cr_assert_eq(count_copies(), 2, "of x into the convolution, and of its result");
}

#define GATHER(name, result, operand)                                                                        \
  "  " name " = " result " all-gather(" operand "), channel_id=1, replica_groups={{0,1}}, dimensions={0}, "  \
  "use_global_device_ids=true\n"
#define DOT(name, result, x, w)                                                                              \
  "  " name " = " result " dot(" x ", " w "), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"

/* The second weight is gathered while the first product runs. */
Test(layouts, a_parameter_that_products_gather_is_copied) {
  lay("HloModule m, num_partitions=2\n\nENTRY e {\n  x = bf16[64,256] parameter(0)\n"
      "  v = bf16[128,256] parameter(1)\n  w = bf16[128,256] parameter(2)\n" GATHER(
          "gv", "bf16[256,256]", "v") DOT("h", "bf16[64,256]", "x", "gv")
          GATHER("gw", "bf16[256,256]", "w") "  ROOT" DOT("y", "bf16[64,256]", "h", "gw") "}\n",
      true);
  const Comp *entry = module_entry(laid);
  cr_assert_eq(entry->instrs.at[find("gv")->operands.at[0]].op, OP_PARAMETER, "no product runs before");
  cr_assert_eq(entry->instrs.at[find("gw")->operands.at[0]].op, OP_COPY);
  Str reason = copy_reason(arena, laid, laid->entry, find("gw")->operands.at[0]);
  cr_assert(str_is(reason, "kernels of products carry on gw, and pass on what it sends"), "%.*s",
            STR_ARG(reason));
}

/* What a kernel made may be written over. */
Test(layouts, a_value_that_products_gather_is_not_copied) {
  lay("HloModule m, num_partitions=2\n\nENTRY e {\n  x = bf16[64,256] parameter(0)\n"
      "  v = bf16[256,256] parameter(1)\n  w = bf16[128,256] parameter(2)\n" DOT(
          "h", "bf16[64,256]", "x",
          "v") "  n = bf16[128,256] negate(w)\n" GATHER("gw", "bf16[256,256]",
                                                        "n") "  ROOT" DOT("y", "bf16[64,256]", "h",
                                                                          "gw") "}\n",
      false);
}

#define UPDATE(header, result)                                                                               \
  "HloModule m" header "\n\nENTRY e {\n  x = f32[64,128] parameter(0)\n  u = f32[1,128] parameter(1)\n"      \
  "  i = s32[] parameter(2)\n  z = s32[] constant(0)\n"                                                      \
  "  d = f32[64,128] dynamic-update-slice(x, u, i, z)\n  ROOT r = f32[64,128] " result "\n}\n"

/* A program must not change what its caller keeps. */
Test(layouts, a_parameter_that_is_written_over_is_copied) {
  lay(UPDATE("", "negate(d)"), true);
  const Comp *entry = module_entry(laid);
  uint32_t copy = find("d")->operands.at[0];
  cr_assert_eq(entry->instrs.at[copy].op, OP_COPY);
  Str reason = copy_reason(arena, laid, laid->entry, copy);
  cr_assert(str_is(reason, "d writes over it, and what is copied is still needed"), "%.*s", STR_ARG(reason));
}

#define GIVEN_UP ", input_output_alias={ {}: (0, {}, may-alias) }"

Test(layouts, a_parameter_that_is_given_up_is_written_over) {
  lay(UPDATE(GIVEN_UP, "negate(d)"), false);
}

Test(layouts, a_parameter_that_is_read_afterwards_is_copied) {
  lay(UPDATE(GIVEN_UP, "add(d, x)"), true);
}

Test(layouts, a_program_without_convolutions_stays_as_it_is) {
  lay("HloModule m\nENTRY e {\n  x = f32[8,128] parameter(0)\n  ROOT n = f32[8,128] negate(x)\n}\n", false);
}

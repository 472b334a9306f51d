/* Clean-ups: dead code, unreached computations, equal instructions. */
#include "program_fixture.h"
#include "sim/ir/clean.h"

TestSuite(clean, .init = begin, .fini = end);

/* "x, y(x)" of the entry. */
static const char *listing(void) {
  StrBuf buf = {.arena = arena};
  const Comp *of = module_entry(module);
  for (uint32_t i = 0; i < of->instrs.n; i++) {
    const Instr *instr = &of->instrs.at[i];
    buf_printf(&buf, "%s%.*s", i == 0 ? "" : ", ", STR_ARG(instr->name));
    for (uint32_t k = 0; k < instr->operands.n; k++)
      buf_printf(&buf, "%s%.*s", k == 0 ? "(" : " ", STR_ARG(of->instrs.at[instr->operands.at[k]].name));
    if (instr->operands.n != 0) buf_char(&buf, ')');
  }
  return buf_str(&buf).at;
}

Test(clean, dead_code_and_its_computations) {
  read_program("HloModule m\n"
               "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
               "ENTRY main { x = f32[4] parameter(0) y = f32[4] parameter(1) z = f32[] constant(0)\n"
               "  r = f32[] reduce(x, z), dimensions={0}, to_apply=sum\n"
               "  i = f32[4] negate(x) ROOT e = f32[4] exponential(i) }\n");
  module_remove_dead(module);
  cr_assert_str_eq(listing(), "x, y, i(x), e(i)");
  cr_assert_eq(module->comps.n, 1);
  const Comp *main = module_entry(module);
  cr_assert(main->root == 3 && main->params.at[1] == 1);
  cr_assert_eq(comp_find(main, STR("e")), 3);
  cr_assert_eq(comp_find(main, STR("r")), NO_ID);
}

Test(clean, side_effects_stay_in_whatever_computation) {
  read_program("HloModule m\n"
               "talk { a = f32[] parameter(0) ROOT s = f32[] custom-call(a), custom_call_target=\"print\","
               " custom_call_has_side_effect=true }\n"
               "quiet { a = f32[] parameter(0) ROOT s = f32[] negate(a) }\n"
               "ENTRY main { x = f32[] parameter(0) c = f32[] call(x), to_apply=talk d = f32[] call(x), "
               "to_apply=quiet\n"
               "  ROOT r = f32[] abs(x) }\n");
  const bool *effects = module_side_effects(arena, module);
  cr_assert(effects[module_find_comp(module, STR("talk"))] && effects[module->entry]);
  cr_assert_not(effects[module_find_comp(module, STR("quiet"))]);
  module_remove_dead(module);
  cr_assert_str_eq(listing(), "x, c(x), r(x)");
}

Test(clean, unreached_computations_and_their_order) {
  read_program("HloModule m\n"
               "lost { a = f32[] parameter(0) ROOT s = f32[] negate(a) }\n"
               "ENTRY main { x = f32[] parameter(0) ROOT c = f32[] call(x), to_apply=used }\n"
               "used { a = f32[] parameter(0) ROOT s = f32[] negate(a) }\n");
  module_compact(module);
  cr_assert_eq(module->comps.n, 2);
  cr_assert_eq(module->entry, 1);
  cr_assert_eq(instr_comp(comp_instr(module, 1, 1), ATTR_to_apply), 0);
  cr_assert(str_is(module_comp(module, 0)->name, "used"));
  cr_assert_eq(module_find_comp(module, STR("lost")), NO_ID);
}

Test(clean, equal_instructions_are_merged_through_their_operands) {
  read_program(
      "HloModule m\n"
      "ENTRY main { x = f32[4] parameter(0) one = f32[] constant(1) uno = f32[] constant(1)\n"
      "  two = f32[] constant(2)\n"
      "  a = f32[4] broadcast(one), dimensions={} b = f32[4] broadcast(uno), dimensions={}\n"
      "  c = f32[4] broadcast(two), dimensions={}\n"
      "  d = f32[4] add(x, a), metadata={op_name=\"d\"} e = f32[4] add(x, b), metadata={op_name=\"e\"}\n"
      "  f = f32[4] add(x, c) g = f32[4] multiply(d, e) ROOT h = f32[4] multiply(g, f) }\n");
  cr_assert_eq(module_merge_equal(module), 3);
  cr_assert_str_eq(listing(), "x, one, two, a(one), c(two), d(x a), f(x c), g(d d), h(g f)");
}

Test(clean, attributes_and_called_computations_must_be_equal) {
  read_program("HloModule m\n"
               "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
               "tot { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }\n"
               "top { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }\n"
               "ENTRY main { x = f32[4,4] parameter(0) z = f32[] constant(0)\n"
               "  a = f32[4] reduce(x, z), dimensions={0}, to_apply=sum\n"
               "  b = f32[4] reduce(x, z), dimensions={0}, to_apply=tot\n"
               "  c = f32[4] reduce(x, z), dimensions={0}, to_apply=top\n"
               "  d = f32[4] reduce(x, z), dimensions={1}, to_apply=sum\n"
               "  ROOT t = (f32[4], f32[4], f32[4], f32[4]) tuple(a, b, c, d) }\n");
  cr_assert_eq(module_merge_equal(module), 1);
  cr_assert_str_eq(listing(), "x, z, a(x z), c(x z), d(x z), t(a a c d)");
}

Test(clean, collectives_merge_whatever_their_channel_but_random_numbers_do_not) {
  read_program(
      "HloModule m, num_partitions=2\n"
      "ENTRY main { x = f32[4] parameter(0) l = f32[] constant(0) h = f32[] constant(1)\n"
      "  a = f32[8] all-gather(x), replica_groups={{0,1}}, dimensions={0}, channel_id=1, "
      "use_global_device_ids=true\n"
      "  b = f32[8] all-gather(x), replica_groups={{0,1}}, dimensions={0}, channel_id=2, "
      "use_global_device_ids=true\n"
      "  c = f32[8] rng(l, h), distribution=rng_uniform d = f32[8] rng(l, h), distribution=rng_uniform\n"
      "  ROOT t = (f32[8], f32[8], f32[8], f32[8]) tuple(a, b, c, d) }\n");
  cr_assert_eq(module_merge_equal(module), 1);
  cr_assert_str_eq(listing(), "x, l, h, a(x), c(l h), d(l h), t(a a c d)");
}

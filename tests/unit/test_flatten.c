/* Flattening: calls written out, shared computations cloned, manual regions, dead code, bounds. */
#include "program_fixture.h"
#include "sim/ir/flatten.h"
#include "sim/ir/print.h"

static Module *flat;

static void end_both(void) {
  module_free(flat);
  flat = NULL;
  end();
}

TestSuite(flatten, .init = begin, .fini = end_both);

static Status flatten(const char *text) {
  read_program(text);
  return module_flatten(module, &flat, diag);
}

static void flatten_ok(const char *text) {
  Status status = flatten(text);
  cr_assert_eq(status, STATUS_OK, "%s", diag_error_text(diag).at);
}

/* "name: op, name: op" of a computation, with `@region` behind what lies in one. */
static const char *listing(uint32_t comp) {
  StrBuf buf = {.arena = arena};
  const Comp *of = module_comp(flat, comp);
  for (uint32_t i = 0; i < of->instrs.n; i++) {
    const Instr *instr = &of->instrs.at[i];
    buf_printf(&buf, "%s%.*s: %s(", i == 0 ? "" : ", ", STR_ARG(instr->name), op_text(instr->op));
    for (uint32_t k = 0; k < instr->operands.n; k++)
      buf_printf(&buf, "%s%.*s", k == 0 ? "" : " ", STR_ARG(of->instrs.at[instr->operands.at[k]].name));
    buf_char(&buf, ')');
    if (instr->region != 0) buf_printf(&buf, "@%u", instr->region);
  }
  return buf_str(&buf).at;
}

static const Instr *named(const char *name) {
  uint32_t at = comp_find(module_entry(flat), str_of(name));
  cr_assert_neq(at, NO_ID, "no %s", name);
  return comp_instr(flat, flat->entry, at);
}

Test(flatten, calls_are_written_out_each_time) {
  flatten_ok(
      "HloModule m\n"
      "twice { p = f32[] parameter(0) ROOT a = f32[] add(p, p) }\n"
      "four { q = f32[] parameter(0) c = f32[] call(q), to_apply=twice ROOT d = f32[] call(c), "
      "to_apply=twice }\n"
      "ENTRY main { x = f32[] parameter(0) y = f32[] call(x), to_apply=four ROOT z = f32[] negate(y) }\n");
  cr_assert_eq(flat->comps.n, 1);
  cr_assert_str_eq(listing(flat->entry), "x: parameter(), a: add(x x), a.1: add(a a), z: negate(a.1)");
}

Test(flatten, a_shared_body_gets_a_clone_for_each_caller) {
  flatten_ok("HloModule m\n"
             "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
             "ENTRY main { x = f32[4,4] parameter(0) zero = f32[] constant(0)\n"
             "  r = f32[4] reduce(x, zero), dimensions={0}, to_apply=sum\n"
             "  ROOT t = f32[] reduce(r, zero), dimensions={0}, to_apply=sum }\n");
  cr_assert_eq(flat->comps.n, 3);
  uint32_t first = instr_comp(named("r"), ATTR_to_apply), second = instr_comp(named("t"), ATTR_to_apply);
  cr_assert_neq(first, second);
  cr_assert_str_eq(listing(first), listing(second));
  cr_assert_eq(flat->entry, 2);
}

Test(flatten, dead_instructions_go_and_effects_and_parameters_stay) {
  flatten_ok(
      "HloModule m\n"
      "pick { a = f32[] parameter(0) b = f32[] parameter(1) u = f32[] negate(b) ROOT n = f32[] abs(a) }\n"
      "ENTRY main { x = f32[] parameter(0) y = f32[] parameter(1) e = f32[] exponential(y)\n"
      "  s = f32[] custom-call(e), custom_call_target=\"Sharding\", custom_call_has_side_effect=true,"
      " sharding={replicated}\n"
      "  k = () custom-call(x), custom_call_target=\"print\", custom_call_has_side_effect=true\n"
      "  ROOT p = f32[] call(x, s), to_apply=pick }\n");
  cr_assert_str_eq(listing(flat->entry), "x: parameter(), y: parameter(), k: custom-call(x), n: abs(x)");
}

Test(flatten, tuples_of_calls_are_taken_apart) {
  flatten_ok("HloModule m\n"
             "swap { a = f32[] parameter(0) b = s32[] parameter(1) ROOT t = (s32[], f32[]) tuple(b, a) }\n"
             "ENTRY main { x = f32[] parameter(0) y = s32[] parameter(1)\n"
             "  c = (s32[], f32[]) call(x, y), to_apply=swap\n"
             "  ROOT g = f32[] get-tuple-element(c), index=1 }\n");
  cr_assert_str_eq(listing(flat->entry), "x: parameter(), y: parameter()");
  cr_assert_eq(module_entry(flat)->root, 0);
}

Test(flatten, an_element_with_a_sharding_stays) {
  flatten_ok("HloModule m\n"
             "ENTRY main { x = f32[8] parameter(0) t = (f32[8]) tuple(x)\n"
             "  ROOT g = f32[8] get-tuple-element(t), index=0, sharding={devices=[8]<=[8]} }\n");
  cr_assert_str_eq(listing(flat->entry), "x: parameter(), t: tuple(x), g: get-tuple-element(t)");
}

Test(flatten, the_sharding_of_a_callees_parameter_becomes_a_constraint) {
  flatten_ok(
      "HloModule m\n"
      "f { p = f32[8] parameter(0), sharding={devices=[8]<=[8]},"
      " frontend_attributes={xla.sdy.sharding=\"#sdy.sharding<@mesh, [{\\\"x\\\"}]>\"}\n ROOT n = f32[8] "
      "negate(p) }\n"
      "ENTRY main { x = f32[8] parameter(0) ROOT c = f32[8] call(x), to_apply=f, sharding={replicated} }\n");
  cr_assert_str_eq(listing(flat->entry),
                   "x: parameter(), p: custom-call(x), n: negate(p), c: custom-call(n)");
  Str sdy;
  cr_assert(str_is(instr_custom_call_target(named("p")), "Sharding"));
  cr_assert(instr_frontend(named("p"), "xla.sdy.sharding", &sdy));
  cr_assert(str_is(sdy, "#sdy.sharding_per_value<[<@mesh, [{\"x\"}]>]>"));
  cr_assert(str_is(instr_sharding(named("p"))->text, "{devices=[8]<=[8]}"));
  cr_assert_eq(instr_sharding(named("c"))->kind, HLO_SHARDING_REPLICATED);
}

static const char manual_twice[] =
    "HloModule m\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "xla.sdy.manual_computation_body.1 { q = f32[2,8] parameter(0)\n"
    "  ROOT r = f32[2,8] all-reduce(q), replica_groups={{0,1},{2,3}}, to_apply=sum, channel_id=1,"
    " use_global_device_ids=true }\n"
    "xla.sdy.manual_computation_body.2 { p = f32[2,16] parameter(0)\n"
    "  in = f32[2,8] custom-call(p), custom_call_target=\"xla.sdy.GlobalToLocalShape\","
    " frontend_attributes={xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"model\\\"}>\"}\n"
    "  c = f32[2,8] call(in), to_apply=xla.sdy.manual_computation_body.1,"
    " frontend_attributes={inlineable=\"false\"}\n"
    "  out = f32[2,8] custom-call(c), custom_call_target=\"xla.sdy.LocalToGlobalShape\","
    " frontend_attributes={xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"model\\\"}>\"}\n"
    "  ROOT m = f32[2,8] multiply(out, out) }\n"
    "ENTRY main { x = f32[8,16] parameter(0)\n"
    "  t = (f32[2,16], f32[2,16]) custom-call(x, x), custom_call_target=\"xla.sdy.GlobalToLocalShape\","
    " frontend_attributes={xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"data\\\", \\\"other\\\"}>\"}\n"
    "  g = f32[2,16] get-tuple-element(t), index=1\n"
    "  b = f32[2,8] call(g), to_apply=xla.sdy.manual_computation_body.2\n"
    "  ROOT end = f32[8,8] custom-call(b), custom_call_target=\"xla.sdy.LocalToGlobalShape\","
    " frontend_attributes={xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"data\\\", \\\"other\\\"}>\"} }\n";

Test(flatten, nested_manual_bodies_lie_in_regions) {
  flatten_ok(manual_twice);
  cr_assert_str_eq(listing(flat->entry),
                   "x: parameter(), t: custom-call(x x), g: get-tuple-element(t)@1, in: custom-call(g)@1, "
                   "r: all-reduce(in)@2, out: custom-call(r)@1, m: multiply(out out)@1, end: custom-call(m)");
  cr_assert_eq(flat->regions.n, 3);
  const Region *outer = &flat->regions.at[1], *inner = &flat->regions.at[2];
  cr_assert(outer->n_axes == 2 && str_is(outer->axes[0], "data") && str_is(outer->axes[1], "other"));
  cr_assert(inner->n_axes == 1 && str_is(inner->axes[0], "model") && inner->parent == 1);
  const Comp *sum = module_comp(flat, instr_comp(named("r"), ATTR_to_apply));
  cr_assert_eq(sum->instrs.at[sum->root].region, 2);
}

Test(flatten, a_manual_body_without_operands_is_known_by_its_exit) {
  flatten_ok("HloModule m\n"
             "xla.sdy.manual_computation_body { i = u32[] partition-id() ROOT r = u32[1] reshape(i) }\n"
             "ENTRY main { c = u32[1] call(), to_apply=xla.sdy.manual_computation_body\n"
             "  ROOT o = u32[4] custom-call(c), custom_call_target=\"xla.sdy.LocalToGlobalShape\","
             " frontend_attributes={xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"x\\\"}>\"} }\n");
  cr_assert_str_eq(listing(flat->entry), "i: partition-id()@1, r: reshape(i)@1, o: custom-call(r)");
}

Test(flatten, gspmd_bounds_regions_too) {
  flatten_ok(
      "HloModule m\n"
      "body { p = f32[2] parameter(0) one = f32[] constant(1) o = f32[2] broadcast(one), dimensions={}\n"
      "  ROOT a = f32[2] add(p, o) }\n"
      "ENTRY main { x = f32[8] parameter(0)\n"
      "  i = f32[2] custom-call(x), custom_call_target=\"SPMDFullToShardShape\", sharding={manual}\n"
      "  c = f32[2] call(i), to_apply=body\n"
      "  s = f32[2] custom-call(c), custom_call_target=\"Sharding\", sharding={manual}\n"
      "  ROOT o = f32[8] custom-call(s), custom_call_target=\"SPMDShardToFullShape\","
      " sharding={devices=[4]<=[4]} }\n");
  cr_assert_str_eq(
      listing(flat->entry),
      "x: parameter(), i: custom-call(x), one: constant()@1, o: broadcast(one)@1, a: add(i o)@1, "
      "s: custom-call(a)@1, o.1: custom-call(s)");
  cr_assert_eq(flat->regions.at[1].manual->kind, HLO_SHARDING_MANUAL);
}

Test(flatten, loops_keep_their_bodies) {
  flatten_ok(
      "HloModule m\n"
      "inc { a = s32[] parameter(0) one = s32[] constant(1) ROOT s = s32[] add(a, one) }\n"
      "body { p = s32[] parameter(0) ROOT c = s32[] call(p), to_apply=inc }\n"
      "cond { p = s32[] parameter(0) n = s32[] constant(8) ROOT l = pred[] compare(p, n), direction=LT }\n"
      "ENTRY main { x = s32[] parameter(0) ROOT w = s32[] while(x), condition=cond, body=body }\n");
  cr_assert_eq(flat->comps.n, 3);
  cr_assert_str_eq(listing(instr_comp(named("w"), ATTR_body)),
                   "p: parameter(), one: constant(), s: add(p one)");
}

Test(flatten, what_doubles_at_every_call_is_refused) {
  StrBuf text = {.arena = arena};
  buf_add(&text, STR("HloModule m\nf0 { p = f32[] parameter(0) ROOT r = f32[] add(p, p) }\n"));
  for (int i = 1; i < 40; i++)
    buf_printf(&text,
               "f%d { p = f32[] parameter(0) a = f32[] call(p), to_apply=f%d ROOT r = f32[] call(a), "
               "to_apply=f%d }\n",
               i, i - 1, i - 1);
  buf_add(&text, STR("ENTRY main { x = f32[] parameter(0) ROOT r = f32[] call(x), to_apply=f39 }\n"));
  cr_assert_eq(flatten(buf_str(&text).at), STATUS_INVALID);
  cr_assert(strstr(diag_error_text(diag).at, "there are more than 4194304 instructions") != NULL);
}

Test(flatten, calls_that_nest_too_deep_are_refused) {
  StrBuf text = {.arena = arena};
  buf_add(&text, STR("HloModule m\nf0 { p = f32[] parameter(0) ROOT r = f32[] add(p, p) }\n"));
  for (int i = 1; i < 600; i++)
    buf_printf(&text, "f%d { p = f32[] parameter(0) ROOT r = f32[] call(p), to_apply=f%d }\n", i, i - 1);
  buf_add(&text, STR("ENTRY main { x = f32[] parameter(0) ROOT r = f32[] call(x), to_apply=f599 }\n"));
  cr_assert_eq(flatten(buf_str(&text).at), STATUS_INVALID);
  cr_assert(strstr(diag_error_text(diag).at, "calls nest more than 500 deep") != NULL);
}

Test(flatten, wrong_number_of_operands_of_a_call) {
  cr_assert_eq(flatten("HloModule m\nf { p = f32[] parameter(0) ROOT r = f32[] negate(p) }\n"
                       "ENTRY main { x = f32[] parameter(0) ROOT r = f32[] call(x, x), to_apply=f }\n"),
               STATUS_INVALID);
  cr_assert(strstr(diag_error_text(diag).at, "t.hlo:3:42: error: f has 1 parameters, 2 operands are given") !=
                NULL,
            "%s", diag_error_text(diag).at);
}

/* Clean-ups of collectives in a partitioned program: what becomes one, what stays apart, and why. */
#include "program_fixture.h"
#include "sim/ir/verify.h"
#include "sim/partition/clean_collectives.h"

static Partitioned partitioned;

TestSuite(clean_collectives, .init = begin, .fini = end);

#define SUM    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
#define GROUPS "replica_groups={{0,1},{2,3}}, use_global_device_ids=true, to_apply=sum"

/* A program whose collectives have the reasons "1", "2", … by channel. */
static void read_text(const char *text, uint32_t n_reasons) {
  read_program(text);
  partitioned = (Partitioned){.module = module, .arena = arena};
  for (uint32_t i = 1; i <= n_reasons; i++) {
    CollectiveReason reason = {.because = str_printf(arena, "%u", i)};
    VEC_PUSH(arena, &partitioned.reasons, reason);
  }
}

/* Combines, and checks that the program is still whole. */
static void combine(void) {
  combine_collectives(&partitioned);
  cr_assert_eq(module_verify(module, diag), STATUS_OK, "%s", diag_error_text(diag).at);
}

/* The collective that makes `operand` of a tuple, in `*result` the place of that operand; NULL where it makes
 * an array. */
static const Instr *combined_with(const char *operand, uint32_t *result) {
  const Comp *comp = module_entry(module);
  uint32_t wanted = comp_find(comp, str_of(operand));
  cr_assert_neq(wanted, NO_ID);
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    const Instr *instr = &comp->instrs.at[i];
    if (!op_is_collective(instr->op) || !shape_is_tuple(instr->shape)) continue;
    for (*result = 0; *result < instr->operands.n; ++*result)
      if (instr->operands.at[*result] == wanted) return instr;
  }
  return NULL;
}

static uint32_t count(Opcode op) {
  const Comp *comp = module_entry(module);
  uint32_t n = 0;
  for (uint32_t i = 0; i < comp->instrs.n; i++) n += comp->instrs.at[i].op == op;
  return n;
}

Test(clean_collectives, neighbours_become_one) {
  read_text("HloModule m, num_partitions=4\n" SUM
            "ENTRY main { x = f32[8] parameter(0) y = f32[2,3] parameter(1)\n"
            "  p = f32[8] all-reduce(x), channel_id=1, " GROUPS "\n"
            "  n = f32[8] negate(p)\n"
            "  q = f32[2,3] all-reduce(y), channel_id=2, " GROUPS "\n"
            "  ROOT t = (f32[8], f32[2,3]) tuple(n, q) }\n",
            2);
  combine();
  uint32_t x, y;
  const Instr *all = combined_with("x", &x);
  cr_assert_not_null(all);
  cr_assert_eq(combined_with("y", &y), all);
  cr_assert(x == 0 && y == 1);
  cr_assert_eq(count(OP_ALL_REDUCE), 1);
  const Comp *comp = module_entry(module);
  const Instr *root = &comp->instrs.at[comp->root];
  const Instr *second = &comp->instrs.at[root->operands.at[1]];
  cr_assert(second->op == OP_GET_TUPLE_ELEMENT && instr_int(second, ATTR_index, -1) == 1);
  cr_assert(str_is(partitioned.reasons.at[0].because, "1; 2"));
}

/* A reduce-scatter of several operands is none of StableHLO. */
Test(clean_collectives, gathers_but_not_scatters) {
  read_text("HloModule m, num_partitions=2\n" SUM
            "ENTRY main { x = f32[8] parameter(0) y = f32[6] parameter(1)\n"
            "  p = f32[16] all-gather(x), channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, "
            "dimensions={0}\n"
            "  q = f32[12] all-gather(y), channel_id=2, replica_groups={{0,1}}, use_global_device_ids=true, "
            "dimensions={0}\n"
            "  r = f32[4] reduce-scatter(x), channel_id=3, replica_groups={{0,1}}, "
            "use_global_device_ids=true, dimensions={0}, to_apply=sum\n"
            "  s = f32[3] reduce-scatter(y), channel_id=4, replica_groups={{0,1}}, "
            "use_global_device_ids=true, dimensions={0}, to_apply=sum\n"
            "  ROOT t = (f32[16], f32[12], f32[4], f32[3]) tuple(p, q, r, s) }\n",
            4);
  combine();
  cr_assert_eq(count(OP_ALL_GATHER), 1);
  cr_assert_eq(count(OP_REDUCE_SCATTER), 2);
}

/* y depends on x; z is of another type, w of other groups, v another reduction. */
Test(clean_collectives, others_stay_apart) {
  read_text("HloModule m, num_partitions=4\n" SUM
            "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }\n"
            "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }\n"
            "ENTRY main { x = f32[8] parameter(0) i = s32[8] parameter(1)\n"
            "  p = f32[8] all-reduce(x), channel_id=1, " GROUPS "\n"
            "  y = f32[8] all-reduce(p), channel_id=2, " GROUPS "\n"
            "  z = s32[8] all-reduce(i), channel_id=3, replica_groups={{0,1},{2,3}}, "
            "use_global_device_ids=true, to_apply=add\n"
            "  w = f32[8] all-reduce(x), channel_id=4, replica_groups={{0,2},{1,3}}, "
            "use_global_device_ids=true, to_apply=sum\n"
            "  v = f32[8] all-reduce(x), channel_id=5, replica_groups={{0,1},{2,3}}, "
            "use_global_device_ids=true, to_apply=max\n"
            "  ROOT t = (f32[8], s32[8], f32[8], f32[8]) tuple(y, z, w, v) }\n",
            5);
  combine();
  cr_assert_eq(count(OP_ALL_REDUCE), 5);
  cr_assert_eq(count(OP_GET_TUPLE_ELEMENT), 0);
}

/* The sum of x is needed by a dot; that of d comes from one: together they would run one after another. */
Test(clean_collectives, nothing_waits_for_a_longer_chain) {
  read_text("HloModule m, num_partitions=4\n" SUM
            "ENTRY main { x = f32[8,8] parameter(0) y = f32[8,8] parameter(1)\n"
            "  p = f32[8,8] all-reduce(x), channel_id=1, " GROUPS "\n"
            "  e = f32[8,8] dot(p, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
            "  d = f32[8,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
            "  q = f32[8,8] all-reduce(d), channel_id=2, " GROUPS "\n"
            "  ROOT t = (f32[8,8], f32[8,8]) tuple(e, q) }\n",
            2);
  combine();
  cr_assert_eq(count(OP_ALL_REDUCE), 2);
}

/* Where nothing waits for them, little ones join the last; big ones go out while others are computed. */
Test(clean_collectives, only_little_waits_for_the_end) {
  for (int big = 0; big < 2; big++) {
    const char *rows = big ? "4096" : "8";
    StrBuf text = {.arena = arena};
    buf_printf(&text,
               "HloModule m, num_partitions=4\n" SUM
               "ENTRY main { x = f32[%s,8] parameter(0) y = f32[8,8] parameter(1)\n"
               "  p = f32[%s,8] all-reduce(x), channel_id=1, " GROUPS "\n"
               "  d = f32[%s,8] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"
               "  q = f32[%s,8] all-reduce(d), channel_id=2, " GROUPS "\n"
               "  ROOT t = (f32[%s,8], f32[%s,8]) tuple(p, q) }\n",
               rows, rows, rows, rows, rows, rows);
    module_free(module);
    read_text(buf_str(&text).at, 2);
    combine();
    cr_assert_eq(count(OP_ALL_REDUCE), big ? 2 : 1);
  }
}

/* Two of 20 MiB are more than XLA combines. */
Test(clean_collectives, bytes_have_a_limit) {
  read_text(
      "HloModule m, num_partitions=4\n" SUM
      "ENTRY main { x = f32[5242880] parameter(0) y = f32[5242880] parameter(1) z = f32[8] parameter(2)\n"
      "  p = f32[5242880] all-reduce(x), channel_id=1, " GROUPS "\n"
      "  q = f32[5242880] all-reduce(y), channel_id=2, " GROUPS "\n"
      "  r = f32[8] all-reduce(z), channel_id=3, " GROUPS "\n"
      "  ROOT t = (f32[5242880], f32[5242880], f32[8]) tuple(p, q, r) }\n",
      3);
  combine();
  uint32_t place;
  cr_assert_not_null(combined_with("x", &place));
  cr_assert_eq(combined_with("z", &place), combined_with("x", &place));
  cr_assert_null(combined_with("y", &place));
}

/* Groups of one, and the largest of what all have; a sum of it, and groups of replicas, do something. */
Test(clean_collectives, what_changes_nothing_goes) {
  read_text("HloModule m, num_partitions=2\n" SUM
            "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] maximum(a, b) }\n"
            "ENTRY main { x = f32[8] parameter(0) c = f32[] constant(3)\n"
            "  b = f32[8] broadcast(c), dimensions={}\n"
            "  one = f32[8] all-reduce(x), channel_id=1, replica_groups={{0},{1}}, "
            "use_global_device_ids=true, to_apply=sum\n"
            "  most = f32[8] all-reduce(b), channel_id=2, replica_groups={{0,1}}, "
            "use_global_device_ids=true, to_apply=max\n"
            "  both = f32[8] all-reduce(b), channel_id=3, replica_groups={{0,1}}, "
            "use_global_device_ids=true, to_apply=sum\n"
            "  mine = f32[8] all-reduce(x), channel_id=4, replica_groups={{0,1}}, "
            "use_global_device_ids=true, to_apply=max\n"
            "  all = f32[8] all-reduce(x), channel_id=5, replica_groups={{0}}, to_apply=sum\n"
            "  ROOT t = (f32[8], f32[8], f32[8], f32[8], f32[8]) tuple(one, most, both, mine, all) }\n",
            5);
  simplify_collectives(&partitioned);
  cr_assert_eq(module_verify(module, diag), STATUS_OK, "%s", diag_error_text(diag).at);
  const Comp *comp = module_entry(module);
  const char *const wanted[] = {"x", "b", "both", "mine", "all"};
  for (uint32_t k = 0; k < 5; k++) {
    Str name = comp->instrs.at[comp->instrs.at[comp->root].operands.at[k]].name;
    cr_assert(str_is(name, wanted[k]), "%.*s", STR_ARG(name));
  }
}

/* --- fewer sums --- */

#define ALL "replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=sum"

/* Runs all clean-ups, and checks that the program is still whole. */
static void clean(const char *text, uint32_t n_reasons) {
  read_text(text, n_reasons);
  clean_collectives(&partitioned);
  cr_assert_eq(module_verify(module, diag), STATUS_OK, "%s", diag_error_text(diag).at);
}

/* The groups of the one collective of its kind in the entry, as text: `0,1;2,3`. */
static const char *groups_of_only(Opcode op) {
  const Comp *comp = module_entry(module);
  StrBuf text = {.arena = arena};
  cr_assert_eq(count(op), 1);
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    if (comp->instrs.at[i].op != op) continue;
    GroupList groups = instr_groups(arena, &comp->instrs.at[i], 4);
    for (uint32_t k = 0; k < groups.start[groups.n]; k++) {
      bool first = false;
      for (uint32_t g = 1; g < groups.n; g++) first = first || groups.start[g] == k;
      buf_add(&text, str_printf(arena, "%s%u", k == 0 ? "" : first ? ";" : ",", groups.ids[k]));
    }
  }
  return str_terminated(arena, buf_str(&text));
}

Test(clean_collectives, sums_of_sums_are_one_over_both_groups) {
  clean("HloModule m, num_partitions=4\n" SUM "ENTRY main { x = f32[8] parameter(0)\n"
        "  p = f32[8] all-reduce(x), channel_id=1, " GROUPS "\n"
        "  ROOT q = f32[8] all-reduce(p), channel_id=2, replica_groups={{0,2},{1,3}}, "
        "use_global_device_ids=true, to_apply=sum }\n",
        2);
  cr_expect_str_eq(groups_of_only(OP_ALL_REDUCE), "0,1,2,3");
}

Test(clean_collectives, what_would_count_twice_stays_apart) {
  clean("HloModule m, num_partitions=4\n" SUM "ENTRY main { x = f32[8] parameter(0)\n"
        "  p = f32[8] all-reduce(x), channel_id=1, " GROUPS "\n"
        "  ROOT q = f32[8] all-reduce(p), channel_id=2, " ALL " }\n",
        2);
  cr_expect_eq(count(OP_ALL_REDUCE), 2);
}

Test(clean_collectives, the_difference_of_sums_is_the_sum_of_the_difference) {
  clean("HloModule m, num_partitions=4\n" SUM "ENTRY main { x = f32[8] parameter(0) y = f32[8] parameter(1)\n"
        "  p = f32[8] all-reduce(x), channel_id=1, " GROUPS "\n"
        "  q = f32[8] all-reduce(y), channel_id=2, " GROUPS "\n"
        "  ROOT d = f32[8] subtract(p, q), sharding={replicated} }\n",
        2);
  const Comp *comp = module_entry(module);
  const Instr *root = &comp->instrs.at[comp->root];
  cr_assert_eq(root->op, OP_ALL_REDUCE);
  cr_expect_not_null(instr_attr(root, ATTR_sharding));
  const Instr *difference = &comp->instrs.at[root->operands.at[0]];
  cr_assert_eq(difference->op, OP_SUBTRACT);
  cr_expect(str_is(comp->instrs.at[difference->operands.at[0]].name, "x"));
  cr_expect_eq(count(OP_ALL_REDUCE), 1);
}

Test(clean_collectives, the_sum_of_equals_is_a_product) {
  clean("HloModule m, num_partitions=4\n" SUM "ENTRY main { c = f32[] constant(3) x = f32[] parameter(0)\n"
        "  p = f32[] all-reduce(c), channel_id=1, " GROUPS "\n"
        "  ROOT y = f32[] add(p, x) }\n",
        1);
  cr_expect_eq(count(OP_ALL_REDUCE), 0);
  cr_expect_eq(count(OP_MULTIPLY), 1);
}

#define PART                                                                                                 \
  "  id = u32[] partition-id() i = s32[] convert(id) two = s32[] constant(2)\n"                              \
  "  p = f32[8] all-reduce(x), channel_id=1, " ALL "\n"

Test(clean_collectives, a_part_of_a_sum_is_scattered) {
  clean("HloModule m, num_partitions=4\n" SUM
        "ENTRY main { x = f32[8] parameter(0) last = s32[] constant(3)\n" PART
        "  j = s32[] subtract(last, i) at = s32[] multiply(j, two)\n"
        "  ROOT d = f32[2] dynamic-slice(p, at), dynamic_slice_sizes={2} }\n",
        1);
  cr_expect_str_eq(groups_of_only(OP_REDUCE_SCATTER), "3,2,1,0");
  cr_expect_eq(count(OP_ALL_REDUCE), 0);
}

Test(clean_collectives, parts_that_several_take_are_summed_after_they_are_scattered) {
  clean("HloModule m, num_partitions=4\n" SUM
        "ENTRY main { x = f32[8] parameter(0) four = s32[] constant(4)\n" PART
        "  j = s32[] divide(i, two) at = s32[] multiply(j, four)\n"
        "  ROOT d = f32[4] dynamic-slice(p, at), dynamic_slice_sizes={4} }\n",
        1);
  cr_expect_str_eq(groups_of_only(OP_REDUCE_SCATTER), "0,2;1,3");
  cr_expect_str_eq(groups_of_only(OP_ALL_REDUCE), "0,1;2,3");
  cr_expect_eq(partitioned.reasons.n, 2);
}

Test(clean_collectives, parts_that_overlap_are_not_scattered) {
  clean("HloModule m, num_partitions=4\n" SUM "ENTRY main { x = f32[8] parameter(0)\n" PART
        "  ROOT d = f32[2] dynamic-slice(p, i), dynamic_slice_sizes={2} }\n",
        1);
  cr_expect_eq(count(OP_REDUCE_SCATTER), 0);
}

/* A loop that adds up `term`, of x; `more` is an element besides. */
static const char *adding_loop(const char *before, const char *term, const char *more) {
  return str_terminated(
      arena,
      str_printf(
          arena,
          "HloModule m, num_partitions=4\n" SUM "body { t = (s32[], f32[8], f32[8], f32[8]) parameter(0)\n"
          "  n = s32[] get-tuple-element(t), index=0 one = s32[] constant(1) m = s32[] add(n, one)\n"
          "  g = f32[8] get-tuple-element(t), index=1 x = f32[8] get-tuple-element(t), index=2\n"
          "  o = f32[8] get-tuple-element(t), index=3\n"
          "  p = f32[8] all-reduce(x), channel_id=1, " ALL "\n  h = f32[8] add(g, %s)\n"
          "  ROOT r = (s32[], f32[8], f32[8], f32[8]) tuple(m, h, x, %s) }\n"
          "cond { t = (s32[], f32[8], f32[8], f32[8]) parameter(0) n = s32[] get-tuple-element(t), index=0\n"
          "  five = s32[] constant(5) ROOT c = pred[] compare(n, five), direction=LT }\n"
          "ENTRY main { x = f32[8] parameter(0) zero = s32[] constant(0) y = f32[8] parameter(1)\n"
          "  none = f32[] constant(0) nothing = f32[8] broadcast(none), dimensions={}\n"
          "  t = (s32[], f32[8], f32[8], f32[8]) tuple(zero, %s, x, y)\n"
          "  w = (s32[], f32[8], f32[8], f32[8]) while(t), condition=cond, body=body\n"
          "  e = f32[8] get-tuple-element(w), index=1 f = f32[8] get-tuple-element(w), index=3\n"
          "  ROOT z = f32[8] add(e, f) }\n",
          term, more, before));
}

Test(clean_collectives, what_a_loop_adds_up_is_summed_behind_it) {
  clean(adding_loop("nothing", "p", "o"), 1);
  cr_expect_str_eq(groups_of_only(OP_ALL_REDUCE), "0,1,2,3");
  cr_expect_eq(count(OP_ADD), 1);
}

Test(clean_collectives, what_was_there_before_the_loop_is_added_behind_it) {
  clean(adding_loop("y", "p", "o"), 1);
  cr_expect_str_eq(groups_of_only(OP_ALL_REDUCE), "0,1,2,3");
  cr_expect_eq(count(OP_ADD), 2);
}

Test(clean_collectives, a_sum_that_the_loop_looks_at_stays_in_it) {
  clean(adding_loop("nothing", "p", "g"), 1);
  cr_expect_eq(count(OP_ALL_REDUCE), 0);
}

Test(clean_collectives, a_sum_that_is_needed_twice_stays_in_the_loop) {
  clean(adding_loop("nothing", "p", "p"), 1);
  cr_expect_eq(count(OP_ALL_REDUCE), 0);
}

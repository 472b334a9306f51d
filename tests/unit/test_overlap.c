/* Overlap: what is hidden, in which order, within which memory; and that the engine runs it. Programs are
 * written as text and read. */
#include "schedule_fixture.h"

static void begin_with_async_reductions(void) {
  begin_scheduling();
  pod.async_reductions = true;
}

TestSuite(overlap, .init = begin_with_async_reductions, .fini = end_scheduling);

typedef struct {
  uint32_t *start, *end; /* steps by instruction, from 1; equal but for pairs */
} Order;

/* Every instruction once, a pair's in its two steps; operands are there before a start, users come after an
 * end; every value but the root dies once, after its last use and no earlier than its own pair ends. */
static Order check_order(uint32_t comp) {
  const Comp *body = module_comp(module, comp);
  const CompSchedule *made = &schedule->comps[comp];
  uint32_t n = body->instrs.n;
  Order order = {ARENA_ARRAY(arena, uint32_t, n), ARENA_ARRAY(arena, uint32_t, n)};
  uint32_t *freed = ARENA_ARRAY(arena, uint32_t, n);
  for (uint32_t s = 0; s < made->steps.n; s++) {
    const Step *step = &made->steps.at[s];
    for (uint32_t i = 0; i < step->instrs.n; i++) {
      uint32_t at = step->instrs.at[i];
      const Instr *instr = &body->instrs.at[at];
      bool starts = step->kind == STEP_START && op_is_collective(instr->op);
      bool ends = step->kind == STEP_DONE && op_is_collective(instr->op);
      cr_assert_eq(order.end[at], 0, "%.*s runs twice", STR_ARG(instr->name));
      cr_assert_eq(order.start[at] != 0, ends, "%.*s ends, but did not start", STR_ARG(instr->name));
      if (!ends) order.start[at] = s + 1;
      if (!starts) order.end[at] = s + 1;
      for (uint32_t k = 0; k < instr->operands.n; k++) {
        cr_assert_neq(order.end[instr->operands.at[k]], 0, "%.*s is before an operand", STR_ARG(instr->name));
        cr_assert_eq(freed[instr->operands.at[k]], 0, "%.*s uses a freed value", STR_ARG(instr->name));
      }
    }
    for (uint32_t i = 0; i < step->frees.n; i++) cr_assert_eq(freed[step->frees.at[i]]++, 0);
  }
  for (uint32_t i = 0; i < n; i++) {
    cr_assert_neq(order.end[i], 0);
    cr_assert_eq(freed[i], i != body->root);
  }
  return order;
}

static Order plan(void) {
  schedule_free(schedule);
  schedule = NULL;
  cr_assert_eq(module_schedule(module, &pod, &schedule, diag), STATUS_OK, "%s", diag_error_text(diag).at);
  return check_order(module->entry);
}

static uint32_t named(const char *name) {
  uint32_t at = comp_find(module_entry(module), str_of(name));
  cr_assert_neq(at, NO_ID);
  return at;
}

static bool is_split(const Order *order, const char *name) {
  return order->start[named(name)] < order->end[named(name)];
}

/* Whether a step runs while a collective is in flight. */
static bool is_beside(const Order *order, const char *name, const char *collective) {
  uint32_t at = named(name), of = named(collective);
  return order->start[of] < order->start[at] && order->end[at] < order->end[of];
}

static uint32_t most_in_flight(Opcode op) {
  const CompSchedule *made = &schedule->comps[module->entry];
  uint32_t now = 0, most = 0;
  for (uint32_t s = 0; s < made->steps.n; s++) {
    const Step *step = &made->steps.at[s];
    if (comp_instr(module, module->entry, step->instrs.at[step->instrs.n - 1])->op != op) continue;
    now += step->kind == STEP_START;
    most = now > most ? now : most;
    now -= step->kind == STEP_DONE;
  }
  return most;
}

#define HEAD                                                                                                 \
  "HloModule m, num_partitions=8\n"                                                                          \
  "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n"
#define ALL "replica_groups={{0,1,2,3,4,5,6,7}}"
#define DOT "lhs_contracting_dims={1}, rhs_contracting_dims={0}"

#define GRADIENTS                                                                                            \
  HEAD "ENTRY e {\n  x = f32[2048,2048] parameter(0)\n  y = f32[2048,2048] parameter(1)\n"                   \
       "  w = f32[2048,2048] dot(x, y), " DOT "\n  d = f32[2048,2048] dot(y, x), " DOT "\n"                  \
       "  r = f32[2048,2048] all-reduce(d), " ALL ", to_apply=sum\n"                                         \
       "  s = f32[2048,2048] sine(r)\n  v = f32[2048,2048] dot(w, s), " DOT "\n"                             \
       "  q = f32[2048,2048] all-reduce(w), " ALL ", to_apply=sum\n"                                         \
       "  u = f32[2048,2048] cosine(q)\n"                                                                    \
       "  ROOT t = (f32[2048,2048], f32[2048,2048]) tuple(v, u)\n}\n"

Test(overlap, an_all_reduce_runs_beside_a_product_that_does_not_need_it) {
  read_program(GRADIENTS);
  Order order = plan();
  cr_assert(is_split(&order, "q") || is_split(&order, "r"));
  cr_assert(is_beside(&order, "w", "r") || is_beside(&order, "v", "q"));
  cr_assert_eq(most_in_flight(OP_ALL_REDUCE), 1, "one of a kind at once");
}

Test(overlap, what_stands_before_a_collective_can_move_behind_its_start) {
  read_program(HEAD "ENTRY e {\n  x = f32[2048,2048] parameter(0)\n  y = f32[2048,2048] parameter(1)\n"
                    "  n = f32[2048,2048] negate(x)\n  big = f32[2048,2048] dot(x, y), " DOT "\n"
                    "  r = f32[2048,2048] all-reduce(n), " ALL ", to_apply=sum\n"
                    "  s = f32[2048,2048] sine(r)\n"
                    "  ROOT t = (f32[2048,2048], f32[2048,2048]) tuple(big, s)\n}\n");
  Order order = plan();
  cr_assert(is_beside(&order, "big", "r"));
}

Test(overlap, where_nothing_can_be_hidden_a_collective_stays_synchronous) {
  read_program(HEAD "ENTRY e {\n  x = f32[2048,2048] parameter(0)\n  n = f32[2048,2048] negate(x)\n"
                    "  r = f32[2048,2048] all-reduce(n), " ALL ", to_apply=sum\n"
                    "  ROOT s = f32[2048,2048] sine(r)\n}\n");
  Order order = plan();
  cr_assert_not(is_split(&order, "r"));
}

Test(overlap, reductions_stay_synchronous_where_the_compiler_splits_none) {
  pod.async_reductions = false;
  read_program(GRADIENTS);
  Order order = plan();
  cr_assert_not(is_split(&order, "q") || is_split(&order, "r"));
}

Test(overlap, can_be_switched_off) {
  pod.overlap = false;
  read_program(GRADIENTS);
  Order order = plan();
  cr_assert_not(is_split(&order, "q") || is_split(&order, "r"));
}

Test(overlap, a_scheduled_program_keeps_its_order) {
  read_program("HloModule m, is_scheduled=true, num_partitions=8\n"
               "ENTRY e {\n  x = f32[2048,2048] parameter(0)\n"
               "  g = f32[16384,2048] all-gather(x), " ALL ", dimensions={0}\n"
               "  y = f32[2048,2048] dot(x, x), " DOT "\n"
               "  ROOT t = (f32[16384,2048], f32[2048,2048]) tuple(g, y)\n}\n");
  Order order = plan();
  cr_assert_not(is_split(&order, "g"));
  cr_assert_lt(order.start[named("g")], order.start[named("y")]);
}

#define GATHER                                                                                               \
  HEAD "ENTRY e {\n  x = f32[2048,2048] parameter(0)\n  p = f32[256,2048] parameter(1)\n"                    \
       "  k = f32[2048,16384] parameter(2)\n  l = f32[16384,2048] parameter(3)\n"                            \
       "  h = f32[2048,16384] dot(x, k), " DOT "\n"                                                          \
       "  y = f32[2048,2048] dot(h, l), " DOT "\n"                                                           \
       "  g = f32[2048,2048] all-gather(p), " ALL ", dimensions={0}\n"                                       \
       "  ROOT v = f32[2048,2048] dot(y, g), " DOT "\n}\n"

Test(overlap, memory_that_a_start_takes_counts_and_has_its_limit) {
  read_program(GATHER);
  pod.vmem_bytes = pod.vmem_windows_bytes; /* so that all lies in HBM */
  pod.overlap = false;
  plan();
  int64_t without = schedule->hbm_peak_bytes;
  pod.overlap = true;
  Order order = plan();
  cr_assert(is_beside(&order, "y", "g"));
  int64_t with = schedule->hbm_peak_bytes;
  cr_assert_gt(with, without, "the gathered value is there while the product runs");
  pod.hbm_usable_bytes = with;
  order = plan();
  cr_assert(is_split(&order, "g"));
  pod.hbm_usable_bytes = with - 1;
  order = plan();
  cr_assert_not(is_split(&order, "g"));
  cr_assert_eq(schedule->hbm_peak_bytes, without);
  pod.hbm_usable_bytes = without - 1;
  order = plan();
  cr_assert_eq(schedule->hbm_peak_bytes, without, "what does not fit anyway is left alone");
}

Test(overlap, a_loop_with_collectives_has_the_links_to_itself) {
  read_program(
      HEAD "cond {\n  c = (s32[], f32[2048,2048]) parameter(0)\n  i = s32[] get-tuple-element(c), index=0\n"
           "  n = s32[] constant(3)\n  ROOT l = pred[] compare(i, n), direction=LT\n}\n"
           "body {\n  c = (s32[], f32[2048,2048]) parameter(0)\n  i = s32[] get-tuple-element(c), index=0\n"
           "  v = f32[2048,2048] get-tuple-element(c), index=1\n  one = s32[] constant(1)\n"
           "  j = s32[] add(i, one)\n  r = f32[2048,2048] all-reduce(v), " ALL ", to_apply=sum\n"
           "  ROOT t = (s32[], f32[2048,2048]) tuple(j, r)\n}\n"
           "ENTRY e {\n  x = f32[2048,2048] parameter(0)\n  z = s32[] constant(0)\n"
           "  q = f32[2048,2048] all-reduce(x), " ALL ", to_apply=sum\n"
           "  y = f32[2048,2048] dot(x, x), " DOT "\n  t = (s32[], f32[2048,2048]) tuple(z, y)\n"
           "  w = (s32[], f32[2048,2048]) while(t), condition=cond, body=body\n"
           "  v = f32[2048,2048] get-tuple-element(w), index=1\n"
           "  ROOT o = f32[2048,2048] add(v, q)\n}\n");
  Order order = plan();
  cr_assert_not(is_beside(&order, "w", "q"));
}

#define RING "source_target_pairs={{0,2},{2,4},{4,6},{6,0},{1,3},{3,5},{5,7},{7,1}}"
#define BACK "source_target_pairs={{0,6},{6,4},{4,2},{2,0},{1,7},{7,5},{5,3},{3,1}}"

Test(overlap, blocks_go_round_a_ring_both_ways_beside_the_products_of_those_before) {
  read_program(HEAD "ENTRY e {\n  x = f32[2048,2048] parameter(0)\n  w = f32[2048,2048] parameter(1)\n"
                    "  up1 = f32[2048,2048] collective-permute(w), " RING "\n"
                    "  up2 = f32[2048,2048] collective-permute(up1), " RING "\n"
                    "  up3 = f32[2048,2048] collective-permute(up2), " RING "\n"
                    "  down1 = f32[2048,2048] collective-permute(w), " BACK "\n"
                    "  a = f32[2048,2048] dot(x, up1), " DOT "\n"
                    "  b = f32[2048,2048] dot(a, up2), " DOT "\n"
                    "  c = f32[2048,2048] dot(b, down1), " DOT "\n"
                    "  ROOT d = f32[2048,2048] dot(c, up3), " DOT "\n}\n");
  Order order = plan();
  cr_assert(is_beside(&order, "b", "up3"), "a product beside the next block");
  cr_assert_not(is_beside(&order, "a", "up3"), "an earlier block's product does not wait for a later block");
  cr_assert(is_beside(&order, "a", "up2"));
  cr_assert_eq(most_in_flight(OP_COLLECTIVE_PERMUTE), 2);
}

Test(overlap, collectives_of_a_kind_on_different_axes_are_in_flight_together) {
  read_program(
      HEAD "ENTRY e {\n  x = f32[2048,2048] parameter(0)\n  p = f32[512,2048] parameter(1)\n"
           "  q = f32[1024,2048] parameter(2)\n"
           "  g = f32[2048,2048] all-gather(p), replica_groups={{0,2,4,6},{1,3,5,7}}, dimensions={0}\n"
           "  h = f32[2048,2048] all-gather(q), replica_groups={{0,1},{2,3},{4,5},{6,7}}, dimensions={0}\n"
           "  y = f32[2048,2048] dot(x, x), " DOT "\n  z = f32[2048,2048] add(g, h)\n"
           "  ROOT v = f32[2048,2048] dot(y, z), " DOT "\n}\n");
  Order order = plan();
  cr_assert(is_beside(&order, "y", "g") && is_beside(&order, "y", "h"));
  cr_assert_eq(most_in_flight(OP_ALL_GATHER), 2);
}

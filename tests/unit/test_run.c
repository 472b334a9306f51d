/* Runs of whole programs on the simulated pod: numbers against the lockstep interpreter, deadlocks, breaks,
 * jitter. Each run is a process of its own. */
#include "pod_fixture.h"
#include "sim/engine/run.h"
#include "sim/eval/interpret.h"
#include "sim/partition/async_fusion.h"
#include "sim/partition/scatter_fusion.h"
#include "sim/read/program.h"
#include "sim/values.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  Arena *arena;
  Diag *diag;
  Module *module;
  uint32_t devices;
  Tensor **inputs; /* whole parameters, the same on each chip */
  RunOptions options;
  bool numbers;
  Values *values;
  Schedule *schedule;
  Ledger *ledger;
  RunResult result;
} Run;

/* Devices in two columns where they are even, whose long axis wraps from four on. */
static Pod pod_for(Arena *arena, uint32_t devices) {
  bool even = devices % 2 == 0;
  Str shape = even ? str_printf(arena, "%ux2", devices / 2) : str_printf(arena, "%ux1", devices);
  return torus_fixture(arena, shape.at, devices >= 8 ? "w-" : "--");
}

static void open_source(Run *run, const Source *source) {
  cr_assert_eq(program_read(source, &read_limits_default, &run->module, run->diag), STATUS_OK, "%.*s",
               STR_ARG(diag_error_text(run->diag)));
  run->devices = (uint32_t)(run->module->num_partitions * run->module->replica_count);
  const Comp *entry = module_entry(run->module);
  run->inputs = ARENA_ARRAY(run->arena, Tensor *, entry->params.n + 1);
  for (uint32_t i = 0; i < entry->params.n; i++)
    run->inputs[i] = tensor_random(entry->instrs.at[entry->params.at[i]].shape, 7, i);
}

static Run run_open(const char *text) {
  Run run = {.arena = arena_new(), .diag = diag_new(), .numbers = true};
  Source *source = ARENA_NEW(run.arena, Source);
  *source = (Source){STR("test.hlo"), str_of(text)};
  open_source(&run, source);
  return run;
}

static Status run_it(Run *run) {
  Pod *pod = ARENA_NEW(run->arena, Pod);
  *pod = pod_for(run->arena, run->devices);
  const Comp *entry = module_entry(run->module);
  uint32_t n = entry->params.n;
  Partitioned *partitioned = ARENA_NEW(run->arena, Partitioned);
  *partitioned = (Partitioned){.module = run->module,
                               .n_params = n,
                               .params = ARENA_ARRAY(run->arena, const Sharding *, n + 1),
                               .global_params = ARENA_ARRAY(run->arena, const Shape *, n + 1)};
  for (uint32_t i = 0; i < n; i++)
    partitioned->global_params[i] = entry->instrs.at[entry->params.at[i]].shape;
  TRY(values_new(partitioned, run->devices, run->numbers ? run->inputs : NULL, run->diag, &run->values));
  TRY(module_schedule(run->module, pod, &run->schedule, run->diag));
  run->options.values = values_ops(run->values);
  run->options.workers = 2;
  run->ledger = ledger_new(pod->n_chips, pod->shape, pod->n_axes);
  return schedule_run(pod, run->schedule, &run->options, run->ledger, &run->result, run->diag);
}

static void run_close(Run *run) {
  for (uint32_t d = 0; run->result.outputs != NULL && d < run->devices; d++)
    if (run->result.outputs[d] != NULL) tensor_release(run->result.outputs[d]);
  for (uint32_t i = 0; i < module_entry(run->module)->params.n; i++) tensor_release(run->inputs[i]);
  values_free(run->values);
  schedule_free(run->schedule);
  if (run->ledger != NULL) ledger_free(run->ledger);
  module_free(run->module);
  diag_free(run->diag);
  arena_free(run->arena);
}

/* ---- comparing values */

static bool close_to(double a, double b) {
  double scale = (a < 0 ? -a : a) + (b < 0 ? -b : b);
  return a == b || (a != a && b != b) || (a - b < 1e-4 * scale + 1e-5 && b - a < 1e-4 * scale + 1e-5);
}

static bool same(const Tensor *a, const Tensor *b) {
  if (a->dtype == DTYPE_TUPLE) {
    for (uint32_t i = 0; i < a->rank; i++)
      if (!same(a->parts[i], b->parts[i])) return false;
    return true;
  }
  if (a->known != b->known || a->bytes != b->bytes) return false;
  if (a->dtype != DTYPE_F32) return a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0;
  for (size_t i = 0; i < a->bytes / 4; i++)
    if (!close_to(((const float *)a->data)[i], ((const float *)b->data)[i])) return false;
  return true;
}

static bool is_as_interpreted(Run *run) {
  uint32_t n = module_entry(run->module)->params.n;
  Tensor **inputs = ARENA_ARRAY(run->arena, Tensor *, (size_t)n * run->devices + 1);
  Tensor **roots = ARENA_ARRAY(run->arena, Tensor *, run->devices);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t d = 0; d < run->devices; d++) inputs[i * run->devices + d] = run->inputs[i];
  InterpretOptions options = {.devices = run->devices, .trip_limit = 10000};
  cr_assert_eq(interpret(run->module, &options, inputs, roots, run->diag), STATUS_OK, "%.*s",
               STR_ARG(diag_error_text(run->diag)));
  bool all = true;
  for (uint32_t d = 0; d < run->devices; d++) {
    all = all && same(roots[d], run->result.outputs[d]);
    tensor_release(roots[d]);
  }
  return all;
}

static void check_lanes(const Ledger *ledger) {
  for (size_t i = 0; i < ledger->n_events && ledger->n_events < 4000; i++)
    for (size_t j = 0; j < i; j++) {
      const Event *a = &ledger->events[i], *b = &ledger->events[j];
      if (a->chip != b->chip || a->track != b->track || a->lane != b->lane) continue;
      cr_assert(a->start_ps >= b->start_ps + b->duration_ps || b->start_ps >= a->start_ps + a->duration_ps,
                "events overlap on track %d lane %u of chip %u", a->track, a->lane, a->chip);
    }
}

static void check_run(const char *text) {
  Run run = run_open(text);
  cr_assert_eq(run_it(&run), STATUS_OK, "%.*s", STR_ARG(diag_error_text(run.diag)));
  cr_assert(is_as_interpreted(&run), "the numbers differ from the interpreter's");
  check_lanes(run.ledger);
  run_close(&run);
}

/* ---- programs */

#define HEAD(devices)                                                                                        \
  "HloModule m, num_partitions=" #devices "\n"                                                               \
  "sum { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"                     \
  "isum { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT c = s32[] add(a, b) }\n"                    \
  "most { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT c = s32[] maximum(a, b) }\n"

/* x: a value of its own on each device. */
#define OWN(n, m)                                                                                            \
  " id = u32[] partition-id()\n own = s32[] convert(id)\n spread = s32[" #n "," #m                           \
  "] broadcast(own), dimensions={}\n count = s32[" #n "," #m "] iota(), iota_dimension=0\n more = s32[" #n   \
  "," #m "] iota(), iota_dimension=1\n"                                                                      \
  " seven = s32[] constant(1009)\n sevens = s32[" #n "," #m                                                  \
  "] broadcast(seven), dimensions={}\n big = s32[" #n "," #m "] multiply(spread, sevens)\n s = s32[" #n      \
  "," #m "] add(big, count)\n s2 = s32[" #n "," #m "] multiply(more, more)\n x = s32[" #n "," #m             \
  "] add(s, s2)\n"

#define GATHER                                                                                               \
  HEAD(8)                                                                                                    \
  "ENTRY e {\n" OWN(3, 5) " ROOT g = s32[3,40] all-gather(x), replica_groups=[1,8]<=[8], "                   \
                          "dimensions={1}, channel_id=1, use_global_device_ids=true\n}\n"
#define SCATTER                                                                                              \
  HEAD(8)                                                                                                    \
  "ENTRY e {\n" OWN(3, 16) " ROOT g = s32[3,2] reduce-scatter(x), replica_groups=[1,8]<=[8], "               \
                           "dimensions={1}, channel_id=1, use_global_device_ids=true, to_apply=isum\n}\n"
#define REDUCE                                                                                               \
  HEAD(8)                                                                                                    \
  "ENTRY e {\n" OWN(30, 70) " ROOT g = s32[30,70] all-reduce(x), replica_groups=[2,4]<=[4,2]T(1,0),"         \
                            " channel_id=1, use_global_device_ids=true, to_apply=isum\n}\n"
#define EXCHANGE                                                                                             \
  HEAD(8)                                                                                                    \
  "ENTRY e {\n" OWN(3, 16) " ROOT g = s32[3,16] all-to-all(x), replica_groups={{0,1,2,3,4,5,6,7}}, "         \
                           "dimensions={1}, channel_id=1\n}\n"
#define PERMUTE                                                                                              \
  HEAD(8)                                                                                                    \
  "ENTRY e {\n" OWN(3, 4) " ROOT g = s32[3,4] collective-permute(x), channel_id=1, "                         \
                          "source_target_pairs={{0,1},{1,2},{2,0},{5,5},{7,3}}\n}\n"
#define BROADCAST                                                                                            \
  HEAD(8)                                                                                                    \
  "ENTRY e {\n" OWN(3, 40) " ROOT g = s32[3,40] collective-broadcast(x), channel_id=1, "                     \
                           "replica_groups={{3,1,7,5},{0,2,4,6}}\n}\n"

Test(run, all_gather) {
  check_run(GATHER);
}
Test(run, reduce_scatter) {
  check_run(SCATTER);
}
Test(run, all_reduce) {
  check_run(REDUCE);
}
Test(run, all_to_all) {
  check_run(EXCHANGE);
}
Test(run, permute) {
  check_run(PERMUTE);
}
Test(run, broadcast) {
  check_run(BROADCAST);
}

Test(run, several_operands_of_several_types) {
  check_run(HEAD(4) "ENTRY e {\n" OWN(
      3, 4) " f = f32[3,4] convert(x)\n one = s32[3] slice(count), slice={[0:3],[0:1]}\n"
            " r = (s32[3,4], f32[3,4], s32[3,4]) all-reduce(x, f, s), replica_groups={}, to_apply=isum, "
            "channel_id=1, use_global_device_ids=true\n"
            " a = (s32[12,4], f32[12,4]) all-gather(x, f), dimensions={0}, replica_groups={{0,1,2,3}}, "
            "channel_id=2, use_global_device_ids=true\n"
            " t = (s32[3,4], s32[3,4]) all-to-all(x, s), replica_groups={{0,2},{3,1}}, channel_id=3\n"
            " ROOT all = ((s32[12,4], f32[12,4]), (s32[3,4], s32[3,4])) tuple(a, t)\n}\n");
}

Test(run, groups_of_one_and_of_unlike_sizes) {
  check_run(HEAD(6) "ENTRY e {\n" OWN(
      2, 6) " a = s32[2,6] all-reduce(x), replica_groups={{0,3,5},{1},{2,4}}, to_apply=most, "
            "channel_id=1, use_global_device_ids=true\n b = s32[2,6] all-gather(a), dimensions={0}, "
            "replica_groups={{0},{1},{2},{3},{4},{5}}, channel_id=2, use_global_device_ids=true\n"
            " ROOT c = s32[2,6] all-to-all(b), dimensions={1}, replica_groups={{5,2,0},{1,3,4}}, "
            "channel_id=3\n}\n");
}

#define LOOP                                                                                                 \
  HEAD(4)                                                                                                    \
  "body {\n p = (s32[], s32[4,6]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"                  \
  " v = s32[4,6] get-tuple-element(p), index=1\n one = s32[] constant(1)\n n = s32[] add(i, one)\n"          \
  " w = s32[4,6] collective-permute(v), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}, channel_id=1\n"       \
  " u = s32[4,6] add(w, v)\n r = s32[4,6] all-reduce(u), replica_groups={{0,1},{2,3}}, to_apply=isum, "      \
  "channel_id=2, use_global_device_ids=true\n ROOT t = (s32[], s32[4,6]) tuple(n, r)\n}\n"                   \
  "condition {\n p = (s32[], s32[4,6]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"             \
  " five = s32[] constant(5)\n ROOT c = pred[] compare(i, five), direction=LT\n}\n"                          \
  "ENTRY e {\n" OWN(4, 6) " zero = s32[] constant(0)\n carry = (s32[], s32[4,6]) tuple(zero, x)\n"           \
                          " ROOT l = (s32[], s32[4,6]) while(carry), condition=condition, body=body\n}\n"

Test(run, a_loop_of_collectives) {
  check_run(LOOP);
}

Test(run, a_loop_without_numbers_runs_its_known_trips) {
  Run run = run_open(LOOP);
  run.numbers = false;
  cr_assert_eq(run_it(&run), STATUS_OK, "%.*s", STR_ARG(diag_error_text(run.diag)));
  uint32_t reductions = 0;
  for (size_t i = 0; i < run.ledger->n_events; i++) {
    const Event *event = &run.ledger->events[i];
    reductions += event->kind == EVENT_COLLECTIVE && event->chip == 0 &&
                  str_starts(run.ledger->names.at[event->name], "r[");
  }
  cr_expect_eq(reductions, 5);
  run_close(&run);
}

static const char control[] = HEAD(
    4) "plus { a = s32[4,6] parameter(0)\n b = s32[4,6] parameter(1)\n ROOT c = s32[4,6] add(a, b) }\n"
       "even { a = s32[4,6] parameter(0)\n ROOT c = s32[4,6] negate(a) }\n"
       "odd { a = s32[4,6] parameter(0)\n ROOT c = s32[4,6] multiply(a, a) }\n"
       "other { a = s32[4,6] parameter(0)\n ROOT c = s32[4,6] copy(a) }\n"
       "ENTRY e {\n" OWN(
           4,
           6) " y = s32[4,6] call(x, x), to_apply=plus\n z = s32[4,6] fusion(y, x), kind=kLoop, calls=plus\n"
              " b = s32[4,6] conditional(own, z, y, x), branch_computations={even, odd, other}\n two = s32[] "
              "constant(2)\n"
              " small = pred[] compare(own, two), direction=LT\n"
              " ROOT c = s32[4,6] conditional(small, b, z), true_computation=even, "
              "false_computation=odd\n}\n";

Test(run, control_flow_by_data) {
  check_run(control);
}

Test(run, without_numbers_the_costliest_branch_is_taken_and_said) {
  Run run = run_open(
      HEAD(2) "even { a = s32[4,6] parameter(0)\n ROOT c = s32[4,6] negate(a) }\n"
              "odd { a = s32[4,6] parameter(0)\n b = s32[4,6] multiply(a, a)\n ROOT c = s32[4,6] "
              "all-reduce(b), replica_groups={}, to_apply=isum, channel_id=1, use_global_device_ids=true }\n"
              "ENTRY e {\n k = s32[] parameter(0)\n x = s32[4,6] parameter(1)\n"
              " ROOT b = s32[4,6] conditional(k, x, x), branch_computations={even, odd}\n}\n");
  run.numbers = false;
  cr_assert_eq(run_it(&run), STATUS_OK, "%.*s", STR_ARG(diag_error_text(run.diag)));
  bool collective = false;
  for (size_t i = 0; i < run.ledger->n_events; i++)
    collective |= run.ledger->events[i].kind == EVENT_COLLECTIVE;
  cr_expect(collective, "the branch with the all-reduce is the costliest");
  cr_expect_neq(diag_notes_text(run.diag).n, 0);
  run_close(&run);
}

Test(run, without_numbers_trips_that_depend_on_data_are_asked_for) {
  const char *text = HEAD(
      2) "body { p = s32[] parameter(0)\n two = s32[] constant(2)\n ROOT q = s32[] divide(p, two) }\n"
         "condition { p = s32[] parameter(0)\n one = s32[] constant(1)\n ROOT c = pred[] compare(p, one), "
         "direction=GT }\n"
         "ENTRY e { p = s32[] parameter(0)\n ROOT l = s32[] while(p), condition=condition, body=body }\n";
  Run run = run_open(text);
  run.numbers = false;
  NamedNumber trips = {STR("l"), 3};
  if (fork() == 0) {
    run.options.trips = &trips;
    run.options.n_trips = 1;
    _exit(run_it(&run));
  }
  int told;
  wait(&told);
  cr_expect_eq(WEXITSTATUS(told), STATUS_OK);
  cr_expect_eq(run_it(&run), STATUS_INVALID);
  cr_expect(strstr(diag_error_text(run.diag).at, "--trip l=N") != NULL);
  run_close(&run);
}

/* Collectives that the schedule starts early, also in a loop's body, beside products and each other. */
#define HIDDEN                                                                                               \
  HEAD(4)                                                                                                    \
  "body {\n p = (s32[], s32[64,64]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"                \
  " v = s32[64,64] get-tuple-element(p), index=1\n one = s32[] constant(1)\n n = s32[] add(i, one)\n"        \
  " d = s32[64,64] dot(v, v), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n"                          \
  " w = s32[64,64] collective-permute(v), source_target_pairs={{0,1},{1,2},{2,3},{3,0}}, channel_id=1\n"     \
  " r = s32[64,64] all-reduce(v), replica_groups={{0,1},{2,3}}, to_apply=isum, channel_id=2, "               \
  "use_global_device_ids=true\n u = s32[64,64] add(w, r)\n k = s32[64,64] add(u, d)\n"                       \
  " ROOT t = (s32[], s32[64,64]) tuple(n, k)\n}\n"                                                           \
  "condition {\n p = (s32[], s32[64,64]) parameter(0)\n i = s32[] get-tuple-element(p), index=0\n"           \
  " three = s32[] constant(3)\n ROOT c = pred[] compare(i, three), direction=LT\n}\n"                        \
  "ENTRY e {\n" OWN(64, 64) " zero = s32[] constant(0)\n carry = (s32[], s32[64,64]) tuple(zero, x)\n"       \
                            " l = (s32[], s32[64,64]) while(carry), condition=condition, body=body\n"        \
                            " y = s32[64,64] get-tuple-element(l), index=1\n"                                \
                            " g = s32[256,64] all-gather(y), replica_groups={{0,1,2,3}}, dimensions={0}, "   \
                            "channel_id=3, use_global_device_ids=true\n"                                     \
                            " d = s32[64,64] dot(y, x), lhs_contracting_dims={1}, "                          \
                            "rhs_contracting_dims={0}\n"                                                     \
                            " ROOT t = (s32[256,64], s32[64,64]) tuple(g, d)\n}\n"

Test(run, collectives_are_hidden_with_the_same_numbers) {
  Run run = run_open(HIDDEN);
  cr_assert_eq(run_it(&run), STATUS_OK, "%.*s", STR_ARG(diag_error_text(run.diag)));
  cr_assert(is_as_interpreted(&run), "the numbers differ from the interpreter's");
  check_lanes(run.ledger);
  uint32_t hidden = 0;
  for (size_t i = 0; i < run.ledger->n_events; i++) {
    const Event *event = &run.ledger->events[i];
    hidden += event->kind == EVENT_COLLECTIVE && event->track == TRACK_ASYNC;
  }
  cr_expect_geq(hidden, 4 * 3 + 4, "one in each trip and one behind the loop, on each chip");
  run_close(&run);
}

static const char asyncs[] = HEAD(
    4) "wrapped { a = s32[4,8] parameter(0)\n ROOT c = s32[4,2] reduce-scatter(a), "
       "replica_groups={{0,1,2,3}}, "
       "dimensions={1}, to_apply=isum, channel_id=5, use_global_device_ids=true }\n"
       "ENTRY e {\n" OWN(
           4, 8) " gs = (s32[4,8], s32[16,8]) all-gather-start(x), replica_groups={{0,1,2,3}}, "
                 "dimensions={0}, channel_id=1, "
                 "use_global_device_ids=true\n"
                 " rs = s32[4,8] all-reduce-start(x), replica_groups={{0,2},{1,3}}, to_apply=isum, "
                 "channel_id=2, "
                 "use_global_device_ids=true\n"
                 " ps = (s32[4,8], s32[4,8], u32[], u32[]) collective-permute-start(x), "
                 "source_target_pairs={{0,3},{3,0}}, channel_id=3\n"
                 " ws = ((s32[4,8]), s32[4,2], u32[]) async-start(x), calls=wrapped\n"
                 " y = s32[4,8] multiply(x, x)\n cs = (s32[4,8], s32[4,8], u32[]) copy-start(y)\n"
                 " p = s32[4,8] collective-permute-done(ps)\n r = s32[4,8] all-reduce-done(rs)\n"
                 " g = s32[16,8] all-gather-done(gs)\n w = s32[4,2] async-done(ws)\n c = s32[4,8] "
                 "copy-done(cs)\n"
                 " ROOT t = (s32[16,8], s32[4,8], s32[4,8], s32[4,2], s32[4,8]) tuple(g, r, p, w, c)\n}\n";

Test(run, asynchronous_collectives_overlap) {
  check_run(asyncs);
}

Test(run, fusions_that_hold_collectives) {
  check_run(
      HEAD(4) "fused { a = s32[8,64] parameter(0)\n i = u32[] parameter(1)\n two = u32[] constant(2)\n"
              " at = u32[] multiply(i, two)\n zero = u32[] constant(0)\n"
              " r = s32[8,64] all-reduce(a), replica_groups={}, to_apply=isum, channel_id=1, "
              "use_global_device_ids=true\n"
              " ROOT s = s32[2,64] dynamic-slice(r, at, zero), dynamic_slice_sizes={2,64} }\n"
              "ENTRY e {\n" OWN(8, 64) " ROOT f = s32[2,64] fusion(x, id), kind=kCustom, calls=fused\n}\n");
}

/* As the TPU compiler has it: each device keeps the part of its place in the group, by a table. */
#define SCATTER_FUSION(table)                                                                                \
  "HloModule m, is_scheduled=true, num_partitions=4\n"                                                       \
  "isum { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT c = s32[] add(a, b) }\n"                    \
  "fused { a = s32[8,6] parameter(0)\n"                                                                      \
  " r = s32[8,6] all-reduce(a), replica_groups={{0,2},{1,3}}, to_apply=isum, channel_id=1, "                 \
  "use_global_device_ids=true\n"                                                                             \
  " places = u32[4] constant(" table ")\n i = u32[] partition-id()\n"                                        \
  " mine = u32[1] dynamic-slice(places, i), dynamic_slice_sizes={1}\n place = u32[] bitcast(mine)\n"         \
  " four = u32[] constant(4)\n at = u32[] multiply(place, four)\n zero = u32[] constant(0)\n"                \
  " ROOT s = s32[4,6] dynamic-slice(r, at, zero), dynamic_slice_sizes={4,6} }\n"                             \
  "ENTRY e {\n" OWN(8, 6) " ROOT f = s32[4,6] fusion(x), kind=kCustom, calls=fused\n}\n"

static Opcode scatter_fusion_op(const char *text) {
  Run plain = run_open(text), run = run_open(text);
  module_join_scatter_fusions(run.module);
  uint32_t fused = module_find_comp(run.module, STR("fused"));
  Opcode op = comp_instr(run.module, fused, comp_find(module_comp(run.module, fused), STR("r")))->op;
  cr_assert_eq(run_it(&run), STATUS_OK, "%.*s", STR_ARG(diag_error_text(run.diag)));
  plain.result = run.result; /* what the text as it stands gives is what the run gave */
  cr_assert(is_as_interpreted(&plain), "the numbers differ from the interpreter's");
  plain.result = (RunResult){0};
  run_close(&plain);
  run_close(&run);
  return op;
}

Test(run, fusions_that_keep_their_part_are_reduce_scatters) {
  cr_expect_eq(scatter_fusion_op(SCATTER_FUSION("{0, 0, 1, 1}")), OP_REDUCE_SCATTER);
}

Test(run, fusions_that_keep_another_part_are_left) {
  cr_expect_eq(scatter_fusion_op(SCATTER_FUSION("{1, 0, 0, 1}")), OP_ALL_REDUCE);
}

/* As the TPU compiler has it: the fusions between start and end name the collective again. */
static const char async_fusions[] =
    "HloModule m, is_scheduled=true, num_partitions=4\n"
    "begin { p = s32[2,8] parameter(0)\n g = s32[8,8] all-gather(p), channel_id=7, "
    "replica_groups=[1,4]<=[4], "
    "dimensions={0}, use_global_device_ids=true\n"
    " ROOT c = (s32[2,8], s32[8,8], u32[]) custom-call(g), custom_call_target=\"AsyncCollectiveStart\" }\n"
    "meanwhile { p = s32[2,8] parameter(0)\n b = s32[8,8] parameter(1)\n f = u32[] parameter(2)\n"
    " y = s32[2,8] parameter(3)\n z = s32[2,8] multiply(y, y)\n"
    " g = s32[8,8] all-gather(p), channel_id=7, replica_groups=[1,4]<=[4], dimensions={0}, "
    "use_global_device_ids=true\n"
    " ROOT t = (s32[2,8], s32[2,8], s32[8,8], s32[8,8], u32[]) tuple(z, p, b, g, f) }\n"
    "end { p = s32[2,8] parameter(0)\n b = s32[8,8] parameter(1)\n f = u32[] parameter(2)\n"
    " g = s32[8,8] all-gather(p), channel_id=7, replica_groups=[1,4]<=[4], dimensions={0}, "
    "use_global_device_ids=true\n"
    " ROOT c = s32[8,8] custom-call(p, b, g, f), custom_call_target=\"AsyncCollectiveDone\" }\n"
    "ENTRY e {\n" OWN(
        2,
        8) " start = (s32[2,8], s32[8,8], u32[]) fusion(x), kind=kCustom, calls=begin\n"
           " p0 = s32[2,8] get-tuple-element(start), index=0\n b0 = s32[8,8] get-tuple-element(start), "
           "index=1\n"
           " f0 = u32[] get-tuple-element(start), index=2\n"
           " work = (s32[2,8], s32[2,8], s32[8,8], s32[8,8], u32[]) fusion(p0, b0, f0, x), kind=kOutput, "
           "calls=meanwhile\n"
           " z = s32[2,8] get-tuple-element(work), index=0\n p1 = s32[2,8] get-tuple-element(work), index=1\n"
           " b1 = s32[8,8] get-tuple-element(work), index=2\n f1 = u32[] get-tuple-element(work), index=4\n"
           " done = s32[8,8] fusion(p1, b1, f1), kind=kCustom, calls=end\n"
           " plain = s32[8,8] all-gather(x), channel_id=8, replica_groups=[1,4]<=[4], dimensions={0}, "
           "use_global_device_ids=true\n"
           " ROOT t = (s32[8,8], s32[8,8], s32[2,8]) tuple(done, plain, z)\n}\n";

Test(run, asynchronous_fusions_are_one_collective) {
  Run run = run_open(async_fusions);
  module_split_async_fusions(run.module);
  cr_assert_eq(run_it(&run), STATUS_OK, "%.*s", STR_ARG(diag_error_text(run.diag)));
  cr_assert(is_as_interpreted(&run), "the numbers differ from the interpreter's");
  for (uint32_t d = 0; d < 4; d++) {
    const Tensor *root = run.result.outputs[d];
    cr_assert(same(root->parts[0], root->parts[1]));
  }
  uint32_t gathers = 0;
  for (size_t i = 0; i < run.ledger->n_events; i++) gathers += run.ledger->events[i].kind == EVENT_COLLECTIVE;
  cr_assert_eq(gathers, 2 * 4, "%u", gathers);
  run_close(&run);
}

Test(run, an_asynchronous_fusion_without_its_end_is_left) {
  Run run = run_open(async_fusions);
  Comp *entry = module_entry(run.module);
  uint32_t start = comp_find(entry, STR("start")), done = comp_find(entry, STR("done"));
  instr_set_comp(run.module, &entry->instrs.at[done], ATTR_calls,
                 module_find_comp(run.module, STR("meanwhile")));
  module_split_async_fusions(run.module);
  cr_assert_eq(module_entry(run.module)->instrs.at[start].op, OP_FUSION);
  run_close(&run);
}

Test(run, replicas) {
  check_run("HloModule m, replica_count=2, num_partitions=2\n"
            "isum { a = s32[] parameter(0)\n b = s32[] parameter(1)\n ROOT c = s32[] add(a, b) }\n"
            "ENTRY e {\n r = u32[] replica-id()\n" OWN(
                2, 4) " rr = s32[] convert(r)\n rs = s32[2,4] broadcast(rr), "
                      "dimensions={}\n v = s32[2,4] add(x, rs)\n a = s32[2,4] all-reduce(v), "
                      "replica_groups={{0,1}}, to_apply=isum\n"
                      " b = s32[2,4] all-reduce(v), replica_groups={{0},{1}}, to_apply=isum, channel_id=1\n"
                      " ROOT t = (s32[2,4], s32[2,4]) tuple(a, b)\n}\n");
}

/* ---- deadlocks */

Test(run, different_collectives_are_a_deadlock_with_both_places) {
  Run run = run_open(
      HEAD(2) "one { a = s32[4,6] parameter(0)\n ROOT first = s32[4,6] all-reduce(a), replica_groups={}, "
              "to_apply=isum, channel_id=1, use_global_device_ids=true }\n"
              "two { a = s32[4,6] parameter(0)\n ROOT second = s32[4,6] all-reduce(a), replica_groups={}, "
              "to_apply=most, channel_id=2, use_global_device_ids=true }\n"
              "ENTRY e {\n" OWN(4, 6) " ROOT b = s32[4,6] conditional(own, x, x), "
                                      "branch_computations={one, two}\n}\n");
  cr_assert_eq(run_it(&run), STATUS_DEADLOCK);
  const char *error = str_terminated(run.arena, diag_error_text(run.diag));
  cr_expect(strstr(error, "first") != NULL && strstr(error, "second") != NULL, "%s", error);
  cr_expect(strstr(error, "test.hlo:12:") != NULL && strstr(error, "test.hlo:14:") != NULL, "%s", error);
  cr_expect(strstr(error, "chip 0 from chip 1") != NULL && strstr(error, "chip 1 from chip 0") != NULL, "%s",
            error);
  run_close(&run);
}

/* ---- breaks and jitter: in forks, told by their exit code */

enum { SAME = 100, DIFFERENT = 101 };

static int outcome(Run *run) {
  pid_t child = fork();
  if (child == 0) {
    Status status = run_it(run);
    int code = status != STATUS_OK ? (int)status : is_as_interpreted(run) ? SAME : DIFFERENT;
    run_close(run);
    _exit(code);
  }
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Some dropped wait changes the numbers or hangs, a dropped DMA hangs, and no skew changes anything. */
static void check_breaks(const char *text) {
  Run run = run_open(text);
  run.options.break_dma = 1;
  int dma = outcome(&run), wait = SAME;
  cr_expect(dma == STATUS_DEADLOCK || dma == DIFFERENT, "without its first DMA: %d", dma);
  run.options.break_dma = 0;
  for (run.options.break_wait = 1; run.options.break_wait < 900 && wait == SAME; run.options.break_wait += 7)
    wait = outcome(&run);
  cr_expect(wait == STATUS_DEADLOCK || wait == DIFFERENT, "without some wait: %d", wait);
  run.options.break_wait = 0;
  run.options.jitter = true;
  for (run.options.jitter_seed = 0; run.options.jitter_seed < 4; run.options.jitter_seed++)
    cr_expect_eq(outcome(&run), SAME, "jitter of seed %lu", (unsigned long)run.options.jitter_seed);
  run_close(&run);
}

Test(run, breaks_of_all_gather) {
  check_breaks(GATHER);
}
Test(run, breaks_of_reduce_scatter) {
  check_breaks(SCATTER);
}
Test(run, breaks_of_all_reduce) {
  check_breaks(REDUCE);
}
Test(run, breaks_of_all_to_all) {
  check_breaks(EXCHANGE);
}
Test(run, breaks_of_permute) {
  check_breaks(PERMUTE);
}
Test(run, breaks_of_broadcast) {
  check_breaks(BROADCAST);
}
Test(run, breaks_of_a_loop) {
  check_breaks(LOOP);
}

Test(run, breaks_of_hidden_collectives) {
  check_breaks(HIDDEN);
}

/* ---- the same input gives the same events */

static uint64_t fingerprint(const Ledger *ledger) {
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *e = &ledger->events[i];
    uint64_t words[] = {e->kind,
                        e->track,
                        e->chip,
                        e->lane,
                        e->name,
                        e->op,
                        e->peer,
                        e->flow,
                        (uint64_t)e->start_ps,
                        (uint64_t)e->duration_ps,
                        (uint64_t)e->bytes};
    for (size_t k = 0; k < sizeof words / sizeof *words; k++) hash = (hash ^ words[k]) * 1099511628211u;
  }
  return hash;
}

Test(run, twice_the_same) {
  Run run = run_open(asyncs);
  int pipes[2];
  cr_assert_eq(pipe(pipes), 0);
  for (int i = 0; i < 2; i++) {
    if (fork() == 0) {
      run_it(&run);
      ledger_finish(run.ledger);
      uint64_t hash = fingerprint(run.ledger);
      _exit(write(pipes[1], &hash, sizeof hash) != sizeof hash);
    }
  }
  uint64_t hashes[2];
  for (int i = 0; i < 2; i++)
    cr_assert_eq(read(pipes[0], &hashes[i], sizeof hashes[i]), (ssize_t)sizeof hashes[i]);
  cr_expect_eq(hashes[0], hashes[1]);
  run_close(&run);
}

/* ---- programs that XLA partitioned */

Test(run, jax_cases) {
  const char *folder = TESTS_DIR "/cases/jax";
  DIR *dir = opendir(folder);
  cr_assert_not_null(dir);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    Run run = {.arena = arena_new(), .diag = diag_new(), .numbers = true};
    const Source *source;
    const char *path = str_printf(run.arena, "%s/%s/partitioned.hlo", folder, entry->d_name).at;
    cr_assert_eq(source_read(run.arena, path, &read_limits_default, &source, run.diag), STATUS_OK, "%s",
                 path);
    open_source(&run, source);
    cr_expect_eq(outcome(&run), SAME, "%s", entry->d_name);
    run_close(&run);
  }
  closedir(dir);
}

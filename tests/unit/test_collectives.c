/* Collective kernels on the simulated pod: numbers against the definition, time against the closed forms, for
 * rings, lines, boxes and arbitrary groups, with even, uneven and tiny payloads. */
#include "pod_fixture.h"
#include "sim/engine/collectives.h"
#include "sim/engine/launch.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>

/* With sanitizers each actor is a thread: large pods take too long then. */
#ifdef PODSIM_ASAN
enum { MOST_CHIPS = 64 };
#else
enum { MOST_CHIPS = 256 };
#endif

/* Links without latency, with it, and with so little that small blocks go in chunks too. */
typedef enum { IDEAL, REAL, NEAR } Links;

/* A group of chips of a pod. */
typedef struct {
  char shape[16],
      wrap[4]; /* "4x2", two slices "2@4x2", twisted "4x4x8t"; a letter an axis: w wraps, - does not */
  uint32_t chips[16], members; /* 0: the whole pod */
  Links links;
} Site;

/* ---- a pod of its own */

static Pod pod_of(Arena *arena, const Site *site) {
  static const char *const latencies[] = {
      [IDEAL] = "ici.ideal=true", [REAL] = "ici.latency=1us", [NEAR] = "ici.latency=1ns"};
  Str shape = str_of(site->shape);
  size_t at = str_find(shape, '@'), twist = str_find(shape, 't');
  Str slices = at == shape.n ? STR("1") : str_sub(shape, 0, at);
  shape = str_sub(shape, at == shape.n ? 0 : at + 1, twist);
  return torus_fixture(arena, str_printf(arena, "%.*s", STR_ARG(shape)).at, site->wrap, EXACT_LINKS,
                       str_printf(arena, "pod.slices=%.*s", STR_ARG(slices)).at,
                       twist < str_of(site->shape).n ? "pod.twist=true" : "pod.twist=false",
                       latencies[site->links]);
}

/* ---- numbers: integers that add up */

static Status add(void *self, uint32_t comp, DType dtype, void *into, const void *from, int64_t n) {
  (void)self, (void)comp, (void)dtype;
  for (int64_t i = 0; i < n; i++) ((uint32_t *)into)[i] += ((const uint32_t *)from)[i];
  return STATUS_OK;
}

static int32_t number(uint32_t member, int64_t at) {
  return (int32_t)((member + 1) * 1000003u + (uint32_t)at * 7919u);
}

/* ---- collectives, one after the other in one simulation */

typedef struct {
  CollectiveKind kind;
  int64_t elements; /* of 4 bytes */
  bool jitter, numbers;
  const CollectivePlan *plan;
  LaunchSpec spec;
  Launch *launch;
  int64_t start_ps, end_ps;
  uint32_t wrong;
} Run;

typedef struct {
  Arena *arena;
  Pod pod;
  const GroupLayout *group;
  ValueOps values;
  RunOptions options;
  Diag *diag;
  Ledger *ledger;
  Machine *machine;
  Run *runs;
  size_t n_runs;
} Bench;

typedef struct {
  Bench *bench;
  uint32_t member;
} Chip;

static int32_t *work_of(Run *run, uint32_t member) {
  return (int32_t *)launch_buffer(run->launch, member, PLAN_WORK);
}

/* Where a piece has element `i` of the part of a member. */
static int64_t in_part(const CollectivePlan *plan, uint32_t piece, uint32_t member, int64_t i) {
  return split_slice(piece_split(plan, piece), piece_part(plan, piece, member), 1).at + i;
}

/* What each kind of collective starts from and must end with. */

static void gather_fill(Run *run, uint32_t member, int32_t *work) {
  for (uint32_t p = 0; p < run->plan->pieces.n; p++)
    for (int64_t i = 0; i < run->plan->pieces.at[p].n; i++)
      work[in_part(run->plan, p, member, i)] = number(member, run->plan->pieces.at[p].at + i);
}

static void gather_check(Run *run, uint32_t member, const int32_t *work) {
  (void)member;
  for (uint32_t p = 0; p < run->plan->pieces.n; p++)
    for (uint32_t other = 0; other < run->plan->group->members; other++)
      for (int64_t i = 0; i < run->plan->pieces.at[p].n; i++)
        run->wrong += work[in_part(run->plan, p, other, i)] != number(other, run->plan->pieces.at[p].at + i);
}

static int32_t sum_of(uint32_t members, int64_t at) {
  uint32_t sum = 0;
  for (uint32_t member = 0; member < members; member++) sum += (uint32_t)number(member, at);
  return (int32_t)sum;
}

static void scatter_fill(Run *run, uint32_t member, int32_t *work) {
  for (uint32_t p = 0; p < run->plan->pieces.n; p++)
    for (uint32_t other = 0; other < run->plan->group->members; other++)
      for (int64_t i = 0; i < run->plan->pieces.at[p].n; i++)
        work[in_part(run->plan, p, other, i)] =
            number(member, other * run->plan->elements + run->plan->pieces.at[p].at + i);
}

static void scatter_check(Run *run, uint32_t member, const int32_t *work) {
  for (uint32_t p = 0; p < run->plan->pieces.n; p++)
    for (int64_t i = 0; i < run->plan->pieces.at[p].n; i++)
      run->wrong +=
          work[in_part(run->plan, p, member, i)] !=
          sum_of(run->plan->group->members, member * run->plan->elements + run->plan->pieces.at[p].at + i);
}

static void value_fill(Run *run, uint32_t member, int32_t *work) {
  for (int64_t i = 0; i < run->plan->elements; i++) work[i] = number(member, i);
}

static void reduce_check(Run *run, uint32_t member, const int32_t *work) {
  (void)member;
  for (int64_t i = 0; i < run->plan->elements; i++)
    run->wrong += work[i] != sum_of(run->plan->group->members, i);
}

static void exchange_fill(Run *run, uint32_t member, int32_t *work) {
  for (uint32_t p = 0; p < run->plan->pieces.n; p++)
    for (uint32_t other = 0; other < run->plan->group->members; other++)
      for (int64_t i = 0; i < run->plan->pieces.at[p].n; i++)
        work[sent_slice(run->plan, p, other).at + i] =
            number(member, other * 1000 + run->plan->pieces.at[p].at + i);
}

static void exchange_check(Run *run, uint32_t member, const int32_t *work) {
  (void)work;
  const int32_t *came = (const int32_t *)launch_buffer(run->launch, member, PLAN_SLOTS);
  for (uint32_t p = 0; p < run->plan->pieces.n; p++)
    for (uint32_t other = 0; other < run->plan->group->members; other++)
      for (int64_t i = 0; i < run->plan->pieces.at[p].n; i++)
        run->wrong += came[received_slice(run->plan, p, other).at + i] !=
                      number(other, member * 1000 + run->plan->pieces.at[p].at + i);
}

static void permute_check(Run *run, uint32_t member, const int32_t *work) {
  (void)work;
  const int32_t *came = (const int32_t *)launch_buffer(run->launch, member, PLAN_SLOTS);
  uint32_t source = run->plan->source_of[member];
  for (int64_t i = 0; i < run->plan->elements; i++)
    run->wrong += came[i] != (source == NO_MEMBER ? 0 : number(source, i));
}

static void broadcast_check(Run *run, uint32_t member, const int32_t *work) {
  (void)member;
  for (int64_t i = 0; i < run->plan->elements; i++) run->wrong += work[i] != number(run->plan->root, i);
}

static const struct {
  void (*kernel)(Kernel *kernel);
  void (*fill)(Run *run, uint32_t member, int32_t *work);
  void (*check)(Run *run, uint32_t member, const int32_t *work);
} collectives[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALL_GATHER] = {all_gather_kernel, gather_fill, gather_check},
    [COLLECTIVE_REDUCE_SCATTER] = {reduce_scatter_kernel, scatter_fill, scatter_check},
    [COLLECTIVE_ALL_REDUCE] = {all_reduce_kernel, value_fill, reduce_check},
    [COLLECTIVE_ALL_TO_ALL] = {all_to_all_kernel, exchange_fill, exchange_check},
    [COLLECTIVE_PERMUTE] = {permute_kernel, value_fill, permute_check},
    [COLLECTIVE_BROADCAST] = {broadcast_kernel, value_fill, broadcast_check},
};

/* A permute one place on, which leaves out the last member. */
static const CollectivePlan *shift_plan(Arena *arena, const Pod *pod, const GroupLayout *group,
                                        int64_t elements) {
  uint32_t n = group->members, *target = ARENA_ARRAY(arena, uint32_t, n),
           *source = ARENA_ARRAY(arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) {
    target[i] = i + 1 < n ? (i + 1) % n : NO_MEMBER;
    source[i] = i > 0 ? i - 1 : NO_MEMBER;
  }
  return permute_plan(arena, pod, group, target, source, elements, 32);
}

static const CollectivePlan *plan_of(Bench *bench, const Run *run) {
  const GroupLayout *group = bench->group;
  if (run->kind == COLLECTIVE_PERMUTE) return shift_plan(bench->arena, &bench->pod, group, run->elements);
  if (run->kind == COLLECTIVE_BROADCAST)
    return broadcast_plan(bench->arena, &bench->pod, group, group->members / 2, run->elements, 32);
  return collective_plan(bench->arena, &bench->pod, run->kind, group, run->elements, 32);
}

/* Chips come to each collective together, or, jittered, one after the other. */
static void run_chip(void *argument) {
  Chip *chip = argument;
  for (size_t i = 0; i < chip->bench->n_runs; i++) {
    Run *run = &chip->bench->runs[i];
    sleep_until_ps(run->start_ps +
                   (run->jitter ? (int64_t)((chip->member + i) * 2654435761u % 20011) * 1000 : 0));
    launch_run(run->launch, &run->spec, chip->member);
    if (date_ps() > run->end_ps) run->end_ps = date_ps();
    if (run->numbers) collectives[run->kind].check(run, chip->member, work_of(run, chip->member));
    launch_leave(run->launch);
  }
}

static Bench *bench_new(const Site *site, bool numbers) {
  Arena *arena = arena_new();
  Bench *bench = ARENA_NEW(arena, Bench);
  *bench =
      (Bench){.arena = arena, .pod = pod_of(arena, site), .values = {.combine = add}, .diag = diag_new()};
  bench->options.values = numbers ? &bench->values : NULL;
  uint32_t members = site->members != 0 ? site->members : bench->pod.n_chips;
  uint32_t *chips = ARENA_ARRAY(arena, uint32_t, members);
  for (uint32_t i = 0; i < members; i++) chips[i] = site->members != 0 ? site->chips[i] : i;
  bench->group = group_layout(arena, &bench->pod, chips, members);
  bench->ledger = ledger_new(bench->pod.n_chips, bench->pod.shape, bench->pod.n_axes);
  cr_assert_eq(
      machine_new(arena, &bench->pod, NULL, &bench->options, bench->ledger, &bench->machine, bench->diag),
      STATUS_OK);
  return bench;
}

static void bench_free(Bench *bench) {
  machine_free(bench->machine);
  ledger_free(bench->ledger);
  diag_free(bench->diag);
  arena_free(bench->arena);
}

static void prepare(Bench *bench, Run *run) {
  run->plan = plan_of(bench, run);
  run->spec = (LaunchSpec){.chips = bench->group->chips,
                           .members = bench->group->members,
                           .body = collectives[run->kind].kernel,
                           .plan = run->plan,
                           .buffers = run->plan->buffers,
                           .n_buffers = 2,
                           .n_semaphores = run->plan->n_semaphores,
                           .element_bytes = 4,
                           .element_bits = 32,
                           .op = NO_OP,
                           .name = ledger_name(bench->ledger, STR("collective"))};
  run->launch = launch_new(bench->machine, &run->spec);
  for (uint32_t member = 0; run->numbers && member < bench->group->members; member++)
    collectives[run->kind].fill(run, member, work_of(run, member));
}

static void run_all(Bench *bench, Run *runs, size_t n) {
  Chip *chips = ARENA_ARRAY(bench->arena, Chip, bench->group->members);
  bench->runs = runs;
  bench->n_runs = n;
  for (size_t i = 0; i < n; i++) prepare(bench, &runs[i]);
  for (uint32_t member = 0; member < bench->group->members; member++) {
    chips[member] = (Chip){bench, member};
    actors_start(bench->machine->actors, run_chip, &chips[member]);
  }
  cr_assert(actors_run(bench->machine->actors), "deadlock");
  cr_assert_null(bench->machine->launches, "a launch is left over");
  cr_assert_eq(bench->machine->status, STATUS_OK, "a semaphore is left over");
}

/* Events of one lane never overlap. */
static void check_lanes(Ledger *ledger) {
  ledger_finish(ledger);
  for (size_t i = 0; i < ledger->n_events && ledger->n_events < 3000; i++)
    for (size_t j = 0; j < i; j++) {
      const Event *a = &ledger->events[i], *b = &ledger->events[j];
      if (a->chip != b->chip || a->track != b->track || a->lane != b->lane) continue;
      cr_assert(a->start_ps >= b->start_ps + b->duration_ps || b->start_ps >= a->start_ps + a->duration_ps,
                "events overlap on track %d lane %u", a->track, a->lane);
    }
}

/* Whether `elements` is the whole payload already. */
static bool is_of_all(CollectiveKind kind) {
  return kind == COLLECTIVE_ALL_REDUCE || kind == COLLECTIVE_PERMUTE || kind == COLLECTIVE_BROADCAST;
}

#define AG  COLLECTIVE_ALL_GATHER
#define RS  COLLECTIVE_REDUCE_SCATTER
#define AR  COLLECTIVE_ALL_REDUCE
#define A2A COLLECTIVE_ALL_TO_ALL

/* Numbers and lanes. */
ParameterizedTestParameters(collectives, numbers) {
  static Site sites[] = {
      {"2", "-", {0}, 0, REAL},
      {"8", "w", {0}, 0, IDEAL},
      {"8", "w", {0}, 0, REAL},
      {"5", "w", {0}, 0, IDEAL},
      {"3", "w", {0}, 0, REAL},
      {"7", "-", {0}, 0, IDEAL},
      {"7", "-", {0}, 0, REAL},
      {"4x2", "--", {0}, 0, IDEAL},
      {"4x2", "--", {0}, 0, REAL},
      {"4x4", "ww", {0}, 0, REAL},
      {"4x6", "ww", {0}, 0, IDEAL},
      {"8x3", "w-", {0}, 0, REAL},
      {"2x3x4", "--w", {0}, 0, IDEAL},
      {"4x4x4", "www", {0}, 0, REAL},
      {"16", "w", {14, 15, 0, 1}, 4, REAL},
      {"16x2", "w-", {5, 1, 3, 7}, 4, IDEAL},
      {"4x4", "--", {3, 0, 9, 14, 6}, 5, REAL},
      {"4x4", "ww", {1, 0, 5, 4, 2, 6}, 6, IDEAL},
      {"8", "w", {7, 3, 5, 1}, 4, REAL},
      {"8", "w", {0}, 0, NEAR},
      {"5", "w", {0}, 0, NEAR},
      {"7", "-", {0}, 0, NEAR},
      {"4x6", "w-", {0}, 0, NEAR},
      {"2x3x4", "--w", {0}, 0, NEAR},
      {"8", "w", {7, 3, 5, 1}, 4, NEAR},
      {"2@4x2", "--", {0}, 0, REAL},
      {"3@2x2", "--", {0}, 0, IDEAL},
      {"4@3", "w", {0}, 0, REAL},
      {"2@4", "-", {0, 4}, 2, REAL},
      {"5@2", "-", {0, 2, 4, 6, 8}, 5, REAL},
      {"3@4", "-", {1, 2, 5, 6}, 4, IDEAL},
      {"2@4x2", "--", {3, 0, 9, 14, 6}, 5, REAL},
      {"8x8", "--", {45, 7, 18, 36, 0, 56, 63}, 7, REAL},
      {"4x4x8t", "www", {0}, 0, IDEAL},
      {"4x8x4t", "www", {0}, 0, NEAR},
      {"4x4x8t", "www", {0, 32, 64, 96}, 4, REAL},
      {"4x4x8t", "www", {5, 127, 64, 3, 77}, 5, REAL},
  };
  return cr_make_param_array(Site, sites, sizeof sites / sizeof *sites);
}

/* On a whole pod of 128 chips an all-to-all is 16,256 flows, and SimGrid looks through all for each that
 * ends: one size is tried. Under a sanitizer every actor is a thread, and each takes milliseconds: then one
 * size of the others, and no all-to-all. */
static bool takes_minutes(const Site *site, const Bench *bench, CollectiveKind kind, int64_t elements) {
#ifdef __SANITIZE_ADDRESS__
  const bool threads = true;
#else
  const bool threads = false;
#endif
  bool large = site->members == 0 && bench->pod.n_chips > 64, exchange = kind == COLLECTIVE_ALL_TO_ALL;
  return large && (threads ? exchange || elements != 60 : exchange && elements != 60);
}

/* An all-to-all over routes keeps the fullest link at work nearly to the end. */
static void check_full_links(const Site *site, const Run *runs, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (runs[i].kind != COLLECTIVE_ALL_TO_ALL || runs[i].jitter || runs[i].elements == 0) continue;
    double seconds = (double)(runs[i].end_ps - runs[i].start_ps) * 1e-12;
    cr_expect_leq(seconds, 1.05 * runs[i].plan->seconds, "%s: %.4f us, the fullest link has work for %.4f us",
                  site->shape, seconds * 1e6, runs[i].plan->seconds * 1e6);
  }
}

ParameterizedTest(Site *site, collectives, numbers) {
  static const int64_t sizes[] = {0, 1, 3, 8, 60, 1001};
  enum { SIZES = sizeof sizes / sizeof *sizes };
  Run runs[SIZES * COLLECTIVE_KINDS] = {0};
  size_t n = 0;
  Bench *bench = bench_new(site, true);
  for (int kind = 0; kind < COLLECTIVE_RAGGED_ALL_TO_ALL; kind++)
    for (int size = 0; size < SIZES; size++) {
      if (takes_minutes(site, bench, (CollectiveKind)kind, sizes[size])) continue;
      runs[n] = (Run){.kind = (CollectiveKind)kind,
                      .elements = sizes[size],
                      .numbers = true,
                      .jitter = size % 2 == 1,
                      .start_ps = (int64_t)n * 1000000000};
      n++;
    }
  run_all(bench, runs, n);
  for (size_t i = 0; i < n; i++)
    cr_expect_eq(runs[i].wrong, 0, "%s %s of %ld: %u numbers are wrong", site->shape,
                 collective_text(runs[i].kind), (long)runs[i].elements, runs[i].wrong);
  if (bench->pod.twist && bench->pod.ici_ideal) check_full_links(site, runs, n);
  check_lanes(bench->ledger);
  bench_free(bench);
}

/* Time without latency: at least the closed form, and at most so many times it. */
typedef struct {
  Site site;
  struct {
    CollectiveKind kind;
    int64_t elements;
    double most;
  } runs[6];
} Timed;

ParameterizedTestParameters(collectives, time) {
  static Timed timed[] = {
      {{"8", "w", {0}, 0, IDEAL},
       {{AG, 1 << 15, 1.02},
        {RS, 1 << 15, 1.02},
        {AR, 1 << 18, 1.02},
        {AR, 1 << 28, 1.02},
        {A2A, 1 << 20, 1.02}}},
      {{"5", "w", {0}, 0, IDEAL}, {{AG, 1 << 18, 1.02}, {AR, 1 << 18, 1.02}, {A2A, 1 << 20, 1.02}}},
      {{"16", "w", {0}, 0, IDEAL}, {{AG, 1 << 14, 1.02}, {AR, 1 << 24, 1.02}, {A2A, 1 << 16, 1.02}}},
      {{"4", "-", {0}, 0, IDEAL}, {{AG, 1 << 18, 1.02}, {A2A, 1 << 16, 1.02}}},
      {{"7", "-", {0}, 0, IDEAL}, {{AR, 1 << 18, 1.02}, {A2A, 1 << 16, 1.02}}},
      {{"8", "-", {0}, 0, IDEAL},
       {{AG, 1 << 15, 1.02}, {RS, 1 << 18, 1.02}, {AR, 1 << 18, 1.02}, {A2A, 1 << 16, 1.02}}},
      {{"16x16", "ww", {0}, 0, IDEAL}, {{AR, 1 << 23, 1.02}, {A2A, 1 << 12, 1.02}}},
      {{"16x8", "ww", {0}, 0, IDEAL}, {{AR, 1 << 23, 1.02}, {A2A, 1 << 12, 1.06}}},
      {{"16x4", "ww", {0}, 0, IDEAL}, {{AR, 1 << 23, 1.02}}},
      {{"8x16", "-w", {0}, 0, IDEAL}, {{AR, 1 << 23, 1.02}}},
      {{"4x4x4", "www", {0}, 0, IDEAL}, {{AR, 1 << 23, 1.02}}},
      {{"4x4x8", "www", {0}, 0, IDEAL}, {{AR, 1 << 23, 1.02}}},
      {{"4x4", "--", {0}, 0, IDEAL}, {{AG, 1 << 20, 1.02}, {RS, 1 << 20, 1.02}}},
      {{"4x4", "ww", {0}, 0, IDEAL}, {{AG, 1 << 20, 1.02}, {A2A, 1 << 16, 1.02}}},
      {{"4x2", "--", {0}, 0, IDEAL}, {{RS, 1 << 20, 1.02}, {A2A, 1 << 12, 1.02}}},
      {{"6x4", "ww", {0}, 0, IDEAL}, {{AG, 1 << 20, 1.02}}},
      {{"2@4x2", "--", {0, 8}, 2, IDEAL},
       {{AR, 1 << 22, 1.01}, {AG, 1 << 21, 1.01}, {RS, 1 << 21, 1.01}, {A2A, 1 << 21, 1.01}}},
      {{"4@2", "-", {0, 2, 4, 6}, 4, IDEAL},
       {{AR, 1 << 22, 1.02}, {AG, 1 << 20, 1.02}, {A2A, 1 << 20, 1.02}}},
      {{"2@4x2", "--", {0}, 0, IDEAL}, {{AR, 1 << 26, 1.25}, {AG, 1 << 22, 1.25}, {A2A, 1 << 20, 1.2}}},
      {{"2@16", "w", {0}, 0, IDEAL}, {{AR, 1 << 26, 1.2}}},
      {{"4x4x8t", "www", {0}, 0, IDEAL}, {{AR, 1 << 23, 1.15}, {AG, 1 << 17, 1.15}}},
      {{"4x8x8t", "www", {0}, 0, IDEAL}, {{AR, 1 << 23, 1.1}}},
  };
  return cr_make_param_array(Timed, timed, sizeof timed / sizeof *timed);
}

ParameterizedTest(Timed *timed, collectives, time) {
  Run runs[6] = {0};
  size_t n = 0;
  for (; n < 6 && timed->runs[n].elements > 0; n++)
    runs[n] = (Run){.kind = timed->runs[n].kind,
                    .elements = timed->runs[n].elements,
                    .start_ps = (int64_t)n * 100000000000};
  Bench *bench = bench_new(&timed->site, false);
  if (bench->pod.n_chips <= MOST_CHIPS)
    run_all(bench, runs, n);
  else
    n = 0;
  for (size_t i = 0; i < n; i++) {
    double bytes = 4.0 * (double)runs[i].elements * (is_of_all(runs[i].kind) ? 1 : bench->group->members);
    double ideal = collective_ideal_seconds(&bench->pod, runs[i].kind, bench->group->shape, bytes);
    double ratio = (double)(runs[i].end_ps - runs[i].start_ps) * 1e-12 / ideal;
    cr_expect(ratio >= 1 - 1e-9 && ratio <= timed->runs[i].most, "%s %s %s: %.4f times the closed form",
              timed->site.shape, timed->site.wrap, collective_text(runs[i].kind), ratio);
  }
  bench_free(bench);
}

/* With latency: the hops that the plan tells, once each, beside the bytes. */
ParameterizedTestParameters(collectives, latency) {
  static Timed timed[] = {
      {{"8", "w", {0}, 0, REAL},
       {{AG, 1 << 15, 0}, {RS, 1 << 15, 0}, {AR, 1 << 20, 0}, {AR, 16, 0}, {AG, 1 << 21, 0}}},
      {{"5", "w", {0}, 0, REAL}, {{AG, 1 << 15, 0}, {RS, 1 << 17, 0}, {AR, 1 << 20, 0}}},
      {{"4", "-", {0}, 0, REAL}, {{AG, 1 << 15, 0}, {RS, 1 << 15, 0}, {AR, 1 << 18, 0}, {AR, 1, 0}}},
      {{"8x8", "--", {45, 7, 18, 36, 0, 56, 63}, 7, REAL}, {{AG, 1, 0}, {RS, 1, 0}, {AR, 1, 0}}},
      {{"4x4", "ww", {0}, 0, REAL}, {{AG, 1 << 18, 0}, {AR, 1 << 20, 0}, {AR, 16, 0}}},
      {{"2@4x2", "--", {1, 9}, 2, REAL}, {{AR, 1 << 18, 0}, {AR, 16, 0}, {AG, 1 << 18, 0}}},
      {{"5@2", "-", {0, 2, 4, 6, 8}, 5, REAL}, {{AR, 1 << 18, 0}, {AG, 1 << 18, 0}, {RS, 1 << 10, 0}}},
  };
  return cr_make_param_array(Timed, timed, sizeof timed / sizeof *timed);
}

ParameterizedTest(Timed *timed, collectives, latency) {
  Run runs[6] = {0};
  size_t n = 0;
  for (; n < 6 && timed->runs[n].elements > 0; n++)
    runs[n] = (Run){.kind = timed->runs[n].kind,
                    .elements = timed->runs[n].elements,
                    .start_ps = (int64_t)n * 10000000000};
  Bench *bench = bench_new(&timed->site, false);
  run_all(bench, runs, n);
  for (size_t i = 0; i < n; i++) {
    double seconds = (double)(runs[i].end_ps - runs[i].start_ps) * 1e-12;
    double told = runs[i].plan->steps * 1e-6 + runs[i].plan->link_bytes / bench->pod.ici_bw_Bps +
                  runs[i].plan->dcn_steps * 1e-5 + runs[i].plan->dcn_bytes / bench->pod.dcn_bw_Bps;
    if (runs[i].plan->algorithm == ALGORITHM_RINGS)
      cr_expect_float_eq(seconds / told, 1, 1e-4, "%s %s: %.4f us, %u steps and bytes say %.4f us",
                         timed->site.shape, collective_text(runs[i].kind), seconds * 1e6, runs[i].plan->steps,
                         told * 1e6);
    cr_expect_float_eq(seconds / runs[i].plan->seconds, 1, 1e-4, "%s %s: %.4f us, predicted %.4f us",
                       timed->site.shape, collective_text(runs[i].kind), seconds * 1e6,
                       runs[i].plan->seconds * 1e6);
  }
  bench_free(bench);
}

/* ---- small sizes take few steps, large ones little bandwidth */

Test(collectives, the_plan_depends_on_the_size) {
  Bench *bench = bench_new(&(Site){"8", "w", {0}, 0, REAL}, false);
  const CollectivePlan *small = collective_plan(bench->arena, &bench->pod, AR, bench->group, 1, 32);
  const CollectivePlan *large = collective_plan(bench->arena, &bench->pod, AR, bench->group, 1 << 20, 32);
  cr_expect_eq(small->algorithm, ALGORITHM_WHOLE);
  cr_expect_eq(small->steps, 4);
  cr_expect_eq(large->algorithm, ALGORITHM_RINGS);
  cr_expect_eq(large->steps, 4,
               "in chunks, which hide all hops but those of the whole and of the opposite block");
  bench_free(bench);
}

Test(collectives, scattered_groups_send_few_bytes_in_one_shot) {
  Bench *bench = bench_new(
      &(Site){.shape = "8x8", .wrap = "--", .chips = {0, 7, 18, 36, 45, 56, 63}, .members = 7, .links = REAL},
      false);
  static const CollectiveKind kinds[] = {AG, RS, AR};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const CollectivePlan *small = collective_plan(bench->arena, &bench->pod, kinds[i], bench->group, 16, 32);
    cr_expect_eq(small->algorithm, ALGORITHM_ONE_SHOT, "%s", collective_text(kinds[i]));
    cr_expect_eq(small->steps, 14, "from corner to corner");
  }
  const CollectivePlan *large = collective_plan(bench->arena, &bench->pod, AR, bench->group, 1 << 22, 32);
  cr_expect_eq(large->algorithm, ALGORITHM_RINGS);
  bench_free(bench);
}

Test(collectives, chunks_hide_latency_where_it_matters) {
  Bench *bench = bench_new(&(Site){"8", "w", {0}, 0, REAL}, false);
  static const struct {
    int64_t block_bytes;
    uint32_t chunks, steps;
  } sizes[] = {{4, 1, 4}, {89996, 1, 4}, {90000, 2, 2}, {2249996, 2, 2}, {2250000, 1, 4}};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    const CollectivePlan *plan =
        collective_plan(bench->arena, &bench->pod, AG, bench->group, sizes[i].block_bytes / 4, 32);
    cr_expect_eq(plan->chunks, sizes[i].chunks, "%ld bytes", (long)sizes[i].block_bytes);
    cr_expect_eq(plan->steps, sizes[i].steps, "%ld bytes", (long)sizes[i].block_bytes);
  }
  bench_free(bench);
}

Test(collectives, a_permute_takes_all_axes_that_are_free) {
  Bench *bench = bench_new(&(Site){"4x4x4", "---", {0}, 0, REAL}, false);
  uint32_t target[64], source[64];
  for (uint32_t i = 0; i < 64; i++) target[i] = source[i] = NO_MEMBER;
  target[0] = 63;
  source[63] = 0;
  const CollectivePlan *across =
      permute_plan(bench->arena, &bench->pod, bench->group, target, source, 3000, 32);
  cr_expect_eq(permute_parts(across, 0), 3, "from corner to corner");
  cr_expect_eq(across->steps, 9);
  cr_expect_float_eq(across->link_bytes, 4000, 1e-6);
  target[0] = 3;
  source[3] = 0;
  const CollectivePlan *along =
      permute_plan(bench->arena, &bench->pod, bench->group, target, source, 3000, 32);
  cr_expect_eq(permute_parts(along, 0), 1, "along one axis");
  cr_expect_float_eq(along->link_bytes, 12000, 1e-6);
  bench_free(bench);
}

Test(collectives, a_permute_goes_one_way_where_others_use_the_links) {
  Bench *bench = bench_new(&(Site){"2x2", "--", {0}, 0, REAL}, false);
  static const uint32_t opposite[] = {3, 2, 1, 0};
  const CollectivePlan *plan =
      permute_plan(bench->arena, &bench->pod, bench->group, opposite, opposite, 1000, 32);
  cr_expect_eq(permute_parts(plan, 0), 1, "every link is full with one route a pair");
  cr_expect_float_eq(plan->link_bytes, 4000, 1e-6);
  bench_free(bench);
}

/* ---- how groups lie on the torus */

static const GroupLayout *layout_on(Arena *arena, const char *shape, const char *wrap, const uint32_t *chips,
                                    uint32_t n) {
  Site site = {.members = n};
  memcpy(site.shape, shape, strlen(shape));
  memcpy(site.wrap, wrap, strlen(wrap));
  Pod *pod = ARENA_NEW(arena, Pod);
  *pod = pod_of(arena, &site);
  return group_layout(arena, pod, arena_copy(arena, chips, n * sizeof *chips), n);
}

Test(group_layout, segments_rings_and_boxes) {
  Arena *arena = arena_new();
  const GroupLayout *box = layout_on(arena, "4x4", "ww", (uint32_t[]){0, 1, 4, 5}, 4);
  cr_expect(box->n_axes == 2 && !box->axes[0].ring && !box->axes[1].ring && box->shape.n_axes == 2);
  const GroupLayout *column = layout_on(arena, "4x4", "ww", (uint32_t[]){9, 1, 13, 5}, 4);
  cr_expect(column->n_axes == 1 && column->axes[0].ring && column->axes[0].neighbours);
  const GroupLayout *across = layout_on(arena, "16", "w", (uint32_t[]){0, 15, 1, 14}, 4);
  cr_expect(across->n_axes == 1 && !across->axes[0].ring && across->axes[0].neighbours);
  cr_expect_eq(group_position(across, 0, 3), 0, "chip 14 is the first of the line");
  const GroupLayout *every_other = layout_on(arena, "8", "w", (uint32_t[]){0, 2, 4, 6}, 4);
  cr_expect(every_other->axes[0].ring && every_other->axes[0].hops == 2 && every_other->shape.n_axes == 0);
  const GroupLayout *loose = layout_on(arena, "4x4", "--", (uint32_t[]){0, 5, 10}, 3);
  cr_expect(loose->n_axes == 1 && loose->shape.n_axes == 0 && loose->shape.members == 3);
  const GroupLayout *slices = layout_on(arena, "3@4", "w", (uint32_t[]){9, 1, 5, 8, 0, 4}, 6);
  cr_expect(slices->n_axes == 2 && slices->axes[1].dcn && slices->axes[1].ring && slices->axes[0].neighbours);
  cr_expect(slices->shape.n_axes == 1 && slices->shape.length[0] == 2 && slices->shape.slices == 3);
  arena_free(arena);
}

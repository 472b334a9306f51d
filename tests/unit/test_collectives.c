/* Collective kernels on the simulated pod: numbers against the definition, time against the closed forms, for
 * rings, lines, boxes and arbitrary groups, with even, uneven and tiny payloads. */
#include "sim/engine/collectives.h"
#include "sim/engine/launch.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_CHIPS = 256 };

typedef struct {
  char shape[16], wrap[4]; /* "4x2", a letter an axis: w wraps, - does not */
  CollectiveKind kind;
  uint32_t chips[MOST_CHIPS], members; /* 0: the whole pod */
  int64_t elements;                    /* of 4 bytes */
  double most;                         /* times the closed form; 0: not compared */
  bool numbers, jitter, real;          /* real: with hop latency */
  int64_t break_wait, break_dma;
} Case;

/* ---- a pod of its own */

static Pod pod_of(const Case *c) {
  Pod pod = {
      .n_chips = 1, .shape = {1, 1, 1}, .ici_bw_Bps = 4.5e10, .ici_efficiency = 1, .ici_lat_ps = 1000000};
  pod.ici_ideal = !c->real;
  for (const char *at = c->shape; *at != 0; at += *at == 'x') {
    pod.wrap[pod.n_axes] = c->wrap[pod.n_axes] == 'w';
    pod.shape[pod.n_axes] = strtol(at, (char **)&at, 10);
    pod.n_chips *= (uint32_t)pod.shape[pod.n_axes++];
  }
  return pod;
}

/* ---- numbers: integers that add up */

static Status add(void *self, uint32_t comp, DType dtype, void *into, const void *from, int64_t n) {
  (void)self, (void)comp, (void)dtype;
  for (int64_t i = 0; i < n; i++) ((int32_t *)into)[i] += ((const int32_t *)from)[i];
  return STATUS_OK;
}

static int32_t number(uint32_t member, int64_t at) {
  return (int32_t)((member + 1) * 1000003u + (uint32_t)at * 7919u);
}

/* ---- one run */

typedef struct {
  const Case *c;
  const CollectivePlan *plan;
  Machine *machine;
  Launch *launch;
  int64_t end_ps;
  uint32_t wrong;
} Run;

typedef struct {
  Run *run;
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

static const CollectivePlan *plan_of(Arena *arena, const Pod *pod, const Case *c, const GroupLayout *group) {
  if (c->kind == COLLECTIVE_PERMUTE) return shift_plan(arena, pod, group, c->elements);
  if (c->kind == COLLECTIVE_BROADCAST)
    return broadcast_plan(arena, pod, group, group->members / 2, c->elements, 32);
  return collective_plan(arena, pod, c->kind, group, c->elements, 32);
}

static void run_chip(void *argument) {
  Chip *chip = argument;
  Run *run = chip->run;
  if (run->c->jitter) sleep_until_ps((int64_t)(chip->member * 2654435761u % 20011) * 1000);
  launch_run(run->launch, chip->member);
  if (date_ps() > run->end_ps) run->end_ps = date_ps();
  if (run->c->numbers) collectives[run->c->kind].check(run, chip->member, work_of(run, chip->member));
  launch_leave(run->launch);
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

/* False where the run did not come to its end. */
static bool run_case(const Case *c, Run *run) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  Pod *pod = ARENA_NEW(arena, Pod);
  *pod = pod_of(c);
  uint32_t members = c->members != 0 ? c->members : pod->n_chips,
           *chips = ARENA_ARRAY(arena, uint32_t, members);
  for (uint32_t i = 0; i < members; i++) chips[i] = c->members != 0 ? c->chips[i] : i;
  const GroupLayout *group = group_layout(arena, pod, chips, members);
  ValueOps values = {.combine = add};
  RunOptions options = {
      .values = c->numbers ? &values : NULL, .break_wait = c->break_wait, .break_dma = c->break_dma};
  Ledger *ledger = ledger_new(pod->n_chips, pod->shape, pod->n_axes);
  *run = (Run){.c = c, .plan = plan_of(arena, pod, c, group)};
  LaunchSpec spec = {.chips = chips,
                     .members = members,
                     .body = collectives[c->kind].kernel,
                     .plan = run->plan,
                     .buffers = run->plan->buffers,
                     .n_buffers = 2,
                     .n_semaphores = run->plan->n_semaphores,
                     .element_bytes = 4,
                     .element_bits = 32,
                     .op = NO_OP,
                     .name = ledger_name(ledger, STR("collective"))};
  cr_assert_eq(machine_new(arena, pod, &options, ledger, &run->machine, diag), STATUS_OK);
  run->launch = launch_new(run->machine, &spec);
  Chip *all = ARENA_ARRAY(arena, Chip, members);
  for (uint32_t i = 0; i < members; i++) {
    all[i] = (Chip){run, i};
    if (c->numbers) collectives[c->kind].fill(run, i, work_of(run, i));
    actors_start(run->machine->actors, run_chip, &all[i]);
  }
  bool ended = actors_run(run->machine->actors);
  cr_assert(!ended || c->break_dma != 0 || c->break_wait != 0 || run->machine->launches == NULL,
            "a launch is left over");
  if (c->most != 0 && ended) {
    double bytes = 4.0 * (double)c->elements * (is_of_all(c->kind) ? 1 : members);
    double ideal = collective_ideal_seconds(pod, c->kind, group->shape, bytes);
    double latency = (double)(pod->ici_ideal ? 0 : pod->ici_lat_ps) * run->plan->steps * 1e-12;
    double ratio = ((double)run->end_ps * 1e-12 - latency) / ideal;
    cr_expect(ratio >= 1 - 1e-9 && ratio <= c->most, "%s %s %s: %.4f times the closed form", c->shape,
              c->wrap, collective_text(c->kind), ratio);
  }
  check_lanes(ledger);
  machine_free(run->machine);
  return ended;
}

#define AG  COLLECTIVE_ALL_GATHER
#define RS  COLLECTIVE_REDUCE_SCATTER
#define AR  COLLECTIVE_ALL_REDUCE
#define A2A COLLECTIVE_ALL_TO_ALL

/* Numbers and lanes. */
ParameterizedTestParameters(collectives, numbers) {
  static const struct {
    char shape[16], wrap[4];
    uint32_t chips[16], members;
  } groups[] = {
      {"2", "-", {0}, 0},
      {"8", "w", {0}, 0},
      {"5", "w", {0}, 0},
      {"3", "w", {0}, 0},
      {"7", "-", {0}, 0},
      {"4x2", "--", {0}, 0},
      {"4x4", "ww", {0}, 0},
      {"4x6", "ww", {0}, 0},
      {"8x3", "w-", {0}, 0},
      {"2x3x4", "--w", {0}, 0},
      {"4x4x4", "www", {0}, 0},
      {"16", "w", {14, 15, 0, 1}, 4},
      {"16x2", "w-", {5, 1, 3, 7}, 4},
      {"4x4", "--", {3, 0, 9, 14, 6}, 5},
      {"4x4", "ww", {1, 0, 5, 4, 2, 6}, 6},
      {"8", "w", {7, 3, 5, 1}, 4},
  };
  enum { GROUPS = sizeof groups / sizeof *groups };
  static const int64_t sizes[] = {0, 1, 3, 8, 60, 1001};
  static const CollectiveKind kinds[] = {AG, RS, AR, A2A, COLLECTIVE_PERMUTE, COLLECTIVE_BROADCAST};
  static Case cases[GROUPS * 6 * 6];
  size_t n = 0;
  for (size_t g = 0; g < GROUPS; g++)
    for (size_t s = 0; s < 6; s++)
      for (size_t k = 0; k < 6; k++) {
        Case *c = &cases[n++];
        *c = (Case){.kind = kinds[k], .members = groups[g].members, .elements = sizes[s], .numbers = true};
        c->jitter = s % 2 == 1;
        c->real = (s + k) % 3 == 0;
        memcpy(c->shape, groups[g].shape, sizeof c->shape);
        memcpy(c->wrap, groups[g].wrap, sizeof c->wrap);
        memcpy(c->chips, groups[g].chips, sizeof groups[g].chips);
      }
  return cr_make_param_array(Case, cases, n);
}

ParameterizedTest(Case *c, collectives, numbers) {
  Run run;
  cr_assert(run_case(c, &run), "%s %s: deadlock", c->shape, collective_text(c->kind));
  cr_assert_eq(run.wrong, 0, "%s %s of %ld: %u numbers are wrong", c->shape, collective_text(c->kind),
               (long)c->elements, run.wrong);
}

#define TIMED(s, w, k, e)                                                                                    \
  { .shape = s, .wrap = w, .kind = k, .elements = e, .most = 1.02 }

/* Time: at most 1.02 times the closed form (an all-reduce on a line at most twice). */
ParameterizedTestParameters(collectives, time) {
  static Case cases[] = {
      TIMED("8", "w", AG, 1 << 15),
      TIMED("8", "w", RS, 1 << 15),
      TIMED("8", "w", AR, 1 << 18),
      TIMED("8", "w", AR, 1 << 28),
      TIMED("5", "w", AG, 1 << 18),
      TIMED("5", "w", AR, 1 << 18),
      TIMED("4", "-", AG, 1 << 18),
      TIMED("8", "-", RS, 1 << 18),
      TIMED("8", "-", AR, 1 << 18),
      TIMED("16x16", "ww", AR, 1 << 23),
      TIMED("16x8", "ww", AR, 1 << 23),
      TIMED("16x4", "ww", AR, 1 << 23),
      TIMED("8x16", "-w", AR, 1 << 23),
      TIMED("4x4x4", "www", AR, 1 << 23),
      TIMED("4x4x8", "www", AR, 1 << 23),
      TIMED("4x4", "--", AG, 1 << 20),
      {.shape = "4x2", .wrap = "--", .kind = RS, .elements = 1 << 20, .most = 1.04},
      TIMED("6x4", "ww", AG, 1 << 20),
      TIMED("8", "w", A2A, 1 << 20),
      TIMED("5", "w", A2A, 1 << 20),
      TIMED("16", "w", A2A, 1 << 16),
      TIMED("16", "-", A2A, 1 << 16),
      TIMED("8", "-", A2A, 1 << 16),
      TIMED("7", "-", A2A, 1 << 16),
      TIMED("4x4", "ww", A2A, 1 << 16),
      {.shape = "16x8", .wrap = "ww", .kind = A2A, .elements = 1 << 12, .most = 1.06},
      TIMED("16x16", "ww", A2A, 1 << 12),
      TIMED("4x2", "--", A2A, 1 << 12),
  };
  return cr_make_param_array(Case, cases, sizeof cases / sizeof *cases);
}

ParameterizedTest(Case *c, collectives, time) {
  Run run;
  cr_assert(run_case(c, &run));
}

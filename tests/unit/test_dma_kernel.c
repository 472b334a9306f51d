/* The interface that kernels are written on: DMAs, signals, barriers, credits, and what is found when they
 * are misused. */
#include "pod_fixture.h"
#include "sim/engine/launch.h"

#include <criterion/criterion.h>
#include <string.h>

enum { MEMBERS = 4, ELEMENTS = 8, HOP_PS = 1000000 };

/* A kernel on a line of four chips, two buffers, some semaphores. */
typedef struct {
  Arena *arena;
  Diag *diag;
  Pod pod;
  Ledger *ledger;
  ValueOps values;
  RunOptions options;
  Machine *machine;
  LaunchSpec spec;
  Launch *launch;
  int64_t delays_ps[MEMBERS], ends_ps[MEMBERS];
  unsigned char results[MEMBERS][ELEMENTS];
} Bench;

typedef struct {
  Bench *bench;
  uint32_t member;
} Chip;

static const uint32_t chips[MEMBERS] = {0, 1, 2, 3};
static const int64_t buffers[] = {ELEMENTS, ELEMENTS};

static void run_chip(void *argument) {
  const Chip *chip = argument;
  Bench *bench = chip->bench;
  sleep_until_ps(bench->delays_ps[chip->member]);
  memset(launch_buffer(bench->launch, chip->member, 0), 'a' + (int)chip->member, ELEMENTS);
  launch_run(bench->launch, &bench->spec, chip->member);
  bench->ends_ps[chip->member] = date_ps();
  memcpy(bench->results[chip->member], launch_buffer(bench->launch, chip->member, 1), ELEMENTS);
  launch_leave(bench->launch);
}

static Bench *run_kernel(void (*body)(Kernel *kernel), const int64_t delays_ps[MEMBERS]) {
  Arena *arena = arena_new();
  Bench *bench = ARENA_NEW(arena, Bench);
  *bench = (Bench){.arena = arena, .diag = diag_new()};
  bench->pod = torus_fixture(arena, "4", "-", EXACT_LINKS, "ici.bandwidth=1TB/s"); /* a byte a picosecond */
  memcpy(bench->delays_ps, delays_ps, sizeof bench->delays_ps);
  bench->ledger = ledger_new(MEMBERS, bench->pod.shape, 1);
  bench->options.values = &bench->values;
  cr_assert_eq(
      machine_new(arena, &bench->pod, NULL, &bench->options, bench->ledger, &bench->machine, bench->diag),
      STATUS_OK);
  bench->spec = (LaunchSpec){.chips = chips,
                             .members = MEMBERS,
                             .body = body,
                             .buffers = buffers,
                             .n_buffers = 2,
                             .n_semaphores = 4,
                             .element_bytes = 1,
                             .element_bits = 8,
                             .op = NO_OP,
                             .name = ledger_name(bench->ledger, STR("kernel"))};
  bench->launch = launch_new(bench->machine, &bench->spec);
  Chip *all = ARENA_ARRAY(arena, Chip, MEMBERS);
  for (uint32_t i = 0; i < MEMBERS; i++) {
    all[i] = (Chip){bench, i};
    actors_start(bench->machine->actors, run_chip, &all[i]);
  }
  cr_assert(actors_run(bench->machine->actors), "deadlock");
  machine_free(bench->machine);
  return bench;
}

static void bench_free(Bench *bench) {
  ledger_free(bench->ledger);
  diag_free(bench->diag);
  arena_free(bench->arena);
}

static const int64_t together[MEMBERS] = {0};
static const Slice input = {0, 0, ELEMENTS}, output = {1, 0, ELEMENTS};

/* ---- DMA and signals */

static void send_to_the_far_end(Kernel *kernel) {
  enum { SENT, RECEIVED };
  if (kernel_member(kernel) == 0) {
    kernel_dma(kernel, input, MEMBERS - 1, output, SENT, RECEIVED);
    kernel_wait(kernel, SENT, 1, MEMBERS - 1, "its DMA");
  }
  if (kernel_member(kernel) == MEMBERS - 1) kernel_wait(kernel, RECEIVED, 1, 0, "data");
}

Test(dma_kernel, a_dma_leaves_after_its_bytes_and_lands_after_the_hops) {
  Bench *bench = run_kernel(send_to_the_far_end, together);
  cr_expect_eq(bench->ends_ps[0], ELEMENTS);
  cr_expect_eq(bench->ends_ps[MEMBERS - 1], ELEMENTS + (MEMBERS - 1) * HOP_PS);
  cr_expect_eq(memcmp(bench->results[MEMBERS - 1], "aaaaaaaa", ELEMENTS), 0);
  bench_free(bench);
}

static void send_to_itself(Kernel *kernel) {
  kernel_dma(kernel, input, kernel_member(kernel), output, 0, 1);
  kernel_wait(kernel, 0, 1, NO_MEMBER, "its DMA");
  kernel_wait(kernel, 1, 1, NO_MEMBER, "data");
}

Test(dma_kernel, a_dma_within_a_chip_takes_no_link) {
  Bench *bench = run_kernel(send_to_itself, together);
  cr_expect_eq(bench->ends_ps[2], 0);
  cr_expect_eq(memcmp(bench->results[2], "cccccccc", ELEMENTS), 0);
  bench_free(bench);
}

static void count_signals(Kernel *kernel) {
  if (kernel_member(kernel) == 0)
    kernel_wait(kernel, 0, 6, NO_MEMBER, "all signals");
  else
    kernel_signal(kernel, 0, 0, kernel_member(kernel));
}

Test(dma_kernel, signals_add_up) {
  Bench *bench = run_kernel(count_signals, together);
  cr_expect_eq(bench->ends_ps[0], 3 * HOP_PS, "the farthest comes last");
  bench_free(bench);
}

/* ---- barrier and credits */

static void meet(Kernel *kernel) {
  kernel_barrier(kernel, 0);
  kernel_barrier(kernel, 1);
}

Test(dma_kernel, nobody_leaves_a_barrier_before_all_came) {
  const int64_t delays[MEMBERS] = {5 * HOP_PS, 0, 40 * HOP_PS, 7 * HOP_PS};
  Bench *bench = run_kernel(meet, delays);
  for (int i = 0; i < MEMBERS; i++) cr_expect_geq(bench->ends_ps[i], 40 * HOP_PS);
  bench_free(bench);
}

/* Member 0 writes the same place of member 1 time after time; member 1 is slow, and must see each value. */
static void fill_again(Kernel *kernel) {
  enum { DATA, CREDIT, TIMES = 4 };
  Slice place = {1, 0, 1};
  for (int64_t i = 0; i < TIMES; i++) {
    if (kernel_member(kernel) == 0) {
      if (i > 0) kernel_take_credit(kernel, 1, CREDIT);
      kernel_dma(kernel, (Slice){0, i, 1}, 1, place, NO_SEMAPHORE, DATA);
    }
    if (kernel_member(kernel) == 1) {
      kernel_wait(kernel, DATA, 1, 0, "data");
      sleep_until_ps(date_ps() + 10 * HOP_PS);
      kernel_copy(kernel, (Slice){1, i + 1, 1}, place);
      if (i + 1 < TIMES) kernel_give_credit(kernel, 0, CREDIT);
    }
  }
}

Test(dma_kernel, credits_keep_a_buffer_from_being_overwritten) {
  Bench *bench = run_kernel(fill_again, together);
  cr_expect_eq(memcmp(bench->results[1] + 1, "aaaa", 4), 0);
  cr_expect_eq(bench->ends_ps[1], 4 * (1 + HOP_PS + 10 * HOP_PS) + 3 * HOP_PS);
  bench_free(bench);
}

/* ---- forks, and misuse */

static void signal_done(Kernel *kernel, uint32_t which) {
  cr_expect_eq(which, 7);
  sleep_until_ps(date_ps() + HOP_PS);
  kernel_signal(kernel, (kernel_member(kernel) + 1) % MEMBERS, 1, 1);
}

static void fork_and_join(Kernel *kernel) {
  kernel_fork(kernel, signal_done, 7, 0);
  kernel_wait(kernel, 1, 1, NO_MEMBER, "its neighbour");
  kernel_wait(kernel, 0, 1, kernel_member(kernel), "its fork");
}

Test(dma_kernel, a_fork_runs_beside_its_kernel) {
  Bench *bench = run_kernel(fork_and_join, together);
  cr_expect_eq(bench->ends_ps[1], 2 * HOP_PS);
  cr_expect_eq(bench->ends_ps[0], 4 * HOP_PS, "three hops from the last to the first");
  cr_expect_eq(bench->machine->status, STATUS_OK);
  bench_free(bench);
}

static void forget_to_wait(Kernel *kernel) {
  if (kernel_member(kernel) == 0) kernel_dma(kernel, input, 1, output, NO_SEMAPHORE, 2);
}

Test(dma_kernel, a_wait_that_is_missing_is_a_race) {
  Bench *bench = run_kernel(forget_to_wait, (const int64_t[MEMBERS]){0, 5 * HOP_PS, 0, 0});
  cr_expect_eq(bench->machine->status, STATUS_DEADLOCK);
  cr_expect(strstr(str_terminated(bench->arena, diag_error_text(bench->diag)),
                   "race: on chip 1 semaphore 2") != NULL);
  bench_free(bench);
}

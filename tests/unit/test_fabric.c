/* The fabric: how long transfers take alone and side by side, which links they load, and that routes are
 * SimGrid's own. */
#include "pod_fixture.h"
#include "sim/engine/fabric.h"

#include "sim/engine/platform.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <math.h>
#include <simgrid/link.h>
#include <stdlib.h>
#include <string.h>
#include <xbt/dynar.h>

typedef struct {
  Arena *arena;
  Pod pod;
  Ledger *ledger;
  Fabric *fabric;
  Diag *diag;
} Bench;

static Bench *slices_new(int64_t slices, int64_t x, int64_t y, bool wrap, int64_t lat_ps) {
  Arena *arena = arena_new();
  Bench *bench = ARENA_NEW(arena, Bench);
  *bench = (Bench){.arena = arena, .diag = diag_new()};
  bench->pod = torus_fixture(arena, str_printf(arena, "%ldx%ld", (long)x, (long)y).at, wrap ? "ww" : "--",
                             EXACT_LINKS, str_printf(arena, "ici.latency=%ldps", (long)lat_ps).at,
                             str_printf(arena, "pod.slices=%ld", (long)slices).at);
  bench->ledger = ledger_new(bench->pod.n_chips, bench->pod.shape, 2);
  cr_assert_eq(fabric_new(arena, &bench->pod, NULL, bench->ledger, &bench->fabric, bench->diag), STATUS_OK);
  return bench;
}

static Bench *bench_new(int64_t x, int64_t y, bool wrap, int64_t lat_ps) {
  return slices_new(1, x, y, wrap, lat_ps);
}

/* A transfer that starts at a date, and when it landed. */
typedef struct {
  uint32_t from, to;
  int64_t bytes, start_ps, landed_ps;
  Bench *bench;
} Sent;

static void landed(void *argument) {
  ((Sent *)argument)->landed_ps = date_ps();
}

static void send(void *argument) {
  Sent *sent = argument;
  sleep_until_ps(sent->start_ps);
  fabric_send(sent->bench->fabric, (Transfer){.from = sent->from,
                                              .to = sent->to,
                                              .via = NO_PEER,
                                              .bytes = sent->bytes,
                                              .op = NO_OP,
                                              .flow = fabric_next_flow(sent->bench->fabric),
                                              .landed = landed,
                                              .argument = sent});
  sleep_until_ps(1000000000000); /* until all have landed */
}

/* The same, however late. */
static void send_and_wait(void *argument) {
  Sent *sent = argument;
  send(argument);
  sleep_until_ps(sent->start_ps + 1000000000000);
}

static void run(Bench *bench, Sent *sent, size_t n) {
  for (size_t i = 0; i < n; i++) {
    sent[i].bench = bench;
    actors_start(fabric_actors(bench->fabric), send, &sent[i]);
  }
  cr_assert(actors_run(fabric_actors(bench->fabric)));
}

static void bench_free(Bench *bench) {
  ledger_free(bench->ledger);
  diag_free(bench->diag);
  actors_free(fabric_actors(bench->fabric));
  arena_free(bench->arena);
}

#define MEGA 1000000ll /* ps in a microsecond */

Test(fabric, takes_hops_times_latency_and_bytes_over_bandwidth) {
  Bench *bench = bench_new(8, 4, false, MEGA);
  Sent sent[] = {{.from = 0, .to = 1, .bytes = 45000000},
                 {.from = 4, .to = 31, .bytes = 1234567890, .start_ps = 2000 * MEGA},
                 {.from = 31, .to = 0, .bytes = 1, .start_ps = 900000 * MEGA}};
  run(bench, sent, 3);
  cr_expect_eq(sent[0].landed_ps, 1001 * MEGA);
  double second_ps = 9e6 + 1234567890 / 4.5e10 * 1e12;
  cr_expect_float_eq((double)(sent[1].landed_ps - sent[1].start_ps) / second_ps, 1, 1e-9);
  cr_expect_eq(sent[2].landed_ps - sent[2].start_ps, 10 * MEGA + 23, "a byte takes 22.2 ps, rounded up");
  bench_free(bench);
}

Test(fabric, two_on_a_link_halve_and_a_late_one_shares) {
  Bench *bench = bench_new(4, 1, false, 0);
  Sent sent[] = {{.from = 1, .to = 2, .bytes = 45000000},
                 {.from = 1, .to = 2, .bytes = 45000000, .start_ps = 500 * MEGA}};
  run(bench, sent, 2);
  cr_expect_eq(sent[0].landed_ps, 1500 * MEGA);
  cr_expect_eq(sent[1].landed_ps, 2000 * MEGA);
  bench_free(bench);
}

Test(fabric, routes_of_different_length_share_fairly) {
  Bench *bench = bench_new(4, 1, false, 0);
  Sent sent[] = {{.from = 1, .to = 2, .bytes = 45000000}, {.from = 0, .to = 3, .bytes = 45000000}};
  run(bench, sent, 2);
  cr_expect_eq(sent[0].landed_ps, 2000 * MEGA);
  cr_expect_eq(sent[1].landed_ps, 2000 * MEGA);
  bench_free(bench);
}

Test(fabric, the_narrowest_link_rules_and_leaves_the_rest_to_others) {
  Bench *bench = bench_new(4, 1, false, 0);
  Sent sent[] = {{.from = 0, .to = 1, .bytes = 45000000},
                 {.from = 0, .to = 2, .bytes = 45000000},
                 {.from = 1, .to = 2, .bytes = 45000000},
                 {.from = 1, .to = 2, .bytes = 45000000}};
  run(bench, sent, 4);
  cr_expect_eq(sent[0].landed_ps, 1500 * MEGA);
  for (int i = 1; i < 4; i++) cr_expect_eq(sent[i].landed_ps, 3000 * MEGA);
  bench_free(bench);
}

Test(fabric, opposite_ways_and_other_axes_do_not_disturb) {
  Bench *bench = bench_new(4, 4, true, MEGA);
  Sent sent[] = {{.from = 0, .to = 1, .bytes = 45000000},
                 {.from = 1, .to = 0, .bytes = 45000000},
                 {.from = 0, .to = 4, .bytes = 45000000},
                 {.from = 0, .to = 3, .bytes = 45000000}};
  run(bench, sent, 4);
  for (int i = 0; i < 4; i++) cr_expect_eq(sent[i].landed_ps, 1001 * MEGA);
  bench_free(bench);
}

Test(fabric, a_line_has_no_wrap_link) {
  Bench *bench = bench_new(4, 1, false, MEGA);
  Sent sent[] = {{.from = 0, .to = 3, .bytes = 45000000}, {.from = 1, .to = 2, .bytes = 45000000}};
  run(bench, sent, 2);
  cr_expect_eq(sent[0].landed_ps, 2003 * MEGA, "three hops, sharing the middle one");
  for (size_t i = 0; i < bench->ledger->n_events; i++) {
    const Event *event = &bench->ledger->events[i];
    cr_expect_not(event->kind == EVENT_LINK && event->chip == 0 && event->lane % 6 == 1,
                  "no link down from 0");
  }
  bench_free(bench);
}

/* Out of a chip's part of its host's cards and into another's; links within slices are not touched. */
Test(fabric, slices_are_joined_by_the_network_cards_of_their_chips) {
  Bench *bench = slices_new(3, 2, 2, false, MEGA);
  Sent sent[] = {{.from = 0, .to = 5, .bytes = 3125000},
                 {.from = 0, .to = 1, .bytes = 45000000},
                 {.from = 4, .to = 0, .bytes = 3125000},
                 {.from = 1, .to = 11, .bytes = 3125000, .start_ps = 5000 * MEGA},
                 {.from = 2, .to = 11, .bytes = 3125000, .start_ps = 5000 * MEGA}};
  run(bench, sent, 5);
  cr_expect_eq(sent[0].landed_ps, 1010 * MEGA);
  cr_expect_eq(sent[1].landed_ps, 1001 * MEGA);
  cr_expect_eq(sent[2].landed_ps, 1010 * MEGA, "out and in do not disturb each other");
  cr_expect_eq(sent[3].landed_ps, 7010 * MEGA, "two into one card share it");
  cr_expect_eq(sent[4].landed_ps, 7010 * MEGA);
  uint32_t out = 0, in = 0;
  for (size_t i = 0; i < bench->ledger->n_events; i++) {
    const Event *event = &bench->ledger->events[i];
    if (event->track != TRACK_DCN) continue;
    *(event->lane % 2 == 0 ? &out : &in) += event->chip;
  }
  cr_expect(out == 0 + 4 + 1 + 2 && in == 5 + 0 + 11 + 11);
  bench_free(bench);
}

Test(fabric, events_a_picosecond_apart_stay_apart) {
  Bench *bench = bench_new(2, 1, false, 1);
  Sent sent[] = {{.from = 0, .to = 1, .start_ps = 500000000000},
                 {.from = 0, .to = 1, .start_ps = 500000000001},
                 {.from = 0, .to = 1, .start_ps = 500000000003}};
  run(bench, sent, 3);
  for (int i = 0; i < 3; i++) cr_expect_eq(sent[i].landed_ps, sent[i].start_ps + 1);
  bench_free(bench);
}

/* A double holds seconds to a picosecond up to some thousands of them; beyond, dates are coarser but nothing
 * hangs. */
Test(fabric, long_runs_come_to_an_end, .timeout = 20) {
  Bench *bench = bench_new(4, 1, false, MEGA);
  Sent sent[] = {{.from = 0, .to = 3, .bytes = 45000000, .start_ps = 3600000000 * MEGA},
                 {.from = 1, .to = 2, .bytes = 45, .start_ps = 3600000000 * MEGA + 1},
                 {.from = 3, .to = 0, .bytes = 45, .start_ps = 90000000000 * MEGA}};
  for (size_t i = 0; i < 3; i++) {
    sent[i].bench = bench;
    actors_start(fabric_actors(bench->fabric), send_and_wait, &sent[i]);
  }
  cr_assert(actors_run(fabric_actors(bench->fabric)));
  cr_expect_float_eq((double)(sent[0].landed_ps - sent[0].start_ps), 1003 * MEGA + 1000, 2000);
  cr_expect_float_eq((double)(sent[1].landed_ps - sent[1].start_ps), MEGA + 2000, 100);
  cr_expect_float_eq((double)(sent[2].landed_ps - sent[2].start_ps), 3 * MEGA + 1000, 20000);
  bench_free(bench);
}

/* ---- HBM */

/* What DMAs have moved in the HBM of each chip of a line of four by a date. */
typedef struct {
  Bench *bench;
  int64_t date_ps;
  DmaBytes bytes[4];
} Probe;

static void look(void *argument) {
  Probe *probe = argument;
  sleep_until_ps(probe->date_ps);
  for (uint32_t chip = 0; chip < 4; chip++)
    probe->bytes[chip] = fabric_hbm_bytes(probe->bench->fabric, chip, probe->date_ps);
}

Test(fabric, dmas_read_and_write_hbm_at_their_ends_alone) {
  Bench *bench = bench_new(4, 1, false, MEGA);
  Sent sent = {.from = 0, .to = 2, .bytes = 45000000};
  Probe during = {.bench = bench, .date_ps = 250 * MEGA}, after = {.bench = bench, .date_ps = 2000 * MEGA};
  actors_start(fabric_actors(bench->fabric), look, &during);
  actors_start(fabric_actors(bench->fabric), look, &after);
  run(bench, &sent, 1);
  static const double touched[] = {1, 0, 1, 0};
  for (int chip = 0; chip < 4; chip++) {
    cr_expect_eq(during.bytes[chip].ended, 0);
    cr_expect_float_eq(during.bytes[chip].under_way, touched[chip] * 11250000, 1);
    cr_expect_eq(after.bytes[chip].ended, (int64_t)touched[chip] * 45000000);
    cr_expect_eq(after.bytes[chip].under_way, 0);
  }
  bench_free(bench);
}

Test(fabric, dmas_on_one_link_share_what_they_take_of_hbm) {
  Bench *bench = bench_new(4, 1, false, 0);
  Sent sent[] = {{.from = 1, .to = 2, .bytes = 45000000}, {.from = 0, .to = 3, .bytes = 45000000}};
  Probe during = {.bench = bench, .date_ps = 500 * MEGA}, after = {.bench = bench, .date_ps = 2500 * MEGA};
  actors_start(fabric_actors(bench->fabric), look, &during);
  actors_start(fabric_actors(bench->fabric), look, &after);
  run(bench, sent, 2);
  for (int chip = 0; chip < 4; chip++) {
    cr_expect_float_eq(during.bytes[chip].under_way, 11250000, 1, "each has half of the link");
    cr_expect_eq(after.bytes[chip].ended, 45000000);
  }
  bench_free(bench);
}

/* ---- routes */

typedef struct {
  char shape[8], wrap[4];
} Torus;

ParameterizedTestParameters(route, is_simgrids) {
  static Torus tori[] = {
      {"8x1x1", "w--"}, {"5x4x1", "ww-"}, {"4x6x1", "-w-"}, {"2x2x3", "w-w"}, {"4x2x4", "www"}};
  return cr_make_param_array(Torus, tori, sizeof tori / sizeof *tori);
}

typedef struct {
  uint32_t n, sum;
} Path;

/* A fingerprint of a path: the number of links, and which. */
static void add_link(void *self, Link link) {
  Path *path = self;
  path->n++;
  path->sum = path->sum * 31 + link.chip * 6 + 2 * link.axis + link.down;
}

/* Finds each of SimGrid's links as the one-hop route that goes over it. */
static Link link_named(const Pod *pod, const Platform *platform, sg_link_t wanted) {
  for (uint32_t chip = 0; chip < pod->n_chips; chip++)
    for (uint32_t axis = 0; axis < pod->n_axes; axis++)
      for (int down = 0; down < 2; down++) {
        Link link = {chip, axis, down == 1};
        uint32_t end = link_end(pod, link);
        int64_t at[POD_AXES], to[POD_AXES];
        pod_coordinates(pod, chip, at);
        pod_coordinates(pod, end, to);
        if (end == chip || route_links(pod, chip, end, NULL, NULL) != 1) continue;
        if (route_direction(at[axis], to[axis], pod->shape[axis], pod->wrap[axis]) != (down ? -1 : 1))
          continue;
        xbt_dynar_t links = xbt_dynar_new(sizeof(sg_link_t), NULL);
        sg_host_get_route(platform->hosts[chip], platform->hosts[end], links);
        sg_link_t only = xbt_dynar_get_as(links, 0, sg_link_t);
        bool found = only == wanted;
        xbt_dynar_free(&links);
        if (found) return link;
      }
  cr_assert_fail("a route takes a link that the pod does not have");
  return (Link){0, 0, false};
}

ParameterizedTest(Torus *torus, route, is_simgrids) {
  Arena *arena = arena_new();
  Pod pod = torus_fixture(arena, torus->shape, torus->wrap, EXACT_LINKS);
  Platform platform;
  Diag *diag = diag_new();
  cr_assert_eq(platform_start(arena, &pod, &platform, diag), STATUS_OK);
  for (uint32_t from = 0; from < pod.n_chips; from++)
    for (uint32_t to = 0; to < pod.n_chips; to++) {
      if (from == to) continue;
      Path own = {0}, simgrid = {0};
      route_links(&pod, from, to, add_link, &own);
      xbt_dynar_t links = xbt_dynar_new(sizeof(sg_link_t), NULL);
      sg_host_get_route(platform.hosts[from], platform.hosts[to], links);
      for (unsigned i = 0; i < xbt_dynar_length(links); i++)
        add_link(&simgrid, link_named(&pod, &platform, xbt_dynar_get_as(links, i, sg_link_t)));
      xbt_dynar_free(&links);
      cr_expect_eq(own.n, simgrid.n, "%u to %u: %u links, SimGrid %u", from, to, own.n, simgrid.n);
      cr_expect_eq(own.sum, simgrid.sum, "%u to %u: other links", from, to);
    }
  diag_free(diag);
  arena_free(arena);
}

/* ---- twisted tori */

static Pod twisted(Arena *arena, const char *shape) {
  return torus_fixture(arena, shape, "www", EXACT_LINKS, "pod.twist=true");
}

/* Hops from chip 0 to every other one, link by link. */
static uint32_t *distances(Arena *arena, const Pod *pod) {
  uint32_t *hops = ARENA_ARRAY(arena, uint32_t, pod->n_chips),
           *queue = ARENA_ARRAY(arena, uint32_t, pod->n_chips);
  for (uint32_t i = 1; i < pod->n_chips; i++) hops[i] = UINT32_MAX;
  for (uint32_t first = 0, n = 1; first < n; first++)
    for (uint32_t way = 0; way < 2 * POD_AXES; way++) {
      uint32_t end = link_end(pod, (Link){queue[first], way / 2, way % 2 == 1});
      if (hops[end] != UINT32_MAX) continue;
      hops[end] = hops[queue[first]] + 1;
      queue[n++] = end;
    }
  return hops;
}

typedef struct {
  const Pod *pod;
  uint32_t at;
} Walk;

static void walk_link(void *self, Link link) {
  Walk *walk = self;
  cr_assert_eq(link.chip, walk->at, "a link starts where the one before ends");
  walk->at = link_end(walk->pod, link);
}

Test(twist, routes_are_the_shortest) {
  static const char *const shapes[] = {"4x4x8", "8x4x4", "4x8x8", "8x8x4"};
  Arena *arena = arena_new();
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    Pod pod = twisted(arena, shapes[i]);
    const uint32_t *hops = distances(arena, &pod);
    for (uint32_t to = 0; to < pod.n_chips; to++) {
      Walk walk = {&pod, 0};
      uint32_t n = route_links(&pod, 0, to, walk_link, &walk);
      cr_assert(walk.at == to && n == hops[to], "%s: 0 to %u takes %u hops, not %u", shapes[i], to, n,
                hops[to]);
    }
    for (uint32_t chip = 0; chip < pod.n_chips; chip++)
      for (uint32_t axis = 0; axis < POD_AXES; axis++)
        cr_assert_eq(link_end(&pod, (Link){link_end(&pod, (Link){chip, axis, false}), axis, true}), chip);
  }
  arena_free(arena);
}

/* The same from every chip: a twisted torus has no edge. Its mean distance is below the plain torus's. */
Test(twist, every_chip_is_alike_and_nearer_to_the_others) {
  Arena *arena = arena_new();
  Pod twist = twisted(arena, "4x4x8"), plain = torus_fixture(arena, "4x4x8", "www", EXACT_LINKS);
  uint32_t first = 0, plain_sum = 0;
  for (uint32_t from = 0; from < twist.n_chips; from++) {
    uint32_t sum = 0;
    for (uint32_t to = 0; to < twist.n_chips; to++) {
      sum += route_links(&twist, from, to, NULL, NULL);
      if (from == 0) plain_sum += route_links(&plain, from, to, NULL, NULL);
    }
    if (from == 0) first = sum;
    cr_assert_eq(sum, first);
  }
  cr_assert_lt(first, plain_sum);
  arena_free(arena);
}

Test(twist, a_transfer_loads_each_link_of_its_way) {
  Arena *arena = arena_new();
  Bench *bench = ARENA_NEW(arena, Bench);
  *bench = (Bench){.arena = arena, .diag = diag_new()};
  bench->pod = twisted(arena, "4x4x8");
  bench->ledger = ledger_new(bench->pod.n_chips, bench->pod.shape, 3);
  cr_assert_eq(fabric_new(arena, &bench->pod, NULL, bench->ledger, &bench->fabric, bench->diag), STATUS_OK);
  int64_t top[POD_AXES] = {3, 0, 0};
  uint32_t from = pod_chip(&bench->pod, 0, top), over = link_end(&bench->pod, (Link){from, 0, false});
  int64_t at[POD_AXES];
  pod_coordinates(&bench->pod, over, at);
  cr_assert(at[0] == 0 && at[1] == 0 && at[2] == 4, "half way along z");
  Sent sent[] = {{.from = from, .to = over, .bytes = 45000000},
                 {.from = from, .to = link_end(&bench->pod, (Link){over, 2, false}), .bytes = 45000000}};
  run(bench, sent, 2);
  cr_expect_eq(sent[0].landed_ps, 2001 * MEGA, "two on the seam's link");
  cr_expect_eq(sent[1].landed_ps, 2002 * MEGA);
  bench_free(bench);
}

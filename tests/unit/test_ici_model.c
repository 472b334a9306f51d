/* Closed forms of ICI against published numbers: JAX Scaling Book, "Sharded matrices" and its questions. */
#include "models/ici_model.h"
#include "pod_fixture.h"

#include <criterion/criterion.h>

static Arena *arena;
static Pod v5e;

static void begin(void) {
  arena = arena_new();
  v5e = pod_fixture(arena, "v5e_8x4", EXACT_LINKS);
}

static void end(void) {
  arena_free(arena);
}

TestSuite(ici_model, .init = begin, .fini = end);

static GroupShape ring(int64_t n) {
  return (GroupShape){1, {n}, {true}, n, 1};
}

static GroupShape line(int64_t n) {
  return (GroupShape){1, {n}, {false}, n, 1};
}

static GroupShape torus(int64_t x, int64_t y, bool wrap) {
  return (GroupShape){2, {x, y}, {wrap, wrap}, x * y, 1};
}

static double us(CollectiveKind kind, GroupShape group, double bytes) {
  return collective_ideal_seconds(&v5e, kind, group, bytes) * 1e6;
}

Test(ici_model, ring) {
  const double v = 1 << 25;
  for (int64_t n = 2; n <= 16; n++) {
    double gather = v * (double)(n - 1) / (double)(2 * n) / 4.5e10 * 1e6;
    cr_assert_float_eq(us(COLLECTIVE_ALL_GATHER, ring(n), v), gather, 1e-6);
    cr_assert_float_eq(us(COLLECTIVE_REDUCE_SCATTER, ring(n), v), gather, 1e-6);
    cr_assert_float_eq(us(COLLECTIVE_ALL_REDUCE, ring(n), v), 2 * gather, 1e-6);
  }
  cr_assert_float_eq(us(COLLECTIVE_ALL_REDUCE, ring(8), v), 652, 1);
}

/* v5e 8x4, bf16[2048,8192] gathered over the axis of 4, which does not wrap: 3 * 8.4e6 / 4.5e10 = 560 us. */
Test(ici_model, line) {
  const double v = 2048.0 * 8192 * 2;
  cr_assert_float_eq(us(COLLECTIVE_ALL_GATHER, line(4), v), 560, 1);
  cr_assert_float_eq(us(COLLECTIVE_ALL_REDUCE, line(4), v), 1120, 2);
  cr_assert_float_eq(us(COLLECTIVE_BROADCAST, line(4), 4.5e4), 1, 1e-9);
}

/* 32 MiB over both axes of 16x16: 371 us. */
Test(ici_model, torus) {
  cr_assert_float_eq(us(COLLECTIVE_ALL_REDUCE, torus(16, 16, true), 1 << 25), 371, 1);
  cr_assert_float_eq(us(COLLECTIVE_ALL_GATHER, torus(4, 2, false), 8e6), 7e6 / 9e10 * 1e6, 1e-6);
  GroupShape cube = {3, {4, 4, 4}, {true, true, true}, 64, 1};
  cr_assert_float_eq(us(COLLECTIVE_ALL_GATHER, cube, 64e6), 63e6 / 2.7e11 * 1e6, 1e-6);
}

/* v4 4x4x4, all-gather over X of bf16[1024,4096] split over Y: 23 us where N-1 counts as N. */
Test(ici_model, gather_on_v4) {
  const double v = 1024.0 * 4096 * 2 / 4;
  cr_assert_float_eq(us(COLLECTIVE_ALL_GATHER, ring(4), v) * 4 / 3, 23, 0.5);
  cr_assert_float_eq(us(COLLECTIVE_ALL_GATHER, torus(4, 4, true), v) * 16 / 15, 11.5, 0.25);
}

/* On a ring both ways an all-to-all takes a quarter of an all-gather of the same whole value. */
Test(ici_model, all_to_all) {
  for (int64_t n = 2; n <= 16; n += 2) {
    double gather_of_n = us(COLLECTIVE_ALL_GATHER, ring(n), 1e6 * (double)n) * (double)n / (double)(n - 1);
    cr_assert_float_eq(us(COLLECTIVE_ALL_TO_ALL, ring(n), 1e6), gather_of_n / 4, 1e-6);
    cr_assert_float_eq(us(COLLECTIVE_ALL_TO_ALL, line(n), 1e6), gather_of_n / 2, 1e-6);
  }
  double long_axis = us(COLLECTIVE_ALL_TO_ALL, ring(16), 1e6);
  cr_assert_float_eq(us(COLLECTIVE_ALL_TO_ALL, torus(16, 8, true), 1e6), long_axis, 1e-9);
  cr_assert_float_eq(us(COLLECTIVE_RAGGED_ALL_TO_ALL, torus(8, 16, true), 1e6), long_axis, 1e-9);
}

/* The bytes that cross the fullest link, counted pair by pair in dimension order. */
static double counted_link_bytes(int64_t n, bool wrap, double bytes) {
  double up[32] = {0}, most = 0;
  for (int64_t from = 0; from < n; from++) {
    for (int64_t to = 0; to < n; to++) {
      int64_t hops = wrap ? (to - from + n) % n : to - from;
      double part = bytes / (double)n / (wrap && 2 * hops == n ? 2 : 1);
      if (hops <= 0 || (wrap && 2 * hops > n)) continue;
      for (int64_t hop = 0; hop < hops; hop++) up[(from + hop) % n] += part;
    }
  }
  for (int64_t link = 0; link < n; link++) most = up[link] > most ? up[link] : most;
  return most;
}

Test(ici_model, all_to_all_is_the_fullest_link) {
  for (int64_t n = 2; n <= 17; n++) {
    cr_assert_float_eq(us(COLLECTIVE_ALL_TO_ALL, ring(n), 9e6), counted_link_bytes(n, true, 9e6) / 4.5e4,
                       1e-6);
    cr_assert_float_eq(us(COLLECTIVE_ALL_TO_ALL, line(n), 9e6), counted_link_bytes(n, false, 9e6) / 4.5e4,
                       1e-6);
  }
}

Test(ici_model, other_groups_and_none) {
  GroupShape listed = {.members = 6}, alone = {2, {1, 1}, {false, false}, 1, 1};
  cr_assert_eq(us(COLLECTIVE_ALL_GATHER, listed, 1e6), us(COLLECTIVE_ALL_GATHER, ring(6), 1e6));
  cr_assert_eq(us(COLLECTIVE_PERMUTE, listed, 4.5e6), 100);
  for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
    cr_assert_eq(us((CollectiveKind)kind, alone, 1e6), 0);
    cr_assert_eq(collective_hops((CollectiveKind)kind, alone), 0);
  }
}

/* v5e 8x4, bf16[256,256] over the axis of 4: 3 hops; v4 ring of 4: 2 hops. Below 45 kB a hop's latency is
 * longer than its bytes take. */
Test(ici_model, hops) {
  cr_assert_eq(collective_hops(COLLECTIVE_ALL_GATHER, line(4)), 3);
  cr_assert_eq(collective_hops(COLLECTIVE_ALL_GATHER, ring(4)), 2);
  cr_assert_eq(collective_hops(COLLECTIVE_ALL_REDUCE, torus(16, 16, true)), 32);
  cr_assert_eq(collective_hops(COLLECTIVE_PERMUTE, ring(4)), 1);
  cr_assert_float_eq(us(COLLECTIVE_PERMUTE, line(2), 45e3), (double)v5e.ici_lat_ps / 1e6, 1e-9);
}

Test(ici_model, names_are_those_of_hlo) {
  cr_assert_str_eq(collective_text(COLLECTIVE_ALL_GATHER), "all-gather");
  cr_assert_str_eq(collective_text(COLLECTIVE_PERMUTE), "collective-permute");
  cr_assert_str_eq(collective_text(COLLECTIVE_RAGGED_ALL_TO_ALL), "ragged-all-to-all");
}

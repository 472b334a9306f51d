/* Folds: how far apart chips are alike, where chips come to, and what unfolds to the events of all. */
#include "pod_fixture.h"
#include "sim/engine/fold.h"
#include "sim/ledger/unfold.h"

#include <criterion/criterion.h>

/* Chips of one colour are alike. */
static Fold fold_of(Arena *arena, const Pod *pod, uint64_t (*colour)(int64_t x, int64_t y)) {
  Likeness likeness = {ARENA_ARRAY(arena, uint64_t, pod->n_chips)};
  for (uint32_t chip = 0; chip < pod->n_chips; chip++) {
    int64_t at[POD_AXES];
    pod_coordinates(pod, chip, at);
    likeness.of_chip[chip] = colour(at[0], at[1]);
  }
  return fold_by_likeness(pod, &likeness);
}

static uint64_t plain(int64_t x, int64_t y) {
  (void)x, (void)y;
  return 7;
}

static uint64_t columns_in_pairs(int64_t x, int64_t y) {
  (void)x;
  return (uint64_t)(y % 2);
}

static uint64_t diagonal(int64_t x, int64_t y) {
  return x == 3 && y == 3;
}

Test(fold, strides_are_the_least_that_keep_chips_apart) {
  Arena *arena = arena_new();
  Pod pod = torus_fixture(arena, "8x4", "ww");
  Fold fold = fold_of(arena, &pod, plain);
  cr_assert(fold.stride[0] == 1 && fold.stride[1] == 1 && fold_times(&fold) == 32);
  fold = fold_of(arena, &pod, columns_in_pairs);
  cr_assert(fold.stride[0] == 1 && fold.stride[1] == 2 && fold_times(&fold) == 16);
  fold = fold_of(arena, &pod, diagonal);
  cr_assert(fold.stride[0] == 8 && fold.stride[1] == 4 && fold_times(&fold) == 1);
  arena_free(arena);
}

Test(fold, an_axis_without_wrap_stays_whole) {
  Arena *arena = arena_new();
  Pod pod = torus_fixture(arena, "8x4", "w-");
  Fold fold = fold_of(arena, &pod, plain);
  cr_assert(fold.stride[0] == 1 && fold.stride[1] == 4);
  arena_free(arena);
}

Test(fold, chips_go_to_the_first_box_and_take_others_along) {
  Arena *arena = arena_new();
  Pod pod = torus_fixture(arena, "8x4", "ww");
  Fold fold = fold_of(arena, &pod, columns_in_pairs);
  cr_assert_eq(fold_chip(&fold, 5 * 4 + 3), 1);
  cr_assert_eq(fold_chip(NULL, 5 * 4 + 3), 5 * 4 + 3);
  cr_assert_eq(fold_along(&fold, 6 * 4 + 0, 5 * 4 + 3), 1 * 4 + 2,
               "five up and a stride back, round the axis");
  cr_assert_eq(fold_along(&fold, NO_PEER, 5 * 4 + 3), NO_PEER);
  arena_free(arena);
}

/* Every chip sends to the next but one along an axis of 4, over two links; only chip 0 is recorded. */
Test(fold, unfolding_gives_each_flow_its_ends) {
  const int64_t shape[] = {4};
  Ledger *ledger = ledger_new(4, shape, 1);
  ledger->stride[0] = 1;
  uint32_t name = ledger_name(ledger, STR("send"));
  Event event = {.name = name, .op = NO_OP, .flow = 1, .duration_ps = 10};
  const struct {
    EventKind kind;
    Track track;
    uint32_t peer, lane;
  } recorded[] = {{EVENT_DMA, TRACK_DMA, 2, 0},
                  {EVENT_LINK, TRACK_LINK, 2, 0},
                  {EVENT_LINK, TRACK_LINK, 1, 6},
                  {EVENT_WAIT, TRACK_SYNC, 2, 0}};
  for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
    event.kind = recorded[i].kind;
    event.track = recorded[i].track;
    event.peer = recorded[i].peer;
    event.lane = recorded[i].lane;
    ledger_add(ledger, event);
  }
  ledger_finish(ledger);
  cr_assert_eq(ledger_folds(ledger), 4);
  ledger_unfold(ledger);
  cr_assert_eq(ledger_folds(ledger), 1);
  cr_assert_eq(ledger->n_events, 16);
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *own = &ledger->events[i];
    uint32_t sender = own->flow - 1; /* flows are numbered in the order of their senders */
    bool first = own->track == TRACK_LINK && own->lane == 0,
         second = own->track == TRACK_LINK && own->lane == 6;
    uint32_t hops = second ? 1 : own->kind == EVENT_WAIT ? 2 : 0;
    cr_assert_eq(own->chip, (sender + hops) % 4);
    cr_assert_eq(own->peer, own->kind == EVENT_WAIT ? sender : (sender + 2) % 4);
    cr_assert(first || second || own->track != TRACK_LINK);
  }
  ledger_free(ledger);
}

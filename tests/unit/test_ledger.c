/* Ledger: interned names, copied ops, order of events. */
#include "sim/ledger/repeat.h"

#include <criterion/criterion.h>
#include <stdio.h>

static Ledger *ledger_4x2(void) {
  const int64_t shape[] = {4, 2};
  return ledger_new(8, shape, 2);
}

Test(ledger, keeps_the_shape_of_the_pod) {
  Ledger *ledger = ledger_4x2();
  cr_assert_eq(ledger->n_chips, 8);
  cr_assert_eq(ledger->n_axes, 2);
  cr_assert(ledger->pod_shape[0] == 4 && ledger->pod_shape[1] == 2 && ledger->pod_shape[2] == 1);
  ledger_finish(ledger);
  cr_assert(ledger->n_events == 0 && ledger->end_ps == 0, "an empty run is fine");
  ledger_free(ledger);
  ledger_free(NULL);
}

Test(ledger, names_are_copied_once_each) {
  Ledger *ledger = ledger_4x2();
  char text[] = "dot.1";
  uint32_t dot = ledger_name(ledger, str_of(text));
  text[4] = '2';
  uint32_t other = ledger_name(ledger, str_of(text));
  cr_assert_neq(dot, other);
  cr_assert_eq(ledger_name(ledger, STR("dot.1")), dot);
  cr_assert(str_is(ledger->names.at[dot], "dot.1") && str_is(ledger->names.at[other], "dot.2"));
  cr_assert_eq(ledger->names.n, 2);
  ledger_free(ledger);
}

Test(ledger, ops_own_their_texts) {
  Ledger *ledger = ledger_4x2();
  char because[] = "dot.3 contracts \"model\"";
  LedgerOp op = {.name = STR("all-reduce.1"), .because = str_of(because), .bytes_payload = 64};
  uint32_t index = ledger_op(ledger, &op);
  because[0] = 'X';
  cr_assert(str_is(ledger->ops.at[index].because, "dot.3 contracts \"model\""));
  cr_assert(str_is(ledger->ops.at[index].name, "all-reduce.1"));
  cr_assert(ledger->ops.at[index].axes.n == 0 && ledger->ops.at[index].bytes_payload == 64);
  ledger_free(ledger);
}

/* The bytes of an event hold its expected place. */
static void add(Ledger *ledger, int64_t start, int64_t duration, uint32_t chip, Track track, uint32_t lane,
                int64_t expected) {
  ledger_add(ledger, (Event){.start_ps = start,
                             .duration_ps = duration,
                             .chip = chip,
                             .track = track,
                             .lane = lane,
                             .bytes = expected});
}

Test(ledger, finish_sorts_by_start_longer_first_chip_track_lane_and_appending) {
  Ledger *ledger = ledger_4x2();
  add(ledger, 50, 1, 0, TRACK_CORE, 0, 8);
  add(ledger, 0, 10, 1, TRACK_LINK, 1, 4);
  add(ledger, 0, 10, 1, TRACK_LINK, 0, 3);
  add(ledger, 0, 10, 1, TRACK_CORE, 9, 2);
  add(ledger, 0, 10, 0, TRACK_HOST, 0, 1);
  add(ledger, 0, 99, 7, TRACK_HOST, 0, 0);
  add(ledger, 0, 0, 0, TRACK_CORE, 0, 5);
  add(ledger, 7, 3, 2, TRACK_DMA, 0, 6);
  add(ledger, 7, 3, 2, TRACK_DMA, 0, 7);
  cr_assert_eq(ledger->end_ps, 99);
  ledger_finish(ledger);
  for (size_t i = 0; i < ledger->n_events; i++) cr_assert_eq(ledger->events[i].bytes, (int64_t)i);
  cr_assert_eq(ledger->n_events, 9);
  ledger_free(ledger);
}

Test(ledger, holds_many_events) {
  Ledger *ledger = ledger_4x2();
  const int64_t n = 100000;
  for (int64_t i = 0; i < n; i++) add(ledger, (i * 7919) % n, 1, 0, TRACK_CORE, 0, i);
  ledger_finish(ledger);
  for (int64_t i = 0; i < n; i++) cr_assert_eq(ledger->events[i].start_ps, i);
  cr_assert_eq(ledger->end_ps, n);
  ledger_free(ledger);
}

Test(ledger, every_kind_has_a_text) {
  const char *texts[] = {"compute", "collective", "dma", "link", "wait", "host"};
  for (int kind = 0; kind < EVENT_KINDS; kind++)
    cr_assert_str_eq(event_kind_text((EventKind)kind), texts[kind]);
}

/* A chip computes for 3 us in each trip of 5 us and sends for 4, into the next trip; the period from 5 to 10
 * us is repeated twice. */
Test(ledger, repeats_a_period) {
  const int64_t shape[] = {1, 1, 1};
  enum { US = 1000000 };
  Ledger *ledger = ledger_new(1, shape, 1);
  uint32_t op = ledger_op(ledger, &(LedgerOp){.name = STR("dot")});
  for (int64_t trip = 0; trip < 3; trip++) {
    char name[16];
    snprintf(name, sizeof name, "dot[%d]", (int)trip);
    uint32_t dot = ledger_name(ledger, str_of(name)), send = ledger_name(ledger, STR("send"));
    ledger_add(ledger,
               (Event){EVENT_COMPUTE, TRACK_CORE, 0, 0, dot, op, NO_PEER, 0, trip * 5 * US, 3 * US, 0, 0});
    ledger_add(ledger, (Event){EVENT_DMA, TRACK_DMA, 0, 0, send, op, 0, (uint32_t)trip + 1,
                               (trip * 5 + 2) * US, 4 * US, 0, 0});
  }
  cr_assert_eq(ledger_period_hash(ledger, 0, 5 * US, 10 * US),
               ledger_period_hash(ledger, 0, 10 * US, 15 * US));
  cr_assert_neq(ledger_period_hash(ledger, 0, 0, 5 * US), ledger_period_hash(ledger, 0, 5 * US, 10 * US));
  const int64_t named_from_ps[] = {15 * US};
  ledger_repeat(ledger, &(LedgerRepeat){5 * US, 10 * US, 1, 2, named_from_ps});
  ledger_finish(ledger);
  cr_assert_eq(ledger->n_events, 10);
  cr_assert_eq(ledger->end_ps, 26 * US);
  for (uint32_t trip = 0; trip < 5; trip++) {
    const Event *dot = &ledger->events[2 * trip], *send = dot + 1;
    char name[16];
    snprintf(name, sizeof name, "dot[%u]", trip);
    cr_assert(str_is(ledger->names.at[dot->name], name), "%.*s", STR_ARG(ledger->names.at[dot->name]));
    cr_assert_eq(dot->start_ps, trip * 5 * US);
    cr_assert_eq(send->start_ps, (trip * 5 + 2) * US);
    cr_assert_eq(send->flow, trip + 1);
  }
  ledger_free(ledger);
}

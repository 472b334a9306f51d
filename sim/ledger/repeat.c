/* Repeats a period of the ledger. Flows are numbered in the order of their sends, so those of the next
 * period have numbers that are as much higher as a period has transfers. */
#include "sim/ledger/repeat.h"

#include "sim/base/mix.h"

#include <stdlib.h>
#include <string.h>

static int64_t end_of(const Event *event) {
  return event->start_ps + event->duration_ps;
}

uint64_t ledger_period_hash(const Ledger *ledger, size_t first, int64_t from_ps, int64_t to_ps) {
  uint64_t sum = 0; /* so that the order of events at one date does not count */
  for (size_t i = first; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    if (end_of(event) < from_ps || end_of(event) >= to_ps) continue;
    uint64_t hash = mix64((uint64_t)event->kind << 32 | event->track);
    hash = mix64(hash ^ ((uint64_t)event->chip << 32 | event->lane));
    hash = mix64(hash ^ ((uint64_t)event->op << 32 | event->peer));
    hash = mix64(hash ^ (uint64_t)(event->start_ps - from_ps));
    hash = mix64(hash ^ (uint64_t)event->duration_ps);
    hash = mix64(hash ^ (uint64_t)event->bytes);
    sum += mix64(hash ^ (uint64_t)event->flops);
  }
  return sum;
}

/* The name with a higher trip, as in "dot.1[7]"; the same where it has none. */
static uint32_t later_name(Ledger *ledger, uint32_t name, int64_t trips) {
  Str text = ledger->names.at[name];
  size_t open = str_find(text, '[');
  if (open == text.n) return name;
  char *end;
  long long trip = strtoll(text.at + open + 1, &end, 10);
  Arena *scratch = arena_new();
  Str later = str_printf(scratch, "%.*s[%lld%.*s", (int)open, text.at, trip + (long long)trips,
                         (int)(text.at + text.n - end), end);
  uint32_t index = ledger_name(ledger, later);
  arena_free(scratch);
  return index;
}

typedef struct {
  Ledger *ledger;
  const LedgerRepeat *repeat;
  Vec(Event) period;
  uint32_t flows;  /* that start in a period */
  uint32_t *later; /* by name: as it is `k` periods later; UINT32_MAX until it is asked for */
  uint32_t n_names;
  Arena *scratch;
} Repeating;

static void forget_names(Repeating *own) {
  memset(own->later, 0xff, own->n_names * sizeof *own->later);
}

static uint32_t name_after(Repeating *own, uint32_t name, int64_t k) {
  if (own->later[name] == UINT32_MAX)
    own->later[name] = later_name(own->ledger, name, k * own->repeat->trips);
  return own->later[name];
}

static void move_later(Repeating *own, Event *event, int64_t k, bool rename) {
  event->start_ps += k * (own->repeat->to_ps - own->repeat->from_ps);
  if (event->flow != 0) event->flow += (uint32_t)k * own->flows;
  if (rename) event->name = name_after(own, event->name, k);
}

static void find_period(Repeating *own) {
  const LedgerRepeat *repeat = own->repeat;
  for (size_t i = 0; i < own->ledger->n_events; i++) {
    const Event *event = &own->ledger->events[i];
    if (end_of(event) < repeat->from_ps || end_of(event) >= repeat->to_ps) continue;
    VEC_PUSH(own->scratch, &own->period, *event);
    own->flows += event->kind == EVENT_DMA;
  }
}

void ledger_repeat(Ledger *ledger, const LedgerRepeat *repeat) {
  ledger_number_flows(ledger);
  Arena *scratch = arena_new();
  Repeating own = {.ledger = ledger, .repeat = repeat, .scratch = scratch, .n_names = ledger->names.n};
  own.later = ARENA_ARRAY(scratch, uint32_t, own.n_names);
  find_period(&own);
  forget_names(&own);
  for (size_t i = 0; i < ledger->n_events; i++) {
    Event *event = &ledger->events[i];
    bool rename = event->start_ps < repeat->named_from_ps[event->chip];
    if (end_of(event) >= repeat->to_ps) move_later(&own, event, repeat->times, rename);
  }
  ledger->end_ps += repeat->times * (repeat->to_ps - repeat->from_ps);
  for (int64_t k = 1; k <= repeat->times; k++) {
    forget_names(&own);
    for (uint32_t i = 0; i < own.period.n; i++) {
      Event event = own.period.at[i];
      move_later(&own, &event, k, true);
      ledger_add(ledger, event);
    }
  }
  arena_free(scratch);
}

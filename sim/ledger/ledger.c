/* Ledger: events in one growing array, sorted once when the run is over; names interned, so that an event
 * stays at 64 bytes. */
#include "sim/ledger/ledger.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_EVENTS = 1024 };

static const char *const event_kind_texts[EVENT_KINDS] = {
    [EVENT_COMPUTE] = "compute", [EVENT_COLLECTIVE] = "collective",
    [EVENT_DMA] = "dma",         [EVENT_LINK] = "link",
    [EVENT_WAIT] = "wait",       [EVENT_HOST] = "host",
};

const char *event_kind_text(EventKind kind) {
  return event_kind_texts[kind];
}

Ledger *ledger_new(uint32_t n_chips, const int64_t *pod_shape, uint32_t n_axes) {
  Arena *arena = arena_new();
  Ledger *ledger = ARENA_NEW(arena, Ledger);
  *ledger = (Ledger){.arena = arena, .name_index = map_new(arena), .n_chips = n_chips, .n_axes = n_axes};
  for (uint32_t axis = 0; axis < 3; axis++)
    ledger->stride[axis] = ledger->pod_shape[axis] = axis < n_axes ? pod_shape[axis] : 1;
  return ledger;
}

void ledger_free(Ledger *ledger) {
  if (ledger == NULL) return;
  free(ledger->events);
  arena_free(ledger->arena);
}

uint32_t ledger_name(Ledger *ledger, Str name) {
  uint32_t index;
  if (map_get(ledger->name_index, name, &index)) return index;
  Str own = str_copy(ledger->arena, name);
  index = ledger->names.n;
  VEC_PUSH(ledger->arena, &ledger->names, own);
  map_put(ledger->name_index, own, index);
  return index;
}

uint32_t ledger_op(Ledger *ledger, const LedgerOp *op) {
  LedgerOp own = *op;
  Str *texts[] = {&own.name,      &own.category, &own.shape,   &own.op_name, &own.source, &own.collective,
                  &own.algorithm, &own.axes,     &own.because, &own.whole,   &own.bound};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) *texts[i] = str_copy(ledger->arena, *texts[i]);
  VEC_PUSH(ledger->arena, &ledger->ops, own);
  return ledger->ops.n - 1;
}

/* Events are the bulk of a run's memory: grown in place where they can be, not kept twice in the arena. */
static Event *resized(Event *events, size_t n) {
  Event *grown = n > SIZE_MAX / sizeof *events ? NULL : realloc(events, n * sizeof *events);
  if (grown == NULL) {
    fputs("podsim: out of memory\n", stderr);
    abort();
  }
  return grown;
}

void ledger_add(Ledger *ledger, Event event) {
  if (ledger->n_events == ledger->cap_events) {
    ledger->cap_events = ledger->cap_events == 0 ? FIRST_EVENTS : ledger->cap_events * 2;
    ledger->events = resized(ledger->events, ledger->cap_events);
  }
  ledger->events[ledger->n_events++] = event;
  int64_t end_ps = event.start_ps + event.duration_ps;
  if (end_ps > ledger->end_ps) ledger->end_ps = end_ps;
}

#define ORDER(a, b) ((a) < (b) ? -1 : (a) > (b))

/* By (start, longer first, chip, track, lane), then by place in the array, since qsort is not stable. */
static int by_time(const void *left, const void *right, void *all) {
  size_t i = *(const size_t *)left, j = *(const size_t *)right;
  const Event *a = (const Event *)all + i, *b = (const Event *)all + j;
  if (a->start_ps != b->start_ps) return ORDER(a->start_ps, b->start_ps);
  if (a->duration_ps != b->duration_ps) return ORDER(b->duration_ps, a->duration_ps);
  if (a->chip != b->chip) return ORDER(a->chip, b->chip);
  if (a->track != b->track) return ORDER(a->track, b->track);
  if (a->lane != b->lane) return ORDER(a->lane, b->lane);
  return ORDER(i, j);
}

static int by_start(const void *left, const void *right, void *events) {
  size_t i = *(const size_t *)left, j = *(const size_t *)right;
  const Event *a = (const Event *)events + i, *b = (const Event *)events + j;
  if (a->start_ps != b->start_ps) return ORDER(a->start_ps, b->start_ps);
  if (a->chip != b->chip) return ORDER(a->chip, b->chip);
  if (a->lane != b->lane) return ORDER(a->lane, b->lane);
  return ORDER(i, j);
}

void ledger_number_flows(Ledger *ledger) {
  size_t n = 0;
  uint32_t largest = 0;
  for (size_t i = 0; i < ledger->n_events; i++) {
    n += ledger->events[i].kind == EVENT_DMA;
    if (ledger->events[i].flow > largest) largest = ledger->events[i].flow;
  }
  Arena *scratch = arena_new();
  size_t *sends = ARENA_ARRAY(scratch, size_t, n + 1);
  uint32_t *number = ARENA_ARRAY(scratch, uint32_t, (size_t)largest + 1), flows = 0;
  n = 0;
  for (size_t i = 0; i < ledger->n_events; i++)
    if (ledger->events[i].kind == EVENT_DMA) sends[n++] = i;
  qsort_r(sends, n, sizeof *sends, by_start, ledger->events);
  for (size_t k = 0; k < n; k++)
    if (ledger->events[sends[k]].flow != 0) number[ledger->events[sends[k]].flow] = ++flows;
  for (size_t i = 0; i < ledger->n_events; i++) ledger->events[i].flow = number[ledger->events[i].flow];
  arena_free(scratch);
}

void ledger_finish(Ledger *ledger) {
  size_t n = ledger->n_events;
  if (n == 0) return;
  ledger_number_flows(ledger);
  Arena *scratch = arena_new();
  size_t *order = ARENA_ARRAY(scratch, size_t, n);
  for (size_t i = 0; i < n; i++) order[i] = i;
  qsort_r(order, n, sizeof *order, by_time, ledger->events);
  Event *sorted = resized(NULL, n);
  for (size_t i = 0; i < n; i++) sorted[i] = ledger->events[order[i]];
  free(ledger->events);
  ledger->events = sorted;
  ledger->cap_events = n;
  arena_free(scratch);
}

/* FNV-1a, a word at a time. */
static uint64_t hashed(uint64_t hash, uint64_t word) {
  return (hash ^ word) * 0x100000001b3u;
}

uint64_t ledger_hash(const Ledger *ledger) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    const uint64_t words[] = {event->kind,
                              event->track,
                              event->chip,
                              event->lane,
                              event->name,
                              event->peer,
                              (uint64_t)event->start_ps,
                              (uint64_t)event->duration_ps,
                              (uint64_t)event->bytes,
                              (uint64_t)event->flops};
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) hash = hashed(hash, words[w]);
  }
  return hash;
}

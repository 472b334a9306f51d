/* Metrics: one pass over the sorted events; times of sets of intervals by merging them in order. */
#include "traces/metrics.h"

#include "sim/ledger/unfold.h"

#include <stdlib.h>

typedef struct {
  int64_t start, stop;
} Span;

typedef Vec(Span) Spans;

/* Adds a span that starts no earlier than those before it; spans that touch become one. */
static void spans_add(Arena *arena, Spans *spans, Span span) {
  Span *last = spans->n > 0 ? &spans->at[spans->n - 1] : NULL;
  if (last != NULL && span.start <= last->stop) {
    if (span.stop > last->stop) last->stop = span.stop;
    return;
  }
  VEC_PUSH(arena, spans, span);
}

static int64_t spans_length(const Spans *spans) {
  int64_t sum = 0;
  for (uint32_t i = 0; i < spans->n; i++) sum += spans->at[i].stop - spans->at[i].start;
  return sum;
}

/* The part of `span` that none of the merged, sorted spans covers. */
static int64_t uncovered(Span span, const Spans *spans) {
  uint32_t low = 0, high = spans->n;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    if (spans->at[middle].stop <= span.start)
      low = middle + 1;
    else
      high = middle;
  }
  int64_t rest = span.stop - span.start;
  for (uint32_t i = low; i < spans->n && spans->at[i].start < span.stop; i++) {
    Span other = spans->at[i];
    int64_t start = other.start > span.start ? other.start : span.start;
    int64_t stop = other.stop < span.stop ? other.stop : span.stop;
    rest -= stop - start;
  }
  return rest;
}

static Span span_of(const Event *event) {
  return (Span){event->start_ps, event->start_ps + event->duration_ps};
}

static uint32_t slowest(const Ledger *ledger) {
  uint32_t chip = 0;
  int64_t latest = -1;
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    int64_t stop = span_of(event).stop;
    if (event->kind == EVENT_LINK || stop < latest || (stop == latest && event->chip >= chip)) continue;
    latest = stop;
    chip = event->chip;
  }
  return chip;
}

static bool is_run(const Event *event) {
  return event->kind == EVENT_COMPUTE || event->kind == EVENT_COLLECTIVE || event->kind == EVENT_HOST;
}

/* The core at work, or waiting for its own memory; copies that run beside it are none of its time. */
static bool computes(const Ledger *ledger, const Event *event) {
  if (event->track != TRACK_CORE) return false;
  if (event->kind == EVENT_COMPUTE) return true;
  if (event->kind != EVENT_WAIT || event->op == NO_OP) return false;
  return ledger->ops.at[event->op].collective.n == 0 && !ledger->ops.at[event->op].is_host;
}

/* Executions of each op on the chip that ran it most. */
static void count_executions(Arena *arena, const Ledger *ledger, OpMetric *ops) {
  size_t n_ops = ledger->ops.n;
  int64_t *counts = ARENA_ARRAY(arena, int64_t, n_ops * ledger->n_chips);
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    if (event->op == NO_OP) continue;
    if (event->kind == EVENT_DMA && event->peer != event->chip) ops[event->op].wire_bytes += event->bytes;
    if (!is_run(event)) continue;
    int64_t count = ++counts[event->chip * n_ops + event->op];
    if (count > ops[event->op].count) ops[event->op].count = count;
  }
}

/* A collective, or a loop's iteration that is written out apart, is of the same name but for its end. */
static Str plain_name(Str name) {
  static const Str ends[] = {STR(".first"), STR(".next"), STR(".last")};
  for (uint32_t i = 0; i < sizeof ends / sizeof *ends; i++) {
    size_t n = ends[i].n;
    if (name.n > n && str_eq(str_sub(name, name.n - n, name.n), ends[i])) return str_sub(name, 0, name.n - n);
  }
  return name;
}

static Str whole_key(Arena *arena, const LedgerOp *op) {
  (void)arena;
  return op->whole.n > 0 ? op->whole : (Str){0};
}

static Str alike_key(Arena *arena, const LedgerOp *op) {
  if (op->whole.n > 0) return op->whole;
  if (op->source.n == 0) return plain_name(op->name);
  return str_printf(arena, "%.*s %.*s over %.*s at %.*s", STR_ARG(op->category), STR_ARG(op->shape),
                    STR_ARG(op->axes), STR_ARG(op->source));
}

/* Ops of one key are a group; one without a key stands alone. */
static void fold_groups(Arena *arena, const Ledger *ledger, const Metrics *metrics, const Spans *compute,
                        OpGroup *groups, Str (*key_of)(Arena *, const LedgerOp *)) {
  StrMap *first = map_new(arena);
  for (uint32_t i = 0; i < metrics->n_ops; i++) {
    Str key = key_of(arena, &ledger->ops.at[i]);
    groups[i].first = i;
    if (key.n > 0 && !map_get(first, key, &groups[i].first)) map_put(first, key, i);
    groups[groups[i].first].n++;
    groups[groups[i].first].count += metrics->ops[i].count;
  }
  int64_t *counted_ps = ARENA_ARRAY(arena, int64_t, metrics->n_ops);
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    if (event->chip != metrics->slowest_chip || !is_run(event) || event->op == NO_OP) continue;
    uint32_t group = groups[event->op].first;
    Span span = span_of(event);
    if (span.start < counted_ps[group]) span.start = counted_ps[group];
    if (span.stop <= span.start) continue;
    groups[group].ps += span.stop - span.start;
    if (event->kind == EVENT_COLLECTIVE) groups[group].exposed_ps += uncovered(span, compute);
    counted_ps[group] = span.stop;
  }
}

static void fold_ops_together(Arena *arena, const Ledger *ledger, const Metrics *metrics,
                              const Spans *compute) {
  OpGroup *wholes = ARENA_ARRAY(arena, OpGroup, metrics->n_ops);
  OpGroup *alike = ARENA_ARRAY(arena, OpGroup, metrics->n_ops);
  fold_groups(arena, ledger, metrics, compute, wholes, whole_key);
  fold_groups(arena, ledger, metrics, compute, alike, alike_key);
  for (uint32_t op = 0; op < metrics->n_ops; op++) {
    metrics->ops[op].whole = wholes[op];
    metrics->ops[op].alike = alike[op];
  }
}

static void fold_chip(const Ledger *ledger, Metrics *metrics, const Spans *compute) {
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    if (event->chip != metrics->slowest_chip || !is_run(event)) continue;
    int64_t exposed = event->kind == EVENT_COLLECTIVE ? uncovered(span_of(event), compute) : 0;
    metrics->flops += event->flops;
    bool kernel = event->kind == EVENT_COMPUTE && event->track == TRACK_CORE;
    bool product = event->op != NO_OP && ledger->ops.at[event->op].product;
    metrics->hbm_bytes += kernel ? event->bytes : 0;
    metrics->other_hbm_bytes += kernel && !product ? event->bytes : 0;
    if (event->op == NO_OP) continue;
    OpMetric *op = &metrics->ops[event->op];
    op->total_ps += event->duration_ps;
    op->exposed_ps += exposed;
    op->flops += event->flops;
    if (event->kind == EVENT_COMPUTE) op->hbm_bytes += event->bytes;
  }
}

Metrics metrics_fold(Arena *arena, const Ledger *ledger) {
  Metrics metrics = {.slowest_chip = slowest(ledger), .end_ps = ledger->end_ps, .n_ops = ledger->ops.n};
  metrics.ops = ARENA_ARRAY(arena, OpMetric, metrics.n_ops);
  for (uint32_t op = 0; op < metrics.n_ops; op++) metrics.ops[op].op = op;
  Spans compute = {0}, communication = {0};
  for (size_t i = 0; i < ledger->n_events; i++) {
    const Event *event = &ledger->events[i];
    if (event->chip != metrics.slowest_chip) continue;
    if (computes(ledger, event)) spans_add(arena, &compute, span_of(event));
    if (event->kind == EVENT_COLLECTIVE) spans_add(arena, &communication, span_of(event));
  }
  metrics.compute_ps = spans_length(&compute);
  metrics.communication_ps = spans_length(&communication);
  for (uint32_t i = 0; i < communication.n; i++)
    metrics.exposed_ps += uncovered(communication.at[i], &compute);
  metrics.chips = ledger->n_chips / ledger_folds(ledger);
  count_executions(arena, ledger, metrics.ops);
  for (uint32_t op = 0; op < metrics.n_ops; op++) metrics.ops[op].wire_bytes /= metrics.chips;
  fold_chip(ledger, &metrics, &compute);
  fold_ops_together(arena, ledger, &metrics, &compute);
  metrics.critical = critical_path(arena, ledger, metrics.slowest_chip);
  for (uint32_t op = 0; op < metrics.n_ops; op++) metrics.ops[op].critical_ps = metrics.critical.op_ps[op];
  return metrics;
}

double metrics_mfu(const Metrics *metrics, double peak_flops) {
  if (metrics->end_ps == 0 || peak_flops <= 0) return 0;
  return (double)metrics->flops / ((double)metrics->end_ps * 1e-12) / peak_flops;
}

static int longer_first(const void *a, const void *b, void *times) {
  uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
  const int64_t *times_ps = times;
  if (times_ps[i] != times_ps[j]) return times_ps[i] > times_ps[j] ? -1 : 1;
  return i < j ? -1 : i > j;
}

static Ids longest(Arena *arena, int64_t *times_ps, uint32_t n, uint32_t most) {
  Ids ids = {ARENA_ARRAY(arena, uint32_t, n), 0};
  for (uint32_t op = 0; op < n; op++) {
    if (times_ps[op] > 0) ids.at[ids.n++] = op;
  }
  qsort_r(ids.at, ids.n, sizeof *ids.at, longer_first, times_ps);
  if (ids.n > most) ids.n = most;
  return ids;
}

Ids metrics_costliest(Arena *arena, const Metrics *metrics, uint32_t most) {
  int64_t *times_ps = ARENA_ARRAY(arena, int64_t, metrics->n_ops);
  for (uint32_t op = 0; op < metrics->n_ops; op++) times_ps[op] = metrics->ops[op].total_ps;
  return longest(arena, times_ps, metrics->n_ops, most);
}

Ids metrics_costliest_wholes(Arena *arena, const Metrics *metrics, uint32_t most) {
  int64_t *times_ps = ARENA_ARRAY(arena, int64_t, metrics->n_ops);
  for (uint32_t op = 0; op < metrics->n_ops; op++) times_ps[op] = metrics->ops[op].whole.ps;
  return longest(arena, times_ps, metrics->n_ops, most);
}

Ids metrics_costliest_alike(Arena *arena, const Metrics *metrics, uint32_t most) {
  int64_t *times_ps = ARENA_ARRAY(arena, int64_t, metrics->n_ops);
  for (uint32_t op = 0; op < metrics->n_ops; op++) times_ps[op] = metrics->ops[op].alike.ps;
  return longest(arena, times_ps, metrics->n_ops, most);
}

/* The critical path, walked back from the run's end. On a chip's core events follow each other, so a step
 * waited for the one before it. A collective waited for the DMA that its last wait names, that DMA's sender
 * for the one before, and so on, until a chip is reached that had nothing to wait for: there the path goes on
 * with what its core did before. (Critical path of a program activity graph: Yang and Miller, 1988.) */
#include "traces/critical_path.h"

#include <stdlib.h>

typedef Vec(uint32_t) EventIds;

/* A chip's events of each kind: its core's in order of their ends, the others op by op, each in that order.
 */
typedef struct {
  EventIds core, waits, collectives;
} ChipEvents;

typedef struct {
  Arena *arena;
  const Ledger *ledger;
  ChipEvents *chips;
  uint32_t *dma_of_flow; /* event of the DMA of each flow, NO_EVENT */
  uint32_t n_flows;
  CriticalPath *path;
  uint32_t chip; /* where the walk is */
  int64_t now_ps;
} Walk;

enum { NO_EVENT = UINT32_MAX };

static int64_t end_of(const Event *event) {
  return event->start_ps + event->duration_ps;
}

static int by_op_and_end(const void *a, const void *b, void *events) {
  uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
  const Event *p = (const Event *)events + i, *q = (const Event *)events + j;
  if (p->op != q->op) return p->op < q->op ? -1 : 1;
  if (end_of(p) != end_of(q)) return end_of(p) < end_of(q) ? -1 : 1;
  return i < j ? -1 : i > j;
}

static void sort_by_op(const Ledger *ledger, EventIds *ids) {
  if (ids->n > 1) qsort_r(ids->at, ids->n, sizeof *ids->at, by_op_and_end, ledger->events);
}

static void list_event(Walk *walk, uint32_t index) {
  const Event *event = &walk->ledger->events[index];
  ChipEvents *chip = &walk->chips[event->chip];
  if (event->track == TRACK_CORE && event->duration_ps > 0) VEC_PUSH(walk->arena, &chip->core, index);
  if (event->track == TRACK_SYNC) VEC_PUSH(walk->arena, &chip->waits, index);
  if (event->kind == EVENT_COLLECTIVE) VEC_PUSH(walk->arena, &chip->collectives, index);
  if (event->kind == EVENT_DMA) walk->dma_of_flow[event->flow] = index;
}

static Walk walk_new(Arena *arena, const Ledger *ledger, CriticalPath *path) {
  Walk walk = {.arena = arena, .ledger = ledger, .path = path};
  for (size_t i = 0; i < ledger->n_events; i++) {
    if (ledger->events[i].flow >= walk.n_flows) walk.n_flows = ledger->events[i].flow + 1;
  }
  walk.chips = ARENA_ARRAY(arena, ChipEvents, ledger->n_chips);
  walk.dma_of_flow = ARENA_ARRAY(arena, uint32_t, walk.n_flows + 1);
  for (uint32_t f = 0; f < walk.n_flows; f++) walk.dma_of_flow[f] = NO_EVENT;
  for (size_t i = 0; i < ledger->n_events; i++) list_event(&walk, (uint32_t)i);
  for (uint32_t c = 0; c < ledger->n_chips; c++) {
    sort_by_op(ledger, &walk.chips[c].waits);
    sort_by_op(ledger, &walk.chips[c].collectives);
  }
  return walk;
}

/* How many of the list come before an event of that op that ends at `ps`; NO_OP: of any op. */
static uint32_t events_before(const Walk *walk, const EventIds *ids, uint32_t op, int64_t ps) {
  uint32_t low = 0, high = ids->n;
  while (low < high) {
    uint32_t middle = (low + high) / 2;
    const Event *event = &walk->ledger->events[ids->at[middle]];
    bool before = op == NO_OP || event->op == op ? end_of(event) < ps : event->op < op;
    if (before)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* The event before place `at` of the list, NULL where none, or of another op. */
static const Event *event_before(const Walk *walk, const EventIds *ids, uint32_t op, uint32_t at) {
  if (at == 0 || at > ids->n) return NULL;
  const Event *event = &walk->ledger->events[ids->at[at - 1]];
  return op == NO_OP || event->op == op ? event : NULL;
}

/* What last ended, by now, on the core or among the waits of an op. */
static const Event *last_ended(const Walk *walk, const EventIds *ids, uint32_t op) {
  return event_before(walk, ids, op, events_before(walk, ids, op, walk->now_ps + 1));
}

/* The chip's part in a collective that is under way, or just ends. */
static const Event *part_now(const Walk *walk, uint32_t op) {
  const EventIds *parts = &walk->chips[walk->chip].collectives;
  return event_before(walk, parts, op, events_before(walk, parts, op, walk->now_ps) + 1);
}

/* Goes back to `to_ps`; the time in between belongs to the op. */
static void go_back(Walk *walk, int64_t to_ps, uint32_t op, int64_t *sum_ps) {
  int64_t ps = walk->now_ps - to_ps;
  if (ps <= 0) return;
  *sum_ps += ps;
  if (op != NO_OP) walk->path->op_ps[op] += ps;
  walk->now_ps = to_ps;
}

/* The DMA that a chip waited for last in its part of a collective; NULL where it had not waited. */
static const Event *dma_waited_for(const Walk *walk, const Event *part) {
  const Event *wait = last_ended(walk, &walk->chips[walk->chip].waits, part->op);
  if (wait == NULL || wait->flow == 0 || end_of(wait) <= part->start_ps) return NULL;
  uint32_t dma = walk->dma_of_flow[wait->flow];
  return dma == NO_EVENT ? NULL : &walk->ledger->events[dma];
}

/* Where the end of a chip's part in a collective came from: DMA by DMA back to a chip that had not waited in
 * it, and there to the start of its part. */
static void follow_collective(Walk *walk, uint32_t op) {
  int64_t *sum_ps = &walk->path->communication_ps;
  const Event *part = part_now(walk, op), *dma;
  while (part != NULL && (dma = dma_waited_for(walk, part)) != NULL && dma->start_ps < walk->now_ps) {
    walk->chip = dma->chip;
    go_back(walk, dma->start_ps, op, sum_ps);
    part = part_now(walk, op);
  }
  if (part != NULL) go_back(walk, part->start_ps, op, sum_ps);
}

static bool communicates(const Ledger *ledger, const Event *event) {
  return event->kind == EVENT_COLLECTIVE ||
         (event->kind == EVENT_WAIT && event->op != NO_OP && ledger->ops.at[event->op].collective.n > 0);
}

/* From the end of what the core did last, or of the collective that it waited for, to what came before. */
static void step_back(Walk *walk) {
  const Event *event = last_ended(walk, &walk->chips[walk->chip].core, NO_OP);
  go_back(walk, event == NULL ? 0 : end_of(event), NO_OP, &walk->path->idle_ps);
  if (event == NULL) return;
  bool communication = communicates(walk->ledger, event);
  int64_t end_ps = walk->now_ps;
  if (communication) follow_collective(walk, event->op);
  if (walk->now_ps < end_ps) return;
  bool host = event->op != NO_OP && walk->ledger->ops.at[event->op].is_host;
  go_back(walk, event->start_ps, event->op,
          communication ? &walk->path->communication_ps
          : host        ? &walk->path->idle_ps
                        : &walk->path->compute_ps);
}

CriticalPath critical_path(Arena *arena, const Ledger *ledger, uint32_t last_chip) {
  CriticalPath path = {.op_ps = ARENA_ARRAY(arena, int64_t, ledger->ops.n + 1)};
  Walk walk = walk_new(arena, ledger, &path);
  walk.chip = last_chip;
  walk.now_ps = ledger->end_ps;
  while (walk.now_ps > 0) step_back(&walk);
  return path;
}

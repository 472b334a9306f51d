/* Unfolding: each event is copied to every place where its chip is moved to, by whole strides along the axes.
 * A flow's events are on several chips; its copies are told apart by how far its receiver is moved. */
#include "sim/ledger/unfold.h"

enum { AXES = 3 };

typedef struct {
  const Ledger *ledger;
  uint32_t copies;
  uint32_t *receiver; /* by flow: of the send that was recorded */
} Unfolding;

static uint32_t copies_along(const Ledger *ledger, uint32_t axis) {
  return (uint32_t)(ledger->pod_shape[axis] / ledger->stride[axis]);
}

uint32_t ledger_folds(const Ledger *ledger) {
  uint32_t copies = 1;
  for (uint32_t axis = 0; axis < AXES; axis++) copies *= copies_along(ledger, axis);
  return copies;
}

/* A chip's coordinates, the slice it is in left over. */
static uint32_t coordinates_of(const Ledger *ledger, uint32_t chip, int64_t at[AXES]) {
  for (uint32_t axis = AXES; axis-- > 0;) {
    at[axis] = chip % (uint32_t)ledger->pod_shape[axis];
    chip /= (uint32_t)ledger->pod_shape[axis];
  }
  return chip;
}

/* Copy number `copy` of a chip: the digits of the number are strides, the last axis fastest. */
static uint32_t moved(const Ledger *ledger, uint32_t chip, uint32_t copy) {
  int64_t at[AXES];
  uint32_t place = coordinates_of(ledger, chip, at);
  for (uint32_t axis = AXES; axis-- > 0;) {
    uint32_t copies = copies_along(ledger, axis);
    at[axis] = (at[axis] + copy % copies * ledger->stride[axis]) % ledger->pod_shape[axis];
    copy /= copies;
  }
  for (uint32_t axis = 0; axis < AXES; axis++)
    place = place * (uint32_t)ledger->pod_shape[axis] + (uint32_t)at[axis];
  return place;
}

/* The number of the copy that brings one chip to another. */
static uint32_t copy_between(const Ledger *ledger, uint32_t from, uint32_t to) {
  int64_t start[AXES], end[AXES];
  coordinates_of(ledger, from, start);
  coordinates_of(ledger, to, end);
  uint32_t copy = 0;
  for (uint32_t axis = 0; axis < AXES; axis++) {
    int64_t length = ledger->pod_shape[axis], by = (end[axis] - start[axis] + length) % length;
    copy = copy * copies_along(ledger, axis) + (uint32_t)(by / ledger->stride[axis]);
  }
  return copy;
}

static uint32_t *receivers_of(Arena *arena, const Ledger *ledger) {
  uint32_t most = 0;
  for (size_t i = 0; i < ledger->n_events; i++)
    if (ledger->events[i].flow > most) most = ledger->events[i].flow;
  uint32_t *receivers = ARENA_ARRAY(arena, uint32_t, (size_t)most + 1);
  for (size_t i = 0; i < ledger->n_events; i++)
    if (ledger->events[i].kind == EVENT_DMA) receivers[ledger->events[i].flow] = ledger->events[i].peer;
  return receivers;
}

static uint32_t flow_of(const Unfolding *own, const Event *event) {
  if (event->flow == 0) return 0;
  uint32_t receiver = event->kind == EVENT_WAIT ? event->chip : event->peer;
  return (event->flow - 1) * own->copies + copy_between(own->ledger, own->receiver[event->flow], receiver) +
         1;
}

static Event copy_of(const Unfolding *own, Event event, uint32_t copy) {
  event.chip = moved(own->ledger, event.chip, copy);
  if (event.peer != NO_PEER) event.peer = moved(own->ledger, event.peer, copy);
  event.flow = flow_of(own, &event);
  return event;
}

void ledger_unfold(Ledger *ledger) {
  Arena *scratch = arena_new();
  Unfolding own = {.ledger = ledger, .copies = ledger_folds(ledger)};
  if (own.copies > 1) {
    own.receiver = receivers_of(scratch, ledger);
    size_t n = ledger->n_events;
    for (uint32_t copy = own.copies; copy-- > 0;)
      for (size_t i = 0; i < n; i++) {
        Event event = copy_of(&own, ledger->events[i], copy);
        if (copy > 0)
          ledger_add(ledger, event);
        else
          ledger->events[i] = event;
      }
    for (uint32_t axis = 0; axis < AXES; axis++) ledger->stride[axis] = ledger->pod_shape[axis];
    ledger_finish(ledger);
  }
  arena_free(scratch);
}

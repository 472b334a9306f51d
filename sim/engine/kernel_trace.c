/* Traces: numbers in a row, hashed. */
#include "sim/engine/kernel_trace.h"

#include "sim/base/mix.h"
#include "sim/engine/route.h"
#include "sim/ledger/ledger.h"

static void add(KernelTrace *trace, uint64_t number) {
  trace->hash = mix64(trace->hash ^ number);
}

/* A chip's place as seen from the trace's own, going up round every axis. */
static uint64_t relative_place(const KernelTrace *trace, uint32_t chip) {
  const Pod *pod = trace->pod;
  int64_t at[POD_AXES], own[POD_AXES];
  pod_coordinates(pod, chip, at);
  pod_coordinates(pod, trace->chip, own);
  uint64_t place = pod_slice(pod, chip);
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    int64_t length = pod->shape[axis];
    place = place * (uint64_t)length + (uint64_t)((at[axis] - own[axis] + length) % length);
  }
  return place;
}

static void add_link(void *self, Link link) {
  KernelTrace *trace = self;
  add(trace, relative_place(trace, link.chip) * LINKS_PER_CHIP + 2 * link.axis + link.down);
}

void trace_send(KernelTrace *trace, uint32_t via, uint32_t to, int64_t bytes) {
  add(trace, (uint64_t)bytes);
  if (via != NO_PEER) route_links(trace->pod, trace->chip, via, add_link, trace);
  add(trace, via != NO_PEER);
  route_links(trace->pod, via == NO_PEER ? trace->chip : via, to, add_link, trace);
  add(trace, relative_place(trace, to));
}

void trace_semaphores(KernelTrace *trace, uint32_t first, uint32_t second, int64_t n) {
  add(trace, first);
  add(trace, second);
  add(trace, (uint64_t)n);
}

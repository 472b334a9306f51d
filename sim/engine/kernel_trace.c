/* Traces: numbers in a row, hashed. A route in dimension order is told by its steps along the axes. */
#include "sim/engine/kernel_trace.h"

#include "sim/base/mix.h"
#include "sim/engine/route.h"
#include "sim/ledger/ledger.h"

static void add(KernelTrace *trace, uint64_t number) {
  trace->hash = mix64(trace->hash ^ number);
}

/* A way to a chip, whose slice is told as it is: folds do not move between slices. */
static void add_way(KernelTrace *trace, uint32_t from, uint32_t to) {
  enum { STEP_BITS = 21 };
  int64_t steps[POD_AXES];
  uint64_t way = 0;
  route_steps(trace->pod, from, to, steps);
  for (uint32_t axis = 0; axis < POD_AXES; axis++)
    way = way << STEP_BITS | ((uint64_t)steps[axis] & ((1u << STEP_BITS) - 1));
  add(trace, way);
  if (trace->pod->slices > 1) add(trace, pod_slice(trace->pod, to));
}

void trace_send(KernelTrace *trace, uint32_t via, uint32_t to, int64_t bytes) {
  add(trace, (uint64_t)bytes << 1 | (via != NO_PEER));
  if (via != NO_PEER) add_way(trace, trace->chip, via);
  add_way(trace, via == NO_PEER ? trace->chip : via, to);
}

void trace_semaphores(KernelTrace *trace, uint32_t first, uint32_t second, int64_t n) {
  add(trace, (uint64_t)first << 32 | second);
  add(trace, (uint64_t)n);
}

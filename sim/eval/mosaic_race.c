/* Races on a kernel's memory. Two are told, with both places. One is an access to memory that a DMA is on,
 * between its start and the wait for its semaphore. The other is a DMA to memory of another device that this
 * one has used, where nothing says that it is done: each device counts epochs, a signal or DMA carries what
 * its device knows of the epochs of all (a vector clock, Mattern 1989), and a wait learns it. */
#include "sim/eval/mosaic_run.h"

/* --- what overlaps --- */

/* What a view selects, in the dimensions of its buffer: along each from `start` `extent` elements. False
 * where the view does not lie along them. */
static bool region_of(const MosaicMemref *memref, int64_t *start, int64_t *extent) {
  const Tensor *tensor = memref->buffer->tensor;
  int64_t steps[EVAL_MAX_RANK], offset = memref->view.offset;
  if (memref->packing > 1) return false;
  dense_steps(tensor->dims, tensor->rank, 1, steps);
  for (uint32_t d = 0; d < tensor->rank; d++) {
    if (steps[d] == 0) return false;
    start[d] = offset / steps[d];
    extent[d] = 1;
    offset %= steps[d];
  }
  for (uint32_t i = 0; i < memref->view.rank; i++) {
    int64_t step = memref->view.steps[i], reach = (memref->view.dims[i] - 1);
    if (reach <= 0) continue;
    uint32_t d = 0;
    while (d < tensor->rank && (steps[d] > step || step % steps[d] != 0 || tensor->dims[d] == 1)) d++;
    if (d == tensor->rank) return false;
    extent[d] += reach * (step / steps[d]);
    if (start[d] + extent[d] > tensor->dims[d]) return false;
  }
  return true;
}

static void range_of(const MosaicMemref *memref, int64_t *first, int64_t *last) {
  *first = memref->view.offset;
  *last = *first + (memref->packing > 1 ? (memref->packing - 1) * memref->packed_step : 0);
  for (uint32_t d = 0; d < memref->view.rank; d++)
    *last += (memref->view.dims[d] - 1) * memref->view.steps[d];
}

bool mosaic_overlap(const MosaicMemref *a, const MosaicMemref *b) {
  if (a->buffer != b->buffer || view_elements(&a->view) == 0 || view_elements(&b->view) == 0) return false;
  int64_t a_first, a_last, b_first, b_last;
  range_of(a, &a_first, &a_last);
  range_of(b, &b_first, &b_last);
  if (a_last < b_first || b_last < a_first) return false;
  int64_t a_start[EVAL_MAX_RANK], a_extent[EVAL_MAX_RANK], b_start[EVAL_MAX_RANK], b_extent[EVAL_MAX_RANK];
  if (!region_of(a, a_start, a_extent) || !region_of(b, b_start, b_extent)) return true;
  for (uint32_t d = 0; d < a->buffer->tensor->rank; d++) {
    if (a_start[d] + a_extent[d] <= b_start[d] || b_start[d] + b_extent[d] <= a_start[d]) return false;
  }
  return true;
}

/* --- clocks --- */

static uint32_t *clock_of(MosaicRun *run, const MosaicMemref *semaphore) {
  MosaicBuffer *buffer = semaphore->buffer;
  if (buffer->clocks == NULL)
    buffer->clocks = ARENA_ARRAY(run->arena, uint32_t *, tensor_elements(buffer->tensor));
  uint32_t **clock = &buffer->clocks[semaphore->view.offset];
  if (*clock == NULL) *clock = ARENA_ARRAY(run->arena, uint32_t, run->devices);
  return *clock;
}

static void join(uint32_t *into, const uint32_t *from, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) into[i] = into[i] > from[i] ? into[i] : from[i];
}

void mosaic_tell(MosaicRun *run, const MosaicMemref *semaphore) {
  if (run->clock == NULL) return;
  join(clock_of(run, semaphore), run->clock, run->devices);
  run->clock[run->device]++;
}

void mosaic_learn(MosaicRun *run, const MosaicMemref *semaphore) {
  if (run->clock != NULL) join(run->clock, clock_of(run, semaphore), run->devices);
}

/* --- accesses --- */

enum { ACCESSES_KEPT = 256 }; /* of a device; the oldest are forgotten, and races with them not told */

struct MosaicAccess {
  const MosaicOp *op;
  MosaicMemref memref;
  bool writes;
  uint32_t epoch;
};

static bool is_same(const MosaicAccess *access, const MosaicOp *op, const MosaicMemref *memref) {
  return access->op == op && access->memref.buffer == memref->buffer &&
         access->memref.view.offset == memref->view.offset &&
         int64s_eq(access->memref.view.dims, access->memref.view.rank, memref->view.dims, memref->view.rank);
}

void mosaic_record(MosaicRun *run, const MosaicOp *op, const MosaicMemref *memref, bool writes) {
  if (run->clock == NULL) return;
  if (run->accesses == NULL) run->accesses = ARENA_ARRAY(run->arena, MosaicAccess, ACCESSES_KEPT);
  uint32_t kept = run->n_accesses < ACCESSES_KEPT ? run->n_accesses : ACCESSES_KEPT, i = 0;
  while (i < kept && !is_same(&run->accesses[i], op, memref)) i++;
  if (i == kept) i = run->n_accesses++ % ACCESSES_KEPT;
  run->accesses[i] = (MosaicAccess){op, *memref, writes, run->clock[run->device]};
}

/* --- checks --- */

static Status fail_in_flight(const MosaicFrame *frame, const MosaicOp *op, const MosaicRun *owner,
                             bool writes, const MosaicTransfer *transfer, bool is_target) {
  const MosaicRun *run = frame->run;
  Str here = mosaic_place(run->arena, op), there = mosaic_place(run->arena, transfer->op);
  return diag_fail(
      run->context->diag, STATUS_DEADLOCK, run->kernel->place,
      "wait for the DMA's semaphore before its memory is used again",
      "%.*s: a race: %.*s at %.*s on device %u %s memory of device %u that a DMA, started at %.*s on "
      "device %u and not waited for, %s",
      STR_ARG(run->kernel->call), STR_ARG(op->name), STR_ARG(here), run->device, writes ? "writes" : "reads",
      owner->device, STR_ARG(there), transfer->device, is_target ? "writes" : "reads");
}

static Status fail_unordered(const MosaicFrame *frame, const MosaicOp *op, const MosaicRun *owner,
                             const MosaicAccess *access) {
  const MosaicRun *run = frame->run;
  Str here = mosaic_place(run->arena, op), there = mosaic_place(run->arena, access->op);
  return diag_fail(
      run->context->diag, STATUS_DEADLOCK, run->kernel->place,
      "signal a semaphore of the sender when the memory is free, and wait for it there",
      "%.*s: a race: the DMA started at %.*s on device %u writes memory of device %u that %.*s at %.*s "
      "%s there, and nothing says that it has",
      STR_ARG(run->kernel->call), STR_ARG(here), run->device, owner->device, STR_ARG(access->op->name),
      STR_ARG(there), access->writes ? "writes" : "reads");
}

/* Whether the owner has told that it is done with what another device is about to write. */
static Status check_order(const MosaicFrame *frame, const MosaicOp *op, const MosaicRun *owner,
                          const MosaicMemref *memref) {
  uint32_t known = frame->run->clock[owner->device];
  uint32_t kept = owner->n_accesses < ACCESSES_KEPT ? owner->n_accesses : ACCESSES_KEPT;
  for (uint32_t i = 0; i < kept; i++) {
    const MosaicAccess *access = &owner->accesses[i];
    if (access->epoch > known && mosaic_overlap(memref, &access->memref))
      return fail_unordered(frame, op, owner, access);
  }
  return STATUS_OK;
}

Status mosaic_touch_on(const MosaicFrame *frame, const MosaicOp *op, MosaicRun *owner,
                       const MosaicMemref *memref, bool writes) {
  for (const MosaicTransfer *transfer = owner->transfers; transfer != NULL; transfer = transfer->next) {
    for (uint32_t i = 0; i < transfer->n_ends; i++) {
      bool conflicts = writes || transfer->ends[i].writes;
      if (conflicts && mosaic_overlap(memref, &transfer->ends[i].memref))
        return fail_in_flight(frame, op, owner, writes, transfer, transfer->ends[i].writes);
    }
  }
  if (owner != frame->run) return check_order(frame, op, owner, memref);
  mosaic_record(owner, op, memref, writes);
  return STATUS_OK;
}

Status mosaic_touch(const MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *memref, bool writes) {
  return mosaic_touch_on(frame, op, frame->run, memref, writes);
}

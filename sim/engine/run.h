/* Execution: a schedule run on the simulated pod, every chip its own program counter, collectives as kernels
 * on remote DMA. In: pod, schedule, values through a table of callbacks. Out: events in the ledger, the
 * entry's outputs, a chip each. One run a process: SimGrid cannot be started twice, so further runs are
 * forked. */
#pragma once

#include "sim/config/pod.h"
#include "sim/ledger/ledger.h"
#include "sim/mosaic/kernel_talk.h"
#include "sim/schedule/schedule.h"

/* A value of the program on one chip. Opaque to the engine, counted by the table below. */
typedef void Value;

/* What the engine asks of the numbers. Values may be unknown (numbers off): then bytes() is NULL and
 * integer() false. evaluate() and combine() are called from worker threads, several at once; the rest from
 * the engine's own thread. */
typedef struct {
  void *self;
  Value *(*retain)(void *self, Value *value);
  void (*release)(void *self, Value *value);
  /* Entry parameter `number` of a device; gives a reference. */
  Value *(*parameter)(void *self, uint32_t device, uint32_t number);
  /* Any op but control flow, collectives and parameters; gives a reference. Borrows the operands. given_up
   * (NULL: none): operands whose reference the caller drops right after; the op may write its result into one
   * that nobody else holds. */
  Status (*evaluate)(void *self, uint32_t device, uint32_t comp, const Instr *instr, Value *const *operands,
                     const bool *given_up, Value **result);
  /* A kernel whose devices talk to each other, on all of them: operand k of device d is operands[d][k], and
   * results[d] is given. Where `talk` is not NULL it is told, in `arena`, what they say to each other; it
   * stays empty where that is not known. Called from the engine's own thread. */
  Status (*together)(void *self, Arena *arena, uint32_t comp, const Instr *instr, uint32_t devices,
                     Value *const *const *operands, Value **results, KernelTalk *talk);
  /* The value (given) with the very element types of the shape; one that has them may be the same. */
  Value *(*settled)(void *self, Value *value, const Shape *shape);
  /* The type that floats of a type have in memory while a collective of plain sums or none carries them, a
   * wider one perhaps; on the wire they are as written. NULL: as written there too. */
  DType (*carried)(void *self, DType dtype);
  /* A new array for a collective's result. */
  Value *(*array)(void *self, const Shape *shape, bool known);
  /* Bytes of an array: to read, and (of one from array()) to write. */
  unsigned char *(*bytes)(void *self, Value *value);
  /* into[i] = comp(into[i], from[i]). */
  Status (*combine)(void *self, uint32_t comp, DType dtype, void *into, const void *from, int64_t n);
  Value *(*tuple)(void *self, Value *const *parts, uint32_t n); /* borrows the parts */
  Value *(*part)(void *self, Value *tuple, uint32_t index);     /* gives a reference */
  bool (*integer)(void *self, Value *value, int64_t *integer);
} ValueOps;

typedef struct {
  Str name;
  int64_t number;
} NamedNumber;

typedef struct {
  const ValueOps *values;              /* NULL: no values at all, loops by their known trips */
  const NamedNumber *trips, *branches; /* --trip, --branch */
  uint32_t n_trips, n_branches;
  bool jitter;
  uint64_t jitter_seed;
  int64_t break_wait, break_dma; /* the Nth is skipped, from 1; 0 none */
  const uint32_t *chip_of;       /* by device, a permutation; NULL: device d is chip d */
  bool settle_loops; /* no values are computed: a loop whose trips are alike need not run to its end */
  bool fold;        /* no values, nothing skewed or broken: of chips that do the same one may stand for all */
  uint32_t workers; /* threads for values; 0: as many as processors */
} RunOptions;

typedef struct {
  int64_t end_ps;
  int64_t *chip_end_ps;
  Value **outputs; /* a device each, given */
} RunResult;

/* The ledger gets every event. STATUS_DEADLOCK says who waits for what. */
Status schedule_run(const Pod *pod, const Schedule *schedule, const RunOptions *options, Ledger *ledger,
                    RunResult *result, Diag *diag);

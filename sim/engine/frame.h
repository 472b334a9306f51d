/* Frames: the values of one call of a computation on one chip, by instruction. The pool computes them, in the
 * order of the steps; the chip's actor may look at them after frame_join(). A frame owns a reference to each
 * value that it holds. */
#pragma once

#include "sim/engine/execution.h"
#include "sim/engine/lanes.h"

typedef struct AsyncOp AsyncOp;
typedef struct Frame Frame;

typedef struct {
  Execution *execution;
  uint32_t number;
  Strand *strand;
  Frame *frame;        /* that runs */
  AsyncOp *asyncs;     /* collectives in flight */
  uint64_t steps;      /* run so far */
  Lanes async_lanes;   /* of TRACK_ASYNC */
  int64_t host_ps[2];  /* until which each way of PCIe is taken */
  size_t events;       /* on the core's track */
  uint32_t loops;      /* that it has come to, in loops none */
  Status status;       /* of the values' computation */
  const Instr *failed; /* which has an operand that is no value */
  int64_t end_ps;
  Value *root;
} Chip;

struct Frame {
  Chip *chip;
  Frame *caller;
  uint32_t comp;
  const CompSchedule *schedule;
  Str trip; /* of the loops around it: "[2][0]", or empty */
  Value **values;
  Value **held;     /* references of the step that runs: its operands; NULLs where there are no values */
  uint32_t n_held;  /* places in it: as many as any instruction has operands, and at least two */
  AsyncOp **asyncs; /* started and not done, by instruction of their start; NULL where none ever was */
};

/* Calls a computation: makes the chip's new frame, which takes the arguments' references out of `arguments`.
 */
Frame *frame_new(Chip *chip, uint32_t comp, Str trip, Value **arguments);
/* Waits for the frame's work, gives its root, and returns to the caller's frame. */
Status frame_end(Frame *frame, Value **root);
/* Frees the frame that runs, with all that it refers to, and returns to the caller's. No work may be under
 * way. */
void frame_free(Frame *frame);

/* Has the pool compute a step's values, and then drop those that die with it. */
void frame_compute(Frame *frame, const Step *step);
/* Has the pool drop the values that die with a step that was run otherwise. */
void frame_release(Frame *frame, const Step *step);
/* Waits until all that was asked for is done; an evaluation that failed comes out here. */
Status frame_join(Frame *frame);
/* Makes `result` (given) the value of a step, once all before it is done; one that nobody uses dies at once.
 */
void frame_set(Frame *frame, const Step *step, Value *result);

/* Fills frame->held with new references to the operands of a step. */
void frame_hold(Frame *frame, const Step *step);
void frame_drop_held(Frame *frame);
Value *value_retain(const Frame *frame, Value *value);
void value_release(const Frame *frame, Value *value);

const Instr *frame_instr(const Frame *frame, uint32_t instr);
/* The instruction that names a step. */
uint32_t step_instr(const Step *step);
/* The instruction as events name it: with the trips of the loops around it. */
uint32_t frame_name(const Frame *frame, uint32_t instr);
/* The ledger's op of a step. */
uint32_t frame_op(const Frame *frame, const Step *step);
/* Adds what the core does in a step from `start_ps` until now. Kind, op, bytes and flops stand in `event`. */
void frame_add_event(const Frame *frame, const Step *step, int64_t start_ps, Event event);

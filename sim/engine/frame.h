/* Frames: the values of one call of a computation on one chip, by instruction. The pool computes them, in the
 * order of the steps; the chip's actor may look at them after frame_join(). A frame owns a reference to each
 * value that it holds. */
#pragma once

#include "sim/engine/execution.h"
#include "sim/engine/lanes.h"

typedef struct AsyncOp AsyncOp;

typedef struct {
  Execution *execution;
  uint32_t number;
  Strand *strand;
  uint64_t steps;      /* run so far */
  Lanes async_lanes;   /* of TRACK_ASYNC */
  size_t events;       /* on the core's track */
  Status status;       /* of the values' computation */
  const Instr *failed; /* which has an operand that is no value */
  int64_t end_ps;
  Value *root;
} Chip;

typedef struct {
  Chip *chip;
  uint32_t comp;
  const CompSchedule *schedule;
  Str trip; /* of the loops around it: "[2][0]", or empty */
  Value **values;
  AsyncOp **asyncs; /* operations in flight, by instruction of their start; NULL where none ever was */
} Frame;

/* Takes over the arguments' references; `arguments` is NULL where there are no values. */
Frame *frame_new(Chip *chip, uint32_t comp, Str trip, Value *const *arguments);
/* Waits for the frame's work, gives its root, and frees it. */
Status frame_end(Frame *frame, Value **root);

/* Has the pool compute a step's values, and then drop those that die with it. */
void frame_compute(Frame *frame, const Step *step);
/* Has the pool drop the values that die with a step that was run otherwise. */
void frame_release(Frame *frame, const Step *step);
/* Waits until all that was asked for is done; an evaluation that failed comes out here. */
Status frame_join(Frame *frame);

const Instr *frame_instr(const Frame *frame, uint32_t instr);
/* The instruction that names a step. */
uint32_t step_instr(const Step *step);
/* New references to the values of an instruction's operands, in the execution's arena; NULL where there are
 * no values. */
Value **frame_operands(const Frame *frame, const Instr *instr);
/* The instruction as events name it: with the trips of the loops around it. */
uint32_t frame_name(const Frame *frame, uint32_t instr);
uint32_t frame_op(const Frame *frame, const Step *step);

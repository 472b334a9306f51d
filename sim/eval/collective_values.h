/* What a collective computes, by its definition, over all devices at once: no steps, no time. */
#pragma once

#include "sim/eval/evaluate.h"

/* A collective that the devices meet in. `instr` has the plain opcode (all-gather, not all-gather-start) and
 * the shape of the result. */
typedef struct {
  const Module *module;
  const Instr *instr;
  uint32_t devices;
  const bool *here;    /* by device: it has come to this instruction */
  const Instr *parted; /* the control flow in which the others went another way; NULL where all are here */
  Tensor *const *operands;    /* operand k on device d: operands[k * devices + d] */
  const EvalContext *context; /* for the reduction */
  Arena *arena;
} CollectiveMeeting;

/* results[d] of every device that is here (given). A member that is not here is STATUS_DEADLOCK. Reductions
 * go in the order of the group's members. */
Status collective_values(const CollectiveMeeting *meeting, Tensor **results);

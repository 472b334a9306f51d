/* The schedule: the order in which a chip's TensorCore runs the per-device program, grouped as a compiler
 * would fuse it, with what each group demands; and how much memory that takes. In: partitioned module and
 * pod. Immutable once made. */
#pragma once

#include "models/demand.h"
#include "sim/ir/module.h"

typedef enum {
  STEP_COMPUTE,    /* a group of instructions, timed as one */
  STEP_COLLECTIVE, /* synchronous: started and waited for */
  STEP_START,      /* of an asynchronous collective, copy or send */
  STEP_DONE,
  STEP_WHILE,
  STEP_CONDITIONAL,
  STEP_CALL /* call or fusion run as a unit of its own schedule */
} StepKind;

typedef struct {
  StepKind kind;
  Ids instrs; /* in order; the last one names the step */
  Demand demand;
  int64_t time_ps; /* on a chip alone; 0 for collectives and control flow */
  Bound bound;
  Ids frees; /* instructions whose values die after this step */
} Step;

typedef struct {
  Vec(Step) steps;
} CompSchedule;

typedef struct {
  Arena *arena;
  const Module *module;
  CompSchedule *comps; /* by computation; empty for those that are only called by reductions and the like */
  int64_t hbm_argument_bytes, hbm_output_bytes, hbm_temp_bytes, hbm_peak_bytes; /* a chip */
  int64_t flops; /* of one run of the entry, loops of known trip counted */
} Schedule;

Status module_schedule(const Module *partitioned, const Pod *pod, Schedule **schedule, Diag *diag);
void schedule_free(Schedule *schedule);

/* The trips of a while where the text tells (known_trip_count, or a counter compared with a constant); -1
 * else. */
int64_t while_trip_count(const Module *module, uint32_t comp, const Instr *instr);

/* The schedule: the order in which a chip's TensorCore runs the per-device program, grouped as a compiler
 * would fuse it, with what each group demands; and how much memory that takes. In: partitioned module and
 * pod. Immutable once made. */
#pragma once

#include "models/demand.h"
#include "sim/ir/module.h"

typedef enum {
  STEP_COMPUTE,    /* a group of instructions, timed as one; those that only name values take no time */
  STEP_COLLECTIVE, /* synchronous: started and waited for */
  STEP_HOST,       /* the same of what moves between the chip and its host */
  STEP_START, /* of an asynchronous collective, copy or send; or of a plain collective or a move to or from
                 the host, which then has a DONE of the same instruction, and its value from there on */
  STEP_DONE,
  STEP_WHILE,
  STEP_CONDITIONAL,
  STEP_CALL /* call or fusion: the called computation's schedule is run, in a frame of its own; a fusion's
               time stands here, and its computation is one step without time */
} StepKind;

typedef struct {
  StepKind kind;
  Ids instrs; /* in order, each after its operands; the last one names the step; one alone but for COMPUTE */
  Demand demand;
  int64_t time_ps; /* on a chip alone; of a START how long it is in flight, while the chip goes on; 0 for
                      collectives and control flow */
  Bound bound;
  int64_t trips; /* of a while: as while_trip_count() */
  Ids frees;     /* instructions whose values die after this step */
} Step;

typedef struct {
  Vec(Step) steps;
  const bool *repeated; /* by instruction: made anew by each step that uses it, so never stored; NULL: none */
  const bool *in_vmem;  /* by instruction: its value lies in VMEM; NULL: as its layout says */
} CompSchedule;

/* A value that takes HBM at the peak. */
typedef struct {
  uint32_t comp, instr;
  int64_t bytes;
} Held;

typedef struct {
  Arena *arena;
  const Module *module;
  CompSchedule *comps; /* by computation; empty for those that are only called by reductions and the like */
  /* A chip: parameters; the root; the most that other values take at once; all together, donated parameters
   * counted once. */
  int64_t hbm_argument_bytes, hbm_output_bytes, hbm_temp_bytes, hbm_peak_bytes;
  Vec(Held) held; /* what fills HBM at the peak: arguments, outputs and temporaries, the largest first */
  int64_t
      flops; /* of one run of the entry: loops by their trips (once where unknown), the costliest branch */
} Schedule;

/* The kind of the step that an instruction names. */
StepKind step_kind_of(const Instr *instr);

/* Steps keep program order, but for producers that were fused into the step of their users, and for what
 * moves behind a collective's start (overlap.h). The module must
 * outlive the schedule. The caller frees it with schedule_free(). */
Status module_schedule(const Module *partitioned, const Pod *pod, Schedule **schedule, Diag *diag);
void schedule_free(Schedule *schedule);

/* The trips of a while where the text tells (known_trip_count, or a counter compared with a constant); -1
 * else. */
int64_t while_trip_count(const Module *module, uint32_t comp, const Instr *instr);
/* Whether what a computation does, with all that it calls, depends on values: whoever does not compute them
 * must be told trips and branches. */
bool schedule_decides(const Schedule *schedule, uint32_t comp);

/* One run of a schedule: what chips, collectives and reports share. */
#pragma once

#include "sim/engine/launch.h"
#include "sim/engine/pool.h"

typedef struct CollectiveOp CollectiveOp;
typedef struct JointKernel JointKernel;
typedef struct LoopWatch LoopWatch;
typedef struct Visit Visit;

/* What is the same for every execution of an instruction. */
typedef struct {
  uint32_t op;              /* of the ledger, NO_OP until it first runs */
  CollectiveOp *collective; /* NULL until it first runs */
  JointKernel *joint;       /* NULL until it first runs */
  const bool *given_up;     /* operands that die with it in its step */
} InstrInfo;

typedef struct {
  Arena *arena;
  const Pod *pod;
  const Schedule *schedule;
  const Module *module;
  const RunOptions *options;
  Ledger *ledger;
  Diag *diag;
  Machine *machine;
  Pool *pool;
  uint32_t devices;
  uint32_t *chip_of, *device_of;    /* by device; by chip */
  uint32_t n_simulated, *simulated; /* chips; of a folded run one of each kind */
  InstrInfo **infos;                /* by computation and instruction */
  Vec(const Instr *) op_instrs;     /* by op of the ledger, from the first of this run */
  uint32_t first_op;
  Vec(CollectiveOp *) collectives; /* that are planned, but those that are like another */
  Vec(LoopWatch *) loops;          /* of the entry, in the order in which chips come to them */
  JointKernel *joint_kernels;
  Visit *visits; /* of collectives by chips, ended or not */
  bool *ended;   /* by chip */
  Status status; /* the first failure: all chips stop where they are */
} Execution;

/* The ledger's op for an instruction. `like` has what is particular; texts that every op has are filled in.
 */
uint32_t execution_op(Execution *execution, uint32_t comp, uint32_t instr, const LedgerOp *like);
/* Remembers the first failure, and returns it. */
Status execution_fail(Execution *execution, Status status);

static inline const ValueOps *values_of(const Execution *execution) {
  return execution->options->values;
}

/* Collective instructions: which chips join, what they bring, which kernel runs. Executions that belong
 * together meet by instruction, group and how often each chip has come to it. */
#pragma once

#include "sim/engine/collective_plan.h"
#include "sim/engine/execution.h"
#include "sim/engine/payload.h"

/* An execution that has not been joined by all members yet. */
typedef struct {
  uint64_t count;
  Launch *launch;
  uint32_t joined;
} Meeting;

typedef struct {
  const CollectivePlan *plan;
  LaunchSpec spec;
  Vec(Meeting) meetings; /* of a folded run: all groups meet in the first */
} GroupRun;

/* One payload of the instruction. */
typedef struct {
  Payload in, out;
  GroupRun *groups;
} PayloadRun;

struct CollectiveOp {
  const CollectiveOp *like; /* an earlier one with the same plans; NULL: none */
  uint32_t comp;
  const Instr *instr; /* with the attributes */
  CollectiveKind kind;
  GroupList groups;               /* of chips */
  Pairs pairs;                    /* of a permute, of devices */
  uint32_t *group_of, *member_of; /* by chip; NO_ID in none */
  uint32_t simulated;             /* chips that run its kernels */
  uint64_t *counts;               /* executions by chip */
  const Shape **results;
  const Shape **carried_in, **carried_out; /* operands and results as they are in memory */
  uint32_t n_results;
  bool is_tuple; /* the result */
  Vec(PayloadRun) runs;
  bool entered; /* in the ledger, as: */
  uint32_t op, name;
  int64_t payload_bytes;
  double seconds;
  Visit *free_visits;
};

/* What an instruction of a collective (or the one that an async-start wraps) comes to, as it is planned. Made
 * once. */
Status collective_planned(Execution *execution, uint32_t comp, uint32_t instr, CollectiveOp **op);
/* The same, about to run: it has an op of the ledger too. */
Status collective_op(Execution *execution, uint32_t comp, uint32_t instr, CollectiveOp **op);

/* Runs it on a chip, from an actor of that chip, to its end. `operands` are borrowed, the result is given;
 * all are NULL where there are no values. */
Status collective_run(Execution *execution, CollectiveOp *op, uint32_t chip, Value *const *operands,
                      Value **result);
/* Drops what collectives that never ended refer to. */
void collectives_clear(const Execution *execution);

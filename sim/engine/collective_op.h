/* Collective instructions: which chips join, what they bring, which kernel runs. Executions that belong
 * together meet by instruction, group and how often each chip has come to it. */
#pragma once

#include "sim/engine/execution.h"

/* What an instruction of a collective (or the one that an async-start wraps) comes to. Made once. */
Status collective_op(Execution *execution, uint32_t comp, uint32_t instr, CollectiveOp **op);

/* Runs it on a chip, from an actor of that chip, to its end. `operands` are borrowed; the result is given.
 * Both are NULL where there are no values. */
Status collective_run(Execution *execution, CollectiveOp *op, uint32_t chip, Value *const *operands,
                      Value **result);

uint32_t collective_ledger_op(const CollectiveOp *op);
int64_t collective_payload_bytes(const CollectiveOp *op);
/* Seconds that a plan predicts for one execution. */
double collective_seconds(const CollectiveOp *op);

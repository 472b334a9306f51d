/* Stands in for execution until run.c is there; delete this file with it. */
#include "sim/engine/run.h"

Status schedule_run(const Pod *pod, const Schedule *schedule, const RunOptions *options, Ledger *ledger,
                    RunResult *result, Diag *diag) {
  (void)pod, (void)schedule, (void)options, (void)ledger, (void)result;
  return diag_fail(diag, STATUS_INVALID, NOWHERE, "podsim partition and podsim show work",
                   "programs cannot be run yet");
}

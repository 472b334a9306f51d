/* Search for a fold: chips are told apart by what they do in each collective of the schedule. Compute is the
 * same on all of them, and what they decide too, where the text alone tells trips and no branch is taken. */
#include "sim/engine/fold_search.h"

#include "sim/engine/async_op.h"
#include "sim/engine/collective_op.h"
#include "sim/engine/fold.h"
#include "sim/mosaic/mosaic.h"

static Status compare_step(Execution *execution, const Likeness *likeness, uint32_t comp, const Step *step) {
  bool starts = step->kind == STEP_START &&
                starts_collective(execution->module, comp_instr(execution->module, comp, step_instr(step)));
  if (step->kind != STEP_COLLECTIVE && !starts) return STATUS_OK;
  CollectiveOp *op;
  TRY(collective_planned(execution, comp, step_instr(step), &op));
  if (op->like != NULL) return STATUS_OK;
  uint64_t collective = (uint64_t)comp << 32 | step_instr(step);
  for (uint32_t i = 0; i < op->runs.n; i++) {
    const GroupRun *groups = op->runs.at[i].groups;
    for (uint32_t g = 0; g < op->groups.n; g++)
      if (groups[g].plan != NULL) likeness_add(likeness, execution->pod, &groups[g].spec, collective);
  }
  return STATUS_OK;
}

static Status compare_chips(Execution *execution, const Likeness *likeness) {
  for (uint32_t comp = 0; comp < execution->module->comps.n; comp++) {
    const CompSchedule *own = &execution->schedule->comps[comp];
    for (uint32_t i = 0; i < own->steps.n; i++)
      TRY(compare_step(execution, likeness, comp, &own->steps.at[i]));
  }
  return STATUS_OK;
}

static bool may_fold(const Execution *execution) {
  const Pod *pod = execution->pod;
  const Module *module = execution->module;
  bool wraps = false;
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) wraps = wraps || pod->wrap[axis];
  if (!execution->options->fold || !wraps || pod->twist || execution->devices != pod->n_chips) return false;
  for (uint32_t comp = 0; comp < module->comps.n; comp++)
    for (uint32_t i = 0; i < module->comps.at[comp].instrs.n; i++)
      if (mosaic_communicates(comp_instr(module, comp, i))) return false;
  return !schedule_decides(execution->schedule, module->entry);
}

Status fold_search(Execution *execution, const Fold **fold) {
  *fold = NULL;
  if (!may_fold(execution)) return STATUS_OK;
  Likeness likeness = {ARENA_ARRAY(execution->arena, uint64_t, execution->pod->n_chips)};
  TRY(compare_chips(execution, &likeness));
  Fold *found = ARENA_NEW(execution->arena, Fold);
  *found = fold_by_likeness(execution->pod, &likeness);
  if (fold_times(found) > 1) *fold = found;
  return STATUS_OK;
}

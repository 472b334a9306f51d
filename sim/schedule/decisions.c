/* Decisions: loops whose trips the text does not tell, and conditionals. */
#include "sim/schedule/schedule.h"

static bool step_decides(const Schedule *schedule, uint32_t comp, const Step *step) {
  const Instr *instr = comp_instr(schedule->module, comp, step->instrs.at[step->instrs.n - 1]);
  switch (step->kind) {
  case STEP_CONDITIONAL: return true;
  case STEP_WHILE:
    return step->trips < 0 || schedule_decides(schedule, instr_comp(instr, ATTR_body)) ||
           schedule_decides(schedule, instr_comp(instr, ATTR_condition));
  case STEP_CALL:
    return schedule_decides(schedule, instr_comp(instr, instr->op == OP_CALL ? ATTR_to_apply : ATTR_calls));
  default: return false;
  }
}

bool schedule_decides(const Schedule *schedule, uint32_t comp) {
  const CompSchedule *own = &schedule->comps[comp];
  for (uint32_t i = 0; i < own->steps.n; i++) {
    if (step_decides(schedule, comp, &own->steps.at[i])) return true;
  }
  return false;
}

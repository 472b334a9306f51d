/* A chip. Values of a step are computed by the pool while the chip's actor sleeps for the step's time, and
 * waited for only where the actor itself needs them: before a collective, a decision of control flow, or the
 * end. */
#include "sim/engine/chip.h"

#include "sim/base/mix.h"
#include "sim/engine/async_op.h"
#include "sim/engine/collective_op.h"
#include "sim/engine/control_flow.h"
#include "sim/engine/hbm_share.h"
#include "sim/engine/joint_kernel.h"

Chip *chip_new(Execution *execution, uint32_t number) {
  Chip *chip = ARENA_NEW(execution->arena, Chip);
  *chip = (Chip){.execution = execution, .number = number, .strand = strand_new(execution->pool)};
  return chip;
}

static void pass_time(Frame *frame, const Step *step) {
  int64_t start_ps = date_ps();
  if (step->time_ps == 0) return;
  pass_step_time(frame->chip->execution, frame->chip->number, step);
  frame_add_event(frame, step, start_ps,
                  (Event){.kind = EVENT_COMPUTE,
                          .op = frame_op(frame, step),
                          .bytes = step->demand.hbm_bytes,
                          .flops = step->demand.flops});
}

/* Also a fusion whose time stands in the step: it is evaluated whole. */
static Status run_compute(Frame *frame, const Step *step) {
  if (is_joint_kernel(frame, step)) return run_joint_kernel(frame, step);
  frame_compute(frame, step);
  pass_time(frame, step);
  return STATUS_OK;
}

static bool meets_others(const Execution *execution, uint32_t comp) {
  const CompSchedule *schedule = &execution->schedule->comps[comp];
  for (uint32_t i = 0; i < schedule->steps.n; i++) {
    const Step *step = &schedule->steps.at[i];
    if (step->kind == STEP_COLLECTIVE || step->kind == STEP_START || step->kind == STEP_DONE) return true;
    if (step->kind != STEP_CALL) continue;
    const Instr *instr = comp_instr(execution->module, comp, step_instr(step));
    if (meets_others(execution, instr_comp(instr, instr->op == OP_CALL ? ATTR_to_apply : ATTR_calls)))
      return true;
  }
  return false;
}

/* A fusion that holds a collective runs step by step, after the time of all that it computes. */
static Status run_called(Frame *frame, const Step *step) {
  const Instr *instr = frame_instr(frame, step_instr(step));
  bool whole = instr->op == OP_FUSION && !meets_others(frame->chip->execution, instr_comp(instr, ATTR_calls));
  if (whole) return run_compute(frame, step);
  pass_time(frame, step);
  return run_call(frame, step);
}

static Status run_collective(Frame *frame, const Step *step) {
  Execution *execution = frame->chip->execution;
  CollectiveOp *collective;
  Value *result;
  TRY(collective_op(execution, frame->comp, step_instr(step), &collective));
  TRY(frame_join(frame));
  int64_t start_ps = date_ps();
  frame_hold(frame, step);
  Status status = collective_run(execution, collective, frame->chip->number, frame->held, &result);
  frame_drop_held(frame);
  frame_set(frame, step, result);
  frame_release(frame, step);
  frame_add_event(frame, step, start_ps,
                  (Event){.kind = EVENT_COLLECTIVE,
                          .op = collective->op,
                          .bytes = collective->payload_bytes,
                          .flops = step->demand.flops});
  return execution_fail(execution, status);
}

/* Under --jitter a step starts up to some microseconds late, on each chip otherwise. */
static void skew(Chip *chip) {
  enum { MOST_PS = 5000000 };
  const RunOptions *options = chip->execution->options;
  uint64_t place = chip->steps++ * chip->execution->devices + chip->number;
  if (options->jitter)
    sleep_until_ps(date_ps() + (int64_t)(mix64(options->jitter_seed ^ mix64(place)) % MOST_PS));
}

static Status run_step(Frame *frame, const Step *step) {
  TRY(frame->chip->execution->status);
  if (step->kind != STEP_COMPUTE || step->time_ps > 0) skew(frame->chip);
  if (step->kind == STEP_WHILE || step->kind == STEP_CONDITIONAL || step->kind == STEP_CALL)
    TRY(frame_join(frame));
  switch (step->kind) {
  case STEP_COMPUTE: return run_compute(frame, step);
  case STEP_COLLECTIVE: return run_collective(frame, step);
  case STEP_HOST: return run_host(frame, step);
  case STEP_START: return run_start(frame, step);
  case STEP_DONE: return run_done(frame, step);
  case STEP_WHILE: return run_while(frame, step);
  case STEP_CONDITIONAL: return run_conditional(frame, step);
  case STEP_CALL: return run_called(frame, step);
  }
  return STATUS_OK;
}

Status run_computation(Chip *chip, uint32_t comp, Str trip, Value **arguments, Value **root) {
  Frame *frame = frame_new(chip, comp, trip, arguments);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < frame->schedule->steps.n && status == STATUS_OK; i++)
    status = run_step(frame, &frame->schedule->steps.at[i]);
  Status end = frame_end(frame, root);
  return status != STATUS_OK ? status : end;
}

static Value **entry_arguments(const Chip *chip) {
  Execution *execution = chip->execution;
  const ValueOps *values = values_of(execution);
  uint32_t n = module_entry(execution->module)->params.n;
  Value **arguments = ARENA_ARRAY(execution->arena, Value *, n + 1);
  for (uint32_t i = 0; values != NULL && i < n; i++)
    arguments[i] = values->parameter(values->self, execution->device_of[chip->number], i);
  return arguments;
}

/* A program of names alone leaves no event: one without length then says that the chip was there. */
static void add_empty_event(const Chip *chip) {
  Ledger *ledger = chip->execution->ledger;
  const Comp *entry = module_entry(chip->execution->module);
  ledger_add(ledger, (Event){.kind = EVENT_COMPUTE,
                             .track = TRACK_CORE,
                             .chip = chip->number,
                             .name = ledger_name(ledger, entry->instrs.at[entry->root].name),
                             .op = NO_OP,
                             .peer = NO_PEER});
}

void chip_clear(Chip *chip) {
  asyncs_clear(chip);
  while (chip->frame != NULL) frame_free(chip->frame);
}

void chip_run(void *argument) {
  Chip *chip = argument;
  Execution *execution = chip->execution;
  Status status =
      run_computation(chip, execution->module->entry, (Str){0}, entry_arguments(chip), &chip->root);
  execution_fail(execution, status);
  if (chip->events == 0) add_empty_event(chip);
  chip->end_ps = date_ps();
  execution->ended[chip->number] = true;
}

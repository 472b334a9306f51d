/* Frames. What a step needs stands still until the pool has come to it, because every change of a frame's
 * values goes through the chip's strand, or happens when the strand is empty. */
#include "sim/engine/frame.h"

#include "sim/engine/async_op.h"

#include <stdio.h>
#include <stdlib.h>

static void *zeroed(size_t n, size_t size) {
  void *memory = calloc(n == 0 ? 1 : n, size);
  if (memory != NULL) return memory;
  fputs("podsim: out of memory\n", stderr);
  abort();
}

static uint32_t most_operands(const Comp *body) {
  uint32_t most = 2;
  for (uint32_t i = 0; i < body->instrs.n; i++)
    if (body->instrs.at[i].operands.n > most) most = body->instrs.at[i].operands.n;
  return most;
}

Frame *frame_new(Chip *chip, uint32_t comp, Str trip, Value **arguments) {
  const Comp *body = module_comp(chip->execution->module, comp);
  Frame *frame = zeroed(1, sizeof *frame);
  uint32_t n_held = most_operands(body);
  *frame = (Frame){.chip = chip,
                   .caller = chip->frame,
                   .comp = comp,
                   .schedule = &chip->execution->schedule->comps[comp],
                   .trip = trip,
                   .values = zeroed(body->instrs.n, sizeof *frame->values),
                   .held = zeroed(n_held, sizeof *frame->held),
                   .n_held = n_held};
  for (uint32_t i = 0; i < body->params.n; i++) {
    frame->values[body->params.at[i]] = arguments[i];
    arguments[i] = NULL;
  }
  chip->frame = frame;
  return frame;
}

Value *value_retain(const Frame *frame, Value *value) {
  const ValueOps *values = values_of(frame->chip->execution);
  return value == NULL ? NULL : values->retain(values->self, value);
}

void value_release(const Frame *frame, Value *value) {
  const ValueOps *values = values_of(frame->chip->execution);
  if (value != NULL) values->release(values->self, value);
}

static void drop(const Frame *frame, uint32_t instr) {
  value_release(frame, frame->values[instr]);
  frame->values[instr] = NULL;
}

void frame_drop_held(Frame *frame) {
  for (uint32_t i = 0; i < frame->n_held; i++) {
    value_release(frame, frame->held[i]);
    frame->held[i] = NULL;
  }
}

void frame_free(Frame *frame) {
  uint32_t n = module_comp(frame->chip->execution->module, frame->comp)->instrs.n;
  for (uint32_t i = 0; i < n; i++) drop(frame, i);
  frame_drop_held(frame);
  asyncs_drop_results(frame);
  frame->chip->frame = frame->caller;
  free(frame->values);
  free(frame->held);
  free(frame->asyncs);
  free(frame);
}

Status frame_end(Frame *frame, Value **root) {
  Status status = frame_join(frame);
  uint32_t at = module_comp(frame->chip->execution->module, frame->comp)->root;
  *root = frame->values[at];
  frame->values[at] = NULL;
  frame_free(frame);
  return status;
}

const Instr *frame_instr(const Frame *frame, uint32_t instr) {
  return comp_instr(frame->chip->execution->module, frame->comp, instr);
}

uint32_t step_instr(const Step *step) {
  return step->instrs.at[step->instrs.n - 1];
}

/* ---- in the pool */

typedef struct {
  Frame *frame;
  const Step *step;
} Task;

static void drop_dead(void *argument) {
  Task task = *(Task *)argument;
  free(argument);
  for (uint32_t i = 0; i < task.step->frees.n; i++) drop(task.frame, task.step->frees.at[i]);
}

static Status evaluate(Frame *frame, uint32_t at, Value **operands) {
  Chip *chip = frame->chip;
  const Instr *instr = frame_instr(frame, at);
  const bool *given_up = chip->execution->infos[frame->comp][at].given_up;
  const ValueOps *values = values_of(chip->execution);
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    operands[i] = frame->values[instr->operands.at[i]];
    if (operands[i] != NULL) continue;
    chip->failed = instr;
    return STATUS_INVALID;
  }
  TRY(values->evaluate(values->self, chip->execution->device_of[chip->number], frame->comp, instr, operands,
                       given_up, &frame->values[at]));
  for (uint32_t i = 0; given_up != NULL && i < instr->operands.n; i++)
    if (given_up[i]) drop(frame, instr->operands.at[i]);
  return STATUS_OK;
}

static void evaluate_step(void *argument) {
  Task task = *(Task *)argument;
  Chip *chip = task.frame->chip;
  Value **operands = zeroed(task.frame->n_held, sizeof *operands);
  for (uint32_t i = 0; i < task.step->instrs.n && chip->status == STATUS_OK; i++) {
    uint32_t at = task.step->instrs.at[i];
    if (frame_instr(task.frame, at)->op != OP_PARAMETER) chip->status = evaluate(task.frame, at, operands);
  }
  free(operands);
  drop_dead(argument);
}

static void post(Frame *frame, const Step *step, void (*work)(void *argument)) {
  if (values_of(frame->chip->execution) == NULL) return;
  Task *task = zeroed(1, sizeof *task);
  *task = (Task){frame, step};
  strand_post(frame->chip->strand, work, task);
}

/* ---- on the chip's actor */

void frame_compute(Frame *frame, const Step *step) {
  post(frame, step, evaluate_step);
}

void frame_release(Frame *frame, const Step *step) {
  if (step->frees.n > 0) post(frame, step, drop_dead);
}

Status frame_join(Frame *frame) {
  Chip *chip = frame->chip;
  strand_join(chip->strand);
  if (chip->failed != NULL)
    diag_fail(chip->execution->diag, STATUS_INVALID, chip->failed->place, NULL,
              "%.*s: uses what an asynchronous operation has not delivered", STR_ARG(chip->failed->name));
  return execution_fail(chip->execution, chip->status);
}

void frame_set(Frame *frame, const Step *step, Value *result) {
  strand_join(frame->chip->strand);
  frame->values[step_instr(step)] = result;
  for (uint32_t i = 0; i < step->frees.n; i++)
    if (step->frees.at[i] == step_instr(step)) drop(frame, step_instr(step));
}

void frame_hold(Frame *frame, const Step *step) {
  Ids operands = frame_instr(frame, step_instr(step))->operands;
  for (uint32_t i = 0; i < operands.n; i++)
    frame->held[i] = value_retain(frame, frame->values[operands.at[i]]);
}

uint32_t frame_name(const Frame *frame, uint32_t instr) {
  Execution *execution = frame->chip->execution;
  Str name = frame_instr(frame, instr)->name;
  if (frame->trip.n == 0) return ledger_name(execution->ledger, name);
  char text[512];
  int n = snprintf(text, sizeof text, "%.*s%.*s", STR_ARG(name), STR_ARG(frame->trip));
  return ledger_name(execution->ledger, (Str){text, n < (int)sizeof text ? (size_t)n : sizeof text - 1});
}

uint32_t frame_op(const Frame *frame, const Step *step) {
  static const char *const bounds[] = {
      [BOUND_FREE] = "",   [BOUND_COMPUTE] = "compute", [BOUND_HBM] = "HBM",   [BOUND_VMEM] = "VMEM",
      [BOUND_ICI] = "ICI", [BOUND_LATENCY] = "latency", [BOUND_HOST] = "PCIe",
  };
  LedgerOp like = {.bound = str_of(bounds[step->bound]),
                   .product = step->demand.mxu_ps > 0,
                   .is_host = step->demand.host_bytes > 0};
  return execution_op(frame->chip->execution, frame->comp, step_instr(step), &like);
}

void frame_add_event(const Frame *frame, const Step *step, int64_t start_ps, Event event) {
  Chip *chip = frame->chip;
  chip->events++;
  event.track = TRACK_CORE;
  event.chip = chip->number;
  event.name = frame_name(frame, step_instr(step));
  event.peer = NO_PEER;
  event.start_ps = start_ps;
  event.duration_ps = date_ps() - start_ps;
  ledger_add(chip->execution->ledger, event);
}

/* Control flow. A loop's carry is handed on from trip to trip by reference, so that updates in place stay in
 * place. */
#include "sim/engine/control_flow.h"

#include "sim/engine/chip.h"
#include "sim/engine/collective_op.h"
#include "sim/engine/settle.h"

#include <stdio.h>

static bool integer_of(const Frame *frame, Value *value, int64_t *number) {
  const ValueOps *values = values_of(frame->chip->execution);
  return value != NULL && values->integer(values->self, value, number);
}

static bool number_named(const NamedNumber *numbers, uint32_t n, Str name, int64_t *number) {
  for (uint32_t i = 0; i < n; i++) {
    if (!str_eq(numbers[i].name, name)) continue;
    *number = numbers[i].number;
    return true;
  }
  return false;
}

/* ---- while */

/* `while True`: the condition is a constant. */
static bool is_endless(const Frame *frame, const Instr *loop) {
  const Module *module = frame->chip->execution->module;
  const Comp *condition = module_comp(module, instr_comp(loop, ATTR_condition));
  const Instr *root = &condition->instrs.at[condition->root];
  return root->op == OP_CONSTANT && root->literal->data != NULL && literal_int_at(root->literal, 0) != 0;
}

/* How often a loop runs whose condition's value is not known, or tells nothing. */
static Status untold_trips(const Frame *frame, const Step *step, int64_t *trips) {
  const Execution *execution = frame->chip->execution;
  const Instr *instr = frame_instr(frame, step_instr(step));
  *trips = step->trips;
  if (number_named(execution->options->trips, execution->options->n_trips, instr->name, trips))
    return STATUS_OK;
  if (*trips >= 0) return STATUS_OK;
  char hint[256];
  snprintf(hint, sizeof hint, "say how often it runs with --trip %.*s=N", STR_ARG(instr->name));
  RETURN_IF(is_endless(frame, instr),
            diag_fail(execution->diag, STATUS_INVALID, instr->place, hint,
                      "%.*s: this loop never ends: its condition is always true", STR_ARG(instr->name)));
  return diag_fail(execution->diag, STATUS_INVALID, instr->place, hint,
                   "%.*s: how often this loop runs depends on data, and no values are computed",
                   STR_ARG(instr->name));
}

/* Runs the condition on the carry, held[0], which stays. */
static Status goes_on(Frame *frame, const Step *step, int64_t trip, Str trip_text, bool *more) {
  const Instr *instr = frame_instr(frame, step_instr(step));
  Value *root;
  int64_t decision, trips;
  frame->held[1] = value_retain(frame, frame->held[0]);
  TRY(run_computation(frame->chip, instr_comp(instr, ATTR_condition), trip_text, &frame->held[1], &root));
  bool known = integer_of(frame, root, &decision);
  value_release(frame, root);
  *more = known && decision != 0;
  if (known && !is_endless(frame, instr)) return STATUS_OK;
  TRY(untold_trips(frame, step, &trips));
  *more = trip < trips;
  return STATUS_OK;
}

/* Arrays whose values are not known. */
static Value *unknown_value(const ValueOps *values, const Shape *shape) {
  if (!shape_is_tuple(shape)) return values->array(values->self, shape, false);
  Arena *scratch = arena_new();
  Value **parts = ARENA_ARRAY(scratch, Value *, shape->rank + 1);
  for (uint32_t i = 0; i < shape->rank; i++) parts[i] = unknown_value(values, shape->parts[i]);
  Value *tuple = values->tuple(values->self, parts, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++) values->release(values->self, parts[i]);
  arena_free(scratch);
  return tuple;
}

/* What counts the trips stands too low where some were left out. */
static void forget_carry(Frame *frame, const Step *step) {
  if (frame->held[0] == NULL) return;
  value_release(frame, frame->held[0]);
  frame->held[0] =
      unknown_value(values_of(frame->chip->execution), frame_instr(frame, step_instr(step))->shape);
}

Status run_while(Frame *frame, const Step *step) {
  Chip *chip = frame->chip;
  uint32_t body = instr_comp(frame_instr(frame, step_instr(step)), ATTR_body);
  LoopWatch *watch = loop_watch(frame, step);
  int64_t left_out = 0;
  frame_hold(frame, step);
  frame_release(frame, step);
  for (int64_t trip = 0;; trip++) {
    if (watch != NULL) left_out = loop_trips_left_out(watch, chip->number, trip);
    Str text = str_printf(chip->execution->arena, "%.*s[%ld]", STR_ARG(frame->trip), (long)(trip + left_out));
    bool more;
    TRY(goes_on(frame, step, trip, text, &more));
    if (left_out > 0) more = trip + left_out < loop_trips(watch);
    if (!more) break;
    TRY(run_computation(chip, body, text, &frame->held[0], &frame->held[0]));
  }
  if (left_out > 0) forget_carry(frame, step);
  frame_set(frame, step, frame->held[0]);
  frame->held[0] = NULL;
  return STATUS_OK;
}

/* ---- conditional */

static Ids branches_of(Arena *arena, const Instr *instr) {
  Ids branches = instr_comps(instr, ATTR_branch_computations);
  if (branches.n > 0) return branches;
  branches = (Ids){ARENA_ARRAY(arena, uint32_t, 2), 2};
  branches.at[0] = instr_comp(instr, ATTR_true_computation);
  branches.at[1] = instr_comp(instr, ATTR_false_computation);
  return branches;
}

/* What a computation takes by its steps alone, loops of unknown trips once. */
static double comp_seconds(Execution *execution, uint32_t comp);

static double step_seconds(Execution *execution, uint32_t comp, const Step *step) {
  const Instr *instr = comp_instr(execution->module, comp, step_instr(step));
  CollectiveOp *collective;
  if (step->kind == STEP_COLLECTIVE || (step->kind == STEP_START && op_is_collective(instr->op)))
    return collective_op(execution, comp, step_instr(step), &collective) == STATUS_OK ? collective->seconds
                                                                                      : 0;
  double own = (double)step->time_ps * 1e-12, called = 0;
  bool is_choice = step->kind == STEP_CONDITIONAL;
  if (step->kind != STEP_WHILE && step->kind != STEP_CALL && !is_choice) return own;
  Ids comps = instr_called(execution->arena, instr);
  for (uint32_t i = 0; i < comps.n; i++) {
    double seconds = comp_seconds(execution, comps.at[i]);
    called = !is_choice ? called + seconds : seconds > called ? seconds : called;
  }
  return own + called * (step->kind == STEP_WHILE && step->trips > 0 ? (double)step->trips : 1);
}

static double comp_seconds(Execution *execution, uint32_t comp) {
  const CompSchedule *schedule = &execution->schedule->comps[comp];
  double sum = 0;
  for (uint32_t i = 0; i < schedule->steps.n; i++)
    sum += step_seconds(execution, comp, &schedule->steps.at[i]);
  return sum;
}

static int64_t costliest(Execution *execution, const Instr *instr, Ids branches) {
  int64_t best = 0;
  double most = -1;
  for (uint32_t i = 0; i < branches.n; i++) {
    double seconds = comp_seconds(execution, branches.at[i]);
    if (seconds > most) best = i, most = seconds;
  }
  diag_note(
      execution->diag, instr->place,
      "%.*s: which branch runs depends on data, and no values are computed: the costliest, %ld, is taken "
      "(another with --branch %.*s=K)",
      STR_ARG(instr->name), (long)best, STR_ARG(instr->name));
  return best;
}

/* A predicate chooses the first branch where it holds; an index beyond the branches the last. */
static int64_t choose_branch(const Frame *frame, const Instr *instr, Ids branches, Value *chooser) {
  Execution *execution = frame->chip->execution;
  const RunOptions *options = execution->options;
  bool is_predicate = frame_instr(frame, instr->operands.at[0])->shape->dtype == DTYPE_PRED;
  int64_t choice;
  if (integer_of(frame, chooser, &choice)) {
    if (is_predicate) choice = choice == 0;
  } else if (!number_named(options->branches, options->n_branches, instr->name, &choice)) {
    choice = costliest(execution, instr, branches);
  }
  return choice < 0 || choice >= branches.n ? branches.n - 1 : choice;
}

Status run_conditional(Frame *frame, const Step *step) {
  const Instr *instr = frame_instr(frame, step_instr(step));
  Ids branches = branches_of(frame->chip->execution->arena, instr);
  Value *result;
  frame_hold(frame, step);
  frame_release(frame, step);
  int64_t choice = choose_branch(frame, instr, branches, frame->held[0]);
  TRY(run_computation(frame->chip, branches.at[choice], frame->trip, &frame->held[choice + 1], &result));
  frame_drop_held(frame);
  frame_set(frame, step, result);
  return STATUS_OK;
}

/* ---- call */

Status run_call(Frame *frame, const Step *step) {
  const Instr *instr = frame_instr(frame, step_instr(step));
  uint32_t callee = instr_comp(instr, instr->op == OP_CALL ? ATTR_to_apply : ATTR_calls);
  Value *result;
  frame_hold(frame, step);
  frame_release(frame, step);
  TRY(run_computation(frame->chip, callee, frame->trip, frame->held, &result));
  frame_drop_held(frame);
  frame_set(frame, step, result);
  return STATUS_OK;
}

/* A run: a SimGrid actor for each chip, the pool beside it, and what came of it. */
#include "sim/engine/run.h"

#include "models/kernel_model.h"
#include "sim/engine/chip.h"
#include "sim/engine/collective_op.h"
#include "sim/engine/deadlock.h"
#include "sim/engine/fold.h"
#include "sim/engine/fold_search.h"
#include "sim/engine/joint_kernel.h"
#include "sim/engine/settle.h"

uint32_t execution_op(Execution *execution, uint32_t comp, uint32_t instr, const LedgerOp *like) {
  InstrInfo *info = &execution->infos[comp][instr];
  if (info->op != NO_OP) return info->op;
  const Instr *own = comp_instr(execution->module, comp, instr);
  LedgerOp op = *like;
  op.name = own->name;
  op.category = holds_mosaic_kernel(own) ? STR("Pallas kernel") : str_of(op_text(own->op));
  op.shape = shape_text(execution->arena, own->shape);
  op.op_name = own->origin.op_name;
  if (own->origin.file.n > 0)
    op.source = str_printf(execution->arena, "%.*s:%u", STR_ARG(own->origin.file), own->origin.line);
  info->op = ledger_op(execution->ledger, &op);
  VEC_PUSH(execution->arena, &execution->op_instrs, own);
  return info->op;
}

Status execution_fail(Execution *execution, Status status) {
  if (execution->status == STATUS_OK) execution->status = status;
  return status;
}

/* ---- what each instruction gives up */

static bool used_once(const Instr *instr, uint32_t operand) {
  uint32_t uses = 0;
  for (uint32_t i = 0; i < instr->operands.n; i++) uses += instr->operands.at[i] == operand;
  return uses == 1;
}

/* Operands that die in a step are given up by the last instruction of the step that uses them. */
static void find_given_up(Execution *execution, uint32_t comp, const Step *step, bool *dies, uint32_t *uses) {
  const Comp *body = module_comp(execution->module, comp);
  for (uint32_t i = 0; i < step->frees.n; i++) dies[step->frees.at[i]] = true;
  for (uint32_t i = 0; i < step->instrs.n; i++) {
    const Instr *instr = &body->instrs.at[step->instrs.at[i]];
    for (uint32_t k = 0; k < instr->operands.n; k++) uses[instr->operands.at[k]]++;
  }
  for (uint32_t i = 0; i < step->instrs.n; i++) {
    const Instr *instr = &body->instrs.at[step->instrs.at[i]];
    bool *given_up = ARENA_ARRAY(execution->arena, bool, instr->operands.n + 1);
    for (uint32_t k = 0; k < instr->operands.n; k++) {
      uint32_t operand = instr->operands.at[k];
      given_up[k] = --uses[operand] == 0 && dies[operand] && used_once(instr, operand) &&
                    instr->host_move == HOST_MOVE_NONE; /* which may be read on between start and done */
    }
    execution->infos[comp][step->instrs.at[i]].given_up = given_up;
  }
  for (uint32_t i = 0; i < step->frees.n; i++) dies[step->frees.at[i]] = false;
}

static void prepare_infos(Execution *execution) {
  const Module *module = execution->module;
  execution->infos = ARENA_ARRAY(execution->arena, InstrInfo *, module->comps.n);
  for (uint32_t comp = 0; comp < module->comps.n; comp++) {
    uint32_t n = module_comp(module, comp)->instrs.n;
    const CompSchedule *schedule = &execution->schedule->comps[comp];
    execution->infos[comp] = ARENA_ARRAY(execution->arena, InstrInfo, n);
    for (uint32_t i = 0; i < n; i++) execution->infos[comp][i].op = NO_OP;
    bool *dies = ARENA_ARRAY(execution->arena, bool, n);
    uint32_t *uses = ARENA_ARRAY(execution->arena, uint32_t, n);
    for (uint32_t i = 0; i < schedule->steps.n; i++)
      find_given_up(execution, comp, &schedule->steps.at[i], dies, uses);
  }
}

/* ---- the run */

static Status check_devices(Execution *execution) {
  const Module *module = execution->module;
  int64_t devices;
  bool fits = !__builtin_mul_overflow(module->num_partitions, module->replica_count, &devices) &&
              devices > 0 && devices <= execution->pod->n_chips;
  RETURN_IF(!fits,
            diag_fail(execution->diag, STATUS_INVALID, NOWHERE, "choose a pod with as many chips",
                      "the program is for %ld x %ld devices, the pod has %u chips",
                      (long)module->replica_count, (long)module->num_partitions, execution->pod->n_chips));
  execution->devices = (uint32_t)devices;
  return STATUS_OK;
}

static Status run_chips(Execution *execution, Chip **chips) {
  for (uint32_t i = 0; i < execution->n_simulated; i++) {
    uint32_t chip = execution->simulated[i];
    chips[chip] = chip_new(execution, chip);
    actors_start(execution->machine->actors, chip_run, chips[chip]);
  }
  bool ended = actors_run(execution->machine->actors);
  TRY(execution->status);
  TRY(execution->machine->status);
  return ended ? STATUS_OK : deadlock_report(execution);
}

/* Where each device runs. */
static void place_devices(Execution *execution) {
  uint32_t n = execution->devices;
  execution->chip_of = ARENA_ARRAY(execution->arena, uint32_t, n);
  execution->device_of = ARENA_ARRAY(execution->arena, uint32_t, n);
  for (uint32_t device = 0; device < n; device++) {
    uint32_t chip = execution->options->chip_of == NULL ? device : execution->options->chip_of[device];
    execution->chip_of[device] = chip;
    execution->device_of[chip] = device;
  }
}

/* Of a run that failed, what some chips have come to is dropped. A folded run has outputs of the simulated
 * chips alone. */
static void fill_result(const Execution *execution, Chip *const *chips, bool ended, RunResult *result) {
  Arena *arena = execution->ledger->arena;
  *result = (RunResult){.chip_end_ps = ARENA_ARRAY(arena, int64_t, execution->pod->n_chips),
                        .outputs = ARENA_ARRAY(arena, Value *, execution->pod->n_chips)};
  for (uint32_t i = 0; i < execution->devices; i++) {
    const Chip *chip = chips[fold_chip(execution->machine->fold, i)];
    result->chip_end_ps[i] = chip->end_ps;
    if (chip->end_ps > result->end_ps) result->end_ps = chip->end_ps;
    if (chip->number != i) continue;
    if (ended)
      result->outputs[execution->device_of[i]] = chip->root;
    else if (chip->root != NULL)
      values_of(execution)->release(values_of(execution)->self, chip->root);
  }
}

/* A thread has a chip's op at a time, so more threads than chips would idle. Where only loop counters are
 * computed, threads would wait for each other most of the time. */
static uint32_t workers_of(const Execution *execution) {
  uint32_t wanted = execution->options->settle_loops ? 1 : execution->options->workers;
  return wanted < execution->devices ? wanted : execution->devices;
}

/* The chips that are simulated: all, or one for those that are alike. */
static Status choose_chips(Execution *execution, const Fold **fold) {
  TRY(fold_search(execution, fold));
  execution->simulated = ARENA_ARRAY(execution->arena, uint32_t, execution->devices);
  for (uint32_t chip = 0; chip < execution->devices; chip++)
    if (fold_chip(*fold, chip) == chip) execution->simulated[execution->n_simulated++] = chip;
  if (*fold != NULL) memcpy(execution->ledger->stride, (*fold)->stride, sizeof execution->ledger->stride);
  return STATUS_OK;
}

static Status run_in(Execution *execution, RunResult *result) {
  const Fold *fold;
  TRY(check_devices(execution));
  place_devices(execution);
  prepare_infos(execution);
  TRY(choose_chips(execution, &fold));
  execution->ended = ARENA_ARRAY(execution->arena, bool, execution->devices);
  TRY(machine_new(execution->arena, execution->pod, fold, execution->options, execution->ledger,
                  &execution->machine, execution->diag));
  execution->pool = pool_new(workers_of(execution));
  Chip **chips = ARENA_ARRAY(execution->arena, Chip *, execution->devices);
  Status status = run_chips(execution, chips);
  pool_free(execution->pool);
  for (uint32_t i = 0; i < execution->n_simulated; i++) chip_clear(chips[execution->simulated[i]]);
  collectives_clear(execution);
  joint_kernels_clear(execution);
  machine_free(execution->machine);
  int64_t left_out_ps = loops_fill_in(execution);
  for (uint32_t i = 0; i < execution->n_simulated; i++) chips[execution->simulated[i]]->end_ps += left_out_ps;
  fill_result(execution, chips, status == STATUS_OK, result);
  return status;
}

Status schedule_run(const Pod *pod, const Schedule *schedule, const RunOptions *options, Ledger *ledger,
                    RunResult *result, Diag *diag) {
  Arena *arena = arena_new();
  Execution execution = {.arena = arena,
                         .pod = pod,
                         .schedule = schedule,
                         .module = schedule->module,
                         .options = options,
                         .ledger = ledger,
                         .diag = diag,
                         .first_op = ledger->ops.n};
  Status status = run_in(&execution, result);
  arena_free(arena);
  return status;
}

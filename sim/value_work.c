/* Work of values. A walk over what the entry calls, each computation once. Evaluating is bound by memory but
 * for products, so bytes count most; weights are what podsim's own ops took beside its products (some 16
 * GFLOP/s a core). */
#include "sim/value_work.h"

#include "models/demand.h"

#include <math.h>

static const double OP_WORK = 16e3;         /* to evaluate an op at all: 1 us */
static const double WRITTEN_BYTE_WORK = 32; /* 2 ns */
static const double DRAWN_BYTE_WORK = 256;  /* 16 ns */

typedef struct {
  const Module *module;
  Arena *arena;
  double *work; /* by computation, without FLOPs; negative until it is known */
} Walk;

static double comp_work(Walk *walk, uint32_t comp);

static double called_work(Walk *walk, uint32_t comp, const Instr *instr) {
  Ids called = instr_called(walk->arena, instr);
  double sum = 0, most = 0;
  for (uint32_t i = 0; i < called.n; i++) {
    double work = comp_work(walk, called.at[i]);
    sum += work;
    most = fmax(most, work);
  }
  if (instr->op == OP_CONDITIONAL) return most;
  if (instr->op != OP_WHILE) return sum;
  int64_t trips = while_trip_count(walk->module, comp, instr);
  return sum * (trips < 0 ? 1 : (double)trips);
}

/* Whether what it calls runs as a program does, not element by element as a reduction's sum. */
static bool calls_program(const Instr *instr) {
  StepKind kind = step_kind_of(instr);
  return kind == STEP_WHILE || kind == STEP_CONDITIONAL || kind == STEP_CALL || kind == STEP_START;
}

static double brought_bytes(const Walk *walk, uint32_t comp, const Instr *instr) {
  double given = 0;
  for (uint32_t i = 0; i < instr->operands.n; i++)
    given += (double)shape_bytes(comp_instr(walk->module, comp, instr->operands.at[i])->shape);
  return fmax(given, (double)shape_bytes(instr->shape));
}

static double instr_work(Walk *walk, uint32_t comp, const Instr *instr) {
  if (demand_is_free(walk->module, comp, instr)) return 0;
  double bytes = op_is_collective(instr->op) ? brought_bytes(walk, comp, instr)
                                             : (double)demand_write_bytes(walk->module, comp, instr);
  double called = calls_program(instr) && !op_is_collective(instr->op) ? called_work(walk, comp, instr) : 0;
  return OP_WORK + WRITTEN_BYTE_WORK * bytes + called;
}

static double comp_work(Walk *walk, uint32_t comp) {
  if (walk->work[comp] >= 0) return walk->work[comp];
  const Comp *body = module_comp(walk->module, comp);
  double sum = 0;
  for (uint32_t i = 0; i < body->instrs.n; i++) sum += instr_work(walk, comp, &body->instrs.at[i]);
  return walk->work[comp] = sum;
}

double value_work(const Partitioned *partitioned, const Schedule *schedule, uint32_t devices, bool draws) {
  Arena *scratch = arena_new();
  const Module *module = schedule->module;
  Walk walk = {.module = module, .arena = scratch, .work = ARENA_ARRAY(scratch, double, module->comps.n)};
  for (uint32_t i = 0; i < module->comps.n; i++) walk.work[i] = -1;
  double work = (double)devices * ((double)schedule->flops + comp_work(&walk, module->entry));
  for (uint32_t i = 0; draws && i < partitioned->n_params; i++)
    work += DRAWN_BYTE_WORK * (double)shape_bytes(partitioned->global_params[i]);
  arena_free(scratch);
  return work;
}

/* The choice of what loops fetch ahead. In: a program for one device and the pod. Out: the program with those
 * loops pipelined where that hides communication.
 *
 * The one idea: a collective that the products before its first use can hide stays in its iteration. One that
 * takes longer is fetched in the iteration before. The program must not have been scheduled, and the loop
 * must run a known number of times, at least twice. */
#include "sim/loop_prefetch.h"

#include "models/cost.h"
#include "models/demand.h"
#include "sim/partition/pipelined_loop.h"
#include "sim/schedule/collective_time.h"
#include "sim/schedule/schedule.h"

/* The first instruction of a computation that uses a value. */
static uint32_t first_user(const Comp *comp, uint32_t value) {
  for (uint32_t i = value + 1; i < comp->instrs.n; i++) {
    Ids operands = comp->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++)
      if (operands.at[k] == value) return i;
  }
  return comp->instrs.n;
}

static double products_ps(const Module *module, const Pod *pod, uint32_t comp, uint32_t until) {
  double sum = 0;
  for (uint32_t i = 0; i < until; i++) {
    const Instr *instr = comp_instr(module, comp, i);
    if (op_cost(instr->op) == COST_MXU)
      sum += (double)demand_ps(pod, demand_of(pod, module, comp, instr), NULL);
  }
  return sum;
}

static bool is_worth_it(const Module *module, const Pod *pod, uint32_t comp, uint32_t collective) {
  uint32_t user = first_user(module_comp(module, comp), collective);
  const Instr *instr = comp_instr(module, comp, collective);
  return collective_time(pod, module, comp, instr).ps > products_ps(module, pod, comp, user);
}

static bool holds_loop(const Comp *comp) {
  for (uint32_t i = 0; i < comp->instrs.n; i++)
    if (comp->instrs.at[i].op == OP_WHILE) return true;
  return false;
}

static bool keep_loop(const Module *module, const Pod *pod, PipelinedLoop *loop) {
  const Instr *instr = comp_instr(module, loop->comp, loop->loop);
  uint32_t body = instr_comp(instr, ATTR_body), n = 0;
  if (while_trip_count(module, loop->comp, instr) < 2 || holds_loop(module_comp(module, body))) return false;
  for (uint32_t i = 0; i < loop->ahead.n; i++)
    if (is_worth_it(module, pod, body, loop->ahead.at[i])) loop->ahead.at[n++] = loop->ahead.at[i];
  loop->ahead.n = n;
  return n > 0;
}

Partitioned *loop_prefetch(Partitioned *program, const Pod *pod) {
  if (!pod->loop_prefetch || !pod->overlap || module_is_scheduled(program->module)) return program;
  Arena *scratch = arena_new();
  PipelinedLoops loops = pipelined_loops_find(scratch, program);
  uint32_t n = 0;
  for (uint32_t i = 0; i < loops.n; i++)
    if (keep_loop(program->module, pod, &loops.at[i])) loops.at[n++] = loops.at[i];
  loops.n = n;
  Partitioned *made = n > 0 ? partitioned_pipeline(program, &loops) : program;
  arena_free(scratch);
  return made;
}

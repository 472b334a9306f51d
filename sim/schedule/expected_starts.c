/* Expected starts. In: the groups of a computation in their order; out: when each begins, roughly.
 *
 * The one idea: whoever gives out VMEM knows no times yet. A kernel is taken to run as long as its units
 * need, or as all of its bytes would take from HBM, and each loop five times, however often it runs (the cost
 * analysis of XLA's memory space assignment). A ring of products is such a loop, of two steps a trip. */
#include "sim/schedule/expected_starts.h"

#include "models/cost.h"
#include "sim/schedule/schedule.h"
#include "sim/schedule/traffic.h"

#include <math.h>

enum { LOOP_TRIPS = 5, BLOCKS_A_TRIP = 4 };

typedef struct {
  const Pod *pod;
  const Module *module;
  uint32_t comp;
  const Comp *body;
  Groups groups;
} Clock;

static int64_t target_of(Pairs pairs, int64_t source) {
  for (uint32_t i = 0; i < pairs.n; i++)
    if (pairs.at[i].source == source) return pairs.at[i].target;
  return -1;
}

/* The devices of the ring that a permute goes round; 0: it goes round none. */
static uint32_t ring_devices(const Instr *permute) {
  if (permute->op != OP_COLLECTIVE_PERMUTE) return 0;
  Pairs pairs = instr_pairs(permute);
  if (pairs.n == 0) return 0;
  int64_t first = pairs.at[0].source, at = first;
  for (uint32_t hops = 1; hops <= pairs.n && at >= 0; hops++) {
    at = target_of(pairs, at);
    if (at == first) return hops;
  }
  return 0;
}

static const Instr *named(const Clock *clock, uint32_t at) {
  const Instr *instr = &clock->body->instrs.at[at];
  while (is_name(clock->module, clock->comp, instr)) instr = &clock->body->instrs.at[instr->operands.at[0]];
  return instr;
}

/* How many times longer the products of a ring are expected to take, which runs as a loop: they take
 * something over its border, and blocks that permutes bring. */
static double ring_share(const Clock *clock, uint32_t group) {
  Ids members = group_members(&clock->groups, group);
  uint32_t devices = 0;
  bool enters = false;
  for (uint32_t i = 0; i < members.n; i++) {
    Ids operands = clock->body->instrs.at[members.at[i]].operands;
    for (uint32_t k = 0; k < operands.n; k++) {
      Opcode op = clock->body->instrs.at[operands.at[k]].op;
      enters = enters || op == OP_OPT_BARRIER || op == OP_ADD_DEPENDENCY;
      if (devices == 0) devices = ring_devices(named(clock, operands.at[k]));
    }
  }
  return enters && devices > 0 ? (double)LOOP_TRIPS * BLOCKS_A_TRIP / devices : 1;
}

/* Of a loop's body, without loops within it. */
static double products_ps(const Clock *clock, uint32_t comp) {
  const Comp *body = module_comp(clock->module, comp);
  double sum_ps = 0;
  for (uint32_t i = 0; i < body->instrs.n; i++) {
    const Instr *instr = &body->instrs.at[i];
    if (op_cost(instr->op) != COST_MXU) continue;
    double units_ps = (double)demand_of_units(clock->pod, clock->module, comp, instr).mxu_ps;
    sum_ps +=
        fmax(units_ps, (double)demand_hbm_ps(clock->pod, demand_of(clock->pod, clock->module, comp, instr)));
  }
  return sum_ps;
}

static double kernel_ps(const Clock *clock, uint32_t group, bool *multiplies) {
  Demand demand = group_demand(clock->pod, clock->module, clock->comp, &clock->groups, group);
  double hbm_ps = (double)demand_hbm_ps(clock->pod, (Demand){.hbm_bytes = demand.vmem_bytes});
  *multiplies = demand.mxu_ps > 0;
  double share = *multiplies ? ring_share(clock, group) : 1;
  return share * fmax((double)demand_ps(clock->pod, demand, NULL), hbm_ps);
}

ExpectedStarts expected_starts(Arena *arena, const Pod *pod, const Module *module, uint32_t comp,
                               const Groups *groups) {
  const Comp *body = module_comp(module, comp);
  uint32_t n = body->instrs.n;
  Clock clock = {pod, module, comp, body, *groups};
  clock.groups.in_vmem = ARENA_ARRAY(arena, bool, n);
  for (uint32_t i = 0; i < n; i++) clock.groups.in_vmem[i] = true;
  ExpectedStarts starts = {ARENA_ARRAY(arena, int64_t, n), ARENA_ARRAY(arena, bool, n)};
  double now_ps = 0;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t group = groups->runs[i];
    starts.at_ps[i] = (int64_t)fmin(now_ps, 0x1p62);
    if (group == NO_ID) continue;
    const Instr *instr = &body->instrs.at[group];
    StepKind kind = step_kind_of(instr);
    if (kind == STEP_WHILE) now_ps += LOOP_TRIPS * products_ps(&clock, instr_comp(instr, ATTR_body));
    if (kind == STEP_COMPUTE) now_ps += kernel_ps(&clock, group, &starts.multiplies[i]);
  }
  return starts;
}

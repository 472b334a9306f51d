/* Scheduling. In: a partitioned module and the pod; out: for each computation that runs on its own its steps,
 * each with demand and time; memory and FLOPs of the whole.
 *
 * The one idea: a step is a group of instructions (fuse.c), placed where its last one stands in the program;
 * control flow and collectives are steps of their own, computations that they call have schedules of their
 * own. */
#include "sim/schedule/schedule.h"
#include "models/cost.h"
#include "sim/schedule/hasten.h"
#include "sim/schedule/liveness.h"
#include "sim/schedule/loop_carry.h"
#include "sim/schedule/overlap.h"
#include "sim/schedule/place.h"
#include "sim/schedule/traffic.h"

enum { DEEPEST_CALL = 200 };

typedef struct {
  const Module *module;
  const Pod *pod;
  Schedule *schedule;
  Arena *arena;
  bool fused;        /* the program's compiler has fused and ordered it */
  bool *done;        /* by computation */
  int64_t *flops;    /* by computation */
  const bool **anew; /* by computation that is a loop's body: loop_made_anew() */
  uint32_t depth;
  Diag *diag;
} Scheduler;

StepKind step_kind_of(const Instr *instr) {
  if (instr->host_move != HOST_MOVE_NONE && instr->op != OP_COPY_START) return STEP_HOST;
  switch (instr->op) {
  case OP_WHILE: return STEP_WHILE;
  case OP_CONDITIONAL: return STEP_CONDITIONAL;
  case OP_CALL:
  case OP_FUSION: return STEP_CALL;
  case OP_ALL_GATHER_START:
  case OP_ALL_REDUCE_START:
  case OP_COLLECTIVE_PERMUTE_START:
  case OP_ASYNC_START:
  case OP_COPY_START:
  case OP_SEND:
  case OP_RECV: return STEP_START;
  case OP_ALL_GATHER_DONE:
  case OP_ALL_REDUCE_DONE:
  case OP_COLLECTIVE_PERMUTE_DONE:
  case OP_ASYNC_UPDATE:
  case OP_ASYNC_DONE:
  case OP_COPY_DONE:
  case OP_SEND_DONE:
  case OP_RECV_DONE: return STEP_DONE;
  default: return op_cost(instr->op) == COST_COLLECTIVE ? STEP_COLLECTIVE : STEP_COMPUTE;
  }
}

static bool calls_schedules(StepKind kind, const Instr *instr) {
  bool calls = kind == STEP_WHILE || kind == STEP_CONDITIONAL || kind == STEP_CALL || kind == STEP_START;
  return calls && !op_is_collective(instr->op); /* a reduction's computation is no schedule */
}

static int64_t times(int64_t flops, int64_t trips) {
  int64_t product;
  return __builtin_mul_overflow(flops, trips, &product) ? INT64_MAX / 2 : product;
}

static Status schedule_comp(Scheduler *scheduler, uint32_t comp, bool timed);

/* Schedules what a step calls; `flops` of one run of the step. */
static Status schedule_callees(Scheduler *scheduler, uint32_t comp, bool timed, const Instr *instr,
                               Step *step, int64_t *flops) {
  const Module *module = scheduler->module;
  Demand sum = {0};
  int64_t most = 0;
  Ids called = instr_called(scheduler->arena, instr);
  timed = timed && instr->op != OP_FUSION && instr->op != OP_ASYNC_START; /* whose time stands with it */
  if (step->kind == STEP_WHILE)
    scheduler->anew[instr_comp(instr, ATTR_body)] = loop_made_anew(scheduler->arena, module, comp, instr);
  for (uint32_t i = 0; i < called.n; i++) {
    TRY(schedule_comp(scheduler, called.at[i], timed));
    int64_t own = scheduler->flops[called.at[i]];
    sum = demand_add(sum, (Demand){.flops = own});
    most = own > most ? own : most;
  }
  if (step->kind == STEP_WHILE) step->trips = while_trip_count(module, comp, instr);
  *flops = step->kind == STEP_CONDITIONAL ? most : times(sum.flops, step->trips < 0 ? 1 : step->trips);
  return STATUS_OK;
}

/* Whether an async-start starts a collective. */
static bool starts_collective(const Module *module, const Instr *start) {
  uint32_t callee = instr_comp(start, ATTR_calls);
  Opcode op;
  if (op_parse(start->async_of, &op)) return op_is_collective(op);
  return callee != NO_ID &&
         op_is_collective(comp_instr(module, callee, module_comp(module, callee)->root)->op);
}

/* Of an asynchronous op that is no collective: what its computation moves, or where only its opcode is
 * written its result. */
static Demand async_demand(const Scheduler *scheduler, uint32_t comp, const Instr *start) {
  if (starts_collective(scheduler->module, start)) return (Demand){0};
  if (instr_comp(start, ATTR_calls) != NO_ID)
    return fusion_demand(scheduler->pod, scheduler->module, comp, start);
  bool whole = shape_is_tuple(start->shape) && start->shape->rank > 1;
  int64_t bytes = whole ? shape_bytes(start->shape->parts[1]) : 0;
  return (Demand){.hbm_bytes = bytes, .vmem_bytes = bytes};
}

static Demand step_demand(const Scheduler *scheduler, uint32_t comp, const Groups *groups, uint32_t last) {
  const Instr *instr = comp_instr(scheduler->module, comp, last);
  if (instr->op == OP_FUSION) return fusion_demand(scheduler->pod, scheduler->module, comp, instr);
  if (is_prefetch_across(instr)) return (Demand){0};
  if (instr->op == OP_ASYNC_START) return async_demand(scheduler, comp, instr);
  StepKind kind = step_kind_of(instr);
  if (kind != STEP_COMPUTE && kind != STEP_HOST && instr->op != OP_COPY_START) return (Demand){0};
  return group_demand(scheduler->pod, scheduler->module, comp, groups, last);
}

static Status make_step(Scheduler *scheduler, uint32_t comp, bool timed, const Groups *groups, uint32_t last,
                        Step *step, int64_t *flops) {
  const Module *module = scheduler->module;
  const Instr *instr = comp_instr(module, comp, last);
  *step = (Step){.kind = step_kind_of(instr), .instrs = group_members(groups, last), .trips = 1};
  if (timed) step->demand = step_demand(scheduler, comp, groups, last);
  step->time_ps = demand_ps(scheduler->pod, step->demand, &step->bound);
  int64_t called = 0;
  if (calls_schedules(step->kind, instr)) TRY(schedule_callees(scheduler, comp, timed, instr, step, &called));
  *flops = demand_add(step->demand, (Demand){.flops = called}).flops;
  return STATUS_OK;
}

/* Whether a group only names values that are there, or repeats in its users. */
static bool is_untimed(const Scheduler *scheduler, uint32_t comp, const Groups *groups, Ids members) {
  for (uint32_t i = 0; i < members.n; i++) {
    const Instr *instr = comp_instr(scheduler->module, comp, members.at[i]);
    if (!groups->repeated[members.at[i]] && !demand_is_free(scheduler->module, comp, instr)) return false;
  }
  return true;
}

/* The steps of a computation as they are made, with the names that came up since the last of them. */
typedef struct {
  Scheduler *scheduler;
  uint32_t comp;
  bool timed;
  const Comp *body;
  const Groups *groups;
  CompSchedule *made;
  bool *named; /* by instruction: its name has come up */
  Vec(uint32_t) names;
} Maker;

static void name(Maker *maker, uint32_t at) {
  if (!maker->named[at]) VEC_PUSH(maker->scheduler->arena, &maker->names, at);
  maker->named[at] = true;
}

/* A step without time for the names that came up since the last. */
static void flush_names(Maker *maker) {
  if (maker->names.n == 0) return;
  uint32_t n = maker->names.n;
  Ids instrs = {arena_copy(maker->scheduler->arena, maker->names.at, n * sizeof *maker->names.at), n};
  VEC_PUSH(maker->scheduler->arena, &maker->made->steps,
           (Step){.kind = STEP_COMPUTE, .instrs = instrs, .trips = 1});
  maker->names.n = 0;
}

/* Names what is made anew for a step, and has not come up. */
static void name_needs(Maker *maker, uint32_t member) {
  Ids operands = maker->body->instrs.at[member].operands;
  for (uint32_t k = 0; k < operands.n; k++) {
    uint32_t operand = operands.at[k];
    bool unnamed = maker->groups->repeated[operand] && !maker->named[operand];
    if (!unnamed || maker->groups->last[operand] != operand) continue;
    name_needs(maker, operand);
    name(maker, operand);
  }
}

static bool only_named(const Maker *maker, uint32_t last, Ids members) {
  bool kernel = step_kind_of(&maker->body->instrs.at[last]) == STEP_COMPUTE;
  return (kernel && !maker->timed) || is_untimed(maker->scheduler, maker->comp, maker->groups, members);
}

/* The group that runs at instruction `at`. */
static Status make_group(Maker *maker, uint32_t at, Demand *sum) {
  uint32_t last = maker->groups->runs[at];
  Ids members = group_members(maker->groups, last);
  if (only_named(maker, last, members)) {
    for (uint32_t k = 0; k < members.n; k++) name(maker, members.at[k]);
    return STATUS_OK;
  }
  for (uint32_t k = 0; k < members.n; k++) name_needs(maker, members.at[k]);
  flush_names(maker);
  Step step;
  int64_t flops;
  TRY(make_step(maker->scheduler, maker->comp, maker->timed, maker->groups, last, &step, &flops));
  VEC_PUSH(maker->scheduler->arena, &maker->made->steps, step);
  *sum = demand_add(*sum, (Demand){.flops = flops});
  return STATUS_OK;
}

static Status make_steps(Scheduler *scheduler, uint32_t comp, bool timed, const Groups *groups,
                         CompSchedule *made) {
  const Comp *body = module_comp(scheduler->module, comp);
  uint32_t n = body->instrs.n;
  Maker maker = {.scheduler = scheduler,
                 .comp = comp,
                 .timed = timed,
                 .body = body,
                 .groups = groups,
                 .made = made,
                 .named = ARENA_ARRAY(scheduler->arena, bool, n)};
  Demand sum = {0};
  for (uint32_t i = 0; i < n; i++) {
    if (groups->last[i] == i && is_there_from_start(body, i)) name(&maker, i);
  }
  for (uint32_t i = 0; i < n; i++) {
    if (groups->runs[i] != NO_ID && !maker.named[groups->runs[i]]) TRY(make_group(&maker, i, &sum));
  }
  flush_names(&maker);
  scheduler->flops[comp] = sum.flops;
  return STATUS_OK;
}

/* `timed` false: a fusion's computation; of its steps only control flow and collectives take time. */
static Status schedule_comp(Scheduler *scheduler, uint32_t comp, bool timed) {
  const Module *module = scheduler->module;
  if (scheduler->done[comp]) return STATUS_OK;
  RETURN_IF(scheduler->depth == DEEPEST_CALL,
            diag_fail(scheduler->diag, STATUS_INVALID, module_comp(module, comp)->place, NULL,
                      "computations call each other more than %d deep", DEEPEST_CALL));
  scheduler->depth++;
  scheduler->done[comp] = true;
  CompSchedule *made = &scheduler->schedule->comps[comp];
  bool fuses = timed && !scheduler->fused;
  Groups groups = fuses ? groups_fused(scheduler->arena, scheduler->pod, module, comp, scheduler->anew[comp])
                        : groups_single(scheduler->arena, module, comp);
  if (fuses && comp == module->entry) groups_hasten(scheduler->arena, module, &groups);
  if (fuses) groups_place(scheduler->arena, scheduler->pod, module, comp, &groups);
  made->repeated = groups.repeated;
  made->in_vmem = groups.in_vmem;
  TRY(make_steps(scheduler, comp, timed, &groups, made));
  find_frees(scheduler->arena, module, comp, made);
  scheduler->depth--;
  return STATUS_OK;
}

static bool is_fused(const Module *module) {
  for (uint32_t i = 0; i < module->header.n; i++) {
    if (str_is(module->header.at[i].key, "is_scheduled")) return str_is(module->header.at[i].text, "true");
  }
  return false;
}

Status module_schedule(const Module *partitioned, const Pod *pod, Schedule **schedule, Diag *diag) {
  Arena *arena = arena_new(), *scratch = arena_new();
  Schedule *made = ARENA_NEW(arena, Schedule);
  uint32_t n = partitioned->comps.n;
  *made = (Schedule){.arena = arena, .module = partitioned, .comps = ARENA_ARRAY(arena, CompSchedule, n)};
  Scheduler scheduler = {.module = partitioned,
                         .pod = pod,
                         .schedule = made,
                         .arena = arena,
                         .fused = is_fused(partitioned),
                         .done = ARENA_ARRAY(scratch, bool, n),
                         .flops = ARENA_ARRAY(scratch, int64_t, n),
                         .anew = ARENA_ARRAY(scratch, const bool *, n),
                         .diag = diag};
  Status status = schedule_comp(&scheduler, partitioned->entry, true);
  made->flops = scheduler.flops[partitioned->entry];
  if (status == STATUS_OK) find_memory(made);
  if (status == STATUS_OK && pod->overlap && !scheduler.fused) schedule_overlap(made, pod);
  arena_free(scratch);
  if (status == STATUS_OK) *schedule = made;
  if (status != STATUS_OK) schedule_free(made);
  return status;
}

void schedule_free(Schedule *schedule) {
  if (schedule != NULL) arena_free(schedule->arena);
}

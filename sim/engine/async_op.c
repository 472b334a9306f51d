/* Asynchronous operations. What is in flight has a lane of the chip's asynchronous track from its start to
 * its end; a done that comes too early waits on the core's track. */
#include "sim/engine/async_op.h"

#include "sim/engine/chip.h"
#include "sim/engine/collective_op.h"
#include "sim/engine/control_flow.h"
#include "sim/engine/semaphore.h"

#include <stdlib.h>

struct AsyncOp {
  Chip *chip;
  AsyncOp *next;      /* of the chip's collectives in flight */
  const Instr *instr; /* of the start */
  uint32_t name, op;
  CollectiveOp *collective;
  Value **operands, *result; /* in the execution's arena; references */
  Semaphore done;
  int64_t start_ps, end_ps; /* the end of a copy */
  Status status;
};

static AsyncOp **slot_of(Frame *frame, uint32_t instr) {
  size_t n = module_comp(frame->chip->execution->module, frame->comp)->instrs.n;
  if (frame->asyncs == NULL) frame->asyncs = calloc(n, sizeof *frame->asyncs);
  if (frame->asyncs == NULL) abort();
  return &frame->asyncs[instr];
}

static AsyncOp *async_new(Frame *frame, const Step *step) {
  AsyncOp *async = ARENA_NEW(frame->chip->execution->arena, AsyncOp);
  *async = (AsyncOp){.chip = frame->chip,
                     .instr = frame_instr(frame, step_instr(step)),
                     .name = frame_name(frame, step_instr(step)),
                     .start_ps = date_ps()};
  *slot_of(frame, step_instr(step)) = async;
  return async;
}

/* Kind, track, lane, dates and bytes stand in `event`. */
static void add_event(const AsyncOp *async, Event event) {
  event.chip = async->chip->number;
  event.name = async->name;
  event.op = async->op;
  event.peer = NO_PEER;
  ledger_add(async->chip->execution->ledger, event);
}

/* What is in flight from the start to `end_ps`. */
static void add_flight(const AsyncOp *async, EventKind kind, int64_t end_ps, int64_t bytes) {
  Chip *chip = async->chip;
  uint32_t lane = lane_take(chip->execution->arena, &chip->async_lanes, async->start_ps);
  lane_give(&chip->async_lanes, lane, end_ps);
  add_event(async, (Event){.kind = kind,
                           .track = TRACK_ASYNC,
                           .lane = lane,
                           .start_ps = async->start_ps,
                           .duration_ps = end_ps - async->start_ps,
                           .bytes = bytes});
}

static void drop_operands(AsyncOp *async) {
  const ValueOps *values = values_of(async->chip->execution);
  for (uint32_t i = 0; i < async->instr->operands.n; i++)
    if (async->operands[i] != NULL) values->release(values->self, async->operands[i]);
}

static void unlink_async(AsyncOp *async) {
  AsyncOp **link = &async->chip->asyncs;
  while (*link != async) link = &(*link)->next;
  *link = async->next;
}

static void run_collective(void *argument) {
  AsyncOp *async = argument;
  Chip *chip = async->chip;
  async->status =
      collective_run(chip->execution, async->collective, chip->number, async->operands, &async->result);
  drop_operands(async);
  unlink_async(async);
  add_flight(async, EVENT_COLLECTIVE, date_ps(), async->collective->payload_bytes);
  semaphore_signal(&async->done, 1, 0);
}

/* Takes over the frame's held operands. */
static void take_operands(AsyncOp *async, Frame *frame) {
  uint32_t n = async->instr->operands.n;
  async->operands = arena_copy(frame->chip->execution->arena, frame->held, n * sizeof *frame->held);
  for (uint32_t i = 0; i < n; i++) frame->held[i] = NULL;
}

static Status start_collective(Frame *frame, const Step *step) {
  Chip *chip = frame->chip;
  CollectiveOp *collective;
  TRY(collective_op(chip->execution, frame->comp, step_instr(step), &collective));
  TRY(frame_join(frame));
  AsyncOp *async = async_new(frame, step);
  async->collective = collective;
  async->op = collective->op;
  async->next = chip->asyncs;
  chip->asyncs = async;
  frame_hold(frame, step);
  take_operands(async, frame);
  frame_release(frame, step);
  actors_spawn(chip->execution->machine->actors, run_collective, async);
  return STATUS_OK;
}

void asyncs_clear(Chip *chip) {
  for (AsyncOp *async = chip->asyncs; async != NULL; async = async->next) drop_operands(async);
  chip->asyncs = NULL;
}

void asyncs_drop_results(const Frame *frame) {
  if (frame->asyncs == NULL) return;
  size_t n = module_comp(frame->chip->execution->module, frame->comp)->instrs.n;
  for (size_t i = 0; i < n; i++) {
    AsyncOp *async = frame->asyncs[i];
    if (async == NULL) continue;
    value_release(frame, async->result);
    async->result = NULL;
  }
}

/* Moves of one way between a chip and its host go one after the other. */
static void occupy_host(AsyncOp *async, const Step *step) {
  Chip *chip = async->chip;
  uint32_t way = async->instr->host_move == HOST_MOVE_FROM;
  int64_t start_ps = chip->host_ps[way] > async->start_ps ? chip->host_ps[way] : async->start_ps;
  chip->host_ps[way] = async->end_ps = start_ps + step->time_ps;
  add_event(async, (Event){.kind = EVENT_HOST,
                           .track = TRACK_HOST,
                           .lane = way,
                           .start_ps = start_ps,
                           .duration_ps = step->time_ps,
                           .bytes = step->demand.host_bytes});
}

/* A copy's values are there at once; only its time is asynchronous. */
static Status start_copy(Frame *frame, const Step *step) {
  AsyncOp *async = async_new(frame, step);
  async->op = frame_op(frame, step);
  async->end_ps = async->start_ps + step->time_ps;
  frame_compute(frame, step);
  if (async->instr->host_move != HOST_MOVE_NONE)
    occupy_host(async, step);
  else
    add_flight(async, EVENT_COMPUTE, async->end_ps, step->demand.hbm_bytes);
  semaphore_signal(&async->done, 1, 0);
  return STATUS_OK;
}

/* A computation that holds no collective is there at once as well. */
static Status start_computation(Frame *frame, const Step *step, uint32_t comp) {
  TRY(frame_join(frame));
  AsyncOp *async = async_new(frame, step);
  async->op = frame_op(frame, step);
  frame_hold(frame, step);
  frame_release(frame, step);
  TRY(run_computation(frame->chip, comp, frame->trip, frame->held, &async->result));
  async->end_ps = date_ps() + step->time_ps;
  add_flight(async, EVENT_COMPUTE, async->end_ps, step->demand.hbm_bytes);
  semaphore_signal(&async->done, 1, 0);
  return STATUS_OK;
}

/* The computation that an async-start runs, of which no collective is the root; else NO_ID. */
static uint32_t started_computation(const Module *module, const Instr *start) {
  uint32_t called = instr_comp(start, ATTR_calls);
  if (start->op != OP_ASYNC_START || called == NO_ID) return NO_ID;
  const Comp *body = module_comp(module, called);
  return op_is_collective(body->instrs.at[body->root].op) ? NO_ID : called;
}

static bool starts_copy(const Instr *start) {
  if (start->op == OP_COPY_START || start->host_move != HOST_MOVE_NONE) return true;
  Opcode alone; /* where only an opcode is written */
  return start->op == OP_ASYNC_START && op_parse(start->async_of, &alone) && !op_is_collective(alone);
}

bool starts_collective(const Module *module, const Instr *start) {
  return !starts_copy(start) && started_computation(module, start) == NO_ID;
}

Status run_start(Frame *frame, const Step *step) {
  const Module *module = frame->chip->execution->module;
  const Instr *instr = frame_instr(frame, step_instr(step));
  if (starts_copy(instr)) return start_copy(frame, step);
  uint32_t called = started_computation(module, instr);
  return called == NO_ID ? start_collective(frame, step) : start_computation(frame, step, called);
}

static void await(Frame *frame, const Step *step, AsyncOp *async) {
  int64_t start_ps = date_ps();
  semaphore_wait(
      &async->done, 1,
      (Waiting){
          .chip = frame->chip->number, .op = async->op, .peer = frame->chip->number, .what = "its end"});
  sleep_until_ps(async->end_ps);
  if (date_ps() > start_ps)
    frame_add_event(frame, step, start_ps, (Event){.kind = EVENT_WAIT, .op = async->op});
}

Status run_host(Frame *frame, const Step *step) {
  TRY(start_copy(frame, step));
  await(frame, step, *slot_of(frame, step_instr(step)));
  return STATUS_OK;
}

/* What was started under the same instruction, or under the operand. */
static uint32_t start_of(const Instr *instr, uint32_t at) {
  bool is_own = op_is_collective(instr->op) || instr->host_move != HOST_MOVE_NONE;
  return is_own ? at : instr->operands.n == 0 ? NO_ID : instr->operands.at[0];
}

Status run_done(Frame *frame, const Step *step) {
  Execution *execution = frame->chip->execution;
  uint32_t at = step_instr(step);
  const Instr *instr = frame_instr(frame, at);
  uint32_t start = start_of(instr, at);
  AsyncOp *async = start == NO_ID ? NULL : *slot_of(frame, start);
  RETURN_IF(async == NULL,
            diag_fail(execution->diag, STATUS_INVALID, instr->place, NULL,
                      "%.*s: its operation was not started in this computation", STR_ARG(instr->name)));
  if (instr->op == OP_ASYNC_UPDATE) {
    *slot_of(frame, at) = async;
    return STATUS_OK;
  }
  await(frame, step, async);
  TRY(execution_fail(execution, async->status));
  if (start == at && async->collective == NULL) { /* a move, whose value is there */
    frame_release(frame, step);
    return STATUS_OK;
  }
  if (async->collective == NULL && async->result == NULL) { /* a copy */
    frame_compute(frame, step);
    return STATUS_OK;
  }
  frame_set(frame, step, async->result);
  async->result = NULL;
  frame_release(frame, step);
  return STATUS_OK;
}

/* One execution of a collective: the members meet, what each brings goes into the kernel's buffers piece by
 * piece, and what comes out into new arrays. */
#include "sim/engine/collective_op.h"

#include <stdlib.h>

/* One execution on one chip. Bytes of arrays are NULL where they are not known. */
struct Visit {
  Execution *execution;
  CollectiveOp *op;
  uint32_t chip;
  uint64_t count;
  Value **operands, **results;
  unsigned char **operand_bytes, **result_bytes;
  Launch **launches; /* by payload; NULL in a group of one */
  bool known;
  Visit *next_free, *next; /* of all */
};

static Launch *new_launch(const Execution *execution, const CollectiveOp *op, const GroupRun *run) {
  Machine *machine = execution->machine;
  return machine->fold == NULL ? launch_new(machine, &run->spec)
                               : launch_new_folded(machine, &run->spec, op->simulated);
}

/* The launch of the count-th execution; the first to come makes it. */
static Launch *meet(const Visit *visit, const PayloadRun *payload, GroupRun *own) {
  Execution *execution = visit->execution;
  bool folded = execution->machine->fold != NULL;
  uint32_t members = folded ? visit->op->simulated : own->spec.members, i = 0;
  GroupRun *run = folded ? &payload->groups[0] : own;
  while (i < run->meetings.n && run->meetings.at[i].count != visit->count) i++;
  if (i == run->meetings.n)
    VEC_PUSH(execution->arena, &run->meetings,
             (Meeting){visit->count, new_launch(execution, visit->op, own), 0});
  Meeting *meeting = &run->meetings.at[i];
  Launch *launch = meeting->launch;
  if (++meeting->joined == members) *meeting = run->meetings.at[--run->meetings.n];
  return launch;
}

/* Element `at` on of a kernel's buffer. */
static unsigned char *place_in(Launch *launch, const GroupRun *run, uint32_t member, Slice slice) {
  return launch_buffer(launch, member, slice.buffer) + (size_t)slice.at * run->spec.element_bytes;
}

static Slice part_slice(const CollectivePlan *plan, uint32_t piece, uint32_t member) {
  return split_slice(piece_split(plan, piece), piece_part(plan, piece, member), 1);
}

/* What a collective moves between payloads and buffers, piece by piece: for itself alone, or a share of each
 * member. */
typedef struct {
  Launch *launch;
  const GroupRun *run;
  const Payload *payload;
  PayloadMove move;
  unsigned char *const *arrays;
  uint32_t member;
} Mover;

typedef Slice (*SliceOf)(const CollectivePlan *plan, uint32_t piece, uint32_t member);

static void move_pieces(const Mover *mover, uint32_t share, uint32_t part, SliceOf slice_of) {
  const CollectivePlan *plan = mover->run->plan;
  for (uint32_t i = 0; i < plan->pieces.n; i++) {
    Piece piece = plan->pieces.at[i];
    payload_move(mover->payload, mover->move, mover->arrays, share, piece.at, piece.n,
                 place_in(mover->launch, mover->run, mover->member, slice_of(plan, i, part)));
  }
}

static void move_shares(const Mover *mover, SliceOf slice_of) {
  for (uint32_t member = 0; member < mover->run->spec.members; member++)
    move_pieces(mover, member, member, slice_of);
}

static void move_whole(const Mover *mover, uint32_t buffer) {
  payload_move(mover->payload, mover->move, mover->arrays, 0, 0, mover->run->plan->elements,
               place_in(mover->launch, mover->run, mover->member, (Slice){buffer, 0, 0}));
}

static void fill_buffers(CollectiveKind kind, const Mover *mover) {
  switch (kind) {
  case COLLECTIVE_ALL_GATHER: move_pieces(mover, 0, mover->member, part_slice); break;
  case COLLECTIVE_REDUCE_SCATTER: move_shares(mover, part_slice); break;
  case COLLECTIVE_ALL_TO_ALL: move_shares(mover, sent_slice); break;
  case COLLECTIVE_BROADCAST: /* what comes from the root may be there already */
    if (mover->member == mover->run->plan->root) move_whole(mover, PLAN_WORK);
    break;
  default: move_whole(mover, PLAN_WORK);
  }
}

static void empty_buffers(CollectiveKind kind, const Mover *mover) {
  switch (kind) {
  case COLLECTIVE_ALL_GATHER: move_shares(mover, part_slice); break;
  case COLLECTIVE_REDUCE_SCATTER: move_pieces(mover, 0, mover->member, part_slice); break;
  case COLLECTIVE_ALL_TO_ALL: move_shares(mover, received_slice); break;
  case COLLECTIVE_PERMUTE: move_whole(mover, PLAN_SLOTS); break;
  default: move_whole(mover, PLAN_WORK);
  }
}

/* A group of one has what it brings. */
static void copy_alone(const PayloadRun *run, unsigned char *const *operands, unsigned char *const *results) {
  size_t bytes = (size_t)run->in.elements * run->in.element_bytes;
  unsigned char *buffer = bytes == 0 ? NULL : malloc(bytes);
  if (buffer == NULL) return;
  payload_move(&run->in, PAYLOAD_READ, operands, 0, 0, run->in.elements, buffer);
  payload_move(&run->out, PAYLOAD_WRITE, results, 0, 0, run->in.elements, buffer);
  free(buffer);
}

static Visit *visit_new(Execution *execution, CollectiveOp *op, uint32_t chip) {
  Visit *visit = op->free_visits;
  if (visit == NULL) {
    Arena *arena = execution->arena;
    visit = ARENA_NEW(arena, Visit);
    visit->execution = execution;
    visit->op = op;
    visit->operands = ARENA_ARRAY(arena, Value *, op->n_results);
    visit->results = ARENA_ARRAY(arena, Value *, op->n_results);
    visit->operand_bytes = ARENA_ARRAY(arena, unsigned char *, op->n_results);
    visit->result_bytes = ARENA_ARRAY(arena, unsigned char *, op->n_results);
    visit->launches = ARENA_ARRAY(arena, Launch *, op->runs.n);
    visit->next = execution->visits;
    execution->visits = visit;
  } else {
    op->free_visits = visit->next_free;
    memset(visit->launches, 0, op->runs.n * sizeof *visit->launches);
  }
  visit->chip = chip;
  visit->count = op->counts[chip]++;
  return visit;
}

static void find_operand_bytes(Visit *visit, Value *const *operands) {
  const ValueOps *values = values_of(visit->execution);
  visit->known = values != NULL;
  if (values == NULL) return;
  for (uint32_t i = 0; i < visit->op->n_results; i++) {
    const Shape *shape = visit->op->carried_in[i];
    visit->operands[i] = values->settled(values->self, operands[i], shape);
    visit->operand_bytes[i] = values->bytes(values->self, visit->operands[i]);
    visit->known = visit->known && (visit->operand_bytes[i] != NULL || shape_elements(shape) == 0);
  }
}

static Mover mover_of(const Visit *visit, uint32_t i, PayloadMove move) {
  const PayloadRun *run = &visit->op->runs.at[i];
  return (Mover){.launch = visit->launches[i],
                 .run = &run->groups[visit->op->group_of[visit->chip]],
                 .payload = move == PAYLOAD_READ ? &run->in : &run->out,
                 .move = move,
                 .arrays = move == PAYLOAD_READ ? visit->operand_bytes : visit->result_bytes,
                 .member = visit->op->member_of[visit->chip]};
}

static void run_kernel(Visit *visit, uint32_t i) {
  uint32_t group = visit->op->group_of[visit->chip];
  GroupRun *run = group == NO_ID ? NULL : &visit->op->runs.at[i].groups[group];
  if (run == NULL || run->plan == NULL) return;
  Launch *launch = visit->launches[i] = meet(visit, &visit->op->runs.at[i], run);
  if (!visit->known) launch_hide_values(launch);
  Mover mover = mover_of(visit, i, PAYLOAD_READ);
  if (launch_has_values(launch)) fill_buffers(visit->op->kind, &mover);
  launch_run(launch, &run->spec, mover.member);
  visit->known = visit->known && launch_has_values(launch);
}

static void make_results(Visit *visit) {
  const ValueOps *values = values_of(visit->execution);
  for (uint32_t i = 0; values != NULL && i < visit->op->n_results; i++) {
    visit->results[i] = values->array(values->self, visit->op->carried_out[i], visit->known);
    visit->result_bytes[i] = values->bytes(values->self, visit->results[i]);
  }
}

static void take_result(Visit *visit, uint32_t i) {
  if (visit->launches[i] == NULL) {
    if (visit->known) copy_alone(&visit->op->runs.at[i], visit->operand_bytes, visit->result_bytes);
    return;
  }
  Mover mover = mover_of(visit, i, PAYLOAD_WRITE);
  if (visit->known) empty_buffers(visit->op->kind, &mover);
  launch_leave(visit->launches[i]);
}

static void release_operands(const Visit *visit) {
  const ValueOps *values = values_of(visit->execution);
  for (uint32_t i = 0; values != NULL && i < visit->op->n_results; i++) {
    if (visit->operands[i] != NULL) values->release(values->self, visit->operands[i]);
    visit->operands[i] = NULL;
  }
}

void collectives_clear(const Execution *execution) {
  for (const Visit *visit = execution->visits; visit != NULL; visit = visit->next) release_operands(visit);
}

static Value *joined_results(const Visit *visit) {
  const ValueOps *values = values_of(visit->execution);
  if (values == NULL) return NULL;
  if (!visit->op->is_tuple) return visit->results[0];
  Value *tuple = values->tuple(values->self, visit->results, visit->op->n_results);
  for (uint32_t i = 0; i < visit->op->n_results; i++) values->release(values->self, visit->results[i]);
  return tuple;
}

Status collective_run(Execution *execution, CollectiveOp *op, uint32_t chip, Value *const *operands,
                      Value **result) {
  Visit *visit = visit_new(execution, op, chip);
  find_operand_bytes(visit, operands);
  for (uint32_t i = 0; i < op->runs.n; i++) run_kernel(visit, i);
  make_results(visit);
  for (uint32_t i = 0; i < op->runs.n; i++) take_result(visit, i);
  release_operands(visit);
  *result = joined_results(visit);
  visit->next_free = op->free_visits;
  op->free_visits = visit;
  return execution->machine->status;
}

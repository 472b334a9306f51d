/* Devices that run a kernel together. Each has a thread, but only the one whose turn it is runs: until it
 * waits for what is not there yet, then the next one that can go on. So a run is the same each time, and
 * where none can go on the kernel is in a deadlock. */
#include "sim/eval/mosaic_run.h"

#include <pthread.h>
#include <stdlib.h>

struct MosaicTeam {
  MosaicRun *runs;
  uint32_t n;
  const Instr *instr;
  Tensor *const *const *operands; /* by device */
  Tensor **const *outputs;
  pthread_mutex_t lock;
  pthread_cond_t *turns; /* one a device */
  uint32_t turn;         /* the device that runs */
  bool *done;
  Status status; /* the first failure: all that still run give up */
};

static bool can_go_on(const MosaicTeam *team, uint32_t i) {
  const MosaicRun *run = &team->runs[i];
  return !team->done[i] && (run->ready == NULL || run->ready(run->ready_self));
}

/* Gives the turn to the next device that can go on; false where none can. */
static bool pass_turn(MosaicTeam *team, uint32_t from) {
  for (uint32_t k = 1; k <= team->n; k++) {
    uint32_t next = (from + k) % team->n;
    if (!can_go_on(team, next)) continue;
    team->turn = next;
    pthread_cond_signal(&team->turns[next]);
    return true;
  }
  return false;
}

static bool all_done(const MosaicTeam *team) {
  for (uint32_t i = 0; i < team->n; i++) {
    if (!team->done[i]) return false;
  }
  return true;
}

static void fail_team(MosaicTeam *team, Status status) {
  if (team->status == STATUS_OK) team->status = status;
  for (uint32_t i = 0; i < team->n; i++) pthread_cond_signal(&team->turns[i]);
}

static void await_turn(MosaicTeam *team, uint32_t device) {
  while (team->turn != device && team->status == STATUS_OK)
    pthread_cond_wait(&team->turns[device], &team->lock);
}

/* Who waits for what, of the first devices. */
static Status fail_deadlock(const MosaicRun *run, const MosaicRun *runs, uint32_t n) {
  StrBuf buf = {.arena = run->arena};
  uint32_t told = 0;
  for (uint32_t i = 0; i < n; i++) {
    const MosaicOp *op = runs[i].waits_at;
    if (op == NULL) continue;
    if (told == 4) buf_add(&buf, STR(", …"));
    if (told++ >= 4) continue;
    buf_printf(&buf, "%sdevice %u at %.*s (%.*s)", told > 1 ? ", " : "", runs[i].device,
               STR_ARG(mosaic_place(run->arena, op)), STR_ARG(op->name));
  }
  return diag_fail(run->context->diag, STATUS_DEADLOCK, run->kernel->place,
                   "each wait needs a signal or a DMA of as much",
                   "%.*s: a deadlock: the kernel waits for what nobody gives: %.*s",
                   STR_ARG(run->kernel->call), STR_ARG(buf_str(&buf)));
}

static void wait_begin(MosaicRun *run, const MosaicOp *op, bool (*ready)(const void *self),
                       const void *self) {
  run->waits_at = op;
  run->ready = ready;
  run->ready_self = self;
}

Status mosaic_pause(MosaicFrame *frame, const MosaicOp *op, bool (*ready)(const void *self),
                    const void *self) {
  MosaicRun *run = frame->run;
  MosaicTeam *team = run->team;
  wait_begin(run, op, ready, self);
  if (team == NULL) return fail_deadlock(run, run, 1);
  uint32_t number = (uint32_t)(run - team->runs);
  if (!pass_turn(team, number)) {
    Status status = fail_deadlock(run, team->runs, team->n);
    fail_team(team, status);
    return status;
  }
  await_turn(team, number);
  TRY(team->status);
  wait_begin(run, NULL, NULL, NULL);
  return STATUS_OK;
}

Status mosaic_peer(const MosaicFrame *frame, const MosaicOp *op, int64_t device, MosaicRun **peer) {
  MosaicRun *run = frame->run;
  uint32_t n = run->team == NULL ? 1 : run->team->n;
  for (uint32_t i = 0; i < n; i++) {
    *peer = run->team == NULL ? run : &run->team->runs[i];
    if ((*peer)->device == device) return STATUS_OK;
  }
  return mosaic_fail(frame, op, "no device %lld runs the kernel", (long long)device);
}

/* --- runs --- */

typedef struct {
  MosaicTeam *team;
  uint32_t number;
  pthread_t thread;
} Member;

/* With the lock held and the turn its own. */
static Status run_turns(MosaicTeam *team, uint32_t i) {
  TRY(team->status);
  TRY(mosaic_run_grid(&team->runs[i], team->instr, team->operands[i], team->outputs[i]));
  team->done[i] = true;
  bool goes_on = pass_turn(team, i) || all_done(team);
  return goes_on ? STATUS_OK : fail_deadlock(&team->runs[i], team->runs, team->n);
}

static void *run_member(void *argument) {
  Member *member = argument;
  pthread_mutex_lock(&member->team->lock);
  await_turn(member->team, member->number);
  Status status = run_turns(member->team, member->number);
  if (status != STATUS_OK) fail_team(member->team, status);
  pthread_mutex_unlock(&member->team->lock);
  return NULL;
}

static void start(Member *member) {
  if (pthread_create(&member->thread, NULL, run_member, member) != 0) abort();
}

Status mosaic_run_team(Arena *arena, MosaicRun *runs, uint32_t n, const Instr *instr,
                       Tensor *const *const *operands, Tensor **const *outputs) {
  MosaicTeam team = {.runs = runs,
                     .n = n,
                     .instr = instr,
                     .operands = operands,
                     .outputs = outputs,
                     .turns = ARENA_ARRAY(arena, pthread_cond_t, n),
                     .done = ARENA_ARRAY(arena, bool, n)};
  Member *members = ARENA_ARRAY(arena, Member, n);
  pthread_mutex_init(&team.lock, NULL);
  for (uint32_t i = 0; i < n; i++) {
    pthread_cond_init(&team.turns[i], NULL);
    runs[i].team = &team;
    members[i] = (Member){.team = &team, .number = i};
  }
  for (uint32_t i = 0; i < n; i++) start(&members[i]);
  for (uint32_t i = 0; i < n; i++) pthread_join(members[i].thread, NULL);
  for (uint32_t i = 0; i < n; i++) pthread_cond_destroy(&team.turns[i]);
  pthread_mutex_destroy(&team.lock);
  return team.status;
}

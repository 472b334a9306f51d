/* Pallas kernels. In: a custom call with a Mosaic kernel, its operands on one device, or on all that run it.
 * Out: its results. Where kernels talk to each other the devices take turns: one runs until it waits for what
 * is not there yet, then the next one that can go on; so a run is the same each time. */
#include "sim/eval/mosaic_run.h"
#include "sim/eval/pallas_kernel.h"

#include <pthread.h>

/* --- what is supported --- */

static const MosaicOp *unsupported_in(const MosaicRegion *region);

static const MosaicOp *unsupported_op(const MosaicOp *op) {
  bool is_known =
      str_is(op->name, "builtin.module") || str_is(op->name, "func.func") || mosaic_row(op->name) != NULL;
  if (!is_known) return op;
  for (uint32_t i = 0; i < op->n_regions; i++) {
    const MosaicOp *found = unsupported_in(&op->regions[i]);
    if (found != NULL) return found;
  }
  return NULL;
}

static const MosaicOp *unsupported_in(const MosaicRegion *region) {
  for (uint32_t b = 0; b < region->n; b++) {
    for (uint32_t i = 0; i < region->blocks[b].n_ops; i++) {
      const MosaicOp *found = unsupported_op(&region->blocks[b].ops[i]);
      if (found != NULL) return found;
    }
  }
  return NULL;
}

Str pallas_kernel_fault(Arena *arena, const Instr *instr) {
  MosaicKernel kernel;
  Diag *diag = diag_new();
  Str fault = {0};
  if (mosaic_read(arena, instr, &kernel, diag) != STATUS_OK) {
    fault = STR("a Pallas kernel that cannot be read");
  } else {
    const MosaicOp *op = unsupported_op(kernel.module);
    if (op != NULL)
      fault = str_printf(arena, "a Pallas kernel with %.*s at %.*s, which is not supported yet",
                         STR_ARG(op->name), STR_ARG(mosaic_place(arena, op)));
  }
  diag_free(diag);
  return fault;
}

bool pallas_kernel_exists(const Instr *instr) {
  Arena *arena = arena_new();
  bool exists = pallas_kernel_fault(arena, instr).n == 0;
  arena_free(arena);
  return exists;
}

/* --- a team of devices --- */

struct MosaicTeam {
  MosaicRun *runs;
  uint32_t n;
  const Instr *instr;
  Tensor *const *const *operands;
  Tensor ***outputs;
  pthread_mutex_t lock;
  pthread_cond_t *turns; /* one a device */
  uint32_t turn;         /* the device that runs; n: none */
  bool *done;
  bool failed;
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

/* After an error all that still run are woken one by one, and give up. */
static void fail_team(MosaicTeam *team) {
  team->failed = true;
  for (uint32_t i = 0; i < team->n; i++) pthread_cond_signal(&team->turns[i]);
}

static void await_turn(MosaicTeam *team, uint32_t device) {
  while (team->turn != device && !team->failed) pthread_cond_wait(&team->turns[device], &team->lock);
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
    fail_team(team);
    return status;
  }
  await_turn(team, number);
  if (team->failed) return STATUS_DEADLOCK;
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

static const MosaicRow **rows_of(Arena *arena, const MosaicKernel *kernel) {
  const MosaicRow **rows = ARENA_ARRAY(arena, const MosaicRow *, kernel->n_names);
  for (uint32_t i = 0; i < kernel->n_names; i++) rows[i] = mosaic_row(kernel->names[i]);
  return rows;
}

static MosaicRun run_new(const EvalContext *context, const MosaicKernel *kernel, Arena *arena,
                         uint32_t device) {
  MosaicRun run = {
      .context = context, .kernel = kernel, .rows = rows_of(arena, kernel), .arena = arena, .device = device};
  Tensor *barrier = tensor_new_array(DTYPE_S64, NULL, 0, true);
  *(int64_t *)barrier->data = 0;
  run.barrier = mosaic_buffer_new(&run, UINT64_MAX, barrier, true);
  return run;
}

static void run_free(MosaicRun *run) {
  for (uint32_t i = 0; i < run->buffers.n; i++) tensor_release(run->buffers.at[i]->tensor);
}

static uint32_t outputs_of(const Instr *instr) {
  return shape_is_tuple(instr->shape) ? instr->shape->rank : 1;
}

static Tensor *result_of(const Instr *instr, Tensor **outputs) {
  return shape_is_tuple(instr->shape) ? tensor_tuple(outputs, outputs_of(instr)) : outputs[0];
}

Status eval_pallas_kernel(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                          Tensor **result) {
  Arena *arena = arena_new();
  MosaicKernel kernel;
  Tensor **outputs = ARENA_ARRAY(arena, Tensor *, outputs_of(instr) + 1);
  Status status = mosaic_read(arena, instr, &kernel, context->diag);
  if (status == STATUS_OK) {
    MosaicRun run = run_new(context, &kernel, arena, context->replica * 0 + context->partition);
    status = mosaic_run_grid(&run, instr, operands, outputs);
    Status end = status == STATUS_OK ? mosaic_check_end(&run) : STATUS_OK;
    if (status == STATUS_OK) *result = result_of(instr, outputs);
    if (end != STATUS_OK) {
      tensor_release(*result);
      *result = NULL;
      status = end;
    }
    run_free(&run);
  }
  arena_free(arena);
  return status;
}

/* Pallas kernels. In: a custom call with a Mosaic kernel, its operands on one device, or on all that run it.
 * Out: its results. Where kernels talk to each other the devices take turns: one runs until it waits for what
 * is not there yet, then the next one that can go on; so a run is the same each time. */
#include "sim/eval/mosaic_run.h"
#include "sim/eval/pallas_kernel.h"

#include <string.h>

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
    fault = STR("a Pallas kernel that cannot be read (`podsim print --kernel` tells why)");
  } else {
    const MosaicOp *op = unsupported_op(kernel.module);
    Str core = mosaic_enum(mosaic_attr(kernel.main, "tpu.core_type"));
    if (core.n > 0 && !str_is(core, "tc"))
      fault = STR("a Pallas kernel for the SparseCore, which is not supported yet");
    else if (op != NULL)
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
  memset(barrier->data, 0, barrier->bytes);
  run.barrier = mosaic_buffer_new(&run, UINT64_MAX, barrier, true);
  return run;
}

static void run_free(MosaicRun *run) {
  for (uint32_t i = 0; i < run->buffers.n; i++) tensor_release(run->buffers.at[i]->tensor);
}

static uint32_t outputs_of(const Instr *instr) {
  return shape_is_tuple(instr->shape) ? instr->shape->rank : 1;
}

/* A device's outputs as the value of the call; after an error they are dropped. */
static Tensor *result_of(const Instr *instr, Tensor **outputs, Status status) {
  uint32_t n = outputs_of(instr);
  if (status == STATUS_OK) return shape_is_tuple(instr->shape) ? tensor_tuple(outputs, n) : outputs[0];
  for (uint32_t i = 0; i < n; i++) tensor_release(outputs[i]);
  return NULL;
}

static Status run_all(Arena *arena, const PallasMeeting *meeting, MosaicRun *runs, Tensor ***outputs) {
  uint32_t n = meeting->devices;
  TRY(n == 1 ? mosaic_run_grid(&runs[0], meeting->instr, meeting->operands[0], outputs[0])
             : mosaic_run_team(arena, runs, n, meeting->instr, meeting->operands, outputs));
  for (uint32_t i = 0; i < n; i++) TRY(mosaic_check_end(&runs[i]));
  return STATUS_OK;
}

static void give_talk(const PallasMeeting *meeting, const MosaicRun *runs,
                      const MosaicSemaphores *semaphores) {
  KernelTalk *talk = meeting->talk;
  talk->devices = meeting->devices;
  talk->n_semaphores = semaphores->known.n;
  talk->of = arena_alloc_array(meeting->arena, meeting->devices, sizeof *talk->of);
  for (uint32_t i = 0; i < meeting->devices; i++) {
    talk->of[i].n = runs[i].talk.n;
    talk->of[i].at = arena_copy(meeting->arena, runs[i].talk.at, runs[i].talk.n * sizeof *runs[i].talk.at);
    for (uint32_t k = 0; k < runs[i].talk.n; k++) {
      const Talk *own = &runs[i].talk.at[k];
      if (own->kind == TALK_DMA && own->n > talk->most_bytes) talk->most_bytes = own->n;
    }
  }
}

Status pallas_kernel_values(const PallasMeeting *meeting, Tensor **results) {
  Arena *arena = arena_new();
  MosaicKernel kernel;
  MosaicSemaphores semaphores = {0};
  uint32_t n = meeting->devices;
  Status status = mosaic_read(arena, meeting->instr, &kernel, meeting->context->diag);
  if (status == STATUS_OK) {
    MosaicRun *runs = ARENA_ARRAY(arena, MosaicRun, n);
    Tensor ***outputs = ARENA_ARRAY(arena, Tensor **, n);
    for (uint32_t i = 0; i < n; i++) {
      runs[i] = run_new(meeting->context, &kernel, arena, meeting->first_device + i);
      runs[i].devices = n;
      runs[i].clock = n > 1 ? ARENA_ARRAY(arena, uint32_t, n) : NULL;
      if (n > 1) runs[i].clock[i] = 1;
      runs[i].op_limit = meeting->op_limit;
      runs[i].talk_semaphores = meeting->talk == NULL ? NULL : &semaphores;
      outputs[i] = ARENA_ARRAY(arena, Tensor *, outputs_of(meeting->instr));
    }
    status = run_all(arena, meeting, runs, outputs);
    if (status == STATUS_OK && meeting->talk != NULL) give_talk(meeting, runs, &semaphores);
    for (uint32_t i = 0; i < n; i++) {
      results[i] = result_of(meeting->instr, outputs[i], status);
      run_free(&runs[i]);
    }
  }
  arena_free(arena);
  return status;
}

/* On one device by itself. */
Status eval_pallas_kernel(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                          Tensor **result) {
  PallasMeeting meeting = {.instr = instr,
                           .devices = 1,
                           .first_device = context->partition,
                           .operands = &operands,
                           .context = context};
  return pallas_kernel_values(&meeting, result);
}

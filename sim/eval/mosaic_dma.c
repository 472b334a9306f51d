/* DMAs and semaphores of a kernel. A DMA's bytes are copied when it starts; until its semaphore is waited
 * for, an access to either end is a race, told with both places. A semaphore of a DMA counts bytes, another
 * one signals. */
#include "sim/eval/mosaic_run.h"

#include <string.h>

static int64_t *count_of(const MosaicMemref *semaphore) {
  return (int64_t *)semaphore->buffer->tensor->data + semaphore->view.offset;
}

static int64_t bytes_of(const MosaicMemref *memref) {
  return view_elements(&memref->view) * dtype_bytes(memref->dtype);
}

/* Operand `i` as one semaphore. */
static Status semaphore_operand(const MosaicFrame *frame, const MosaicOp *op, uint32_t i,
                                MosaicMemref *semaphore) {
  const MosaicMemref *memref = mosaic_memref(frame, op, i);
  RETURN_IF(memref == NULL || !memref->buffer->is_semaphore || view_elements(&memref->view) != 1,
            mosaic_fail(frame, op, "operand %u is not one semaphore", i));
  *semaphore = *memref;
  return STATUS_OK;
}

static Status data_operand(const MosaicFrame *frame, const MosaicOp *op, uint32_t i, MosaicMemref *data) {
  const MosaicMemref *memref = mosaic_memref(frame, op, i);
  RETURN_IF(memref == NULL || memref->buffer->is_semaphore,
            mosaic_fail(frame, op, "operand %u is no memory", i));
  RETURN_IF(memref->packing > 1, mosaic_unsupported(frame, op, "a DMA of memory seen as wider numbers"));
  *data = *memref;
  return STATUS_OK;
}

/* --- what other devices see --- */

static uint32_t semaphore_number(const MosaicRun *run, const MosaicMemref *semaphore) {
  MosaicSemaphores *all = run->talk_semaphores;
  uint32_t i = 0;
  while (i < all->known.n && (all->known.at[i].key != semaphore->buffer->key ||
                              all->known.at[i].element != semaphore->view.offset))
    i++;
  if (i < all->known.n) return i;
  VEC_GROW(run->arena, &all->known);
  all->known.at[i].key = semaphore->buffer->key;
  all->known.at[i].element = semaphore->view.offset;
  return i;
}

/* `sent` NULL: there is none. */
static void talk_add(MosaicRun *run, TalkKind kind, uint32_t device, const MosaicMemref *sent,
                     const MosaicMemref *semaphore, int64_t n) {
  if (run->talk_semaphores == NULL || n == 0) return;
  VEC_PUSH(run->arena, &run->talk,
           (Talk){.kind = kind,
                  .device = device,
                  .sent = sent == NULL ? UINT32_MAX : semaphore_number(run, sent),
                  .semaphore = semaphore_number(run, semaphore),
                  .n = n});
}

/* --- transfers --- */

static MosaicTransfer *transfer_add(MosaicRun *owner, MosaicRun *by, const MosaicOp *op,
                                    const MosaicMemref *semaphore, int64_t bytes) {
  MosaicTransfer *transfer = ARENA_NEW(owner->arena, MosaicTransfer), **last = &owner->transfers;
  *transfer = (MosaicTransfer){.op = op,
                               .device = by->device,
                               .semaphore = semaphore->buffer,
                               .element = semaphore->view.offset,
                               .bytes = bytes};
  while (*last != NULL) last = &(*last)->next;
  *last = transfer;
  *count_of(semaphore) += bytes;
  mosaic_tell(by, semaphore);
  return transfer;
}

static void transfer_end(MosaicTransfer *transfer, const MosaicMemref *memref, bool writes) {
  transfer->ends[transfer->n_ends].memref = *memref;
  transfer->ends[transfer->n_ends++].writes = writes;
}

/* What `bytes` taken from a semaphore let go, the oldest first; gives how many of them were between devices.
 */
static int64_t transfers_retire(MosaicRun *run, const MosaicOp *op, const MosaicMemref *semaphore,
                                int64_t bytes) {
  int64_t remote = 0;
  for (MosaicTransfer **at = &run->transfers; *at != NULL && bytes > 0;) {
    MosaicTransfer *transfer = *at;
    if (transfer->semaphore != semaphore->buffer || transfer->element != semaphore->view.offset) {
      at = &transfer->next;
      continue;
    }
    int64_t taken = bytes < transfer->bytes ? bytes : transfer->bytes;
    transfer->bytes -= taken;
    bytes -= taken;
    if (transfer->bytes > 0) break;
    remote += transfer->is_remote;
    for (uint32_t i = 0; i < transfer->n_ends; i++)
      mosaic_record(run, op, &transfer->ends[i].memref, transfer->ends[i].writes);
    *at = transfer->next;
  }
  return remote;
}

typedef struct {
  const MosaicRun *run;
  uint64_t key;
} Appears;

static bool has_appeared(const void *self) {
  const Appears *appears = self;
  return mosaic_buffer_of(appears->run, appears->key) != NULL;
}

/* The same view on another device, once its buffer is there. */
static Status on_peer(MosaicFrame *frame, const MosaicOp *op, MosaicRun *peer, const MosaicMemref *here,
                      MosaicMemref *there) {
  Appears appears = {peer, here->buffer->key};
  if (!has_appeared(&appears)) TRY(mosaic_pause(frame, op, has_appeared, &appears));
  *there = *here;
  there->buffer = mosaic_buffer_of(peer, here->buffer->key);
  const Tensor *own = here->buffer->tensor, *other = there->buffer->tensor;
  bool same = own->dtype == other->dtype && int64s_eq(own->dims, own->rank, other->dims, other->rank);
  return same ? STATUS_OK : mosaic_fail(frame, op, "the other device has no such memory");
}

/* The operands of a DMA. */
typedef struct {
  MosaicMemref source, source_semaphore, target, target_semaphore;
  bool has_source_semaphore, has_device;
  int64_t device;
} Dma;

/* Whether segment `segment` has an operand, and which. */
static bool one_segment(const MosaicOp *op, uint32_t segment, uint32_t *at, bool *there) {
  uint32_t n = 0;
  if (!mosaic_segment(op, segment, at, &n) || n > 1) return false;
  *there = n == 1;
  return true;
}

static Status read_dma(const MosaicFrame *frame, const MosaicOp *op, Dma *dma) {
  uint32_t at[5];
  bool there[5];
  for (uint32_t i = 0; i < 5; i++)
    RETURN_IF(!one_segment(op, i, &at[i], &there[i]),
              mosaic_fail(frame, op, "its operands are not as many as it says"));
  RETURN_IF(!there[0] || !there[2] || !there[3], mosaic_unsupported(frame, op, "a DMA without a semaphore"));
  dma->has_source_semaphore = there[1];
  dma->has_device = there[4];
  TRY(data_operand(frame, op, at[0], &dma->source));
  TRY(data_operand(frame, op, at[2], &dma->target));
  TRY(semaphore_operand(frame, op, at[3], &dma->target_semaphore));
  if (there[1]) TRY(semaphore_operand(frame, op, at[1], &dma->source_semaphore));
  if (there[4]) TRY(mosaic_integers(frame, op, at[4], 1, &dma->device));
  const MosaicMemref *from = &dma->source, *to = &dma->target;
  bool same = dtype_bytes(from->dtype) == dtype_bytes(to->dtype) &&
              int64s_eq(from->view.dims, from->view.rank, to->view.dims, to->view.rank);
  return same ? STATUS_OK : mosaic_fail(frame, op, "its two ends are not of one shape");
}

/* Within the chip one semaphore stands for both ends; between chips each end has its own. */
Status mosaic_enqueue_dma(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Dma dma = {0};
  MosaicRun *run = frame->run, *peer = run;
  TRY(read_dma(frame, op, &dma));
  if (dma.has_device) {
    TRY(mosaic_peer(frame, op, dma.device, &peer));
    TRY(on_peer(frame, op, peer, &dma.target, &dma.target));
    TRY(on_peer(frame, op, peer, &dma.target_semaphore, &dma.target_semaphore));
  }
  TRY(mosaic_touch_on(frame, op, run, &dma.source, false));
  TRY(mosaic_touch_on(frame, op, peer, &dma.target, true));
  RETURN_IF(dma.source.buffer == dma.target.buffer && mosaic_overlap(&dma.source, &dma.target),
            mosaic_fail(frame, op, "it copies memory onto itself"));
  mosaic_copy(&dma.target, &dma.source);
  int64_t bytes = bytes_of(&dma.source);
  MosaicTransfer *arrival = transfer_add(peer, run, op, &dma.target_semaphore, bytes);
  transfer_end(arrival, &dma.target, true);
  MosaicTransfer *departure = arrival;
  if (dma.has_source_semaphore) departure = transfer_add(run, run, op, &dma.source_semaphore, bytes);
  transfer_end(departure, &dma.source, false);
  arrival->is_remote = departure->is_remote = dma.has_device;
  if (dma.has_device) {
    const MosaicMemref *sent = dma.has_source_semaphore ? &dma.source_semaphore : NULL;
    talk_add(run, TALK_DMA, peer->device, sent, &dma.target_semaphore, bytes);
  }
  return STATUS_OK;
}

/* --- semaphores --- */

typedef struct {
  const int64_t *count;
  int64_t amount;
} Enough;

static bool is_enough(const void *self) {
  const Enough *enough = self;
  return *enough->count >= enough->amount;
}

static Status take(MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *semaphore, int64_t amount) {
  Enough enough = {count_of(semaphore), amount};
  RETURN_IF(amount < 0, mosaic_fail(frame, op, "it waits for %lld", (long long)amount));
  if (!is_enough(&enough)) TRY(mosaic_pause(frame, op, is_enough, &enough));
  *count_of(semaphore) -= amount;
  mosaic_learn(frame->run, semaphore);
  return STATUS_OK;
}

static Status wait_for_bytes(MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *semaphore,
                             int64_t bytes) {
  TRY(take(frame, op, semaphore, bytes));
  int64_t remote = transfers_retire(frame->run, op, semaphore, bytes);
  talk_add(frame->run, TALK_WAIT, frame->run->device, NULL, semaphore, remote);
  return STATUS_OK;
}

/* Operands: the semaphore, and the ends that tell how many bytes. */
Status mosaic_wait_dma(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  MosaicMemref semaphore = {0}, target = {0};
  TRY(semaphore_operand(frame, op, 0, &semaphore));
  TRY(data_operand(frame, op, 2, &target));
  return wait_for_bytes(frame, op, &semaphore, bytes_of(&target));
}

/* The operands are those of the DMA; waits for its source or its target to be free. */
Status mosaic_wait_dma_end(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Dma dma = {0};
  TRY(read_dma(frame, op, &dma));
  bool for_target = mosaic_flag(op, "wait_target") || !dma.has_source_semaphore;
  return for_target ? wait_for_bytes(frame, op, &dma.target_semaphore, bytes_of(&dma.target))
                    : wait_for_bytes(frame, op, &dma.source_semaphore, bytes_of(&dma.source));
}

Status mosaic_wait_semaphore(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  MosaicMemref semaphore = {0};
  int64_t amount = 0;
  TRY(semaphore_operand(frame, op, 0, &semaphore));
  TRY(mosaic_integers(frame, op, 1, 1, &amount));
  TRY(take(frame, op, &semaphore, amount));
  talk_add(frame->run, TALK_WAIT, frame->run->device, NULL, &semaphore, amount);
  return STATUS_OK;
}

/* Operands: the semaphore, how much, and perhaps the device that has it. */
Status mosaic_signal(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  MosaicMemref semaphore = {0};
  int64_t amount = 0, device = 0;
  uint32_t at = 0;
  bool elsewhere = false;
  MosaicRun *peer = frame->run;
  TRY(semaphore_operand(frame, op, 0, &semaphore));
  TRY(mosaic_integers(frame, op, 1, 1, &amount));
  RETURN_IF(!one_segment(op, 2, &at, &elsewhere),
            mosaic_fail(frame, op, "its operands are not as many as it says"));
  if (elsewhere) {
    TRY(mosaic_integers(frame, op, at, 1, &device));
    TRY(mosaic_peer(frame, op, device, &peer));
    TRY(on_peer(frame, op, peer, &semaphore, &semaphore));
  }
  *count_of(&semaphore) += amount;
  mosaic_tell(frame->run, &semaphore);
  talk_add(frame->run, TALK_SIGNAL, peer->device, NULL, &semaphore, amount);
  return STATUS_OK;
}

Status mosaic_read_semaphore(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  MosaicMemref semaphore = {0};
  TRY(semaphore_operand(frame, op, 0, &semaphore));
  return mosaic_give_integer(frame, op, *count_of(&semaphore));
}

Status mosaic_barrier_semaphore(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  MosaicMemref semaphore = mosaic_whole(frame->run->barrier);
  return mosaic_give_memref(frame, op, &semaphore);
}

Status mosaic_device_id(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  return mosaic_give_integer(frame, op, frame->run->device);
}

/* A chip is one core to a kernel. */
Status mosaic_core_id(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  return mosaic_give_integer(frame, op, 0);
}

/* --- the end --- */

Status mosaic_check_end(const MosaicRun *run) {
  const MosaicTransfer *transfer = run->transfers;
  if (transfer != NULL) {
    Str place = mosaic_place(run->arena, transfer->op);
    return diag_fail(
        run->context->diag, STATUS_DEADLOCK, run->kernel->place, "a kernel waits for its DMAs",
        "%.*s: a race: the kernel ends on device %u, and no one waited for the DMA that device %u "
        "started at %.*s",
        STR_ARG(run->kernel->call), run->device, transfer->device, STR_ARG(place));
  }
  for (uint32_t i = 0; i < run->buffers.n; i++) {
    const MosaicBuffer *buffer = run->buffers.at[i];
    for (int64_t e = 0; buffer->is_semaphore && e < tensor_elements(buffer->tensor); e++) {
      int64_t count = ((const int64_t *)buffer->tensor->data)[e];
      RETURN_IF(count != 0, diag_fail(run->context->diag, STATUS_DEADLOCK, run->kernel->place,
                                      "what is signalled must be waited for",
                                      "%.*s: a race: the kernel ends on device %u with a semaphore at %lld",
                                      STR_ARG(run->kernel->call), run->device, (long long)count));
    }
  }
  return STATUS_OK;
}

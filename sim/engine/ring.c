/* Rings. At step t = 1 … T of a gather, a member passes on the block that has come t - 1 hops, away from its
 * owner; a reduce-scatter is that run backwards: at step t it sends the sum so far for the block that has T -
 * t + 1 hops to go. Where T is half of an even ring the block opposite comes from both sides: half of it from
 * each. Large blocks are passed on in chunks: the next step's first chunk is sent while this step's last is
 * on its way, so that links do not idle for a hop's latency. (Chan et al., "Collective communication: theory,
 * practice, and experience"; both ways as in the JAX Scaling Book.) */
#include "sim/engine/ring.h"

typedef enum { UP, DOWN, DIRECTIONS } Direction;

enum { NO_BLOCK = -1 };

Slice split_slice(Split split, uint32_t first, uint32_t count) {
  int64_t start = split.n * first / split.parts, end = split.n * (first + count) / split.parts;
  return (Slice){split.buffer, split.at + start, end - start};
}

static uint32_t steps_of(uint32_t length, bool ring) {
  return ring ? length / 2 : length - 1;
}

uint32_t ring_semaphores(uint32_t length, bool ring) {
  return DIRECTIONS * (steps_of(length, ring) + 1); /* data of each step, and credits */
}

static uint32_t data_semaphore(const Ring *ring, Direction way, uint32_t step) {
  return ring->semaphores + way * (steps_of(ring->length, ring->ring) + 1) + step;
}

static uint32_t credit_semaphore(const Ring *ring, Direction way) {
  return data_semaphore(ring, way, 0);
}

/* The member that a direction's data go to, and the one they come from. */
static uint32_t target(const Ring *ring, Direction way) {
  return way == UP ? ring->next : ring->previous;
}

static uint32_t source(const Ring *ring, Direction way) {
  return way == UP ? ring->previous : ring->next;
}

/* The block `distance` places from here, along a direction (or, negative, against it); NO_BLOCK beyond a
 * line's end. */
static int64_t block_at(const Ring *ring, Direction way, int64_t distance) {
  int64_t length = ring->length;
  int64_t block = ring->position + (way == UP ? distance : -distance);
  if (ring->ring) return (block + length) % length;
  return block >= 0 && block < length ? block : NO_BLOCK;
}

/* Whether a block so far away comes from both sides, half of it from each. */
static bool is_half(const Ring *ring, uint32_t distance) {
  return ring->ring && 2 * distance == ring->length;
}

/* A block, or the half of it that goes this way when it is opposite. */
static Slice block_slice(const Ring *ring, Direction way, int64_t block, uint32_t distance) {
  Slice whole = split_slice(ring->split, ring->first + (uint32_t)block * ring->stride, ring->stride);
  if (!is_half(ring, distance)) return whole;
  int64_t half = whole.n / 2;
  if (way == UP) return (Slice){whole.buffer, whole.at, half};
  return (Slice){whole.buffer, whole.at + half, whole.n - half};
}

/* Sends one thing after the other in each direction: what is next never slows what is on its way. */
static void send(Kernel *kernel, const Ring *ring, Direction way, uint32_t step, Slice from, Slice to) {
  uint32_t port = ring->ports + way;
  kernel_wait(kernel, port, 1, target(ring, way), "its own DMA before");
  kernel_dma(kernel, from, target(ring, way), to, port, data_semaphore(ring, way, step));
}

/* A block, or the half of it that goes one way, is passed on in chunks; a half is a single chunk. */
static Slice chunk_slice(const Ring *ring, Slice block, bool half, uint32_t chunk) {
  if (half) return block;
  return split_slice((Split){block.buffer, block.at, block.n, ring->chunks}, chunk, 1);
}

/* A gather's half comes last: it is sent when the whole block before it is here. */
static bool gathers_in(const Ring *ring, uint32_t step, uint32_t chunk) {
  return !is_half(ring, step) || chunk + 1 == ring->chunks;
}

static void gather_send(Kernel *kernel, const Ring *ring, Direction way, uint32_t step, uint32_t chunk) {
  int64_t block = block_at(ring, way, -(int64_t)(step - 1));
  bool sends = step <= steps_of(ring->length, ring->ring) && gathers_in(ring, step, chunk);
  if (!sends || target(ring, way) == NO_MEMBER || block == NO_BLOCK) return;
  Slice slice = chunk_slice(ring, block_slice(ring, way, block, step), is_half(ring, step), chunk);
  send(kernel, ring, way, step, slice, slice);
}

static void gather_receive(Kernel *kernel, const Ring *ring, Direction way, uint32_t step, uint32_t chunk) {
  if (step == 0 || !gathers_in(ring, step, chunk) || block_at(ring, way, -(int64_t)step) == NO_BLOCK) return;
  kernel_wait(kernel, data_semaphore(ring, way, step), 1, source(ring, way), "a block");
}

void ring_gather(Kernel *kernel, const Ring *ring) {
  uint32_t steps = steps_of(ring->length, ring->ring);
  for (uint32_t step = 1; step <= steps + 1; step++)
    for (uint32_t chunk = 0; chunk < ring->chunks; chunk++)
      for (Direction way = UP; way < DIRECTIONS; way++) {
        gather_receive(kernel, ring, way, step - 1, chunk);
        gather_send(kernel, ring, way, step, chunk);
      }
}

/* Where the sum of a step lands: each direction has two slots, used in turn. */
static Slice slot_slice(const Ring *ring, Direction way, uint32_t step, int64_t n) {
  int64_t room = ring->slots.n / RING_SLOTS;
  return (Slice){ring->slots.buffer, ring->slots.at + room * (2 * way + step % 2), n};
}

/* Whether a member sends at a step: on a line only for blocks that lie on its far side. */
static bool scatter_sends(const Ring *ring, Direction way, uint32_t step, uint32_t steps) {
  return step <= steps && target(ring, way) != NO_MEMBER && block_at(ring, way, steps - step + 1) != NO_BLOCK;
}

/* A scatter's half comes first: the sum of the whole block after it waits for it. */
static bool scatters_in(const Ring *ring, uint32_t distance, uint32_t chunk) {
  return !is_half(ring, distance) || chunk == 0;
}

/* A slot may be written again when the receiver has given it back, so two steps may be ahead without a
 * credit. */
static void scatter_send(Kernel *kernel, const Ring *ring, Direction way, uint32_t step, uint32_t chunk) {
  uint32_t steps = steps_of(ring->length, ring->ring), distance = steps - step + 1;
  if (!scatter_sends(ring, way, step, steps) || !scatters_in(ring, distance, chunk)) return;
  bool may_be_full = step > 2 && scatter_sends(ring, way, step - 2, steps);
  if (may_be_full && chunk == 0) kernel_take_credit(kernel, target(ring, way), credit_semaphore(ring, way));
  Slice sum = block_slice(ring, way, block_at(ring, way, distance), distance);
  Slice slot = slot_slice(ring, way, step, sum.n);
  bool half = is_half(ring, distance);
  send(kernel, ring, way, step, chunk_slice(ring, sum, half, chunk), chunk_slice(ring, slot, half, chunk));
}

static void scatter_receive(Kernel *kernel, const Ring *ring, Direction way, uint32_t step, uint32_t chunk) {
  uint32_t from = source(ring, way), steps = steps_of(ring->length, ring->ring), distance = steps - step;
  if (step == 0 || from == NO_MEMBER || !scatters_in(ring, distance + 1, chunk)) return;
  int64_t block = block_at(ring, way, distance);
  if (block == NO_BLOCK) return;
  kernel_wait(kernel, data_semaphore(ring, way, step), 1, from, "a partial sum");
  bool half = is_half(ring, distance + 1); /* of the sender */
  Slice into = block_slice(ring, way, block, distance + 1), slot = slot_slice(ring, way, step, into.n);
  kernel_combine(kernel, chunk_slice(ring, into, half, chunk), chunk_slice(ring, slot, half, chunk));
  bool is_last = half || chunk + 1 == ring->chunks;
  if (is_last && step + 2 <= steps) kernel_give_credit(kernel, from, credit_semaphore(ring, way));
}

void ring_scatter(Kernel *kernel, const Ring *ring) {
  uint32_t steps = steps_of(ring->length, ring->ring);
  for (uint32_t step = 1; step <= steps + 1; step++)
    for (uint32_t chunk = 0; chunk < ring->chunks; chunk++)
      for (Direction way = UP; way < DIRECTIONS; way++) {
        scatter_receive(kernel, ring, way, step - 1, chunk);
        scatter_send(kernel, ring, way, step, chunk);
      }
}

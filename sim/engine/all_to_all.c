/* All-to-all: axis by axis. Along an axis each chip sends to each other one of its line what is for that
 * one's coordinate; what came is sorted by the next axis and goes on. On a ring the part for the chip
 * opposite goes half one way round, half the other, so that links both ways carry the same. The flows share
 * the links: all end when the links have done their work.
 *
 * Where each chip sends to each other one over routes, it goes through them in steps of the golden section:
 * the DMAs under way at a time are near and far, and all links have work to the end.
 */
#include "sim/engine/collectives.h"

enum { WINDOW = 16 /* DMAs of a chip and piece under way */ };

typedef struct {
  const CollectivePlan *plan;
  uint32_t piece, phase, axis;
  Ring line; /* where this member is on the axis */
  int64_t block;
  uint32_t received, sent; /* semaphores */
  uint32_t under_way;
} Phase;

static Slice block_of(const Phase *phase, uint32_t buffer, uint32_t position) {
  Slice all = phase_slice(phase->plan, buffer, phase->piece, phase->phase);
  return (Slice){buffer, all.at + position * phase->block, phase->block};
}

static bool is_opposite(const Phase *phase, uint32_t position) {
  uint32_t length = phase->line.length;
  return phase->line.ring && phase->plan->group->axes[phase->axis].neighbours &&
         2 * ((position + length - phase->line.position) % length) == length;
}

static void send_both_ways(Kernel *kernel, const Phase *phase, uint32_t member, Slice from, Slice to) {
  int64_t half = from.n / 2, rest = from.n - half;
  kernel_dma_via(kernel, (Slice){from.buffer, from.at, half}, phase->line.next, member,
                 (Slice){to.buffer, to.at, half}, NO_SEMAPHORE, phase->received);
  kernel_dma_via(kernel, (Slice){from.buffer, from.at + half, rest}, phase->line.previous, member,
                 (Slice){to.buffer, to.at + half, rest}, NO_SEMAPHORE, phase->received);
}

/* The block for one position of the line. */
static void send_block(Kernel *kernel, Phase *phase, uint32_t position) {
  uint32_t member = group_member_along(phase->plan->group, phase->axis, kernel_member(kernel), position);
  Slice from = block_of(phase, PLAN_WORK, position), to = block_of(phase, PLAN_SLOTS, phase->line.position);
  if (is_opposite(phase, position)) {
    send_both_ways(kernel, phase, member, from, to);
    return;
  }
  if (phase->under_way == WINDOW)
    kernel_wait(kernel, phase->sent, 1, NO_MEMBER, "its own DMAs before");
  else
    phase->under_way++;
  kernel_dma(kernel, from, member, to, phase->sent, phase->received);
}

static uint32_t common_divisor(uint32_t a, uint32_t b) {
  return b == 0 ? a : common_divisor(b, a % b);
}

/* About 0.618 of the members, without a common divisor, so that its multiples reach all of them. */
static uint32_t golden_step(uint32_t members) {
  uint32_t step = (uint32_t)((uint64_t)members * 618 / 1000);
  while (common_divisor(members, step) != 1) step++;
  return step;
}

static void send_over_routes(Kernel *kernel, Phase *phase) {
  uint32_t members = phase->line.length;
  uint64_t step = golden_step(members);
  for (uint64_t i = 1; i < members; i++)
    send_block(kernel, phase, (uint32_t)((phase->line.position + i * step) % members));
}

/* Near ones first, up and down in turn. */
static void send_along_line(Kernel *kernel, Phase *phase) {
  uint32_t length = phase->line.length, position = phase->line.position;
  for (uint32_t distance = 1; distance < length; distance++) {
    bool up = phase->line.ring ? 2 * distance <= length : position + distance < length;
    bool down = phase->line.ring ? 2 * distance < length : position >= distance;
    if (up) send_block(kernel, phase, (position + distance) % length);
    if (down) send_block(kernel, phase, (position + length - distance) % length);
  }
}

static void run_phase(Kernel *kernel, Phase *phase) {
  uint32_t length = phase->line.length, position = phase->line.position;
  kernel_copy(kernel, block_of(phase, PLAN_SLOTS, position), block_of(phase, PLAN_WORK, position));
  if (phase->plan->group->axes[phase->axis].pairs > 0)
    send_over_routes(kernel, phase);
  else
    send_along_line(kernel, phase);
  uint32_t opposite = length % 2 == 0 && is_opposite(phase, (position + length / 2) % length);
  kernel_wait(kernel, phase->received, length - 1 + opposite, NO_MEMBER, "its parts");
  if (phase->under_way > 0) kernel_wait(kernel, phase->sent, phase->under_way, NO_MEMBER, "its own DMAs");
}

/* What came is [source coordinates so far][next axis][axes after]; the next phase wants the next axis
 * outermost. */
static void sort_for_next(Kernel *kernel, const Phase *phase) {
  const Piece *piece = &phase->plan->pieces.at[phase->piece];
  int64_t outer = 1, inner = piece->n, next = phase->plan->group->axes[piece->order[phase->phase + 1]].length;
  for (uint32_t i = 0; i < phase->plan->group->n_axes; i++) {
    uint32_t length = phase->plan->group->axes[piece->order[i]].length;
    if (i <= phase->phase) outer *= length;
    if (i > phase->phase + 1) inner *= length;
  }
  Slice from = phase_slice(phase->plan, PLAN_SLOTS, phase->piece, phase->phase);
  Slice to = phase_slice(phase->plan, PLAN_WORK, phase->piece, phase->phase + 1);
  for (int64_t i = 0; i < outer; i++)
    for (int64_t j = 0; j < next; j++)
      kernel_copy(kernel, (Slice){to.buffer, to.at + (j * outer + i) * inner, inner},
                  (Slice){from.buffer, from.at + (i * next + j) * inner, inner});
}

static void run_piece(Kernel *kernel, uint32_t piece) {
  const CollectivePlan *plan = kernel_plan(kernel);
  uint32_t semaphores = piece * (plan->stages + 1);
  for (uint32_t i = 0; i < plan->stages; i++) {
    Phase phase = {.plan = plan, .piece = piece, .phase = i, .axis = plan->pieces.at[piece].order[i]};
    phase.line = ring_along(kernel, phase.axis);
    phase.block = plan->pieces.at[piece].n * (plan->group->members / phase.line.length);
    phase.received = semaphores + i;
    phase.sent = semaphores + plan->stages;
    run_phase(kernel, &phase);
    if (i + 1 < plan->stages) sort_for_next(kernel, &phase);
  }
}

void all_to_all_kernel(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  for (uint32_t piece = 1; piece < plan->pieces.n; piece++)
    kernel_fork(kernel, run_piece, piece, plan->done_semaphore);
  run_piece(kernel, 0);
  for (uint32_t piece = 1; piece < plan->pieces.n; piece++)
    kernel_wait(kernel, plan->done_semaphore, 1, kernel_member(kernel), "its other pieces");
}

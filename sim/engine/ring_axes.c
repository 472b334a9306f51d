/* Rings over several axes: each axis is a thread of its own that works off its list of items; a piece goes
 * from one axis to the next by a local semaphore. */
#include "sim/engine/collectives.h"

void open_ports(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  for (uint32_t port = 0; port < RING_PORTS * plan->group->n_axes; port++)
    kernel_signal(kernel, kernel_member(kernel), plan->ports + port, 1);
}

void close_ports(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  for (uint32_t port = 0; port < RING_PORTS * plan->group->n_axes; port++)
    kernel_wait(kernel, plan->ports + port, 1, NO_MEMBER, "its own last DMA");
}

static Ring ring_in(Kernel *kernel, const GroupLayout *group, uint32_t axis) {
  const CollectivePlan *plan = kernel_plan(kernel);
  uint32_t member = kernel_member(kernel);
  GroupAxis own = group->axes[axis];
  uint32_t position = group_position(group, axis, member), last = own.length - 1;
  Ring ring = {.position = position,
               .length = own.length,
               .ring = own.ring,
               .next = NO_MEMBER,
               .previous = NO_MEMBER,
               .chunks = 1};
  if (own.ring || position < last)
    ring.next = group_member_along(group, axis, member, position < last ? position + 1 : 0);
  if (own.ring || position > 0)
    ring.previous = group_member_along(group, axis, member, position > 0 ? position - 1 : last);
  ring.ports = plan->ports + RING_PORTS * axis;
  return ring;
}

Ring ring_along(Kernel *kernel, uint32_t axis) {
  const CollectivePlan *plan = kernel_plan(kernel);
  return ring_in(kernel, plan->group, axis);
}

/* The parts of a piece that a phase works on: those of the members that agree with this one on the axes
 * before it. */
static void set_blocks(Ring *ring, const CollectivePlan *plan, const PlanItem *item, uint32_t member) {
  const Piece *piece = &plan->pieces.at[item->piece];
  ring->split = piece_split(plan, item->piece);
  ring->stride = ring->split.parts;
  for (uint32_t phase = 0; phase < item->phase; phase++) {
    uint32_t axis = piece->order[phase];
    ring->stride /= piece->layout->axes[axis].length;
    ring->first += group_position(piece->layout, axis, member) * ring->stride;
  }
  ring->stride /= ring->length;
}

static void run_item(Kernel *kernel, const CollectivePlan *plan, const PlanItem *item) {
  uint32_t member = kernel_member(kernel),
           stage = plan->stage_semaphores + item->piece * plan->stages + item->stage;
  const Piece *piece = &plan->pieces.at[item->piece];
  Ring ring = ring_in(kernel, piece->layout, piece->order[item->phase]);
  ring.semaphores = item->semaphores;
  ring.slots = item->slots;
  ring.chunks = item->chunks;
  set_blocks(&ring, plan, item, member);
  if (item->stage > 0) kernel_wait(kernel, stage - 1, 1, member, "the axis before");
  if (item->gather)
    ring_gather(kernel, &ring);
  else
    ring_scatter(kernel, &ring);
  if (item->stage + 1 < plan->stages) kernel_signal(kernel, member, stage, 1);
}

static void run_axis(Kernel *kernel, uint32_t axis) {
  const CollectivePlan *plan = kernel_plan(kernel);
  for (uint32_t i = 0; i < plan->items[axis].n; i++) run_item(kernel, plan, &plan->items[axis].at[i]);
}

void run_rings(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  open_ports(kernel);
  for (uint32_t axis = 1; axis < plan->group->n_axes; axis++)
    kernel_fork(kernel, run_axis, axis, plan->done_semaphore);
  run_axis(kernel, 0);
  for (uint32_t axis = 1; axis < plan->group->n_axes; axis++)
    kernel_wait(kernel, plan->done_semaphore, 1, kernel_member(kernel), "its other axes");
  close_ports(kernel);
}

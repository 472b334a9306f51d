/* All-reduce: a reduce-scatter and a gather of the sums, so that all chips hold the same bits; or, where
 * latency is all that counts, a gather of the whole values along each axis, which every chip then reduces in
 * the same order. */
#include "sim/engine/collectives.h"

/* Gathers the values of all members along an axis and reduces them into `value`. The gathered ones stay as
 * they are, since neighbours may still be reading them. */
static void gather_and_reduce(Kernel *kernel, uint32_t axis, Slice value, Ring *ring) {
  uint32_t semaphores = ring->semaphores;
  int64_t at = ring->split.at + ring->split.n;
  *ring = ring_along(kernel, axis);
  ring->split = (Split){PLAN_WORK, at, value.n * ring->length, ring->length};
  ring->stride = 1;
  ring->semaphores = semaphores;
  kernel_copy(kernel, split_slice(ring->split, ring->position, 1), value);
  ring_gather(kernel, ring);
  kernel_copy(kernel, value, split_slice(ring->split, 0, 1));
  for (uint32_t i = 1; i < ring->length; i++) kernel_combine(kernel, value, split_slice(ring->split, i, 1));
  ring->semaphores += ring_semaphores(ring->length, ring->ring);
}

static void reduce_whole(Kernel *kernel, const CollectivePlan *plan) {
  Slice value = {PLAN_WORK, 0, plan->elements};
  open_ports(kernel);
  Ring ring = {.split = {.n = plan->elements}};
  for (uint32_t axis = 0; axis < plan->group->n_axes; axis++) gather_and_reduce(kernel, axis, value, &ring);
  close_ports(kernel);
}

void all_reduce_kernel(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  switch (plan->algorithm) {
  case ALGORITHM_WHOLE: reduce_whole(kernel, plan); break;
  case ALGORITHM_ONE_SHOT: run_one_shot(kernel); break;
  default: run_rings(kernel);
  }
}

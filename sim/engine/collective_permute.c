/* Collective-permute: from each source to its target one DMA, or one for each of several routes. */
#include "sim/engine/collectives.h"

enum { RECEIVED, SENT };

static void send_parts(Kernel *kernel, const CollectivePlan *plan, uint32_t target) {
  uint32_t member = kernel_member(kernel), parts = permute_parts(plan, member);
  for (uint32_t part = 0; part < parts; part++) {
    Slice from = split_slice((Split){PLAN_WORK, 0, plan->elements, parts}, part, 1);
    Slice to = {PLAN_SLOTS, from.at, from.n};
    kernel_dma_via(kernel, from, permute_corner(plan, member, part), target, to, SENT, RECEIVED);
  }
}

void permute_kernel(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  uint32_t member = kernel_member(kernel), target = plan->target_of[member], source = plan->source_of[member];
  if (target != NO_MEMBER) send_parts(kernel, plan, target);
  if (source != NO_MEMBER) kernel_wait(kernel, RECEIVED, permute_parts(plan, source), source, "the value");
  if (target != NO_MEMBER) kernel_wait(kernel, SENT, permute_parts(plan, member), target, "its own DMA");
}

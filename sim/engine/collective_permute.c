/* Collective-permute: one DMA from each source to its target, over the route in dimension order. */
#include "sim/engine/collectives.h"

enum { RECEIVED, SENT };

void permute_kernel(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  uint32_t member = kernel_member(kernel), target = plan->target_of[member], source = plan->source_of[member];
  Slice value = {PLAN_WORK, 0, plan->elements}, place = {PLAN_SLOTS, 0, plan->elements};
  if (target != NO_MEMBER) kernel_dma(kernel, value, target, place, SENT, RECEIVED);
  if (source != NO_MEMBER) kernel_wait(kernel, RECEIVED, 1, source, "the value");
  if (target != NO_MEMBER) kernel_wait(kernel, SENT, 1, target, "its own DMA");
}

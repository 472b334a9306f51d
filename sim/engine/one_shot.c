/* One shot: every member sends to every other one at once, over routes; what is reduced is summed by each for
 * itself, in the order of the members, so that all hold the same bits. For groups whose rings would go over
 * routes of many hops, and for few bytes. */
#include "sim/engine/collectives.h"

enum { RECEIVED, SENT, WINDOW = 16 /* DMAs of a chip under way */ };

static Slice part_of(const CollectivePlan *plan, uint32_t member) {
  return split_slice(piece_split(plan, 0), piece_part(plan, 0, member), 1);
}

static Slice slot_of(const CollectivePlan *plan, uint32_t member) {
  return (Slice){PLAN_SLOTS, member * plan->elements, plan->elements};
}

static void send(Kernel *kernel, const CollectivePlan *plan, uint32_t to) {
  uint32_t member = kernel_member(kernel);
  Slice slot = slot_of(plan, member), own = part_of(plan, member);
  switch (plan->kind) {
  case COLLECTIVE_ALL_GATHER: kernel_dma(kernel, own, to, own, SENT, RECEIVED); break;
  case COLLECTIVE_REDUCE_SCATTER: kernel_dma(kernel, part_of(plan, to), to, slot, SENT, RECEIVED); break;
  default: kernel_dma(kernel, slot, to, slot, SENT, RECEIVED);
  }
}

static void exchange(Kernel *kernel, const CollectivePlan *plan) {
  uint32_t member = kernel_member(kernel), members = kernel_members(kernel), under_way = 0;
  for (uint32_t i = 1; i < members; i++) {
    if (under_way == WINDOW)
      kernel_wait(kernel, SENT, 1, NO_MEMBER, "its own DMAs before");
    else
      under_way++;
    send(kernel, plan, (member + i) % members);
  }
  kernel_wait(kernel, RECEIVED, members - 1, NO_MEMBER, "the others' parts");
  kernel_wait(kernel, SENT, under_way, NO_MEMBER, "its own DMAs");
}

void run_one_shot(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  uint32_t member = kernel_member(kernel);
  bool reduces = plan->kind != COLLECTIVE_ALL_GATHER;
  Slice whole = {PLAN_WORK, 0, plan->elements};
  Slice value = plan->kind == COLLECTIVE_ALL_REDUCE ? whole : part_of(plan, member);
  if (reduces) kernel_copy(kernel, slot_of(plan, member), value);
  exchange(kernel, plan);
  if (reduces) kernel_copy(kernel, value, slot_of(plan, 0));
  for (uint32_t i = 1; reduces && i < kernel_members(kernel); i++)
    kernel_combine(kernel, value, slot_of(plan, i));
}

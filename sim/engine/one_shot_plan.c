/* Plans of one shot: the fullest link is counted over the routes of all pairs. */
#include "sim/engine/plan_parts.h"

enum { MOST_MEMBERS = 64 };

/* Where all members are neighbours along torus axes a ring has as few hops, and fewer bytes on each link. */
static bool is_worth_a_try(const GroupLayout *group) {
  bool neighbours = true;
  for (uint32_t i = 0; i < group->n_axes; i++) neighbours = neighbours && group->axes[i].neighbours;
  return !neighbours && group->members <= MOST_MEMBERS;
}

CollectivePlan *plan_one_shot(Arena *arena, const Pod *pod, const CollectivePlan *question, IciCost cost) {
  if (!is_worth_a_try(question->group)) return NULL;
  CollectivePlan *plan = plan_new(arena, question, ALGORITHM_ONE_SHOT);
  uint32_t members = plan->group->members;
  const uint32_t *chips = plan->group->chips;
  bool is_reduced_whole = plan->kind == COLLECTIVE_ALL_REDUCE;
  plan_add_piece(arena, plan, 0, 0, plan->elements);
  plan->buffers[PLAN_WORK] = plan->elements * (is_reduced_whole ? 1 : members);
  plan->buffers[PLAN_SLOTS] = plan->kind == COLLECTIVE_ALL_GATHER ? 0 : plan->elements * members;
  plan->n_semaphores = 2;
  RouteLoads loads = route_loads_new(pod);
  for (uint32_t from = 0; from < members; from++)
    for (uint32_t to = 0; to < members; to++)
      if (from != to)
        route_loads_add(&loads, chips[from], chips[to], (double)plan->elements * plan->element_bits / 8);
  plan_take_loads(plan, &loads, cost);
  route_loads_free(&loads);
  return plan;
}

/* Plans of permutes. In: who sends to whom; out: over which routes. A value goes over the route in dimension
 * order, or, where that is faster, in equal parts over several: one that starts with each of the axes along
 * which source and target differ, so that they share no link. (JAX Scaling Book, TPUs, question 5.) Faster is
 * what leaves less on the fullest link, all pairs together. */
#include "sim/engine/plan_parts.h"

enum { CORNERS = POD_AXES - 1 };

uint32_t permute_parts(const CollectivePlan *plan, uint32_t member) {
  uint32_t parts = 1;
  for (uint32_t i = 0; plan->corners != NULL && i < CORNERS; i++)
    parts += plan->corners[member * CORNERS + i] != NO_MEMBER;
  return parts;
}

uint32_t permute_corner(const CollectivePlan *plan, uint32_t member, uint32_t part) {
  return part == 0 ? NO_MEMBER : plan->corners[member * CORNERS + part - 1];
}

/* ---- routes */

/* Where a route that goes along the axes from `first` on, in order, turns to the others. */
static uint32_t corner_chip(const Pod *pod, uint32_t from, uint32_t to, uint32_t first) {
  int64_t at[POD_AXES], end[POD_AXES];
  pod_coordinates(pod, from, at);
  pod_coordinates(pod, to, end);
  for (uint32_t axis = first; axis < pod->n_axes; axis++) at[axis] = end[axis];
  return pod_chip(pod, pod_slice(pod, from), at);
}

/* The corners of a pair's further routes, as members; a corner outside the group is not used. */
static void find_corners(const Pod *pod, const uint32_t *member_of, uint32_t from, uint32_t to,
                         uint32_t corners[CORNERS]) {
  uint32_t n = 0, last = from;
  for (uint32_t i = 0; i < CORNERS; i++) corners[i] = NO_MEMBER;
  for (uint32_t first = 1; first < pod->n_axes && !route_is_dcn(pod, from, to); first++) {
    uint32_t corner = corner_chip(pod, from, to, first);
    bool is_other = corner != from && corner != to && corner != last;
    if (is_other && member_of[corner] != NO_MEMBER) corners[n++] = member_of[corner];
    last = corner;
  }
}

static const uint32_t *all_corners(Arena *arena, const Pod *pod, const CollectivePlan *plan) {
  const GroupLayout *group = plan->group;
  uint32_t *corners = ARENA_ARRAY(arena, uint32_t, (size_t)group->members * CORNERS);
  uint32_t *member_of = ARENA_ARRAY(arena, uint32_t, pod->n_chips);
  for (uint32_t chip = 0; chip < pod->n_chips; chip++) member_of[chip] = NO_MEMBER;
  for (uint32_t i = 0; i < group->members; i++) member_of[group->chips[i]] = i;
  for (uint32_t i = 0; i < group->members; i++) {
    uint32_t target = plan->target_of[i] == NO_MEMBER ? i : plan->target_of[i];
    find_corners(pod, member_of, group->chips[i], group->chips[target], &corners[i * CORNERS]);
  }
  return corners;
}

/* ---- time */

static void time_plan(const Pod *pod, CollectivePlan *plan) {
  const uint32_t *chips = plan->group->chips;
  RouteLoads loads = route_loads_new(pod);
  for (uint32_t i = 0; i < plan->group->members; i++) {
    if (plan->target_of[i] == NO_MEMBER || plan->target_of[i] == i) continue;
    uint32_t parts = permute_parts(plan, i), from = chips[i], to = chips[plan->target_of[i]];
    double part_bytes = (double)plan->elements * plan->element_bits / 8 / parts;
    route_loads_add(&loads, from, to, part_bytes);
    for (uint32_t part = 1; part < parts; part++) {
      uint32_t corner = chips[permute_corner(plan, i, part)];
      route_loads_add(&loads, from, corner, part_bytes);
      route_loads_add(&loads, corner, to, part_bytes);
    }
    plan->streams = plan->streams == 0 || parts < plan->streams ? parts : plan->streams;
  }
  plan_take_loads(plan, &loads, ici_cost(pod));
  route_loads_free(&loads);
}

const CollectivePlan *permute_plan(Arena *arena, const Pod *pod, const GroupLayout *group,
                                   const uint32_t *target_of, const uint32_t *source_of, int64_t elements,
                                   uint32_t element_bits) {
  CollectivePlan *plan = ARENA_NEW(arena, CollectivePlan), *split = ARENA_NEW(arena, CollectivePlan);
  *plan = (CollectivePlan){.kind = COLLECTIVE_PERMUTE,
                           .algorithm = ALGORITHM_DIRECT,
                           .group = group,
                           .element_bits = element_bits,
                           .elements = elements,
                           .target_of = target_of,
                           .source_of = source_of,
                           .buffers = {elements, elements},
                           .n_semaphores = 2,
                           .text = STR("routes in dimension order")};
  *split = *plan;
  split->corners = all_corners(arena, pod, plan);
  split->text = STR("in parts over routes in each order of the axes");
  time_plan(pod, plan);
  time_plan(pod, split);
  return split->seconds < plan->seconds ? split : plan;
}

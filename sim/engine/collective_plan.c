/* Plans: the choice, and what all of them share. */
#include "sim/engine/plan_parts.h"

#include <math.h>

static const uint32_t piece_counts[] = {1, 2, 3, 4, 6, 8}; /* of a part */
static const double WORTH_IT = 0.995; /* a plan with more pieces must be faster by this factor */

CollectivePlan *plan_new(Arena *arena, const CollectivePlan *question, Algorithm algorithm) {
  CollectivePlan *plan = ARENA_NEW(arena, CollectivePlan);
  *plan = *question;
  plan->algorithm = algorithm;
  plan->chunks = 1;
  return plan;
}

void plan_add_piece(Arena *arena, CollectivePlan *plan, uint32_t part, int64_t at, int64_t end) {
  if (end <= at && plan->elements > 0) return;
  Piece piece = {.layout = group_starting(plan->group, part), .at = at, .n = end - at};
  bool all_in_turn = plan->kind == COLLECTIVE_ALL_TO_ALL;
  uint32_t in_turn = all_in_turn ? plan->group->n_axes : group_torus_axes(plan->group);
  for (uint32_t phase = 0; phase < plan->group->n_axes; phase++)
    piece.order[phase] = phase < in_turn ? (part + phase) % in_turn : phase;
  VEC_PUSH(arena, &plan->pieces, piece);
}

uint32_t piece_part(const CollectivePlan *plan, uint32_t piece, uint32_t member) {
  uint32_t part = 0;
  for (uint32_t phase = 0; phase < plan->group->n_axes; phase++) {
    uint32_t axis = plan->pieces.at[piece].order[phase];
    const GroupLayout *layout = plan->pieces.at[piece].layout;
    part = part * layout->axes[axis].length + group_position(layout, axis, member);
  }
  return part;
}

void plan_take_loads(CollectivePlan *plan, const RouteLoads *loads, IciCost cost) {
  plan->steps = loads->hops;
  plan->dcn_steps = loads->most_dcn > 0;
  plan->link_bytes = loads->most;
  plan->dcn_bytes = loads->most_dcn;
  plan->seconds = fmax(ici_seconds(cost, plan->steps, plan->link_bytes),
                       cost.startup + plan->dcn_steps * cost.dcn_hop + plan->dcn_bytes * cost.dcn_byte);
}

static const char *algorithm_text(const CollectivePlan *plan) {
  switch (plan->algorithm) {
  case ALGORITHM_RINGS: return " both ways";
  case ALGORITHM_WHOLE: return " both ways, whole values";
  case ALGORITHM_ONE_SHOT: return ", one shot";
  case ALGORITHM_DIRECT: return ", each to each";
  case ALGORITHM_TREE: return ", passed on";
  }
  return "";
}

Str plan_text(Arena *arena, const CollectivePlan *plan) {
  StrBuf buf = {.arena = arena};
  if (plan->group->starting[0] != NULL || plan->group->starting[1] != NULL) buf_add(&buf, STR("twisted "));
  for (uint32_t i = 0; i < plan->group->n_axes; i++) {
    GroupAxis axis = plan->group->axes[i];
    buf_printf(&buf, "%s%s%s %u", i == 0 ? "" : " x ",
               axis.dcn          ? "DCN "
               : axis.neighbours ? ""
                                 : "routed ",
               axis.ring ? "ring" : "line", axis.length);
  }
  buf_add(&buf, str_of(algorithm_text(plan)));
  if (plan->pieces.n > 1) buf_printf(&buf, ", %u pieces", plan->pieces.n);
  if (plan->chunks > 1) buf_printf(&buf, ", %u chunks", plan->chunks);
  return buf_str(&buf);
}

static const CollectivePlan *faster(const CollectivePlan *best, const CollectivePlan *other) {
  return best == NULL || other->seconds < WORTH_IT * best->seconds ? other : best;
}

static const CollectivePlan *best_plan(Arena *arena, const Pod *pod, const CollectivePlan *question) {
  IciCost cost = ici_cost(pod);
  const CollectivePlan *best = NULL;
  if (question->kind == COLLECTIVE_ALL_TO_ALL) return plan_all_to_all(arena, question, cost);
  if (question->kind == COLLECTIVE_ALL_REDUCE) best = faster(best, plan_whole(arena, question, cost));
  best = faster(best, plan_rings(arena, question, cost, 1, 1));
  uint32_t axes = group_torus_axes(question->group), parts = axes == 0 ? 1 : axes;
  for (size_t i = 0; question->group->n_axes > 1 && i < sizeof piece_counts / sizeof *piece_counts; i++)
    best = faster(best, plan_rings(arena, question, cost, parts, piece_counts[i]));
  const CollectivePlan *one_shot = plan_one_shot(arena, pod, question, cost);
  return one_shot == NULL ? best : faster(best, one_shot);
}

const CollectivePlan *collective_plan(Arena *arena, const Pod *pod, CollectiveKind kind,
                                      const GroupLayout *group, int64_t elements, uint32_t element_bits) {
  CollectivePlan question = {
      .kind = kind, .group = group, .elements = elements, .element_bits = element_bits};
  CollectivePlan *own = ARENA_NEW(arena, CollectivePlan);
  if (pod->twist && kind == COLLECTIVE_ALL_TO_ALL && group->n_axes > 1 && group->shape.slices == 1)
    question.group = group_of_pairs(arena, pod, group);
  *own = *best_plan(arena, pod, &question);
  own->text = plan_text(arena, own);
  return own;
}

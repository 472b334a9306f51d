/* Haste. In: the groups of the entry computation, where each stands in the program; out: where each runs.
 *
 * The one idea: a gradient that only updates its weight may be made as soon as what it is made of is there,
 * and then that need not stay (as XLA's scheduler orders a program, to need least memory). In the text it
 * often stands at the end, since JAX writes down first what others wait for. So what only leaves the program,
 * be it through collectives, moves up to the last value that it needs. */
#include "sim/schedule/hasten.h"

#include "models/cost.h"

#include <stdlib.h>

/* When a group runs: behind the one at a place of the text, and then so many steps on. */
typedef struct {
  uint32_t group, behind, steps;
} Turn;

typedef struct {
  const Comp *body;
  Groups *groups;
  Turn *turns;      /* by group */
  bool *leads_out;  /* by group */
  bool *held;       /* by value: one that does not only leave the program takes it */
  bool *passed;     /* by value: one that others take from takes it */
  uint32_t *taker;  /* by value: the last group that takes it */
  uint32_t *takers; /* by value: how many do */
} Hastener;

/* Control flow stays where it is, and what is updated in place: others may read it before. */
static bool may_move(const Instr *instr) {
  Cost cost = op_cost(instr->op);
  bool in_place = instr->op == OP_DYNAMIC_UPDATE_SLICE || instr->op == OP_SCATTER;
  return cost != COST_CONTROL && cost != COST_CUSTOM && cost != COST_HOST && !in_place && !instr->on_host;
}

/* Only the result takes it, or only one group or collective that leads there, or several that lead there at
 * once, as of a gradient with its moments. */
static bool only_leaves(const Hastener *hastener, uint32_t group) {
  Ids members = group_members(hastener->groups, group);
  for (uint32_t i = 0; i < members.n; i++) {
    uint32_t at = members.at[i];
    const Instr *instr = &hastener->body->instrs.at[at];
    bool many = hastener->takers[at] > 1 && hastener->passed[at] && op_cost(instr->op) != COST_COLLECTIVE;
    if (!may_move(instr) || (hastener->groups->leaves[at] && (hastener->held[at] || many))) return false;
  }
  return true;
}

static bool is_result(const Hastener *hastener, uint32_t group) {
  return group == hastener->body->root;
}

static void note_taker(Hastener *hastener, uint32_t value, uint32_t group, bool passes_on) {
  if (hastener->groups->last[value] == group) return;
  hastener->takers[value] += hastener->taker[value] != group;
  hastener->taker[value] = group;
  hastener->held[value] |= !is_result(hastener, group) && !hastener->leads_out[group];
  hastener->passed[value] |= passes_on;
}

static void note_operands(Hastener *hastener, uint32_t group) {
  Ids members = group_members(hastener->groups, group);
  bool passes_on = false;
  for (uint32_t i = 0; i < members.n; i++) {
    uint32_t taker = hastener->taker[members.at[i]];
    passes_on |= hastener->groups->leaves[members.at[i]] && taker != NO_ID && !is_result(hastener, taker);
  }
  for (uint32_t i = 0; i < members.n; i++) {
    Ids operands = hastener->body->instrs.at[members.at[i]].operands;
    for (uint32_t k = 0; k < operands.n; k++) note_taker(hastener, operands.at[k], group, passes_on);
  }
}

/* Groups stand behind what they take, so that the last come first here. */
static void find_leaving(Hastener *hastener) {
  const Groups *groups = hastener->groups;
  for (uint32_t i = 0; i < hastener->body->instrs.n; i++) hastener->taker[i] = NO_ID;
  for (uint32_t i = hastener->body->instrs.n; i-- > 0;) {
    uint32_t group = groups->runs[i];
    if (group == NO_ID) continue;
    hastener->leads_out[group] = !is_result(hastener, group) && only_leaves(hastener, group);
    note_operands(hastener, group);
  }
}

static int by_turn(const void *left, const void *right) {
  const Turn *a = left, *b = right;
  if (a->behind != b->behind) return a->behind < b->behind ? -1 : 1;
  if (a->steps != b->steps) return a->steps < b->steps ? -1 : 1;
  return a->group < b->group ? -1 : a->group > b->group;
}

static void wait_for(Turn *turn, const Turn *before) {
  if (before->behind < turn->behind) return;
  uint32_t steps =
      before->behind > turn->behind || before->steps >= turn->steps ? before->steps + 1 : turn->steps;
  turn->behind = before->behind;
  turn->steps = steps;
}

/* Behind the group that makes a value; where it is made anew, behind those of what it is made of. */
static void wait_for_value(const Hastener *hastener, Turn *turn, uint32_t value) {
  const Groups *groups = hastener->groups;
  if (is_there_from_start(hastener->body, value)) return;
  if (!groups->repeated[value]) {
    wait_for(turn, &hastener->turns[groups->last[value]]);
    return;
  }
  Ids operands = hastener->body->instrs.at[value].operands;
  for (uint32_t k = 0; k < operands.n; k++) wait_for_value(hastener, turn, operands.at[k]);
}

/* The turn of a group that does not stay where it is: right behind the last that it waits for. */
static Turn first_turn(const Hastener *hastener, uint32_t group) {
  Turn turn = {.group = group};
  Ids members = group_members(hastener->groups, group);
  for (uint32_t i = 0; i < members.n; i++) {
    Ids operands = hastener->body->instrs.at[members.at[i]].operands;
    for (uint32_t k = 0; k < operands.n; k++) {
      if (hastener->groups->last[operands.at[k]] != group) wait_for_value(hastener, &turn, operands.at[k]);
    }
  }
  return turn;
}

/* Gives the places to the groups in the order of their turns. */
static void take_places(Arena *scratch, const Hastener *hastener) {
  uint32_t n = hastener->body->instrs.n, count = 0, next = 0, *runs = hastener->groups->runs;
  Turn *order = ARENA_ARRAY(scratch, Turn, n);
  for (uint32_t i = 0; i < n; i++) {
    if (runs[i] != NO_ID) order[count++] = hastener->turns[runs[i]];
  }
  if (count > 0) qsort(order, count, sizeof *order, by_turn);
  for (uint32_t i = 0; i < n; i++) {
    if (runs[i] != NO_ID) runs[i] = order[next++].group;
  }
}

void groups_hasten(Arena *scratch, const Module *module, Groups *groups) {
  const Comp *body = module_comp(module, module->entry);
  uint32_t n = body->instrs.n;
  Hastener hastener = {.body = body,
                       .groups = groups,
                       .turns = ARENA_ARRAY(scratch, Turn, n),
                       .leads_out = ARENA_ARRAY(scratch, bool, n),
                       .held = ARENA_ARRAY(scratch, bool, n),
                       .passed = ARENA_ARRAY(scratch, bool, n),
                       .taker = ARENA_ARRAY(scratch, uint32_t, n),
                       .takers = ARENA_ARRAY(scratch, uint32_t, n)};
  if (body->instrs.at[body->root].op != OP_TUPLE) return;
  find_leaving(&hastener);
  for (uint32_t i = 0; i < n; i++) {
    uint32_t group = groups->runs[i];
    if (group == NO_ID) continue;
    bool moves = hastener.leads_out[group] && !groups->repeated[group];
    hastener.turns[group] = moves ? first_turn(&hastener, group) : (Turn){.group = group, .behind = i};
  }
  take_places(scratch, &hastener);
}

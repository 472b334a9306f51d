/* Takes all-reduces of what a loop adds up out of it. In: a partitioned program with a while whose body gives
 * sum + all-reduce(x) for an element that nothing else looks at: gradients that are accumulated. Out: the
 * body gives sum + x, from zero on, and one all-reduce follows the loop. Source: XLA's
 * WhileLoopAllReduceCodeMotion. */
#include "sim/partition/clean_collectives.h"

#include "sim/ir/clean.h"

/* Who takes the elements of a tuple. */
typedef struct {
  uint32_t *taker, *takers; /* an entry an element: the last that does, and how many there are */
  uint32_t n;
  bool whole; /* looked at as a whole: by any other instruction */
} Elements;

typedef struct {
  Module *module;
  Arena *scratch;
  uint32_t comp, loop;      /* the while */
  uint32_t body, condition; /* computations */
  uint32_t *body_uses;
  Elements carried, tested, given; /* of the body's parameter, the condition's, and the loop */
} Loop;

static Instr *in_body(const Loop *loop, uint32_t i) {
  return comp_instr(loop->module, loop->body, i);
}

/* Who takes the elements of `tuple`, a value of `comp` with `n` of them. */
static Elements elements_of(Arena *arena, const Comp *comp, uint32_t tuple, uint32_t n) {
  Elements elements = {ARENA_ARRAY(arena, uint32_t, n), ARENA_ARRAY(arena, uint32_t, n), n,
                       comp->root == tuple};
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    const Instr *instr = &comp->instrs.at[i];
    for (uint32_t o = 0; o < instr->operands.n; o++) {
      if (instr->operands.at[o] != tuple) continue;
      int64_t k = instr_int(instr, ATTR_index, -1);
      elements.whole = elements.whole || instr->op != OP_GET_TUPLE_ELEMENT;
      if (elements.whole || k < 0 || k >= n) continue;
      elements.taker[k] = i;
      elements.takers[k]++;
    }
  }
  return elements;
}

/* The one instruction that takes element `k`; NO_ID where it is not one. */
static uint32_t only_taker(const Elements *elements, uint32_t k) {
  return !elements->whole && elements->takers[k] == 1 ? elements->taker[k] : NO_ID;
}

static bool has_taker(const Elements *elements, uint32_t k) {
  return elements->whole || elements->takers[k] != 0;
}

/* The all-reduce of sums that a value is, but for moves; its user on the way there in `user`. */
static uint32_t summed_below(const Loop *loop, uint32_t top, uint32_t i, uint32_t *user) {
  for (*user = top; loop->body_uses[i] == 1; i = in_body(loop, i)->operands.at[0]) {
    const Instr *instr = in_body(loop, i);
    if (instr->op == OP_ALL_REDUCE) {
      bool sums = instr->operands.n == 1 && shape_is_array(instr->shape) &&
                  comp_binary_op(loop->module, instr_comp(instr, ATTR_to_apply)) == OP_ADD;
      return sums ? i : NO_ID;
    }
    if (instr->op != OP_TRANSPOSE && instr->op != OP_RESHAPE) return NO_ID;
    *user = i;
  }
  return NO_ID;
}

static bool is_zero(const Comp *comp, uint32_t i) {
  const Instr *instr = &comp->instrs.at[i];
  if (instr->op == OP_BROADCAST) instr = &comp->instrs.at[instr->operands.at[0]];
  if (instr->op != OP_CONSTANT || instr->literal == NULL || instr->literal->elided) return false;
  size_t bytes = (size_t)shape_bytes(instr->shape);
  for (size_t b = 0; b < bytes; b++)
    if (((const unsigned char *)instr->literal->data)[b] != 0) return false;
  return true;
}

static uint32_t add_zeros(const Loop *loop, const Shape *shape) {
  Arena *arena = loop->module->arena;
  const Literal *literal = literal_scalar(arena, shape->dtype, 0);
  uint32_t zero = comp_add(loop->module, loop->comp, OP_CONSTANT, (Str){0}, literal->shape, NULL, 0);
  comp_instr(loop->module, loop->comp, zero)->literal = literal;
  if (shape->rank == 0) return zero;
  uint32_t at = comp_add(loop->module, loop->comp, OP_BROADCAST, (Str){0}, shape, &zero, 1);
  instr_set_ints(loop->module, comp_instr(loop->module, loop->comp, at), ATTR_dimensions, NULL, 0);
  return at;
}

static void replace_users(const Loop *loop, uint32_t old, uint32_t by, uint32_t stop) {
  Comp *comp = module_comp(loop->module, loop->comp);
  for (uint32_t i = 0; i < stop; i++)
    for (uint32_t o = 0; o < comp->instrs.at[i].operands.n; o++)
      if (comp->instrs.at[i].operands.at[o] == old) comp->instrs.at[i].operands.at[o] = by;
  if (comp->root == old) comp->root = by;
}

/* All-reduces element `k` of the loop, which `element` takes, and adds what was there before it. */
static void sum_behind(const Loop *loop, uint32_t k, uint32_t element, const Instr *all_reduce) {
  Module *module = loop->module;
  uint32_t tuple = comp_instr(module, loop->comp, loop->loop)->operands.at[0];
  uint32_t first = comp_instr(module, loop->comp, tuple)->operands.at[k];
  const Shape *shape = comp_instr(module, loop->comp, element)->shape;
  uint32_t old = module_comp(module, loop->comp)->instrs.n;
  uint32_t sum = comp_add_like(module, loop->comp, all_reduce, &element, 1);
  comp_instr(module, loop->comp, sum)->shape = shape;
  if (!is_zero(module_comp(module, loop->comp), first)) {
    uint32_t zeros = add_zeros(loop, shape);
    comp_instr(module, loop->comp, tuple)->operands.at[k] = zeros;
    sum = comp_add(module, loop->comp, OP_ADD, (Str){0}, shape, (uint32_t[]){first, sum}, 2);
  }
  const Attr *sharding = instr_attr(comp_instr(module, loop->comp, element), ATTR_sharding);
  if (sharding != NULL) {
    instr_set_shared(module, comp_instr(module, loop->comp, sum), *sharding);
    instr_unset(comp_instr(module, loop->comp, element), ATTR_sharding);
  }
  replace_users(loop, element, sum, old);
}

/* The all-reduce in the body that element `k` is added up from, and its user on the way; NO_ID where it is
 * anything else. */
static uint32_t summed_in(const Loop *loop, uint32_t k, uint32_t *user) {
  const Comp *body = module_comp(loop->module, loop->body);
  uint32_t total = body->instrs.at[body->root].operands.at[k], before = only_taker(&loop->carried, k);
  const Instr *add = in_body(loop, total);
  if (add->op != OP_ADD || loop->body_uses[total] != 1 || before == NO_ID || loop->body_uses[before] != 1)
    return NO_ID;
  uint32_t a = add->operands.at[0], b = add->operands.at[1];
  if (a != before && b != before) return NO_ID;
  return summed_below(loop, total, a == before ? b : a, user);
}

static bool sink(const Loop *loop, uint32_t k) {
  uint32_t element = only_taker(&loop->given, k), user, all_reduce;
  if (element == NO_ID || has_taker(&loop->tested, k)) return false;
  all_reduce = summed_in(loop, k, &user);
  if (all_reduce == NO_ID) return false;
  Ids operands = in_body(loop, user)->operands;
  for (uint32_t o = 0; o < operands.n; o++)
    if (operands.at[o] == all_reduce) operands.at[o] = in_body(loop, all_reduce)->operands.at[0];
  const Instr copy = *in_body(loop, all_reduce);
  sum_behind(loop, k, element, &copy);
  return true;
}

/* A loop whose body and condition nothing else calls, over a tuple that is put together for it. */
static bool loop_at(Module *module, Arena *scratch, uint32_t comp, uint32_t i, const uint32_t *calls,
                    Loop *loop) {
  const Comp *around = module_comp(module, comp);
  const Instr *instr = &around->instrs.at[i];
  if (instr->op != OP_WHILE || instr->operands.n != 1) return false;
  *loop = (Loop){.module = module, .scratch = scratch, .comp = comp, .loop = i};
  loop->body = instr_comp(instr, ATTR_body);
  loop->condition = instr_comp(instr, ATTR_condition);
  const Comp *body = module_comp(module, loop->body), *condition = module_comp(module, loop->condition);
  uint32_t tuple = instr->operands.at[0], n = body->instrs.at[body->root].operands.n;
  if (calls[loop->body] != 1 || calls[loop->condition] != 1 || around->instrs.at[tuple].op != OP_TUPLE ||
      body->instrs.at[body->root].op != OP_TUPLE || comp_use_counts(scratch, around)[tuple] != 1)
    return false;
  loop->body_uses = comp_use_counts(scratch, body);
  loop->carried = elements_of(scratch, body, body->params.at[0], n);
  loop->tested = elements_of(scratch, condition, condition->params.at[0], n);
  loop->given = elements_of(scratch, around, i, n);
  return true;
}

static bool sink_in(Module *module, Arena *scratch, uint32_t comp, const uint32_t *calls) {
  bool changed = false;
  uint32_t n = module_comp(module, comp)->instrs.n;
  for (uint32_t i = 0; i < n; i++) {
    Loop loop;
    if (!loop_at(module, scratch, comp, i, calls, &loop)) continue;
    for (uint32_t k = 0; k < loop.given.n; k++)
      if (sink(&loop, k)) changed = true;
  }
  if (changed) comp_order(module, comp);
  return changed;
}

void sink_collectives(Partitioned *partitioned) {
  Arena *scratch = arena_new();
  Module *module = partitioned->module;
  uint32_t *calls = ARENA_ARRAY(scratch, uint32_t, module->comps.n);
  for (uint32_t c = 0; c < module->comps.n; c++)
    for (uint32_t i = 0; i < module_comp(module, c)->instrs.n; i++) {
      Ids called = instr_called(scratch, comp_instr(module, c, i));
      for (uint32_t k = 0; k < called.n; k++) calls[called.at[k]]++;
    }
  for (uint32_t c = 0; c < module->comps.n; c++) sink_in(module, scratch, c, calls);
  arena_free(scratch);
}

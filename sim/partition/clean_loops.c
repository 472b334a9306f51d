/* Takes all-reduces of what a loop adds up out of it. In: a partitioned program with a while whose body gives
 * sum + all-reduce(x) for an element that nothing else looks at: gradients that are accumulated. Out: the
 * body gives sum + x, from zero on, and one all-reduce follows the loop. Source: XLA's
 * WhileLoopAllReduceCodeMotion. */
#include "sim/partition/clean_collectives.h"

#include "sim/ir/clean.h"

typedef struct {
  Module *module;
  Arena *scratch;
  uint32_t comp, loop;      /* the while */
  uint32_t body, condition; /* computations */
  uint32_t *body_uses;
} Loop;

static Instr *in_body(const Loop *loop, uint32_t i) {
  return comp_instr(loop->module, loop->body, i);
}

/* The one instruction of a computation that takes element `k` of its parameter or, `from` given, of a value;
 * NO_ID where it is not one, or the tuple is looked at as a whole. */
static uint32_t only_element(const Module *module, uint32_t comp, uint32_t from, uint32_t k, uint32_t *n) {
  const Comp *own = module_comp(module, comp);
  uint32_t found = NO_ID;
  *n = 0;
  for (uint32_t i = 0; i < own->instrs.n; i++) {
    const Instr *instr = &own->instrs.at[i];
    for (uint32_t o = 0; o < instr->operands.n; o++) {
      if (instr->operands.at[o] != from) continue;
      if (instr->op != OP_GET_TUPLE_ELEMENT) *n += 2;
      if (instr->op != OP_GET_TUPLE_ELEMENT || instr_int(instr, ATTR_index, -1) != k) continue;
      *n += 1;
      found = i;
    }
  }
  if (own->root == from) *n += 2;
  return *n == 1 ? found : NO_ID;
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

static bool sink(const Loop *loop, uint32_t k) {
  const Comp *body = module_comp(loop->module, loop->body);
  const Comp *condition = module_comp(loop->module, loop->condition);
  uint32_t total = body->instrs.at[body->root].operands.at[k], n, user;
  const Instr *add = in_body(loop, total);
  uint32_t before = only_element(loop->module, loop->body, body->params.at[0], k, &n);
  if (add->op != OP_ADD || loop->body_uses[total] != 1 || before == NO_ID || loop->body_uses[before] != 1)
    return false;
  uint32_t a = add->operands.at[0], b = add->operands.at[1];
  if (a != before && b != before) return false;
  uint32_t all_reduce = summed_below(loop, total, a == before ? b : a, &user);
  only_element(loop->module, loop->condition, condition->params.at[0], k, &n);
  if (all_reduce == NO_ID || n != 0) return false;
  uint32_t element = only_element(loop->module, loop->comp, loop->loop, k, &n);
  if (element == NO_ID) return false;
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
  const Instr *instr = comp_instr(module, comp, i);
  if (instr->op != OP_WHILE || instr->operands.n != 1) return false;
  *loop = (Loop){.module = module, .scratch = scratch, .comp = comp, .loop = i};
  loop->body = instr_comp(instr, ATTR_body);
  loop->condition = instr_comp(instr, ATTR_condition);
  const Comp *body = module_comp(module, loop->body);
  uint32_t tuple = instr->operands.at[0];
  uint32_t *uses = comp_use_counts(scratch, module_comp(module, comp));
  bool own = calls[loop->body] == 1 && calls[loop->condition] == 1 && uses[tuple] == 1;
  loop->body_uses = comp_use_counts(scratch, body);
  return own && comp_instr(module, comp, tuple)->op == OP_TUPLE && body->instrs.at[body->root].op == OP_TUPLE;
}

static bool sink_in(Module *module, Arena *scratch, uint32_t comp, const uint32_t *calls) {
  bool changed = false;
  uint32_t n = module_comp(module, comp)->instrs.n;
  for (uint32_t i = 0; i < n; i++) {
    Loop loop;
    if (!loop_at(module, scratch, comp, i, calls, &loop)) continue;
    uint32_t elements =
        module_comp(module, loop.body)->instrs.at[module_comp(module, loop.body)->root].operands.n;
    for (uint32_t k = 0; k < elements; k++)
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

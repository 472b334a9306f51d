/* Clean-ups: dead code, unreached computations, equal instructions. Module in, the same module out, smaller.
 */
#include "sim/ir/clean.h"

#include "sim/base/mix.h"
#include "sim/ir/callgraph.h"

bool instr_is_sharding_call(const Instr *instr) {
  static const char *const targets[] = {"Sharding",
                                        "SPMDFullToShardShape",
                                        "SPMDShardToFullShape",
                                        "xla.sdy.FuncResultSharding",
                                        "xla.sdy.GlobalToLocalShape",
                                        "xla.sdy.LocalToGlobalShape",
                                        "xla.sdy.PropagationBarrier"};
  if (instr->op != OP_CUSTOM_CALL) return false;
  Str target = instr_custom_call_target(instr);
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (str_is(target, targets[i])) return true;
  }
  return false;
}

static bool has_side_effect(const Instr *instr) {
  if (instr->op == OP_CUSTOM_CALL)
    return instr_flag(instr, ATTR_custom_call_has_side_effect) && !instr_is_sharding_call(instr);
  return instr->op == OP_RNG_GET_AND_UPDATE_STATE || op_exchanges_with_host(instr->op);
}

/* --- Computations. --- */

static bool calls_effects(Arena *arena, const Instr *instr, const bool *effects) {
  Ids called = instr_called(arena, instr);
  for (uint32_t c = 0; c < called.n; c++) {
    if (effects[called.at[c]]) return true;
  }
  return false;
}

bool *module_side_effects(Arena *arena, const Module *module) {
  bool *effects = ARENA_ARRAY(arena, bool, module->comps.n);
  Ids order;
  callees_first(arena, module, &order);
  for (uint32_t k = 0; k < order.n; k++) {
    const Comp *comp = &module->comps.at[order.at[k]];
    for (uint32_t i = 0; i < comp->instrs.n && !effects[order.at[k]]; i++) {
      const Instr *instr = &comp->instrs.at[i];
      effects[order.at[k]] = has_side_effect(instr) || calls_effects(arena, instr, effects);
    }
  }
  return effects;
}

/* Marks what `comp` calls. */
static void reach_called(Arena *arena, const Comp *comp, bool *reached) {
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    Ids called = instr_called(arena, &comp->instrs.at[i]);
    for (uint32_t c = 0; c < called.n; c++) reached[called.at[c]] = true;
  }
}

/* The computations that the entry reaches, callees before callers. */
static Ids reached_comps(Arena *arena, const Module *module) {
  Ids order, kept = {ARENA_ARRAY(arena, uint32_t, module->comps.n), 0};
  bool *reached = ARENA_ARRAY(arena, bool, module->comps.n);
  callees_first(arena, module, &order);
  reached[module->entry] = true;
  for (uint32_t k = order.n; k-- > 0;) {
    if (reached[order.at[k]]) reach_called(arena, &module->comps.at[order.at[k]], reached);
  }
  for (uint32_t k = 0; k < order.n; k++) {
    if (reached[order.at[k]]) kept.at[kept.n++] = order.at[k];
  }
  return kept;
}

static void renumber_calls(Arena *arena, Instr *instr, const uint32_t *number) {
  for (uint32_t a = 0; a < instr->n_attrs; a++) {
    Attr *attr = &instr->attrs[a];
    if (attr_kind(attr->id) == ATTR_KIND_COMP) attr->comp = number[attr->comp];
    if (attr_kind(attr->id) != ATTR_KIND_COMPS) continue;
    *attr = attr_copy(arena, *attr);
    for (uint32_t c = 0; c < attr->comps.n; c++) attr->comps.at[c] = number[attr->comps.at[c]];
  }
}

void module_compact(Module *module) {
  Arena *scratch = arena_new();
  Ids order = reached_comps(scratch, module);
  uint32_t *number = ARENA_ARRAY(scratch, uint32_t, module->comps.n);
  Comp *comps = ARENA_ARRAY(module->arena, Comp, order.n);
  module->comp_names = map_new(module->arena);
  for (uint32_t k = 0; k < order.n; k++) {
    number[order.at[k]] = k;
    comps[k] = module->comps.at[order.at[k]];
    map_put(module->comp_names, comps[k].name, k);
  }
  for (uint32_t k = 0; k < order.n; k++) {
    for (uint32_t i = 0; i < comps[k].instrs.n; i++)
      renumber_calls(module->arena, &comps[k].instrs.at[i], number);
  }
  module->comps.at = comps;
  module->comps.n = module->comps.cap = order.n;
  module->entry = number[module->entry];
  arena_free(scratch);
}

/* --- Dead code. --- */

/* Keeps the instructions with `keep`; what names another one is renamed to `as[…]` (NULL: itself). */
static void keep_only(Module *module, Comp *comp, const bool *keep, const uint32_t *as, Arena *scratch) {
  uint32_t *number = ARENA_ARRAY(scratch, uint32_t, comp->instrs.n), n = 0;
  comp->names = map_new(module->arena);
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    uint32_t same = as == NULL ? i : as[i];
    number[i] = same == i ? n : number[same];
    if (!keep[i]) continue;
    Instr *kept = &comp->instrs.at[n];
    *kept = comp->instrs.at[i];
    for (uint32_t k = 0; k < kept->operands.n; k++) kept->operands.at[k] = number[kept->operands.at[k]];
    if (kept->op == OP_PARAMETER) comp->params.at[kept->parameter] = n;
    map_put(comp->names, kept->name, n);
    n++;
  }
  if (comp->root != NO_ID) comp->root = number[comp->root];
  comp->instrs.n = n;
}

static void remove_dead_in(Module *module, Comp *comp, const bool *effects, Arena *scratch) {
  bool *live = ARENA_ARRAY(scratch, bool, comp->instrs.n), all = true;
  for (uint32_t i = comp->instrs.n; i-- > 0;) {
    const Instr *instr = &comp->instrs.at[i];
    live[i] = live[i] || i == comp->root || instr->op == OP_PARAMETER || has_side_effect(instr) ||
              calls_effects(scratch, instr, effects);
    all = all && live[i];
    for (uint32_t k = 0; k < instr->operands.n && live[i]; k++) live[instr->operands.at[k]] = true;
  }
  if (!all) keep_only(module, comp, live, NULL, scratch);
}

void module_remove_dead(Module *module) {
  Arena *scratch = arena_new();
  const bool *effects = module_side_effects(scratch, module);
  for (uint32_t c = 0; c < module->comps.n; c++)
    remove_dead_in(module, &module->comps.at[c], effects, scratch);
  arena_free(scratch);
  module_compact(module);
}

/* --- Equal instructions. --- */

/* What two equal instructions may differ in. */
static bool is_remark(AttrId id) {
  return id == ATTR_metadata || id == ATTR_channel_id || id == ATTR_origin || id == ATTR_original_value ||
         id == ATTR_statistics;
}

static bool comps_same(const Module *module, uint32_t a, uint32_t b);

static bool attrs_same(const Module *module, const Attr *a, const Attr *b) {
  if (a == NULL || b == NULL) return a == b;
  if (attr_kind(a->id) == ATTR_KIND_COMP) return comps_same(module, a->comp, b->comp);
  if (attr_kind(a->id) != ATTR_KIND_COMPS) return attr_eq(a, b);
  if (a->comps.n != b->comps.n) return false;
  for (uint32_t c = 0; c < a->comps.n; c++) {
    if (!comps_same(module, a->comps.at[c], b->comps.at[c])) return false;
  }
  return true;
}

/* Each attribute of `a` is one of `b`. */
static bool attrs_within(const Module *module, const Instr *a, const Instr *b) {
  for (uint32_t i = 0; i < a->n_attrs; i++) {
    const Attr *attr = &a->attrs[i];
    if (!is_remark(attr->id) && !attrs_same(module, attr, instr_attr(b, attr->id))) return false;
  }
  return true;
}

bool instr_same_attrs(const Module *module, const Instr *a, const Instr *b) {
  return attrs_within(module, a, b) && attrs_within(module, b, a);
}

static bool literals_same(const Literal *a, const Literal *b) {
  if (a == b) return true;
  if (a == NULL || b == NULL || a->elided || b->elided || !shape_eq(a->shape, b->shape)) return false;
  if (shape_is_array(a->shape))
    return memcmp(a->data, b->data, (size_t)shape_elements(a->shape) * dtype_bytes(a->shape->dtype)) == 0;
  for (uint32_t i = 0; a->parts != NULL && i < a->shape->rank; i++) {
    if (!literals_same(a->parts[i], b->parts[i])) return false;
  }
  return true;
}

/* All but the operands. */
static bool same_but_operands(const Module *module, const Instr *a, const Instr *b) {
  return a->op == b->op && a->region == b->region && a->parameter == b->parameter &&
         shape_eq(a->shape, b->shape) && str_eq(a->async_of, b->async_of) && instr_same_attrs(module, a, b) &&
         literals_same(a->literal, b->literal);
}

static bool ids_eq(Ids a, Ids b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n * sizeof *a.at) == 0);
}

static bool comps_same(const Module *module, uint32_t a, uint32_t b) {
  if (a == b) return true;
  const Comp *x = module_comp(module, a), *y = module_comp(module, b);
  if (x->instrs.n != y->instrs.n || x->root != y->root || !ids_eq(x->params, y->params)) return false;
  for (uint32_t i = 0; i < x->instrs.n; i++) {
    const Instr *p = &x->instrs.at[i], *q = &y->instrs.at[i];
    if (!ids_eq(p->operands, q->operands) || !same_but_operands(module, p, q)) return false;
  }
  return true;
}

typedef bool MayMerge(const Comp *comp, const Instr *instr);

static bool is_pure(const Comp *comp, const Instr *instr) {
  (void)comp;
  switch (instr->op) {
  case OP_PARAMETER:
  case OP_COPY: /* is there for memory of its own */
  case OP_RNG:
  case OP_OPT_BARRIER:
  case OP_AFTER_ALL:
  case OP_ADD_DEPENDENCY:
  case OP_ASYNC_START:
  case OP_ASYNC_UPDATE:
  case OP_ASYNC_DONE:
  case OP_ALL_GATHER_START:
  case OP_ALL_GATHER_DONE:
  case OP_ALL_REDUCE_START:
  case OP_ALL_REDUCE_DONE:
  case OP_COLLECTIVE_PERMUTE_START:
  case OP_COLLECTIVE_PERMUTE_DONE:
  case OP_COPY_START:
  case OP_COPY_DONE: return false;
  default: return !has_side_effect(instr) && shape_is_array(instr->shape);
  }
}

/* A constant, or a scalar constant everywhere. */
static bool is_constant(const Comp *comp, const Instr *instr) {
  if (instr->op == OP_CONSTANT) return shape_is_array(instr->shape);
  return instr->op == OP_BROADCAST && comp->instrs.at[instr->operands.at[0]].op == OP_CONSTANT;
}

static uint64_t mix(uint64_t state, uint64_t value) {
  return mix64(state ^ value);
}

static uint64_t bytes_hash(const void *bytes, size_t n) {
  uint64_t state = n, word;
  for (; n > 0; bytes = (const char *)bytes + sizeof word, n -= n < sizeof word ? n : sizeof word) {
    word = 0;
    memcpy(&word, bytes, n < sizeof word ? n : sizeof word);
    state = mix(state, word);
  }
  return state;
}

/* Of what tells many users of one value apart; 0 where a kind is not looked at. */
static uint64_t attr_hash(const Attr *attr) {
  if (is_remark(attr->id)) return 0;
  switch (attr_kind(attr->id)) {
  case ATTR_KIND_INT: return mix(attr->id, (uint64_t)attr->integer);
  case ATTR_KIND_INTS: return mix(attr->id, bytes_hash(attr->ints.at, attr->ints.n * sizeof *attr->ints.at));
  case ATTR_KIND_SLICES:
    return mix(attr->id, bytes_hash(attr->slices.at, attr->slices.n * sizeof *attr->slices.at));
  case ATTR_KIND_PADDING:
    return mix(attr->id, bytes_hash(attr->padding.at, attr->padding.n * sizeof *attr->padding.at));
  default: return 0;
  }
}

/* Of a literal's first bytes. */
static uint64_t literal_hash(const Literal *literal) {
  enum { MOST = 256 };
  if (literal == NULL || literal->elided || !shape_is_array(literal->shape)) return 0;
  size_t bytes = (size_t)shape_elements(literal->shape) * dtype_bytes(literal->shape->dtype);
  return bytes_hash(literal->data, bytes < MOST ? bytes : MOST);
}

static uint64_t instr_hash(const Instr *instr) {
  uint64_t state = mix(mix(mix(1, instr->op), instr->region), instr->shape->dtype), attrs = 0;
  for (uint32_t d = 0; d < instr->shape->rank; d++) state = mix(state, (uint64_t)instr->shape->dims[d]);
  for (uint32_t k = 0; k < instr->operands.n; k++) state = mix(state, instr->operands.at[k]);
  for (uint32_t i = 0; i < instr->n_attrs; i++) attrs += attr_hash(&instr->attrs[i]); /* in any order */
  return mix(mix(state, attrs), literal_hash(instr->literal));
}

/* The first instruction equal to each; earlier merges are seen by later ones through their operands. */
static uint32_t merge_equal_in(Module *module, Comp *comp, MayMerge *may_merge, const bool *effects,
                               Arena *scratch) {
  uint32_t n = comp->instrs.n, room = 16, merged = 0;
  while (room < 2 * n) room *= 2;
  uint32_t *first = ARENA_ARRAY(scratch, uint32_t, room), *next = ARENA_ARRAY(scratch, uint32_t, n);
  uint32_t *as = ARENA_ARRAY(scratch, uint32_t, n);
  bool *keep = ARENA_ARRAY(scratch, bool, n);
  memset(first, 0xff, room * sizeof *first);
  for (uint32_t i = 0; i < n; i++) {
    Instr *instr = &comp->instrs.at[i];
    as[i] = i;
    keep[i] = true;
    for (uint32_t k = 0; k < instr->operands.n; k++) instr->operands.at[k] = as[instr->operands.at[k]];
    if (!may_merge(comp, instr) || i == comp->root || calls_effects(scratch, instr, effects)) continue;
    uint32_t *bucket = &first[instr_hash(instr) & (room - 1)];
    uint32_t other = *bucket;
    while (other != NO_ID && !(ids_eq(comp->instrs.at[other].operands, instr->operands) &&
                               same_but_operands(module, &comp->instrs.at[other], instr)))
      other = next[other];
    if (other != NO_ID) {
      as[i] = other;
      keep[i] = false;
      merged++;
      continue;
    }
    next[i] = *bucket;
    *bucket = i;
  }
  if (merged != 0) keep_only(module, comp, keep, as, scratch);
  return merged;
}

static uint32_t merge(Module *module, MayMerge *may_merge) {
  Arena *scratch = arena_new();
  const bool *effects = module_side_effects(scratch, module);
  uint32_t merged = 0;
  for (uint32_t c = 0; c < module->comps.n; c++)
    merged += merge_equal_in(module, &module->comps.at[c], may_merge, effects, scratch);
  arena_free(scratch);
  module_compact(module);
  return merged;
}

uint32_t module_merge_equal(Module *module) {
  return merge(module, is_pure);
}

uint32_t module_merge_constants(Module *module) {
  return merge(module, is_constant);
}

/* --- Order. --- */

/* Depth first from `start`: what it needs, then itself, behind what `order` has already. */
static void visit(const Comp *comp, uint32_t start, uint32_t *next, uint32_t *stack, uint32_t *order,
                  uint32_t *n) {
  const uint32_t DONE = UINT32_C(1) << 31;
  uint32_t depth = 0;
  stack[depth++] = start;
  while (depth > 0) {
    uint32_t at = stack[depth - 1];
    Ids operands = comp->instrs.at[at].operands;
    if (next[at] < operands.n) {
      uint32_t operand = operands.at[next[at]++];
      if (next[operand] == 0 && comp->instrs.at[operand].operands.n > 0) {
        stack[depth++] = operand;
      } else if (next[operand] == 0) {
        next[operand] = DONE;
        order[(*n)++] = operand;
      }
      continue;
    }
    depth--;
    next[at] = DONE;
    order[(*n)++] = at;
  }
}

/* `order` names each instruction once. */
static void reorder(Module *module, Comp *comp, const uint32_t *order, Arena *scratch) {
  uint32_t n = comp->instrs.n, *number = ARENA_ARRAY(scratch, uint32_t, n);
  Instr *instrs = ARENA_ARRAY(module->arena, Instr, n);
  for (uint32_t i = 0; i < n; i++) number[order[i]] = i;
  for (uint32_t i = 0; i < n; i++) {
    instrs[i] = comp->instrs.at[order[i]];
    for (uint32_t k = 0; k < instrs[i].operands.n; k++)
      instrs[i].operands.at[k] = number[instrs[i].operands.at[k]];
    map_put(comp->names, instrs[i].name, i);
  }
  for (uint32_t p = 0; p < comp->params.n; p++) comp->params.at[p] = number[comp->params.at[p]];
  comp->root = number[comp->root];
  comp->instrs.at = instrs;
  comp->instrs.cap = n;
}

static void sort_comp(Module *module, Comp *comp, Arena *scratch) {
  uint32_t n = comp->instrs.n, ordered = 0;
  uint32_t *users = comp_use_counts(scratch, comp), *next = ARENA_ARRAY(scratch, uint32_t, n);
  uint32_t *stack = ARENA_ARRAY(scratch, uint32_t, n), *order = ARENA_ARRAY(scratch, uint32_t, n);
  users[comp->root]--;
  for (uint32_t i = 0; i < n; i++) {
    if (users[i] == 0) visit(comp, i, next, stack, order, &ordered);
  }
  reorder(module, comp, order, scratch);
}

void comp_order(Module *module, uint32_t at) {
  Arena *scratch = arena_new();
  Comp *comp = module_comp(module, at);
  uint32_t n = comp->instrs.n, ordered = 0;
  uint32_t *next = ARENA_ARRAY(scratch, uint32_t, n), *stack = ARENA_ARRAY(scratch, uint32_t, n);
  uint32_t *order = ARENA_ARRAY(scratch, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) {
    if (next[i] == 0) visit(comp, i, next, stack, order, &ordered);
  }
  reorder(module, comp, order, scratch);
  arena_free(scratch);
}

void module_sort(Module *module) {
  Arena *scratch = arena_new();
  for (uint32_t c = 0; c < module->comps.n; c++) sort_comp(module, &module->comps.at[c], scratch);
  arena_free(scratch);
}

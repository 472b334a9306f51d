/* Factor rules: the dispatch from opcodes, and the builder that the rules share (facts after Shardy's
 * op_sharding_rule_registry). */
#include "sim/shard/rule_build.h"

static RuleFn *const RULES[] = {
#define OP(name, text, arity, evaluator, rule, cost) [OP_##name] = rule_##rule,
#include "sim/ir/opcode.def"
#undef OP
};

bool rule_none(Rule *rule) {
  (void)rule;
  return false;
}

/* --- Building. --- */

static uint32_t n_tensors(const Rule *rule) {
  return rule->n_operands + rule->n_results;
}

const Shape *rule_operand(const Rule *rule, uint32_t k) {
  return rule->shapes[k];
}

const Shape *rule_result(const Rule *rule, uint32_t k) {
  return rule->shapes[rule->n_operands + k];
}

const Instr *rule_operand_instr(const Rule *rule, uint32_t k) {
  return &rule->comp->instrs.at[rule->instr->operands.at[k]];
}

int64_t *rule_dims(Rule *rule) {
  int64_t *dims = ARENA_ARRAY(rule->arena, int64_t, n_tensors(rule) + 1);
  for (uint32_t t = 0; t < n_tensors(rule); t++) dims[t] = NO_DIM;
  return dims;
}

static void add_to_dim(Rule *rule, Ids *dim, uint32_t factor) {
  uint32_t *grown = ARENA_ARRAY(rule->arena, uint32_t, dim->n + 1);
  if (dim->n != 0) memcpy(grown, dim->at, dim->n * sizeof *grown);
  grown[dim->n] = factor;
  *dim = (Ids){grown, dim->n + 1};
}

static uint32_t new_factor(Rule *rule, int64_t size, FactorKind kind, bool blocked) {
  VEC_PUSH(rule->arena, &rule->factors, (Factor){size, kind, blocked});
  return rule->factors.n - 1;
}

static void add_factor(Rule *rule, const int64_t *dims, int64_t size, FactorKind kind, bool blocked) {
  uint32_t factor = new_factor(rule, size, kind, blocked);
  for (uint32_t t = 0; t < n_tensors(rule); t++) {
    if (dims[t] == NO_DIM) continue;
    Ids *dim = &rule->dims[t][dims[t]];
    if (size != 1 || dim->n == 0) add_to_dim(rule, dim, factor);
  }
}

void rule_factor(Rule *rule, const int64_t *dims, int64_t size, FactorKind kind) {
  add_factor(rule, dims, size, kind, false);
}

void rule_factor_blocked(Rule *rule, const int64_t *dims, int64_t size, FactorKind kind) {
  add_factor(rule, dims, size, kind, true);
}

void rule_factor_everywhere(Rule *rule, int64_t dim, int64_t size, FactorKind kind, bool blocked) {
  int64_t *dims = rule_dims(rule);
  for (uint32_t t = 0; t < n_tensors(rule); t++)
    if (rule->shapes[t]->rank > dim) dims[t] = dim;
  add_factor(rule, dims, size, kind, blocked);
}

void rule_factor_unary(Rule *rule, int64_t operand_dim, int64_t result_dim, int64_t size, FactorKind kind) {
  int64_t *dims = rule_dims(rule);
  dims[0] = operand_dim;
  dims[rule->n_operands] = result_dim;
  add_factor(rule, dims, size, kind, false);
}

/* --- The rule of an instruction. --- */

static uint32_t leaves_of(const Shape *shape, const Shape **leaves) {
  if (!shape_is_tuple(shape)) {
    if (leaves != NULL) *leaves = shape;
    return 1;
  }
  uint32_t n = 0;
  for (uint32_t p = 0; p < shape->rank; p++)
    n += leaves_of(shape->parts[p], leaves == NULL ? NULL : leaves + n);
  return n;
}

/* False where an operand is a tuple: no rule speaks of those. */
static bool set_shapes(Rule *rule) {
  const Instr *instr = rule->instr;
  rule->n_operands = instr->operands.n;
  rule->n_results = leaves_of(instr->shape, NULL);
  rule->shapes = ARENA_ARRAY(rule->arena, const Shape *, n_tensors(rule) + 1);
  rule->dims = ARENA_ARRAY(rule->arena, Ids *, n_tensors(rule) + 1);
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    rule->shapes[k] = rule_operand_instr(rule, k)->shape;
    if (shape_is_tuple(rule->shapes[k])) return false;
  }
  leaves_of(instr->shape, rule->shapes + rule->n_operands);
  for (uint32_t t = 0; t < n_tensors(rule); t++)
    rule->dims[t] = ARENA_ARRAY(rule->arena, Ids, rule->shapes[t]->rank + 1);
  return true;
}

static const FactorRule *finished(Rule *rule) {
  FactorRule *result = ARENA_NEW(rule->arena, FactorRule);
  TensorFactors *tensors = ARENA_ARRAY(rule->arena, TensorFactors, n_tensors(rule) + 1);
  for (uint32_t t = 0; t < n_tensors(rule); t++) {
    tensors[t] = (TensorFactors){rule->dims[t], shape_is_array(rule->shapes[t]) ? rule->shapes[t]->rank : 0};
    for (uint32_t d = 0; d < tensors[t].rank; d++)
      if (rule->dims[t][d].n == 0)
        add_to_dim(rule, &rule->dims[t][d], new_factor(rule, 1, FACTOR_PASS_THROUGH, false));
  }
  *result = (FactorRule){.factors = rule->factors.at,
                         .n_factors = rule->factors.n,
                         .operands = tensors,
                         .results = tensors + rule->n_operands,
                         .n_operands = rule->n_operands,
                         .n_results = rule->n_results};
  return result;
}

/* A custom call may bring its own rule; one that does not fit it is as good as none. */
static const FactorRule *brought_rule(Arena *arena, const Rule *rule) {
  Str text;
  const FactorRule *brought;
  if (rule->instr->op != OP_CUSTOM_CALL) return NULL;
  if (!instr_frontend(rule->instr, "xla.sdy.sharding_rule", &text) || !rule_parse(arena, text, &brought))
    return NULL;
  if (brought->n_operands != rule->n_operands || brought->n_results != rule->n_results) return NULL;
  for (uint32_t t = 0; t < n_tensors(rule); t++)
    if (brought->operands[t].rank != rule->shapes[t]->rank) return NULL;
  return brought;
}

const FactorRule *rule_of(Arena *arena, const Module *module, uint32_t comp, const Instr *instr) {
  Rule rule = {.arena = arena, .module = module, .comp = module_comp(module, comp), .instr = instr};
  if (!set_shapes(&rule)) return NULL;
  const FactorRule *brought = brought_rule(arena, &rule);
  if (brought != NULL) return brought;
  return RULES[instr->op](&rule) ? finished(&rule) : NULL;
}

bool rule_is_known_to_gspmd(const Instr *instr) {
  return instr->op != OP_TOPK;
}

bool rule_is_known_to_shardy(const Instr *instr) {
  switch (instr->op) {
  case OP_ERF:
  case OP_STOCHASTIC_CONVERT:
  case OP_MAP:
  case OP_RAGGED_DOT:
  case OP_BATCH_NORM_TRAINING: return false;
  default: return true;
  }
}

const FactorRule *rule_identity(Arena *arena, const Shape *shape, uint32_t n_operands) {
  Rule rule = {.arena = arena, .n_operands = n_operands, .n_results = 1};
  rule.shapes = ARENA_ARRAY(arena, const Shape *, n_operands + 1);
  rule.dims = ARENA_ARRAY(arena, Ids *, n_operands + 1);
  for (uint32_t t = 0; t <= n_operands; t++) {
    rule.shapes[t] = shape;
    rule.dims[t] = ARENA_ARRAY(arena, Ids, shape->rank + 1);
  }
  for (uint32_t d = 0; d < shape->rank; d++)
    rule_factor_everywhere(&rule, d, shape->dims[d], FACTOR_PASS_THROUGH, false);
  return finished(&rule);
}

/* Building a factor rule: what the rule_*.c files share. A rule function declares the op's factors, each with
 * the dimension that it is in every operand and result; dimensions that are left without a factor get one of
 * their own of size 1, which nothing can shard. */
#pragma once

#include "sim/shard/rules.h"

#define NO_DIM (-1)

typedef struct {
  Arena *arena;
  const Module *module;
  const Comp *comp;
  const Instr *instr;
  const Shape **shapes; /* of the operands, then of the leaves of the result */
  uint32_t n_operands, n_results;
  Vec(Factor) factors;
  Ids **dims; /* dims[tensor][dimension]: factors, major to minor */
} Rule;

/* One factor. `dims` has an entry an operand and then one a result: the dimension, or NO_DIM. A factor of
 * size 1 is not added to a dimension that has another already. */
void rule_factor(Rule *rule, const int64_t *dims, int64_t size, FactorKind kind);
/* The same, not to be propagated along. */
void rule_factor_blocked(Rule *rule, const int64_t *dims, int64_t size, FactorKind kind);
/* A factor that is dimension `dim` of every operand and result that is not a scalar. */
void rule_factor_everywhere(Rule *rule, int64_t dim, int64_t size, FactorKind kind, bool blocked);
/* Factors between one operand and one result; either dimension may be NO_DIM. For ops of one operand. */
void rule_factor_unary(Rule *rule, int64_t operand_dim, int64_t result_dim, int64_t size, FactorKind kind);
/* `dims` for rule_factor(), all NO_DIM. */
int64_t *rule_dims(Rule *rule);

const Shape *rule_operand(const Rule *rule, uint32_t k);
const Shape *rule_result(const Rule *rule, uint32_t k);
/* The instruction that computes operand `k`. */
const Instr *rule_operand_instr(const Rule *rule, uint32_t k);

/* A rule function: fills the rule; false where this instruction has none after all. */
typedef bool RuleFn(Rule *rule);
#define OP(name, text, arity, evaluator, rule, cost) RuleFn rule_##rule;
#include "sim/ir/opcode.def"
#undef OP

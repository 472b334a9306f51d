/* Factor rules: each op says by a table of factors which dimensions of its operands and results go together
 * (shardy/dialect/sdy/ir: OpShardingRuleAttr). A dot [i,k]x[k,j]->[i,j] has the factors i, j (pass-through)
 * and k (reduction). */
#pragma once

#include "sim/ir/module.h"

typedef enum {
  FACTOR_PASS_THROUGH,
  FACTOR_REDUCTION,
  FACTOR_NEED_REPLICATION,
  FACTOR_PERMUTATION
} FactorKind;

typedef struct {
  int64_t size;
  FactorKind kind;
  bool blocked; /* not to be propagated along */
} Factor;

/* Dimension d of a tensor is the product of its factors, major to minor. */
typedef struct {
  Ids *dims; /* an entry a dimension: indices of factors */
  uint32_t rank;
} TensorFactors;

typedef struct {
  Factor *factors;
  uint32_t n_factors;
  TensorFactors *operands, *results; /* an entry an operand, and one a leaf of the result */
  uint32_t n_operands, n_results;
} FactorRule;

/* The rule of an instruction, in `arena`; NULL where the op has none. */
const FactorRule *rule_of(Arena *arena, const Module *module, uint32_t comp, const Instr *instr);
/* Whether Shardy, or GSPMD, has a rule for the op. Of the others it leaves the results as they are, and so
 * does propagation, though the partitioner may use what rule_of() says. */
bool rule_is_known_to_shardy(const Instr *instr);
bool rule_is_known_to_gspmd(const Instr *instr);
/* The rule of a value that flows unchanged from any of `n_operands` sources to one target. */
const FactorRule *rule_identity(Arena *arena, const Shape *shape, uint32_t n_operands);
/* As Shardy writes it: ([i, k], [k, j])->([i, j]) {i=8, j=4, k=2} reduction={k}. */
Str rule_text(Arena *arena, const FactorRule *rule);
/* From the same, as `#sdy.op_sharding_rule<…>`; false where the text is none. Operands and results of the
 * rule lie in one array. */
bool rule_parse(Arena *arena, Str text, const FactorRule **rule);

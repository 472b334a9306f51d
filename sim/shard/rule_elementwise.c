/* Rules of ops whose result has the shape of its operands, element by element or nearly so. Operands that are
 * scalars (of select, clamp) take no part. */
#include "sim/shard/rule_build.h"

bool rule_elementwise(Rule *rule) {
  const Shape *shape = rule_result(rule, 0);
  if (!shape_is_array(shape)) return false;
  for (uint32_t d = 0; d < shape->rank; d++)
    rule_factor_everywhere(rule, d, shape->dims[d], FACTOR_PASS_THROUGH, false);
  return true;
}

bool rule_select(Rule *rule) {
  return rule_elementwise(rule);
}

bool rule_clamp(Rule *rule) {
  return rule_elementwise(rule);
}

bool rule_iota(Rule *rule) {
  return rule_elementwise(rule);
}

/* The dimension that a narrower type adds, or a wider one removes, stays whole. */
bool rule_bitcast_convert(Rule *rule) {
  const Shape *from = rule_operand(rule, 0), *to = rule_result(rule, 0);
  const Shape *common = from->rank < to->rank ? from : to;
  for (uint32_t d = 0; d < common->rank; d++)
    rule_factor_unary(rule, d, d, common->dims[d], FACTOR_PASS_THROUGH);
  if (from->rank < to->rank)
    rule_factor_unary(rule, NO_DIM, from->rank, to->dims[from->rank], FACTOR_NEED_REPLICATION);
  if (from->rank > to->rank)
    rule_factor_unary(rule, to->rank, NO_DIM, from->dims[to->rank], FACTOR_NEED_REPLICATION);
  return true;
}

bool rule_reverse(Rule *rule) {
  const Shape *shape = rule_result(rule, 0);
  Ints reversed = instr_ints(rule->instr, ATTR_dimensions);
  for (uint32_t d = 0; d < shape->rank; d++)
    rule_factor_unary(rule, d, d, shape->dims[d],
                      ints_have(reversed, d) ? FACTOR_PERMUTATION : FACTOR_PASS_THROUGH);
  return true;
}

/* Statistics are vectors along the feature dimension; the operands of a gradient that have the rank of the
 * input go with it. */
static bool along_features(Rule *rule, FactorKind other_dims) {
  const Shape *shape = rule_operand(rule, 0);
  int64_t feature = instr_int(rule->instr, ATTR_feature_index, 0);
  for (uint32_t d = 0; d < shape->rank; d++) {
    int64_t *dims = rule_dims(rule);
    for (uint32_t t = 0; t < rule->n_operands + rule->n_results; t++)
      if (rule->shapes[t]->rank == shape->rank && shape->rank != 1)
        dims[t] = d;
      else if (d == feature)
        dims[t] = 0;
    rule_factor(rule, dims, shape->dims[d], d == feature ? FACTOR_PASS_THROUGH : other_dims);
  }
  return true;
}

bool rule_batch_norm_inference(Rule *rule) {
  return along_features(rule, FACTOR_PASS_THROUGH);
}

/* The mean over all other dimensions is needed before any result. */
bool rule_batch_norm_training(Rule *rule) {
  return along_features(rule, FACTOR_NEED_REPLICATION);
}

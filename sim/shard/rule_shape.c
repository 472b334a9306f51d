/* Rules of ops that move data without computing with it: broadcast, reshape, transpose, slices, pad,
 * concatenate. */
#include "sim/shard/rule_build.h"
#include "sim/shard/sharding.h"

bool rule_broadcast(Rule *rule) {
  const Shape *to = rule_result(rule, 0);
  Ints dimensions = instr_ints(rule->instr, ATTR_dimensions);
  for (uint32_t d = 0; d < to->rank; d++) {
    int64_t from = NO_DIM;
    for (uint32_t k = 0; k < dimensions.n; k++)
      if (dimensions.at[k] == d) from = k;
    rule_factor_unary(rule, from, d, to->dims[d], FACTOR_PASS_THROUGH);
  }
  return true;
}

bool rule_transpose(Rule *rule) {
  Ints permutation = instr_ints(rule->instr, ATTR_dimensions);
  for (uint32_t d = 0; d < permutation.n; d++)
    rule_factor_unary(rule, permutation.at[d], d, rule_result(rule, 0)->dims[d], FACTOR_PASS_THROUGH);
  return true;
}

/* --- Reshape. --- */

/* One side of a reshape while its dimensions are cut into factors: `left` of dimension `dim` is uncut, and
 * the factors so far have the product `done`. */
typedef struct {
  const Shape *shape;
  uint32_t dim;
  int64_t left, done;
} Side;

static bool at_end(const Side *side) {
  return side->dim >= side->shape->rank;
}

static bool at_one(const Side *side) {
  return !at_end(side) && side->shape->dims[side->dim] == 1;
}

static void cut(Side *side, int64_t factor) {
  side->left /= factor;
  side->done *= factor;
  if (side->left == 1) side->dim++;
}

static void start_dim(Side *side) {
  if (side->left == 1 && !at_end(side)) side->left = side->shape->dims[side->dim];
}

static void cut_in(Rule *rule, Side *in, int64_t factor) {
  rule_factor_unary(rule, in->dim, NO_DIM, factor, FACTOR_PASS_THROUGH);
  cut(in, factor);
}

static void cut_out(Rule *rule, Side *out, int64_t factor) {
  rule_factor_unary(rule, NO_DIM, out->dim, factor, FACTOR_PASS_THROUGH);
  cut(out, factor);
}

static void cut_both(Rule *rule, Side *in, Side *out, int64_t factor) {
  rule_factor_unary(rule, in->dim, out->dim, factor, FACTOR_PASS_THROUGH);
  cut(in, factor);
  cut(out, factor);
}

/* The factor that the side which lags behind takes alone: up to the other side where that is a whole number
 * of times away, else without the part that both may still share. */
static int64_t factor_alone(const Side *behind, const Side *ahead) {
  int64_t gap = ahead->done / behind->done, shared = sizes_gcd(behind->left, ahead->left);
  if (ahead->done % behind->done == 0 && behind->left % gap == 0) return gap;
  return behind->left > shared ? behind->left / shared : behind->left;
}

/* The next factor of what is left of both dimensions: of both where they are as far and share one, else of
 * the side that lags behind, or of each. */
static void cut_next(Rule *rule, Side *in, Side *out) {
  start_dim(in);
  start_dim(out);
  int64_t shared = sizes_gcd(in->left, out->left);
  if (in->done < out->done) {
    cut_in(rule, in, factor_alone(in, out));
  } else if (out->done < in->done) {
    cut_out(rule, out, factor_alone(out, in));
  } else if (shared > 1) {
    cut_both(rule, in, out, shared);
  } else {
    cut_in(rule, in, in->left);
    cut_out(rule, out, out->left);
  }
}

bool rule_reshape(Rule *rule) {
  Side in = {rule_operand(rule, 0), 0, 1, 1}, out = {rule_result(rule, 0), 0, 1, 1};
  if (shape_elements(in.shape) == 0) return false;
  while (!at_end(&in) || !at_end(&out)) {
    if (at_one(&in))
      cut_in(rule, &in, 1);
    else if (at_one(&out))
      cut_out(rule, &out, 1);
    else
      cut_next(rule, &in, &out);
  }
  return true;
}

/* --- Slices, pad, concatenate. --- */

/* Dimensions of equal size go together; the others are one factor of the operand's size and of the kind told.
 */
static bool same_or(Rule *rule, FactorKind kind, bool blocked) {
  const Shape *from = rule_operand(rule, 0), *to = rule_result(rule, 0);
  for (uint32_t d = 0; d < from->rank; d++)
    if (from->dims[d] == to->dims[d])
      rule_factor_everywhere(rule, d, from->dims[d], FACTOR_PASS_THROUGH, false);
    else
      rule_factor_everywhere(rule, d, from->dims[d], kind, blocked);
  return true;
}

bool rule_slice(Rule *rule) {
  return same_or(rule, FACTOR_PERMUTATION, false);
}

bool rule_pad(Rule *rule) {
  return same_or(rule, FACTOR_PERMUTATION, false);
}

/* Start indices may be one vector: only the operand goes with the result. */
bool rule_dynamic_slice(Rule *rule) {
  const Shape *from = rule_operand(rule, 0), *to = rule_result(rule, 0);
  for (uint32_t d = 0; d < from->rank; d++) {
    int64_t *dims = rule_dims(rule);
    dims[0] = dims[rule->n_operands] = d;
    if (from->dims[d] == to->dims[d])
      rule_factor(rule, dims, from->dims[d], FACTOR_PASS_THROUGH);
    else
      rule_factor_blocked(rule, dims, from->dims[d], FACTOR_NEED_REPLICATION);
  }
  return true;
}

static bool starts_are_constant(const Rule *rule) {
  for (uint32_t k = 2; k < rule->n_operands; k++)
    if (rule_operand_instr(rule, k)->op != OP_CONSTANT) return false;
  return true;
}

/* Along an updated dimension the operand keeps its shards, each device writing what falls into its own. */
bool rule_dynamic_update_slice(Rule *rule) {
  const Shape *whole = rule_operand(rule, 0), *update = rule_operand(rule, 1);
  FactorKind update_kind = starts_are_constant(rule) ? FACTOR_PASS_THROUGH : FACTOR_NEED_REPLICATION;
  for (uint32_t d = 0; d < whole->rank; d++) {
    int64_t *dims = rule_dims(rule), *of_update = rule_dims(rule);
    bool same = whole->dims[d] == update->dims[d];
    dims[0] = dims[rule->n_operands] = d;
    if (same) dims[1] = d;
    of_update[1] = d;
    rule_factor(rule, dims, whole->dims[d], FACTOR_PASS_THROUGH);
    if (!same) rule_factor(rule, of_update, update->dims[d], update_kind);
  }
  return true;
}

static uint32_t behind_slice(const Rule *rule, uint32_t k) {
  const Instr *operand = rule_operand_instr(rule, k);
  return operand->op == OP_SLICE ? operand->operands.at[0] : rule->instr->operands.at[k];
}

/* Where only shifted parts are put together, as a roll is written, neighbours can send each other what is
 * missing. */
static bool is_shift(const Rule *rule) {
  bool same = true;
  uint32_t slices = 0;
  for (uint32_t k = 0; k < rule->n_operands; k++) {
    slices += rule_operand_instr(rule, k)->op == OP_SLICE;
    same &= behind_slice(rule, k) == behind_slice(rule, 0);
  }
  return slices == rule->n_operands || (same && slices != 0);
}

bool rule_concatenate(Rule *rule) {
  const Shape *to = rule_result(rule, 0);
  Ints dimensions = instr_ints(rule->instr, ATTR_dimensions);
  FactorKind kind = is_shift(rule) ? FACTOR_PERMUTATION : FACTOR_NEED_REPLICATION;
  for (uint32_t d = 0; d < to->rank; d++)
    rule_factor_everywhere(rule, d, to->dims[d], ints_have(dimensions, d) ? kind : FACTOR_PASS_THROUGH,
                           false);
  return true;
}

/* Rules of linear algebra, fft, random bits, collectives over local values, and custom calls. */
#include "sim/shard/rule_build.h"

/* Dimension d of every tensor, for all but the last `n` dimensions of the operand. */
static void batch_dims(Rule *rule, uint32_t n) {
  const Shape *shape = rule_operand(rule, 0);
  for (uint32_t d = 0; d + n < shape->rank; d++)
    rule_factor_everywhere(rule, d, shape->dims[d], FACTOR_PASS_THROUGH, false);
}

bool rule_cholesky(Rule *rule) {
  const Shape *shape = rule_operand(rule, 0);
  batch_dims(rule, 2);
  for (uint32_t d = shape->rank < 2 ? 0 : shape->rank - 2; d < shape->rank; d++)
    rule_factor_everywhere(rule, d, shape->dims[d], FACTOR_NEED_REPLICATION, false);
  return true;
}

/* op(a) · x = b, or x · op(a) = b: the dimensions of a are those of b that are contracted, and x's; all of
 * them are needed whole. */
bool rule_triangular_solve(Rule *rule) {
  const Shape *a = rule_operand(rule, 0), *b = rule_operand(rule, 1);
  if (a->rank < 2) return false;
  bool left = instr_flag(rule->instr, ATTR_left_side);
  Str transpose = instr_word(rule->instr, ATTR_transpose_a);
  bool transposed = str_is(transpose, "TRANSPOSE") || str_is(transpose, "ADJOINT");
  int64_t rows = a->rank - 2, columns = a->rank - 1;
  int64_t solved = left ? rows : columns, other = left ? columns : rows;
  int64_t free_of_a = left != transposed ? rows : columns, contracted_of_a = rows + columns - free_of_a;
  batch_dims(rule, 2);
  rule_factor(rule, (int64_t[]){free_of_a, solved, NO_DIM}, a->dims[free_of_a], FACTOR_NEED_REPLICATION);
  rule_factor(rule, (int64_t[]){NO_DIM, other, other}, b->dims[other], FACTOR_NEED_REPLICATION);
  rule_factor(rule, (int64_t[]){contracted_of_a, NO_DIM, solved}, a->dims[contracted_of_a],
              FACTOR_NEED_REPLICATION);
  return true;
}

bool rule_fft(Rule *rule) {
  const Shape *from = rule_operand(rule, 0), *to = rule_result(rule, 0);
  uint32_t transformed = instr_ints(rule->instr, ATTR_fft_length).n;
  batch_dims(rule, transformed);
  for (uint32_t d = from->rank - transformed; d < from->rank; d++)
    rule_factor_everywhere(rule, d, from->dims[d], FACTOR_NEED_REPLICATION, from->dims[d] != to->dims[d]);
  return true;
}

/* The state is the same everywhere; each device makes its own part of the bits. */
bool rule_rng_bit_generator(Rule *rule) {
  const Shape *state = rule_operand(rule, 0), *bits = rule_result(rule, rule->n_results - 1);
  for (uint32_t d = 0; rule->n_results == 2 && d < state->rank; d++)
    rule_factor_blocked(rule, (int64_t[]){d, d, NO_DIM}, state->dims[d], FACTOR_NEED_REPLICATION);
  for (uint32_t d = 0; d < bits->rank; d++) {
    int64_t *dims = rule_dims(rule);
    dims[rule->n_operands + rule->n_results - 1] = d;
    rule_factor(rule, dims, bits->dims[d], FACTOR_PASS_THROUGH);
  }
  return true;
}

/* --- Collectives of a manual region, along the axes that are not manual. --- */

/* Dimensions in `whole` are one factor of the operands and another of the results. */
static bool all_but(Rule *rule, Ints whole) {
  const Shape *from = rule_operand(rule, 0), *to = rule_result(rule, 0);
  for (uint32_t d = 0; d < from->rank; d++) {
    if (!ints_have(whole, d)) {
      rule_factor_everywhere(rule, d, from->dims[d], FACTOR_PASS_THROUGH, false);
      continue;
    }
    int64_t *of_operands = rule_dims(rule), *of_results = rule_dims(rule);
    for (uint32_t k = 0; k < rule->n_operands; k++) of_operands[k] = d;
    for (uint32_t k = 0; k < rule->n_results; k++) of_results[rule->n_operands + k] = d;
    rule_factor(rule, of_operands, from->dims[d], FACTOR_NEED_REPLICATION);
    rule_factor(rule, of_results, to->dims[d], FACTOR_NEED_REPLICATION);
  }
  return true;
}

bool rule_all_gather(Rule *rule) {
  return all_but(rule, instr_ints(rule->instr, ATTR_dimensions));
}

bool rule_reduce_scatter(Rule *rule) {
  return all_but(rule, instr_ints(rule->instr, ATTR_dimensions));
}

/* Of the form with several operands each is sent whole. */
bool rule_all_to_all(Rule *rule) {
  return all_but(rule, instr_ints(rule->instr, ATTR_dimensions));
}

/* --- Custom calls. --- */

static bool rule_eigh(Rule *rule) {
  const Shape *shape = rule_operand(rule, 0);
  if (shape->rank < 2 || rule->n_results != 2) return false;
  int64_t rows = shape->rank - 2, columns = shape->rank - 1;
  batch_dims(rule, 2);
  rule_factor(rule, (int64_t[]){rows, rows, NO_DIM}, shape->dims[rows], FACTOR_PASS_THROUGH);
  rule_factor(rule, (int64_t[]){columns, columns, rows}, shape->dims[columns], FACTOR_PASS_THROUGH);
  return true;
}

static bool rule_qr(Rule *rule) {
  const Shape *shape = rule_operand(rule, 0);
  if (shape->rank < 2 || rule->n_results != 2) return false;
  int64_t rows = shape->rank - 2, columns = shape->rank - 1;
  batch_dims(rule, 2);
  rule_factor(rule, (int64_t[]){rows, rows, NO_DIM}, shape->dims[rows], FACTOR_NEED_REPLICATION);
  rule_factor(rule, (int64_t[]){columns, columns, NO_DIM}, shape->dims[columns], FACTOR_NEED_REPLICATION);
  rule_factor(rule, (int64_t[]){NO_DIM, NO_DIM, rows}, rule_result(rule, 1)->dims[rows],
              FACTOR_NEED_REPLICATION);
  return true;
}

static bool rule_householder(Rule *rule) {
  const Shape *a = rule_operand(rule, 0);
  if (a->rank < 2 || rule->n_operands != 2) return false;
  int64_t rows = a->rank - 2, columns = a->rank - 1;
  batch_dims(rule, 2);
  rule_factor(rule, (int64_t[]){rows, NO_DIM, rows}, a->dims[rows], FACTOR_NEED_REPLICATION);
  rule_factor(rule, (int64_t[]){columns, NO_DIM, columns}, a->dims[columns], FACTOR_NEED_REPLICATION);
  rule_factor(rule, (int64_t[]){NO_DIM, rows, NO_DIM}, rule_operand(rule, 1)->dims[rows],
              FACTOR_NEED_REPLICATION);
  return true;
}

/* Operand, iota, two initial values; values and indices. */
static bool rule_approx_topk(Rule *rule) {
  const Shape *from = rule_operand(rule, 0), *to = rule_result(rule, 0);
  int64_t reduced = -1;
  instr_config_int(rule->instr, "reduction_dim", &reduced);
  for (uint32_t d = 0; d < from->rank; d++) {
    if (from->dims[d] == to->dims[d]) {
      FactorKind kind = d == reduced ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH;
      rule_factor_everywhere(rule, d, from->dims[d], kind, false);
      continue;
    }
    int64_t *of_operands = rule_dims(rule), *of_results = rule_dims(rule);
    of_operands[0] = of_operands[1] = d;
    of_results[rule->n_operands] = of_results[rule->n_operands + 1] = d;
    rule_factor(rule, of_operands, from->dims[d], FACTOR_PASS_THROUGH);
    rule_factor_blocked(rule, of_results, to->dims[d], FACTOR_NEED_REPLICATION);
  }
  return true;
}

static const struct {
  const char *target;
  RuleFn *rule;
} CUSTOM_CALLS[] = {
    {"Sharding", rule_elementwise},
    {"xla.sdy.PropagationBarrier", rule_elementwise},
    {"annotate_device_placement", rule_elementwise},
    {"Cholesky", rule_elementwise},
    {"CompactWyHelper", rule_elementwise},
    {"InspectSharding", rule_elementwise},
    {"InvertDiagBlocksLowerTriangular", rule_elementwise},
    {"InvertDiagBlocksUpperTriangular", rule_elementwise},
    {"LayoutConstraint", rule_elementwise},
    {"mhlo.erf", rule_elementwise},
    {"MoveToDevice", rule_elementwise},
    {"MoveToHost", rule_elementwise},
    {"X64Combine", rule_elementwise},
    {"X64SplitHigh", rule_elementwise},
    {"X64SplitLow", rule_elementwise},
    {"_SPMDInternalOp_MultiPad", rule_elementwise},
    {"_SPMDInternalOp_MultiRotate", rule_elementwise},
    {"_SPMDInternalOp_MultiSlice", rule_elementwise},
    {"_SPMDInternalOp_RotateRight", rule_elementwise},
    {"_SPMDInternalOp_Wrap", rule_elementwise},
    {"ApproxTopK", rule_approx_topk},
    {"PartialReduce", rule_approx_topk},
    {"Eigh", rule_eigh},
    {"ProductOfElementaryHouseholderReflectors", rule_householder},
    {"Qr", rule_qr},
    {"QrDecompositionBlock", rule_qr},
    {"TopK", rule_topk},
    {"mhlo.topk", rule_topk},
};

bool rule_custom_call(Rule *rule) {
  Str target = instr_custom_call_target(rule->instr);
  for (size_t i = 0; i < sizeof CUSTOM_CALLS / sizeof *CUSTOM_CALLS; i++)
    if (str_is(target, CUSTOM_CALLS[i].target)) return CUSTOM_CALLS[i].rule(rule);
  return false;
}

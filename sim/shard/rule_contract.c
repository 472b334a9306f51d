/* Rules of ops that contract or reduce: dot, convolution, reduce, windows. */
#include "sim/shard/rule_build.h"

bool rule_dot(Rule *rule) {
  const Shape *lhs = rule_operand(rule, 0), *rhs = rule_operand(rule, 1);
  Ints lhs_batch = instr_ints(rule->instr, ATTR_lhs_batch_dims);
  Ints rhs_batch = instr_ints(rule->instr, ATTR_rhs_batch_dims);
  Ints lhs_contract = instr_ints(rule->instr, ATTR_lhs_contracting_dims);
  Ints rhs_contract = instr_ints(rule->instr, ATTR_rhs_contracting_dims);
  int64_t out = 0;
  for (uint32_t b = 0; b < lhs_batch.n; b++) {
    int64_t *dims = rule_dims(rule);
    dims[0] = lhs_batch.at[b];
    dims[1] = rhs_batch.at[b];
    dims[rule->n_operands] = out++;
    rule_factor(rule, dims, lhs->dims[dims[0]], FACTOR_PASS_THROUGH);
  }
  for (uint32_t side = 0; side < 2; side++) {
    const Shape *shape = side == 0 ? lhs : rhs;
    for (uint32_t d = 0; d < shape->rank; d++) {
      if (ints_have(side == 0 ? lhs_batch : rhs_batch, d)) continue;
      if (ints_have(side == 0 ? lhs_contract : rhs_contract, d)) continue;
      int64_t *dims = rule_dims(rule);
      dims[side] = d;
      dims[rule->n_operands] = out++;
      rule_factor(rule, dims, shape->dims[d], FACTOR_PASS_THROUGH);
    }
  }
  for (uint32_t c = 0; c < lhs_contract.n; c++) {
    int64_t *dims = rule_dims(rule);
    dims[0] = lhs_contract.at[c];
    dims[1] = rhs_contract.at[c];
    rule_factor(rule, dims, lhs->dims[dims[0]], FACTOR_REDUCTION);
  }
  return true;
}

/* A factor of some dimensions of lhs, rhs, sizes of groups, and the result; NO_DIM where it is not there. */
static void ragged_factor(Rule *rule, int64_t lhs, int64_t rhs, int64_t sizes, int64_t out, FactorKind kind) {
  int64_t *dims = rule_dims(rule);
  dims[0] = lhs;
  dims[1] = rhs;
  dims[2] = sizes;
  dims[3] = out;
  int64_t size = lhs != NO_DIM   ? rule_operand(rule, 0)->dims[lhs]
                 : rhs != NO_DIM ? rule_operand(rule, 1)->dims[rhs]
                                 : rule_operand(rule, 2)->dims[sizes];
  rule_factor(rule, dims, size, kind);
}

typedef struct {
  Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract, ragged, groups;
} RaggedDims;

static RaggedDims ragged_dims(const Instr *instr) {
  return (RaggedDims){.lhs_batch = instr_ints(instr, ATTR_lhs_batch_dims),
                      .rhs_batch = instr_ints(instr, ATTR_rhs_batch_dims),
                      .lhs_contract = instr_ints(instr, ATTR_lhs_contracting_dims),
                      .rhs_contract = instr_ints(instr, ATTR_rhs_contracting_dims),
                      .ragged = instr_ints(instr, ATTR_lhs_ragged_dims),
                      .groups = instr_ints(instr, ATTR_rhs_group_dims)};
}

/* The groups: the result's first dimension where what is contracted is ragged. */
static void ragged_groups(Rule *rule, const RaggedDims *dims, int64_t *out) {
  int64_t last_size = (int64_t)rule_operand(rule, 2)->rank - 1;
  if (dims->ragged.n == 1 && ints_have(dims->lhs_contract, dims->ragged.at[0]))
    ragged_factor(rule, NO_DIM, NO_DIM, last_size, (*out)++, FACTOR_NEED_REPLICATION);
  else if (dims->groups.n != 0)
    ragged_factor(rule, NO_DIM, dims->groups.at[0], last_size, NO_DIM, FACTOR_NEED_REPLICATION);
}

static void ragged_batches(Rule *rule, const RaggedDims *dims, int64_t *out) {
  bool sizes_have = rule_operand(rule, 2)->rank > 1;
  for (uint32_t b = 0; b < dims->lhs_batch.n; b++)
    ragged_factor(rule, dims->lhs_batch.at[b], dims->rhs_batch.at[b], sizes_have ? (int64_t)b : NO_DIM,
                  (*out)++, FACTOR_PASS_THROUGH);
}

/* Dimensions of one operand and the result. */
static void ragged_free(Rule *rule, const RaggedDims *dims, int64_t *out) {
  for (uint32_t d = 0; d < rule_operand(rule, 0)->rank; d++) {
    if (ints_have(dims->lhs_batch, d) || ints_have(dims->lhs_contract, d)) continue;
    FactorKind kind = ints_have(dims->ragged, d) ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH;
    ragged_factor(rule, d, NO_DIM, NO_DIM, (*out)++, kind);
  }
  for (uint32_t d = 0; d < rule_operand(rule, 1)->rank; d++) {
    if (ints_have(dims->rhs_batch, d) || ints_have(dims->rhs_contract, d) || ints_have(dims->groups, d))
      continue;
    ragged_factor(rule, NO_DIM, d, NO_DIM, (*out)++, FACTOR_PASS_THROUGH);
  }
}

/* As a dot, but that groups of the ragged dimension and the groups themselves are needed whole. */
bool rule_ragged_dot(Rule *rule) {
  if (rule->n_operands != 3) return false;
  RaggedDims dims = ragged_dims(rule->instr);
  int64_t out = 0;
  ragged_groups(rule, &dims, &out);
  ragged_batches(rule, &dims, &out);
  ragged_free(rule, &dims, &out);
  for (uint32_t c = 0; c < dims.lhs_contract.n; c++) {
    int64_t lhs = dims.lhs_contract.at[c], rhs = dims.rhs_contract.at[c];
    FactorKind kind = ints_have(dims.ragged, lhs) ? FACTOR_NEED_REPLICATION : FACTOR_REDUCTION;
    ragged_factor(rule, lhs, rhs, NO_DIM, NO_DIM, kind);
  }
  return true;
}

/* n inputs, then n initial values, which are scalars. */
bool rule_reduce(Rule *rule) {
  const Shape *from = rule_operand(rule, 0);
  Ints reduced = instr_ints(rule->instr, ATTR_dimensions);
  uint32_t n = rule->n_operands / 2;
  int64_t out = 0;
  for (uint32_t d = 0; d < from->rank; d++) {
    bool kept = !ints_have(reduced, d);
    int64_t *dims = rule_dims(rule);
    for (uint32_t k = 0; k < n; k++) {
      dims[k] = d;
      if (kept) dims[rule->n_operands + k] = out;
    }
    out += kept;
    rule_factor(rule, dims, from->dims[d], kept ? FACTOR_PASS_THROUGH : FACTOR_REDUCTION);
  }
  return true;
}

/* --- Windows. --- */

static bool window_is_trivial(WindowDim window) {
  return window.size == 1 && window.stride == 1 && window.pad_low == 0 && window.pad_high == 0 &&
         window.lhs_dilate == 1;
}

/* A dimension is sharded along its windows: as many as the result is long. */
bool rule_reduce_window(Rule *rule) {
  const Shape *to = rule_result(rule, 0);
  Window window = instr_window(rule->instr);
  for (uint32_t d = 0; d < to->rank; d++) {
    bool trivial = d >= window.n || window_is_trivial(window.at[d]);
    rule_factor_everywhere(rule, d, to->dims[d], trivial ? FACTOR_PASS_THROUGH : FACTOR_PERMUTATION, false);
  }
  return true;
}

/* Operand, source, initial value. The source is needed whole along a window; the operand gives its shards to
 * the result. */
bool rule_select_and_scatter(Rule *rule) {
  const Shape *to = rule_result(rule, 0), *source = rule_operand(rule, 1);
  Window window = instr_window(rule->instr);
  for (uint32_t d = 0; d < to->rank; d++) {
    if (d >= window.n || window_is_trivial(window.at[d])) {
      rule_factor_everywhere(rule, d, to->dims[d], FACTOR_PASS_THROUGH, false);
      continue;
    }
    int64_t *of_source = rule_dims(rule), *dims = rule_dims(rule);
    of_source[1] = d;
    rule_factor(rule, of_source, source->dims[d], FACTOR_NEED_REPLICATION);
    dims[0] = dims[rule->n_operands] = d;
    rule_factor(rule, dims, to->dims[d], FACTOR_PERMUTATION);
  }
  return true;
}

static void conv_factor(Rule *rule, int64_t lhs, int64_t rhs, int64_t out, int64_t size, FactorKind kind) {
  int64_t *dims = rule_dims(rule);
  dims[0] = lhs;
  dims[1] = rhs;
  dims[rule->n_operands] = out;
  rule_factor(rule, dims, size, kind);
}

/* A spatial dimension of the input can be sharded along its windows, as the output is, or within a window, as
 * the kernel is; the larger of the two is the major factor. */
static void conv_spatial(Rule *rule, int64_t lhs, int64_t rhs, int64_t out) {
  int64_t windows = rule_result(rule, 0)->dims[out], taps = rule_operand(rule, 1)->dims[rhs];
  int64_t left = rule_operand(rule, 0)->dims[lhs];
  for (uint32_t part = 0; part < 2; part++) {
    bool along_windows = (windows >= taps) == (part == 0);
    int64_t size = along_windows ? windows : taps;
    if (size > left) size = left;
    if (size <= 1) continue;
    if (along_windows)
      conv_factor(rule, lhs, NO_DIM, out, size, FACTOR_PERMUTATION);
    else
      conv_factor(rule, lhs, rhs, NO_DIM, size, FACTOR_REDUCTION);
    left /= size;
  }
}

bool rule_convolution(Rule *rule) {
  const Attr *attr = instr_attr(rule->instr, ATTR_dim_labels);
  if (attr == NULL) return false;
  const ConvLabels *labels = attr->labels;
  const Shape *rhs = rule_operand(rule, 1), *out = rule_result(rule, 0);
  int64_t feature_groups = instr_int(rule->instr, ATTR_feature_group_count, 1);
  int64_t batch_groups = instr_int(rule->instr, ATTR_batch_group_count, 1);
  int64_t features = out->dims[labels->out_feature] / (feature_groups * batch_groups);
  if (batch_groups > 1)
    conv_factor(rule, labels->lhs_batch, labels->rhs_output_feature, labels->out_feature, batch_groups,
                FACTOR_PASS_THROUGH);
  conv_factor(rule, labels->lhs_batch, NO_DIM, labels->out_batch, out->dims[labels->out_batch],
              FACTOR_PASS_THROUGH);
  for (uint32_t s = 0; s < labels->lhs_spatial.n; s++)
    conv_spatial(rule, labels->lhs_spatial.at[s], labels->rhs_spatial.at[s], labels->out_spatial.at[s]);
  if (feature_groups > 1)
    conv_factor(rule, labels->lhs_feature, labels->rhs_output_feature, labels->out_feature, feature_groups,
                FACTOR_PASS_THROUGH);
  conv_factor(rule, labels->lhs_feature, labels->rhs_input_feature, NO_DIM,
              rhs->dims[labels->rhs_input_feature], FACTOR_REDUCTION);
  if (features > 1)
    conv_factor(rule, NO_DIM, labels->rhs_output_feature, labels->out_feature, features, FACTOR_PASS_THROUGH);
  return true;
}

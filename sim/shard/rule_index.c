/* Rules of gather, scatter, sort and top-k. */
#include "sim/shard/rule_build.h"

/* --- Gather and scatter. --- */

/* What gather and scatter have in common. `input` is the operand that is indexed, `slices` what lies there:
 * gather's result, scatter's updates. */
typedef struct {
  const Shape *input, *slices, *indices;
  Ints window_dims, dropped_dims, input_batch, indices_batch;
  int64_t index_vector_dim;
  uint32_t n_inputs; /* of a scatter; 0 for a gather */
  bool can_reduce;   /* scatter: the updates are combined by an op that partial results can be combined by */
} Indexed;

/* Operands of a scatter: inputs, indices, updates; results like the inputs. Of a gather: input, indices. */
static void indexed_factor(Rule *rule, const Indexed *op, int64_t input, int64_t indices, int64_t slices,
                           int64_t size, FactorKind kind) {
  int64_t *dims = rule_dims(rule);
  if (op->n_inputs == 0) {
    dims[0] = input;
    dims[1] = indices;
    dims[2] = slices;
  }
  for (uint32_t k = 0; k < op->n_inputs; k++) {
    dims[k] = dims[rule->n_operands + k] = input;
    dims[op->n_inputs] = indices;
    dims[op->n_inputs + 1 + k] = slices;
  }
  rule_factor(rule, dims, size, kind);
}

/* A window dimension: one factor where the window is the whole of it, else two that do not go together. */
static void window_factors(Rule *rule, const Indexed *op, int64_t input_dim, int64_t slices_dim) {
  int64_t size = op->input->dims[input_dim], window = op->slices->dims[slices_dim];
  if (size == window) {
    indexed_factor(rule, op, input_dim, NO_DIM, slices_dim, size, FACTOR_PASS_THROUGH);
  } else if (op->n_inputs != 0 || window == 1) {
    FactorKind kind = op->n_inputs != 0 ? FACTOR_NEED_REPLICATION : FACTOR_REDUCTION;
    indexed_factor(rule, op, input_dim, NO_DIM, NO_DIM, size, kind);
    indexed_factor(rule, op, NO_DIM, NO_DIM, slices_dim, window, FACTOR_NEED_REPLICATION);
  } else {
    int64_t *dims = rule_dims(rule);
    dims[0] = input_dim;
    dims[2] = slices_dim;
    rule_factor_blocked(rule, dims, size, FACTOR_NEED_REPLICATION);
  }
}

static void batch_factor(Rule *rule, const Indexed *op, int64_t indices_dim, int64_t slices_dim) {
  int64_t input_dim = NO_DIM;
  for (uint32_t b = 0; b < op->indices_batch.n; b++)
    if (op->indices_batch.at[b] == indices_dim) input_dim = op->input_batch.at[b];
  FactorKind kind = FACTOR_PASS_THROUGH;
  if (op->n_inputs != 0 && input_dim == NO_DIM)
    kind = op->can_reduce ? FACTOR_REDUCTION : FACTOR_NEED_REPLICATION;
  indexed_factor(rule, op, input_dim, indices_dim, slices_dim, op->slices->dims[slices_dim], kind);
}

/* Dimensions that no window has: a device finds what falls into its shard, and scatter leaves it there, while
 * gather sums over the devices. */
static void dropped_factors(Rule *rule, const Indexed *op) {
  for (uint32_t i = 0; i < op->dropped_dims.n; i++) {
    int64_t dim = op->dropped_dims.at[i], size = op->input->dims[dim];
    FactorKind kind = FACTOR_PASS_THROUGH;
    if (op->n_inputs == 0) kind = size == 1 ? FACTOR_NEED_REPLICATION : FACTOR_REDUCTION;
    indexed_factor(rule, op, dim, NO_DIM, NO_DIM, size, kind);
  }
}

static bool indexed_rule(Rule *rule, const Indexed *op) {
  int64_t input_dim = 0, batch = 0;
  for (uint32_t d = 0; d < op->slices->rank; d++) {
    if (ints_have(op->window_dims, d)) {
      while (ints_have(op->dropped_dims, input_dim) || ints_have(op->input_batch, input_dim)) input_dim++;
      if (input_dim >= op->input->rank) return false;
      window_factors(rule, op, input_dim++, d);
    } else {
      int64_t indices_dim = batch < op->index_vector_dim ? batch : batch + 1;
      if (indices_dim >= op->indices->rank) return false;
      batch_factor(rule, op, indices_dim, d);
      batch++;
    }
  }
  dropped_factors(rule, op);
  if (op->index_vector_dim < op->indices->rank)
    indexed_factor(rule, op, NO_DIM, op->index_vector_dim, NO_DIM, op->indices->dims[op->index_vector_dim],
                   FACTOR_NEED_REPLICATION);
  return true;
}

bool rule_gather(Rule *rule) {
  const Instr *instr = rule->instr;
  const Shape *indices = rule_operand(rule, 1);
  Indexed op = {.input = rule_operand(rule, 0),
                .slices = rule_result(rule, 0),
                .indices = indices,
                .window_dims = instr_ints(instr, ATTR_offset_dims),
                .dropped_dims = instr_ints(instr, ATTR_collapsed_slice_dims),
                .input_batch = instr_ints(instr, ATTR_operand_batching_dims),
                .indices_batch = instr_ints(instr, ATTR_start_indices_batching_dims),
                .index_vector_dim = instr_int(instr, ATTR_index_vector_dim, indices->rank)};
  return indexed_rule(rule, &op);
}

static bool combines(const Module *module, uint32_t comp) {
  Opcode op = comp == NO_ID ? OP_COUNT : comp_binary_op(module, comp);
  bool logical = op == OP_AND || op == OP_OR;
  if (logical) return module_comp(module, comp)->instrs.at[0].shape->dtype == DTYPE_PRED;
  return op == OP_ADD || op == OP_MULTIPLY || op == OP_MAXIMUM || op == OP_MINIMUM;
}

bool rule_scatter(Rule *rule) {
  const Instr *instr = rule->instr;
  uint32_t n = rule->n_operands / 2;
  const Shape *indices = rule_operand(rule, n);
  Indexed op = {.input = rule_operand(rule, 0),
                .slices = rule_operand(rule, n + 1),
                .indices = indices,
                .window_dims = instr_ints(instr, ATTR_update_window_dims),
                .dropped_dims = instr_ints(instr, ATTR_inserted_window_dims),
                .input_batch = instr_ints(instr, ATTR_input_batching_dims),
                .indices_batch = instr_ints(instr, ATTR_scatter_indices_batching_dims),
                .index_vector_dim = instr_int(instr, ATTR_index_vector_dim, indices->rank),
                .n_inputs = n,
                .can_reduce = combines(rule->module, instr_comp(instr, ATTR_to_apply))};
  return indexed_rule(rule, &op);
}

/* --- Sort and top-k. --- */

/* Along the sorted dimension the values are needed whole; shardings pass along it only where some other
 * dimension could take them over. */
bool rule_sort(Rule *rule) {
  const Shape *shape = rule_operand(rule, 0);
  Ints dimensions = instr_ints(rule->instr, ATTR_dimensions);
  bool alone = true;
  for (uint32_t d = 0; d < shape->rank; d++) alone &= ints_have(dimensions, d) || shape->dims[d] == 1;
  for (uint32_t d = 0; d < shape->rank; d++)
    if (ints_have(dimensions, d))
      rule_factor_everywhere(rule, d, shape->dims[d], FACTOR_NEED_REPLICATION, alone);
    else
      rule_factor_everywhere(rule, d, shape->dims[d], FACTOR_PASS_THROUGH, false);
  return true;
}

/* Where all are taken, shardings pass along the last dimension, but the values are needed whole. */
bool rule_topk(Rule *rule) {
  const Shape *from = rule_operand(rule, 0), *to = rule_result(rule, 0);
  for (uint32_t d = 0; d < from->rank; d++) {
    bool last = d + 1 == from->rank, cut = from->dims[d] != to->dims[d];
    rule_factor_everywhere(rule, d, from->dims[d], last ? FACTOR_NEED_REPLICATION : FACTOR_PASS_THROUGH, cut);
  }
  return true;
}

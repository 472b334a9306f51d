/* Handlers of ops with sliding windows: convolution, reduce-window, select-and-scatter. Along a dimension of
 * windows that is cut each device fetches the halo that its windows reach into (row_map.h); what lies outside
 * of the array is filled with what padding would be, and the local op has no padding there. */
#include "sim/partition/handlers.h"
#include "sim/partition/row_map.h"

#include <math.h>

/* Factor d is dimension d of the result; a convolution's factors of groups and input features follow. */
typedef struct {
  Spmd *spmd;
  const Instr *instr;
  FactorRule *rule;
  const Shape *out;      /* of the result (the first one) */
  RowMap *maps;          /* an entry a dimension of the result; plain where there is no window */
  uint32_t *source_dims; /* of a result dimension in the windowed operand; NO_ID: none */
  uint32_t n_sources;    /* operands that windows slide over */
} Sliding;

static RowMap window_map(const WindowDim *window, int64_t rows, int64_t source_rows) {
  RowMap map = row_map_plain(rows, source_rows);
  map.first = -window->pad_low;
  map.step = window->lhs_dilate > 1 ? 0 : window->stride;
  map.span = (window->size - 1) * window->rhs_dilate + 1;
  return map;
}

/* --- plans
 * -------------------------------------------------------------------------------------------------------- */

static bool is_fetched(const Sliding *op, const Plan *plan, uint32_t dim) {
  return op->source_dims[dim] != NO_ID && plan->axes[dim].n != 0 && !row_map_is_plain(&op->maps[dim]);
}

static double halo_cost(void *self, const PlanProblem *problem, const Plan *plan) {
  const Sliding *op = self;
  double bytes = 0;
  for (uint32_t d = 0; d < op->out->rank; d++) {
    if (!is_fetched(op, plan, d)) continue;
    const Sharding *sharding = plan_sharding(op->spmd, plan, &op->rule->operands[0], false);
    const Shape *source = sharding_local_shape(op->spmd->scratch, sharding, problem->operands[0].global);
    double row = (double)shape_bytes(source) / (double)source->dims[op->source_dims[d]];
    bytes += row * row_map_cost(op->spmd->scratch, &op->maps[d], axes_size(plan->axes[d])) * op->n_sources;
  }
  return bytes;
}

static void choose(Sliding *op, double point_cost, OwnCost own_cost, Plan *plan) {
  Spmd *spmd = op->spmd;
  Sharded *operands = ARENA_ARRAY(spmd->scratch, Sharded, op->rule->n_operands);
  const Shape **results = ARENA_ARRAY(spmd->scratch, const Shape *, op->rule->n_results);
  for (uint32_t i = 0; i < op->rule->n_operands; i++) operands[i] = operand_value(spmd, op->instr, i).at[0];
  for (uint32_t i = 0; i < op->rule->n_results; i++) results[i] = shape_leaf(op->instr->shape, i);
  PlanProblem problem = {.rule = op->rule,
                         .operands = operands,
                         .wanted = wanted_of(spmd, op->instr).at,
                         .results = results,
                         .reduces = true,
                         .point_cost_bytes = point_cost,
                         .own_cost = own_cost,
                         .self = op};
  *plan = plan_choose(spmd, &problem);
}

static Ids ids_of(Arena *arena, const uint32_t *ids, uint32_t n) {
  return (Ids){arena_copy(arena, ids, n * sizeof *ids), n};
}

static TensorFactors tensor_of_rank(Arena *arena, uint32_t rank) {
  return (TensorFactors){ARENA_ARRAY(arena, Ids, rank + 1), rank};
}

static uint32_t add_factor(FactorRule *rule, int64_t size, FactorKind kind) {
  rule->factors[rule->n_factors] = (Factor){.size = size, .kind = kind};
  return rule->n_factors++;
}

/* --- the local op
 * ------------------------------------------------------------------------------------------------- */

/* Source `operand` under the plan, with the rows that this device's windows reach. */
static Status fetch(const Sliding *op, const Plan *plan, uint32_t operand, uint32_t fill, uint32_t *local) {
  Spmd *spmd = op->spmd;
  Sharded source;
  TRY(plan_operand(spmd, op->instr, plan, operand, &source));
  spmd->because = str_printf(spmd->scratch, "%.*s needs rows of its neighbours", STR_ARG(op->instr->name));
  for (uint32_t d = 0; d < op->out->rank; d++)
    if (is_fetched(op, plan, d))
      source.instr =
          row_map_fetch_filled(spmd, source.instr, op->source_dims[d], &op->maps[d], plan->axes[d], fill);
  *local = source.instr;
  return STATUS_OK;
}

static const Shape *results_shape(const Sliding *op, const Plan *plan) {
  Spmd *spmd = op->spmd;
  ValueSharding shardings = {ARENA_ARRAY(spmd->scratch, const Sharding *, op->rule->n_results),
                             op->rule->n_results};
  for (uint32_t i = 0; i < shardings.n; i++)
    shardings.at[i] = plan_sharding(spmd, plan, &op->rule->results[i], false);
  return value_local_shape(spmd, op->instr->shape, &shardings);
}

static Status give(const Sliding *op, const Plan *plan, uint32_t local, ShardedValue *result) {
  Spmd *spmd = op->spmd;
  ValueSharding shardings = {ARENA_ARRAY(spmd->scratch, const Sharding *, op->rule->n_results),
                             op->rule->n_results};
  for (uint32_t i = 0; i < shardings.n; i++)
    shardings.at[i] = plan_sharding(spmd, plan, &op->rule->results[i], true);
  ShardedValue value = value_unpack(spmd, local, op->instr->shape, &shardings);
  ValueSharding wanted = wanted_of(spmd, op->instr);
  return value_reshard(spmd, &value, &wanted, result);
}

/* --- reduce-window
 * ------------------------------------------------------------------------------------------------ */

static void read_reduce_window(Sliding *op) {
  Arena *scratch = op->spmd->scratch;
  Window window = instr_window(op->instr);
  uint32_t rank = op->out->rank, n = op->instr->operands.n / 2;
  const Shape *source = operand_value(op->spmd, op->instr, 0).at[0].global;
  TensorFactors tensor = tensor_of_rank(scratch, rank);
  op->n_sources = n;
  op->rule->n_operands = 2 * n;
  op->rule->n_results = n;
  op->rule->operands = ARENA_ARRAY(scratch, TensorFactors, 2 * n); /* initial values are scalars */
  op->rule->results = ARENA_ARRAY(scratch, TensorFactors, n);
  for (uint32_t d = 0; d < rank; d++) {
    tensor.dims[d] = ids_of(scratch, &d, 1);
    op->source_dims[d] = d;
    op->maps[d] = row_map_plain(op->out->dims[d], source->dims[d]);
    if (d < window.n) op->maps[d] = window_map(&window.at[d], op->out->dims[d], source->dims[d]);
  }
  for (uint32_t i = 0; i < n; i++) op->rule->operands[i] = op->rule->results[i] = tensor;
}

static Sliding sliding_new(Spmd *spmd, const Instr *instr) {
  const Shape *out = shape_leaf(instr->shape, 0);
  Sliding op = {.spmd = spmd, .instr = instr, .out = out, .rule = ARENA_NEW(spmd->scratch, FactorRule)};
  op.maps = ARENA_ARRAY(spmd->scratch, RowMap, out->rank + 1);
  op.source_dims = ARENA_ARRAY(spmd->scratch, uint32_t, out->rank + 1);
  op.rule->factors = ARENA_ARRAY(spmd->scratch, Factor, out->rank + 3);
  for (uint32_t d = 0; d < out->rank; d++) {
    add_factor(op.rule, out->dims[d], FACTOR_PASS_THROUGH);
    op.source_dims[d] = NO_ID;
  }
  return op;
}

static void set_window(Spmd *spmd, uint32_t local, Window window) {
  instr_set(spmd->module, spmd_instr(spmd, local), (Attr){.id = ATTR_window, .window = window});
}

Status handle_reduce_window(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  Sliding op = sliding_new(spmd, instr);
  read_reduce_window(&op);
  Plan plan;
  choose(&op, hbm_point_bytes, halo_cost, &plan);
  uint32_t n = op.n_sources, *operands = ARENA_ARRAY(spmd->scratch, uint32_t, 2 * n);
  for (uint32_t i = 0; i < n; i++) {
    Sharded init;
    TRY(plan_operand(spmd, instr, &plan, n + i, &init));
    operands[n + i] = init.instr;
    TRY(fetch(&op, &plan, i, init.instr, &operands[i]));
  }
  Window window = instr_window(instr);
  window.at = arena_copy(spmd->scratch, window.at, window.n * sizeof *window.at);
  for (uint32_t d = 0; d < window.n; d++)
    if (is_fetched(&op, &plan, d)) window.at[d].pad_low = window.at[d].pad_high = 0;
  uint32_t local = add_local(spmd, instr, results_shape(&op, &plan), operands, 2 * n);
  set_window(spmd, local, window);
  return give(&op, &plan, local, result);
}

/* --- convolution
 * -------------------------------------------------------------------------------------------------- */

/* [batch groups x batch, feature groups x input features, spatial] x [input features, groups x output
 * features, taps] -> [batch, groups x output features, spatial]. */
static void read_convolution(Sliding *op, const ConvLabels *labels) {
  Arena *scratch = op->spmd->scratch;
  FactorRule *rule = op->rule;
  const Shape *lhs = operand_value(op->spmd, op->instr, 0).at[0].global;
  const Shape *rhs = operand_value(op->spmd, op->instr, 1).at[0].global;
  int64_t feature_groups = instr_int(op->instr, ATTR_feature_group_count, 1);
  int64_t batch_groups = instr_int(op->instr, ATTR_batch_group_count, 1);
  Window window = instr_window(op->instr);
  op->n_sources = 1;
  rule->n_operands = 2;
  rule->n_results = 1;
  rule->operands = ARENA_ARRAY(scratch, TensorFactors, 2);
  rule->results = ARENA_ARRAY(scratch, TensorFactors, 1);
  rule->operands[0] = tensor_of_rank(scratch, lhs->rank);
  rule->operands[1] = tensor_of_rank(scratch, rhs->rank);
  rule->results[0] = tensor_of_rank(scratch, op->out->rank);
  uint32_t batch = (uint32_t)labels->out_batch, feature = (uint32_t)labels->out_feature;
  uint32_t group = add_factor(rule, feature_groups * batch_groups, FACTOR_PASS_THROUGH);
  uint32_t in = add_factor(rule, rhs->dims[labels->rhs_input_feature], FACTOR_REDUCTION);
  rule->factors[feature].size /= feature_groups * batch_groups;
  uint32_t grouped_batch[] = {group, batch}, grouped_in[] = {group, in}, grouped_out[] = {group, feature};
  bool by_batch = batch_groups > 1, by_feature = feature_groups > 1;
  rule->operands[0].dims[labels->lhs_batch] = ids_of(scratch, grouped_batch + !by_batch, 1 + by_batch);
  rule->operands[0].dims[labels->lhs_feature] = ids_of(scratch, grouped_in + !by_feature, 1 + by_feature);
  rule->operands[1].dims[labels->rhs_input_feature] = ids_of(scratch, &in, 1);
  rule->operands[1].dims[labels->rhs_output_feature] = rule->results[0].dims[feature] =
      ids_of(scratch, grouped_out + !(by_batch || by_feature), 1 + (by_batch || by_feature));
  rule->results[0].dims[batch] = ids_of(scratch, &batch, 1);
  for (uint32_t s = 0; s < labels->out_spatial.n; s++) {
    uint32_t to = (uint32_t)labels->out_spatial.at[s], from = (uint32_t)labels->lhs_spatial.at[s];
    op->source_dims[to] = from;
    op->maps[to] = window_map(&window.at[s], op->out->dims[to], lhs->dims[from]);
    rule->operands[0].dims[from] = rule->results[0].dims[to] = ids_of(scratch, &to, 1);
  }
}

/* What the local convolution says otherwise: no padding where the halo is there, fewer groups. */
static void localize_convolution(const Sliding *op, const Plan *plan, const ConvLabels *labels,
                                 uint32_t local) {
  Spmd *spmd = op->spmd;
  Window window = instr_window(op->instr);
  window.at = arena_copy(spmd->scratch, window.at, window.n * sizeof *window.at);
  for (uint32_t s = 0; s < window.n; s++)
    if (is_fetched(op, plan, (uint32_t)labels->out_spatial.at[s]))
      window.at[s].pad_low = window.at[s].pad_high = 0;
  set_window(spmd, local, window);
  int64_t shards = axes_size(plan->axes[op->out->rank]);
  AttrId groups[] = {ATTR_feature_group_count, ATTR_batch_group_count};
  for (uint32_t i = 0; i < 2; i++) {
    int64_t count = instr_int(op->instr, groups[i], 1);
    if (count > 1) instr_set_int(spmd->module, spmd_instr(spmd, local), groups[i], count / shards);
  }
}

/* Input features that are cut unevenly count as zero past their end. */
static uint32_t mask_features(const Sliding *op, const Plan *plan, uint32_t operand, uint32_t instr,
                              int64_t dim, uint32_t zero) {
  Spmd *spmd = op->spmd;
  const Sharding *sharding = plan_sharding(spmd, plan, &op->rule->operands[operand], false);
  Sharded value = sharded(instr, sharding, operand_value(spmd, op->instr, operand).at[0].global);
  return mask_padding(spmd, &value, (uint32_t)dim, zero);
}

Status handle_convolution(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const Attr *attr = instr_attr(instr, ATTR_dim_labels);
  bool both =
      instr_int(instr, ATTR_feature_group_count, 1) > 1 && instr_int(instr, ATTR_batch_group_count, 1) > 1;
  if (attr == NULL || both || instr_window(instr).n != attr->labels->out_spatial.n)
    return handle_replicated(spmd, instr, result);
  const ConvLabels *labels = attr->labels;
  Sliding op = sliding_new(spmd, instr);
  read_convolution(&op, labels);
  Plan plan;
  choose(&op, mxu_point_bytes, halo_cost, &plan);
  uint32_t operands[2];
  uint32_t zero = spmd_scalar(spmd, operand_value(spmd, instr, 0).at[0].global->dtype, 0);
  TRY(fetch(&op, &plan, 0, zero, &operands[0]));
  operands[0] = mask_features(&op, &plan, 0, operands[0], labels->lhs_feature, zero);
  Sharded kernel;
  TRY(plan_operand(spmd, instr, &plan, 1, &kernel));
  zero = spmd_scalar(spmd, kernel.global->dtype, 0);
  operands[1] = mask_features(&op, &plan, 1, kernel.instr, labels->rhs_input_feature, zero);
  uint32_t local = add_local(spmd, instr, results_shape(&op, &plan), operands, 2);
  localize_convolution(&op, &plan, labels, local);
  return give(&op, &plan, local, result);
}

/* --- select-and-scatter
 * ------------------------------------------------------------------------------------------- */

/* Windows that lie side by side, so that a shard of the source has its own shard of the operand. */
static bool tiles_evenly(const WindowDim *window, int64_t rows, int64_t windows) {
  bool plain =
      window->pad_low == 0 && window->pad_high == 0 && window->lhs_dilate == 1 && window->rhs_dilate == 1;
  return plain && window->size <= window->stride && rows == windows * window->stride;
}

static double scatter_cost(void *self, const PlanProblem *problem, const Plan *plan) {
  const Sliding *op = self;
  Window window = instr_window(op->instr);
  const Shape *source = problem->operands[1].global;
  for (uint32_t d = 0; d < op->out->rank; d++) {
    int64_t windows = source->dims[d], shards = axes_size(plan->axes[d]);
    if (shards == 1 || d >= window.n || op->out->dims[d] == windows) continue;
    if (!tiles_evenly(&window.at[d], op->out->dims[d], windows) || windows % shards != 0) return HUGE_VAL;
  }
  return 0;
}

/* Whether a dimension without a real window may be cut freely: its windows are single rows. */
static bool windows_are_rows(const Sliding *op, const Shape *source) {
  Window window = instr_window(op->instr);
  for (uint32_t d = 0; d < window.n; d++)
    if (op->out->dims[d] == source->dims[d] && (window.at[d].size != 1 || window.at[d].pad_low != 0))
      return false;
  return true;
}

/* Operand and source are cut together along windows that do not reach over their shards. */
Status handle_select_and_scatter(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  Sliding op = sliding_new(spmd, instr);
  const Shape *source = operand_value(spmd, instr, 1).at[0].global;
  if (!windows_are_rows(&op, source)) return handle_by_factors(spmd, instr, result);
  TensorFactors tensor = tensor_of_rank(spmd->scratch, op.out->rank);
  for (uint32_t d = 0; d < op.out->rank; d++) tensor.dims[d] = ids_of(spmd->scratch, &d, 1);
  op.rule->n_operands = 3;
  op.rule->n_results = 1;
  op.rule->operands = ARENA_ARRAY(spmd->scratch, TensorFactors, 3); /* the initial value is a scalar */
  op.rule->results = ARENA_ARRAY(spmd->scratch, TensorFactors, 1);
  op.rule->operands[0] = op.rule->operands[1] = op.rule->results[0] = tensor;
  Plan plan;
  choose(&op, hbm_point_bytes, scatter_cost, &plan);
  uint32_t operands[3];
  for (uint32_t i = 0; i < 3; i++) {
    Sharded local;
    TRY(plan_operand(spmd, instr, &plan, i, &local));
    operands[i] = local.instr;
  }
  uint32_t local = add_local(spmd, instr, results_shape(&op, &plan), operands, 3);
  return give(&op, &plan, local, result);
}

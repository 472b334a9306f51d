/* Handlers of ops with sliding windows: convolution, reduce-window. Along a dimension of windows that is cut
 * each device fetches the halo that its windows reach into (row_map.h); what lies outside of the array is
 * filled with what padding would be, and the local op has no padding there. A convolution may also be cut
 * along the taps of its kernel: each device then fetches the rows that its taps meet, and the results are
 * summed. */
#include "sim/partition/handlers.h"
#include "sim/partition/row_map.h"

#include <math.h>

/* A dimension that windows slide along. */
typedef struct {
  uint32_t factor;     /* that cuts the source: the result's dimension, or the kernel's taps */
  uint32_t source_dim; /* of the windowed operands */
  uint32_t out_dim;
  bool by_taps;
  RowMap map; /* from the source's rows to those of the factor */
} Slide;

/* Factor d is dimension d of the result; a convolution's factors of groups, input features and taps follow.
 */
typedef struct {
  Spmd *spmd;
  const Instr *instr;
  FactorRule *rule;
  const Shape *out; /* of the result (the first one) */
  Slide *slides;    /* an entry a dimension of the window */
  uint32_t n_slides;
  uint32_t n_sources; /* operands that windows slide over */
  Sharded *operands;
  Window window;
} Sliding;

static RowMap window_map(const WindowDim *window, int64_t rows, int64_t source_rows) {
  RowMap map = row_map_plain(rows, source_rows);
  map.first = -window->pad_low;
  map.step = window->stride;
  map.span = (window->size - 1) * window->rhs_dilate + 1;
  map.dilate = window->lhs_dilate;
  return map;
}

/* The same along the taps: tap t meets a row a window, from row t * rhs_dilate on. */
static RowMap taps_map(const WindowDim *window, int64_t rows, int64_t source_rows) {
  RowMap map = row_map_plain(window->size, source_rows);
  map.first = -window->pad_low;
  map.step = window->rhs_dilate;
  map.span = (rows - 1) * window->stride + 1;
  map.dilate = window->lhs_dilate;
  return map;
}

/* --- plans --- */

static bool is_fetched(const Plan *plan, const Slide *slide) {
  return plan->axes[slide->factor].n != 0 && (slide->by_taps || !row_map_is_plain(&slide->map));
}

/* The map of a source under a plan. */
static RowMap map_under(const Sliding *op, const Plan *plan, const Slide *slide, uint32_t operand) {
  RowMap map = slide->map;
  const Sharding *sharding = op->operands[operand].sharding;
  AxisList axes = plan->axes[slide->factor];
  map.whole = rows_are_whole(op->spmd->scratch, sharding, slide->source_dim, axes);
  return map;
}

static double halo_cost(void *self, const PlanProblem *problem, const Plan *plan) {
  const Sliding *op = self;
  double bytes = 0;
  for (uint32_t i = 0; i < op->n_slides; i++) {
    const Slide *slide = &op->slides[i];
    if (slide->by_taps && plan->axes[slide->out_dim].n != 0) return HUGE_VAL;
    if (!is_fetched(plan, slide)) continue;
    const Sharding *sharding = plan_sharding(op->spmd, plan, &op->rule->operands[0], false);
    const Shape *source = sharding_local_shape(op->spmd->scratch, sharding, problem->operands[0].global);
    double row = (double)shape_bytes(source) / (double)source->dims[slide->source_dim];
    int64_t shards = axes_size(plan->axes[slide->factor]);
    for (uint32_t k = 0; k < op->n_sources; k++) {
      RowMap map = map_under(op, plan, slide, k);
      bytes += row * row_map_cost(op->spmd->scratch, &map, shards);
    }
  }
  return bytes;
}

static void choose(Sliding *op, double point_cost, Plan *plan) {
  Spmd *spmd = op->spmd;
  const Shape **results = ARENA_ARRAY(spmd->scratch, const Shape *, op->rule->n_results);
  for (uint32_t i = 0; i < op->rule->n_results; i++) results[i] = shape_leaf(op->instr->shape, i);
  PlanProblem problem = {.rule = op->rule,
                         .operands = op->operands,
                         .wanted = wanted_of(spmd, op->instr).at,
                         .results = results,
                         .reduces = true,
                         .contracts = op->instr->op == OP_CONVOLUTION,
                         .point_cost_bytes = point_cost,
                         .own_cost = halo_cost,
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

static Sliding sliding_new(Spmd *spmd, const Instr *instr) {
  const Shape *out = shape_leaf(instr->shape, 0);
  Sliding op = {.spmd = spmd, .instr = instr, .out = out, .rule = ARENA_NEW(spmd->scratch, FactorRule)};
  op.window = instr_window(instr);
  op.n_slides = op.window.n;
  op.operands = ARENA_ARRAY(spmd->scratch, Sharded, instr->operands.n + 1);
  for (uint32_t i = 0; i < instr->operands.n; i++) op.operands[i] = operand_value(spmd, instr, i).at[0];
  op.slides = ARENA_ARRAY(spmd->scratch, Slide, op.n_slides + 1);
  op.rule->factors = ARENA_ARRAY(spmd->scratch, Factor, 2 * (size_t)out->rank + 3);
  for (uint32_t d = 0; d < out->rank; d++) add_factor(op.rule, out->dims[d], FACTOR_PASS_THROUGH);
  return op;
}

/* --- the local op --- */

/* Source `operand` under the plan, with the rows that this device's windows reach; what is left of padding
 * goes into `window`. */
static Status fetch(const Sliding *op, const Plan *plan, uint32_t operand, uint32_t fill, Window window,
                    uint32_t *local) {
  Spmd *spmd = op->spmd;
  Sharded source = op->operands[operand];
  const Sharding *sharding = plan_sharding(spmd, plan, &plan->rule->operands[operand], false);
  for (uint32_t i = 0; i < op->n_slides; i++)
    if (is_fetched(plan, &op->slides[i]) && map_under(op, plan, &op->slides[i], operand).whole)
      sharding = sharding_with_dim(spmd->arena, sharding, op->slides[i].source_dim, (AxisList){0});
  because_operand(spmd, op->instr, operand, sharding);
  TRY(reshard(spmd, source, sharding, &source));
  because_text(spmd,
               str_printf(spmd->scratch, "%.*s needs rows of its neighbours", STR_ARG(op->instr->name)));
  for (uint32_t i = 0; i < op->n_slides; i++) {
    const Slide *slide = &op->slides[i];
    if (!is_fetched(plan, slide)) continue;
    RowMap map = map_under(op, plan, slide, operand);
    FetchedRows rows =
        row_map_fetch(spmd, source.instr, slide->source_dim, &map, plan->axes[slide->factor], fill);
    source.instr = rows.instr;
    window.at[i].pad_low = rows.low;
    window.at[i].pad_high = rows.high;
    window.at[i].lhs_dilate = rows.dilate;
  }
  *local = source.instr;
  return STATUS_OK;
}

static Window window_copy(const Sliding *op) {
  Window window = op->window;
  window.at = arena_copy(op->spmd->scratch, window.at, window.n * sizeof *window.at);
  return window;
}

static void set_window(Spmd *spmd, uint32_t local, Window window) {
  instr_set(spmd->module, spmd_instr(spmd, local), (Attr){.id = ATTR_window, .window = window});
}

static ValueSharding result_shardings(const Sliding *op, const Plan *plan, bool unreduced) {
  Spmd *spmd = op->spmd;
  ValueSharding shardings = {ARENA_ARRAY(spmd->scratch, const Sharding *, op->rule->n_results),
                             op->rule->n_results};
  for (uint32_t i = 0; i < shardings.n; i++)
    shardings.at[i] = plan_sharding(spmd, plan, &op->rule->results[i], unreduced);
  return shardings;
}

static const Shape *results_shape(const Sliding *op, const Plan *plan) {
  ValueSharding shardings = result_shardings(op, plan, false);
  return value_local_shape(op->spmd, op->instr->shape, &shardings);
}

static Status give(const Sliding *op, const Plan *plan, uint32_t local, ShardedValue *result) {
  ValueSharding shardings = result_shardings(op, plan, true), wanted = wanted_of(op->spmd, op->instr);
  ShardedValue value = value_unpack(op->spmd, local, op->instr->shape, &shardings);
  return value_reshard(op->spmd, &value, &wanted, result);
}

/* --- reduce-window --- */

static void read_reduce_window(Sliding *op) {
  Arena *scratch = op->spmd->scratch;
  Window window = op->window;
  uint32_t rank = op->out->rank, n = op->instr->operands.n / 2;
  const Shape *source = op->operands[0].global;
  TensorFactors tensor = tensor_of_rank(scratch, rank);
  op->n_sources = n;
  op->rule->n_operands = 2 * n;
  op->rule->n_results = n;
  op->rule->operands = ARENA_ARRAY(scratch, TensorFactors, 2 * n); /* initial values are scalars */
  op->rule->results = ARENA_ARRAY(scratch, TensorFactors, n);
  for (uint32_t d = 0; d < rank; d++) tensor.dims[d] = ids_of(scratch, &d, 1);
  for (uint32_t d = 0; d < window.n; d++)
    op->slides[d] = (Slide){.factor = d,
                            .source_dim = d,
                            .out_dim = d,
                            .map = window_map(&window.at[d], op->out->dims[d], source->dims[d])};
  for (uint32_t i = 0; i < n; i++) op->rule->operands[i] = op->rule->results[i] = tensor;
}

/* The same over what was padded with the initial value, which is what windows have around the array and
 * between dilated rows anyway. */
static bool look_through_pad(Sliding *op) {
  Spmd *spmd = op->spmd;
  const Instr *pad = comp_instr(spmd->flat, spmd->frame->flat, op->instr->operands.at[0]);
  if (pad->op != OP_PAD || op->instr->operands.n != 2) return false;
  if (!same_scalar(spmd, operand_value(spmd, pad, 1).at[0].instr, op->operands[1].instr)) return false;
  Padding padding = instr_padding(pad);
  op->window = window_copy(op);
  for (uint32_t d = 0; d < op->window.n; d++) {
    WindowDim *window = &op->window.at[d];
    if (padding.at[d].low < 0 || padding.at[d].high < 0) return false;
    if (padding.at[d].interior != 0 && window->lhs_dilate != 1) return false;
    window->pad_low += padding.at[d].low * window->lhs_dilate;
    window->pad_high += padding.at[d].high * window->lhs_dilate;
    window->lhs_dilate *= padding.at[d].interior + 1;
  }
  op->operands[0] = operand_value(spmd, pad, 0).at[0];
  return true;
}

static void choose_reduce_window(Spmd *spmd, const Instr *instr, Sliding *op, Plan *plan) {
  *op = sliding_new(spmd, instr);
  read_reduce_window(op);
  choose(op, hbm_point_bytes, plan);
  Sliding through = sliding_new(spmd, instr);
  if (!look_through_pad(&through)) return;
  Plan other;
  read_reduce_window(&through);
  choose(&through, hbm_point_bytes, &other);
  if (other.cost < plan->cost + operands_spent(spmd, instr)) *plan = other, *op = through;
}

Status handle_reduce_window(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  Sliding op;
  Plan plan;
  choose_reduce_window(spmd, instr, &op, &plan);
  uint32_t n = op.n_sources, *operands = ARENA_ARRAY(spmd->scratch, uint32_t, 2 * n);
  Window window = window_copy(&op);
  for (uint32_t i = 0; i < n; i++) {
    Sharded init;
    TRY(plan_operand(spmd, instr, &plan, n + i, &init));
    operands[n + i] = init.instr;
    TRY(fetch(&op, &plan, i, init.instr, window, &operands[i]));
  }
  uint32_t local = add_local(spmd, instr, results_shape(&op, &plan), operands, 2 * n);
  set_window(spmd, local, window);
  return give(&op, &plan, local, result);
}

/* --- convolution --- */

/* Spatial dimension s: cut along the windows, or along the taps. */
static void read_spatial(Sliding *op, const ConvLabels *labels, uint32_t s, bool by_taps) {
  FactorRule *rule = op->rule;
  uint32_t to = (uint32_t)labels->out_spatial.at[s], from = (uint32_t)labels->lhs_spatial.at[s];
  int64_t source_rows = operand_value(op->spmd, op->instr, 0).at[0].global->dims[from];
  WindowDim window = instr_window(op->instr).at[s];
  Slide slide = {.factor = to, .source_dim = from, .out_dim = to, .by_taps = by_taps};
  if (by_taps) slide.factor = add_factor(rule, window.size, FACTOR_REDUCTION);
  slide.map = (by_taps ? taps_map : window_map)(&window, op->out->dims[to], source_rows);
  rule->operands[0].dims[from] = ids_of(op->spmd->scratch, &slide.factor, 1);
  if (by_taps)
    rule->operands[1].dims[labels->rhs_spatial.at[s]] = ids_of(op->spmd->scratch, &slide.factor, 1);
  rule->results[0].dims[to] = ids_of(op->spmd->scratch, &to, 1);
  op->slides[s] = slide;
}

/* [batch groups x batch, feature groups x input features, spatial] x [input features, groups x output
 * features, taps] -> [batch, groups x output features, spatial]; spatial dimensions of the mask `by_taps` are
 * cut along the taps. */
static Sliding read_convolution(Spmd *spmd, const Instr *instr, const ConvLabels *labels, uint32_t by_taps) {
  Arena *scratch = spmd->scratch;
  Sliding op = sliding_new(spmd, instr);
  FactorRule *rule = op.rule;
  const Shape *lhs = operand_value(spmd, instr, 0).at[0].global;
  const Shape *rhs = operand_value(spmd, instr, 1).at[0].global;
  int64_t feature_groups = instr_int(instr, ATTR_feature_group_count, 1);
  int64_t batch_groups = instr_int(instr, ATTR_batch_group_count, 1);
  op.n_sources = 1;
  rule->n_operands = 2;
  rule->n_results = 1;
  rule->operands = ARENA_ARRAY(scratch, TensorFactors, 2);
  rule->results = ARENA_ARRAY(scratch, TensorFactors, 1);
  rule->operands[0] = tensor_of_rank(scratch, lhs->rank);
  rule->operands[1] = tensor_of_rank(scratch, rhs->rank);
  rule->results[0] = tensor_of_rank(scratch, op.out->rank);
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
  for (uint32_t s = 0; s < labels->out_spatial.n; s++) read_spatial(&op, labels, s, (by_taps >> s & 1) != 0);
  return op;
}

/* Spatial dimensions that it may pay to cut along the taps: those that are cut now. */
static uint32_t taps_worth_a_try(const Spmd *spmd, const Instr *instr, const ConvLabels *labels) {
  const Sharding *lhs = operand_value(spmd, instr, 0).at[0].sharding;
  const Sharding *rhs = operand_value(spmd, instr, 1).at[0].sharding;
  Window window = instr_window(instr);
  uint32_t mask = 0;
  for (uint32_t s = 0; s < window.n && s < 3; s++) {
    bool cut = sharding_shards(lhs, (uint32_t)labels->lhs_spatial.at[s]) > 1 ||
               sharding_shards(rhs, (uint32_t)labels->rhs_spatial.at[s]) > 1;
    if (cut && window.at[s].size > 1 && !window.at[s].reversal) mask |= 1u << s;
  }
  return mask;
}

static void choose_convolution(Spmd *spmd, const Instr *instr, const ConvLabels *labels, Sliding *op,
                               Plan *plan) {
  uint32_t worth = taps_worth_a_try(spmd, instr, labels);
  *op = read_convolution(spmd, instr, labels, 0);
  choose(op, mxu_point_bytes, plan);
  for (uint32_t mask = 1; mask <= worth && plan->cost != 0; mask++) {
    if ((mask & ~worth) != 0) continue;
    Sliding other = read_convolution(spmd, instr, labels, mask);
    Plan its;
    choose(&other, mxu_point_bytes, &its);
    if (its.cost < plan->cost) *plan = its, *op = other;
  }
}

/* Input features or taps that are cut unevenly count as zero past their end. */
static uint32_t mask_dim(const Sliding *op, const Plan *plan, uint32_t operand, uint32_t instr, int64_t dim) {
  Spmd *spmd = op->spmd;
  const Sharding *sharding = plan_sharding(spmd, plan, &op->rule->operands[operand], false);
  Sharded value = sharded(instr, sharding, operand_value(spmd, op->instr, operand).at[0].global);
  return mask_padding(spmd, &value, (uint32_t)dim, spmd_scalar(spmd, value.global->dtype, 0));
}

static Status local_kernel(const Sliding *op, const Plan *plan, const ConvLabels *labels, Window window,
                           uint32_t *local) {
  Spmd *spmd = op->spmd;
  Sharded kernel;
  TRY(plan_operand(spmd, op->instr, plan, 1, &kernel));
  *local = mask_dim(op, plan, 1, kernel.instr, labels->rhs_input_feature);
  for (uint32_t s = 0; s < op->n_slides; s++) {
    int64_t dim = labels->rhs_spatial.at[s];
    if (op->slides[s].by_taps) *local = mask_dim(op, plan, 1, *local, dim);
    window.at[s].size = spmd_shape(spmd, *local)->dims[dim];
  }
  return STATUS_OK;
}

static void set_groups(const Sliding *op, const Plan *plan, uint32_t local) {
  Spmd *spmd = op->spmd;
  int64_t shards = axes_size(plan->axes[op->out->rank]);
  AttrId groups[] = {ATTR_feature_group_count, ATTR_batch_group_count};
  for (uint32_t i = 0; i < 2; i++) {
    int64_t count = instr_int(op->instr, groups[i], 1);
    if (count > 1) instr_set_int(spmd->module, spmd_instr(spmd, local), groups[i], count / shards);
  }
}

Status handle_convolution(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const Attr *attr = instr_attr(instr, ATTR_dim_labels);
  bool both =
      instr_int(instr, ATTR_feature_group_count, 1) > 1 && instr_int(instr, ATTR_batch_group_count, 1) > 1;
  if (attr == NULL || both || instr_window(instr).n != attr->labels->out_spatial.n)
    return handle_replicated(spmd, instr, result);
  const ConvLabels *labels = attr->labels;
  Sliding op;
  Plan plan;
  choose_convolution(spmd, instr, labels, &op, &plan);
  uint32_t operands[2];
  Window window = window_copy(&op);
  uint32_t zero = spmd_scalar(spmd, operand_value(spmd, instr, 0).at[0].global->dtype, 0);
  TRY(fetch(&op, &plan, 0, zero, window, &operands[0]));
  operands[0] = mask_dim(&op, &plan, 0, operands[0], labels->lhs_feature);
  TRY(local_kernel(&op, &plan, labels, window, &operands[1]));
  uint32_t local = add_local(spmd, instr, results_shape(&op, &plan), operands, 2);
  set_window(spmd, local, window);
  set_groups(&op, &plan, local);
  return give(&op, &plan, local, result);
}

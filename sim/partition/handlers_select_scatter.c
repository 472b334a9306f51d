/* Handler of select-and-scatter. A device computes all windows that reach into its part of the result: it
 * fetches the rows of the operand that these see, and their sources. Rows that do not exist are never
 * selected, sources that do not exist add nothing. */
#include "sim/partition/handlers.h"
#include "sim/partition/row_map.h"
#include "sim/partition/rows.h"

#include <math.h>

typedef struct {
  Spmd *spmd;
  const Instr *instr;
  const Shape *whole, *source; /* global, of the operand (and the result) and of the source */
  Window window;
  FactorRule *rule;
  bool may_fill;     /* whether there are values that are never selected, and that add nothing */
  double unselected; /* the former */
} Selecting;

/* The windows that each device computes along a dimension, cut in `shards`. */
typedef struct {
  RowNeeds operand, source;
  int64_t *start; /* of the device's part in its rows of the operand, by position */
} Reach;

static Interval within(int64_t start, int64_t stop, int64_t rows) {
  Interval cut = {most(start, 0), least(stop, rows)};
  if (cut.stop < cut.start) cut.stop = cut.start;
  return cut;
}

static Reach reach_of(Arena *scratch, const Selecting *op, uint32_t dim, int64_t shards) {
  const WindowDim *window = &op->window.at[dim];
  int64_t rows = op->whole->dims[dim], windows = op->source->dims[dim], tile = (rows + shards - 1) / shards;
  int64_t pad = window->pad_low, stride = window->stride, count = 0, rows_held = 0;
  Reach reach = {row_needs_new(scratch, shards, rows, false), row_needs_new(scratch, shards, windows, false),
                 ARENA_ARRAY(scratch, int64_t, shards)};
  for (int64_t p = 0; p < shards; p++) {
    int64_t first =
        least(floor_div(p * tile + pad - window->size, stride) + 1, floor_div(p * tile + pad, stride));
    int64_t last = floor_div((p + 1) * tile - 1 + pad, stride); /* that begins before the part ends */
    reach.source.at[p].begin = first;
    reach.operand.at[p].begin = first * stride - pad;
    reach.start[p] = p * tile - reach.operand.at[p].begin;
    count = most(count, last - first + 1);
    rows_held = most(rows_held, reach.start[p] + tile);
  }
  reach.source.size = count;
  reach.operand.size = most(stride * (count - 1) + window->size, rows_held);
  for (int64_t p = 0; p < shards; p++) {
    int64_t stop = least((p + 1) * tile, rows), first = reach.source.at[p].begin;
    if (p * tile >= stop) continue;
    reach.source.at[p].want = within(first, floor_div(stop - 1 + pad, stride) + 1, windows);
    Interval seen = reach.source.at[p].want;
    reach.operand.at[p].want = within(least(seen.start * stride - pad, p * tile),
                                      most((seen.stop - 1) * stride - pad + window->size, stop), rows);
  }
  return reach;
}

static bool is_windowed(const Selecting *op, uint32_t dim) {
  const WindowDim *window = &op->window.at[dim];
  return window->size != 1 || window->stride != 1 || window->pad_low != 0 || window->pad_high != 0;
}

/* Whether all devices' windows lie in the arrays. */
static bool needs_exist(const RowNeeds *needs, int64_t rows) {
  for (int64_t p = 0; p < needs->n; p++)
    if (needs->at[p].begin < 0 || needs->at[p].begin + needs->size > rows) return false;
  return true;
}

/* --- what lies outside --- */

/* Whether the selection looks for the greatest or the least float: infinity is then passed over. */
static bool find_unselected(const Selecting *op, double *value) {
  const Comp *comp = module_comp(op->spmd->flat, instr_comp(op->instr, ATTR_select));
  const Instr *root = &comp->instrs.at[comp->root];
  if (root->op != OP_COMPARE || dtype_class(op->whole->dtype) != DCLASS_FLOAT || comp->params.n != 2)
    return false;
  if (root->operands.at[0] != comp->params.at[0] || root->operands.at[1] != comp->params.at[1]) return false;
  Str direction = instr_word(root, ATTR_direction);
  bool greatest = str_is(direction, "GE") || str_is(direction, "GT");
  *value = greatest ? -HUGE_VAL : HUGE_VAL;
  return greatest || str_is(direction, "LE") || str_is(direction, "LT");
}

static Selecting selecting_new(Spmd *spmd, const Instr *instr) {
  Selecting op = {.spmd = spmd, .instr = instr, .whole = instr->shape, .window = instr_window(instr)};
  op.source = operand_value(spmd, instr, 1).at[0].global;
  Opcode combines = comp_binary_op(spmd->flat, instr_comp(instr, ATTR_scatter));
  op.may_fill = find_unselected(&op, &op.unselected) && combines == OP_ADD;
  uint32_t rank = op.whole->rank;
  FactorRule *rule = ARENA_NEW(spmd->scratch, FactorRule);
  TensorFactors tensor = {ARENA_ARRAY(spmd->scratch, Ids, rank + 1), rank};
  rule->factors = ARENA_ARRAY(spmd->scratch, Factor, rank + 1);
  rule->n_factors = rank;
  for (uint32_t d = 0; d < rank; d++) {
    rule->factors[d].size = op.whole->dims[d];
    tensor.dims[d] = (Ids){arena_copy(spmd->scratch, &d, sizeof d), 1};
  }
  rule->operands = ARENA_ARRAY(spmd->scratch, TensorFactors, 3); /* the initial value is a scalar */
  rule->results = ARENA_ARRAY(spmd->scratch, TensorFactors, 1);
  rule->operands[0] = rule->operands[1] = rule->results[0] = tensor;
  rule->n_operands = 3;
  rule->n_results = 1;
  op.rule = rule;
  return op;
}

/* --- the plan --- */

static double row_bytes(const Plan *plan, const Shape *shape, uint32_t dim) {
  double bytes = dtype_bits(shape->dtype) / 8.0;
  for (uint32_t d = 0; d < shape->rank; d++)
    if (d != dim) bytes *= ceil((double)shape->dims[d] / (double)axes_size(plan->axes[d]));
  return bytes;
}

static double scatter_cost(void *self, const PlanProblem *problem, const Plan *plan) {
  const Selecting *op = self;
  double bytes = 0;
  (void)problem;
  for (uint32_t d = 0; d < op->whole->rank; d++) {
    if (plan->axes[d].n == 0 || !is_windowed(op, d)) continue;
    Arena *scratch = op->spmd->scratch;
    Reach reach = reach_of(scratch, op, d, axes_size(plan->axes[d]));
    bool inside =
        needs_exist(&reach.operand, op->whole->dims[d]) && needs_exist(&reach.source, op->source->dims[d]);
    if (!inside && !op->may_fill) return HUGE_VAL;
    bytes += row_bytes(plan, op->whole, d) * row_needs_cost(scratch, &reach.operand, op->whole->dims[d]) +
             row_bytes(plan, op->source, d) * row_needs_cost(scratch, &reach.source, op->source->dims[d]);
  }
  return bytes;
}

static Plan choose(Selecting *op) {
  Spmd *spmd = op->spmd;
  Sharded *operands = ARENA_ARRAY(spmd->scratch, Sharded, 3);
  for (uint32_t i = 0; i < 3; i++) operands[i] = operand_value(spmd, op->instr, i).at[0];
  PlanProblem problem = {.rule = op->rule,
                         .operands = operands,
                         .wanted = wanted_of(spmd, op->instr).at,
                         .results = &op->whole,
                         .point_cost_bytes = hbm_point_bytes,
                         .own_cost = scatter_cost,
                         .self = op};
  return plan_choose(spmd, &problem);
}

/* --- the local op --- */

static uint32_t fetch(const Selecting *op, uint32_t instr, uint32_t dim, const RowNeeds *needs, AxisList axes,
                      int64_t rows, double fill) {
  Spmd *spmd = op->spmd;
  instr = row_needs_fetch(spmd, instr, dim, needs, axes);
  uint32_t scalar = spmd_scalar(spmd, op->whole->dtype, fill);
  return row_needs_fill(spmd, instr, dim, needs, axes, (Interval){0, rows}, scalar);
}

/* The device's own rows of a dimension that was cut. */
static uint32_t own_rows(const Selecting *op, uint32_t instr, uint32_t dim, AxisList axes) {
  Spmd *spmd = op->spmd;
  int64_t shards = axes_size(axes), *start = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  Reach reach = reach_of(spmd->scratch, op, dim, shards);
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++)
    start[d] = reach.start[mesh_index(spmd->mesh, axes, d)];
  return spmd_device_rows(spmd, instr, dim, start, (op->whole->dims[dim] + shards - 1) / shards);
}

Status handle_select_and_scatter(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  if (instr_window(instr).n != instr->shape->rank) return handle_by_factors(spmd, instr, result);
  Selecting op = selecting_new(spmd, instr);
  Plan plan = choose(&op);
  Sharded operand, source, init;
  TRY(plan_operand(spmd, instr, &plan, 0, &operand));
  TRY(plan_operand(spmd, instr, &plan, 1, &source));
  TRY(plan_operand(spmd, instr, &plan, 2, &init));
  because_text(spmd, str_printf(spmd->scratch, "%.*s needs rows of its neighbours", STR_ARG(instr->name)));
  Window window = op.window;
  window.at = arena_copy(spmd->scratch, window.at, window.n * sizeof *window.at);
  for (uint32_t d = 0; d < op.whole->rank; d++) {
    if (plan.axes[d].n == 0 || !is_windowed(&op, d)) continue;
    Reach reach = reach_of(spmd->scratch, &op, d, axes_size(plan.axes[d]));
    operand.instr =
        fetch(&op, operand.instr, d, &reach.operand, plan.axes[d], op.whole->dims[d], op.unselected);
    source.instr = fetch(&op, source.instr, d, &reach.source, plan.axes[d], op.source->dims[d], 0);
    window.at[d].pad_low = window.at[d].pad_high = 0;
  }
  uint32_t operands[] = {operand.instr, source.instr, init.instr};
  uint32_t local = add_local(spmd, instr, spmd_shape(spmd, operand.instr), operands, 3);
  instr_set(spmd->module, spmd_instr(spmd, local), (Attr){.id = ATTR_window, .window = window});
  for (uint32_t d = 0; d < op.whole->rank; d++)
    if (plan.axes[d].n != 0 && is_windowed(&op, d)) local = own_rows(&op, local, d, plan.axes[d]);
  ShardedValue value = value_new(spmd, 1);
  value.at[0] = sharded(local, plan_sharding(spmd, &plan, &op.rule->results[0], false), op.whole);
  ValueSharding wanted = wanted_of(spmd, instr);
  return value_reshard(spmd, &value, &wanted, result);
}

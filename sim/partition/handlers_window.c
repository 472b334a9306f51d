/* Handlers of ops that move rows along a dimension: slice, pad, reverse, concatenate. Where such a dimension
 * is cut, each device fetches the rows of the operand that its part of the result is made of (a halo exchange
 * in general form); XLA's roll, wrap and multi-slice patterns fall out of it. */
#include "sim/partition/handlers.h"
#include "sim/partition/row_map.h"

#include <math.h>

typedef struct {
  Sharded value;
  RowMap *dims; /* an entry a dimension */
} WindowSource;

typedef struct {
  Spmd *spmd;
  const Instr *instr;
  Opcode kind;        /* what is computed: of a slice that looks through a pad, a pad */
  const Shape *shape; /* of the result, global */
  WindowSource *sources;
  uint32_t n_sources;
  Padding padding; /* of a pad */
  uint32_t fill;   /* of a pad: its scalar */
} WindowOp;

/* --- the plan --- */

/* The map of a dimension of a source under a plan. */
static RowMap map_under(const WindowOp *op, const Plan *plan, uint32_t source, uint32_t dim) {
  const WindowSource *from = &op->sources[source];
  RowMap map = from->dims[dim];
  map.whole = rows_are_whole(op->spmd->scratch, from->value.sharding, dim, plan->axes[dim]);
  return map;
}

/* Bytes that the exchanges of a plan send. */
static double window_cost(void *self, const PlanProblem *problem, const Plan *plan) {
  const WindowOp *op = self;
  double bytes = 0;
  for (uint32_t i = 0; i < op->n_sources; i++)
    for (uint32_t d = 0; d < op->shape->rank; d++) {
      RowMap map = map_under(op, plan, i, d);
      if (plan->axes[d].n == 0 || row_map_is_plain(&map)) continue;
      double row = dtype_bits(op->shape->dtype) / 8.0;
      for (uint32_t e = 0; e < op->shape->rank; e++)
        if (e != d) row *= ceil((double)op->shape->dims[e] / (double)axes_size(plan->axes[e]));
      bytes += row * row_map_cost(op->spmd->scratch, &map, axes_size(plan->axes[d]));
    }
  (void)problem;
  return bytes;
}

static TensorFactors plain_tensor(Arena *arena, uint32_t rank) {
  TensorFactors tensor = {ARENA_ARRAY(arena, Ids, rank + 1), rank};
  for (uint32_t d = 0; d < rank; d++) {
    tensor.dims[d] = (Ids){ARENA_ARRAY(arena, uint32_t, 1), 1};
    tensor.dims[d].at[0] = d;
  }
  return tensor;
}

/* A factor a dimension; sources and result are cut alike. */
static const FactorRule *window_rule(Arena *arena, const WindowOp *op) {
  FactorRule *rule = ARENA_NEW(arena, FactorRule);
  rule->n_factors = op->shape->rank;
  rule->factors = ARENA_ARRAY(arena, Factor, op->shape->rank + 1);
  for (uint32_t d = 0; d < op->shape->rank; d++) rule->factors[d].size = op->shape->dims[d];
  rule->n_operands = op->n_sources;
  rule->operands = ARENA_ARRAY(arena, TensorFactors, op->n_sources + 1);
  for (uint32_t i = 0; i < op->n_sources; i++) rule->operands[i] = plain_tensor(arena, op->shape->rank);
  rule->n_results = 1;
  rule->results = ARENA_ARRAY(arena, TensorFactors, 1);
  rule->results[0] = plain_tensor(arena, op->shape->rank);
  return rule;
}

static Plan window_plan(WindowOp *op) {
  Spmd *spmd = op->spmd;
  Sharded *operands = ARENA_ARRAY(spmd->scratch, Sharded, op->n_sources + 1);
  for (uint32_t i = 0; i < op->n_sources; i++) operands[i] = op->sources[i].value;
  PlanProblem problem = {.rule = window_rule(spmd->scratch, op),
                         .operands = operands,
                         .wanted = wanted_of(spmd, op->instr).at,
                         .results = &op->shape,
                         .point_cost_bytes = hbm_point_bytes,
                         .own_cost = window_cost,
                         .self = op};
  return plan_choose(spmd, &problem);
}

/* --- the ops --- */

/* The source as the plan cuts it, with the rows in place along every dimension that is cut; `fill` may be
 * NO_ID. What is left to be padded is added to `padding`. */
static Status fetch_source(const WindowOp *op, const Plan *plan, uint32_t source, uint32_t fill,
                           PaddingDim *padding, uint32_t *local) {
  Spmd *spmd = op->spmd;
  const WindowSource *from = &op->sources[source];
  const Sharding *sharding = plan_sharding(spmd, plan, &plan->rule->operands[source], false);
  Sharded value;
  for (uint32_t d = 0; d < op->shape->rank; d++)
    if (map_under(op, plan, source, d).whole && !row_map_is_plain(&from->dims[d]))
      sharding = sharding_with_dim(spmd->arena, sharding, d, (AxisList){0});
  because_result(spmd, op->instr, from->value.sharding, sharding);
  TRY(reshard(spmd, from->value, sharding, &value));
  because_text(spmd,
               str_printf(spmd->scratch, "%.*s needs rows of its neighbours", STR_ARG(op->instr->name)));
  for (uint32_t d = 0; d < op->shape->rank; d++) {
    RowMap map = map_under(op, plan, source, d);
    if (plan->axes[d].n == 0 || row_map_is_plain(&map)) continue;
    FetchedRows rows = row_map_fetch(spmd, value.instr, d, &map, plan->axes[d], fill);
    value.instr = rows.instr;
    if (padding != NULL) padding[d] = (PaddingDim){rows.low, rows.high, rows.dilate - 1};
  }
  *local = value.instr;
  return STATUS_OK;
}

static const Shape *result_shape(const WindowOp *op, const Plan *plan) {
  Spmd *spmd = op->spmd;
  return sharding_local_shape(spmd->arena, plan_sharding(spmd, plan, &plan->rule->results[0], false),
                              op->shape);
}

static bool exchanged(const WindowOp *op, const Plan *plan, uint32_t dim) {
  return plan->axes[dim].n != 0 && !row_map_is_plain(&op->sources[0].dims[dim]);
}

static Status build_slice(const WindowOp *op, const Plan *plan, uint32_t *local) {
  Spmd *spmd = op->spmd;
  TRY(fetch_source(op, plan, 0, NO_ID, NULL, local));
  Slices slices = instr_slices(op->instr);
  SliceDim *dims = arena_copy(spmd->scratch, slices.at, slices.n * sizeof *dims);
  for (uint32_t d = 0; d < slices.n; d++)
    if (plan->axes[d].n != 0)
      dims[d] = (SliceDim){0, spmd_shape(spmd, *local)->dims[d], exchanged(op, plan, d) ? dims[d].stride : 1};
  *local = add_local(spmd, op->instr, result_shape(op, plan), local, 1);
  instr_set(spmd->module, spmd_instr(spmd, *local), (Attr){.id = ATTR_slice, .slices = {dims, slices.n}});
  return STATUS_OK;
}

static Status build_reverse(const WindowOp *op, const Plan *plan, uint32_t *local) {
  TRY(fetch_source(op, plan, 0, NO_ID, NULL, local));
  *local = add_local(op->spmd, op->instr, result_shape(op, plan), local, 1);
  return STATUS_OK;
}

static Status build_pad(const WindowOp *op, const Plan *plan, uint32_t *local) {
  Spmd *spmd = op->spmd;
  Padding padding = op->padding;
  PaddingDim *dims = arena_copy(spmd->scratch, padding.at, padding.n * sizeof *dims);
  for (uint32_t d = 0; d < op->shape->rank; d++)
    if (plan->axes[d].n != 0) dims[d] = (PaddingDim){0, 0, 0};
  TRY(fetch_source(op, plan, 0, op->fill, dims, local));
  *local = spmd_add(spmd, OP_PAD, result_shape(op, plan), (uint32_t[]){*local, op->fill}, 2);
  instr_set(spmd->module, spmd_instr(spmd, *local), (Attr){.id = ATTR_padding, .padding = {dims, padding.n}});
  return STATUS_OK;
}

static Status build_concatenate(const WindowOp *op, const Plan *plan, uint32_t *local) {
  Spmd *spmd = op->spmd;
  uint32_t dim = (uint32_t)instr_ints(op->instr, ATTR_dimensions).at[0];
  uint32_t *parts = ARENA_ARRAY(spmd->scratch, uint32_t, op->n_sources);
  for (uint32_t i = 0; i < op->n_sources; i++) TRY(fetch_source(op, plan, i, NO_ID, NULL, &parts[i]));
  if (plan->axes[dim].n == 0) {
    for (uint32_t i = 0; i < op->n_sources; i++) {
      const RowMap *map = &op->sources[i].dims[dim];
      parts[i] = spmd_rows(spmd, parts[i], dim, map->low, map->high - map->low);
    }
    *local = add_local(spmd, op->instr, result_shape(op, plan), parts, op->n_sources);
    return STATUS_OK;
  }
  int64_t *start = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  int64_t *stop = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  *local = parts[0];
  for (uint32_t i = 1; i < op->n_sources; i++) {
    RowMap map = map_under(op, plan, i, dim);
    row_map_given(spmd, &map, plan->axes[dim], start, stop);
    *local = spmd_merge_rows(spmd, dim, start, stop, parts[i], *local);
  }
  return STATUS_OK;
}

/* --- reading the ops --- */

static WindowSource source_new(Spmd *spmd, Sharded value, const Shape *result) {
  WindowSource source = {value, ARENA_ARRAY(spmd->scratch, RowMap, result->rank + 1)};
  for (uint32_t d = 0; d < result->rank; d++) {
    int64_t rows = value.global->dims[d];
    source.dims[d] = row_map_plain(result->dims[d], rows);
  }
  return source;
}

static bool read_slice(Spmd *spmd, const Instr *instr, WindowSource *source) {
  Slices slices = instr_slices(instr);
  *source = source_new(spmd, operand_value(spmd, instr, 0).at[0], instr->shape);
  for (uint32_t d = 0; d < slices.n; d++) {
    source->dims[d].first = slices.at[d].start;
    source->dims[d].step = slices.at[d].stride;
  }
  return true;
}

static bool read_reverse(Spmd *spmd, const Instr *instr, WindowSource *source) {
  Ints dims = instr_ints(instr, ATTR_dimensions);
  *source = source_new(spmd, operand_value(spmd, instr, 0).at[0], instr->shape);
  for (uint32_t i = 0; i < dims.n; i++) {
    source->dims[dims.at[i]].first = instr->shape->dims[dims.at[i]] - 1;
    source->dims[dims.at[i]].step = -1;
  }
  return true;
}

static bool read_padding(WindowOp *op, Sharded value, uint32_t fill, Padding padding) {
  op->kind = OP_PAD;
  op->padding = padding;
  op->fill = fill;
  op->sources[0] = source_new(op->spmd, value, op->shape);
  for (uint32_t d = 0; d < padding.n; d++) {
    op->sources[0].dims[d].first = -padding.at[d].low;
    op->sources[0].dims[d].dilate = padding.at[d].interior + 1;
  }
  return true;
}

static bool read_pad(WindowOp *op) {
  Sharded value = operand_value(op->spmd, op->instr, 0).at[0];
  uint32_t fill = operand_value(op->spmd, op->instr, 1).at[0].instr;
  return read_padding(op, value, fill, instr_padding(op->instr));
}

/* A slice of a pad is a pad that adds less, or cuts off. */
static bool read_cropped_pad(WindowOp *op) {
  Spmd *spmd = op->spmd;
  const Instr *pad = comp_instr(spmd->flat, spmd->frame->flat, op->instr->operands.at[0]);
  if (pad->op != OP_PAD) return false;
  Slices slices = instr_slices(op->instr);
  Padding padding = instr_padding(pad);
  padding.at = arena_copy(spmd->scratch, padding.at, padding.n * sizeof *padding.at);
  for (uint32_t d = 0; d < slices.n; d++) {
    if (slices.at[d].stride != 1) return false;
    padding.at[d].low -= slices.at[d].start;
    padding.at[d].high -= pad->shape->dims[d] - slices.at[d].limit;
  }
  return read_padding(op, operand_value(spmd, pad, 0).at[0], operand_value(spmd, pad, 1).at[0].instr,
                      padding);
}

/* A slice of whole rows may be looked through: its source's rows are as good. */
static bool look_through(Spmd *spmd, const Instr *operand, uint32_t dim, WindowSource *source) {
  if (operand->op != OP_SLICE) return false;
  const Shape *result = operand->shape;
  RowMap map = source->dims[dim];
  WindowSource under;
  read_slice(spmd, operand, &under);
  for (uint32_t d = 0; d < result->rank; d++)
    if (d == dim ? under.dims[d].step != 1 : !row_map_is_plain(&under.dims[d])) return false;
  int64_t start = under.dims[dim].first;
  under.dims[dim].first = map.first + start;
  under.dims[dim].low = start;
  under.dims[dim].high = start + result->dims[dim];
  under.dims[dim].rows = map.rows;
  for (uint32_t d = 0; d < result->rank; d++)
    if (d != dim) under.dims[d] = source->dims[d];
  *source = under;
  return true;
}

static bool read_concatenate(Spmd *spmd, const Instr *instr, bool through, WindowSource *sources) {
  uint32_t dim = (uint32_t)instr_ints(instr, ATTR_dimensions).at[0];
  bool looked = false;
  for (uint32_t i = 0, at = 0; i < instr->operands.n; i++) {
    const Instr *operand = comp_instr(spmd->flat, spmd->frame->flat, instr->operands.at[i]);
    sources[i] = source_new(spmd, operand_value(spmd, instr, i).at[0], instr->shape);
    sources[i].dims[dim].first = -(int64_t)at;
    if (through) looked = look_through(spmd, operand, dim, &sources[i]) || looked;
    at += (uint32_t)operand->shape->dims[dim];
  }
  return !through || looked;
}

static Status build(const WindowOp *op, const Plan *plan, uint32_t *local) {
  switch (op->kind) {
  case OP_SLICE: return build_slice(op, plan, local);
  case OP_REVERSE: return build_reverse(op, plan, local);
  case OP_PAD: return build_pad(op, plan, local);
  default: return build_concatenate(op, plan, local);
  }
}

static bool read_window(Spmd *spmd, const Instr *instr, bool through, WindowOp *op) {
  *op = (WindowOp){.spmd = spmd, .instr = instr, .kind = instr->op, .shape = instr->shape, .n_sources = 1};
  if (instr->op == OP_CONCATENATE) op->n_sources = instr->operands.n;
  op->sources = ARENA_ARRAY(spmd->scratch, WindowSource, op->n_sources);
  switch (instr->op) {
  case OP_SLICE: return through ? read_cropped_pad(op) : read_slice(spmd, instr, op->sources);
  case OP_REVERSE: return !through && read_reverse(spmd, instr, op->sources);
  case OP_PAD: return !through && read_pad(op);
  default: return read_concatenate(spmd, instr, through, op->sources);
  }
}

Status handle_window(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  WindowOp op, through;
  read_window(spmd, instr, false, &op);
  Plan plan = window_plan(&op);
  if (read_window(spmd, instr, true, &through)) {
    Plan other = window_plan(&through);
    if (other.cost < plan.cost + operands_spent(spmd, instr)) plan = other, op = through;
  }
  uint32_t local = 0;
  TRY(build(&op, &plan, &local));
  ShardedValue value = value_new(spmd, 1);
  value.at[0] = sharded(local, plan_sharding(spmd, &plan, &plan.rule->results[0], false), instr->shape);
  ValueSharding wanted = wanted_of(spmd, instr);
  spmd->frame->spent[instr - module_comp(spmd->flat, spmd->frame->flat)->instrs.at] = plan.cost;
  return value_reshard(spmd, &value, &wanted, result);
}

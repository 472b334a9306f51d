/* Handlers of gather and scatter. Along an indexed dimension that is cut every device takes the indices
 * relative to its own part. A gather counts what it does not have as zero, and the devices' results are
 * summed; a scatter leaves out what does not fall into its part. Updates that are cut are scattered into
 * parts of the result, which are then combined. (GSPMD's index-parallel and operand-passthrough ways, in
 * one.) */
#include "sim/partition/handlers.h"
#include "sim/partition/iota_column.h"

typedef struct {
  Spmd *spmd;
  const Instr *instr;
  const Plan *plan;
  uint32_t operand, indices; /* of the new computation, local */
  const Shape *whole;        /* of the operand, global */
  Ints index_map;            /* operand dimension of each index column */
  int64_t *windows;          /* rows that an index picks of each operand dimension */
  int64_t vector_dim;        /* of the indices; their rank where an index is a scalar */
  uint32_t ok;               /* gather: where the row is this device's own; NO_ID: everywhere */
} Indexed;

static AxisList dim_axes(const Indexed *at, uint32_t dim) {
  Ids factors = at->plan->rule->operands[0].dims[dim];
  return factors.n == 1 ? at->plan->axes[factors.at[0]] : (AxisList){0};
}

static FactorKind dim_kind(const Indexed *at, uint32_t dim) {
  return at->plan->rule->factors[at->plan->rule->operands[0].dims[dim].at[0]].kind;
}

/* Whether an index says where the window begins along the dimension. */
static bool is_indexed(const Indexed *at, uint32_t dim) {
  for (uint32_t i = 0; i < at->index_map.n; i++)
    if (at->index_map.at[i] == dim) return true;
  return false;
}

static const Shape *indices_shape(const Indexed *at) {
  return spmd_shape(at->spmd, at->indices);
}

/* --- columns of the indices --- */

static uint32_t columns(const Indexed *at, int64_t first, int64_t n) {
  if (at->vector_dim >= indices_shape(at)->rank) return at->indices;
  return spmd_rows(at->spmd, at->indices, (uint32_t)at->vector_dim, first, n);
}

static void set_column(Indexed *at, uint32_t column, uint32_t value) {
  uint32_t parts[3], n = 0;
  if (at->vector_dim >= indices_shape(at)->rank) {
    at->indices = value;
    return;
  }
  int64_t width = indices_shape(at)->dims[at->vector_dim];
  if (column > 0) parts[n++] = columns(at, 0, column);
  parts[n++] = value;
  if (column + 1 < width) parts[n++] = columns(at, column + 1, width - column - 1);
  at->indices = spmd_concat(at->spmd, (uint32_t)at->vector_dim, parts, n);
}

static uint32_t splat_like(Spmd *spmd, uint32_t scalar, uint32_t like) {
  return spmd_splat(spmd, scalar, spmd_shape(spmd, like));
}

static uint32_t number_like(Spmd *spmd, int64_t value, uint32_t like) {
  return splat_like(spmd, spmd_scalar(spmd, DTYPE_S32, (double)value), like);
}

/* Indices as s32, so that differences may be negative. */
static void widen_indices(Indexed *at) {
  const Shape *shape = indices_shape(at);
  if (shape->dtype == DTYPE_S32) return;
  const Shape *wide = shape_with_dtype(at->spmd->arena, shape, DTYPE_S32);
  at->indices = spmd_add(at->spmd, OP_CONVERT, wide, &at->indices, 1);
}

/* Makes an index column relative to the device's part; of a gather, notes where it points into the part
 * unless it always does. */
static void localize_column(Indexed *at, uint32_t column, uint32_t dim, bool gather) {
  Spmd *spmd = at->spmd;
  AxisList axes = dim_axes(at, dim);
  int64_t rows = at->whole->dims[dim], shards = axes_size(axes), tile = (rows + shards - 1) / shards;
  uint32_t value = columns(at, column, 1);
  if (gather) {
    uint32_t operands[] = {number_like(spmd, 0, value), value, number_like(spmd, rows - 1, value)};
    value = spmd_add(spmd, OP_CLAMP, spmd_shape(spmd, value), operands, 3);
  }
  value = spmd_binary(spmd, OP_SUBTRACT, value, splat_like(spmd, part_offset(spmd, axes, tile), value));
  set_column(at, column, value);
  if (!gather || dim_kind(at, dim) != FACTOR_REDUCTION) return;
  uint32_t low = spmd_compare(spmd, value, "GE", number_like(spmd, 0, value));
  uint32_t high = spmd_compare(spmd, value, "LT", number_like(spmd, tile, value));
  uint32_t ok = spmd_binary(spmd, OP_AND, low, high);
  at->ok = at->ok == NO_ID ? ok : spmd_binary(spmd, OP_AND, at->ok, ok);
}

/* A window that is all of a dimension can only begin at its first row, on every device. */
static void localize_indices(Indexed *at, bool gather) {
  for (uint32_t i = 0; i < at->index_map.n; i++) {
    uint32_t dim = (uint32_t)at->index_map.at[i];
    if (dim_axes(at, dim).n == 0 || at->windows[dim] == at->whole->dims[dim]) continue;
    widen_indices(at);
    localize_column(at, i, dim, gather);
  }
}

/* Rows that an update of a scatter has of each dimension of the operand. */
static int64_t *update_windows(Spmd *spmd, const Instr *instr, const Shape *updates) {
  Ints window = instr_ints(instr, ATTR_update_window_dims),
       gone = instr_ints(instr, ATTR_inserted_window_dims);
  Ints batch = instr_ints(instr, ATTR_input_batching_dims);
  int64_t *sizes = ARENA_ARRAY(spmd->scratch, int64_t, instr->shape->rank + 1);
  for (uint32_t d = 0, w = 0; d < instr->shape->rank; d++) {
    bool one = ints_have(gone, d) || ints_have(batch, d) || w >= window.n;
    sizes[d] = one ? 1 : updates->dims[window.at[w++]];
  }
  return sizes;
}

/* The rule, but that a part of a dimension that is picked without an index, its first rows, is not to be cut.
 */
static FactorRule *rule_with_whole_parts(const Indexed *at, const FactorRule *rule, AttrId batching) {
  Spmd *spmd = at->spmd;
  FactorRule *copy = arena_copy(spmd->scratch, rule, sizeof *rule);
  copy->factors = arena_copy(spmd->scratch, rule->factors, rule->n_factors * sizeof *rule->factors);
  Ints batch = instr_ints(at->instr, batching);
  for (uint32_t d = 0; d < at->whole->rank; d++) {
    Ids factors = rule->operands[0].dims[d];
    if (is_indexed(at, d) || ints_have(batch, d) || at->windows[d] == at->whole->dims[d]) continue;
    for (uint32_t i = 0; i < factors.n; i++) copy->factors[factors.at[i]].kind = FACTOR_NEED_REPLICATION;
  }
  return copy;
}

/* The rule, but that rows of the operand that the indices count through are cut as the indices are. */
static void join_coordinates(const Indexed *at, FactorRule *rule, bool gather) {
  Spmd *spmd = at->spmd;
  const Comp *comp = module_comp(spmd->flat, spmd->frame->flat);
  uint32_t indices = at->instr->operands.at[1];
  for (uint32_t i = 0; i < at->index_map.n; i++) {
    uint32_t dim = (uint32_t)at->index_map.at[i];
    int64_t beside = column_coordinate(comp, indices, at->vector_dim, i);
    if (beside == NO_COORDINATE || beside == at->vector_dim || at->windows[dim] != 1) continue;
    if (comp->instrs.at[indices].shape->dims[beside] != at->whole->dims[dim]) continue;
    Ids factors = rule->operands[1].dims[beside];
    if (factors.n != 1 || tensor_has(&rule->operands[0], factors.at[0])) continue;
    rule->factors[factors.at[0]].kind = FACTOR_PASS_THROUGH;
    rule->operands[0].dims[dim] = factors;
    if (!gather) rule->results[0].dims[dim] = factors;
  }
}

/* --- gather --- */

/* Rows that this device does not have become zero. */
static uint32_t mask_rows(const Indexed *at, uint32_t local) {
  Spmd *spmd = at->spmd;
  const Shape *shape = spmd_shape(spmd, local), *mask = spmd_shape(spmd, at->ok);
  Ints offset = instr_ints(at->instr, ATTR_offset_dims);
  int64_t *batch = ARENA_ARRAY(spmd->scratch, int64_t, shape->rank + 1);
  int64_t *dims = ARENA_ARRAY(spmd->scratch, int64_t, mask->rank + 1);
  uint32_t n = 0, kept = 0;
  for (uint32_t d = 0; d < shape->rank; d++) {
    bool window = false;
    for (uint32_t i = 0; i < offset.n; i++) window = window || offset.at[i] == d;
    if (!window) batch[n++] = d;
  }
  for (uint32_t d = 0; d < mask->rank; d++)
    if (d != at->vector_dim) dims[kept++] = mask->dims[d];
  uint32_t ok = spmd_reshape(spmd, at->ok, dims, kept);
  const Shape *wide = shape_with_dtype(spmd->arena, shape, DTYPE_PRED);
  ok = spmd_add(spmd, OP_BROADCAST, wide, &ok, 1);
  instr_set_ints(spmd->module, spmd_instr(spmd, ok), ATTR_dimensions, batch, n);
  uint32_t zero = spmd_scalar(spmd, shape->dtype, 0);
  return spmd_select(spmd, ok, local, splat_like(spmd, zero, local));
}

static void set_slice_sizes(const Indexed *at, uint32_t local) {
  Spmd *spmd = at->spmd;
  Ints sizes = instr_ints(at->instr, ATTR_slice_sizes);
  int64_t *dims = arena_copy(spmd->scratch, sizes.at, sizes.n * sizeof *dims);
  for (uint32_t d = 0; d < sizes.n; d++) {
    int64_t rows = spmd_shape(spmd, at->operand)->dims[d];
    if (dims[d] > rows) dims[d] = rows; /* a window as wide as the array */
  }
  instr_set_ints(spmd->module, spmd_instr(spmd, local), ATTR_slice_sizes, dims, sizes.n);
}

static Status finish(const Indexed *at, uint32_t local, uint32_t reducer, ShardedValue *result) {
  Spmd *spmd = at->spmd;
  ShardedValue value = value_new(spmd, 1);
  const Sharding *sharding = plan_sharding(spmd, at->plan, &at->plan->rule->results[0], true);
  value.at[0] = sharded(local, sharding, at->instr->shape);
  value.at[0].reducer = reducer;
  ValueSharding wanted = wanted_of(spmd, at->instr);
  return value_reshard(spmd, &value, &wanted, result);
}

static const Shape *local_result(const Indexed *at) {
  const Sharding *sharding = plan_sharding(at->spmd, at->plan, &at->plan->rule->results[0], false);
  return sharding_local_shape(at->spmd->arena, sharding, at->instr->shape);
}

Status handle_gather(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const FactorRule *known = rule_of(spmd->scratch, spmd->flat, spmd->frame->flat, instr);
  Indexed at = {
      .spmd = spmd, .instr = instr, .whole = operand_value(spmd, instr, 0).at[0].global, .ok = NO_ID};
  at.index_map = instr_ints(instr, ATTR_start_index_map);
  at.vector_dim = instr_int(instr, ATTR_index_vector_dim, 0);
  if (known == NULL) return handle_replicated(spmd, instr, result);
  at.windows = instr_ints(instr, ATTR_slice_sizes).at;
  FactorRule *rule = rule_with_whole_parts(&at, known, ATTR_operand_batching_dims);
  join_coordinates(&at, rule, true);
  Plan plan;
  Sharded operand, indices;
  TRY(plan_instr(spmd, instr, rule, true, &plan));
  TRY(plan_operand(spmd, instr, &plan, 0, &operand));
  TRY(plan_operand(spmd, instr, &plan, 1, &indices));
  at.plan = &plan;
  at.operand = operand.instr;
  at.indices = indices.instr;
  localize_indices(&at, true);
  uint32_t local = add_local(spmd, instr, local_result(&at), (uint32_t[]){at.operand, at.indices}, 2);
  set_slice_sizes(&at, local);
  if (at.ok != NO_ID) local = mask_rows(&at, local);
  return finish(&at, local, NO_ID, result);
}

/* --- scatter --- */

/* Of updates that are cut unevenly the rows past the end go nowhere: their indices are out of bounds. */
static Status scatter_indices(Indexed *at) {
  Spmd *spmd = at->spmd;
  Sharded indices;
  TRY(plan_operand(spmd, at->instr, at->plan, 1, &indices));
  at->indices = indices.instr;
  localize_indices(at, false);
  uint32_t nowhere = spmd_scalar(spmd, DTYPE_S32, -1);
  for (uint32_t d = 0; d < indices.global->rank; d++) {
    indices.instr = at->indices;
    at->indices = mask_padding(spmd, &indices, d, nowhere);
  }
  return STATUS_OK;
}

/* The array that is scattered into: where parts of a result are to be combined, neutral but on the first
 * device. */
static uint32_t scatter_base(const Indexed *at, Opcode op) {
  Spmd *spmd = at->spmd;
  AxisList axes = plan_reduced_axes(spmd, at->plan);
  if (axes.n == 0 || (op != OP_ADD && op != OP_MULTIPLY)) return at->operand;
  const Shape *shape = spmd_shape(spmd, at->operand);
  uint32_t neutral = spmd_scalar(spmd, shape->dtype, op == OP_MULTIPLY);
  uint32_t first = spmd_compare(spmd, part_offset(spmd, axes, 1), "EQ", spmd_scalar(spmd, DTYPE_S32, 0));
  uint32_t mask = spmd_splat(spmd, first, shape_with_dtype(spmd->arena, shape, DTYPE_PRED));
  return spmd_select(spmd, mask, at->operand, splat_like(spmd, neutral, at->operand));
}

Status handle_scatter(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const FactorRule *known = rule_of(spmd->scratch, spmd->flat, spmd->frame->flat, instr);
  Indexed at = {.spmd = spmd, .instr = instr, .whole = instr->shape, .ok = NO_ID};
  at.index_map = instr_ints(instr, ATTR_scatter_dims_to_operand_dims);
  at.vector_dim = instr_int(instr, ATTR_index_vector_dim, 0);
  if (known == NULL || instr->operands.n != 3) return handle_replicated(spmd, instr, result);
  at.windows = update_windows(spmd, instr, operand_value(spmd, instr, 2).at[0].global);
  FactorRule *rule = rule_with_whole_parts(&at, known, ATTR_input_batching_dims);
  join_coordinates(&at, rule, false);
  Plan plan;
  Sharded operand, updates;
  TRY(plan_instr(spmd, instr, rule, true, &plan));
  TRY(plan_operand(spmd, instr, &plan, 0, &operand));
  TRY(plan_operand(spmd, instr, &plan, 2, &updates));
  at.plan = &plan;
  at.operand = operand.instr;
  TRY(scatter_indices(&at));
  uint32_t flat_comp = instr_comp(instr, ATTR_to_apply);
  uint32_t operands[] = {scatter_base(&at, comp_binary_op(spmd->flat, flat_comp)), at.indices, updates.instr};
  uint32_t local = add_local(spmd, instr, local_result(&at), operands, 3);
  return finish(&at, local, spmd_copy_comp(spmd, flat_comp), result);
}

/* Handlers of ops that pick rows by computed indices: dynamic-slice and dynamic-update-slice.
 * Along a dimension that is cut every device takes the index relative to its own part: what lies outside of
 * it falls into padding that is dropped again, or counts as zero in a sum over the devices. */
#include "sim/partition/handlers.h"

static Ids one_factor(Arena *arena, uint32_t factor) {
  Ids ids = {ARENA_ARRAY(arena, uint32_t, 1), 1};
  ids.at[0] = factor;
  return ids;
}

static FactorRule *rule_new(Arena *arena, const Shape *shape, uint32_t n_operands) {
  FactorRule *rule = ARENA_NEW(arena, FactorRule);
  rule->n_factors = shape->rank;
  rule->factors = ARENA_ARRAY(arena, Factor, shape->rank + 1);
  for (uint32_t d = 0; d < shape->rank; d++) rule->factors[d].size = shape->dims[d];
  rule->n_operands = n_operands;
  rule->operands = ARENA_ARRAY(arena, TensorFactors, n_operands + 1); /* indices are scalars */
  rule->n_results = 1;
  rule->results = ARENA_ARRAY(arena, TensorFactors, 1);
  return rule;
}

/* A factor for each dimension of `shape` that has the size of the whole array's. */
static TensorFactors tensor_new(Arena *arena, const Shape *shape, const Shape *whole) {
  TensorFactors tensor = {ARENA_ARRAY(arena, Ids, shape->rank + 1), shape->rank};
  for (uint32_t d = 0; d < shape->rank; d++)
    if (shape->dims[d] == whole->dims[d]) tensor.dims[d] = one_factor(arena, d);
  return tensor;
}

static uint32_t clamp(Spmd *spmd, uint32_t value, double least, double most) {
  DType dtype = spmd_shape(spmd, value)->dtype;
  uint32_t operands[] = {spmd_scalar(spmd, dtype, least), value, spmd_scalar(spmd, dtype, most)};
  return spmd_add(spmd, OP_CLAMP, spmd_shape(spmd, value), operands, 3);
}

/* Where a slice of `size` rows lies in the device's part when that has `size` rows of padding on both sides.
 */
static uint32_t local_start(Spmd *spmd, uint32_t index, int64_t rows, int64_t size, AxisList axes,
                            int64_t tile) {
  index = clamp(spmd, index, 0, (double)(rows - size));
  if (spmd_shape(spmd, index)->dtype != DTYPE_S32)
    index = spmd_add(spmd, OP_CONVERT, shape_scalar(spmd->arena, DTYPE_S32), &index, 1);
  uint32_t start = spmd_binary(spmd, OP_SUBTRACT, index, part_offset(spmd, axes, tile));
  start = spmd_binary(spmd, OP_ADD, start, spmd_scalar(spmd, DTYPE_S32, (double)size));
  return clamp(spmd, start, 0, (double)(tile + size));
}

/* Index operands of one op have one type. */
static void same_type(Spmd *spmd, uint32_t *starts, uint32_t n) {
  bool mixed = false;
  for (uint32_t i = 1; i < n; i++)
    mixed = mixed || spmd_shape(spmd, starts[i])->dtype != spmd_shape(spmd, starts[0])->dtype;
  for (uint32_t i = 0; i < n && mixed; i++)
    if (spmd_shape(spmd, starts[i])->dtype != DTYPE_S32)
      starts[i] = spmd_add(spmd, OP_CONVERT, shape_scalar(spmd->arena, DTYPE_S32), &starts[i], 1);
}

/* The operand under the plan, padded where a dimension that is sliced is cut; starts[d] is then local. */
static Status padded_operand(Spmd *spmd, const Instr *instr, const Plan *plan, const Shape *part,
                             uint32_t first, uint32_t *operand, uint32_t *starts) {
  Sharded whole, index;
  TRY(plan_operand(spmd, instr, plan, 0, &whole));
  uint32_t zero = spmd_scalar(spmd, whole.global->dtype, 0);
  for (uint32_t d = 0; d < part->rank; d++) {
    TRY(plan_operand(spmd, instr, plan, first + d, &index));
    starts[d] = index.instr;
    int64_t rows = whole.global->dims[d], size = part->dims[d];
    if (size == rows || plan->axes[d].n == 0) continue;
    int64_t tile = sharding_local_size(whole.sharding, d, rows);
    starts[d] = local_start(spmd, index.instr, rows, size, plan->axes[d], tile);
    whole.instr = mask_padding(spmd, &whole, d, zero);
  }
  for (uint32_t d = 0; d < part->rank; d++) {
    int64_t size = part->dims[d];
    if (size != whole.global->dims[d] && plan->axes[d].n != 0)
      whole.instr = spmd_pad(spmd, whole.instr, d, size, size, zero);
  }
  same_type(spmd, starts, part->rank);
  *operand = whole.instr;
  return STATUS_OK;
}

static Status give(Spmd *spmd, const Instr *instr, const Plan *plan, uint32_t local, uint32_t reducer,
                   ShardedValue *result) {
  ShardedValue value = value_new(spmd, 1);
  const Sharding *sharding = plan_sharding(spmd, plan, &plan->rule->results[0], true);
  value.at[0] = sharded(local, sharding, instr->shape);
  value.at[0].reducer = reducer;
  ValueSharding wanted = wanted_of(spmd, instr);
  return value_reshard(spmd, &value, &wanted, result);
}

static const Shape *local_result(Spmd *spmd, const Instr *instr, const Plan *plan) {
  const Sharding *sharding = plan_sharding(spmd, plan, &plan->rule->results[0], false);
  return sharding_local_shape(spmd->arena, sharding, instr->shape);
}

static uint32_t *joined(Spmd *spmd, const uint32_t *first, uint32_t n, const uint32_t *rest,
                        uint32_t n_rest) {
  uint32_t *all = ARENA_ARRAY(spmd->scratch, uint32_t, n + n_rest);
  memcpy(all, first, n * sizeof *all);
  if (n_rest != 0) memcpy(all + n, rest, n_rest * sizeof *all);
  return all;
}

/* A dimension that is sliced and cut makes the result a sum: of the slice and zeros. */
Status handle_dynamic_slice(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const Shape *whole = operand_value(spmd, instr, 0).at[0].global;
  FactorRule *rule = rule_new(spmd->scratch, whole, instr->operands.n);
  rule->operands[0] = tensor_new(spmd->scratch, whole, whole);
  rule->results[0] = tensor_new(spmd->scratch, instr->shape, whole);
  for (uint32_t d = 0; d < whole->rank; d++)
    if (instr->shape->dims[d] != whole->dims[d]) rule->factors[d].kind = FACTOR_REDUCTION;
  Plan plan;
  TRY(plan_instr(spmd, instr, rule, true, &plan));
  uint32_t operand, *starts = ARENA_ARRAY(spmd->scratch, uint32_t, whole->rank + 1);
  TRY(padded_operand(spmd, instr, &plan, instr->shape, 1, &operand, starts));
  const Shape *local = local_result(spmd, instr, &plan);
  uint32_t *operands = joined(spmd, &operand, 1, starts, whole->rank);
  uint32_t at = add_local(spmd, instr, local, operands, whole->rank + 1);
  instr_set_ints(spmd->module, spmd_instr(spmd, at), ATTR_dynamic_slice_sizes, local->dims, local->rank);
  return give(spmd, instr, &plan, at, NO_ID, result);
}

Status handle_dynamic_update_slice(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const Shape *part = operand_value(spmd, instr, 1).at[0].global;
  FactorRule *rule = rule_new(spmd->scratch, instr->shape, instr->operands.n);
  rule->operands[0] = rule->results[0] = tensor_new(spmd->scratch, instr->shape, instr->shape);
  rule->operands[1] = tensor_new(spmd->scratch, part, instr->shape);
  Plan plan;
  TRY(plan_instr(spmd, instr, rule, false, &plan));
  uint32_t operand, *starts = ARENA_ARRAY(spmd->scratch, uint32_t, part->rank + 1);
  TRY(padded_operand(spmd, instr, &plan, part, 2, &operand, starts));
  Sharded update;
  TRY(plan_operand(spmd, instr, &plan, 1, &update));
  uint32_t *operands = joined(spmd, (uint32_t[]){operand, update.instr}, 2, starts, part->rank);
  uint32_t at = add_local(spmd, instr, spmd_shape(spmd, operand), operands, part->rank + 2);
  const Shape *local = local_result(spmd, instr, &plan);
  for (uint32_t d = 0; d < part->rank; d++)
    if (spmd_shape(spmd, at)->dims[d] != local->dims[d])
      at = spmd_rows(spmd, at, d, part->dims[d], local->dims[d]);
  return give(spmd, instr, &plan, at, NO_ID, result);
}

/* Handlers of plain ops. All but a few follow one way: choose a plan for the op's factors, bring the operands
 * to it, run the op on what the device holds, and bring the result to where it is wanted. */
#include "sim/partition/handlers.h"

#include "sim/partition/exchange.h"

/* --- any op with factors --- */

static const Shape *plan_local_shape(Spmd *spmd, const Instr *instr, const Plan *plan) {
  ValueSharding shardings = {ARENA_ARRAY(spmd->scratch, const Sharding *, plan->rule->n_results + 1),
                             plan->rule->n_results};
  for (uint32_t i = 0; i < shardings.n; i++)
    shardings.at[i] = plan_sharding(spmd, plan, &plan->rule->results[i], false);
  return value_local_shape(spmd, instr->shape, &shardings);
}

/* The leaves of what the op computes under its plan, brought to where they are wanted. */
static Status plan_results(Spmd *spmd, const Instr *instr, const Plan *plan, uint32_t local, uint32_t reducer,
                           ShardedValue *result) {
  ValueSharding shardings = {ARENA_ARRAY(spmd->scratch, const Sharding *, plan->rule->n_results + 1),
                             plan->rule->n_results};
  for (uint32_t i = 0; i < shardings.n; i++)
    shardings.at[i] = plan_sharding(spmd, plan, &plan->rule->results[i], true);
  ShardedValue value = value_unpack(spmd, local, instr->shape, &shardings);
  for (uint32_t i = 0; i < value.n; i++) value.at[i].reducer = reducer;
  ValueSharding wanted = wanted_of(spmd, instr);
  return value_reshard(spmd, &value, &wanted, result);
}

/* Top-k sees its last dimension whole; where it gives all of it back, the rule of propagation lets it pass.
 */
static void keep_last_whole(Spmd *spmd, FactorRule *rule) {
  TensorFactors tensor = rule->operands[0];
  Ids last = tensor.rank == 0 ? (Ids){0} : tensor.dims[tensor.rank - 1];
  rule->factors = arena_copy(spmd->scratch, rule->factors, rule->n_factors * sizeof *rule->factors);
  for (uint32_t i = 0; i < last.n; i++) rule->factors[last.at[i]].kind = FACTOR_NEED_REPLICATION;
}

static const FactorRule *rule_for(Spmd *spmd, const Instr *instr) {
  const FactorRule *rule = rule_of(spmd->scratch, spmd->flat, spmd->frame->flat, instr);
  bool topk = instr->op == OP_TOPK ||
              (instr->op == OP_CUSTOM_CALL && str_is(instr_custom_call_target(instr), "TopK"));
  if (rule == NULL || !topk) return rule;
  FactorRule *copy = arena_copy(spmd->scratch, rule, sizeof *rule);
  keep_last_whole(spmd, copy);
  return copy;
}

/* `local` with the layouts of `global`. */
static const Shape *with_layouts(Spmd *spmd, const Shape *local, const Shape *global) {
  Shape *shape = arena_copy(spmd->arena, local, sizeof *local);
  shape->layout = global->layout;
  const Shape **parts = ARENA_ARRAY(spmd->arena, const Shape *, local->rank + 1);
  for (uint32_t i = 0; shape_is_tuple(local) && i < local->rank; i++)
    parts[i] = with_layouts(spmd, local->parts[i], global->parts[i]);
  if (shape_is_tuple(local)) shape->parts = parts;
  return shape;
}

/* A custom call means its layouts: the library that it calls counts on them. */
static void keep_layouts(Spmd *spmd, uint32_t at, const Instr *instr) {
  const Attr *written = instr_attr(instr, ATTR_operand_layout_constraints);
  Instr *local = spmd_instr(spmd, at);
  local->shape = with_layouts(spmd, local->shape, instr->shape);
  if (written == NULL || written->shapes.n != local->operands.n) return;
  const Shape **shapes = ARENA_ARRAY(spmd->scratch, const Shape *, written->shapes.n + 1);
  for (uint32_t i = 0; i < written->shapes.n; i++)
    shapes[i] = with_layouts(spmd, spmd_shape(spmd, local->operands.at[i]), written->shapes.at[i]);
  Attr attr = {.id = ATTR_operand_layout_constraints, .shapes = {shapes, written->shapes.n}};
  instr_set(spmd->module, local, attr);
}

Status handle_by_factors(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const FactorRule *rule = rule_for(spmd, instr);
  if (rule == NULL) return handle_replicated(spmd, instr, result);
  Plan plan;
  TRY(plan_instr(spmd, instr, rule, false, &plan));
  uint32_t *operands = ARENA_ARRAY(spmd->scratch, uint32_t, instr->operands.n + 1);
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    Sharded local;
    TRY(plan_operand(spmd, instr, &plan, i, &local));
    operands[i] = local.instr;
  }
  uint32_t at = add_local(spmd, instr, plan_local_shape(spmd, instr, &plan), operands, instr->operands.n);
  if (instr->op == OP_CUSTOM_CALL) keep_layouts(spmd, at, instr);
  return plan_results(spmd, instr, &plan, at, NO_ID, result);
}

/* An op that cannot be cut: whole operands on every device. */
Status handle_replicated(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  uint32_t *operands = ARENA_ARRAY(spmd->scratch, uint32_t, instr->operands.n + 1);
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    ShardedValue value = operand_value(spmd, instr, i), whole = value_new(spmd, value.n);
    for (uint32_t k = 0; k < value.n; k++) {
      const Sharding *everywhere =
          sharding_replicated(spmd->arena, spmd->mesh, value.at[k].global->rank, false);
      because_operand(spmd, instr, i, everywhere);
      TRY(reshard(spmd, value.at[k], everywhere, &whole.at[k]));
    }
    const Instr *from = comp_instr(spmd->flat, spmd->frame->flat, instr->operands.at[i]);
    operands[i] = value_pack(spmd, &whole, from->shape);
  }
  uint32_t at = add_local(spmd, instr, instr->shape, operands, instr->operands.n);
  ValueSharding wanted = wanted_of(spmd, instr), everywhere = {NULL, wanted.n};
  everywhere.at = ARENA_ARRAY(spmd->scratch, const Sharding *, wanted.n + 1);
  for (uint32_t i = 0; i < wanted.n; i++)
    everywhere.at[i] = sharding_replicated(spmd->arena, spmd->mesh, shape_leaf(instr->shape, i)->rank, false);
  ShardedValue value = value_unpack(spmd, at, instr->shape, &everywhere);
  return value_reshard(spmd, &value, &wanted, result);
}

/* --- ops that reduce --- */

/* An operand as the plan wants it, with `fill` where a dimension that is reduced is cut unevenly. */
static Status masked_operand(Spmd *spmd, const Instr *instr, const Plan *plan, uint32_t operand,
                             uint32_t fill, uint32_t *local) {
  Sharded value;
  TRY(plan_operand(spmd, instr, plan, operand, &value));
  const TensorFactors *tensor = &plan->rule->operands[operand];
  for (uint32_t d = 0; d < tensor->rank; d++)
    for (uint32_t i = 0; i < tensor->dims[d].n; i++)
      if (plan->rule->factors[tensor->dims[d].at[i]].kind == FACTOR_REDUCTION)
        value.instr = mask_padding(spmd, &value, d, fill);
  *local = value.instr;
  return STATUS_OK;
}

Status handle_dot(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const FactorRule *rule = rule_for(spmd, instr);
  if (rule == NULL || instr->operands.n != 2) return handle_by_factors(spmd, instr, result);
  Plan plan;
  TRY(plan_instr(spmd, instr, rule, true, &plan));
  uint32_t operands[2];
  for (uint32_t i = 0; i < 2; i++) {
    DType dtype = operand_value(spmd, instr, i).at[0].global->dtype;
    TRY(masked_operand(spmd, instr, &plan, i, spmd_scalar(spmd, dtype, 0), &operands[i]));
  }
  uint32_t at = add_local(spmd, instr, plan_local_shape(spmd, instr, &plan), operands, 2);
  return plan_results(spmd, instr, &plan, at, NO_ID, result);
}

/* The value that a reduction of parts may begin with on every device but the first: where adding up several
 * initial values would count them several times, the neutral element; else the initial value itself. */
static uint32_t neutral_of(Spmd *spmd, Opcode op, DType dtype, uint32_t init) {
  if (op == OP_ADD || op == OP_XOR) return spmd_scalar(spmd, dtype, 0);
  if (op == OP_MULTIPLY) return spmd_scalar(spmd, dtype, 1);
  return init;
}

/* `init` on the first device along the reduced axes, `neutral` on the others. */
static uint32_t init_once(Spmd *spmd, AxisList axes, uint32_t init, uint32_t neutral) {
  if (axes.n == 0 || same_scalar(spmd, init, neutral)) return init;
  int64_t *index = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++) index[d] = mesh_index(spmd->mesh, axes, d);
  uint32_t first = spmd_compare(spmd, spmd_table(spmd, index), "EQ", spmd_scalar(spmd, DTYPE_S32, 0));
  return spmd_select(spmd, first, init, neutral);
}

/* Several arrays reduced together (an argmax): the devices' partial results side by side, reduced again. */
static Status reduce_partials(Spmd *spmd, const Instr *instr, const Plan *plan, uint32_t local,
                              const uint32_t *inits, ShardedValue *result) {
  AxisList axes = plan_reduced_axes(spmd, plan);
  uint32_t n = plan->rule->n_results;
  uint32_t *operands = ARENA_ARRAY(spmd->scratch, uint32_t, 2 * (size_t)n);
  for (uint32_t i = 0; i < n; i++) {
    const Sharding *sharding = plan_sharding(spmd, plan, &plan->rule->results[i], false);
    const Shape *global = shape_leaf(instr->shape, i);
    uint32_t part = local, rank = global->rank + 1;
    part = spmd_add(spmd, OP_GET_TUPLE_ELEMENT, spmd_shape(spmd, local)->parts[i], &part, 1);
    instr_set_int(spmd->module, spmd_instr(spmd, part), ATTR_index, i);
    int64_t *dims = ARENA_ARRAY(spmd->scratch, int64_t, rank),
            *stacked = ARENA_ARRAY(spmd->scratch, int64_t, rank);
    const Shape *held = spmd_shape(spmd, part);
    dims[0] = 1, stacked[0] = axes_size(axes);
    for (uint32_t d = 1; d < rank; d++) dims[d] = held->dims[d - 1], stacked[d] = global->dims[d - 1];
    part = spmd_reshape(spmd, part, dims, rank);
    const Sharding *apart = sharding_replicated(spmd->arena, spmd->mesh, rank, false);
    for (uint32_t d = 1; d < rank; d++)
      apart = sharding_with_dim(spmd->arena, apart, d, sharding->dims[d - 1].axes);
    const Sharding *together = apart;
    apart = sharding_with_dim(spmd->arena, apart, 0, axes);
    Sharded value = sharded(part, apart, shape_with_dims(spmd->arena, global, stacked, rank)), whole;
    because_result(spmd, instr, plan_sharding(spmd, plan, &plan->rule->results[i], true), together);
    TRY(reshard(spmd, value, together, &whole));
    operands[i] = whole.instr;
    operands[n + i] = inits[i];
  }
  int64_t dim = 0;
  uint32_t again = add_local(spmd, instr, spmd_shape(spmd, local), operands, 2 * n);
  instr_set_ints(spmd->module, spmd_instr(spmd, again), ATTR_dimensions, &dim, 1);
  Plan reduced = {.rule = plan->rule};
  reduced.axes = arena_copy(spmd->scratch, plan->axes, plan->rule->n_factors * sizeof *plan->axes);
  for (uint32_t f = 0; f < plan->rule->n_factors; f++)
    if (plan->rule->factors[f].kind == FACTOR_REDUCTION) reduced.axes[f] = (AxisList){0};
  return plan_results(spmd, instr, &reduced, again, NO_ID, result);
}

Status handle_reduce(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const FactorRule *rule = rule_for(spmd, instr);
  if (rule == NULL) return handle_replicated(spmd, instr, result);
  Plan plan;
  TRY(plan_instr(spmd, instr, rule, true, &plan));
  uint32_t n = instr->operands.n / 2, flat_comp = instr_comp(instr, ATTR_to_apply);
  Opcode op = n == 1 ? comp_binary_op(spmd->flat, flat_comp) : OP_COUNT;
  uint32_t *operands = ARENA_ARRAY(spmd->scratch, uint32_t, instr->operands.n + 1);
  uint32_t *inits = ARENA_ARRAY(spmd->scratch, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    Sharded init;
    TRY(plan_operand(spmd, instr, &plan, n + i, &init));
    inits[i] = init.instr;
    uint32_t neutral = neutral_of(spmd, op, init.global->dtype, init.instr);
    operands[n + i] = init_once(spmd, plan_reduced_axes(spmd, &plan), init.instr, neutral);
    TRY(masked_operand(spmd, instr, &plan, i, neutral, &operands[i]));
  }
  uint32_t at = add_local(spmd, instr, plan_local_shape(spmd, instr, &plan), operands, instr->operands.n);
  if (n > 1 && plan_reduced_axes(spmd, &plan).n != 0)
    return reduce_partials(spmd, instr, &plan, at, inits, result);
  return plan_results(spmd, instr, &plan, at, spmd_copy_comp(spmd, flat_comp), result);
}

/* --- ops that make values --- */

static Status give(Spmd *spmd, const Instr *instr, Sharded value, ShardedValue *result) {
  ShardedValue one = value_new(spmd, 1);
  one.at[0] = value;
  ValueSharding wanted = wanted_of(spmd, instr);
  return value_reshard(spmd, &one, &wanted, result);
}

static bool literal_is_splat(const Literal *literal) {
  int64_t n = shape_elements(literal->shape);
  size_t bytes = dtype_bytes(literal->shape->dtype);
  if (literal->data == NULL || n == 0) return false;
  const unsigned char *data = literal->data;
  return memcmp(data, data + bytes, (size_t)(n - 1) * bytes) == 0;
}

Status handle_constant(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  if (!shape_is_array(instr->shape)) return handle_replicated(spmd, instr, result);
  const Shape *shape = shape_with_dims(spmd->arena, instr->shape, instr->shape->dims, instr->shape->rank);
  const Sharding *everywhere = sharding_replicated(spmd->arena, spmd->mesh, shape->rank, false);
  if (shape->rank == 0 || !literal_is_splat(instr->literal))
    return give(spmd, instr, sharded(add_local(spmd, instr, shape, NULL, 0), everywhere, shape), result);
  Literal *scalar = ARENA_NEW(spmd->arena, Literal);
  *scalar = (Literal){.shape = shape_scalar(spmd->arena, shape->dtype), .data = instr->literal->data};
  Sharded value = sharded(NO_ID, everywhere, shape);
  value.scalar = add_local(spmd, instr, scalar->shape, NULL, 0);
  spmd_instr(spmd, value.scalar)->literal = scalar;
  ValueSharding wanted = wanted_of(spmd, instr);
  if (sharding_is_replicated(wanted.at[0])) value.instr = spmd_splat(spmd, value.scalar, shape);
  return give(spmd, instr, value, result);
}

Status handle_broadcast(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  Sharded from = operand_value(spmd, instr, 0).at[0];
  if (from.global->rank != 0) {
    TRY(handle_by_factors(spmd, instr, result));
    result->at[0].source = arena_copy(spmd->scratch, &from, sizeof from);
    result->at[0].source_dims = instr_ints(instr, ATTR_dimensions);
    return STATUS_OK;
  }
  const Sharding *wanted = wanted_of(spmd, instr).at[0];
  const Shape *local = sharding_local_shape(spmd->arena, wanted, instr->shape);
  *result = value_new(spmd, 1);
  result->at[0] = sharded(add_local(spmd, instr, local, &from.instr, 1), wanted, instr->shape);
  result->at[0].scalar = from.instr;
  return STATUS_OK;
}

/* Counts locally and adds where the device's part begins. */
Status handle_iota(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  const Sharding *wanted = wanted_of(spmd, instr).at[0];
  const Shape *local = sharding_local_shape(spmd->arena, wanted, instr->shape);
  uint32_t dim = (uint32_t)instr_int(instr, ATTR_iota_dimension, 0);
  uint32_t at = add_local(spmd, instr, local, NULL, 0);
  if (sharding_shards(wanted, dim) != 1) {
    int64_t *offsets = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
    for (uint32_t d = 0; d < spmd->mesh->n_devices; d++)
      offsets[d] = mesh_index(spmd->mesh, wanted->dims[dim].axes, d) * local->dims[dim];
    uint32_t offset = spmd_table(spmd, offsets);
    if (local->dtype != DTYPE_S32)
      offset = spmd_add(spmd, OP_CONVERT, shape_scalar(spmd->arena, local->dtype), &offset, 1);
    at = spmd_binary(spmd, OP_ADD, at, spmd_splat(spmd, offset, local));
  }
  *result = value_new(spmd, 1);
  result->at[0] = sharded(at, wanted, instr->shape);
  return STATUS_OK;
}

/* partition-id and replica-id: of a program that knows its devices. */
Status handle_device_id(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  Sharded value = sharded(add_local(spmd, instr, instr->shape, NULL, 0),
                          sharding_replicated(spmd->arena, spmd->mesh, 0, false), instr->shape);
  return give(spmd, instr, value, result);
}

/* --- dispatch --- */

static const Handler handlers[OP_COUNT] = {
    [OP_CONSTANT] = handle_constant,
    [OP_IOTA] = handle_iota,
    [OP_BROADCAST] = handle_broadcast,
    [OP_DOT] = handle_dot,
    [OP_CONVOLUTION] = handle_convolution,
    [OP_REDUCE_WINDOW] = handle_reduce_window,
    [OP_SELECT_AND_SCATTER] = handle_select_and_scatter,
    [OP_DYNAMIC_SLICE] = handle_dynamic_slice,
    [OP_GATHER] = handle_gather,
    [OP_SCATTER] = handle_scatter,
    [OP_DYNAMIC_UPDATE_SLICE] = handle_dynamic_update_slice,
    [OP_SLICE] = handle_window,
    [OP_PAD] = handle_window,
    [OP_REVERSE] = handle_window,
    [OP_CONCATENATE] = handle_window,
    [OP_REDUCE] = handle_reduce,
    [OP_TUPLE] = handle_tuple,
    [OP_GET_TUPLE_ELEMENT] = handle_get_tuple_element,
    [OP_OPT_BARRIER] = handle_opt_barrier,
    [OP_WHILE] = handle_while,
    [OP_CONDITIONAL] = handle_conditional,
    [OP_CUSTOM_CALL] = handle_custom_call,
    [OP_PARTITION_ID] = handle_device_id,
    [OP_REPLICA_ID] = handle_device_id,
};

Handler handler_of(const Instr *instr) {
  if (op_is_collective(instr->op)) return handle_collective;
  return handlers[instr->op] == NULL ? handle_by_factors : handlers[instr->op];
}

/* Handlers of what the program says about devices itself: sharding annotations, the borders of manual regions
 * (shard_map), and collectives inside of them. At a border nothing moves: the shard that a device holds of
 * the value outside is the value inside. */
#include "sim/partition/handlers.h"

/* --- borders --- */

/* What propagation found of the border; one without values has nothing to say. */
static Status border_read(Spmd *spmd, const Instr *instr, uint32_t n, ManualBorder *border) {
  uint32_t comp = spmd->frame->flat;
  const ManualBorder *found =
      spmd->shardings->borders[comp][instr - module_comp(spmd->flat, comp)->instrs.at];
  *border = found == NULL ? (ManualBorder){0} : *found;
  RETURN_IF(border->n != n,
            diag_fail(spmd->diag, STATUS_INVALID, instr->place, NULL, "%.*s has %u values but %u shardings",
                      STR_ARG(instr->name), n, border->n));
  return STATUS_OK;
}

static AxisList axes_common(Spmd *spmd, AxisList axes, AxisList with) {
  return axes_minus(spmd->arena, spmd->mesh, axes, axes_minus(spmd->arena, spmd->mesh, axes, with));
}

/* The sharding outside: the border's manual axes, and within them what is cut inside. */
static const Sharding *outside_sharding(Spmd *spmd, const ManualBorder *border, uint32_t i,
                                        const Sharding *inside) {
  const Sharding *outside = sharding_replicated(spmd->arena, spmd->mesh, inside->rank, false);
  for (uint32_t d = 0; d < inside->rank; d++) {
    AxisList manual = axes_common(spmd, border->outer[i]->dims[d].axes, border->manual);
    AxisList axes = axes_concat(spmd->arena, spmd->mesh, manual, inside->dims[d].axes);
    if (axes.n != 0) outside = sharding_with_dim(spmd->arena, outside, d, axes);
  }
  return outside;
}

static const Sharding *inside_sharding(Spmd *spmd, const ManualBorder *border, const Sharding *outside) {
  const Sharding *inside = sharding_replicated(spmd->arena, spmd->mesh, outside->rank, false);
  for (uint32_t d = 0; d < outside->rank; d++) {
    AxisList axes = axes_minus(spmd->arena, spmd->mesh, outside->dims[d].axes, border->manual);
    if (axes.n != 0) inside = sharding_with_dim(spmd->arena, inside, d, axes);
  }
  return inside;
}

static Status enter_region(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  ManualBorder border;
  ValueSharding wanted = wanted_of(spmd, instr);
  TRY(border_read(spmd, instr, instr->operands.n, &border));
  RETURN_IF(wanted.n != border.n, diag_fail(spmd->diag, STATUS_INVALID, instr->place, NULL,
                                            "%.*s has more results than operands", STR_ARG(instr->name)));
  *result = value_new(spmd, wanted.n);
  for (uint32_t i = 0; i < wanted.n; i++) {
    const Sharding *outside = outside_sharding(spmd, &border, i, wanted.at[i]);
    Sharded local;
    because_operand(spmd, instr, i, outside);
    TRY(reshard(spmd, operand_value(spmd, instr, i).at[0], outside, &local));
    result->at[i] = sharded(local.instr, wanted.at[i], shape_leaf(instr->shape, i));
  }
  return STATUS_OK;
}

static Status leave_region(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  ManualBorder border;
  ValueSharding wanted = wanted_of(spmd, instr);
  TRY(border_read(spmd, instr, instr->operands.n, &border));
  RETURN_IF(wanted.n != border.n, diag_fail(spmd->diag, STATUS_INVALID, instr->place, NULL,
                                            "%.*s has more results than operands", STR_ARG(instr->name)));
  ShardedValue value = value_new(spmd, wanted.n);
  for (uint32_t i = 0; i < wanted.n; i++) {
    const Sharding *inside = inside_sharding(spmd, &border, wanted.at[i]);
    Sharded local;
    because_operand(spmd, instr, i, inside);
    TRY(reshard(spmd, operand_value(spmd, instr, i).at[0], inside, &local));
    value.at[i] =
        sharded(local.instr, outside_sharding(spmd, &border, i, inside), shape_leaf(instr->shape, i));
  }
  return value_reshard(spmd, &value, &wanted, result);
}

/* GSPMD's borders: the shape inside is the shard of the value outside, as its annotation cuts it. */
static Status border_fits(Spmd *spmd, const Instr *instr, const Sharded *outside, const Shape *inside) {
  const Shape *local = sharding_local_shape(spmd->scratch, outside->sharding, outside->global);
  RETURN_IF(!shape_eq(local, inside),
            diag_fail(spmd->diag, STATUS_INVALID, instr->place, "lower the program again with Shardy",
                      "%.*s is manual over some axes only, which is not supported yet in this form",
                      STR_ARG(instr->name)));
  return STATUS_OK;
}

static Status enter_manual(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  Sharded outside = operand_value(spmd, instr, 0).at[0];
  TRY(border_fits(spmd, instr, &outside, instr->shape));
  ShardedValue value = value_new(spmd, 1);
  const Sharding *everywhere = sharding_replicated(spmd->arena, spmd->mesh, instr->shape->rank, false);
  value.at[0] = sharded(outside.instr, everywhere, instr->shape);
  ValueSharding wanted = wanted_of(spmd, instr);
  return value_reshard(spmd, &value, &wanted, result);
}

static Status leave_manual(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  Sharded inside = operand_value(spmd, instr, 0).at[0];
  const HloSharding *written = instr_sharding(instr);
  RETURN_IF(written == NULL, diag_fail(spmd->diag, STATUS_INVALID, instr->place, NULL,
                                       "%.*s lacks its sharding", STR_ARG(instr->name)));
  const Sharding *outside = NULL;
  TRY(sharding_from_hlo(spmd->arena, written, spmd->mesh, instr->shape->rank, &outside, instr->place,
                        spmd->diag));
  ShardedValue value = value_new(spmd, 1);
  const Sharding *everywhere = sharding_replicated(spmd->arena, spmd->mesh, inside.global->rank, false);
  because_operand(spmd, instr, 0, everywhere);
  TRY(reshard(spmd, inside, everywhere, &value.at[0]));
  value.at[0] = sharded(value.at[0].instr, outside, instr->shape);
  TRY(border_fits(spmd, instr, &value.at[0], inside.global));
  ValueSharding wanted = wanted_of(spmd, instr);
  return value_reshard(spmd, &value, &wanted, result);
}

/* --- custom calls --- */

static Status annotate(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  ValueSharding wanted = wanted_of(spmd, instr);
  ShardedValue value = operand_value(spmd, instr, 0);
  return value_reshard(spmd, &value, &wanted, result);
}

static const struct {
  const char *target;
  Handler handler;
} custom_calls[] = {{"Sharding", annotate},
                    {"xla.sdy.FuncResultSharding", annotate},
                    {"xla.sdy.PropagationBarrier", annotate},
                    {"xla.sdy.ShardingGroup", annotate},
                    {"SPMDFullToShardShape", enter_manual},
                    {"SPMDShardToFullShape", leave_manual},
                    {"xla.sdy.GlobalToLocalShape", enter_region},
                    {"xla.sdy.LocalToGlobalShape", leave_region},
                    {"SPMDFullToShardShape", enter_region},
                    {"SPMDShardToFullShape", leave_region}};

Status handle_custom_call(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  Str target = instr_custom_call_target(instr);
  for (size_t i = 0; i < sizeof custom_calls / sizeof *custom_calls; i++)
    if (str_is(target, custom_calls[i].target)) return custom_calls[i].handler(spmd, instr, result);
  return handle_by_factors(spmd, instr, result);
}

/* --- collectives of the program --- */

/* Collectives speak of devices, so they stay; along the dimension that they change nothing may be cut. */
Status handle_collective(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  ValueSharding wanted = wanted_of(spmd, instr), ours = {NULL, wanted.n};
  RETURN_IF(wanted.n != 1 && wanted.n != instr->operands.n,
            diag_fail(spmd->diag, STATUS_INVALID, instr->place, "use its synchronous form",
                      "%s in a program that is to be partitioned is not supported yet", op_text(instr->op)));
  ours.at = arena_copy(spmd->scratch, wanted.at, wanted.n * sizeof *wanted.at);
  Ints dims = instr_ints(instr, ATTR_dimensions);
  for (uint32_t i = 0; i < wanted.n; i++)
    for (uint32_t k = 0; k < dims.n; k++)
      ours.at[i] = sharding_with_dim(spmd->arena, ours.at[i], (uint32_t)dims.at[k], (AxisList){0});
  uint32_t *operands = ARENA_ARRAY(spmd->scratch, uint32_t, instr->operands.n + 1);
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    const Sharding *sharding = ours.at[wanted.n == 1 ? 0 : i];
    Sharded local;
    because_operand(spmd, instr, i, sharding);
    TRY(reshard(spmd, operand_value(spmd, instr, i).at[0], sharding, &local));
    operands[i] = local.instr;
  }
  const Shape *shape = value_local_shape(spmd, instr->shape, &ours);
  uint32_t at = add_local(spmd, instr, shape, operands, instr->operands.n);
  because_text(spmd, str_printf(spmd->scratch, "%.*s of the program itself", STR_ARG(instr->name)));
  spmd_collective(spmd, at, NULL, false);
  ShardedValue value = value_unpack(spmd, at, instr->shape, &ours);
  return value_reshard(spmd, &value, &wanted, result);
}

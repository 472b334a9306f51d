/* Handlers of control flow and tuples: bodies are partitioned as computations of their own, with what they
 * carry lying as the shardings of the loop's or the conditional's result say. */
#include "sim/partition/handlers.h"

Status handle_tuple(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < instr->operands.n; i++) n += operand_value(spmd, instr, i).n;
  ShardedValue value = value_new(spmd, n);
  value.n = 0;
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    ShardedValue part = operand_value(spmd, instr, i);
    for (uint32_t k = 0; k < part.n; k++) value.at[value.n++] = part.at[k];
  }
  ValueSharding wanted = wanted_of(spmd, instr);
  return value_reshard(spmd, &value, &wanted, result);
}

Status handle_get_tuple_element(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  ShardedValue tuple = operand_value(spmd, instr, 0), part = {0};
  const Shape *shape = comp_instr(spmd->flat, spmd->frame->flat, instr->operands.at[0])->shape;
  uint32_t index = (uint32_t)instr_int(instr, ATTR_index, 0), first = 0;
  for (uint32_t i = 0; i < index; i++) first += shape_leaves(shape->parts[i]);
  part.at = tuple.at + first;
  part.n = shape_leaves(shape->parts[index]);
  ValueSharding wanted = wanted_of(spmd, instr);
  return value_reshard(spmd, &part, &wanted, result);
}

Status handle_opt_barrier(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  ValueSharding wanted = wanted_of(spmd, instr);
  ShardedValue value = operand_value(spmd, instr, 0);
  TRY(value_reshard(spmd, &value, &wanted, &value));
  uint32_t operand = value_pack(spmd, &value, instr->shape);
  uint32_t at = add_local(spmd, instr, spmd_shape(spmd, operand), &operand, 1);
  *result = value_unpack(spmd, at, instr->shape, &wanted);
  return STATUS_OK;
}

/* A computation of one parameter that lies as `given`, and a root that is to lie as `wanted`. */
static Status build_comp(Spmd *spmd, uint32_t flat_comp, const ValueSharding *given,
                         const ValueSharding *wanted, uint32_t *comp) {
  const Comp *flat = module_comp(spmd->flat, flat_comp);
  const Instr *outer_instr = spmd->instr;
  Frame *outer = spmd->frame, frame = {.flat = flat_comp, .comp = module_add_comp(spmd->module, flat->name)};
  spmd->frame = &frame;
  spmd->instr = NULL;
  ShardedValue param = {0}, root;
  if (flat->params.n != 0) {
    const Instr *from = &flat->instrs.at[flat->params.at[0]];
    uint32_t at = comp_add_parameter(spmd->module, frame.comp, 0, from->name,
                                     value_local_shape(spmd, from->shape, given));
    param = value_unpack(spmd, at, from->shape, given);
  }
  TRY(partition_body(spmd, flat_comp, &param, &root));
  spmd->instr = &flat->instrs.at[flat->root];
  TRY(value_reshard(spmd, &root, wanted, &root));
  module_comp(spmd->module, frame.comp)->root = value_pack(spmd, &root, flat->instrs.at[flat->root].shape);
  *comp = frame.comp;
  spmd->frame = outer;
  spmd->instr = outer_instr;
  return STATUS_OK;
}

static ValueSharding replicated_scalar(Spmd *spmd) {
  ValueSharding one = {ARENA_ARRAY(spmd->scratch, const Sharding *, 1), 1};
  one.at[0] = sharding_replicated(spmd->arena, spmd->mesh, 0, false);
  return one;
}

static void because_carried(Spmd *spmd, const Instr *instr) {
  because_text(spmd, str_printf(spmd->scratch, "%.*s carries the value so", STR_ARG(instr->name)));
}

/* Operand `i` as one instruction that lies as `wanted`. */
static Status packed_operand(Spmd *spmd, const Instr *instr, uint32_t i, const ValueSharding *wanted,
                             uint32_t *packed) {
  ShardedValue value = operand_value(spmd, instr, i);
  because_carried(spmd, instr);
  TRY(value_reshard(spmd, &value, wanted, &value));
  *packed = value_pack(spmd, &value, comp_instr(spmd->flat, spmd->frame->flat, instr->operands.at[i])->shape);
  return STATUS_OK;
}

/* The control-flow op itself; its computations are set by the caller. */
static uint32_t add_control(Spmd *spmd, const Instr *instr, const Shape *shape, const uint32_t *operands,
                            uint32_t n) {
  uint32_t at = comp_add_like(spmd->module, spmd->frame->comp, instr, operands, n);
  Instr *local = spmd_instr(spmd, at);
  local->shape = shape;
  drop_annotations(spmd, local);
  return at;
}

Status handle_while(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  ValueSharding carried = wanted_of(spmd, instr), scalar = replicated_scalar(spmd);
  uint32_t operand, body, condition;
  TRY(packed_operand(spmd, instr, 0, &carried, &operand));
  TRY(build_comp(spmd, instr_comp(instr, ATTR_body), &carried, &carried, &body));
  TRY(build_comp(spmd, instr_comp(instr, ATTR_condition), &carried, &scalar, &condition));
  uint32_t at = add_control(spmd, instr, spmd_shape(spmd, operand), &operand, 1);
  instr_set_comp(spmd->module, spmd_instr(spmd, at), ATTR_body, body);
  instr_set_comp(spmd->module, spmd_instr(spmd, at), ATTR_condition, condition);
  *result = value_unpack(spmd, at, instr->shape, &carried);
  return STATUS_OK;
}

/* The shardings of a branch's parameter: what is wanted of it inside. */
static ValueSharding branch_given(const Spmd *spmd, uint32_t flat_comp, const ShardedValue *operand) {
  const Comp *flat = module_comp(spmd->flat, flat_comp);
  ValueSharding given = {0};
  if (flat->params.n != 0) given = spmd->shardings->values[flat_comp][flat->params.at[0]];
  if (given.n == operand->n) return given;
  given = (ValueSharding){ARENA_ARRAY(spmd->scratch, const Sharding *, operand->n + 1), operand->n};
  for (uint32_t i = 0; i < operand->n; i++) given.at[i] = operand->at[i].sharding;
  return given;
}

static Ids branches_of(Spmd *spmd, const Instr *instr) {
  Ids branches = instr_comps(instr, ATTR_branch_computations);
  if (branches.n != 0) return branches;
  branches = (Ids){ARENA_ARRAY(spmd->scratch, uint32_t, 2), 2};
  branches.at[0] = instr_comp(instr, ATTR_true_computation);
  branches.at[1] = instr_comp(instr, ATTR_false_computation);
  return branches;
}

Status handle_conditional(Spmd *spmd, const Instr *instr, ShardedValue *result) {
  ValueSharding wanted = wanted_of(spmd, instr), scalar = replicated_scalar(spmd);
  Ids branches = branches_of(spmd, instr);
  RETURN_IF(instr->operands.n != branches.n + 1,
            diag_fail(spmd->diag, STATUS_INVALID, instr->place, NULL, "%.*s needs an operand a branch",
                      STR_ARG(instr->name)));
  uint32_t *operands = ARENA_ARRAY(spmd->scratch, uint32_t, instr->operands.n);
  uint32_t *comps = ARENA_ARRAY(spmd->scratch, uint32_t, branches.n);
  TRY(packed_operand(spmd, instr, 0, &scalar, &operands[0]));
  for (uint32_t i = 0; i < branches.n; i++) {
    ShardedValue operand = operand_value(spmd, instr, i + 1);
    ValueSharding given = branch_given(spmd, branches.at[i], &operand);
    TRY(packed_operand(spmd, instr, i + 1, &given, &operands[i + 1]));
    TRY(build_comp(spmd, branches.at[i], &given, &wanted, &comps[i]));
  }
  const Shape *shape = value_local_shape(spmd, instr->shape, &wanted);
  uint32_t at = add_control(spmd, instr, shape, operands, instr->operands.n);
  if (instr_comps(instr, ATTR_branch_computations).n != 0) {
    Attr attr = {.id = ATTR_branch_computations, .comps = {comps, branches.n}};
    instr_set(spmd->module, spmd_instr(spmd, at), attr);
  } else {
    instr_set_comp(spmd->module, spmd_instr(spmd, at), ATTR_true_computation, comps[0]);
    instr_set_comp(spmd->module, spmd_instr(spmd, at), ATTR_false_computation, comps[1]);
  }
  *result = value_unpack(spmd, at, instr->shape, &wanted);
  return STATUS_OK;
}

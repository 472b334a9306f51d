/* Drops collectives that change nothing. In: any partitioned program. Out: the users of a collective in
 * groups of one, or of the largest of values that are the same on all devices, take its operand; the sum of
 * such values is their product with the number of devices. Source: XLA's AllReduceSimplifier. */
#include "sim/partition/clean_collectives.h"

#include "sim/ir/clean.h"

/* Whether every device computes the same: constants, and what is made of them alone. */
static bool is_same_everywhere(const Instr *instr, const bool *same) {
  if (instr->op == OP_CONSTANT || instr->op == OP_IOTA) return true;
  bool moves = instr->op == OP_BROADCAST || instr->op == OP_RESHAPE || instr->op == OP_TRANSPOSE;
  if (instr->operands.n == 0 || (!moves && !op_is_elementwise(instr->op))) return false;
  for (uint32_t k = 0; k < instr->operands.n; k++)
    if (!same[instr->operands.at[k]]) return false;
  return true;
}

/* With global ids only: others count replicas, each of which spans the partitions. */
static bool is_alone(Arena *scratch, const Module *module, const Instr *instr) {
  if (!instr_flag(instr, ATTR_use_global_device_ids)) return false;
  uint32_t devices = (uint32_t)(module->num_partitions * module->replica_count);
  GroupList groups = instr_groups(scratch, instr, devices);
  return groups.n == devices && groups.start[groups.n] == devices;
}

/* x op x = x. */
static bool is_idempotent(Opcode op) {
  return op == OP_MAXIMUM || op == OP_MINIMUM || op == OP_AND || op == OP_OR;
}

static bool changes_nothing(Arena *scratch, const Module *module, const Instr *instr, const bool *same) {
  bool reduces = instr->op == OP_ALL_REDUCE;
  if (!reduces && instr->op != OP_ALL_GATHER && instr->op != OP_REDUCE_SCATTER) return false;
  if (instr->operands.n != 1 || !shape_is_array(instr->shape)) return false;
  if (is_alone(scratch, module, instr)) return true;
  return reduces && same[instr->operands.at[0]] &&
         is_idempotent(comp_binary_op(module, instr_comp(instr, ATTR_to_apply)));
}

/* How many values an all-reduce sums that are the same on all devices; 0: it does not. */
static uint32_t equal_summands(Arena *scratch, const Module *module, const Instr *instr, const bool *same) {
  DClass class = dtype_class(instr->shape->dtype);
  bool number = class == DCLASS_FLOAT || class == DCLASS_SIGNED || class == DCLASS_UNSIGNED;
  bool plain = instr->op == OP_ALL_REDUCE && instr->operands.n == 1 && shape_is_array(instr->shape) && number;
  if (!plain || !same[instr->operands.at[0]] || !instr_flag(instr, ATTR_use_global_device_ids) ||
      comp_binary_op(module, instr_comp(instr, ATTR_to_apply)) != OP_ADD)
    return 0;
  GroupList groups = instr_groups(scratch, instr, (uint32_t)(module->num_partitions * module->replica_count));
  for (uint32_t g = 1; g < groups.n; g++)
    if (groups.start[g + 1] - groups.start[g] != groups.start[1]) return 0;
  return groups.n == 0 ? 0 : groups.start[1];
}

/* The all-reduce becomes a product; the factor is put at the end of the computation. */
static void multiply(Module *module, uint32_t comp, uint32_t at, uint32_t factor) {
  const Shape *shape = comp_instr(module, comp, at)->shape;
  const Literal *literal = literal_scalar(module->arena, shape->dtype, factor);
  uint32_t scalar = comp_add(module, comp, OP_CONSTANT, (Str){0}, literal->shape, NULL, 0), splat = scalar;
  comp_instr(module, comp, scalar)->literal = literal;
  if (shape->rank != 0) {
    splat = comp_add(module, comp, OP_BROADCAST, (Str){0}, shape, &scalar, 1);
    instr_set_ints(module, comp_instr(module, comp, splat), ATTR_dimensions, NULL, 0);
  }
  static const AttrId of_collectives[] = {ATTR_channel_id, ATTR_replica_groups, ATTR_use_global_device_ids,
                                          ATTR_to_apply, ATTR_constrain_layout};
  Instr *instr = comp_instr(module, comp, at);
  for (size_t i = 0; i < sizeof of_collectives / sizeof *of_collectives; i++)
    instr_unset(instr, of_collectives[i]);
  uint32_t operands[] = {instr->operands.at[0], splat};
  instr->operands = (Ids){arena_copy(module->arena, operands, sizeof operands), 2};
  instr->op = OP_MULTIPLY;
}

static void multiply_equal_in(Arena *scratch, Module *module, uint32_t comp) {
  uint32_t n = module_comp(module, comp)->instrs.n;
  bool *same = ARENA_ARRAY(scratch, bool, n + 1), changed = false;
  for (uint32_t i = 0; i < n; i++) {
    const Instr *instr = comp_instr(module, comp, i);
    same[i] = is_same_everywhere(instr, same);
    uint32_t summands = equal_summands(scratch, module, instr, same);
    if (summands == 0) continue;
    multiply(module, comp, i, summands);
    same[i] = changed = true;
  }
  if (changed) comp_order(module, comp);
}

static void simplify_in(Arena *scratch, const Module *module, Comp *comp) {
  uint32_t n = comp->instrs.n, *as = ARENA_ARRAY(scratch, uint32_t, n + 1);
  bool *same = ARENA_ARRAY(scratch, bool, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    Ids operands = comp->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++) operands.at[k] = as[operands.at[k]];
    same[i] = is_same_everywhere(&comp->instrs.at[i], same);
    as[i] = changes_nothing(scratch, module, &comp->instrs.at[i], same) ? operands.at[0] : i;
  }
}

void simplify_collectives(Partitioned *partitioned) {
  Arena *scratch = arena_new();
  Module *module = partitioned->module;
  for (uint32_t c = 0; c < module->comps.n; c++) {
    multiply_equal_in(scratch, module, c);
    simplify_in(scratch, module, module_comp(module, c));
  }
  arena_free(scratch);
}

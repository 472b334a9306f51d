/* Drops collectives that change nothing. In: any partitioned program. Out: the users of a collective in
 * groups of one, or of the largest of values that are the same on all devices, take its operand. Source:
 * XLA's AllReduceSimplifier. */
#include "sim/partition/clean_collectives.h"

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
  for (uint32_t c = 0; c < module->comps.n; c++) simplify_in(scratch, module, module_comp(module, c));
  arena_free(scratch);
}

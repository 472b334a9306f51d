/* Carried gathers. In: a program for one device, not scheduled yet; out: its all-gathers that need a copy of
 * what they send.
 *
 * The one idea: the TPU compiler lets the kernels of products carry on an all-gather. Its operand and its
 * result go through each of these kernels in place, as if they wrote over both. No kernel may write over a
 * parameter, so a shard that is one is copied first (XLA's asynchronous collective fusion, and its copy
 * insertion). A gather that the first product waits for runs alone, and reads the parameter as it is. */
#include "sim/schedule/carried_gathers.h"

#include "models/cost.h"
#include "sim/schedule/fuse.h"

static bool sends_parameter(const Module *module, const Comp *entry, const Instr *gather) {
  const Instr *sent = &entry->instrs.at[gather->operands.at[0]];
  while (is_alias(module, module->entry, sent)) sent = &entry->instrs.at[sent->operands.at[0]];
  return gather->operands.n == 1 && sent->op == OP_PARAMETER;
}

/* By instruction: the first that uses it; NO_ID: none. */
static uint32_t *first_users(Arena *arena, const Comp *entry) {
  uint32_t *first = ARENA_ARRAY(arena, uint32_t, entry->instrs.n);
  for (uint32_t i = 0; i < entry->instrs.n; i++) first[i] = NO_ID;
  for (uint32_t i = entry->instrs.n; i-- > 0;) {
    Ids operands = entry->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++) first[operands.at[k]] = i;
  }
  return first;
}

const bool *carried_gathers(Arena *arena, const Module *module) {
  const Comp *entry = module_entry(module);
  uint32_t first_product = 0, found = 0;
  while (first_product < entry->instrs.n && op_cost(entry->instrs.at[first_product].op) != COST_MXU)
    first_product++;
  bool *carried = ARENA_ARRAY(arena, bool, entry->instrs.n);
  const uint32_t *first_user = first_users(arena, entry);
  for (uint32_t i = 0; i < entry->instrs.n; i++) {
    const Instr *instr = &entry->instrs.at[i];
    bool beside_product = first_user[i] != NO_ID && first_product < first_user[i];
    carried[i] = instr->op == OP_ALL_GATHER && beside_product && sends_parameter(module, entry, instr);
    found += carried[i];
  }
  return found > 0 ? carried : NULL;
}

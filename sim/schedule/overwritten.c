/* Parameters that are written over. In: a program for one device, not scheduled yet; out: its updates in
 * place that need a copy of what they update.
 *
 * The one idea: a scatter or a dynamic-update-slice writes into its first operand. Where that is a parameter
 * that the caller did not give up, or that is read afterwards, it is copied first (XLA's copy insertion). */
#include "sim/schedule/overwritten.h"

#include "sim/schedule/fuse.h"

typedef struct {
  uint32_t *named;     /* by instruction: what it is a name of; itself */
  uint32_t *last_read; /* by what is named: the last instruction that uses it */
} Uses;

static Uses uses_of(Arena *arena, const Module *module) {
  const Comp *entry = module_entry(module);
  uint32_t n = entry->instrs.n;
  Uses uses = {ARENA_ARRAY(arena, uint32_t, n), ARENA_ARRAY(arena, uint32_t, n)};
  for (uint32_t i = 0; i < n; i++) {
    const Instr *instr = &entry->instrs.at[i];
    uses.named[i] = is_alias(module, module->entry, instr) ? uses.named[instr->operands.at[0]] : i;
    for (uint32_t k = 0; k < instr->operands.n; k++) uses.last_read[uses.named[instr->operands.at[k]]] = i;
  }
  return uses;
}

const bool *overwritten_parameters(Arena *arena, const Module *module) {
  const Comp *entry = module_entry(module);
  const bool *donated = module_donated(arena, module);
  bool *overwrites = NULL;
  Uses uses = uses_of(arena, module);
  for (uint32_t i = 0; i < entry->instrs.n; i++) {
    const Instr *instr = &entry->instrs.at[i];
    if (instr->op != OP_SCATTER && instr->op != OP_DYNAMIC_UPDATE_SLICE) continue;
    uint32_t into = uses.named[instr->operands.at[0]];
    const Instr *parameter = &entry->instrs.at[into];
    if (parameter->op != OP_PARAMETER || instr->on_host) continue;
    if (donated[parameter->parameter] && uses.last_read[into] <= i) continue;
    if (overwrites == NULL) overwrites = ARENA_ARRAY(arena, bool, entry->instrs.n);
    overwrites[i] = true;
  }
  return overwrites;
}

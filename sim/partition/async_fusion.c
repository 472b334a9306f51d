/* Asynchronous collective fusions of the TPU compiler. In: a scheduled program where a fusion that ends in
 * AsyncCollectiveStart begins an all-gather, fusions beside it compute while it goes on (and name it again,
 * since each drives a part of it), and one that ends in AsyncCollectiveDone waits for it. Out: the same as
 * all-gather-start and all-gather-done; the fusions between only compute, and hand on its buffer. A start
 * whose end is not in the same computation is left as it is. Source: what the compiler prints for v5e. */
#include "sim/partition/async_fusion.h"

#include "sim/ir/clean.h"

typedef struct {
  Module *module;
  Arena *scratch;
} Split;

/* The collective of a fusion whose computation ends in this custom call, and its operand; NULL for any other
 * instruction. */
static const Instr *marked_collective(const Module *module, const Instr *fusion, const char *target) {
  uint32_t comp = fusion->op == OP_FUSION ? instr_comp(fusion, ATTR_calls) : NO_ID;
  if (comp == NO_ID) return NULL;
  const Comp *callee = module_comp(module, comp);
  const Instr *root = &callee->instrs.at[callee->root];
  if (root->op != OP_CUSTOM_CALL || !str_is(instr_custom_call_target(root), target)) return NULL;
  for (uint32_t k = 0; k < root->operands.n; k++) {
    const Instr *operand = &callee->instrs.at[root->operands.at[k]];
    if (operand->op == OP_ALL_GATHER && operand->operands.n == 1) return operand;
  }
  return NULL;
}

static int64_t channel_of(const Instr *collective) {
  return instr_int(collective, ATTR_channel_id, -1);
}

/* The instruction of the caller that the collective gathers; NO_ID where that is no plain parameter. */
static uint32_t gathered(const Module *module, const Instr *fusion, const Instr *collective) {
  const Comp *callee = module_comp(module, instr_comp(fusion, ATTR_calls));
  const Instr *operand = &callee->instrs.at[collective->operands.at[0]];
  return operand->op == OP_PARAMETER ? fusion->operands.at[operand->parameter] : NO_ID;
}

/* Whether the fusion gives what an all-gather-start gives: operand, result and what belongs to the device,
 * all taken one by one. */
static bool may_start(const Split *split, const Comp *comp, uint32_t at, const Instr *collective) {
  const Instr *fusion = &comp->instrs.at[at];
  uint32_t operand = gathered(split->module, fusion, collective);
  if (operand == NO_ID || !shape_is_tuple(fusion->shape) || fusion->shape->rank < 2) return false;
  if (!shape_eq(fusion->shape->parts[0], comp->instrs.at[operand].shape) ||
      !shape_eq(fusion->shape->parts[1], collective->shape) || comp->root == at)
    return false;
  for (uint32_t i = at + 1; i < comp->instrs.n; i++) {
    const Instr *user = &comp->instrs.at[i];
    for (uint32_t k = 0; k < user->operands.n; k++) {
      if (user->operands.at[k] == at && user->op != OP_GET_TUPLE_ELEMENT) return false;
    }
  }
  return true;
}

/* The end of what begins at `start`; NO_ID where it is not in this computation. */
static uint32_t find_done(const Split *split, const Comp *comp, uint32_t start, int64_t channel) {
  for (uint32_t i = start + 1; i < comp->instrs.n; i++) {
    const Instr *instr = &comp->instrs.at[i];
    const Instr *again = marked_collective(split->module, instr, "AsyncCollectiveStart");
    if (again != NULL && channel_of(again) == channel) return NO_ID;
    const Instr *done = marked_collective(split->module, instr, "AsyncCollectiveDone");
    if (done != NULL && channel_of(done) == channel) return shape_eq(done->shape, instr->shape) ? i : NO_ID;
  }
  return NO_ID;
}

/* --- the rewrite, in place --- */

static void become(const Split *split, Instr *instr, Opcode op, const uint32_t *operands, uint32_t n) {
  instr->op = op;
  instr->operands.at = n == 0 ? NULL : arena_copy(split->module->arena, operands, n * sizeof *operands);
  instr->operands.n = n;
  instr->attrs = NULL;
  instr->n_attrs = 0;
}

/* Another name for an instruction before it. */
static void become_alias(const Split *split, Comp *comp, uint32_t at, uint32_t of) {
  become(split, &comp->instrs.at[at], OP_BITCAST, &of, 1);
  comp->instrs.at[at].shape = comp->instrs.at[of].shape;
}

/* Room that nobody has written to. */
static void become_buffer(const Split *split, Instr *instr) {
  become(split, instr, OP_CUSTOM_CALL, NULL, 0);
  instr_set_word(split->module, instr, ATTR_custom_call_target, STR("AllocateBuffer"));
}

/* The start; what was taken of it is the operand itself, or room. */
static void become_start(const Split *split, Comp *comp, uint32_t at, const Instr *collective) {
  uint32_t operand = gathered(split->module, &comp->instrs.at[at], collective);
  Instr *start = &comp->instrs.at[at];
  become(split, start, OP_ALL_GATHER_START, &operand, 1);
  start->origin = collective->origin;
  for (uint32_t i = 0; i < collective->n_attrs; i++)
    instr_set_shared(split->module, start, collective->attrs[i]);
  for (uint32_t i = at + 1; i < comp->instrs.n; i++) {
    Instr *user = &comp->instrs.at[i];
    if (user->op != OP_GET_TUPLE_ELEMENT || user->operands.at[0] != at) continue;
    if (instr_int(user, ATTR_index, 0) == 0)
      become_alias(split, comp, i, operand);
    else
      become_buffer(split, user);
  }
}

/* In a fusion that computes meanwhile, the buffer in place of the collective: a parameter that the fusion
 * hands on. */
static void hand_on_buffer(const Split *split, Comp *comp, uint32_t at) {
  Instr *collective = &comp->instrs.at[at];
  const Ids results = comp->instrs.at[comp->root].operands;
  for (uint32_t k = 0; k < results.n; k++) {
    const Instr *result = &comp->instrs.at[results.at[k]];
    if (result->op != OP_PARAMETER || results.at[k] >= at || !shape_eq(result->shape, collective->shape))
      continue;
    become_alias(split, comp, at, results.at[k]);
    return;
  }
  become_buffer(split, collective);
}

/* Whether only the root, a tuple, takes the instruction. */
static bool is_handed_out(const Comp *comp, uint32_t at) {
  if (comp->instrs.at[comp->root].op != OP_TUPLE) return false;
  for (uint32_t i = at + 1; i < comp->instrs.n; i++) {
    const Instr *user = &comp->instrs.at[i];
    for (uint32_t k = 0; k < user->operands.n; k++) {
      if (user->operands.at[k] == at && i != comp->root) return false;
    }
  }
  return true;
}

/* What fusions name again of the collectives of `channels`. */
static void silence(const Split *split, const bool *fused, const int64_t *channels, uint32_t n) {
  for (uint32_t c = 0; c < split->module->comps.n; c++) {
    Comp *comp = module_comp(split->module, c);
    for (uint32_t i = 0; fused[c] && i < comp->instrs.n; i++) {
      const Instr *instr = &comp->instrs.at[i];
      if (instr->op != OP_ALL_GATHER || !is_handed_out(comp, i)) continue;
      for (uint32_t k = 0; k < n; k++) {
        if (channels[k] != channel_of(instr)) continue;
        hand_on_buffer(split, comp, i);
        break;
      }
    }
  }
}

static bool *fused_comps(const Split *split) {
  bool *fused = ARENA_ARRAY(split->scratch, bool, split->module->comps.n);
  for (uint32_t c = 0; c < split->module->comps.n; c++) {
    const Comp *comp = module_comp(split->module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      uint32_t callee =
          comp->instrs.at[i].op == OP_FUSION ? instr_comp(&comp->instrs.at[i], ATTR_calls) : NO_ID;
      if (callee != NO_ID) fused[callee] = true;
    }
  }
  return fused;
}

void module_split_async_fusions(Module *module) {
  if (!module_is_scheduled(module)) return;
  Split split = {module, arena_new()};
  Vec(int64_t) channels = {0};
  for (uint32_t c = 0; c < module->comps.n; c++) {
    Comp *comp = module_comp(module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      const Instr *collective = marked_collective(module, &comp->instrs.at[i], "AsyncCollectiveStart");
      if (collective == NULL || !may_start(&split, comp, i, collective)) continue;
      uint32_t done = find_done(&split, comp, i, channel_of(collective));
      if (done == NO_ID) continue;
      become_start(&split, comp, i, collective);
      become(&split, &comp->instrs.at[done], OP_ALL_GATHER_DONE, &i, 1);
      VEC_PUSH(split.scratch, &channels, channel_of(collective));
    }
  }
  if (channels.n != 0) {
    silence(&split, fused_comps(&split), channels.at, channels.n);
    module_compact(module);
  }
  arena_free(split.scratch);
}

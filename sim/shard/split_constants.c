/* Constants of their own for every use. A constant, an iota, or what is computed of such alone costs nothing
 * to have twice; shared, it would couple the shardings of values that have nothing to do with each other
 * (shardy: constant-or-scalar-splitter). */
#include "sim/shard/propagate.h"

/* Bounds on what splitting may grow a program to. */
enum { DEEPEST_CONSTANT = 500, MOST_COPIES = 1 << 20 };

typedef struct {
  Module *module;
  Arena *scratch;
  uint32_t comp;
  Comp old;
  uint32_t *depth;            /* of a constant expression: 1 and more; 0 for all else */
  bool *expansion;            /* a broadcast of a scalar */
  uint32_t *placed;           /* where an old instruction stands now; NO_ID where not yet */
  uint32_t *copied, *copy_of; /* for which use, and where */
  uint32_t use, n_copies;
} Split;

static bool is_scalar(const Split *split, uint32_t at) {
  return shape_is_scalar(split->old.instrs.at[at].shape);
}

static bool keeps_constant(const Instr *instr) {
  if (instr->op == OP_CUSTOM_CALL) return str_is(instr_custom_call_target(instr), "Sharding");
  return op_is_elementwise(instr->op) || instr->op == OP_BROADCAST || instr->op == OP_RESHAPE ||
         instr->op == OP_SLICE;
}

static uint32_t depth_of(const Split *split, const Instr *instr) {
  uint32_t deepest = 0;
  if (instr->op == OP_CONSTANT || instr->op == OP_IOTA) return 1;
  if (!keeps_constant(instr) || instr->operands.n == 0) return 0;
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    uint32_t depth = split->depth[instr->operands.at[k]];
    if (depth == 0) return 0;
    if (depth > deepest) deepest = depth;
  }
  return deepest < DEEPEST_CONSTANT ? deepest + 1 : 0;
}

static void classify(Split *split) {
  for (uint32_t i = 0; i < split->old.instrs.n; i++) {
    const Instr *instr = &split->old.instrs.at[i];
    split->depth[i] = depth_of(split, instr);
    split->expansion[i] = instr->op == OP_BROADCAST && is_scalar(split, instr->operands.at[0]);
    split->placed[i] = split->copied[i] = NO_ID;
  }
}

/* Stands only where it is used, once for each use. */
static bool is_split(const Split *split, uint32_t at) {
  return (split->depth[at] != 0 || split->expansion[at]) && !is_scalar(split, at);
}

static uint32_t place(Split *split, uint32_t at, const uint32_t *operands) {
  const Instr *instr = &split->old.instrs.at[at];
  return comp_add_like(split->module, split->comp, instr, operands, instr->operands.n);
}

static uint32_t *operand_room(const Split *split, uint32_t at) {
  return ARENA_ARRAY(split->scratch, uint32_t, split->old.instrs.at[at].operands.n + 1);
}

/* Instruction `at` with all that it is computed of, anew for this use; scalars are shared, as nothing shards
 * them. */
static uint32_t copy_for_use(Split *split, uint32_t at) {
  if (!is_split(split, at)) return split->placed[at];
  if (split->copied[at] == split->use) return split->copy_of[at];
  if (split->n_copies >= MOST_COPIES && split->placed[at] != NO_ID) return split->placed[at];
  const Instr *instr = &split->old.instrs.at[at];
  uint32_t *operands = operand_room(split, at);
  for (uint32_t k = 0; k < instr->operands.n; k++) operands[k] = copy_for_use(split, instr->operands.at[k]);
  uint32_t made = place(split, at, operands);
  split->n_copies += split->placed[at] != NO_ID;
  split->placed[at] = split->copy_of[at] = made;
  split->copied[at] = split->use;
  return made;
}

static void rebuild(Split *split, Comp *comp) {
  comp->instrs.at = NULL;
  comp->instrs.n = comp->instrs.cap = 0;
  comp->names = map_new(split->module->arena);
  for (uint32_t i = 0; i < split->old.instrs.n; i++) {
    const Instr *instr = &split->old.instrs.at[i];
    if (is_split(split, i)) continue;
    uint32_t *operands = operand_room(split, i);
    for (uint32_t k = 0; k < instr->operands.n; k++, split->use++)
      operands[k] = copy_for_use(split, instr->operands.at[k]);
    split->placed[i] = place(split, i, operands);
  }
  comp->root = copy_for_use(split, split->old.root);
}

static void split_comp(Module *module, uint32_t index) {
  Comp *comp = module_comp(module, index);
  uint32_t n = comp->instrs.n + 1;
  Arena *scratch = arena_new();
  Split split = {.module = module,
                 .scratch = scratch,
                 .comp = index,
                 .old = *comp,
                 .depth = ARENA_ARRAY(scratch, uint32_t, n),
                 .expansion = ARENA_ARRAY(scratch, bool, n),
                 .placed = ARENA_ARRAY(scratch, uint32_t, n),
                 .copied = ARENA_ARRAY(scratch, uint32_t, n),
                 .copy_of = ARENA_ARRAY(scratch, uint32_t, n)};
  classify(&split);
  rebuild(&split, comp);
  arena_free(scratch);
}

void module_split_constants(Module *flat) {
  for (uint32_t c = 0; c < flat->comps.n; c++) split_comp(flat, c);
}

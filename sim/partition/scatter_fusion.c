/* Reduce-scatters of the TPU compiler. In: a scheduled program where a fusion all-reduces and keeps the slice
 * that the device's place in its group says: `dynamic-slice(all-reduce(x), table[partition-id] * size)`. Out:
 * the same as a reduce-scatter, which is what such a fusion runs on the device. Anything that is not surely
 * that is left. */
#include "sim/partition/scatter_fusion.h"

static const Instr *operand_of(const Comp *comp, const Instr *instr, uint32_t k) {
  return &comp->instrs.at[instr->operands.at[k]];
}

/* The instruction whose value another one has under another shape. */
static const Instr *behind_names(const Comp *comp, const Instr *instr) {
  while (instr->op == OP_BITCAST || instr->op == OP_RESHAPE) instr = operand_of(comp, instr, 0);
  return instr;
}

static bool is_integers(const Instr *instr) {
  return instr->op == OP_CONSTANT && !instr->literal->elided && dtype_is_integer(instr->shape->dtype) &&
         dtype_bytes(instr->shape->dtype) == 4;
}

static int64_t integer_at(const Instr *constant, int64_t at) {
  return ((const int32_t *)constant->literal->data)[at];
}

/* A start that is a constant of the device: table[partition-id] * factor. */
typedef struct {
  const Instr *table;
  int64_t factor;
} Start;

static bool read_start(const Comp *comp, const Instr *instr, Start *start) {
  instr = behind_names(comp, instr);
  start->factor = 1;
  for (uint32_t k = 0; instr->op == OP_MULTIPLY && k < 2; k++) {
    const Instr *factor = operand_of(comp, instr, k);
    if (!is_integers(factor) || factor->shape->rank != 0) continue;
    start->factor = integer_at(factor, 0);
    instr = behind_names(comp, operand_of(comp, instr, 1 - k));
    break;
  }
  if (instr->op != OP_DYNAMIC_SLICE || instr->operands.n != 2) return false;
  start->table = operand_of(comp, instr, 0);
  return is_integers(start->table) && start->table->shape->rank == 1 &&
         operand_of(comp, instr, 1)->op == OP_PARTITION_ID;
}

/* The one dimension that the slice cuts; the rank where there is another number of them. */
static uint32_t cut_dimension(const Shape *whole, const Shape *slice) {
  uint32_t cut = whole->rank;
  for (uint32_t d = 0; d < whole->rank; d++) {
    if (whole->dims[d] == slice->dims[d]) continue;
    if (cut != whole->rank) return whole->rank;
    cut = d;
  }
  return cut;
}

/* Whether each device keeps the part of its place in its group, and the parts are all of the dimension. */
static bool keeps_its_part(const Module *module, Arena *scratch, const Instr *reduce, Start start,
                           int64_t size, int64_t whole) {
  int64_t devices = module->num_partitions;
  if (module->replica_count != 1 || start.table->shape->dims[0] != devices) return false;
  GroupList groups = instr_groups(scratch, reduce, (uint32_t)devices);
  for (uint32_t g = 0; g < groups.n; g++) {
    uint32_t first = groups.start[g], n = groups.start[g + 1] - first;
    if (size * n != whole) return false;
    for (uint32_t i = 0; i < n; i++)
      if (integer_at(start.table, groups.ids[first + i]) * start.factor != size * i) return false;
  }
  return groups.n != 0;
}

static bool is_used_once(Arena *scratch, const Comp *comp, uint32_t at) {
  return comp_use_counts(scratch, comp)[at] == 1;
}

/* The dimension that the computation reduce-scatters; NO_ID where it does something else. */
static uint32_t scattered_dimension(const Module *module, Arena *scratch, const Comp *comp) {
  const Instr *slice = &comp->instrs.at[comp->root];
  if (slice->op != OP_DYNAMIC_SLICE) return NO_ID;
  const Instr *reduce = operand_of(comp, slice, 0);
  if (reduce->op != OP_ALL_REDUCE || reduce->operands.n != 1 ||
      !instr_flag(reduce, ATTR_use_global_device_ids))
    return NO_ID;
  uint32_t d = cut_dimension(reduce->shape, slice->shape);
  Start start;
  if (d == reduce->shape->rank || slice->operands.n != 1 + reduce->shape->rank) return NO_ID;
  if (!is_used_once(scratch, comp, slice->operands.at[0])) return NO_ID;
  if (!read_start(comp, operand_of(comp, slice, 1 + d), &start)) return NO_ID;
  bool whole = keeps_its_part(module, scratch, reduce, start, slice->shape->dims[d], reduce->shape->dims[d]);
  return whole ? d : NO_ID;
}

static void become_scatter(Module *module, Comp *comp, uint32_t dimension) {
  Instr *slice = &comp->instrs.at[comp->root], *reduce = &comp->instrs.at[slice->operands.at[0]];
  reduce->op = OP_REDUCE_SCATTER;
  reduce->shape = slice->shape;
  instr_set_ints(module, reduce, ATTR_dimensions, &(int64_t){dimension}, 1);
  slice->op = OP_BITCAST;
  slice->operands.n = 1;
  slice->n_attrs = 0;
}

void module_join_scatter_fusions(Module *module) {
  if (!module_is_scheduled(module)) return;
  Arena *scratch = arena_new();
  for (uint32_t c = 0; c < module->comps.n; c++) {
    Comp *comp = module_comp(module, c);
    uint32_t dimension = scattered_dimension(module, scratch, comp);
    if (dimension != NO_ID) become_scatter(module, comp, dimension);
  }
  arena_free(scratch);
}

/* Sums collectives that are sums themselves. In: a partitioned program. Out: of an all-reduce of an
 * all-reduce one over both their groups; of the sum of two all-reduces (or reduce-scatters) over the same
 * groups, one of the sum. Sums are then made in another order. Source: XLA's AllReduceFolder and
 * AllReduceReassociate. */
#include "sim/partition/clean_collectives.h"

#include "sim/ir/clean.h"

typedef struct {
  Module *module;
  Arena *scratch;
  Comp *comp;
  uint32_t *uses;
} Sums;

static Instr *at(const Sums *sums, uint32_t i) {
  return &sums->comp->instrs.at[i];
}

/* The op that a collective of one array combines with; OP_COUNT: none, or an unknown one. */
static Opcode reduction_of(const Sums *sums, uint32_t i) {
  const Instr *instr = at(sums, i);
  bool reduces = instr->op == OP_ALL_REDUCE || instr->op == OP_REDUCE_SCATTER;
  if (!reduces || instr->operands.n != 1 || !shape_is_array(instr->shape)) return OP_COUNT;
  return comp_binary_op(sums->module, instr_comp(instr, ATTR_to_apply));
}

/* --- all-reduces of all-reduces --- */

/* Which group each device is in; false where one is in none. */
static bool groups_of_devices(const GroupList *groups, uint32_t devices, uint32_t *group_of) {
  for (uint32_t d = 0; d < devices; d++) group_of[d] = NO_ID;
  for (uint32_t g = 0; g < groups->n; g++)
    for (uint32_t k = groups->start[g]; k < groups->start[g + 1]; k++) group_of[groups->ids[k]] = g;
  for (uint32_t d = 0; d < devices; d++)
    if (group_of[d] == NO_ID) return false;
  return true;
}

/* Appends the inner groups of an outer group's members; false where two members share one, and it would count
 * twice, or where a device is in two of the groups so made. */
static bool unite(const GroupList *inner, const uint32_t *inner_of, const uint32_t *members, uint32_t n,
                  bool *taken, GroupList *both) {
  uint32_t end = both->start[both->n];
  for (uint32_t m = 0; m < n; m++) {
    uint32_t g = inner_of[members[m]];
    for (uint32_t k = inner->start[g]; k < inner->start[g + 1]; k++) {
      if (taken[inner->ids[k]]) return false;
      taken[inner->ids[k]] = true;
      both->ids[end++] = inner->ids[k];
    }
  }
  both->start[++both->n] = end;
  return true;
}

/* Whether what the outer groups make of the inner ones' results is one sum over groups of devices. */
static bool groups_united(Arena *scratch, const GroupList *inner, const GroupList *outer, uint32_t devices,
                          GroupList *both) {
  uint32_t *inner_of = ARENA_ARRAY(scratch, uint32_t, devices),
           *outer_of = ARENA_ARRAY(scratch, uint32_t, devices);
  uint32_t *both_of = ARENA_ARRAY(scratch, uint32_t, devices);
  bool *taken = ARENA_ARRAY(scratch, bool, devices);
  *both =
      (GroupList){0, ARENA_ARRAY(scratch, uint32_t, devices + 1), ARENA_ARRAY(scratch, uint32_t, devices)};
  if (!groups_of_devices(inner, devices, inner_of) || !groups_of_devices(outer, devices, outer_of))
    return false;
  for (uint32_t d = 0; d < devices; d++) {
    const uint32_t *members = outer->ids + outer->start[outer_of[d]];
    uint32_t n = outer->start[outer_of[d] + 1] - outer->start[outer_of[d]];
    if (!taken[d] && !unite(inner, inner_of, members, n, taken, both)) return false;
  }
  if (!groups_of_devices(both, devices, both_of)) return false;
  for (uint32_t d = 0; d < devices; d++) { /* each device's own outer group must make the same of it */
    uint32_t g = outer_of[d];
    for (uint32_t k = outer->start[g]; k < outer->start[g + 1]; k++)
      if (both_of[outer->ids[k]] != both_of[d]) return false;
  }
  return true;
}

static void fold(const Sums *sums, uint32_t i) {
  uint32_t inner = at(sums, i)->operands.at[0];
  Opcode op = reduction_of(sums, i);
  if (at(sums, i)->op != OP_ALL_REDUCE || at(sums, inner)->op != OP_ALL_REDUCE || op == OP_COUNT ||
      reduction_of(sums, inner) != op || sums->uses[inner] != 1)
    return;
  bool global = instr_flag(at(sums, i), ATTR_use_global_device_ids) &&
                instr_flag(at(sums, inner), ATTR_use_global_device_ids);
  uint32_t devices = (uint32_t)(sums->module->num_partitions * sums->module->replica_count);
  GroupList of_inner = instr_groups(sums->scratch, at(sums, inner), devices);
  GroupList of_outer = instr_groups(sums->scratch, at(sums, i), devices), both;
  if (!global || !groups_united(sums->scratch, &of_inner, &of_outer, devices, &both)) return;
  instr_set_groups(sums->module, at(sums, i), &both);
  at(sums, i)->operands.at[0] = at(sums, inner)->operands.at[0];
}

/* --- sums of all-reduces --- */

/* Whether op(all a, all b) = all op(a, b). */
static bool distributes(Opcode op, Opcode reduction) {
  if (op == OP_SUBTRACT) return reduction == OP_ADD;
  return op == reduction && (op == OP_ADD || op == OP_MAXIMUM || op == OP_MINIMUM);
}

/* Where the two are in the program, the later one makes room for the op and the op for the collective. */
static void reassociate(const Sums *sums, uint32_t i) {
  const Instr *instr = at(sums, i);
  if (instr->operands.n != 2 || instr->operands.at[0] == instr->operands.at[1]) return;
  uint32_t a = instr->operands.at[0], b = instr->operands.at[1], late = a > b ? a : b;
  Opcode reduction = reduction_of(sums, a);
  if (reduction == OP_COUNT || !distributes(instr->op, reduction) || at(sums, a)->op != at(sums, b)->op ||
      reduction_of(sums, b) != reduction || sums->uses[a] != 1 || sums->uses[b] != 1 ||
      instr->shape->dtype != at(sums, a)->shape->dtype ||
      !instr_same_attrs(sums->module, at(sums, a), at(sums, b)))
    return;
  uint32_t x = at(sums, a)->operands.at[0], y = at(sums, b)->operands.at[0];
  Instr op = *instr, collective = *at(sums, late);
  const Attr *sharding = instr_attr(instr, ATTR_sharding);
  op.shape = at(sums, x)->shape;
  op.operands = (Ids){arena_copy(sums->module->arena, (uint32_t[]){x, y}, 2 * sizeof x), 2};
  collective.operands = (Ids){arena_copy(sums->module->arena, &late, sizeof late), 1};
  if (sharding != NULL) instr_set_shared(sums->module, &collective, *sharding);
  instr_unset(&op, ATTR_sharding);
  *at(sums, late) = op;
  *at(sums, i) = collective;
  map_put(sums->comp->names, op.name, late);
  map_put(sums->comp->names, collective.name, i);
}

void reassociate_collectives(Partitioned *partitioned) {
  Sums sums = {.module = partitioned->module, .scratch = arena_new()};
  for (uint32_t c = 0; c < sums.module->comps.n; c++) {
    sums.comp = module_comp(sums.module, c);
    sums.uses = comp_use_counts(sums.scratch, sums.comp);
    for (uint32_t i = 0; i < sums.comp->instrs.n; i++) {
      if (reduction_of(&sums, i) != OP_COUNT)
        fold(&sums, i);
      else
        reassociate(&sums, i);
    }
  }
  arena_free(sums.scratch);
}

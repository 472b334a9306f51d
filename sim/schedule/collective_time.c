/* Expected times. In: a collective and the pod; out: picoseconds and torus axes.
 *
 * The one idea: a group whose chips are a product of coordinates has the closed form of that segment
 * (models/ici_model.h); any other counts as a ring. The engine plans with more care: this is for the order of
 * a program alone. */
#include "sim/schedule/collective_time.h"

#include "models/ici_model.h"
#include "sim/ir/device_groups.h"

static CollectiveKind kind_of(Opcode op) {
  switch (op) {
  case OP_ALL_GATHER: return COLLECTIVE_ALL_GATHER;
  case OP_REDUCE_SCATTER: return COLLECTIVE_REDUCE_SCATTER;
  case OP_ALL_TO_ALL: return COLLECTIVE_ALL_TO_ALL;
  case OP_COLLECTIVE_PERMUTE: return COLLECTIVE_PERMUTE;
  case OP_COLLECTIVE_BROADCAST: return COLLECTIVE_BROADCAST;
  default: return COLLECTIVE_ALL_REDUCE;
  }
}

/* The first group's devices that are chips of the pod, or the ends of the first permute. */
static Ids members_of(Arena *arena, const Pod *pod, const Module *module, const Instr *instr) {
  Pairs pairs = instr_pairs(instr);
  int64_t devices = module->num_partitions * module->replica_count;
  Ids all = {ARENA_ARRAY(arena, uint32_t, pod->n_chips + 2), 0};
  if (instr->op == OP_COLLECTIVE_PERMUTE) {
    int64_t ends[2] = {pairs.n > 0 ? pairs.at[0].source : 0, pairs.n > 0 ? pairs.at[0].target : 0};
    for (uint32_t i = 0; i < 2; i++)
      if (ends[i] < pod->n_chips) all.at[all.n++] = (uint32_t)ends[i];
    return all;
  }
  if (devices > pod->n_chips) return all;
  GroupList groups = collective_groups_or_none(arena, module, instr, (uint32_t)devices);
  for (uint32_t i = 0; groups.n > 0 && i < groups.start[1]; i++)
    if (groups.ids[i] < pod->n_chips) all.at[all.n++] = groups.ids[i];
  return all;
}

static int64_t slices_of(Arena *arena, const Pod *pod, Ids members) {
  bool *used = ARENA_ARRAY(arena, bool, pod->slices);
  int64_t n = 0;
  for (uint32_t i = 0; i < members.n; i++) {
    n += !used[pod_slice(pod, members.at[i])];
    used[pod_slice(pod, members.at[i])] = true;
  }
  return n;
}

static GroupShape shape_of(Arena *arena, const Pod *pod, Ids members, uint32_t *axes) {
  GroupShape shape = {.members = members.n};
  int64_t product = 1;
  *axes = 0;
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    bool *used = ARENA_ARRAY(arena, bool, pod->shape[axis]);
    int64_t length = 0, at[POD_AXES];
    for (uint32_t i = 0; i < members.n; i++) {
      pod_coordinates(pod, members.at[i], at);
      length += !used[at[axis]];
      used[at[axis]] = true;
    }
    if (length < 2) continue;
    *axes |= 1U << axis;
    shape.length[shape.n_axes] = length;
    shape.wrap[shape.n_axes++] = length == pod->shape[axis] && pod->wrap[axis];
    product *= length;
  }
  shape.slices = slices_of(arena, pod, members);
  if (product * shape.slices != members.n) shape.n_axes = 0;
  return shape;
}

/* Of all operands together the larger of what goes in and what comes out. */
static double payload_bytes(const Module *module, uint32_t comp, const Instr *instr) {
  int64_t in = 0, out = shape_bytes(instr->shape);
  for (uint32_t i = 0; i < instr->operands.n; i++)
    in += shape_bytes(comp_instr(module, comp, instr->operands.at[i])->shape);
  return (double)(in > out ? in : out);
}

/* A permute goes one way where device 0 has its source on the other side. */
static uint32_t ways_of(const Instr *instr) {
  Pairs pairs = instr_pairs(instr);
  int64_t target = -1, source = -1;
  if (instr->op != OP_COLLECTIVE_PERMUTE) return 3;
  for (uint32_t i = 0; i < pairs.n; i++) {
    if (pairs.at[i].source == 0) target = pairs.at[i].target;
    if (pairs.at[i].target == 0) source = pairs.at[i].source;
  }
  return target > source ? 1 : 2;
}

CollectiveTime collective_time(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  Arena *scratch = arena_new();
  CollectiveTime time = {.ways = ways_of(instr)};
  CollectiveKind kind = kind_of(instr->op);
  Ids members = members_of(scratch, pod, module, instr);
  GroupShape shape = shape_of(scratch, pod, members, &time.axes);
  time.ps = 1e12 * collective_expected_seconds(pod, kind, shape, payload_bytes(module, comp, instr));
  arena_free(scratch);
  return time;
}

/* Reduce-scatters from all-reduces of which each device takes a part. In: dynamic-slice(all-reduce(x), i),
 * where i follows from the device and nobody else needs the sum. Out: a reduce-scatter; where several devices
 * take the same part, an all-reduce of the parts behind it. Source: XLA's ReduceScatterCreator. */
#include "sim/partition/clean_collectives.h"

#include "sim/ir/clean.h"
#include "sim/partition/device_scalar.h"

typedef struct {
  Partitioned *out;
  Module *module;
  Arena *scratch;
  uint32_t comp, devices;
  uint32_t *uses;
} Scatter;

/* How the parts lie: in a group of the all-reduce `parts` of them, each taken by `alike` devices. */
typedef struct {
  uint32_t dim, parts, alike;
  GroupList scattered, reduced; /* groups of the reduce-scatter; of the all-reduce behind it */
} Parts;

static Instr *at(const Scatter *scatter, uint32_t i) {
  return comp_instr(scatter->module, scatter->comp, i);
}

static bool is_sum(const Scatter *scatter, uint32_t i) {
  const Instr *instr = at(scatter, i);
  return instr->op == OP_ALL_REDUCE && instr->operands.n == 1 && shape_is_array(instr->shape) &&
         scatter->uses[i] == 1 && instr_flag(instr, ATTR_use_global_device_ids) &&
         comp_binary_op(scatter->module, instr_comp(instr, ATTR_to_apply)) == OP_ADD;
}

/* The one dimension of which the slice takes a part, in equal parts; false where there is another. */
static bool cut_dimension(const Scatter *scatter, const Instr *slice, Parts *parts) {
  const Shape *whole = at(scatter, slice->operands.at[0])->shape;
  uint32_t cut = 0;
  for (uint32_t d = 0; d < whole->rank; d++) {
    if (slice->shape->dims[d] == whole->dims[d]) continue;
    if (slice->shape->dims[d] == 0 || whole->dims[d] % slice->shape->dims[d] != 0) return false;
    parts->dim = d;
    parts->parts = (uint32_t)(whole->dims[d] / slice->shape->dims[d]);
    cut++;
  }
  return cut == 1;
}

/* Sorts the members of a group by the part that they take: round r of the reduce-scatter has, for each part,
 * the r-th device that takes it. */
static bool divide_group(Parts *parts, const uint32_t *members, uint32_t n, const int64_t *part_of) {
  parts->alike = n / parts->parts;
  if (n % parts->parts != 0 || parts->alike == 0) return false;
  uint32_t first = parts->scattered.start[parts->scattered.n], found = 0;
  for (uint32_t p = 0; p < parts->parts; p++) {
    uint32_t round = 0;
    for (uint32_t m = 0; m < n; m++) {
      if (part_of[members[m]] != p) continue;
      if (round == parts->alike) return false;
      parts->scattered.ids[first + round * parts->parts + p] = members[m];
      parts->reduced.ids[first + p * parts->alike + round] = members[m];
      round++;
    }
    found += round;
    if (round != parts->alike) return false;
  }
  for (uint32_t r = 0; r < parts->alike; r++, parts->scattered.n++)
    parts->scattered.start[parts->scattered.n + 1] = first + (r + 1) * parts->parts;
  for (uint32_t p = 0; p < parts->parts; p++, parts->reduced.n++)
    parts->reduced.start[parts->reduced.n + 1] = first + (p + 1) * parts->alike;
  return found == n;
}

static GroupList groups_new(const Scatter *scatter) {
  uint32_t n = scatter->devices + 1;
  return (GroupList){0, ARENA_ARRAY(scatter->scratch, uint32_t, n),
                     ARENA_ARRAY(scatter->scratch, uint32_t, n)};
}

/* Which part each device takes, and the groups that come of it. */
static bool find_parts(const Scatter *scatter, const Instr *slice, Parts *parts) {
  if (!cut_dimension(scatter, slice, parts)) return false;
  int64_t *start = ARENA_ARRAY(scatter->scratch, int64_t, scatter->devices),
          rows = slice->shape->dims[parts->dim];
  if (!device_scalars(scatter->scratch, scatter->module, scatter->comp, slice->operands.at[1 + parts->dim],
                      scatter->devices, start))
    return false;
  for (uint32_t d = 0; d < scatter->devices; d++) {
    if (start[d] < 0 || start[d] % rows != 0) return false;
    start[d] /= rows;
  }
  GroupList groups = instr_groups(scatter->scratch, at(scatter, slice->operands.at[0]), scatter->devices);
  parts->scattered = groups_new(scatter);
  parts->reduced = groups_new(scatter);
  for (uint32_t g = 0; g < groups.n; g++)
    if (!divide_group(parts, groups.ids + groups.start[g], groups.start[g + 1] - groups.start[g], start))
      return false;
  return true;
}

/* The reduce-scatter in place of the all-reduce `sum`, under the slice's name where that is all. */
static Instr scattered_like(const Scatter *scatter, uint32_t sum, const Shape *shape, const Parts *parts) {
  Instr scattered = *at(scatter, sum);
  int64_t dim = parts->dim;
  scattered.attrs =
      arena_copy(scatter->module->arena, scattered.attrs, scattered.n_attrs * sizeof *scattered.attrs);
  scattered.op = OP_REDUCE_SCATTER;
  scattered.shape = shape;
  instr_set_groups(scatter->module, &scattered, &parts->scattered);
  instr_set_ints(scatter->module, &scattered, ATTR_dimensions, &dim, 1);
  return scattered;
}

/* Gives a second collective that comes of one a channel and the first one's reason. */
static void share_reason(const Scatter *scatter, Instr *second) {
  int64_t channel = instr_int(second, ATTR_channel_id, 0);
  if (channel < 1 || channel > scatter->out->reasons.n) return;
  CollectiveReason reason = scatter->out->reasons.at[channel - 1];
  VEC_PUSH(scatter->out->arena, &scatter->out->reasons, reason);
  instr_set_int(scatter->module, second, ATTR_channel_id, scatter->out->reasons.n);
}

/* The slice becomes the reduce-scatter; or the all-reduce of that, which takes the place of the sum. */
static void scatter_sum(const Scatter *scatter, uint32_t i, const Parts *parts) {
  Instr *slice = at(scatter, i);
  uint32_t sum = slice->operands.at[0];
  const Attr *sharding = instr_attr(slice, ATTR_sharding);
  Instr scattered = scattered_like(scatter, sum, slice->shape, parts), last = scattered;
  if (parts->alike > 1) {
    last = *at(scatter, sum);
    last.shape = slice->shape;
    last.operands = (Ids){arena_copy(scatter->module->arena, &sum, sizeof sum), 1};
    instr_set_groups(scatter->module, &last, &parts->reduced);
    share_reason(scatter, &last);
    *at(scatter, sum) = scattered;
  }
  if (sharding != NULL) instr_set_shared(scatter->module, &last, *sharding);
  last.name = slice->name;
  *slice = last;
}

void scatter_collectives(Partitioned *partitioned) {
  Module *module = partitioned->module;
  Scatter scatter = {.out = partitioned, .module = module, .scratch = arena_new()};
  scatter.devices = (uint32_t)module->num_partitions;
  for (scatter.comp = 0; scatter.comp < module->comps.n; scatter.comp++) {
    const Comp *comp = module_comp(module, scatter.comp);
    scatter.uses = comp_use_counts(scatter.scratch, comp);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      Parts parts = {0};
      const Instr *slice = &comp->instrs.at[i];
      if (slice->op == OP_DYNAMIC_SLICE && is_sum(&scatter, slice->operands.at[0]) &&
          find_parts(&scatter, slice, &parts))
        scatter_sum(&scatter, i, &parts);
    }
  }
  arena_free(scatter.scratch);
}

/* Placements: see placement.h. In: shardings of one array. Out: the same told in atoms of the mesh, with a
 * tile a level. */
#include "sim/partition/placement.h"

static bool cut_add(AtomSpace *space, AxisRef atom) {
  if (space->n_atoms == PLACEMENT_ATOMS) return false;
  space->atoms[space->n_atoms++] = atom;
  return true;
}

/* The smallest point above `from` where some axis reference begins or ends; sizes of an axis divide each
 * other. */
static int64_t next_cut(const AxisList *lists, uint32_t n, uint32_t axis, int64_t from, int64_t end) {
  int64_t cut = end;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < lists[i].n; k++) {
      AxisRef ref = lists[i].at[k];
      if (ref.axis != axis) continue;
      int64_t ends[2] = {ref.pre, ref.pre * ref.size};
      for (int e = 0; e < 2; e++)
        if (ends[e] > from && ends[e] < cut && ends[e] % from == 0) cut = ends[e];
    }
  return cut;
}

static bool axis_in_use(const AxisList *lists, uint32_t n, uint32_t axis) {
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < lists[i].n; k++)
      if (lists[i].at[k].axis == axis) return true;
  return false;
}

/* Whether a part of an axis begins, or ends, where an atom does. */
static bool is_whole(const AtomSpace *space, AxisRef ref) {
  bool begins = false, ends = false;
  for (uint32_t a = 0; a < space->n_atoms; a++) {
    AxisRef atom = space->atoms[a];
    if (atom.axis != ref.axis) continue;
    begins = begins || atom.pre == ref.pre;
    ends = ends || atom.pre * atom.size == ref.pre * ref.size;
  }
  return begins && ends;
}

/* False where parts do not fit together: "x":(1)2 and "x":(1)3 of an axis of 6. */
static bool cut_axis(AtomSpace *space, const AxisList *lists, uint32_t n, uint32_t axis) {
  int64_t end = space->mesh->axes[axis].size;
  for (int64_t pre = 1; pre < end;) {
    int64_t next = next_cut(lists, n, axis, pre, end);
    if (!cut_add(space, (AxisRef){axis, pre, next / pre})) return false;
    pre = next;
  }
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < lists[i].n; k++)
      if (lists[i].at[k].axis == axis && lists[i].at[k].size > 1 && !is_whole(space, lists[i].at[k]))
        return false;
  return true;
}

static int64_t gcd(int64_t a, int64_t b) {
  return b == 0 ? a : gcd(b, a % b);
}

typedef Vec(AxisList) Lists;

/* Cuts off the minor part of a dimension's axes by which it has more shards than the other sharding. */
static void add_excess(Arena *scratch, Lists *lists, AxisList axes, int64_t other_shards) {
  int64_t shards = axes_size(axes), excess = shards / gcd(shards, other_shards);
  for (uint32_t i = axes.n; i-- > 0 && excess > 1;) {
    AxisRef axis = axes.at[i];
    int64_t part = gcd(axis.size, excess);
    AxisRef *minor = ARENA_NEW(scratch, AxisRef);
    *minor = (AxisRef){axis.axis, axis.pre * (axis.size / part), part};
    VEC_PUSH(scratch, lists, (AxisList){minor, 1});
    if (part != axis.size) return;
    excess /= part;
  }
}

bool space_cut(AtomSpace *space, const Shape *shape, const Sharding *from, const Sharding *to, bool finer) {
  *space = (AtomSpace){.mesh = from->mesh, .shape = shape};
  Arena *scratch = arena_new();
  Lists lists = {0};
  VEC_PUSH(scratch, &lists, from->unreduced);
  VEC_PUSH(scratch, &lists, to->unreduced);
  for (uint32_t d = 0; d < shape->rank; d++) {
    AxisList a = from->dims[d].axes, b = to->dims[d].axes;
    VEC_PUSH(scratch, &lists, a);
    VEC_PUSH(scratch, &lists, b);
    if (finer) add_excess(scratch, &lists, a, axes_size(b));
    if (finer) add_excess(scratch, &lists, b, axes_size(a));
  }
  bool fits = true;
  for (uint32_t axis = 0; axis < space->mesh->n_axes && fits; axis++)
    if (axis_in_use(lists.at, lists.n, axis)) fits = cut_axis(space, lists.at, lists.n, axis);
  arena_free(scratch);
  return fits;
}

/* The atoms of an axis reference, major first. */
static uint32_t atoms_of(const AtomSpace *space, AxisRef ref, uint8_t *atoms) {
  uint32_t n = 0;
  for (uint32_t a = 0; a < space->n_atoms; a++) {
    AxisRef atom = space->atoms[a];
    if (atom.axis == ref.axis && atom.pre >= ref.pre && atom.pre * atom.size <= ref.pre * ref.size)
      atoms[n++] = (uint8_t)a;
  }
  return n;
}

Placement placement_of(const AtomSpace *space, const Sharding *sharding) {
  Placement placement = {0};
  memset(placement.place, PLACE_REPLICATED, sizeof placement.place);
  uint8_t atoms[PLACEMENT_ATOMS];
  for (uint32_t d = 0; d < sharding->rank; d++) {
    uint32_t n = 0;
    AxisList axes = sharding->dims[d].axes;
    for (uint32_t k = 0; k < axes.n; k++) n += atoms_of(space, axes.at[k], atoms + n);
    placement_push(space, &placement, d, atoms, n);
  }
  for (uint32_t k = 0; k < sharding->unreduced.n; k++) {
    uint32_t n = atoms_of(space, sharding->unreduced.at[k], atoms);
    for (uint32_t i = 0; i < n; i++) placement.place[atoms[i]] = PLACE_UNREDUCED;
  }
  return placement;
}

Levels placement_levels(const AtomSpace *space, const Placement *placement, uint32_t dim) {
  Levels levels = {0};
  for (uint32_t a = 0; a < space->n_atoms; a++)
    if (placement->place[a] == dim) {
      levels.atoms[placement->order[a]] = (uint8_t)a;
      levels.n++;
    }
  return levels;
}

int64_t placement_local_without(const AtomSpace *space, const Placement *placement, const Levels *levels,
                                uint32_t dim, uint32_t drop) {
  return levels->n > drop ? placement->tile[levels->atoms[levels->n - drop - 1]] : space->shape->dims[dim];
}

int64_t placement_local(const AtomSpace *space, const Placement *placement, uint32_t dim) {
  Levels levels = placement_levels(space, placement, dim);
  return placement_local_without(space, placement, &levels, dim, 0);
}

double placement_bytes(const AtomSpace *space, const Placement *placement) {
  double bytes = dtype_bits(space->shape->dtype) / 8.0;
  for (uint32_t d = 0; d < space->shape->rank; d++) bytes *= (double)placement_local(space, placement, d);
  return bytes;
}

void placement_push(const AtomSpace *space, Placement *placement, uint32_t dim, const uint8_t *atoms,
                    uint32_t n) {
  if (n == 0) return;
  Levels levels = placement_levels(space, placement, dim);
  int64_t local = placement_local_without(space, placement, &levels, dim, 0), shards = 1;
  for (uint32_t i = 0; i < n; i++) shards *= space->atoms[atoms[i]].size;
  int64_t tile = (local + shards - 1) / shards;
  for (uint32_t i = n; i-- > 0;) {
    placement->place[atoms[i]] = (uint8_t)dim;
    placement->order[atoms[i]] = (uint8_t)(levels.n + i);
    placement->tile[atoms[i]] = tile;
    tile *= space->atoms[atoms[i]].size;
  }
}

void placement_pop(const AtomSpace *space, Placement *placement, uint32_t dim, uint32_t n) {
  Levels levels = placement_levels(space, placement, dim);
  for (uint32_t i = levels.n - n; i < levels.n; i++) {
    uint8_t atom = levels.atoms[i];
    placement->place[atom] = PLACE_REPLICATED;
    placement->order[atom] = 0;
    placement->tile[atom] = 0;
  }
}

bool levels_uniform(const AtomSpace *space, const Placement *placement, const Levels *levels, uint32_t n) {
  for (uint32_t i = levels->n - n; i + 1 < levels->n; i++) {
    uint8_t major = levels->atoms[i], minor = levels->atoms[i + 1];
    if (placement->tile[major] != placement->tile[minor] * space->atoms[minor].size) return false;
  }
  return true;
}

AxisList atoms_axes(Arena *arena, const AtomSpace *space, const uint8_t *atoms, uint32_t n) {
  AxisList axes = {0};
  for (uint32_t i = 0; i < n; i++) {
    AxisRef atom = space->atoms[atoms[i]];
    axes = axes_concat(arena, space->mesh, axes, (AxisList){&atom, 1});
  }
  return axes;
}

const Sharding *placement_sharding(Arena *arena, const AtomSpace *space, const Placement *placement,
                                   Reduction reduction) {
  const Sharding *sharding = sharding_replicated(arena, space->mesh, space->shape->rank, false);
  for (uint32_t d = 0; d < space->shape->rank; d++) {
    Levels levels = placement_levels(space, placement, d);
    if (levels.n != 0)
      sharding = sharding_with_dim(arena, sharding, d, atoms_axes(arena, space, levels.atoms, levels.n));
  }
  uint8_t unreduced[PLACEMENT_ATOMS];
  uint32_t n = 0;
  for (uint32_t a = 0; a < space->n_atoms; a++)
    if (placement->place[a] == PLACE_UNREDUCED) unreduced[n++] = (uint8_t)a;
  if (n != 0) {
    Sharding *with = arena_copy(arena, sharding, sizeof *sharding);
    with->unreduced = atoms_axes(arena, space, unreduced, n);
    with->reduction = reduction;
    sharding = with;
  }
  Placement canonical = placement_of(space, sharding);
  return memcmp(&canonical, placement, sizeof canonical) == 0 ? sharding : NULL;
}

void placement_interval(const AtomSpace *space, const Placement *placement, uint32_t dim, uint32_t device,
                        int64_t *start, int64_t *stop) {
  Levels levels = placement_levels(space, placement, dim);
  *start = 0;
  *stop = space->shape->dims[dim];
  for (uint32_t i = 0; i < levels.n; i++) {
    uint8_t atom = levels.atoms[i];
    *start += mesh_coordinate(space->mesh, space->atoms[atom], device) * placement->tile[atom];
    if (*start + placement->tile[atom] < *stop) *stop = *start + placement->tile[atom];
  }
  if (*start > *stop) *start = *stop;
}

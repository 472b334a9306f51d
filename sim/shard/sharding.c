/* Shardings: what part of a value each device holds. The one idea: a dimension's axes, major to minor, make
 * one number of a device's coordinates: the index of its shard (shardy/dialect/sdy/ir: TensorShardingAttr).
 */
#include "sim/shard/sharding.h"

static Sharding *blank(Arena *arena, const Mesh *mesh, uint32_t rank) {
  Sharding *sharding = ARENA_NEW(arena, Sharding);
  *sharding =
      (Sharding){.mesh = mesh, .rank = rank, .dims = ARENA_ARRAY(arena, DimSharding, rank), .device = -1};
  return sharding;
}

static AxisList list_copy(Arena *arena, AxisList list) {
  AxisRef *at = list.n == 0 ? NULL : arena_copy(arena, list.at, list.n * sizeof *list.at);
  return (AxisList){at, list.n};
}

const Sharding *sharding_copy(Arena *arena, const Sharding *from) {
  Sharding *sharding = arena_copy(arena, from, sizeof *from);
  sharding->dims = ARENA_ARRAY(arena, DimSharding, from->rank);
  for (uint32_t d = 0; d < from->rank; d++) {
    sharding->dims[d] = from->dims[d];
    sharding->dims[d].axes = list_copy(arena, from->dims[d].axes);
  }
  sharding->replicated = list_copy(arena, from->replicated);
  sharding->unreduced = list_copy(arena, from->unreduced);
  return sharding;
}

static Sharding *copy(Arena *arena, const Sharding *from) {
  Sharding *sharding = arena_copy(arena, from, sizeof *from);
  sharding->dims = ARENA_ARRAY(arena, DimSharding, from->rank);
  for (uint32_t d = 0; d < from->rank; d++) sharding->dims[d] = from->dims[d];
  return sharding;
}

const Sharding *sharding_replicated(Arena *arena, const Mesh *mesh, uint32_t rank, bool open) {
  Sharding *sharding = blank(arena, mesh, rank);
  for (uint32_t d = 0; d < rank; d++) sharding->dims[d].open = open;
  return sharding;
}

const Sharding *sharding_with_dim(Arena *arena, const Sharding *sharding, uint32_t dim, AxisList axes) {
  Sharding *with = copy(arena, sharding);
  with->dims[dim].axes = axes;
  return with;
}

bool sharding_eq(const Sharding *a, const Sharding *b) {
  if (a == b) return true;
  if (a->rank != b->rank || a->device != b->device || !mesh_eq(a->mesh, b->mesh)) return false;
  if (a->unreduced.n != 0 && a->reduction != b->reduction) return false;
  for (uint32_t d = 0; d < a->rank; d++)
    if (!axes_eq(a->dims[d].axes, b->dims[d].axes)) return false;
  return axes_eq(a->unreduced, b->unreduced);
}

bool sharding_is_replicated(const Sharding *sharding) {
  for (uint32_t d = 0; d < sharding->rank; d++)
    if (sharding_shards(sharding, d) != 1) return false;
  return sharding->unreduced.n == 0 && sharding->device < 0;
}

int64_t sharding_shards(const Sharding *sharding, uint32_t dim) {
  return axes_size(sharding->dims[dim].axes);
}

int64_t sharding_local_size(const Sharding *sharding, uint32_t dim, int64_t size) {
  int64_t shards = sharding_shards(sharding, dim);
  return size / shards + (size % shards != 0);
}

const Shape *sharding_local_shape(Arena *arena, const Sharding *sharding, const Shape *global) {
  int64_t *dims = ARENA_ARRAY(arena, int64_t, global->rank == 0 ? 1 : global->rank);
  for (uint32_t d = 0; d < global->rank; d++) dims[d] = sharding_local_size(sharding, d, global->dims[d]);
  return shape_with_dims(arena, global, dims, global->rank);
}

static int64_t at_most(int64_t value, int64_t limit) {
  return value < limit ? value : limit;
}

void sharding_slice(const Sharding *sharding, uint32_t dim, int64_t size, uint32_t device, int64_t *start,
                    int64_t *stop) {
  int64_t local = sharding_local_size(sharding, dim, size);
  int64_t index = mesh_index(sharding->mesh, sharding->dims[dim].axes, device);
  *start = at_most(index * local, size);
  *stop = at_most(*start + local, size);
}

AxisList sharding_used_axes(Arena *arena, const Sharding *sharding) {
  AxisList used = {0};
  for (uint32_t d = 0; d < sharding->rank; d++)
    used = axes_concat(arena, sharding->mesh, used, sharding->dims[d].axes);
  return used;
}

/* The longest prefix of the axes whose size divides `size`; it ends in a sub-axis where `sub_axes` allows
 * that. */
static AxisList dividing_prefix(Arena *arena, const Mesh *mesh, AxisList axes, int64_t size, bool sub_axes) {
  AxisList prefix = {ARENA_ARRAY(arena, AxisRef, axes.n + 1), 0};
  for (uint32_t i = 0; i < axes.n; i++) {
    AxisRef axis = axes.at[i];
    axis.size = sizes_gcd(size, axis.size);
    bool whole = axis.size == mesh->axes[axis.axis].size;
    if (!whole && (!sub_axes || axis.size == 1)) break;
    prefix.at[prefix.n++] = axis;
    if (axis.size != axes.at[i].size) break;
    size /= axis.size;
  }
  return prefix;
}

static const Sharding *divided(Arena *arena, const Sharding *sharding, const Shape *shape, bool sub_axes) {
  Sharding *divisible = copy(arena, sharding);
  for (uint32_t d = 0; d < sharding->rank; d++)
    divisible->dims[d].axes =
        dividing_prefix(arena, sharding->mesh, sharding->dims[d].axes, shape->dims[d], sub_axes);
  return divisible;
}

const Sharding *sharding_divisible(Arena *arena, const Sharding *sharding, const Shape *shape) {
  return divided(arena, sharding, shape, false);
}

const Sharding *sharding_divisible_by_parts(Arena *arena, const Sharding *sharding, const Shape *shape) {
  return divided(arena, sharding, shape, true);
}

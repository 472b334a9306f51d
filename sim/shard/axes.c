/* Lists of mesh axes and sub-axes: prefixes, differences, concatenation. The one idea: an axis reference is
 * an interval [pre, pre · size) of the divisors of its axis; two overlap where their intervals do, and
 * neighbours whose intervals touch are one (shardy/dialect/sdy/ir: AxisRefAttr). */
#include "sim/shard/sharding.h"

int64_t sizes_gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

AxisRef axis_whole(const Mesh *mesh, uint32_t axis) {
  return (AxisRef){axis, 1, mesh->axes[axis].size};
}

bool axis_eq(AxisRef a, AxisRef b) {
  return a.axis == b.axis && a.pre == b.pre && a.size == b.size;
}

static int64_t axis_end(AxisRef a) {
  return a.pre * a.size;
}

bool axis_overlaps(AxisRef a, AxisRef b) {
  if (a.axis != b.axis) return false;
  int64_t low_end = a.pre < b.pre ? axis_end(a) : axis_end(b), high = a.pre < b.pre ? b.pre : a.pre;
  return high % low_end != 0;
}

bool axis_is_prefix(AxisRef a, AxisRef b) {
  return a.axis == b.axis && a.pre == b.pre && b.size % a.size == 0;
}

int64_t axes_size(AxisList axes) {
  int64_t size = 1;
  for (uint32_t i = 0; i < axes.n; i++) size *= axes.at[i].size;
  return size;
}

bool axes_eq(AxisList a, AxisList b) {
  if (a.n != b.n) return false;
  for (uint32_t i = 0; i < a.n; i++)
    if (!axis_eq(a.at[i], b.at[i])) return false;
  return true;
}

bool axes_overlap(AxisList a, AxisList b) {
  for (uint32_t i = 0; i < a.n; i++)
    for (uint32_t j = 0; j < b.n; j++)
      if (axis_overlaps(a.at[i], b.at[j])) return true;
  return false;
}

bool axes_is_prefix(AxisList a, AxisList b) {
  if (a.n == 0) return true;
  if (a.n > b.n) return false;
  for (uint32_t i = 0; i + 1 < a.n; i++)
    if (!axis_eq(a.at[i], b.at[i])) return false;
  return axis_is_prefix(a.at[a.n - 1], b.at[a.n - 1]);
}

static AxisList list_with_room(Arena *arena, uint32_t n) {
  return (AxisList){ARENA_ARRAY(arena, AxisRef, n == 0 ? 1 : n), 0};
}

/* Appends, merging with the last one where they are consecutive parts of one axis. */
static void append(AxisList *list, AxisRef axis) {
  AxisRef *last = list->n == 0 ? NULL : &list->at[list->n - 1];
  if (last != NULL && last->axis == axis.axis && axis_end(*last) == axis.pre)
    last->size *= axis.size;
  else
    list->at[list->n++] = axis;
}

AxisList axes_common_prefix(Arena *arena, const Mesh *mesh, AxisList a, AxisList b) {
  (void)mesh;
  AxisList prefix = list_with_room(arena, a.n);
  for (uint32_t i = 0; i < a.n && i < b.n; i++) {
    if (axis_is_prefix(a.at[i], b.at[i]))
      append(&prefix, a.at[i]);
    else if (axis_is_prefix(b.at[i], a.at[i]))
      append(&prefix, b.at[i]);
    if (!axis_eq(a.at[i], b.at[i])) break;
  }
  return prefix;
}

AxisList axes_concat(Arena *arena, const Mesh *mesh, AxisList a, AxisList b) {
  (void)mesh;
  AxisList both = list_with_room(arena, a.n + b.n);
  for (uint32_t i = 0; i < a.n; i++) append(&both, a.at[i]);
  for (uint32_t i = 0; i < b.n; i++) append(&both, b.at[i]);
  return both;
}

AxisList axes_after_prefix(Arena *arena, const Mesh *mesh, AxisList a, AxisList prefix) {
  (void)mesh;
  AxisList rest = list_with_room(arena, a.n);
  int64_t skip = axes_size(prefix);
  for (uint32_t i = 0; i < a.n; i++) {
    AxisRef axis = a.at[i];
    if (skip >= axis.size) {
      skip /= axis.size;
      continue;
    }
    append(&rest, (AxisRef){axis.axis, axis.pre * skip, axis.size / skip});
    skip = 1;
  }
  return rest;
}

static int64_t max_of(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* The parts of `axis` before and after those of `list` that overlap it, appended to `rest` in order. */
static void append_uncovered(AxisList *rest, AxisRef axis, AxisList list) {
  int64_t from = axis.pre, end = axis_end(axis);
  while (from < end) {
    int64_t start = end, stop = end; /* of the next one that covers anything from `from` on */
    for (uint32_t i = 0; i < list.n; i++) {
      AxisRef other = list.at[i];
      if (other.axis != axis.axis || axis_end(other) <= from || other.pre >= start) continue;
      start = max_of(other.pre, from);
      stop = axis_end(other);
    }
    if (start > from && start % from == 0) append(rest, (AxisRef){axis.axis, from, start / from});
    from = stop;
  }
}

AxisList axes_minus(Arena *arena, const Mesh *mesh, AxisList a, AxisList b) {
  (void)mesh;
  AxisList rest = list_with_room(arena, a.n + b.n);
  for (uint32_t i = 0; i < a.n; i++) append_uncovered(&rest, a.at[i], b);
  return rest;
}

/* Groups: recognised by their coordinates alone, whatever the order in which the members are listed. */
#include "sim/engine/group_layout.h"

#include "sim/engine/route_loads.h"

#include <stdlib.h>

static GroupAxis axis_over(const Pod *pod, const uint32_t *line, uint32_t n, bool ring) {
  RouteLoads loads = route_loads_new(pod);
  for (uint32_t i = 0; i + !ring < n; i++) {
    uint32_t next = line[(i + 1) % n];
    route_loads_add(&loads, line[i], next, 1);
    route_loads_add(&loads, next, line[i], 1);
  }
  GroupAxis axis = {.length = n, .ring = ring, .hops = loads.hops, .load = (uint32_t)loads.most};
  if (loads.most_dcn > 0) axis.dcn = true, axis.hops = 1, axis.load = (uint32_t)loads.most_dcn;
  route_loads_free(&loads);
  return axis;
}

/* A line of chips as a ring where that is faster: half the steps, on links as full as these. */
static GroupAxis routed_axis(const Pod *pod, const uint32_t *line, uint32_t n) {
  GroupAxis open = axis_over(pod, line, n, false);
  if (n < 3) return open;
  GroupAxis closed = axis_over(pod, line, n, true);
  return closed.load < 2 * open.load ? closed : open;
}

/* The coordinates that a group uses on one torus axis: ascending, or, of a segment that goes across the wrap,
 * from its start. */
typedef struct {
  int64_t *at;
  uint32_t n;
} Coordinates;

static void coordinates_of(const Pod *pod, uint32_t chip, int64_t at[GROUP_AXES]) {
  pod_coordinates(pod, chip, at);
  at[DCN_AXIS] = pod_slice(pod, chip);
}

static Coordinates axis_coordinates(Arena *arena, const Pod *pod, uint32_t axis, const GroupLayout *group) {
  int64_t length = axis == DCN_AXIS ? pod->slices : pod->shape[axis], place[GROUP_AXES], start = 0;
  bool *used = ARENA_ARRAY(arena, bool, length);
  Coordinates own = {.n = 0};
  for (uint32_t i = 0; i < group->members; i++) {
    coordinates_of(pod, group->chips[i], place);
    own.n += !used[place[axis]];
    used[place[axis]] = true;
  }
  if (axis != DCN_AXIS && pod_axis_is_ring(pod, axis) && own.n < length)
    while (!used[start] || used[(start + length - 1) % length]) start++;
  own.at = ARENA_ARRAY(arena, int64_t, own.n);
  for (int64_t i = 0, k = 0; i < length; i++)
    if (used[(start + i) % length]) own.at[k++] = (start + i) % length;
  return own;
}

/* Fills in where each member is in the product of the coordinates. */
static void place_members(const Pod *pod, GroupLayout *group, const Coordinates *coordinates) {
  for (uint32_t member = 0; member < group->members; member++) {
    int64_t at[GROUP_AXES];
    uint32_t place = 0;
    coordinates_of(pod, group->chips[member], at);
    for (uint32_t axis = 0; axis < GROUP_AXES; axis++) {
      uint32_t i = 0;
      while (coordinates[axis].at[i] != at[axis]) i++;
      place = place * coordinates[axis].n + i;
    }
    group->place_of[member] = place;
    group->member_at[place] = member;
  }
}

/* One axis of a product: a segment of a torus axis, all of it, or some of its chips over routes. */
static GroupAxis product_axis(Arena *arena, const Pod *pod, uint32_t axis, const GroupLayout *group,
                              Coordinates coordinates, uint32_t stride) {
  int64_t length = pod->shape[axis];
  bool contiguous = true;
  for (uint32_t i = 1; i < coordinates.n; i++)
    contiguous = contiguous && coordinates.at[i] == (coordinates.at[i - 1] + 1) % length;
  bool ring = coordinates.n == length && pod_axis_is_ring(pod, axis) && length > 2;
  if (contiguous) return (GroupAxis){coordinates.n, .ring = ring, .hops = 1, .load = 1, .neighbours = true};
  uint32_t *line = ARENA_ARRAY(arena, uint32_t, coordinates.n);
  for (uint32_t i = 0; i < coordinates.n; i++) line[i] = group->chips[group->member_at[i * stride]];
  return routed_axis(pod, line, coordinates.n);
}

/* Chips at one place of several slices: each has one link out and one in, whichever way the ring goes. */
static GroupAxis dcn_axis(uint32_t slices) {
  bool ring = slices > 2;
  return (GroupAxis){slices, .ring = ring, .hops = 1, .load = ring ? 2 : 1, .dcn = true};
}

/* The group as a product of coordinates; false where it is none. */
static bool product_layout(Arena *arena, const Pod *pod, GroupLayout *group) {
  Coordinates coordinates[GROUP_AXES];
  uint64_t product = 1;
  for (uint32_t axis = 0; axis < GROUP_AXES; axis++) {
    coordinates[axis] = axis_coordinates(arena, pod, axis, group);
    product *= coordinates[axis].n;
  }
  if (product != group->members) return false;
  place_members(pod, group, coordinates);
  for (uint32_t axis = 0, stride = group->members; axis < GROUP_AXES; axis++) {
    stride /= coordinates[axis].n;
    if (coordinates[axis].n == 1) continue;
    group->axes[group->n_axes++] = axis == DCN_AXIS
                                       ? dcn_axis(coordinates[axis].n)
                                       : product_axis(arena, pod, axis, group, coordinates[axis], stride);
  }
  return true;
}

/* Chips slice by slice and row by row, every second row backwards: neighbours in the list are near on the
 * torus. */
static uint64_t snake_key(const Pod *pod, uint32_t chip) {
  int64_t at[POD_AXES];
  pod_coordinates(pod, chip, at);
  uint64_t key = pod_slice(pod, chip);
  bool backwards = false;
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    uint64_t i = (uint64_t)(backwards ? pod->shape[axis] - 1 - at[axis] : at[axis]);
    key = key * (uint64_t)pod->shape[axis] + i;
    backwards = backwards != (at[axis] % 2 == 1);
  }
  return key;
}

typedef struct {
  uint64_t key;
  uint32_t member;
} Keyed;

static int by_key(const void *a, const void *b) {
  uint64_t left = ((const Keyed *)a)->key, right = ((const Keyed *)b)->key;
  return (left > right) - (left < right);
}

static void logical_layout(Arena *arena, const Pod *pod, GroupLayout *group) {
  uint32_t n = group->members;
  Keyed *order = ARENA_ARRAY(arena, Keyed, n);
  uint32_t *line = ARENA_ARRAY(arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) order[i] = (Keyed){snake_key(pod, group->chips[i]), i};
  qsort(order, n, sizeof *order, by_key);
  for (uint32_t place = 0; place < n; place++) {
    uint32_t member = order[place].member;
    group->member_at[place] = member;
    group->place_of[member] = place;
    line[place] = group->chips[member];
  }
  group->n_axes = 1;
  group->axes[0] = routed_axis(pod, line, n);
}

/* ---- twisted tori */

/* Of all chips: going up a short axis for k steps leads half way along the long ones, after k more back. So a
 * ring of 2k, and half of a long axis, stand for the short axis and the long one (FCC and BCC lattices:
 * Camarero, Martinez and Beivide, "Lattice graphs for high-scale interconnection topologies"). */
static const GroupLayout *layout_around(Arena *arena, const Pod *pod, const GroupLayout *group,
                                        uint32_t around) {
  GroupLayout *own = arena_copy(arena, group, sizeof *group);
  int64_t k = pod->shape[around];
  uint32_t halved = 0;
  while (pod->shape[halved] == k) halved++;
  own->axes[around] = (GroupAxis){(uint32_t)(2 * k), .ring = true, .hops = 1, .load = 1, .neighbours = true};
  own->axes[halved] = (GroupAxis){(uint32_t)k, .hops = 1, .load = 1, .neighbours = true};
  own->member_at = ARENA_ARRAY(arena, uint32_t, group->members);
  own->place_of = ARENA_ARRAY(arena, uint32_t, group->members);
  for (uint32_t member = 0; member < group->members; member++) {
    int64_t at[POD_AXES];
    pod_coordinates(pod, group->chips[member], at);
    int64_t shift = at[halved] >= k ? k : 0;
    uint32_t place = 0;
    for (uint32_t axis = 0; axis < POD_AXES; axis++) {
      if (pod->shape[axis] > k) at[axis] = (at[axis] + 2 * k - shift) % (2 * k);
      if (axis == around) at[axis] += shift;
      place = place * own->axes[axis].length + (uint32_t)at[axis];
    }
    own->place_of[member] = place;
    own->member_at[place] = member;
  }
  return own;
}

static void find_starting(Arena *arena, const Pod *pod, GroupLayout *group) {
  if (!pod->twist || pod->slices > 1 || group->members != pod->n_chips) return;
  for (uint32_t axis = 0; axis < POD_AXES; axis++)
    if (pod_axis_is_short(pod, axis)) group->starting[axis] = layout_around(arena, pod, group, axis);
  for (uint32_t axis = 0; axis < POD_AXES; axis++) group->shape.wrap[axis] = true;
}

static int64_t slices_of(Arena *arena, const Pod *pod, const GroupLayout *group) {
  bool *used = ARENA_ARRAY(arena, bool, pod->slices);
  int64_t n = 0;
  for (uint32_t i = 0; i < group->members; i++) {
    uint32_t slice = pod_slice(pod, group->chips[i]);
    n += !used[slice];
    used[slice] = true;
  }
  return n;
}

static GroupShape shape_of(Arena *arena, const Pod *pod, const GroupLayout *group) {
  GroupShape shape = {.members = group->members, .slices = slices_of(arena, pod, group)};
  for (uint32_t i = 0; i < group->n_axes; i++) {
    GroupAxis axis = group->axes[i];
    if (axis.dcn && axis.length == shape.slices) continue;
    if (!axis.neighbours) return (GroupShape){.members = shape.members, .slices = shape.slices};
    shape.length[shape.n_axes] = axis.length;
    shape.wrap[shape.n_axes++] = axis.ring;
  }
  return shape;
}

const GroupLayout *group_layout(Arena *arena, const Pod *pod, const uint32_t *chips, uint32_t members) {
  GroupLayout *group = ARENA_NEW(arena, GroupLayout);
  *group = (GroupLayout){.members = members,
                         .chips = chips,
                         .member_at = ARENA_ARRAY(arena, uint32_t, members),
                         .place_of = ARENA_ARRAY(arena, uint32_t, members)};
  if (!product_layout(arena, pod, group)) logical_layout(arena, pod, group);
  group->shape = shape_of(arena, pod, group);
  find_starting(arena, pod, group);
  return group;
}

static uint32_t axis_stride(const GroupLayout *group, uint32_t axis) {
  uint32_t stride = 1;
  for (uint32_t i = axis + 1; i < group->n_axes; i++) stride *= group->axes[i].length;
  return stride;
}

uint32_t group_position(const GroupLayout *group, uint32_t axis, uint32_t member) {
  return group->place_of[member] / axis_stride(group, axis) % group->axes[axis].length;
}

uint32_t group_member_along(const GroupLayout *group, uint32_t axis, uint32_t member, uint32_t position) {
  uint32_t stride = axis_stride(group, axis), place = group->place_of[member];
  uint32_t own = place / stride % group->axes[axis].length;
  return group->member_at[place - own * stride + position * stride];
}

uint32_t group_axis_steps(GroupAxis axis) {
  return axis.ring ? axis.length / 2 : axis.length - 1;
}

uint32_t group_torus_axes(const GroupLayout *group) {
  return group->n_axes > 0 && group->axes[group->n_axes - 1].dcn ? group->n_axes - 1 : group->n_axes;
}

const GroupLayout *group_starting(const GroupLayout *group, uint32_t axis) {
  return axis < POD_AXES && group->starting[axis] != NULL ? group->starting[axis] : group;
}

const GroupLayout *group_of_pairs(Arena *arena, const Pod *pod, const GroupLayout *group) {
  RouteLoads loads = route_loads_new(pod);
  GroupLayout *own = ARENA_NEW(arena, GroupLayout);
  *own = (GroupLayout){.members = group->members,
                       .chips = group->chips,
                       .member_at = ARENA_ARRAY(arena, uint32_t, group->members),
                       .place_of = ARENA_ARRAY(arena, uint32_t, group->members)};
  logical_layout(arena, pod, own);
  own->shape = group->shape;
  for (uint32_t i = 0; i < group->members; i++)
    for (uint32_t k = 0; k < group->members; k++)
      if (i != k) route_loads_add(&loads, group->chips[i], group->chips[k], 1);
  own->axes[0].pairs = (uint32_t)loads.most;
  own->axes[0].farthest = loads.hops;
  route_loads_free(&loads);
  return own;
}

/* Device lists and replica groups spelled out, whatever form they were written in: lists, iota tiles, and
 * axes of a mesh (XLA's collective device lists, versions 1 to 3). */
#include "sim/ir/module.h"

static int64_t product(Ints ints) {
  int64_t all = 1;
  for (uint32_t i = 0; i < ints.n; i++) all *= ints.at[i];
  return all;
}

/* The elements of `from` (NULL: its own indices), an array of `dims`, in the order of its transpose by `perm`
 * (NULL: the identity). */
static uint32_t *transposed(Arena *arena, const uint32_t *from, Ints dims, const int64_t *perm) {
  int64_t n = product(dims);
  uint32_t *to = ARENA_ARRAY(arena, uint32_t, n);
  int64_t *stride = ARENA_ARRAY(arena, int64_t, dims.n), *index = ARENA_ARRAY(arena, int64_t, dims.n);
  for (int64_t d = (int64_t)dims.n - 1, step = 1; d >= 0; step *= dims.at[d--]) stride[d] = step;
  for (int64_t i = 0, at = 0; i < n; i++) {
    to[i] = from == NULL ? (uint32_t)at : from[at];
    for (int64_t k = (int64_t)dims.n - 1; k >= 0; k--) {
      int64_t d = perm == NULL ? k : perm[k];
      at += stride[d];
      if (++index[d] < dims.at[d]) break;
      at -= stride[d] * dims.at[d];
      index[d] = 0;
    }
  }
  return to;
}

uint32_t *device_list_expand(Arena *arena, const DeviceList *devices, uint32_t n) {
  if (devices->reshape.n != 0)
    return transposed(arena, NULL, devices->reshape, devices->perm.n == 0 ? NULL : devices->perm.at);
  uint32_t *ids = ARENA_ARRAY(arena, uint32_t, devices->ids.n > n ? devices->ids.n : n);
  for (uint32_t i = 0; i < n && devices->ids.n == 0; i++) ids[i] = i;
  for (uint32_t i = 0; i < devices->ids.n; i++) ids[i] = (uint32_t)devices->ids.at[i];
  return ids;
}

static uint32_t device_list_count(const DeviceList *devices, uint32_t n) {
  if (devices->reshape.n != 0) return (uint32_t)product(devices->reshape);
  return devices->ids.n != 0 ? devices->ids.n : n;
}

/* `ids` cut into `count` groups of `size`. */
static GroupList equal_groups(Arena *arena, uint32_t *ids, uint32_t count, uint32_t size) {
  GroupList list = {.n = count, .start = ARENA_ARRAY(arena, uint32_t, count + 1), .ids = ids};
  for (uint32_t g = 0; g <= count; g++) list.start[g] = g * size;
  return list;
}

static GroupList listed_groups(Arena *arena, const ReplicaGroups *groups) {
  GroupList list = {.n = groups->n_groups, .start = ARENA_ARRAY(arena, uint32_t, groups->n_groups + 1)};
  for (uint32_t g = 0; g < list.n; g++) list.start[g + 1] = list.start[g] + groups->groups[g].n;
  list.ids = ARENA_ARRAY(arena, uint32_t, list.start[list.n]);
  for (uint32_t g = 0; g < list.n; g++)
    memcpy(list.ids + list.start[g], groups->groups[g].at, groups->groups[g].n * sizeof(uint32_t));
  return list;
}

/* The mesh axis that `axis` names, by name or by its number; NO_ID where there is none. */
static uint32_t mesh_axis(const ReplicaGroups *groups, const NamedAxis *axis) {
  for (uint32_t i = 0; i < groups->mesh_sizes.n; i++) {
    if (str_eq(groups->mesh_names[i], axis->name)) return i;
  }
  int64_t number;
  bool known = str_to_int(axis->name, &number) && number >= 0 && number < groups->mesh_sizes.n;
  return known ? (uint32_t)number : NO_ID;
}

static int64_t axis_size(const ReplicaGroups *groups, const NamedAxis *axis) {
  return axis->size != 0 ? axis->size : groups->mesh_sizes.at[mesh_axis(groups, axis)];
}

static int64_t axis_pre(const NamedAxis *axis) {
  return axis->size != 0 ? axis->pre : 1;
}

/* The mesh with every axis split where a sub-axis of the groups begins or ends. */
typedef struct {
  Vec(int64_t) sizes;
  Vec(int64_t) order; /* of the transpose that puts the groups' axes last, in their order */
  Vec(bool) grouped;
} SplitMesh;

/* The sub-axis of mesh axis `axis` that begins at `pre`, or where none does the next beginning after it. */
static int64_t next_part(const ReplicaGroups *groups, uint32_t axis, int64_t pre, bool *grouped) {
  int64_t next = groups->mesh_sizes.at[axis];
  for (uint32_t i = 0; i < groups->axes.n; i++) {
    const NamedAxis *sub = &groups->axes.at[i];
    if (mesh_axis(groups, sub) != axis) continue;
    if (axis_pre(sub) == pre) {
      *grouped = true;
      return pre * axis_size(groups, sub);
    }
    if (axis_pre(sub) > pre && axis_pre(sub) < next) next = axis_pre(sub);
  }
  *grouped = false;
  return next;
}

static SplitMesh split_mesh(Arena *arena, const ReplicaGroups *groups) {
  SplitMesh mesh = {0};
  uint32_t *last = ARENA_ARRAY(arena, uint32_t, groups->axes.n);
  for (uint32_t axis = 0; axis < groups->mesh_sizes.n; axis++) {
    int64_t pre = 1, size = groups->mesh_sizes.at[axis];
    do {
      bool grouped;
      int64_t next = next_part(groups, axis, pre, &grouped);
      for (uint32_t i = 0; i < groups->axes.n && grouped; i++) {
        bool here = mesh_axis(groups, &groups->axes.at[i]) == axis && axis_pre(&groups->axes.at[i]) == pre;
        if (here) last[i] = mesh.sizes.n;
      }
      if (!grouped) VEC_PUSH(arena, &mesh.order, mesh.sizes.n);
      VEC_PUSH(arena, &mesh.sizes, next / pre);
      pre = next;
      if (size == 1) break;
    } while (pre < size);
  }
  for (uint32_t i = 0; i < groups->axes.n; i++) VEC_PUSH(arena, &mesh.order, last[i]);
  return mesh;
}

static GroupList mesh_groups(Arena *arena, const ReplicaGroups *groups) {
  SplitMesh mesh = split_mesh(arena, groups);
  Ints sizes = {mesh.sizes.at, mesh.sizes.n};
  uint32_t devices = (uint32_t)product(sizes), size = 1;
  for (uint32_t i = 0; i < groups->axes.n; i++) size *= (uint32_t)axis_size(groups, &groups->axes.at[i]);
  const uint32_t *ids = device_list_expand(arena, &groups->devices, devices);
  return equal_groups(arena, transposed(arena, ids, sizes, mesh.order.at), devices / size, size);
}

GroupList groups_expand(Arena *arena, const ReplicaGroups *groups, uint32_t devices) {
  if (groups->form == GROUPS_MESH) return mesh_groups(arena, groups);
  if (groups->form == GROUPS_IOTA)
    return equal_groups(arena, device_list_expand(arena, &groups->devices, devices),
                        (uint32_t)groups->group_count, (uint32_t)groups->group_size);
  if (groups->n_groups != 0) return listed_groups(arena, groups);
  return equal_groups(arena, device_list_expand(arena, &(DeviceList){0}, devices), 1, devices);
}

GroupList instr_groups(Arena *arena, const Instr *instr, uint32_t devices) {
  const Attr *attr = instr_attr(instr, ATTR_replica_groups);
  return groups_expand(arena, attr == NULL ? &(ReplicaGroups){0} : attr->groups, devices);
}

/* --- Checks: what expansion may rely on. --- */

enum { MOST_DEVICES = 1 << 20 };

static bool product_within(Ints sizes, int64_t most, int64_t *all) {
  *all = 1;
  for (uint32_t i = 0; i < sizes.n; i++) {
    if (sizes.at[i] < 1 || sizes.at[i] > most / *all) return false;
    *all *= sizes.at[i];
  }
  return true;
}

static bool is_permutation(Ints perm, uint32_t n) {
  if (perm.n != n || n > 64) return false;
  uint64_t seen = 0;
  for (uint32_t i = 0; i < n; i++) {
    if (perm.at[i] < 0 || perm.at[i] >= n || (seen >> perm.at[i] & 1) != 0) return false;
    seen |= UINT64_C(1) << perm.at[i];
  }
  return true;
}

Status device_list_check(const DeviceList *devices, int64_t n, Place at, Diag *diag) {
  int64_t listed = devices->ids.n;
  if (devices->reshape.n != 0) {
    RETURN_IF(!product_within(devices->reshape, MOST_DEVICES, &listed),
              diag_fail(diag, STATUS_INVALID, at, NULL, "a list of devices of more than %d", MOST_DEVICES));
    RETURN_IF(devices->perm.n != 0 && !is_permutation(devices->perm, devices->reshape.n),
              diag_fail(diag, STATUS_INVALID, at, NULL, "T(...) is not a permutation of the %u dimensions",
                        devices->reshape.n));
  }
  RETURN_IF(listed != 0 && listed != n,
            diag_fail(diag, STATUS_INVALID, at, NULL, "%ld devices are listed, %ld are needed", (long)listed,
                      (long)n));
  for (uint32_t i = 0; i < devices->ids.n; i++)
    RETURN_IF(
        devices->ids.at[i] < 0 || devices->ids.at[i] >= MOST_DEVICES,
        diag_fail(diag, STATUS_INVALID, at, NULL, "device %ld is out of range", (long)devices->ids.at[i]));
  return STATUS_OK;
}

static Status check_axis(const ReplicaGroups *groups, uint32_t i, Place at, Diag *diag) {
  const NamedAxis *axis = &groups->axes.at[i];
  uint32_t of = mesh_axis(groups, axis);
  RETURN_IF(of == NO_ID,
            diag_fail(diag, STATUS_INVALID, at, NULL, "the mesh has no axis '%.*s'", STR_ARG(axis->name)));
  int64_t size = groups->mesh_sizes.at[of];
  bool fits = axis->size == 0 || (axis->size > 0 && axis->pre > 0 && axis->pre <= size &&
                                  axis->size <= size / axis->pre && size % (axis->pre * axis->size) == 0);
  RETURN_IF(!fits, diag_fail(diag, STATUS_INVALID, at, NULL, "sub-axis '%.*s':(%ld)%ld does not divide %ld",
                             STR_ARG(axis->name), (long)axis->pre, (long)axis->size, (long)size));
  for (uint32_t j = 0; j < i; j++) {
    const NamedAxis *other = &groups->axes.at[j];
    if (mesh_axis(groups, other) != of) continue;
    const NamedAxis *first = axis_pre(other) < axis_pre(axis) ? other : axis,
                    *second = first == axis ? other : axis;
    int64_t end = axis_pre(first) * axis_size(groups, first);
    RETURN_IF(axis_pre(second) % end != 0,
              diag_fail(diag, STATUS_INVALID, at, NULL, "axis '%.*s' is used twice", STR_ARG(axis->name)));
  }
  return STATUS_OK;
}

static Status check_mesh(const ReplicaGroups *groups, Place at, Diag *diag) {
  int64_t devices;
  RETURN_IF(!product_within(groups->mesh_sizes, MOST_DEVICES, &devices),
            diag_fail(diag, STATUS_INVALID, at, NULL, "a mesh of more than %d devices", MOST_DEVICES));
  for (uint32_t i = 0; i < groups->axes.n; i++) TRY(check_axis(groups, i, at, diag));
  return device_list_check(&groups->devices, devices, at, diag);
}

static Status check_iota(const ReplicaGroups *groups, Place at, Diag *diag) {
  int64_t devices, tile[] = {groups->group_count, groups->group_size};
  RETURN_IF(!product_within((Ints){tile, 2}, MOST_DEVICES, &devices),
            diag_fail(diag, STATUS_INVALID, at, NULL, "groups of more than %d devices", MOST_DEVICES));
  return device_list_check(&groups->devices, devices, at, diag);
}

static uint32_t expanded_count(const ReplicaGroups *groups, uint32_t devices) {
  if (groups->form == GROUPS_MESH) return (uint32_t)product(groups->mesh_sizes);
  if (groups->form == GROUPS_IOTA) return device_list_count(&groups->devices, devices);
  return 0;
}

Status groups_check(const ReplicaGroups *groups, uint32_t devices, Place at, Diag *diag) {
  if (groups->form == GROUPS_MESH) TRY(check_mesh(groups, at, diag));
  if (groups->form == GROUPS_IOTA) TRY(check_iota(groups, at, diag));
  uint32_t listed = expanded_count(groups, devices);
  RETURN_IF(
      devices != 0 && listed > devices,
      diag_fail(diag, STATUS_INVALID, at, NULL, "groups of %u devices in a program for %u", listed, devices));
  Arena *arena = arena_new();
  GroupList list = groups_expand(arena, groups, devices);
  uint32_t n = list.start[list.n], limit = devices;
  for (uint32_t i = 0; i < n && devices == 0; i++) limit = list.ids[i] >= limit ? list.ids[i] + 1 : limit;
  if (limit > MOST_DEVICES) limit = MOST_DEVICES;
  bool *seen = ARENA_ARRAY(arena, bool, limit);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < n && status == STATUS_OK; i++) {
    uint32_t id = list.ids[i];
    if (id >= limit)
      status = diag_fail(diag, STATUS_INVALID, at, NULL, "device %u in a program for %u", id, limit);
    else if (seen[id])
      status = diag_fail(diag, STATUS_INVALID, at, NULL, "device %u is in two groups", id);
    else
      seen[id] = true;
  }
  arena_free(arena);
  return status;
}

/* Meshes: axes and sizes in, positions, coordinates and groups of devices out. The one idea: a mesh position
 * is a number whose digits, in the mixed radix of the axis sizes, are the coordinates; a sub-axis is a run of
 * the digits of one axis, so that it too has a size and a stride (shardy: sdy.mesh, AxisRefAttr). */
#include "sim/shard/sharding.h"

#include <ctype.h>

static int64_t *inverse(Arena *arena, const int64_t *device_ids, uint32_t n) {
  int64_t *positions = ARENA_ARRAY(arena, int64_t, n);
  for (uint32_t p = 0; p < n; p++) positions[device_ids[p]] = p;
  return positions;
}

static bool is_identity(const int64_t *device_ids, uint32_t n) {
  for (uint32_t p = 0; p < n; p++)
    if (device_ids[p] != p) return false;
  return true;
}

const Mesh *mesh_new(Arena *arena, Str name, const MeshAxis *axes, uint32_t n_axes,
                     const int64_t *device_ids) {
  Mesh *mesh = ARENA_NEW(arena, Mesh);
  *mesh =
      (Mesh){.name = name, .axes = ARENA_ARRAY(arena, MeshAxis, n_axes), .n_axes = n_axes, .n_devices = 1};
  for (uint32_t a = 0; a < n_axes; a++) {
    mesh->axes[a] = axes[a];
    mesh->n_devices *= (uint32_t)axes[a].size;
  }
  if (device_ids == NULL || (n_axes != 0 && is_identity(device_ids, mesh->n_devices))) return mesh;
  mesh->device_ids = arena_copy(arena, device_ids, mesh->n_devices * sizeof *device_ids);
  if (n_axes == 0) return mesh; /* a single device, of any id */
  mesh->positions = inverse(arena, device_ids, mesh->n_devices);
  return mesh;
}

const Mesh *mesh_inferred(Arena *arena, const MeshAxis *axes, uint32_t n_axes) {
  Mesh *mesh = arena_copy(arena, mesh_new(arena, STR("mesh"), axes, n_axes, NULL), sizeof *mesh);
  mesh->is_inferred = true;
  return mesh;
}

static bool is_name(Str text) {
  for (size_t i = 0; i < text.n; i++)
    if (!isalnum((unsigned char)text.at[i]) && strchr("_-.", text.at[i]) == NULL) return false;
  return text.n != 0 && memchr(text.at, 0, text.n) == NULL;
}

static Status parse_axis(Str text, MeshAxis *axis, Diag *diag) {
  size_t equals = str_find(text, '=');
  axis->name = str_trim(str_sub(text, 0, equals));
  RETURN_IF(!is_name(axis->name) || !str_to_int(str_trim(str_sub(text, equals + 1, text.n)), &axis->size) ||
                axis->size < 1,
            diag_fail(diag, STATUS_USAGE, NOWHERE, "write axes as data=4,model=2",
                      "'%.*s' is not an axis of a mesh", STR_ARG(text)));
  return STATUS_OK;
}

Status mesh_parse(Arena *arena, Str text, const Mesh **mesh, Diag *diag) {
  Vec(MeshAxis) axes = {0};
  int64_t devices = 1;
  for (Str rest = text; rest.n != 0;) {
    size_t comma = str_find(rest, ',');
    MeshAxis axis;
    TRY(parse_axis(str_trim(str_sub(rest, 0, comma)), &axis, diag));
    for (uint32_t a = 0; a < axes.n; a++)
      RETURN_IF(str_eq(axes.at[a].name, axis.name),
                diag_fail(diag, STATUS_USAGE, NOWHERE, NULL, "axis '%.*s' stands twice in the mesh '%.*s'",
                          STR_ARG(axis.name), STR_ARG(text)));
    RETURN_IF(
        __builtin_mul_overflow(devices, axis.size, &devices) || devices > INT32_MAX,
        diag_fail(diag, STATUS_USAGE, NOWHERE, NULL, "the mesh '%.*s' has too many devices", STR_ARG(text)));
    VEC_PUSH(arena, &axes, axis);
    rest = str_sub(rest, comma + 1, rest.n);
  }
  RETURN_IF(axes.n == 0, diag_fail(diag, STATUS_USAGE, NOWHERE, "write axes as data=4,model=2",
                                   "a mesh needs at least one axis"));
  *mesh = mesh_new(arena, STR("mesh"), axes.at, axes.n, NULL);
  return STATUS_OK;
}

bool mesh_eq(const Mesh *a, const Mesh *b) {
  if (a == b) return true;
  if (a->n_axes != b->n_axes || a->n_devices != b->n_devices) return false;
  for (uint32_t i = 0; i < a->n_axes; i++)
    if (a->axes[i].size != b->axes[i].size || !str_eq(a->axes[i].name, b->axes[i].name)) return false;
  if (a->device_ids == NULL || b->device_ids == NULL) return a->device_ids == b->device_ids;
  return memcmp(a->device_ids, b->device_ids, a->n_devices * sizeof *a->device_ids) == 0;
}

Str mesh_text(Arena *arena, const Mesh *mesh) {
  StrBuf buf = {.arena = arena};
  for (uint32_t a = 0; a < mesh->n_axes; a++)
    buf_printf(&buf, "%s%.*s=%ld", a == 0 ? "" : ", ", STR_ARG(mesh->axes[a].name), mesh->axes[a].size);
  return buf_str(&buf);
}

bool mesh_axis_index(const Mesh *mesh, Str name, uint32_t *axis) {
  for (uint32_t a = 0; a < mesh->n_axes; a++)
    if (str_eq(mesh->axes[a].name, name)) {
      *axis = a;
      return true;
    }
  return false;
}

const char *mesh_axis_hint(Arena *arena, const Mesh *mesh, Str name) {
  const char **names = ARENA_ARRAY(arena, const char *, mesh->n_axes);
  for (uint32_t a = 0; a < mesh->n_axes; a++) names[a] = str_terminated(arena, mesh->axes[a].name);
  return did_you_mean(arena, name, names, mesh->n_axes, NULL);
}

int64_t mesh_stride(const Mesh *mesh, AxisRef axis) {
  int64_t stride = mesh->axes[axis.axis].size / (axis.pre * axis.size);
  for (uint32_t a = axis.axis + 1; a < mesh->n_axes; a++) stride *= mesh->axes[a].size;
  return stride;
}

static int64_t position_of(const Mesh *mesh, uint32_t device) {
  return mesh->positions == NULL ? device : mesh->positions[device];
}

static int64_t device_at(const Mesh *mesh, int64_t position) {
  return mesh->device_ids == NULL ? position : mesh->device_ids[position];
}

int64_t mesh_coordinate(const Mesh *mesh, AxisRef axis, uint32_t device) {
  return position_of(mesh, device) / mesh_stride(mesh, axis) % axis.size;
}

int64_t mesh_index(const Mesh *mesh, AxisList axes, uint32_t device) {
  int64_t index = 0;
  for (uint32_t a = 0; a < axes.n; a++)
    index = index * axes.at[a].size + mesh_coordinate(mesh, axes.at[a], device);
  return index;
}

/* How far the member with index `index` along `axes` lies behind the first one, in positions. */
static int64_t offset_along(const Mesh *mesh, AxisList axes, int64_t index) {
  int64_t offset = 0;
  for (uint32_t a = axes.n; a-- > 0;) {
    offset += index % axes.at[a].size * mesh_stride(mesh, axes.at[a]);
    index /= axes.at[a].size;
  }
  return offset;
}

GroupList mesh_groups(Arena *arena, const Mesh *mesh, AxisList axes) {
  uint32_t size = (uint32_t)axes_size(axes), n = mesh->n_devices / size, g = 0;
  GroupList groups = {n, ARENA_ARRAY(arena, uint32_t, n + 1), ARENA_ARRAY(arena, uint32_t, mesh->n_devices)};
  for (int64_t first = 0; first < mesh->n_devices; first++) {
    if (mesh_index(mesh, axes, (uint32_t)device_at(mesh, first)) != 0) continue;
    for (uint32_t k = 0; k < size; k++)
      groups.ids[g * size + k] = (uint32_t)device_at(mesh, first + offset_along(mesh, axes, k));
    g++;
    groups.start[g] = g * size;
  }
  return groups;
}

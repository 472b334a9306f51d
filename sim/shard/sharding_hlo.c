/* Shardings from and to the syntax of HLO: tile lists, iota tiles, named meshes (xla/hlo/ir/hlo_sharding.cc).
 * The one idea: a tile list is a permutation of devices; read from its minor end, every run of equal strides
 * is an axis of the mesh or a part of one. A list without such runs gets a mesh of its own. */
#include "sim/shard/sharding.h"

/* Devices in the order of a tile list, and the sizes of its dimensions, the last ones being subgroups. */
typedef struct {
  int64_t *devices;
  uint32_t n_devices;
  Ints dims;
} Tiling;

/* The major part of an axis at `stride` that takes `run` steps or fewer and divides `left`. */
static bool axis_at_stride(const Mesh *mesh, int64_t stride, int64_t run, int64_t left, AxisRef *axis) {
  int64_t axis_stride = 1;
  for (uint32_t a = mesh->n_axes; a-- > 0; axis_stride *= mesh->axes[a].size) {
    int64_t size = mesh->axes[a].size, minor = stride / axis_stride;
    if (stride < axis_stride || minor >= size) continue;
    if (stride % axis_stride != 0 || size % minor != 0) return false;
    int64_t room = size / minor, n = run < room ? run : room;
    while (n > 1 && (room % n != 0 || left % n != 0)) n--;
    *axis = (AxisRef){a, room / n, n};
    return n > 1;
  }
  return false;
}

/* How many steps of the same stride follow each other from position `unit` on. */
static int64_t run_length(const int64_t *positions, int64_t n, int64_t unit) {
  int64_t stride = positions[unit], run = 1;
  while (run * unit < n && positions[run * unit] == run * stride) run++;
  return run;
}

static int64_t tile_position(const Mesh *mesh, AxisList axes, int64_t index) {
  int64_t position = 0;
  for (uint32_t i = axes.n; i-- > 0; index /= axes.at[i].size)
    position += index % axes.at[i].size * mesh_stride(mesh, axes.at[i]);
  return position;
}

/* Writes the axes of every dimension of the tiling, in an order minor to major first; false where the mesh's
 * axes cannot say it. */
static bool factor_tiling(Arena *arena, const Mesh *mesh, const Tiling *tiling, AxisList *axes_of_dim) {
  int64_t n = tiling->n_devices, unit = 1;
  if (mesh->n_devices != n) return false;
  int64_t *positions = ARENA_ARRAY(arena, int64_t, n);
  for (int64_t t = 0; t < n; t++)
    positions[t] = mesh->positions == NULL ? tiling->devices[t] : mesh->positions[tiling->devices[t]];
  AxisList all = {0};
  for (uint32_t d = tiling->dims.n; d-- > 0;) {
    axes_of_dim[d] = (AxisList){0};
    for (int64_t left = tiling->dims.at[d]; left > 1;) {
      AxisRef *axis = ARENA_NEW(arena, AxisRef);
      if (!axis_at_stride(mesh, positions[unit], run_length(positions, n, unit), left, axis)) return false;
      axes_of_dim[d] = axes_concat(arena, mesh, (AxisList){axis, 1}, axes_of_dim[d]);
      all = axes_concat(arena, mesh, (AxisList){axis, 1}, all);
      left /= axis->size;
      unit *= axis->size;
    }
  }
  for (int64_t t = 0; t < n; t++)
    if (positions[t] != tile_position(mesh, all, t)) return false;
  return true;
}

/* --- From hlo. --- */

static Status tiling_of(Arena *arena, const HloSharding *hlo, Tiling *tiling, Place place, Diag *diag) {
  int64_t n = 1;
  for (uint32_t d = 0; d < hlo->tile_dims.n; d++)
    RETURN_IF(
        hlo->tile_dims.at[d] < 1 || __builtin_mul_overflow(n, hlo->tile_dims.at[d], &n) || n > INT32_MAX,
        diag_fail(diag, STATUS_INVALID, place, NULL, "bad tile sizes in sharding %.*s", STR_ARG(hlo->text)));
  tiling->n_devices = (uint32_t)n;
  tiling->dims = hlo->tile_dims;
  tiling->devices = ARENA_ARRAY(arena, int64_t, n);
  RETURN_IF(hlo->devices.ids.n != 0 && hlo->devices.ids.n != n,
            diag_fail(diag, STATUS_INVALID, place, NULL, "sharding %.*s has %u devices for %ld tiles",
                      STR_ARG(hlo->text), hlo->devices.ids.n, n));
  uint32_t *ids = device_list_expand(arena, &hlo->devices, tiling->n_devices);
  bool *seen = ARENA_ARRAY(arena, bool, n);
  for (int64_t t = 0; t < n; t++) {
    RETURN_IF(ids[t] >= n || seen[ids[t]],
              diag_fail(diag, STATUS_INVALID, place, NULL,
                        "sharding %.*s does not have each of %ld devices once", STR_ARG(hlo->text), n));
    seen[ids[t]] = true;
    tiling->devices[t] = ids[t];
  }
  return STATUS_OK;
}

/* A mesh with an axis for each size other than 1. */
static const Mesh *mesh_of_sizes(Arena *arena, Ints sizes, const int64_t *device_ids) {
  MeshAxis *axes = ARENA_ARRAY(arena, MeshAxis, sizes.n + 1);
  uint32_t n = 0;
  for (uint32_t d = 0; d < sizes.n; d++) {
    if (sizes.at[d] == 1) continue;
    axes[n] = (MeshAxis){str_printf(arena, "axis_%u", n), sizes.at[d]};
    n++;
  }
  return mesh_new(arena, STR("mesh"), axes, n, device_ids);
}

/* The axes of the tiling's dimensions over `mesh`, else over a mesh made for it; returns the mesh. */
static const Mesh *factor_somehow(Arena *arena, const Mesh *mesh, const Tiling *tiling, Ints reshape,
                                  AxisList *axes) {
  if (mesh != NULL && factor_tiling(arena, mesh, tiling, axes)) return mesh;
  if (reshape.n != 0) {
    mesh = mesh_of_sizes(arena, reshape, NULL);
    if (factor_tiling(arena, mesh, tiling, axes)) return mesh;
  }
  mesh = mesh_of_sizes(arena, tiling->dims, tiling->devices);
  for (uint32_t d = 0, a = 0; d < tiling->dims.n; d++) {
    axes[d] = (AxisList){0};
    if (tiling->dims.at[d] == 1) continue;
    axes[d] = (AxisList){ARENA_NEW(arena, AxisRef), 1};
    axes[d].at[0] = axis_whole(mesh, a++);
  }
  return mesh;
}

static SubgroupKind subgroup_kind(const HloSharding *hlo, uint32_t k) {
  return hlo->n_last_tile_dims == 0 ? SUBGROUP_REPLICATED : hlo->last_tile_dims[k];
}

static Status from_tiles(Arena *arena, const HloSharding *hlo, const Mesh *mesh, Sharding *sharding,
                         Place place, Diag *diag) {
  uint32_t subgroups = hlo->n_last_tile_dims != 0 ? hlo->n_last_tile_dims : hlo->last_tile_dim_replicate;
  RETURN_IF(hlo->tile_dims.n != sharding->rank + subgroups,
            diag_fail(diag, STATUS_INVALID, place, NULL, "sharding %.*s does not fit a value of rank %u",
                      STR_ARG(hlo->text), sharding->rank));
  Tiling tiling;
  TRY(tiling_of(arena, hlo, &tiling, place, diag));
  AxisList *axes = ARENA_ARRAY(arena, AxisList, tiling.dims.n + 1);
  sharding->mesh = factor_somehow(arena, mesh, &tiling, hlo->devices.reshape, axes);
  for (uint32_t d = 0; d < sharding->rank; d++) sharding->dims[d].axes = axes[d];
  for (uint32_t k = 0; k < subgroups; k++)
    if (subgroup_kind(hlo, k) == SUBGROUP_UNREDUCED)
      sharding->unreduced = axes_concat(arena, sharding->mesh, sharding->unreduced, axes[sharding->rank + k]);
  return STATUS_OK;
}

static Status named_axes(Arena *arena, const HloSharding *hlo, const Mesh *mesh, NamedAxes named,
                         AxisList *axes, Place place, Diag *diag) {
  *axes = (AxisList){ARENA_ARRAY(arena, AxisRef, named.n + 1), named.n};
  for (uint32_t i = 0; i < named.n; i++) {
    uint32_t index;
    int64_t number;
    NamedAxis name = named.at[i];
    bool found = mesh_axis_index(mesh, name.name, &index);
    if (!found && str_to_int(name.name, &number) && number >= 0 && number < mesh->n_axes) {
      index = (uint32_t)number;
      found = true;
    }
    RETURN_IF(!found,
              diag_fail(diag, STATUS_INVALID, place, NULL, "sharding %.*s uses an unknown axis '%.*s'",
                        STR_ARG(hlo->text), STR_ARG(name.name)));
    axes->at[i] = name.size == 0 ? axis_whole(mesh, index) : (AxisRef){index, name.pre, name.size};
    int64_t whole = mesh->axes[index].size;
    AxisRef axis = axes->at[i];
    RETURN_IF(axis.pre < 1 || axis.size < 1 || axis.pre > whole || axis.size > whole ||
                  whole % (axis.pre * axis.size) != 0,
              diag_fail(diag, STATUS_INVALID, place, NULL, "sharding %.*s: a sub-axis does not divide '%.*s'",
                        STR_ARG(hlo->text), STR_ARG(name.name)));
  }
  return STATUS_OK;
}

static Status mesh_of_named(Arena *arena, const HloSharding *hlo, const Mesh **mesh, Place place,
                            Diag *diag) {
  MeshAxis *axes = ARENA_ARRAY(arena, MeshAxis, hlo->mesh_sizes.n + 1);
  Tiling tiling;
  HloSharding tiles = {.tile_dims = hlo->mesh_sizes, .devices = hlo->devices, .text = hlo->text};
  TRY(tiling_of(arena, &tiles, &tiling, place, diag));
  for (uint32_t a = 0; a < hlo->mesh_sizes.n; a++)
    axes[a] = (MeshAxis){hlo->mesh_names[a], hlo->mesh_sizes.at[a]};
  *mesh = mesh_new(arena, STR("mesh"), axes, hlo->mesh_sizes.n, tiling.devices);
  return STATUS_OK;
}

static Status from_named(Arena *arena, const HloSharding *hlo, Sharding *sharding, Place place, Diag *diag) {
  TRY(mesh_of_named(arena, hlo, &sharding->mesh, place, diag));
  RETURN_IF(hlo->n_dims != 0 && hlo->n_dims != sharding->rank,
            diag_fail(diag, STATUS_INVALID, place, NULL, "sharding %.*s does not fit a value of rank %u",
                      STR_ARG(hlo->text), sharding->rank));
  for (uint32_t d = 0; d < hlo->n_dims; d++) {
    TRY(named_axes(arena, hlo, sharding->mesh, hlo->dims[d], &sharding->dims[d].axes, place, diag));
    sharding->dims[d].open = hlo->dims[d].open;
  }
  if (str_is(hlo->unreduced_kind, "max")) sharding->reduction = REDUCTION_MAX;
  if (str_is(hlo->unreduced_kind, "min")) sharding->reduction = REDUCTION_MIN;
  TRY(named_axes(arena, hlo, sharding->mesh, hlo->replicated, &sharding->replicated, place, diag));
  return named_axes(arena, hlo, sharding->mesh, hlo->unreduced, &sharding->unreduced, place, diag);
}

static AxisList all_axes(Arena *arena, const Mesh *mesh) {
  AxisList all = {ARENA_ARRAY(arena, AxisRef, mesh->n_axes + 1), mesh->n_axes};
  for (uint32_t a = 0; a < mesh->n_axes; a++) all.at[a] = axis_whole(mesh, a);
  return all;
}

Status sharding_from_hlo(Arena *arena, const HloSharding *hlo, const Mesh *mesh, uint32_t rank,
                         const Sharding **result, Place place, Diag *diag) {
  bool open = hlo->kind == HLO_SHARDING_UNKNOWN;
  Sharding *sharding = (Sharding *)sharding_replicated(arena, mesh, rank, open);
  *result = sharding;
  if (mesh == NULL) sharding->mesh = mesh_new(arena, STR("mesh"), NULL, 0, NULL);
  switch (hlo->kind) {
  case HLO_SHARDING_REPLICATED:
  case HLO_SHARDING_MANUAL:
  case HLO_SHARDING_UNKNOWN: return STATUS_OK;
  case HLO_SHARDING_MAXIMAL: sharding->device = hlo->device; return STATUS_OK;
  case HLO_SHARDING_UNREDUCED: sharding->unreduced = all_axes(arena, sharding->mesh); return STATUS_OK;
  case HLO_SHARDING_TILED: return from_tiles(arena, hlo, mesh, sharding, place, diag);
  case HLO_SHARDING_NAMED:
    TRY(from_named(arena, hlo, sharding, place, diag));
    if (mesh != NULL) *result = sharding_on_mesh(arena, sharding, mesh);
    return STATUS_OK;
  case HLO_SHARDING_TUPLE: break;
  }
  return diag_fail(diag, STATUS_INVALID, place, NULL, "a tuple's sharding %.*s stands on an array",
                   STR_ARG(hlo->text));
}

/* --- To hlo. --- */

/* The device list with dimensions of the sizes of `lists`, which together hold every axis of the mesh once.
 */
static Tiling tiling_of_lists(Arena *arena, const Mesh *mesh, const AxisList *lists, uint32_t n) {
  Tiling tiling = {
      ARENA_ARRAY(arena, int64_t, mesh->n_devices), mesh->n_devices, {ARENA_ARRAY(arena, int64_t, n + 1), n}};
  AxisList all = {0};
  for (uint32_t d = 0; d < n; d++) {
    tiling.dims.at[d] = axes_size(lists[d]);
    all = axes_concat(arena, mesh, all, lists[d]);
  }
  for (uint32_t t = 0; t < mesh->n_devices; t++) {
    int64_t position = tile_position(mesh, all, t);
    tiling.devices[t] = mesh->device_ids == NULL ? position : mesh->device_ids[position];
  }
  return tiling;
}

/* The axes of each dimension, then the replicated and unreduced ones, then all others. */
enum { REPLICATED_AXES, UNREDUCED_AXES, OTHER_AXES, EXTRA_LISTS };
static AxisList *axis_lists(Arena *arena, const Sharding *sharding) {
  AxisList *lists = ARENA_ARRAY(arena, AxisList, sharding->rank + EXTRA_LISTS), used = {0};
  AxisList *extra = lists + sharding->rank;
  for (uint32_t d = 0; d < sharding->rank; d++) lists[d] = sharding->dims[d].axes;
  extra[REPLICATED_AXES] = sharding->replicated;
  extra[UNREDUCED_AXES] = sharding->unreduced;
  for (uint32_t d = 0; d < sharding->rank + OTHER_AXES; d++)
    used = axes_concat(arena, sharding->mesh, used, lists[d]);
  extra[OTHER_AXES] = axes_minus(arena, sharding->mesh, all_axes(arena, sharding->mesh), used);
  return lists;
}

const Sharding *sharding_on_mesh(Arena *arena, const Sharding *sharding, const Mesh *mesh) {
  Sharding *moved = arena_copy(arena, sharding, sizeof *sharding);
  bool any_axes = sharding->replicated.n != 0 || sharding_used_axes(arena, sharding).n != 0;
  if (mesh_eq(sharding->mesh, mesh) || sharding->device >= 0 || (!any_axes && sharding->unreduced.n == 0)) {
    moved->mesh = mesh;
    return moved;
  }
  uint32_t n = sharding->rank + EXTRA_LISTS;
  Tiling tiling = tiling_of_lists(arena, sharding->mesh, axis_lists(arena, sharding), n);
  AxisList *axes = ARENA_ARRAY(arena, AxisList, n);
  if (!factor_tiling(arena, mesh, &tiling, axes)) return sharding;
  moved->mesh = mesh;
  moved->dims = ARENA_ARRAY(arena, DimSharding, sharding->rank);
  for (uint32_t d = 0; d < sharding->rank; d++) {
    moved->dims[d] = sharding->dims[d];
    moved->dims[d].axes = axes[d];
  }
  moved->replicated = axes[sharding->rank + REPLICATED_AXES];
  moved->unreduced = axes[sharding->rank + UNREDUCED_AXES];
  return moved;
}

static void print_ints(StrBuf *buf, const char *open, const int64_t *at, uint32_t n, const char *close) {
  for (uint32_t i = 0; i < n; i++) buf_printf(buf, "%s%ld", i == 0 ? open : ",", at[i]);
  if (n != 0) buf_add(buf, str_of(close));
}

/* `<=[4,2]T(1,0)` where the list is a transposed iota, else the ids. */
static void print_devices(StrBuf *buf, const Tiling *tiling) {
  MeshAxis line = {STR("devices"), tiling->n_devices};
  const Mesh *mesh = mesh_new(buf->arena, STR("iota"), &line, 1, NULL);
  AxisList *axes = ARENA_ARRAY(buf->arena, AxisList, tiling->dims.n + 1), all = {0};
  if (!factor_tiling(buf->arena, mesh, tiling, axes)) {
    print_ints(buf, "", tiling->devices, tiling->n_devices, "");
    return;
  }
  for (uint32_t d = 0; d < tiling->dims.n; d++) all = axes_concat(buf->arena, mesh, all, axes[d]);
  int64_t *sizes = ARENA_ARRAY(buf->arena, int64_t, all.n + 1),
          *perm = ARENA_ARRAY(buf->arena, int64_t, all.n + 1);
  for (uint32_t i = 0; i < all.n; i++) {
    for (uint32_t j = 0; j < all.n; j++) perm[i] += all.at[j].pre < all.at[i].pre;
    sizes[perm[i]] = all.at[i].size;
  }
  buf_add(buf, STR("<="));
  print_ints(buf, "[", sizes, all.n, "]");
  if (all.n > 1) print_ints(buf, "T(", perm, all.n, ")");
}

Str sharding_hlo_text(Arena *arena, const Sharding *sharding) {
  if (sharding->device >= 0) return str_printf(arena, "{maximal device=%ld}", sharding->device);
  if (sharding_is_replicated(sharding)) return STR("{replicated}");
  AxisList *lists = axis_lists(arena, sharding), *extra = lists + sharding->rank;
  AxisList replicated = axes_concat(arena, sharding->mesh, extra[REPLICATED_AXES], extra[OTHER_AXES]);
  uint32_t n = sharding->rank;
  StrBuf buf = {.arena = arena};
  bool partly = axes_size(replicated) > 1, unreduced = axes_size(sharding->unreduced) > 1;
  if (partly) lists[n++] = replicated;
  if (unreduced) lists[n++] = sharding->unreduced;
  Tiling tiling = tiling_of_lists(arena, sharding->mesh, lists, n);
  buf_add(&buf, STR("{devices="));
  print_ints(&buf, "[", tiling.dims.at, n, "]");
  print_devices(&buf, &tiling);
  if (unreduced)
    buf_add(&buf,
            partly ? STR(" last_tile_dims={replicated, unreduced}") : STR(" last_tile_dims={unreduced}"));
  else if (partly)
    buf_add(&buf, STR(" last_tile_dim_replicate"));
  buf_char(&buf, '}');
  return buf_str(&buf);
}

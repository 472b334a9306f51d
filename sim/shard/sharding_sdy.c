/* Shardy's text: meshes and shardings as they stand in xla.sdy.* attributes and in StableHLO (grammar:
 * shardy/dialect/sdy/ir/attrs.td). */
#include "sim/shard/scan.h"
#include "sim/shard/sharding.h"

typedef struct {
  const Mesh *const *meshes;
  uint32_t n;
} Meshes;

static Scan scan_of(Arena *arena, Str text, Place place, Diag *diag) {
  return (Scan){.text = text,
                .arena = arena,
                .diag = diag,
                .place = place,
                .status = STATUS_INVALID,
                .what = "sharding"};
}

/* --- Meshes. --- */

static Status scan_mesh_axes(Scan *scan, const char *close, MeshAxis **axes, uint32_t *n, int64_t *devices) {
  Vec(MeshAxis) list = {0};
  *devices = 1;
  while (!scan_take(scan, close)) {
    MeshAxis axis;
    if (list.n != 0) TRY(scan_expect(scan, ","));
    TRY(scan_quoted(scan, &axis.name));
    for (uint32_t i = 0; i < list.n; i++)
      RETURN_IF(str_eq(list.at[i].name, axis.name), scan_fail(scan, "each axis only once"));
    TRY(scan_expect(scan, "="));
    TRY(scan_int(scan, 1, &axis.size));
    RETURN_IF(__builtin_mul_overflow(*devices, axis.size, devices) || *devices > INT32_MAX,
              scan_fail(scan, "a mesh of fewer devices"));
    VEC_PUSH(scan->arena, &list, axis);
  }
  *axes = list.at;
  *n = list.n;
  return STATUS_OK;
}

/* `[1, 0, 2]`: each of 0 … devices-1 once; any one id for a mesh without axes. */
static Status scan_device_ids(Scan *scan, uint32_t n_axes, int64_t devices, int64_t **ids) {
  RETURN_IF((size_t)devices > scan->text.n - scan->at, scan_fail(scan, "an id for each device of the mesh"));
  *ids = ARENA_ARRAY(scan->arena, int64_t, devices);
  bool *seen = ARENA_ARRAY(scan->arena, bool, devices);
  TRY(scan_expect(scan, "["));
  for (int64_t i = 0; i < devices; i++) {
    if (i != 0) TRY(scan_expect(scan, ","));
    TRY(scan_int(scan, 0, &(*ids)[i]));
    if (n_axes == 0) continue;
    RETURN_IF((*ids)[i] >= devices || seen[(*ids)[i]], scan_fail(scan, "each device once"));
    seen[(*ids)[i]] = true;
  }
  return scan_expect(scan, "]");
}

/* `<["data"=4, "model"=2], device_ids=[…]>` */
static Status scan_mesh(Scan *scan, Str name, const Mesh **mesh) {
  MeshAxis *axes = NULL;
  uint32_t n_axes = 0;
  int64_t devices, *ids = NULL;
  TRY(scan_expect(scan, "<"));
  TRY(scan_expect(scan, "["));
  TRY(scan_mesh_axes(scan, "]", &axes, &n_axes, &devices));
  if (scan_take(scan, ",")) {
    TRY(scan_expect(scan, "device_ids"));
    TRY(scan_expect(scan, "="));
    TRY(scan_device_ids(scan, n_axes, devices, &ids));
  }
  TRY(scan_expect(scan, ">"));
  *mesh = mesh_new(scan->arena, name, axes, n_axes, ids);
  return STATUS_OK;
}

Status meshes_of_module(Arena *arena, const Module *module, const Mesh ***meshes, uint32_t *n, Diag *diag) {
  Str text = keys_get(module->frontend, "xla.sdy.meshes");
  Place place = module->source == NULL ? NOWHERE : (Place){module->source, 0};
  Scan scan = scan_of(arena, text, place, diag);
  scan.what = "list of meshes";
  Vec(const Mesh *) list = {0};
  *n = 0;
  if (text.n == 0) return STATUS_OK;
  TRY(scan_expect(&scan, "{"));
  while (!scan_take(&scan, "}")) {
    Str name;
    const Mesh *mesh;
    if (list.n != 0) TRY(scan_expect(&scan, ","));
    TRY(scan_sees(&scan, "\"") ? scan_quoted(&scan, &name) : scan_word(&scan, &name));
    TRY(scan_expect(&scan, "="));
    TRY(scan_expect(&scan, "#sdy.mesh"));
    TRY(scan_mesh(&scan, name, &mesh));
    VEC_PUSH(arena, &list, mesh);
  }
  *meshes = list.at;
  *n = list.n;
  return scan_end(&scan);
}

/* --- Shardings. --- */

static Status scan_mesh_or_name(Scan *scan, Meshes meshes, const Mesh **mesh) {
  if (scan_take(scan, "mesh")) return scan_mesh(scan, STR("mesh"), mesh);
  Str name;
  TRY(scan_expect(scan, "@"));
  TRY(scan_sees(scan, "\"") ? scan_quoted(scan, &name) : scan_word(scan, &name));
  for (uint32_t m = 0; m < meshes.n; m++)
    if (str_eq(meshes.meshes[m]->name, name)) {
      *mesh = meshes.meshes[m];
      return STATUS_OK;
    }
  return diag_fail(scan->diag, STATUS_INVALID, scan->place, "meshes stand in xla.sdy.meshes of the header",
                   "sharding '%.*s' speaks of a mesh @%.*s that the program does not have",
                   STR_ARG(scan->text), STR_ARG(name));
}

/* `"x"` or `"x":(2)4` */
static Status scan_axis(Scan *scan, const Mesh *mesh, AxisRef *axis) {
  Str name;
  uint32_t index;
  TRY(scan_quoted(scan, &name));
  RETURN_IF(!mesh_axis_index(mesh, name, &index),
            diag_fail(scan->diag, STATUS_INVALID, scan->place, NULL,
                      "sharding '%.*s' uses axis \"%.*s\", but the mesh is %.*s", STR_ARG(scan->text),
                      STR_ARG(name), STR_ARG(mesh_text(scan->arena, mesh))));
  *axis = axis_whole(mesh, index);
  if (!scan_take(scan, ":")) return STATUS_OK;
  TRY(scan_expect(scan, "("));
  TRY(scan_int(scan, 1, &axis->pre));
  TRY(scan_expect(scan, ")"));
  TRY(scan_int(scan, 1, &axis->size));
  int64_t whole = mesh->axes[index].size;
  RETURN_IF(axis->pre > whole || axis->size > whole || whole % (axis->pre * axis->size) != 0,
            scan_fail(scan, "a sub-axis that divides its axis"));
  return STATUS_OK;
}

/* Axes up to the closing brace; `?` may stand last where `open` is not NULL. */
static Status scan_axis_list(Scan *scan, const Mesh *mesh, AxisList *used, AxisList *axes, bool *open) {
  *axes = (AxisList){0};
  TRY(scan_expect(scan, "{"));
  while (!scan_take(scan, "}")) {
    if (axes->n != 0) TRY(scan_expect(scan, ","));
    if (open != NULL && scan_take(scan, "?")) {
      *open = true;
      return scan_expect(scan, "}");
    }
    AxisRef axis;
    TRY(scan_axis(scan, mesh, &axis));
    AxisList one = {arena_copy(scan->arena, &axis, sizeof axis), 1};
    RETURN_IF(axes_overlap(*used, one), scan_fail(scan, "each axis only once"));
    *used = axes_concat(scan->arena, mesh, *used, one);
    *axes = axes_concat(scan->arena, mesh, *axes, one);
  }
  return STATUS_OK;
}

static Status scan_priority(Scan *scan, uint32_t *priority) {
  Str word;
  int64_t value;
  if (!(scan->at < scan->text.n && scan->text.at[scan->at] == 'p')) return STATUS_OK;
  TRY(scan_word(scan, &word));
  RETURN_IF(!str_to_int(str_sub(word, 1, word.n), &value) || value < 0 || value > INT32_MAX,
            scan_fail(scan, "a priority like p1"));
  *priority = (uint32_t)value;
  return STATUS_OK;
}

static Status scan_dims(Scan *scan, Sharding *sharding, AxisList *used) {
  Vec(DimSharding) dims = {0};
  TRY(scan_expect(scan, "["));
  while (!scan_take(scan, "]")) {
    DimSharding dim = {0};
    if (dims.n != 0) TRY(scan_expect(scan, ","));
    TRY(scan_axis_list(scan, sharding->mesh, used, &dim.axes, &dim.open));
    TRY(scan_priority(scan, &dim.priority));
    VEC_PUSH(scan->arena, &dims, dim);
  }
  sharding->dims = dims.at;
  sharding->rank = dims.n;
  return STATUS_OK;
}

static Reduction scan_reduction(Scan *scan) {
  if (scan_take(scan, "max")) return REDUCTION_MAX;
  if (scan_take(scan, "min")) return REDUCTION_MIN;
  scan_take(scan, "sum");
  return REDUCTION_SUM;
}

/* `<@mesh, [{"data"}, {?}], replicated={"model"}, unreduced={"x"}>` */
static Status scan_sharding(Scan *scan, Meshes meshes, const Sharding **result) {
  Sharding *sharding = ARENA_NEW(scan->arena, Sharding);
  AxisList used = {0};
  sharding->device = -1;
  TRY(scan_expect(scan, "<"));
  TRY(scan_mesh_or_name(scan, meshes, &sharding->mesh));
  TRY(scan_expect(scan, ","));
  TRY(scan_dims(scan, sharding, &used));
  while (scan_take(scan, ",")) {
    if (scan_take(scan, "replicated")) {
      TRY(scan_expect(scan, "="));
      TRY(scan_axis_list(scan, sharding->mesh, &used, &sharding->replicated, NULL));
    } else {
      TRY(scan_expect(scan, "unreduced"));
      if (scan_take(scan, "=")) sharding->reduction = scan_reduction(scan);
      TRY(scan_axis_list(scan, sharding->mesh, &used, &sharding->unreduced, NULL));
    }
  }
  if (sharding->mesh->n_axes == 0 && sharding->mesh->device_ids != NULL)
    sharding->device = sharding->mesh->device_ids[0];
  *result = sharding;
  return scan_expect(scan, ">");
}

Status sharding_parse_sdy(Arena *arena, Str text, const Mesh *const *meshes, uint32_t n_meshes,
                          const Sharding **sharding, Place place, Diag *diag) {
  Scan scan = scan_of(arena, text, place, diag);
  TRY(scan_expect(&scan, "#sdy.sharding"));
  TRY(scan_sharding(&scan, (Meshes){meshes, n_meshes}, sharding));
  return scan_end(&scan);
}

Status sharding_parse_per_value(Arena *arena, Str text, const Mesh *const *meshes, uint32_t n_meshes,
                                const Sharding ***shardings, uint32_t *n, Place place, Diag *diag) {
  Scan scan = scan_of(arena, text, place, diag);
  Vec(const Sharding *) list = {0};
  TRY(scan_expect(&scan, "#sdy.sharding_per_value"));
  TRY(scan_expect(&scan, "<"));
  TRY(scan_expect(&scan, "["));
  while (!scan_take(&scan, "]")) {
    const Sharding *sharding;
    if (list.n != 0) TRY(scan_expect(&scan, ","));
    TRY(scan_sharding(&scan, (Meshes){meshes, n_meshes}, &sharding));
    VEC_PUSH(arena, &list, sharding);
  }
  *shardings = list.at;
  *n = list.n;
  TRY(scan_expect(&scan, ">"));
  return scan_end(&scan);
}

Status axes_parse_manual(Arena *arena, Str text, const Mesh *mesh, AxisList *axes, Place place, Diag *diag) {
  Scan scan = scan_of(arena, text, place, diag);
  AxisList used = {0};
  TRY(scan_expect(&scan, "#sdy"));
  TRY(scan_expect(&scan, "<"));
  TRY(scan_expect(&scan, "manual_axes"));
  TRY(scan_axis_list(&scan, mesh, &used, axes, NULL));
  TRY(scan_expect(&scan, ">"));
  return scan_end(&scan);
}

/* --- Printing. --- */

static void print_axes(StrBuf *buf, const Mesh *mesh, AxisList axes) {
  for (uint32_t i = 0; i < axes.n; i++) {
    AxisRef axis = axes.at[i];
    buf_printf(buf, "%s\"%.*s\"", i == 0 ? "" : ", ", STR_ARG(mesh->axes[axis.axis].name));
    if (axis.size != mesh->axes[axis.axis].size) buf_printf(buf, ":(%ld)%ld", axis.pre, axis.size);
  }
}

static void print_named_axes(StrBuf *buf, const Mesh *mesh, const char *name, AxisList axes) {
  if (axes.n == 0) return;
  buf_printf(buf, ", %s{", name);
  print_axes(buf, mesh, axes);
  buf_char(buf, '}');
}

Str sharding_sdy_text(Arena *arena, const Sharding *sharding) {
  static const char *const UNREDUCED[] = {"unreduced=", "unreduced=max", "unreduced=min"};
  StrBuf buf = {.arena = arena};
  if (sharding->device >= 0) return str_printf(arena, "device %ld", sharding->device);
  buf_char(&buf, '[');
  for (uint32_t d = 0; d < sharding->rank; d++) {
    const DimSharding *dim = &sharding->dims[d];
    buf_printf(&buf, "%s{", d == 0 ? "" : ", ");
    print_axes(&buf, sharding->mesh, dim->axes);
    if (dim->open) buf_printf(&buf, "%s?", dim->axes.n == 0 ? "" : ", ");
    buf_char(&buf, '}');
    if (dim->priority != 0) buf_printf(&buf, "p%u", dim->priority);
  }
  buf_char(&buf, ']');
  print_named_axes(&buf, sharding->mesh, "replicated=", sharding->replicated);
  print_named_axes(&buf, sharding->mesh, UNREDUCED[sharding->reduction], sharding->unreduced);
  return buf_str(&buf);
}

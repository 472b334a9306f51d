/* Mesh layout: every layout but two is a list of torus parts for each mesh axis, and a position's coordinates
 * on the mesh are dealt out to them digit by digit. The two are an order of chips, and device d on chip d. */
#include "sim/mesh_layout.h"

#include "sim/device_mesh.h"

typedef struct {
  Arena *arena;
  const Pod *pod;
  const Mesh *mesh;
  int64_t *sizes;    /* of the mesh's axes */
  TorusParts *parts; /* by mesh axis */
  Diag *diag;
} Laying;

/* ---- what is written ---- */

static Status bad_layout(const Laying *laying, const char *hint, Str why) {
  return diag_fail(laying->diag, STATUS_INVALID, NOWHERE, hint, "mesh.layout = %.*s: %.*s",
                   STR_ARG(laying->pod->mesh_layout), STR_ARG(why));
}

/* "x", or "x2": two chips of it. */
static Status read_part(const Laying *laying, Str text, bool alone, int64_t mesh_size, TorusPart *part) {
  char letter = text.n > 0 ? text.at[0] : 0;
  Arena *arena = laying->arena;
  part->axis = (uint32_t)(letter - 'x');
  RETURN_IF(letter < 'x' || part->axis >= laying->pod->n_axes,
            bad_layout(laying, "torus axes are x, y and z, as in data:x,model:y*z",
                       str_printf(arena, "the pod has no torus axis '%.*s'", STR_ARG(text))));
  part->size = alone ? mesh_size : laying->pod->shape[part->axis];
  Str digits = str_sub(text, 1, text.n);
  RETURN_IF(digits.n > 0 && (!str_to_int(digits, &part->size) || part->size < 1),
            bad_layout(laying, "write x2 for two chips of x",
                       str_printf(arena, "'%.*s' is no part of a torus axis", STR_ARG(text))));
  return STATUS_OK;
}

static Status read_parts(const Laying *laying, uint32_t axis, Str text) {
  TorusParts *parts = &laying->parts[axis];
  bool alone = str_find(text, '*') == text.n;
  int64_t product = 1;
  for (size_t at = 0; at <= text.n;) {
    size_t end = at + str_find(str_sub(text, at, text.n), '*');
    TorusPart part;
    TRY(read_part(laying, str_trim(str_sub(text, at, end)), alone, laying->sizes[axis], &part));
    for (uint32_t i = 0; i < parts->n; i++)
      RETURN_IF(parts->at[i].axis == part.axis,
                bad_layout(laying, NULL, STR("a torus axis stands twice behind one mesh axis")));
    VEC_PUSH(laying->arena, parts, part);
    if (__builtin_mul_overflow(product, part.size, &product)) product = 0;
    at = end + 1;
  }
  if (product == laying->sizes[axis]) return STATUS_OK;
  return bad_layout(laying, "write x2 for two chips of x",
                    str_printf(laying->arena, "%.*s has %lld devices, its torus axes have %lld chips",
                               STR_ARG(laying->mesh->axes[axis].name), (long long)laying->sizes[axis],
                               (long long)product));
}

static Status read_axis(const Laying *laying, Str text) {
  size_t colon = str_find(text, ':');
  Str name = str_trim(str_sub(text, 0, colon));
  uint32_t axis;
  RETURN_IF(colon == text.n, bad_layout(laying, NULL, STR("write auto, row-major, or e.g. data:x,model:y")));
  RETURN_IF(!mesh_axis_index(laying->mesh, name, &axis),
            bad_layout(laying, NULL,
                       str_printf(laying->arena, "the mesh (%s) has no axis '%.*s'",
                                  mesh_text(laying->arena, laying->mesh).at, STR_ARG(name))));
  RETURN_IF(laying->parts[axis].n > 0,
            bad_layout(laying, NULL, str_printf(laying->arena, "'%.*s' stands twice", STR_ARG(name))));
  return read_parts(laying, axis, str_sub(text, colon + 1, text.n));
}

/* Every torus axis must be used up, and no mesh axis left out. */
static Status check_torus(const Laying *laying) {
  int64_t used[POD_AXES] = {1, 1, 1};
  for (uint32_t i = 0; i < laying->mesh->n_axes; i++) {
    RETURN_IF(laying->parts[i].n == 0 && laying->sizes[i] > 1,
              bad_layout(laying, NULL,
                         str_printf(laying->arena, "it does not say where '%.*s' lies",
                                    STR_ARG(laying->mesh->axes[i].name))));
    for (uint32_t k = 0; k < laying->parts[i].n; k++)
      used[laying->parts[i].at[k].axis] *= laying->parts[i].at[k].size;
  }
  for (uint32_t axis = 0; axis < POD_AXES; axis++)
    RETURN_IF(
        used[axis] != laying->pod->shape[axis],
        bad_layout(laying, "write x2 for two chips of x",
                   str_printf(laying->arena, "%c has %lld chips, the mesh axes along it take %lld",
                              "xyz"[axis], (long long)laying -> pod -> shape[axis], (long long)used[axis])));
  return STATUS_OK;
}

static Status read_layout(const Laying *laying) {
  Str text = laying->pod->mesh_layout;
  for (size_t at = 0; at <= text.n;) {
    size_t end = at + str_find(str_sub(text, at, text.n), ',');
    TRY(read_axis(laying, str_trim(str_sub(text, at, end))));
    at = end + 1;
  }
  return check_torus(laying);
}

/* ---- what is chosen ---- */

/* A mesh of the pod's shape, axes of one device left out: its parts are the torus axes in order. */
static bool lies_axis_by_axis(const Laying *laying) {
  uint32_t axis = 0;
  for (uint32_t i = 0; i < laying->mesh->n_axes; i++) {
    if (laying->sizes[i] == 1) continue;
    while (axis < POD_AXES && laying->pod->shape[axis] == 1) axis++;
    if (axis == POD_AXES || laying->pod->shape[axis] != laying->sizes[i]) return false;
    axis++;
  }
  for (uint32_t i = 0, next = 0; i < laying->mesh->n_axes; i++) {
    if (laying->sizes[i] == 1) continue;
    while (laying->pod->shape[next] == 1) next++;
    VEC_PUSH(laying->arena, &laying->parts[i], (TorusPart){next++, laying->sizes[i]});
  }
  return true;
}

/* ---- chips ---- */

static uint32_t chip_at(const Laying *laying, int64_t position) {
  int64_t at[POD_AXES] = {0}, digits[POD_AXES], stride = laying->mesh->n_devices;
  for (uint32_t i = 0; i < laying->mesh->n_axes; i++) {
    stride /= laying->sizes[i];
    int64_t coordinate = position / stride % laying->sizes[i];
    const TorusParts *parts = &laying->parts[i];
    for (uint32_t k = parts->n; k-- > 0; coordinate /= parts->at[k].size)
      digits[k] = coordinate % parts->at[k].size;
    for (uint32_t k = 0; k < parts->n; k++) {
      TorusPart part = parts->at[k];
      at[part.axis] = at[part.axis] * part.size + digits[k];
    }
  }
  return pod_chip(laying->pod, at);
}

/* The chip with a number that counts x fastest. */
static uint32_t chip_x_fastest(const Pod *pod, int64_t number) {
  int64_t at[POD_AXES];
  for (uint32_t axis = 0; axis < POD_AXES; axis++) {
    at[axis] = number % pod->shape[axis];
    number /= pod->shape[axis];
  }
  return pod_chip(pod, at);
}

static Str parts_text(const Laying *laying) {
  StrBuf buf = {.arena = laying->arena};
  for (uint32_t i = 0; i < laying->mesh->n_axes; i++) {
    const TorusParts *parts = &laying->parts[i];
    if (parts->n == 0) continue;
    buf_printf(&buf, "%s%.*s along ", buf.n == 0 ? "" : ", ", STR_ARG(laying->mesh->axes[i].name));
    for (uint32_t k = 0; k < parts->n; k++) {
      TorusPart part = parts->at[k];
      buf_printf(&buf, "%s%c", k == 0 ? "" : "*", "xyz"[part.axis]);
      if (part.size != laying->pod->shape[part.axis]) buf_printf(&buf, "%lld", (long long)part.size);
    }
  }
  return buf.n == 0 ? STR("one chip") : buf_str(&buf);
}

static void lay_parts(const Laying *laying, MeshLayout *layout) {
  const int64_t *ids = laying->mesh->device_ids;
  for (uint32_t p = 0; p < laying->mesh->n_devices; p++)
    layout->chip_of[ids == NULL ? p : ids[p]] = chip_at(laying, p);
  layout->text = parts_text(laying);
}

static void lay_ring(const Laying *laying, const uint8_t *ring, MeshLayout *layout) {
  for (uint32_t p = 0; p < laying->mesh->n_devices; p++)
    layout->chip_of[p] = chip_x_fastest(laying->pod, ring[p]);
  layout->text = str_printf(laying->arena, "row-major over a ring of %u chips", laying->mesh->n_devices);
}

static void lay_row_major(uint32_t n_chips, MeshLayout *layout) {
  for (uint32_t chip = 0; chip < n_chips; chip++) layout->chip_of[chip] = chip;
  layout->text = STR("device d is chip d, row-major");
}

static void lay_automatically(const Laying *laying, MeshLayout *layout) {
  const Mesh *mesh = laying->mesh;
  const uint8_t *ring = NULL;
  if (mesh->device_ids != NULL || mesh->is_inferred) {
    lay_row_major(mesh->n_devices, layout);
  } else if (lies_axis_by_axis(laying)) {
    lay_parts(laying, layout);
  } else if ((ring = device_mesh_ring(laying->pod, laying->sizes, mesh->n_axes)) != NULL) {
    lay_ring(laying, ring, layout);
  } else {
    device_mesh_parts(laying->arena, laying->pod->shape, laying->sizes, mesh->n_axes, laying->parts);
    lay_parts(laying, layout);
  }
}

Status mesh_layout(Arena *arena, const Pod *pod, const Mesh *mesh, MeshLayout *layout, Diag *diag) {
  uint32_t n_axes = mesh == NULL ? 0 : mesh->n_axes;
  Laying laying = {.arena = arena,
                   .pod = pod,
                   .mesh = mesh,
                   .sizes = ARENA_ARRAY(arena, int64_t, n_axes + 1),
                   .parts = ARENA_ARRAY(arena, TorusParts, n_axes + 1),
                   .diag = diag};
  for (uint32_t i = 0; i < n_axes; i++) laying.sizes[i] = mesh->axes[i].size;
  layout->chip_of = ARENA_ARRAY(arena, uint32_t, pod->n_chips);
  layout->text = STR("");
  if (n_axes == 0) return STATUS_OK;
  if (str_is(pod->mesh_layout, "row-major")) {
    lay_row_major(pod->n_chips, layout);
  } else if (str_is(pod->mesh_layout, "auto")) {
    lay_automatically(&laying, layout);
  } else {
    TRY(read_layout(&laying));
    lay_parts(&laying, layout);
  }
  return STATUS_OK;
}

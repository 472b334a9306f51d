/* Mesh layout: every layout but two is a list of torus parts for each mesh axis, and a position's coordinates
 * on the mesh are dealt out to them digit by digit. The two are an order of chips, and device d on chip d. */
#include "sim/mesh_layout.h"

#include "sim/device_mesh.h"

enum { DCN = POD_AXES, AXES };

static const char *const axis_names[AXES] = {"x", "y", "z", "dcn"};

typedef struct {
  Arena *arena;
  const Pod *pod;
  const Mesh *mesh;
  int64_t length[AXES]; /* of the torus axes; the number of slices */
  int64_t *sizes;       /* of the mesh's axes in a slice: without what goes over slices */
  TorusParts *parts;    /* by mesh axis */
  Diag *diag;
} Laying;

/* ---- what is written ---- */

static Status bad_layout(const Laying *laying, const char *hint, Str why) {
  return diag_fail(laying->diag, STATUS_INVALID, NOWHERE, hint, "mesh.layout = %.*s: %.*s",
                   STR_ARG(laying->pod->mesh_layout), STR_ARG(why));
}

static bool find_axis(const Laying *laying, Str text, uint32_t *axis, Str *digits) {
  for (*axis = 0; *axis < AXES; ++*axis) {
    bool is_there = *axis == DCN ? laying->pod->slices > 1 : *axis < laying->pod->n_axes;
    Str name = str_of(axis_names[*axis]);
    *digits = str_sub(text, name.n, text.n);
    if (is_there && str_starts(text, name.at)) return true;
  }
  return false;
}

/* "x", or "x2": two chips of it. `all`: how many where no number says. */
static Status read_part(const Laying *laying, Str text, int64_t all, TorusPart *part) {
  Str digits;
  RETURN_IF(!find_axis(laying, text, &part->axis, &digits),
            bad_layout(laying, "torus axes are x, y and z, as in data:x,model:y*z",
                       str_printf(laying->arena, "the pod has no torus axis '%.*s'", STR_ARG(text))));
  part->size = all > 0 ? all : laying->length[part->axis];
  RETURN_IF(digits.n > 0 && (!str_to_int(digits, &part->size) || part->size < 1),
            bad_layout(laying, "write x2 for two chips of x",
                       str_printf(laying->arena, "'%.*s' is no part of a torus axis", STR_ARG(text))));
  return STATUS_OK;
}

static Status read_parts(const Laying *laying, uint32_t axis, Str text) {
  TorusParts *parts = &laying->parts[axis];
  int64_t product = 1, size = laying->mesh->axes[axis].size, all = str_find(text, '*') == text.n ? size : 0;
  for (size_t at = 0; at <= text.n;) {
    size_t end = at + str_find(str_sub(text, at, text.n), '*');
    TorusPart part;
    TRY(read_part(laying, str_trim(str_sub(text, at, end)), all, &part));
    for (uint32_t i = 0; i < parts->n; i++)
      RETURN_IF(parts->at[i].axis == part.axis,
                bad_layout(laying, NULL, STR("a torus axis stands twice behind one mesh axis")));
    VEC_PUSH(laying->arena, parts, part);
    if (__builtin_mul_overflow(product, part.size, &product)) product = 0;
    at = end + 1;
  }
  if (product == size) return STATUS_OK;
  return bad_layout(laying, "write x2 for two chips of x",
                    str_printf(laying->arena, "%.*s has %lld devices, its torus axes have %lld chips",
                               STR_ARG(laying->mesh->axes[axis].name), (long long)size, (long long)product));
}

static Status read_axis(const Laying *laying, Str text) {
  size_t colon = str_find(text, ':');
  Str name = str_trim(str_sub(text, 0, colon));
  uint32_t axis;
  RETURN_IF(colon == text.n, bad_layout(laying, NULL, STR("write auto, row-major, or e.g. data:x,model:y")));
  RETURN_IF(!mesh_axis_index(laying->mesh, name, &axis),
            bad_layout(laying, mesh_axis_hint(laying->arena, laying->mesh, name),
                       str_printf(laying->arena, "the mesh (%s) has no axis '%.*s'",
                                  mesh_text(laying->arena, laying->mesh).at, STR_ARG(name))));
  RETURN_IF(laying->parts[axis].n > 0,
            bad_layout(laying, NULL, str_printf(laying->arena, "'%.*s' stands twice", STR_ARG(name))));
  return read_parts(laying, axis, str_sub(text, colon + 1, text.n));
}

/* Every torus axis must be used up, and no mesh axis left out. */
static Status check_torus(const Laying *laying) {
  int64_t used[AXES] = {1, 1, 1, 1};
  for (uint32_t i = 0; i < laying->mesh->n_axes; i++) {
    RETURN_IF(laying->parts[i].n == 0 && laying->mesh->axes[i].size > 1,
              bad_layout(laying, NULL,
                         str_printf(laying->arena, "it does not say where '%.*s' lies",
                                    STR_ARG(laying->mesh->axes[i].name))));
    for (uint32_t k = 0; k < laying->parts[i].n; k++)
      used[laying->parts[i].at[k].axis] *= laying->parts[i].at[k].size;
  }
  for (uint32_t axis = 0; axis < AXES; axis++)
    RETURN_IF(
        used[axis] != laying->length[axis],
        bad_layout(laying, "write x2 for two chips of x",
                   str_printf(laying->arena, "%s has %lld chips, the mesh axes along it take %lld",
                              axis_names[axis], (long long)laying->length[axis], (long long)used[axis])));
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

/* Gives the slices to the first axes; false where they cannot be dealt out to them. */
static bool split_over_slices(const Laying *laying) {
  int64_t left = laying->pod->slices;
  for (uint32_t i = 0; i < laying->mesh->n_axes && left > 1; i++) {
    int64_t size = laying->sizes[i], over = size < left ? size : left;
    if (size % over != 0 || left % over != 0) return false;
    if (over > 1) VEC_PUSH(laying->arena, &laying->parts[i], (TorusPart){DCN, over});
    laying->sizes[i] /= over;
    left /= over;
  }
  return left == 1;
}

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

/* In each slice as JAX does. */
static void choose_parts(const Laying *laying) {
  uint32_t n = laying->mesh->n_axes;
  TorusParts *parts = ARENA_ARRAY(laying->arena, TorusParts, n);
  device_mesh_parts(laying->arena, laying->pod->shape, laying->sizes, n, parts);
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < parts[i].n; k++) VEC_PUSH(laying->arena, &laying->parts[i], parts[i].at[k]);
}

/* ---- chips ---- */

static uint32_t chip_at(const Laying *laying, int64_t position) {
  int64_t at[AXES] = {0}, digits[AXES], stride = laying->mesh->n_devices;
  for (uint32_t i = 0; i < laying->mesh->n_axes; i++) {
    int64_t size = laying->mesh->axes[i].size, coordinate = position / (stride /= size) % size;
    const TorusParts *parts = &laying->parts[i];
    for (uint32_t k = parts->n; k-- > 0; coordinate /= parts->at[k].size)
      digits[k] = coordinate % parts->at[k].size;
    for (uint32_t k = 0; k < parts->n; k++) {
      TorusPart part = parts->at[k];
      at[part.axis] = at[part.axis] * part.size + digits[k];
    }
  }
  return pod_chip(laying->pod, (uint32_t)at[DCN], at);
}

/* The chip of a slice with a number that counts x fastest. */
static uint32_t chip_x_fastest(const Pod *pod, uint32_t slice, int64_t number) {
  int64_t at[POD_AXES];
  for (uint32_t axis = 0; axis < POD_AXES; axis++) {
    at[axis] = number % pod->shape[axis];
    number /= pod->shape[axis];
  }
  return pod_chip(pod, slice, at);
}

/* A position's slice and its position in the mesh that lies in each slice. */
static uint32_t split_position(const Laying *laying, int64_t position, int64_t *within) {
  int64_t slice = 0, stride = laying->mesh->n_devices;
  *within = 0;
  for (uint32_t i = 0; i < laying->mesh->n_axes; i++) {
    int64_t size = laying->mesh->axes[i].size, coordinate = position / (stride /= size) % size;
    slice = slice * (size / laying->sizes[i]) + coordinate / laying->sizes[i];
    *within = *within * laying->sizes[i] + coordinate % laying->sizes[i];
  }
  return (uint32_t)slice;
}

static Str parts_text(const Laying *laying) {
  StrBuf buf = {.arena = laying->arena};
  for (uint32_t i = 0; i < laying->mesh->n_axes; i++) {
    const TorusParts *parts = &laying->parts[i];
    if (parts->n == 0) continue;
    buf_printf(&buf, "%s%.*s along ", buf.n == 0 ? "" : ", ", STR_ARG(laying->mesh->axes[i].name));
    for (uint32_t k = 0; k < parts->n; k++) {
      TorusPart part = parts->at[k];
      buf_printf(&buf, "%s%s", k == 0 ? "" : "*", axis_names[part.axis]);
      if (part.size != laying->length[part.axis]) buf_printf(&buf, "%lld", (long long)part.size);
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
  for (uint32_t p = 0; p < laying->mesh->n_devices; p++) {
    int64_t within;
    uint32_t slice = split_position(laying, p, &within);
    layout->chip_of[p] = chip_x_fastest(laying->pod, slice, ring[within]);
  }
  layout->text = str_printf(laying->arena, "%srow-major over a ring of %u chips",
                            laying->pod->slices > 1 ? "slice by slice " : "", laying->pod->slice_chips);
}

static void lay_row_major(uint32_t n_chips, MeshLayout *layout) {
  for (uint32_t chip = 0; chip < n_chips; chip++) layout->chip_of[chip] = chip;
  layout->text = STR("device d is chip d, row-major");
}

static void lay_automatically(const Laying *laying, MeshLayout *layout) {
  const Mesh *mesh = laying->mesh;
  const uint8_t *ring = NULL;
  if (mesh->device_ids != NULL || mesh->is_inferred || !split_over_slices(laying)) {
    lay_row_major(mesh->n_devices, layout);
  } else if (lies_axis_by_axis(laying)) {
    lay_parts(laying, layout);
  } else if ((ring = device_mesh_ring(laying->pod, laying->sizes, mesh->n_axes)) != NULL) {
    lay_ring(laying, ring, layout);
  } else {
    choose_parts(laying);
    lay_parts(laying, layout);
  }
}

Status mesh_layout(Arena *arena, const Pod *pod, const Mesh *mesh, MeshLayout *layout, Diag *diag) {
  uint32_t n_axes = mesh == NULL ? 0 : mesh->n_axes;
  Laying laying = {.arena = arena,
                   .pod = pod,
                   .mesh = mesh,
                   .length = {pod->shape[0], pod->shape[1], pod->shape[2], pod->slices},
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

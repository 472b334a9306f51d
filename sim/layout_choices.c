/* Layout choices: a number with a digit for each torus axis, which says the mesh axis that it goes along. */
#include "sim/layout_choices.h"

enum { AXES = POD_AXES + 1, CHOICES_MOST = 64 };

static const char *const axis_names[AXES] = {"dcn", "x", "y", "z"};

static int64_t axis_length(const Pod *pod, uint32_t axis) {
  return axis == 0 ? pod->slices : pod->shape[axis - 1];
}

/* The layout where torus axis i goes along mesh axis along[i]; empty where the sizes do not fit. */
static Str layout_along(Arena *arena, const Pod *pod, const Mesh *mesh, const uint32_t along[AXES]) {
  StrBuf buf = {.arena = arena};
  for (uint32_t m = 0; m < mesh->n_axes; m++) {
    int64_t chips = 1;
    for (uint32_t axis = 0; axis < AXES; axis++) {
      if (axis_length(pod, axis) == 1 || along[axis] != m) continue;
      if (chips == 1) buf_printf(&buf, "%s%.*s:", buf.n == 0 ? "" : ",", STR_ARG(mesh->axes[m].name));
      buf_printf(&buf, "%s%s", chips == 1 ? "" : "*", axis_names[axis]);
      chips *= axis_length(pod, axis);
    }
    if (chips != mesh->axes[m].size) return STR("");
  }
  return buf_str(&buf);
}

Layouts layout_choices(Arena *arena, const Pod *pod, const Mesh *mesh) {
  Layouts choices = {0};
  VEC_PUSH(arena, &choices, STR("row-major"));
  uint32_t ways = 1;
  for (uint32_t axis = 0; axis < AXES; axis++) ways *= axis_length(pod, axis) == 1 ? 1 : mesh->n_axes;
  for (uint32_t way = 0; way < ways && choices.n < CHOICES_MOST; way++) {
    uint32_t along[AXES] = {0}, rest = way;
    for (uint32_t axis = 0; axis < AXES; axis++) {
      if (axis_length(pod, axis) == 1) continue;
      along[axis] = rest % mesh->n_axes;
      rest /= mesh->n_axes;
    }
    Str layout = layout_along(arena, pod, mesh, along);
    if (layout.n > 0) VEC_PUSH(arena, &choices, layout);
  }
  return choices;
}

/* Device meshes. Later axes of a mesh are the ones that communicate most, so they choose first. */
#include "sim/device_mesh.h"

/* ---- rings: small slices, whose chips JAX orders by hand ---- */

static const struct {
  const char *generation;
  int64_t shape[POD_AXES];
  bool whole; /* only for a mesh of one axis */
  uint8_t order[16];
} rings[] = {
    {"v5e", {2, 2, 1}, false, {0, 1, 3, 2}},
    {"v5e", {4, 2, 1}, false, {0, 1, 2, 3, 7, 6, 5, 4}},
    {"v5e", {4, 4, 1}, true, {0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4}},
    {"v6e", {2, 2, 1}, false, {0, 1, 3, 2}},
    {"v6e", {4, 2, 1}, false, {0, 1, 2, 3, 7, 6, 5, 4}},
    {"v6e", {4, 4, 1}, true, {0, 1, 2, 3, 7, 6, 5, 9, 10, 11, 15, 14, 13, 12, 8, 4}},
    {"v5p", {2, 2, 2}, false, {0, 1, 3, 2, 6, 7, 5, 4}},
};

static uint32_t axes_above_one(const int64_t *sizes, uint32_t n_axes) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < n_axes; i++) n += sizes[i] > 1;
  return n;
}

const uint8_t *device_mesh_ring(const Pod *pod, const int64_t *sizes, uint32_t n_axes) {
  for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
    bool fits = str_is(pod->generation, rings[i].generation) &&
                memcmp(pod->shape, rings[i].shape, sizeof rings[i].shape) == 0;
    if (fits && (!rings[i].whole || axes_above_one(sizes, n_axes) == 1)) return rings[i].order;
  }
  return NULL;
}

/* ---- whole torus axes ---- */

/* Sets of torus axes as bits, in the order in which they are tried. */
static const uint8_t axis_sets[] = {7, 3, 5, 6, 1, 2, 4};

static void take_whole(Arena *arena, int64_t free[POD_AXES], uint8_t set, TorusParts *parts) {
  for (uint32_t axis = 0; axis < POD_AXES; axis++) {
    if ((set >> axis & 1) == 0) continue;
    if (free[axis] > 1) VEC_PUSH(arena, parts, (TorusPart){axis, free[axis]});
    free[axis] = 0;
  }
}

static bool find_whole(Arena *arena, int64_t free[POD_AXES], int64_t size, TorusParts *parts) {
  for (size_t i = 0; i < sizeof axis_sets; i++) {
    int64_t product = 1;
    for (uint32_t axis = 0; axis < POD_AXES; axis++)
      if (axis_sets[i] >> axis & 1) product *= free[axis];
    if (product != size) continue;
    take_whole(arena, free, axis_sets[i], parts);
    return true;
  }
  return size == 1;
}

static bool all_whole(Arena *arena, const int64_t torus[POD_AXES], const int64_t *sizes, uint32_t n_axes,
                      TorusParts *parts) {
  int64_t free[POD_AXES];
  memcpy(free, torus, sizeof free);
  for (uint32_t i = n_axes; i-- > 0;)
    if (!find_whole(arena, free, sizes[i], &parts[i])) return false;
  return true;
}

/* ---- parts of torus axes ---- */

/* One way to cut a mesh axis over the torus, and how much it is liked: figures to compare in this order. */
enum { WHOLE_CHIPS, WHOLE_AXES, CHIPS_ON_USED, FIGURES };

typedef struct {
  int64_t size[POD_AXES];
  int64_t figures[FIGURES];
} Cut;

/* `used`: what mesh axes have taken of each torus axis. */
static Cut cut_of(const int64_t torus[POD_AXES], const int64_t used[POD_AXES], const int64_t size[POD_AXES]) {
  Cut cut = {.figures = {[WHOLE_CHIPS] = 1, [CHIPS_ON_USED] = 1}};
  for (uint32_t axis = 0; axis < POD_AXES; axis++) {
    bool whole = size[axis] == torus[axis];
    cut.size[axis] = size[axis];
    if (whole) cut.figures[WHOLE_CHIPS] *= size[axis];
    cut.figures[WHOLE_AXES] += whole && size[axis] > 1;
    if (used[axis] > 1) cut.figures[CHIPS_ON_USED] *= size[axis];
  }
  return cut;
}

static bool is_liked_more(const Cut *cut, const Cut *best) {
  for (uint32_t i = 0; i < FIGURES; i++)
    if (cut->figures[i] != best->figures[i]) return cut->figures[i] > best->figures[i];
  for (uint32_t axis = 0; axis < POD_AXES; axis++)
    if (cut->size[axis] != best->size[axis]) return cut->size[axis] > best->size[axis];
  return false;
}

static Cut best_cut(const int64_t torus[POD_AXES], const int64_t used[POD_AXES], int64_t size) {
  int64_t left[POD_AXES], at[POD_AXES];
  for (uint32_t axis = 0; axis < POD_AXES; axis++) left[axis] = torus[axis] / used[axis];
  Cut best = {.size = {0}};
  for (at[0] = 1; at[0] <= left[0]; at[0]++) {
    if (left[0] % at[0] != 0 || size % at[0] != 0) continue;
    for (at[1] = 1; at[1] <= left[1]; at[1]++) {
      at[2] = size / (at[0] * at[1]);
      bool fits = left[1] % at[1] == 0 && at[0] * at[1] * at[2] == size && left[2] % at[2] == 0;
      if (!fits) continue;
      Cut cut = cut_of(torus, used, at);
      if (best.size[0] == 0 || is_liked_more(&cut, &best)) best = cut;
    }
  }
  return best;
}

void device_mesh_parts(Arena *arena, const int64_t torus[POD_AXES], const int64_t *sizes, uint32_t n_axes,
                       TorusParts *parts) {
  if (all_whole(arena, torus, sizes, n_axes, parts)) return;
  int64_t used[POD_AXES] = {1, 1, 1};
  for (uint32_t i = n_axes; i-- > 0;) {
    Cut cut = best_cut(torus, used, sizes[i]);
    parts[i].n = 0;
    for (uint32_t axis = 0; axis < POD_AXES; axis++) {
      if (cut.size[axis] > 1) VEC_PUSH(arena, &parts[i], (TorusPart){axis, cut.size[axis]});
      used[axis] *= cut.size[axis];
    }
  }
}

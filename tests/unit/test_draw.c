/* Drawings of shardings, against those that JAX makes (tests/cases/drawings.json: mesh, shape, spec, text).
 */
#include "sim/shard/draw.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <yajl/yajl_tree.h>

static yajl_val json_at(yajl_val value, const char *key) {
  return yajl_tree_get(value, (const char *[]){key, NULL}, yajl_t_any);
}

static yajl_val read_drawings(Arena *arena) {
  enum { LARGEST = 1 << 20 };
  char *text = arena_alloc(arena, LARGEST), message[256];
  FILE *file = fopen(TESTS_DIR "/cases/drawings.json", "r");
  cr_assert_not_null(file);
  size_t n = fread(text, 1, LARGEST - 1, file);
  fclose(file);
  cr_assert_gt(n, 0);
  yajl_val drawings = yajl_tree_parse(text, message, sizeof message);
  cr_assert_not_null(drawings, "%s", message);
  return drawings;
}

static const Mesh *mesh_of(Arena *arena, yajl_val sizes) {
  MeshAxis *axes = ARENA_ARRAY(arena, MeshAxis, sizes->u.object.len);
  for (uint32_t a = 0; a < sizes->u.object.len; a++)
    axes[a] = (MeshAxis){str_of(sizes->u.object.keys[a]), YAJL_GET_INTEGER(sizes->u.object.values[a])};
  return mesh_new(arena, STR("mesh"), axes, (uint32_t)sizes->u.object.len, NULL);
}

static Str drawn(Arena *arena, const Mesh *mesh, const int64_t *dims, uint32_t rank, const char *spec,
                 Diag *diag) {
  const Sharding *sharding;
  Str text = {0};
  const Shape *shape = shape_array(arena, DTYPE_F32, dims, rank);
  cr_assert_eq(sharding_parse_spec(arena, str_of(spec), mesh, rank, &sharding, diag), STATUS_OK, "%s",
               diag_error_text(diag).at);
  cr_assert_eq(sharding_draw(arena, sharding, shape, "TPU", &text, diag), STATUS_OK);
  return text;
}

Test(draw, as_jax_draws) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  yajl_val drawings = read_drawings(arena);
  for (size_t i = 0; i < drawings->u.array.len; i++) {
    yajl_val drawing = drawings->u.array.values[i], shape = json_at(drawing, "shape");
    int64_t dims[2];
    for (size_t d = 0; d < shape->u.array.len; d++) dims[d] = YAJL_GET_INTEGER(shape->u.array.values[d]);
    const char *spec = YAJL_GET_STRING(json_at(drawing, "spec"));
    Str got = drawn(arena, mesh_of(arena, json_at(drawing, "mesh")), dims, (uint32_t)shape->u.array.len, spec,
                    diag);
    cr_assert_str_eq(got.at, YAJL_GET_STRING(json_at(drawing, "text")), "%s:\n%s", spec, got.at);
  }
  cr_assert_gt(drawings->u.array.len, 40);
  yajl_tree_free(drawings);
  diag_free(diag);
  arena_free(arena);
}

Test(draw, labels_are_never_cut) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  MeshAxis axis = {STR("i"), 32};
  const Mesh *mesh = mesh_new(arena, STR("mesh"), &axis, 1, NULL);
  Str text = drawn(arena, mesh, (int64_t[]){32}, 1, "P('i')", diag);
  for (uint32_t device = 0; device < 32; device++)
    cr_assert_not_null(strstr(text.at, str_printf(arena, "│TPU %u", device).at), "%s", text.at);
  diag_free(diag);
  arena_free(arena);
}

Test(draw, only_one_or_two_dimensions) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  MeshAxis axis = {STR("i"), 2};
  const Mesh *mesh = mesh_new(arena, STR("mesh"), &axis, 1, NULL);
  Str text;
  const Shape *shape = shape_array(arena, DTYPE_F32, (int64_t[]){2, 2, 2}, 3);
  const Sharding *sharding = sharding_replicated(arena, mesh, 3, false);
  cr_assert_eq(sharding_draw(arena, sharding, shape, "TPU", &text, diag), STATUS_USAGE);
  diag_free(diag);
  arena_free(arena);
}

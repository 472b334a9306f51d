/* Mesh layouts: `auto` against JAX's create_device_mesh, and what a user may write. */
#include "arena_fixture.h"
#include "sim/mesh_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TestSuite(mesh_layout, .init = begin, .fini = end);

/* Two slices as 2@4x2. */
static const Pod *pod_of(const char *generation, const char *shape, const char *layout) {
  const char *at = strchr(shape, '@');
  const char *sets[] = {str_printf(arena, "pod.generation=%s", generation).at,
                        str_printf(arena, "pod.shape=%s", at == NULL ? shape : at + 1).at,
                        str_printf(arena, "pod.slices=%ld", at == NULL ? 1 : strtol(shape, NULL, 10)).at,
                        str_printf(arena, "mesh.layout=%s", layout).at};
  Config *config;
  cr_assert_eq(config_read(arena, SOURCE_DIR "/configs/v5e_4x2.ini", sets, 4, &config, diag), STATUS_OK);
  return &config->pod;
}

static const Mesh *mesh_of(const char *text) {
  const Mesh *mesh;
  cr_assert_eq(mesh_parse(arena, str_of(text), &mesh, diag), STATUS_OK);
  return mesh;
}

static MeshLayout laid(const char *generation, const char *shape, const char *layout, const char *mesh) {
  MeshLayout own;
  cr_assert_eq(mesh_layout(arena, pod_of(generation, shape, layout), mesh_of(mesh), &own, diag), STATUS_OK,
               "%s", diag_error_text(diag).at);
  return own;
}

static void expect_chips(const MeshLayout *layout, const char *text, const uint32_t *chips, uint32_t n) {
  cr_assert(str_is(layout->text, text), "%.*s", STR_ARG(layout->text));
  for (uint32_t i = 0; i < n; i++)
    cr_assert_eq(layout->chip_of[i], chips[i], "%s: device %u is chip %u", text, i, layout->chip_of[i]);
}

/* ---- as JAX lays them ---- */

/* "2,4" as "a=2,b=4". */
static const char *named_mesh(const char *sizes) {
  StrBuf buf = {.arena = arena};
  char name = 'a';
  buf_printf(&buf, "%c=", name);
  for (; *sizes != 0; sizes++) {
    buf_char(&buf, *sizes);
    if (*sizes == ',') buf_printf(&buf, "%c=", ++name);
  }
  return str_printf(arena, "%.*s", STR_ARG(buf_str(&buf))).at;
}

Test(mesh_layout, auto_lays_meshes_as_jax_does) {
  FILE *file = fopen(TESTS_DIR "/cases/device_meshes.txt", "r");
  cr_assert_not_null(file);
  char generation[8], shape[16], sizes[32];
  uint32_t meshes = 0;
  for (; fscanf(file, "%7s %15s %31s", generation, shape, sizes) == 3; meshes++) {
    const Pod *pod = pod_of(generation, shape, "auto");
    MeshLayout layout;
    cr_assert_eq(mesh_layout(arena, pod, mesh_of(named_mesh(sizes)), &layout, diag), STATUS_OK);
    for (uint32_t i = 0; i < pod->n_chips; i++) {
      uint32_t chip;
      cr_assert_eq(fscanf(file, "%u", &chip), 1);
      cr_assert_eq(layout.chip_of[i], chip, "%s %s, mesh %s (%.*s): device %u is chip %u, not %u", generation,
                   shape, sizes, STR_ARG(layout.text), i, layout.chip_of[i], chip);
    }
    end();
    begin();
  }
  fclose(file);
  cr_assert_gt(meshes, 300);
}

Test(mesh_layout, a_mesh_of_the_pods_shape_lies_axis_by_axis) {
  const uint32_t chips[] = {0, 1, 2, 3, 4, 5, 6, 7};
  MeshLayout same = laid("v5e", "4x2", "auto", "data=4,model=2");
  expect_chips(&same, "data along x, model along y", chips, 8);
  MeshLayout ones = laid("v5e", "4x2", "auto", "a=1,data=4,b=1,model=2");
  expect_chips(&ones, "data along x, model along y", chips, 8);
  MeshLayout line = laid("v5e", "1x4", "auto", "data=4");
  expect_chips(&line, "data along y", chips, 4);
  MeshLayout one = laid("v5e", "1x1", "auto", "data=1,model=1");
  expect_chips(&one, "one chip", chips, 1);
}

Test(mesh_layout, slices_are_the_outer_part_of_the_first_axes) {
  const uint32_t chips[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  MeshLayout replicas = laid("v5e", "2@4x2", "auto", "replica=2,data=4,model=2");
  expect_chips(&replicas, "replica along dcn, data along x, model along y", chips, 16);
  MeshLayout joined = laid("v5e", "2@4x2", "auto", "data=8,model=2");
  expect_chips(&joined, "data along dcn*x, model along y", chips, 16);
  MeshLayout ring = laid("v5e", "2@2x2", "auto", "data=8");
  expect_chips(&ring, "slice by slice row-major over a ring of 4 chips", (uint32_t[]){0, 2, 3, 1, 4, 6, 7, 5},
               8);
  MeshLayout both = laid("v5e", "4@2x1", "auto", "a=2,b=4");
  expect_chips(&both, "a along dcn2, b along dcn2*x", chips, 8);
  MeshLayout never = laid("v5e", "4@3x1", "auto", "a=3,b=4");
  expect_chips(&never, "device d is chip d, row-major", chips, 12);
}

Test(mesh_layout, slices_may_be_the_inner_part_too) {
  MeshLayout inner = laid("v5e", "2@2x2", "data:x,model:y*dcn", "data=2,model=4");
  expect_chips(&inner, "data along x, model along y*dcn", (uint32_t[]){0, 4, 1, 5, 2, 6, 3, 7}, 8);
}

Test(mesh_layout, a_mesh_that_nobody_named_or_with_an_order_of_its_own_is_row_major) {
  const uint32_t chips[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const Pod *pod = pod_of("v5e", "4x2", "auto");
  MeshLayout layout;
  MeshAxis axis = {STR("devices"), 8};
  cr_assert_eq(mesh_layout(arena, pod, mesh_inferred(arena, &axis, 1), &layout, diag), STATUS_OK);
  expect_chips(&layout, "device d is chip d, row-major", chips, 8);
  const int64_t order[] = {7, 6, 5, 4, 3, 2, 1, 0};
  const Mesh *mesh = mesh_new(arena, STR("mesh"), &axis, 1, order);
  cr_assert_eq(mesh_layout(arena, pod, mesh, &layout, diag), STATUS_OK);
  expect_chips(&layout, "device d is chip d, row-major", chips, 8);
}

/* ---- as the user lays them ---- */

Test(mesh_layout, mesh_axes_go_along_the_torus_axes_that_are_named) {
  MeshLayout turned = laid("v5e", "4x2", "data:y,model:x", "data=2,model=4");
  expect_chips(&turned, "data along y, model along x", (uint32_t[]){0, 2, 4, 6, 1, 3, 5, 7}, 8);
  MeshLayout joined = laid("v5e", "4x2", " data : y*x ", "data=8");
  expect_chips(&joined, "data along y*x", (uint32_t[]){0, 2, 4, 6, 1, 3, 5, 7}, 8);
  MeshLayout parts = laid("v5e", "4x2", "model:x2*y,data:x", "data=2,model=4");
  expect_chips(&parts, "data along x2, model along x2*y", (uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
  MeshLayout inner = laid("v5e", "4x2", "model:x2*y,data:x2", "model=4,data=2");
  expect_chips(&inner, "model along x2*y, data along x2", (uint32_t[]){0, 2, 1, 3, 4, 6, 5, 7}, 8);
  MeshLayout plain = laid("v5e", "4x2", "row-major", "data=2,model=4");
  expect_chips(&plain, "device d is chip d, row-major", (uint32_t[]){0, 1, 2, 3, 4, 5, 6, 7}, 8);
}

Test(mesh_layout, a_mesh_with_an_order_of_its_own_is_laid_by_position) {
  const int64_t order[] = {3, 1, 2, 0};
  MeshAxis axes[] = {{STR("data"), 2}, {STR("model"), 2}};
  const Mesh *mesh = mesh_new(arena, STR("mesh"), axes, 2, order);
  MeshLayout layout;
  cr_assert_eq(mesh_layout(arena, pod_of("v5e", "2x2", "data:y,model:x"), mesh, &layout, diag), STATUS_OK);
  expect_chips(&layout, "data along y, model along x", (uint32_t[]){3, 2, 1, 0}, 4);
}

Test(mesh_layout, what_does_not_fit_is_refused) {
  const struct {
    const char *layout, *error;
  } cases[] = {
      {"data:x", "it does not say where 'model' lies"},
      {"data:x,model:x", "x has 4 chips, the mesh axes along it take 8"},
      {"data:y,model:x", "x has 4 chips, the mesh axes along it take 2"},
      {"data:x,model:z", "the pod has no torus axis 'z'"},
      {"data:x,model:dcn", "the pod has no torus axis 'dcn'"},
      {"data:x,model:", "the pod has no torus axis ''"},
      {"data:x0,model:y", "'x0' is no part of a torus axis"},
      {"data:xy,model:y", "'xy' is no part of a torus axis"},
      {"data:x*y,model:y", "data has 4 devices, its torus axes have 8 chips"},
      {"data:x2*x2,model:y", "a torus axis stands twice behind one mesh axis"},
      {"data:x,data:y", "'data' stands twice"},
      {"data:x,tensor:y", "the mesh (data=4, model=2) has no axis 'tensor'"},
      {"data", "write auto, row-major, or e.g. data:x,model:y"},
      {"data:x9223372036854775807*y9,model:y", "data has 4 devices, its torus axes have 0 chips"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    MeshLayout layout;
    const Pod *pod = pod_of("v5e", "4x2", cases[i].layout);
    cr_assert_eq(mesh_layout(arena, pod, mesh_of("data=4,model=2"), &layout, diag), STATUS_INVALID, "%s",
                 cases[i].layout);
    cr_assert_not_null(strstr(diag_error_text(diag).at, cases[i].error), "%s: %s", cases[i].layout,
                       diag_error_text(diag).at);
    end();
    begin();
  }
}

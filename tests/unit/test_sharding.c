/* Meshes, axis lists, shardings and their texts. */
#include "arena_fixture.h"
#include "sim/shard/sharding.h"

TestSuite(sharding, .init = begin, .fini = end);

static const Mesh *mesh_of(const char *text) {
  const Mesh *mesh = NULL;
  cr_assert_eq(mesh_parse(arena, str_of(text), &mesh, diag), STATUS_OK, "%s", diag_error_text(diag).at);
  return mesh;
}

static const Sharding *sdy_over(const Mesh *mesh, const char *text) {
  const Sharding *sharding = NULL;
  Str whole = str_printf(arena, "#sdy.sharding<@mesh, %s>", text);
  cr_assert_eq(sharding_parse_sdy(arena, whole, &mesh, 1, &sharding, NOWHERE, diag), STATUS_OK, "%s",
               diag_error_text(diag).at);
  return sharding;
}

static AxisList axes_of(const Mesh *mesh, const char *text) {
  return sdy_over(mesh, str_printf(arena, "[{%s}]", text).at)->dims[0].axes;
}

static void expect_text(Str text, const char *expected) {
  cr_assert(str_is(text, expected), "got %.*s instead of %s", STR_ARG(text), expected);
}

static void expect_axes(const Mesh *mesh, AxisList axes, const char *expected) {
  const Sharding *sharding = sharding_with_dim(arena, sharding_replicated(arena, mesh, 1, false), 0, axes);
  expect_text(sharding_sdy_text(arena, sharding), str_printf(arena, "[{%s}]", expected).at);
}

Test(sharding, mesh_is_row_major) {
  const Mesh *mesh = mesh_of("data=4, model=2");
  expect_text(mesh_text(arena, mesh), "data=4, model=2");
  cr_assert_eq(mesh->n_devices, 8);
  cr_assert_eq(mesh_coordinate(mesh, axis_whole(mesh, 0), 5), 2);
  cr_assert_eq(mesh_coordinate(mesh, axis_whole(mesh, 1), 5), 1);
  cr_assert_eq(mesh_coordinate(mesh, (AxisRef){0, 1, 2}, 5), 1);
  cr_assert_eq(mesh_coordinate(mesh, (AxisRef){0, 2, 2}, 5), 0);
  cr_assert_eq(mesh_index(mesh, axes_of(mesh, "\"model\", \"data\""), 5), 6);
}

Test(sharding, mesh_errors) {
  const char *bad[] = {"", "data", "data=0", "data=x", "data=2,data=2", "a=65536,b=65536", "=2", "a b=2"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const Mesh *mesh;
    Diag *own = diag_new();
    cr_assert_eq(mesh_parse(arena, str_of(bad[i]), &mesh, own), STATUS_USAGE, "'%s' was taken", bad[i]);
    diag_free(own);
  }
}

static void expect_groups(GroupList groups, const char *expected) {
  StrBuf buf = {.arena = arena};
  for (uint32_t g = 0; g < groups.n; g++)
    for (uint32_t i = groups.start[g]; i < groups.start[g + 1]; i++)
      buf_printf(&buf, "%u%s", groups.ids[i], i + 1 == groups.start[g + 1] ? ";" : ",");
  expect_text(buf_str(&buf), expected);
}

Test(sharding, groups_differ_along_axes_only) {
  const Mesh *mesh = mesh_of("data=4,model=2");
  expect_groups(mesh_groups(arena, mesh, axes_of(mesh, "\"model\"")), "0,1;2,3;4,5;6,7;");
  expect_groups(mesh_groups(arena, mesh, axes_of(mesh, "\"data\"")), "0,2,4,6;1,3,5,7;");
  expect_groups(mesh_groups(arena, mesh, axes_of(mesh, "\"model\", \"data\"")), "0,2,4,6,1,3,5,7;");
  expect_groups(mesh_groups(arena, mesh, axes_of(mesh, "\"data\":(1)2")), "0,4;1,5;2,6;3,7;");
  expect_groups(mesh_groups(arena, mesh, (AxisList){0}), "0;1;2;3;4;5;6;7;");
}

Test(sharding, groups_follow_device_ids) {
  MeshAxis axes[] = {{STR("a"), 2}, {STR("b"), 2}};
  int64_t ids[] = {3, 1, 0, 2};
  const Mesh *mesh = mesh_new(arena, STR("mesh"), axes, 2, ids);
  expect_groups(mesh_groups(arena, mesh, axes_of(mesh, "\"b\"")), "3,1;0,2;");
  cr_assert_eq(mesh_coordinate(mesh, axis_whole(mesh, 0), 2), 1);
  cr_assert_eq(mesh_coordinate(mesh, axis_whole(mesh, 1), 1), 1);
}

Test(sharding, axis_lists) {
  const Mesh *mesh = mesh_of("x=8,y=4,z=2");
  AxisList whole = axes_of(mesh, "\"x\", \"y\""), part = axes_of(mesh, "\"x\":(1)4");
  expect_axes(mesh, axes_concat(arena, mesh, axes_of(mesh, "\"x\":(1)2"), axes_of(mesh, "\"x\":(2)4")),
              "\"x\"");
  expect_axes(mesh, axes_common_prefix(arena, mesh, whole, part), "\"x\":(1)4");
  expect_axes(mesh, axes_common_prefix(arena, mesh, whole, axes_of(mesh, "\"x\", \"z\"")), "\"x\"");
  expect_axes(mesh, axes_common_prefix(arena, mesh, whole, axes_of(mesh, "\"z\"")), "");
  expect_axes(mesh, axes_after_prefix(arena, mesh, whole, part), "\"x\":(4)2, \"y\"");
  expect_axes(mesh, axes_after_prefix(arena, mesh, whole, whole), "");
  expect_axes(mesh, axes_minus(arena, mesh, whole, axes_of(mesh, "\"x\":(2)2, \"y\":(2)2")),
              "\"x\":(1)2, \"x\":(4)2, \"y\":(1)2");
  expect_axes(mesh, axes_minus(arena, mesh, whole, axes_of(mesh, "\"x\"")), "\"y\"");
  cr_assert(axes_is_prefix(part, whole));
  cr_assert_not(axes_is_prefix(whole, part));
  cr_assert(axes_overlap(whole, part));
  cr_assert_not(axis_overlaps((AxisRef){0, 1, 2}, (AxisRef){0, 2, 4}));
}

static void expect_slice(const Sharding *sharding, uint32_t dim, int64_t size, uint32_t device, int64_t start,
                         int64_t stop) {
  int64_t got_start, got_stop;
  sharding_slice(sharding, dim, size, device, &got_start, &got_stop);
  cr_assert(got_start == start && got_stop == stop, "device %u: [%ld, %ld)", device, got_start, got_stop);
}

Test(sharding, slices_of_even_and_uneven_sizes) {
  const Mesh *mesh = mesh_of("data=4,model=2");
  const Sharding *sharding = sdy_over(mesh, "[{\"data\"}, {\"model\"}]");
  int64_t dims[] = {10, 12};
  const Shape *local = sharding_local_shape(arena, sharding, shape_array(arena, DTYPE_F32, dims, 2));
  cr_assert(local->dims[0] == 3 && local->dims[1] == 6 && local->dtype == DTYPE_F32);
  expect_slice(sharding, 0, 10, 0, 0, 3);
  expect_slice(sharding, 0, 10, 7, 9, 10);
  expect_slice(sharding, 1, 12, 7, 6, 12);
  expect_slice(sharding, 0, 5, 7, 5, 5);
  expect_slice(sdy_over(mesh, "[{\"model\", \"data\"}]"), 0, 8, 1, 4, 5);
}

Test(sharding, divisible_keeps_the_longest_prefix) {
  const Mesh *mesh = mesh_of("data=4,model=2");
  int64_t dims[] = {10, 12};
  const Shape *shape = shape_array(arena, DTYPE_F32, dims, 2);
  const Sharding *a = sharding_divisible(arena, sdy_over(mesh, "[{\"data\"}, {\"model\"}]"), shape);
  expect_text(sharding_spec_text(arena, a), "P(None, 'model')");
  const Sharding *b = sharding_divisible(arena, sdy_over(mesh, "[{\"model\", \"data\"}, {}]"), shape);
  expect_text(sharding_spec_text(arena, b), "P('model',)");
}

Test(sharding, sdy_text_round_trips) {
  const Mesh *mesh = mesh_of("x=8,y=4,z=2");
  const char *texts[] = {"[]",
                         "[{}, {?}]",
                         "[{\"x\":(2)4, ?}p1, {\"y\", \"z\"}]",
                         "[{}], replicated={\"x\":(1)2, \"y\"}",
                         "[{\"x\"}], replicated={\"y\"}, unreduced=max{\"z\"}",
                         "[{\"x\"}], unreduced={\"z\"}"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    expect_text(sharding_sdy_text(arena, sdy_over(mesh, texts[i])), texts[i]);
}

Test(sharding, sdy_errors) {
  const Mesh *mesh = mesh_of("x=8,y=4");
  const char *bad[] = {"<@mesh, [{\"x\"}]",
                       "<@other, [{\"x\"}]>",
                       "<@mesh, [{\"z\"}]>",
                       "<@mesh, [{\"x\"}, {\"x\":(2)2}]>",
                       "<@mesh, [{\"x\":(3)2}]>",
                       "<@mesh, [{\"x\":(0)2}]>",
                       "<@mesh, [{\"x\"]>",
                       "<@mesh, [{\"x\"}], what={\"y\"}>",
                       "<@mesh, [{\"x\"}p]>",
                       "<@mesh, [{\"x\"}]> more",
                       "<mesh<[\"a\"=2]>, [{\"x\"}]>",
                       "<mesh<[\"a\"=2], device_ids=[0, 0]>, [{\"a\"}]>"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const Sharding *sharding;
    Diag *own = diag_new();
    Str text = str_printf(arena, "#sdy.sharding%s", bad[i]);
    cr_assert_eq(sharding_parse_sdy(arena, text, &mesh, 1, &sharding, NOWHERE, own), STATUS_INVALID,
                 "%s was taken", bad[i]);
    diag_free(own);
  }
}

Test(sharding, sdy_per_value_and_inlined_meshes) {
  const Sharding **shardings;
  uint32_t n;
  Str text = STR("#sdy.sharding_per_value<[<mesh<[\"a\"=2]>, [{\"a\"}]>, <mesh<[], device_ids=[5]>, []>]>");
  cr_assert_eq(sharding_parse_per_value(arena, text, NULL, 0, &shardings, &n, NOWHERE, diag), STATUS_OK, "%s",
               diag_error_text(diag).at);
  cr_assert_eq(n, 2);
  expect_text(sharding_sdy_text(arena, shardings[0]), "[{\"a\"}]");
  cr_assert_eq(shardings[1]->device, 5);
  expect_text(sharding_hlo_text(arena, shardings[1]), "{maximal device=5}");
}

static const struct {
  const char *mesh, *sdy, *hlo;
} HLO_TEXTS[] = {
    {"data=4,model=2", "[{\"data\"}, {\"model\"}]", "{devices=[4,2]<=[8]}"},
    {"data=4,model=2", "[{\"model\"}, {}]", "{devices=[2,1,4]<=[4,2]T(1,0) last_tile_dim_replicate}"},
    {"data=4,model=2", "[{\"model\", \"data\"}, {}]", "{devices=[8,1]<=[4,2]T(1,0)}"},
    {"data=4,model=2", "[{\"data\":(2)2}, {\"model\"}]",
     "{devices=[2,2,2]<=[2,4]T(1,0) last_tile_dim_replicate}"},
    {"data=4,model=2", "[{}, {}]", "{replicated}"},
    {"a=2,b=3,c=4", "[{\"c\"}, {\"a\"}]", "{devices=[4,2,3]<=[6,4]T(1,0) last_tile_dim_replicate}"},
    {"a=12", "[{\"a\":(2)3}, {\"a\":(1)2}]", "{devices=[3,2,2]<=[2,3,2]T(1,0,2) last_tile_dim_replicate}"},
};

Test(sharding, hlo_text) {
  for (size_t i = 0; i < sizeof HLO_TEXTS / sizeof *HLO_TEXTS; i++)
    expect_text(sharding_hlo_text(arena, sdy_over(mesh_of(HLO_TEXTS[i].mesh), HLO_TEXTS[i].sdy)),
                HLO_TEXTS[i].hlo);
}

static Ints ints(int64_t *at, uint32_t n) {
  return (Ints){at, n};
}

Test(sharding, tile_lists_are_factored_over_the_mesh) {
  const Mesh *mesh = mesh_of("data=4,model=2");
  const Sharding *sharding;
  HloSharding iota = {.kind = HLO_SHARDING_TILED,
                      .tile_dims = ints((int64_t[]){2, 1, 4}, 3),
                      .devices = {.reshape = ints((int64_t[]){4, 2}, 2), .perm = ints((int64_t[]){1, 0}, 2)},
                      .last_tile_dim_replicate = true};
  cr_assert_eq(sharding_from_hlo(arena, &iota, mesh, 2, &sharding, NOWHERE, diag), STATUS_OK);
  cr_assert_eq(sharding->mesh, mesh);
  expect_text(sharding_sdy_text(arena, sharding), "[{\"model\"}, {}]");
  HloSharding list = {.kind = HLO_SHARDING_TILED,
                      .tile_dims = ints((int64_t[]){4, 2}, 2),
                      .devices = {.ids = ints((int64_t[]){0, 2, 1, 3, 4, 6, 5, 7}, 8)}};
  cr_assert_eq(sharding_from_hlo(arena, &list, mesh, 2, &sharding, NOWHERE, diag), STATUS_OK);
  expect_text(sharding_sdy_text(arena, sharding), "[{\"data\":(1)2, \"model\"}, {\"data\":(2)2}]");
}

Test(sharding, odd_tile_lists_get_a_mesh_of_their_own) {
  const Mesh *mesh = mesh_of("data=2,model=2");
  const Sharding *sharding;
  HloSharding list = {.kind = HLO_SHARDING_TILED,
                      .tile_dims = ints((int64_t[]){4}, 1),
                      .devices = {.ids = ints((int64_t[]){0, 3, 1, 2}, 4)}};
  cr_assert_eq(sharding_from_hlo(arena, &list, mesh, 1, &sharding, NOWHERE, diag), STATUS_OK);
  cr_assert_neq(sharding->mesh, mesh);
  expect_slice(sharding, 0, 8, 3, 2, 4);
  expect_text(sharding_hlo_text(arena, sharding), "{devices=[4]0,3,1,2}");
  list.devices.ids.at[0] = 9;
  cr_assert_eq(sharding_from_hlo(arena, &list, mesh, 1, &sharding, NOWHERE, diag), STATUS_INVALID);
}

Test(sharding, named_shardings_move_to_the_mesh) {
  NamedAxis b = {STR("b"), 0, 0};
  HloSharding named = {.kind = HLO_SHARDING_NAMED,
                       .mesh_names = (Str[]){STR("a"), STR("b")},
                       .mesh_sizes = ints((int64_t[]){4, 2}, 2),
                       .dims = (NamedAxes[]){{&b, 1, false}, {NULL, 0, true}},
                       .n_dims = 2};
  const Sharding *sharding;
  cr_assert_eq(sharding_from_hlo(arena, &named, NULL, 2, &sharding, NOWHERE, diag), STATUS_OK);
  expect_text(sharding_sdy_text(arena, sharding), "[{\"b\"}, {?}]");
  cr_assert_eq(sharding_from_hlo(arena, &named, mesh_of("x=2,y=4"), 2, &sharding, NOWHERE, diag), STATUS_OK);
  expect_text(sharding_sdy_text(arena, sharding), "[{\"y\":(2)2}, {?}]");
}

static const Sharding *spec_over(const Mesh *mesh, const char *text, uint32_t rank) {
  const Sharding *sharding = NULL;
  cr_assert_eq(sharding_parse_spec(arena, str_of(text), mesh, rank, &sharding, diag), STATUS_OK, "%s",
               diag_error_text(diag).at);
  return sharding;
}

Test(sharding, specs) {
  const Mesh *mesh = mesh_of("data=4,model=2");
  static const char *const CASES[][2] = {
      {"P()", "P()"},
      {"P(\"data\", None)", "P('data',)"},
      {"P('data',)", "P('data',)"},
      {"PartitionSpec(None, ('data', 'model'))", "P(None, ('data', 'model'))"},
      {"P(('data',), [\"model\"])", "P('data', 'model')"},
      {"P((), 'data:(2)2')", "P(None, 'data:(2)2')"}};
  for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
    expect_text(sharding_spec_text(arena, spec_over(mesh, CASES[i][0], 2)), CASES[i][1]);
  expect_text(sharding_spec_text(arena, spec_over(mesh, "P('data')", 1)), "P('data',)");
}

Test(sharding, spec_errors) {
  const Mesh *mesh = mesh_of("data=4,model=2");
  const char *bad[] = {
      "",      "Q()",           "P('data'", "P('other')", "P('data', 'data')", "P(None, None, 'data')",
      "P() x", "P('data:(3)2')"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const Sharding *sharding;
    Diag *own = diag_new();
    cr_assert_eq(sharding_parse_spec(arena, str_of(bad[i]), mesh, 2, &sharding, own), STATUS_USAGE,
                 "'%s' was taken", bad[i]);
    diag_free(own);
  }
}

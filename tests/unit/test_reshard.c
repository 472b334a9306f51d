/* Resharding: every pair of shardings of small arrays, even and uneven, on several meshes. The numbers by the
 * lockstep interpreter; the bytes against what no route can save and against simpler routes. */
#include "arena_fixture.h"
#include "sim/eval/interpret.h"
#include "sim/ir/print.h"
#include "sim/partition/reshard.h"
#include "sim/partition/reshard_route.h"

#include <math.h>

TestSuite(reshard, .init = begin, .fini = end);

static const Mesh *mesh_of(const char *text) {
  const Mesh *mesh = NULL;
  cr_assert_eq(mesh_parse(arena, str_of(text), &mesh, diag), STATUS_OK);
  return mesh;
}

static const Shape *shape_of(const int64_t *dims, uint32_t rank) {
  return shape_array(arena, DTYPE_F32, dims, rank);
}

/* --- running a reshard --- */

static ShardBoxes boxes_of(const Sharding *sharding, const Shape *global) {
  uint32_t devices = sharding->mesh->n_devices, rank = global->rank;
  int64_t *start = ARENA_ARRAY(arena, int64_t, devices * rank + 1);
  int64_t *stop = ARENA_ARRAY(arena, int64_t, devices * rank + 1);
  for (uint32_t device = 0; device < devices; device++)
    for (uint32_t d = 0; d < rank; d++)
      sharding_slice(sharding, d, global->dims[d], device, &start[device * rank + d],
                     &stop[device * rank + d]);
  const int64_t *local = sharding_local_shape(arena, sharding, global)->dims;
  return (ShardBoxes){.rank = rank, .devices = devices, .start = start, .stop = stop, .local = local};
}

static Tensor *counted(const Shape *shape) {
  Tensor *tensor = tensor_new(shape, true);
  for (int64_t i = 0; i < tensor_elements(tensor); i++) tensor_set_double(tensor, i, (double)(i + 1));
  return tensor;
}

/* The program `x` -> `x resharded`; the caller frees it. */
static Partitioned *program_of(const Shape *global, const Sharding *from, const Sharding *to) {
  Spmd spmd;
  Sharded result;
  spmd_open(&spmd, STR("reshard"), from->mesh, diag);
  Frame frame = {.comp = module_add_comp(spmd.module, STR("main"))};
  spmd.frame = &frame;
  spmd.module->entry = frame.comp;
  const Shape *local = sharding_local_shape(spmd.arena, from, global);
  uint32_t x = comp_add_parameter(spmd.module, frame.comp, 0, STR("x"), local);
  cr_assert_eq(reshard(&spmd, sharded(x, from, global), to, &result), STATUS_OK);
  module_comp(spmd.module, frame.comp)->root = result.instr;
  spmd_close(&spmd, true);
  return spmd.out;
}

static const char *describe(const Shape *global, const Sharding *from, const Sharding *to) {
  Str shape = shape_text(arena, global), a = sharding_sdy_text(arena, from), b = sharding_sdy_text(arena, to);
  return str_printf(arena, "%.*s %.*s -> %.*s", STR_ARG(shape), STR_ARG(a), STR_ARG(b)).at;
}

/* Elements that a device holds beyond the array's end say nothing. */
static void check_shard(const Tensor *found, Tensor *global, const ShardBoxes *boxes, uint32_t device,
                        const char *what) {
  int64_t extent[EVAL_MAX_RANK], zero[EVAL_MAX_RANK] = {0};
  uint32_t at = device * boxes->rank;
  for (uint32_t d = 0; d < boxes->rank; d++) extent[d] = boxes->stop[at + d] - boxes->start[at + d];
  Tensor *expected = tensor_new_array(DTYPE_F32, extent, boxes->rank, true);
  Tensor *valid = tensor_new_array(DTYPE_F32, extent, boxes->rank, true);
  tensor_copy_box(expected, NULL, global, boxes->start + at, extent);
  tensor_copy_box(valid, NULL, found, zero, extent);
  cr_assert(memcmp(expected->data, valid->data, expected->bytes) == 0, "%s: device %u holds other values",
            what, device);
  tensor_release(expected);
  tensor_release(valid);
}

/* Reshards what the devices hold, and checks that it has become the shards of `value`. Takes both. */
static void check_run(const Shape *global, const Sharding *from, const Sharding *to, Tensor **inputs,
                      Tensor *value) {
  const char *what = describe(global, from, to);
  Partitioned *program = program_of(global, from, to);
  uint32_t devices = from->mesh->n_devices;
  Tensor **outputs = ARENA_ARRAY(arena, Tensor *, devices);
  ShardBoxes wanted = boxes_of(to, global);
  InterpretOptions options = {.devices = devices, .trip_limit = 1};
  Status status = interpret(program->module, &options, inputs, outputs, diag);
  cr_assert_eq(status, STATUS_OK, "%s: %.*s", what, STR_ARG(diag_error_text(diag)));
  for (uint32_t d = 0; d < devices; d++) {
    check_shard(outputs[d], value, &wanted, d, what);
    tensor_release(inputs[d]);
    tensor_release(outputs[d]);
  }
  tensor_release(value);
  partitioned_free(program);
}

static void run_pair(const Shape *global, const Sharding *from, const Sharding *to) {
  Tensor **inputs = ARENA_ARRAY(arena, Tensor *, from->mesh->n_devices), *value = counted(global);
  ShardBoxes given = boxes_of(from, global);
  tensor_cut(value, &given, inputs);
  check_run(global, from, to, inputs, value);
}

/* --- all shardings --- */

typedef Vec(const Sharding *) ShardingList;

/* Every way to lay the axes from `axis` on along the dimensions, in any order. */
static void add_shardings(ShardingList *list, const Sharding *sharding, uint32_t used) {
  VEC_PUSH(arena, list, sharding);
  for (uint32_t axis = 0; axis < sharding->mesh->n_axes; axis++)
    for (uint32_t d = 0; d < sharding->rank && (used >> axis & 1) == 0; d++) {
      AxisRef whole = axis_whole(sharding->mesh, axis);
      AxisList axes = axes_concat(arena, sharding->mesh, sharding->dims[d].axes, (AxisList){&whole, 1});
      add_shardings(list, sharding_with_dim(arena, sharding, d, axes), used | 1u << axis);
    }
}

static bool known(const ShardingList *list, const Sharding *sharding) {
  for (uint32_t i = 0; i < list->n; i++)
    if (sharding_eq(list->at[i], sharding)) return true;
  return false;
}

static ShardingList all_shardings(const Mesh *mesh, uint32_t rank) {
  ShardingList all = {0}, list = {0};
  add_shardings(&all, sharding_replicated(arena, mesh, rank, false), 0);
  for (uint32_t i = 0; i < all.n; i++)
    if (!known(&list, all.at[i])) VEC_PUSH(arena, &list, all.at[i]);
  return list;
}

static void run_all_pairs(const char *mesh_text, const int64_t *dims, uint32_t rank) {
  const Mesh *mesh = mesh_of(mesh_text);
  ShardingList list = all_shardings(mesh, rank);
  for (uint32_t i = 0; i < list.n; i++)
    for (uint32_t k = 0; k < list.n; k++) run_pair(shape_of(dims, rank), list.at[i], list.at[k]);
}

Test(reshard, all_pairs_even) {
  run_all_pairs("a=4,b=2", (const int64_t[]){8, 16}, 2);
  run_all_pairs("a=2,b=2,c=2", (const int64_t[]){8, 8}, 2);
  run_all_pairs("a=3,b=2", (const int64_t[]){6, 12}, 2);
  run_all_pairs("a=2,b=2", (const int64_t[]){4, 4, 4}, 3);
}

Test(reshard, all_pairs_uneven) {
  run_all_pairs("a=4,b=2", (const int64_t[]){10, 7}, 2);
  run_all_pairs("a=2,b=2,c=2", (const int64_t[]){5, 3}, 2);
  run_all_pairs("a=3,b=2", (const int64_t[]){7, 4}, 2);
  run_all_pairs("a=4,b=2", (const int64_t[]){1, 13}, 2);
}

/* --- sums */

/* Device d holds (d + 1) times the value; unreduced over `axes`. */
static void run_sum(const Shape *global, const Sharding *from, const Sharding *to) {
  uint32_t devices = from->mesh->n_devices;
  Tensor **inputs = ARENA_ARRAY(arena, Tensor *, devices), *value = counted(global);
  ShardBoxes given = boxes_of(from, global);
  tensor_cut(value, &given, inputs);
  int64_t parts = axes_size(from->unreduced), factor = 0;
  for (int64_t p = 0; p < parts; p++) factor += p + 1;
  for (uint32_t d = 0; d < devices; d++) {
    inputs[d] = tensor_unique(inputs[d]);
    int64_t part = mesh_index(from->mesh, from->unreduced, d) + 1;
    for (int64_t i = 0; i < tensor_elements(inputs[d]); i++)
      tensor_set_double(inputs[d], i, (double)part * tensor_double_at(inputs[d], i));
  }
  for (int64_t i = 0; i < tensor_elements(value); i++)
    tensor_set_double(value, i, (double)factor * tensor_double_at(value, i));
  check_run(global, from, to, inputs, value);
}

Test(reshard, sums) {
  const Mesh *mesh = mesh_of("a=4,b=2");
  ShardingList list = all_shardings(mesh, 2);
  const int64_t dims[2][2] = {{8, 16}, {10, 7}};
  for (uint32_t i = 0; i < list.n; i++) {
    Sharding from = *list.at[i];
    AxisRef all[2] = {axis_whole(mesh, 0), axis_whole(mesh, 1)};
    from.unreduced = axes_minus(arena, mesh, (AxisList){all, 2}, sharding_used_axes(arena, list.at[i]));
    for (uint32_t k = 0; k < list.n && from.unreduced.n != 0; k++)
      for (uint32_t s = 0; s < 2; s++) run_sum(shape_of(dims[s], 2), &from, list.at[k]);
  }
}

/* --- bytes --- */

static Route route_of(const Shape *shape, const Sharding *from, const Sharding *to) {
  Route best = {.cost = HUGE_VAL};
  for (int finer = 0; finer < 2; finer++) {
    AtomSpace space;
    Route route;
    cr_assert(space_cut(&space, shape, from, to, finer == 1));
    Placement a = placement_of(&space, from), b = placement_of(&space, to);
    if (route_find(arena, &space, &a, &b, best.cost, &route)) best = route;
    cr_assert_geq(best.bytes, route_bound(&space, &a, &b) * 0.999, "less than the bound");
  }
  return best;
}

static double bytes_of(const char *mesh_text, const char *from, const char *to, const int64_t *dims) {
  const Mesh *mesh = mesh_of(mesh_text);
  const Sharding *a = NULL, *b = NULL;
  cr_assert_eq(sharding_parse_spec(arena, str_of(from), mesh, 2, &a, diag), STATUS_OK);
  cr_assert_eq(sharding_parse_spec(arena, str_of(to), mesh, 2, &b, diag), STATUS_OK);
  return route_of(shape_of(dims, 2), a, b).bytes;
}

/* Bytes a device of f32[16,32] (2048 bytes), worked out by hand. */
Test(reshard, bytes) {
  static const struct {
    const char *mesh, *from, *to;
    double bytes;
  } cases[] = {
      {"a=4,b=2", "P()", "P('a','b')", 0},                           /* slice */
      {"a=4,b=2", "P('a')", "P()", 2048 * 3 / 4.0},                  /* gather four */
      {"a=4,b=2", "P('a','b')", "P()", 2048 * 7 / 8.0},              /* gather eight, in either order */
      {"a=4,b=2", "P('a')", "P(None,'a')", 512 * 3 / 4.0},           /* all-to-all */
      {"a=4,b=2", "P(('a','b'))", "P(('b','a'))", 256 * 6 / 8.0},    /* permute; two keep what they have */
      {"a=4,b=2", "P('a','b')", "P('b','a')", 256},                  /* half all-to-all, half permute */
      {"a=4,b=2", "P('a')", "P('b')", 768},                          /* permute quarters, gather two */
      {"a=2,b=2,c=2", "P('a','b')", "P('a','c')", 512 / 2.0},        /* permute: half hold it already */
      {"a=2,b=2,c=2", "P('a',('b','c'))", "P(None,('b','a'))", 384}, /* permute half, gather two */
      {"a=2,b=2,c=2", "P(('a','b'),'c')", "P('a',('c','b'))", 256 / 2.0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double bytes = bytes_of(cases[i].mesh, cases[i].from, cases[i].to, (const int64_t[]){16, 32});
    cr_assert_float_eq(bytes, cases[i].bytes, 0.01, "%s %s -> %s: %g bytes, not %g", cases[i].mesh,
                       cases[i].from, cases[i].to, bytes, cases[i].bytes);
  }
}

/* Never more than gathering what is cut and slicing. */
Test(reshard, never_worse_than_gathering) {
  const Mesh *mesh = mesh_of("a=4,b=2");
  ShardingList list = all_shardings(mesh, 2);
  const int64_t dims[2][2] = {{16, 32}, {10, 12}};
  for (uint32_t s = 0; s < 2; s++)
    for (uint32_t i = 0; i < list.n; i++) {
      const Shape *shape = shape_of(dims[s], 2);
      double whole = route_of(shape, list.at[i], sharding_replicated(arena, mesh, 2, false)).bytes;
      for (uint32_t k = 0; k < list.n; k++)
        cr_assert_leq(route_of(shape, list.at[i], list.at[k]).bytes, whole, "%s",
                      describe(shape, list.at[i], list.at[k]));
    }
}

/* Programs as JAX emits them, on one value (program.hlo) and as XLA partitioned them, in lockstep on all
 * devices (partitioned.hlo), against the numbers that JAX computed. tests/cases/jax/NAME holds both programs,
 * in*.npy, out*.npy and case.json (tolerance, and what each device holds of an output). PODSIM_CASES names
 * another folder of cases. */
#include "sim/eval/compare_tensors.h"
#include "sim/eval/npy.h"
#include "sim/ir/flatten.h"
#include "sim/read/program.h"
#include "sim/region_boxes.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <yajl/yajl_tree.h>

enum { MAX_ARRAYS = 64, MAX_DEVICES = 64 };

typedef struct {
  Arena *arena;
  Diag *diag;
  const char *folder;
  yajl_val about;
  Module *program;
  uint32_t n_inputs, n_outputs;
  Tensor *inputs[MAX_ARRAYS], *expected[MAX_ARRAYS];
} Case;

/* --- a case and its files --- */

static const char *path_in(const Case *c, const char *name) {
  return str_printf(c->arena, "%s/%s", c->folder, name).at;
}

static Status read_program(const Case *c, const char *name, Module **module) {
  const Source *source;
  TRY(source_read(c->arena, path_in(c, name), &read_limits_default, &source, c->diag));
  return program_read(source, &read_limits_default, module, c->diag);
}

static yajl_val read_json(const Case *c, const char *name) {
  const Source *source;
  if (source_read(c->arena, path_in(c, name), &read_limits_default, &source, c->diag) != STATUS_OK)
    return NULL;
  char message[256];
  return yajl_tree_parse(str_terminated(c->arena, source->text), message, sizeof message);
}

static yajl_val json_at(yajl_val value, const char *key) {
  return value == NULL ? NULL : yajl_tree_get(value, (const char *[]){key, NULL}, yajl_t_any);
}

static const Shape *output_shape(const Module *module, uint32_t output) {
  const Comp *entry = module_entry(module);
  const Shape *root = entry->instrs.at[entry->root].shape;
  return shape_is_tuple(root) ? root->parts[output] : root;
}

static const Shape *param_shape(const Module *module, uint32_t number) {
  const Comp *entry = module_entry(module);
  return entry->instrs.at[entry->params.at[number]].shape;
}

static Status read_arrays(Case *c) {
  const Comp *entry = module_entry(c->program);
  const Shape *root = entry->instrs.at[entry->root].shape;
  uint32_t n_outputs = shape_is_tuple(root) ? root->rank : 1;
  if (entry->params.n > MAX_ARRAYS || n_outputs > MAX_ARRAYS) return STATUS_INVALID;
  for (uint32_t i = 0; i < entry->params.n; i++, c->n_inputs++)
    TRY(npy_read(path_in(c, str_printf(c->arena, "in%u.npy", i).at), param_shape(c->program, i),
                 &c->inputs[i], c->diag));
  for (uint32_t i = 0; i < n_outputs; i++, c->n_outputs++)
    TRY(npy_read(path_in(c, str_printf(c->arena, "out%u.npy", i).at), output_shape(c->program, i),
                 &c->expected[i], c->diag));
  return STATUS_OK;
}

static Status case_open(Case *c, const char *folder) {
  *c = (Case){.arena = arena_new(), .diag = diag_new()};
  c->folder = str_terminated(c->arena, str_of(folder));
  c->about = read_json(c, "case.json");
  if (c->about == NULL) return STATUS_INVALID;
  TRY(read_program(c, "program.hlo", &c->program));
  return read_arrays(c);
}

static void case_close(Case *c) {
  for (uint32_t i = 0; i < c->n_inputs; i++) tensor_release(c->inputs[i]);
  for (uint32_t i = 0; i < c->n_outputs; i++) tensor_release(c->expected[i]);
  yajl_tree_free(c->about);
  module_free(c->program);
  diag_free(c->diag);
  arena_free(c->arena);
}

/* Whether an output is what JAX computed; says on standard error where not. */
static bool output_is_right(const Case *c, uint32_t output, const Tensor *found) {
  double tolerance = YAJL_GET_DOUBLE(json_at(c->about, "tolerance"));
  TensorDifference difference = tensor_compare(c->expected[output], found, tolerance);
  if (difference.outside == 0) return true;
  fprintf(stderr, "%s: out%u: %.*s\n", c->folder, output,
          STR_ARG(tensor_difference_text(c->arena, c->expected[output], &difference)));
  return false;
}

/* --- on one value --- */

static bool unpartitioned_is_right(Case *c) {
  Module *flat = NULL;
  Tensor *root = NULL;
  Status status = module_flatten(c->program, &flat, c->diag);
  if (status == STATUS_OK) status = unpartitioned_run(flat, c->inputs, 0, &root, c->diag);
  bool right = status == STATUS_OK;
  for (uint32_t i = 0; i < c->n_outputs && status == STATUS_OK; i++)
    right = output_is_right(c, i, root->dtype == DTYPE_TUPLE ? root->parts[i] : root) && right;
  tensor_release(root);
  module_free(flat);
  return right;
}

/* --- partitioned --- */

/* What a parameter's sharding= says of the whole array. */
static Status cut_input(const Case *c, const Module *module, uint32_t number, uint32_t devices,
                        Tensor **locals) {
  const Comp *entry = module_entry(module);
  const Instr *param = &entry->instrs.at[entry->params.at[number]];
  const Shape *global = param_shape(c->program, number);
  const Sharding *sharding = NULL;
  if (instr_sharding(param) != NULL)
    TRY(sharding_from_hlo(c->arena, instr_sharding(param), NULL, global->rank, &sharding, param->place,
                          c->diag));
  ShardBoxes boxes = shard_boxes(c->arena, sharding, NULL, global->dims, global->rank, devices);
  tensor_cut(c->inputs[number], &boxes, locals);
  return STATUS_OK;
}

/* The boxes of an output, as case.json has them. */
static ShardBoxes output_boxes(const Case *c, const Module *module, uint32_t output, uint32_t devices) {
  const Shape *local = output_shape(module, output);
  int64_t *start = ARENA_ARRAY(c->arena, int64_t, devices * local->rank + 1);
  int64_t *stop = ARENA_ARRAY(c->arena, int64_t, devices * local->rank + 1);
  yajl_val slices = json_at(YAJL_GET_ARRAY(json_at(c->about, "outputs"))->values[output], "device_slices");
  for (uint32_t d = 0; d < devices; d++) {
    for (uint32_t i = 0; i < local->rank; i++) {
      yajl_val slice = YAJL_GET_ARRAY(YAJL_GET_ARRAY(slices)->values[d])->values[i];
      start[d * local->rank + i] = YAJL_GET_INTEGER(YAJL_GET_ARRAY(slice)->values[0]);
      stop[d * local->rank + i] = YAJL_GET_INTEGER(YAJL_GET_ARRAY(slice)->values[1]);
    }
  }
  return (ShardBoxes){
      .rank = local->rank, .devices = devices, .start = start, .stop = stop, .local = local->dims};
}

static bool outputs_are_right(const Case *c, const Module *module, Tensor *const *roots, uint32_t devices) {
  bool right = true;
  Tensor *locals[MAX_DEVICES];
  for (uint32_t i = 0; i < c->n_outputs; i++) {
    ShardBoxes boxes = output_boxes(c, module, i, devices);
    for (uint32_t d = 0; d < devices; d++)
      locals[d] = roots[d]->dtype == DTYPE_TUPLE ? roots[d]->parts[i] : roots[d];
    Tensor *joined = tensor_join(locals, &boxes, c->expected[i]->dims);
    right = output_is_right(c, i, joined) && right;
    tensor_release(joined);
  }
  return right;
}

static bool partitioned_is_right(Case *c) {
  Module *module;
  if (read_program(c, "partitioned.hlo", &module) != STATUS_OK) return false;
  uint32_t devices = (uint32_t)module->num_partitions;
  Tensor *locals[MAX_ARRAYS * MAX_DEVICES] = {0}, *roots[MAX_DEVICES] = {0};
  Status status =
      devices <= MAX_DEVICES && module_entry(module)->params.n == c->n_inputs ? STATUS_OK : STATUS_INVALID;
  for (uint32_t p = 0; p < c->n_inputs && status == STATUS_OK; p++)
    status = cut_input(c, module, p, devices, locals + (size_t)p * devices);
  InterpretOptions options = {.devices = devices};
  if (status == STATUS_OK) status = interpret(module, &options, locals, roots, c->diag);
  bool right = status == STATUS_OK && outputs_are_right(c, module, roots, devices);
  for (uint32_t i = 0; i < c->n_inputs * devices; i++) tensor_release(locals[i]);
  for (uint32_t d = 0; d < devices; d++) tensor_release(roots[d]);
  module_free(module);
  return right;
}

/* --- all of them --- */

static int by_name(const struct dirent **a, const struct dirent **b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static int not_hidden(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static void check_all(bool (*is_right)(Case *c)) {
  const char *folder = getenv("PODSIM_CASES");
  if (folder == NULL) folder = TESTS_DIR "/cases/jax";
  struct dirent **entries;
  int n = scandir(folder, &entries, not_hidden, by_name), wrong = 0;
  cr_assert_gt(n, 0, "no cases in %s", folder);
  for (int i = 0; i < n; i++) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    Case c;
    bool right = case_open(&c, path) == STATUS_OK && is_right(&c);
    if (!right) fprintf(stderr, "%s: wrong: %.*s\n", path, STR_ARG(diag_error_text(c.diag)));
    wrong += !right;
    case_close(&c);
    free(entries[i]);
  }
  free(entries);
  cr_assert_eq(wrong, 0, "%d of %d cases are wrong", wrong, n);
}

Test(jax_cases, unpartitioned) {
  check_all(unpartitioned_is_right);
}

Test(jax_cases, partitioned_by_xla) {
  check_all(partitioned_is_right);
}

/* The partitioner on programs as JAX emits them (tests/cases/jax/NAME, tests/cases/partition/NAME): what it
 * makes of them is printed, read back and run in lockstep on all devices, against the numbers that JAX
 * computed, and may send no more bytes than what XLA made of the same program (partitioned.hlo). PODSIM_CASES
 * names another folder of cases.
 */
#include "sim/eval/compare_tensors.h"
#include "sim/eval/interpret.h"
#include "sim/eval/npy.h"
#include "sim/ir/flatten.h"
#include "sim/ir/print.h"
#include "sim/ir/verify.h"
#include "sim/partition/partition.h"
#include "sim/read/program.h"
#include "sim/region_boxes.h"
#include "sim/schedule/schedule.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_DEVICES = 64, MOST_ARRAYS = 64 };

/* --- bytes on the wire --- */

static double group_share(Arena *arena, const Instr *instr, uint32_t devices) {
  GroupList groups = instr_groups(arena, instr, devices);
  double size = groups.n == 0 ? devices : groups.start[1] - groups.start[0];
  return (size - 1) / size;
}

static double pairs_share(const Instr *instr, uint32_t devices) {
  Pairs pairs = instr_pairs(instr);
  uint32_t moved = 0;
  for (uint32_t i = 0; i < pairs.n; i++) moved += pairs.at[i].source != pairs.at[i].target;
  return (double)moved / devices;
}

static double wire_bytes(Arena *arena, const Instr *instr, uint32_t devices) {
  double bytes = (double)shape_bytes(instr->shape);
  if (!op_is_collective(instr->op)) return 0;
  if (instr->op == OP_COLLECTIVE_PERMUTE) return bytes * pairs_share(instr, devices);
  double share = group_share(arena, instr, devices);
  if (instr->op == OP_ALL_REDUCE) return 2 * bytes * share;
  if (instr->op == OP_REDUCE_SCATTER) return bytes * share / (1 - share);
  return bytes * share;
}

/* Of one run of a computation; the costliest branch counts, a loop by its trips (once where they are
 * unknown).
 */
static double traffic(Arena *arena, const Module *module, uint32_t comp) {
  double bytes = 0;
  const Comp *of = module_comp(module, comp);
  for (uint32_t i = 0; i < of->instrs.n; i++) {
    const Instr *instr = &of->instrs.at[i];
    bytes += wire_bytes(arena, instr, (uint32_t)module->num_partitions);
    Ids called = instr_called(arena, instr);
    double most = 0;
    for (uint32_t k = 0; k < called.n && !op_is_collective(instr->op); k++) {
      double inside = traffic(arena, module, called.at[k]);
      most = inside > most ? inside : most;
    }
    int64_t trips = instr->op == OP_WHILE ? while_trip_count(module, comp, instr) : 1;
    bytes += most * (double)(trips < 1 ? 1 : trips);
  }
  return bytes;
}

/* --- a case --- */

typedef struct {
  Arena *arena;
  Diag *diag;
  const char *folder;
  Module *program, *flat, *read_back;
  Shardings *shardings;
  Partitioned *partitioned;
} Case;

static const char *path_in(const Case *c, const char *name) {
  return str_printf(c->arena, "%s/%s", c->folder, name).at;
}

static Status read_module(Case *c, const char *name, Module **module) {
  const Source *source;
  TRY(source_read(c->arena, path_in(c, name), &read_limits_default, &source, c->diag));
  return program_read(source, &read_limits_default, module, c->diag);
}

/* The partitioned program as its text says it. */
static Status partition_case(Case *c) {
  ShardOptions options = {0};
  TRY(read_module(c, "program.hlo", &c->program));
  TRY(module_flatten(c->program, &c->flat, c->diag));
  module_split_constants(c->flat);
  TRY(module_propagate(c->flat, &options, &c->shardings, c->diag));
  TRY(module_partition(c->flat, c->shardings, &c->partitioned, c->diag));
  Source *source = ARENA_NEW(c->arena, Source);
  *source = (Source){STR("partitioned"), module_print(c->arena, c->partitioned->module)};
  TRY(hlo_read(source, &read_limits_default, &c->read_back, c->diag));
  return module_verify(c->read_back, c->diag);
}

static ShardBoxes boxes_of(const Case *c, const Sharding *sharding, const Shape *global) {
  uint32_t devices = c->partitioned->mesh->n_devices;
  return shard_boxes(c->arena, sharding, NULL, global->dims, global->rank, devices);
}

static Status cut_inputs(Case *c, Tensor **locals) {
  const Partitioned *p = c->partitioned;
  for (uint32_t i = 0; i < p->n_params; i++) {
    Tensor *whole = NULL;
    const char *path = path_in(c, str_printf(c->arena, "in%u.npy", i).at);
    TRY(npy_read(path, p->global_params[i], &whole, c->diag));
    ShardBoxes boxes = boxes_of(c, p->params[i], p->global_params[i]);
    tensor_cut(whole, &boxes, locals + (size_t)i * p->mesh->n_devices);
    tensor_release(whole);
  }
  return STATUS_OK;
}

static Status output_is_right(Case *c, uint32_t output, Tensor *const *roots, bool *right) {
  const Partitioned *p = c->partitioned;
  const Shape *global = p->global_outputs[output];
  Tensor *expected = NULL, *locals[MOST_DEVICES];
  TRY(npy_read(path_in(c, str_printf(c->arena, "out%u.npy", output).at), global, &expected, c->diag));
  ShardBoxes boxes = boxes_of(c, p->outputs[output], global);
  for (uint32_t d = 0; d < p->mesh->n_devices; d++)
    locals[d] = roots[d]->dtype == DTYPE_TUPLE ? roots[d]->parts[output] : roots[d];
  Tensor *found = tensor_join(locals, &boxes, global->dims);
  TensorDifference difference = tensor_compare(expected, found, dtype_tolerance(global->dtype));
  if (difference.outside != 0) {
    *right = false;
    fprintf(stderr, "%s: out%u: %.*s\n", c->folder, output,
            STR_ARG(tensor_difference_text(c->arena, expected, &difference)));
  }
  tensor_release(found);
  tensor_release(expected);
  return STATUS_OK;
}

static Status numbers_are_right(Case *c, bool *right) {
  uint32_t devices = c->partitioned->mesh->n_devices;
  Tensor *locals[MOST_ARRAYS * MOST_DEVICES] = {0}, *roots[MOST_DEVICES] = {0};
  Status status =
      devices <= MOST_DEVICES && c->partitioned->n_params <= MOST_ARRAYS ? STATUS_OK : STATUS_INVALID;
  InterpretOptions options = {.devices = devices, .trip_limit = 1000};
  if (status == STATUS_OK) status = cut_inputs(c, locals);
  if (status == STATUS_OK) status = interpret(c->read_back, &options, locals, roots, c->diag);
  for (uint32_t i = 0; i < c->partitioned->n_outputs && status == STATUS_OK; i++)
    status = output_is_right(c, i, roots, right);
  for (uint32_t i = 0; i < c->partitioned->n_params * devices; i++) tensor_release(locals[i]);
  for (uint32_t d = 0; d < devices && d < MOST_DEVICES; d++) tensor_release(roots[d]);
  return status;
}

static Status traffic_is_low(Case *c, bool *right) {
  Module *xla = NULL;
  TRY(read_module(c, "partitioned.hlo", &xla));
  double ours = traffic(c->arena, c->read_back, c->read_back->entry),
         theirs = traffic(c->arena, xla, xla->entry);
  module_free(xla);
  if (ours <= theirs + 0.01) return STATUS_OK;
  *right = false;
  fprintf(stderr, "%s: %g bytes a device on the wire, XLA's program has %g\n", c->folder, ours, theirs);
  return STATUS_OK;
}

/* Every collective has a reason, and every reason is about a collective. */
static bool reasons_are_whole(const Case *c) {
  const Module *module = c->partitioned->module;
  uint32_t collectives = 0;
  for (uint32_t k = 0; k < module->comps.n; k++)
    for (uint32_t i = 0; i < module->comps.at[k].instrs.n; i++)
      collectives += op_is_collective(comp_instr(module, k, i)->op);
  bool whole = collectives == c->partitioned->reasons.n;
  for (uint32_t i = 0; i < c->partitioned->reasons.n; i++) {
    const CollectiveReason *reason = &c->partitioned->reasons.at[i];
    whole = whole && op_is_collective(comp_instr(module, reason->comp, reason->instr)->op) &&
            reason->because.n != 0;
  }
  if (!whole) fprintf(stderr, "%s: collectives and reasons do not match\n", c->folder);
  return whole;
}

static bool case_passes(const char *folder) {
  Case c = {.arena = arena_new(), .diag = diag_new(), .folder = folder};
  bool right = true;
  Status status = partition_case(&c);
  if (status == STATUS_OK) status = numbers_are_right(&c, &right);
  if (status == STATUS_OK) status = traffic_is_low(&c, &right);
  if (status == STATUS_OK) right = reasons_are_whole(&c) && right;
  if (status != STATUS_OK) fprintf(stderr, "%s: %.*s", folder, STR_ARG(diag_error_text(c.diag)));
  partitioned_free(c.partitioned);
  shardings_free(c.shardings);
  module_free(c.read_back);
  module_free(c.flat);
  module_free(c.program);
  diag_free(c.diag);
  arena_free(c.arena);
  return status == STATUS_OK && right;
}

static int not_hidden(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static void check_folder(const char *cases) {
  struct dirent **entries;
  int n = scandir(cases, &entries, not_hidden, alphasort), failed = 0;
  cr_assert_gt(n, 0, "no cases in %s", cases);
  for (int i = 0; i < n; i++) {
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/%s", cases, entries[i]->d_name);
    failed += !case_passes(folder);
    free(entries[i]);
  }
  free(entries);
  cr_assert_eq(failed, 0, "%d of %d programs fail", failed, n);
}

Test(partition, programs_of_jax) {
  const char *cases = getenv("PODSIM_CASES");
  check_folder(cases == NULL ? TESTS_DIR "/cases/jax" : cases);
}

/* Conflicts, borders, indices, windows, control flow: a program each. */
Test(partition, programs_that_need_more) {
  check_folder(TESTS_DIR "/cases/partition");
}

/* What the partitioner cannot do it refuses, with the place. */
Test(partition, refuses_what_it_cannot) {
  static const struct {
    const char *body, *words;
  } cases[] = {
      {"  ROOT t = token[] after-all()\n", "cannot be partitioned yet"},
      {"  t = token[] after-all()\n  ROOT x = (f32[4], token[]) infeed(t)\n", "cannot be partitioned yet"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Case c = {.arena = arena_new(), .diag = diag_new()};
    Source *source = ARENA_NEW(c.arena, Source);
    Str text =
        str_printf(c.arena,
                   "HloModule m, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"a\"=2]>}}\n\n"
                   "ENTRY main {\n%s}\n",
                   cases[i].body);
    *source = (Source){STR("refused"), text};
    ShardOptions options = {0};
    cr_assert_eq(hlo_read(source, &read_limits_default, &c.program, c.diag), STATUS_OK);
    cr_assert_eq(module_flatten(c.program, &c.flat, c.diag), STATUS_OK);
    cr_assert_eq(module_propagate(c.flat, &options, &c.shardings, c.diag), STATUS_OK);
    cr_assert_eq(module_partition(c.flat, c.shardings, &c.partitioned, c.diag), STATUS_INVALID);
    const char *said = str_terminated(c.arena, diag_error_text(c.diag));
    cr_assert_neq(strstr(said, cases[i].words), NULL, "%s", said);
    shardings_free(c.shardings);
    module_free(c.flat);
    module_free(c.program);
    diag_free(c.diag);
    arena_free(c.arena);
  }
}

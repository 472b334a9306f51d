/* Propagation, on JAX's own programs and on small ones of ours. tests/cases/jax/NAME: the slices that JAX
 * says each device holds of the outputs (case.json; PODSIM_CASES names another folder).
 * tests/cases/propagate: programs that say what they expect in comments:
 *   // partitioner gspmd         the user's --partitioner
 *   // mesh data=2,model=4       the user's --mesh
 *   // spec arg0=P("data")       the user's --spec
 *   // error part of a message   propagation fails with it
 *   // out0 P('data',)           the spec of an output
 *   // rule NAME ([i])->([i])…   the factor rule of an instruction
 *   // NAME [{"data"}, {?}] …    the sharding of each leaf of an instruction's value */
#include "sim/ir/flatten.h"
#include "sim/read/program.h"
#include "sim/shard/propagate.h"
#include "sim/shard/rules.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <yajl/yajl_tree.h>

enum { MOST_SPECS = 8 };

typedef struct {
  Arena *arena;
  Diag *diag;
  const char *path;
  const Source *source;
  Module *module, *flat;
  Shardings *shardings;
  ShardOptions options;
  SpecOverride specs[MOST_SPECS];
  uint32_t failures;
} Case;

static void complain(Case *c, const char *what, Str got, Str expected) {
  fprintf(stderr, "%s: %s: got %.*s, expected %.*s\n", c->path, what, STR_ARG(got), STR_ARG(expected));
  c->failures++;
}

static void case_open(Case *c, const char *path) {
  *c = (Case){.arena = arena_new(), .diag = diag_new()};
  c->path = str_terminated(c->arena, str_of(path));
  c->options.specs = c->specs;
}

static uint32_t case_close(Case *c) {
  shardings_free(c->shardings);
  if (c->flat != NULL) module_free(c->flat);
  if (c->module != NULL) module_free(c->module);
  diag_free(c->diag);
  arena_free(c->arena);
  return c->failures;
}

static Status read_case(Case *c) {
  TRY(source_read(c->arena, c->path, &read_limits_default, &c->source, c->diag));
  TRY(program_read(c->source, &read_limits_default, &c->module, c->diag));
  TRY(module_flatten(c->module, &c->flat, c->diag));
  module_split_constants(c->flat);
  return STATUS_OK;
}

/* --- Programs with expectations in comments. --- */

/* The next `// word rest` of the head of the file. */
static bool next_comment(Str *text, Str *word, Str *rest) {
  if (!str_starts(*text, "//")) return false;
  size_t end = str_find(*text, '\n');
  Str line = str_trim(str_sub(*text, 2, end));
  size_t space = str_find(line, ' ');
  *word = str_sub(line, 0, space);
  *rest = str_trim(str_sub(line, space, line.n));
  *text = str_sub(*text, end + 1, text->n);
  return true;
}

static Status take_option(Case *c, Str word, Str rest) {
  size_t equals = str_find(rest, '=');
  if (str_is(word, "partitioner")) c->options.partitioner = PARTITIONER_GSPMD;
  if (str_is(word, "mesh")) return mesh_parse(c->arena, rest, &c->options.mesh, c->diag);
  if (!str_is(word, "spec")) return STATUS_OK;
  cr_assert_lt(c->options.n_specs, MOST_SPECS);
  c->specs[c->options.n_specs++] =
      (SpecOverride){str_sub(rest, 0, equals), str_sub(rest, equals + 1, rest.n)};
  return STATUS_OK;
}

static const Instr *find_instr(const Case *c, Str name, uint32_t *comp, uint32_t *at) {
  for (*comp = 0; *comp < c->flat->comps.n; ++*comp) {
    *at = comp_find(module_comp(c->flat, *comp), name);
    if (*at != NO_ID) return comp_instr(c->flat, *comp, *at);
  }
  return NULL;
}

static void check_rule(Case *c, Str rest) {
  uint32_t comp, at;
  size_t space = str_find(rest, ' ');
  const Instr *instr = find_instr(c, str_sub(rest, 0, space), &comp, &at);
  const FactorRule *rule = instr == NULL ? NULL : rule_of(c->arena, c->flat, comp, instr);
  Str got = rule == NULL ? STR("none") : rule_text(c->arena, rule);
  Str expected = str_trim(str_sub(rest, space, rest.n));
  if (!str_eq(got, expected)) complain(c, str_terminated(c->arena, rest), got, expected);
}

static void check_value(Case *c, Str name, Str expected) {
  uint32_t comp, at;
  StrBuf got = {.arena = c->arena};
  if (find_instr(c, name, &comp, &at) == NULL) {
    complain(c, str_terminated(c->arena, name), STR("no such instruction"), expected);
    return;
  }
  ValueSharding value = c->shardings->values[comp][at];
  for (uint32_t k = 0; k < value.n; k++)
    buf_printf(&got, "%s%s", k == 0 ? "" : " ", sharding_sdy_text(c->arena, value.at[k]).at);
  if (!str_eq(buf_str(&got), expected)) complain(c, str_terminated(c->arena, name), buf_str(&got), expected);
}

static void check_comment(Case *c, Str word, Str rest) {
  int64_t output;
  if (str_is(word, "rule")) {
    check_rule(c, rest);
  } else if (str_starts(word, "out") && str_to_int(str_sub(word, 3, word.n), &output)) {
    cr_assert_lt(output, c->shardings->n_outputs, "%s", c->path);
    Str got = sharding_spec_text(c->arena, c->shardings->outputs[output]);
    if (!str_eq(got, rest)) complain(c, str_terminated(c->arena, word), got, rest);
  } else if (!str_is(word, "mesh") && !str_is(word, "spec") && !str_is(word, "error") && !str_is(word, "#") &&
             !str_is(word, "partitioner")) {
    check_value(c, word, rest);
  }
}

static bool contains(Str text, Str part) {
  for (size_t i = 0; i + part.n <= text.n; i++)
    if (str_eq(str_sub(text, i, i + part.n), part)) return true;
  return false;
}

static void check_error(Case *c, Status status) {
  Str text = c->source == NULL ? (Str){0} : c->source->text, word, rest, got = diag_error_text(c->diag);
  bool expected = false;
  while (next_comment(&text, &word, &rest)) {
    if (!str_is(word, "error")) continue;
    expected = true;
    if (!contains(got, rest)) complain(c, "error", got, rest);
  }
  if (!expected && status != STATUS_OK) complain(c, "error", got, STR("none"));
}

static Status run_commented(Case *c) {
  TRY(read_case(c));
  Str text = c->source->text, word, rest;
  while (next_comment(&text, &word, &rest)) TRY(take_option(c, word, rest));
  return module_propagate(c->flat, &c->options, &c->shardings, c->diag);
}

static uint32_t check_commented(const char *path) {
  Case c;
  case_open(&c, path);
  Status status = run_commented(&c);
  check_error(&c, status);
  if (status == STATUS_OK) {
    Str text = c.source->text, word, rest;
    while (next_comment(&text, &word, &rest)) check_comment(&c, word, rest);
  }
  return case_close(&c);
}

/* --- Programs with case.json. --- */

static yajl_val json_at(yajl_val value, const char *key) {
  return yajl_tree_get(value, (const char *[]){key, NULL}, yajl_t_any);
}

static void check_slices(Case *c, uint32_t output, yajl_val slices) {
  const Sharding *sharding = c->shardings->outputs[output];
  const Comp *entry = module_entry(c->flat);
  const Shape *shape = entry->instrs.at[entry->root].shape;
  if (shape_is_tuple(shape)) shape = shape->parts[output];
  for (uint32_t device = 0; device < slices->u.array.len; device++)
    for (uint32_t d = 0; d < shape->rank; d++) {
      yajl_val slice = slices->u.array.values[device]->u.array.values[d];
      int64_t start, stop;
      sharding_slice(sharding, d, shape->dims[d], device, &start, &stop);
      if (start == YAJL_GET_INTEGER(slice->u.array.values[0]) &&
          stop == YAJL_GET_INTEGER(slice->u.array.values[1]))
        continue;
      complain(c, str_printf(c->arena, "out%u of device %u", output, device).at,
               str_printf(c->arena, "[%ld, %ld) of dimension %u", start, stop, d), STR("what JAX says"));
    }
}

static uint32_t check_jax(const char *folder) {
  Case c;
  const Source *json;
  char message[256];
  case_open(&c, folder);
  const char *about = str_printf(c.arena, "%s/case.json", folder).at;
  c.path = str_printf(c.arena, "%s/program.hlo", folder).at;
  Status status = read_case(&c);
  if (status == STATUS_OK) status = module_propagate(c.flat, &c.options, &c.shardings, c.diag);
  if (status == STATUS_OK) status = source_read(c.arena, about, &read_limits_default, &json, c.diag);
  if (status != STATUS_OK) {
    complain(&c, "error", diag_error_text(c.diag), STR("none"));
    return case_close(&c);
  }
  yajl_val root = yajl_tree_parse(str_terminated(c.arena, json->text), message, sizeof message);
  yajl_val outputs = json_at(root, "outputs");
  if (outputs->u.array.len != c.shardings->n_outputs)
    complain(&c, "outputs", STR("another number"), STR("all"));
  for (uint32_t k = 0; k < c.shardings->n_outputs && c.failures == 0; k++)
    check_slices(&c, k, json_at(outputs->u.array.values[k], "device_slices"));
  yajl_tree_free(root);
  return case_close(&c);
}

/* --- All of them. --- */

static uint32_t for_each(const char *folder, uint32_t (*check)(const char *path), uint32_t *n) {
  char path[4096];
  uint32_t failures = 0;
  DIR *dir = opendir(folder);
  cr_assert_not_null(dir, "%s", folder);
  for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    failures += check(path);
    ++*n;
  }
  closedir(dir);
  return failures;
}

Test(propagate, outputs_lie_as_jax_says) {
  const char *folder = getenv("PODSIM_CASES");
  uint32_t n = 0;
  cr_assert_eq(for_each(folder == NULL ? TESTS_DIR "/cases/jax" : folder, check_jax, &n), 0);
  cr_assert_gt(n, 10);
}

Test(propagate, programs_say_what_they_expect) {
  uint32_t n = 0;
  cr_assert_eq(for_each(TESTS_DIR "/cases/propagate", check_commented, &n), 0);
  cr_assert_gt(n, 10);
}

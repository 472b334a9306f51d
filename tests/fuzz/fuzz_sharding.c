/* Fuzz target: shardings, meshes, specs and factor rules as text. What is taken prints to a text that is
 * taken again and prints the same. The first byte says which of them the rest is. */
#include "sim/shard/rules.h"
#include "sim/shard/sharding.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { RANK = 3 };

typedef struct {
  Arena *arena;
  Diag *diag;
  const Mesh *mesh;
} Fuzz;

static void must(bool holds) {
  if (!holds) abort();
}

static const Mesh *mesh_of(Arena *arena) {
  MeshAxis axes[] = {{STR("a"), 12}, {STR("b"), 4}, {STR("c"), 1}};
  return mesh_new(arena, STR("mesh"), axes, 3, NULL);
}

static Status parse_sdy(Fuzz *fuzz, Str text, Str *print) {
  const Sharding *sharding;
  TRY(sharding_parse_sdy(fuzz->arena, text, &fuzz->mesh, 1, &sharding, NOWHERE, fuzz->diag));
  sharding_hlo_text(fuzz->arena, sharding);
  if (sharding->device >= 0 || sharding->mesh != fuzz->mesh) return STATUS_FAILED;
  Str dims = sharding_sdy_text(fuzz->arena, sharding);
  *print = str_printf(fuzz->arena, "#sdy.sharding<@mesh, %.*s>", STR_ARG(dims));
  return STATUS_OK;
}

static Status parse_spec(Fuzz *fuzz, Str text, Str *print) {
  const Sharding *sharding;
  TRY(sharding_parse_spec(fuzz->arena, text, fuzz->mesh, RANK, &sharding, fuzz->diag));
  *print = sharding_spec_text(fuzz->arena, sharding);
  return STATUS_OK;
}

static Status parse_mesh(Fuzz *fuzz, Str text, Str *print) {
  const Mesh *mesh;
  TRY(mesh_parse(fuzz->arena, text, &mesh, fuzz->diag));
  *print = mesh_text(fuzz->arena, mesh);
  return STATUS_OK;
}

static Status parse_rule(Fuzz *fuzz, Str text, Str *print) {
  const FactorRule *rule;
  RETURN_IF(!rule_parse(fuzz->arena, text, &rule), STATUS_INVALID);
  *print = str_printf(fuzz->arena, "#sdy.op_sharding_rule<%.*s>", STR_ARG(rule_text(fuzz->arena, rule)));
  return STATUS_OK;
}

static Status parse_per_value(Fuzz *fuzz, Str text, Str *print) {
  const Sharding **shardings;
  uint32_t n;
  TRY(sharding_parse_per_value(fuzz->arena, text, &fuzz->mesh, 1, &shardings, &n, NOWHERE, fuzz->diag));
  for (uint32_t i = 0; i < n; i++) *print = sharding_sdy_text(fuzz->arena, shardings[i]);
  return STATUS_FAILED; /* not printed as a whole */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  static Status (*const PARSERS[])(Fuzz *, Str, Str *) = {parse_sdy, parse_spec, parse_mesh, parse_rule,
                                                          parse_per_value};
  if (n == 0) return 0;
  Arena *arena = arena_new();
  Fuzz fuzz = {arena, diag_new(), mesh_of(arena)};
  Str first = {0}, second = {0}, text = {(const char *)data + 1, n - 1};
  size_t which = data[0] % (sizeof PARSERS / sizeof *PARSERS);
  if (PARSERS[which](&fuzz, text, &first) == STATUS_OK) {
    must(PARSERS[which](&fuzz, first, &second) == STATUS_OK);
    must(str_eq(first, second));
  }
  diag_free(fuzz.diag);
  arena_free(arena);
  return 0;
}

/* Self-checking programs: every tests/cases/eval/NAME.hlo or NAME.mlir has an entry without parameters whose
 * root is a tuple (got, want, got, want, …). The values wanted are XLA's (tests/oracle/eval_cases.py). A
 * first line
 * `// tolerance: 1e-6` allows that relative error of floats; without it the bits are equal, NaN to NaN. */
#include "sim/eval/evaluate.h"
#include "sim/read/program.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define CASES TESTS_DIR "/cases/eval/"

typedef struct {
  char file[256];
} CaseFile;

static int is_case(const struct dirent *entry) {
  return strstr(entry->d_name, ".hlo") != NULL || strstr(entry->d_name, ".mlir") != NULL;
}

ParameterizedTestParameters(cases, evaluates) {
  struct dirent **entries;
  int n = scandir(CASES, &entries, is_case, alphasort);
  CaseFile *files = cr_calloc((size_t)(n > 0 ? n : 1), sizeof *files);
  for (int i = 0; i < n; i++) {
    snprintf(files[i].file, sizeof files[i].file, "%s", entries[i]->d_name);
    free(entries[i]);
  }
  free(entries);
  return cr_make_param_array(CaseFile, files, (size_t)(n > 0 ? n : 0), NULL);
}

static double tolerance_of(Str text) {
  double tolerance = 0;
  sscanf(text.at, "// tolerance: %lf", &tolerance);
  return tolerance;
}

static bool same_real(double got, double want, double size, double tolerance) {
  if (isnan(want)) return isnan(got);
  if (got == want) return signbit(got) == signbit(want) || tolerance != 0;
  return fabs(got - want) <= tolerance * (size + 1e-3);
}

/* The real values of an element, two of a complex one. */
static uint32_t parts_of(const Tensor *tensor, int64_t at, double parts[2]) {
  parts[0] = tensor_double_at(tensor, at);
  if (tensor->dtype == DTYPE_C64) parts[1] = ((const float *)tensor->data)[2 * at + 1];
  if (tensor->dtype == DTYPE_C128) parts[1] = ((const double *)tensor->data)[2 * at + 1];
  return dtype_class(tensor->dtype) == DCLASS_COMPLEX ? 2 : 1;
}

static bool same_element(const Tensor *got, const Tensor *want, int64_t at, double tolerance) {
  size_t bytes = dtype_bytes(want->dtype);
  if (memcmp(got->data + (size_t)at * bytes, want->data + (size_t)at * bytes, bytes) == 0) return true;
  DClass class = dtype_class(want->dtype);
  if (class != DCLASS_FLOAT && class != DCLASS_COMPLEX) return false;
  double got_parts[2] = {0}, want_parts[2] = {0};
  uint32_t n = parts_of(got, at, got_parts);
  parts_of(want, at, want_parts);
  double size = hypot(want_parts[0], want_parts[1]);
  for (uint32_t i = 0; i < n; i++) {
    if (!same_real(got_parts[i], want_parts[i], size, tolerance)) return false;
  }
  return true;
}

static void check_pair(const char *file, uint32_t pair, Str name, const Tensor *got, const Tensor *want,
                       double tolerance) {
  cr_assert(got->dtype == want->dtype && tensor_elements(got) == tensor_elements(want),
            "%s: %.*s has another shape", file, STR_ARG(name));
  cr_assert(got->known, "%s: %.*s is not known", file, STR_ARG(name));
  for (int64_t i = 0; i < tensor_elements(want); i++) {
    if (same_element(got, want, i, tolerance)) continue;
    double got_parts[2] = {0}, want_parts[2] = {0};
    parts_of(got, i, got_parts);
    parts_of(want, i, want_parts);
    cr_expect(false, "%s: pair %u (%.*s, %s) element %ld is %.9g %.9g, not %.9g %.9g", file, pair,
              STR_ARG(name), dtype_text(got->dtype), (long)i, got_parts[0], got_parts[1], want_parts[0],
              want_parts[1]);
    return;
  }
}

static void check_root(const char *file, const Module *module, const Tensor *root, double tolerance) {
  const Comp *entry = module_entry(module);
  Ids pairs = entry->instrs.at[entry->root].operands;
  for (uint32_t i = 0; i + 1 < root->rank; i += 2)
    check_pair(file, i / 2, entry->instrs.at[pairs.at[i]].name, root->parts[i], root->parts[i + 1],
               tolerance);
}

ParameterizedTest(CaseFile *param, cases, evaluates) {
  char path[1024];
  snprintf(path, sizeof path, "%s%s", CASES, param->file);
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  const Source *source;
  Module *module = NULL;
  Tensor *root = NULL;
  Status status = source_read(arena, path, &read_limits_default, &source, diag);
  if (status == STATUS_OK) status = program_read(source, &read_limits_default, &module, diag);
  if (status == STATUS_OK) {
    EvalContext context = {.module = module, .comp = module->entry, .diag = diag};
    status = eval_comp(&context, module->entry, NULL, 0, &root);
  }
  cr_expect_eq(status, STATUS_OK, "%s", diag_error_text(diag).at);
  if (status == STATUS_OK) check_root(param->file, module, root, tolerance_of(source->text));
  tensor_release(root);
  module_free(module);
  diag_free(diag);
  arena_free(arena);
}

/* Fuzz target: any bytes are read as HLO or StableHLO text or refused, and what is read prints to a text that
 * reads and prints the same. */
#include "sim/ir/print.h"
#include "sim/ir/verify.h"
#include "sim/read/program.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds) {
  if (!holds) abort();
}

static bool is_valid(const Module *module) {
  Diag *diag = diag_new();
  Status status = module_verify(module, diag);
  must((status == STATUS_OK) == (diag_error_text(diag).n == 0));
  diag_free(diag);
  return status == STATUS_OK;
}

typedef Status Read(const Source *source, const ReadLimits *limits, Module **module, Diag *diag);

static bool read_and_print(Read *read, Arena *arena, Str text, Str *print, bool *valid) {
  const ReadLimits limits = {.text_bytes = 1 << 24, .nesting = 64, .elements = 1 << 20};
  const Source source = {STR("fuzz"), text};
  Diag *diag = diag_new();
  Module *module;
  Status status = read(&source, &limits, &module, diag);
  must((status == STATUS_OK) == (diag_error_text(diag).n == 0));
  if (status == STATUS_OK) {
    *valid = is_valid(module);
    *print = module_print(arena, module);
  }
  module_free(module);
  diag_free(diag);
  return status == STATUS_OK;
}

/* HLO text says its types, and is printed as it was read. What StableHLO becomes may be no HLO text until the
 * verifier has seen it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Arena *arena = arena_new();
  Str text = {(const char *)data, n}, first, second;
  bool valid;
  if (read_and_print(program_read, arena, text, &first, &valid) &&
      (valid || read_and_print(hlo_read, arena, text, &first, &valid))) {
    must(read_and_print(hlo_read, arena, first, &second, &valid));
    must(str_eq(first, second));
  }
  arena_free(arena);
  return 0;
}

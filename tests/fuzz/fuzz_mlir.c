/* Fuzz target: StableHLO text is read or refused, and what is read prints to HLO text that reads and prints
 * the same. With clang: -fsanitize=fuzzer,address,undefined; in the test suite replay.c drives it. */
#include "sim/ir/print.h"
#include "sim/ir/verify.h"
#include "sim/read/program.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static Status read_and_print(Arena *arena, Str text, Str *print) {
  const ReadLimits limits = {.text_bytes = 1 << 24, .nesting = 64, .elements = 1 << 20};
  const Source source = {STR("fuzz"), text};
  Diag *diag = diag_new();
  Module *module;
  Status status = program_read(&source, &limits, &module, diag);
  if (status == STATUS_OK) status = module_verify(module, diag);
  if (status == STATUS_OK) *print = module_print(arena, module);
  if ((status == STATUS_OK) != (diag_error_text(diag).n == 0)) abort();
  module_free(module);
  diag_free(diag);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Arena *arena = arena_new();
  Str first, second;
  if (read_and_print(arena, (Str){(const char *)data, n}, &first) == STATUS_OK) {
    if (read_and_print(arena, first, &second) != STATUS_OK) abort();
    if (!str_eq(first, second)) abort();
  }
  arena_free(arena);
  return 0;
}

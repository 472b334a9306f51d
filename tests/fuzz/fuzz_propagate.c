/* Fuzz target: any program that the reader takes and the verifier lets through is propagated or refused, and
 * every value of it gets shardings of its rank. */
#include "sim/ir/flatten.h"
#include "sim/ir/verify.h"
#include "sim/read/program.h"
#include "sim/shard/propagate.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_value(const Instr *instr, const ValueSharding *value) {
  if (value->n != 1 || !shape_is_array(instr->shape)) return;
  if (value->at[0]->device < 0 && value->at[0]->rank != instr->shape->rank) abort();
}

static void check_table(const Module *flat, const Shardings *shardings) {
  for (uint32_t c = 0; c < flat->comps.n; c++) {
    const Comp *comp = module_comp(flat, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) check_value(&comp->instrs.at[i], &shardings->values[c][i]);
  }
}

static Status run(const Source *source, Module **module, Module **flat, Diag *diag) {
  const ReadLimits limits = {.text_bytes = 1 << 24, .nesting = 64, .elements = 1 << 20};
  ShardOptions options = {0};
  Shardings *shardings;
  TRY(program_read(source, &limits, module, diag));
  TRY(module_verify(*module, diag));
  TRY(module_flatten(*module, flat, diag));
  module_split_constants(*flat);
  TRY(module_propagate(*flat, &options, &shardings, diag));
  check_table(*flat, shardings);
  shardings_free(shardings);
  return STATUS_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  const Source source = {STR("fuzz"), {(const char *)data, n}};
  Diag *diag = diag_new();
  Module *module = NULL, *flat = NULL;
  Status status = run(&source, &module, &flat, diag);
  if ((status == STATUS_OK) != (diag_error_text(diag).n == 0)) abort();
  module_free(flat);
  module_free(module);
  diag_free(diag);
  return 0;
}

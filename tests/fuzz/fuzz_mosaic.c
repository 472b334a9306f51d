/* Fuzz target: any bytes are a Mosaic kernel that prints, or refused with an error that tells the byte. */
#include "sim/mosaic/mosaic.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  MosaicKernel kernel;
  Status status =
      mosaic_read_bytecode(arena, (Str){(const char *)data, n}, STR("fuzz"), NOWHERE, &kernel, diag);
  if ((status == STATUS_OK) != (diag_error_text(diag).n == 0)) abort();
  if (status == STATUS_OK) mosaic_print(arena, &kernel);
  diag_free(diag);
  arena_free(arena);
  return 0;
}

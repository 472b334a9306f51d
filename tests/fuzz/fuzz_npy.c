/* Fuzz target: any bytes are an .npy of some type or refused, and never ask for more memory than they hold.
 */
#include "sim/eval/npy.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static bool take(void *self, void *into, size_t n) {
  Str *rest = self;
  if (n > rest->n) return false;
  memcpy(into, rest->at, n);
  *rest = str_sub(*rest, n, rest->n);
  return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Arena *arena = arena_new();
  for (int dtype = 0; dtype < DTYPE_TOKEN; dtype++) {
    Str rest = {(const char *)data, n};
    NpyBytes bytes = {.name = "fuzz", .size = n, .self = &rest, .read = take};
    Diag *diag = diag_new();
    Tensor *tensor = NULL;
    const Shape *shape = shape_array(arena, (DType)dtype, (int64_t[]){2, 3}, 2);
    Status status = npy_read_bytes(&bytes, shape, &tensor, diag);
    if ((status == STATUS_OK) != (diag_error_text(diag).n == 0)) abort();
    if ((status == STATUS_OK) != (tensor != NULL)) abort();
    tensor_release(tensor);
    diag_free(diag);
  }
  arena_free(arena);
  return 0;
}

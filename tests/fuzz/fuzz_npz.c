/* Fuzz target: any bytes are an .npz with both parameters or refused. */
#include "sim/eval/npy.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  int file = memfd_create("fuzz.npz", 0);
  if (file < 0 || write(file, data, n) != (ssize_t)n) abort();
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  const char *path = str_printf(arena, "/proc/self/fd/%d", file).at;
  const Str names[] = {STR("x.1"), STR("y.2")};
  const int64_t dims[] = {2, 3};
  const Shape *shapes[] = {shape_array(arena, DTYPE_F32, dims, 2), shape_array(arena, DTYPE_S32, dims, 2)};
  Tensor *inputs[2];
  Status status = inputs_read(&path, 1, names, shapes, 2, inputs, diag);
  if ((status == STATUS_OK) != (diag_error_text(diag).n == 0)) abort();
  for (int i = 0; i < 2; i++) {
    if ((status == STATUS_OK) != (inputs[i] != NULL)) abort();
    tensor_release(inputs[i]);
  }
  diag_free(diag);
  arena_free(arena);
  close(file);
  return 0;
}

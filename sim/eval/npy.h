/* .npy, .npz and folders of them: tensors in and out. bfloat16 is read from <V2, |V2, <u2 (its bits) or f32
 * (rounded) and written as <V2; an f8 is a uint8; s4 and the like int8. Both byte orders and fortran_order
 * are read. Files are untrusted: the header's claim is checked against the file's size before anything is
 * allocated. */
#pragma once

#include "sim/eval/tensor.h"

/* The bytes of one .npy, wherever they come from. */
typedef struct {
  const char *name; /* for messages */
  uint64_t size;
  void *self;
  /* Reads the next `n` bytes; false where they are not there. */
  bool (*read)(void *self, void *into, size_t n);
} NpyBytes;

/* Reads a value of `shape`; a wrong shape or type is an error that names both. The caller gets a reference.
 */
Status npy_read_bytes(const NpyBytes *bytes, const Shape *shape, Tensor **tensor, Diag *diag);
/* The same from a file. */
Status npy_read(const char *path, const Shape *shape, Tensor **tensor, Diag *diag);
/* Writes a known array under a temporary name beside `path` and renames it: the same bytes as numpy.save. */
Status npy_write(const char *path, const Tensor *tensor, Diag *diag);

/* The program's inputs from -i arguments: .npy files in order, one .npz (entries named as the parameters,
 * argN, or arr_N), or one folder (inN.npy). `names` and `shapes` are the parameters'. All n_params are read
 * (the caller gets a reference to each) or nothing. */
Status inputs_read(const char *const *paths, uint32_t n_paths, const Str *names, const Shape *const *shapes,
                   uint32_t n_params, Tensor **inputs, Diag *diag);

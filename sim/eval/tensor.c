/* Tensors: a header with its dimensions in one allocation, and the data in another that reshaped tensors
 * share by holding its owner. */
#include "sim/eval/tensor.h"
#include "sim/eval/kernel.h"
#include "sim/ir/fp.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DATA_ALIGN = 64 };

static void *must(void *memory) {
  if (memory == NULL) {
    fputs("podsim: out of memory for values\n", stderr);
    abort();
  }
  return memory;
}

static Tensor *header_new(DType dtype, const int64_t *dims, uint32_t rank) {
  Tensor *tensor = must(calloc(1, sizeof *tensor + (rank + 1) * sizeof *dims));
  atomic_init(&tensor->references, 1);
  tensor->dtype = dtype;
  tensor->rank = rank;
  tensor->dims = (int64_t *)(tensor + 1);
  if (rank != 0 && dims != NULL) memcpy(tensor->dims, dims, rank * sizeof *dims);
  return tensor;
}

static unsigned char *data_new(size_t bytes) {
  if (bytes > SIZE_MAX - DATA_ALIGN) must(NULL);
  size_t rounded = (bytes + DATA_ALIGN - 1) / DATA_ALIGN * DATA_ALIGN;
  return must(aligned_alloc(DATA_ALIGN, rounded == 0 ? DATA_ALIGN : rounded));
}

Tensor *tensor_new_array(DType dtype, const int64_t *dims, uint32_t rank, bool known) {
  Tensor *tensor = header_new(dtype, dims, rank);
  tensor->known = known;
  size_t bytes = dtype_bytes(dtype);
  for (uint32_t i = 0; i < rank; i++) {
    if (__builtin_mul_overflow(bytes, (size_t)dims[i], &bytes)) must(NULL);
  }
  if (!known) return tensor;
  tensor->bytes = bytes;
  tensor->data = data_new(bytes);
  return tensor;
}

Tensor *tensor_new(const Shape *shape, bool known) {
  if (shape->dtype == DTYPE_BUFFER) return tensor_new(shape->parts[0], known);
  if (!shape_is_tuple(shape)) return tensor_new_array(shape->dtype, shape->dims, shape->rank, known);
  Tensor **parts = must(malloc((shape->rank + 1) * sizeof *parts));
  for (uint32_t i = 0; i < shape->rank; i++) parts[i] = tensor_new(shape->parts[i], known);
  Tensor *tuple = tensor_tuple(parts, shape->rank);
  free(parts);
  return tuple;
}

Tensor *tensor_tuple(Tensor **parts, uint32_t n) {
  Tensor *tuple = header_new(DTYPE_TUPLE, NULL, n);
  tuple->known = true;
  tuple->parts = must(malloc((n + 1) * sizeof *parts));
  if (n != 0) memcpy(tuple->parts, parts, n * sizeof *parts);
  return tuple;
}

Tensor *tensor_from_literal(const Literal *literal) {
  const Shape *shape = literal->shape;
  if (!shape_is_tuple(shape)) {
    Tensor *tensor = tensor_new(shape, !literal->elided);
    if (tensor->bytes == 0) return tensor;
    memcpy(tensor->data, literal->data, tensor->bytes);
    if (dtype_is_integer(shape->dtype) && dtype_bits(shape->dtype) < 8)
      values_narrow(shape->dtype, tensor_elements(tensor), tensor->data, tensor->data);
    return tensor;
  }
  Tensor **parts = must(malloc((shape->rank + 1) * sizeof *parts));
  for (uint32_t i = 0; i < shape->rank; i++)
    parts[i] = literal->elided ? tensor_new(shape->parts[i], false) : tensor_from_literal(literal->parts[i]);
  Tensor *tuple = tensor_tuple(parts, shape->rank);
  free(parts);
  return tuple;
}

Tensor *tensor_retain(Tensor *tensor) {
  atomic_fetch_add_explicit(&tensor->references, 1, memory_order_relaxed);
  return tensor;
}

void tensor_release(Tensor *tensor) {
  if (tensor == NULL) return;
  if (atomic_fetch_sub_explicit(&tensor->references, 1, memory_order_acq_rel) != 1) return;
  if (tensor->dtype == DTYPE_TUPLE) {
    for (uint32_t i = 0; i < tensor->rank; i++) tensor_release(tensor->parts[i]);
    free(tensor->parts);
  }
  if (tensor->owner != NULL) {
    tensor_release(tensor->owner);
  } else {
    free(tensor->data);
  }
  free(tensor);
}

bool tensor_is_unique(const Tensor *tensor) {
  for (; tensor != NULL; tensor = tensor->owner) {
    if (atomic_load_explicit(&tensor->references, memory_order_acquire) != 1) return false;
  }
  return true;
}

Tensor *tensor_unique(Tensor *tensor) {
  if (tensor_is_unique(tensor)) return tensor;
  Tensor *copy;
  if (tensor->dtype == DTYPE_TUPLE) {
    for (uint32_t i = 0; i < tensor->rank; i++) tensor_retain(tensor->parts[i]);
    copy = tensor_tuple(tensor->parts, tensor->rank);
  } else {
    copy = tensor_new_array(tensor->dtype, tensor->dims, tensor->rank, tensor->known);
    if (copy->bytes != 0) memcpy(copy->data, tensor->data, copy->bytes);
  }
  tensor_release(tensor);
  return copy;
}

Tensor *tensor_viewed(Tensor *tensor, DType dtype, const int64_t *dims, uint32_t rank) {
  Tensor *view = header_new(dtype, dims, rank);
  view->known = tensor->known;
  view->bytes = tensor->bytes;
  view->data = tensor->data;
  view->owner = tensor_retain(tensor->owner != NULL ? tensor->owner : tensor);
  return view;
}

Tensor *tensor_window(Tensor *tensor, int64_t first, int64_t n) {
  Tensor *window = tensor_viewed(tensor, tensor->dtype, &n, 1);
  if (!tensor->known) return window;
  window->bytes = (size_t)n * dtype_bytes(tensor->dtype);
  window->data += (size_t)first * dtype_bytes(tensor->dtype);
  return window;
}

Tensor *tensor_reshaped(Tensor *tensor, const int64_t *dims, uint32_t rank) {
  return tensor_viewed(tensor, tensor->dtype, dims, rank);
}

int64_t tensor_elements(const Tensor *tensor) {
  if (dtype_bytes(tensor->dtype) == 0) return 0;
  int64_t n = 1;
  for (uint32_t i = 0; i < tensor->rank; i++) n *= tensor->dims[i];
  return n;
}

bool tensor_all_known(const Tensor *tensor) {
  if (tensor->dtype != DTYPE_TUPLE) return tensor->known;
  for (uint32_t i = 0; i < tensor->rank; i++) {
    if (!tensor_all_known(tensor->parts[i])) return false;
  }
  return true;
}

static int64_t integer_at(const Tensor *tensor, int64_t at) {
  const void *data = tensor->data;
  switch (dtype_bytes(tensor->dtype)) {
  case 1:
    return dtype_class(tensor->dtype) == DCLASS_SIGNED ? ((const int8_t *)data)[at]
                                                       : ((const uint8_t *)data)[at];
  case 2: return tensor->dtype == DTYPE_S16 ? ((const int16_t *)data)[at] : ((const uint16_t *)data)[at];
  case 4:
    return tensor->dtype == DTYPE_S32 ? ((const int32_t *)data)[at] : (int64_t)((const uint32_t *)data)[at];
  default: return ((const int64_t *)data)[at];
  }
}

/* The bits of a float below 32 bits. */
static uint32_t small_float_bits(const Tensor *tensor, int64_t at) {
  return dtype_bytes(tensor->dtype) == 1 ? tensor->data[at] : ((const uint16_t *)tensor->data)[at];
}

double tensor_double_at(const Tensor *tensor, int64_t at) {
  const void *data = tensor->data;
  switch (tensor->dtype) {
  case DTYPE_F32: return ((const float *)data)[at];
  case DTYPE_F64: return ((const double *)data)[at];
  case DTYPE_C64: return crealf(((const complex float *)data)[at]);
  case DTYPE_C128: return creal(((const complex double *)data)[at]);
  case DTYPE_U64: return (double)((const uint64_t *)data)[at];
  default:
    if (dtype_class(tensor->dtype) == DCLASS_FLOAT)
      return fp_to_float(tensor->dtype, small_float_bits(tensor, at));
    return (double)integer_at(tensor, at);
  }
}

int64_t tensor_int_at(const Tensor *tensor, int64_t at) {
  DClass class = dtype_class(tensor->dtype);
  if (class != DCLASS_FLOAT && class != DCLASS_COMPLEX) return integer_at(tensor, at);
  double value = tensor_double_at(tensor, at);
  if (isnan(value)) return 0;
  if (value >= 0x1p63) return INT64_MAX;
  return value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

static void set_integer(Tensor *tensor, int64_t at, int64_t value) {
  uint32_t unused_bits = 64 - dtype_bits(tensor->dtype);
  bool is_signed = dtype_class(tensor->dtype) == DCLASS_SIGNED;
  uint64_t bits = (uint64_t)value << unused_bits;
  if (tensor->dtype == DTYPE_PRED) bits = (uint64_t)(value != 0) << unused_bits;
  value = is_signed ? (int64_t)bits >> unused_bits : (int64_t)(bits >> unused_bits);
  switch (dtype_bytes(tensor->dtype)) {
  case 1: ((int8_t *)tensor->data)[at] = (int8_t)value; break;
  case 2: ((int16_t *)tensor->data)[at] = (int16_t)value; break;
  case 4: ((int32_t *)tensor->data)[at] = (int32_t)value; break;
  default: ((int64_t *)tensor->data)[at] = value;
  }
}

void tensor_set_double(Tensor *tensor, int64_t at, double value) {
  void *data = tensor->data;
  switch (tensor->dtype) {
  case DTYPE_F32: ((float *)data)[at] = (float)value; return;
  case DTYPE_F64: ((double *)data)[at] = value; return;
  case DTYPE_C64: ((complex float *)data)[at] = (float)value; return;
  case DTYPE_C128: ((complex double *)data)[at] = value; return;
  default: break;
  }
  if (dtype_class(tensor->dtype) != DCLASS_FLOAT) {
    bool huge = value >= 0x1p63;
    set_integer(tensor, at, huge ? (int64_t)(uint64_t)value : (int64_t)value);
    return;
  }
  uint32_t bits = fp_from_double(tensor->dtype, value);
  if (dtype_bytes(tensor->dtype) == 1) {
    tensor->data[at] = (unsigned char)bits;
  } else {
    ((uint16_t *)data)[at] = (uint16_t)bits;
  }
}

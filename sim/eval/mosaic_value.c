/* Values of a kernel: slots, what is asked of operands, and the check of each result against its type. */
#include "sim/eval/mosaic_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Status mosaic_fail(const MosaicFrame *frame, const MosaicOp *op, const char *format, ...) {
  char what[512];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const MosaicRun *run = frame->run;
  Arena *arena = arena_new();
  Status status = diag_fail(run->context->diag, STATUS_INVALID, run->kernel->place,
                            "--numbers off simulates its time; `podsim print --kernel` shows the kernel",
                            "%.*s: %.*s at %.*s: %s", STR_ARG(run->kernel->call), STR_ARG(op->name),
                            STR_ARG(mosaic_place(arena, op)), what);
  arena_free(arena);
  return status;
}

Status mosaic_unsupported(const MosaicFrame *frame, const MosaicOp *op, const char *what) {
  return mosaic_fail(frame, op, "%s is not supported yet", what);
}

MosaicFrame mosaic_frame_new(MosaicRun *run, uint32_t n_values) {
  MosaicValue *values = calloc((size_t)n_values + 1, sizeof *values);
  if (values == NULL) abort();
  return (MosaicFrame){run, values, n_values};
}

void mosaic_frame_free(MosaicFrame *frame) {
  for (uint32_t i = 0; i < frame->n_values; i++) {
    tensor_release(frame->values[i].tensor);
    free(frame->values[i].memref);
  }
  free(frame->values);
}

Tensor *mosaic_tensor(const MosaicFrame *frame, const MosaicOp *op, uint32_t i) {
  return i < op->operands.n ? frame->values[op->operands.at[i]].tensor : NULL;
}

MosaicMemref *mosaic_memref(const MosaicFrame *frame, const MosaicOp *op, uint32_t i) {
  if (i >= op->operands.n) return NULL;
  const MosaicValue *value = &frame->values[op->operands.at[i]];
  return value->is_memref ? value->memref : NULL;
}

bool mosaic_is(const MosaicFrame *frame, const MosaicOp *op, uint32_t i, DType dtype, int64_t elements) {
  const Tensor *tensor = mosaic_tensor(frame, op, i);
  return tensor != NULL && (dtype == DTYPE_COUNT || tensor->dtype == dtype) &&
         tensor_elements(tensor) == elements;
}

Status mosaic_integers(const MosaicFrame *frame, const MosaicOp *op, uint32_t first, uint32_t n,
                       int64_t *values) {
  for (uint32_t i = 0; i < n; i++) {
    const Tensor *tensor = mosaic_tensor(frame, op, first + i);
    bool good = tensor != NULL && tensor_elements(tensor) == 1 &&
                (dtype_is_integer(tensor->dtype) || tensor->dtype == DTYPE_PRED);
    RETURN_IF(!good, mosaic_fail(frame, op, "operand %u is no integer", first + i));
    values[i] = tensor_int_at(tensor, 0);
  }
  return STATUS_OK;
}

int64_t mosaic_elements(const MosaicType *type) {
  int64_t n = 1;
  for (uint32_t i = 0; i < type->rank; i++) n *= type->dims[i];
  return n;
}

DType unsigned_dtype(DType dtype) {
  switch (dtype) {
  case DTYPE_S2: return DTYPE_U2;
  case DTYPE_S4: return DTYPE_U4;
  case DTYPE_S8: return DTYPE_U8;
  case DTYPE_S16: return DTYPE_U16;
  case DTYPE_S32: return DTYPE_U32;
  case DTYPE_S64: return DTYPE_U64;
  default: return dtype;
  }
}

bool mosaic_segment(const MosaicOp *op, uint32_t segment, uint32_t *first, uint32_t *n) {
  Ints sizes = mosaic_ints(op, "operandSegmentSizes");
  int64_t at = 0;
  *first = *n = 0;
  for (uint32_t i = 0; i < sizes.n && i <= segment; i++) {
    if (sizes.at[i] < 0 || sizes.at[i] > op->operands.n - at) return false;
    *first = (uint32_t)at;
    *n = i == segment ? (uint32_t)sizes.at[i] : 0;
    at += sizes.at[i];
  }
  return true;
}

void mosaic_set_tensor(MosaicFrame *frame, uint32_t slot, Tensor *tensor) {
  MosaicValue *value = &frame->values[slot];
  tensor_release(value->tensor);
  value->tensor = tensor;
  value->is_memref = false;
}

void mosaic_set_memref(MosaicFrame *frame, uint32_t slot, const MosaicMemref *memref) {
  MosaicValue *value = &frame->values[slot];
  if (value->memref == NULL) value->memref = malloc(sizeof *value->memref);
  if (value->memref == NULL) abort();
  *value->memref = *memref;
  tensor_release(value->tensor);
  value->tensor = NULL;
  value->is_memref = true;
}

static bool has_dims(const Tensor *tensor, const MosaicType *type) {
  if (tensor->rank != type->rank) return false;
  for (uint32_t i = 0; i < type->rank; i++) {
    if (tensor->dims[i] != type->dims[i]) return false;
  }
  return true;
}

Status mosaic_give(MosaicFrame *frame, const MosaicOp *op, uint32_t i, Tensor *tensor) {
  const MosaicType *type = op->result_types[i];
  bool good = (type->kind == MOSAIC_SCALAR || type->kind == MOSAIC_VECTOR) && tensor->dtype == type->dtype &&
              tensor_elements(tensor) == mosaic_elements(type);
  if (!good) {
    tensor_release(tensor);
    return mosaic_fail(frame, op, "its operands are not of the types that its result is for");
  }
  if (!has_dims(tensor, type)) {
    Tensor *other = tensor_reshaped(tensor, type->dims, type->rank);
    tensor_release(tensor);
    tensor = other;
  }
  mosaic_set_tensor(frame, op->first + i, tensor);
  return STATUS_OK;
}

Tensor *mosaic_integer(DType dtype, int64_t value) {
  Tensor *tensor = tensor_new_array(dtype, NULL, 0, true);
  memcpy(tensor->data, &value, tensor->bytes);
  return tensor;
}

Status mosaic_give_integer(MosaicFrame *frame, const MosaicOp *op, int64_t value) {
  return mosaic_give(frame, op, 0, mosaic_integer(op->result_types[0]->dtype, value));
}

Status mosaic_give_memref(MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *memref) {
  const MosaicType *type = op->result_types[0];
  bool good = type->kind == MOSAIC_MEMREF && type->rank == memref->view.rank;
  RETURN_IF(!good, mosaic_fail(frame, op, "its operands are not of the types that its result is for"));
  for (uint32_t i = 0; good && i < type->rank; i++)
    good = type->dims[i] == memref->view.dims[i] || type->dims[i] == MOSAIC_DYNAMIC;
  bool is_semaphore = type->element->kind == MOSAIC_SEMAPHORE || type->element->kind == MOSAIC_DMA_SEMAPHORE;
  good =
      good && is_semaphore == memref->buffer->is_semaphore && (is_semaphore || type->dtype == memref->dtype);
  RETURN_IF(!good, mosaic_fail(frame, op, "its operands are not of the types that its result is for"));
  mosaic_set_memref(frame, op->first, memref);
  return STATUS_OK;
}

static MosaicMemref *memref_copy(const MosaicMemref *memref) {
  MosaicMemref *copy = malloc(sizeof *copy);
  if (copy == NULL) abort();
  *copy = *memref;
  return copy;
}

Status mosaic_move(MosaicFrame *frame, Ids from, uint32_t to) {
  MosaicValue few[16], *moved = few;
  Arena *arena = from.n > 16 ? arena_new() : NULL;
  if (arena != NULL) moved = ARENA_ARRAY(arena, MosaicValue, from.n);
  for (uint32_t i = 0; i < from.n; i++) {
    moved[i] = frame->values[from.at[i]];
    if (moved[i].tensor != NULL) tensor_retain(moved[i].tensor);
    moved[i].memref = moved[i].is_memref ? memref_copy(moved[i].memref) : NULL;
  }
  for (uint32_t i = 0; i < from.n; i++) {
    if (moved[i].tensor != NULL)
      mosaic_set_tensor(frame, to + i, moved[i].tensor);
    else if (moved[i].is_memref)
      mosaic_set_memref(frame, to + i, moved[i].memref);
    free(moved[i].memref);
  }
  arena_free(arena);
  return STATUS_OK;
}

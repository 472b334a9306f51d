/* Memory of a kernel: buffers, views of them, loads and stores. A view is made from another by taking a part,
 * which is checked then; so what a view selects always lies in its buffer. */
#include "sim/eval/kernel.h"
#include "sim/eval/mosaic_run.h"

#include <math.h>
#include <string.h>

/* --- buffers --- */

MosaicBuffer *mosaic_buffer_new(MosaicRun *run, uint64_t key, Tensor *tensor, bool is_semaphore) {
  MosaicBuffer *buffer = ARENA_NEW(run->arena, MosaicBuffer);
  *buffer = (MosaicBuffer){.tensor = tensor, .key = key, .is_semaphore = is_semaphore};
  VEC_PUSH(run->arena, &run->buffers, buffer);
  return buffer;
}

MosaicBuffer *mosaic_buffer_of(const MosaicRun *run, uint64_t key) {
  for (uint32_t i = 0; i < run->buffers.n; i++) {
    if (run->buffers.at[i]->key == key) return run->buffers.at[i];
  }
  return NULL;
}

MosaicMemref mosaic_whole(MosaicBuffer *buffer) {
  const Tensor *tensor = buffer->tensor;
  MosaicMemref memref = {
      .buffer = buffer, .dtype = tensor->dtype, .view = {.rank = tensor->rank}, .packing = 1};
  for (uint32_t d = 0; d < tensor->rank; d++) memref.view.dims[d] = tensor->dims[d];
  dense_steps(tensor->dims, tensor->rank, 1, memref.view.steps);
  return memref;
}

void fill_undefined(Tensor *tensor) {
  DClass class = dtype_class(tensor->dtype);
  uint32_t bytes = dtype_bytes(tensor->dtype);
  unsigned char element[16] = {0};
  Tensor *one = tensor_new_array(tensor->dtype, NULL, 0, true);
  memset(one->data, 0, one->bytes);
  if (class == DCLASS_FLOAT) tensor_set_double(one, 0, (double)NAN);
  memcpy(element, one->data, bytes);
  if (class == DCLASS_SIGNED) element[bytes - 1] = 0x80;
  tensor_release(one);
  box_fill(tensor->data, element, bytes, tensor_elements(tensor));
}

Status mosaic_scratch(MosaicFrame *frame, const MosaicOp *op, uint64_t key, const MosaicType *type,
                      MosaicBuffer **buffer) {
  RETURN_IF(type->kind != MOSAIC_MEMREF, mosaic_fail(frame, op, "its memory has no type"));
  bool is_semaphore = type->element->kind == MOSAIC_SEMAPHORE || type->element->kind == MOSAIC_DMA_SEMAPHORE;
  DType dtype = is_semaphore ? DTYPE_S64 : type->dtype;
  int64_t bytes = dtype_bytes(dtype);
  RETURN_IF(bytes == 0, mosaic_unsupported(frame, op, "memory of this type"));
  for (uint32_t d = 0; d < type->rank; d++) {
    bool fits = type->dims[d] >= 0 && !__builtin_mul_overflow(bytes, type->dims[d], &bytes);
    RETURN_IF(!fits || bytes > MOSAIC_MAX_BYTES, mosaic_unsupported(frame, op, "memory of this size"));
  }
  frame->run->scratch_bytes += bytes;
  RETURN_IF(frame->run->scratch_bytes > MOSAIC_MAX_BYTES,
            mosaic_unsupported(frame, op, "scratch of this size"));
  Tensor *tensor = tensor_new_array(dtype, type->dims, type->rank, true);
  if (is_semaphore)
    memset(tensor->data, 0, tensor->bytes);
  else
    fill_undefined(tensor);
  *buffer = mosaic_buffer_new(frame->run, key, tensor, is_semaphore);
  return STATUS_OK;
}

/* Scratch of a region: the same buffer each time that the op comes. */
Status mosaic_allocate(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  uint64_t key = (uint64_t)1 << 32 | op->offset;
  MosaicBuffer *buffer = mosaic_buffer_of(frame->run, key);
  if (buffer == NULL) TRY(mosaic_scratch(frame, op, key, op->result_types[0], &buffer));
  if (!buffer->is_semaphore) fill_undefined(buffer->tensor);
  MosaicMemref memref = mosaic_whole(buffer);
  return mosaic_give_memref(frame, op, &memref);
}

/* --- parts --- */

Status mosaic_part(const MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *memref,
                   const int64_t *starts, const int64_t *sizes, const int64_t *strides, MosaicMemref *part) {
  *part = *memref;
  for (uint32_t d = 0; d < memref->view.rank; d++) {
    int64_t stride = strides == NULL || sizes[d] <= 1 ? 1 : strides[d], dim = memref->view.dims[d];
    bool fits = stride > 0 && sizes[d] >= 0 && starts[d] >= 0 && starts[d] <= dim &&
                (sizes[d] == 0 || (starts[d] < dim && sizes[d] - 1 <= (dim - 1 - starts[d]) / stride));
    RETURN_IF(!fits,
              mosaic_fail(frame, op, "%lld elements from %lld on do not lie in the %lld of dimension %u",
                          (long long)sizes[d], (long long)starts[d], (long long)dim, d));
    part->view.offset += starts[d] * memref->view.steps[d];
    part->view.dims[d] = sizes[d];
    part->view.steps[d] = memref->view.steps[d] * stride;
  }
  return STATUS_OK;
}

static MosaicMemref *memref_operand(const MosaicFrame *frame, const MosaicOp *op, uint32_t i,
                                    Status *status) {
  MosaicMemref *memref = mosaic_memref(frame, op, i);
  if (memref == NULL) *status = mosaic_fail(frame, op, "operand %u is no memref", i);
  return memref;
}

Status mosaic_memref_slice(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Status status = STATUS_OK;
  const MosaicMemref *memref = memref_operand(frame, op, 0, &status);
  TRY(status);
  const MosaicType *type = op->result_types[0];
  uint32_t rank = memref->view.rank, first = 1, n = op->operands.n - 1, dynamic = 0, n_dynamic = 0;
  if (mosaic_ints(op, "operandSegmentSizes").n == 3 &&
      !(mosaic_segment(op, 1, &first, &n) && mosaic_segment(op, 2, &dynamic, &n_dynamic)))
    return mosaic_fail(frame, op, "its operands are not as many as it says");
  int64_t starts[EVAL_MAX_RANK], sizes[EVAL_MAX_RANK];
  RETURN_IF(n != rank || type->rank != rank, mosaic_fail(frame, op, "it has not an index a dimension"));
  TRY(mosaic_integers(frame, op, first, n, starts));
  for (uint32_t d = 0; d < rank; d++) {
    sizes[d] = type->dims[d];
    if (sizes[d] != MOSAIC_DYNAMIC) continue;
    RETURN_IF(n_dynamic == 0, mosaic_fail(frame, op, "a size is not told"));
    TRY(mosaic_integers(frame, op, dynamic++, 1, &sizes[d]));
    n_dynamic--;
  }
  MosaicMemref part = {0};
  TRY(mosaic_part(frame, op, memref, starts, sizes, NULL, &part));
  return mosaic_give_memref(frame, op, &part);
}

/* Leaves out dimensions of size 1. */
Status mosaic_memref_squeeze(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Status status = STATUS_OK;
  const MosaicMemref *memref = memref_operand(frame, op, 0, &status);
  TRY(status);
  const MosaicType *type = op->result_types[0];
  MosaicMemref part = *memref;
  part.view.rank = 0;
  for (uint32_t d = 0; d < memref->view.rank; d++) {
    uint32_t at = part.view.rank, left = memref->view.rank - d;
    bool wanted =
        at < type->rank && (type->dims[at] == memref->view.dims[d] || type->dims[at] == MOSAIC_DYNAMIC);
    if (memref->view.dims[d] == 1 && (!wanted || left > type->rank - at)) continue;
    part.view.dims[at] = memref->view.dims[d];
    part.view.steps[at] = memref->view.steps[d];
    part.view.rank++;
  }
  return mosaic_give_memref(frame, op, &part);
}

/* `from` without its dimensions of size 1. */
static View squeezed(const View *from) {
  View view = {.offset = from->offset};
  for (uint32_t d = 0; d < from->rank; d++) {
    if (from->dims[d] == 1) continue;
    view.dims[view.rank] = from->dims[d];
    view.steps[view.rank++] = from->steps[d];
  }
  return view;
}

/* The same elements in the same order under other dimensions (as many, and not none); false where no steps
 * give them. Dimensions are taken in groups of equal size, and the old ones of a group must lie as one. */
static bool reshape_view(const View *view, const int64_t *dims, uint32_t rank, View *to) {
  View from = squeezed(view);
  *to = (View){.rank = rank, .offset = from.offset};
  uint32_t i = 0, j = 0;
  while (i < from.rank && j < rank) {
    uint32_t i_end = i + 1, j_end = j + 1;
    int64_t old = from.dims[i], new = dims[j];
    while (old != new) {
      if (new < old)
        new *= dims[j_end++];
      else
        old *= from.dims[i_end++];
    }
    for (uint32_t k = i; k + 1 < i_end; k++) {
      if (from.steps[k] != from.dims[k + 1] * from.steps[k + 1]) return false;
    }
    int64_t step = from.steps[i_end - 1];
    for (uint32_t k = j_end; k-- > j; step *= dims[k]) to->steps[k] = step;
    i = i_end, j = j_end;
  }
  for (uint32_t d = 0; d < rank; d++) {
    to->dims[d] = dims[d];
    if (d >= j) to->steps[d] = 1;
  }
  return true;
}

Status mosaic_memref_reshape(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Status status = STATUS_OK;
  const MosaicMemref *memref = memref_operand(frame, op, 0, &status);
  TRY(status);
  const MosaicType *type = op->result_types[0];
  MosaicMemref result = *memref;
  int64_t elements = 1;
  for (uint32_t d = 0; d < type->rank; d++)
    RETURN_IF(type->dims[d] <= 0 || __builtin_mul_overflow(elements, type->dims[d], &elements),
              mosaic_unsupported(frame, op, "this size"));
  RETURN_IF(elements != view_elements(&memref->view),
            mosaic_fail(frame, op, "it changes the number of elements"));
  RETURN_IF(!reshape_view(&memref->view, type->dims, type->rank, &result.view),
            mosaic_unsupported(frame, op, "a reshape of memory that does not lie as one"));
  return mosaic_give_memref(frame, op, &result);
}

/* Rows as rows of elements that are `ratio` times as wide; false where there are not so many. */
static bool pack_rows(MosaicMemref *memref, uint32_t ratio) {
  uint32_t rank = memref->view.rank;
  if (memref->packing > 1 || rank < 2 || memref->view.dims[rank - 2] % ratio != 0) return false;
  memref->packing = ratio;
  memref->packed_step = memref->view.steps[rank - 2];
  memref->view.dims[rank - 2] /= ratio;
  memref->view.steps[rank - 2] *= ratio;
  return true;
}

Status mosaic_memref_bitcast(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Status status = STATUS_OK;
  const MosaicMemref *memref = memref_operand(frame, op, 0, &status);
  TRY(status);
  MosaicMemref result = *memref;
  result.dtype = op->result_types[0]->dtype;
  uint32_t from = dtype_bits(memref->dtype), to = dtype_bits(result.dtype);
  bool packs = to > from && !pack_rows(&result, to / from);
  RETURN_IF(from < 8 || to < from || packs,
            mosaic_unsupported(frame, op, "memory seen as numbers of this width"));
  return mosaic_give_memref(frame, op, &result);
}

/* --- loads and stores --- */

/* The view of the buffer's own elements: those of an element side by side, as its last dimension. */
static View unpacked(const MosaicMemref *memref) {
  View view = memref->view;
  if (memref->packing <= 1) return view;
  view.dims[view.rank] = memref->packing;
  view.steps[view.rank++] = memref->packed_step;
  return view;
}

/* What a memref selects, as a vector. */
static Tensor *memref_take(const MosaicMemref *memref) {
  View view = unpacked(memref);
  Tensor *taken = view_take(memref->buffer->tensor, &view);
  int64_t n = view_elements(&memref->view);
  Tensor *vector = tensor_viewed(taken, memref->dtype, &n, 1);
  tensor_release(taken);
  return vector;
}

static void memref_put(const MosaicMemref *memref, Tensor *vector) {
  View view = unpacked(memref);
  Tensor *into = memref->buffer->tensor = tensor_unique(memref->buffer->tensor);
  int64_t n = view_elements(&view);
  Tensor *parts = tensor_viewed(vector, into->dtype, &n, 1);
  view_put(into, &view, parts);
  tensor_release(parts);
}

void mosaic_copy(const MosaicMemref *to, const MosaicMemref *from) {
  Tensor *target = to->buffer->tensor = tensor_unique(to->buffer->tensor);
  view_copy(target, &to->view, from->buffer->tensor, &from->view);
}

/* The elements that an access is on: from operands [first, first + n) as indices on, `strides` apart, of the
 * vector's dimensions, which are the last of the memref's. */
static Status accessed(const MosaicFrame *frame, const MosaicOp *op, uint32_t base, uint32_t first,
                       uint32_t n, const MosaicType *type, MosaicMemref *part) {
  Status status = STATUS_OK;
  const MosaicMemref *memref = memref_operand(frame, op, base, &status);
  TRY(status);
  uint32_t rank = memref->view.rank;
  int64_t starts[EVAL_MAX_RANK], sizes[EVAL_MAX_RANK], strides[EVAL_MAX_RANK];
  Ints given = mosaic_ints(op, "strides");
  RETURN_IF(rank == EVAL_MAX_RANK, mosaic_unsupported(frame, op, "memory of so many dimensions"));
  RETURN_IF(n != rank || type->rank > rank || (given.n != 0 && given.n != rank),
            mosaic_fail(frame, op, "it has not an index a dimension"));
  RETURN_IF(memref->buffer->is_semaphore, mosaic_fail(frame, op, "it is on a semaphore"));
  TRY(mosaic_integers(frame, op, first, n, starts));
  for (uint32_t d = 0; d < rank; d++) {
    sizes[d] = d < rank - type->rank ? 1 : type->dims[d - (rank - type->rank)];
    strides[d] = given.n != 0 ? given.at[d] : 1;
  }
  return mosaic_part(frame, op, memref, starts, sizes, strides, part);
}

/* Of an access: how many indices it has, and its mask or NULL. The indices are segment `segment` of the
 * operands, after segments of one operand each. */
static Status masked_access(const MosaicFrame *frame, const MosaicOp *op, uint32_t segment, uint32_t *n,
                            const Tensor **mask) {
  uint32_t at, mask_at, n_masks;
  bool good = mosaic_segment(op, segment, &at, n) && mosaic_segment(op, segment + 1, &mask_at, &n_masks);
  RETURN_IF(!good || at != segment, mosaic_fail(frame, op, "its operands are not as many as it says"));
  *mask = n_masks == 0 ? NULL : mosaic_tensor(frame, op, mask_at);
  return STATUS_OK;
}

static bool is_mask_for(const Tensor *mask, const Tensor *vector) {
  return mask->dtype == DTYPE_PRED && tensor_elements(mask) == tensor_elements(vector);
}

static Status run_load(MosaicFrame *frame, const MosaicOp *op, uint32_t n, const Tensor *mask) {
  MosaicMemref part = {0};
  const MosaicType *type = op->result_types[0];
  RETURN_IF(type->kind != MOSAIC_VECTOR && type->kind != MOSAIC_SCALAR,
            mosaic_fail(frame, op, "it loads no number"));
  TRY(accessed(frame, op, 0, 1, n, type, &part));
  TRY(mosaic_touch(frame, op, &part, false));
  RETURN_IF(part.dtype != type->dtype, mosaic_fail(frame, op, "it loads another type"));
  Tensor *loaded = memref_take(&part);
  if (mask != NULL) {
    if (!is_mask_for(mask, loaded)) {
      tensor_release(loaded);
      return mosaic_fail(frame, op, "its mask is of another size");
    }
    Tensor *zeros = tensor_new_array(loaded->dtype, loaded->dims, loaded->rank, true);
    memset(zeros->data, 0, zeros->bytes);
    loaded = tensor_unique(loaded);
    select_run(dtype_bytes(loaded->dtype), tensor_elements(loaded), mask->data, loaded->data, zeros->data,
               loaded->data);
    tensor_release(zeros);
  }
  return mosaic_give(frame, op, 0, loaded);
}

Status mosaic_load(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  return run_load(frame, op, op->operands.n - 1, NULL);
}

/* Operands: the memref, indices, and perhaps a mask. */
Status mosaic_masked_load(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  uint32_t n;
  const Tensor *mask = NULL;
  TRY(masked_access(frame, op, 1, &n, &mask));
  return run_load(frame, op, n, mask);
}

/* What a store leaves: of what is there the elements that the mask does not set, or the sum. */
static Status merged(const MosaicFrame *frame, const MosaicOp *op, const MosaicMemref *part,
                     const Tensor *mask, bool add, Tensor **vector) {
  Tensor *old = memref_take(part);
  Tensor *new = *vector = tensor_unique(*vector);
  int64_t n = tensor_elements(new);
  bool good = (mask == NULL || is_mask_for(mask, new)) && (!add || binary_exists(OP_ADD, new->dtype));
  if (good && add) binary_run(OP_ADD, new->dtype, n, old->data, new->data, new->data);
  if (good && mask != NULL)
    select_run(dtype_bytes(new->dtype), n, mask->data, new->data, old->data, new->data);
  tensor_release(old);
  return good ? STATUS_OK : mosaic_fail(frame, op, "its mask is of another size");
}

static Status run_store(MosaicFrame *frame, const MosaicOp *op, uint32_t n, const Tensor *mask) {
  Tensor *value = mosaic_tensor(frame, op, 0);
  MosaicMemref part = {0};
  RETURN_IF(value == NULL, mosaic_fail(frame, op, "it stores no number"));
  MosaicType type = {.rank = value->rank, .dims = value->dims};
  TRY(accessed(frame, op, 1, 2, n, &type, &part));
  TRY(mosaic_touch(frame, op, &part, true));
  RETURN_IF(part.dtype != value->dtype, mosaic_fail(frame, op, "it stores another type"));
  bool add = mosaic_flag(op, "add");
  Tensor *vector = tensor_retain(value);
  Status status = mask == NULL && !add ? STATUS_OK : merged(frame, op, &part, mask, add, &vector);
  if (status == STATUS_OK) memref_put(&part, vector);
  tensor_release(vector);
  return status;
}

Status mosaic_store(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  return run_store(frame, op, op->operands.n - 2, NULL);
}

/* Operands: the vector, the memref, indices, and perhaps a mask. */
Status mosaic_masked_store(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  uint32_t n;
  const Tensor *mask = NULL;
  TRY(masked_access(frame, op, 2, &n, &mask));
  return run_store(frame, op, n, mask);
}

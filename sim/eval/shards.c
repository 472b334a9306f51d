/* Cutting and joining: every shard is one copy of a box between two row-major arrays. */
#include "sim/eval/shards.h"

#include "sim/eval/box.h"

#include <string.h>

static size_t offset_of(const int64_t *start, const int64_t *steps, uint32_t rank) {
  size_t offset = 0;
  for (uint32_t i = 0; i < rank && start != NULL; i++) offset += (size_t)(start[i] * steps[i]);
  return offset;
}

void tensor_copy_box(Tensor *to, const int64_t *to_start, const Tensor *from, const int64_t *from_start,
                     const int64_t *extent) {
  for (uint32_t i = 0; i < to->rank; i++) {
    if (extent[i] <= 0) return;
  }
  uint32_t element = dtype_bytes(to->dtype);
  Box box = box_dense(extent, to->rank, element);
  dense_steps(to->dims, to->rank, element, box.to_step);
  dense_steps(from->dims, from->rank, element, box.from_step);
  box_copy(&box, to->data + offset_of(to_start, box.to_step, to->rank),
           from->data + offset_of(from_start, box.from_step, from->rank));
}

static const int64_t *start_at(const ShardBoxes *boxes, uint32_t device) {
  return boxes->start + (size_t)device * boxes->rank;
}

static const int64_t *stop_at(const ShardBoxes *boxes, uint32_t device) {
  return boxes->stop + (size_t)device * boxes->rank;
}

static bool same_box(const ShardBoxes *boxes, uint32_t a, uint32_t b) {
  size_t bytes = boxes->rank * sizeof(int64_t);
  return bytes == 0 || (memcmp(start_at(boxes, a), start_at(boxes, b), bytes) == 0 &&
                        memcmp(stop_at(boxes, a), stop_at(boxes, b), bytes) == 0);
}

/* Sizes of a device's box; 0 in all of them where it has no elements. */
static void box_extent(const ShardBoxes *boxes, uint32_t device, int64_t *extent) {
  bool any = true;
  for (uint32_t i = 0; i < boxes->rank; i++) {
    extent[i] = stop_at(boxes, device)[i] - start_at(boxes, device)[i];
    any = any && extent[i] > 0;
  }
  if (!any) memset(extent, 0, boxes->rank * sizeof *extent);
}

Tensor *tensor_shard(Tensor *global, const ShardBoxes *boxes, uint32_t device) {
  int64_t extent[EVAL_MAX_RANK];
  box_extent(boxes, device, extent);
  bool padded = !int64s_eq(extent, boxes->rank, boxes->local, boxes->rank);
  if (!padded && int64s_eq(extent, boxes->rank, global->dims, boxes->rank)) return tensor_retain(global);
  Tensor *local = tensor_new_array(global->dtype, boxes->local, boxes->rank, global->known);
  if (!global->known) return local;
  if (padded && local->bytes != 0) memset(local->data, 0, local->bytes);
  tensor_copy_box(local, NULL, global, start_at(boxes, device), extent);
  return local;
}

void tensor_cut(Tensor *global, const ShardBoxes *boxes, Tensor **locals) {
  for (uint32_t d = 0; d < boxes->devices; d++) {
    uint32_t same = 0;
    while (same < d && !same_box(boxes, same, d)) same++;
    locals[d] = same < d ? tensor_retain(locals[same]) : tensor_shard(global, boxes, d);
  }
}

/* Whether the device brings a box to the value that no earlier one brings. */
static bool brings_new_box(Tensor *const *locals, const ShardBoxes *boxes, uint32_t value, uint32_t device) {
  for (uint32_t d = 0; d <= device; d++) {
    bool brings = locals[d] != NULL && (boxes->value_of == NULL || boxes->value_of[d] == value);
    if (brings && (d == device || same_box(boxes, d, device))) return d == device;
  }
  return false;
}

Tensor *tensor_join_value(Tensor *const *locals, const ShardBoxes *boxes, uint32_t value,
                          const int64_t *dims) {
  Tensor *global = NULL;
  for (uint32_t d = 0; d < boxes->devices; d++) {
    if (!brings_new_box(locals, boxes, value, d)) continue;
    int64_t extent[EVAL_MAX_RANK];
    box_extent(boxes, d, extent);
    bool whole = int64s_eq(extent, boxes->rank, dims, boxes->rank) &&
                 int64s_eq(extent, boxes->rank, boxes->local, boxes->rank);
    if (!locals[d]->known || whole) {
      tensor_release(global);
      return whole ? tensor_retain(locals[d]) : tensor_new_array(locals[d]->dtype, dims, boxes->rank, false);
    }
    if (global == NULL) {
      global = tensor_new_array(locals[d]->dtype, dims, boxes->rank, true);
      if (global->bytes != 0) memset(global->data, 0, global->bytes);
    }
    tensor_copy_box(global, start_at(boxes, d), locals[d], NULL, extent);
  }
  return global;
}

Tensor *tensor_join(Tensor *const *locals, const ShardBoxes *boxes, const int64_t *dims) {
  return tensor_join_value(locals, boxes, 0, dims);
}

/* bitcast: the same memory under another shape. Where both shapes have as many elements, these follow each
 * other in the order of dimensions that the layouts say, and tiles (XLA's "tiled layout") are the same on
 * both sides. Where one has fewer, the bitcast drops or shows the padding of tiles: then each element is the
 * one at its place in memory, and padding is 0. */
#include "sim/eval/evaluators.h"

#include <string.h>

/* The steps of a logical array whose bytes lie as its layout says, tiles left out. */
static void layout_steps(const Shape *shape, int64_t *steps) {
  uint32_t bytes = dtype_bytes(shape->dtype);
  if (shape->layout == NULL || shape->layout->minor_to_major.n != shape->rank) {
    dense_steps(shape->dims, shape->rank, bytes, steps);
    return;
  }
  int64_t step = bytes;
  for (uint32_t i = 0; i < shape->rank; i++) {
    int64_t d = shape->layout->minor_to_major.at[i];
    steps[d] = step;
    step *= shape->dims[d];
  }
}

static Tensor *bitcast_whole(const Tensor *x, const Shape *from, const Shape *to) {
  Tensor *memory = tensor_new(from, true), *result = tensor_new(to, true);
  Box box = box_dense(x->dims, x->rank, dtype_bytes(x->dtype));
  layout_steps(from, box.to_step);
  box_copy(&box, memory->data, x->data);
  box = box_dense(to->dims, to->rank, dtype_bytes(to->dtype));
  layout_steps(to, box.from_step);
  box_copy(&box, result->data, memory->data);
  tensor_release(memory);
  return result;
}

enum { MEMORY_MAX_RANK = 3 * EVAL_MAX_RANK };

/* An element's index in the dimensions of memory, outermost first. */
typedef struct {
  uint32_t rank;
  int64_t sizes[MEMORY_MAX_RANK], at[MEMORY_MAX_RANK];
} MemoryPlace;

/* The last dimensions become tiles (in their order) and places in a tile (behind them). A tile may have more
 * dimensions than there are: then outer ones of 1 are put before. */
static bool apply_tile(MemoryPlace *place, Ints tile) {
  MemoryPlace tiled = {0};
  if (place->rank + 2 * tile.n > MEMORY_MAX_RANK) return false;
  uint32_t missing = tile.n > place->rank ? tile.n - place->rank : 0, rank = place->rank + missing;
  for (int inner = 0; inner < 2; inner++) {
    for (uint32_t i = inner ? rank - tile.n : 0; i < rank; i++) {
      int64_t size = i < missing ? 1 : place->sizes[i - missing],
              at = i < missing ? 0 : place->at[i - missing];
      int64_t step = i < rank - tile.n ? 1 : tile.at[i - (rank - tile.n)];
      if (step < 1) return false;
      tiled.sizes[tiled.rank] = inner ? step : (size + step - 1) / step;
      tiled.at[tiled.rank++] = inner ? at % step : at / step;
    }
  }
  *place = tiled;
  return true;
}

/* Where an element lies in memory, in elements, and how many the memory has; false for a layout that podsim
 * does not know. */
static bool memory_place(const Shape *shape, const int64_t *index, int64_t *at, int64_t *size) {
  const Layout *layout = shape->layout;
  MemoryPlace place = {.rank = shape->rank};
  if (layout == NULL || layout->minor_to_major.n != shape->rank) return false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    int64_t d = layout->minor_to_major.at[shape->rank - 1 - i];
    place.sizes[i] = shape->dims[d];
    place.at[i] = index[d];
  }
  for (uint32_t t = 0; t < layout->n_tiles; t++) {
    if (!apply_tile(&place, layout->tiles[t])) return false;
  }
  *at = 0, *size = 1;
  for (uint32_t i = 0; i < place.rank; i++) {
    *at = *at * place.sizes[i] + place.at[i];
    *size *= place.sizes[i];
  }
  return true;
}

static void next_index(const Shape *shape, int64_t *index) {
  for (uint32_t d = shape->rank; d-- > 0;) {
    if (++index[d] < shape->dims[d]) return;
    index[d] = 0;
  }
}

/* Element by element between an array and its memory; memory beyond its end is left out. */
static bool move_memory(const Shape *shape, Tensor *array, Tensor *memory, bool into_memory) {
  int64_t index[EVAL_MAX_RANK] = {0}, at, size;
  uint32_t bytes = dtype_bytes(shape->dtype);
  for (int64_t i = 0; i < tensor_elements(array); i++, next_index(shape, index)) {
    if (!memory_place(shape, index, &at, &size)) return false;
    if (at >= memory->dims[0]) continue;
    unsigned char *element = array->data + i * bytes, *place = memory->data + at * bytes;
    memcpy(into_memory ? place : element, into_memory ? element : place, bytes);
  }
  return true;
}

static Status bitcast_padding(const EvalContext *context, const Instr *instr, Tensor *x, const Shape *from,
                              Tensor **result) {
  const int64_t zeros[EVAL_MAX_RANK] = {0};
  int64_t at, size;
  if (!memory_place(from, zeros, &at, &size)) return eval_unsupported(context, instr, "this layout");
  Tensor *memory = tensor_new_array(x->dtype, &size, 1, true), *out = tensor_new(instr->shape, true);
  memset(memory->data, 0, memory->bytes);
  memset(out->data, 0, out->bytes);
  bool known = move_memory(from, x, memory, true) && move_memory(instr->shape, out, memory, false);
  tensor_release(memory);
  *result = known ? out : NULL;
  if (known) return STATUS_OK;
  tensor_release(out);
  return eval_unsupported(context, instr, "this layout");
}

/* A lone value in a word of another width. */
static Tensor *bitcast_scalar(const Tensor *x, DType dtype) {
  Tensor *out = tensor_new_array(dtype, NULL, 0, true);
  memset(out->data, 0, out->bytes);
  memcpy(out->data, x->data, x->bytes < out->bytes ? x->bytes : out->bytes);
  return out;
}

Status eval_bitcast(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  Tensor *x = operands[0];
  const Shape *to = instr->shape;
  const Shape *from = comp_instr(context->module, context->comp, instr->operands.at[0])->shape;
  if (from->dtype != x->dtype || from->rank != x->rank)
    return eval_unsupported(context, instr, "a bitcast of a value of another type than its shape says");
  if (dtype_bytes(to->dtype) != dtype_bytes(x->dtype)) {
    if (x->rank != 0 || to->rank != 0)
      return eval_unsupported(context, instr, "a bitcast that changes the width of elements");
    *result = bitcast_scalar(x, to->dtype);
    return STATUS_OK;
  }
  if (tensor_elements(x) != shape_elements(to)) return bitcast_padding(context, instr, x, from, result);
  *result = bitcast_whole(x, from, to);
  return STATUS_OK;
}

/* bitcast: the same memory under another shape and layout, so that what it does to the values depends on both
 * layouts. Where the arrays have as many elements, tiles pad them alike and the order of dimensions alone
 * says where an element lies. Where they have not, a bitcast drops padding or takes it for values: then
 * elements are put where their tiles put them. Source: XLA's description of tiled layouts. */
#include "sim/eval/evaluators.h"

#include <stdlib.h>
#include <string.h>

/* The steps of a logical array whose bytes lie as its layout says, tiles left out. */
static void layout_steps(const Shape *shape, uint32_t bytes, int64_t *steps) {
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

/* From the order of dimensions of one layout to that of the other. */
static Tensor *reordered(const Tensor *x, const Shape *from, const Shape *to) {
  uint32_t bytes = dtype_bytes(x->dtype);
  Tensor *memory = tensor_new_array(x->dtype, from->dims, from->rank, true);
  Box box = box_dense(x->dims, x->rank, bytes);
  layout_steps(from, bytes, box.to_step);
  box_copy(&box, memory->data, x->data);
  Tensor *result = tensor_new_array(x->dtype, to->dims, to->rank, true);
  box = box_dense(to->dims, to->rank, bytes);
  layout_steps(to, bytes, box.from_step);
  box_copy(&box, result->data, memory->data);
  tensor_release(memory);
  return result;
}

/* --- tiles --- */

/* A dimension of the array as it lies in memory: a digit of the index of one logical dimension, which is
 * index / below % size. NO_ID: a dimension of size 1 that a tile adds. */
typedef struct {
  uint32_t of;
  int64_t size, below;
} Digit;

/* An array in memory: its digits from the major to the minor one. */
typedef struct {
  Digit at[4 * EVAL_MAX_RANK];
  uint32_t n;
} Placing;

enum { MOST_TILE_DIMS = EVAL_MAX_RANK };

/* Splits each of the last dimensions by the tile's: tiles in rows and columns, then what lies in a tile. */
static bool apply_tile(Placing *placing, Ints tile) {
  Digit inner[MOST_TILE_DIMS];
  if (tile.n > MOST_TILE_DIMS || placing->n + 2 * tile.n > sizeof placing->at / sizeof *placing->at)
    return false;
  while (placing->n < tile.n) {
    memmove(placing->at + 1, placing->at, placing->n * sizeof *placing->at);
    placing->at[0] = (Digit){NO_ID, 1, 1};
    placing->n++;
  }
  for (uint32_t i = 0; i < tile.n; i++) {
    Digit *outer = &placing->at[placing->n - tile.n + i];
    int64_t size = tile.at[i];
    if (size < 1) return false;
    inner[i] = (Digit){outer->of, size, outer->below};
    *outer = (Digit){outer->of, (outer->size + size - 1) / size, outer->below * size};
  }
  memcpy(placing->at + placing->n, inner, tile.n * sizeof *inner);
  placing->n += tile.n;
  return true;
}

static bool place(const Shape *shape, Placing *placing) {
  const Layout *layout = shape->layout;
  placing->n = 0;
  bool has_order = layout != NULL && layout->minor_to_major.n == shape->rank;
  for (uint32_t i = shape->rank; i-- > 0;) {
    uint32_t d = has_order ? (uint32_t)layout->minor_to_major.at[i] : shape->rank - 1 - i;
    placing->at[placing->n++] = (Digit){d, shape->dims[d], 1};
  }
  for (uint32_t i = 0; layout != NULL && i < layout->n_tiles; i++) {
    if (!apply_tile(placing, layout->tiles[i])) return false;
  }
  return true;
}

/* Where each index of each logical dimension lies: the element's place is the sum over the dimensions. Gives
 * how many elements the memory holds, or -1 where that is beyond bounds. */
static int64_t index_places(const Placing *placing, const Shape *shape, int64_t **places) {
  int64_t step = 1;
  for (uint32_t i = placing->n; i-- > 0;) {
    Digit digit = placing->at[i];
    for (int64_t at = 0; digit.of != NO_ID && at < shape->dims[digit.of]; at++)
      places[digit.of][at] += at / digit.below % digit.size * step;
    if (__builtin_mul_overflow(step, digit.size, &step)) return -1;
  }
  return step;
}

/* Copies elements between a dense array and its memory; bytes beyond the end of the memory are left. */
static void move_tiled(const Shape *shape, int64_t **places, uint32_t bytes, Tensor *memory, Tensor *dense,
                       bool into_memory) {
  int64_t index[EVAL_MAX_RANK] = {0};
  for (int64_t i = 0; i < shape_elements(shape); i++) {
    int64_t at = 0;
    for (uint32_t d = 0; d < shape->rank; d++) at += places[d][index[d]];
    unsigned char *element = dense->data + i * bytes, *place = memory->data + at * bytes;
    int64_t left = (int64_t)memory->bytes - at * bytes, n = left < bytes ? left : bytes;
    if (n > 0) memcpy(into_memory ? place : element, into_memory ? element : place, (size_t)n);
    for (uint32_t d = shape->rank; d-- > 0 && ++index[d] == shape->dims[d];) index[d] = 0;
  }
}

enum { MOST_MEMORY_BYTES = 1 << 30 };

/* Moves a dense array to (a new) memory or back; false where the layout is not one podsim can place. */
static bool through_memory(Arena *arena, const Shape *shape, Tensor *dense, Tensor **memory) {
  Placing placing;
  int64_t **places = ARENA_ARRAY(arena, int64_t *, shape->rank + 1);
  for (uint32_t d = 0; d < shape->rank; d++) places[d] = ARENA_ARRAY(arena, int64_t, shape->dims[d] + 1);
  if (!place(shape, &placing)) return false;
  int64_t elements = index_places(&placing, shape, places);
  uint32_t bytes = dtype_bytes(shape->dtype);
  if (elements < 0 || elements > MOST_MEMORY_BYTES / bytes) return false;
  bool into_memory = *memory == NULL;
  if (into_memory) {
    *memory = tensor_new_array(shape->dtype, &elements, 1, true);
    memset((*memory)->data, 0, (*memory)->bytes);
  }
  move_tiled(shape, places, bytes, *memory, dense, into_memory);
  return true;
}

/* Through the memory as tiles lay it out; what was padding is 0. */
static Status through_tiles(const EvalContext *context, const Instr *instr, Tensor *x, const Shape *from,
                            Tensor **result) {
  Arena *arena = arena_new();
  Tensor *memory = NULL, *made = tensor_new(instr->shape, true);
  memset(made->data, 0, made->bytes);
  bool placed = through_memory(arena, from, x, &memory) && through_memory(arena, instr->shape, made, &memory);
  tensor_release(memory);
  arena_free(arena);
  *result = placed ? made : NULL;
  if (placed) return STATUS_OK;
  tensor_release(made);
  return eval_unsupported(context, instr, "a bitcast between such layouts");
}

static bool both_floats(DType a, DType b) {
  return dtype_class(a) == DCLASS_FLOAT && dtype_class(b) == DCLASS_FLOAT;
}

/* The same values in another order, converted where a scheduled program folds that into the bitcast. With
 * excess precision floats stay as wide as they are. */
static Tensor *same_values(const EvalContext *context, const Tensor *x, const Shape *from, const Shape *to) {
  Tensor *moved = reordered(x, from, to);
  bool widens = dtype_bytes(to->dtype) > dtype_bytes(x->dtype);
  if (context->excess_precision && !widens) return moved;
  Tensor *converted = tensor_converted(moved, to->dtype);
  tensor_release(moved);
  return converted;
}

/* The same bits as another type of the same width. */
static Tensor *same_bits(const Tensor *x, const Shape *from, const Shape *to) {
  Tensor *moved = reordered(x, from, to), *viewed = tensor_viewed(moved, to->dtype, to->dims, to->rank);
  tensor_release(moved);
  return viewed;
}

Status eval_bitcast(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  Tensor *x = operands[0];
  const Shape *to = instr->shape,
              *from = comp_instr(context->module, context->comp, instr->operands.at[0])->shape;
  bool same_width = dtype_bytes(to->dtype) == dtype_bytes(from->dtype);
  bool same_count = tensor_elements(x) == shape_elements(to);
  bool converts = !same_width && both_floats(to->dtype, from->dtype) && module_is_scheduled(context->module);
  if (same_count && (to->dtype == from->dtype || converts)) {
    *result = same_values(context, x, from, to);
    return STATUS_OK;
  }
  Tensor *settled = tensor_settled(x, from);
  Status status = STATUS_OK;
  if (same_count && same_width) {
    *result = same_bits(settled, from, to);
  } else {
    status = through_tiles(context, instr, settled, from, result);
  }
  tensor_release(settled);
  return status;
}

/* A kernel on its grid: for each place, the last dimension fastest, the blocks of the operands that the index
 * maps tell are brought into windows, the body runs, and blocks of results are put back when another takes
 * their window. What a block reaches beyond its array is not defined when read and dropped when written. */
#include "sim/eval/mosaic_run.h"

#include <stdio.h>
#include <string.h>

/* An operand or result, and how the body sees it. */
typedef struct {
  MosaicBuffer *array, *window; /* window NULL: the body sees all of it */
  const MosaicOp *index_map;
  Ints bounds;
  Ints pad_low;    /* elements before the array, where the map tells elements; else empty */
  bool by_element; /* the map tells elements, not blocks */
  bool is_result, is_there;
  int64_t start[EVAL_MAX_RANK]; /* of the block in the window */
} Operand;

typedef struct {
  MosaicRun *run;
  MosaicFrame frame;
  const MosaicOp *main;
  const MosaicBlock *body;
  uint32_t n_dynamic, n_prefetched, n_inputs, n_outputs;
  Operand *operands; /* prefetched, inputs, outputs */
  uint32_t n_operands;
} Grid;

static Status fail(const Grid *grid, const char *what) {
  const MosaicKernel *kernel = grid->run->kernel;
  return diag_fail(grid->run->context->diag, STATUS_INVALID, kernel->place,
                   "--numbers off simulates its time", "%.*s: %s", STR_ARG(kernel->call), what);
}

/* --- what the kernel says --- */

static Status read_bounds(Grid *grid, Tensor *const *operands, uint32_t n) {
  Ints given = mosaic_ints(grid->main, "iteration_bounds");
  Ints bounds = {ARENA_ARRAY(grid->run->arena, int64_t, given.n + 1), given.n};
  for (uint32_t d = 0; d < given.n; d++) {
    bounds.at[d] = given.at[d];
    if (given.at[d] != MOSAIC_DYNAMIC) continue;
    uint32_t k = grid->n_dynamic++;
    RETURN_IF(k >= n || tensor_elements(operands[k]) != 1 || !dtype_is_integer(operands[k]->dtype),
              fail(grid, "no operand tells a bound of its grid"));
    bounds.at[d] = tensor_int_at(operands[k], 0);
  }
  for (uint32_t d = 0; d < given.n; d++)
    RETURN_IF(bounds.at[d] < 0, fail(grid, "a bound of its grid is below 0"));
  grid->run->bounds = bounds;
  return STATUS_OK;
}

/* [1, 2] of #tpu.element_window<[1, 2],[0, 0]>. */
static Ints first_list(Arena *arena, Str text) {
  Ints list = {ARENA_ARRAY(arena, int64_t, text.n + 1), 0};
  size_t open = str_find(text, '['), close = str_find(text, ']');
  while (open < close) {
    Str rest = str_sub(text, open + 1, close);
    Str number = str_trim(str_sub(rest, 0, str_find(rest, ',')));
    if (str_to_int(number, &list.at[list.n])) list.n++;
    open += 1 + str_find(rest, ',');
  }
  return list;
}

static Status read_window(Grid *grid, Operand *operand, const MosaicAttr *params) {
  const MosaicAttr *map = mosaic_item(params, "transform_indices"),
                   *bounds = mosaic_item(params, "window_bounds");
  const MosaicAttr *kind = mosaic_item(params, "window_kind");
  if (map == NULL || bounds == NULL) return STATUS_OK;
  operand->index_map = mosaic_function(grid->run->kernel, map->text);
  operand->bounds = bounds->ints;
  const Tensor *array = operand->array->tensor;
  bool good =
      operand->index_map != NULL && operand->index_map->n_regions == 1 && bounds->ints.n == array->rank;
  int64_t bytes = dtype_bytes(array->dtype);
  for (uint32_t d = 0; good && d < bounds->ints.n; d++)
    good = bounds->ints.at[d] > 0 && !__builtin_mul_overflow(bytes, bounds->ints.at[d], &bytes) &&
           bytes <= MOSAIC_MAX_BYTES;
  RETURN_IF(!good, fail(grid, "a window of its grid is not of its operand's shape"));
  if (kind != NULL) {
    operand->by_element = str_starts(kind->text, "#tpu.element_window");
    operand->pad_low = first_list(grid->run->arena, kind->text);
    RETURN_IF(!operand->by_element || operand->pad_low.n != array->rank,
              fail(grid, "a kind of window that is not supported yet"));
  }
  Tensor *window = tensor_new_array(array->dtype, bounds->ints.at, bounds->ints.n, true);
  fill_undefined(window);
  operand->window = mosaic_buffer_new(grid->run, operand->array->key + 1, window, false);
  return STATUS_OK;
}

/* --- arguments of the body --- */

static bool is_memref_like(const MosaicType *type, const MosaicMemref *memref) {
  return type->kind == MOSAIC_MEMREF &&
         int64s_eq(type->dims, type->rank, memref->view.dims, memref->view.rank) &&
         type->element->kind == MOSAIC_SCALAR && type->dtype == memref->dtype;
}

static Status bind_operand(Grid *grid, const Operand *operand, uint32_t arg) {
  MosaicMemref memref = mosaic_whole(operand->window != NULL ? operand->window : operand->array);
  RETURN_IF(!is_memref_like(grid->body->arg_types[arg], &memref),
            fail(grid, "an operand is not of the type that its kernel takes"));
  mosaic_set_memref(&grid->frame, grid->body->first_arg + arg, &memref);
  return STATUS_OK;
}

static Status bind_args(Grid *grid) {
  uint32_t n_grid = grid->run->bounds.n, scratch = n_grid + grid->n_operands;
  RETURN_IF(grid->body->n_args < scratch, fail(grid, "its kernel takes other operands"));
  for (uint32_t i = 0; i < n_grid; i++)
    RETURN_IF(grid->body->arg_types[i]->kind != MOSAIC_SCALAR ||
                  !dtype_is_integer(grid->body->arg_types[i]->dtype),
              fail(grid, "its kernel does not take its place in the grid"));
  for (uint32_t i = 0; i < grid->n_operands; i++) TRY(bind_operand(grid, &grid->operands[i], n_grid + i));
  for (uint32_t i = scratch; i < grid->body->n_args; i++) {
    MosaicBuffer *buffer = NULL;
    TRY(mosaic_scratch(&grid->frame, grid->main, 2 * (uint64_t)i, grid->body->arg_types[i], &buffer));
    MosaicMemref memref = mosaic_whole(buffer);
    mosaic_set_memref(&grid->frame, grid->body->first_arg + i, &memref);
  }
  return STATUS_OK;
}

/* --- blocks --- */

static const int64_t farthest = (int64_t)1 << 48; /* that a block may lie from its array */

/* Where the index map says that the block for a place begins. */
static Status block_start(Grid *grid, const Operand *operand, const int64_t *place, int64_t *start) {
  const MosaicOp *map = operand->index_map, *end = NULL;
  const MosaicRegion *region = &map->regions[0];
  uint32_t n_grid = grid->run->bounds.n;
  RETURN_IF(region->n != 1 || region->blocks[0].n_args != n_grid + grid->n_prefetched,
            fail(grid, "an index map takes other arguments"));
  const MosaicBlock *block = &region->blocks[0];
  MosaicFrame frame = mosaic_frame_new(grid->run, map->n_slots);
  Status status = STATUS_OK;
  for (uint32_t i = 0; i < n_grid; i++)
    mosaic_set_tensor(&frame, block->first_arg + i, mosaic_integer(DTYPE_S32, place[i]));
  for (uint32_t i = 0; i < grid->n_prefetched; i++) {
    MosaicMemref memref = mosaic_whole(grid->operands[i].array);
    mosaic_set_memref(&frame, block->first_arg + n_grid + i, &memref);
  }
  status = mosaic_run_region(&frame, region, &end);
  if (status == STATUS_OK && end->operands.n != operand->bounds.n)
    status = fail(grid, "an index map gives other dimensions");
  if (status == STATUS_OK) status = mosaic_integers(&frame, end, 0, operand->bounds.n, start);
  mosaic_frame_free(&frame);
  for (uint32_t d = 0; status == STATUS_OK && d < operand->bounds.n; d++) {
    int64_t by = operand->by_element ? 1 : operand->bounds.at[d];
    bool fits =
        !__builtin_mul_overflow(start[d], by, &start[d]) && start[d] < farthest && start[d] > -farthest;
    if (operand->by_element) start[d] -= operand->pad_low.at[d];
    if (!fits) status = fail(grid, "an index map leaves its array");
  }
  return status;
}

/* Copies what array and block have in common. */
static void copy_block(const Operand *operand, bool to_window) {
  MosaicMemref array = mosaic_whole(operand->array), window = mosaic_whole(operand->window);
  for (uint32_t d = 0; d < array.view.rank; d++) {
    int64_t start = operand->start[d], size = array.view.dims[d], block = window.view.dims[d];
    int64_t first = start > 0 ? start : 0;
    int64_t last = size - start < block ? size : start + block;
    if (last <= first) return;
    array.view.offset += first * array.view.steps[d];
    window.view.offset += (first - start) * window.view.steps[d];
    array.view.dims[d] = window.view.dims[d] = last - first;
  }
  if (to_window)
    mosaic_copy(&window, &array);
  else
    mosaic_copy(&array, &window);
}

/* Whether all of a block lies in its array. */
static bool is_inside(const Operand *operand) {
  for (uint32_t d = 0; d < operand->bounds.n; d++) {
    int64_t room = operand->array->tensor->dims[d] - operand->bounds.at[d];
    if (operand->start[d] < 0 || operand->start[d] > room) return false;
  }
  return true;
}

static Status bring_block(Grid *grid, Operand *operand, const int64_t *place) {
  int64_t start[EVAL_MAX_RANK];
  TRY(block_start(grid, operand, place, start));
  if (operand->is_there && memcmp(start, operand->start, operand->bounds.n * sizeof *start) == 0)
    return STATUS_OK;
  if (operand->is_there && operand->is_result) copy_block(operand, false);
  memcpy(operand->start, start, operand->bounds.n * sizeof *start);
  operand->is_there = true;
  if (operand->is_result || !is_inside(operand)) {
    operand->window->tensor = tensor_unique(operand->window->tensor);
    fill_undefined(operand->window->tensor);
  }
  if (!operand->is_result) copy_block(operand, true);
  return STATUS_OK;
}

/* --- the run --- */

static Status run_place(Grid *grid, const int64_t *place) {
  const MosaicOp *end = NULL;
  for (uint32_t i = 0; i < grid->n_operands; i++) {
    if (grid->operands[i].window != NULL) TRY(bring_block(grid, &grid->operands[i], place));
  }
  for (uint32_t d = 0; d < grid->run->bounds.n; d++)
    mosaic_set_tensor(&grid->frame, grid->body->first_arg + d,
                      mosaic_integer(grid->body->arg_types[d]->dtype, place[d]));
  return mosaic_run_region(&grid->frame, &grid->main->regions[0], &end);
}

/* The next place; false after the last. */
static bool advance(Ints bounds, int64_t *place) {
  for (uint32_t d = bounds.n; d-- > 0;) {
    if (++place[d] < bounds.at[d]) return true;
    place[d] = 0;
  }
  return false;
}

static Status run_places(Grid *grid) {
  Ints bounds = grid->run->bounds;
  int64_t *place = ARENA_ARRAY(grid->run->arena, int64_t, bounds.n + 1);
  for (uint32_t d = 0; d < bounds.n; d++) {
    if (bounds.at[d] == 0) return STATUS_OK;
  }
  do TRY(run_place(grid, place));
  while (advance(bounds, place));
  for (uint32_t i = 0; i < grid->n_operands; i++) {
    const Operand *operand = &grid->operands[i];
    if (operand->window != NULL && operand->is_result && operand->is_there) copy_block(operand, false);
  }
  return STATUS_OK;
}

/* The number of the operand whose memory output `output` takes; NO_ID: none. The call says it as
 * {0}: (1, {}), …. */
static uint32_t aliased_operand(const Instr *instr, uint32_t output) {
  Str text = instr_word(instr, ATTR_output_to_operand_aliasing);
  char path[16];
  snprintf(path, sizeof path, shape_is_tuple(instr->shape) ? "{%u}:" : "{}:", output);
  const char *found = text.n == 0 ? NULL : memmem(text.at, text.n, path, strlen(path));
  if (found == NULL) return NO_ID;
  Str rest = str_sub(text, (size_t)(found - text.at) + strlen(path), text.n);
  rest = str_sub(rest, str_find(rest, '(') + 1, rest.n);
  int64_t number = 0;
  bool good = str_to_int(str_trim(str_sub(rest, 0, str_find(rest, ','))), &number);
  return good && number >= 0 && number < instr->operands.n ? (uint32_t)number : NO_ID;
}

/* The type that a kernel knows an array by: integers have no sign. */
static DType kernel_dtype(DType dtype) {
  switch (dtype) {
  case DTYPE_U2: return DTYPE_S2;
  case DTYPE_U4: return DTYPE_S4;
  case DTYPE_U8: return DTYPE_S8;
  case DTYPE_U16: return DTYPE_S16;
  case DTYPE_U32: return DTYPE_S32;
  case DTYPE_U64: return DTYPE_S64;
  default: return dtype;
  }
}

static const Shape *output_shape(const Instr *instr, uint32_t i) {
  return shape_is_tuple(instr->shape) ? instr->shape->parts[i] : instr->shape;
}

/* Buffers have even keys, their windows the odd ones behind them. */
static Status make_operands(Grid *grid, const Instr *instr, Tensor *const *tensors) {
  MosaicRun *run = grid->run;
  uint32_t n = instr->operands.n - grid->n_dynamic;
  for (uint32_t i = 0; i < grid->n_operands; i++) {
    Operand *operand = &grid->operands[i];
    Tensor *array;
    uint64_t key = 2 * (uint64_t)(run->bounds.n + i);
    operand->is_result = i >= n;
    bool is_array = operand->is_result ? shape_is_array(output_shape(instr, i - n))
                                       : tensors[grid->n_dynamic + i]->dtype != DTYPE_TUPLE;
    RETURN_IF(!is_array, fail(grid, "an operand or result is no array"));
    uint32_t alias = operand->is_result ? aliased_operand(instr, i - n) : NO_ID;
    if (alias != NO_ID && alias >= grid->n_dynamic) {
      operand->array = grid->operands[alias - grid->n_dynamic].array;
      bool same = operand->array->tensor->bytes == (size_t)shape_elements(output_shape(instr, i - n)) *
                                                       dtype_bytes(output_shape(instr, i - n)->dtype);
      RETURN_IF(!same, fail(grid, "an operand that a result takes the memory of is of another size"));
      continue;
    }
    if (operand->is_result) {
      array = tensor_new(output_shape(instr, i - n), true);
      fill_undefined(array);
    } else {
      array = tensor_retain(tensors[grid->n_dynamic + i]);
    }
    Tensor *known = tensor_viewed(array, kernel_dtype(array->dtype), array->dims, array->rank);
    tensor_release(array);
    operand->array = mosaic_buffer_new(run, key, known, false);
  }
  return STATUS_OK;
}

static Status read_grid(Grid *grid, const Instr *instr, Tensor *const *operands) {
  const MosaicAttr *params = mosaic_attr(grid->main, "window_params");
  TRY(read_bounds(grid, operands, instr->operands.n));
  int64_t prefetched = mosaic_int(grid->main, "scalar_prefetch", 0);
  uint32_t n = instr->operands.n - grid->n_dynamic;
  RETURN_IF(prefetched < 0 || prefetched > n, fail(grid, "it has too few operands"));
  grid->n_prefetched = (uint32_t)prefetched;
  grid->n_outputs = shape_is_tuple(instr->shape) ? instr->shape->rank : 1;
  grid->n_operands = n + grid->n_outputs;
  grid->operands = ARENA_ARRAY(grid->run->arena, Operand, grid->n_operands);
  TRY(make_operands(grid, instr, operands));
  if (params == NULL) return STATUS_OK;
  RETURN_IF(params->kind != MOSAIC_ATTR_ARRAY || params->n != grid->n_operands - grid->n_prefetched,
            fail(grid, "it has not a window an operand"));
  for (uint32_t i = 0; i < params->n; i++)
    TRY(read_window(grid, &grid->operands[grid->n_prefetched + i], params->items[i]));
  return STATUS_OK;
}

static void give_outputs(const Grid *grid, const Instr *instr, Tensor **outputs) {
  uint32_t n = grid->n_operands - grid->n_outputs;
  for (uint32_t i = 0; i < grid->n_outputs; i++) {
    Tensor *array = grid->operands[n + i].array->tensor;
    const Shape *shape = output_shape(instr, i);
    outputs[i] = tensor_viewed(array, shape->dtype, shape->dims, shape->rank);
  }
}

Status mosaic_run_grid(MosaicRun *run, const Instr *instr, Tensor *const *operands, Tensor **outputs) {
  const MosaicOp *main = run->kernel->main;
  Grid grid = {.run = run, .main = main, .frame = mosaic_frame_new(run, main->n_slots)};
  bool good = main->n_regions == 1 && main->regions[0].n == 1;
  Status status = good ? STATUS_OK : fail(&grid, "its kernel is not one block");
  if (good) grid.body = &main->regions[0].blocks[0];
  if (status == STATUS_OK) status = read_grid(&grid, instr, operands);
  if (status == STATUS_OK) status = bind_args(&grid);
  if (status == STATUS_OK) status = run_places(&grid);
  if (status == STATUS_OK) give_outputs(&grid, instr, outputs);
  mosaic_frame_free(&grid.frame);
  return status;
}

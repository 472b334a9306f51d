/* gather and scatter. Each vector of start indices names a window of the operand; gather copies the windows
 * out, scatter combines updates into them. A window is a view of the operand and one of the result (or
 * updates), both moved on from one index vector to the next. */
#include "sim/eval/evaluators.h"
#include "sim/eval/kernel.h"

#include <stdlib.h>
#include <string.h>

/* What the dimension numbers of a gather or scatter say, in one form for both. */
typedef struct {
  Ints window_dims;     /* of the result or updates */
  Ints dropped_dims;    /* of the operand: not in a window (collapsed, inserted) */
  Ints operand_batch;   /* of the operand: walked along with … */
  Ints index_batch;     /* … these of the indices */
  Ints index_map;       /* operand dimension of each component of an index vector */
  int64_t index_vector; /* dimension of the indices that holds the components */
} Numbers;

typedef struct {
  const Tensor *indices;
  Numbers numbers;
  uint32_t operand_rank, batch_rank;
  int64_t operand_dims[EVAL_MAX_RANK], operand_steps[EVAL_MAX_RANK];
  int64_t window_sizes[EVAL_MAX_RANK]; /* by dimension of the operand, 1 where dropped */
  int64_t batch_dims[EVAL_MAX_RANK];   /* of the indices without their components */
  int64_t batch_steps[EVAL_MAX_RANK];  /* in the result or updates */
  int64_t index_steps[EVAL_MAX_RANK];  /* in the indices */
  int64_t component_step;
  int64_t at[EVAL_MAX_RANK]; /* the present batch element */
  View inner, outer;         /* the present window: in the operand, in the result or updates */
} Walk;                      /* steps are in elements */

/* The batch dimensions: of the indices all but the components', of the result all but the window's. */
static void set_batch(Walk *walk, const Tensor *outer, const int64_t *outer_steps) {
  int64_t index_steps[EVAL_MAX_RANK];
  dense_steps(walk->indices->dims, walk->indices->rank, 1, index_steps);
  bool has_components = walk->numbers.index_vector < walk->indices->rank;
  walk->component_step = has_components ? index_steps[walk->numbers.index_vector] : 0;
  uint32_t n = 0;
  for (uint32_t d = 0; d < outer->rank; d++) {
    if (!ints_have(walk->numbers.window_dims, d)) walk->batch_steps[n++] = outer_steps[d];
  }
  for (uint32_t d = 0; d < walk->indices->rank; d++) {
    if (d == walk->numbers.index_vector) continue;
    walk->index_steps[walk->batch_rank] = index_steps[d];
    walk->batch_dims[walk->batch_rank++] = walk->indices->dims[d];
  }
}

/* The window: dimensions of the operand that are not dropped, beside the window dimensions of the result in
 * order. */
static void set_window(Walk *walk, const int64_t *outer_steps) {
  for (uint32_t d = 0; d < walk->operand_rank; d++) {
    if (ints_have(walk->numbers.dropped_dims, d) || ints_have(walk->numbers.operand_batch, d)) continue;
    uint32_t i = walk->inner.rank++;
    walk->inner.dims[i] = walk->outer.dims[i] = walk->window_sizes[d];
    walk->inner.steps[i] = walk->operand_steps[d];
    walk->outer.steps[i] = outer_steps[walk->numbers.window_dims.at[i]];
  }
  walk->outer.rank = walk->inner.rank;
}

static Walk walk_new(const Tensor *operand, const Tensor *indices, const Tensor *outer, Numbers numbers,
                     const int64_t *window_sizes) {
  Walk walk = {.indices = indices, .numbers = numbers, .operand_rank = operand->rank};
  for (uint32_t d = 0; d < operand->rank; d++) {
    walk.operand_dims[d] = operand->dims[d];
    walk.window_sizes[d] = window_sizes[d];
  }
  int64_t outer_steps[EVAL_MAX_RANK];
  dense_steps(operand->dims, operand->rank, 1, walk.operand_steps);
  dense_steps(outer->dims, outer->rank, 1, outer_steps);
  set_batch(&walk, outer, outer_steps);
  set_window(&walk, outer_steps);
  return walk;
}

/* The next batch element; false after the last. */
static bool walk_next(Walk *walk) {
  for (uint32_t d = walk->batch_rank; d-- > 0;) {
    if (++walk->at[d] < walk->batch_dims[d]) return true;
    walk->at[d] = 0;
  }
  return false;
}

static bool walk_is_empty(const Walk *walk) {
  for (uint32_t d = 0; d < walk->batch_rank; d++) {
    if (walk->batch_dims[d] == 0) return true;
  }
  return false;
}

/* Where the present window starts in each dimension of the operand. */
static void window_starts(const Walk *walk, int64_t *starts) {
  const Numbers *numbers = &walk->numbers;
  int64_t at = 0;
  memset(starts, 0, walk->operand_rank * sizeof *starts);
  for (uint32_t d = 0; d < walk->batch_rank; d++) at += walk->at[d] * walk->index_steps[d];
  for (uint32_t i = 0; i < numbers->index_map.n; i++) {
    int64_t start = tensor_int_at(walk->indices, at + i * walk->component_step);
    starts[numbers->index_map.at[i]] = walk->indices->dtype == DTYPE_U64 && start < 0 ? INT64_MAX : start;
  }
  for (uint32_t i = 0; i < numbers->operand_batch.n; i++) {
    int64_t d = numbers->index_batch.at[i];
    starts[numbers->operand_batch.at[i]] = walk->at[d > numbers->index_vector ? d - 1 : d];
  }
}

/* Moves the views to the present batch element, the operand's to a window that starts at `starts`. */
static void place_views(Walk *walk, const int64_t *starts) {
  walk->inner.offset = walk->outer.offset = 0;
  for (uint32_t d = 0; d < walk->operand_rank; d++) walk->inner.offset += starts[d] * walk->operand_steps[d];
  for (uint32_t d = 0; d < walk->batch_rank; d++) walk->outer.offset += walk->at[d] * walk->batch_steps[d];
}

/* Copies a window; one of a single element, as x[i, j] has them, without a walk. */
static void copy_window(Tensor *to, const View *to_view, const Tensor *from, const View *from_view) {
  uint32_t bytes = dtype_bytes(to->dtype);
  if (view_elements(from_view) == 1)
    memcpy(to->data + to_view->offset * bytes, from->data + from_view->offset * bytes, bytes);
  else
    view_copy(to, to_view, from, from_view);
}

static bool batching_agrees(const Numbers *numbers, const Tensor *indices) {
  if (numbers->operand_batch.n != numbers->index_batch.n) return false;
  for (uint32_t i = 0; i < numbers->index_batch.n; i++) {
    int64_t d = numbers->index_batch.at[i];
    if (d < 0 || d >= indices->rank || d == numbers->index_vector) return false;
  }
  return true;
}

Status eval_gather(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  const Tensor *operand = operands[0], *indices = operands[1];
  Ints sizes = instr_ints(instr, ATTR_slice_sizes);
  if (sizes.n != operand->rank) return eval_unsupported(context, instr, "slice_sizes of another rank");
  Numbers numbers = {.window_dims = instr_ints(instr, ATTR_offset_dims),
                     .dropped_dims = instr_ints(instr, ATTR_collapsed_slice_dims),
                     .operand_batch = instr_ints(instr, ATTR_operand_batching_dims),
                     .index_batch = instr_ints(instr, ATTR_start_indices_batching_dims),
                     .index_map = instr_ints(instr, ATTR_start_index_map),
                     .index_vector = instr_int(instr, ATTR_index_vector_dim, indices->rank)};
  if (!batching_agrees(&numbers, indices))
    return eval_unsupported(context, instr, "this batching of indices");
  *result = tensor_new(instr->shape, true);
  Walk walk = walk_new(operand, indices, *result, numbers, sizes.at);
  if ((*result)->bytes == 0 || walk_is_empty(&walk)) return STATUS_OK;
  do {
    int64_t starts[EVAL_MAX_RANK];
    window_starts(&walk, starts);
    for (uint32_t d = 0; d < operand->rank; d++) {
      int64_t last = operand->dims[d] - sizes.at[d];
      starts[d] = starts[d] < 0 ? 0 : starts[d] > last ? last : starts[d];
    }
    place_views(&walk, starts);
    copy_window(*result, &walk.outer, operand, &walk.inner);
  } while (walk_next(&walk));
  return STATUS_OK;
}

/* A window that does not lie inside the operand is skipped whole. */
static bool window_inside(const Walk *walk, const int64_t *starts) {
  for (uint32_t d = 0; d < walk->operand_rank; d++) {
    if (starts[d] < 0 || starts[d] > walk->operand_dims[d] - walk->window_sizes[d]) return false;
  }
  return true;
}

/* How updates are combined into the operand: by a plain op, by taking the update, or by the computation. */
typedef struct {
  uint32_t n, comp;
  Opcode op; /* OP_COUNT: not plain; OP_COPY: the update replaces what was there */
  Tensor **results;
  Tensor *const *updates;
} Scatter;

static Opcode scatter_op(const Module *module, uint32_t comp, uint32_t n, DType dtype) {
  const Comp *of = module_comp(module, comp);
  Opcode op = n == 1 ? comp_binary_op(module, comp) : OP_COUNT;
  if (n == 1 && of->params.n == 2 && of->root == of->params.at[1]) return OP_COPY;
  return op != OP_COUNT && binary_exists(op, dtype) ? op : OP_COUNT;
}

static Status combine_any(const EvalContext *context, const Scatter *scatter, const Walk *walks) {
  Combining *pairs = calloc(scatter->n, sizeof *pairs);
  for (uint32_t i = 0; i < scatter->n; i++)
    pairs[i] = (Combining){scatter->results[i], walks[i].inner, scatter->updates[i], walks[i].outer};
  Status status = comp_combine(context, scatter->comp, pairs, scatter->n);
  free(pairs);
  return status;
}

static Status combine_windows(const EvalContext *context, const Scatter *scatter, const Walk *walks) {
  Tensor *into = scatter->results[0], *from = scatter->updates[0];
  switch (scatter->op) {
  case OP_COUNT: return combine_any(context, scatter, walks);
  case OP_COPY: copy_window(into, &walks[0].inner, from, &walks[0].outer); break;
  default: view_combine(scatter->op, into, &walks[0].inner, from, &walks[0].outer); break;
  }
  return STATUS_OK;
}

static Status run_scatter(const EvalContext *context, const Scatter *scatter, Walk *walks) {
  if (walk_is_empty(&walks[0]) || view_elements(&walks[0].inner) == 0) return STATUS_OK;
  bool more = true;
  while (more) {
    int64_t starts[EVAL_MAX_RANK];
    window_starts(&walks[0], starts);
    for (uint32_t i = 0; i < scatter->n; i++) place_views(&walks[i], starts);
    if (window_inside(&walks[0], starts)) TRY(combine_windows(context, scatter, walks));
    for (uint32_t i = 0; i < scatter->n; i++) more = walk_next(&walks[i]);
  }
  return STATUS_OK;
}

/* The window's size in each dimension of the operand: that of the updates' window dimensions, 1 where
 * dropped. */
static void scatter_sizes(const Tensor *operand, const Tensor *updates, const Numbers *numbers,
                          int64_t *sizes) {
  uint32_t window = 0;
  for (uint32_t d = 0; d < operand->rank; d++) {
    bool dropped = ints_have(numbers->dropped_dims, d) || ints_have(numbers->operand_batch, d);
    sizes[d] = dropped ? 1 : updates->dims[numbers->window_dims.at[window++]];
  }
}

static Tensor *scatter_result(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                              uint32_t i) {
  if (may_overwrite(context, instr, operands, i)) return tensor_retain(operands[i]);
  return tensor_unique(tensor_retain(operands[i]));
}

Status eval_scatter(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  uint32_t n = instr->operands.n / 2, comp = instr_comp(instr, ATTR_to_apply);
  const Tensor *indices = operands[n];
  Numbers numbers = {.window_dims = instr_ints(instr, ATTR_update_window_dims),
                     .dropped_dims = instr_ints(instr, ATTR_inserted_window_dims),
                     .operand_batch = instr_ints(instr, ATTR_input_batching_dims),
                     .index_batch = instr_ints(instr, ATTR_scatter_indices_batching_dims),
                     .index_map = instr_ints(instr, ATTR_scatter_dims_to_operand_dims),
                     .index_vector = instr_int(instr, ATTR_index_vector_dim, indices->rank)};
  if (!batching_agrees(&numbers, indices))
    return eval_unsupported(context, instr, "this batching of indices");
  Walk *walks = calloc(n, sizeof *walks);
  Scatter scatter = {.n = n, .comp = comp, .updates = operands + n + 1};
  scatter.op = scatter_op(context->module, comp, n, operands[0]->dtype);
  scatter.results = calloc(n, sizeof(Tensor *));
  for (uint32_t i = 0; i < n; i++) {
    int64_t sizes[EVAL_MAX_RANK];
    scatter_sizes(operands[i], scatter.updates[i], &numbers, sizes);
    walks[i] = walk_new(operands[i], indices, scatter.updates[i], numbers, sizes);
    scatter.results[i] = scatter_result(context, instr, operands, i);
  }
  Status status = run_scatter(context, &scatter, walks);
  if (status == STATUS_OK && shape_is_tuple(instr->shape)) {
    *result = tensor_tuple(scatter.results, n);
  } else if (status == STATUS_OK) {
    *result = scatter.results[0];
  } else {
    for (uint32_t i = 0; i < n; i++) tensor_release(scatter.results[i]);
  }
  free(scatter.results);
  free(walks);
  return status;
}

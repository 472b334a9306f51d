/* reduce-window: for each place in the window, all results that have an element there are combined with it at
 * once. Where the window covers all that lies before (or behind) along one dimension, as in a cumulative sum,
 * each result is its neighbour combined with one element. Plain ops keep their results in a wider type
 * meanwhile. */
#include "sim/eval/evaluators.h"
#include "sim/eval/window.h"

#include <stdlib.h>

typedef struct {
  const EvalContext *context;
  Window window;
  uint32_t n, comp;
  Opcode op; /* a plain op on one operand, else OP_COUNT */
  Tensor **inputs, **results;
} Reduction;

static Status combine_views(const Reduction *reduction, const View *into, const View *from) {
  if (reduction->op != OP_COUNT) {
    view_combine(reduction->op, reduction->results[0], into, reduction->inputs[0], from);
    return STATUS_OK;
  }
  Combining *pairs = calloc(reduction->n, sizeof *pairs);
  for (uint32_t i = 0; i < reduction->n; i++)
    pairs[i] = (Combining){reduction->results[i], *into, reduction->inputs[i], *from};
  Status status = comp_combine(reduction->context, reduction->comp, pairs, reduction->n);
  free(pairs);
  return status;
}

/* The views of results and inputs that meet at a place of the window; false where none do. */
static bool views_at(const Reduction *reduction, const int64_t *place, View *into, View *from) {
  const Tensor *x = reduction->inputs[0], *out = reduction->results[0];
  int64_t x_steps[EVAL_MAX_RANK], out_steps[EVAL_MAX_RANK];
  dense_steps(x->dims, x->rank, 1, x_steps);
  dense_steps(out->dims, out->rank, 1, out_steps);
  *into = *from = (View){.rank = x->rank};
  for (uint32_t d = 0; d < x->rank; d++) {
    WindowReach reach = window_reach(&reduction->window.at[d], x->dims[d], out->dims[d], place[d]);
    if (reach.n == 0) return false;
    into->dims[d] = from->dims[d] = reach.n;
    into->offset += reach.first_out * out_steps[d];
    into->steps[d] = reach.out_step * out_steps[d];
    from->offset += reach.first_in * x_steps[d];
    from->steps[d] = reach.in_step * x_steps[d];
  }
  return true;
}

static Status reduce_places(const Reduction *reduction) {
  Window window = reduction->window;
  int64_t place[EVAL_MAX_RANK] = {0};
  for (;;) {
    View into, from;
    if (views_at(reduction, place, &into, &from)) TRY(combine_views(reduction, &into, &from));
    uint32_t d = window.n;
    for (; d > 0; d--) {
      if (++place[d - 1] < window.at[d - 1].size) break;
      place[d - 1] = 0;
    }
    if (d == 0) return STATUS_OK;
  }
}

typedef enum { NOT_CUMULATIVE, FORWARD, BACKWARD } Direction;

static bool is_trivial(const WindowDim *dim) {
  return dim->size == 1 && dim->stride == 1 && dim->pad_low == 0 && dim->pad_high == 0 &&
         dim->lhs_dilate == 1;
}

/* Whether the window is all elements up to (or from) each place along one dimension, and which. */
static Direction cumulative_direction(Window window, const Tensor *x, uint32_t *along) {
  Direction direction = NOT_CUMULATIVE;
  for (uint32_t d = 0; d < window.n; d++) {
    const WindowDim *dim = &window.at[d];
    if (is_trivial(dim)) continue;
    bool plain = dim->stride == 1 && dim->lhs_dilate == 1 && dim->rhs_dilate == 1 && dim->size >= x->dims[d];
    if (!plain || direction != NOT_CUMULATIVE) return NOT_CUMULATIVE;
    if (dim->pad_low == dim->size - 1 && dim->pad_high == 0) direction = FORWARD;
    if (dim->pad_high == dim->size - 1 && dim->pad_low == 0) direction = BACKWARD;
    if (direction == NOT_CUMULATIVE) return NOT_CUMULATIVE;
    *along = d;
  }
  return direction;
}

static void reduce_cumulative(const Reduction *reduction, uint32_t along, Direction direction) {
  const Tensor *x = reduction->inputs[0];
  Tensor *out = reduction->results[0];
  View line = {.rank = x->rank};
  dense_steps(x->dims, x->rank, 1, line.steps);
  for (uint32_t d = 0; d < x->rank; d++) line.dims[d] = d == along ? 1 : x->dims[d];
  int64_t n = x->dims[along], step = line.steps[along];
  for (int64_t i = 0; i < n; i++) {
    View now = line, before = line;
    now.offset = (direction == FORWARD ? i : n - 1 - i) * step;
    before.offset = now.offset - (direction == FORWARD ? step : -step);
    if (i != 0) view_copy(out, &now, out, &before);
    view_combine(reduction->op, out, &now, x, &now);
  }
}

static Status run_reduction(const Reduction *reduction) {
  uint32_t along = 0;
  Direction direction = cumulative_direction(reduction->window, reduction->inputs[0], &along);
  if (reduction->op == OP_COUNT || direction == NOT_CUMULATIVE) return reduce_places(reduction);
  reduce_cumulative(reduction, along, direction);
  return STATUS_OK;
}

static Tensor *filled(const Shape *shape, DType dtype, Tensor *init) {
  Tensor *wide = tensor_converted(init, dtype),
         *tensor = tensor_new_array(dtype, shape->dims, shape->rank, true);
  box_fill(tensor->data, wide->data, dtype_bytes(dtype), tensor_elements(tensor));
  tensor_release(wide);
  return tensor;
}

/* The results in their own types; takes the wide ones. */
static Tensor *finished(const Shape *shape, Tensor **results, uint32_t n) {
  bool is_tuple = shape_is_tuple(shape);
  for (uint32_t i = 0; i < n; i++) {
    Tensor *narrow = tensor_converted(results[i], is_tuple ? shape->parts[i]->dtype : shape->dtype);
    tensor_release(results[i]);
    results[i] = narrow;
  }
  return is_tuple ? tensor_tuple(results, n) : results[0];
}

Status eval_reduce_window(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                          Tensor **result) {
  uint32_t n = instr->operands.n / 2, comp = instr_comp(instr, ATTR_to_apply);
  Window window = instr_window(instr);
  if (window.n != operands[0]->rank && window.n != 0)
    return eval_unsupported(context, instr, "a window of another rank");
  Opcode op = n == 1 ? plain_reduction(context->module, comp, operands[0]->dtype) : OP_COUNT;
  Tensor **arrays = calloc(2 * n, sizeof *arrays);
  Reduction reduction = {.context = context, .window = window, .n = n, .comp = comp, .op = op};
  reduction.inputs = arrays, reduction.results = arrays + n;
  for (uint32_t i = 0; i < n; i++) {
    DType dtype = op == OP_ADD && operands[i]->dtype == DTYPE_F32 ? DTYPE_F64 : operands[i]->dtype;
    const Shape *shape = shape_is_tuple(instr->shape) ? instr->shape->parts[i] : instr->shape;
    reduction.inputs[i] = tensor_converted(operands[i], dtype);
    reduction.results[i] = filled(shape, dtype, operands[n + i]);
  }
  Status status = run_reduction(&reduction);
  for (uint32_t i = 0; i < n; i++) tensor_release(reduction.inputs[i]);
  if (status == STATUS_OK) {
    *result = finished(instr->shape, reduction.results, n);
  } else {
    for (uint32_t i = 0; i < n; i++) tensor_release(reduction.results[i]);
  }
  free(arrays);
  return status;
}

/* Whole computations: those that reductions, maps and comparators apply to scalars. A computation whose
 * instructions are all elementwise is run on vectors, instruction by instruction; any other once an element.
 */
#include "sim/eval/evaluators.h"
#include "sim/eval/kernel.h"

#include <stdlib.h>
#include <string.h>

enum { MAP_BLOCK = 1 << 14 };

/* The values of a computation's instructions while it runs. */
typedef struct {
  EvalContext context;
  const Comp *comp;
  Tensor *const *params;
  uint32_t n_params;
  Tensor **values;
  int64_t lanes; /* elements that stand in place of each scalar; 0: scalars */
  uint32_t root; /* the instruction whose value is the result */
} Frame;

static Status run_frame(Frame *frame, Tensor **result);

static Status run_callee(const Frame *caller, uint32_t comp, Tensor *const *operands, uint32_t n,
                         Tensor **result) {
  Frame frame = {.context = caller->context, .params = operands, .n_params = n, .lanes = caller->lanes};
  frame.context.comp = comp;
  frame.context.depth++;
  frame.comp = module_comp(frame.context.module, comp);
  frame.root = frame.comp->root;
  return run_frame(&frame, result);
}

static Status run_parameter(const Frame *frame, const Instr *instr, Tensor **result) {
  if (instr->parameter < 0 || instr->parameter >= frame->n_params)
    return eval_unsupported(&frame->context, instr, "a parameter that nobody gives");
  *result = tensor_retain(frame->params[instr->parameter]);
  return STATUS_OK;
}

static Status run_conditional(const Frame *frame, const Instr *instr, Tensor *const *operands,
                              Tensor **result) {
  if (!operands[0]->known) {
    *result = tensor_new(instr->shape, false);
    return STATUS_OK;
  }
  Ids branches = instr_comps(instr, ATTR_branch_computations);
  int64_t index = tensor_int_at(operands[0], 0), last = (int64_t)branches.n - 1;
  if (branches.n == 0) {
    index = index != 0 ? 0 : 1;
    uint32_t comp = instr_comp(instr, index == 0 ? ATTR_true_computation : ATTR_false_computation);
    return run_callee(frame, comp, operands + 1 + index, 1, result);
  }
  if (operands[0]->dtype == DTYPE_PRED) index = index != 0 ? 0 : 1;
  if (index < 0 || index > last) index = last;
  return run_callee(frame, branches.at[index], operands + 1 + index, 1, result);
}

static Status run_while(const Frame *frame, const Instr *instr, Tensor *const *operands, Tensor **result) {
  uint32_t condition = instr_comp(instr, ATTR_condition), body = instr_comp(instr, ATTR_body);
  Tensor *state = tensor_retain(operands[0]);
  for (;;) {
    Tensor *go_on = NULL, *next = NULL;
    Status status = run_callee(frame, condition, &state, 1, &go_on);
    bool known = status == STATUS_OK && go_on->known, stop = known && *go_on->data == 0;
    tensor_release(go_on);
    if (stop) {
      *result = state;
      return STATUS_OK;
    }
    if (status == STATUS_OK && !known) {
      tensor_release(state);
      *result = tensor_new(instr->shape, false);
      return STATUS_OK;
    }
    if (status == STATUS_OK) status = run_callee(frame, body, &state, 1, &next);
    tensor_release(state);
    if (status != STATUS_OK) return status;
    state = next;
  }
}

/* A scalar instruction on vectors: the same op with the shape of a vector. */
static Status run_lanes(const Frame *frame, const Instr *instr, Tensor *const *operands, Tensor **result) {
  if (instr->op == OP_TUPLE || instr->op == OP_GET_TUPLE_ELEMENT)
    return eval_op(&frame->context, instr, operands, result);
  if (instr->op == OP_BROADCAST || instr->op == OP_RESHAPE) {
    *result = tensor_retain(operands[0]);
    return STATUS_OK;
  }
  Shape shape = {.dtype = instr->shape->dtype, .rank = 1, .dims = &frame->lanes};
  if (instr->op == OP_CONSTANT) {
    *result = tensor_new(&shape, true);
    Tensor *scalar = tensor_from_literal(instr->literal);
    box_fill((*result)->data, scalar->data, dtype_bytes(shape.dtype), frame->lanes);
    tensor_release(scalar);
    return STATUS_OK;
  }
  Instr lifted = *instr;
  lifted.shape = &shape;
  return eval_op(&frame->context, &lifted, operands, result);
}

static Status run_instr(const Frame *frame, const Instr *instr, Tensor *const *operands, Tensor **result) {
  switch (instr->op) {
  case OP_PARAMETER: return run_parameter(frame, instr, result);
  case OP_CALL:
    return run_callee(frame, instr_comp(instr, ATTR_to_apply), operands, instr->operands.n, result);
  case OP_FUSION:
    return run_callee(frame, instr_comp(instr, ATTR_calls), operands, instr->operands.n, result);
  case OP_WHILE: return run_while(frame, instr, operands, result);
  case OP_CONDITIONAL: return run_conditional(frame, instr, operands, result);
  default: break;
  }
  if (frame->lanes != 0) return run_lanes(frame, instr, operands, result);
  return eval_op(&frame->context, instr, operands, result);
}

static Status run_instrs(Frame *frame) {
  const Comp *comp = frame->comp;
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    const Instr *instr = &comp->instrs.at[i];
    Tensor *few[8], **operands = few;
    if (instr->operands.n > 8) operands = malloc(instr->operands.n * sizeof *operands);
    for (uint32_t j = 0; j < instr->operands.n; j++) operands[j] = frame->values[instr->operands.at[j]];
    Status status = run_instr(frame, instr, operands, &frame->values[i]);
    if (operands != few) free(operands);
    TRY(status);
  }
  return STATUS_OK;
}

static Status run_frame(Frame *frame, Tensor **result) {
  if (frame->context.depth > EVAL_MAX_DEPTH)
    return diag_fail(frame->context.diag, STATUS_INVALID, frame->comp->place, NULL,
                     "computations call each other too deeply");
  frame->values = calloc(frame->comp->instrs.n + 1, sizeof *frame->values);
  Status status = run_instrs(frame);
  if (status == STATUS_OK) *result = tensor_retain(frame->values[frame->root]);
  for (uint32_t i = 0; i < frame->comp->instrs.n; i++) tensor_release(frame->values[i]);
  free(frame->values);
  return status;
}

static Frame frame_of(const EvalContext *context, uint32_t comp, Tensor *const *operands, uint32_t n) {
  Frame frame = {.context = *context, .params = operands, .n_params = n};
  frame.context.comp = comp;
  frame.context.given_up = NULL;
  frame.comp = module_comp(context->module, comp);
  frame.root = frame.comp->root;
  return frame;
}

Status eval_comp(const EvalContext *context, uint32_t comp, Tensor *const *operands, uint32_t n,
                 Tensor **result) {
  Frame frame = frame_of(context, comp, operands, n);
  return run_frame(&frame, result);
}

static bool is_scalar_only(const Shape *shape) {
  if (!shape_is_tuple(shape)) return shape_is_scalar(shape);
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (!is_scalar_only(shape->parts[i])) return false;
  }
  return true;
}

static bool comp_is_elementwise(const Module *module, uint32_t comp, uint32_t depth);

static bool instr_is_elementwise(const Module *module, const Instr *instr, uint32_t depth) {
  if (!is_scalar_only(instr->shape)) return false;
  switch (instr->op) {
  case OP_PARAMETER:
  case OP_TUPLE:
  case OP_GET_TUPLE_ELEMENT:
  case OP_BROADCAST:
  case OP_RESHAPE:
  case OP_BITCAST_CONVERT: return true;
  case OP_CONSTANT: return !instr->literal->elided && shape_is_array(instr->shape);
  case OP_CALL: return comp_is_elementwise(module, instr_comp(instr, ATTR_to_apply), depth + 1);
  case OP_FUSION: return comp_is_elementwise(module, instr_comp(instr, ATTR_calls), depth + 1);
  default: return op_is_elementwise(instr->op) && can_evaluate(instr);
  }
}

static bool comp_is_elementwise(const Module *module, uint32_t comp, uint32_t depth) {
  const Comp *of = module_comp(module, comp);
  for (uint32_t i = 0; i < of->instrs.n && depth < EVAL_MAX_DEPTH; i++) {
    if (!instr_is_elementwise(module, &of->instrs.at[i], depth)) return false;
  }
  return depth < EVAL_MAX_DEPTH;
}

/* Elements [first, first + n) of every operand; scalars where n is 1 and `scalar`. */
static void windows_of(Tensor *const *operands, uint32_t n_operands, int64_t first, int64_t n, bool scalar,
                       Tensor **windows) {
  for (uint32_t i = 0; i < n_operands; i++) {
    windows[i] = tensor_window(operands[i], first, n);
    if (scalar) windows[i]->rank = 0;
  }
}

/* The vectors (or the one) that results are gathered in, by the computation's root. */
static Tensor *vectors_for(const Shape *root, int64_t n) {
  if (!shape_is_tuple(root)) return tensor_new_array(root->dtype, &n, 1, true);
  Tensor *tuple = tensor_new(root, false);
  for (uint32_t i = 0; i < root->rank; i++) {
    tensor_release(tuple->parts[i]);
    tuple->parts[i] = vectors_for(root->parts[i], n);
  }
  return tuple;
}

static void gather_result(Tensor *all, const Tensor *some, int64_t first) {
  if (all->dtype != DTYPE_TUPLE) {
    memcpy(all->data + (size_t)first * dtype_bytes(all->dtype), some->data, some->bytes);
    return;
  }
  for (uint32_t i = 0; i < all->rank; i++) gather_result(all->parts[i], some->parts[i], first);
}

/* Runs the frame on elements [first, first + lanes) and puts the result beside those before. */
static Status map_block(Frame *frame, Tensor *const *operands, int64_t first, int64_t lanes, Tensor *all) {
  Tensor **windows = calloc(frame->n_params + 1, sizeof *windows), *some = NULL;
  windows_of(operands, frame->n_params, first, lanes, frame->lanes == 0, windows);
  frame->params = windows;
  if (frame->lanes != 0) frame->lanes = lanes;
  Status status = run_frame(frame, &some);
  if (status == STATUS_OK && !tensor_all_known(some))
    status = diag_fail(frame->context.diag, STATUS_INVALID, frame->comp->place, NULL,
                       "a value of %.*s is not known", STR_ARG(frame->comp->name));
  if (status == STATUS_OK) {
    Tensor *settled = tensor_settled(some, frame->comp->instrs.at[frame->root].shape);
    gather_result(all, settled, first);
    tensor_release(settled);
  }
  tensor_release(some);
  for (uint32_t i = 0; i < frame->n_params; i++) tensor_release(windows[i]);
  free(windows);
  return status;
}

Status comp_map_value(const EvalContext *context, uint32_t comp, uint32_t instr, Tensor *const *operands,
                      uint32_t n_operands, int64_t n, Tensor **result) {
  Frame frame = frame_of(context, comp, operands, n_operands);
  frame.root = instr;
  frame.context.known_limit = 0;
  frame.context.excess_precision = false;
  bool vectors = comp_is_elementwise(context->module, comp, 0);
  int64_t step = vectors ? MAP_BLOCK : 1;
  frame.lanes = vectors ? step : 0;
  Tensor *all = vectors_for(frame.comp->instrs.at[instr].shape, n);
  Status status = STATUS_OK;
  for (int64_t first = 0; first < n && status == STATUS_OK; first += step)
    status = map_block(&frame, operands, first, n - first < step ? n - first : step, all);
  *result = status == STATUS_OK ? all : NULL;
  if (status != STATUS_OK) tensor_release(all);
  return status;
}

Status comp_map(const EvalContext *context, uint32_t comp, Tensor *const *operands, uint32_t n_operands,
                int64_t n, Tensor **result) {
  return comp_map_value(context, comp, module_comp(context->module, comp)->root, operands, n_operands, n,
                        result);
}

Status comp_combine(const EvalContext *context, uint32_t comp, const Combining *pairs, uint32_t n) {
  Tensor **vectors = calloc(2 * n, sizeof *vectors), *combined = NULL;
  for (uint32_t i = 0; i < n; i++) {
    vectors[i] = view_take(pairs[i].into, &pairs[i].into_view);
    vectors[n + i] = view_take(pairs[i].from, &pairs[i].from_view);
  }
  Status status = comp_map(context, comp, vectors, 2 * n, view_elements(&pairs[0].into_view), &combined);
  for (uint32_t i = 0; i < n && status == STATUS_OK; i++) {
    const Tensor *part = combined->dtype == DTYPE_TUPLE ? combined->parts[i] : combined;
    view_put(pairs[i].into, &pairs[i].into_view, part);
  }
  tensor_release(combined);
  for (uint32_t i = 0; i < 2 * n; i++) tensor_release(vectors[i]);
  free(vectors);
  return status;
}

static Tensor *vector_of(DType dtype, const void *from, int64_t n) {
  Tensor *vector = tensor_new_array(dtype, &n, 1, true);
  memcpy(vector->data, from, vector->bytes);
  return vector;
}

Status eval_combine(const EvalContext *context, uint32_t comp, DType dtype, void *into, const void *from,
                    int64_t n) {
  Opcode op = comp_binary_op(context->module, comp);
  if (op != OP_COUNT && binary_run(op, dtype, n, into, from, into)) return STATUS_OK;
  Tensor *operands[] = {vector_of(dtype, into, n), vector_of(dtype, from, n)}, *combined = NULL;
  Status status = comp_map(context, comp, operands, 2, n, &combined);
  if (status == STATUS_OK) memcpy(into, combined->data, combined->bytes);
  tensor_release(combined);
  tensor_release(operands[0]);
  tensor_release(operands[1]);
  return status;
}

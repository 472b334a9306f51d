/* Custom calls, by their target (custom_call.def). */
#include "sim/eval/evaluators.h"

#include <string.h>

/* A change of view between global and local shapes, where the two are the same; the interpreter slices and
 * joins others. */
Status eval_same_shape(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                       Tensor **result) {
  uint32_t n = instr->operands.n;
  if (shape_is_tuple(instr->shape)) {
    for (uint32_t i = 0; i < n; i++) tensor_retain(operands[i]);
    *result = tensor_tuple((Tensor **)operands, n);
    return STATUS_OK;
  }
  if (n != 1 || tensor_elements(operands[0]) != shape_elements(instr->shape))
    return eval_unsupported(context, instr, "a change of shape between global and local values");
  *result = tensor_retain(operands[0]);
  return STATUS_OK;
}

/* A mark on the program without a value. */
Status eval_nothing(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Tensor **result) {
  (void)context, (void)operands;
  *result = tensor_new(instr->shape, true);
  return STATUS_OK;
}

static void fill_zeros(Tensor *value) {
  if (value->bytes != 0) memset(value->data, 0, value->bytes);
  for (uint32_t i = 0; value->dtype == DTYPE_TUPLE && i < value->rank; i++) fill_zeros(value->parts[i]);
}

/* Memory that the program fills later. */
Status eval_zeros(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  (void)operands;
  if (!shape_is_array(instr->shape)) return eval_unsupported(context, instr, "a tuple of buffers");
  *result = tensor_new(instr->shape, true);
  fill_zeros(*result);
  return STATUS_OK;
}

/* The dimension along which the operands make up the result; the rank where there is none. */
static uint32_t joined_dim(const Instr *instr, Tensor *const *operands) {
  const Shape *shape = instr->shape;
  for (uint32_t d = 0; d < shape->rank; d++) {
    int64_t size = 0;
    bool fits = true;
    for (uint32_t i = 0; i < instr->operands.n && fits; i++) {
      const Tensor *x = operands[i];
      fits = x->rank == shape->rank && x->dtype == shape->dtype;
      for (uint32_t e = 0; e < shape->rank && fits; e++) fits = e == d || x->dims[e] == shape->dims[e];
      if (fits) size += x->dims[d];
    }
    if (fits && size == shape->dims[d]) return d;
  }
  return shape->rank;
}

/* A prefetch in slices: the slices, which lie one behind the other, as one array. */
Status eval_joined(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  uint32_t d = shape_is_array(instr->shape) ? joined_dim(instr, operands) : UINT32_MAX;
  if (d >= instr->shape->rank)
    return eval_unsupported(context, instr, "slices that do not make up the result");
  Attr attr = {.id = ATTR_dimensions, .ints = {(int64_t[]){d}, 1}};
  Instr concatenate = *instr;
  concatenate.attrs = &attr;
  concatenate.n_attrs = 1;
  return eval_concatenate(context, &concatenate, operands, result);
}

/* The operand in the corner of a larger array of zeros: what the tiles of its layout have room for. */
Status eval_zero_crop(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                      Tensor **result) {
  const Tensor *from = operands[0];
  bool fits = instr->operands.n == 1 && shape_is_array(instr->shape) && from->rank == instr->shape->rank &&
              from->dtype == instr->shape->dtype;
  PaddingDim dims[EVAL_MAX_RANK] = {{0}};
  for (uint32_t d = 0; fits && d < from->rank; d++) {
    dims[d].high = instr->shape->dims[d] - from->dims[d];
    fits = dims[d].high >= 0;
  }
  if (!fits) return eval_unsupported(context, instr, "a custom call of this form");
  Attr attr = {.id = ATTR_padding, .padding = {dims, from->rank}};
  Instr pad = *instr;
  pad.attrs = &attr;
  pad.n_attrs = 1;
  Tensor *zero = tensor_new_array(from->dtype, NULL, 0, true);
  memset(zero->data, 0, zero->bytes);
  Status status = eval_pad(context, &pad, (Tensor *[]){operands[0], zero}, result);
  tensor_release(zero);
  return status;
}

/* An elementwise op that was written as a custom call, mhlo.<op>. */
Status eval_named_op(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                     Tensor **result) {
  Str target = instr_custom_call_target(instr);
  Instr op = *instr;
  if (!op_parse(str_sub(target, strlen("mhlo."), target.n), &op.op) || instr->operands.n != 1 ||
      !shape_is_array(instr->shape) || tensor_elements(operands[0]) != shape_elements(instr->shape))
    return eval_unsupported(context, instr, "a custom call of this form");
  return eval_unary(context, &op, operands, result);
}

typedef struct {
  const char *text;
  Evaluator evaluator;
  bool passes_on;
} Target;

static const Target targets[] = {
#define TARGET(text, evaluator, passes_on) {text, eval_##evaluator, passes_on},
#include "sim/eval/custom_call.def"
#undef TARGET
};

/* Whether a target is the pattern, in which ? is any letter. */
static bool matches(Str text, const char *pattern) {
  if (text.n != strlen(pattern)) return false;
  for (size_t i = 0; i < text.n; i++) {
    if (pattern[i] != '?' && pattern[i] != text.at[i]) return false;
  }
  return true;
}

static const Target *target_of(Str text) {
  for (uint32_t i = 0; i < sizeof targets / sizeof *targets; i++) {
    if (matches(text, targets[i].text)) return &targets[i];
  }
  return NULL;
}

static bool holds_nothing(const Shape *shape) {
  if (!shape_is_tuple(shape)) return shape_is_array(shape) && shape_elements(shape) == 0;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (!holds_nothing(shape->parts[i])) return false;
  }
  return true;
}

/* A call for its effect alone, such as a print on the host, has no values to compute. */
bool custom_call_exists(const Instr *instr) {
  return holds_nothing(instr->shape) || target_of(instr_custom_call_target(instr)) != NULL;
}

bool custom_call_passes_on(Str target) {
  const Target *known = target_of(target);
  return known != NULL && known->passes_on;
}

Status eval_custom_call(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                        Tensor **result) {
  Str text = instr_custom_call_target(instr);
  const Target *target = target_of(text);
  if (target != NULL) return target->evaluator(context, instr, operands, result);
  if (holds_nothing(instr->shape)) return eval_nothing(context, instr, operands, result);
  return diag_fail(context->diag, STATUS_INVALID, instr->place,
                   "with --numbers off the program is still partitioned and timed",
                   "custom call to '%.*s' cannot be computed", STR_ARG(text));
}

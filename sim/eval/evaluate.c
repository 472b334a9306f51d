/* The dispatch of ops to their evaluators, and when a result is left unknown. */
#include "sim/eval/evaluators.h"
#include "sim/eval/mixed_floats.h"
#include "sim/eval/pallas_kernel.h"
#include "sim/mosaic/mosaic.h"

/* Control flow, collectives and parameters have values, but the interpreter or a kernel makes them. */
static Status eval_elsewhere(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                             Tensor **result) {
  (void)operands, (void)result;
  return eval_unsupported(context, instr, "an op that is not computed from its operands alone");
}

static const Evaluator evaluators[OP_COUNT] = {
#define eval_none                                    NULL
#define eval_control                                 eval_elsewhere
#define eval_collective                              eval_elsewhere
#define eval_parameter                               eval_elsewhere
#define OP(name, text, arity, evaluator, rule, cost) [OP_##name] = eval_##evaluator,
#include "sim/ir/opcode.def"
#undef OP
#undef eval_none
#undef eval_control
#undef eval_collective
#undef eval_parameter
};

Evaluator evaluator_of(Opcode op) {
  return evaluators[op] == eval_elsewhere ? NULL : evaluators[op];
}

bool can_evaluate(const Instr *instr) {
  if (holds_mosaic_kernel(instr)) return pallas_kernel_exists(instr);
  if (instr->op == OP_CUSTOM_CALL) return custom_call_exists(instr);
  return evaluators[instr->op] != NULL;
}

Status eval_unsupported(const EvalContext *context, const Instr *instr, const char *what) {
  return diag_fail(context->diag, STATUS_INVALID, instr->place,
                   "with --numbers off the program is still partitioned and timed",
                   "%s of %.*s is not supported yet", what, STR_ARG(instr->name));
}

bool may_overwrite(const EvalContext *context, const Instr *instr, Tensor *const *operands, uint32_t i) {
  if (context->given_up == NULL || !context->given_up[i] || !tensor_is_unique(operands[i])) return false;
  for (uint32_t j = 0; j < instr->operands.n; j++) {
    if (j != i && operands[j] == operands[i]) return false;
  }
  return true;
}

Tensor *result_in_place(const EvalContext *context, const Instr *instr, Tensor *const *operands) {
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    const Tensor *operand = operands[i];
    if (operand->dtype != instr->shape->dtype || operand->rank != instr->shape->rank) continue;
    if (may_overwrite(context, instr, operands, i)) return tensor_retain(operands[i]);
  }
  return tensor_new(instr->shape, true);
}

/* Ops that only pass operands on, known or not. */
static bool passes_on(const Instr *instr) {
  switch (instr->op) {
  case OP_TUPLE:
  case OP_GET_TUPLE_ELEMENT:
  case OP_OPT_BARRIER:
  case OP_ADD_DEPENDENCY:
  case OP_AFTER_ALL:
  case OP_DOMAIN:
  case OP_COPY:
  case OP_COPY_START:
  case OP_COPY_DONE:
  case OP_RESHAPE: return true;
  case OP_CUSTOM_CALL: return custom_call_passes_on(instr_custom_call_target(instr));
  default: return false;
  }
}

static bool shape_within(const Shape *shape, int64_t limit) {
  if (!shape_is_tuple(shape)) return shape_elements(shape) <= limit;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (!shape_within(shape->parts[i], limit)) return false;
  }
  return true;
}

static bool result_is_known(const EvalContext *context, const Instr *instr, Tensor *const *operands) {
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    if (!tensor_all_known(operands[i])) return false;
  }
  return context->known_limit == 0 || shape_within(instr->shape, context->known_limit);
}

static Status check_ranks(const EvalContext *context, const Instr *instr, Tensor *const *operands) {
  bool within = shape_is_tuple(instr->shape) || instr->shape->rank <= EVAL_MAX_RANK;
  for (uint32_t i = 0; i < instr->operands.n; i++)
    within = within && (operands[i]->dtype == DTYPE_TUPLE || operands[i]->rank <= EVAL_MAX_RANK);
  return within ? STATUS_OK : eval_unsupported(context, instr, "an array of more than 32 dimensions");
}

static Status evaluate(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                       Tensor **result) {
  Evaluator evaluator = evaluators[instr->op];
  if (mixes_floats(context, instr, operands))
    return eval_mixed_floats(context, instr, operands, evaluator, result);
  if (context->excess_precision && needs_settled(instr))
    return eval_settled(context, instr, operands, evaluator, result);
  return evaluator(context, instr, operands, result);
}

/* Without numbers an op that has no evaluator has a result that is not known, and a kernel is not run. */
static bool has_no_values(const EvalContext *context, const Instr *instr) {
  if (context->known_limit == 0) return false;
  return holds_mosaic_kernel(instr) || !can_evaluate(instr) || evaluators[instr->op] == eval_elsewhere;
}

Status eval_op(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  *result = NULL;
  if (has_no_values(context, instr)) {
    *result = tensor_new(instr->shape, false);
    return STATUS_OK;
  }
  if (evaluators[instr->op] == NULL) return eval_unsupported(context, instr, op_text(instr->op));
  TRY(check_ranks(context, instr, operands));
  if (passes_on(instr) || result_is_known(context, instr, operands))
    return evaluate(context, instr, operands, result);
  *result = tensor_new(instr->shape, false);
  return STATUS_OK;
}

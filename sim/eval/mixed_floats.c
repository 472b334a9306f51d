/* Programs that the TPU compiler scheduled mix float types within an op: it folds converts into the ops
 * beside them. Such an op computes in the widest of the float types that its operands, its result and its
 * computation have, and is rounded once, to the type that is written.
 *
 * Most of these roundings are no wish of the program: the compiler gives the operands of f32 dots to the MXU
 * as bf16. With excess precision they are left out, as XLA's xla_allow_excess_precision allows: a tensor may
 * then have a wider float type than its instruction, until an output or an op that looks at the bits settles
 * it. Collectives carry it as it is. */
#include "sim/eval/mixed_floats.h"

#include <stdlib.h>

/* Ops whose operands and results may differ in type by their own rules. */
static bool types_are_free(const Instr *instr) {
  switch (instr->op) {
  case OP_BITCAST:
  case OP_BITCAST_CONVERT:
  case OP_CONVERT:
  case OP_CUSTOM_CALL:
  case OP_MAP:
  case OP_RAGGED_DOT:
  case OP_SCALED_DOT:
  case OP_SELECT_AND_SCATTER:
  case OP_STOCHASTIC_CONVERT: return true;
  case OP_REDUCE: return false;
  default: return shape_is_tuple(instr->shape);
  }
}

bool needs_settled(const Instr *instr) {
  switch (instr->op) {
  case OP_BITCAST:
  case OP_CONVERT:
  case OP_COPY_START:
  case OP_OPT_BARRIER:
  case OP_TUPLE: return false;
  default: return types_are_free(instr);
  }
}

static DType wider_float(DType a, DType b) {
  if (a == b || dtype_class(b) != DCLASS_FLOAT) return a;
  if (dtype_class(a) != DCLASS_FLOAT) return b;
  if (dtype_bits(a) == dtype_bits(b)) return DTYPE_F32;
  return dtype_bits(a) > dtype_bits(b) ? a : b;
}

/* Operands and results of ops that work on n arrays side by side: operand k belongs to result k mod n. */
static uint32_t arrays_of(const Instr *instr) {
  return shape_is_tuple(instr->shape) ? instr->shape->rank : 1;
}

static const Shape *result_shape(const Instr *instr, uint32_t i) {
  return shape_is_tuple(instr->shape) ? instr->shape->parts[i] : instr->shape;
}

/* The float type that the computation of a reduction has for array i; else `dtype`. A plain one (add,
 * maximum) takes any. */
static DType region_dtype(const EvalContext *context, const Instr *instr, uint32_t i, DType dtype) {
  uint32_t comp = instr_comp(instr, ATTR_to_apply);
  if (comp == NO_ID || i >= module_comp(context->module, comp)->params.n) return dtype;
  uint32_t param = module_comp(context->module, comp)->params.at[i];
  DType own = comp_instr(context->module, comp, param)->shape->dtype, widest = wider_float(dtype, own);
  if (plain_reduction(context->module, comp, widest) != OP_COUNT) return widest;
  return dtype_class(own) == DCLASS_FLOAT ? own : dtype;
}

/* The type that array i is computed in; sets `mixed` where something is not of it. */
static DType computed_dtype(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                            uint32_t i, bool *mixed) {
  DType written = result_shape(instr, i)->dtype, computed = written;
  uint32_t n = arrays_of(instr);
  for (uint32_t k = i; k < instr->operands.n; k += n) computed = wider_float(computed, operands[k]->dtype);
  computed = region_dtype(context, instr, i, computed);
  for (uint32_t k = i; k < instr->operands.n; k += n)
    *mixed = *mixed || (dtype_class(operands[k]->dtype) == DCLASS_FLOAT && operands[k]->dtype != computed);
  *mixed = *mixed || (dtype_class(written) == DCLASS_FLOAT && written != computed);
  return computed;
}

bool mixes_floats(const EvalContext *context, const Instr *instr, Tensor *const *operands) {
  if (types_are_free(instr)) return false;
  bool mixed = false;
  for (uint32_t i = 0; i < arrays_of(instr); i++) computed_dtype(context, instr, operands, i, &mixed);
  return mixed;
}

static Tensor *as_float(Tensor *tensor, DType dtype) {
  return dtype_class(tensor->dtype) == DCLASS_FLOAT && dtype_class(dtype) == DCLASS_FLOAT
             ? tensor_converted(tensor, dtype)
             : tensor_retain(tensor);
}

Tensor *tensor_settled(Tensor *tensor, const Shape *shape) {
  if (tensor->dtype != DTYPE_TUPLE) return as_float(tensor, shape->dtype);
  Tensor **parts = calloc(tensor->rank + 1, sizeof *parts);
  for (uint32_t i = 0; i < tensor->rank; i++) parts[i] = tensor_settled(tensor->parts[i], shape->parts[i]);
  Tensor *settled = tensor_tuple(parts, tensor->rank);
  free(parts);
  return settled;
}

/* The same; takes the tensor. */
static Tensor *rounded(const Shape *shape, Tensor *wide) {
  Tensor *result = tensor_settled(wide, shape);
  tensor_release(wide);
  return result;
}

/* The instruction with results of other types, which live in the arena. */
static Instr with_dtypes(Arena *arena, const Instr *instr, const DType *dtypes) {
  Instr wide = *instr;
  uint32_t n = arrays_of(instr);
  const Shape **parts = ARENA_ARRAY(arena, const Shape *, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    const Shape *written = result_shape(instr, i);
    bool is_float = dtype_class(written->dtype) == DCLASS_FLOAT;
    parts[i] = is_float ? shape_with_dtype(arena, written, dtypes[i]) : written;
  }
  wide.shape = shape_is_tuple(instr->shape) ? shape_tuple(arena, parts, n) : parts[0];
  return wide;
}

Status eval_mixed_floats(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                         Evaluator evaluator, Tensor **result) {
  Arena *arena = arena_new();
  uint32_t n = arrays_of(instr), n_operands = instr->operands.n;
  DType *dtypes = ARENA_ARRAY(arena, DType, n + 1);
  Tensor **wide = ARENA_ARRAY(arena, Tensor *, n_operands + 1);
  bool mixed = false;
  for (uint32_t i = 0; i < n; i++) dtypes[i] = computed_dtype(context, instr, operands, i, &mixed);
  for (uint32_t k = 0; k < n_operands; k++) wide[k] = as_float(operands[k], dtypes[k % n]);
  Instr lifted = with_dtypes(arena, instr, dtypes);
  EvalContext apart = *context;
  apart.given_up = NULL;
  Status status = evaluator(&apart, &lifted, wide, result);
  if (status == STATUS_OK && !context->excess_precision) *result = rounded(instr->shape, *result);
  for (uint32_t k = 0; k < n_operands; k++) tensor_release(wide[k]);
  arena_free(arena);
  return status;
}

Status eval_settled(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                    Evaluator evaluator, Tensor **result) {
  uint32_t n = instr->operands.n;
  Tensor **settled = calloc(n + 1, sizeof *settled);
  for (uint32_t k = 0; k < n; k++) {
    const Shape *shape = comp_instr(context->module, context->comp, instr->operands.at[k])->shape;
    settled[k] = tensor_settled(operands[k], shape);
  }
  EvalContext apart = *context;
  apart.given_up = NULL;
  Status status = evaluator(&apart, instr, settled, result);
  for (uint32_t k = 0; k < n; k++) tensor_release(settled[k]);
  free(settled);
  return status;
}

/* Shape inference: the table of rules, what they share, and the rules of elementwise ops, tuples and the
 * like. Semantics: openxla.org/xla/operation_semantics. */
#include "sim/ir/infer.h"

enum {
  ANY = 0xff,
  INT = 1 << DCLASS_SIGNED | 1 << DCLASS_UNSIGNED,
  BITS = INT | 1 << DCLASS_PRED,
  FLOAT = 1 << DCLASS_FLOAT,
  FLOATS = FLOAT | 1 << DCLASS_COMPLEX,
  NUMBER = INT | FLOATS
};

typedef struct {
  InferRule *rule;
  uint32_t types;
} Rule;

static const Rule rules[OP_COUNT] = {
#define INFER(op, rule, types) [OP_##op] = {infer_##rule, types},
#include "sim/ir/infer.def"
#undef INFER
};

static const char *types_words(uint32_t types) {
  switch (types) {
  case INT: return "integers";
  case BITS: return "integers or pred";
  case FLOAT: return "floats";
  case FLOATS: return "floats or complex numbers";
  default: return "numbers";
  }
}

static Status check_types(const Infer *at, uint32_t types) {
  for (uint32_t i = 0; i < at->instr->operands.n && types != ANY; i++) {
    const Shape *shape = operand_shape(at, i);
    RETURN_IF((types >> dtype_class(shape->dtype) & 1) == 0,
              INFER_FAIL(at, "%s is of %s, operand %u is %s", op_text(at->instr->op), types_words(types), i,
                         shape_words(at, shape)));
  }
  return STATUS_OK;
}

Status infer_shape(const Module *module, uint32_t comp, const Instr *instr, Arena *arena, const Shape **shape,
                   Diag *diag) {
  const Infer at = {module, module_comp(module, comp), instr, arena, diag, module_is_scheduled(module)};
  const Rule *rule = &rules[instr->op];
  *shape = NULL;
  RETURN_IF(rule->rule == NULL, STATUS_OK);
  int arity = op_arity(instr->op);
  TRY(expect_operands(&at, arity < 0 ? 0 : (uint32_t)arity));
  TRY(check_types(&at, rule->types));
  return rule->rule(&at, shape);
}

/* --- What rules share. --- */

const Shape *operand_shape(const Infer *at, uint32_t i) {
  return at->comp->instrs.at[at->instr->operands.at[i]].shape;
}

const char *shape_words(const Infer *at, const Shape *shape) {
  return shape_text(at->arena, shape).at;
}

Status expect_operands(const Infer *at, uint32_t least) {
  uint32_t n = at->instr->operands.n;
  int arity = op_arity(at->instr->op);
  RETURN_IF(n < least || (arity >= 0 && n != (uint32_t)arity),
            INFER_FAIL(at, "%s takes %s%u operands, %u are given", op_text(at->instr->op),
                       arity < 0 ? "at least " : "", least, n));
  return STATUS_OK;
}

Status expect_array(const Infer *at, uint32_t i) {
  RETURN_IF(!shape_is_array(operand_shape(at, i)), INFER_FAIL(at, "operand %u must be an array, it is %s", i,
                                                              shape_words(at, operand_shape(at, i))));
  return STATUS_OK;
}

Status expect_rank(const Infer *at, uint32_t i, uint32_t rank) {
  TRY(expect_array(at, i));
  RETURN_IF(operand_shape(at, i)->rank != rank, INFER_FAIL(at, "operand %u must have %u dimensions, it is %s",
                                                           i, rank, shape_words(at, operand_shape(at, i))));
  return STATUS_OK;
}

Status expect_scalar(const Infer *at, uint32_t i, DType dtype) {
  const Shape *shape = operand_shape(at, i);
  RETURN_IF(
      !shape_is_scalar(shape) || !types_fit(at, dtype, shape->dtype),
      INFER_FAIL(at, "operand %u must be %s[], it is %s", i, dtype_text(dtype), shape_words(at, shape)));
  return STATUS_OK;
}

Status expect_same_dims(const Infer *at, uint32_t first) {
  for (uint32_t i = first; i < at->instr->operands.n; i++) {
    TRY(expect_array(at, i));
    RETURN_IF(!dims_eq(operand_shape(at, first), operand_shape(at, i)),
              INFER_FAIL(at,
                         "operands of the same dimensions are expected, operand %u is %s, operand %u is %s",
                         first, shape_words(at, operand_shape(at, first)), i,
                         shape_words(at, operand_shape(at, i))));
  }
  return STATUS_OK;
}

Status expect_written(const Infer *at) {
  RETURN_IF(at->instr->shape == NULL,
            INFER_FAIL(at, "the shape of %s must be written", op_text(at->instr->op)));
  return STATUS_OK;
}

Status expect_dims(const Infer *at, AttrId id, Ints dims, uint32_t rank) {
  for (uint32_t i = 0; i < dims.n; i++) {
    RETURN_IF(dims.at[i] < 0 || dims.at[i] >= rank,
              INFER_FAIL(at, "%s names dimension %ld of %u", attr_text(id), (long)dims.at[i], rank));
    RETURN_IF(ints_have((Ints){dims.at, i}, dims.at[i]),
              INFER_FAIL(at, "%s names dimension %ld twice", attr_text(id), (long)dims.at[i]));
  }
  return STATUS_OK;
}

Status expect_rising(const Infer *at, AttrId id, Ints dims) {
  for (uint32_t i = 1; i < dims.n; i++)
    RETURN_IF(dims.at[i] <= dims.at[i - 1], INFER_FAIL(at, "%s must rise, %ld comes after %ld", attr_text(id),
                                                       (long)dims.at[i], (long)dims.at[i - 1]));
  return STATUS_OK;
}

Status expect_int(const Infer *at, AttrId id, int64_t limit, int64_t *value) {
  const Attr *attr = instr_attr(at->instr, id);
  *value = -1;
  RETURN_IF(attr == NULL, INFER_FAIL(at, "%s needs %s", op_text(at->instr->op), attr_text(id)));
  *value = attr->integer;
  RETURN_IF(*value < 0 || *value >= limit,
            INFER_FAIL(at, "%s=%ld is not below %ld", attr_text(id), (long)*value, (long)limit));
  return STATUS_OK;
}

bool types_fit(const Infer *at, DType a, DType b) {
  return a == b || (at->mixed && dtype_class(a) == DCLASS_FLOAT && dtype_class(b) == DCLASS_FLOAT);
}

bool type_widens(const Infer *at, DType from, DType to) {
  bool wider = dtype_class(from) == dtype_class(to) && dtype_bits(from) <= dtype_bits(to);
  return wider || types_fit(at, from, to);
}

bool dims_eq(const Shape *a, const Shape *b) {
  if (a->rank != b->rank) return false;
  for (uint32_t d = 0; d < a->rank; d++) {
    if (a->dims[d] != b->dims[d] && a->dims[d] >= 0 && b->dims[d] >= 0) return false;
  }
  return true;
}

const Shape *one_or_tuple(const Infer *at, const Shape *const *shapes, uint32_t n) {
  return n == 1 ? shapes[0] : shape_tuple(at->arena, shapes, n);
}

Status expect_callee(const Infer *at, const char *what, uint32_t comp, const Shape *const *params, uint32_t n,
                     const Shape **result) {
  RETURN_IF(comp >= at->module->comps.n, INFER_FAIL(at, "%s needs %s", op_text(at->instr->op), what));
  const Comp *callee = module_comp(at->module, comp);
  RETURN_IF(callee->root == NO_ID, INFER_FAIL(at, "%s %.*s is empty", what, STR_ARG(callee->name)));
  RETURN_IF(callee->params.n != n, INFER_FAIL(at, "%s %.*s has %u parameters, %u are expected", what,
                                              STR_ARG(callee->name), callee->params.n, n));
  for (uint32_t p = 0; p < n; p++) {
    const Shape *param = callee->instrs.at[callee->params.at[p]].shape;
    RETURN_IF(!shape_fits(param, params[p], at->mixed),
              INFER_FAIL(at, "parameter %u of %s %.*s is %s, %s is given", p, what, STR_ARG(callee->name),
                         shape_words(at, param), shape_words(at, params[p])));
  }
  *result = callee->instrs.at[callee->root].shape;
  return STATUS_OK;
}

Status expect_pairwise(const Infer *at, AttrId id, const DType *types, uint32_t n, const Shape **result) {
  const Shape **params = ARENA_ARRAY(at->arena, const Shape *, 2 * n);
  bool all_first =
      at->instr->op != OP_SORT; /* reduce: accumulators, then elements; sort: two of each in turn */
  for (uint32_t i = 0; i < n; i++) {
    const Shape *scalar = shape_scalar(at->arena, types[i]);
    params[all_first ? i : 2 * i] = params[all_first ? n + i : 2 * i + 1] = scalar;
  }
  return expect_callee(at, attr_text(id), instr_comp(at->instr, id), params, 2 * n, result);
}

Status expect_predicate(const Infer *at, AttrId id, const DType *types, uint32_t n) {
  const Shape *result;
  TRY(expect_pairwise(at, id, types, n, &result));
  RETURN_IF(!shape_is_scalar(result) || result->dtype != DTYPE_PRED,
            INFER_FAIL(at, "%s must give pred[], it gives %s", attr_text(id), shape_words(at, result)));
  return STATUS_OK;
}

Status expect_combiner(const Infer *at, AttrId id, const DType *types, uint32_t n) {
  const Shape *result, **scalars = ARENA_ARRAY(at->arena, const Shape *, n);
  for (uint32_t i = 0; i < n; i++) scalars[i] = shape_scalar(at->arena, types[i]);
  const Shape *expected = one_or_tuple(at, scalars, n);
  TRY(expect_pairwise(at, id, types, n, &result));
  RETURN_IF(!shape_fits(result, expected, at->mixed),
            INFER_FAIL(at, "%s must give %s, it gives %s", attr_text(id), shape_words(at, expected),
                       shape_words(at, result)));
  return STATUS_OK;
}

/* --- Elementwise. --- */

Status infer_unary(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  *shape = operand_shape(at, 0);
  return STATUS_OK;
}

Status infer_binary(const Infer *at, const Shape **shape) {
  TRY(expect_same_dims(at, 0));
  const Shape *a = operand_shape(at, 0), *b = operand_shape(at, 1);
  RETURN_IF(!types_fit(at, a->dtype, b->dtype),
            INFER_FAIL(at, "operands of one type are expected, these are %s and %s", shape_words(at, a),
                       shape_words(at, b)));
  *shape = a;
  return STATUS_OK;
}

Status infer_compare(const Infer *at, const Shape **shape) {
  TRY(infer_binary(at, shape));
  *shape = shape_with_dtype(at->arena, *shape, DTYPE_PRED);
  return STATUS_OK;
}

Status infer_complex(const Infer *at, const Shape **shape) {
  TRY(infer_binary(at, shape));
  DType part = (*shape)->dtype;
  RETURN_IF(part != DTYPE_F32 && part != DTYPE_F64,
            INFER_FAIL(at, "complex is of f32 or f64, operand 0 is %s", shape_words(at, *shape)));
  *shape = shape_with_dtype(at->arena, *shape, part == DTYPE_F32 ? DTYPE_C64 : DTYPE_C128);
  return STATUS_OK;
}

/* abs, real, imag: complex numbers give floats, others stay. */
Status infer_real_part(const Infer *at, const Shape **shape) {
  TRY(infer_unary(at, shape));
  if (dtype_class((*shape)->dtype) == DCLASS_COMPLEX)
    *shape = shape_with_dtype(at->arena, *shape, (*shape)->dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64);
  return STATUS_OK;
}

Status infer_is_finite(const Infer *at, const Shape **shape) {
  TRY(infer_unary(at, shape));
  *shape = shape_with_dtype(at->arena, *shape, DTYPE_PRED);
  return STATUS_OK;
}

Status infer_convert(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  TRY(expect_written(at));
  *shape = shape_with_dtype(at->arena, operand_shape(at, 0), at->instr->shape->dtype);
  return STATUS_OK;
}

Status infer_select(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  const Shape *pred = operand_shape(at, 0), *a = operand_shape(at, 1), *b = operand_shape(at, 2);
  RETURN_IF(pred->dtype != DTYPE_PRED,
            INFER_FAIL(at, "operand 0 of select must be pred, it is %s", shape_words(at, pred)));
  RETURN_IF(!shape_fits(a, b, at->mixed),
            INFER_FAIL(at, "operands 1 and 2 of select must be alike, they are %s and %s", shape_words(at, a),
                       shape_words(at, b)));
  RETURN_IF(!shape_is_scalar(pred) && !dims_eq(pred, a),
            INFER_FAIL(at,
                       "operand 0 of select must be pred[] or have the dimensions of operand 1, %s; it is %s",
                       shape_words(at, a), shape_words(at, pred)));
  *shape = a;
  return STATUS_OK;
}

Status infer_clamp(const Infer *at, const Shape **shape) {
  const Shape *value = operand_shape(at, 1);
  for (uint32_t i = 0; i < 3; i++) {
    TRY(expect_array(at, i));
    const Shape *bound = operand_shape(at, i);
    RETURN_IF(!types_fit(at, value->dtype, bound->dtype) ||
                  (!shape_is_scalar(bound) && !dims_eq(bound, value)),
              INFER_FAIL(at, "operand %u must be a scalar %s or like operand 1, %s; it is %s", i,
                         dtype_text(value->dtype), shape_words(at, value), shape_words(at, bound)));
  }
  *shape = value;
  return STATUS_OK;
}

/* An op of every place, whose dimensions are all there are. */
Status infer_map(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 1));
  TRY(expect_same_dims(at, 0));
  Ints dims = instr_ints(at->instr, ATTR_dimensions);
  TRY(expect_dims(at, ATTR_dimensions, dims, operand_shape(at, 0)->rank));
  TRY(expect_rising(at, ATTR_dimensions, dims));
  RETURN_IF(instr_attr(at->instr, ATTR_dimensions) != NULL && dims.n != operand_shape(at, 0)->rank,
            INFER_FAIL(at, "a map is over all dimensions of %s, dimensions has %u",
                       shape_words(at, operand_shape(at, 0)), dims.n));
  uint32_t n = at->instr->operands.n;
  const Shape **params = ARENA_ARRAY(at->arena, const Shape *, n), *result;
  for (uint32_t i = 0; i < n; i++) params[i] = shape_scalar(at->arena, operand_shape(at, i)->dtype);
  TRY(expect_callee(at, "to_apply", instr_comp(at->instr, ATTR_to_apply), params, n, &result));
  RETURN_IF(!shape_is_scalar(result),
            INFER_FAIL(at, "to_apply must give a scalar, it gives %s", shape_words(at, result)));
  *shape = shape_with_dtype(at->arena, operand_shape(at, 0), result->dtype);
  return STATUS_OK;
}

/* --- Tuples, constants, and what passes its operand on. --- */

Status infer_first_operand(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 1));
  *shape = operand_shape(at, 0);
  return STATUS_OK;
}

Status infer_second_operand(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 2));
  *shape = operand_shape(at, 1);
  return STATUS_OK;
}

Status infer_token(const Infer *at, const Shape **shape) {
  *shape = shape_token(at->arena);
  return STATUS_OK;
}

Status infer_device_number(const Infer *at, const Shape **shape) {
  *shape = shape_scalar(at->arena, DTYPE_U32);
  return STATUS_OK;
}

Status infer_constant(const Infer *at, const Shape **shape) {
  RETURN_IF(at->instr->literal == NULL, INFER_FAIL(at, "a constant without a value"));
  *shape = at->instr->literal->shape;
  return STATUS_OK;
}

Status infer_tuple(const Infer *at, const Shape **shape) {
  uint32_t n = at->instr->operands.n;
  const Shape **parts = ARENA_ARRAY(at->arena, const Shape *, n);
  for (uint32_t i = 0; i < n; i++) parts[i] = operand_shape(at, i);
  *shape = shape_tuple(at->arena, parts, n);
  return STATUS_OK;
}

Status infer_get_tuple_element(const Infer *at, const Shape **shape) {
  const Shape *tuple = operand_shape(at, 0);
  RETURN_IF(!shape_is_tuple(tuple),
            INFER_FAIL(at, "operand 0 must be a tuple, it is %s", shape_words(at, tuple)));
  int64_t index;
  TRY(expect_int(at, ATTR_index, tuple->rank, &index));
  *shape = tuple->parts[index];
  return STATUS_OK;
}

Status infer_get_dimension_size(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  TRY(expect_dims(at, ATTR_dimensions, instr_ints(at->instr, ATTR_dimensions), operand_shape(at, 0)->rank));
  *shape = shape_scalar(at->arena, DTYPE_S32);
  return STATUS_OK;
}

Status infer_set_dimension_size(const Infer *at, const Shape **shape) {
  TRY(expect_array(at, 0));
  TRY(expect_dims(at, ATTR_dimensions, instr_ints(at->instr, ATTR_dimensions), operand_shape(at, 0)->rank));
  TRY(expect_scalar(at, 1, DTYPE_S32));
  *shape = NULL; /* what is written counts */
  return STATUS_OK;
}

Status infer_reduce_precision(const Infer *at, const Shape **shape) {
  int64_t exponent, mantissa;
  TRY(expect_array(at, 0));
  TRY(expect_int(at, ATTR_exponent_bits, 64, &exponent));
  TRY(expect_int(at, ATTR_mantissa_bits, 64, &mantissa));
  RETURN_IF(exponent == 0, INFER_FAIL(at, "exponent_bits must be at least 1"));
  *shape = operand_shape(at, 0);
  return STATUS_OK;
}

/* Bounds of the distribution, both scalars of the result's type. */
Status infer_rng(const Infer *at, const Shape **shape) {
  TRY(expect_written(at));
  for (uint32_t i = 0; i < at->instr->operands.n; i++) TRY(expect_scalar(at, i, at->instr->shape->dtype));
  *shape = at->instr->shape;
  return STATUS_OK;
}

/* The next state and the bits, or (older) the bits alone. */
Status infer_rng_bit_generator(const Infer *at, const Shape **shape) {
  TRY(expect_written(at));
  const Shape *written = at->instr->shape, *state = operand_shape(at, 0);
  bool pair = shape_is_tuple(written) && written->rank == 2 && shape_fits(written->parts[0], state, false) &&
              dtype_is_integer(written->parts[1]->dtype);
  RETURN_IF(!pair && !dtype_is_integer(written->dtype),
            INFER_FAIL(at, "a state like operand 0, %s, and an array of integers are expected, %s is written",
                       shape_words(at, state), shape_words(at, written)));
  *shape = written;
  return STATUS_OK;
}

/* What comes in, and a token. */
Status infer_infeed(const Infer *at, const Shape **shape) {
  TRY(expect_written(at));
  const Shape *written = at->instr->shape;
  RETURN_IF(!shape_is_tuple(written) || written->rank != 2 || written->parts[1]->dtype != DTYPE_TOKEN,
            INFER_FAIL(at, "an infeed gives data and a token, %s is written", shape_words(at, written)));
  *shape = written;
  return STATUS_OK;
}

Status infer_outfeed(const Infer *at, const Shape **shape) {
  RETURN_IF(operand_shape(at, 1)->dtype != DTYPE_TOKEN,
            INFER_FAIL(at, "operand 1 must be token[], it is %s", shape_words(at, operand_shape(at, 1))));
  return infer_token(at, shape);
}

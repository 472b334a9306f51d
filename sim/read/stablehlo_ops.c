/* Operations without regions: constants, elementwise operations, and those that move data. */
#include "sim/read/stablehlo.h"

/* Plain ones. */

typedef enum { AS_ints, AS_one, AS_integer, AS_flag, AS_word, AS_number } As;

typedef struct {
  const char *op, *name;
  AttrId id;
  As as;
} PlainAttr;

static const PlainAttr plain_attrs[] = {
#define STABLEHLO_ATTR(op, name, id, as) {op, name, ATTR_##id, AS_##as},
#include "sim/read/stablehlo_attr.def"
#undef STABLEHLO_ATTR
};

static Status set_plain_attr(Translator *tr, uint32_t instr, const PlainAttr *row, const MlirAttr *attr) {
  Module *module = tr->module;
  Ints ints;
  int64_t integer;
  bool flag;
  Str word;
  switch (row->as) {
  case AS_ints:
    TRY(ints_of(tr, attr, &ints));
    instr_set_ints(module, made(tr, instr), row->id, ints.at, ints.n);
    break;
  case AS_one:
    TRY(attr_int(tr, row->name, 0, &integer));
    instr_set_ints(module, made(tr, instr), row->id, &integer, 1);
    break;
  case AS_integer:
    TRY(attr_int(tr, row->name, 0, &integer));
    instr_set_int(module, made(tr, instr), row->id, integer);
    break;
  case AS_flag:
    TRY(attr_flag(tr, row->name, false, &flag));
    instr_set_flag(module, made(tr, instr), row->id, flag);
    break;
  case AS_word:
    TRY(attr_word(tr, row->name, &word));
    instr_set_word(module, made(tr, instr), row->id, word);
    break;
  case AS_number: instr_set_word(module, made(tr, instr), row->id, attr->text); break;
  }
  return STATUS_OK;
}

Status translate_plain(Translator *tr, Opcode op) {
  Ids operands;
  int arity = op_arity(op);
  if (arity >= 0) TRY(expect_operand_count(tr, (uint32_t)arity, (uint32_t)arity));
  TRY(use_operands(tr, &operands));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, operands.n);
  for (size_t i = 0; i < sizeof plain_attrs / sizeof *plain_attrs; i++) {
    if (!str_is(tr->op->name, plain_attrs[i].op)) continue;
    const MlirAttr *attr;
    TRY(need_attr(tr, plain_attrs[i].name, &attr));
    TRY(set_plain_attr(tr, instr, &plain_attrs[i], attr));
  }
  return give(tr, instr);
}

Status translate_unsupported(Translator *tr, Opcode op) {
  return OP_FAIL(tr, tr->op->at, "give the data as a parameter or a result", "%s is not supported",
                 op_text(op));
}

/* Constants. */

Status translate_constant(Translator *tr, Opcode op) {
  const MlirAttr *value;
  TRY(need_attr(tr, "value", &value));
  RETURN_IF(value->kind != MLIR_DENSE, OP_FAIL(tr, value->at, NULL, "expected dense<…>"));
  RETURN_IF(!shape_eq(value->type, result_type(tr)),
            OP_FAIL(tr, tr->op->at, NULL, "the type of a constant is that of its elements"));
  if (value->literal->shape->rank == 0) return give(tr, emit_constant(tr, value->type, value->literal));
  uint32_t instr = emit(tr, op, value->literal->shape, NULL, 0);
  made(tr, instr)->literal = value->literal;
  return give(tr, instr);
}

/* XLA's form: along its dimension, then broadcast. */
Status translate_iota(Translator *tr, Opcode op) {
  const Shape *shape = result_type(tr);
  int64_t dim;
  TRY(attr_int(tr, "iota_dimension", 0, &dim));
  RETURN_IF(dim < 0 || dim >= shape->rank,
            OP_FAIL(tr, tr->op->at, NULL, "iota_dimension is not one of the result's"));
  const Shape *line = shape_with_dims(tr->arena, shape, &shape->dims[dim], 1);
  uint32_t instr = emit(tr, op, line, NULL, 0);
  instr_set_int(tr->module, made(tr, instr), ATTR_iota_dimension, 0);
  if (shape->rank > 1) instr = emit_broadcast(tr, shape, instr, (Ints){&dim, 1});
  return give(tr, instr);
}

/* Elementwise. */

Status translate_convert(Translator *tr, Opcode op) {
  uint32_t operand;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  if (shape_eq(instr_shape(tr, operand), result_type(tr))) return give(tr, operand);
  return translate_plain(tr, op);
}

/* A scalar among arrays is broadcast to the result's dimensions. */
static uint32_t spread(Translator *tr, const Shape *shape, uint32_t operand) {
  const Shape *own = instr_shape(tr, operand);
  if (own->rank != 0 || shape->rank == 0) return operand;
  return emit_splat(tr, shape_with_dtype(tr->arena, shape, own->dtype), operand);
}

static Status translate_spread(Translator *tr, Opcode op) {
  Ids operands;
  TRY(expect_operand_count(tr, 3, 3));
  TRY(use_operands(tr, &operands));
  for (uint32_t k = 0; k < 3; k++) operands.at[k] = spread(tr, result_type(tr), operands.at[k]);
  return give(tr, emit(tr, op, result_type(tr), operands.at, 3));
}

Status translate_clamp(Translator *tr, Opcode op) {
  return translate_spread(tr, op);
}

Status translate_select(Translator *tr, Opcode op) {
  return translate_spread(tr, op);
}

/* The comparison that a type has without saying. */
static const char *default_comparison(DType dtype) {
  DClass class = dtype_class(dtype);
  if (class == DCLASS_SIGNED) return "SIGNED";
  return class == DCLASS_UNSIGNED || class == DCLASS_PRED ? "UNSIGNED" : "FLOAT";
}

Status translate_compare(Translator *tr, Opcode op) {
  Ids operands;
  Str direction, type;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operands(tr, &operands));
  TRY(attr_word(tr, "comparison_direction", &direction));
  TRY(attr_word(tr, "compare_type", &type));
  RETURN_IF(direction.n == 0, OP_FAIL(tr, tr->op->at, NULL, "compare lacks its direction"));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, 2);
  instr_set_word(tr->module, made(tr, instr), ATTR_direction, direction);
  DType dtype = instr_shape(tr, operands.at[0])->dtype;
  if (type.n != 0 && !str_is(type, "NOTYPE") && !str_is(type, default_comparison(dtype)))
    instr_set_word(tr->module, made(tr, instr), ATTR_type, type);
  return give(tr, instr);
}

/* e5m10 */
static bool parse_format(Str format, int64_t *exponent, int64_t *mantissa) {
  size_t m = str_find(format, 'm');
  return str_starts(format, "e") && str_to_int(str_sub(format, 1, m), exponent) &&
         str_to_int(str_sub(format, m + 1, format.n), mantissa);
}

Status translate_reduce_precision(Translator *tr, Opcode op) {
  uint32_t operand;
  int64_t exponent, mantissa;
  Str format;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  TRY(attr_int(tr, "exponent_bits", 0, &exponent));
  TRY(attr_int(tr, "mantissa_bits", 0, &mantissa));
  TRY(attr_word(tr, "format", &format));
  RETURN_IF(format.n != 0 && !parse_format(format, &exponent, &mantissa),
            OP_FAIL(tr, tr->op->at, NULL, "expected a format like e5m10"));
  uint32_t instr = emit(tr, op, result_type(tr), &operand, 1);
  instr_set_int(tr->module, made(tr, instr), ATTR_exponent_bits, exponent);
  instr_set_int(tr->module, made(tr, instr), ATTR_mantissa_bits, mantissa);
  return give(tr, instr);
}

/* Broadcasts. */

/* Whether every dimension that is added has the size 1, and the others keep their order and sizes: then only
 * the shape is another one. */
static bool adds_ones(const Shape *from, const Shape *to, Ints dims) {
  if (shape_elements(from) != shape_elements(to)) return false;
  for (uint32_t d = 0; d < dims.n; d++) {
    if (from->dims[d] != to->dims[dims.at[d]] || (d > 0 && dims.at[d] <= dims.at[d - 1])) return false;
  }
  return true;
}

/* A dimension of size 1 that grows is dropped first: HLO's broadcast grows none. */
static uint32_t grow_ones(Translator *tr, const Shape *to, uint32_t instr) {
  const Shape *from = instr_shape(tr, instr);
  int64_t *sizes = ARENA_ARRAY(tr->scratch, int64_t, from->rank),
          *dims = ARENA_ARRAY(tr->scratch, int64_t, from->rank);
  uint32_t n = 0;
  for (uint32_t d = 0; d < from->rank; d++) {
    if (from->dims[d] != to->dims[d]) continue;
    sizes[n] = from->dims[d];
    dims[n++] = d;
  }
  instr = emit_reshape(tr, shape_with_dims(tr->arena, from, sizes, n), instr);
  return emit_broadcast(tr, to, instr, (Ints){dims, n});
}

static bool is_identity(const Shape *from, const Shape *to, Ints dims) {
  for (uint32_t d = 0; d < dims.n; d++) {
    if (dims.at[d] != d) return false;
  }
  return shape_eq(from, to);
}

/* A broadcast of a broadcast is one, unless a dimension of size 1 grows in between. */
static void compose_broadcasts(Translator *tr, const Shape *to, uint32_t *operand, Ints *dims) {
  const Instr *inner = made(tr, *operand);
  if (inner->op != OP_BROADCAST) return;
  Ints first = instr_ints(inner, ATTR_dimensions),
       both = {ARENA_ARRAY(tr->scratch, int64_t, first.n), first.n};
  for (uint32_t d = 0; d < first.n; d++) {
    both.at[d] = dims->at[first.at[d]];
    if (inner->shape->dims[first.at[d]] != to->dims[both.at[d]]) return;
  }
  *operand = inner->operands.at[0];
  *dims = both;
}

static Status check_broadcast(Translator *tr, const Shape *from, const Shape *to, Ints dims) {
  bool fits = true;
  for (uint32_t d = 0; d < dims.n && fits; d++) {
    fits = dims.at[d] >= 0 && dims.at[d] < to->rank &&
           (from->dims[d] == to->dims[dims.at[d]] || from->dims[d] == 1);
  }
  RETURN_IF(!fits, OP_FAIL(tr, tr->op->at, NULL, "%.*s cannot be broadcast to %.*s like this",
                           STR_ARG(shape_text(tr->scratch, from)), STR_ARG(shape_text(tr->scratch, to))));
  return STATUS_OK;
}

Status translate_broadcast_in_dim(Translator *tr, Opcode op) {
  uint32_t operand;
  Ints dims;
  (void)op;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  const Shape *to = result_type(tr);
  TRY(need_ints(tr, "broadcast_dimensions", instr_shape(tr, operand)->rank, &dims));
  TRY(check_broadcast(tr, instr_shape(tr, operand), to, dims));
  const Literal *constant = constant_everywhere(tr, operand);
  if (constant != NULL) return give(tr, emit_constant(tr, to, constant));
  compose_broadcasts(tr, to, &operand, &dims);
  const Shape *from = instr_shape(tr, operand);
  if (is_identity(from, to, dims)) return give(tr, operand);
  if (adds_ones(from, to, dims)) return give(tr, emit_reshape(tr, to, operand));
  int64_t *sizes = arena_copy(tr->scratch, to->dims, to->rank * sizeof *sizes);
  for (uint32_t d = 0; d < dims.n; d++) sizes[dims.at[d]] = from->dims[d];
  const Shape *within = shape_with_dims(tr->arena, to, sizes, to->rank);
  uint32_t instr = emit_broadcast(tr, within, operand, dims);
  return give(tr, shape_eq(within, to) ? instr : grow_ones(tr, to, instr));
}

/* New dimensions in front. */
Status translate_broadcast(Translator *tr, Opcode op) {
  uint32_t operand;
  (void)op;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  const Shape *from = instr_shape(tr, operand), *to = result_type(tr);
  RETURN_IF(to->rank < from->rank, OP_FAIL(tr, tr->op->at, NULL, "broadcast adds dimensions"));
  Ints added;
  TRY(need_ints(tr, "broadcast_sizes", to->rank - from->rank, &added));
  for (uint32_t d = 0; d < added.n; d++)
    RETURN_IF(added.at[d] != to->dims[d], OP_FAIL(tr, tr->op->at, NULL, "%.*s does not begin with the sizes",
                                                  STR_ARG(shape_text(tr->scratch, to))));
  Ints dims = {ARENA_ARRAY(tr->scratch, int64_t, from->rank), from->rank};
  for (uint32_t d = 0; d < from->rank; d++) dims.at[d] = to->rank - from->rank + d;
  return give(tr, emit_broadcast(tr, to, operand, dims));
}

/* Data movement. */

/* Parts without elements are left out. */
Status translate_concatenate(Translator *tr, Opcode op) {
  Ids operands, parts;
  int64_t dim;
  TRY(use_operands(tr, &operands));
  TRY(attr_int(tr, "dimension", 0, &dim));
  parts = (Ids){ARENA_ARRAY(tr->scratch, uint32_t, operands.n), 0};
  for (uint32_t k = 0; k < operands.n; k++) {
    if (shape_elements(instr_shape(tr, operands.at[k])) > 0) parts.at[parts.n++] = operands.at[k];
  }
  if (parts.n == 1 && shape_eq(instr_shape(tr, parts.at[0]), result_type(tr))) return give(tr, parts.at[0]);
  if (parts.n == 0) parts = operands;
  uint32_t instr = emit(tr, op, result_type(tr), parts.at, parts.n);
  instr_set_ints(tr->module, made(tr, instr), ATTR_dimensions, &dim, 1);
  return give(tr, instr);
}

Status translate_slice(Translator *tr, Opcode op) {
  uint32_t operand;
  Ints starts, limits, strides;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  uint32_t rank = instr_shape(tr, operand)->rank;
  TRY(need_ints(tr, "start_indices", rank, &starts));
  TRY(need_ints(tr, "limit_indices", rank, &limits));
  TRY(need_ints(tr, "strides", rank, &strides));
  const Literal *constant = constant_everywhere(tr, operand);
  if (shape_eq(instr_shape(tr, operand), result_type(tr))) return give(tr, operand);
  if (constant != NULL) return give(tr, emit_constant(tr, result_type(tr), constant));
  Slices slices = {ARENA_ARRAY(tr->scratch, SliceDim, rank), rank};
  for (uint32_t d = 0; d < rank; d++) slices.at[d] = (SliceDim){starts.at[d], limits.at[d], strides.at[d]};
  uint32_t instr = emit(tr, op, result_type(tr), &operand, 1);
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_slice, .slices = slices});
  return give(tr, instr);
}

Status translate_pad(Translator *tr, Opcode op) {
  Ids operands;
  Ints low, high, interior;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operands(tr, &operands));
  uint32_t rank = instr_shape(tr, operands.at[0])->rank;
  TRY(need_ints(tr, "edge_padding_low", rank, &low));
  TRY(need_ints(tr, "edge_padding_high", rank, &high));
  TRY(need_ints(tr, "interior_padding", rank, &interior));
  Padding padding = {ARENA_ARRAY(tr->scratch, PaddingDim, rank), rank};
  bool any = false;
  for (uint32_t d = 0; d < rank; d++) {
    padding.at[d] = (PaddingDim){low.at[d], high.at[d], interior.at[d]};
    any = any || low.at[d] != 0 || high.at[d] != 0 || interior.at[d] != 0;
  }
  if (!any) return give(tr, operands.at[0]);
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, 2);
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_padding, .padding = padding});
  return give(tr, instr);
}

/* Several values pass through it as one tuple. */
Status translate_barrier(Translator *tr, Opcode op) {
  Ids operands;
  TRY(use_operands(tr, &operands));
  uint32_t operand = operands.n == 1 ? operands.at[0] : emit_tuple(tr, operands.at, operands.n);
  return give(tr, emit_unary(tr, op, operand));
}

/* Random bits. */

Status translate_rng_bits(Translator *tr, Opcode op) {
  static const struct {
    const char *word, *hlo;
  } algorithms[] = {{"DEFAULT", "rng_default"}, {"THREE_FRY", "rng_three_fry"}, {"PHILOX", "rng_philox"}};
  uint32_t operand;
  Str word;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  TRY(attr_word(tr, "rng_algorithm", &word));
  uint32_t instr = emit(tr, op, result_type(tr), &operand, 1);
  for (size_t i = 0; i < 3; i++) {
    if (!str_is(word, algorithms[i].word)) continue;
    instr_set_word(tr->module, made(tr, instr), ATTR_algorithm, str_of(algorithms[i].hlo));
    return give(tr, instr);
  }
  return OP_FAIL(tr, tr->op->at, NULL, "unknown random number algorithm '%.*s'", STR_ARG(word));
}

/* Operand `k` says the shape of the result; where it is a constant, the one that is written. */
static Status check_said_shape(Translator *tr, uint32_t k) {
  const Shape *to = result_type(tr), *type = value_type(tr, tr->op->operands.at[k]);
  const MlirOp *maker = tr->makers[tr->op->operands.at[k]];
  const MlirAttr *value = maker == NULL ? NULL : mlir_get(maker->attrs, "value");
  RETURN_IF(type->rank != 1 || (type->dims[0] >= 0 && type->dims[0] != to->rank),
            OP_FAIL(tr, tr->op->at, NULL, "operand %u must say %u sizes, it is %.*s", k, to->rank,
                    STR_ARG(shape_text(tr->scratch, type))));
  Ints sizes;
  if (value == NULL || value->kind != MLIR_DENSE) return STATUS_OK;
  TRY(ints_of(tr, value, &sizes));
  for (uint32_t d = 0; d < sizes.n; d++)
    RETURN_IF(sizes.at[d] != to->dims[d] && to->dims[d] >= 0,
              OP_FAIL(tr, tr->op->at, NULL, "operand %u says %lld for dimension %u, %.*s is written", k,
                      (long long)sizes.at[d], d, STR_ARG(shape_text(tr->scratch, to))));
  return STATUS_OK;
}

/* The third operand says the shape, which is the result's. */
Status translate_rng(Translator *tr, Opcode op) {
  Ids operands;
  Str word;
  TRY(expect_operand_count(tr, 3, 3));
  TRY(use_operands(tr, &operands));
  TRY(check_said_shape(tr, 2));
  TRY(attr_word(tr, "rng_distribution", &word));
  bool uniform = str_is(word, "UNIFORM");
  RETURN_IF(!uniform && !str_is(word, "NORMAL"),
            OP_FAIL(tr, tr->op->at, NULL, "unknown distribution '%.*s'", STR_ARG(word)));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, 2);
  instr_set_word(tr->module, made(tr, instr), ATTR_distribution,
                 uniform ? STR("rng_uniform") : STR("rng_normal"));
  return give(tr, instr);
}

/* Operations whose last operand says the shape of the result, which is known here: without it. */
Status translate_known_shape(Translator *tr, Opcode op) {
  const MlirOp *written = tr->op;
  MlirOp shorter = *written;
  TRY(expect_operand_count(tr, 1, 2));
  TRY(check_said_shape(tr, --shorter.operands.n));
  tr->op = &shorter;
  TRY(op == OP_IOTA      ? translate_iota(tr, op)
      : op == OP_RESHAPE ? translate_reshape(tr, op)
                         : translate_broadcast_in_dim(tr, op));
  tr->op = written;
  return STATUS_OK;
}

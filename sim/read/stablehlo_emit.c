/* What translators build with: operands looked up, instructions appended under the name, place and origin of
 * the operation at hand, results bound to values. */
#include "sim/ir/print.h"
#include "sim/read/stablehlo.h"

/* Names. */

Str hlo_name(Arena *arena, Str name) {
  bool starts = name.n > 0 && ((name.at[0] | 0x20) >= 'a' && (name.at[0] | 0x20) <= 'z');
  StrBuf buf = {.arena = arena};
  if (!starts && (name.n == 0 || name.at[0] != '_')) buf_char(&buf, '_');
  for (size_t i = 0; i < name.n; i++) {
    char c = name.at[i];
    bool good = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '.' || c == '-';
    buf_char(&buf, good ? c : '_');
  }
  return buf_str(&buf);
}

/* The name behind the dialect. */
static Str op_word(const MlirOp *op) {
  size_t dot = str_find(op->name, '.');
  return dot < op->name.n ? str_sub(op->name, dot + 1, op->name.n) : op->name;
}

/* Instructions. */

Instr *made(const Translator *tr, uint32_t instr) {
  return comp_instr(tr->module, tr->comp, instr);
}

const Shape *instr_shape(const Translator *tr, uint32_t instr) {
  return made(tr, instr)->shape;
}

/* metadata={op_name="…" source_file="…" source_line=3} */
static void set_metadata(Translator *tr, Instr *instr) {
  const Origin *origin = &instr->origin;
  StrBuf buf = {.arena = tr->arena};
  if (origin->op_name.n == 0 && origin->file.n == 0) return;
  buf_add(&buf, STR("{"));
  if (origin->op_name.n != 0) {
    buf_add(&buf, STR("op_name="));
    buf_quoted(&buf, origin->op_name);
  }
  if (origin->file.n != 0) {
    buf_add(&buf, origin->op_name.n != 0 ? STR(" source_file=") : STR("source_file="));
    buf_quoted(&buf, origin->file);
    buf_printf(&buf, " source_line=%u", origin->line);
  }
  buf_char(&buf, '}');
  instr_set_shared(tr->module, instr, (Attr){.id = ATTR_metadata, .text = buf_str(&buf)});
}

static void set_origin(Translator *tr, uint32_t at, uint32_t location) {
  Instr *instr = made(tr, at);
  instr->origin = mlir_origin(tr->mlir, location);
  set_metadata(tr, instr);
}

/* A Pallas kernel has a name of its own; everything else is called what it does. */
static Str name_of_operation(const Translator *tr) {
  const MlirAttr *kernel = find_attr(tr, "kernel_name");
  bool named = kernel != NULL && kernel->kind == MLIR_STRING && kernel->text.n > 0;
  return hlo_name(tr->scratch, named ? kernel->text : op_word(tr->op));
}

/* XLA puts a constant for an operand without elements. */
static uint32_t empty_constant(Translator *tr, uint32_t operand) {
  const Instr *value = made(tr, operand);
  const Shape *shape = value->shape;
  if (!shape_is_array(shape) || shape_elements(shape) != 0 || value->op == OP_CONSTANT) return operand;
  uint32_t at = emit(tr, OP_CONSTANT, shape, NULL, 0);
  Literal *literal = ARENA_NEW(tr->arena, Literal);
  *literal = (Literal){.shape = shape, .data = ""};
  made(tr, at)->literal = literal;
  return at;
}

uint32_t emit(Translator *tr, Opcode op, const Shape *shape, const uint32_t *given, uint32_t n) {
  uint32_t *operands = ARENA_ARRAY(tr->scratch, uint32_t, n + 1);
  for (uint32_t i = 0; i < n; i++) operands[i] = op == OP_TUPLE ? given[i] : empty_constant(tr, given[i]);
  bool own = op == OP_CONSTANT || op == OP_TUPLE;
  Str name = own ? str_of(op_text(op)) : name_of_operation(tr);
  bool known = comp_find(module_comp(tr->module, tr->comp), name) != NO_ID;
  uint32_t at =
      comp_add(tr->module, tr->comp, op, known ? name : str_copy(tr->arena, name), shape, operands, n);
  made(tr, at)->place = lex_place(&tr->mlir->lex, tr->op->at);
  set_origin(tr, at, tr->op->location);
  return at;
}

uint32_t emit_unary(Translator *tr, Opcode op, uint32_t operand) {
  return emit(tr, op, instr_shape(tr, operand), &operand, 1);
}

uint32_t emit_binary(Translator *tr, Opcode op, uint32_t left, uint32_t right) {
  return emit(tr, op, instr_shape(tr, left), (uint32_t[]){left, right}, 2);
}

uint32_t emit_scalar(Translator *tr, DType dtype, double value) {
  const Literal *literal = literal_scalar(tr->arena, dtype, value);
  uint32_t at = emit(tr, OP_CONSTANT, literal->shape, NULL, 0);
  made(tr, at)->literal = literal;
  return at;
}

uint32_t emit_broadcast(Translator *tr, const Shape *shape, uint32_t operand, Ints dims) {
  uint32_t at = emit(tr, OP_BROADCAST, shape, &operand, 1);
  instr_set_ints(tr->module, made(tr, at), ATTR_dimensions, dims.at, dims.n);
  return at;
}

uint32_t emit_splat(Translator *tr, const Shape *shape, uint32_t scalar) {
  return shape->rank == 0 ? scalar : emit_broadcast(tr, shape, scalar, (Ints){0});
}

uint32_t emit_number(Translator *tr, const Shape *shape, double value) {
  return emit_splat(tr, shape, emit_scalar(tr, shape->dtype, value));
}

uint32_t emit_reshape(Translator *tr, const Shape *shape, uint32_t operand) {
  return emit(tr, OP_RESHAPE, shape, &operand, 1);
}

uint32_t emit_compare(Translator *tr, const char *direction, uint32_t left, uint32_t right) {
  const Shape *shape = shape_with_dtype(tr->arena, instr_shape(tr, left), DTYPE_PRED);
  uint32_t at = emit(tr, OP_COMPARE, shape, (uint32_t[]){left, right}, 2);
  instr_set_word(tr->module, made(tr, at), ATTR_direction, str_of(direction));
  return at;
}

uint32_t emit_select(Translator *tr, uint32_t pred, uint32_t yes, uint32_t no) {
  return emit(tr, OP_SELECT, instr_shape(tr, yes), (uint32_t[]){pred, yes, no}, 3);
}

uint32_t emit_tuple(Translator *tr, const uint32_t *parts, uint32_t n) {
  const Shape **shapes = ARENA_ARRAY(tr->scratch, const Shape *, n);
  for (uint32_t i = 0; i < n; i++) shapes[i] = instr_shape(tr, parts[i]);
  return emit(tr, OP_TUPLE, shape_tuple(tr->scratch, shapes, n), parts, n);
}

uint32_t emit_element(Translator *tr, uint32_t tuple, uint32_t index) {
  uint32_t at = emit(tr, OP_GET_TUPLE_ELEMENT, instr_shape(tr, tuple)->parts[index], &tuple, 1);
  instr_set_int(tr->module, made(tr, at), ATTR_index, index);
  return at;
}

/* Values. */

const Shape *value_type(const Translator *tr, uint32_t value) {
  return tr->mlir->values.at[value].type;
}

void bind_value(Translator *tr, uint32_t value, uint32_t instr) {
  VEC_PUSH(tr->scratch, &tr->trail, (Rebound){value, tr->bindings[value]});
  tr->bindings[value] = (Binding){tr->comp, instr};
}

/* A constant of a computation around is made again in this one: XLA sinks them too. */
static Status copy_constant(Translator *tr, uint32_t value, uint32_t *instr) {
  const MlirOp *outer = tr->op;
  tr->op = tr->makers[value];
  TRY(translate_constant(tr, OP_CONSTANT));
  tr->op = outer;
  *instr = tr->bindings[value].instr;
  return STATUS_OK;
}

Status use_value(Translator *tr, uint32_t value, uint32_t *instr) {
  value = tr->stands_for[value];
  const Binding *binding = &tr->bindings[value];
  *instr = binding->instr;
  if (binding->comp == tr->comp && binding->instr != NO_ID) return STATUS_OK;
  if (tr->makers[value] != NULL) return copy_constant(tr, value, instr);
  return OP_FAIL(tr, tr->op->at, "give it to the region as an argument",
                 "a region of this kind cannot use '%%%.*s' of the code around it",
                 STR_ARG(str_sub(tr->mlir->values.at[value].name, 0, 80)));
}

Status use_operand(Translator *tr, uint32_t k, uint32_t *instr) {
  return use_value(tr, tr->op->operands.at[k], instr);
}

Status use_operands(Translator *tr, Ids *instrs) {
  *instrs = (Ids){ARENA_ARRAY(tr->scratch, uint32_t, tr->op->operands.n), tr->op->operands.n};
  for (uint32_t k = 0; k < instrs->n; k++) TRY(use_operand(tr, k, &instrs->at[k]));
  return STATUS_OK;
}

Status expect_operand_count(Translator *tr, uint32_t least, uint32_t most) {
  uint32_t n = tr->op->operands.n;
  RETURN_IF(n < least || n > most, OP_FAIL(tr, tr->op->at, NULL, "%.*s cannot have %u operands",
                                           STR_ARG(str_sub(tr->op->name, 0, 80)), n));
  return STATUS_OK;
}

const Shape *result_type(const Translator *tr) {
  const MlirOp *op = tr->op;
  if (op->n_results == 1) return value_type(tr, op->result);
  const Shape **parts = ARENA_ARRAY(tr->scratch, const Shape *, op->n_results);
  for (uint32_t k = 0; k < op->n_results; k++) parts[k] = value_type(tr, op->result + k);
  return shape_tuple(tr->arena, parts, op->n_results);
}

void give_one(Translator *tr, uint32_t k, uint32_t instr) {
  bind_value(tr, tr->op->result + k, instr);
}

Status give(Translator *tr, uint32_t instr) {
  const MlirOp *op = tr->op;
  TRY(set_discardable(tr, instr));
  if (op->n_results == 1) give_one(tr, 0, instr);
  const Shape *shape = instr_shape(tr, instr);
  RETURN_IF(op->n_results > 1 && (!shape_is_tuple(shape) || shape->rank != op->n_results),
            OP_FAIL(tr, op->at, NULL, "%u results are written, here is %.*s", op->n_results,
                    STR_ARG(shape_text(tr->scratch, shape))));
  for (uint32_t k = 0; k < op->n_results && op->n_results > 1; k++)
    give_one(tr, k, emit_element(tr, instr, k));
  return STATUS_OK;
}

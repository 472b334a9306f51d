/* MLIR text to its syntax tree: operations in their generic form, regions, values and where they can be seen,
 * aliases, the module. Grammar: MLIR language reference. Everything is read once, so that values stand above
 * those that use them; only locations may be told afterwards. */
#include "sim/read/mlir.h"

#include <stdio.h>

/* Values. */

Status mlir_value_name(MlirReader *reader, Str *name) {
  Lexer *lex = &reader->lex;
  if (!lex_accept(lex, '%')) return lex_expected(lex, "a value, like %0");
  return mlir_suffix_name(lex, "the name of a value", name);
}

static Status unknown_value(MlirReader *reader, const char *where, Str name) {
  return LEX_FAIL(&reader->lex, where, "a value comes before those that use it",
                  "no value '%%%.*s' can be seen here", STR_ARG(str_sub(name, 0, 80)));
}

Status mlir_operand(MlirReader *reader, uint32_t *value) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  Str name;
  int64_t index = 0;
  TRY(mlir_value_name(reader, &name));
  if (lex->at < lex->end && *lex->at == '#') {
    lex->at++;
    TRY(lex_int_from(lex, 0, &index));
  }
  if (!map_get(reader->names, name, value)) return unknown_value(reader, start, name);
  const MlirValue *first = &reader->values.at[*value];
  if (reader->closed.at[first->scope]) return unknown_value(reader, start, name);
  RETURN_IF(index >= first->count, LEX_FAIL(lex, start, NULL, "'%%%.*s' has %u results",
                                            STR_ARG(str_sub(name, 0, 80)), first->count));
  *value += (uint32_t)index;
  return STATUS_OK;
}

/* The first of `count` values of a name; the others follow at once. */
static Status define(MlirReader *reader, Str name, uint32_t count, const Shape *type, const char *at) {
  uint32_t other;
  bool taken = map_get(reader->names, name, &other) && !reader->closed.at[reader->values.at[other].scope];
  RETURN_IF(taken,
            LEX_FAIL(&reader->lex, at, NULL, "'%%%.*s' is defined twice", STR_ARG(str_sub(name, 0, 80))));
  map_put(reader->names, name, reader->values.n);
  VEC_PUSH(reader->scratch, &reader->values,
           (MlirValue){.type = type, .name = name, .count = count, .scope = reader->scope, .at = at});
  return STATUS_OK;
}

/* Regions. */

MlirScope mlir_open(MlirReader *reader, MlirRegion *region) {
  MlirScope outer = reader->scope;
  *region = (MlirRegion){.arg = reader->values.n};
  VEC_PUSH(reader->scratch, &reader->closed, false);
  reader->scope = reader->closed.n - 1;
  return outer;
}

void mlir_close(MlirReader *reader, MlirScope outer) {
  reader->closed.at[reader->scope] = true;
  reader->scope = outer;
}

Status mlir_arg(MlirReader *reader, MlirRegion *region, Str name, const Shape *type, const char *at) {
  if (region->n_args == 0) region->arg = reader->values.n;
  region->n_args++;
  return define(reader, name, 1, type, at);
}

static Status read_arg(MlirReader *reader, MlirRegion *region, MlirAttr *attrs) {
  Lexer *lex = &reader->lex;
  Str name;
  const Shape *type;
  MlirDict dict = {0};
  lex_peek(lex);
  const char *start = lex->at;
  TRY(mlir_value_name(reader, &name));
  TRY(lex_expect(lex, ':'));
  TRY(mlir_type(reader, &type));
  RETURN_IF(type == NULL, lex_expected(lex, "a type that is not a function's"));
  if (lex_peek(lex) == '{') TRY(mlir_dict(reader, '{', '}', &dict));
  TRY(mlir_arg(reader, region, name, type, start));
  *attrs = (MlirAttr){.kind = MLIR_DICT, .at = start, .entries = dict.at, .n = dict.n};
  return mlir_location(reader, &reader->values.at[reader->values.n - 1].location);
}

Status mlir_args(MlirReader *reader, MlirRegion *region, MlirAttr *attrs) {
  Lexer *lex = &reader->lex;
  Vec(MlirAttr) items = {0};
  lex_peek(lex);
  *attrs = (MlirAttr){.kind = MLIR_ARRAY, .at = lex->at};
  TRY(lex_expect(lex, '('));
  for (bool more = !lex_accept(lex, ')'); more;) {
    MlirAttr item;
    TRY(read_arg(reader, region, &item));
    VEC_PUSH(reader->scratch, &items, item);
    TRY(lex_more(lex, ')', &more));
  }
  attrs->items = items.at;
  attrs->n = items.n;
  return STATUS_OK;
}

static Status read_op(MlirReader *reader, MlirOp *op);

static Status read_ops(MlirReader *reader, char close, MlirRegion *region) {
  Lexer *lex = &reader->lex;
  while (!lex_accept(lex, close)) {
    MlirOp op;
    TRY(read_op(reader, &op));
    VEC_PUSH(reader->scratch, &region->ops, op);
  }
  return STATUS_OK;
}

/* ^bb0(%a: type, …): */
static Status read_label(MlirReader *reader, MlirRegion *region) {
  Lexer *lex = &reader->lex;
  Str name;
  MlirAttr attrs;
  RETURN_IF(region->n_args != 0, lex_expected(lex, "an operation: the arguments are told above"));
  TRY(lex_expect(lex, '^'));
  TRY(mlir_suffix_name(lex, "a label", &name));
  if (lex_peek(lex) == '(') TRY(mlir_args(reader, region, &attrs));
  return lex_expect(lex, ':');
}

Status mlir_body(MlirReader *reader, MlirRegion *region) {
  Lexer *lex = &reader->lex;
  TRY(lex_enter(lex));
  TRY(lex_expect(lex, '{'));
  if (lex_peek(lex) == '^') TRY(read_label(reader, region));
  TRY(read_ops(reader, '}', region));
  lex_leave(lex);
  return STATUS_OK;
}

static Status read_region(MlirReader *reader, MlirRegion *region) {
  MlirScope outer = mlir_open(reader, region);
  TRY(mlir_body(reader, region));
  mlir_close(reader, outer);
  return STATUS_OK;
}

/* Operations. */

/* The types that are written of the operands, from `where` on, are those of the values. */
static Status check_operand_types(MlirReader *reader, const MlirOp *op, const MlirTypes *types,
                                  const char *where) {
  Str name = str_sub(op->name, 0, 80);
  RETURN_IF(types->n != op->operands.n,
            LEX_FAIL(&reader->lex, where, NULL, "%.*s has %u operands, here are types for %u", STR_ARG(name),
                     op->operands.n, types->n));
  for (uint32_t k = 0; k < types->n; k++) {
    const Shape *own = reader->values.at[op->operands.at[k]].type, *said = types->at[k];
    if (own == NULL || said == NULL || shape_eq(own, said)) continue;
    return LEX_FAIL(&reader->lex, where, "a value has the type that the operation which makes it gives it",
                    "operand %u of %.*s is %.*s, here %.*s is written", k, STR_ARG(name),
                    STR_ARG(shape_text(reader->scratch, own)), STR_ARG(shape_text(reader->scratch, said)));
  }
  return STATUS_OK;
}

static bool is_return(const MlirOp *op) {
  Str end = STR("return");
  return op->name.n >= end.n && str_eq(str_sub(op->name, op->name.n - end.n, op->name.n), end);
}

Status mlir_result_types(MlirReader *reader, const MlirOp *op, MlirTypes *types) {
  Lexer *lex = &reader->lex;
  MlirTypes listed = {0};
  TRY(lex_expect(lex, ':'));
  lex_peek(lex);
  const char *where = lex->at;
  do TRY(mlir_types(reader, &listed));
  while (lex_accept(lex, ','));
  bool function = lex_accept_text(lex, "->");
  if (function || is_return(op)) TRY(check_operand_types(reader, op, &listed, where));
  if (function) return mlir_types(reader, types);
  if (op->n_results == 1 && listed.n > 1) { /* of select: the others are operands' */
    VEC_PUSH(reader->scratch, types, listed.at[listed.n - 1]);
    return STATUS_OK;
  }
  *types = listed;
  if (op->n_results == 0) types->n = 0;
  return STATUS_OK;
}

static Status read_operands(MlirReader *reader, MlirOp *op) {
  Lexer *lex = &reader->lex;
  Vec(uint32_t) operands = {0};
  TRY(lex_expect(lex, '('));
  for (bool more = !lex_accept(lex, ')'); more;) {
    uint32_t value;
    TRY(mlir_operand(reader, &value));
    VEC_PUSH(reader->scratch, &operands, value);
    TRY(lex_more(lex, ')', &more));
  }
  op->operands = (Ids){operands.at, operands.n};
  return STATUS_OK;
}

/* ({ … }, { … }) */
static Status read_regions(MlirReader *reader, MlirOp *op) {
  Lexer *lex = &reader->lex;
  Vec(MlirRegion) regions = {0};
  TRY(lex_expect(lex, '('));
  for (bool more = true; more;) {
    MlirRegion region;
    TRY(read_region(reader, &region));
    VEC_PUSH(reader->scratch, &regions, region);
    TRY(lex_more(lex, ')', &more));
  }
  op->regions = regions.at;
  op->n_regions = regions.n;
  return STATUS_OK;
}

/* "name"(operands) <{properties}> ({ regions }) {attributes} : (types) -> types */
static Status read_generic(MlirReader *reader, MlirOp *op, MlirTypes *types) {
  Lexer *lex = &reader->lex;
  StrMap *outer = reader->names;
  TRY(mlir_string(lex, &op->name));
  if (str_is(op->name, "func.func")) reader->names = map_new(reader->scratch);
  TRY(read_operands(reader, op));
  if (lex_accept(lex, '<')) {
    TRY(mlir_dict(reader, '{', '}', &op->attrs));
    TRY(lex_expect(lex, '>'));
  }
  if (lex_peek(lex) == '(') TRY(read_regions(reader, op));
  if (lex_peek(lex) == '{') TRY(mlir_dict(reader, '{', '}', &op->attrs));
  reader->names = outer;
  TRY(lex_expect(lex, ':'));
  MlirTypes of_operands = {0};
  lex_peek(lex);
  const char *where = lex->at;
  TRY(mlir_types(reader, &of_operands));
  TRY(check_operand_types(reader, op, &of_operands, where));
  if (!lex_accept_text(lex, "->")) return lex_expected(lex, "'->'");
  return mlir_types(reader, types);
}

/* `%a, %b:2` before `=`. */
typedef struct {
  Str name;
  uint32_t count;
  const char *at;
} ResultName;
typedef Vec(ResultName) ResultNames;

static Status read_result_name(MlirReader *reader, ResultName *result) {
  enum { MOST_RESULTS = 1 << 20 };
  Lexer *lex = &reader->lex;
  int64_t count = 1;
  lex_peek(lex);
  result->at = lex->at;
  TRY(mlir_value_name(reader, &result->name));
  if (lex_accept(lex, ':')) TRY(lex_int_from(lex, 1, &count));
  RETURN_IF(count > MOST_RESULTS,
            LEX_FAIL(lex, result->at, NULL, "an operation has at most %d results", MOST_RESULTS));
  result->count = (uint32_t)count;
  return STATUS_OK;
}

static Status read_result_names(MlirReader *reader, MlirOp *op, ResultNames *names) {
  Lexer *lex = &reader->lex;
  if (lex_peek(lex) != '%') return STATUS_OK;
  do {
    ResultName name;
    TRY(read_result_name(reader, &name));
    VEC_PUSH(reader->scratch, names, name);
    op->n_results += name.count;
  } while (lex_accept(lex, ','));
  return lex_expect(lex, '=');
}

static Status define_results(MlirReader *reader, MlirOp *op, const ResultNames *names,
                             const MlirTypes *types) {
  uint32_t k = 0;
  RETURN_IF(op->n_results != types->n && op->n_results != 0,
            LEX_FAIL(&reader->lex, op->at, NULL, "%.*s has types for %u results, here are names for %u",
                     STR_ARG(str_sub(op->name, 0, 80)), types->n, op->n_results));
  op->result = reader->values.n;
  for (uint32_t i = 0; i < names->n; i++) {
    const ResultName *name = &names->at[i];
    TRY(define(reader, name->name, name->count, types->at[k++], name->at));
    for (uint32_t r = 1; r < name->count; r++)
      VEC_PUSH(reader->scratch, &reader->values,
               (MlirValue){.type = types->at[k++], .scope = reader->scope, .at = name->at});
  }
  /* Results without names have values all the same. */
  for (; k < types->n; k++)
    VEC_PUSH(reader->scratch, &reader->values,
             (MlirValue){.type = types->at[k], .scope = reader->scope, .at = op->at});
  op->n_results = types->n;
  return STATUS_OK;
}

static Status read_op(MlirReader *reader, MlirOp *op) {
  Lexer *lex = &reader->lex;
  ResultNames names = {0};
  MlirTypes types = {0};
  *op = (MlirOp){0};
  TRY(read_result_names(reader, op, &names));
  bool generic = lex_peek(lex) == '"';
  op->at = lex->at;
  if (generic) {
    TRY(read_generic(reader, op, &types));
  } else {
    op->name = mlir_word(lex);
    RETURN_IF(op->name.n == 0, lex_expected(lex, "an operation"));
    TRY(mlir_pretty(reader, op, &types));
  }
  TRY(mlir_location(reader, &op->location));
  return define_results(reader, op, &names, &types);
}

/* The whole. */

/* #name = attribute, #name = loc(…) */
static Status read_alias(MlirReader *reader) {
  Lexer *lex = &reader->lex;
  Str name;
  MlirAttr attr;
  TRY(lex_expect(lex, '#'));
  TRY(mlir_suffix_name(lex, "the name of an alias", &name));
  TRY(lex_expect(lex, '='));
  if (str_is(mlir_peek_word(lex), "loc")) return mlir_location_alias(reader, name);
  TRY(mlir_attr(reader, &attr));
  map_put(reader->aliases, name, reader->aliased.n);
  VEC_PUSH(reader->scratch, &reader->aliased, attr);
  return STATUS_OK;
}

/* !name = type */
static Status read_type_alias(MlirReader *reader) {
  Lexer *lex = &reader->lex;
  const Shape *type;
  TRY(lex_expect(lex, '!'));
  Str name = mlir_word(lex);
  TRY(lex_expect(lex, '='));
  TRY(mlir_type(reader, &type));
  map_put(reader->type_aliases, name, reader->aliased_types.n);
  VEC_PUSH(reader->scratch, &reader->aliased_types, type);
  return STATUS_OK;
}

static Status read_top(MlirReader *reader, MlirRegion *region) {
  Lexer *lex = &reader->lex;
  while (!lex_at_end(lex)) {
    if (lex_peek(lex) == '#') {
      TRY(read_alias(reader));
    } else if (lex_peek(lex) == '!') {
      TRY(read_type_alias(reader));
    } else if (lex_accept_text(lex, "{-#")) {
      TRY(mlir_resources(reader));
    } else {
      MlirOp op;
      TRY(read_op(reader, &op));
      VEC_PUSH(reader->scratch, &region->ops, op);
    }
  }
  return STATUS_OK;
}

static bool is_module(const MlirOp *op) {
  return str_is(op->name, "builtin.module") || str_is(op->name, "module");
}

Status mlir_read_text(MlirReader *reader, MlirOp *module) {
  MlirRegion *region = ARENA_NEW(reader->scratch, MlirRegion);
  reader->names = map_new(reader->scratch);
  reader->aliases = map_new(reader->scratch);
  reader->type_aliases = map_new(reader->scratch);
  reader->location_names = map_new(reader->scratch);
  VEC_PUSH(reader->scratch, &reader->locations, (MlirLocation){0});
  mlir_open(reader, region);
  TRY(read_top(reader, region));
  if (region->ops.n == 1 && is_module(&region->ops.at[0]))
    *module = region->ops.at[0];
  else
    *module = (MlirOp){.name = STR("builtin.module"), .regions = region, .n_regions = 1};
  return STATUS_OK;
}

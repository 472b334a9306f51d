/* Operations in their own syntax. Nearly all are a row of items (operands, `key = value`, words, lists in
 * brackets), then {attributes}, then types; those with regions have a function each. Words get the names that
 * the generic form has for them by mlir_syntax.def. Source: the assembly formats of StableHLO and Shardy. */
#include "sim/read/mlir.h"

typedef struct {
  MlirReader *reader;
  MlirOp *op;
  MlirTypes *results;
  Vec(uint32_t) operands;
  uint32_t n_words, n_lists;
} Pretty;

typedef Status Syntax(Pretty *pretty);

static Str attr_name(const MlirOp *op, Str word) {
  static const struct {
    const char *op, *word, *attr;
  } rows[] = {
#define SYNTAX(op, word, attr) {op, word, attr},
#include "sim/read/mlir_syntax.def"
#undef SYNTAX
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (str_is(word, rows[i].word) && str_is(op->name, rows[i].op)) return str_of(rows[i].attr);
  }
  return word;
}

static void add_attr(Pretty *pretty, Str word, MlirAttr value) {
  mlir_dict_add(pretty->reader, &pretty->op->attrs, attr_name(pretty->op, word), value);
}

static void add_ints(Pretty *pretty, const char *name, const int64_t *values, uint32_t n) {
  Ints ints = {arena_copy(pretty->reader->scratch, values, n * sizeof *values), n};
  add_attr(pretty, str_of(name), (MlirAttr){.kind = MLIR_ARRAY, .at = pretty->op->at, .n = n, .ints = ints});
}

static Status add_operand(Pretty *pretty) {
  uint32_t value;
  TRY(mlir_operand(pretty->reader, &value));
  VEC_PUSH(pretty->reader->scratch, &pretty->operands, value);
  return STATUS_OK;
}

static void set_operands(Pretty *pretty) {
  pretty->op->operands = (Ids){pretty->operands.at, pretty->operands.n};
}

/* {attributes} where they come next. */
static Status optional_dict(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  if (lex_peek(&reader->lex) != '{') return STATUS_OK;
  return mlir_dict(reader, '{', '}', &pretty->op->attrs);
}

static Status optional_attributes(Pretty *pretty) {
  if (!mlir_accept_word(&pretty->reader->lex, "attributes")) return STATUS_OK;
  return mlir_dict(pretty->reader, '{', '}', &pretty->op->attrs);
}

static Status read_types(Pretty *pretty) {
  set_operands(pretty);
  return mlir_result_types(pretty->reader, pretty->op, pretty->results);
}

/* Items. */

/* [0:8, 2:4:2] */
static Status read_slices(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  Lexer *lex = &reader->lex;
  Vec(int64_t) starts = {0}, limits = {0}, strides = {0};
  TRY(lex_expect(lex, '['));
  for (bool more = !lex_accept(lex, ']'); more;) {
    int64_t start, limit, stride = 1;
    TRY(lex_int(lex, &start));
    TRY(lex_expect(lex, ':'));
    TRY(lex_int(lex, &limit));
    if (lex_accept(lex, ':')) TRY(lex_int(lex, &stride));
    VEC_PUSH(reader->scratch, &starts, start);
    VEC_PUSH(reader->scratch, &limits, limit);
    VEC_PUSH(reader->scratch, &strides, stride);
    TRY(lex_more(lex, ']', &more));
  }
  add_ints(pretty, "start_indices", starts.at, starts.n);
  add_ints(pretty, "limit_indices", limits.at, limits.n);
  add_ints(pretty, "strides", strides.at, strides.n);
  return STATUS_OK;
}

/* What stands in brackets after an operand. */
static Status read_subscript(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  MlirAttr index;
  if (str_is(pretty->op->name, "stablehlo.slice")) return read_slices(pretty);
  TRY(lex_expect(&reader->lex, '['));
  TRY(mlir_attr(reader, &index));
  add_attr(pretty, STR("index"), index);
  return lex_expect(&reader->lex, ']');
}

static Status read_operand_item(Pretty *pretty) {
  TRY(add_operand(pretty));
  return lex_peek(&pretty->reader->lex) == '[' ? read_subscript(pretty) : STATUS_OK;
}

static Str numbered(Pretty *pretty, const char *name, uint32_t *number) {
  return str_printf(pretty->reader->scratch, "%s%u", name, (*number)++);
}

/* `key = value`, or a word alone. */
static Status read_word_item(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  Lexer *lex = &reader->lex;
  MlirAttr value = {.kind = MLIR_WORD, .at = lex->at};
  Str word = value.text = mlir_word(lex);
  if (word.n == 0) return lex_expected(lex, "an operand, an attribute or ':'");
  if (lex_accept(lex, '='))
    TRY(mlir_untyped_attr(reader, &value));
  else
    word = numbered(pretty, "word", &pretty->n_words);
  add_attr(pretty, word, value);
  return STATUS_OK;
}

/* An attribute that stands without a key: a list of axes, <@mesh, …>. */
static Status read_bare_item(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  MlirAttr value = {.kind = MLIR_DIALECT, .at = reader->lex.at};
  TRY(mlir_balanced(&reader->lex, &value.text));
  value.raw = (Str){value.at, (size_t)(reader->lex.at - value.at)};
  add_attr(pretty, numbered(pretty, "list", &pretty->n_lists), value);
  return STATUS_OK;
}

static Status read_named_item(Pretty *pretty, const char *name) {
  MlirAttr value;
  TRY(mlir_untyped_attr(pretty->reader, &value));
  add_attr(pretty, str_of(name), value);
  return STATUS_OK;
}

static Status read_items(Pretty *pretty, char close);

static Status read_bracketed_items(Pretty *pretty) {
  Lexer *lex = &pretty->reader->lex;
  TRY(lex_enter(lex));
  TRY(lex_expect(lex, '('));
  TRY(read_items(pretty, ')'));
  lex_leave(lex);
  return lex_expect(lex, ')');
}

/* {"a", "b":(1)2} before the operand of a collective of Shardy's are axes, no attributes. */
static Status read_braced_item(Pretty *pretty) {
  bool axes = str_starts(pretty->op->name, "sdy.") && pretty->operands.n == 0;
  return axes ? read_bare_item(pretty) : optional_dict(pretty);
}

static Status read_item(Pretty *pretty) {
  switch (lex_peek(&pretty->reader->lex)) {
  case '%': return read_operand_item(pretty);
  case '(': return read_bracketed_items(pretty);
  case '@': return read_named_item(pretty, "symbol");
  case '"': return read_named_item(pretty, "string");
  case '{': return read_braced_item(pretty);
  case '[':
  case '<': return read_bare_item(pretty);
  default:
    return str_is(mlir_peek_word(&pretty->reader->lex), "attributes") ? optional_attributes(pretty)
                                                                      : read_word_item(pretty);
  }
}

/* Items, with commas between them or not, up to `close`, which is not taken. */
static Status read_items(Pretty *pretty, char close) {
  Lexer *lex = &pretty->reader->lex;
  while (lex_peek(lex) != close) {
    if (!lex_accept(lex, ',')) TRY(read_item(pretty));
  }
  return STATUS_OK;
}

static Status read_row(Pretty *pretty) {
  TRY(read_items(pretty, ':'));
  return read_types(pretty);
}

/* Operations with a syntax of their own. */

/* return %a, %b : types; without any where there is nothing to return. */
static Status read_return(Pretty *pretty) {
  Lexer *lex = &pretty->reader->lex;
  TRY(optional_dict(pretty));
  if (lex_peek(lex) != '%') return STATUS_OK;
  do TRY(add_operand(pretty));
  while (lex_accept(lex, ','));
  return read_types(pretty);
}

/* constant {attributes} dense<…> : type */
static Status read_constant(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  MlirAttr value;
  TRY(optional_dict(pretty));
  TRY(mlir_attr(reader, &value));
  RETURN_IF(value.kind != MLIR_DENSE, LEX_FAIL(&reader->lex, value.at, NULL, "expected dense<…> : type"));
  add_attr(pretty, STR("value"), value);
  VEC_PUSH(reader->scratch, pretty->results, value.type);
  return STATUS_OK;
}

/* (%a init: %b), (%c init: %d) */
static Status read_reduce_operands(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  Lexer *lex = &reader->lex;
  Vec(uint32_t) inits = {0};
  do {
    uint32_t init;
    TRY(lex_expect(lex, '('));
    TRY(add_operand(pretty));
    TRY(mlir_expect_word(lex, "init"));
    TRY(lex_expect(lex, ':'));
    TRY(mlir_operand(reader, &init));
    VEC_PUSH(reader->scratch, &inits, init);
    TRY(lex_expect(lex, ')'));
  } while (lex_accept(lex, ','));
  for (uint32_t i = 0; i < inits.n; i++) VEC_PUSH(reader->scratch, &pretty->operands, inits.at[i]);
  return STATUS_OK;
}

static Status read_across(Pretty *pretty) {
  Lexer *lex = &pretty->reader->lex;
  TRY(mlir_expect_word(lex, "across"));
  TRY(mlir_expect_word(lex, "dimensions"));
  TRY(lex_expect(lex, '='));
  TRY(read_named_item(pretty, "dimensions"));
  TRY(optional_dict(pretty));
  return read_types(pretty);
}

static MlirRegion *add_regions(Pretty *pretty, uint32_t n) {
  pretty->op->regions = ARENA_ARRAY(pretty->reader->scratch, MlirRegion, n);
  pretty->op->n_regions = n;
  return pretty->op->regions;
}

/* The region that `applies stablehlo.add` stands for. */
static Status make_reducer(Pretty *pretty, Str name) {
  MlirReader *reader = pretty->reader;
  MlirRegion *region = add_regions(pretty, 1);
  const char *at = pretty->op->at;
  RETURN_IF(pretty->operands.n != 2, LEX_FAIL(&reader->lex, at, NULL, "'applies' takes one operand"));
  const Shape *type = reader->values.at[pretty->operands.at[1]].type;
  MlirScope outer = mlir_open(reader, region);
  TRY(mlir_arg(reader, region, STR("lhs of applies"), type, at));
  TRY(mlir_arg(reader, region, STR("rhs of applies"), type, at));
  uint32_t result = reader->values.n;
  VEC_PUSH(reader->scratch, &reader->values, (MlirValue){.type = type, .count = 1, .scope = reader->scope});
  uint32_t args[] = {region->arg, region->arg + 1};
  MlirOp apply = {.name = name, .operands = {arena_copy(reader->scratch, args, sizeof args), 2}, .at = at};
  apply.result = result;
  apply.n_results = 1;
  MlirOp give = {.name = STR("stablehlo.return"), .at = at};
  give.operands = (Ids){arena_copy(reader->scratch, &result, sizeof result), 1};
  VEC_PUSH(reader->scratch, &region->ops, apply);
  VEC_PUSH(reader->scratch, &region->ops, give);
  mlir_close(reader, outer);
  return STATUS_OK;
}

typedef struct {
  Str name;
  const Shape *type;
  const char *at;
} NamedType;

static Status read_named_type(MlirReader *reader, NamedType *arg) {
  uint32_t location;
  lex_peek(&reader->lex);
  arg->at = reader->lex.at;
  TRY(mlir_value_name(reader, &arg->name));
  TRY(lex_expect(&reader->lex, ':'));
  TRY(mlir_type(reader, &arg->type));
  RETURN_IF(arg->type == NULL, lex_expected(&reader->lex, "a type that is not a function's"));
  return mlir_location(reader, &location);
}

/* reducer(%a: type, %b: type) (%c: type, %d: type) { … }: a pair for each operand; the region's arguments are
 * first all of the left, then all of the right. */
static Status read_reducer(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  Lexer *lex = &reader->lex;
  Vec(NamedType) left = {0}, right = {0};
  MlirRegion *region = add_regions(pretty, 1);
  while (lex_accept(lex, '(')) {
    NamedType pair[2];
    TRY(read_named_type(reader, &pair[0]));
    TRY(lex_expect(lex, ','));
    TRY(read_named_type(reader, &pair[1]));
    TRY(lex_expect(lex, ')'));
    VEC_PUSH(reader->scratch, &left, pair[0]);
    VEC_PUSH(reader->scratch, &right, pair[1]);
  }
  MlirScope outer = mlir_open(reader, region);
  for (uint32_t i = 0; i < left.n; i++)
    TRY(mlir_arg(reader, region, left.at[i].name, left.at[i].type, left.at[i].at));
  for (uint32_t i = 0; i < right.n; i++)
    TRY(mlir_arg(reader, region, right.at[i].name, right.at[i].type, right.at[i].at));
  TRY(mlir_body(reader, region));
  mlir_close(reader, outer);
  return STATUS_OK;
}

static Status read_reduce(Pretty *pretty) {
  Lexer *lex = &pretty->reader->lex;
  TRY(read_reduce_operands(pretty));
  if (mlir_accept_word(lex, "applies")) {
    Str name = mlir_word(lex);
    if (name.n == 0) return lex_expected(lex, "an operation");
    TRY(make_reducer(pretty, name));
    return read_across(pretty);
  }
  TRY(read_across(pretty));
  TRY(mlir_expect_word(lex, "reducer"));
  return read_reducer(pretty);
}

/* (%arg = %value, …) */
typedef Vec(NamedType) LoopArgs;

static Status read_loop_args(Pretty *pretty, LoopArgs *args) {
  MlirReader *reader = pretty->reader;
  Lexer *lex = &reader->lex;
  TRY(lex_expect(lex, '('));
  for (bool more = !lex_accept(lex, ')'); more;) {
    NamedType arg = {.at = lex->at};
    TRY(mlir_value_name(reader, &arg.name));
    TRY(lex_expect(lex, '='));
    TRY(add_operand(pretty));
    arg.type = reader->values.at[pretty->operands.at[pretty->operands.n - 1]].type;
    VEC_PUSH(reader->scratch, args, arg);
    TRY(lex_more(lex, ')', &more));
  }
  return STATUS_OK;
}

static Status read_loop_region(Pretty *pretty, const LoopArgs *args, MlirRegion *region) {
  MlirReader *reader = pretty->reader;
  MlirScope outer = mlir_open(reader, region);
  for (uint32_t i = 0; i < args->n; i++)
    TRY(mlir_arg(reader, region, args->at[i].name, args->at[i].type, args->at[i].at));
  TRY(mlir_body(reader, region));
  mlir_close(reader, outer);
  return STATUS_OK;
}

/* while(%arg = %value, …) : types attributes {…} cond { … } do { … } */
static Status read_while(Pretty *pretty) {
  Lexer *lex = &pretty->reader->lex;
  LoopArgs args = {0};
  TRY(read_loop_args(pretty, &args));
  set_operands(pretty);
  if (lex_accept(lex, ':') && args.n > 0) {
    do TRY(mlir_types(pretty->reader, pretty->results));
    while (lex_accept(lex, ','));
  }
  TRY(optional_attributes(pretty));
  MlirRegion *regions = add_regions(pretty, 2);
  TRY(mlir_expect_word(lex, "cond"));
  TRY(read_loop_region(pretty, &args, &regions[0]));
  TRY(mlir_expect_word(lex, "do"));
  return read_loop_region(pretty, &args, &regions[1]);
}

/* sdy.mesh @name = <["a"=2]> */
static Status read_mesh(Pretty *pretty) {
  Lexer *lex = &pretty->reader->lex;
  TRY(read_named_item(pretty, "sym_name"));
  TRY(lex_expect(lex, '='));
  TRY(read_named_item(pretty, "mesh"));
  return optional_dict(pretty);
}

/* sdy.manual_computation(%a) in_shardings=… out_shardings=… manual_axes=… (%b: type) { … } : types
 * sdy.named_computation<"name">(%a) in_shardings=… out_shardings=… (%b: type) { … } : types */
static Status read_manual(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  MlirAttr attrs;
  Lexer *lex = &reader->lex;
  if (lex_accept(lex, '<')) {
    TRY(read_named_item(pretty, "name"));
    TRY(lex_expect(lex, '>'));
  }
  TRY(read_bracketed_items(pretty));
  while (mlir_peek_word(lex).n != 0) TRY(read_word_item(pretty));
  MlirRegion *region = add_regions(pretty, 1);
  MlirScope outer = mlir_open(reader, region);
  TRY(mlir_args(reader, region, &attrs));
  TRY(mlir_body(reader, region));
  mlir_close(reader, outer);
  TRY(optional_dict(pretty));
  return read_types(pretty);
}

/* chlo.scan(%a, …) inits (%b, …) dimension = 0 attributes {…} { ^bb0(…): … } : (types) -> types */
static Status read_scan(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  Lexer *lex = &reader->lex;
  TRY(read_bracketed_items(pretty));
  TRY(mlir_expect_word(lex, "inits"));
  TRY(read_bracketed_items(pretty));
  TRY(read_word_item(pretty));
  TRY(optional_attributes(pretty));
  MlirRegion *region = add_regions(pretty, 1);
  MlirScope outer = mlir_open(reader, region);
  TRY(mlir_body(reader, region));
  mlir_close(reader, outer);
  return read_types(pretty);
}

/* `-> (type {attributes}, …)` or `-> type` of a function. */
static Status read_function_results(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  Lexer *lex = &reader->lex;
  Vec(MlirAttr) items = {0};
  if (!lex_accept_text(lex, "->")) return STATUS_OK;
  bool brackets = lex_accept(lex, '('), more = !brackets || !lex_accept(lex, ')');
  while (more) {
    MlirDict dict = {0};
    const Shape *type;
    TRY(mlir_type(reader, &type));
    if (brackets && lex_peek(lex) == '{') TRY(mlir_dict(reader, '{', '}', &dict));
    MlirAttr item = {.kind = MLIR_DICT, .at = lex->at, .entries = dict.at, .n = dict.n, .type = type};
    VEC_PUSH(reader->scratch, &items, item);
    more = brackets;
    if (brackets) TRY(lex_more(lex, ')', &more));
  }
  MlirAttr attrs = {.kind = MLIR_ARRAY, .at = pretty->op->at, .items = items.at, .n = items.n};
  add_attr(pretty, STR("res_attrs"), attrs);
  return STATUS_OK;
}

/* func.func public @name(arguments) -> results attributes {…} { … } */
static Status read_function(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  Lexer *lex = &reader->lex;
  MlirAttr arg_attrs;
  StrMap *outer_names = reader->names;
  reader->names = map_new(reader->scratch);
  if (mlir_peek_word(lex).n != 0) TRY(read_word_item(pretty));
  TRY(read_named_item(pretty, "sym_name"));
  MlirRegion *region = add_regions(pretty, 1);
  MlirScope outer = mlir_open(reader, region);
  TRY(mlir_args(reader, region, &arg_attrs));
  add_attr(pretty, STR("arg_attrs"), arg_attrs);
  TRY(read_function_results(pretty));
  TRY(optional_attributes(pretty));
  RETURN_IF(lex_peek(lex) != '{',
            LEX_FAIL(lex, pretty->op->at, NULL, "a function without a body is not supported"));
  TRY(mlir_body(reader, region));
  mlir_close(reader, outer);
  reader->names = outer_names;
  return STATUS_OK;
}

/* module @name attributes {…} { … } */
static Status read_module(Pretty *pretty) {
  MlirReader *reader = pretty->reader;
  if (lex_peek(&reader->lex) == '@') TRY(read_named_item(pretty, "sym_name"));
  TRY(optional_attributes(pretty));
  MlirRegion *region = add_regions(pretty, 1);
  MlirScope outer = mlir_open(reader, region);
  TRY(mlir_body(reader, region));
  mlir_close(reader, outer);
  return STATUS_OK;
}

static Syntax *syntax_of(Str name) {
  static const struct {
    const char *name;
    Syntax *syntax;
  } own[] = {
      {"builtin.module", read_module},
      {"module", read_module},
      {"func.func", read_function},
      {"func", read_function},
      {"return", read_return},
      {"func.return", read_return},
      {"stablehlo.return", read_return},
      {"sdy.return", read_return},
      {"mhlo.return", read_return},
      {"stablehlo.constant", read_constant},
      {"chlo.constant", read_constant},
      {"sdy.constant", read_constant},
      {"mhlo.constant", read_constant},
      {"stablehlo.reduce", read_reduce},
      {"stablehlo.while", read_while},
      {"chlo.scan", read_scan},
      {"sdy.mesh", read_mesh},
      {"sdy.manual_computation", read_manual},
      {"sdy.named_computation", read_manual},
  };
  for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
    if (str_is(name, own[i].name)) return own[i].syntax;
  }
  return read_row;
}

Status mlir_pretty(MlirReader *reader, MlirOp *op, MlirTypes *results) {
  Pretty pretty = {.reader = reader, .op = op, .results = results};
  return syntax_of(op->name)(&pretty);
}

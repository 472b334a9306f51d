/* Attributes of MLIR text. Those of dialects keep their text between the brackets: mlir_struct() takes it
 * apart where somebody asks. Grammar: MLIR language reference, "Attributes"; StableHLO's and Shardy's own. */
#include "sim/read/mlir.h"

void mlir_dict_add(MlirReader *reader, MlirDict *dict, Str name, MlirAttr value) {
  uint32_t room = dict->n < 4 ? 4 : dict->n;
  if (dict->n == 0 || (dict->n >= 4 && (dict->n & (dict->n - 1)) == 0)) {
    MlirNamed *grown = ARENA_ARRAY(reader->scratch, MlirNamed, dict->n == 0 ? room : (size_t)2 * room);
    if (dict->n != 0) memcpy(grown, dict->at, dict->n * sizeof *grown);
    dict->at = grown;
  }
  dict->at[dict->n++] = (MlirNamed){name, value};
}

const MlirAttr *mlir_get(MlirDict dict, const char *name) {
  for (uint32_t i = 0; i < dict.n; i++) {
    if (str_is(dict.at[i].name, name)) return &dict.at[i].value;
  }
  return NULL;
}

/* Numbers. */

static bool in_number(char c, char before) {
  bool sign = (c == '-' || c == '+') && (before | 0x20) == 'e';
  return (c >= '0' && c <= '9') || c == '.' || sign || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
         c == 'x';
}

static Str peek_number(Lexer *lex) {
  const char *stop = lex->at + 1;
  bool hex = lex->end - lex->at > 2 && lex->at[0] == '0' && lex->at[1] == 'x';
  while (stop < lex->end && in_number(*stop, hex ? 0 : stop[-1])) {
    if (*stop == 'x' && !hex) break; /* a size of a type */
    stop++;
  }
  return (Str){lex->at, (size_t)(stop - lex->at)};
}

/* `: type` after a number or a string. */
static Status read_attr_type(MlirReader *reader, MlirAttr *attr) {
  return lex_accept(&reader->lex, ':') ? mlir_type(reader, &attr->type) : STATUS_OK;
}

static Status read_number(MlirReader *reader, MlirAttr *attr) {
  Lexer *lex = &reader->lex;
  attr->text = peek_number(lex);
  bool whole = str_to_int(attr->text, &attr->integer);
  attr->kind = whole ? MLIR_INT : MLIR_FLOAT;
  lex->at += attr->text.n;
  RETURN_IF(attr->text.n == 1 && (attr->text.at[0] < '0' || attr->text.at[0] > '9'),
            LEX_FAIL(lex, attr->at, NULL, "expected a number, found '%c'", attr->text.at[0]));
  return STATUS_OK;
}

static Status read_typed_number(MlirReader *reader, MlirAttr *attr) {
  TRY(read_number(reader, attr));
  return read_attr_type(reader, attr);
}

/* Lists. */

/* The numbers of a list that holds nothing else. */
static void collect_ints(MlirReader *reader, MlirAttr *attr) {
  for (uint32_t i = 0; i < attr->n; i++) {
    if (attr->items[i].kind != MLIR_INT && attr->items[i].kind != MLIR_BOOL) return;
  }
  attr->ints = (Ints){ARENA_ARRAY(reader->scratch, int64_t, attr->n), attr->n};
  for (uint32_t i = 0; i < attr->n; i++) attr->ints.at[i] = attr->items[i].integer;
}

static Status read_items(MlirReader *reader, char close, MlirAttr *attr) {
  Lexer *lex = &reader->lex;
  Vec(MlirAttr) items = {0};
  for (bool more = !lex_accept(lex, close); more;) {
    MlirAttr item;
    TRY(mlir_attr(reader, &item));
    VEC_PUSH(reader->scratch, &items, item);
    TRY(lex_more(lex, close, &more));
  }
  attr->kind = MLIR_ARRAY;
  attr->items = items.at;
  attr->n = items.n;
  collect_ints(reader, attr);
  return STATUS_OK;
}

/* `x [1]` or `->[b, f]` after a list. */
static Status read_next_list(MlirReader *reader, MlirAttr *attr) {
  Lexer *lex = &reader->lex, ahead = *lex;
  bool follows = lex_accept(&ahead, 'x') || lex_accept_text(&ahead, "->");
  if (!follows || lex_peek(&ahead) != '[') return STATUS_OK;
  *lex = ahead;
  MlirAttr *next = ARENA_NEW(reader->scratch, MlirAttr);
  TRY(mlir_attr(reader, next));
  attr->next = next;
  return STATUS_OK;
}

static Status read_list(MlirReader *reader, MlirAttr *attr) {
  TRY(lex_expect(&reader->lex, '['));
  TRY(read_items(reader, ']', attr));
  return read_next_list(reader, attr);
}

/* <i64: 1, 2> after `array`. */
static Status read_array(MlirReader *reader, MlirAttr *attr) {
  Lexer *lex = &reader->lex;
  const Shape *type;
  TRY(lex_expect(lex, '<'));
  TRY(mlir_type(reader, &type));
  attr->kind = MLIR_ARRAY;
  if (lex_accept(lex, '>')) return STATUS_OK;
  TRY(lex_expect(lex, ':'));
  return read_items(reader, '>', attr);
}

/* Dictionaries. */

static Status read_entry_name(Lexer *lex, Str *name) {
  if (lex_peek(lex) == '"') return mlir_string(lex, name);
  *name = mlir_word(lex);
  return name->n != 0 ? STATUS_OK : lex_expected(lex, "the name of an attribute");
}

static Status read_entry(MlirReader *reader, MlirDict *dict) {
  Lexer *lex = &reader->lex;
  Str name;
  lex_peek(lex);
  MlirAttr value = {.kind = MLIR_UNIT, .at = lex->at};
  TRY(read_entry_name(lex, &name));
  if (lex_accept(lex, '=')) TRY(mlir_attr(reader, &value));
  mlir_dict_add(reader, dict, name, value);
  return STATUS_OK;
}

Status mlir_dict(MlirReader *reader, char open, char close, MlirDict *dict) {
  Lexer *lex = &reader->lex;
  TRY(lex_expect(lex, open));
  for (bool more = !lex_accept(lex, close); more;) {
    TRY(read_entry(reader, dict));
    TRY(lex_more(lex, close, &more));
  }
  return STATUS_OK;
}

static Status read_dict(MlirReader *reader, MlirAttr *attr) {
  MlirDict dict = {0};
  TRY(mlir_dict(reader, '{', '}', &dict));
  attr->kind = MLIR_DICT;
  attr->entries = dict.at;
  attr->n = dict.n;
  return STATUS_OK;
}

Status mlir_struct(MlirReader *reader, const MlirAttr *attr, MlirDict *dict) {
  *dict = (MlirDict){attr->entries, attr->n};
  if (attr->kind == MLIR_DICT) return STATUS_OK;
  Lexer outer = reader->lex;
  RETURN_IF(attr->kind != MLIR_DIALECT,
            LEX_FAIL(&outer, attr->at, NULL, "expected an attribute like #dialect.name<key = value>"));
  *dict = (MlirDict){0};
  reader->lex = mlir_part(&outer, attr->text);
  for (bool more = !lex_at_end(&reader->lex); more; more = lex_accept(&reader->lex, ','))
    TRY(read_entry(reader, dict));
  if (!lex_at_end(&reader->lex)) return lex_expected(&reader->lex, "',' or '>'");
  reader->lex = outer;
  return STATUS_OK;
}

/* Attributes of dialects. */

/* `precision DEFAULT`: an enumeration is its last word. */
static bool as_enum(MlirReader *reader, MlirAttr *attr) {
  Lexer part = mlir_part(&reader->lex, attr->text);
  Str first = mlir_word(&part), second = mlir_word(&part);
  if (first.n == 0 || !lex_at_end(&part)) return false;
  attr->kind = MLIR_WORD;
  attr->text = second.n != 0 ? second : first;
  return true;
}

/* #name, #name<…>, #dialect<word …> */
static Status read_dialect_attr(MlirReader *reader, MlirAttr *attr) {
  Lexer *lex = &reader->lex;
  TRY(lex_expect(lex, '#'));
  TRY(mlir_suffix_name(lex, "the name of an attribute", &attr->name));
  uint32_t alias;
  if (map_get(reader->aliases, attr->name, &alias)) {
    *attr = reader->aliased.at[alias];
    return STATUS_OK;
  }
  attr->kind = MLIR_DIALECT;
  if (lex->at >= lex->end || *lex->at != '<')
    return LEX_FAIL(lex, attr->at, NULL, "'#%.*s' is not defined above", STR_ARG(str_sub(attr->name, 0, 80)));
  TRY(mlir_balanced(lex, &attr->text));
  as_enum(reader, attr);
  return STATUS_OK;
}

/* <…> where the kind is known from the place. */
static Status read_bare_dialect_attr(MlirReader *reader, MlirAttr *attr) {
  attr->kind = MLIR_DIALECT;
  return mlir_balanced(&reader->lex, &attr->text);
}

/* dense_resource<name>: elements that are told at the end of the text, or nowhere. */
static Status use_resource(MlirReader *reader, Str body, MlirAttr *attr) {
  Literal *elided = ARENA_NEW(reader->arena, Literal);
  Lexer inside = mlir_part(&reader->lex, str_trim(body));
  Str name;
  TRY(mlir_suffix_name(&inside, "the name of a resource", &name));
  *elided = (Literal){.shape = attr->type, .elided = true};
  attr->literal = elided;
  VEC_PUSH(reader->scratch, &reader->resources, (MlirResource){name, elided, attr->at});
  return STATUS_OK;
}

/* Dense elements: the values are read when the type behind them is known. */
static Status read_dense(MlirReader *reader, bool resource, MlirAttr *attr) {
  Lexer *lex = &reader->lex;
  Str body;
  TRY(mlir_balanced(lex, &body));
  TRY(lex_expect(lex, ':'));
  TRY(mlir_type(reader, &attr->type));
  RETURN_IF(attr->type == NULL || !shape_is_array(attr->type),
            LEX_FAIL(lex, attr->at, NULL, "elements of this type cannot be written"));
  attr->kind = MLIR_DENSE;
  if (!resource) return mlir_dense(reader, body, attr->type, &attr->literal);
  return use_resource(reader, body, attr);
}

/* Words. */

static Status read_symbol(MlirReader *reader, MlirAttr *attr) {
  TRY(lex_expect(&reader->lex, '@'));
  attr->kind = MLIR_SYMBOL;
  return mlir_suffix_name(&reader->lex, "a name after '@'", &attr->text);
}

static Status read_typed_string(MlirReader *reader, MlirAttr *attr) {
  attr->kind = MLIR_STRING;
  TRY(mlir_string(&reader->lex, &attr->text));
  return read_attr_type(reader, attr);
}

static Status read_type_attr(MlirReader *reader, MlirAttr *attr) {
  attr->kind = MLIR_TYPE;
  return mlir_type(reader, &attr->type);
}

static Status read_word(MlirReader *reader, MlirAttr *attr) {
  Lexer *lex = &reader->lex;
  if (mlir_accept_word(lex, "dense")) return read_dense(reader, false, attr);
  if (mlir_accept_word(lex, "dense_resource")) return read_dense(reader, true, attr);
  if (mlir_accept_word(lex, "array")) return read_array(reader, attr);
  if (mlir_at_type(lex)) return read_type_attr(reader, attr);
  attr->text = mlir_word(lex);
  bool yes = str_is(attr->text, "true");
  attr->integer = yes;
  attr->kind = yes || str_is(attr->text, "false") ? MLIR_BOOL
               : str_is(attr->text, "unit")       ? MLIR_UNIT
                                                  : MLIR_WORD;
  if (attr->text.n == 0) return lex_expected(lex, "an attribute");
  return lex_peek(lex) == '<' ? mlir_balanced(lex, &attr->name) : STATUS_OK; /* affine_map<…> and its like */
}

static Status read_attr(MlirReader *reader, MlirAttr *attr) {
  switch (lex_peek(&reader->lex)) {
  case '"': return read_typed_string(reader, attr);
  case '[': return read_list(reader, attr);
  case '{': return read_dict(reader, attr);
  case '<': return read_bare_dialect_attr(reader, attr);
  case '#': return read_dialect_attr(reader, attr);
  case '@': return read_symbol(reader, attr);
  case '(':
  case '!': return read_type_attr(reader, attr);
  case '-':
  case '0' ... '9': return read_typed_number(reader, attr);
  default: return read_word(reader, attr);
  }
}

Status mlir_attr(MlirReader *reader, MlirAttr *attr) {
  lex_peek(&reader->lex);
  *attr = (MlirAttr){.at = reader->lex.at};
  TRY(lex_enter(&reader->lex));
  const char *start = attr->at;
  TRY(read_attr(reader, attr));
  attr->raw = (Str){start, (size_t)(reader->lex.at - start)};
  lex_leave(&reader->lex);
  return STATUS_OK;
}

Status mlir_untyped_attr(MlirReader *reader, MlirAttr *attr) {
  char c = lex_peek(&reader->lex);
  if (c != '-' && c != '"' && (c < '0' || c > '9')) return mlir_attr(reader, attr);
  *attr = (MlirAttr){.kind = MLIR_STRING, .at = reader->lex.at};
  TRY(c == '"' ? mlir_string(&reader->lex, &attr->text) : read_number(reader, attr));
  attr->raw = (Str){attr->at, (size_t)(reader->lex.at - attr->at)};
  return STATUS_OK;
}

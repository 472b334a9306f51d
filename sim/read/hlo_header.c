/* What stands before the computations: the line `HloModule name, key=value, …`, and the tables FileNames,
 * FunctionNames, FileLocations and StackFrames, which tell where in the user's code an instruction comes
 * from. Both are kept as text; what podsim itself needs of them is taken out on the way. */
#include "sim/read/hlo_parse.h"

enum { MOST_DEVICES = 1 << 24, MOST_KEYS = 256 };

static const char *const key_names[] = {
    "is_scheduled",
    "replica_count",
    "num_partitions",
    "input_output_alias",
    "buffer_donor",
    "alias_passthrough_params",
    "entry_computation_layout",
    "frontend_attributes",
    "allow_spmd_sharding_propagation_to_parameters",
    "allow_spmd_sharding_propagation_to_output",
    "origin_recovery_table",
    "original_value_recovery_table",
    "debug_attributes",
};

/* Header keys. */

static Status read_count(Reader *reader, int64_t *count) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  TRY(lex_int_from(lex, 1, count));
  RETURN_IF(*count > MOST_DEVICES,
            LEX_FAIL(lex, start, NULL, "podsim takes at most %d devices", MOST_DEVICES));
  return STATUS_OK;
}

/* {(params)->result}, made anew so that blanks and comments in it do not count. */
static Status read_entry_layout(Reader *reader, Str *text) {
  Lexer *lex = &reader->lex;
  EntryLayout *layout = &reader->entry_layout;
  lex_peek(lex);
  layout->place = lex_place(lex, lex->at);
  TRY(lex_expect(lex, '{'));
  if (lex_peek(lex) != '(') return lex_expected(lex, "'(' and the shapes of the parameters");
  TRY(read_shape(reader, reader->scratch, &layout->params));
  if (!lex_accept_text(lex, "->")) return lex_expected(lex, "'->'");
  TRY(read_shape(reader, reader->scratch, &layout->result));
  TRY(lex_expect(lex, '}'));
  StrBuf buf = {.arena = reader->arena};
  buf_char(&buf, '{');
  shape_print(&buf, layout->params, true);
  buf_add(&buf, STR("->"));
  shape_print(&buf, layout->result, true);
  buf_char(&buf, '}');
  *text = buf_str(&buf);
  return STATUS_OK;
}

/* Takes what podsim needs of the value, and its text. */
static Status read_header_value(Reader *reader, HeaderKey *key) {
  Lexer *lex = &reader->lex;
  Module *module = reader->module;
  lex_peek(lex);
  const char *start = lex->at;
  if (str_is(key->key, "entry_computation_layout")) return read_entry_layout(reader, &key->text);
  if (str_is(key->key, "num_partitions"))
    TRY(read_count(reader, &module->num_partitions));
  else if (str_is(key->key, "replica_count"))
    TRY(read_count(reader, &module->replica_count));
  else if (str_is(key->key, "frontend_attributes"))
    TRY(read_key_values(reader, &module->frontend));
  else
    return lex_raw(lex, &key->text);
  key->text = (Str){start, (size_t)(lex->at - start)};
  return STATUS_OK;
}

/* A key that is nearly a known one is a slip; any other may be newer than podsim and is carried. */
static Status check_key(Reader *reader, Str key) {
  enum { N = sizeof key_names / sizeof *key_names };
  for (size_t i = 0; i < N; i++) {
    if (str_is(key, key_names[i])) return STATUS_OK;
  }
  if (str_nearest(key, key_names, N) != NULL)
    return unknown_word(&reader->lex, key, "key of the module", key_names, N);
  diag_note(reader->lex.diag, lex_place(&reader->lex, key.at), "%.*s is not known and only carried along",
            STR_ARG(key));
  return STATUS_OK;
}

static Status read_header_key(Reader *reader) {
  Lexer *lex = &reader->lex;
  HeaderKey key = {.key = lex_peek_word(lex)};
  if (key.key.n == 0) return lex_expected(lex, "a key of the module");
  TRY(check_key(reader, key.key));
  RETURN_IF(reader->module->header.n == MOST_KEYS,
            LEX_FAIL(lex, lex->at, NULL, "too many keys of the module"));
  for (uint32_t i = 0; i < reader->module->header.n; i++)
    RETURN_IF(str_eq(reader->module->header.at[i].key, key.key),
              LEX_FAIL(lex, lex->at, NULL, "%.*s is given twice", STR_ARG(key.key)));
  lex->at += key.key.n;
  TRY(lex_expect(lex, '='));
  TRY(read_header_value(reader, &key));
  VEC_PUSH(reader->arena, &reader->module->header, key);
  return STATUS_OK;
}

Status read_header(Reader *reader) {
  Lexer *lex = &reader->lex;
  if (!lex_accept_word(lex, "HloModule")) return STATUS_OK;
  TRY(lex_name(lex, "the name of the module", &reader->module->name));
  lex_accept(lex, ':');
  while (lex_accept(lex, ',')) TRY(read_header_key(reader));
  return STATUS_OK;
}

/* Tables. Each is a word and rows `id value`, ids from 1 on. */

static Status read_file_name(Reader *reader) {
  Str name;
  TRY(lex_string(&reader->lex, &name));
  VEC_PUSH(reader->scratch, &reader->tables.files, name);
  return STATUS_OK;
}

static Status read_function_name(Reader *reader) {
  Str name;
  return lex_string(&reader->lex, &name);
}

/* {key=3 key=4}, separators or not; the values of two keys are given back, 0 where they are not there. */
static Status read_row(Reader *reader, const char *first, int64_t *first_value, const char *second,
                       int64_t *second_value) {
  Lexer *lex = &reader->lex;
  *first_value = *second_value = 0;
  TRY(lex_expect(lex, '{'));
  while (!lex_accept(lex, '}')) {
    int64_t value;
    Str key = lex_word(lex);
    if (key.n == 0) return lex_expected(lex, "a key or '}'");
    TRY(lex_expect(lex, '='));
    TRY(lex_int_from(lex, 0, &value));
    if (str_is(key, first)) *first_value = value;
    if (str_is(key, second)) *second_value = value;
    lex_accept(lex, ',');
  }
  return STATUS_OK;
}

static Status read_file_location(Reader *reader) {
  FileLocation location;
  TRY(read_row(reader, "file_name_id", &location.file, "line", &location.line));
  VEC_PUSH(reader->scratch, &reader->tables.locations, location);
  return STATUS_OK;
}

static Status read_stack_frame(Reader *reader) {
  int64_t location, parent;
  TRY(read_row(reader, "file_location_id", &location, "parent_frame_id", &parent));
  VEC_PUSH(reader->scratch, &reader->tables.frames, location);
  return STATUS_OK;
}

static Status read_table(Reader *reader, const char *name, Status (*read_value)(Reader *), StrBuf *text) {
  Lexer *lex = &reader->lex;
  if (!lex_accept_word(lex, name)) return lex_expected(lex, name);
  buf_printf(text, "%s%s\n", text->n == 0 ? "" : "\n", name);
  for (int64_t row = 1; lex_peek(lex) >= '0' && lex_peek(lex) <= '9'; row++) {
    const char *start = lex->at;
    int64_t id;
    TRY(lex_int(lex, &id));
    RETURN_IF(id != row, LEX_FAIL(lex, start, NULL, "row %lld of %s has the number %lld", (long long)row,
                                  name, (long long)id));
    TRY(read_value(reader));
    buf_printf(text, "%.*s\n", STR_ARG(lex_clean(lex, start)));
  }
  return STATUS_OK;
}

Status read_tables(Reader *reader) {
  if (!str_is(lex_peek_word(&reader->lex), "FileNames")) return STATUS_OK;
  StrBuf text = {.arena = reader->arena};
  TRY(read_table(reader, "FileNames", read_file_name, &text));
  TRY(read_table(reader, "FunctionNames", read_function_name, &text));
  TRY(read_table(reader, "FileLocations", read_file_location, &text));
  TRY(read_table(reader, "StackFrames", read_stack_frame, &text));
  reader->module->tables = buf_str(&text);
  return STATUS_OK;
}

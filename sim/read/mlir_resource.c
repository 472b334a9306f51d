/* {-# dialect_resources: { builtin: { name: "0x0400…", … } } #-}: the elements of dense_resource<name>. A
 * resource is its alignment (4 bytes, little endian) and then its bytes, in hexadecimal. It stands behind the
 * program, so the literals are filled at the end; those that have none stay elided. */
#include "sim/read/mlir.h"

static Status read_entries(MlirReader *reader, StrMap *found);

/* A value: another list, a resource, or a word. */
static Status read_value(MlirReader *reader, Str name, StrMap *found) {
  Lexer *lex = &reader->lex;
  Str text;
  if (lex_peek(lex) == '{') return read_entries(reader, found);
  if (lex_peek(lex) != '"') return lex_raw(lex, &text);
  TRY(mlir_string(lex, &text));
  map_put(found, name, reader->resource_texts.n);
  VEC_PUSH(reader->scratch, &reader->resource_texts, text);
  return STATUS_OK;
}

/* { name: value, … } */
static Status read_entries(MlirReader *reader, StrMap *found) {
  Lexer *lex = &reader->lex;
  TRY(lex_enter(lex));
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    Str name = {0};
    lex_peek(lex);
    TRY(mlir_suffix_name(lex, "the name of a resource", &name));
    TRY(lex_expect(lex, ':'));
    TRY(read_value(reader, name, found));
    TRY(lex_more(lex, '}', &more));
  }
  lex_leave(lex);
  return STATUS_OK;
}

static Status fill(MlirReader *reader, const MlirResource *use, Str text) {
  enum { ALIGNMENT = 2 + 2 * 4 }; /* 0x, and 4 bytes */
  RETURN_IF(!str_starts(text, "0x") || text.n < ALIGNMENT || text.n % 2 != 0,
            LEX_FAIL(&reader->lex, use->at, NULL,
                     "the resource '%.*s' is not its alignment and bytes in hexadecimal",
                     STR_ARG(str_sub(use->name, 0, 80))));
  use->literal->elided = false;
  return mlir_dense_bytes(reader, use->at, str_sub(text, ALIGNMENT, text.n), use->literal->shape,
                          use->literal);
}

Status mlir_resources(MlirReader *reader) {
  Lexer *lex = &reader->lex;
  StrMap *found = map_new(reader->scratch);
  for (bool more = lex_peek(lex) != '#'; more; more = lex_accept(lex, ',')) {
    Str name = mlir_word(lex);
    if (name.n == 0) return lex_expected(lex, "dialect_resources");
    TRY(lex_expect(lex, ':'));
    TRY(read_entries(reader, found));
  }
  RETURN_IF(!lex_accept_text(lex, "#-}"), lex_expected(lex, "'#-}'"));
  for (uint32_t i = 0; i < reader->resources.n; i++) {
    uint32_t at;
    const MlirResource *use = &reader->resources.at[i];
    if (str_is(use->name, "__elided__")) continue; /* what MLIR prints in place of a large one */
    if (use->literal->elided && map_get(found, use->name, &at))
      TRY(fill(reader, use, reader->resource_texts.at[at]));
  }
  return STATUS_OK;
}

/* Locations: where the user's code asked for an operation. JAX names the operation ("jit(f)/mul") around the
 * call sites, innermost first, so the name is the outermost one and the line that of the innermost frame.
 * Aliases may come after their use: each name has a place in the table from its first mention on. */
#include "sim/read/mlir.h"

static uint32_t add_location(MlirReader *reader, MlirLocation location) {
  VEC_PUSH(reader->scratch, &reader->locations, location);
  return reader->locations.n - 1;
}

/* The place of #name, which may be filled later. */
static uint32_t alias_location(MlirReader *reader, Str name) {
  uint32_t location;
  if (map_get(reader->location_names, name, &location)) return location;
  location = add_location(reader, (MlirLocation){0});
  map_put(reader->location_names, name, location);
  return location;
}

static Status read_inside(MlirReader *reader, uint32_t *location);

/* "file":12:3 to 14:5, or "name"(inner), or a name alone. */
static Status read_text_location(MlirReader *reader, uint32_t *location) {
  Lexer *lex = &reader->lex;
  MlirLocation made = {.kind = LOCATION_NAME};
  int64_t line, column;
  TRY(mlir_string(lex, &made.text));
  if (lex_accept(lex, ':')) {
    made.kind = LOCATION_FILE;
    TRY(lex_int_from(lex, 0, &line));
    made.line = line < NO_ID ? (uint32_t)line : 0;
    TRY(lex_expect(lex, ':'));
    TRY(lex_int_from(lex, 0, &column));
    if (mlir_accept_word(lex, "to")) {
      if (lex_peek(lex) != ':') TRY(lex_int_from(lex, 0, &line));
      TRY(lex_expect(lex, ':'));
      TRY(lex_int_from(lex, 0, &column));
    }
  } else if (lex_accept(lex, '(')) {
    TRY(read_inside(reader, &made.inner));
    TRY(lex_expect(lex, ')'));
  }
  *location = add_location(reader, made);
  return STATUS_OK;
}

/* (callee at caller) */
static Status read_call_site(MlirReader *reader, uint32_t *location) {
  Lexer *lex = &reader->lex;
  MlirLocation made = {.kind = LOCATION_PAIR};
  uint32_t caller;
  TRY(lex_expect(lex, '('));
  TRY(read_inside(reader, &made.inner));
  TRY(mlir_expect_word(lex, "at"));
  TRY(read_inside(reader, &caller));
  *location = add_location(reader, made);
  return lex_expect(lex, ')');
}

/* <metadata>[location, …] */
static Status read_fused(MlirReader *reader, uint32_t *location) {
  Lexer *lex = &reader->lex;
  MlirLocation made = {.kind = LOCATION_PAIR};
  Str metadata;
  if (lex_peek(lex) == '<') TRY(mlir_balanced(lex, &metadata));
  TRY(lex_expect(lex, '['));
  for (bool first = true, more = !lex_accept(lex, ']'); more; first = false) {
    uint32_t part;
    TRY(read_inside(reader, &part));
    if (first) made.inner = part;
    TRY(lex_more(lex, ']', &more));
  }
  *location = add_location(reader, made);
  return STATUS_OK;
}

static Status read_kind(MlirReader *reader, uint32_t *location) {
  Lexer *lex = &reader->lex;
  *location = 0;
  if (lex_peek(lex) == '"') return read_text_location(reader, location);
  if (lex_accept(lex, '#')) {
    Str name;
    TRY(mlir_suffix_name(lex, "the name of a location", &name));
    *location = alias_location(reader, name);
    return STATUS_OK;
  }
  if (mlir_accept_word(lex, "unknown")) return STATUS_OK;
  if (mlir_accept_word(lex, "callsite")) return read_call_site(reader, location);
  if (mlir_accept_word(lex, "fused")) return read_fused(reader, location);
  return lex_expected(lex, "a location");
}

static Status read_inside(MlirReader *reader, uint32_t *location) {
  TRY(lex_enter(&reader->lex));
  TRY(read_kind(reader, location));
  lex_leave(&reader->lex);
  return STATUS_OK;
}

static Status read_location(MlirReader *reader, uint32_t *location) {
  TRY(lex_expect(&reader->lex, '('));
  TRY(read_inside(reader, location));
  return lex_expect(&reader->lex, ')');
}

Status mlir_location(MlirReader *reader, uint32_t *location) {
  *location = 0;
  return mlir_accept_word(&reader->lex, "loc") ? read_location(reader, location) : STATUS_OK;
}

Status mlir_location_alias(MlirReader *reader, Str name) {
  uint32_t made;
  TRY(mlir_expect_word(&reader->lex, "loc"));
  TRY(read_location(reader, &made));
  uint32_t place = alias_location(reader, name);
  reader->locations.at[place] = reader->locations.at[made];
  return STATUS_OK;
}

Origin mlir_origin(const MlirReader *reader, uint32_t location) {
  enum { DEEPEST = 64 }; /* aliases may go in circles */
  Origin origin = {0};
  for (uint32_t depth = 0; depth < DEEPEST; depth++) {
    const MlirLocation *at = &reader->locations.at[location];
    if (at->kind == LOCATION_NAME && origin.op_name.n == 0) origin.op_name = at->text;
    if (at->kind == LOCATION_FILE) {
      origin.file = at->text;
      origin.line = at->line;
    }
    if (at->inner == 0) break;
    location = at->inner;
  }
  return origin;
}

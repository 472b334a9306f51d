/* Fuzz target: literals of HLO text, `s32[2]: {1, 2}`, and of StableHLO's, `dense<[1, 2]> : tensor<2xi32>`.
 * What is read prints as HLO has it, and that reads as the same bits. */
#include "sim/read/hlo_parse.h"
#include "sim/read/mlir.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const ReadLimits LIMITS = {.text_bytes = 1 << 24, .nesting = 64, .elements = 1 << 20};

static void must(bool holds) {
  if (!holds) abort();
}

static Status read_hlo(Arena *arena, const Source *source, const Literal **literal, Diag *diag) {
  Reader reader = {.lex = lexer_of(source, &LIMITS, arena, diag), .arena = arena, .scratch = arena};
  const Shape *shape;
  TRY(read_shape(&reader, arena, &shape));
  TRY(lex_expect(&reader.lex, ':'));
  TRY(read_literal(&reader, shape, literal));
  return lex_at_end(&reader.lex) ? STATUS_OK : lex_expected(&reader.lex, "the end");
}

static Status read_mlir(Arena *arena, const Source *source, const Literal **literal, Diag *diag) {
  MlirReader reader = {.lex = lexer_of(source, &LIMITS, arena, diag),
                       .arena = arena,
                       .scratch = arena,
                       .aliases = map_new(arena),
                       .type_aliases = map_new(arena)};
  MlirAttr attr;
  TRY(mlir_attr(&reader, &attr));
  *literal = attr.literal;
  if (attr.kind == MLIR_DENSE && lex_at_end(&reader.lex)) return STATUS_OK;
  return lex_expected(&reader.lex, "a literal alone");
}

static bool read_as(Status (*read)(Arena *, const Source *, const Literal **, Diag *), Arena *arena, Str text,
                    const Literal **literal) {
  Source *source = ARENA_NEW(arena, Source);
  *source = (Source){STR("fuzz"), text};
  Diag *diag = diag_new();
  Status status = read(arena, source, literal, diag);
  must((status == STATUS_OK) == (diag_error_text(diag).n == 0));
  diag_free(diag);
  return status == STATUS_OK;
}

static bool same(const Literal *a, const Literal *b) {
  if (!shape_eq(a->shape, b->shape) || a->elided != b->elided) return false;
  for (uint32_t i = 0; shape_is_tuple(a->shape) && i < a->shape->rank; i++) {
    if (!same(a->parts[i], b->parts[i])) return false;
  }
  if (shape_is_tuple(a->shape) || a->elided) return true;
  return memcmp(a->data, b->data, (size_t)shape_elements(a->shape) * dtype_bytes(a->shape->dtype)) == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Arena *arena = arena_new();
  Str text = {(const char *)data, n};
  const Literal *literal, *again;
  if (read_as(str_starts(text, "dense") ? read_mlir : read_hlo, arena, text, &literal)) {
    StrBuf print = {.arena = arena};
    buf_add(&print, shape_text(arena, literal->shape));
    buf_char(&print, ':');
    literal_print(&print, literal);
    must(read_as(read_hlo, arena, buf_str(&print), &again));
    must(same(literal, again));
  }
  arena_free(arena);
  return 0;
}

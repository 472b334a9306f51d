/* The front door of reading: tells a program's format by its first bytes. */
#include "sim/read/lexer.h"

/* Whether the text opens as MLIR does. */
static bool is_mlir(Lexer *lex) {
  static const char *const words[] = {"module", "func.func", "builtin.module", "stablehlo", "sdy.mesh"};
  if (lex_peek(lex) == '#' || lex_peek(lex) == '"') return true;
  Str word = lex_peek_word(lex);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (str_is(word, words[i])) return true;
  }
  return false;
}

/* Whether the text opens with the module's header or with a computation. */
static bool is_hlo(Lexer *lex) {
  Lexer ahead = *lex;
  if (lex_accept_word(&ahead, "HloModule") || lex_accept_word(&ahead, "ENTRY") || lex_accept(&ahead, '%'))
    return true;
  return lex_word(&ahead).n != 0 && (lex_at_end(&ahead) || strchr("({", lex_peek(&ahead)) != NULL);
}

/* Bytes that no text holds. */
static bool is_binary(Str text) {
  size_t seen = text.n < 512 ? text.n : 512;
  for (size_t i = 0; i < seen; i++) {
    unsigned char c = (unsigned char)text.at[i];
    if (c < ' ' && strchr("\t\n\v\f\r", c) == NULL) return true;
    if (c == 0) return true;
  }
  return false;
}

Status program_read(const Source *source, const ReadLimits *limits, Module **module, Diag *diag) {
  static const char hint[] = "write HLO text, with JAX: lowered.as_text(dialect='hlo')";
  Arena *arena = arena_new();
  Lexer lex = lexer_of(source, limits, arena, diag);
  bool empty = lex_at_end(&lex) && lex.open_comment == NULL, mlir = !empty && is_mlir(&lex);
  bool hlo = !empty && (is_hlo(&lex) || lex.open_comment != NULL);
  Place start = lex_place(&lex, lex.at);
  arena_free(arena);
  *module = NULL;
  RETURN_IF(is_binary(source->text),
            diag_fail(diag, STATUS_INVALID, NOWHERE, hint, "%.*s is not text", STR_ARG(source->name)));
  RETURN_IF(empty, diag_fail(diag, STATUS_INVALID, start, hint, "there is no program in this text"));
  RETURN_IF(mlir, diag_fail(diag, STATUS_INVALID, start, hint, "StableHLO text is not read yet"));
  RETURN_IF(!hlo, diag_fail(diag, STATUS_INVALID, start, hint, "this is not HLO text"));
  return hlo_read(source, limits, module, diag);
}

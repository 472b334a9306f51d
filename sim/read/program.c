/* The front door of reading: tells a program's format by how it begins. */
#include "sim/read/lexer.h"

typedef enum { HLO_TEXT, MLIR_TEXT, OTHER_TEXT, NO_TEXT, BINARY } Format;

/* Whether there are bytes at the beginning that no text holds. */
static bool is_binary(Str text) {
  for (size_t i = 0; i < text.n && i < 512; i++) {
    unsigned char c = (unsigned char)text.at[i];
    if (c < ' ' && memchr("\t\n\v\f\r", c, 5) == NULL) return true;
  }
  return false;
}

static bool is_mlir(Lexer ahead) {
  static const char *const words[] = {"module", "func.func", "builtin.module", "sdy.mesh"};
  Str word = lex_peek_word(&ahead);
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (str_is(word, words[i])) return true;
  }
  return lex_peek(&ahead) != 0 && strchr("#!\"", lex_peek(&ahead)) != NULL;
}

/* Whether the text opens with the module's header, with a computation, or with a lone instruction. */
static bool is_hlo(Lexer ahead) {
  if (lex_accept_word(&ahead, "HloModule") || lex_accept_word(&ahead, "ENTRY") || lex_accept(&ahead, '%'))
    return true;
  bool name = lex_word(&ahead).n != 0;
  return lex_peek(&ahead) == '(' || (name && memchr("{=[", lex_peek(&ahead), 4) != NULL);
}

/* Moves to where the program begins. */
static Format find_format(Lexer *lex) {
  bool empty = lex_at_end(lex);
  if (lex->open_comment != NULL) return HLO_TEXT;
  if (empty) return NO_TEXT;
  if (str_find(lex->source->text, 0) != lex->source->text.n) return BINARY;
  if (is_mlir(*lex)) return MLIR_TEXT;
  if (is_hlo(*lex)) return HLO_TEXT;
  return is_binary(lex->source->text) ? BINARY : OTHER_TEXT;
}

Status program_read(const Source *source, const ReadLimits *limits, Module **module, Diag *diag) {
  static const char hint[] =
      "write StableHLO or HLO text, with JAX: lowered.as_text(), lowered.as_text('hlo')";
  Lexer lex = lexer_of(source, limits, NULL, diag);
  Format format = find_format(&lex);
  Place start = lex_place(&lex, lex.at);
  *module = NULL;
  switch (format) {
  case HLO_TEXT: return hlo_read(source, limits, module, diag);
  case MLIR_TEXT: return stablehlo_read(source, limits, module, diag);
  case OTHER_TEXT:
    return diag_fail(diag, STATUS_INVALID, start, hint, "this is neither HLO nor StableHLO text");
  case NO_TEXT: return diag_fail(diag, STATUS_INVALID, start, hint, "there is no program in this text");
  case BINARY:
    return diag_fail(diag, STATUS_INVALID, NOWHERE, hint, "%.*s is not text", STR_ARG(source->name));
  }
  return STATUS_INVALID;
}

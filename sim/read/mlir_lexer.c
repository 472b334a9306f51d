/* Words, names and strings of MLIR text, on the cursor of lexer.h. Grammar: MLIR language reference,
 * "Identifiers and keywords". */
#include "sim/read/mlir.h"

static bool starts_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

static bool in_word(char c) {
  return starts_word(c) || is_digit(c) || c == '$' || c == '.';
}

static Str word_at(const Lexer *lex) {
  const char *stop = lex->at;
  while (stop < lex->end && in_word(*stop)) stop++;
  return (Str){lex->at, (size_t)(stop - lex->at)};
}

Str mlir_peek_word(Lexer *lex) {
  return starts_word(lex_peek(lex)) ? word_at(lex) : (Str){lex->at, 0};
}

Str mlir_word(Lexer *lex) {
  Str word = mlir_peek_word(lex);
  lex->at += word.n;
  return word;
}

bool mlir_accept_word(Lexer *lex, const char *word) {
  if (!str_is(mlir_peek_word(lex), word)) return false;
  lex->at += strlen(word);
  return true;
}

Status mlir_expect_word(Lexer *lex, const char *word) {
  return mlir_accept_word(lex, word) ? STATUS_OK : lex_expected(lex, word);
}

/* Past the string that opens at `at`; NULL where it never ends. */
static const char *string_end(const Lexer *lex, const char *at) {
  for (at++; at < lex->end; at++) {
    if (*at == '"') return at + 1;
    if (*at == '\\') at++;
  }
  return NULL;
}

static int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* One escape after its backslash; returns past it. */
static const char *escape(const char *at, const char *end, StrBuf *buf) {
  if (at + 1 < end && hex_value(at[0]) >= 0 && hex_value(at[1]) >= 0) {
    buf_char(buf, (char)(hex_value(at[0]) * 16 + hex_value(at[1])));
    return at + 2;
  }
  buf_char(buf, *at == 'n' ? '\n' : *at == 't' ? '\t' : *at);
  return at + 1;
}

static Str unescaped(Arena *arena, Str text) {
  if (str_find(text, '\\') == text.n) return text;
  StrBuf buf = {.arena = arena};
  const char *end = text.at + text.n;
  for (const char *at = text.at; at < end;) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    buf_add(&buf, (Str){at, (size_t)((slash == NULL ? end : slash) - at)});
    if (slash == NULL || slash + 1 == end) break;
    at = escape(slash + 1, end, &buf);
  }
  return buf_str(&buf);
}

static Status never_ends(Lexer *lex, const char *what) {
  return LEX_FAIL(lex, lex->at, "the text looks cut off: write the whole program again", "%s never ends",
                  what);
}

Status mlir_string(Lexer *lex, Str *text) {
  if (lex_peek(lex) != '"') return lex_expected(lex, "a string");
  const char *stop = string_end(lex, lex->at);
  RETURN_IF(stop == NULL, never_ends(lex, "this string"));
  *text = unescaped(lex->arena, (Str){lex->at + 1, (size_t)(stop - lex->at) - 2});
  lex->at = stop;
  return STATUS_OK;
}

Status mlir_suffix_name(Lexer *lex, const char *what, Str *name) {
  if (lex->at < lex->end && *lex->at == '"') return mlir_string(lex, name);
  const char *stop = lex->at;
  while (stop < lex->end && (in_word(*stop) || *stop == '-')) stop++;
  *name = (Str){lex->at, (size_t)(stop - lex->at)};
  lex->at = stop;
  return name->n != 0 ? STATUS_OK : lex_expected(lex, what);
}

static char closer_of(char open) {
  return open == '{' ? '}' : open == '[' ? ']' : open == '(' ? ')' : open == '<' ? '>' : 0;
}

Status mlir_balanced(Lexer *lex, Str *inside) {
  enum { DEEPEST = 512 };
  char open[DEEPEST];
  size_t depth = 0;
  lex_peek(lex);
  const char *start = lex->at;
  for (const char *at = start; at < lex->end;) {
    char c = *at;
    if (c == '"') {
      at = string_end(lex, at);
      RETURN_IF(at == NULL, never_ends(lex, "a string in this bracket"));
      continue;
    }
    if (closer_of(c) != 0) {
      RETURN_IF(depth == DEEPEST, LEX_FAIL(lex, at, NULL, "brackets are nested deeper than %d", DEEPEST));
      open[depth++] = closer_of(c);
    } else if (depth > 0 && c == open[depth - 1] && !(c == '>' && at[-1] == '-')) {
      depth--;
    }
    at++;
    if (depth > 0) continue;
    *inside = (Str){start + 1, (size_t)(at - start) - 2};
    lex->at = at;
    return at > start + 1 ? STATUS_OK : lex_expected(lex, "an opening bracket");
  }
  return start < lex->end ? never_ends(lex, "this bracket") : lex_expected(lex, "an opening bracket");
}

Lexer mlir_part(const Lexer *lex, Str part) {
  Lexer inner = *lex;
  inner.at = part.at;
  inner.end = part.at + part.n;
  return inner;
}

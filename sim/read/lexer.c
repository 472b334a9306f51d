/* Cursor over HLO text, see lexer.h. Grammar of tokens: xla/hlo/parser/hlo_lexer.cc. Every function is linear
 * in what it takes; nothing is read twice but the word at the cursor. */
#include "sim/read/lexer.h"

#include <stdlib.h>

enum { BLANK = 1, WORD_START = 2, WORD = 4, DIGIT = 8 };

static const unsigned char class_of[256] = {
    [' '] = BLANK,
    ['\t'] = BLANK,
    ['\n'] = BLANK,
    ['\r'] = BLANK,
    ['\v'] = BLANK,
    ['\f'] = BLANK,
    ['_'] = WORD_START | WORD,
    ['-'] = WORD,
    ['.'] = WORD,
    ['0' ... '9'] = WORD | DIGIT,
    ['a' ... 'z'] = WORD_START | WORD,
    ['A' ... 'Z'] = WORD_START | WORD,
};

static bool is(char c, unsigned classes) {
  return (class_of[(unsigned char)c] & classes) != 0;
}

Lexer lexer_of(const Source *source, const ReadLimits *limits, Arena *arena, Diag *diag) {
  return (Lexer){.source = source,
                 .at = source->text.at,
                 .end = source->text.at + source->text.n,
                 .limits = limits,
                 .arena = arena,
                 .diag = diag};
}

Place lex_place(const Lexer *lex, const char *at) {
  return (Place){lex->source, (size_t)(at - lex->source->text.at)};
}

/* Past a comment at `at`, NULL where none starts there, `end` (and open_comment) where it never ends. */
static const char *comment_end(Lexer *lex, const char *at) {
  if (lex->end - at < 2 || at[0] != '/' || (at[1] != '/' && at[1] != '*')) return NULL;
  size_t rest = (size_t)(lex->end - at) - 2;
  if (at[1] == '/') {
    const char *stop = at + 2;
    while (stop < lex->end && *stop != '\n' && *stop != '\r') stop++;
    return stop;
  }
  const char *close = memmem(at + 2, rest, "*/", 2);
  if (close == NULL) lex->open_comment = at;
  return close == NULL ? lex->end : close + 2;
}

char lex_peek(Lexer *lex) {
  while (lex->at < lex->end) {
    char c = *lex->at;
    if (is(c, BLANK)) {
      lex->at++;
      continue;
    }
    const char *past = c == '/' ? comment_end(lex, lex->at) : NULL;
    if (past == NULL) return c;
    lex->at = past;
  }
  return 0;
}

bool lex_at_end(Lexer *lex) {
  lex_peek(lex);
  return lex->at >= lex->end;
}

bool lex_accept(Lexer *lex, char c) {
  if (lex_peek(lex) != c || lex->at >= lex->end) return false;
  lex->at++;
  return true;
}

bool lex_accept_text(Lexer *lex, const char *text) {
  size_t n = strlen(text);
  lex_peek(lex);
  if ((size_t)(lex->end - lex->at) < n || memcmp(lex->at, text, n) != 0) return false;
  lex->at += n;
  return true;
}

/* The letters, digits, _ - and . at the cursor; an arrow `->` ends them. */
static Str word_at(const Lexer *lex) {
  const char *stop = lex->at;
  while (stop < lex->end && is(*stop, WORD)) stop++;
  if (stop < lex->end && *stop == '>' && stop > lex->at && stop[-1] == '-') stop--;
  return (Str){lex->at, (size_t)(stop - lex->at)};
}

Status lex_expected(Lexer *lex, const char *what) {
  if (lex->open_comment != NULL)
    return LEX_FAIL(lex, lex->open_comment, "close it with */", "a comment that never ends");
  if (lex_at_end(lex))
    return LEX_FAIL(lex, lex->end, "the text looks cut off: write the whole program again",
                    "the text ends where %s is expected", what);
  Str found = word_at(lex);
  if (found.n == 0) found = (Str){lex->at, 1};
  return LEX_FAIL(lex, lex->at, NULL, "expected %s, found '%.*s'", what, STR_ARG(str_sub(found, 0, 80)));
}

Status lex_expect(Lexer *lex, char c) {
  if (lex_accept(lex, c)) return STATUS_OK;
  return lex_expected(lex, (char[]){'\'', c, '\'', 0});
}

Status lex_more(Lexer *lex, char close, bool *more) {
  *more = lex_accept(lex, ',');
  if (*more || lex_accept(lex, close)) return STATUS_OK;
  return lex_expected(lex, (char[]){'\'', ',', '\'', ' ', 'o', 'r', ' ', '\'', close, '\'', 0});
}

Str lex_peek_word(Lexer *lex) {
  return is(lex_peek(lex), WORD_START) ? word_at(lex) : (Str){lex->at, 0};
}

Str lex_word(Lexer *lex) {
  Str word = lex_peek_word(lex);
  lex->at += word.n;
  return word;
}

bool lex_accept_word(Lexer *lex, const char *word) {
  if (!str_is(lex_peek_word(lex), word)) return false;
  lex->at += strlen(word);
  return true;
}

Status lex_name(Lexer *lex, const char *what, Str *name) {
  *name = lex_accept(lex, '%') ? word_at(lex) : lex_peek_word(lex);
  lex->at += name->n;
  return name->n != 0 ? STATUS_OK : lex_expected(lex, what);
}

Status lex_int(Lexer *lex, int64_t *value) {
  bool negative = lex_peek(lex) == '-';
  const char *start = lex->at, *at = start + negative;
  if (at >= lex->end || !is(*at, DIGIT)) return lex_expected(lex, "an integer");
  int64_t sum = 0;
  for (; at < lex->end && is(*at, DIGIT); at++) {
    if (__builtin_mul_overflow(sum, 10, &sum) ||
        __builtin_sub_overflow(sum, *at - '0', &sum)) /* negative, so that the least int64 fits */
      return LEX_FAIL(lex, start, NULL, "this integer does not fit in 64 bits");
  }
  if (!negative && __builtin_sub_overflow((int64_t)0, sum, &sum))
    return LEX_FAIL(lex, start, NULL, "this integer does not fit in 64 bits");
  lex->at = at;
  *value = sum;
  return STATUS_OK;
}

Status lex_int_from(Lexer *lex, int64_t least, int64_t *value) {
  lex_peek(lex);
  const char *start = lex->at;
  TRY(lex_int(lex, value));
  RETURN_IF(*value < least,
            LEX_FAIL(lex, start, NULL, "%lld is less than %lld", (long long)*value, (long long)least));
  return STATUS_OK;
}

Status lex_bool(Lexer *lex, bool *value) {
  *value = lex_accept_word(lex, "true");
  if (*value || lex_accept_word(lex, "false")) return STATUS_OK;
  return lex_expected(lex, "true or false");
}

Status lex_axes(Lexer *lex, Arena *arena, Status (*read_name)(Lexer *lex, Str *name), Str **names,
                Ints *sizes) {
  Vec(Str) read_names = {0};
  Vec(int64_t) read_sizes = {0};
  TRY(lex_expect(lex, '['));
  for (bool more = !lex_accept(lex, ']'); more;) {
    Str name;
    int64_t size;
    TRY(read_name(lex, &name));
    TRY(lex_expect(lex, '='));
    TRY(lex_int_from(lex, 1, &size));
    VEC_PUSH(arena, &read_names, name);
    VEC_PUSH(arena, &read_sizes, size);
    TRY(lex_more(lex, ']', &more));
  }
  *names = read_names.at;
  *sizes = (Ints){read_sizes.at, read_sizes.n};
  return STATUS_OK;
}

Status lex_ints(Lexer *lex, char open, char close, Ints *ints) {
  Vec(int64_t) list = {0};
  TRY(lex_expect(lex, open));
  for (bool more = !lex_accept(lex, close); more;) {
    int64_t value;
    TRY(lex_int(lex, &value));
    VEC_PUSH(lex->arena, &list, value);
    TRY(lex_more(lex, close, &more));
  }
  *ints = (Ints){list.at, list.n};
  return STATUS_OK;
}

/* Strings. */

static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* `\ooo`, up to three octal digits. */
static const char *octal_escape(const char *at, const char *end, StrBuf *buf) {
  unsigned value = 0;
  for (int digits = 0; digits < 3 && at < end && *at >= '0' && *at <= '7'; digits++, at++)
    value = value * 8 + (unsigned)(*at - '0');
  buf_char(buf, (char)value);
  return at;
}

/* `\xh…`: the low byte of all hexadecimal digits that follow. */
static const char *hex_escape(const char *at, const char *end, StrBuf *buf) {
  unsigned value = 0;
  for (; at < end && hex_value(*at) >= 0; at++) value = (value * 16 + (unsigned)hex_value(*at)) & 0xff;
  buf_char(buf, (char)value);
  return at;
}

static const char *escape(const char *at, const char *end, StrBuf *buf) {
  static const char letters[] = "abfnrtv\\'\"?", bytes[] = "\a\b\f\n\r\t\v\\'\"?";
  if (*at >= '0' && *at <= '7') return octal_escape(at, end, buf);
  if ((*at | 0x20) == 'x' && at + 1 < end && hex_value(at[1]) >= 0) return hex_escape(at + 1, end, buf);
  const char *known = strchr(letters, *at);
  if (known == NULL || *at == 0) buf_char(buf, '\\');
  buf_char(buf, known == NULL || *at == 0 ? *at : bytes[known - letters]);
  return at + 1;
}

static Str unescaped(Lexer *lex, Str text) {
  if (str_find(text, '\\') == text.n) return text;
  StrBuf buf = {.arena = lex->arena};
  const char *end = text.at + text.n;
  for (const char *at = text.at; at < end;) {
    const char *slash = memchr(at, '\\', (size_t)(end - at));
    buf_add(&buf, (Str){at, (size_t)((slash == NULL ? end : slash) - at)});
    if (slash == NULL || slash + 1 == end) break;
    at = escape(slash + 1, end, &buf);
  }
  return buf_str(&buf);
}

/* Past the string that opens at `at`; NULL where it never ends. */
static const char *string_end(const Lexer *lex, const char *at) {
  char quote = *at++;
  for (; at < lex->end; at++) {
    if (*at == quote) return at + 1;
    if (*at == '\\') at++;
  }
  return NULL;
}

static Status never_ends(Lexer *lex, const char *start, const char *what) {
  return LEX_FAIL(lex, start, "the text looks cut off: write the whole program again", "%s never ends", what);
}

Status lex_string(Lexer *lex, Str *value) {
  char quote = lex_peek(lex);
  if (quote != '"' && quote != '\'') return lex_expected(lex, "a string");
  const char *stop = string_end(lex, lex->at);
  RETURN_IF(stop == NULL, never_ends(lex, lex->at, "this string"));
  *value = unescaped(lex, (Str){lex->at + 1, (size_t)(stop - lex->at) - 2});
  lex->at = stop;
  return STATUS_OK;
}

/* Raw text. */

static char closer_of(char open) {
  return open == '{' ? '}' : open == '[' ? ']' : open == '(' ? ')' : 0;
}

/* Past the bracket that opens at `at`: counts brackets of that kind alone, outside of strings. JSON has no
 * comments and no strings in '. */
static const char *bracket_end(Lexer *lex, const char *at, bool json) {
  char open = *at, close = closer_of(open);
  size_t depth = 0;
  while (at < lex->end) {
    char c = *at;
    const char *past = at + 1;
    if (c == open) depth++;
    if (c == close && --depth == 0) return past;
    if (c == '"' || (c == '\'' && !json)) past = string_end(lex, at);
    if (c == '/' && !json && comment_end(lex, at) != NULL) past = comment_end(lex, at);
    if (past == NULL) return NULL;
    at = past;
  }
  return NULL;
}

Status lex_braced(Lexer *lex, Str *text) {
  if (lex_peek(lex) != '{') return lex_expected(lex, "'{'");
  const char *stop = bracket_end(lex, lex->at, true);
  RETURN_IF(stop == NULL, never_ends(lex, lex->at, "this bracket"));
  *text = (Str){lex->at, (size_t)(stop - lex->at)};
  lex->at = stop;
  return STATUS_OK;
}

static bool ends_raw(const Lexer *lex, const char *at) {
  return is(*at, BLANK) || strchr(",)}]=;", *at) != NULL || (at + 1 < lex->end && *at == '/' && at[1] == '*');
}

Status lex_raw(Lexer *lex, Str *text) {
  lex_peek(lex);
  const char *start = lex->at;
  while (lex->at < lex->end && !ends_raw(lex, lex->at)) {
    const char *stop = lex->at + 1;
    if (closer_of(*lex->at) != 0) stop = bracket_end(lex, lex->at, false);
    if (*lex->at == '"' || *lex->at == '\'') stop = string_end(lex, lex->at);
    RETURN_IF(stop == NULL, never_ends(lex, lex->at, closer_of(*lex->at) ? "this bracket" : "this string"));
    lex->at = stop;
  }
  if (lex->at == start) return lex_expected(lex, "a value");
  *text = lex_clean(lex, start);
  return STATUS_OK;
}

/* Whether a blank between two bytes says nothing: it only parts words, strings and brackets. */
static bool needless(char before, const char *after, const char *end) {
  bool arrow = after + 1 < end && after[0] == '-' && after[1] == '>';
  return strchr("{[(,=:<>", before) != NULL || strchr("}]),=:<", *after) != NULL || arrow;
}

/* Past the blanks and comments at `at`, within what was taken. */
static const char *skip_blanks(const Lexer *lex, const char *at) {
  if (!is(*at, BLANK) && *at != '/') return at;
  Lexer taken = *lex;
  taken.at = at;
  taken.end = lex->at;
  lex_peek(&taken);
  return taken.at;
}

/* Past the byte, or the string, at `at`. */
static const char *skip_token(const Lexer *lex, const char *at) {
  const char *past = *at == '"' || *at == '\'' ? string_end(lex, at) : NULL;
  return past != NULL && past <= lex->at ? past : at + 1;
}

/* Most texts need no change and are given back as slices of the source. */
static Str without_blanks(Lexer *lex, const char *start, bool packed) {
  const char *stop = lex->at, *from = start;
  StrBuf buf = {.arena = lex->arena};
  for (const char *at = start; at < stop;) {
    const char *next = skip_blanks(lex, at);
    if (next == at) {
      at = skip_token(lex, at);
      continue;
    }
    bool keep = !packed && next < stop && at > start && !needless(at[-1], next, lex->end);
    if (!keep || next != at + 1 || *at != ' ') {
      buf_add(&buf, (Str){from, (size_t)(at - from)});
      if (keep) buf_char(&buf, ' ');
      from = next;
    }
    at = next;
  }
  Str tail = {from, (size_t)(stop - from)};
  if (from == start) return tail;
  buf_add(&buf, tail);
  return buf_str(&buf);
}

Str lex_clean(Lexer *lex, const char *start) {
  return without_blanks(lex, start, false);
}

Str lex_packed(Lexer *lex, const char *start) {
  return without_blanks(lex, start, true);
}

Status lex_enter(Lexer *lex) {
  if (lex->depth >= lex->limits->nesting)
    return LEX_FAIL(lex, lex->at, NULL, "brackets are nested deeper than %zu", lex->limits->nesting);
  lex->depth++;
  return STATUS_OK;
}

void lex_leave(Lexer *lex) {
  lex->depth--;
}

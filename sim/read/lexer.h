/* The lexer of HLO text: a cursor that reads what the parser asks for. HLO's tokens depend on where they
 * stand
 * (`2x2` is a window or a name, `{` opens a layout or a body), so there is no stream of tokens: each function
 * below skips blanks and comments, then reads one thing. Strings are slices of the source where they hold no
 * escapes, else copies in the arena. Errors point at the byte where reading stopped. */
#pragma once

#include "sim/read/program.h"

typedef struct {
  const Source *source;
  const char *at, *end;
  const ReadLimits *limits;
  Arena *arena; /* for unescaped strings and cleaned raw text */
  Diag *diag;
  size_t depth;             /* of open brackets that a function recurses for */
  const char *open_comment; /* where a comment starts that never ends, else NULL */
} Lexer;

#define LEX_FAIL(lex, where, hint, ...)                                                                      \
  diag_fail((lex)->diag, STATUS_INVALID, lex_place((lex), (where)), (hint), __VA_ARGS__)

Lexer lexer_of(const Source *source, const ReadLimits *limits, Arena *arena, Diag *diag);
Place lex_place(const Lexer *lex, const char *at);

/* The next byte that is neither blank nor in a comment, not taken; NUL at the end. */
char lex_peek(Lexer *lex);
bool lex_at_end(Lexer *lex);
/* Takes `c`, or the bytes of `text`, where they come next. */
bool lex_accept(Lexer *lex, char c);
bool lex_accept_text(Lexer *lex, const char *text);
Status lex_expect(Lexer *lex, char c);
/* After an element of a list: `more` where a comma follows, else takes `close`. */
Status lex_more(Lexer *lex, char close, bool *more);
/* The error "expected `what`, found …", or that the text ends here. */
Status lex_expected(Lexer *lex, const char *what);

/* A word (letters, digits, _ - . after a letter or _), not taken by the first; n == 0 where none stands
 * there.
 */
Str lex_peek_word(Lexer *lex);
Str lex_word(Lexer *lex);
bool lex_accept_word(Lexer *lex, const char *word);
/* A name, with or without %; `what` is for the error. */
Status lex_name(Lexer *lex, const char *what, Str *name);
Status lex_int(Lexer *lex, int64_t *value);
/* An integer of at least `least`. */
Status lex_int_from(Lexer *lex, int64_t least, int64_t *value);
Status lex_bool(Lexer *lex, bool *value);
/* A string in " or ', without its quotes and escapes. */
Status lex_string(Lexer *lex, Str *value);
/* The axes of a mesh, ["x"=2, "y"=4], in `arena`; `read_name` reads the name of one. */
Status lex_axes(Lexer *lex, Arena *arena, Status (*read_name)(Lexer *lex, Str *name), Str **names,
                Ints *sizes);
/* Integers between `open` and `close`: {1,0}, [2,4], (1,0). */
Status lex_ints(Lexer *lex, char open, char close, Ints *ints);

/* A text with balanced brackets that opens with `{`, byte for byte as it stands (JSON). */
Status lex_braced(Lexer *lex, Str *text);
/* A value of unknown kind: words, strings and balanced brackets without a blank between them; comments and
 * needless blanks are left out of `text`. */
Status lex_raw(Lexer *lex, Str *text);
/* The text from `start` to the cursor without comments and needless blanks, or without any blank outside of
 * strings. */
Str lex_clean(Lexer *lex, const char *start);
Str lex_packed(Lexer *lex, const char *start);

/* Around a recursion: refuses what is nested deeper than the limit. */
Status lex_enter(Lexer *lex);
void lex_leave(Lexer *lex);

/* A cursor over the small texts inside attributes: shardings, meshes, specs. Blanks are skipped before every
 * token. Errors name the whole text and stand at the place of the attribute, since the text may have been
 * unescaped. */
#pragma once

#include "sim/base/diag.h"

typedef struct {
  Str text;
  size_t at;
  Arena *arena;
  Diag *diag;
  Place place;
  Status status;    /* of errors */
  const char *what; /* "sharding": what the text is, for errors */
} Scan;

/* Takes the token where it comes next. A token that ends in a letter is a whole word. */
bool scan_take(Scan *scan, const char *token);
/* What scan_take() would say, without taking. */
bool scan_sees(Scan *scan, const char *token);
Status scan_expect(Scan *scan, const char *token);
/* A string in either quote. */
Status scan_quoted(Scan *scan, Str *value);
/* Letters, digits, `_`, `-` and `.`. */
Status scan_word(Scan *scan, Str *value);
/* A decimal integer >= `least`. */
Status scan_int(Scan *scan, int64_t least, int64_t *value);
/* Nothing but blanks may follow. */
Status scan_end(Scan *scan);
Status scan_fail(Scan *scan, const char *expected);

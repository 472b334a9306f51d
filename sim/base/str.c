/* Strings as slices, and text built in an arena. */
#include "sim/base/str.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Str str_of(const char *terminated) {
  return (Str){terminated, strlen(terminated)};
}

bool str_eq(Str a, Str b) {
  return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

bool str_is(Str a, const char *terminated) {
  return str_eq(a, str_of(terminated));
}

bool str_starts(Str a, const char *prefix) {
  size_t n = strlen(prefix);
  return a.n >= n && memcmp(a.at, prefix, n) == 0;
}

bool str_ends(Str a, const char *suffix) {
  size_t n = strlen(suffix);
  return a.n >= n && memcmp(a.at + (a.n - n), suffix, n) == 0;
}

int str_cmp(Str a, Str b) {
  size_t n = a.n < b.n ? a.n : b.n;
  int order = n == 0 ? 0 : memcmp(a.at, b.at, n);
  return order != 0 ? order : (a.n > b.n) - (a.n < b.n);
}

size_t str_find(Str a, char c) {
  const char *found = a.n == 0 ? NULL : memchr(a.at, c, a.n);
  return found == NULL ? a.n : (size_t)(found - a.at);
}

Str str_sub(Str a, size_t start, size_t stop) {
  if (stop > a.n) stop = a.n;
  if (start > stop) start = stop;
  return a.at == NULL ? a : (Str){a.at + start, stop - start};
}

static bool blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

Str str_trim(Str a) {
  while (a.n > 0 && blank(a.at[0])) a = str_sub(a, 1, a.n);
  while (a.n > 0 && blank(a.at[a.n - 1])) a.n--;
  return a;
}

Str str_copy(Arena *arena, Str a) {
  char *bytes = arena_alloc(arena, a.n + 1);
  if (a.n != 0) memcpy(bytes, a.at, a.n);
  return (Str){bytes, a.n};
}

const char *str_terminated(Arena *arena, Str a) {
  return str_copy(arena, a).at;
}

Str str_printf(Arena *arena, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *bytes = arena_alloc(arena, (size_t)n + 1);
  va_start(args, format);
  vsnprintf(bytes, (size_t)n + 1, format, args);
  va_end(args);
  return (Str){bytes, (size_t)n};
}

bool str_to_int(Str a, int64_t *value) {
  char digits[24];
  if (a.n == 0 || a.n >= sizeof digits || blank(a.at[0])) return false;
  memcpy(digits, a.at, a.n);
  digits[a.n] = 0;
  char *end;
  errno = 0;
  long long parsed = strtoll(digits, &end, 10);
  *value = parsed;
  return errno == 0 && end == digits + a.n;
}

static size_t least(size_t a, size_t b) {
  return a < b ? a : b;
}

/* Edits from one name to the other, two letters that changed places being one (optimal string alignment:
 * Boytsov, Indexing methods for approximate dictionary searching, 2011), by three rows of the table. */
static size_t distance(Str a, Str b) {
  enum { LONGEST = 64 };
  size_t rows[3][LONGEST + 1];
  if (a.n > LONGEST || b.n > LONGEST) return LONGEST;
  for (size_t j = 0; j <= b.n; j++) rows[0][j] = j;
  for (size_t i = 1; i <= a.n; i++) {
    size_t *row = rows[i % 3], *above = rows[(i - 1) % 3], *above_that = rows[(i + 1) % 3];
    row[0] = i;
    for (size_t j = 1; j <= b.n; j++) {
      row[j] = least(least(above[j], row[j - 1]) + 1, above[j - 1] + (a.at[i - 1] != b.at[j - 1]));
      bool swapped = i > 1 && j > 1 && a.at[i - 1] == b.at[j - 2] && a.at[i - 2] == b.at[j - 1];
      if (swapped) row[j] = least(row[j], above_that[j - 2] + 1);
    }
  }
  return rows[a.n % 3][b.n];
}

/* Among names as near one of the same length comes first. */
const char *str_nearest(Str a, const char *const *names, size_t n) {
  const char *nearest = NULL;
  size_t best = 2 * (a.n / 3 + 2);
  for (size_t i = 0; i < n; i++) {
    size_t far = 2 * distance(a, str_of(names[i])) + (strlen(names[i]) != a.n);
    if (far >= best) continue;
    best = far;
    nearest = names[i];
  }
  return nearest;
}

const char *did_you_mean(Arena *arena, Str a, const char *const *names, size_t n, const char *otherwise) {
  const char *nearest = str_nearest(a, names, n);
  return nearest == NULL ? otherwise : str_printf(arena, "did you mean %s?", nearest).at;
}

static void reserve(StrBuf *buf, size_t more) {
  if (buf->cap - buf->n > more) return;
  size_t cap = buf->cap == 0 ? 256 : buf->cap * 2;
  while (cap - buf->n <= more) cap *= 2;
  char *at = arena_alloc(buf->arena, cap);
  if (buf->n != 0) memcpy(at, buf->at, buf->n);
  buf->at = at;
  buf->cap = cap;
}

void buf_add(StrBuf *buf, Str s) {
  if (s.n == 0) return;
  reserve(buf, s.n);
  memcpy(buf->at + buf->n, s.at, s.n);
  buf->n += s.n;
}

void buf_char(StrBuf *buf, char c) {
  buf_add(buf, (Str){&c, 1});
}

void buf_printf(StrBuf *buf, const char *format, ...) {
  va_list args;
  va_start(args, format);
  int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  reserve(buf, (size_t)n);
  va_start(args, format);
  vsnprintf(buf->at + buf->n, (size_t)n + 1, format, args);
  va_end(args);
  buf->n += (size_t)n;
}

void buf_column(StrBuf *buf, size_t start, size_t width) {
  do buf_char(buf, ' ');
  while (buf->n - start < width);
}

Str buf_str(StrBuf *buf) {
  reserve(buf, 0);
  buf->at[buf->n] = 0;
  return (Str){buf->at, buf->n};
}

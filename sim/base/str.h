/* Strings as slices: a pointer and a length, not terminated, never owned (an arena or the source text holds
 * the bytes). StrBuf builds text in an arena. */
#pragma once

#include "sim/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  const char *at;
  size_t n;
} Str;

/* For printf: printf("%.*s", STR_ARG(s)). */
#define STR_ARG(s)   (int)(s).n, (s).at
#define STR(literal) ((Str){(literal), sizeof(literal) - 1})

Str str_of(const char *terminated);
bool str_eq(Str a, Str b);
bool str_is(Str a, const char *terminated);
bool str_starts(Str a, const char *prefix);
bool str_ends(Str a, const char *suffix);
/* <0, 0 or >0, by bytes. */
int str_cmp(Str a, Str b);
/* Index of the first `c`, or a.n. */
size_t str_find(Str a, char c);
/* Bytes [start, stop), clamped to the string. */
Str str_sub(Str a, size_t start, size_t stop);
/* Without blanks at both ends. */
Str str_trim(Str a);
/* A copy in the arena; its bytes are followed by a NUL. */
Str str_copy(Arena *arena, Str a);
const char *str_terminated(Arena *arena, Str a);
Str str_printf(Arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The whole of `a` as a decimal integer that fits; false otherwise. */
bool str_to_int(Str a, int64_t *value);
/* The nearest of `n` names by edit distance, for "did you mean"; NULL where none is near. */
const char *str_nearest(Str a, const char *const *names, size_t n);
/* The hint that asks for it; `otherwise`, perhaps NULL, where none is near. */
const char *did_you_mean(Arena *arena, Str a, const char *const *names, size_t n, const char *otherwise);

typedef struct {
  Arena *arena;
  char *at;
  size_t n, cap;
} StrBuf;

void buf_add(StrBuf *buf, Str s);
void buf_char(StrBuf *buf, char c);
void buf_printf(StrBuf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Blanks up to a column `width` bytes after `start`, at least one. */
void buf_column(StrBuf *buf, size_t start, size_t width);
/* What was built so far; its bytes are followed by a NUL. */
Str buf_str(StrBuf *buf);

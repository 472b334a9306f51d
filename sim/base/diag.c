/* Diagnostics: an error's text is made at once, while its source is at hand. */
#include "sim/base/diag.h"
#include "sim/base/vec.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONGEST_LINE = 160, LONGEST_TEXT = 4096 };

struct Diag {
  Arena *arena;
  Str error;
  Vec(Str) notes;
};

Diag *diag_new(void) {
  Arena *arena = arena_new();
  Diag *diag = ARENA_NEW(arena, Diag);
  diag->arena = arena;
  return diag;
}

void diag_free(Diag *diag) {
  if (diag != NULL) arena_free(diag->arena);
}

void place_line_column(Place at, uint32_t *line, uint32_t *column) {
  Str text = at.source->text;
  size_t offset = at.offset < text.n ? at.offset : text.n, start = 0;
  *line = 1;
  for (size_t i = 0; i < offset; i++) {
    if (text.at[i] != '\n') continue;
    ++*line;
    start = i + 1;
  }
  *column = (uint32_t)(offset - start) + 1;
}

/* The source line with a caret under the place; a long line is shown around the caret only. */
static void add_excerpt(StrBuf *buf, Place at, uint32_t column) {
  Str text = at.source->text;
  size_t offset = at.offset < text.n ? at.offset : text.n;
  size_t start = offset - (column - 1), stop = offset;
  while (stop < text.n && text.at[stop] != '\n') stop++;
  if (offset - start > LONGEST_LINE / 2) start = offset - LONGEST_LINE / 2;
  if (stop - start > LONGEST_LINE) stop = start + LONGEST_LINE;
  buf_add(buf, STR("  "));
  for (size_t i = start; i < stop; i++) buf_char(buf, (unsigned char)text.at[i] < ' ' ? ' ' : text.at[i]);
  buf_add(buf, STR("\n  "));
  for (size_t i = start; i < offset; i++) buf_char(buf, ' ');
  buf_add(buf, STR("^\n"));
}

static void add_place(StrBuf *buf, Place at) {
  if (at.source == NULL) {
    buf_add(buf, STR("podsim: "));
    return;
  }
  uint32_t line, column;
  place_line_column(at, &line, &column);
  buf_printf(buf, "%.*s:%u:%u: ", STR_ARG(at.source->name), line, column);
}

/* Whether the text ends in this line, which is not the first, without an end of line. */
static bool is_cut_off(Place at) {
  if (at.source == NULL || at.source->text.n == 0 || at.offset > at.source->text.n) return false;
  Str text = at.source->text, rest = str_sub(text, at.offset, text.n);
  return str_find(text, '\n') < at.offset && str_find(rest, '\n') == rest.n && text.at[text.n - 1] != '\n';
}

static StrBuf begin_text(Diag *diag, Place at, const char *kind, const char *format, va_list args) {
  char message[LONGEST_TEXT];
  vsnprintf(message, sizeof message, format, args);
  StrBuf buf = {.arena = diag->arena};
  add_place(&buf, at);
  buf_printf(&buf, "%s: %s", kind, message);
  return buf;
}

Status diag_fail(Diag *diag, Status status, Place at, const char *hint, const char *format, ...) {
  if (diag->error.n != 0) return status;
  va_list args;
  va_start(args, format);
  StrBuf buf = begin_text(diag, at, "error", format, args);
  va_end(args);
  buf_char(&buf, '\n');
  if (at.source != NULL) {
    uint32_t line, column;
    place_line_column(at, &line, &column);
    add_excerpt(&buf, at, column);
  }
  if (hint == NULL && is_cut_off(at)) hint = "the text ends in this line: was it cut off?";
  if (hint != NULL) buf_printf(&buf, "hint: %s\n", hint);
  diag->error = buf_str(&buf);
  return status;
}

void diag_hint(Diag *diag, const char *hint) {
  StrBuf buf = {.arena = diag->arena};
  Str mark = STR("\nhint: ");
  for (size_t i = 0; i + mark.n <= diag->error.n; i++)
    if (str_eq(str_sub(diag->error, i, i + mark.n), mark)) return;
  if (diag->error.n == 0) return;
  buf_printf(&buf, "%.*shint: %s\n", STR_ARG(diag->error), hint);
  diag->error = buf_str(&buf);
}

static void add_note(Diag *diag, Str note) {
  for (uint32_t i = 0; i < diag->notes.n; i++) {
    if (str_eq(diag->notes.at[i], note)) return;
  }
  VEC_PUSH(diag->arena, &diag->notes, note);
}

void diag_note(Diag *diag, Place at, const char *format, ...) {
  va_list args;
  va_start(args, format);
  StrBuf buf = begin_text(diag, at, "note", format, args);
  va_end(args);
  add_note(diag, buf_str(&buf));
}

void diag_merge(Diag *diag, const Diag *from) {
  if (diag->error.n == 0 && from->error.n != 0) diag->error = str_copy(diag->arena, from->error);
  for (uint32_t i = 0; i < from->notes.n; i++) add_note(diag, str_copy(diag->arena, from->notes.at[i]));
}

Str diag_error_text(const Diag *diag) {
  return diag->error;
}

Str diag_notes_text(const Diag *diag) {
  StrBuf buf = {.arena = diag->arena};
  for (uint32_t i = 0; i < diag->notes.n; i++) buf_printf(&buf, "%.*s\n", STR_ARG(diag->notes.at[i]));
  return buf_str(&buf);
}

/* Diagnostics: the one error that ends a run, with its place in the source and a hint, and the notes that do
 * not end it. Form of an error:   file:line:column: error: message / the source line / a caret / hint: what
 * to do. Ownership: texts are copied into the Diag's own arena. */
#pragma once

#include "sim/base/status.h"
#include "sim/base/str.h"

/* A file that was read: its name as the user gave it, and its text. Not owned. */
typedef struct {
  Str name, text;
} Source;

/* A byte of a source; source NULL is "nowhere in a text". */
typedef struct {
  const Source *source;
  size_t offset;
} Place;

#define NOWHERE ((Place){NULL, 0})

typedef struct Diag Diag;

Diag *diag_new(void);
void diag_free(Diag *diag);

/* Records an error and returns `status`. The first error stays. `hint` may be NULL. */
Status diag_fail(Diag *diag, Status status, Place at, const char *hint, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* A hint for an error that has none. */
void diag_hint(Diag *diag, const char *hint);

/* Records a note, printed on stderr after the run, each text once. */
void diag_note(Diag *diag, Place at, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Takes over what another one recorded: its error (where this one has none yet) and its notes. */
void diag_merge(Diag *diag, const Diag *from);

/* The recorded error, formatted as above with a newline at the end, or an empty string. */
Str diag_error_text(const Diag *diag);
/* The notes, a line each, or an empty string. */
Str diag_notes_text(const Diag *diag);

/* 1-based line and column (in bytes) of a place. */
void place_line_column(Place at, uint32_t *line, uint32_t *column);

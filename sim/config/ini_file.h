/* INI files with places: libinih reads the grammar, this adds where in the text each thing stands. */
#pragma once

#include "sim/base/diag.h"

/* A line `key = value ; comment` of a section, or a section's own line (key and value empty). Texts are
 * slices of the source. */
typedef struct {
  Str section, key, value, comment;
  Place key_at, value_at; /* of a section's line: its name */
} IniLine;

typedef Status (*IniVisit)(void *self, const IniLine *line);

/* A file of at most 1 MiB as a source in `arena`. */
Status ini_source(Arena *arena, const char *path, const Source **source, Diag *diag);
/* Visits every section and key in order; stops at the first failure. */
Status ini_read(const Source *source, IniVisit visit, void *self, Diag *diag);

/* INI files through libinih. As Debian builds it, it cuts lines at 200 bytes, joins indented lines to the one
 * before, and does not say which line it is at; so lines are handed to it one by one, without their indent,
 * and too long ones are refused. */
#include "sim/config/ini_file.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <string.h>

enum { LARGEST_FILE = 1 << 20 };

static Status no_file(const char *path, Diag *diag) {
  return diag_fail(diag, STATUS_INVALID, NOWHERE,
                   "pods that come with podsim lie in configs/, as v5e_4x2.ini", "cannot read %s: %s", path,
                   strerror(errno));
}

Status ini_source(Arena *arena, const char *path, const Source **source, Diag *diag) {
  FILE *file = fopen(path, "rb");
  RETURN_IF(file == NULL, no_file(path, diag));
  char *bytes = arena_alloc(arena, LARGEST_FILE + 1);
  size_t n = fread(bytes, 1, LARGEST_FILE + 1, file);
  Status status = ferror(file) ? no_file(path, diag) : STATUS_OK;
  fclose(file);
  TRY(status);
  RETURN_IF(n > LARGEST_FILE, diag_fail(diag, STATUS_INVALID, NOWHERE, NULL,
                                        "%s is larger than 1 MiB: not a pod's config", path));
  RETURN_IF(memchr(bytes, 0, n) != NULL,
            diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "%s is no text: not a pod's config", path));
  Source *read = ARENA_NEW(arena, Source);
  *read = (Source){str_copy(arena, str_of(path)), {bytes, n}};
  *source = read;
  return STATUS_OK;
}

typedef struct {
  const Source *source;
  Str line;    /* the one that libinih is at, without blanks at its ends */
  size_t next; /* offset of the one after it */
  Str section;
  IniVisit visit;
  void *self;
  Status status;
  Diag *diag;
} Reading;

static Status no_line(const Source *source, const char *line, Diag *diag) {
  return diag_fail(diag, STATUS_INVALID, (Place){source, (size_t)(line - source->text.at)},
                   "a line is `[section]`, `key = value` or a comment after ;",
                   "neither a section nor a key with its value");
}

static Place place_of(const Reading *reading, Str slice) {
  return (Place){reading->source, (size_t)(slice.at - reading->source->text.at)};
}

static Status enter_section(Reading *reading) {
  size_t close = str_find(reading->line, ']');
  Str rest = str_trim(str_sub(reading->line, close + 1, reading->line.n));
  RETURN_IF(close == reading->line.n || (rest.n != 0 && rest.at[0] != ';'),
            no_line(reading->source, reading->line.at, reading->diag));
  reading->section = str_sub(reading->line, 1, close);
  Place at = place_of(reading, reading->section);
  return reading->visit(reading->self, &(IniLine){.section = reading->section, .key_at = at, .value_at = at});
}

/* As fgets(): the next line for libinih; comments as empty lines. */
static char *next_line(char *into, int size, void *self) {
  Reading *reading = self;
  Str rest = str_sub(reading->source->text, reading->next, SIZE_MAX);
  if (reading->status != STATUS_OK || rest.n == 0) return NULL;
  size_t end = str_find(rest, '\n');
  reading->next += end + 1;
  Str line = reading->line = str_trim(str_sub(rest, 0, end));
  if (line.n != 0 && (line.at[0] == ';' || line.at[0] == '#')) line.n = 0;
  if (line.n != 0 && line.at[0] == '[') reading->status = enter_section(reading);
  if (line.n + 2 > (size_t)size) {
    reading->status =
        diag_fail(reading->diag, STATUS_INVALID, place_of(reading, line),
                  "put long comments on lines of their own", "line longer than %d bytes", size - 2);
  }
  if (reading->status != STATUS_OK) return NULL;
  if (line.n != 0) memcpy(into, line.at, line.n);
  memcpy(into + line.n, "\n", 2);
  return into;
}

static int on_key(void *self, const char *section, const char *key, const char *value) {
  Reading *reading = self;
  (void)section;
  Str line = reading->line;
  size_t equals = 0;
  while (equals < line.n && line.at[equals] != '=' && line.at[equals] != ':') equals++;
  Str after = str_trim(str_sub(line, equals + 1, line.n));
  Str comment = str_trim(str_sub(after, strlen(value), after.n));
  IniLine found = {.section = reading->section,
                   .key = str_sub(line, 0, strlen(key)),
                   .value = str_sub(after, 0, strlen(value)),
                   .comment = str_trim(str_sub(comment, 1, comment.n))};
  found.key_at = place_of(reading, found.key);
  found.value_at = place_of(reading, after);
  if (reading->status == STATUS_OK) reading->status = reading->visit(reading->self, &found);
  return reading->status == STATUS_OK;
}

/* Where line `number`, from 1, begins. */
static const char *line_start(Str text, int number) {
  while (number-- > 1) text = str_sub(text, str_find(text, '\n') + 1, text.n);
  return text.at;
}

Status ini_read(const Source *source, IniVisit visit, void *self, Diag *diag) {
  Reading reading = {.source = source, .section = STR(""), .visit = visit, .self = self, .diag = diag};
  if (str_starts(source->text, "\xEF\xBB\xBF")) reading.next = 3;
  int wrong_line = ini_parse_stream(next_line, &reading, on_key, &reading);
  TRY(reading.status);
  RETURN_IF(wrong_line < 0, diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "out of memory"));
  RETURN_IF(wrong_line > 0, no_line(source, line_start(source->text, wrong_line), diag));
  return STATUS_OK;
}

/* Files to sources: plain or gzip (zlib reads both), or standard input. The whole is read before any of it is
 * looked at, up to a limit that also holds for what a .gz unpacks to. */
#include "sim/read/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

const ReadLimits read_limits_default = {
    .text_bytes = (size_t)2 << 30, .nesting = 256, .elements = (size_t)1 << 30};

static Status fail(Diag *diag, const char *path, const char *hint, const char *why) {
  return diag_fail(diag, STATUS_INVALID, NOWHERE, hint, "cannot read %s: %s", path, why);
}

static Status check_regular(const char *path, Diag *diag) {
  struct stat info;
  if (stat(path, &info) != 0) return fail(diag, path, NULL, strerror(errno));
  return S_ISDIR(info.st_mode) ? fail(diag, path, "name a file in it", "it is a folder") : STATUS_OK;
}

static Status open_source(const char *path, gzFile *file, Diag *diag) {
  if (strcmp(path, "-") == 0) {
    *file = gzdopen(dup(STDIN_FILENO), "rb");
  } else {
    TRY(check_regular(path, diag));
    errno = 0;
    *file = gzopen(path, "rb");
  }
  return *file != NULL ? STATUS_OK
                       : fail(diag, path, NULL, errno != 0 ? strerror(errno) : "it cannot be opened");
}

/* Reads all of it into memory that the caller frees. */
static Status read_all(gzFile file, const char *path, size_t limit, char **bytes, size_t *n, Diag *diag) {
  enum { FIRST = 1 << 16, STEP = 1 << 26 };
  size_t room = 0;
  *bytes = NULL;
  *n = 0;
  for (;;) {
    if (*n == room) {
      room = room == 0 ? FIRST : room * 2;
      char *grown = realloc(*bytes, room);
      RETURN_IF(grown == NULL, fail(diag, path, NULL, "it does not fit in memory"));
      *bytes = grown;
    }
    size_t step = room - *n < STEP ? room - *n : STEP;
    int got = gzread(file, *bytes + *n, (unsigned)step);
    RETURN_IF(got < 0, fail(diag, path, NULL, "its compression is damaged"));
    if (got == 0) return STATUS_OK;
    *n += (size_t)got;
    RETURN_IF(*n > limit, fail(diag, path, NULL, "it is larger than the limit for texts"));
  }
}

/* What is left at the end of a cut .gz shows only at closing. */
static Status close_source(gzFile file, const char *path, Diag *diag) {
  return gzclose(file) == Z_OK ? STATUS_OK : fail(diag, path, NULL, "its compression is cut off");
}

Status source_read(Arena *arena, const char *path, const ReadLimits *limits, const Source **made,
                   Diag *diag) {
  gzFile file;
  char *bytes = NULL;
  size_t n = 0;
  TRY(open_source(path, &file, diag));
  Status status = read_all(file, path, limits->text_bytes, &bytes, &n, diag);
  Status closed = close_source(file, path, diag);
  if (status == STATUS_OK) status = closed;
  if (status == STATUS_OK) {
    Source *source = ARENA_NEW(arena, Source);
    source->name = strcmp(path, "-") == 0 ? STR("<stdin>") : str_copy(arena, str_of(path));
    source->text = str_copy(arena, (Str){bytes, n});
    *made = source;
  }
  free(bytes);
  return status;
}

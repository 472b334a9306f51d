/* Output files through zlib, which also writes plain bytes ("T"). */
#include "traces/file_out.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_BYTES = 1 << 17 };

struct FileOut {
  Arena *arena;
  const char *path, *partial; /* the same where it is written in place */
  gzFile file;
  bool failed;
};

static bool in_place(const char *path) {
  struct stat found;
  return lstat(path, &found) == 0 && !S_ISREG(found.st_mode) && !S_ISDIR(found.st_mode);
}

Status file_out_open(const char *path, FileOut **out, Diag *diag) {
  Arena *arena = arena_new();
  FileOut *file = ARENA_NEW(arena, FileOut);
  *file = (FileOut){.arena = arena,
                    .path = str_terminated(arena, str_of(path)),
                    .partial = str_printf(arena, in_place(path) ? "%s" : "%s.partial", path).at};
  size_t n = strlen(path);
  bool compressed = n > 3 && strcmp(path + n - 3, ".gz") == 0;
  file->file = gzopen(file->partial, compressed ? "wb6" : "wbT");
  if (file->file == NULL) {
    Status status =
        diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "cannot write %s: %s", path, strerror(errno));
    arena_free(arena);
    return status;
  }
  gzbuffer(file->file, BUFFER_BYTES);
  *out = file;
  return STATUS_OK;
}

void file_out_text(FileOut *out, Str text) {
  enum { PIECE = 1 << 30 };
  for (size_t at = 0; at < text.n && !out->failed; at += PIECE) {
    unsigned n = (unsigned)(text.n - at < PIECE ? text.n - at : PIECE);
    out->failed = gzwrite(out->file, text.at + at, n) != (int)n;
  }
}

Status file_out_close(FileOut *out, Diag *diag) {
  bool failed = gzclose(out->file) != Z_OK || out->failed;
  bool beside = strcmp(out->partial, out->path) != 0;
  if (!failed && beside) failed = rename(out->partial, out->path) != 0;
  Status status = STATUS_OK;
  if (failed) {
    status = diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "cannot write %s: %s", out->path, strerror(errno));
    if (beside) unlink(out->partial);
  }
  arena_free(out->arena);
  return status;
}

void file_out_drop(FileOut *out) {
  if (out == NULL) return;
  gzclose(out->file);
  if (strcmp(out->partial, out->path) != 0) unlink(out->partial);
  arena_free(out->arena);
}

Status file_write(const char *path, Str text, Diag *diag) {
  FileOut *out;
  TRY(file_out_open(path, &out, diag));
  file_out_text(out, text);
  return file_out_close(out, diag);
}

Status folder_make(const char *path, Diag *diag) {
  Arena *arena = arena_new();
  char *name = arena_copy(arena, path, strlen(path) + 1);
  bool made = true;
  for (char *at = name + 1; made && *name != 0 && *at != 0; at++) {
    if (*at != '/') continue;
    *at = 0;
    made = mkdir(name, 0777) == 0 || errno == EEXIST;
    *at = '/';
  }
  made = made && (mkdir(name, 0777) == 0 || errno == EEXIST);
  Status status = made ? STATUS_OK
                       : diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "cannot make the folder %s: %s", path,
                                   strerror(errno));
  arena_free(arena);
  return status;
}

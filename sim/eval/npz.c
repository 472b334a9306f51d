/* The program's inputs: which file, archive entry or folder entry holds which parameter. Archives are read
 * through libzip, entry by entry, straight into the tensor: what an entry claims is bounded by the size of
 * the parameter, and by what deflate can pack. */
#include "sim/eval/npy.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zip.h>

/* Deflate packs at most 1032 to 1. */
enum { LARGEST_RATIO = 1032, PER_ENTRY = 4096 };

typedef struct {
  const Str *names;
  const Shape *const *shapes;
  uint32_t n;
} Params;

/* --- archives --- */

static bool zip_read(void *self, void *into, size_t n) {
  unsigned char *at = into;
  while (n > 0) {
    zip_int64_t got = zip_fread(self, at, n);
    if (got <= 0) return false;
    at += got;
    n -= (size_t)got;
  }
  return true;
}

static Status entry_read(zip_t *archive, const char *path, uint64_t index, const Shape *shape, Tensor **input,
                         Diag *diag) {
  zip_stat_t about;
  zip_file_t *entry = zip_fopen_index(archive, index, 0);
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE;
  if (entry == NULL || zip_stat_index(archive, index, 0, &about) != 0 || (about.valid & needed) != needed) {
    if (entry != NULL) zip_fclose(entry);
    return diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "%s: entry %s cannot be read: %s", path,
                     zip_get_name(archive, index, 0), zip_strerror(archive));
  }
  Arena *arena = arena_new();
  Str name = str_printf(arena, "%s: %s", path, zip_get_name(archive, index, 0));
  NpyBytes bytes = {.name = name.at, .size = about.size, .self = entry, .read = zip_read};
  Status status = STATUS_OK;
  if (about.size / LARGEST_RATIO > about.comp_size + PER_ENTRY) {
    status = diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "%s: claims more bytes than can be packed in it",
                       bytes.name);
  }
  if (status == STATUS_OK) status = npy_read_bytes(&bytes, shape, input, diag);
  unsigned char more;
  if (status == STATUS_OK && zip_fread(entry, &more, 1) != 0) { /* at the end libzip compares the checksum */
    tensor_release(*input);
    *input = NULL;
    status = diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "%s: the archive is damaged: %s", bytes.name,
                       zip_file_strerror(entry));
  }
  zip_fclose(entry);
  arena_free(arena);
  return status;
}

/* `x` of a parameter that HLO calls `x.1`. */
static Str user_name(Str name) {
  size_t n = name.n;
  while (n > 0 && name.at[n - 1] >= '0' && name.at[n - 1] <= '9') n--;
  return n > 1 && n < name.n && name.at[n - 1] == '.' ? str_sub(name, 0, n - 1) : name;
}

static bool user_name_is_unique(const Params *params, uint32_t number) {
  for (uint32_t i = 0; i < params->n; i++) {
    if (i != number && str_eq(user_name(params->names[i]), user_name(params->names[number]))) return false;
  }
  return true;
}

/* The entry of a parameter: its name, the user's name for it, argN or arr_N; -1 where there is none. */
static int64_t entry_of(zip_t *archive, Arena *arena, const Params *params, uint32_t number) {
  Str names[] = {params->names[number],
                 user_name_is_unique(params, number) ? user_name(params->names[number])
                                                     : params->names[number],
                 str_printf(arena, "arg%u", number), str_printf(arena, "arr_%u", number)};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    Str name = str_printf(arena, "%.*s.npy", STR_ARG(names[i]));
    zip_int64_t index = zip_name_locate(archive, name.at, 0);
    if (index >= 0) return index;
  }
  return -1;
}

static Status npz_params(zip_t *archive, const char *path, const Params *params, Tensor **inputs,
                         Arena *arena, Diag *diag) {
  for (uint32_t i = 0; i < params->n; i++) {
    int64_t index = entry_of(archive, arena, params, i);
    RETURN_IF(index < 0,
              diag_fail(diag, STATUS_INVALID, NOWHERE,
                        "name the arrays as the parameters, or arg0, arg1, …, or save them without names",
                        "%s holds no array for parameter %u (%.*s)", path, i, STR_ARG(params->names[i])));
    TRY(entry_read(archive, path, (uint64_t)index, params->shapes[i], &inputs[i], diag));
  }
  return STATUS_OK;
}

static Status npz_read(const char *path, const Params *params, Tensor **inputs, Diag *diag) {
  int code = 0;
  zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
  if (archive == NULL) {
    zip_error_t error;
    zip_error_init_with_code(&error, code);
    diag_fail(diag, STATUS_INVALID, NOWHERE, "write it with numpy.savez", "cannot read %s: %s", path,
              zip_error_strerror(&error));
    zip_error_fini(&error);
    return STATUS_INVALID;
  }
  Arena *arena = arena_new();
  Status status = npz_params(archive, path, params, inputs, arena, diag);
  arena_free(arena);
  zip_discard(archive);
  return status;
}

/* --- folders and files --- */

static Status folder_read(const char *path, const Params *params, Tensor **inputs, Diag *diag) {
  Arena *arena = arena_new();
  Status status = STATUS_OK;
  struct stat about;
  for (uint32_t i = 0; i < params->n && status == STATUS_OK; i++) {
    status = npy_read(str_printf(arena, "%s/in%u.npy", path, i).at, params->shapes[i], &inputs[i], diag);
  }
  const char *next = str_printf(arena, "%s/in%u.npy", path, params->n).at;
  if (status == STATUS_OK && stat(next, &about) == 0) {
    status = diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "the program takes %u inputs, but there is %s",
                       params->n, next);
  }
  arena_free(arena);
  return status;
}

static Status files_read(const char *const *paths, uint32_t n_paths, const Params *params, Tensor **inputs,
                         Diag *diag) {
  RETURN_IF(n_paths != params->n,
            diag_fail(diag, STATUS_INVALID, NOWHERE,
                      "give one .npy a parameter in order, one .npz, or one folder with in0.npy, in1.npy, …",
                      "the program takes %u inputs, %u were given", params->n, n_paths));
  for (uint32_t i = 0; i < n_paths; i++) TRY(npy_read(paths[i], params->shapes[i], &inputs[i], diag));
  return STATUS_OK;
}

static bool is_archive(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return false;
  char start[2] = {0};
  bool is = fread(start, 1, 2, file) == 2 && start[0] == 'P' && start[1] == 'K';
  fclose(file);
  return is;
}

Status inputs_read(const char *const *paths, uint32_t n_paths, const Str *names, const Shape *const *shapes,
                   uint32_t n_params, Tensor **inputs, Diag *diag) {
  Params params = {names, shapes, n_params};
  struct stat about;
  for (uint32_t i = 0; i < n_params; i++) inputs[i] = NULL;
  Status status;
  if (n_paths == 1 && stat(paths[0], &about) == 0 && S_ISDIR(about.st_mode)) {
    status = folder_read(paths[0], &params, inputs, diag);
  } else if (n_paths == 1 && is_archive(paths[0])) {
    status = npz_read(paths[0], &params, inputs, diag);
  } else {
    status = files_read(paths, n_paths, &params, inputs, diag);
  }
  if (status == STATUS_OK) return STATUS_OK;
  for (uint32_t i = 0; i < n_params; i++) {
    if (inputs[i] != NULL) tensor_release(inputs[i]);
    inputs[i] = NULL;
  }
  return status;
}

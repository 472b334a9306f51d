/* Fuzz target: any bytes are a pod's INI file or refused; behind a NUL may stand a `--set`. What `podsim
 * config` shows of it, given as sets, makes the same pod. */
#include "sim/config/pod.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void must(bool holds) {
  if (!holds) abort();
}

static const char *file_of(Arena *arena, Str text, int *file) {
  *file = memfd_create("fuzz.ini", 0);
  must(*file >= 0 && write(*file, text.at, text.n) == (ssize_t)text.n);
  return str_printf(arena, "/proc/self/fd/%d", *file).at;
}

static bool read_config(Arena *arena, Str text, const char *const *sets, uint32_t n_sets, Config **config) {
  int file;
  const char *path = file_of(arena, text, &file);
  Diag *diag = diag_new();
  Status status = config_read(arena, path, sets, n_sets, config, diag);
  must((status == STATUS_OK) == (diag_error_text(diag).n == 0));
  diag_free(diag);
  close(file);
  return status == STATUS_OK;
}

static void must_read_back(Arena *arena, const Config *config) {
  uint32_t n = config->entries.n;
  const char **sets = ARENA_ARRAY(arena, const char *, n);
  for (uint32_t i = 0; i < n; i++) {
    const ConfigEntry *entry = &config->entries.at[i];
    sets[i] = str_printf(arena, "%.*s=%.*s", STR_ARG(entry->key), STR_ARG(entry->value)).at;
  }
  Config *again;
  must(read_config(arena, STR(""), sets, n, &again));
  for (uint32_t i = 0; i < n; i++) must(str_eq(config->entries.at[i].value, again->entries.at[i].value));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Arena *arena = arena_new();
  Str all = {(const char *)data, n}, text = str_sub(all, 0, str_find(all, 0));
  const char *set = str_copy(arena, str_sub(all, text.n + 1, n)).at;
  Config *config;
  if (read_config(arena, text, &set, n > text.n, &config)) must_read_back(arena, config);
  arena_free(arena);
  return 0;
}

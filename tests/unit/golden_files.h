/* Golden files of the readers: NAME.hlo or NAME.mlir prints as NAME.print (itself where there is none), and a
 * text that is refused has the error NAME.error. */
#pragma once

#include "sim/ir/print.h"
#include "sim/read/program.h"

#include <criterion/criterion.h>
#include <glob.h>
#include <unistd.h>

typedef struct {
  Arena *arena;
  Diag *diag;
} Bench;

static Bench bench_new(void) {
  return (Bench){arena_new(), diag_new()};
}

static void bench_free(Bench bench) {
  arena_free(bench.arena);
  diag_free(bench.diag);
}

static Str file_text(Bench bench, const char *path) {
  const Source *source;
  cr_assert_eq(source_read(bench.arena, path, &read_limits_default, &source, bench.diag), STATUS_OK, "%.*s",
               STR_ARG(diag_error_text(bench.diag)));
  return source->text;
}

static const Source *source_of(Bench bench, const char *name, Str text) {
  Source *source = ARENA_NEW(bench.arena, Source);
  *source = (Source){str_of(name), text};
  return source;
}

static Module *read_text(Bench bench, const char *name, Str text) {
  Module *module;
  Status status = program_read(source_of(bench, name, text), &read_limits_default, &module, bench.diag);
  cr_assert_eq(status, STATUS_OK, "%.*s", STR_ARG(diag_error_text(bench.diag)));
  return module;
}

static Str printed(Bench bench, const char *name, Str text) {
  Module *module = read_text(bench, name, text);
  Str print = module_print(bench.arena, module);
  module_free(module);
  return print;
}

/* The error of a text that must be refused. */
static Str refused(Bench bench, const char *name, Str text) {
  Module *module;
  Diag *diag = diag_new();
  Status status = program_read(source_of(bench, name, text), &read_limits_default, &module, diag);
  cr_assert_eq(status, STATUS_INVALID, "%s is not refused", name);
  cr_assert_null(module);
  Str error = str_copy(bench.arena, diag_error_text(diag));
  diag_free(diag);
  return error;
}

static const char *with_ending(Bench bench, const char *path, const char *ending) {
  size_t stem = (size_t)(strrchr(path, '.') - path);
  return str_printf(bench.arena, "%.*s%s", (int)stem, path, ending).at;
}

static const char *base_name(const char *path) {
  return strrchr(path, '/') + 1;
}

static void assert_same(Str got, Str wanted, const char *path) {
  size_t at = 0;
  while (at < got.n && at < wanted.n && got.at[at] == wanted.at[at]) at++;
  size_t start = at < 60 ? 0 : at - 60;
  cr_assert(str_eq(got, wanted), "%s: byte %zu: got    …%.*s…\nwanted …%.*s…", path, at,
            STR_ARG(str_sub(got, start, at + 60)), STR_ARG(str_sub(wanted, start, at + 60)));
}

static void check_print(Bench bench, const char *path) {
  Str text = file_text(bench, path);
  const char *wanted = with_ending(bench, path, ".print");
  Str print = printed(bench, base_name(path), text);
  assert_same(print, access(wanted, R_OK) == 0 ? file_text(bench, wanted) : text, path);
  assert_same(printed(bench, base_name(path), print), print, path);
}

static void check_refused(Bench bench, const char *path) {
  Str error = refused(bench, base_name(path), file_text(bench, path));
  assert_same(error, file_text(bench, with_ending(bench, path, ".error")), path);
}

static void each_file(const char *pattern, void (*check)(Bench, const char *)) {
  glob_t files;
  cr_assert_eq(glob(pattern, 0, NULL, &files), 0, "no file %s", pattern);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    Bench bench = bench_new();
    check(bench, files.gl_pathv[i]);
    bench_free(bench);
  }
  globfree(&files);
}

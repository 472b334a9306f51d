/* Mosaic kernels: what JAX wrote (tests/golden/mosaic/make.py) is read; bytes that lie are refused with the
 * place of the custom call and the byte, and never read past their end. */
#include "arena_fixture.h"
#include "sim/mosaic/bytecode.h"

#include <stdio.h>

#define GOLDEN TESTS_DIR "/golden/mosaic/"

static const Source source = {.name = {"program.mlir", 12}, .text = {"call", 4}};

TestSuite(mosaic, .init = begin, .fini = end);

static bool error_has(const char *part) {
  return strstr(str_terminated(arena, diag_error_text(diag)), part) != NULL;
}

static Str file_text(const char *path) {
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s is missing", path);
  char *at = arena_alloc(arena, 1 << 16);
  size_t n = fread(at, 1, 1 << 16, file);
  fclose(file);
  return (Str){at, n};
}

static Status read_kernel(Str bytes, MosaicKernel *kernel) {
  return mosaic_read_bytecode(arena, bytes, STR("kernel"), (Place){&source, 0}, kernel, diag);
}

static void check_golden(const char *name) {
  MosaicKernel kernel;
  Str bytes = file_text(str_printf(arena, GOLDEN "%s.bc", name).at);
  Str text = file_text(str_printf(arena, GOLDEN "%s.txt", name).at);
  cr_assert_eq(read_kernel(bytes, &kernel), STATUS_OK, "%s", diag_error_text(diag).at);
  Str got = mosaic_print(arena, &kernel);
  cr_assert(str_eq(got, text), "%s reads as\n%.*s", name, STR_ARG(got));
}

Test(mosaic, kernels_of_jax_are_read) {
  check_golden("scale");
  check_golden("doubled");
}

Test(mosaic, an_op_knows_its_source_line) {
  MosaicKernel kernel;
  cr_assert_eq(read_kernel(file_text(GOLDEN "scale.bc"), &kernel), STATUS_OK);
  const MosaicBlock *body = &kernel.main->regions[0].blocks[0];
  for (uint32_t i = 0; i < body->n_ops; i++) {
    if (!str_is(body->ops[i].name, "math.exp")) continue;
    cr_assert(str_starts(mosaic_place(arena, &body->ops[i]), "make.py:20:"));
    return;
  }
  cr_assert_fail("the kernel has no exp");
}

Test(mosaic, what_is_cut_off_is_refused) {
  MosaicKernel kernel;
  Str whole = file_text(GOLDEN "doubled.bc");
  for (size_t n = 0; n < whole.n; n++) {
    diag_free(diag);
    diag = diag_new();
    Str part = str_copy(arena, str_sub(whole, 0, n));
    cr_assert_neq(read_kernel(part, &kernel), STATUS_OK, "%zu bytes are taken for a kernel", n);
    cr_assert(error_has("kernel: its kernel is not read: byte ") && error_has("program.mlir:1:1"), "%s",
              diag_error_text(diag).at);
  }
}

Test(mosaic, changed_bytes_are_read_or_refused) {
  MosaicKernel kernel;
  Str whole = file_text(GOLDEN "scale.bc");
  char *bytes = (char *)str_copy(arena, whole).at;
  for (size_t i = 0; i < whole.n; i++) {
    for (int change = 1; change < 256; change = change * 2 + 1) {
      Arena *own = arena_new();
      diag_free(diag);
      diag = diag_new();
      bytes[i] = (char)(whole.at[i] ^ change);
      Status status = mosaic_read_bytecode(own, (Str){bytes, whole.n}, STR("kernel"), NOWHERE, &kernel, diag);
      if (status == STATUS_OK) mosaic_print(own, &kernel);
      cr_assert_eq(status == STATUS_OK, diag_error_text(diag).n == 0);
      bytes[i] = whole.at[i];
      arena_free(own);
    }
  }
}

static void add_section(StrBuf *file, char id, Str data) {
  buf_char(file, id);
  buf_char(file, (char)(data.n << 1 | 1));
  buf_add(file, data);
}

/* A module without a body: two strings, a dialect with one op, one attribute, which is also the location. */
static Str tiny_file(Str attribute) {
  StrBuf file = {.arena = arena};
  buf_add(&file, STR("ML\xefR\x01x\0"));
  add_section(&file, 0,
              STR("\x05\x0f\x11"
                  "builtin\0module\0"));
  add_section(&file, 1, STR("\x03\x01\x01\x03\x03"));
  add_section(&file, 2, attribute);
  add_section(&file, 3, STR("\x03\x01\x01\x03\x0f"));
  add_section(&file, 4, STR("\x05\x01\0\x01"));
  return buf_str(&file);
}

Test(mosaic, what_holds_itself_is_refused) {
  MosaicKernel kernel;
  cr_assert_neq(read_kernel(tiny_file(STR("\x01\x03\x01")), &kernel), STATUS_OK);
  cr_assert(error_has("it holds itself"), "%s", diag_error_text(diag).at);
}

static uint64_t varint_of(const char *bytes, size_t n) {
  Bytecode file = {.arena = arena, .bytes = {bytes, n}, .call = STR("kernel"), .diag = diag};
  Cursor cursor = {&file, 0, n};
  uint64_t value = 0;
  cr_assert_eq(read_varint(&cursor, &value), STATUS_OK);
  cr_assert_eq(cursor.at, n);
  return value;
}

Test(mosaic, integers_of_every_width) {
  cr_assert_eq(varint_of("\xff", 1), 127);
  cr_assert_eq(varint_of("\x02\x02", 2), 128);
  cr_assert_eq(varint_of("\xfc\xff\xff", 3), (1 << 21) - 1);
  cr_assert_eq(varint_of("\x10\x00\x00\xe0\x0f", 5), 0x7f000000);
  cr_assert_eq(varint_of("\x80\xff\xff\xff\xff\xff\xff\xff", 8), ((uint64_t)1 << 56) - 1);
  cr_assert_eq(varint_of("\x00\x01\x00\x00\x00\x00\x00\x00\x80", 9), ((uint64_t)1 << 63) + 1);
}

Test(mosaic, numbers_below_0) {
  Bytecode file = {.arena = arena, .bytes = STR("\x03\x05\x07"), .diag = diag};
  Cursor cursor = {&file, 0, 3};
  const int64_t wanted[] = {-1, 1, -2};
  for (int i = 0; i < 3; i++) {
    int64_t value = 0;
    cr_assert_eq(read_signed(&cursor, &value), STATUS_OK);
    cr_assert_eq(value, wanted[i]);
  }
}

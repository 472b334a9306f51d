/* .npy and .npz: what numpy wrote is read, what podsim writes is what numpy would write, and files that lie
 * are refused. tests/golden/npy/make.py says what the files hold. */
#include "arena_fixture.h"
#include "sim/eval/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define GOLDEN TESTS_DIR "/golden/npy/"

TestSuite(npy, .init = begin, .fini = end);

static const Shape *shape_of(DType dtype, uint32_t rank, const int64_t *dims) {
  return shape_array(arena, dtype, dims, rank);
}

static const Shape *six(DType dtype) {
  return shape_of(dtype, 2, (int64_t[]){2, 3});
}

static bool error_has(const char *part) {
  return strstr(str_terminated(arena, diag_error_text(diag)), part) != NULL;
}

static const char *golden(const char *name) {
  return str_printf(arena, "%s%s", GOLDEN, name).at;
}

static void check_six(const Tensor *tensor, const char *name) {
  DClass class = dtype_class(tensor->dtype);
  for (int64_t i = 0; i < 6; i++) {
    double expected = class == DCLASS_PRED ? (double)(i % 2) : (double)(class == DCLASS_UNSIGNED ? i : i - 2);
    cr_assert_eq(tensor_double_at(tensor, i), expected, "%s: element %d is %g", name, (int)i,
                 tensor_double_at(tensor, i));
  }
}

typedef struct {
  const char *name;
  DType dtype;
  bool writes_same; /* podsim writes this very file */
} Golden;

static const Golden goldens[] = {
    {"bool", DTYPE_PRED, true},
    {"int8", DTYPE_S8, true},
    {"int16", DTYPE_S16, true},
    {"int32", DTYPE_S32, true},
    {"int64", DTYPE_S64, true},
    {"uint8", DTYPE_U8, true},
    {"uint16", DTYPE_U16, true},
    {"uint32", DTYPE_U32, true},
    {"uint64", DTYPE_U64, true},
    {"float16", DTYPE_F16, true},
    {"float32", DTYPE_F32, true},
    {"float64", DTYPE_F64, true},
    {"complex64", DTYPE_C64, true},
    {"complex128", DTYPE_C128, true},
    {"bfloat16", DTYPE_BF16, true},
    {"float8_e4m3fn_bits", DTYPE_F8E4M3FN, true},
    {"int16_big_endian", DTYPE_S16, false},
    {"float32_big_endian", DTYPE_F32, false},
    {"float64_big_endian", DTYPE_F64, false},
    {"complex64_big_endian", DTYPE_C64, false},
    {"float32_fortran", DTYPE_F32, false},
    {"int64_fortran_big_endian", DTYPE_S64, false},
    {"float32_version2", DTYPE_F32, false},
    {"float32_version3", DTYPE_F32, false},
    {"bfloat16_bits", DTYPE_BF16, false},
    {"float32", DTYPE_BF16, false},
    {"float32_fortran", DTYPE_BF16, false},
    {"float32_big_endian", DTYPE_BF16, false},
    {"float8_e4m3fn", DTYPE_F8E4M3FN, false},
    {"int4", DTYPE_S4, false},
    {"int8", DTYPE_S4, false},
    {"uint8", DTYPE_U4, false},
};

Test(npy, reads_what_numpy_wrote) {
  for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
    const char *path = golden(str_printf(arena, "%s.npy", goldens[i].name).at);
    Tensor *tensor;
    cr_assert_eq(npy_read(path, six(goldens[i].dtype), &tensor, diag), STATUS_OK, "%s: %.*s", path,
                 STR_ARG(diag_error_text(diag)));
    check_six(tensor, goldens[i].name);
    tensor_release(tensor);
  }
}

Test(npy, complex_parts) {
  Tensor *tensor;
  cr_assert_eq(npy_read(golden("complex64_big_endian.npy"), six(DTYPE_C64), &tensor, diag), STATUS_OK);
  for (int i = 0; i < 6; i++) cr_assert_eq(((float *)tensor->data)[2 * i + 1], (float)i);
  tensor_release(tensor);
}

static Str file_bytes(const char *path) {
  FILE *file = fopen(path, "rb");
  cr_assert_not_null(file, "%s", path);
  char *bytes = arena_alloc(arena, 4096);
  size_t n = fread(bytes, 1, 4096, file);
  fclose(file);
  return (Str){bytes, n};
}

static const char *temporary(const char *name) {
  return str_printf(arena, "/tmp/podsim_npy_%ld_%s", (long)getpid(), name).at;
}

static void check_rewritten(const char *name, const Shape *shape) {
  const char *path = temporary(name);
  Tensor *tensor;
  cr_assert_eq(npy_read(golden(name), shape, &tensor, diag), STATUS_OK);
  cr_assert_eq(npy_write(path, tensor, diag), STATUS_OK);
  cr_assert(str_eq(file_bytes(path), file_bytes(golden(name))), "%s is written otherwise", name);
  unlink(path);
  tensor_release(tensor);
}

Test(npy, writes_what_numpy_would) {
  for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
    if (goldens[i].writes_same)
      check_rewritten(str_printf(arena, "%s.npy", goldens[i].name).at, six(goldens[i].dtype));
  }
  check_rewritten("float32_scalar.npy", shape_of(DTYPE_F32, 0, NULL));
  check_rewritten("float32_vector.npy", shape_of(DTYPE_F32, 1, (int64_t[]){6}));
  check_rewritten("float32_empty.npy", shape_of(DTYPE_F32, 2, (int64_t[]){0, 3}));
  check_rewritten("float32_rank4.npy", shape_of(DTYPE_F32, 4, (int64_t[]){1, 2, 1, 3}));
}

/* The header of an array of this rank is as long as numpy makes it: a multiple of 64 that leaves room. */
Test(npy, header_lengths) {
  int64_t dims[20];
  for (uint32_t rank = 0; rank < 20; rank++) {
    for (uint32_t i = 0; i < rank; i++) dims[i] = 1;
    Tensor *tensor = tensor_new_array(DTYPE_U8, dims, rank, true);
    tensor->data[0] = 7;
    const char *path = temporary("length");
    cr_assert_eq(npy_write(path, tensor, diag), STATUS_OK);
    tensor_release(tensor);
    Str bytes = file_bytes(path);
    cr_assert_eq(bytes.n % 64, 1);
    cr_assert_eq(bytes.at[bytes.n - 2], '\n');
    cr_assert_eq(npy_read(path, shape_of(DTYPE_U8, rank, dims), &tensor, diag), STATUS_OK);
    cr_assert_eq(tensor->data[0], 7);
    tensor_release(tensor);
    unlink(path);
  }
}

static void check_refused(const char *path, const Shape *shape, const char *why) {
  Tensor *tensor = NULL;
  diag_free(diag);
  diag = diag_new();
  cr_assert_eq(npy_read(path, shape, &tensor, diag), STATUS_INVALID, "%s was read", path);
  cr_assert_null(tensor);
  cr_assert(error_has(why), "%s: expected '%s' in: %.*s", path, why, STR_ARG(diag_error_text(diag)));
}

Test(npy, wrong_types_and_shapes) {
  check_refused(golden("float64.npy"), six(DTYPE_F32),
                "wrong type: expected f32[2,3], found {'descr': '<f8'");
  check_refused(golden("int32.npy"), six(DTYPE_U32), "wrong type");
  check_refused(golden("int32.npy"), six(DTYPE_PRED), "wrong type");
  check_refused(golden("float16.npy"), six(DTYPE_BF16), "wrong type");
  check_refused(golden("float32.npy"), shape_of(DTYPE_F32, 2, (int64_t[]){3, 2}),
                "wrong shape: expected f32[3,2], found");
  check_refused(golden("float32.npy"), shape_of(DTYPE_F32, 1, (int64_t[]){6}), "found f32[2,3]");
  check_refused(golden("nowhere.npy"), six(DTYPE_F32), "cannot open");
  check_refused(GOLDEN, six(DTYPE_F32), "not a plain file");
  check_refused(golden("make.py"), six(DTYPE_F32), "not an .npy file");
}

static const char *written(const char *name, Str bytes) {
  const char *path = temporary(name);
  FILE *file = fopen(path, "wb");
  cr_assert_eq(fwrite(bytes.at, 1, bytes.n, file), bytes.n);
  fclose(file);
  return path;
}

static Str with_header(const char *header, size_t data) {
  StrBuf buf = {.arena = arena};
  buf_add(&buf, (Str){"\x93NUMPY\x01\x00", 8});
  buf_char(&buf, (char)strlen(header));
  buf_char(&buf, (char)(strlen(header) >> 8));
  buf_add(&buf, str_of(header));
  for (size_t i = 0; i < data; i++) buf_char(&buf, 0);
  return buf_str(&buf);
}

static void check_header_refused(const char *header, size_t data, const char *why) {
  const char *path = written("lie", with_header(header, data));
  check_refused(path, six(DTYPE_F32), why);
  unlink(path);
}

Test(npy, files_that_lie) {
  const char *good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  const char *path = written("good", with_header(good, 24));
  Tensor *tensor;
  cr_assert_eq(npy_read(path, six(DTYPE_F32), &tensor, diag), STATUS_OK);
  tensor_release(tensor);
  unlink(path);
  check_header_refused(good, 23, "asks for 24 bytes, but 23 follow");
  check_header_refused(good, 25, "asks for 24 bytes, but 25 follow");
  check_header_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2000000000, 1000000000), }", 24,
                       "asks for 8000000000000000000 bytes, but 24 follow");
  check_header_refused("{'descr': '<f8', 'fortran_order': False, 'shape': (4000000000, 1000000000), }", 24,
                       "asks for more than");
  check_header_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 4000000000), }", 24,
                       "cannot read the .npy header");
}

Test(npy, broken_headers) {
  static const char *const headers[] = {
      "",
      "{",
      "{}",
      "{'descr': '<f4', 'fortran_order': False, }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'more': 1}",
      "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)}",
      "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2, 3)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': 6}",
      "{'descr': '<f', 'fortran_order': False, 'shape': (2, 3)}",
      "{'descr': '<f999999999999999999999', 'fortran_order': False, 'shape': (2, 3)}",
      "{'descr': '|O', 'fortran_order': False, 'shape': (2, 3)}",
      "{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (2, 3)}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)} x",
  };
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
    check_header_refused(headers[i], 24, "cannot read the .npy header");
}

Test(npy, every_cut_is_refused) {
  Str whole = file_bytes(golden("float32.npy"));
  for (size_t n = 0; n < whole.n; n++) {
    const char *path = written("cut", str_sub(whole, 0, n));
    check_refused(path, six(DTYPE_F32), "podsim: error");
    unlink(path);
  }
}

Test(npy, values_too_wide_for_the_type) {
  check_refused(golden("int8.npy"), six(DTYPE_S2), "does not fit the type s2");
}

static Status read_inputs(const char *const *paths, uint32_t n, Tensor **inputs) {
  static const Str names[] = {{"x.1", 3}, {"y.1", 3}};
  const Shape *shapes[] = {six(DTYPE_F32), six(DTYPE_S32)};
  diag_free(diag);
  diag = diag_new();
  return inputs_read(paths, n, names, shapes, 2, inputs, diag);
}

static void check_inputs(const char *const *paths, uint32_t n) {
  Tensor *inputs[2];
  cr_assert_eq(read_inputs(paths, n, inputs), STATUS_OK, "%.*s", STR_ARG(diag_error_text(diag)));
  for (int i = 0; i < 2; i++) {
    check_six(inputs[i], paths[0]);
    tensor_release(inputs[i]);
  }
}

static void check_inputs_refused(const char *const *paths, uint32_t n, const char *why) {
  Tensor *inputs[2];
  cr_assert_eq(read_inputs(paths, n, inputs), STATUS_INVALID);
  cr_assert(inputs[0] == NULL && inputs[1] == NULL);
  cr_assert(error_has(why), "expected '%s' in: %.*s", why, STR_ARG(diag_error_text(diag)));
}

Test(npy, inputs_from_files) {
  check_inputs((const char *[]){golden("float32.npy"), golden("int32.npy")}, 2);
  check_inputs_refused((const char *[]){golden("float32.npy")}, 1, "takes 2 inputs, 1 were given");
  check_inputs_refused((const char *[]){golden("float32.npy"), golden("int64.npy")}, 2,
                       "int64.npy: wrong type");
}

Test(npy, inputs_from_archives) {
  check_inputs((const char *[]){golden("stored.npz")}, 1);
  check_inputs((const char *[]){golden("deflated.npz")}, 1);
  check_inputs((const char *[]){golden("unnamed.npz")}, 1);
}

Test(npy, damaged_archives) {
  Str whole = file_bytes(golden("deflated.npz"));
  for (size_t n = 2; n < whole.n; n += 7) {
    const char *path = written("cut.npz", str_sub(whole, 0, n));
    check_inputs_refused((const char *[]){path}, 1, "podsim: error");
    unlink(path);
  }
  Str stored = file_bytes(golden("stored.npz"));
  char *bytes = arena_copy(arena, stored.at, stored.n);
  bytes[190] ^= 1; /* an element of arg0: the checksum no longer holds */
  const char *path = written("bad.npz", (Str){bytes, stored.n});
  check_inputs_refused((const char *[]){path}, 1, "damaged");
  unlink(path);
}

Test(npy, inputs_from_a_folder) {
  const char *folder = temporary("folder");
  cr_assert_eq(
      system(str_printf(arena, "mkdir %s && cp %s %s/in0.npy", folder, golden("float32.npy"), folder).at), 0);
  check_inputs_refused(&folder, 1, "in1.npy");
  cr_assert_eq(system(str_printf(arena, "cp %s %s/in1.npy", golden("int32.npy"), folder).at), 0);
  check_inputs(&folder, 1);
  cr_assert_eq(system(str_printf(arena, "cp %s %s/in2.npy", golden("int32.npy"), folder).at), 0);
  check_inputs_refused(&folder, 1, "takes 2 inputs, but there is");
  cr_assert_eq(system(str_printf(arena, "rm -r %s", folder).at), 0);
}

Test(npy, nothing_is_left_of_a_failed_write) {
  Tensor *tensor = tensor_new(six(DTYPE_F32), false);
  const char *path = temporary("unknown");
  cr_assert_eq(npy_write(path, tensor, diag), STATUS_FAILED);
  cr_assert_neq(access(path, F_OK), 0);
  tensor_release(tensor);
  tensor = tensor_new(six(DTYPE_U8), true);
  memset(tensor->data, 1, tensor->bytes);
  cr_assert_eq(npy_write("/nowhere/out0.npy", tensor, diag), STATUS_FAILED);
  tensor_release(tensor);
}

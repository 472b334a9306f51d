/* One .npy: header and elements to a tensor, and back. The header is a Python literal of three keys; what it
 * claims must fit the file and the program's parameter before memory is taken. Format:
 * numpy.lib.format (versions 1 to 3). */
#include "sim/eval/npy.h"

#include "sim/ir/fp.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC_BYTES = 6, MAX_RANK = 64, LONGEST_HEADER = 64 << 10, HEADER_ALIGN = 64, GROWTH_DIGITS = 21 };

static const char magic[MAGIC_BYTES + 1] = "\x93NUMPY";

typedef struct {
  char kind; /* numpy's: b i u f c V */
  uint32_t size;
  bool big_endian, fortran;
  uint32_t rank;
  int64_t dims[MAX_RANK];
  int64_t elements;
  Str text; /* the whole literal, for messages */
} NpyHeader;

/* --- the header's literal --- */

static Str skip_blanks(Str at) {
  while (at.n > 0 && (at.at[0] == ' ' || at.at[0] == '\n' || at.at[0] == '\t')) at = str_sub(at, 1, at.n);
  return at;
}

static bool take(Str *at, char c) {
  *at = skip_blanks(*at);
  if (at->n == 0 || at->at[0] != c) return false;
  *at = str_sub(*at, 1, at->n);
  return true;
}

static bool next_is(Str at, char c) {
  at = skip_blanks(at);
  return at.n > 0 && at.at[0] == c;
}

static bool take_word(Str *at, const char *word) {
  *at = skip_blanks(*at);
  if (!str_starts(*at, word)) return false;
  *at = str_sub(*at, strlen(word), at->n);
  return true;
}

static bool take_quoted(Str *at, Str *text) {
  *at = skip_blanks(*at);
  if (at->n == 0 || (at->at[0] != '\'' && at->at[0] != '"')) return false;
  Str rest = str_sub(*at, 1, at->n);
  size_t close = str_find(rest, at->at[0]);
  if (close == rest.n) return false;
  *text = str_sub(rest, 0, close);
  *at = str_sub(rest, close + 1, rest.n);
  return true;
}

static bool take_size(Str *at, int64_t *size) {
  *at = skip_blanks(*at);
  size_t n = 0;
  while (n < at->n && at->at[n] >= '0' && at->at[n] <= '9') n++;
  if (!str_to_int(str_sub(*at, 0, n), size)) return false;
  *at = str_sub(*at, n, at->n);
  return true;
}

static bool take_descr(Str *at, NpyHeader *header) {
  Str descr;
  if (!take_quoted(at, &descr)) return false;
  if (descr.n > 0 && strchr("<>|=", descr.at[0]) != NULL) {
    header->big_endian = descr.at[0] == '>';
    descr = str_sub(descr, 1, descr.n);
  }
  if (str_is(descr, "?")) descr = STR("b1");
  int64_t size;
  if (descr.n < 2 || strchr("biufcV", descr.at[0]) == NULL) return false;
  if (!str_to_int(str_sub(descr, 1, descr.n), &size) || size < 1 || size > 16) return false;
  header->kind = descr.at[0];
  header->size = (uint32_t)size;
  return true;
}

static bool take_shape(Str *at, NpyHeader *header) {
  if (!take(at, '(')) return false;
  header->elements = 1;
  while (!take(at, ')')) {
    int64_t size;
    if (header->rank == MAX_RANK || !take_size(at, &size)) return false;
    if (__builtin_mul_overflow(header->elements, size, &header->elements)) return false;
    header->dims[header->rank++] = size;
    if (!take(at, ',') && (header->rank < 2 || !next_is(*at, ')'))) return false;
  }
  return true;
}

static bool take_order(Str *at, NpyHeader *header) {
  header->fortran = take_word(at, "True");
  return header->fortran || take_word(at, "False");
}

static const struct {
  const char *key;
  bool (*take)(Str *at, NpyHeader *header);
} keys[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};

enum { N_KEYS = sizeof keys / sizeof *keys };

static bool take_key(Str *at, NpyHeader *header, bool *seen) {
  Str key;
  if (!take_quoted(at, &key) || !take(at, ':')) return false;
  for (uint32_t k = 0; k < N_KEYS; k++) {
    if (!str_is(key, keys[k].key)) continue;
    bool again = seen[k];
    seen[k] = true;
    return !again && keys[k].take(at, header);
  }
  return false;
}

/* {'descr': '<f4', 'fortran_order': False, 'shape': (8, 16), } in any order of keys. */
static bool parse_header(Str text, NpyHeader *header) {
  Str at = text;
  bool seen[N_KEYS] = {false};
  if (!take(&at, '{')) return false;
  while (!take(&at, '}')) {
    if (!take_key(&at, header, seen)) return false;
    if (!take(&at, ',') && !next_is(at, '}')) return false;
  }
  for (uint32_t k = 0; k < N_KEYS; k++)
    if (!seen[k]) return false;
  return skip_blanks(at).n == 0;
}

/* --- reading --- */

static Status not_npy(const NpyBytes *bytes, Diag *diag, const char *what) {
  return diag_fail(diag, STATUS_INVALID, NOWHERE, "write it with numpy.save", "%s: %s", bytes->name, what);
}

/* Reads up to the first element; `after` is what the header takes in all. */
static Status read_header(const NpyBytes *bytes, char *text, NpyHeader *header, uint64_t *after, Diag *diag) {
  unsigned char start[MAGIC_BYTES + 2], length[4] = {0};
  RETURN_IF(!bytes->read(bytes->self, start, sizeof start) || memcmp(start, magic, MAGIC_BYTES) != 0,
            not_npy(bytes, diag, "not an .npy file"));
  uint32_t major = start[MAGIC_BYTES];
  RETURN_IF(major < 1 || major > 3, not_npy(bytes, diag, "an .npy of a version that is not known"));
  size_t length_bytes = major == 1 ? 2 : 4;
  RETURN_IF(!bytes->read(bytes->self, length, length_bytes),
            not_npy(bytes, diag, "the .npy header is cut off"));
  size_t n = (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
  RETURN_IF(n > LONGEST_HEADER, not_npy(bytes, diag, "the .npy header claims to be longer than 64 KiB"));
  RETURN_IF(!bytes->read(bytes->self, text, n), not_npy(bytes, diag, "the .npy header is cut off"));
  *after = sizeof start + length_bytes + n;
  header->text = str_trim((Str){text, n});
  RETURN_IF(!parse_header(header->text, header),
            diag_fail(diag, STATUS_INVALID, NOWHERE,
                      "podsim reads arrays of bool, int, uint, float, complex and V1, V2 elements",
                      "%s: cannot read the .npy header %.*s", bytes->name, STR_ARG(header->text)));
  return STATUS_OK;
}

static Status check_size(const NpyBytes *bytes, const NpyHeader *header, uint64_t after, Diag *diag) {
  uint64_t there = bytes->size > after ? bytes->size - after : 0;
  int64_t claimed;
  bool overflow = __builtin_mul_overflow(header->elements, (int64_t)header->size, &claimed);
  RETURN_IF(overflow || (uint64_t)claimed != there,
            diag_fail(diag, STATUS_INVALID, NOWHERE, "the file is cut off, or is not what its header says",
                      "%s: the header %.*s asks for %s%" PRId64 " bytes, but %" PRIu64 " follow", bytes->name,
                      STR_ARG(header->text), overflow ? "more than " : "", overflow ? INT64_MAX : claimed,
                      there));
  return STATUS_OK;
}

/* Whether elements of this kind serve as values of `dtype`: numpy has kinds of its own for the wide ones
 * only; the others come as their bits, bf16 as float32 too. */
static bool serves(const NpyHeader *header, DType dtype) {
  if (dtype == DTYPE_BF16 && header->kind == 'f' && header->size == 4) return true;
  if (header->size != dtype_bytes(dtype)) return false;
  char kind = header->kind;
  bool sub_byte = dtype_bits(dtype) < 8, bits = kind == 'u' || kind == 'V';
  switch (dtype_class(dtype)) {
  case DCLASS_PRED: return kind == 'b';
  case DCLASS_SIGNED: return kind == 'i' || (sub_byte && kind == 'V');
  case DCLASS_UNSIGNED: return kind == 'u' || (sub_byte && kind == 'V');
  case DCLASS_COMPLEX: return kind == 'c';
  case DCLASS_FLOAT: return dtype_bits(dtype) <= 8 || dtype == DTYPE_BF16 ? bits : kind == 'f';
  case DCLASS_OTHER: break;
  }
  return false;
}

static Status check_shape(const NpyBytes *bytes, const NpyHeader *header, const Shape *shape, Diag *diag) {
  if (shape_is_array(shape) && serves(header, shape->dtype) &&
      int64s_eq(header->dims, header->rank, shape->dims, shape->rank))
    return STATUS_OK;
  Arena *arena = arena_new();
  bool type = shape_is_array(shape) && !serves(header, shape->dtype);
  StrBuf expected = {.arena = arena};
  shape_print(&expected, shape, false);
  Str found =
      type ? header->text : shape_text(arena, shape_array(arena, shape->dtype, header->dims, header->rank));
  Status status = diag_fail(
      diag, STATUS_INVALID, NOWHERE,
      type ? "convert it with numpy's astype; bf16 is read from float32, <V2 or its bits as uint16, an "
             "f8 from uint8"
           : "inputs stand in the order of the program's parameters",
      "%s: wrong %s: expected %.*s, found %.*s", bytes->name, type ? "type" : "shape",
      STR_ARG(buf_str(&expected)), STR_ARG(found));
  arena_free(arena);
  return status;
}

static void swap_bytes(unsigned char *data, int64_t elements, const NpyHeader *header) {
  size_t part = header->kind == 'c' ? header->size / 2 : header->size;
  size_t parts = (size_t)elements * header->size / part;
  for (size_t i = 0; i < parts; i++, data += part) {
    for (size_t low = 0, high = part - 1; low < high; low++, high--) {
      unsigned char kept = data[low];
      data[low] = data[high];
      data[high] = kept;
    }
  }
}

/* Walks the destination row by row; the source's first dimension is the fastest. */
static void from_fortran(unsigned char *to, const unsigned char *from, const NpyHeader *header) {
  int64_t index[MAX_RANK] = {0}, stride[MAX_RANK], source = 0;
  for (uint32_t i = 0; i < header->rank; i++) stride[i] = i == 0 ? 1 : stride[i - 1] * header->dims[i - 1];
  for (int64_t at = 0; at < header->elements; at++) {
    memcpy(to + (size_t)at * header->size, from + (size_t)source * header->size, header->size);
    for (uint32_t i = header->rank; i-- > 0;) {
      source += stride[i];
      if (++index[i] < header->dims[i]) break;
      source -= stride[i] * header->dims[i];
      index[i] = 0;
    }
  }
}

/* Element bytes of a type below 8 bits: the value must fit. V1 holds it in its low bits. */
static bool narrow(unsigned char *data, int64_t elements, DType dtype, char kind) {
  uint32_t bits = dtype_bits(dtype), shift = 8 - bits;
  bool is_signed = dtype_class(dtype) == DCLASS_SIGNED;
  for (int64_t i = 0; i < elements; i++) {
    int high = (unsigned char)(data[i] << shift);
    unsigned char low = (unsigned char)(is_signed ? (int8_t)high >> shift : high >> shift);
    if (kind != 'V' && low != data[i]) return false;
    data[i] = low;
  }
  return true;
}

static Status convert(const NpyBytes *bytes, const NpyHeader *header, unsigned char *from, Tensor *tensor,
                      Diag *diag) {
  if (header->big_endian) swap_bytes(from, header->elements, header);
  if (tensor->dtype == DTYPE_BF16 && header->kind == 'f') {
    for (int64_t i = 0; i < header->elements; i++) {
      float value;
      memcpy(&value, from + (size_t)i * sizeof value, sizeof value);
      ((uint16_t *)tensor->data)[i] = (uint16_t)fp_from_float(DTYPE_BF16, value);
    }
    return STATUS_OK;
  }
  if (from != tensor->data && tensor->bytes != 0) memcpy(tensor->data, from, tensor->bytes);
  if (tensor->dtype == DTYPE_PRED) {
    for (int64_t i = 0; i < header->elements; i++) tensor->data[i] = tensor->data[i] != 0;
  } else if (dtype_bits(tensor->dtype) < 8) {
    RETURN_IF(!narrow(tensor->data, header->elements, tensor->dtype, header->kind),
              diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "%s: a value does not fit the type %s",
                        bytes->name, dtype_text(tensor->dtype)));
  }
  return STATUS_OK;
}

/* Memory that is asked for only after the file has shown that it holds as much. */
static unsigned char *bytes_new(size_t n) {
  unsigned char *memory = malloc(n == 0 ? 1 : n);
  if (memory == NULL) abort();
  return memory;
}

static Status read_elements(const NpyBytes *bytes, const NpyHeader *header, Tensor *tensor, Diag *diag) {
  size_t n = (size_t)header->elements * header->size;
  bool direct = !header->fortran && n == tensor->bytes;
  unsigned char *raw = direct ? tensor->data : bytes_new(n);
  Status status = STATUS_OK;
  if (n != 0 && !bytes->read(bytes->self, raw, n)) {
    status = diag_fail(diag, STATUS_INVALID, NOWHERE, NULL,
                       "%s: cannot read its elements: the file is damaged", bytes->name);
  }
  if (status == STATUS_OK && header->fortran) {
    unsigned char *row_major = bytes_new(n);
    from_fortran(row_major, raw, header);
    free(raw);
    raw = row_major;
  }
  if (status == STATUS_OK) status = convert(bytes, header, raw, tensor, diag);
  if (!direct) free(raw);
  return status;
}

Status npy_read_bytes(const NpyBytes *bytes, const Shape *shape, Tensor **tensor, Diag *diag) {
  NpyHeader header = {0};
  uint64_t after = 0;
  char *text = (char *)bytes_new(LONGEST_HEADER);
  Status status = read_header(bytes, text, &header, &after, diag);
  if (status == STATUS_OK) status = check_size(bytes, &header, after, diag);
  if (status == STATUS_OK) status = check_shape(bytes, &header, shape, diag);
  free(text);
  TRY(status);
  Tensor *read = tensor_new(shape, true);
  status = read_elements(bytes, &header, read, diag);
  if (status == STATUS_OK) {
    *tensor = read;
  } else {
    tensor_release(read);
  }
  return status;
}

static bool file_read(void *self, void *into, size_t n) {
  return fread(into, 1, n, self) == n;
}

Status npy_read(const char *path, const Shape *shape, Tensor **tensor, Diag *diag) {
  FILE *file = fopen(path, "rb");
  RETURN_IF(file == NULL,
            diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "cannot open %s: %s", path, strerror(errno)));
  struct stat about;
  Status status = STATUS_OK;
  if (fstat(fileno(file), &about) != 0 || !S_ISREG(about.st_mode)) {
    status = diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "%s is not a plain file", path);
  } else {
    NpyBytes bytes = {.name = path, .size = (uint64_t)about.st_size, .self = file, .read = file_read};
    status = npy_read_bytes(&bytes, shape, tensor, diag);
  }
  fclose(file);
  return status;
}

/* --- writing --- */

static const char *descr_of(DType dtype) {
  static const char *const integers[] = {"|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8"};
  uint32_t bytes = dtype_bytes(dtype);
  uint32_t log = bytes >= 8 ? 3 : bytes / 2;
  switch (dtype_class(dtype)) {
  case DCLASS_PRED: return "|b1";
  case DCLASS_SIGNED: return integers[log];
  case DCLASS_UNSIGNED: return integers[4 + log];
  case DCLASS_COMPLEX: return bytes == 8 ? "<c8" : "<c16";
  case DCLASS_FLOAT: break;
  case DCLASS_OTHER: return NULL;
  }
  if (dtype == DTYPE_BF16) return "<V2";
  return bytes == 1 ? "|u1" : bytes == 2 ? "<f2" : bytes == 4 ? "<f4" : "<f8";
}

/* numpy leaves room for the first dimension to grow, and ends the header on a multiple of 64 bytes. */
static Str header_text(Arena *arena, const Tensor *tensor) {
  StrBuf buf = {.arena = arena};
  buf_printf(&buf, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(tensor->dtype));
  for (uint32_t i = 0; i < tensor->rank; i++) {
    buf_printf(&buf, i == 0 ? "%" PRId64 : ", %" PRId64, tensor->dims[i]);
  }
  buf_printf(&buf, tensor->rank == 1 ? ",), }" : "), }");
  if (tensor->rank > 0) {
    int digits = snprintf(NULL, 0, "%" PRId64, tensor->dims[0]);
    for (int i = digits; i < GROWTH_DIGITS; i++) buf_char(&buf, ' ');
  }
  size_t padding = HEADER_ALIGN - (MAGIC_BYTES + 4 + buf.n + 1) % HEADER_ALIGN;
  for (size_t i = 0; i < padding; i++) buf_char(&buf, ' ');
  buf_char(&buf, '\n');
  return buf_str(&buf);
}

static bool write_all(FILE *file, const Tensor *tensor) {
  Arena *arena = arena_new();
  Str text = header_text(arena, tensor);
  unsigned char version[] = {1, 0, (unsigned char)text.n, (unsigned char)(text.n >> 8)};
  bool whole = fwrite(magic, 1, MAGIC_BYTES, file) == MAGIC_BYTES &&
               fwrite(version, 1, sizeof version, file) == sizeof version &&
               fwrite(text.at, 1, text.n, file) == text.n &&
               (tensor->bytes == 0 || fwrite(tensor->data, 1, tensor->bytes, file) == tensor->bytes);
  arena_free(arena);
  return whole;
}

Status npy_write(const char *path, const Tensor *tensor, Diag *diag) {
  RETURN_IF(
      !tensor->known || descr_of(tensor->dtype) == NULL,
      diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "%s: there are no values of an array to write", path));
  Arena *arena = arena_new();
  const char *temporary = str_printf(arena, "%s.%ld.tmp", path, (long)getpid()).at;
  FILE *file = fopen(temporary, "wb");
  bool whole = file != NULL && write_all(file, tensor);
  if (file != NULL) whole = fclose(file) == 0 && whole;
  whole = whole && rename(temporary, path) == 0;
  Status status = STATUS_OK;
  if (!whole) {
    status = diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "cannot write %s: %s", path, strerror(errno));
    if (file != NULL) unlink(temporary);
  }
  arena_free(arena);
  return status;
}

/* Elements of dense<…>: a number for all of them, nested lists, or their bytes in hexadecimal (little
 * endian, row-major; of i1 eight to a byte, or one). A number for all stays a scalar, however large the
 * tensor is. */
#include "sim/read/mlir.h"
#include "sim/read/number.h"

#include <math.h>
#include <stdlib.h>

static Str peek_number(Lexer *lex) {
  lex_peek(lex);
  const char *stop = lex->at;
  while (stop < lex->end && ((*stop >= '0' && *stop <= '9') || (*stop >= 'a' && *stop <= 'z') ||
                             (*stop >= 'A' && *stop <= 'Z') || *stop == '.' || *stop == '-' || *stop == '+'))
    stop++;
  return (Str){lex->at, (size_t)(stop - lex->at)};
}

static Status out_of_range(Lexer *lex, const char *where, DType dtype) {
  return LEX_FAIL(lex, where, NULL, "this value does not fit in %s", dtype_text(dtype));
}

/* Numbers. */

/* The digits after 0x, at most 64 bits of them. */
static bool hex_digits(Str text, uint64_t *bits) {
  *bits = 0;
  if (text.n < 3 || text.n > 18 || text.at[0] != '0' || (text.at[1] | 0x20) != 'x') return false;
  char digits[20] = "", *end;
  memcpy(digits, text.at, text.n);
  *bits = strtoull(digits, &end, 16);
  return *end == 0;
}

static bool decimal_digits(Str text, uint64_t *magnitude) {
  *magnitude = 0;
  for (size_t i = 0; i < text.n; i++) {
    if (text.at[i] < '0' || text.at[i] > '9') return false;
    if (__builtin_mul_overflow(*magnitude, 10, magnitude) ||
        __builtin_add_overflow(*magnitude, (uint64_t)(text.at[i] - '0'), magnitude))
      return false;
  }
  return text.n > 0;
}

static Status read_integer(Lexer *lex, DType dtype, uint64_t *bits) {
  Str text = peek_number(lex);
  bool negative = text.n > 0 && text.at[0] == '-';
  Str digits = str_sub(text, negative, text.n);
  uint64_t magnitude, most = UINT64_MAX >> (64 - dtype_bits(dtype));
  if (!decimal_digits(digits, &magnitude) && !hex_digits(digits, &magnitude))
    return lex_expected(lex, "an integer");
  if (negative) most = dtype_class(dtype) == DCLASS_SIGNED ? (most >> 1) + 1 : 0;
  if (magnitude > most) return out_of_range(lex, lex->at, dtype);
  lex->at += text.n;
  *bits = negative ? -magnitude : magnitude;
  return STATUS_OK;
}

static Status read_pred(Lexer *lex, uint64_t *bits) {
  *bits = mlir_accept_word(lex, "true");
  if (*bits || mlir_accept_word(lex, "false")) return STATUS_OK;
  TRY(read_integer(lex, DTYPE_U8, bits));
  *bits = *bits != 0;
  return STATUS_OK;
}

/* A decimal, or the bits in hexadecimal. */
static Status read_float(MlirReader *reader, DType dtype, uint64_t *bits) {
  Lexer *lex = &reader->lex;
  Str text = peek_number(lex);
  double value;
  if (hex_digits(text, bits)) {
    if (*bits > UINT64_MAX >> (64 - dtype_bits(dtype))) return out_of_range(lex, lex->at, dtype);
  } else if (text.n != 0 && decimal_read(text, reader->scratch, &value)) {
    *bits = float_bits(dtype, value);
    if (float_overflows(dtype, value, *bits)) return out_of_range(lex, lex->at, dtype);
  } else {
    return lex_expected(lex, "a number");
  }
  lex->at += text.n;
  return STATUS_OK;
}

/* (real, imaginary) */
static Status read_complex(MlirReader *reader, DType dtype, unsigned char *to) {
  DType part = dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
  uint64_t real, imaginary;
  TRY(lex_expect(&reader->lex, '('));
  TRY(read_float(reader, part, &real));
  TRY(lex_expect(&reader->lex, ','));
  TRY(read_float(reader, part, &imaginary));
  memcpy(to, &real, dtype_bytes(part));
  memcpy(to + dtype_bytes(part), &imaginary, dtype_bytes(part));
  return lex_expect(&reader->lex, ')');
}

/* The low bits of an integer below 8 bits, signed ones extended to the byte. */
static uint64_t narrowed(DType dtype, uint64_t bits) {
  uint32_t unused = 64 - dtype_bits(dtype);
  if (dtype_bits(dtype) >= 8 || !dtype_is_integer(dtype)) return bits;
  bits <<= unused;
  return dtype_class(dtype) == DCLASS_SIGNED ? (uint64_t)((int64_t)bits >> unused) : bits >> unused;
}

static Status read_element(MlirReader *reader, DType dtype, unsigned char *to) {
  uint64_t bits = 0;
  switch (dtype_class(dtype)) {
  case DCLASS_PRED: TRY(read_pred(&reader->lex, &bits)); break;
  case DCLASS_SIGNED:
  case DCLASS_UNSIGNED: TRY(read_integer(&reader->lex, dtype, &bits)); break;
  case DCLASS_FLOAT: TRY(read_float(reader, dtype, &bits)); break;
  case DCLASS_COMPLEX: return read_complex(reader, dtype, to);
  case DCLASS_OTHER: return lex_expected(&reader->lex, "no value: this type has none");
  }
  bits = narrowed(dtype, bits);
  memcpy(to, &bits, dtype_bytes(dtype));
  return STATUS_OK;
}

/* Nested lists. */

static Status read_rows(MlirReader *reader, const Shape *shape, uint32_t d, unsigned char **to) {
  Lexer *lex = &reader->lex;
  if (d == shape->rank) {
    TRY(read_element(reader, shape->dtype, *to));
    *to += dtype_bytes(shape->dtype);
    return STATUS_OK;
  }
  TRY(lex_expect(lex, '['));
  for (int64_t i = 0; i < shape->dims[d]; i++) {
    if (i != 0 && !lex_accept(lex, ',')) return lex_expected(lex, "',': the type has more elements");
    TRY(read_rows(reader, shape, d + 1, to));
  }
  return lex_accept(lex, ']') ? STATUS_OK : lex_expected(lex, "']': the type has no more elements");
}

static Status check_count(MlirReader *reader, const char *where, const Shape *shape) {
  const Lexer *lex = &reader->lex;
  size_t elements = (size_t)shape_elements(shape);
  RETURN_IF(shape->rank > lex->limits->nesting,
            LEX_FAIL(lex, where, NULL, "elements of rank %u are too deep", shape->rank));
  RETURN_IF(elements > lex->limits->elements, LEX_FAIL(lex, where, "raise the limit on elements with --limit",
                                                       "a literal of %zu elements", elements));
  return STATUS_OK;
}

static Status read_list(MlirReader *reader, const Shape *shape, Literal *literal) {
  const Lexer *lex = &reader->lex;
  TRY(check_count(reader, lex->at, shape));
  size_t elements = (size_t)shape_elements(shape);
  RETURN_IF(elements > (size_t)(lex->end - lex->at),
            LEX_FAIL(lex, lex->at, NULL, "here are fewer elements than %.*s has",
                     STR_ARG(shape_text(reader->scratch, shape))));
  unsigned char *data = arena_alloc_array(reader->arena, elements, dtype_bytes(shape->dtype)), *to = data;
  literal->data = data;
  return read_rows(reader, shape, 0, &to);
}

/* Bytes in hexadecimal. */

static int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c |= 0x20;
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static Status hex_bytes(MlirReader *reader, const char *where, Str hex, unsigned char *bytes) {
  for (size_t i = 0; i < hex.n / 2; i++) {
    int high = hex_value(hex.at[2 * i]), low = hex_value(hex.at[2 * i + 1]);
    RETURN_IF(high < 0 || low < 0, LEX_FAIL(&reader->lex, where, NULL, "this is not hexadecimal"));
    bytes[i] = (unsigned char)(high * 16 + low);
  }
  return STATUS_OK;
}

/* Elements from their bytes, which are in `data` already, one element after another. */
static void settle(DType dtype, unsigned char *data, size_t elements) {
  for (size_t i = 0; i < elements && dtype == DTYPE_PRED; i++) data[i] = data[i] != 0;
  for (size_t i = 0; i < elements && dtype_bytes(dtype) == 1 && dtype != DTYPE_PRED; i++)
    data[i] = (unsigned char)narrowed(dtype, data[i]);
}

static void unpack_bits(const unsigned char *packed, unsigned char *data, size_t elements) {
  for (size_t i = 0; i < elements; i++) data[i] = packed[i / 8] >> i % 8 & 1;
}

Status mlir_dense_bytes(MlirReader *reader, const char *start, Str hex, const Shape *shape,
                        Literal *literal) {
  const Lexer *lex = &reader->lex;
  TRY(check_count(reader, start, shape));
  size_t each = dtype_bytes(shape->dtype), n = hex.n / 2, elements = (size_t)shape_elements(shape);
  unsigned char *bytes = arena_alloc(reader->arena, n + 1);
  TRY(hex_bytes(reader, start, hex, bytes));
  literal->data = bytes;
  if (n == each && elements != 1) { /* one for all */
    literal->shape = shape_scalar(reader->arena, shape->dtype);
    settle(shape->dtype, bytes, 1);
    return STATUS_OK;
  }
  if (shape->dtype == DTYPE_PRED && n != elements && n == (elements + 7) / 8) {
    unsigned char *data = arena_alloc(reader->arena, elements);
    unpack_bits(bytes, data, elements);
    literal->data = data;
    return STATUS_OK;
  }
  RETURN_IF(n != elements * each, LEX_FAIL(lex, start, NULL, "%zu bytes are not the elements of %.*s", n,
                                           STR_ARG(shape_text(reader->scratch, shape))));
  settle(shape->dtype, bytes, elements);
  return STATUS_OK;
}

static Status read_hex(MlirReader *reader, const Shape *shape, Literal *literal) {
  Lexer *lex = &reader->lex;
  const char *start = lex->at;
  Str hex;
  TRY(mlir_string(lex, &hex));
  RETURN_IF(!str_starts(hex, "0x") || hex.n % 2 != 0,
            LEX_FAIL(lex, start, NULL, "expected bytes in hexadecimal, like \"0x00FF\""));
  return mlir_dense_bytes(reader, start, str_sub(hex, 2, hex.n), shape, literal);
}

static Status read_splat(MlirReader *reader, const Shape *shape, Literal *literal) {
  unsigned char *data = arena_alloc(reader->arena, 16);
  literal->shape = shape_scalar(reader->arena, shape->dtype);
  literal->data = data;
  return read_element(reader, shape->dtype, data);
}

static Status read_body(MlirReader *reader, const Shape *shape, Literal *literal) {
  Lexer *lex = &reader->lex;
  if (lex_at_end(lex)) {
    RETURN_IF(shape_elements(shape) != 0, lex_expected(lex, "elements"));
    literal->data = arena_alloc(reader->arena, 1);
  } else if (lex_peek(lex) == '"') {
    TRY(read_hex(reader, shape, literal));
  } else {
    TRY(lex_peek(lex) == '[' ? read_list(reader, shape, literal) : read_splat(reader, shape, literal));
  }
  return lex_at_end(lex) ? STATUS_OK : lex_expected(lex, "'>'");
}

Status mlir_dense(MlirReader *reader, Str body, const Shape *shape, const Literal **made) {
  Literal *literal = ARENA_NEW(reader->arena, Literal);
  *literal = (Literal){.shape = shape};
  Lexer outer = reader->lex;
  reader->lex = mlir_part(&outer, body);
  TRY(read_body(reader, shape, literal));
  reader->lex = outer;
  *made = literal;
  return STATUS_OK;
}

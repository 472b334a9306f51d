/* Literals of HLO text: what stands in constant(…). Arrays `{ {1, 2}, {3, 4} }` nested as deep as the rank,
 * tuples `(1, {2})`, complex numbers `(1, -2)`, `nan(0x400000)`, and `{...}` for values that were left out. A
 * decimal is read as a double and then rounded to the type, as XLA reads it. */
#include "sim/ir/fp.h"
#include "sim/read/hlo_parse.h"
#include "sim/read/number.h"

#include <math.h>
#include <stdlib.h>

/* Mantissa bits of the types whose NaNs carry a payload. */
static int payload_bits(DType dtype) {
  switch (dtype) {
  case DTYPE_F64: return 52;
  case DTYPE_F32: return 23;
  case DTYPE_F16: return 10;
  case DTYPE_BF16: return 7;
  case DTYPE_F8E3M4: return 4;
  case DTYPE_F8E4M3: return 3;
  case DTYPE_F8E5M2: return 2;
  default: return 0;
  }
}

/* Numbers. */

/* The letters, digits, signs and points that come next. */
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

/* `(0x400000)` after nan. */
static Status read_payload(Lexer *lex, DType dtype, uint64_t *payload) {
  const char *start = lex->at;
  int bits = payload_bits(dtype);
  *payload = bits == 0 ? 0 : UINT64_C(1) << (bits - 1);
  if (lex->at >= lex->end || *lex->at != '(') return STATUS_OK;
  lex->at++;
  Str hex = peek_number(lex);
  char digits[24] = "", *end = digits;
  if (hex.n > 2 && hex.n < sizeof digits && hex.at[0] == '0' && (hex.at[1] | 0x20) == 'x')
    memcpy(digits, hex.at, hex.n);
  *payload = strtoull(digits, &end, 16);
  if (*digits == 0 || *end != 0) return lex_expected(lex, "a payload like 0x400000");
  lex->at += hex.n;
  if (bits == 0 || *payload == 0 || *payload >> bits != 0) return out_of_range(lex, start, dtype);
  return lex_expect(lex, ')');
}

/* The bits of a NaN. Types without payloads have one NaN (of a sign). */
static uint64_t nan_bits(DType dtype, bool negative, uint64_t payload) {
  int mantissa = payload_bits(dtype), bits = (int)dtype_bits(dtype);
  if (mantissa == 0) return fp_from_double(dtype, negative ? -NAN : NAN);
  uint64_t sign = UINT64_C(1) << (bits - 1), exponent = sign - (UINT64_C(1) << mantissa);
  return (negative ? sign : 0) | exponent | payload;
}

static Status read_float(Reader *reader, DType dtype, uint64_t *bits) {
  Lexer *lex = &reader->lex;
  Str text = peek_number(lex);
  const char *start = lex->at;
  bool negative = text.n > 0 && text.at[0] == '-';
  Str magnitude = str_sub(text, negative, text.n);
  lex->at += text.n;
  if (str_is(magnitude, "nan")) {
    uint64_t payload;
    TRY(read_payload(lex, dtype, &payload));
    *bits = nan_bits(dtype, negative, payload);
    return STATUS_OK;
  }
  double value;
  if (!decimal_read(text, reader->scratch, &value)) {
    lex->at = start;
    return lex_expected(lex, "a number");
  }
  *bits = float_bits(dtype, value);
  bool said = magnitude.at[0] == 'i';
  return float_overflows(dtype, value, *bits) && !said ? out_of_range(lex, start, dtype) : STATUS_OK;
}

/* The digits as an unsigned 64-bit magnitude. */
static Status read_magnitude(Lexer *lex, DType dtype, uint64_t *magnitude) {
  const char *start = lex->at;
  *magnitude = 0;
  for (; lex->at < lex->end && *lex->at >= '0' && *lex->at <= '9'; lex->at++) {
    if (__builtin_mul_overflow(*magnitude, 10, magnitude) ||
        __builtin_add_overflow(*magnitude, (uint64_t)(*lex->at - '0'), magnitude))
      return out_of_range(lex, start, dtype);
  }
  return lex->at > start ? STATUS_OK : lex_expected(lex, "an integer");
}

static Status read_integer(Reader *reader, DType dtype, uint64_t *bits) {
  Lexer *lex = &reader->lex;
  bool negative = lex_accept(lex, '-');
  const char *start = lex->at;
  uint64_t magnitude, most = UINT64_MAX >> (64 - dtype_bits(dtype));
  TRY(read_magnitude(lex, dtype, &magnitude));
  if (dtype_class(dtype) == DCLASS_SIGNED)
    most = (most >> 1) + negative;
  else if (negative)
    most = dtype == DTYPE_U64 ? UINT64_C(1) << 63 : 0; /* u64 is also written as s64 */
  *bits = negative ? -magnitude : magnitude;
  return magnitude > most ? out_of_range(lex, start, dtype) : STATUS_OK;
}

static Status read_pred(Reader *reader, uint64_t *bits) {
  Lexer *lex = &reader->lex;
  bool value;
  if (lex_peek_word(lex).n == 0) {
    TRY(read_integer(reader, DTYPE_U8, bits));
    *bits = *bits != 0;
    return STATUS_OK;
  }
  TRY(lex_bool(lex, &value));
  *bits = value;
  return STATUS_OK;
}

/* `(real, imaginary)`, or a real number alone. */
static Status read_complex(Reader *reader, DType dtype, unsigned char *to) {
  Lexer *lex = &reader->lex;
  DType part = dtype == DTYPE_C64 ? DTYPE_F32 : DTYPE_F64;
  uint64_t real, imaginary = 0;
  bool pair = lex_accept(lex, '(');
  TRY(read_float(reader, part, &real));
  if (pair) {
    TRY(lex_expect(lex, ','));
    TRY(read_float(reader, part, &imaginary));
    TRY(lex_expect(lex, ')'));
  }
  memcpy(to, &real, dtype_bytes(part));
  memcpy(to + dtype_bytes(part), &imaginary, dtype_bytes(part));
  return STATUS_OK;
}

static Status read_element(Reader *reader, DType dtype, unsigned char *to) {
  uint64_t bits = 0;
  switch (dtype_class(dtype)) {
  case DCLASS_PRED: TRY(read_pred(reader, &bits)); break;
  case DCLASS_SIGNED:
  case DCLASS_UNSIGNED: TRY(read_integer(reader, dtype, &bits)); break;
  case DCLASS_FLOAT: TRY(read_float(reader, dtype, &bits)); break;
  case DCLASS_COMPLEX: return read_complex(reader, dtype, to);
  case DCLASS_OTHER: return lex_expected(&reader->lex, "no value: this type has none");
  }
  memcpy(to, &bits, dtype_bytes(dtype));
  return STATUS_OK;
}

/* Arrays. */

/* The elements that dimensions `d` and inner span, from `*to` on. */
static Status read_rows(Reader *reader, const Shape *shape, uint32_t d, unsigned char **to) {
  Lexer *lex = &reader->lex;
  if (d == shape->rank) {
    TRY(read_element(reader, shape->dtype, *to));
    *to += dtype_bytes(shape->dtype);
    return STATUS_OK;
  }
  TRY(lex_expect(lex, '{'));
  for (int64_t i = 0; i < shape->dims[d]; i++) {
    if (i != 0 && !lex_accept(lex, ',')) return lex_expected(lex, "',': the shape has more values");
    TRY(read_rows(reader, shape, d + 1, to));
  }
  return lex_accept(lex, '}') ? STATUS_OK : lex_expected(lex, "'}': the shape has no more values");
}

static bool accept_elided(Lexer *lex) {
  Lexer ahead = *lex;
  if (!lex_accept(&ahead, '{') || !lex_accept_text(&ahead, "...") || !lex_accept(&ahead, '}')) return false;
  *lex = ahead;
  return true;
}

static Status read_array_literal(Reader *reader, Literal *literal) {
  Lexer *lex = &reader->lex;
  const Shape *shape = literal->shape;
  const char *start = lex->at;
  literal->elided = accept_elided(lex);
  if (literal->elided) return STATUS_OK;
  RETURN_IF(shape->rank > lex->limits->nesting,
            LEX_FAIL(lex, start, NULL, "a literal of rank %u is too deep", shape->rank));
  size_t elements = (size_t)shape_elements(shape), left = (size_t)(lex->end - lex->at);
  RETURN_IF(elements > lex->limits->elements,
            LEX_FAIL(lex, start, NULL, "a literal of %zu elements is above the limit of %zu", elements,
                     lex->limits->elements));
  RETURN_IF(elements > left, LEX_FAIL(lex, start, "the text looks cut off: write the whole program again",
                                      "this literal has fewer values than its shape, %.*s",
                                      STR_ARG(shape_text(reader->scratch, shape))));
  unsigned char *data = arena_alloc_array(reader->arena, elements, dtype_bytes(shape->dtype)), *to = data;
  literal->data = data;
  return read_rows(reader, shape, 0, &to);
}

static Status read_tuple_literal(Reader *reader, Literal *literal) {
  Lexer *lex = &reader->lex;
  uint32_t n = literal->shape->rank;
  const Literal **parts = ARENA_ARRAY(reader->arena, const Literal *, n);
  TRY(lex_enter(lex));
  TRY(lex_expect(lex, '('));
  for (uint32_t i = 0; i < n; i++) {
    if (i != 0) TRY(lex_expect(lex, ','));
    TRY(read_literal(reader, literal->shape->parts[i], &parts[i]));
  }
  lex_leave(lex);
  literal->parts = parts;
  return lex_expect(lex, ')');
}

Status read_literal(Reader *reader, const Shape *shape, const Literal **made) {
  Literal *literal = ARENA_NEW(reader->arena, Literal);
  literal->shape = shape;
  *made = literal;
  lex_peek(&reader->lex);
  return shape_is_tuple(shape) ? read_tuple_literal(reader, literal) : read_array_literal(reader, literal);
}

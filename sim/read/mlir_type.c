/* Types of MLIR: tensor<8x16xf32>, scalars of it, tuple<…>, !stablehlo.token, functions. Layouts and other
 * encodings are passed over; sizes that are not known are refused, since all that podsim does depends on
 * them. */
#include "sim/read/mlir.h"

static const struct {
  const char *name;
  DType dtype;
} element_types[] = {
    {"i1", DTYPE_PRED},
    {"i2", DTYPE_S2},
    {"i4", DTYPE_S4},
    {"i8", DTYPE_S8},
    {"i16", DTYPE_S16},
    {"i32", DTYPE_S32},
    {"i64", DTYPE_S64},
    {"ui2", DTYPE_U2},
    {"ui4", DTYPE_U4},
    {"ui8", DTYPE_U8},
    {"ui16", DTYPE_U16},
    {"ui32", DTYPE_U32},
    {"ui64", DTYPE_U64},
    {"index", DTYPE_S64},
    {"f16", DTYPE_F16},
    {"bf16", DTYPE_BF16},
    {"f32", DTYPE_F32},
    {"f64", DTYPE_F64},
    {"f4E2M1FN", DTYPE_F4E2M1FN},
    {"f6E2M3FN", DTYPE_F6E2M3FN},
    {"f6E3M2FN", DTYPE_F6E3M2FN},
    {"f8E3M4", DTYPE_F8E3M4},
    {"f8E4M3", DTYPE_F8E4M3},
    {"f8E4M3FN", DTYPE_F8E4M3FN},
    {"f8E4M3FNUZ", DTYPE_F8E4M3FNUZ},
    {"f8E4M3B11FNUZ", DTYPE_F8E4M3B11FNUZ},
    {"f8E5M2", DTYPE_F8E5M2},
    {"f8E5M2FNUZ", DTYPE_F8E5M2FNUZ},
    {"f8E8M0FNU", DTYPE_F8E8M0FNU},
};

static bool element_type(Str word, DType *dtype) {
  for (size_t i = 0; i < sizeof element_types / sizeof *element_types; i++) {
    if (!str_is(word, element_types[i].name)) continue;
    *dtype = element_types[i].dtype;
    return true;
  }
  return false;
}

static Status unknown_type(Lexer *lex, const char *where) {
  Lexer ahead = *lex;
  RETURN_IF(lex_accept(&ahead, '!') && str_starts(mlir_peek_word(&ahead), "quant."),
            LEX_FAIL(lex, where, "lower the program with the integers written out",
                     "quantized types are not supported"));
  Str word = mlir_word(&ahead);
  if (word.n == 0) return lex_expected(lex, "a type");
  return LEX_FAIL(lex, where, NULL, "the type '%.*s' is not one of StableHLO that podsim knows",
                  STR_ARG(str_sub(word, 0, 80)));
}

/* f32, i1, complex<f64>; the place behind it. */
static Status read_element_type(Lexer *lex, DType *dtype) {
  lex_peek(lex);
  const char *start = lex->at;
  if (mlir_accept_word(lex, "complex")) {
    TRY(lex_expect(lex, '<'));
    TRY(read_element_type(lex, dtype));
    RETURN_IF(*dtype != DTYPE_F32 && *dtype != DTYPE_F64,
              LEX_FAIL(lex, start, NULL, "complex numbers are of f32 or f64"));
    *dtype = *dtype == DTYPE_F32 ? DTYPE_C64 : DTYPE_C128;
    return lex_expect(lex, '>');
  }
  if (!element_type(mlir_peek_word(lex), dtype)) return unknown_type(lex, start);
  mlir_word(lex);
  return STATUS_OK;
}

/* `8x` before another size or the element type. */
static Status read_size(Lexer *lex, int64_t *size) {
  const char *start = lex->at;
  static const char hint[] = "lower the program for known sizes";
  RETURN_IF(*lex->at == '?' || *lex->at == '*', LEX_FAIL(lex, start, hint, "this size is not known"));
  TRY(lex_int_from(lex, 0, size));
  if (lex->at >= lex->end || *lex->at != 'x') return lex_expected(lex, "'x' after a size");
  lex->at++;
  return STATUS_OK;
}

static bool at_size(Lexer *lex) {
  char c = lex_peek(lex);
  return (c >= '0' && c <= '9') || c == '?' || c == '*';
}

static Status check_elements(Lexer *lex, const char *start, const int64_t *dims, uint32_t rank) {
  int64_t elements = 1;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t size = dims[d] == 0 ? 1 : dims[d]; /* a product of the others must fit as well */
    RETURN_IF(__builtin_mul_overflow(elements, size, &elements) || elements > INT64_MAX / 256,
              LEX_FAIL(lex, start, NULL, "a tensor of so many elements does not fit in 64 bits"));
  }
  return STATUS_OK;
}

/* <8x16xf32, encoding> */
static Status read_tensor(MlirReader *reader, const char *start, const Shape **type) {
  Lexer *lex = &reader->lex;
  Vec(int64_t) dims = {0};
  DType dtype;
  TRY(lex_expect(lex, '<'));
  while (at_size(lex)) {
    int64_t size;
    TRY(read_size(lex, &size));
    VEC_PUSH(reader->scratch, &dims, size);
  }
  TRY(read_element_type(lex, &dtype));
  if (lex_accept(lex, ',')) {
    MlirAttr encoding;
    TRY(mlir_attr(reader, &encoding));
  }
  TRY(lex_expect(lex, '>'));
  TRY(check_elements(lex, start, dims.at, dims.n));
  *type = shape_array(reader->arena, dtype, dims.at, dims.n);
  return STATUS_OK;
}

/* <type, …> */
static Status read_tuple(MlirReader *reader, const Shape **type) {
  Lexer *lex = &reader->lex;
  MlirTypes parts = {0};
  TRY(lex_expect(lex, '<'));
  for (bool more = !lex_accept(lex, '>'); more;) {
    const Shape *part;
    TRY(mlir_type(reader, &part));
    RETURN_IF(part == NULL, lex_expected(lex, "a type that is not a function's"));
    VEC_PUSH(reader->scratch, &parts, part);
    TRY(lex_more(lex, '>', &more));
  }
  *type = shape_tuple(reader->arena, parts.at, parts.n);
  return STATUS_OK;
}

/* !alias, !dialect.name<…> */
static Status read_dialect_type(MlirReader *reader, const Shape **type) {
  Lexer *lex = &reader->lex;
  const char *start = lex->at;
  uint32_t alias;
  TRY(lex_expect(lex, '!'));
  Str name = mlir_word(lex);
  if (map_get(reader->type_aliases, name, &alias)) {
    *type = reader->aliased_types.at[alias];
    return STATUS_OK;
  }
  RETURN_IF(!str_is(name, "stablehlo.token") && !str_is(name, "mhlo.token"),
            LEX_FAIL(lex, start, NULL, "the type '!%.*s' is not supported", STR_ARG(str_sub(name, 0, 80))));
  *type = shape_token(reader->arena);
  return STATUS_OK;
}

/* (types) -> types: only told apart from others. */
static Status read_function(MlirReader *reader, const Shape **type) {
  Lexer *lex = &reader->lex;
  MlirTypes types = {0};
  *type = NULL;
  TRY(mlir_types(reader, &types));
  if (!lex_accept_text(lex, "->")) return lex_expected(lex, "'->'");
  return mlir_types(reader, &types);
}

static Status read_type(MlirReader *reader, const Shape **type) {
  Lexer *lex = &reader->lex;
  char c = lex_peek(lex);
  const char *start = lex->at;
  if (c == '(') return read_function(reader, type);
  if (c == '!') return read_dialect_type(reader, type);
  if (mlir_accept_word(lex, "tensor")) return read_tensor(reader, start, type);
  if (mlir_accept_word(lex, "tuple")) return read_tuple(reader, type);
  DType dtype;
  TRY(read_element_type(lex, &dtype));
  *type = shape_scalar(reader->arena, dtype);
  return STATUS_OK;
}

Status mlir_type(MlirReader *reader, const Shape **type) {
  TRY(lex_enter(&reader->lex));
  TRY(read_type(reader, type));
  lex_leave(&reader->lex);
  return STATUS_OK;
}

Status mlir_types(MlirReader *reader, MlirTypes *types) {
  Lexer *lex = &reader->lex;
  bool brackets = lex_accept(lex, '('), more = !brackets || !lex_accept(lex, ')');
  while (more) {
    const Shape *type;
    TRY(mlir_type(reader, &type));
    RETURN_IF(type == NULL, lex_expected(lex, "a type that is not a function's"));
    VEC_PUSH(reader->scratch, types, type);
    more = brackets;
    if (brackets) TRY(lex_more(lex, ')', &more));
  }
  return STATUS_OK;
}

bool mlir_at_type(Lexer *lex) {
  char c = lex_peek(lex);
  Str word = mlir_peek_word(lex);
  DType dtype;
  return c == '(' || c == '!' || str_is(word, "tensor") || str_is(word, "tuple") || str_is(word, "complex") ||
         element_type(word, &dtype);
}

/* Shapes of HLO text: f32[8,<=16]{1,0:T(8,128)S(1)}, tuples (a, b), token[], b(f32[4]). Grammar: ParseShape
 * and ParseLayout of xla/hlo/parser/hlo_parser.cc. */
#include "sim/read/hlo_parse.h"

/* Bytes of an array stay below this, so that sums over a program cannot overflow. */
static const int64_t most_bytes = INT64_C(1) << 56;

static const char *const dtype_names[] = {
#define DTYPE(name, text, bits, class) text,
#include "sim/ir/dtype.def"
#undef DTYPE
};

bool at_shape(Reader *reader) {
  Lexer ahead = reader->lex;
  if (lex_peek(&ahead) == '(') return true;
  Str word = lex_word(&ahead);
  if (word.n == 0) return false;
  return lex_peek(&ahead) == (str_is(word, "b") ? '(' : '[');
}

/* Layouts. */

static Status read_tile(Reader *reader, Arena *arena, Ints *tile) {
  Lexer *lex = &reader->lex;
  Vec(int64_t) sizes = {0};
  TRY(lex_expect(lex, '('));
  for (bool more = !lex_accept(lex, ')'); more;) {
    int64_t size = INT64_MIN;
    if (!lex_accept(lex, '*')) TRY(lex_int_from(lex, 1, &size));
    VEC_PUSH(arena, &sizes, size);
    TRY(lex_more(lex, ')', &more));
  }
  *tile = (Ints){sizes.at, sizes.n};
  return STATUS_OK;
}

static Status read_tiles(Reader *reader, Arena *arena, Layout *layout) {
  Vec(Ints) tiles = {0};
  while (lex_peek(&reader->lex) == '(') {
    Ints tile;
    TRY(read_tile(reader, arena, &tile));
    VEC_PUSH(arena, &tiles, tile);
  }
  layout->tiles = tiles.at;
  layout->n_tiles = tiles.n;
  return STATUS_OK;
}

static Status read_in_brackets(Reader *reader, int64_t *value) {
  TRY(lex_expect(&reader->lex, '('));
  TRY(lex_int_from(&reader->lex, 0, value));
  return lex_expect(&reader->lex, ')');
}

/* A part that podsim only carries: a letter or two, # or *, and brackets. */
static Status read_carried(Reader *reader, Arena *arena, Layout *layout) {
  Lexer *lex = &reader->lex;
  Str name = lex_peek_word(lex);
  bool known =
      str_is(name, "D") || str_is(name, "L") || str_is(name, "SC") || str_is(name, "P") || str_is(name, "M");
  bool mark = lex_peek(lex) == '#' || lex_peek(lex) == '*';
  if (!known && !mark) return lex_expected(lex, "a part of a layout: T, S, E, L, D, SC, P, M, # or *");
  Str text;
  TRY(lex_raw(lex, &text));
  layout->rest =
      layout->rest.n == 0 ? text : str_printf(arena, "%.*s%.*s", STR_ARG(layout->rest), STR_ARG(text));
  return STATUS_OK;
}

static Status read_layout_part(Reader *reader, Arena *arena, Layout *layout) {
  Lexer *lex = &reader->lex;
  if (lex_accept_word(lex, "T")) return read_tiles(reader, arena, layout);
  if (lex_accept_word(lex, "S")) return read_in_brackets(reader, &layout->memory_space);
  if (lex_accept_word(lex, "E")) return read_in_brackets(reader, &layout->element_bits);
  return read_carried(reader, arena, layout);
}

static Status check_permutation(Reader *reader, const char *where, Ints order, uint32_t rank) {
  bool right = order.n == rank;
  bool *seen = ARENA_ARRAY(reader->scratch, bool, rank);
  for (uint32_t i = 0; right && i < rank; i++) {
    right = order.at[i] >= 0 && order.at[i] < rank && !seen[order.at[i]];
    if (right) seen[order.at[i]] = true;
  }
  RETURN_IF(!right, LEX_FAIL(&reader->lex, where, "name each dimension once, the fastest first",
                             "this layout does not order the %u dimensions of its shape", rank));
  return STATUS_OK;
}

static Status read_layout(Reader *reader, Arena *arena, uint32_t rank, const Layout **made) {
  Lexer *lex = &reader->lex;
  const char *start = lex->at;
  Layout *layout = ARENA_NEW(arena, Layout);
  Vec(int64_t) order = {0};
  TRY(lex_expect(lex, '{'));
  while (lex_peek(lex) != ':' && lex_peek(lex) != '}') {
    int64_t dim;
    TRY(lex_int(lex, &dim));
    VEC_PUSH(arena, &order, dim);
    if (!lex_accept(lex, ',')) break;
  }
  layout->minor_to_major = (Ints){order.at, order.n};
  TRY(check_permutation(reader, start, layout->minor_to_major, rank));
  if (lex_accept(lex, ':')) {
    while (lex_peek(lex) != '}') TRY(read_layout_part(reader, arena, layout));
  }
  TRY(lex_expect(lex, '}'));
  layout->text = lex_packed(lex, start);
  *made = layout;
  return STATUS_OK;
}

/* Whether the `{` that comes next opens a layout and not the body of a computation. */
static bool at_layout(Reader *reader) {
  Lexer ahead = reader->lex;
  if (!lex_accept(&ahead, '{')) return false;
  char c = lex_peek(&ahead);
  return c == ':' || c == '}' || (c >= '0' && c <= '9');
}

/* Arrays. */

/* A dimension: 8, <=8 or ?. */
static Status read_dim(Reader *reader, int64_t *size, bool *dynamic) {
  Lexer *lex = &reader->lex;
  *dynamic = true;
  *size = -1;
  if (lex_accept(lex, '?')) return STATUS_OK;
  *dynamic = lex_accept_text(lex, "<=");
  return lex_int_from(lex, 0, size);
}

static Status check_size(Reader *reader, const char *where, const Shape *shape) {
  int64_t bytes = dtype_bytes(shape->dtype);
  for (uint32_t d = 0; d < shape->rank; d++) {
    if (shape->dims[d] <= 0) continue;
    if (__builtin_mul_overflow(bytes, shape->dims[d], &bytes) || bytes >= most_bytes)
      return LEX_FAIL(&reader->lex, where, NULL, "this shape has more than 2^56 bytes");
  }
  return STATUS_OK;
}

static Status read_dims(Reader *reader, Arena *arena, Shape *shape) {
  Lexer *lex = &reader->lex;
  Vec(int64_t) dims = {0};
  Vec(bool) dynamic = {0};
  bool any = false;
  TRY(lex_expect(lex, '['));
  for (bool more = !lex_accept(lex, ']'); more;) {
    int64_t size;
    bool is_dynamic;
    TRY(read_dim(reader, &size, &is_dynamic));
    VEC_PUSH(reader->scratch, &dims, size);
    VEC_PUSH(reader->scratch, &dynamic, is_dynamic);
    any = any || is_dynamic;
    TRY(lex_more(lex, ']', &more));
  }
  shape->rank = dims.n;
  if (dims.n != 0) shape->dims = arena_copy(arena, dims.at, dims.n * sizeof *dims.at);
  if (any) shape->dynamic = arena_copy(arena, dynamic.at, dynamic.n * sizeof *dynamic.at);
  return STATUS_OK;
}

static Status read_dtype(Reader *reader, DType *dtype) {
  Lexer *lex = &reader->lex;
  Str word = lex_peek_word(lex);
  if (word.n == 0) return lex_expected(lex, "a shape");
  if (!dtype_parse(word, dtype) || *dtype == DTYPE_TUPLE)
    return unknown_word(lex, word, "element type", dtype_names, DTYPE_COUNT);
  lex->at += word.n;
  return STATUS_OK;
}

static Status read_array(Reader *reader, Arena *arena, Shape *shape) {
  lex_peek(&reader->lex);
  const char *start = reader->lex.at;
  TRY(read_dims(reader, arena, shape));
  TRY(check_size(reader, start, shape));
  if (at_layout(reader)) TRY(read_layout(reader, arena, shape->rank, &shape->layout));
  return STATUS_OK;
}

/* Nested shapes. */

static Status read_parts(Reader *reader, Arena *arena, Shape *shape) {
  Lexer *lex = &reader->lex;
  Vec(const Shape *) parts = {0};
  for (bool more = !lex_accept(lex, ')'); more;) {
    const Shape *part;
    TRY(read_shape(reader, arena, &part));
    VEC_PUSH(arena, &parts, part);
    TRY(lex_more(lex, ')', &more));
  }
  shape->rank = parts.n;
  shape->parts = parts.at;
  return STATUS_OK;
}

static Status read_buffer(Reader *reader, Arena *arena, Shape *shape) {
  const Shape *part;
  TRY(lex_expect(&reader->lex, '('));
  TRY(read_shape(reader, arena, &part));
  shape->parts = arena_copy(arena, &part, sizeof part);
  return lex_expect(&reader->lex, ')');
}

static Status read_shape_at(Reader *reader, Arena *arena, Shape *shape) {
  if (lex_accept(&reader->lex, '(')) {
    shape->dtype = DTYPE_TUPLE;
    return read_parts(reader, arena, shape);
  }
  TRY(read_dtype(reader, &shape->dtype));
  return shape->dtype == DTYPE_BUFFER ? read_buffer(reader, arena, shape) : read_array(reader, arena, shape);
}

Status read_shape(Reader *reader, Arena *arena, const Shape **made) {
  Shape *shape = ARENA_NEW(arena, Shape);
  TRY(lex_enter(&reader->lex));
  TRY(read_shape_at(reader, arena, shape));
  lex_leave(&reader->lex);
  *made = shape;
  return STATUS_OK;
}

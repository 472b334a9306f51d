/* Shapes: the table of element types, and shapes built, compared, counted and printed. */
#include "sim/ir/shape.h"

typedef struct {
  const char *text;
  size_t n;
  uint32_t bits;
  DClass class;
} DTypeRow;

static const DTypeRow dtypes[DTYPE_COUNT] = {
#define DTYPE(name, text, bits, class) {text, sizeof(text) - 1, bits, DCLASS_##class},
#include "sim/ir/dtype.def"
#undef DTYPE
};

const char *dtype_text(DType dtype) {
  return dtypes[dtype].text;
}

bool dtype_parse(Str text, DType *dtype) {
  for (uint32_t i = 0; i < DTYPE_COUNT; i++) {
    if (dtypes[i].n != text.n || memcmp(dtypes[i].text, text.at, text.n) != 0) continue;
    *dtype = (DType)i;
    return true;
  }
  return false;
}

DClass dtype_class(DType dtype) {
  return dtypes[dtype].class;
}

uint32_t dtype_bits(DType dtype) {
  return dtypes[dtype].bits;
}

uint32_t dtype_bytes(DType dtype) {
  return (dtypes[dtype].bits + 7) / 8;
}

bool dtype_is_integer(DType dtype) {
  return dtypes[dtype].class == DCLASS_SIGNED || dtypes[dtype].class == DCLASS_UNSIGNED;
}

const Shape *shape_array(Arena *arena, DType dtype, const int64_t *dims, uint32_t rank) {
  Shape *shape = ARENA_NEW(arena, Shape);
  *shape = (Shape){.dtype = dtype, .rank = rank};
  if (rank != 0) shape->dims = arena_copy(arena, dims, rank * sizeof *dims);
  return shape;
}

const Shape *shape_scalar(Arena *arena, DType dtype) {
  return shape_array(arena, dtype, NULL, 0);
}

const Shape *shape_tuple(Arena *arena, const Shape *const *parts, uint32_t n) {
  Shape *shape = ARENA_NEW(arena, Shape);
  *shape = (Shape){.dtype = DTYPE_TUPLE, .rank = n};
  if (n != 0) shape->parts = arena_copy(arena, parts, n * sizeof *parts);
  return shape;
}

const Shape *shape_token(Arena *arena) {
  return shape_array(arena, DTYPE_TOKEN, NULL, 0);
}

const Shape *shape_with_dtype(Arena *arena, const Shape *shape, DType dtype) {
  Shape *other = ARENA_NEW(arena, Shape);
  *other = *shape_array(arena, dtype, shape->dims, shape->rank);
  if (shape->dynamic != NULL) other->dynamic = arena_copy(arena, shape->dynamic, shape->rank);
  return other;
}

const Shape *shape_with_dims(Arena *arena, const Shape *shape, const int64_t *dims, uint32_t rank) {
  return shape_array(arena, shape->dtype, dims, rank);
}

static Layout *layout_copy(Arena *arena, const Layout *layout) {
  Layout *copy = arena_copy(arena, layout, sizeof *layout);
  copy->minor_to_major.at =
      arena_copy(arena, layout->minor_to_major.at, layout->minor_to_major.n * sizeof(int64_t));
  copy->tiles = arena_copy(arena, layout->tiles, layout->n_tiles * sizeof *layout->tiles);
  for (uint32_t i = 0; i < layout->n_tiles; i++)
    copy->tiles[i].at = arena_copy(arena, layout->tiles[i].at, layout->tiles[i].n * sizeof(int64_t));
  copy->rest = str_copy(arena, layout->rest);
  copy->text = str_copy(arena, layout->text);
  return copy;
}

const Shape *shape_copy(Arena *arena, const Shape *shape) {
  Shape *copy = arena_copy(arena, shape, sizeof *shape);
  if (shape->parts != NULL) {
    uint32_t n = shape->dtype == DTYPE_TUPLE ? shape->rank : 1;
    const Shape **parts = ARENA_ARRAY(arena, const Shape *, n);
    for (uint32_t i = 0; i < n; i++) parts[i] = shape_copy(arena, shape->parts[i]);
    copy->parts = parts;
  }
  if (shape->dims != NULL) copy->dims = arena_copy(arena, shape->dims, shape->rank * sizeof *shape->dims);
  if (shape->dynamic != NULL) copy->dynamic = arena_copy(arena, shape->dynamic, shape->rank);
  if (shape->layout != NULL) copy->layout = layout_copy(arena, shape->layout);
  return copy;
}

bool shape_is_tuple(const Shape *shape) {
  return shape->dtype == DTYPE_TUPLE;
}

bool shape_is_array(const Shape *shape) {
  return dtypes[shape->dtype].class != DCLASS_OTHER;
}

bool shape_is_scalar(const Shape *shape) {
  return shape_is_array(shape) && shape->rank == 0;
}

static bool is_dynamic(const Shape *shape, uint32_t d) {
  return shape->dynamic != NULL && shape->dynamic[d];
}

bool shape_eq(const Shape *a, const Shape *b) {
  if (a == b) return true;
  if (a->dtype != b->dtype) return false;
  if (a->dtype == DTYPE_BUFFER) return shape_eq(a->parts[0], b->parts[0]);
  if (a->rank != b->rank) return false;
  for (uint32_t i = 0; i < a->rank; i++) {
    bool same = shape_is_tuple(a) ? shape_eq(a->parts[i], b->parts[i])
                                  : a->dims[i] == b->dims[i] && is_dynamic(a, i) == is_dynamic(b, i);
    if (!same) return false;
  }
  return true;
}

int64_t shape_elements(const Shape *shape) {
  if (!shape_is_array(shape)) return 0;
  int64_t elements = 1;
  for (uint32_t d = 0; d < shape->rank; d++) elements *= shape->dims[d] < 0 ? 0 : shape->dims[d];
  return elements;
}

int64_t shape_bytes(const Shape *shape) {
  if (shape->dtype == DTYPE_BUFFER) return shape_bytes(shape->parts[0]);
  if (!shape_is_tuple(shape)) {
    int64_t bits = dtypes[shape->dtype].bits, elements = shape_elements(shape);
    return bits >= 8 ? elements * (bits / 8) : elements / 8 * bits + (elements % 8 * bits + 7) / 8;
  }
  int64_t bytes = 0;
  for (uint32_t i = 0; i < shape->rank; i++) bytes += shape_bytes(shape->parts[i]);
  return bytes;
}

static void print_layout(StrBuf *buf, const Shape *shape) {
  const Layout *layout = shape->layout;
  if (layout->text.n > 0) {
    if (!str_is(layout->text, "{}")) buf_add(buf, layout->text);
    return;
  }
  if (shape->rank == 0) return;
  for (uint32_t i = 0; i < layout->minor_to_major.n; i++)
    buf_printf(buf, "%c%ld", i == 0 ? '{' : ',', (long)layout->minor_to_major.at[i]);
  buf_char(buf, '}');
}

static void print_dim(StrBuf *buf, const Shape *shape, uint32_t d) {
  if (d != 0) buf_char(buf, ',');
  if (shape->dims[d] < 0)
    buf_char(buf, '?');
  else
    buf_printf(buf, "%s%ld", is_dynamic(shape, d) ? "<=" : "", (long)shape->dims[d]);
}

static void print_tuple(StrBuf *buf, const Shape *shape, bool with_layout) {
  buf_char(buf, '(');
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (i != 0) buf_add(buf, STR(", "));
    if (i != 0 && i % 5 == 0) buf_printf(buf, "/*index=%u*/", i);
    shape_print(buf, shape->parts[i], with_layout);
  }
  buf_char(buf, ')');
}

void shape_print(StrBuf *buf, const Shape *shape, bool with_layout) {
  if (shape_is_tuple(shape)) {
    print_tuple(buf, shape, with_layout);
    return;
  }
  buf_add(buf, str_of(dtypes[shape->dtype].text));
  if (shape->dtype == DTYPE_BUFFER) {
    buf_char(buf, '(');
    shape_print(buf, shape->parts[0], with_layout);
    buf_char(buf, ')');
    return;
  }
  buf_char(buf, '[');
  for (uint32_t d = 0; d < shape->rank; d++) print_dim(buf, shape, d);
  buf_char(buf, ']');
  if (with_layout && shape->layout != NULL) print_layout(buf, shape);
}

Str shape_text(Arena *arena, const Shape *shape) {
  StrBuf buf = {.arena = arena};
  shape_print(&buf, shape, false);
  return buf_str(&buf);
}

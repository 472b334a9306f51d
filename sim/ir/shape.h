/* Shapes: element type, dimensions and layout of an array, or the parts of a tuple. Immutable once made;
 * owned by the module's arena; compared by value. */
#pragma once

#include "sim/base/str.h"
#include "sim/base/vec.h"

typedef enum {
#define DTYPE(name, text, bits, class) DTYPE_##name,
#include "sim/ir/dtype.def"
#undef DTYPE
  DTYPE_COUNT
} DType;

typedef enum {
  DCLASS_PRED,
  DCLASS_SIGNED,
  DCLASS_UNSIGNED,
  DCLASS_FLOAT,
  DCLASS_COMPLEX,
  DCLASS_OTHER
} DClass;

const char *dtype_text(DType dtype);
bool dtype_parse(Str text, DType *dtype);
DClass dtype_class(DType dtype);
/* Bits of an element on a device (4 for s4). */
uint32_t dtype_bits(DType dtype);
/* Bytes of an element in podsim's own buffers: at least 1 for an array type, 0 for token and the like. */
uint32_t dtype_bytes(DType dtype);
bool dtype_is_integer(DType dtype);

/* A layout, as `{1,0:T(8,128)(2,1)S(1)}` tells it. */
typedef struct {
  Ints minor_to_major;
  Ints *tiles; /* INT64_MIN for `*` */
  uint32_t n_tiles;
  int64_t memory_space; /* S(n); 0 is HBM */
  int64_t element_bits; /* E(n); 0 where it is not said */
  Str rest;             /* parts that podsim only carries (D, L, #, *, SC, P, M), as they stood */
  Str text;             /* the whole layout with its braces, as it stood */
} Layout;

typedef struct Shape Shape;
struct Shape {
  DType dtype;
  uint32_t rank;             /* of an array; parts of a tuple */
  const int64_t *dims;       /* sizes (of `<=8` the bound); of `?` -1 */
  const bool *dynamic;       /* NULL where no dimension is dynamic */
  const Layout *layout;      /* NULL where it is not said */
  const Shape *const *parts; /* of a tuple, or the one array of a buffer */
};

/* An array shape with its own copy of `dims`, without layout. */
const Shape *shape_array(Arena *arena, DType dtype, const int64_t *dims, uint32_t rank);
const Shape *shape_scalar(Arena *arena, DType dtype);
const Shape *shape_tuple(Arena *arena, const Shape *const *parts, uint32_t n);
const Shape *shape_token(Arena *arena);
/* The same dimensions with another element type, without layout. */
const Shape *shape_with_dtype(Arena *arena, const Shape *shape, DType dtype);
/* The same element type with other dimensions, without layout. */
const Shape *shape_with_dims(Arena *arena, const Shape *shape, const int64_t *dims, uint32_t rank);

/* A deep copy, layouts and all. */
const Shape *shape_copy(Arena *arena, const Shape *shape);

bool shape_is_tuple(const Shape *shape);
bool shape_is_array(const Shape *shape);
bool shape_is_scalar(const Shape *shape);
/* Same types and dimensions; layouts are not compared. */
bool shape_eq(const Shape *a, const Shape *b);
/* Elements of an array (1 for a scalar; 0 for token). The readers refuse shapes whose product overflows. */
int64_t shape_elements(const Shape *shape);
/* Bytes of the values as the device's types have them, tuples summed, layout padding left out. s4 counts half
 * a byte. */
int64_t shape_bytes(const Shape *shape);
/* `f32[8,16]{1,0}` as XLA prints it; with_layout false leaves layouts out. */
void shape_print(StrBuf *buf, const Shape *shape, bool with_layout);
/* Without layouts. */
Str shape_text(Arena *arena, const Shape *shape);

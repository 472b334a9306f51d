/* Tiles. In: a shape, perhaps with a layout; out: bytes with padding.
 *
 * The one idea: the two minor dimensions lie in tiles of 8 sublanes by 128 lanes of 32-bit words. Few rows
 * lie in tiles of 1, 2 or 4 sublanes. Narrower elements are packed in words, 2 or 4 rows to a sublane, so
 * they have at least as many. One dimension lies in tiles of up to 1024 elements. Which two dimensions are
 * minor is chosen so that the padding is least. (Read off the layouts that the TPU compiler gives for v5e:
 * `T(8,128)`, `T(2,128)(2,1)`, `T(1024)`; its bytes of arguments are met exactly.) */
#include "models/tiling.h"

#include <math.h>

enum { LANES = 128, SUBLANES = 8, LONGEST_LINE = 1024, WORD_BITS = 32 };

static double padded(int64_t size, int64_t tile) {
  return ceil((double)size / (double)tile) * (double)tile;
}

/* The power of two from `least` to `most` that is nearest above. */
static int64_t fitting(int64_t size, int64_t least, int64_t most) {
  int64_t tile = least;
  while (tile < size && tile < most) tile *= 2;
  return tile;
}

static int64_t packed(const Shape *shape) {
  uint32_t bits = dtype_bits(shape->dtype);
  return bits == 0 || bits >= WORD_BITS ? 1 : WORD_BITS / bits;
}

/* With dimension `lane` along the lanes and `row` along the sublanes. */
static double elements_tiled(const Shape *shape, uint32_t lane, uint32_t row) {
  int64_t few = packed(shape) < SUBLANES ? packed(shape) : SUBLANES;
  double product =
      padded(shape->dims[lane], LANES) * padded(shape->dims[row], fitting(shape->dims[row], few, SUBLANES));
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (i != lane && i != row) product *= (double)shape->dims[i];
  }
  return product;
}

/* The pair of minor dimensions that pads least; of equals the last ones, as row-major has them. */
typedef struct {
  uint32_t lane, row;
  double elements;
} Minor;

static Minor least_padded(const Shape *shape) {
  Minor least = {0, 0, INFINITY};
  for (uint32_t lane = shape->rank; lane-- > 0;) {
    for (uint32_t row = shape->rank; row-- > 0;) {
      double elements = lane == row ? INFINITY : elements_tiled(shape, lane, row);
      if (elements < least.elements) least = (Minor){lane, row, elements};
    }
  }
  return least;
}

static double least_elements(const Shape *shape) {
  if (shape->rank == 0) return (double)(LANES * packed(shape));
  if (shape->rank > 1) return least_padded(shape).elements;
  int64_t least = LANES * packed(shape);
  return padded(shape->dims[0], fitting(shape->dims[0], least, least > LONGEST_LINE ? least : LONGEST_LINE));
}

/* By the first tile that the layout says, which covers its minor dimensions. */
static double elements_as_said(const Shape *shape) {
  const Layout *layout = shape->layout;
  Ints tile = layout->tiles[0];
  double product = 1;
  if (shape->rank < tile.n) { /* a scalar takes a whole tile */
    for (uint32_t i = 0; i < tile.n; i++) product *= (double)tile.at[i];
    return product;
  }
  for (uint32_t i = 0; i < layout->minor_to_major.n && i < shape->rank; i++) {
    int64_t size = shape->dims[layout->minor_to_major.at[i]];
    bool tiled = i < tile.n && tile.at[tile.n - 1 - i] > 0;
    product *= tiled ? padded(size, tile.at[tile.n - 1 - i]) : (double)size;
  }
  return product;
}

bool shape_is_laid(const Shape *shape) {
  const Layout *layout = shape->layout;
  return layout != NULL && layout->n_tiles > 0 && layout->minor_to_major.n == shape->rank &&
         layout->tiles[0].n > 0;
}

Ints laid_order(Arena *arena, const Shape *shape) {
  return shape_is_laid(shape) ? shape->layout->minor_to_major : least_padded_order(arena, shape);
}

int64_t tiled_bytes(const Shape *shape) {
  double bytes = 0;
  if (shape_is_tuple(shape)) {
    for (uint32_t i = 0; i < shape->rank; i++) bytes += (double)tiled_bytes(shape->parts[i]);
  } else if (shape_is_array(shape)) {
    double elements = shape_is_laid(shape) ? elements_as_said(shape) : least_elements(shape);
    bytes = ceil(elements * dtype_bits(shape->dtype) / 8);
    if (shape_elements(shape) == 0) bytes = 0;
  }
  return (int64_t)fmin(bytes, 0x1p62);
}

/* `lane`, `row`, then the others as row-major has them. */
static Ints order_from(Arena *arena, const Shape *shape, uint32_t lane, uint32_t row) {
  Ints order = {ARENA_ARRAY(arena, int64_t, shape->rank), 0};
  order.at[order.n++] = lane;
  if (row != lane) order.at[order.n++] = row;
  for (uint32_t i = shape->rank; i-- > 0;) {
    if (i != lane && i != row) order.at[order.n++] = i;
  }
  return order;
}

Ints row_major_order(Arena *arena, const Shape *shape) {
  uint32_t rank = shape->rank;
  return rank < 2 ? order_from(arena, shape, 0, 0) : order_from(arena, shape, rank - 1, rank - 2);
}

Ints least_padded_order(Arena *arena, const Shape *shape) {
  if (shape->rank < 2) return order_from(arena, shape, 0, 0);
  Minor minor = least_padded(shape);
  return order_from(arena, shape, minor.lane, minor.row);
}

Ints order_of_minor(Arena *arena, const Shape *shape, uint32_t a, uint32_t b) {
  uint32_t low = a < b ? a : b, high = a < b ? b : a;
  bool swapped = elements_tiled(shape, low, high) < elements_tiled(shape, high, low);
  return swapped ? order_from(arena, shape, low, high) : order_from(arena, shape, high, low);
}

const Shape *shape_laid(Arena *arena, const Shape *shape, Ints minor_to_major) {
  if (shape->rank < 2) return shape;
  int64_t few = packed(shape) < SUBLANES ? packed(shape) : SUBLANES;
  int64_t *tile = ARENA_ARRAY(arena, int64_t, 2);
  tile[0] = fitting(shape->dims[minor_to_major.at[1]], few, SUBLANES);
  tile[1] = LANES;
  Layout *layout = ARENA_NEW(arena, Layout);
  *layout = (Layout){.minor_to_major = minor_to_major, .tiles = ARENA_NEW(arena, Ints), .n_tiles = 1};
  layout->tiles[0] = (Ints){tile, 2};
  Shape *laid = arena_copy(arena, shape, sizeof *shape);
  laid->layout = layout;
  return laid;
}

uint32_t lane_dimension(const Shape *shape) {
  if (shape->rank < 2) return 0;
  return shape_is_laid(shape) ? (uint32_t)shape->layout->minor_to_major.at[0] : least_padded(shape).lane;
}

double tiled_registers(const Shape *shape) {
  double elements = shape_is_laid(shape) ? elements_as_said(shape) : least_elements(shape);
  return ceil(elements / (LANES * SUBLANES));
}

/* Tile padding: the bytes of arguments that the TPU compiler tells for v5e. */
#include "models/tiling.h"

#include <criterion/criterion.h>

static int64_t bytes(DType dtype, const int64_t *dims, uint32_t rank) {
  Arena *arena = arena_new();
  int64_t bytes = tiled_bytes(shape_array(arena, dtype, dims, rank));
  arena_free(arena);
  return bytes;
}

#define BYTES(dtype, ...)                                                                                    \
  bytes(dtype, (const int64_t[]){__VA_ARGS__}, sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

Test(tiling, two_dimensions_lie_in_tiles_of_8_by_128) {
  cr_assert_eq(BYTES(DTYPE_F32, 16, 256), 16 * 256 * 4);
  cr_assert_eq(BYTES(DTYPE_BF16, 1000, 3000), 1000 * 3072 * 2);
  cr_assert_eq(BYTES(DTYPE_S8, 9, 129), 16 * 256);
}

Test(tiling, few_rows_lie_in_smaller_tiles) {
  cr_assert_eq(BYTES(DTYPE_F32, 1, 4096), 4096 * 4);
  cr_assert_eq(BYTES(DTYPE_F32, 2, 1024), 2 * 1024 * 4);
  cr_assert_eq(BYTES(DTYPE_F32, 3, 1024), 4 * 1024 * 4);
  cr_assert_eq(BYTES(DTYPE_F32, 5, 1024), 8 * 1024 * 4);
  cr_assert_eq(BYTES(DTYPE_BF16, 1, 1024), 2 * 1024 * 2, "two to a word");
  cr_assert_eq(BYTES(DTYPE_PRED, 2, 1024), 4 * 1024, "four to a word");
}

Test(tiling, a_line_lies_in_tiles_of_up_to_1024) {
  cr_assert_eq(BYTES(DTYPE_F32, 8192), 8192 * 4);
  cr_assert_eq(BYTES(DTYPE_F32, 8), 128 * 4);
  cr_assert_eq(BYTES(DTYPE_F32, 200), 256 * 4);
  cr_assert_eq(BYTES(DTYPE_BF16, 100), 256 * 2);
  cr_assert_eq(BYTES(DTYPE_BF16, 1025), 2048 * 2);
  cr_assert_eq(bytes(DTYPE_F32, NULL, 0), 512, "a scalar");
  cr_assert_eq(bytes(DTYPE_BF16, NULL, 0), 512);
}

Test(tiling, the_dimensions_that_pad_least_are_minor) {
  cr_assert_eq(BYTES(DTYPE_BF16, 128, 1024, 64), 128 * 1024 * 64 * 2, "1024 along the lanes");
  cr_assert_eq(BYTES(DTYPE_BF16, 128, 678, 26), 128 * 680 * 26 * 2);
  cr_assert_eq(BYTES(DTYPE_BF16, 4, 1811, 256), 4 * 1811 * 256 * 2, "4 along the sublanes");
  cr_assert_eq(BYTES(DTYPE_BF16, 32, 56, 56, 64), 32 * 56 * 56 * 128 * 2, "none fits");
}

Test(tiling, a_layout_that_says_its_tiles_is_followed) {
  Arena *arena = arena_new();
  Shape *shape = (Shape *)shape_array(arena, DTYPE_BF16, (const int64_t[]){3, 64, 100}, 3);
  int64_t order[] = {1, 0, 2}, tile[] = {4, 128};
  Ints tiles[] = {{tile, 2}};
  shape->layout = &(Layout){.minor_to_major = {order, 3}, .tiles = tiles, .n_tiles = 1};
  cr_assert_eq(tiled_bytes(shape), 4 * 128 * 100 * 2, "64 along the lanes, 3 along the sublanes");
  arena_free(arena);
}

Test(tiling, an_empty_array_takes_nothing) {
  cr_assert_eq(BYTES(DTYPE_F32, 0, 128), 0);
}

Test(tiling, a_huge_array_does_not_overflow) {
  cr_assert_eq(BYTES(DTYPE_F64, 1LL << 40, 1LL << 20), 1LL << 62);
}

/* Cutting arrays into shards and joining them; comparing them; random ones. */
#include "arena_fixture.h"
#include "sim/eval/compare_tensors.h"
#include "sim/eval/interpret.h"
#include "sim/region_boxes.h"

#include <math.h>

TestSuite(shards, .init = begin, .fini = end);
TestSuite(compare, .init = begin, .fini = end);
TestSuite(random, .init = begin, .fini = end);

/* Element i is i + 1, so that padding shows. */
static Tensor *counting(DType dtype, const int64_t *dims, uint32_t rank) {
  Tensor *tensor = tensor_new_array(dtype, dims, rank, true);
  for (int64_t i = 0; i < tensor_elements(tensor); i++) tensor_set_double(tensor, i, (double)(i + 1));
  return tensor;
}

static ShardBoxes boxes_of(const char *axes, const char *spec, const int64_t *dims, uint32_t rank) {
  const Mesh *mesh;
  const Sharding *sharding;
  cr_assert_eq(mesh_parse(arena, str_of(axes), &mesh, diag), STATUS_OK);
  cr_assert_eq(sharding_parse_spec(arena, str_of(spec), mesh, rank, &sharding, diag), STATUS_OK, "%.*s",
               STR_ARG(diag_error_text(diag)));
  return shard_boxes(arena, sharding, NULL, dims, rank, mesh->n_devices);
}

static void check_round_trip(const char *spec, const int64_t *dims, uint32_t rank) {
  ShardBoxes boxes = boxes_of("x=4,y=2", spec, dims, rank);
  Tensor *global = counting(DTYPE_F32, dims, rank), *locals[8];
  tensor_cut(global, &boxes, locals);
  Tensor *joined = tensor_join(locals, &boxes, dims);
  cr_assert_eq(tensor_compare(global, joined, 0).worst, -1, "%s", spec);
  cr_assert_eq(joined->rank, rank);
  for (int d = 0; d < 8; d++) tensor_release(locals[d]);
  tensor_release(joined);
  tensor_release(global);
}

Test(shards, cut_and_joined_again) {
  check_round_trip("P('x', 'y')", (int64_t[]){8, 6}, 2);
  check_round_trip("P('y', 'x')", (int64_t[]){7, 5}, 2);
  check_round_trip("P(None, ('x', 'y'))", (int64_t[]){3, 9}, 2);
  check_round_trip("P(('y', 'x'), None, None)", (int64_t[]){1, 2, 3}, 3);
  check_round_trip("P()", (int64_t[]){2, 2}, 2);
  check_round_trip("P()", NULL, 0);
}

Test(shards, uneven_shards_are_padded_with_zeros) {
  const int64_t dims[] = {5};
  ShardBoxes boxes = boxes_of("x=4", "P('x')", dims, 1);
  Tensor *global = counting(DTYPE_S32, dims, 1), *locals[4];
  tensor_cut(global, &boxes, locals);
  const int64_t expected[4][2] = {{1, 2}, {3, 4}, {5, 0}, {0, 0}};
  for (int d = 0; d < 4; d++) {
    for (int i = 0; i < 2; i++) cr_assert_eq(tensor_int_at(locals[d], i), expected[d][i]);
    tensor_release(locals[d]);
  }
  tensor_release(global);
}

Test(shards, what_is_the_same_is_shared) {
  const int64_t dims[] = {4, 4};
  ShardBoxes boxes = boxes_of("x=2,y=2", "P(None, 'y')", dims, 2);
  Tensor *global = counting(DTYPE_BF16, dims, 2), *locals[4];
  tensor_cut(global, &boxes, locals);
  cr_assert(locals[0] == locals[2] && locals[1] == locals[3] && locals[0] != locals[1]);
  for (int d = 0; d < 4; d++) tensor_release(locals[d]);
  boxes = boxes_of("x=2,y=2", "P()", dims, 2);
  tensor_cut(global, &boxes, locals);
  for (int d = 0; d < 4; d++) {
    cr_assert_eq(locals[d], global);
    tensor_release(locals[d]);
  }
  tensor_release(global);
}

Test(shards, unknown_values_stay_unknown) {
  const int64_t dims[] = {4};
  ShardBoxes boxes = boxes_of("x=2", "P('x')", dims, 1);
  Tensor *global = tensor_new_array(DTYPE_F32, dims, 1, false), *locals[2];
  tensor_cut(global, &boxes, locals);
  cr_assert(!locals[0]->known && locals[0]->dims[0] == 2);
  Tensor *joined = tensor_join(locals, &boxes, dims);
  cr_assert(!joined->known && joined->dims[0] == 4);
  for (int d = 0; d < 2; d++) tensor_release(locals[d]);
  tensor_release(joined);
  tensor_release(global);
}

static TensorDifference difference_of(DType dtype, double expected, double found, double tolerance) {
  const int64_t dims[] = {2};
  Tensor *a = counting(dtype, dims, 1), *b = counting(dtype, dims, 1);
  tensor_set_double(a, 1, expected);
  tensor_set_double(b, 1, found);
  TensorDifference difference = tensor_compare(a, b, tolerance);
  tensor_release(a);
  tensor_release(b);
  return difference;
}

Test(compare, errors_and_steps) {
  TensorDifference one_ulp = difference_of(DTYPE_F32, 4, 4 + 0x1p-21, 0);
  cr_assert_eq(one_ulp.max_ulp, 1);
  cr_assert_eq(one_ulp.max_abs, 0x1p-21);
  cr_assert_eq(one_ulp.max_rel, 0x1p-23);
  cr_assert(one_ulp.outside == 1 && one_ulp.worst == 1 && one_ulp.elements == 2);
  cr_assert_eq(difference_of(DTYPE_F32, 4, 4 + 0x1p-21, dtype_tolerance(DTYPE_F32)).outside, 0);
  cr_assert_eq(difference_of(DTYPE_BF16, 1, 1 + 0x1p-7, 0).max_ulp, 1);
  cr_assert_eq(difference_of(DTYPE_F32, 4, 4, 0).worst, -1);
  cr_assert_eq(difference_of(DTYPE_S32, 4, 5, dtype_tolerance(DTYPE_S32)).outside, 1);
}

Test(compare, nan_and_infinity) {
  cr_assert_eq(difference_of(DTYPE_F32, NAN, NAN, 0).worst, -1);
  cr_assert_eq(difference_of(DTYPE_F32, NAN, 1, 0.5).outside, 1);
  cr_assert_eq(difference_of(DTYPE_F32, 1, NAN, 0.5).outside, 1);
  cr_assert_eq(difference_of(DTYPE_F32, INFINITY, INFINITY, 0).worst, -1);
  cr_assert_eq(difference_of(DTYPE_F32, INFINITY, -INFINITY, 0.5).outside, 1);
  cr_assert_eq(difference_of(DTYPE_F32, 1, INFINITY, 0.5).outside, 1);
}

Test(compare, wide_integers_that_are_one_double) {
  const int64_t dims[] = {1};
  Tensor *a = tensor_new_array(DTYPE_S64, dims, 1, true), *b = tensor_new_array(DTYPE_S64, dims, 1, true);
  *(int64_t *)a->data = INT64_MAX;
  *(int64_t *)b->data = INT64_MAX - 1;
  cr_assert_eq(tensor_compare(a, b, 0).outside, 1);
  tensor_release(a);
  tensor_release(b);
}

Test(compare, text_names_the_place) {
  const int64_t dims[] = {2, 3};
  Tensor *a = counting(DTYPE_F32, dims, 2), *b = counting(DTYPE_F32, dims, 2);
  tensor_set_double(b, 4, 5.5);
  TensorDifference difference = tensor_compare(a, b, 1e-3);
  cr_assert(
      str_is(tensor_difference_text(arena, a, &difference),
             "1 of 6 elements beyond 0.001: at [1,1] 5.5 for 5; largest error 0.5 absolute, 0.1 relative, "
             "1.05e+06 ulp"));
  tensor_release(a);
  tensor_release(b);
}

static Tensor *random_vector(DType dtype, int64_t n, uint64_t seed, uint64_t number) {
  return tensor_random(shape_array(arena, dtype, &n, 1), seed, number);
}

Test(random, normal_and_the_same_each_time) {
  enum { N = 20001 };
  Tensor *a = random_vector(DTYPE_F64, N, 1, 2), *b = random_vector(DTYPE_F64, N, 1, 2);
  Tensor *other = random_vector(DTYPE_F64, N, 1, 3), *shorter = random_vector(DTYPE_F64, 10, 1, 2);
  cr_assert_eq(tensor_compare(a, b, 0).worst, -1);
  double sum = 0, squares = 0, product = 0;
  for (int i = 0; i < N; i++) {
    double x = tensor_double_at(a, i);
    sum += x;
    squares += x * x;
    product += x * tensor_double_at(other, i);
  }
  cr_assert_lt(fabs(sum / N), 0.03);
  cr_assert_lt(fabs(squares / N - 1), 0.04);
  cr_assert_lt(fabs(product / N), 0.03);
  for (int i = 0; i < 10; i++) cr_assert_eq(tensor_double_at(shorter, i), tensor_double_at(a, i));
  Tensor *all[] = {a, b, other, shorter};
  for (int i = 0; i < 4; i++) tensor_release(all[i]);
}

Test(random, integers_fit_their_type) {
  const DType types[] = {DTYPE_PRED, DTYPE_S2, DTYPE_S4, DTYPE_U4, DTYPE_S8, DTYPE_S32, DTYPE_U64};
  const int64_t most[] = {1, 1, 7, 9, 9, 9, 9};
  for (int t = 0; t < 7; t++) {
    Tensor *tensor = random_vector(types[t], 1000, 7, 0);
    int64_t largest = 0;
    for (int i = 0; i < 1000; i++) {
      int64_t value = tensor_int_at(tensor, i);
      cr_assert_geq(value, 0);
      largest = value > largest ? value : largest;
    }
    cr_assert_eq(largest, most[t], "%s", dtype_text(types[t]));
    tensor_release(tensor);
  }
}

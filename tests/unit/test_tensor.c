/* Tensors: counting, copy on write, views, elements of every type. */
#include "eval_bench.h"

Test(tensor, unique_copies_only_what_is_shared) {
  Tensor *a = array_of(DTYPE_F32, DIMS(2), (double[]){1, 2});
  Tensor *same = tensor_unique(a);
  cr_assert_eq(same, a);
  Tensor *held = tensor_retain(a), *copy = tensor_unique(a);
  cr_assert_neq(copy, held);
  tensor_set_double(copy, 0, 7);
  cr_assert_eq(tensor_double_at(held, 0), 1);
  tensor_release(copy);
  tensor_release(held);
}

Test(tensor, a_reshaped_tensor_shares_its_data_until_written) {
  Tensor *a = array_of(DTYPE_S32, DIMS(2, 3), (double[]){0, 1, 2, 3, 4, 5});
  Tensor *flat = tensor_reshaped(a, (int64_t[]){6}, 1);
  cr_assert_eq(flat->data, a->data);
  cr_assert_not(tensor_is_unique(a));
  cr_assert_not(tensor_is_unique(flat));
  tensor_release(a);
  cr_assert(tensor_is_unique(flat));
  Tensor *window = tensor_window(flat, 2, 3);
  expect_values(window, VALUES(2, 3, 4));
  window = tensor_unique(window);
  tensor_set_double(window, 0, 9);
  cr_assert_eq(tensor_int_at(flat, 2), 2);
  tensor_release(window);
  tensor_release(flat);
}

Test(tensor, tuples_hold_their_parts) {
  Tensor *parts[] = {array_of(DTYPE_S8, SCALAR, (double[]){3}), tensor_new_array(DTYPE_F32, NULL, 0, false)};
  Tensor *tuple = tensor_tuple(parts, 2);
  cr_assert_not(tensor_all_known(tuple));
  Tensor *first = tensor_retain(tuple->parts[0]);
  tensor_release(tuple);
  cr_assert_eq(tensor_int_at(first, 0), 3);
  tensor_release(first);
}

Test(tensor, every_type_holds_small_numbers) {
  for (DType dtype = 0; dtype < DTYPE_COUNT; dtype++) {
    if (dtype_bytes(dtype) == 0 || dtype == DTYPE_F8E8M0FNU) continue;
    Tensor *tensor = tensor_new_array(dtype, (int64_t[]){3}, 1, true);
    bool is_s1 = dtype == DTYPE_S1;
    for (int64_t i = 0; i < 3; i++) tensor_set_double(tensor, i, i == 1 ? (is_s1 ? -1 : 1) : 0);
    cr_assert_eq(tensor_int_at(tensor, 0), 0, "%s", dtype_text(dtype));
    cr_assert_eq(tensor_double_at(tensor, 1), is_s1 ? -1 : 1, "%s", dtype_text(dtype));
    cr_assert_eq(tensor_int_at(tensor, 1), is_s1 ? -1 : 1, "%s", dtype_text(dtype));
    tensor_release(tensor);
  }
}

Test(tensor, integers_wrap_to_their_width) {
  Tensor *s4 = array_of(DTYPE_S4, DIMS(3), (double[]){7, 9, -8});
  expect_values(s4, VALUES(7, -7, -8));
  Tensor *u64 = array_of(DTYPE_U64, DIMS(1), (double[]){0x1p63});
  cr_assert_eq(tensor_double_at(u64, 0), 0x1p63);
  tensor_release(s4);
  tensor_release(u64);
}

Test(tensor, literals_become_tensors) {
  Arena *arena = arena_new();
  const Literal *literal = literal_ints(arena, DTYPE_S32, (int64_t[]){5, -6}, 2);
  Tensor *tensor = tensor_from_literal(literal);
  expect_values(tensor, VALUES(5, -6));
  Literal elided = {.shape = literal->shape, .elided = true};
  Tensor *unknown = tensor_from_literal(&elided);
  cr_assert_not(unknown->known);
  cr_assert_eq(tensor_elements(unknown), 2);
  tensor_release(tensor);
  tensor_release(unknown);
  arena_free(arena);
}

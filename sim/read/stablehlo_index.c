/* Operations that find their elements by index or order: gather, scatter, sort; and those with windows. */
#include "sim/read/stablehlo.h"

/* gather and scatter. */

typedef struct {
  const char *name;
  AttrId id;
  bool always; /* told even where it is empty */
} ListName;

static Status set_lists(Translator *tr, uint32_t instr, MlirDict dict, const ListName *names, size_t n) {
  for (size_t i = 0; i < n; i++) {
    Ints ints;
    TRY(dict_ints(tr, dict, names[i].name, &ints));
    if (ints.n != 0 || names[i].always)
      instr_set_ints(tr->module, made(tr, instr), names[i].id, ints.at, ints.n);
  }
  int64_t dim;
  TRY(dict_int(tr, dict, "index_vector_dim", 0, &dim));
  instr_set_int(tr->module, made(tr, instr), ATTR_index_vector_dim, dim);
  return STATUS_OK;
}

static Status set_true(Translator *tr, uint32_t instr, const char *name, AttrId id) {
  bool flag;
  TRY(attr_flag(tr, name, false, &flag));
  if (flag) instr_set_flag(tr->module, made(tr, instr), id, true);
  return STATUS_OK;
}

Status translate_gather(Translator *tr, Opcode op) {
  static const ListName names[] = {
      {"offset_dims", ATTR_offset_dims, true},
      {"collapsed_slice_dims", ATTR_collapsed_slice_dims, true},
      {"start_index_map", ATTR_start_index_map, true},
      {"operand_batching_dims", ATTR_operand_batching_dims, false},
      {"start_indices_batching_dims", ATTR_start_indices_batching_dims, false},
  };
  Ids operands;
  const MlirAttr *numbers;
  MlirDict dict;
  Ints sizes;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operands(tr, &operands));
  TRY(need_attr(tr, "dimension_numbers", &numbers));
  TRY(mlir_struct(tr->mlir, numbers, &dict));
  TRY(need_ints(tr, "slice_sizes", instr_shape(tr, operands.at[0])->rank, &sizes));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, 2);
  TRY(set_lists(tr, instr, dict, names, sizeof names / sizeof *names));
  instr_set_ints(tr->module, made(tr, instr), ATTR_slice_sizes, sizes.at, sizes.n);
  TRY(set_true(tr, instr, "indices_are_sorted", ATTR_indices_are_sorted));
  return give(tr, instr);
}

Status translate_scatter(Translator *tr, Opcode op) {
  static const ListName names[] = {
      {"update_window_dims", ATTR_update_window_dims, true},
      {"inserted_window_dims", ATTR_inserted_window_dims, true},
      {"scatter_dims_to_operand_dims", ATTR_scatter_dims_to_operand_dims, true},
      {"input_batching_dims", ATTR_input_batching_dims, false},
      {"scatter_indices_batching_dims", ATTR_scatter_indices_batching_dims, false},
  };
  Ids operands;
  const MlirAttr *numbers;
  MlirDict dict;
  uint32_t comp;
  TRY(use_operands(tr, &operands));
  TRY(need_attr(tr, "scatter_dimension_numbers", &numbers));
  TRY(mlir_struct(tr->mlir, numbers, &dict));
  TRY(scalar_region(tr, 0, &comp));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, operands.n);
  TRY(set_lists(tr, instr, dict, names, sizeof names / sizeof *names));
  TRY(set_true(tr, instr, "indices_are_sorted", ATTR_indices_are_sorted));
  TRY(set_true(tr, instr, "unique_indices", ATTR_unique_indices));
  instr_set_comp(tr->module, made(tr, instr), ATTR_to_apply, comp);
  return give(tr, instr);
}

Status translate_sort(Translator *tr, Opcode op) {
  Ids operands;
  int64_t dim;
  uint32_t comp;
  TRY(use_operands(tr, &operands));
  RETURN_IF(operands.n == 0, OP_FAIL(tr, tr->op->at, NULL, "sort takes operands"));
  TRY(attr_int(tr, "dimension", -1, &dim));
  TRY(scalar_region(tr, 0, &comp));
  if (dim < 0) dim += instr_shape(tr, operands.at[0])->rank;
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, operands.n);
  instr_set_ints(tr->module, made(tr, instr), ATTR_dimensions, &dim, 1);
  TRY(set_true(tr, instr, "is_stable", ATTR_is_stable));
  instr_set_comp(tr->module, made(tr, instr), ATTR_to_apply, comp);
  return give(tr, instr);
}

/* Windows. */

static Status window_ints(Translator *tr, const char *name, uint32_t n, Ints *ints) {
  TRY(attr_ints(tr, name, ints));
  RETURN_IF(ints->n != 0 && ints->n != n,
            OP_FAIL(tr, find_attr(tr, name)->at, NULL, "expected %u numbers, here are %u", n, ints->n));
  return STATUS_OK;
}

static int64_t or_one(Ints ints, uint32_t d) {
  return ints.n == 0 ? 1 : ints.at[d];
}

static Status set_window(Translator *tr, uint32_t instr, uint32_t rank) {
  Ints sizes, strides, base, dilation, padding;
  TRY(need_ints(tr, "window_dimensions", rank, &sizes));
  TRY(window_ints(tr, "window_strides", rank, &strides));
  TRY(window_ints(tr, "base_dilations", rank, &base));
  TRY(window_ints(tr, "window_dilations", rank, &dilation));
  TRY(attr_pairs(tr, "padding", rank, 0, &padding));
  Window window = {ARENA_ARRAY(tr->scratch, WindowDim, rank), rank};
  for (uint32_t d = 0; d < rank; d++)
    window.at[d] = (WindowDim){.size = sizes.at[d],
                               .stride = or_one(strides, d),
                               .pad_low = padding.at[2 * d],
                               .pad_high = padding.at[2 * d + 1],
                               .lhs_dilate = or_one(base, d),
                               .rhs_dilate = or_one(dilation, d)};
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_window, .window = window});
  return STATUS_OK;
}

Status translate_reduce_window(Translator *tr, Opcode op) {
  Ids operands;
  uint32_t comp;
  TRY(use_operands(tr, &operands));
  RETURN_IF(operands.n == 0, OP_FAIL(tr, tr->op->at, NULL, "reduce_window takes operands"));
  TRY(scalar_region(tr, 0, &comp));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, operands.n);
  TRY(set_window(tr, instr, instr_shape(tr, operands.at[0])->rank));
  instr_set_comp(tr->module, made(tr, instr), ATTR_to_apply, comp);
  return give(tr, instr);
}

Status translate_select_and_scatter(Translator *tr, Opcode op) {
  Ids operands;
  uint32_t select, scatter;
  TRY(expect_operand_count(tr, 3, 3));
  TRY(use_operands(tr, &operands));
  TRY(scalar_region(tr, 0, &select));
  TRY(scalar_region(tr, 1, &scatter));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, 3);
  TRY(set_window(tr, instr, instr_shape(tr, operands.at[0])->rank));
  instr_set_comp(tr->module, made(tr, instr), ATTR_select, select);
  instr_set_comp(tr->module, made(tr, instr), ATTR_scatter, scatter);
  return give(tr, instr);
}

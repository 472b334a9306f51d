/* Collectives: groups, channels, and the operations themselves. */
#include "sim/read/stablehlo.h"

/* Attributes. */

Status set_channel(Translator *tr, uint32_t instr) {
  const MlirAttr *attr = find_attr(tr, "channel_handle");
  MlirDict dict;
  int64_t handle;
  if (attr == NULL) attr = find_attr(tr, "channel_id");
  if (attr == NULL) return STATUS_OK;
  handle = attr->integer;
  if (attr->kind != MLIR_INT) {
    TRY(mlir_struct(tr->mlir, attr, &dict));
    TRY(dict_int(tr, dict, "handle", 0, &handle));
  }
  RETURN_IF(handle < 0, OP_FAIL(tr, attr->at, NULL, "a channel's number is not negative, this is %lld",
                                (long long)handle));
  if (handle > 0) instr_set_int(tr->module, made(tr, instr), ATTR_channel_id, handle);
  return STATUS_OK;
}

/* Row `g` of dense<[[0, 1], [2, -1]]>; -1 fills rows that are shorter. */
static Status add_group(Translator *tr, const MlirAttr *attr, Ints ids, uint32_t *to, uint32_t *n) {
  for (uint32_t i = 0; i < ids.n; i++) {
    if (ids.at[i] == -1) continue;
    RETURN_IF(ids.at[i] < 0 || ids.at[i] >= NO_ID,
              OP_FAIL(tr, attr->at, NULL, "%lld is not a device", (long long)ids.at[i]));
    to[(*n)++] = (uint32_t)ids.at[i];
  }
  return STATUS_OK;
}

/* The rows of a group attribute; rows[g] are all its ids, padding included. */
static Status group_rows(Translator *tr, const MlirAttr *attr, Ints *flat, uint32_t *rows) {
  TRY(expect_rows(tr, attr, -1));
  TRY(ints_of(tr, attr, flat));
  *rows = attr->kind == MLIR_DENSE && attr->type->rank == 2 ? (uint32_t)attr->type->dims[0] : 1;
  RETURN_IF(*rows != 0 && flat->n % *rows != 0,
            OP_FAIL(tr, attr->at, NULL, "these are no groups of devices"));
  if (flat->n == 0) *rows = 0;
  return STATUS_OK;
}

static Status set_groups(Translator *tr, uint32_t instr) {
  const MlirAttr *attr = find_attr(tr, "replica_groups");
  Ints flat;
  uint32_t rows;
  if (attr == NULL) return STATUS_OK;
  GroupList groups;
  if (attr->kind == MLIR_DIALECT) {
    TRY(groups_over_axes(tr, attr, &groups));
    instr_set_groups(tr->module, made(tr, instr), &groups);
    return STATUS_OK;
  }
  TRY(group_rows(tr, attr, &flat, &rows));
  groups = (GroupList){.n = rows,
                       .start = ARENA_ARRAY(tr->scratch, uint32_t, (size_t)rows + 1),
                       .ids = ARENA_ARRAY(tr->scratch, uint32_t, flat.n)};
  uint32_t n = 0, width = rows == 0 ? 0 : flat.n / rows;
  for (uint32_t g = 0; g < rows; g++) {
    TRY(add_group(tr, attr, (Ints){flat.at + (size_t)g * width, width}, groups.ids, &n));
    groups.start[g + 1] = n;
  }
  instr_set_groups(tr->module, made(tr, instr), &groups);
  return STATUS_OK;
}

static Status set_global_ids(Translator *tr, uint32_t instr) {
  bool global;
  TRY(attr_flag(tr, "use_global_device_ids", false, &global));
  RETURN_IF(global && instr_attr(made(tr, instr), ATTR_channel_id) == NULL,
            OP_FAIL(tr, tr->op->at, NULL, "use_global_device_ids needs a channel_handle above 0"));
  if (global) instr_set_flag(tr->module, made(tr, instr), ATTR_use_global_device_ids, true);
  return STATUS_OK;
}

static Status set_dimension(Translator *tr, uint32_t instr, const char *name) {
  const MlirAttr *attr;
  int64_t dim;
  TRY(need_attr(tr, name, &attr));
  TRY(attr_int(tr, name, 0, &dim));
  instr_set_ints(tr->module, made(tr, instr), ATTR_dimensions, &dim, 1);
  return STATUS_OK;
}

static Status set_reducer(Translator *tr, uint32_t instr) {
  uint32_t comp;
  TRY(scalar_region(tr, 0, &comp));
  instr_set_comp(tr->module, made(tr, instr), ATTR_to_apply, comp);
  return STATUS_OK;
}

/* An instruction with the channel and the groups that the operation names. */
static Status emit_grouped(Translator *tr, Opcode op, uint32_t *instr) {
  Ids operands;
  TRY(use_operands(tr, &operands));
  *instr = emit(tr, op, result_type(tr), operands.at, operands.n);
  TRY(set_channel(tr, *instr));
  return set_groups(tr, *instr);
}

/* Operations. */

Status translate_grouped(Translator *tr, Opcode op) {
  uint32_t instr;
  TRY(emit_grouped(tr, op, &instr));
  return give(tr, instr);
}

Status translate_all_gather(Translator *tr, Opcode op) {
  uint32_t instr;
  TRY(emit_grouped(tr, op, &instr));
  TRY(set_dimension(tr, instr, "all_gather_dim"));
  TRY(set_global_ids(tr, instr));
  return give(tr, instr);
}

Status translate_all_reduce(Translator *tr, Opcode op) {
  uint32_t instr;
  TRY(emit_grouped(tr, op, &instr));
  TRY(set_global_ids(tr, instr));
  TRY(set_reducer(tr, instr));
  return give(tr, instr);
}

Status translate_reduce_scatter(Translator *tr, Opcode op) {
  uint32_t instr;
  TRY(emit_grouped(tr, op, &instr));
  TRY(set_global_ids(tr, instr));
  TRY(set_dimension(tr, instr, "scatter_dimension"));
  TRY(set_reducer(tr, instr));
  return give(tr, instr);
}

Status translate_permute(Translator *tr, Opcode op) {
  Ids operands;
  Ints flat;
  TRY(use_operands(tr, &operands));
  const MlirAttr *attr;
  TRY(need_attr(tr, "source_target_pairs", &attr));
  TRY(expect_rows(tr, attr, 2));
  TRY(ints_of(tr, attr, &flat));
  RETURN_IF(flat.n % 2 != 0, OP_FAIL(tr, attr->at, NULL, "source_target_pairs are pairs"));
  Pairs pairs = {ARENA_ARRAY(tr->scratch, Pair, flat.n / 2), flat.n / 2};
  for (uint32_t i = 0; i < pairs.n; i++) pairs.at[i] = (Pair){flat.at[2 * i], flat.at[2 * i + 1]};
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, operands.n);
  TRY(set_channel(tr, instr));
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_source_target_pairs, .pairs = pairs});
  return give(tr, instr);
}

/* all-to-all along one dimension puts the pieces where they came from; where they belong along another one,
 * they are moved there: split the dimension, bring the pieces' one before the other, merge. */
static uint32_t move_pieces(Translator *tr, uint32_t instr, const Shape *to, int64_t split, int64_t concat,
                            int64_t count) {
  const Shape *shape = instr_shape(tr, instr);
  uint32_t rank = shape->rank;
  int64_t *sizes = ARENA_ARRAY(tr->scratch, int64_t, (size_t)rank + 1);
  int64_t *order = ARENA_ARRAY(tr->scratch, int64_t, (size_t)rank + 1);
  int64_t *moved = ARENA_ARRAY(tr->scratch, int64_t, (size_t)rank + 1);
  uint32_t n = 0;
  for (uint32_t d = 0; d < rank; d++) {
    if (d == split) sizes[n++] = count;
    sizes[n++] = d == split ? shape->dims[d] / count : shape->dims[d];
  }
  instr = emit_reshape(tr, shape_with_dims(tr->arena, shape, sizes, n), instr);
  n = 0;
  for (uint32_t d = 0; d < rank; d++) {
    if (d == concat) order[n++] = split;
    order[n++] = d >= split ? d + 1 : d;
  }
  for (uint32_t d = 0; d < n; d++) moved[d] = sizes[order[d]];
  instr = emit(tr, OP_TRANSPOSE, shape_with_dims(tr->arena, shape, moved, n), &instr, 1);
  instr_set_ints(tr->module, made(tr, instr), ATTR_dimensions, order, n);
  return emit_reshape(tr, to, instr);
}

/* As many pieces as there are devices in a group. */
static Status check_split(Translator *tr, uint32_t instr, int64_t count) {
  const Attr *attr = instr_attr(made(tr, instr), ATTR_replica_groups);
  if (attr == NULL) return STATUS_OK;
  GroupList groups = groups_expand(tr->scratch, attr->groups, 0);
  int64_t size = groups.n == 0 ? 0 : groups.start[1] - groups.start[0];
  RETURN_IF(size != count, OP_FAIL(tr, tr->op->at, NULL, "split_count is %lld, groups have %lld devices",
                                   (long long)count, (long long)size));
  return STATUS_OK;
}

/* One operand's; several go each on its own. */
static Status emit_all_to_all(Translator *tr, Opcode op, uint32_t k, uint32_t operand) {
  int64_t split, concat, count;
  TRY(attr_int(tr, "split_dimension", 0, &split));
  TRY(attr_int(tr, "concat_dimension", 0, &concat));
  TRY(attr_int(tr, "split_count", 1, &count));
  const Shape *shape = instr_shape(tr, operand);
  RETURN_IF(split < 0 || split >= shape->rank || concat < 0 || concat >= shape->rank || count < 1 ||
                shape->dims[split] % count != 0,
            OP_FAIL(tr, tr->op->at, NULL, "all_to_all cannot split %.*s like this",
                    STR_ARG(shape_text(tr->scratch, shape))));
  uint32_t instr = emit(tr, op, shape, &operand, 1);
  TRY(set_channel(tr, instr));
  TRY(set_groups(tr, instr));
  TRY(check_split(tr, instr, count));
  instr_set_ints(tr->module, made(tr, instr), ATTR_dimensions, &split, 1);
  TRY(set_discardable(tr, instr));
  give_one(tr, k,
           split == concat
               ? instr
               : move_pieces(tr, instr, value_type(tr, tr->op->result + k), split, concat, count));
  return STATUS_OK;
}

Status translate_all_to_all(Translator *tr, Opcode op) {
  Ids operands;
  TRY(use_operands(tr, &operands));
  RETURN_IF(operands.n != tr->op->n_results,
            OP_FAIL(tr, tr->op->at, NULL, "all_to_all has as many results as operands"));
  for (uint32_t k = 0; k < operands.n; k++) TRY(emit_all_to_all(tr, op, k, operands.at[k]));
  return STATUS_OK;
}

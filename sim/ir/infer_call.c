/* Shape inference of control flow, asynchronous pairs and collectives. */
#include "sim/ir/infer.h"

/* --- Control flow. --- */

static const Shape **all_operands(const Infer *at) {
  const Shape **shapes = ARENA_ARRAY(at->arena, const Shape *, at->instr->operands.n);
  for (uint32_t i = 0; i < at->instr->operands.n; i++) shapes[i] = operand_shape(at, i);
  return shapes;
}

/* call (to_apply) and fusion (calls). */
Status infer_call(const Infer *at, const Shape **shape) {
  AttrId id = at->instr->op == OP_FUSION ? ATTR_calls : ATTR_to_apply;
  return expect_callee(at, attr_text(id), instr_comp(at->instr, id), all_operands(at), at->instr->operands.n,
                       shape);
}

Status infer_while(const Infer *at, const Shape **shape) {
  const Shape *state = operand_shape(at, 0), *next, *more;
  TRY(expect_callee(at, "body", instr_comp(at->instr, ATTR_body), &state, 1, &next));
  TRY(expect_callee(at, "condition", instr_comp(at->instr, ATTR_condition), &state, 1, &more));
  RETURN_IF(!shape_is_scalar(more) || more->dtype != DTYPE_PRED,
            INFER_FAIL(at, "the condition must give pred[], it gives %s", shape_words(at, more)));
  RETURN_IF(!shape_fits(next, state, at->mixed),
            INFER_FAIL(at, "the body must give %s as it takes, it gives %s", shape_words(at, state),
                       shape_words(at, next)));
  *shape = state;
  return STATUS_OK;
}

static Ids branches_of(const Infer *at) {
  if (instr_attr(at->instr, ATTR_branch_computations) != NULL)
    return instr_comps(at->instr, ATTR_branch_computations);
  uint32_t *two = ARENA_ARRAY(at->arena, uint32_t, 2);
  two[0] = instr_comp(at->instr, ATTR_true_computation);
  two[1] = instr_comp(at->instr, ATTR_false_computation);
  return (Ids){two, 2};
}

Status infer_conditional(const Infer *at, const Shape **shape) {
  Ids branches = branches_of(at);
  RETURN_IF(at->instr->operands.n != branches.n + 1 || branches.n == 0,
            INFER_FAIL(at, "conditional takes an index and an operand a branch, %u branches have %u operands",
                       branches.n, at->instr->operands.n));
  const Shape *index = operand_shape(at, 0);
  RETURN_IF(!shape_is_scalar(index) || (index->dtype != DTYPE_PRED && index->dtype != DTYPE_S32),
            INFER_FAIL(at, "operand 0 must be pred[] or s32[], it is %s", shape_words(at, index)));
  for (uint32_t b = 0; b < branches.n; b++) {
    const Shape *operand = operand_shape(at, b + 1), *result;
    TRY(expect_callee(at, "branch", branches.at[b], &operand, 1, &result));
    if (b == 0) *shape = result;
    RETURN_IF(!shape_fits(result, *shape, at->mixed),
              INFER_FAIL(at, "branch %u gives %s, branch 0 gives %s", b, shape_words(at, result),
                         shape_words(at, *shape)));
  }
  return STATUS_OK;
}

/* `of` without dimension `dim`, which is `length` long. */
static Status slice_shape(const Infer *at, const Shape *of, int64_t dim, int64_t length,
                          const Shape **slice) {
  RETURN_IF(!shape_is_array(of) || dim >= of->rank || of->dims[dim] != length,
            INFER_FAIL(at, "dimension %ld is scanned in %ld steps, an array is %s", (long)dim, (long)length,
                       shape_words(at, of)));
  int64_t *dims = ARENA_ARRAY(at->arena, int64_t, of->rank);
  for (uint32_t d = 0, n = 0; d < of->rank; d++)
    if (d != dim) dims[n++] = of->dims[d];
  *slice = shape_array(at->arena, of->dtype, dims, of->rank - 1);
  return STATUS_OK;
}

/* A step takes a slice of each input and the carries; it gives slices of the results and the next carries. */
Status infer_scan(const Infer *at, const Shape **shape) {
  uint32_t n = at->instr->operands.n;
  int64_t carries, dim;
  TRY(expect_operands(at, 1));
  TRY(expect_array(at, 0));
  TRY(expect_written(at));
  TRY(expect_int(at, ATTR_num_carries, n, &carries));
  Ints along = instr_ints(at->instr, ATTR_dimensions);
  RETURN_IF(along.n != 1, INFER_FAIL(at, "scan needs one dimension, dimensions has %u", along.n));
  TRY(expect_dims(at, ATTR_dimensions, along, operand_shape(at, 0)->rank));
  dim = along.at[0];
  const Shape **params = all_operands(at), *step, *written = at->instr->shape;
  int64_t length = params[0]->dims[dim];
  for (uint32_t i = 0; i + carries < n; i++) TRY(slice_shape(at, params[i], dim, length, &params[i]));
  TRY(expect_callee(at, "to_apply", instr_comp(at->instr, ATTR_to_apply), params, n, &step));
  RETURN_IF(!shape_is_tuple(written) || written->rank < carries,
            INFER_FAIL(at, "scan gives a tuple of results and %ld carries, %s is written", (long)carries,
                       shape_words(at, written)));
  const Shape **parts = ARENA_ARRAY(at->arena, const Shape *, written->rank);
  memcpy(parts, written->parts, written->rank * sizeof *parts);
  for (uint32_t i = 0; i + carries < written->rank; i++)
    TRY(slice_shape(at, parts[i], dim, length, &parts[i]));
  const Shape *expected = shape_tuple(at->arena, parts, written->rank);
  RETURN_IF(
      !shape_fits(step, expected, at->mixed),
      INFER_FAIL(at, "a step must give %s, it gives %s", shape_words(at, expected), shape_words(at, step)));
  *shape = written;
  return STATUS_OK;
}

/* --- Asynchronous pairs. --- */

/* The start's tuple holds operands, results and whatever the device needs besides. */
static Status start_part(const Infer *at, uint32_t part, const Shape **shape) {
  const Shape *start = operand_shape(at, 0);
  RETURN_IF(
      !shape_is_tuple(start) || start->rank < 2,
      INFER_FAIL(at, "operand 0 must be what a start gives, a tuple; it is %s", shape_words(at, start)));
  *shape = start->parts[part];
  return STATUS_OK;
}

Status infer_done(const Infer *at, const Shape **shape) {
  return start_part(at, 1, shape);
}

Status infer_copy_done(const Infer *at, const Shape **shape) {
  return start_part(at, 0, shape);
}

/* Both parts of the written tuple, whose rest belongs to the device. */
static Status written_start(const Infer *at, const Shape *first, const Shape *second, const Shape **shape) {
  TRY(expect_written(at));
  const Shape *written = at->instr->shape;
  uint32_t n = shape_is_tuple(written) && written->rank > 2 ? written->rank : 2;
  const Shape **parts = ARENA_ARRAY(at->arena, const Shape *, n);
  for (uint32_t i = 2; i < n; i++) parts[i] = written->parts[i];
  parts[0] = first;
  parts[1] = second;
  *shape = shape_tuple(at->arena, parts, n);
  return STATUS_OK;
}

/* What the wrapped computation gives, or where only its opcode is written (X-start) what X would. */
static Status wrapped_result(const Infer *at, const Shape **shape) {
  Instr inner = *at->instr;
  *shape = NULL;
  if (instr_attr(at->instr, ATTR_calls) != NULL)
    return expect_callee(at, "calls", instr_comp(at->instr, ATTR_calls), all_operands(at),
                         at->instr->operands.n, shape);
  RETURN_IF(!op_parse(at->instr->async_of, &inner.op), STATUS_OK);
  inner.shape = at->instr->shape->parts[1];
  uint32_t comp = (uint32_t)(at->comp - at->module->comps.at);
  return infer_shape(at->module, comp, &inner, at->arena, shape, at->diag);
}

Status infer_async_start(const Infer *at, const Shape **shape) {
  TRY(expect_written(at));
  const Shape *written = at->instr->shape, *result;
  RETURN_IF(!shape_is_tuple(written) || written->rank < 2,
            INFER_FAIL(at, "a start gives a tuple of operands and results, %s is written",
                       shape_words(at, written)));
  TRY(wrapped_result(at, &result));
  if (result == NULL) return STATUS_OK;
  return written_start(at, shape_tuple(at->arena, all_operands(at), at->instr->operands.n), result, shape);
}

Status infer_copy_start(const Infer *at, const Shape **shape) {
  return written_start(at, operand_shape(at, 0), operand_shape(at, 0), shape);
}

/* --- Collectives. --- */

Status infer_as_operands(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 1));
  *shape = one_or_tuple(at, all_operands(at), at->instr->operands.n);
  return STATUS_OK;
}

/* One sum of two scalars serves all operands, in a type that is no narrower than theirs. */
static Status check_sum(const Infer *at) {
  uint32_t sum = instr_comp(at->instr, ATTR_to_apply);
  RETURN_IF(sum >= at->module->comps.n, INFER_FAIL(at, "%s needs to_apply", op_text(at->instr->op)));
  const Shape *given = module_comp(at->module, sum)->instrs.at[module_comp(at->module, sum)->root].shape;
  TRY(expect_combiner(at, ATTR_to_apply, &given->dtype, 1));
  for (uint32_t i = 0; i < at->instr->operands.n; i++) {
    TRY(expect_array(at, i));
    RETURN_IF(!type_widens(at, operand_shape(at, i)->dtype, given->dtype),
              INFER_FAIL(at, "to_apply is of %s, operand %u is %s", shape_words(at, given), i,
                         shape_words(at, operand_shape(at, i))));
  }
  return STATUS_OK;
}

Status infer_all_reduce(const Infer *at, const Shape **shape) {
  TRY(infer_as_operands(at, shape));
  return check_sum(at);
}

/* Devices in a group of a collective, or 0 where the text does not tell. With a channel and without global
 * ids a group of replicas spans the partitions too (but for all-to-all, which has no such flag). */
static Status group_size(const Infer *at, int64_t *size) {
  const Attr *attr = instr_attr(at->instr, ATTR_replica_groups);
  const ReplicaGroups *groups = attr == NULL ? NULL : attr->groups;
  int64_t devices = at->module->num_partitions * at->module->replica_count;
  *size = devices == 1 ? 0 : devices;
  if (groups == NULL || (groups->form == GROUPS_LIST && groups->n_groups == 0)) return STATUS_OK;
  TRY(groups_check(groups, devices == 1 ? 0 : (uint32_t)devices, at->instr->place, at->diag));
  GroupList list = groups_expand(at->arena, groups, (uint32_t)devices);
  *size = list.n == 0 ? 0 : (int64_t)list.start[1] - list.start[0];
  bool replicas =
      instr_attr(at->instr, ATTR_channel_id) != NULL && !instr_flag(at->instr, ATTR_use_global_device_ids);
  if (replicas && at->instr->op != OP_ALL_TO_ALL) *size *= at->module->num_partitions;
  return STATUS_OK;
}

/* Operand `i` with the dimension of the collective times (or divided by) the size of its groups. */
static Status scaled_operand(const Infer *at, uint32_t i, bool gather, const Shape **shape) {
  TRY(expect_array(at, i));
  const Shape *from = operand_shape(at, i);
  Ints along = instr_ints(at->instr, ATTR_dimensions);
  RETURN_IF(along.n != 1,
            INFER_FAIL(at, "%s needs one dimension, dimensions has %u", op_text(at->instr->op), along.n));
  TRY(expect_dims(at, ATTR_dimensions, along, from->rank));
  int64_t size, *dims = arena_copy(at->arena, from->dims, from->rank * sizeof *dims);
  int64_t *scaled = &dims[along.at[0]];
  TRY(group_size(at, &size));
  RETURN_IF(size == 0, STATUS_OK);
  RETURN_IF(gather ? __builtin_mul_overflow(*scaled, size, scaled) : *scaled % size != 0,
            INFER_FAIL(at, "dimension %ld of %s in groups of %ld", (long)along.at[0], shape_words(at, from),
                       (long)size));
  if (!gather) *scaled /= size;
  *shape = shape_with_dims(at->arena, from, dims, from->rank);
  return STATUS_OK;
}

static Status scaled_operands(const Infer *at, bool gather, const Shape **shape) {
  TRY(expect_operands(at, 1));
  uint32_t n = at->instr->operands.n;
  const Shape **results = ARENA_ARRAY(at->arena, const Shape *, n);
  for (uint32_t i = 0; i < n; i++) {
    TRY(scaled_operand(at, i, gather, &results[i]));
    RETURN_IF(results[i] == NULL, STATUS_OK); /* the size of the groups is not known */
  }
  *shape = one_or_tuple(at, results, n);
  return STATUS_OK;
}

Status infer_all_gather(const Infer *at, const Shape **shape) {
  return scaled_operands(at, true, shape);
}

Status infer_reduce_scatter(const Infer *at, const Shape **shape) {
  TRY(check_sum(at));
  return scaled_operands(at, false, shape);
}

Status infer_all_gather_start(const Infer *at, const Shape **shape) {
  const Shape *gathered = NULL, *from;
  TRY(scaled_operands(at, true, &gathered));
  TRY(infer_as_operands(at, &from));
  return gathered == NULL ? STATUS_OK : written_start(at, from, gathered, shape);
}

/* With a dimension one array that is split and put together along it; without, an operand a device. */
Status infer_all_to_all(const Infer *at, const Shape **shape) {
  TRY(expect_operands(at, 1));
  Ints along = instr_ints(at->instr, ATTR_dimensions);
  if (along.n == 0) return infer_as_operands(at, shape);
  RETURN_IF(along.n != 1 || at->instr->operands.n != 1,
            INFER_FAIL(at, "all-to-all with dimensions takes one operand and one dimension"));
  TRY(expect_array(at, 0));
  TRY(expect_dims(at, ATTR_dimensions, along, operand_shape(at, 0)->rank));
  int64_t size, dim = operand_shape(at, 0)->dims[along.at[0]];
  TRY(group_size(at, &size));
  RETURN_IF(size > 1 && dim % size != 0,
            INFER_FAIL(at, "dimension %ld of %s in groups of %ld", (long)along.at[0],
                       shape_words(at, operand_shape(at, 0)), (long)size));
  *shape = operand_shape(at, 0);
  return STATUS_OK;
}

static bool is_in_place(const Instr *permute) {
  return instr_attr(permute, ATTR_permute_slice_sizes) != NULL;
}

Status infer_permute(const Infer *at, const Shape **shape) {
  return is_in_place(at->instr) ? STATUS_OK : infer_as_operands(at, shape);
}

Status infer_permute_start(const Infer *at, const Shape **shape) {
  RETURN_IF(is_in_place(at->instr), STATUS_OK);
  const Shape *from;
  TRY(infer_as_operands(at, &from));
  return written_start(at, from, from, shape);
}

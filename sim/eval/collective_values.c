/* Collectives by definition (StableHLO's specification of each), one function a collective on one operand of
 * one group. Variadic forms are their operands one by one. */
#include "sim/eval/collective_values.h"

#include "sim/eval/shards.h"
#include "sim/ir/device_groups.h"

#include <string.h>

/* One operand of one group: in[i] of member i becomes out[i], of `shape`. All of `in` is known. */
typedef struct {
  const CollectiveMeeting *meeting;
  const Shape *shape;
  uint32_t members;
  Tensor *const *in;
  Tensor **out;
} GroupStep;

typedef Status (*GroupFunction)(const GroupStep *step);

static Status fail(const CollectiveMeeting *meeting, const char *what) {
  return diag_fail(meeting->context->diag, STATUS_INVALID, meeting->instr->place, NULL, "%.*s: %s",
                   STR_ARG(meeting->instr->name), what);
}

/* --- one group --- */

static void share(const GroupStep *step, Tensor *value) {
  for (uint32_t i = 0; i < step->members; i++) step->out[i] = i == 0 ? value : tensor_retain(value);
}

static Status reduced(const GroupStep *step, Tensor **sum) {
  const Tensor *first = step->in[0];
  uint32_t comp = instr_comp(step->meeting->instr, ATTR_to_apply);
  Tensor *into = tensor_new_array(first->dtype, first->dims, first->rank, true);
  if (into->bytes != 0) memcpy(into->data, first->data, into->bytes);
  Status status = comp == NO_ID ? fail(step->meeting, "has no computation to reduce with") : STATUS_OK;
  for (uint32_t i = 1; i < step->members && status == STATUS_OK; i++) {
    status = eval_combine(step->meeting->context, comp, into->dtype, into->data, step->in[i]->data,
                          tensor_elements(into));
  }
  if (status == STATUS_OK) {
    *sum = into;
  } else {
    tensor_release(into);
  }
  return status;
}

static Status all_reduce(const GroupStep *step) {
  Tensor *sum;
  TRY(reduced(step, &sum));
  share(step, sum);
  return STATUS_OK;
}

/* The dimension that a collective works along, checked against the operand. */
static Status dimension_of(const GroupStep *step, uint32_t *dim) {
  Ints dims = instr_ints(step->meeting->instr, ATTR_dimensions);
  RETURN_IF(dims.n != 1 || dims.at[0] < 0 || dims.at[0] >= step->in[0]->rank,
            fail(step->meeting, "needs one dimension of its operand in dimensions={}"));
  *dim = (uint32_t)dims.at[0];
  return STATUS_OK;
}

static bool has_shape(const Tensor *tensor, const Shape *shape, uint32_t dim, int64_t size) {
  if (!shape_is_array(shape) || tensor->rank != shape->rank || tensor->dtype != shape->dtype) return false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (shape->dims[i] != (i == dim ? size : tensor->dims[i])) return false;
  }
  return true;
}

/* Member i keeps part i of the sum. */
static Status reduce_scatter(const GroupStep *step) {
  uint32_t dim = 0;
  TRY(dimension_of(step, &dim));
  int64_t size = step->in[0]->dims[dim] / step->members;
  RETURN_IF(!has_shape(step->in[0], step->shape, dim, size) || size * step->members != step->in[0]->dims[dim],
            fail(step->meeting, "its result is not its operand divided by the members of a group"));
  Tensor *sum;
  TRY(reduced(step, &sum));
  int64_t start[sum->rank];
  memset(start, 0, sizeof start);
  for (uint32_t i = 0; i < step->members; i++) {
    start[dim] = i * size;
    step->out[i] = tensor_new(step->shape, true);
    tensor_copy_box(step->out[i], NULL, sum, start, step->out[i]->dims);
  }
  tensor_release(sum);
  return STATUS_OK;
}

static Status all_gather(const GroupStep *step) {
  uint32_t dim = 0;
  TRY(dimension_of(step, &dim));
  int64_t size = step->in[0]->dims[dim];
  RETURN_IF(!has_shape(step->in[0], step->shape, dim, size * step->members),
            fail(step->meeting, "its result is not its operand times the members of a group"));
  Tensor *whole = tensor_new(step->shape, true);
  int64_t start[whole->rank];
  memset(start, 0, sizeof start);
  for (uint32_t i = 0; i < step->members; i++) {
    start[dim] = i * size;
    tensor_copy_box(whole, start, step->in[i], NULL, step->in[i]->dims);
  }
  share(step, whole);
  return STATUS_OK;
}

/* Part j of member i's operand is part i of member j's result. */
static Status all_to_all(const GroupStep *step) {
  uint32_t dim = 0;
  TRY(dimension_of(step, &dim));
  int64_t whole = step->in[0]->dims[dim], size = whole / step->members;
  RETURN_IF(!has_shape(step->in[0], step->shape, dim, whole) || size * step->members != whole,
            fail(step->meeting, "the split dimension is not divided by the members of a group"));
  uint32_t rank = step->shape->rank;
  int64_t from[rank], to[rank], extent[rank];
  memset(from, 0, sizeof from);
  memset(to, 0, sizeof to);
  memcpy(extent, step->shape->dims, sizeof extent);
  extent[dim] = size;
  for (uint32_t j = 0; j < step->members; j++) {
    step->out[j] = tensor_new(step->shape, true);
    from[dim] = j * size;
    for (uint32_t i = 0; i < step->members; i++) {
      to[dim] = i * size;
      tensor_copy_box(step->out[j], to, step->in[i], from, extent);
    }
  }
  return STATUS_OK;
}

static Status broadcast(const GroupStep *step) {
  share(step, tensor_retain(step->in[0]));
  return STATUS_OK;
}

static GroupFunction group_function(Opcode op) {
  switch (op) {
  case OP_ALL_REDUCE: return all_reduce;
  case OP_REDUCE_SCATTER: return reduce_scatter;
  case OP_ALL_GATHER: return all_gather;
  case OP_ALL_TO_ALL: return all_to_all;
  case OP_COLLECTIVE_BROADCAST: return broadcast;
  default: return NULL;
  }
}

/* --- all groups --- */

static Tensor *zeros(const Shape *shape) {
  Tensor *tensor = tensor_new(shape, true);
  if (tensor->bytes != 0) memset(tensor->data, 0, tensor->bytes);
  return tensor;
}

/* The shape of result leaf `k`. */
static const Shape *leaf_shape(const CollectiveMeeting *meeting, uint32_t k) {
  const Shape *shape = meeting->instr->shape;
  if (!shape_is_tuple(shape)) return k == 0 ? shape : NULL;
  return k < shape->rank ? shape->parts[k] : NULL;
}

static Status missing(const CollectiveMeeting *meeting, uint32_t here, uint32_t away) {
  const Instr *parted = meeting->parted;
  uint32_t line = 0, column = 0;
  if (parted != NULL && parted->place.source != NULL) place_line_column(parted->place, &line, &column);
  return diag_fail(meeting->context->diag, STATUS_DEADLOCK, meeting->instr->place,
                   "devices of a group must take the same way through control flow",
                   "deadlock: device %u waits in %.*s for device %u, which went another way in %.*s (%u:%u)",
                   here, STR_ARG(meeting->instr->name), away,
                   STR_ARG(parted == NULL ? STR("?") : parted->name), line, column);
}

/* Whether the group has come as a whole; a part of it alone is an error. */
static Status group_is_here(const CollectiveMeeting *meeting, const uint32_t *ids, uint32_t n, bool *here) {
  *here = meeting->here[ids[0]];
  for (uint32_t i = 1; i < n; i++) {
    if (meeting->here[ids[i]] != *here)
      return *here ? missing(meeting, ids[0], ids[i]) : missing(meeting, ids[i], ids[0]);
  }
  return STATUS_OK;
}

/* Operand `k` of one group; leaves[d] of its members. */
static Status group_leaf(const CollectiveMeeting *meeting, const uint32_t *ids, uint32_t n, uint32_t k,
                         Tensor **leaves) {
  const Shape *shape = leaf_shape(meeting, k);
  RETURN_IF(shape == NULL, fail(meeting, "has more operands than results"));
  Tensor **in = ARENA_ARRAY(meeting->arena, Tensor *, n), **out = ARENA_ARRAY(meeting->arena, Tensor *, n);
  bool known = true;
  for (uint32_t i = 0; i < n; i++) {
    in[i] = meeting->operands[k * meeting->devices + ids[i]];
    RETURN_IF(in[i]->dtype == DTYPE_TUPLE || in[i]->rank > EVAL_MAX_RANK,
              fail(meeting, "an operand is a tuple, or of more than 32 dimensions"));
    known = known && in[i]->known;
  }
  GroupStep step = {meeting, shape, n, in, out};
  if (known) {
    TRY(group_function(meeting->instr->op)(&step));
  } else {
    share(&step, tensor_new(shape, false));
  }
  for (uint32_t i = 0; i < n; i++) leaves[ids[i]] = out[i];
  return STATUS_OK;
}

/* The result of a device from its leaves, which it takes over. */
static Tensor *from_leaves(const CollectiveMeeting *meeting, Tensor *const *leaves, uint32_t n,
                           uint32_t device) {
  if (!shape_is_tuple(meeting->instr->shape)) return leaves[device];
  Tensor **parts = ARENA_ARRAY(meeting->arena, Tensor *, n + 1);
  for (uint32_t k = 0; k < n; k++) parts[k] = leaves[k * meeting->devices + device];
  return tensor_tuple(parts, n);
}

/* All-to-all of a tuple: operand j of member i is result i of member j. */
static void exchange(const CollectiveMeeting *meeting, const uint32_t *ids, uint32_t n, Tensor **leaves) {
  for (uint32_t i = 0; i < n; i++) {
    for (uint32_t j = 0; j < n; j++) {
      leaves[i * meeting->devices + ids[j]] = tensor_retain(meeting->operands[j * meeting->devices + ids[i]]);
    }
  }
}

static bool is_exchange(const CollectiveMeeting *meeting) {
  return meeting->instr->op == OP_ALL_TO_ALL && shape_is_tuple(meeting->instr->shape) &&
         instr_attr(meeting->instr, ATTR_dimensions) == NULL;
}

/* Devices in no group: a broadcast gives them zeros, in all else they must be somewhere. */
static Status left_over(const CollectiveMeeting *meeting, Tensor **leaves, uint32_t n) {
  for (uint32_t d = 0; d < meeting->devices; d++) {
    if (!meeting->here[d] || n == 0 || leaves[d] != NULL) continue;
    RETURN_IF(meeting->instr->op != OP_COLLECTIVE_BROADCAST,
              diag_fail(meeting->context->diag, STATUS_INVALID, meeting->instr->place, NULL,
                        "%.*s: device %u is in no group", STR_ARG(meeting->instr->name), d));
    for (uint32_t k = 0; k < n; k++) leaves[k * meeting->devices + d] = zeros(leaf_shape(meeting, k));
  }
  return STATUS_OK;
}

static Status grouped(const CollectiveMeeting *meeting, Tensor **leaves, uint32_t n) {
  GroupList groups;
  TRY(collective_groups(meeting->arena, meeting->module, meeting->instr, meeting->devices, &groups,
                        meeting->context->diag));
  for (uint32_t g = 0; g < groups.n; g++) {
    const uint32_t *ids = groups.ids + groups.start[g];
    uint32_t members = groups.start[g + 1] - groups.start[g];
    bool here;
    TRY(group_is_here(meeting, ids, members, &here));
    if (!here) continue;
    if (is_exchange(meeting)) {
      RETURN_IF(n != members || meeting->instr->shape->rank != n,
                fail(meeting, "needs an operand for each member of a group"));
      exchange(meeting, ids, members, leaves);
      continue;
    }
    for (uint32_t k = 0; k < n; k++)
      TRY(group_leaf(meeting, ids, members, k, leaves + (size_t)k * meeting->devices));
  }
  return left_over(meeting, leaves, n);
}

/* A target gets the source's operands, other devices zeros. */
static Status permuted(const CollectiveMeeting *meeting, Tensor **leaves, uint32_t n) {
  RETURN_IF(instr_attr(meeting->instr, ATTR_slice_sizes) != NULL,
            fail(meeting, "a collective-permute in place (slice_sizes) is not supported yet"));
  Pairs pairs;
  TRY(collective_pairs(meeting->arena, meeting->module, meeting->instr, meeting->devices, &pairs,
                       meeting->context->diag));
  for (uint32_t i = 0; i < pairs.n; i++) {
    const uint32_t ids[] = {(uint32_t)pairs.at[i].source, (uint32_t)pairs.at[i].target};
    bool here;
    TRY(group_is_here(meeting, ids, 2, &here));
    for (uint32_t k = 0; k < n && here; k++) {
      leaves[k * meeting->devices + ids[1]] = tensor_retain(meeting->operands[k * meeting->devices + ids[0]]);
    }
  }
  for (uint32_t k = 0; k < n; k++) {
    const Shape *shape = leaf_shape(meeting, k);
    RETURN_IF(shape == NULL, fail(meeting, "has more operands than results"));
    for (uint32_t d = 0; d < meeting->devices; d++) {
      Tensor **leaf = &leaves[k * meeting->devices + d];
      if (meeting->here[d] && *leaf == NULL) *leaf = zeros(shape);
    }
  }
  return STATUS_OK;
}

/* --- ragged all-to-all --- */

enum { RAGGED_OPERANDS = 6 };

/* Copies what member `from` sends to member `to` (both as places in the group): rows of dimension 0. The
 * vectors hold an entry, or several, for each member. */
static Status ragged_rows(const CollectiveMeeting *meeting, const uint32_t *ids, uint32_t n, uint32_t from,
                          uint32_t to, Tensor *output) {
  Tensor *of[RAGGED_OPERANDS];
  for (uint32_t k = 0; k < RAGGED_OPERANDS; k++) of[k] = meeting->operands[k * meeting->devices + ids[from]];
  const Tensor *input = of[0], *input_offsets = of[2], *send_sizes = of[3], *output_offsets = of[4];
  int64_t updates = tensor_elements(send_sizes) / n;
  int64_t row = input->dims[0] == 0 ? 0 : tensor_elements(input) / input->dims[0];
  size_t row_bytes = (size_t)row * dtype_bytes(input->dtype);
  for (int64_t u = to * updates; u < (to + 1) * updates; u++) {
    int64_t source = tensor_int_at(input_offsets, u), target = tensor_int_at(output_offsets, u);
    int64_t rows = tensor_int_at(send_sizes, u);
    bool fits = source >= 0 && target >= 0 && rows >= 0 && rows <= input->dims[0] &&
                source <= input->dims[0] - rows && rows <= output->dims[0] &&
                target <= output->dims[0] - rows;
    RETURN_IF(!fits, fail(meeting, "an offset or size is out of range"));
    memcpy(output->data + (size_t)target * row_bytes, input->data + (size_t)source * row_bytes,
           (size_t)rows * row_bytes);
  }
  return STATUS_OK;
}

/* Whether a member's operands fit each other, so that rows can be copied by them. */
static Status ragged_check(const CollectiveMeeting *meeting, uint32_t device, uint32_t members) {
  const Tensor *of[RAGGED_OPERANDS];
  for (uint32_t k = 0; k < RAGGED_OPERANDS; k++) {
    of[k] = meeting->operands[k * meeting->devices + device];
    RETURN_IF(of[k]->dtype == DTYPE_TUPLE || !of[k]->known || of[k]->rank == 0,
              fail(meeting, "an operand is not known, or not an array of rows"));
  }
  RETURN_IF(of[0]->rank != of[1]->rank || of[0]->dtype != of[1]->dtype ||
                memcmp(of[0]->dims + 1, of[1]->dims + 1, (of[0]->rank - 1) * sizeof(int64_t)) != 0,
            fail(meeting, "the rows of input and output differ"));
  for (uint32_t k = 2; k < RAGGED_OPERANDS; k++) {
    int64_t entries = tensor_elements(of[k]);
    RETURN_IF(entries != tensor_elements(of[2]) || entries % members != 0,
              fail(meeting, "offsets and sizes need as many entries for each member of a group"));
  }
  return STATUS_OK;
}

static Status ragged_group(const CollectiveMeeting *meeting, const uint32_t *ids, uint32_t n,
                           Tensor **results) {
  for (uint32_t i = 0; i < n; i++) TRY(ragged_check(meeting, ids[i], n));
  for (uint32_t to = 0; to < n; to++) {
    Tensor *output = tensor_unique(tensor_retain(meeting->operands[meeting->devices + ids[to]]));
    results[ids[to]] = output;
    for (uint32_t from = 0; from < n; from++) TRY(ragged_rows(meeting, ids, n, from, to, output));
  }
  return STATUS_OK;
}

/* What no peer sends to stays as it is in the operand `output`. */
static Status ragged(const CollectiveMeeting *meeting, Tensor **results) {
  RETURN_IF(meeting->instr->operands.n != RAGGED_OPERANDS, fail(meeting, "needs six operands"));
  GroupList groups;
  TRY(collective_groups(meeting->arena, meeting->module, meeting->instr, meeting->devices, &groups,
                        meeting->context->diag));
  for (uint32_t g = 0; g < groups.n; g++) {
    const uint32_t *ids = groups.ids + groups.start[g];
    uint32_t n = groups.start[g + 1] - groups.start[g];
    bool here;
    TRY(group_is_here(meeting, ids, n, &here));
    if (here) TRY(ragged_group(meeting, ids, n, results));
  }
  return left_over(meeting, results, 1);
}

Status collective_values(const CollectiveMeeting *meeting, Tensor **results) {
  Opcode op = meeting->instr->op;
  if (op == OP_RAGGED_ALL_TO_ALL) return ragged(meeting, results);
  bool permute = op == OP_COLLECTIVE_PERMUTE;
  RETURN_IF(!permute && group_function(op) == NULL, fail(meeting, "is not a collective that podsim knows"));
  uint32_t n = meeting->instr->operands.n;
  Tensor **leaves = ARENA_ARRAY(meeting->arena, Tensor *, (size_t)n * meeting->devices + 1);
  Status status = permute ? permuted(meeting, leaves, n) : grouped(meeting, leaves, n);
  if (status != STATUS_OK) {
    for (size_t i = 0; i < (size_t)n * meeting->devices; i++) tensor_release(leaves[i]);
    return status;
  }
  for (uint32_t d = 0; d < meeting->devices; d++) {
    if (meeting->here[d]) results[d] = from_leaves(meeting, leaves, n, d);
  }
  return STATUS_OK;
}

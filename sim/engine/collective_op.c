/* Collective instructions. The operands of one element type travel together as one payload (as bytes, where
 * nothing is reduced); each payload has a plan for each group, and a list of the executions that some of its
 * members have come to. */
#include "sim/engine/collective_op.h"

#include "sim/engine/collectives.h"
#include "sim/ir/device_groups.h"

#include <stdlib.h>

static const struct {
  Opcode op, start;
  const char *text;
  CollectiveKind kind;
  void (*kernel)(Kernel *kernel);
} kinds[] = {
    {OP_ALL_GATHER, OP_ALL_GATHER_START, "all-gather", COLLECTIVE_ALL_GATHER, all_gather_kernel},
    {OP_ALL_REDUCE, OP_ALL_REDUCE_START, "all-reduce", COLLECTIVE_ALL_REDUCE, all_reduce_kernel},
    {OP_REDUCE_SCATTER, OP_COUNT, "reduce-scatter", COLLECTIVE_REDUCE_SCATTER, reduce_scatter_kernel},
    {OP_ALL_TO_ALL, OP_COUNT, "all-to-all", COLLECTIVE_ALL_TO_ALL, all_to_all_kernel},
    {OP_COLLECTIVE_PERMUTE, OP_COLLECTIVE_PERMUTE_START, "collective-permute", COLLECTIVE_PERMUTE,
     permute_kernel},
    {OP_COLLECTIVE_BROADCAST, OP_COUNT, "collective-broadcast", COLLECTIVE_BROADCAST, broadcast_kernel},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* Which row an instruction is: as it stands, as X-start, or as the sugar of an async-start. */
static int kind_of(const Instr *instr) {
  for (int i = 0; i < KINDS; i++)
    if (instr->op == kinds[i].op || instr->op == kinds[i].start || str_is(instr->async_of, kinds[i].text))
      return i;
  return -1;
}

/* The collective that a generic async-start wraps: the root of its computation. */
static void unwrap(const Module *module, uint32_t *comp, const Instr **instr) {
  uint32_t called = instr_comp(*instr, ATTR_calls);
  if ((*instr)->op != OP_ASYNC_START || called == NO_ID || kind_of(*instr) >= 0) return;
  *comp = called;
  *instr = comp_instr(module, called, module_comp(module, called)->root);
}

/* ---- what is computed */

/* The arrays that come out: a start's shape holds operands and results. */
static void find_results(Arena *arena, CollectiveOp *own, const Shape *shape) {
  bool is_start = own->instr->op == OP_ALL_GATHER_START || own->instr->op == OP_COLLECTIVE_PERMUTE_START ||
                  own->instr->op == OP_ASYNC_START;
  if (is_start && shape_is_tuple(shape) && shape->rank >= 2) shape = shape->parts[1];
  own->is_tuple = shape_is_tuple(shape);
  own->n_results = own->is_tuple ? shape->rank : 1;
  const Shape **results = ARENA_ARRAY(arena, const Shape *, own->n_results);
  for (uint32_t i = 0; i < own->n_results; i++) results[i] = own->is_tuple ? shape->parts[i] : shape;
  own->results = results;
  own->carried_in = ARENA_ARRAY(arena, const Shape *, own->n_results);
  own->carried_out = ARENA_ARRAY(arena, const Shape *, own->n_results);
}

static Status find_groups(Execution *execution, CollectiveOp *own) {
  Arena *arena = execution->arena;
  uint32_t devices = execution->devices;
  if (own->kind == COLLECTIVE_PERMUTE) {
    own->groups = (GroupList){1, ARENA_ARRAY(arena, uint32_t, 2), ARENA_ARRAY(arena, uint32_t, devices)};
    own->groups.start[1] = devices;
    for (uint32_t i = 0; i < devices; i++) own->groups.ids[i] = i;
    TRY(collective_pairs(arena, execution->module, own->instr, devices, &own->pairs, execution->diag));
  } else {
    TRY(collective_groups(arena, execution->module, own->instr, devices, &own->groups, execution->diag));
  }
  for (uint32_t i = 0; i < own->groups.start[own->groups.n]; i++)
    own->groups.ids[i] = execution->chip_of[own->groups.ids[i]];
  own->group_of = ARENA_ARRAY(arena, uint32_t, devices);
  own->member_of = ARENA_ARRAY(arena, uint32_t, devices);
  for (uint32_t i = 0; i < devices; i++) own->group_of[i] = NO_ID;
  for (uint32_t g = 0; g < own->groups.n; g++)
    for (uint32_t i = own->groups.start[g]; i < own->groups.start[g + 1]; i++) {
      own->group_of[own->groups.ids[i]] = g;
      own->member_of[own->groups.ids[i]] = i - own->groups.start[g];
    }
  return STATUS_OK;
}

static bool reduces(const CollectiveOp *op) {
  return op->kind == COLLECTIVE_ALL_REDUCE || op->kind == COLLECTIVE_REDUCE_SCATTER;
}

/* The type that elements of a written type have in memory. */
static DType carried_dtype(const Execution *execution, const CollectiveOp *op, DType written) {
  const ValueOps *values = values_of(execution);
  bool summed =
      reduces(op) && comp_binary_op(execution->module, instr_comp(op->instr, ATTR_to_apply)) == OP_COUNT;
  if (values == NULL || values->carried == NULL || summed) return written;
  return values->carried(values->self, written);
}

/* Whether a type's elements can travel as plain bytes. */
static bool is_bytes(const CollectiveOp *op, DType dtype, DType carried) {
  return !reduces(op) && dtype == carried && dtype_bits(dtype) == 8 * dtype_bytes(dtype);
}

/* The payload that an operand belongs to: one of its type, or of bytes. */
static PayloadRun *run_for(Execution *execution, CollectiveOp *op, DType written, DType dtype,
                           uint32_t members) {
  uint32_t bytes = is_bytes(op, written, dtype) ? 1 : dtype_bytes(dtype);
  uint32_t bits = is_bytes(op, written, dtype) ? 8 : dtype_bits(written);
  for (uint32_t i = 0; i < op->runs.n; i++) {
    const LaunchSpec *spec = &op->runs.at[i].groups[0].spec;
    bool same = spec->element_bytes == bytes && spec->element_bits == bits;
    if (same && (!reduces(op) || spec->dtype == dtype)) return &op->runs.at[i];
  }
  PayloadRun run = {.in = {.members = members, .element_bytes = bytes},
                    .out = {.members = members, .element_bytes = bytes},
                    .groups = ARENA_ARRAY(execution->arena, GroupRun, op->groups.n + 1)};
  run.groups[0].spec = (LaunchSpec){.element_bytes = bytes, .element_bits = bits, .dtype = dtype};
  VEC_PUSH(execution->arena, &op->runs, run);
  return &op->runs.at[op->runs.n - 1];
}

/* Of a payload: plans multiply by the members, twice. */
static const int64_t MOST_ELEMENTS = INT64_C(1) << 34;

/* How operands and results are cut: the dimension that the members share, -1 where each has the whole. */
static void cut_dimensions(const CollectiveOp *op, int64_t *in, int64_t *out) {
  Ints dimensions = instr_ints(op->instr, ATTR_dimensions);
  int64_t dimension = dimensions.n > 0 ? dimensions.at[0] : -1;
  *in = op->kind == COLLECTIVE_REDUCE_SCATTER || op->kind == COLLECTIVE_ALL_TO_ALL ? dimension : -1;
  *out = op->kind == COLLECTIVE_ALL_GATHER || op->kind == COLLECTIVE_ALL_TO_ALL ? dimension : -1;
}

static Status misshaped(const Execution *execution, const CollectiveOp *op) {
  return diag_fail(execution->diag, STATUS_INVALID, op->instr->place, NULL,
                   "%.*s: its operands and results do not fit its groups", STR_ARG(op->instr->name));
}

static Status find_payloads(Execution *execution, CollectiveOp *op) {
  Arena *arena = execution->arena;
  Ids operands = op->instr->operands;
  uint32_t members = op->groups.n == 0 ? 1 : op->groups.start[1] - op->groups.start[0];
  int64_t in, out;
  cut_dimensions(op, &in, &out);
  bool array_of_member = op->kind == COLLECTIVE_ALL_TO_ALL && in < 0;
  RETURN_IF(operands.n != op->n_results || (array_of_member && operands.n != members),
            misshaped(execution, op));
  for (uint32_t i = 0; i < operands.n; i++) {
    const Shape *operand = comp_instr(execution->module, op->comp, operands.at[i])->shape;
    const Shape *result = op->results[i];
    RETURN_IF(!shape_is_array(operand) || !shape_is_array(result), misshaped(execution, op));
    bool rounds = dtype_class(operand->dtype) == DCLASS_FLOAT && dtype_class(result->dtype) == DCLASS_FLOAT;
    RETURN_IF(operand->dtype != result->dtype && !rounds, misshaped(execution, op));
    DType carried = carried_dtype(execution, op, result->dtype);
    const Shape *sent = op->carried_in[i] = shape_with_dtype(arena, operand, carried);
    const Shape *got = op->carried_out[i] = shape_with_dtype(arena, result, carried);
    PayloadRun *run = run_for(execution, op, result->dtype, carried, members);
    run->in.array_of_member = run->out.array_of_member = array_of_member;
    bool fits = payload_add(arena, &run->in, i, sent, in) && payload_add(arena, &run->out, i, got, out);
    RETURN_IF(!fits || run->in.elements != run->out.elements, misshaped(execution, op));
    const Shape *whole = shape_elements(operand) > shape_elements(result) ? operand : result;
    op->payload_bytes += shape_bytes(shape_with_dtype(arena, whole, result->dtype));
  }
  RETURN_IF(array_of_member && op->runs.n > 1, misshaped(execution, op));
  for (uint32_t i = 0; i < op->runs.n; i++)
    RETURN_IF(op->runs.at[i].in.elements > MOST_ELEMENTS,
              diag_fail(execution->diag, STATUS_INVALID, op->instr->place, NULL,
                        "%.*s: its operands are too large", STR_ARG(op->instr->name)));
  return STATUS_OK;
}

/* ---- plans */

static const CollectivePlan *plan_permute(const Execution *execution, const CollectiveOp *op,
                                          const GroupLayout *layout, const PayloadRun *run) {
  Arena *arena = execution->arena;
  uint32_t n = execution->devices, *target_of = ARENA_ARRAY(arena, uint32_t, n);
  uint32_t *source_of = ARENA_ARRAY(arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) target_of[i] = source_of[i] = NO_MEMBER;
  for (uint32_t i = 0; i < op->pairs.n; i++) {
    target_of[op->pairs.at[i].source] = (uint32_t)op->pairs.at[i].target;
    source_of[op->pairs.at[i].target] = (uint32_t)op->pairs.at[i].source;
  }
  return permute_plan(arena, execution->pod, layout, target_of, source_of, run->in.elements,
                      run->groups[0].spec.element_bits);
}

static const CollectivePlan *new_plan(const Execution *execution, const CollectiveOp *op,
                                      const PayloadRun *run, uint32_t group) {
  Arena *arena = execution->arena;
  const uint32_t *chips = op->groups.ids + op->groups.start[group];
  uint32_t members = op->groups.start[group + 1] - op->groups.start[group];
  uint32_t bits = run->groups[0].spec.element_bits;
  const GroupLayout *layout = group_layout(arena, execution->pod, chips, members);
  if (op->kind == COLLECTIVE_PERMUTE) return plan_permute(execution, op, layout, run);
  if (op->kind == COLLECTIVE_BROADCAST)
    return broadcast_plan(arena, execution->pod, layout, 0, run->in.elements, bits);
  return members > 1 ? collective_plan(arena, execution->pod, op->kind, layout, run->in.elements, bits)
                     : NULL;
}

/* An earlier collective of the same kind, groups and sizes. */
static const CollectiveOp *planned_alike(const Execution *execution, const CollectiveOp *op) {
  for (uint32_t i = 0; i < execution->collectives.n; i++) {
    const CollectiveOp *other = execution->collectives.at[i];
    uint32_t n = op->groups.n, ids = op->groups.start[n];
    bool same = op->kind == other->kind && n == other->groups.n && op->pairs.n == other->pairs.n &&
                op->runs.n == other->runs.n && ids == other->groups.start[n];
    for (uint32_t k = 0; same && k < op->runs.n; k++) {
      const PayloadRun *a = &op->runs.at[k], *b = &other->runs.at[k];
      same = a->in.elements == b->in.elements &&
             a->groups[0].spec.element_bits == b->groups[0].spec.element_bits;
    }
    if (same && memcmp(op->groups.start, other->groups.start, (n + 1) * sizeof *op->groups.start) == 0 &&
        memcmp(op->groups.ids, other->groups.ids, ids * sizeof *op->groups.ids) == 0 &&
        (op->pairs.n == 0 || memcmp(op->pairs.at, other->pairs.at, op->pairs.n * sizeof *op->pairs.at) == 0))
      return other;
  }
  return NULL;
}

static void plan_group(const Execution *execution, const CollectiveOp *op, uint32_t payload, uint32_t group) {
  const PayloadRun *run = &op->runs.at[payload];
  GroupRun *own = &run->groups[group];
  own->plan =
      op->like != NULL ? op->like->runs.at[payload].groups[group].plan : new_plan(execution, op, run, group);
  if (own->plan == NULL) return;
  own->spec = (LaunchSpec){.chips = op->groups.ids + op->groups.start[group],
                           .members = op->groups.start[group + 1] - op->groups.start[group],
                           .body = kinds[kind_of(op->instr)].kernel,
                           .plan = own->plan,
                           .buffers = own->plan->buffers,
                           .n_buffers = 2,
                           .n_semaphores = own->plan->n_semaphores,
                           .element_bytes = run->groups[0].spec.element_bytes,
                           .element_bits = run->groups[0].spec.element_bits,
                           .dtype = run->groups[0].spec.dtype,
                           .reduction = instr_comp(op->instr, ATTR_to_apply),
                           .place = op->instr->place};
}

static double ideal_seconds(const Execution *execution, const CollectiveOp *op) {
  double sum = 0;
  for (uint32_t i = 0; i < op->runs.n; i++) {
    const CollectivePlan *plan = op->runs.at[i].groups[0].plan;
    if (plan == NULL) continue;
    bool of_all = op->kind == COLLECTIVE_ALL_GATHER || op->kind == COLLECTIVE_REDUCE_SCATTER ||
                  op->kind == COLLECTIVE_ALL_TO_ALL;
    double bytes = (double)plan->elements * plan->element_bits / 8 * (of_all ? plan->group->members : 1);
    if (op->kind == COLLECTIVE_PERMUTE && plan->streams > 1) bytes /= plan->streams;
    GroupShape shape = plan->group->shape;
    if (op->kind == COLLECTIVE_PERMUTE && plan->dcn_steps == 0) shape.slices = 1;
    if (op->kind != COLLECTIVE_PERMUTE || plan->steps + plan->dcn_steps > 0 ||
        ici_hop_ps(execution->pod) == 0)
      sum += collective_ideal_seconds(execution->pod, op->kind, shape, bytes);
  }
  return sum;
}

/* The payloads run one after the other; the first group stands for all. */
static void enter_in_ledger(Execution *execution, CollectiveOp *op, uint32_t comp, uint32_t instr) {
  const CollectivePlan *first = op->runs.n > 0 ? op->runs.at[0].groups[0].plan : NULL;
  LedgerOp like = {.collective = str_of(kinds[kind_of(op->instr)].text),
                   .algorithm = first == NULL ? STR("none") : first->text,
                   .bytes_payload = op->payload_bytes,
                   .ideal_seconds = ideal_seconds(execution, op)};
  for (uint32_t i = 0; i < op->runs.n; i++) {
    const CollectivePlan *plan = op->runs.at[i].groups[0].plan;
    if (plan == NULL) continue;
    like.kernels++;
    like.steps += plan->steps;
    like.link_bytes += plan->link_bytes;
    like.dcn_steps += plan->dcn_steps;
    like.dcn_bytes += plan->dcn_bytes;
    op->seconds += plan->seconds;
  }
  op->entered = true;
  op->op = execution_op(execution, comp, instr, &like);
  op->name = ledger_name(execution->ledger, comp_instr(execution->module, comp, instr)->name);
  for (uint32_t i = 0; i < op->runs.n; i++)
    for (uint32_t g = 0; g < op->groups.n; g++) {
      op->runs.at[i].groups[g].spec.op = op->op;
      op->runs.at[i].groups[g].spec.name = op->name;
    }
}

static Status not_supported(const Execution *execution, const Instr *instr) {
  return diag_fail(execution->diag, STATUS_INVALID, instr->place, NULL, "%.*s: %s is not supported yet",
                   STR_ARG(instr->name), op_text(instr->op));
}

Status collective_planned(Execution *execution, uint32_t comp, uint32_t instr, CollectiveOp **op) {
  InstrInfo *info = &execution->infos[comp][instr];
  *op = info->collective;
  if (info->collective != NULL) return STATUS_OK;
  CollectiveOp *own = ARENA_NEW(execution->arena, CollectiveOp);
  own->comp = comp;
  own->instr = comp_instr(execution->module, comp, instr);
  const Shape *shape = own->instr->shape;
  unwrap(execution->module, &own->comp, &own->instr);
  int row = kind_of(own->instr);
  RETURN_IF(row < 0, not_supported(execution, own->instr));
  own->kind = kinds[row].kind;
  own->counts = ARENA_ARRAY(execution->arena, uint64_t, execution->devices);
  find_results(execution->arena, own,
               own->instr == comp_instr(execution->module, comp, instr) ? shape : own->instr->shape);
  TRY(find_groups(execution, own));
  TRY(find_payloads(execution, own));
  own->like = planned_alike(execution, own);
  if (own->like == NULL) VEC_PUSH(execution->arena, &execution->collectives, own);
  for (uint32_t i = 0; i < own->runs.n; i++)
    for (uint32_t g = own->groups.n; g-- > 0;) plan_group(execution, own, i, g);
  *op = info->collective = own;
  return STATUS_OK;
}

static void count_simulated(const Execution *execution, CollectiveOp *op) {
  for (uint32_t i = 0; i < execution->n_simulated && op->runs.n > 0; i++) {
    uint32_t group = op->group_of[execution->simulated[i]];
    op->simulated += group != NO_ID && op->runs.at[0].groups[group].plan != NULL;
  }
}

Status collective_op(Execution *execution, uint32_t comp, uint32_t instr, CollectiveOp **op) {
  TRY(collective_planned(execution, comp, instr, op));
  CollectiveOp *own = *op;
  if (own->entered) return STATUS_OK;
  enter_in_ledger(execution, own, comp, instr);
  count_simulated(execution, own);
  return STATUS_OK;
}

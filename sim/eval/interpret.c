/* The lockstep interpreter. A frame runs one computation for the devices that have come to it; a value is a
 * tensor a device. Devices whose operands are the same tensors share the result, so that replicated values
 * are computed once: outside of manual regions an unpartitioned program is evaluated as on one device.
 * Control flow splits the devices by what they decide; collectives (collective_values.c) find out whether
 * all that should meet have come. Values are dropped after their last use. */
#include "sim/eval/interpret.h"

#include "sim/eval/collective_values.h"
#include "sim/eval/pallas_kernel.h"
#include "sim/mosaic/mosaic.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
  const Module *module;
  const InterpretOptions *options;
  uint32_t devices, partitions;
  Diag *diag;
} Run;

/* The devices that run a computation: `here` by device, and how many. */
typedef struct {
  bool *here;
  uint32_t n;
} DeviceSet;

/* A computation at work. Lists by device hold NULL for devices that are not here. */
typedef struct {
  const Run *run;
  Arena *arena;
  uint32_t comp, depth;
  DeviceSet set;
  const Instr *parted; /* the control flow in which the devices that are not here went another way */
  Tensor **args;       /* parameter p on device d: args[p * devices + d]; moved into values */
  Tensor **values;     /* instruction i on device d: values[i * devices + d] */
  uint32_t *uses;      /* of instruction i, still to come */
} Frame;

static Status run_instr(Frame *frame, const Instr *instr, Tensor **results);

static Status fail(const Frame *frame, const Instr *instr, const char *what) {
  return diag_fail(frame->run->diag, STATUS_INVALID, instr->place, NULL, "%.*s: %s", STR_ARG(instr->name),
                   what);
}

/* --- operands --- */

static Tensor **slot(const Frame *frame, uint32_t instr, uint32_t device) {
  return &frame->values[(size_t)instr * frame->run->devices + device];
}

static Tensor *operand(const Frame *frame, const Instr *instr, uint32_t k, uint32_t device) {
  return *slot(frame, instr->operands.at[k], device);
}

/* Whether the frame needs operand k no more after this instruction. */
static bool is_last_use(const Frame *frame, const Instr *instr, uint32_t k) {
  return frame->uses[instr->operands.at[k]] == 1;
}

/* A reference to operand k for a computation that is called: the frame's own where it is the last use, so
 * that the callee may write in place. */
static Tensor *operand_take(const Frame *frame, const Instr *instr, uint32_t k, uint32_t device) {
  Tensor **from = slot(frame, instr->operands.at[k], device), *value = *from;
  if (!is_last_use(frame, instr, k)) return tensor_retain(value);
  *from = NULL;
  return value;
}

static void drop_operands(const Frame *frame, const Instr *instr) {
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    uint32_t at = instr->operands.at[k];
    if (--frame->uses[at] != 0) continue;
    for (uint32_t d = 0; d < frame->run->devices; d++) {
      tensor_release(*slot(frame, at, d));
      *slot(frame, at, d) = NULL;
    }
  }
}

/* --- ops of one device --- */

/* A kernel may ask which device it is on. */
static bool depends_on_device(const Instr *instr) {
  return instr->op == OP_PARTITION_ID || instr->op == OP_REPLICA_ID || holds_mosaic_kernel(instr);
}

/* An earlier device with the very same operands, or `device` itself. */
static uint32_t twin_of(const Frame *frame, const Instr *instr, uint32_t device) {
  if (depends_on_device(instr)) return device;
  for (uint32_t d = 0; d < device; d++) {
    if (!frame->set.here[d]) continue;
    uint32_t k = 0;
    while (k < instr->operands.n && operand(frame, instr, k, d) == operand(frame, instr, k, device)) k++;
    if (k == instr->operands.n) return d;
  }
  return device;
}

static EvalContext context_of(const Frame *frame, uint32_t device) {
  return (EvalContext){.module = frame->run->module,
                       .comp = frame->comp,
                       .partition = device % frame->run->partitions,
                       .replica = device / frame->run->partitions,
                       .depth = frame->depth,
                       .diag = frame->run->diag};
}

static Status run_op(Frame *frame, const Instr *instr, Tensor **results) {
  uint32_t n = instr->operands.n;
  Tensor **operands = ARENA_ARRAY(frame->arena, Tensor *, n + 1);
  bool *given_up = ARENA_ARRAY(frame->arena, bool, n + 1);
  for (uint32_t k = 0; k < n; k++) given_up[k] = is_last_use(frame, instr, k);
  for (uint32_t d = 0; d < frame->run->devices; d++) {
    if (!frame->set.here[d]) continue;
    uint32_t twin = twin_of(frame, instr, d);
    if (twin != d) {
      results[d] = tensor_retain(results[twin]);
      continue;
    }
    EvalContext context = context_of(frame, d);
    context.given_up = given_up;
    for (uint32_t k = 0; k < n; k++) operands[k] = operand(frame, instr, k, d);
    TRY(eval_op(&context, instr, operands, &results[d]));
  }
  return STATUS_OK;
}

static Status run_parameter(Frame *frame, const Instr *instr, Tensor **results) {
  for (uint32_t d = 0; d < frame->run->devices; d++) {
    Tensor **arg = &frame->args[(size_t)instr->parameter * frame->run->devices + d];
    results[d] = *arg;
    *arg = NULL;
  }
  return STATUS_OK;
}

static Status run_collective(Frame *frame, const Instr *instr, Tensor **results) {
  uint32_t n = instr->operands.n, devices = frame->run->devices;
  Tensor **operands = ARENA_ARRAY(frame->arena, Tensor *, (size_t)n * devices + 1);
  for (uint32_t k = 0; k < n; k++) {
    for (uint32_t d = 0; d < devices; d++) operands[k * devices + d] = operand(frame, instr, k, d);
  }
  EvalContext context = context_of(frame, 0);
  CollectiveMeeting meeting = {.module = frame->run->module,
                               .instr = instr,
                               .devices = devices,
                               .here = frame->set.here,
                               .parted = frame->parted,
                               .operands = operands,
                               .context = &context,
                               .arena = frame->arena};
  return collective_values(&meeting, results);
}

/* A kernel whose devices talk to each other, on all of them. */
static Status run_joint_kernel(Frame *frame, const Instr *instr, Tensor **results) {
  uint32_t n = instr->operands.n, devices = frame->run->devices;
  RETURN_IF(frame->set.n != devices, diag_fail(frame->run->diag, STATUS_DEADLOCK, instr->place, NULL,
                                               "deadlock: %.*s waits for devices that %.*s sent another way",
                                               STR_ARG(instr->name), STR_ARG(frame->parted->name)));
  Tensor ***operands = ARENA_ARRAY(frame->arena, Tensor **, devices);
  for (uint32_t d = 0; d < devices; d++) {
    operands[d] = ARENA_ARRAY(frame->arena, Tensor *, n + 1);
    for (uint32_t k = 0; k < n; k++) operands[d][k] = operand(frame, instr, k, d);
  }
  EvalContext context = context_of(frame, 0);
  PallasMeeting meeting = {
      .instr = instr, .devices = devices, .operands = (Tensor *const *const *)operands, .context = &context};
  return pallas_kernel_values(&meeting, results);
}

/* --- computations --- */

static void release_all(Tensor **tensors, size_t n) {
  for (size_t i = 0; i < n; i++) tensor_release(tensors[i]);
}

static bool is_dead(const Frame *frame, uint32_t at, const Instr *instr) {
  bool meets = op_is_collective(instr->op) || instr->op == OP_WHILE || instr->op == OP_CONDITIONAL ||
               instr->op == OP_CALL || instr->op == OP_PARAMETER;
  return frame->uses[at] == 0 && !meets;
}

static Status run_instrs(Frame *frame, const Comp *comp) {
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    const Instr *instr = &comp->instrs.at[i];
    if (is_dead(frame, i, instr)) {
      drop_operands(frame, instr);
      continue;
    }
    TRY(run_instr(frame, instr, slot(frame, i, 0)));
    drop_operands(frame, instr);
  }
  return STATUS_OK;
}

/* Where a called computation stands: who runs it and from where. */
typedef struct {
  const Frame *caller;
  DeviceSet set;
  const Instr *parted;
} Call;

/* Runs a computation on args (taken), by parameter and device; roots[d] (given) for the devices of the call.
 */
static Status run_comp(const Run *run, const Call *call, uint32_t at, Tensor **args, uint32_t n_args,
                       Tensor **roots) {
  const Comp *comp = module_comp(run->module, at);
  uint32_t depth = call->caller == NULL ? 0 : call->caller->depth + 1;
  size_t n_values = (size_t)comp->instrs.n * run->devices;
  Status status = STATUS_OK;
  if (comp->params.n != n_args)
    status = diag_fail(run->diag, STATUS_INVALID, comp->place, NULL, "%.*s takes %u parameters, %u are given",
                       STR_ARG(comp->name), comp->params.n, n_args);
  if (depth > EVAL_MAX_DEPTH)
    status = diag_fail(run->diag, STATUS_INVALID, comp->place, NULL, "%.*s: calls are nested too deeply",
                       STR_ARG(comp->name));
  Arena *arena = arena_new();
  Frame frame = {.run = run,
                 .arena = arena,
                 .comp = at,
                 .depth = depth,
                 .set = call->set,
                 .parted = call->parted,
                 .args = args,
                 .values = ARENA_ARRAY(arena, Tensor *, n_values + 1),
                 .uses = comp_use_counts(arena, comp)};
  if (status == STATUS_OK) status = run_instrs(&frame, comp);
  for (uint32_t d = 0; d < run->devices && status == STATUS_OK; d++) {
    roots[d] = *slot(&frame, comp->root, d);
    *slot(&frame, comp->root, d) = NULL;
  }
  release_all(frame.values, n_values);
  release_all(args, (size_t)n_args * run->devices);
  arena_free(arena);
  return status;
}

/* All operands of `instr` as arguments. */
static Tensor **args_of(const Frame *frame, const Instr *instr) {
  uint32_t devices = frame->run->devices;
  Tensor **args = ARENA_ARRAY(frame->arena, Tensor *, (size_t)instr->operands.n * devices + 1);
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    for (uint32_t d = 0; d < devices; d++) {
      if (frame->set.here[d]) args[k * devices + d] = operand_take(frame, instr, k, d);
    }
  }
  return args;
}

static Status run_call(Frame *frame, const Instr *instr, Tensor **results) {
  uint32_t comp = instr_comp(instr, instr->op == OP_CALL ? ATTR_to_apply : ATTR_calls);
  RETURN_IF(comp == NO_ID, fail(frame, instr, "calls no computation"));
  Call call = {frame, frame->set, frame->parted};
  return run_comp(frame->run, &call, comp, args_of(frame, instr), instr->operands.n, results);
}

/* --- control flow --- */

static DeviceSet set_new(const Frame *frame) {
  return (DeviceSet){.here = ARENA_ARRAY(frame->arena, bool, frame->run->devices)};
}

static void set_add(DeviceSet *set, uint32_t device) {
  set->here[device] = true;
  set->n++;
}

static void set_remove(DeviceSet *set, uint32_t device) {
  set->here[device] = false;
  set->n--;
}

/* The instruction that is to blame for devices that are not here, when `part` of the frame's go on. */
static const Instr *parted_by(const Frame *frame, const Instr *instr, DeviceSet part) {
  return part.n == frame->set.n ? frame->parted : instr;
}

static Status decision(const Frame *frame, const Instr *instr, const Tensor *value, int64_t *decided) {
  RETURN_IF(value->dtype == DTYPE_TUPLE || !value->known || tensor_elements(value) != 1,
            diag_fail(frame->run->diag, STATUS_INVALID, instr->place,
                      "the text leaves out the values of a large constant",
                      "%.*s: what it decides by is not known", STR_ARG(instr->name)));
  *decided = tensor_int_at(value, 0);
  return STATUS_OK;
}

/* A loop at work: the state of each device; `args` and `roots` are room for a call. */
typedef struct {
  Frame *frame;
  const Instr *instr;
  Tensor **state, **args, **roots;
  DeviceSet set; /* the devices that still loop */
} Loop;

/* Evaluates the condition; devices that do not go on leave the loop's set. */
static Status loop_condition(Loop *loop) {
  Frame *frame = loop->frame;
  uint32_t devices = frame->run->devices;
  for (uint32_t d = 0; d < devices; d++) {
    loop->args[d] = loop->set.here[d] ? tensor_retain(loop->state[d]) : NULL;
    loop->roots[d] = NULL;
  }
  Call call = {frame, loop->set, parted_by(frame, loop->instr, loop->set)};
  TRY(run_comp(frame->run, &call, instr_comp(loop->instr, ATTR_condition), loop->args, 1, loop->roots));
  Status status = STATUS_OK;
  for (uint32_t d = 0; d < devices && status == STATUS_OK; d++) {
    int64_t go = 0;
    if (!loop->set.here[d]) continue;
    status = decision(frame, loop->instr, loop->roots[d], &go);
    if (go == 0) set_remove(&loop->set, d);
  }
  release_all(loop->roots, devices);
  return status;
}

static Status loop_body(Loop *loop) {
  Frame *frame = loop->frame;
  uint32_t devices = frame->run->devices;
  for (uint32_t d = 0; d < devices; d++) {
    loop->args[d] = loop->set.here[d] ? loop->state[d] : NULL;
    if (loop->set.here[d]) loop->state[d] = NULL;
  }
  Call call = {frame, loop->set, parted_by(frame, loop->instr, loop->set)};
  TRY(run_comp(frame->run, &call, instr_comp(loop->instr, ATTR_body), loop->args, 1, loop->roots));
  for (uint32_t d = 0; d < devices; d++) {
    if (loop->set.here[d]) loop->state[d] = loop->roots[d];
  }
  return STATUS_OK;
}

/* The results are the loop's state. */
static Status run_while(Frame *frame, const Instr *instr, Tensor **results) {
  const Run *run = frame->run;
  int64_t limit = run->options->trip_limit;
  RETURN_IF(instr->operands.n != 1 || instr_comp(instr, ATTR_condition) == NO_ID ||
                instr_comp(instr, ATTR_body) == NO_ID,
            fail(frame, instr, "needs one operand, a condition and a body"));
  Loop loop = {.frame = frame,
               .instr = instr,
               .state = results,
               .args = ARENA_ARRAY(frame->arena, Tensor *, run->devices),
               .roots = ARENA_ARRAY(frame->arena, Tensor *, run->devices),
               .set = set_new(frame)};
  for (uint32_t d = 0; d < run->devices; d++) {
    if (!frame->set.here[d]) continue;
    set_add(&loop.set, d);
    results[d] = operand_take(frame, instr, 0, d);
  }
  for (int64_t trip = 0;; trip++) {
    TRY(loop_condition(&loop));
    if (loop.set.n == 0) return STATUS_OK;
    RETURN_IF(limit != 0 && trip == limit,
              diag_fail(run->diag, STATUS_FAILED, instr->place,
                        "raise the limit if the loop is to run as long",
                        "%.*s: given up after %lld iterations", STR_ARG(instr->name), (long long)trip));
    TRY(loop_body(&loop));
  }
}

/* Branches by number: those of branch_computations, or true (0) and false (1). */
static Ids branches_of(const Frame *frame, const Instr *instr) {
  Ids branches = instr_comps(instr, ATTR_branch_computations);
  if (branches.n != 0) return branches;
  uint32_t *both = ARENA_ARRAY(frame->arena, uint32_t, 2);
  both[0] = instr_comp(instr, ATTR_true_computation);
  both[1] = instr_comp(instr, ATTR_false_computation);
  return (Ids){both, both[0] == NO_ID || both[1] == NO_ID ? 0 : 2};
}

/* The branch of an index: out of range is the last one. Of a predicate: true is the first. */
static uint32_t branch_number(const Tensor *by, int64_t decided, uint32_t n) {
  if (by->dtype == DTYPE_PRED) return decided != 0 ? 0 : 1;
  return decided < 0 || decided >= n ? n - 1 : (uint32_t)decided;
}

static Status run_branch(Frame *frame, const Instr *instr, uint32_t number, uint32_t comp, DeviceSet set,
                         Tensor **results) {
  uint32_t devices = frame->run->devices;
  Tensor **args = ARENA_ARRAY(frame->arena, Tensor *, devices),
         **roots = ARENA_ARRAY(frame->arena, Tensor *, devices);
  for (uint32_t d = 0; d < devices; d++) {
    if (set.here[d]) args[d] = operand_take(frame, instr, number + 1, d);
  }
  Call call = {frame, set, parted_by(frame, instr, set)};
  TRY(run_comp(frame->run, &call, comp, args, 1, roots));
  for (uint32_t d = 0; d < devices; d++) {
    if (set.here[d]) results[d] = roots[d];
  }
  return STATUS_OK;
}

static Status run_conditional(Frame *frame, const Instr *instr, Tensor **results) {
  Ids branches = branches_of(frame, instr);
  RETURN_IF(branches.n == 0 || instr->operands.n != branches.n + 1,
            fail(frame, instr, "needs branches, and an operand for each beside what it decides by"));
  DeviceSet *sets = ARENA_ARRAY(frame->arena, DeviceSet, branches.n);
  for (uint32_t b = 0; b < branches.n; b++) sets[b] = set_new(frame);
  for (uint32_t d = 0; d < frame->run->devices; d++) {
    if (!frame->set.here[d]) continue;
    const Tensor *by = operand(frame, instr, 0, d);
    int64_t decided = 0;
    TRY(decision(frame, instr, by, &decided));
    set_add(&sets[branch_number(by, decided, branches.n)], d);
  }
  for (uint32_t b = 0; b < branches.n; b++) {
    if (sets[b].n != 0) TRY(run_branch(frame, instr, b, branches.at[b], sets[b], results));
  }
  return STATUS_OK;
}

/* --- asynchronous pairs --- */

/* What a start computes, as the plain instruction it stands for; false where that is a computation of its
 * own (async-start with calls=). */
static bool plain_of_start(const Instr *instr, Instr *plain) {
  *plain = *instr;
  plain->async_of = (Str){0};
  switch (instr->op) {
  case OP_ALL_REDUCE_START: plain->op = OP_ALL_REDUCE; return true;
  case OP_ALL_GATHER_START: plain->op = OP_ALL_GATHER; break;
  case OP_COLLECTIVE_PERMUTE_START: plain->op = OP_COLLECTIVE_PERMUTE; break;
  default:
    if (instr->async_of.n == 0 || !op_parse(instr->async_of, &plain->op)) return false;
  }
  if (shape_is_tuple(instr->shape) && instr->shape->rank >= 2) plain->shape = instr->shape->parts[1];
  return true;
}

/* (operands, result, contexts…) of one device, as the shape of the start says. */
static Tensor *start_value(const Frame *frame, const Shape *shape, Tensor *const *operands, uint32_t n,
                           Tensor *result) {
  Tensor **parts = ARENA_ARRAY(frame->arena, Tensor *, shape->rank);
  parts[0] = shape_is_tuple(shape->parts[0]) ? tensor_tuple((Tensor **)operands, n) : operands[0];
  parts[1] = result;
  for (uint32_t i = 2; i < shape->rank; i++) parts[i] = tensor_new(shape->parts[i], false);
  return tensor_tuple(parts, shape->rank);
}

static Status run_start(Frame *frame, const Instr *instr, Tensor **results) {
  Instr plain;
  uint32_t devices = frame->run->devices, n = instr->operands.n;
  bool has_plain = plain_of_start(instr, &plain);
  if (instr->op == OP_ALL_REDUCE_START) return run_instr(frame, &plain, results);
  RETURN_IF(!shape_is_tuple(instr->shape) || instr->shape->rank < 2 || n == 0 ||
                (n != 1 && !shape_is_tuple(instr->shape->parts[0])),
            fail(frame, instr, "its shape is not (operands, result, ...)"));
  Tensor **kept = ARENA_ARRAY(frame->arena, Tensor *, (size_t)n * devices);
  for (uint32_t d = 0; d < devices; d++) {
    for (uint32_t k = 0; k < n && frame->set.here[d]; k++)
      kept[d * n + k] = tensor_retain(operand(frame, instr, k, d));
  }
  Tensor **inner = ARENA_ARRAY(frame->arena, Tensor *, devices);
  Status status = has_plain ? run_instr(frame, &plain, inner) : run_call(frame, instr, inner);
  if (status != STATUS_OK) {
    release_all(kept, (size_t)n * devices);
    release_all(inner, devices);
    return status;
  }
  for (uint32_t d = 0; d < devices; d++) {
    if (frame->set.here[d]) results[d] = start_value(frame, instr->shape, kept + (size_t)d * n, n, inner[d]);
  }
  return STATUS_OK;
}

static Status run_update(Frame *frame, const Instr *instr, Tensor **results) {
  RETURN_IF(instr->operands.n != 1, fail(frame, instr, "needs one operand"));
  for (uint32_t d = 0; d < frame->run->devices; d++) {
    if (frame->set.here[d]) results[d] = tensor_retain(operand(frame, instr, 0, d));
  }
  return STATUS_OK;
}

static Status run_done(Frame *frame, const Instr *instr, Tensor **results) {
  RETURN_IF(instr->operands.n != 1, fail(frame, instr, "needs one operand"));
  for (uint32_t d = 0; d < frame->run->devices; d++) {
    if (!frame->set.here[d]) continue;
    const Tensor *started = operand(frame, instr, 0, d);
    RETURN_IF(started->dtype != DTYPE_TUPLE || started->rank < 2,
              fail(frame, instr, "its operand is not (operands, result, ...)"));
    results[d] = tensor_retain(started->parts[1]);
  }
  return STATUS_OK;
}

/* --- manual regions --- */

static bool enters_region(const Instr *instr) {
  Str target = instr_custom_call_target(instr);
  return str_is(target, "xla.sdy.GlobalToLocalShape") || str_is(target, "SPMDFullToShardShape");
}

static bool leaves_region(const Instr *instr) {
  Str target = instr_custom_call_target(instr);
  return str_is(target, "xla.sdy.LocalToGlobalShape") || str_is(target, "SPMDShardToFullShape");
}

static Status region_boxes(Frame *frame, const Instr *instr, uint32_t leaf, ShardBoxes *boxes) {
  const RegionBoxes *regions = frame->run->options->regions;
  RETURN_IF(regions == NULL,
            diag_fail(frame->run->diag, STATUS_INVALID, instr->place, NULL,
                      "%.*s: the program has manual regions (shard_map), but its mesh is not known",
                      STR_ARG(instr->name)));
  return regions->boxes(regions->self, frame->arena, frame->comp, instr, leaf, boxes, frame->run->diag);
}

static Status check_leaf(Frame *frame, const Instr *instr, const Tensor *value, const ShardBoxes *boxes) {
  RETURN_IF(value->dtype == DTYPE_TUPLE || value->rank != boxes->rank || value->rank > EVAL_MAX_RANK ||
                boxes->devices != frame->run->devices,
            fail(frame, instr, "an operand is not of the shape that its sharding is for"));
  return STATUS_OK;
}

/* leaf[d] = the shard of operand `k`. */
static Status enter_leaf(Frame *frame, const Instr *instr, uint32_t k, Tensor **leaf) {
  ShardBoxes boxes;
  TRY(region_boxes(frame, instr, k, &boxes));
  uint32_t first = NO_ID;
  bool one_value = true;
  for (uint32_t d = 0; d < frame->run->devices; d++) {
    if (!frame->set.here[d]) continue;
    TRY(check_leaf(frame, instr, operand(frame, instr, k, d), &boxes));
    if (first == NO_ID) first = d;
    one_value = one_value && operand(frame, instr, k, d) == operand(frame, instr, k, first);
  }
  if (one_value && frame->set.n == frame->run->devices) {
    tensor_cut(operand(frame, instr, k, 0), &boxes, leaf);
    return STATUS_OK;
  }
  for (uint32_t d = 0; d < frame->run->devices; d++) {
    if (frame->set.here[d]) leaf[d] = tensor_shard(operand(frame, instr, k, d), &boxes, d);
  }
  return STATUS_OK;
}

/* leaf[d] = the value that operand `k` on all devices makes up. */
static Status leave_leaf(Frame *frame, const Instr *instr, uint32_t k, Tensor **leaf) {
  uint32_t devices = frame->run->devices;
  const Shape *shape = shape_is_tuple(instr->shape) ? instr->shape->parts[k] : instr->shape;
  Tensor **locals = ARENA_ARRAY(frame->arena, Tensor *, devices);
  ShardBoxes boxes;
  TRY(region_boxes(frame, instr, k, &boxes));
  for (uint32_t d = 0; d < devices; d++) {
    locals[d] = operand(frame, instr, k, d);
    if (frame->set.here[d]) TRY(check_leaf(frame, instr, locals[d], &boxes));
  }
  RETURN_IF(shape->rank != boxes.rank,
            fail(frame, instr, "a result is not of the shape that its sharding is for"));
  uint32_t first = 0;
  while (first < devices && !frame->set.here[first]) first++;
  for (uint32_t d = first; d < devices; d++) {
    if (!frame->set.here[d]) continue;
    uint32_t value = boxes.value_of == NULL ? first : boxes.value_of[d];
    bool made = value < d && leaf[value] != NULL;
    leaf[d] = made ? tensor_retain(leaf[value]) : tensor_join_value(locals, &boxes, value, shape->dims);
  }
  return STATUS_OK;
}

static Status run_region_border(Frame *frame, const Instr *instr, Tensor **results) {
  uint32_t n = instr->operands.n, devices = frame->run->devices;
  bool tuple = shape_is_tuple(instr->shape);
  RETURN_IF(n != (tuple ? instr->shape->rank : 1), fail(frame, instr, "needs an operand for each result"));
  Tensor **leaves = ARENA_ARRAY(frame->arena, Tensor *, (size_t)n * devices + 1);
  Status status = STATUS_OK;
  for (uint32_t k = 0; k < n && status == STATUS_OK; k++) {
    Tensor **leaf = leaves + (size_t)k * devices;
    status = enters_region(instr) ? enter_leaf(frame, instr, k, leaf) : leave_leaf(frame, instr, k, leaf);
  }
  if (status != STATUS_OK) {
    release_all(leaves, (size_t)n * devices);
    return status;
  }
  Tensor **parts = ARENA_ARRAY(frame->arena, Tensor *, n + 1);
  for (uint32_t d = 0; d < devices; d++) {
    if (!frame->set.here[d]) continue;
    for (uint32_t k = 0; k < n; k++) parts[k] = leaves[k * devices + d];
    results[d] = tuple ? tensor_tuple(parts, n) : parts[0];
  }
  return STATUS_OK;
}

/* --- all ops --- */

static Status run_instr(Frame *frame, const Instr *instr, Tensor **results) {
  switch (instr->op) {
  case OP_PARAMETER: return run_parameter(frame, instr, results);
  case OP_CALL:
  case OP_FUSION: return run_call(frame, instr, results);
  case OP_WHILE: return run_while(frame, instr, results);
  case OP_CONDITIONAL: return run_conditional(frame, instr, results);
  case OP_ASYNC_START:
  case OP_ALL_GATHER_START:
  case OP_ALL_REDUCE_START:
  case OP_COLLECTIVE_PERMUTE_START: return run_start(frame, instr, results);
  case OP_ASYNC_UPDATE:
  case OP_ALL_REDUCE_DONE: return run_update(frame, instr, results);
  case OP_ASYNC_DONE:
  case OP_ALL_GATHER_DONE:
  case OP_COLLECTIVE_PERMUTE_DONE: return run_done(frame, instr, results);
  case OP_CUSTOM_CALL:
    if (enters_region(instr) || leaves_region(instr)) return run_region_border(frame, instr, results);
    if (mosaic_communicates(instr)) return run_joint_kernel(frame, instr, results);
    return run_op(frame, instr, results);
  default:
    return op_is_collective(instr->op) ? run_collective(frame, instr, results)
                                       : run_op(frame, instr, results);
  }
}

Status interpret(const Module *module, const InterpretOptions *options, Tensor *const *inputs,
                 Tensor **outputs, Diag *diag) {
  uint32_t devices = options->devices, n_params = module_entry(module)->params.n;
  int64_t replicas = module->replica_count;
  RETURN_IF(devices == 0 || replicas < 1 || devices % replicas != 0,
            diag_fail(diag, STATUS_INVALID, NOWHERE, NULL, "a program of %lld replicas on %u devices",
                      (long long)replicas, devices));
  Run run = {module, options, devices, devices / (uint32_t)replicas, diag};
  Arena *arena = arena_new();
  Call call = {.set = {ARENA_ARRAY(arena, bool, devices), devices}};
  for (uint32_t d = 0; d < devices; d++) call.set.here[d] = true;
  size_t n = (size_t)n_params * devices;
  Tensor **args = ARENA_ARRAY(arena, Tensor *, n + 1);
  for (size_t i = 0; i < n; i++) args[i] = tensor_retain(inputs[i]);
  Status status = run_comp(&run, &call, module->entry, args, n_params, outputs);
  arena_free(arena);
  return status;
}

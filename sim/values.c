/* ValueOps over tensors. A Value is a Tensor; only evaluate() and combine() run on several threads, each with
 * a Diag of its own, merged when it failed. */
#include "sim/values.h"

#include "sim/eval/evaluate.h"
#include "sim/eval/pallas_kernel.h"
#include "sim/region_boxes.h"

#include <pthread.h>
#include <stdlib.h>

/* Without numbers: results of up to so many elements are computed where they follow from constants. */
enum { KNOWN_ELEMENTS = 256 };

/* Without numbers: kernels of up to so many bytes are run for what their devices say to each other. */
static const double JOINT_BYTES = 0x1p31;

struct Values {
  const Partitioned *partitioned;
  uint32_t chips, partitions;
  bool numbers, excess_precision;
  Arena *arena;
  Tensor **params; /* parameter p on chip c: params[p * chips + c]; the one reference is ours */
  ValueOps ops;
  pthread_mutex_t lock; /* of diag */
  Diag *diag;
};

/* --- the table --- */

static Value *retain(void *self, Value *value) {
  (void)self;
  return tensor_retain(value);
}

static void release(void *self, Value *value) {
  (void)self;
  tensor_release(value);
}

static Value *parameter(void *self, uint32_t device, uint32_t number) {
  const Values *values = self;
  return tensor_retain(values->params[(size_t)number * values->chips + device]);
}

static EvalContext context_of(const Values *values, uint32_t device, uint32_t comp, Diag *diag) {
  return (EvalContext){.module = values->partitioned->module,
                       .comp = comp,
                       .partition = device % values->partitions,
                       .replica = device / values->partitions,
                       .excess_precision = values->excess_precision,
                       .known_limit = values->numbers ? 0 : KNOWN_ELEMENTS,
                       .diag = diag};
}

static Status finish(Values *values, Diag *own, Status status) {
  if (status != STATUS_OK) {
    pthread_mutex_lock(&values->lock);
    diag_merge(values->diag, own);
    pthread_mutex_unlock(&values->lock);
  }
  diag_free(own);
  return status;
}

static Status evaluate(void *self, uint32_t device, uint32_t comp, const Instr *instr, Value *const *operands,
                       const bool *given_up, Value **result) {
  Values *values = self;
  Diag *own = diag_new();
  EvalContext context = context_of(values, device, comp, own);
  context.given_up = given_up;
  Tensor *const *tensors = (Tensor *const *)operands;
  Tensor *made = NULL;
  bool calls = instr->op == OP_FUSION || instr->op == OP_CALL;
  uint32_t callee = instr_comp(instr, instr->op == OP_CALL ? ATTR_to_apply : ATTR_calls);
  Status status = calls ? eval_comp(&context, callee, tensors, instr->operands.n, &made)
                        : eval_op(&context, instr, tensors, &made);
  *result = made;
  return finish(values, own, status);
}

/* The operands in the types that the program says. */
static Tensor **settled_operands(const Values *values, Arena *arena, uint32_t comp, const Instr *instr,
                                 Value *const *operands) {
  Tensor **settled = ARENA_ARRAY(arena, Tensor *, instr->operands.n + 1);
  for (uint32_t k = 0; k < instr->operands.n; k++)
    settled[k] = tensor_settled(operands[k],
                                comp_instr(values->partitioned->module, comp, instr->operands.at[k])->shape);
  return settled;
}

/* Zeros, to run a kernel on without numbers; `shared` are those of another device, or NULL. */
static Tensor **zero_operands(const Values *values, Arena *arena, uint32_t comp, const Instr *instr,
                              Tensor *const *shared) {
  Tensor **zeros = ARENA_ARRAY(arena, Tensor *, instr->operands.n + 1);
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    const Shape *shape = comp_instr(values->partitioned->module, comp, instr->operands.at[k])->shape;
    zeros[k] = shared != NULL ? tensor_retain(shared[k]) : tensor_new(shape, true);
    if (shared == NULL && zeros[k]->bytes != 0) memset(zeros[k]->data, 0, zeros[k]->bytes);
  }
  return zeros;
}

/* Bytes that the operands and results of a call take on all devices. */
static double joint_bytes(const Values *values, uint32_t comp, const Instr *instr, uint32_t devices) {
  double bytes = (double)shape_bytes(instr->shape);
  for (uint32_t k = 0; k < instr->operands.n; k++)
    bytes += (double)shape_bytes(comp_instr(values->partitioned->module, comp, instr->operands.at[k])->shape);
  return bytes * devices;
}

/* On zeros a kernel may fail that does not on its operands; what it says to others is then not known. */
static Status run_together(Values *values, PallasMeeting *meeting, Arena *arena, Tensor **results) {
  Diag *own = diag_new();
  EvalContext context = context_of(values, 0, 0, own);
  meeting->context = &context;
  meeting->arena = arena;
  Status status = pallas_kernel_values(meeting, results);
  if (values->numbers) return finish(values, own, status);
  diag_free(own);
  return STATUS_OK;
}

static void note_silence(Values *values, const Instr *instr) {
  diag_note(values->diag, instr->place,
            "%.*s: the time of its DMAs between chips is not known without its numbers, and left out",
            STR_ARG(instr->name));
}

/* Runs it on all devices: on their operands, or on zeros that they share. */
static Status meet_on_operands(Values *values, Arena *arena, uint32_t comp, const Instr *instr,
                               uint32_t devices, Value *const *const *operands, KernelTalk *talk,
                               Tensor **made) {
  Arena *own = arena_new();
  Tensor ***tensors = ARENA_ARRAY(own, Tensor **, devices);
  for (uint32_t d = 0; d < devices; d++)
    tensors[d] = values->numbers ? settled_operands(values, own, comp, instr, operands[d])
                                 : zero_operands(values, own, comp, instr, d == 0 ? NULL : tensors[0]);
  PallasMeeting meeting = {
      .instr = instr, .devices = devices, .operands = (Tensor *const *const *)tensors, .talk = talk};
  Status status = run_together(values, &meeting, arena, made);
  for (uint32_t d = 0; d < devices; d++)
    for (uint32_t k = 0; k < instr->operands.n; k++) tensor_release(tensors[d][k]);
  arena_free(own);
  return status;
}

/* Without numbers a small kernel runs on zeros, once, for what its devices say to each other. */
static Status together(void *self, Arena *arena, uint32_t comp, const Instr *instr, uint32_t devices,
                       Value *const *const *operands, Value **results, KernelTalk *talk) {
  Values *values = self;
  Arena *own = arena_new();
  Tensor **made = ARENA_ARRAY(own, Tensor *, devices);
  bool runs = values->numbers || (talk != NULL && joint_bytes(values, comp, instr, devices) <= JOINT_BYTES &&
                                  can_evaluate(instr));
  Status status = STATUS_OK;
  if (runs) status = meet_on_operands(values, arena, comp, instr, devices, operands, talk, made);
  if (talk != NULL) talk->same_each_time = !values->numbers && talk->of != NULL;
  if (talk != NULL && talk->of == NULL && status == STATUS_OK) note_silence(values, instr);
  for (uint32_t d = 0; d < devices; d++) {
    if (!values->numbers) tensor_release(made[d]);
    results[d] = values->numbers ? made[d] : status == STATUS_OK ? tensor_new(instr->shape, false) : NULL;
  }
  arena_free(own);
  return status;
}

static Status combine(void *self, uint32_t comp, DType dtype, void *into, const void *from, int64_t n) {
  Values *values = self;
  Diag *own = diag_new();
  EvalContext context = context_of(values, 0, comp, own);
  return finish(values, own, eval_combine(&context, comp, dtype, into, from, n));
}

static Value *settled(void *self, Value *value, const Shape *shape) {
  (void)self;
  return tensor_settled(value, shape);
}

static DType carried(void *self, DType dtype) {
  const Values *values = self;
  bool narrow = dtype_class(dtype) == DCLASS_FLOAT && dtype_bits(dtype) < 32;
  return narrow && values->excess_precision ? DTYPE_F32 : dtype;
}

static Value *array(void *self, const Shape *shape, bool known) {
  (void)self;
  return tensor_new(shape, known);
}

static unsigned char *bytes(void *self, Value *value) {
  (void)self;
  const Tensor *tensor = value;
  return tensor->known ? tensor->data : NULL;
}

static Value *tuple(void *self, Value *const *parts, uint32_t n) {
  (void)self;
  for (uint32_t i = 0; i < n; i++) tensor_retain(parts[i]);
  return tensor_tuple((Tensor **)parts, n);
}

static Value *part(void *self, Value *value, uint32_t index) {
  (void)self;
  return tensor_retain(((const Tensor *)value)->parts[index]);
}

static bool integer(void *self, Value *value, int64_t *number) {
  (void)self;
  const Tensor *tensor = value;
  DClass class = dtype_class(tensor->dtype);
  bool whole = class == DCLASS_PRED || class == DCLASS_SIGNED || class == DCLASS_UNSIGNED;
  if (!whole || !tensor->known || tensor_elements(tensor) != 1) return false;
  *number = tensor_int_at(tensor, 0);
  return true;
}

static const ValueOps table = {.retain = retain,
                               .release = release,
                               .parameter = parameter,
                               .evaluate = evaluate,
                               .together = together,
                               .settled = settled,
                               .carried = carried,
                               .array = array,
                               .bytes = bytes,
                               .combine = combine,
                               .tuple = tuple,
                               .part = part,
                               .integer = integer};

const ValueOps *values_ops(const Values *values) {
  return &values->ops;
}

void values_set_excess_precision(Values *values, bool excess_precision) {
  values->excess_precision = excess_precision && module_is_scheduled(values->partitioned->module);
}

/* --- parameters --- */

static bool same_shape(const Tensor *tensor, const Shape *shape) {
  if (shape_is_tuple(shape) || tensor->dtype != shape->dtype || tensor->rank != shape->rank) return false;
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (tensor->dims[i] != shape->dims[i]) return false;
  }
  return true;
}

/* The sharding must give the shards that the program takes. */
static Status check_local(const Values *values, const Instr *param, const ShardBoxes *boxes) {
  const Shape *local = param->shape;
  bool same = local->rank == boxes->rank && local->rank <= EVAL_MAX_RANK;
  for (uint32_t i = 0; same && i < local->rank; i++) same = local->dims[i] == boxes->local[i];
  RETURN_IF(!same,
            diag_fail(values->diag, STATUS_INVALID, param->place, "say with --spec how the parameter lies",
                      "parameter %.*s: its sharding does not give the shape of its shards",
                      STR_ARG(param->name)));
  return STATUS_OK;
}

static Status cut_param(Values *values, uint32_t number, Tensor *input) {
  const Partitioned *partitioned = values->partitioned;
  const Comp *entry = module_entry(partitioned->module);
  const Instr *param = &entry->instrs.at[entry->params.at[number]];
  Tensor **shards = values->params + (size_t)number * values->chips;
  if (input == NULL) {
    shards[0] = tensor_new(param->shape, false);
    for (uint32_t c = 1; c < values->chips; c++) shards[c] = tensor_retain(shards[0]);
    return STATUS_OK;
  }
  const Shape *global = partitioned->global_params[number];
  RETURN_IF(!same_shape(input, global),
            diag_fail(values->diag, STATUS_INVALID, param->place, NULL,
                      "parameter %.*s: not the shape of its input", STR_ARG(param->name)));
  ShardBoxes boxes = shard_boxes(values->arena, partitioned->params[number], NULL, global->dims, global->rank,
                                 values->chips);
  TRY(check_local(values, param, &boxes));
  tensor_cut(input, &boxes, shards);
  return STATUS_OK;
}

Status values_new(const Partitioned *partitioned, uint32_t chips, Tensor *const *inputs, Diag *diag,
                  Values **result) {
  Values *values = calloc(1, sizeof *values);
  if (values == NULL) abort();
  Arena *arena = arena_new();
  uint32_t n_params = module_entry(partitioned->module)->params.n;
  int64_t replicas = partitioned->module->replica_count;
  *values = (Values){.partitioned = partitioned,
                     .chips = chips,
                     .partitions = replicas > 1 && chips % replicas == 0 ? chips / (uint32_t)replicas : chips,
                     .numbers = inputs != NULL,
                     .arena = arena,
                     .params = ARENA_ARRAY(arena, Tensor *, (size_t)n_params * chips + 1),
                     .ops = table,
                     .diag = diag};
  values->ops.self = values;
  pthread_mutex_init(&values->lock, NULL);
  Status status = STATUS_OK;
  for (uint32_t p = 0; p < n_params && status == STATUS_OK; p++)
    status = cut_param(values, p, inputs == NULL ? NULL : inputs[p]);
  if (status == STATUS_OK) {
    *result = values;
  } else {
    values_free(values);
  }
  return status;
}

void values_free(Values *values) {
  if (values == NULL) return;
  size_t n = (size_t)module_entry(values->partitioned->module)->params.n * values->chips;
  for (size_t i = 0; i < n; i++) tensor_release(values->params[i]);
  pthread_mutex_destroy(&values->lock);
  arena_free(values->arena);
  free(values);
}

/* --- outputs --- */

/* [chips, …local], without a sharding. */
static Tensor *stacked(Arena *arena, Tensor *const *locals, uint32_t chips) {
  uint32_t rank = locals[0]->rank + 1;
  int64_t *dims = ARENA_ARRAY(arena, int64_t, rank);
  dims[0] = chips;
  for (uint32_t i = 1; i < rank; i++) dims[i] = locals[0]->dims[i - 1];
  bool known = true;
  for (uint32_t c = 0; c < chips; c++) known = known && locals[c]->known;
  Tensor *stack = tensor_new_array(locals[0]->dtype, dims, rank, known);
  for (uint32_t c = 0; c < chips && known; c++) {
    size_t n = locals[c]->bytes;
    if (n != 0) memcpy(stack->data + c * n, locals[c]->data, n);
  }
  return stack;
}

/* The chips' parts of an output; given. */
static Tensor **locals_of(const Values *values, Arena *arena, Value *const *roots, uint32_t output) {
  const Comp *entry = module_entry(values->partitioned->module);
  const Shape *shape = entry->instrs.at[entry->root].shape;
  Tensor **locals = ARENA_ARRAY(arena, Tensor *, values->chips);
  for (uint32_t c = 0; c < values->chips; c++) {
    Tensor *root = roots[c];
    locals[c] = root->dtype == DTYPE_TUPLE ? tensor_settled(root->parts[output], shape->parts[output])
                                           : tensor_settled(root, shape);
  }
  return locals;
}

static Status collect(const Values *values, Arena *arena, Tensor *const *locals, uint32_t output,
                      Tensor **whole) {
  const Partitioned *partitioned = values->partitioned;
  RETURN_IF(locals[0]->dtype == DTYPE_TUPLE || locals[0]->rank > EVAL_MAX_RANK,
            diag_fail(values->diag, STATUS_INVALID, NOWHERE, NULL, "output %u is not an array", output));
  if (partitioned->outputs[output] == NULL) {
    *whole = stacked(arena, locals, values->chips);
    return STATUS_OK;
  }
  const Shape *global = partitioned->global_outputs[output];
  ShardBoxes boxes =
      shard_boxes(arena, partitioned->outputs[output], NULL, global->dims, global->rank, values->chips);
  *whole = tensor_join(locals, &boxes, global->dims);
  return STATUS_OK;
}

Status values_collect_outputs(const Values *values, Value *const *roots, Tensor **outputs) {
  Arena *arena = arena_new();
  Status status = STATUS_OK;
  uint32_t n = values->partitioned->n_outputs, done = 0;
  for (; done < n && status == STATUS_OK; done++) {
    Tensor **locals = locals_of(values, arena, roots, done);
    status = collect(values, arena, locals, done, &outputs[done]);
    for (uint32_t c = 0; c < values->chips; c++) tensor_release(locals[c]);
  }
  if (status != STATUS_OK) {
    for (uint32_t i = 0; i + 1 < done; i++) tensor_release(outputs[i]);
  }
  arena_free(arena);
  return status;
}

/* The partitioner's frame: entry, bodies and outputs; the ops themselves are in handlers_*.c. In: a flattened
 * module and a sharding for every value. Out: one device's program. The one idea (GSPMD, arXiv:2105.04663):
 * every instruction becomes itself on local shapes, and what its operands lack is brought by collectives. */
#include "sim/partition/partition.h"

#include "sim/partition/handlers.h"

#include <string.h>

/* Dimensions of an array; placements count them in a byte. */
enum { MOST_RANK = 128 };

static ShardedValue copy_value(Spmd *spmd, const ShardedValue *value) {
  return (ShardedValue){arena_copy(spmd->scratch, value->at, value->n * sizeof *value->at), value->n};
}

/* Tokens and the like have no shards. */
static bool only_arrays(const Shape *shape) {
  if (!shape_is_tuple(shape)) return shape_is_array(shape) && shape->rank <= MOST_RANK;
  for (uint32_t i = 0; i < shape->rank; i++)
    if (!only_arrays(shape->parts[i])) return false;
  return true;
}

static Status partition_instr(Spmd *spmd, const Instr *instr, const ShardedValue *params,
                              ShardedValue *value) {
  spmd->instr = instr;
  because_text(spmd, instr->name);
  RETURN_IF(!only_arrays(instr->shape),
            diag_fail(spmd->diag, STATUS_INVALID, instr->place,
                      "a program that comes partitioned may have it",
                      "%.*s, a value of %.*s, cannot be partitioned yet", STR_ARG(instr->name),
                      STR_ARG(shape_text(spmd->scratch, instr->shape))));
  if (instr->op != OP_PARAMETER) return handler_of(instr)(spmd, instr, value);
  ValueSharding wanted = wanted_of(spmd, instr);
  *value = copy_value(spmd, &params[instr->parameter]);
  return wanted.n == value->n ? value_reshard(spmd, value, &wanted, value) : STATUS_OK;
}

Status partition_body(Spmd *spmd, uint32_t flat_comp, const ShardedValue *params, ShardedValue *root) {
  const Comp *comp = module_comp(spmd->flat, flat_comp);
  spmd->frame->values = ARENA_ARRAY(spmd->scratch, ShardedValue, comp->instrs.n + 1);
  spmd->frame->uses = comp_use_counts(spmd->scratch, comp);
  spmd->frame->use_kinds = count_use_kinds(spmd->scratch, comp);
  spmd->frame->spent = ARENA_ARRAY(spmd->scratch, double, comp->instrs.n + 1);
  for (uint32_t i = 0; i < comp->instrs.n; i++)
    TRY(partition_instr(spmd, &comp->instrs.at[i], params, &spmd->frame->values[i]));
  *root = spmd->frame->values[comp->root];
  return STATUS_OK;
}

/* --- the entry --- */

static void set_sharding(Spmd *spmd, uint32_t instr, const ValueSharding *shardings, bool tuple) {
  StrBuf text = {.arena = spmd->arena};
  if (tuple) buf_char(&text, '{');
  for (uint32_t i = 0; i < shardings->n; i++) {
    if (i != 0) buf_add(&text, STR(", "));
    buf_add(&text, sharding_hlo_text(spmd->arena, shardings->at[i]));
  }
  if (tuple) buf_char(&text, '}');
  HloSharding *sharding = ARENA_NEW(spmd->arena, HloSharding);
  sharding->kind = tuple ? HLO_SHARDING_TUPLE : HLO_SHARDING_TILED;
  sharding->text = buf_str(&text);
  instr_set_shared(spmd->module, spmd_instr(spmd, instr), (Attr){.id = ATTR_sharding, .sharding = sharding});
}

/* How parameter `number` lies: as the entry's shardings say. */
static ValueSharding param_sharding(const Spmd *spmd, const Instr *instr) {
  if (!shape_is_array(instr->shape) || (uint64_t)instr->parameter >= spmd->shardings->n_params)
    return wanted_of(spmd, instr);
  return (ValueSharding){&spmd->shardings->params[instr->parameter], 1};
}

static ShardedValue *entry_params(Spmd *spmd, const Comp *flat) {
  ShardedValue *params = ARENA_ARRAY(spmd->scratch, ShardedValue, flat->params.n + 1);
  for (uint32_t p = 0; p < flat->params.n; p++) {
    const Instr *from = &flat->instrs.at[flat->params.at[p]];
    ValueSharding given = param_sharding(spmd, from);
    uint32_t at = add_local(spmd, from, value_local_shape(spmd, from->shape, &given), NULL, 0);
    set_sharding(spmd, at, &given, shape_is_tuple(from->shape));
    spmd->instr = from;
    params[p] = value_unpack(spmd, at, from->shape, &given);
  }
  return params;
}

/* The instruction whose memory a value has. */
static uint32_t memory_of(const Spmd *spmd, uint32_t instr) {
  while (spmd_instr(spmd, instr)->op == OP_RESHAPE || spmd_instr(spmd, instr)->op == OP_BITCAST)
    instr = spmd_instr(spmd, instr)->operands.at[0];
  return instr;
}

/* Every output has memory of its own: what is the memory of a parameter that the caller keeps, as it does not
 * donate it, or of an output before it is copied, as XLA copies it. */
static void copy_shared(Spmd *spmd, ShardedValue *outputs) {
  bool *given = ARENA_ARRAY(spmd->scratch, bool, module_comp(spmd->module, spmd->frame->comp)->instrs.n);
  const bool *donated = module_donated(spmd->scratch, spmd->flat);
  for (uint32_t i = 0; i < outputs->n; i++) {
    Sharded *output = &outputs->at[i];
    uint32_t memory = memory_of(spmd, output->instr);
    const Instr *made = spmd_instr(spmd, memory);
    bool kept = made->op == OP_PARAMETER && !donated[made->parameter];
    bool taken = kept || given[memory];
    given[memory] = true;
    if (taken) output->instr = spmd_add(spmd, OP_COPY, spmd_shape(spmd, output->instr), &output->instr, 1);
  }
}

static Status entry_root(Spmd *spmd, const Comp *flat, const ShardedValue *root) {
  const Instr *from = &flat->instrs.at[flat->root];
  ValueSharding wanted = {spmd->shardings->outputs, spmd->shardings->n_outputs};
  RETURN_IF(wanted.n != root->n, diag_fail(spmd->diag, STATUS_FAILED, from->place, NULL,
                                           "%u shardings for %u outputs", wanted.n, root->n));
  spmd->instr = from;
  ShardedValue value;
  TRY(value_reshard(spmd, root, &wanted, &value));
  copy_shared(spmd, &value);
  uint32_t at = value_pack(spmd, &value, from->shape);
  module_comp(spmd->module, spmd->frame->comp)->root = at;
  set_sharding(spmd, at, &wanted, shape_is_tuple(from->shape));
  return STATUS_OK;
}

/* What the later stages ask about the program's ends. */
static void describe_ends(Spmd *spmd, const Comp *flat) {
  Partitioned *out = spmd->out;
  const Shardings *from = spmd->shardings;
  out->mesh = spmd->mesh;
  out->n_params = from->n_params;
  out->n_outputs = from->n_outputs;
  out->params = arena_copy(spmd->arena, from->params, from->n_params * sizeof *from->params);
  out->outputs = arena_copy(spmd->arena, from->outputs, from->n_outputs * sizeof *from->outputs);
  out->global_params = ARENA_ARRAY(spmd->arena, const Shape *, from->n_params + 1);
  out->global_outputs = ARENA_ARRAY(spmd->arena, const Shape *, from->n_outputs + 1);
  for (uint32_t i = 0; i < from->n_params && i < flat->params.n; i++)
    out->global_params[i] = flat->instrs.at[flat->params.at[i]].shape;
  for (uint32_t i = 0; i < from->n_outputs; i++)
    out->global_outputs[i] = shape_leaf(flat->instrs.at[flat->root].shape, i);
}

static Status build_entry(Spmd *spmd) {
  const Comp *flat = module_comp(spmd->flat, spmd->flat->entry);
  spmd->module->entry = spmd->frame->comp;
  ShardedValue root;
  TRY(partition_body(spmd, spmd->flat->entry, entry_params(spmd, flat), &root));
  TRY(entry_root(spmd, flat, &root));
  describe_ends(spmd, flat);
  return STATUS_OK;
}

/* Which parameters give their memory to outputs holds for a device's part as for the whole. */
static void keep_donations(Module *to, const Module *from) {
  static const char *const keys[] = {"input_output_alias", "buffer_donor"};
  for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
    Str text = module_header(from, keys[i]);
    if (text.n > 0) VEC_PUSH(to->arena, &to->header, (HeaderKey){str_of(keys[i]), str_copy(to->arena, text)});
  }
}

Status module_partition(const Module *flat, const Shardings *shardings, Partitioned **partitioned,
                        Diag *diag) {
  Spmd spmd;
  spmd_open(&spmd, flat->name, shardings->mesh, diag);
  spmd.flat = flat;
  spmd.shardings = shardings;
  spmd.copied = ARENA_ARRAY(spmd.scratch, uint32_t, flat->comps.n + 1);
  spmd.module->source = flat->source;
  spmd.module->tables = flat->tables;
  spmd.module->replica_count = flat->replica_count;
  keep_donations(spmd.module, flat);
  Frame frame = {.flat = flat->entry, .comp = module_add_comp(spmd.module, module_entry(flat)->name)};
  spmd.frame = &frame;
  Status status = build_entry(&spmd);
  spmd_close(&spmd, status == STATUS_OK);
  if (status == STATUS_OK) *partitioned = spmd.out;
  return status;
}

Partitioned *partitioned_like(const Partitioned *from) {
  Module *module = module_like(from->module);
  Partitioned *out = ARENA_NEW(module->arena, Partitioned);
  *out = *from;
  out->module = module;
  out->arena = module->arena;
  out->reasons.at = NULL;
  out->reasons.n = out->reasons.cap = 0;
  return out;
}

void partitioned_free(Partitioned *partitioned) {
  if (partitioned == NULL) return;
  if (partitioned->arena == partitioned->module->arena)
    module_free(partitioned->module);
  else
    arena_free(partitioned->arena);
}

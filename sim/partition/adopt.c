/* Adopting a program that came partitioned. In: its module, and what the user says of its ends. Out: the same
 * as the partitioner gives, so that all later stages take either. */
#include "sim/partition/partition.h"

typedef struct {
  Arena *arena;
  const Module *module;
  const ShardOptions *options;
  const Mesh *mesh;
  Diag *diag;
} Adopt;

static const SpecOverride *spec_of(const Adopt *adopt, const char *end, uint32_t number, Str name) {
  Str wanted = str_printf(adopt->arena, "%s%u", end, number);
  for (uint32_t i = 0; i < adopt->options->n_specs; i++) {
    const SpecOverride *spec = &adopt->options->specs[i];
    if (str_eq(spec->name, wanted) || (name.n != 0 && str_eq(spec->name, name))) return spec;
  }
  return NULL;
}

/* The global array that shards of `local` make. */
static const Shape *global_shape(const Adopt *adopt, const Shape *local, const Sharding *sharding) {
  int64_t *dims = ARENA_ARRAY(adopt->arena, int64_t, local->rank + 1);
  for (uint32_t d = 0; d < local->rank; d++) dims[d] = local->dims[d] * sharding_shards(sharding, d);
  return shape_with_dims(adopt->arena, local, dims, local->rank);
}

/* What is said of one array at an end: by a spec, or by the text's own sharding; NULL where nothing is. */
static Status end_sharding(const Adopt *adopt, const SpecOverride *spec, const HloSharding *written,
                           Place place, const Shape *local, const Sharding **sharding) {
  *sharding = NULL;
  if (spec != NULL)
    return sharding_parse_spec(adopt->arena, spec->spec, adopt->mesh, local->rank, sharding, adopt->diag);
  if (written == NULL) return STATUS_OK;
  return sharding_from_hlo(adopt->arena, written, adopt->mesh, local->rank, sharding, place, adopt->diag);
}

static Status adopt_params(const Adopt *adopt, Partitioned *out) {
  const Comp *entry = module_entry(adopt->module);
  out->n_params = entry->params.n;
  out->params = ARENA_ARRAY(adopt->arena, const Sharding *, out->n_params + 1);
  out->global_params = ARENA_ARRAY(adopt->arena, const Shape *, out->n_params + 1);
  for (uint32_t p = 0; p < out->n_params; p++) {
    const Instr *param = &entry->instrs.at[entry->params.at[p]];
    RETURN_IF(!shape_is_array(param->shape),
              diag_fail(adopt->diag, STATUS_INVALID, param->place, "lower it with one parameter an array",
                        "a parameter that is a tuple is not supported yet in a partitioned program"));
    const SpecOverride *spec = spec_of(adopt, "arg", p, param->name);
    TRY(end_sharding(adopt, spec, instr_sharding(param), param->place, param->shape, &out->params[p]));
    if (out->params[p] == NULL)
      out->params[p] = sharding_replicated(adopt->arena, adopt->mesh, param->shape->rank, false);
    out->global_params[p] = global_shape(adopt, param->shape, out->params[p]);
  }
  return STATUS_OK;
}

static uint32_t count_leaves(const Shape *shape) {
  if (!shape_is_tuple(shape)) return shape_is_array(shape) ? 1 : 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < shape->rank; i++) n += count_leaves(shape->parts[i]);
  return n;
}

static Status adopt_output(const Adopt *adopt, const Instr *root, const Shape *shape, Partitioned *out) {
  if (shape_is_tuple(shape)) {
    for (uint32_t i = 0; i < shape->rank; i++) TRY(adopt_output(adopt, root, shape->parts[i], out));
    return STATUS_OK;
  }
  if (!shape_is_array(shape)) return STATUS_OK;
  uint32_t k = out->n_outputs++;
  const HloSharding *written = instr_sharding(root);
  if (written != NULL && written->kind == HLO_SHARDING_TUPLE)
    written = k < written->n_parts ? written->parts[k] : NULL;
  TRY(end_sharding(adopt, spec_of(adopt, "out", k, (Str){0}), written, root->place, shape, &out->outputs[k]));
  out->global_outputs[k] = out->outputs[k] == NULL ? shape : global_shape(adopt, shape, out->outputs[k]);
  return STATUS_OK;
}

static Status adopt_outputs(const Adopt *adopt, Partitioned *out) {
  const Comp *entry = module_entry(adopt->module);
  const Instr *root = &entry->instrs.at[entry->root];
  uint32_t leaves = count_leaves(root->shape);
  out->outputs = ARENA_ARRAY(adopt->arena, const Sharding *, leaves + 1);
  out->global_outputs = ARENA_ARRAY(adopt->arena, const Shape *, leaves + 1);
  return adopt_output(adopt, root, root->shape, out);
}

/* The user's mesh, the program's, or one axis of all devices. */
static Status find_mesh(Adopt *adopt) {
  int64_t devices = adopt->module->num_partitions * adopt->module->replica_count;
  const Mesh **meshes = NULL;
  uint32_t n = 0;
  adopt->mesh = adopt->options->mesh;
  if (adopt->mesh == NULL) {
    TRY(meshes_of_module(adopt->arena, adopt->module, &meshes, &n, adopt->diag));
    MeshAxis axis = {STR("devices"), devices};
    adopt->mesh = n != 0 ? meshes[0] : mesh_inferred(adopt->arena, &axis, 1);
  }
  RETURN_IF(adopt->mesh->n_devices != devices,
            diag_fail(adopt->diag, STATUS_INVALID, NOWHERE, "give its mesh with --mesh",
                      "the program is for %lld devices, the mesh has %u", (long long)devices,
                      adopt->mesh->n_devices));
  return STATUS_OK;
}

static Status adopt_ends(Adopt *adopt, Partitioned *out) {
  TRY(find_mesh(adopt));
  out->mesh = adopt->mesh;
  TRY(adopt_params(adopt, out));
  return adopt_outputs(adopt, out);
}

/* Every collective of the program, each for a reason of its own. */
static void adopt_reasons(const Adopt *adopt, Partitioned *out) {
  for (uint32_t c = 0; c < adopt->module->comps.n; c++)
    for (uint32_t i = 0; i < adopt->module->comps.at[c].instrs.n; i++) {
      const Instr *instr = comp_instr(adopt->module, c, i);
      if (!op_is_collective(instr->op)) continue;
      CollectiveReason reason = {.comp = c, .instr = i, .origin = instr->origin};
      reason.because = str_printf(adopt->arena, "%.*s of the program itself", STR_ARG(instr->name));
      VEC_PUSH(adopt->arena, &out->reasons, reason);
    }
}

Status partitioned_adopt(const Module *module, const ShardOptions *options, Partitioned **partitioned,
                         Diag *diag) {
  Adopt adopt = {arena_new(), module, options, NULL, diag};
  Partitioned *out = ARENA_NEW(adopt.arena, Partitioned);
  out->module = (Module *)module;
  out->arena = adopt.arena;
  Status status = adopt_ends(&adopt, out);
  if (status != STATUS_OK) {
    arena_free(adopt.arena);
    return status;
  }
  adopt_reasons(&adopt, out);
  *partitioned = out;
  return STATUS_OK;
}

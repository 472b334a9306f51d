/* Reads what a program says of shardings: Shardy's attributes, or sharding={…} where it has none, and what
 * the user says over it. */
#include "sim/shard/graph.h"

/* --- Shardings of instructions. --- */

AxisList axes_without_ones(AxisList axes) {
  AxisList kept = {axes.at, 0};
  for (uint32_t i = 0; i < axes.n; i++)
    if (axes.at[i].size != 1) kept.at[kept.n++] = axes.at[i];
  return kept;
}

/* Over the one mesh, and without axes of size 1, which shard nothing. */
static Status normalised(Graph *graph, const Sharding *given, Place place, const Sharding **result) {
  Sharding *sharding =
      (Sharding *)sharding_copy(graph->arena, sharding_on_mesh(graph->arena, given, graph->mesh));
  RETURN_IF(sharding->mesh != graph->mesh,
            diag_fail(graph->diag, STATUS_INVALID, place, "give one mesh that has both with --mesh",
                      "a sharding over the mesh (%s) cannot be said over the mesh (%s)",
                      mesh_text(graph->arena, given->mesh).at, mesh_text(graph->arena, graph->mesh).at));
  for (uint32_t d = 0; d < sharding->rank; d++)
    sharding->dims[d].axes = axes_without_ones(sharding->dims[d].axes);
  sharding->replicated = axes_without_ones(sharding->replicated);
  sharding->unreduced = axes_without_ones(sharding->unreduced);
  *result = sharding;
  return STATUS_OK;
}

Status import_sdy_list(Graph *graph, Str text, Place place, ShardingList *list) {
  if (str_starts(text, "#sdy.sharding_per_value")) {
    TRY(sharding_parse_per_value(graph->arena, text, graph->meshes, graph->n_meshes, &list->at, &list->n,
                                 place, graph->diag));
  } else {
    list->at = ARENA_ARRAY(graph->arena, const Sharding *, 1);
    list->n = 1;
    TRY(sharding_parse_sdy(graph->arena, text, graph->meshes, graph->n_meshes, &list->at[0], place,
                           graph->diag));
  }
  for (uint32_t k = 0; k < list->n; k++) TRY(normalised(graph, list->at[k], place, &list->at[k]));
  return STATUS_OK;
}

/* `backend_config="unspecified_dims=[0,2]"`: dimensions that the user left to propagation. */
static void open_unspecified(const Instr *instr, Sharding *sharding) {
  Str config = instr_word(instr, ATTR_backend_config);
  size_t from = str_find(config, '['), to = str_find(config, ']');
  Str list = str_sub(config, from + 1, to);
  for (; list.n != 0; list = str_sub(list, str_find(list, ',') + 1, list.n)) {
    int64_t dim;
    if (str_to_int(str_trim(str_sub(list, 0, str_find(list, ','))), &dim) && dim >= 0 && dim < sharding->rank)
      sharding->dims[dim].open = true;
  }
}

static const HloSharding *hlo_part(const HloSharding *hlo, uint32_t k) {
  if (hlo->kind != HLO_SHARDING_TUPLE) return hlo;
  return k < hlo->n_parts ? hlo->parts[k] : NULL;
}

/* A leaf of sharding={…}; NULL where it says nothing: of values of a manual region, and unknown ones. */
Status import_hlo(Graph *graph, const Instr *instr, const HloSharding *hlo, uint32_t k, uint32_t rank,
                  const Sharding **result) {
  const HloSharding *part = hlo_part(hlo, k);
  *result = NULL;
  if (part == NULL || part->kind == HLO_SHARDING_MANUAL || part->kind == HLO_SHARDING_UNKNOWN)
    return STATUS_OK;
  const Sharding *sharding;
  TRY(sharding_from_hlo(graph->arena, part, graph->mesh, rank, &sharding, instr->place, graph->diag));
  TRY(normalised(graph, sharding, instr->place, result));
  if (is_custom_call(instr, "Sharding")) open_unspecified(instr, (Sharding *)*result);
  return STATUS_OK;
}

static Status set_slot(Graph *graph, uint32_t value, const Sharding *sharding, Place place) {
  Slot *slot = graph_slot(graph, value);
  if (sharding == NULL || !shape_is_array(slot->shape)) return STATUS_OK;
  RETURN_IF(sharding->device < 0 && sharding->rank != slot->shape->rank,
            diag_fail(graph->diag, STATUS_INVALID, place, NULL, "a sharding of rank %u on a value of rank %u",
                      sharding->rank, slot->shape->rank));
  slot->sharding = slot->wanted = sharding;
  return STATUS_OK;
}

/* One sharding for an op of several results, as of a send, or of none, is that of the arrays that it fits. */
static void set_fitting(Graph *graph, Ids values, const Sharding *sharding) {
  for (uint32_t k = 0; k < values.n; k++) {
    Slot *slot = graph_slot(graph, values.at[k]);
    if (shape_is_array(slot->shape) && slot->shape->rank == sharding->rank)
      slot->sharding = slot->wanted = sharding;
  }
}

Status import_set(Graph *graph, Ids values, ShardingList list, const Instr *instr) {
  if (list.n == 1 && values.n != 1) {
    set_fitting(graph, values, list.at[0]);
    return STATUS_OK;
  }
  RETURN_IF(list.n != values.n, diag_fail(graph->diag, STATUS_INVALID, instr->place, NULL,
                                          "%u shardings on '%.*s', which has %u results", list.n,
                                          STR_ARG(instr->name), values.n));
  for (uint32_t k = 0; k < values.n; k++) TRY(set_slot(graph, values.at[k], list.at[k], instr->place));
  return STATUS_OK;
}

static Status import_instr(Graph *graph, uint32_t comp, uint32_t at) {
  const Instr *instr = comp_instr(graph->module, comp, at);
  Ids values = graph->leaves[comp][at];
  Str text;
  ShardingList list;
  if (instr->op == OP_TUPLE || instr->op == OP_GET_TUPLE_ELEMENT) return STATUS_OK;
  if (instr_frontend(instr, "xla.sdy.sharding", &text)) {
    TRY(import_sdy_list(graph, text, instr->place, &list));
    return import_set(graph, values, list, instr);
  }
  const HloSharding *hlo = instr_sharding(instr);
  if (hlo == NULL || graph->n_meshes != 0) return STATUS_OK;
  for (uint32_t k = 0; k < values.n; k++) {
    const Sharding *sharding;
    const Shape *shape = graph_slot(graph, values.at[k])->shape;
    if (!shape_is_array(shape)) continue;
    TRY(import_hlo(graph, instr, hlo, k, shape->rank, &sharding));
    TRY(set_slot(graph, values.at[k], sharding, instr->place));
  }
  return STATUS_OK;
}

/* --- Groups and barriers. --- */

static Status import_group(Graph *graph, uint32_t comp, const Instr *instr) {
  Str text = {0};
  int64_t group;
  if (!is_custom_call(instr, "xla.sdy.ShardingGroup") || instr->operands.n != 1) return STATUS_OK;
  bool given = instr_frontend(instr, "xla.sdy.sharding_group_id", &text);
  text = str_sub(text, 0, str_find(text, ' ')); /* `3 : i64` */
  RETURN_IF(!given || !str_to_int(text, &group) || group < 0 || group >= NO_ID,
            diag_fail(graph->diag, STATUS_INVALID, instr->place, NULL, "a sharding group without a number"));
  Ids values = graph->leaves[comp][instr->operands.at[0]];
  if (values.n != 0) graph_slot(graph, values.at[0])->group = (uint32_t)group;
  return STATUS_OK;
}

static Direction direction_of(Str text) {
  if (str_is(text, "0") || str_is(text, "NONE")) return DIRECTION_NONE;
  if (str_is(text, "1") || str_is(text, "FORWARD")) return DIRECTION_FORWARD;
  if (str_is(text, "2") || str_is(text, "BACKWARD")) return DIRECTION_BACKWARD;
  return DIRECTION_BOTH;
}

static void import_barrier(const Graph *graph, Node *node) {
  Str text = {0};
  instr_frontend(comp_instr(graph->module, node->comp, node->instr), "xla.sdy.allowed_direction", &text);
  node->allowed = direction_of(str_sub(text, 0, str_find(text, ' '))); /* `1 : i32` */
}

/* --- Overrides. --- */

static bool numbered(Str name, const char *prefix, int64_t *number) {
  return str_starts(name, prefix) && str_to_int(str_sub(name, str_of(prefix).n, name.n), number) &&
         *number >= 0;
}

static bool find_named(const Graph *graph, Str name, uint32_t *value) {
  for (uint32_t c = 0; c < graph->module->comps.n; c++) {
    if (graph->leaves[c] == NULL) continue;
    uint32_t at = comp_find(module_comp(graph->module, c), name);
    if (at == NO_ID || graph->leaves[c][at].n != 1) continue;
    *value = graph->leaves[c][at].at[0];
    return true;
  }
  return false;
}

/* Parameter N, leaves of tuples counted one by one. */
static bool find_argument(const Graph *graph, int64_t number, uint32_t *value) {
  const Comp *entry = module_entry(graph->module);
  for (uint32_t p = 0; p < entry->params.n; p++) {
    Ids leaves = graph->leaves[graph->module->entry][entry->params.at[p]];
    if (number < leaves.n) {
      *value = leaves.at[number];
      return true;
    }
    number -= leaves.n;
  }
  return false;
}

static Status override(Graph *graph, const SpecOverride *spec) {
  int64_t number;
  uint32_t value = 0;
  const Sharding *sharding;
  bool out = numbered(spec->name, "out", &number) && number < graph->n_outputs;
  bool found = out || (numbered(spec->name, "arg", &number) && find_argument(graph, number, &value)) ||
               find_named(graph, spec->name, &value);
  RETURN_IF(!found, diag_fail(graph->diag, STATUS_USAGE, NOWHERE,
                              "name argN, outN or a value; `podsim show` lists them all",
                              "the program has no '%.*s'", STR_ARG(spec->name)));
  const Shape *shape = out ? graph->outputs[number].shape : graph_slot(graph, value)->shape;
  TRY(sharding_parse_spec(graph->arena, spec->spec, graph->mesh, shape->rank, &sharding, graph->diag));
  TRY(normalised(graph, sharding, NOWHERE, &sharding));
  if (!out) {
    graph_slot(graph, value)->by_user = true;
    return set_slot(graph, value, sharding, NOWHERE);
  }
  graph->outputs[number].sharding = sharding;
  graph->outputs[number].by_user = true;
  return STATUS_OK;
}

/* --- All of it. --- */

/* The program's own word on its outputs: an xla.sdy.FuncResultSharding, else sharding= on the root. */
static Status import_outputs(Graph *graph) {
  const Comp *entry = module_entry(graph->module);
  const Instr *root = &entry->instrs.at[entry->root];
  const HloSharding *hlo = graph->n_meshes == 0 ? instr_sharding(root) : NULL;
  for (uint32_t k = 0; k < graph->n_outputs; k++) {
    Output *output = &graph->outputs[k];
    if (output->slot != NO_ID) output->sharding = graph->slots.at[output->slot].sharding;
    if (output->sharding == NULL && hlo != NULL && shape_is_array(output->shape))
      TRY(import_hlo(graph, root, hlo, k, output->shape->rank, &output->sharding));
    output->given = output->sharding != NULL;
  }
  return STATUS_OK;
}

/* Members of a group start with the same sharding. */
static void sync_groups(Graph *graph) {
  for (uint32_t s = 0; s < graph->slots.n; s++) {
    const Slot *slot = &graph->slots.at[s];
    if (slot->group == NO_ID || slot->sharding == NULL) continue;
    for (uint32_t m = 0; m < graph->slots.n; m++)
      if (graph->slots.at[m].group == slot->group) graph->slots.at[m].sharding = slot->sharding;
  }
}

Status graph_import(Graph *graph, const ShardOptions *options) {
  for (uint32_t c = 0; c < graph->module->comps.n; c++) {
    const Comp *comp = module_comp(graph->module, c);
    for (uint32_t i = 0; graph->leaves[c] != NULL && i < comp->instrs.n; i++) {
      TRY(import_instr(graph, c, i));
      TRY(import_group(graph, c, &comp->instrs.at[i]));
    }
  }
  for (uint32_t n = 0; n < graph->nodes.n; n++) {
    Node *node = &graph->nodes.at[n];
    if (node->kind == NODE_BARRIER) import_barrier(graph, node);
    bool manual = node->kind == NODE_MANUAL_IN || node->kind == NODE_MANUAL_OUT;
    if (manual && node->outer == NULL) TRY(import_manual(graph, n));
  }
  TRY(import_outputs(graph));
  for (uint32_t s = 0; s < options->n_specs; s++) TRY(override(graph, &options->specs[s]));
  graph_apply_constraints(graph);
  sync_groups(graph);
  return STATUS_OK;
}

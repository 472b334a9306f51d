/* Reads what a program says of shardings: Shardy's attributes, or sharding={…} where it has none, and what
 * the user says over it. */
#include "sim/shard/graph.h"

#include <stdlib.h>

/* --- the mesh ----------------------------------------------------------------------------------------------
 */

static bool same_axis_names(const Mesh *a, const Mesh *b) {
  uint32_t axis;
  for (uint32_t i = 0; i < a->n_axes; i++)
    if (!mesh_axis_index(b, a->axes[i].name, &axis)) return false;
  return a->n_axes == b->n_axes;
}

/* A mesh under another name, as the program's texts name it. */
static const Mesh *renamed(Arena *arena, const Mesh *mesh, Str name) {
  Mesh *copy = arena_copy(arena, mesh, sizeof *mesh);
  copy->name = name;
  return copy;
}

static Status program_meshes(Graph *graph, const Mesh *instead) {
  TRY(meshes_of_module(graph->arena, graph->module, &graph->meshes, &graph->n_meshes, graph->diag));
  for (uint32_t m = 0; m < graph->n_meshes; m++) {
    const Mesh *mesh = graph->meshes[m];
    if (mesh->n_axes == 0) continue; /* of a single device */
    if (instead != NULL) {
      RETURN_IF(!same_axis_names(mesh, instead),
                diag_fail(graph->diag, STATUS_USAGE, NOWHERE, "only the sizes of the axes can be changed",
                          "the program's mesh is %s, not %s", mesh_text(graph->arena, mesh).at,
                          mesh_text(graph->arena, instead).at));
      graph->meshes[m] = renamed(graph->arena, instead, mesh->name);
    }
    if (graph->mesh == NULL || graph->meshes[m]->n_devices > graph->mesh->n_devices)
      graph->mesh = graph->meshes[m];
  }
  return STATUS_OK;
}

/* Sizes of mesh axes such that every tile list of the program can be said over them, as far as one chain of
 * divisors goes. `cuts` are strides between devices where one axis ends and the next begins. */
typedef struct {
  int64_t n_devices;
  Vec(int64_t) cuts;
} TileMesh;

static void add_cuts(Arena *arena, TileMesh *tiles, Ints sizes) {
  int64_t stride = 1;
  for (uint32_t d = sizes.n; d-- > 0;) {
    stride *= sizes.at[d];
    bool fits = stride > 1 && stride < tiles->n_devices && tiles->n_devices % stride == 0;
    for (uint32_t c = 0; c < tiles->cuts.n; c++) {
      int64_t low = tiles->cuts.at[c] < stride ? tiles->cuts.at[c] : stride;
      int64_t high = tiles->cuts.at[c] < stride ? stride : tiles->cuts.at[c];
      fits = fits && high != low && high % low == 0;
    }
    if (fits) VEC_PUSH(arena, &tiles->cuts, stride);
  }
}

static void add_tiles(Arena *arena, TileMesh *tiles, const HloSharding *hlo) {
  if (hlo == NULL) return;
  for (uint32_t p = 0; p < hlo->n_parts; p++) add_tiles(arena, tiles, hlo->parts[p]);
  Ints sizes = hlo->kind == HLO_SHARDING_NAMED ? hlo->mesh_sizes
               : hlo->devices.reshape.n != 0   ? hlo->devices.reshape
                                               : hlo->tile_dims;
  int64_t n = 1;
  for (uint32_t d = 0; d < sizes.n; d++)
    if (sizes.at[d] < 1 || __builtin_mul_overflow(n, sizes.at[d], &n) || n > INT32_MAX) return;
  if (sizes.n != 0 && tiles->n_devices == 0) tiles->n_devices = n;
  if (sizes.n != 0 && tiles->n_devices == n) add_cuts(arena, tiles, sizes);
}

static int descending(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left < right) - (left > right);
}

static const Mesh *mesh_of_tiles(Graph *graph) {
  TileMesh tiles = {0};
  for (uint32_t c = 0; c < graph->module->comps.n; c++) {
    const Comp *comp = module_comp(graph->module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++)
      add_tiles(graph->arena, &tiles, instr_sharding(&comp->instrs.at[i]));
  }
  if (tiles.n_devices == 0) return NULL;
  qsort(tiles.cuts.at, tiles.cuts.n, sizeof *tiles.cuts.at, descending);
  VEC_PUSH(graph->arena, &tiles.cuts, 1);
  MeshAxis *axes = ARENA_ARRAY(graph->arena, MeshAxis, tiles.cuts.n);
  int64_t left = tiles.n_devices;
  for (uint32_t a = 0; a < tiles.cuts.n; a++) {
    axes[a] = (MeshAxis){str_printf(graph->arena, "axis_%u", a), left / tiles.cuts.at[a]};
    left = tiles.cuts.at[a];
  }
  return mesh_new(graph->arena, STR("mesh"), axes, tiles.cuts.n, NULL);
}

/* A program that says nothing of devices runs on each of them alike. */
static const Mesh *mesh_of_pod(Graph *graph, uint32_t n_devices) {
  int64_t n = graph->module->num_partitions > 1 ? graph->module->num_partitions
              : n_devices == 0                  ? 1
                                                : n_devices;
  MeshAxis axis = {STR("devices"), n};
  return mesh_new(graph->arena, STR("mesh"), &axis, 1, NULL);
}

Status graph_choose_mesh(Graph *graph, const ShardOptions *options) {
  TRY(program_meshes(graph, options->mesh));
  if (graph->mesh == NULL) graph->mesh = options->mesh;
  if (graph->mesh == NULL) graph->mesh = mesh_of_tiles(graph);
  if (graph->mesh == NULL) graph->mesh = mesh_of_pod(graph, options->n_devices);
  RETURN_IF(options->n_devices != 0 && options->n_devices != graph->mesh->n_devices,
            diag_fail(graph->diag, STATUS_INVALID, NOWHERE,
                      "take another pod, or give the mesh's sizes with --mesh",
                      "the program's mesh (%s) has %u devices, the pod has %u",
                      mesh_text(graph->arena, graph->mesh).at, graph->mesh->n_devices, options->n_devices));
  return STATUS_OK;
}

/* --- shardings of instructions
 * ------------------------------------------------------------------------------- */

typedef struct {
  const Sharding **at;
  uint32_t n;
} ShardingList;

static AxisList without_ones(AxisList axes) {
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
  for (uint32_t d = 0; d < sharding->rank; d++) sharding->dims[d].axes = without_ones(sharding->dims[d].axes);
  sharding->replicated = without_ones(sharding->replicated);
  sharding->unreduced = without_ones(sharding->unreduced);
  *result = sharding;
  return STATUS_OK;
}

static Status parse_sdy_list(Graph *graph, Str text, Place place, ShardingList *list) {
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
static Status from_hlo(Graph *graph, const Instr *instr, const HloSharding *hlo, uint32_t k, uint32_t rank,
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

static Status set_slots(Graph *graph, Ids values, ShardingList list, const Instr *instr) {
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
    TRY(parse_sdy_list(graph, text, instr->place, &list));
    return set_slots(graph, values, list, instr);
  }
  const HloSharding *hlo = instr_sharding(instr);
  if (hlo == NULL || graph->n_meshes != 0) return STATUS_OK;
  for (uint32_t k = 0; k < values.n; k++) {
    const Sharding *sharding;
    const Shape *shape = graph_slot(graph, values.at[k])->shape;
    if (!shape_is_array(shape)) continue;
    TRY(from_hlo(graph, instr, hlo, k, shape->rank, &sharding));
    TRY(set_slot(graph, values.at[k], sharding, instr->place));
  }
  return STATUS_OK;
}

/* --- groups and barriers
 * ------------------------------------------------------------------------------------- */

static Status import_group(Graph *graph, uint32_t comp, const Instr *instr) {
  Str text;
  int64_t group;
  if (!is_custom_call(instr, "xla.sdy.ShardingGroup") || instr->operands.n != 1) return STATUS_OK;
  bool given = instr_frontend(instr, "xla.sdy.sharding_group_id", &text);
  text = str_sub(text, 0, str_find(text, ' ')); /* `3 : i64` */
  RETURN_IF(!given || !str_to_int(text, &group) || group < 0 || group >= NO_ID,
            diag_fail(graph->diag, STATUS_INVALID, instr->place, NULL, "a sharding group without a number"));
  graph_slot(graph, graph->leaves[comp][instr->operands.at[0]].at[0])->group = (uint32_t)group;
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
  node->allowed = direction_of(text);
}

/* --- manual regions
 * ------------------------------------------------------------------------------------------ */

static AxisList all_axes(const Graph *graph) {
  AxisList all = {ARENA_ARRAY(graph->arena, AxisRef, graph->mesh->n_axes + 1), graph->mesh->n_axes};
  for (uint32_t a = 0; a < all.n; a++) all.at[a] = axis_whole(graph->mesh, a);
  return all;
}

static AxisList list_without(Arena *arena, const Mesh *mesh, AxisList axes, AxisList drop) {
  return axes.n == 0 || drop.n == 0 ? axes : axes_minus(arena, mesh, axes, drop);
}

const Sharding *sharding_without_axes(Arena *arena, const Sharding *sharding, AxisList axes) {
  Sharding *without = arena_copy(arena, sharding, sizeof *sharding);
  without->dims = ARENA_ARRAY(arena, DimSharding, sharding->rank + 1);
  for (uint32_t d = 0; d < sharding->rank; d++) {
    without->dims[d] = sharding->dims[d];
    without->dims[d].axes = list_without(arena, sharding->mesh, sharding->dims[d].axes, axes);
  }
  without->replicated = list_without(arena, sharding->mesh, sharding->replicated, axes);
  without->unreduced = list_without(arena, sharding->mesh, sharding->unreduced, axes);
  return without;
}

/* `inner` behind the manual axes of `outer`, dimension by dimension. */
static const Sharding *with_manual_axes(Arena *arena, const Sharding *inner, const Sharding *outer,
                                        AxisList manual) {
  Sharding *with = arena_copy(arena, inner, sizeof *inner);
  with->dims = ARENA_ARRAY(arena, DimSharding, inner->rank + 1);
  for (uint32_t d = 0; d < inner->rank; d++) {
    AxisList own = list_without(arena, outer->mesh, outer->dims[d].axes, manual); /* free ones */
    with->dims[d] = inner->dims[d];
    AxisList leading = list_without(arena, outer->mesh, outer->dims[d].axes, own);
    with->dims[d].axes = axes_concat(arena, outer->mesh, leading, inner->dims[d].axes);
  }
  with->replicated = outer->replicated;
  with->unreduced = outer->unreduced;
  return with;
}

static bool is_manual_target(const Node *node, uint32_t tensor) {
  return (node->kind == NODE_MANUAL_IN || node->kind == NODE_MANUAL_OUT) && tensor == node->rule->n_operands;
}

const Sharding *node_sharding(Arena *arena, const Graph *graph, const Node *node, uint32_t tensor) {
  const Sharding *sharding = graph_slot(graph, node->values[tensor])->sharding;
  if (sharding == NULL || !is_manual_target(node, tensor)) return sharding;
  if (node->kind == NODE_MANUAL_OUT) return sharding_without_axes(arena, sharding, node->manual);
  return with_manual_axes(arena, sharding, node->outer, node->manual);
}

const Sharding *node_slot_sharding(Arena *arena, const Graph *graph, const Node *node, uint32_t tensor,
                                   const Sharding *sharding) {
  (void)graph;
  if (!is_manual_target(node, tensor)) return sharding;
  if (node->kind == NODE_MANUAL_IN) return sharding_without_axes(arena, sharding, node->manual);
  return with_manual_axes(arena, sharding, node->outer, node->manual);
}

/* A body that was traced for other sizes of its axes cannot be used for these. */
static Status check_baked_axes(Graph *graph, const Instr *instr, AxisList manual) {
  const Mesh **was;
  uint32_t n, axis;
  TRY(meshes_of_module(graph->arena, graph->module, &was, &n, graph->diag));
  for (uint32_t m = 0; m < n; m++)
    for (uint32_t i = 0; i < manual.n; i++) {
      const MeshAxis *now = &graph->mesh->axes[manual.at[i].axis];
      if (!mesh_axis_index(was[m], now->name, &axis) || was[m]->axes[axis].size == now->size) continue;
      return diag_fail(graph->diag, STATUS_INVALID, instr->place, "lower the program again with this mesh",
                       "'%.*s' is a shard_map over axis '%.*s' of size %ld, and holds no other size",
                       STR_ARG(instr->name), STR_ARG(now->name), was[m]->axes[axis].size);
    }
  return STATUS_OK;
}

static Status import_manual_sdy(Graph *graph, const Instr *instr, ShardingList *list, AxisList *manual) {
  Str axes, shardings;
  bool in = is_custom_call(instr, "xla.sdy.GlobalToLocalShape");
  RETURN_IF(!instr_frontend(instr, "xla.sdy.manual_axes", &axes) ||
                !instr_frontend(instr, in ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings", &shardings),
            diag_fail(graph->diag, STATUS_INVALID, instr->place, NULL,
                      "'%.*s' does not say its manual axes and shardings", STR_ARG(instr->name)));
  TRY(axes_parse_manual(graph->arena, axes, graph->mesh, manual, instr->place, graph->diag));
  return parse_sdy_list(graph, shardings, instr->place, list);
}

/* SPMDFullToShardShape and its opposite stand behind a Sharding that says how the value lies outside, or,
 * coming out, carry it themselves. Their regions are manual over the whole mesh. */
static Status import_manual_hlo(Graph *graph, const Node *node, const Instr *instr, ShardingList *list,
                                AxisList *manual) {
  const HloSharding *hlo = instr_sharding(instr);
  bool in = node->kind == NODE_MANUAL_IN;
  const Instr *outside = in ? comp_instr(graph->module, node->comp, instr->operands.at[0]) : instr;
  const HloSharding *inside =
      in ? hlo : instr_sharding(comp_instr(graph->module, node->comp, instr->operands.at[0]));
  RETURN_IF(instr_sharding(outside) == NULL || (inside != NULL && inside->kind != HLO_SHARDING_MANUAL),
            diag_fail(graph->diag, STATUS_INVALID, instr->place, "lower it with the Shardy partitioner",
                      "'%.*s': only shard_maps over all axes of the mesh are supported in this form",
                      STR_ARG(instr->name)));
  *manual = all_axes(graph);
  list->at = ARENA_ARRAY(graph->arena, const Sharding *, 1);
  list->n = 1;
  return from_hlo(graph, outside, instr_sharding(outside), 0, instr->shape->rank, &list->at[0]);
}

/* Nodes of one instruction follow each other, one a value. */
static Status import_manual(Graph *graph, uint32_t first) {
  Node *nodes = &graph->nodes.at[first];
  const Instr *instr = comp_instr(graph->module, nodes->comp, nodes->instr);
  Ids values = graph->leaves[nodes->comp][nodes->instr];
  ShardingList list;
  AxisList manual;
  if (str_starts(instr_custom_call_target(instr), "xla.sdy."))
    TRY(import_manual_sdy(graph, instr, &list, &manual));
  else
    TRY(import_manual_hlo(graph, nodes, instr, &list, &manual));
  TRY(check_baked_axes(graph, instr, manual));
  manual = without_ones(manual);
  ShardingList inside = {ARENA_ARRAY(graph->arena, const Sharding *, list.n + 1), list.n};
  for (uint32_t k = 0; k < list.n; k++) {
    bool in = nodes->kind == NODE_MANUAL_IN;
    inside.at[k] = in ? sharding_without_axes(graph->arena, list.at[k], manual) : list.at[k];
  }
  TRY(set_slots(graph, values, inside, instr));
  for (uint32_t k = 0; k < values.n; k++) {
    nodes[k].manual = manual;
    nodes[k].outer = list.at[k];
  }
  return STATUS_OK;
}

/* --- overrides
 * ------------------------------------------------------------------------------------------------ */

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
  RETURN_IF(!found, diag_fail(graph->diag, STATUS_USAGE, NOWHERE, "name argN, outN or a value of the program",
                              "the program has no '%.*s'", STR_ARG(spec->name)));
  const Shape *shape = out ? graph->outputs[number].shape : graph_slot(graph, value)->shape;
  TRY(sharding_parse_spec(graph->arena, spec->spec, graph->mesh, shape->rank, &sharding, graph->diag));
  TRY(normalised(graph, sharding, NOWHERE, &sharding));
  if (!out) return set_slot(graph, value, sharding, NOWHERE);
  graph->outputs[number].sharding = sharding;
  graph->outputs[number].given = true;
  return STATUS_OK;
}

/* --- all of it
 * ------------------------------------------------------------------------------------------------ */

/* The program's own word on its outputs: an xla.sdy.FuncResultSharding, else sharding= on the root. */
static Status import_outputs(Graph *graph) {
  const Comp *entry = module_entry(graph->module);
  const Instr *root = &entry->instrs.at[entry->root];
  const HloSharding *hlo = graph->n_meshes == 0 ? instr_sharding(root) : NULL;
  for (uint32_t k = 0; k < graph->n_outputs; k++) {
    Output *output = &graph->outputs[k];
    if (output->slot != NO_ID) output->sharding = graph->slots.at[output->slot].sharding;
    if (output->sharding == NULL && hlo != NULL && shape_is_array(output->shape))
      TRY(from_hlo(graph, root, hlo, k, output->shape->rank, &output->sharding));
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

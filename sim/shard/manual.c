/* Manual regions: how shardings pass between the values outside, which lie over all axes, and the local ones
 * inside, which speak of the axes that are not manual. */
#include "sim/shard/graph.h"

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
  return import_sdy_list(graph, shardings, instr->place, list);
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
  return import_hlo(graph, outside, instr_sharding(outside), 0, instr->shape->rank, &list->at[0]);
}

/* Nodes of one instruction follow each other, one a value. */
Status import_manual(Graph *graph, uint32_t first) {
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
  manual = axes_without_ones(manual);
  ShardingList inside = {ARENA_ARRAY(graph->arena, const Sharding *, list.n + 1), list.n};
  for (uint32_t k = 0; k < list.n; k++) {
    bool in = nodes->kind == NODE_MANUAL_IN;
    inside.at[k] = in ? sharding_without_axes(graph->arena, list.at[k], manual) : list.at[k];
  }
  TRY(import_set(graph, values, inside, instr));
  for (uint32_t k = 0; k < values.n; k++) {
    nodes[k].manual = manual;
    nodes[k].outer = list.at[k];
  }
  ManualBorder *border = ARENA_NEW(graph->arena, ManualBorder);
  *border = (ManualBorder){manual, list.at, list.n};
  VEC_PUSH(graph->arena, &graph->borders, ((Border){nodes->comp, nodes->instr, border}));
  return STATUS_OK;
}

/* Propagation: a worklist of ops whose shardings changed, run to a fixpoint for each priority of the user
 * and, within it, for each of five classes of ops, the cheapest to follow first (shardy: user_priority_,
 * op_priority_ and basic_propagation). */
#include "sim/shard/graph.h"

#include <stdlib.h>

enum { OP_PRIORITIES = 5, NODES_BETWEEN_RESETS = 256 };

typedef struct {
  Graph *graph;
  Arena *scratch;     /* for one node at a time */
  Vec(uint32_t) work; /* the last one is next */
  uint32_t priority, visited;
} Propagation;

/* --- Which way a node may propagate. --- */

static bool moves_only(const Node *node, const Instr *instr) {
  if (node->kind != NODE_OP) return true;
  return node->elementwise || instr->op == OP_RESHAPE || instr->op == OP_TRANSPOSE ||
         is_custom_call(instr, "MoveToDevice") || is_custom_call(instr, "MoveToHost");
}

/* An operand that others use too could be pulled another way by them. Edges own what they read. */
static bool operands_used_once(const Graph *graph, const Node *node) {
  if (node->kind != NODE_OP && node->kind != NODE_BARRIER) return true;
  for (uint32_t t = 0; t < node->rule->n_operands; t++) {
    uint32_t value = node->values[t];
    if (graph->values.at[value].uses > 1 && graph_slot(graph, value)->shape->rank != 0) return false;
  }
  return true;
}

/* Ops that only pass values on go first, those whose operands have no other user before the rest; then all
 * ops along dimensions that pass through; then all but broadcasts forward; then all. */
static Direction direction_of_class(const Graph *graph, const Node *node, const Factor *factor,
                                    uint32_t class) {
  const Instr *instr = comp_instr(graph->module, node->comp, node->instr);
  bool slices = instr->op == OP_DYNAMIC_SLICE || instr->op == OP_DYNAMIC_UPDATE_SLICE;
  Direction without_broadcast = instr->op == OP_BROADCAST ? DIRECTION_BACKWARD : DIRECTION_BOTH;
  switch (class) {
  case 0:
    if (!operands_used_once(graph, node)) return DIRECTION_NONE;
    __attribute__((fallthrough));
  case 1: return moves_only(node, instr) ? DIRECTION_BOTH : slices ? DIRECTION_FORWARD : DIRECTION_NONE;
  case 2: return factor->kind == FACTOR_PASS_THROUGH ? without_broadcast : DIRECTION_NONE;
  case 3: return without_broadcast;
  default: return DIRECTION_BOTH;
  }
}

static Direction direction_along(const Propagation *p, const Node *node, const Factor *factor) {
  if (factor->blocked) return DIRECTION_NONE;
  if (node->kind == NODE_BARRIER) return node->allowed;
  Direction direction = DIRECTION_NONE;
  for (uint32_t class = 0; class <= p->priority; class ++)
    direction |= direction_of_class(p->graph, node, factor, class);
  return direction;
}

/* --- One node. --- */

static void push(Propagation *p, uint32_t n) {
  Node *node = &p->graph->nodes.at[n];
  if (node->queued) return;
  node->queued = true;
  VEC_PUSH(p->graph->arena, &p->work, n);
}

/* The first of the nodes in program order is to be next. */
static void push_all_but(Propagation *p, const Slot *slot, uint32_t except) {
  for (uint32_t i = slot->nodes.n; i-- > 0;)
    if (slot->nodes.at[i] != except) push(p, slot->nodes.at[i]);
}

static bool same_exactly(const Sharding *a, const Sharding *b) {
  for (uint32_t d = 0; d < a->rank; d++)
    if (a->dims[d].open != b->dims[d].open || !axes_eq(a->dims[d].axes, b->dims[d].axes)) return false;
  return true;
}

static bool has_axes(const Sharding *sharding) {
  for (uint32_t d = 0; d < sharding->rank; d++)
    if (sharding->dims[d].axes.n != 0) return true;
  return false;
}

static bool changes(const Sharding *before, const Sharding *after) {
  return before == NULL ? has_axes(after) : !same_exactly(before, after);
}

static void set_sharding(Propagation *p, uint32_t slot_index, const Sharding *sharding, const Slot *from,
                         uint32_t node) {
  Slot *slot = &p->graph->slots.at[slot_index];
  slot->sharding = sharding_copy(p->graph->arena, sharding);
  slot->origin_comp = from->origin_comp;
  slot->origin_instr = from->origin_instr;
  push_all_but(p, slot, node);
  if (slot->group == NO_ID) return;
  for (uint32_t s = 0; s < p->graph->slots.n; s++) {
    Slot *member = &p->graph->slots.at[s];
    if (s == slot_index || member->group != slot->group) continue;
    member->sharding = slot->sharding;
    push_all_but(p, member, node);
  }
}

/* False where there is nothing to project: no sharding at all, or one of a single device. */
static bool gather_shardings(Propagation *p, const Node *node, const Sharding **shardings, uint32_t n) {
  bool any = false;
  for (uint32_t t = 0; t < n; t++) {
    shardings[t] = node_sharding(p->scratch, p->graph, node, t);
    if (shardings[t] != NULL && shardings[t]->device >= 0) return false;
    any |= shardings[t] != NULL;
  }
  return any;
}

static void visit(Propagation *p, uint32_t n) {
  Graph *graph = p->graph;
  const Node *node = &graph->nodes.at[n];
  const FactorRule *rule = node->rule;
  uint32_t n_tensors = rule->n_operands + rule->n_results;
  const Sharding **shardings = ARENA_ARRAY(p->scratch, const Sharding *, n_tensors + 1);
  if (!gather_shardings(p, node, shardings, n_tensors)) return;
  Projection projection = projection_of(p->scratch, graph->mesh, rule, shardings);
  Direction *directions = ARENA_ARRAY(p->scratch, Direction, rule->n_factors + 1);
  uint32_t *source = ARENA_ARRAY(p->scratch, uint32_t, n_tensors + 1);
  for (uint32_t f = 0; f < rule->n_factors; f++) directions[f] = direction_along(p, node, &rule->factors[f]);
  projection_propagate(&projection, directions, node->elementwise, source);
  for (uint32_t t = 0; t < n_tensors; t++) {
    if (!projection.tensors[t].changed) continue;
    const Sharding *after = projection_sharding(&projection, t, shardings[t]);
    if (!changes(shardings[t], after)) continue;
    after = node_slot_sharding(p->scratch, graph, node, t, after);
    set_sharding(p, graph->values.at[node->values[t]].slot, after, graph_slot(graph, node->values[source[t]]),
                 n);
  }
}

static void reset_scratch(Propagation *p) {
  if (p->visited++ % NODES_BETWEEN_RESETS != 0) return;
  arena_free(p->scratch);
  p->scratch = arena_new();
}

/* --- Outputs. --- */

/* Between what is given out and the value that is returned, both ways. */
static void propagate_output(Propagation *p, Output *output) {
  Graph *graph = p->graph;
  if (!shape_is_array(output->shape)) return;
  Slot *slot = graph_slot(graph, output->value);
  const Sharding *pair[] = {slot->sharding, output->sharding};
  if (pair[0] == NULL && pair[1] == NULL) return;
  if ((pair[0] != NULL && pair[0]->device >= 0) || (pair[1] != NULL && pair[1]->device >= 0)) return;
  const FactorRule *rule = rule_identity(p->scratch, output->shape, 1);
  Projection projection = projection_of(p->scratch, graph->mesh, rule, pair);
  Direction *directions = ARENA_ARRAY(p->scratch, Direction, rule->n_factors + 1);
  uint32_t source[2];
  for (uint32_t f = 0; f < rule->n_factors; f++) directions[f] = DIRECTION_BOTH;
  projection_propagate(&projection, directions, false, source);
  const Sharding *value = projection_sharding(&projection, 0, pair[0]);
  const Sharding *result = projection_sharding(&projection, 1, pair[1]);
  if (changes(pair[0], value)) slot->sharding = sharding_copy(graph->arena, value);
  if (changes(pair[1], result)) output->sharding = sharding_copy(graph->arena, result);
}

static void propagate_outputs(Propagation *p) {
  reset_scratch(p);
  for (uint32_t k = 0; k < p->graph->n_outputs; k++) propagate_output(p, &p->graph->outputs[k]);
}

/* --- Priorities. --- */

static void run_op_priorities(Propagation *p) {
  for (p->priority = 0; p->priority < OP_PRIORITIES; p->priority++) {
    propagate_outputs(p);
    for (uint32_t n = p->graph->nodes.n; n-- > 0;) push(p, n);
    while (p->work.n != 0) {
      uint32_t n = p->work.at[--p->work.n];
      p->graph->nodes.at[n].queued = false;
      reset_scratch(p);
      visit(p, n);
    }
    propagate_outputs(p);
  }
}

/* A dimension whose turn is still to come is closed and empty, and its axes are kept from other use. */
static const Sharding *held_back(Arena *arena, const Sharding *wanted) {
  Sharding *sharding = (Sharding *)sharding_copy(arena, wanted);
  for (uint32_t d = 0; d < sharding->rank; d++) {
    DimSharding *dim = &sharding->dims[d];
    if (dim->priority == 0) continue;
    sharding->replicated = axes_concat(arena, wanted->mesh, sharding->replicated, dim->axes);
    *dim = (DimSharding){.open = false};
  }
  return sharding;
}

static const Sharding *released(Arena *arena, const Sharding *now, const Sharding *wanted,
                                uint32_t priority) {
  Sharding *sharding = (Sharding *)sharding_copy(arena, now);
  for (uint32_t d = 0; d < sharding->rank; d++) {
    if (wanted->dims[d].priority != priority) continue;
    sharding->dims[d] = wanted->dims[d];
    sharding->dims[d].priority = 0;
    sharding->replicated = axes_minus(arena, wanted->mesh, sharding->replicated, wanted->dims[d].axes);
  }
  return sharding;
}

/* The least priority above `above` that any dimension has; false where there is none. */
static bool next_priority(const Graph *graph, uint32_t above, uint32_t *next) {
  bool found = false;
  for (uint32_t s = 0; s < graph->slots.n; s++) {
    const Sharding *wanted = graph->slots.at[s].wanted;
    for (uint32_t d = 0; wanted != NULL && d < wanted->rank; d++) {
      uint32_t priority = wanted->dims[d].priority;
      if (priority <= above || (found && priority >= *next)) continue;
      found = true;
      *next = priority;
    }
  }
  return found;
}

static bool has_priorities(const Sharding *sharding) {
  for (uint32_t d = 0; sharding != NULL && d < sharding->rank; d++)
    if (sharding->dims[d].priority != 0) return true;
  return false;
}

static void set_priorities(Graph *graph, uint32_t priority) {
  for (uint32_t s = 0; s < graph->slots.n; s++) {
    Slot *slot = &graph->slots.at[s];
    if (!has_priorities(slot->wanted)) continue;
    slot->sharding = priority == 0 ? held_back(graph->arena, slot->sharding)
                                   : released(graph->arena, slot->sharding, slot->wanted, priority);
  }
}

/* Outputs are sharded like the slots of their results, where the program has those. */
static void set_output_priorities(Graph *graph, uint32_t priority, const Sharding **wanted) {
  for (uint32_t k = 0; k < graph->n_outputs; k++) {
    if (!has_priorities(wanted[k])) continue;
    graph->outputs[k].sharding =
        priority == 0 ? held_back(graph->arena, wanted[k])
                      : released(graph->arena, graph->outputs[k].sharding, wanted[k], priority);
  }
}

static void run(Propagation *p) {
  Graph *graph = p->graph;
  const Sharding **wanted = ARENA_ARRAY(graph->arena, const Sharding *, graph->n_outputs + 1);
  for (uint32_t k = 0; k < graph->n_outputs; k++) wanted[k] = graph->outputs[k].sharding;
  uint32_t priority = 0;
  do {
    set_priorities(graph, priority);
    set_output_priorities(graph, priority, wanted);
    run_op_priorities(p);
  } while (next_priority(graph, priority, &priority));
}

static void link_nodes(Graph *graph) {
  for (uint32_t n = 0; n < graph->nodes.n; n++) {
    const Node *node = &graph->nodes.at[n];
    for (uint32_t t = 0; t < node->rule->n_operands + node->rule->n_results; t++) {
      Slot *slot = graph_slot(graph, node->values[t]);
      if (slot->nodes.n == 0 || slot->nodes.at[slot->nodes.n - 1] != n)
        VEC_PUSH(graph->arena, &slot->nodes, n);
    }
  }
}

/* --- The table. --- */

static const Sharding *or_replicated(const Graph *graph, const Sharding *sharding, const Shape *shape) {
  if (sharding != NULL) return sharding;
  return sharding_replicated(graph->arena, graph->mesh, shape_is_array(shape) ? shape->rank : 0, true);
}

static const Sharding *output_sharding(const Graph *graph, const Output *output) {
  const Sharding *sharding = or_replicated(graph, output->sharding, output->shape);
  if (output->by_user || !shape_is_array(output->shape)) return sharding;
  const Sharding *divisible = sharding_divisible(graph->arena, sharding, output->shape);
  if (graph->partitioner == PARTITIONER_GSPMD && !output->given && !sharding_eq(divisible, sharding))
    return sharding_replicated(graph->arena, graph->mesh, sharding->rank, false);
  return output->given ? sharding_divisible_by_parts(graph->arena, sharding, output->shape) : divisible;
}

/* To GSPMD a root that is the only result is the output: it is computed as that lies. */
static void settle_lone_root(Graph *graph) {
  const Comp *entry = module_entry(graph->module);
  if (graph->partitioner != PARTITIONER_GSPMD || entry->instrs.at[entry->root].op == OP_TUPLE) return;
  for (uint32_t k = 0; k < graph->n_outputs; k++)
    if (!graph->outputs[k].given)
      graph_slot(graph, graph->outputs[k].value)->sharding = graph->outputs[k].sharding;
}

static void settle_outputs(Graph *graph, Shardings *table) {
  table->outputs = ARENA_ARRAY(graph->arena, const Sharding *, graph->n_outputs + 1);
  table->n_outputs = graph->n_outputs;
  for (uint32_t k = 0; k < graph->n_outputs; k++) {
    Output *output = &graph->outputs[k];
    table->outputs[k] = output->sharding = output_sharding(graph, output);
    if (output->slot != NO_ID) graph->slots.at[output->slot].sharding = output->sharding;
  }
  settle_lone_root(graph);
}

/* Parameters, like outputs, are laid only where that divides them, unless the user says otherwise. */
static void settle_params(Graph *graph, Shardings *table) {
  const Comp *entry = module_entry(graph->module);
  Vec(const Sharding *) params = {0};
  for (uint32_t p = 0; p < entry->params.n; p++) {
    Ids leaves = graph->leaves[graph->module->entry][entry->params.at[p]];
    for (uint32_t k = 0; k < leaves.n; k++) {
      Slot *slot = graph_slot(graph, leaves.at[k]);
      slot->sharding = or_replicated(graph, slot->sharding, slot->shape);
      if (!slot->by_user && shape_is_array(slot->shape))
        slot->sharding = sharding_divisible_by_parts(graph->arena, slot->sharding, slot->shape);
      VEC_PUSH(graph->arena, &params, slot->sharding);
    }
  }
  table->params = params.at;
  table->n_params = params.n;
}

static ValueSharding value_sharding(const Graph *graph, Ids leaves, const Shape *shape) {
  if (!shape_is_tuple(shape) && !shape_is_array(shape)) return (ValueSharding){0};
  ValueSharding value = {ARENA_ARRAY(graph->arena, const Sharding *, leaves.n + 1), leaves.n};
  for (uint32_t k = 0; k < leaves.n; k++) {
    const Slot *slot = graph_slot(graph, leaves.at[k]);
    value.at[k] = or_replicated(graph, slot->sharding, slot->shape);
  }
  return value;
}

static ShardOrigin origin_of(const Graph *graph, uint32_t comp, uint32_t at) {
  Ids leaves = graph->leaves[comp][at];
  if (leaves.n == 0) return (ShardOrigin){comp, NO_ID};
  const Slot *slot = graph_slot(graph, leaves.at[0]);
  bool own = slot->origin_comp == comp && slot->origin_instr == at;
  return (ShardOrigin){slot->origin_comp, own ? NO_ID : slot->origin_instr};
}

static const ManualBorder ***borders_of(const Graph *graph) {
  uint32_t n = graph->module->comps.n;
  const ManualBorder ***borders = ARENA_ARRAY(graph->arena, const ManualBorder **, n + 1);
  for (uint32_t c = 0; c < n; c++)
    borders[c] = ARENA_ARRAY(graph->arena, const ManualBorder *, module_comp(graph->module, c)->instrs.n + 1);
  for (uint32_t b = 0; b < graph->borders.n; b++)
    borders[graph->borders.at[b].comp][graph->borders.at[b].instr] = graph->borders.at[b].border;
  return borders;
}

static Shardings *table_of(Graph *graph) {
  uint32_t n = graph->module->comps.n;
  Shardings *table = ARENA_NEW(graph->arena, Shardings);
  *table = (Shardings){.arena = graph->arena, .mesh = graph->mesh};
  table->borders = borders_of(graph);
  settle_params(graph, table);
  settle_outputs(graph, table);
  table->values = ARENA_ARRAY(graph->arena, ValueSharding *, n + 1);
  table->because = ARENA_ARRAY(graph->arena, ShardOrigin *, n + 1);
  for (uint32_t c = 0; c < n; c++) {
    const Comp *comp = module_comp(graph->module, c);
    table->values[c] = ARENA_ARRAY(graph->arena, ValueSharding, comp->instrs.n + 1);
    table->because[c] = ARENA_ARRAY(graph->arena, ShardOrigin, comp->instrs.n + 1);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      table->because[c][i] = (ShardOrigin){c, NO_ID};
      if (graph->leaves[c] == NULL) continue;
      table->because[c][i] = origin_of(graph, c, i);
      table->values[c][i] = value_sharding(graph, graph->leaves[c][i], comp->instrs.at[i].shape);
    }
  }
  return table;
}

static Status propagate(Graph *graph, const ShardOptions *options) {
  TRY(graph_choose_mesh(graph, options));
  TRY(graph_build(graph));
  TRY(graph_import(graph, options));
  link_nodes(graph);
  Propagation p = {.graph = graph};
  run(&p);
  arena_free(p.scratch);
  return STATUS_OK;
}

Status module_propagate(const Module *flat, const ShardOptions *options, Shardings **shardings, Diag *diag) {
  Graph graph = {.arena = arena_new(), .module = flat, .diag = diag, .partitioner = options->partitioner};
  Status status = propagate(&graph, options);
  if (status != STATUS_OK)
    arena_free(graph.arena);
  else
    *shardings = table_of(&graph);
  return status;
}

void shardings_free(Shardings *shardings) {
  if (shardings != NULL) arena_free(shardings->arena);
}

/* Sharding constraints: a constraint on a value is, where nothing speaks against it, the sharding of the
 * value itself (shardy: apply-sharding-constraints). */
#include "sim/shard/graph.h"

static bool is_constraint(const Graph *graph, const Node *node) {
  return node->kind == NODE_OP &&
         is_custom_call(comp_instr(graph->module, node->comp, node->instr), "Sharding");
}

static uint32_t input_of(const Node *node) {
  return node->values[0];
}

static uint32_t result_of(const Node *node) {
  return node->values[node->rule->n_operands];
}

/* What a reader of a value demands of it, if it is a constraint or leads into a manual region. */
static const Sharding *demanded(const Graph *graph, const Node *node) {
  if (node->kind == NODE_MANUAL_IN) return node->outer;
  return is_constraint(graph, node) ? graph_slot(graph, result_of(node))->sharding : NULL;
}

static bool fully_closed(const Sharding *sharding) {
  for (uint32_t d = 0; d < sharding->rank; d++)
    if (sharding->dims[d].open) return false;
  return true;
}

static bool same_demand(const Sharding *a, const Sharding *b) {
  return sharding_eq(a, b) && axes_eq(a->replicated, b->replicated) && fully_closed(a) == fully_closed(b);
}

static bool should_apply(const Graph *graph, uint32_t value, const Sharding *sharding) {
  if (sharding == NULL || graph_slot(graph, value)->sharding != NULL || !fully_closed(sharding)) return false;
  const Value *v = &graph->values.at[value];
  for (uint32_t r = 0; r < v->readers.n; r++) {
    const Sharding *other = demanded(graph, &graph->nodes.at[v->readers.at[r]]);
    if (other != NULL && !same_demand(other, sharding)) return false;
  }
  return true;
}

/* Lets reader `node` read value `by` for every operand that was `value`. */
static void replace_operand(Graph *graph, uint32_t node, uint32_t value, uint32_t by) {
  Node *reader = &graph->nodes.at[node];
  for (uint32_t t = 0; t < reader->rule->n_operands; t++) {
    if (reader->values[t] != value) continue;
    reader->values[t] = by;
    graph->values.at[value].uses--;
    graph->values.at[by].uses++;
    VEC_PUSH(graph->arena, &graph->values.at[by].readers, node);
  }
}

static void replace_outputs(Graph *graph, uint32_t value, uint32_t by) {
  for (uint32_t k = 0; k < graph->n_outputs; k++) {
    if (graph->outputs[k].value != value) continue;
    graph->outputs[k].value = by;
    graph->values.at[value].uses--;
    graph->values.at[by].uses++;
  }
}

static void replace_all_but(Graph *graph, uint32_t constraint, uint32_t value, uint32_t by) {
  uint32_t n = graph->values.at[value].readers.n;
  uint32_t *readers = arena_copy(graph->arena, graph->values.at[value].readers.at, n * sizeof(uint32_t));
  for (uint32_t r = 0; r < n; r++)
    if (readers[r] != constraint) replace_operand(graph, readers[r], value, by);
  replace_outputs(graph, value, by);
}

/* A constraint of our own behind `value`; returns its node. */
static uint32_t add_constraint(Graph *graph, uint32_t value, const Sharding *sharding) {
  const Slot *slot = graph_slot(graph, value);
  uint32_t comp = slot->comp, instr = slot->instr;
  const Shape *shape = slot->shape;
  Node node = {.kind = NODE_OP, .comp = comp, .instr = instr, .elementwise = true};
  node.rule = rule_identity(graph->arena, shape, 1);
  node.values = ARENA_ARRAY(graph->arena, uint32_t, 2);
  node.values[0] = value;
  node.values[1] = graph_new_value(graph, comp, instr, shape);
  graph_slot(graph, node.values[1])->sharding = sharding;
  graph->values.at[value].uses++;
  return graph_add_node(graph, node);
}

/* The sharding of a target of an edge decides for all of its targets; so the constraint is put between the
 * value and all that use it instead. */
static void apply(Graph *graph, uint32_t node, const Sharding *sharding) {
  uint32_t value = input_of(&graph->nodes.at[node]);
  if (!should_apply(graph, value, sharding)) return;
  if (!graph->values.at[value].edge_target) {
    graph_slot(graph, value)->sharding = sharding;
    return;
  }
  uint32_t constraint =
      is_constraint(graph, &graph->nodes.at[node]) ? node : add_constraint(graph, value, sharding);
  replace_all_but(graph, constraint, value, result_of(&graph->nodes.at[constraint]));
}

/* --- Chains. --- */

static bool read_by_constraint(const Graph *graph, uint32_t value, uint32_t except) {
  const Value *v = &graph->values.at[value];
  for (uint32_t r = 0; r < v->readers.n; r++) {
    const Node *node = &graph->nodes.at[v->readers.at[r]];
    if (v->readers.at[r] != except && (node->kind == NODE_MANUAL_IN || is_constraint(graph, node)))
      return true;
  }
  return false;
}

static bool is_result_of_constraint(const Graph *graph, uint32_t value) {
  const Slot *slot = graph_slot(graph, value);
  return is_custom_call(comp_instr(graph->module, slot->comp, slot->instr), "Sharding");
}

/* The last of several constraints in a row that nothing else reads; NO_ID where there is no such chain. */
static uint32_t tail_of_chain(const Graph *graph, uint32_t head) {
  uint32_t input = input_of(&graph->nodes.at[head]), tail = head;
  if (is_result_of_constraint(graph, input) || graph_slot(graph, input)->sharding != NULL) return NO_ID;
  if (read_by_constraint(graph, input, head)) return NO_ID;
  for (;;) {
    const Value *result = &graph->values.at[result_of(&graph->nodes.at[tail])];
    if (result->uses != 1 || result->readers.n != 1) break;
    if (!is_constraint(graph, &graph->nodes.at[result->readers.at[0]])) break;
    tail = result->readers.at[0];
  }
  bool ends = !read_by_constraint(graph, result_of(&graph->nodes.at[tail]), NO_ID);
  return tail != head && ends ? tail : NO_ID;
}

/* What comes behind the chain reads its end rather than its beginning. */
static void read_from_tail(Graph *graph, uint32_t head, uint32_t tail) {
  uint32_t value = input_of(&graph->nodes.at[head]), by = result_of(&graph->nodes.at[tail]);
  uint32_t n = graph->values.at[value].readers.n, comp = graph->nodes.at[tail].comp;
  uint32_t *readers = arena_copy(graph->arena, graph->values.at[value].readers.at, n * sizeof(uint32_t));
  for (uint32_t r = 0; r < n; r++)
    if (readers[r] > tail && graph->nodes.at[readers[r]].comp == comp)
      replace_operand(graph, readers[r], value, by);
}

void graph_apply_constraints(Graph *graph) {
  uint32_t n = graph->nodes.n;
  for (uint32_t i = 0; i < n; i++) {
    if (is_constraint(graph, &graph->nodes.at[i])) {
      uint32_t tail = tail_of_chain(graph, i);
      if (tail != NO_ID) read_from_tail(graph, i, tail);
    }
    apply(graph, i, demanded(graph, &graph->nodes.at[i]));
  }
}

/* From a flattened module to the graph of propagation (what Shardy's add-data-flow-edges pass makes of
 * StableHLO). */
#include "sim/shard/graph.h"

enum { DEEPEST_NESTING = 200 };

static Instr *instr_at(const Graph *graph, uint32_t comp, uint32_t instr) {
  return comp_instr(graph->module, comp, instr);
}

bool is_custom_call(const Instr *instr, const char *target) {
  return instr->op == OP_CUSTOM_CALL && str_is(instr_custom_call_target(instr), target);
}

Slot *graph_slot(const Graph *graph, uint32_t value) {
  return &graph->slots.at[graph->values.at[value].slot];
}

/* --- Values. --- */

uint32_t graph_new_value(Graph *graph, uint32_t comp, uint32_t instr, const Shape *shape) {
  Slot slot = {.shape = shape,
               .comp = comp,
               .instr = instr,
               .origin_comp = comp,
               .origin_instr = instr,
               .group = NO_ID};
  VEC_PUSH(graph->arena, &graph->slots, slot);
  VEC_PUSH(graph->arena, &graph->values, (Value){.slot = graph->slots.n - 1, .stands_for = NO_ID});
  return graph->values.n - 1;
}

/* Another value of the same slot. */
static uint32_t value_beside(Graph *graph, uint32_t value) {
  Value beside = {.slot = graph->values.at[value].slot, .edge_target = true, .stands_for = NO_ID};
  VEC_PUSH(graph->arena, &graph->values, beside);
  return graph->values.n - 1;
}

static uint32_t count_leaves(const Shape *shape) {
  if (!shape_is_tuple(shape)) return 1;
  uint32_t n = 0;
  for (uint32_t p = 0; p < shape->rank; p++) n += count_leaves(shape->parts[p]);
  return n;
}

static void add_leaf_values(Graph *graph, uint32_t comp, uint32_t instr, const Shape *shape, Ids *leaves) {
  if (!shape_is_tuple(shape)) {
    leaves->at[leaves->n++] = graph_new_value(graph, comp, instr, shape);
    return;
  }
  for (uint32_t p = 0; p < shape->rank; p++) add_leaf_values(graph, comp, instr, shape->parts[p], leaves);
}

static Ids room_for(Graph *graph, const Shape *shape) {
  return (Ids){ARENA_ARRAY(graph->arena, uint32_t, count_leaves(shape) + 1), 0};
}

static Ids new_values(Graph *graph, uint32_t comp, uint32_t instr) {
  const Shape *shape = instr_at(graph, comp, instr)->shape;
  Ids leaves = room_for(graph, shape);
  add_leaf_values(graph, comp, instr, shape, &leaves);
  return leaves;
}

static Ids values_beside(Graph *graph, Ids values) {
  Ids beside = {ARENA_ARRAY(graph->arena, uint32_t, values.n + 1), values.n};
  for (uint32_t k = 0; k < values.n; k++) beside.at[k] = value_beside(graph, values.at[k]);
  return beside;
}

static Ids operand_values(const Graph *graph, uint32_t comp, const Instr *instr, uint32_t operand) {
  return graph->leaves[comp][instr->operands.at[operand]];
}

static Ids all_operand_values(Graph *graph, uint32_t comp, const Instr *instr) {
  Ids all = {0};
  for (uint32_t k = 0; k < instr->operands.n; k++) all.n += operand_values(graph, comp, instr, k).n;
  all.at = ARENA_ARRAY(graph->arena, uint32_t, all.n + 1);
  all.n = 0;
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    Ids values = operand_values(graph, comp, instr, k);
    for (uint32_t i = 0; i < values.n; i++) all.at[all.n++] = values.at[i];
  }
  return all;
}

static Ids element_values(const Graph *graph, uint32_t comp, const Instr *instr) {
  Ids tuple = operand_values(graph, comp, instr, 0);
  const Shape *shape = instr_at(graph, comp, instr->operands.at[0])->shape;
  int64_t index = instr_int(instr, ATTR_index, 0);
  uint32_t first = 0;
  for (int64_t p = 0; p < index; p++) first += count_leaves(shape->parts[p]);
  return (Ids){tuple.at + first, count_leaves(instr->shape)};
}

/* --- Nodes. --- */

/* The value that is used where `value` is: an output's result is not a use of its own. */
static uint32_t used_value(const Graph *graph, uint32_t value) {
  uint32_t stands_for = graph->values.at[value].stands_for;
  return stands_for == NO_ID ? value : stands_for;
}

uint32_t graph_add_node(Graph *graph, Node node) {
  uint32_t at = graph->nodes.n;
  for (uint32_t t = 0; t < node.rule->n_operands; t++) {
    node.values[t] = used_value(graph, node.values[t]);
    VEC_PUSH(graph->arena, &graph->values.at[node.values[t]].readers, at);
  }
  VEC_PUSH(graph->arena, &graph->nodes, node);
  return at;
}

/* An edge from value k of each list of sources to target k, for all k. */
static void add_edges(Graph *graph, NodeKind kind, uint32_t comp, uint32_t instr, const Ids *sources,
                      uint32_t n, Ids targets) {
  for (uint32_t k = 0; k < targets.n; k++) {
    const Shape *shape = graph_slot(graph, targets.at[k])->shape;
    if (!shape_is_array(shape)) continue;
    Node node = {.kind = kind, .comp = comp, .instr = instr};
    node.rule = rule_identity(graph->arena, shape, n);
    node.values = ARENA_ARRAY(graph->arena, uint32_t, n + 1);
    for (uint32_t s = 0; s < n; s++) node.values[s] = sources[s].at[k];
    node.values[n] = targets.at[k];
    graph->values.at[targets.at[k]].edge_target = true;
    graph_add_node(graph, node);
  }
}

static bool is_elementwise(const Instr *instr) {
  if (instr->op == OP_BITCAST_CONVERT) return true; /* of equal rank, see op_node() */
  if (instr->op == OP_CUSTOM_CALL)
    return is_custom_call(instr, "Sharding") || is_custom_call(instr, "xla.sdy.PropagationBarrier");
  return op_is_elementwise(instr->op);
}

static void add_op_node(Graph *graph, uint32_t comp, uint32_t at, Ids results) {
  const Instr *instr = instr_at(graph, comp, at);
  bool gspmd = graph->partitioner == PARTITIONER_GSPMD;
  if (!(gspmd ? rule_is_known_to_gspmd(instr) : rule_is_known_to_shardy(instr))) return;
  const FactorRule *rule = rule_of(graph->arena, graph->module, comp, instr);
  if (rule == NULL || results.n != rule->n_results) return;
  Node node = {.kind = NODE_OP, .rule = rule, .comp = comp, .instr = at};
  Ids operands = all_operand_values(graph, comp, instr);
  node.values = ARENA_ARRAY(graph->arena, uint32_t, operands.n + results.n + 1);
  if (operands.n != 0) memcpy(node.values, operands.at, operands.n * sizeof *operands.at);
  memcpy(node.values + operands.n, results.at, results.n * sizeof *results.at);
  node.elementwise = is_elementwise(instr);
  if (instr->op == OP_BITCAST_CONVERT) node.elementwise = rule->operands[0].rank == rule->results[0].rank;
  if (is_custom_call(instr, "xla.sdy.PropagationBarrier")) node.kind = NODE_BARRIER;
  graph_add_node(graph, node);
}

/* --- Computations. --- */

static Status add_comp(Graph *graph, uint32_t comp, const Ids *params, uint32_t depth);

static Ids root_values(const Graph *graph, uint32_t comp) {
  return graph->leaves[comp][module_comp(graph->module, comp)->root];
}

static Status add_while(Graph *graph, uint32_t comp, uint32_t at, Ids *results, uint32_t depth) {
  const Instr *instr = instr_at(graph, comp, at);
  uint32_t condition = instr_comp(instr, ATTR_condition), body = instr_comp(instr, ATTR_body);
  *results = new_values(graph, comp, at);
  Ids of_condition = values_beside(graph, *results), of_body = values_beside(graph, *results);
  TRY(add_comp(graph, condition, &of_condition, depth + 1));
  TRY(add_comp(graph, body, &of_body, depth + 1));
  Ids sources[] = {operand_values(graph, comp, instr, 0), root_values(graph, body)};
  add_edges(graph, NODE_EDGE, comp, at, sources, 2, *results);
  return STATUS_OK;
}

static Ids branches_of(Graph *graph, const Instr *instr) {
  Ids branches = instr_comps(instr, ATTR_branch_computations);
  if (branches.n != 0) return branches;
  uint32_t *two = ARENA_ARRAY(graph->arena, uint32_t, 2);
  two[0] = instr_comp(instr, ATTR_true_computation);
  two[1] = instr_comp(instr, ATTR_false_computation);
  return (Ids){two, two[0] == NO_ID || two[1] == NO_ID ? 0 : 2};
}

static Status add_conditional(Graph *graph, uint32_t comp, uint32_t at, Ids *results, uint32_t depth) {
  Ids branches = branches_of(graph, instr_at(graph, comp, at));
  Ids *sources = ARENA_ARRAY(graph->arena, Ids, branches.n + 1);
  *results = new_values(graph, comp, at);
  for (uint32_t b = 0; b < branches.n; b++) {
    Ids operand = operand_values(graph, comp, instr_at(graph, comp, at), b + 1);
    TRY(add_comp(graph, branches.at[b], &operand, depth + 1));
    sources[b] = root_values(graph, branches.at[b]);
  }
  add_edges(graph, NODE_EDGE, comp, at, sources, branches.n, *results);
  return STATUS_OK;
}

static void add_pass_through(Graph *graph, NodeKind kind, uint32_t comp, uint32_t at, Ids *results) {
  *results = new_values(graph, comp, at);
  Ids sources = all_operand_values(graph, comp, instr_at(graph, comp, at));
  if (sources.n == results->n) add_edges(graph, kind, comp, at, &sources, 1, *results);
}

/* What a program's result is sharded like; the value itself goes through it. */
static Ids result_values(Graph *graph, uint32_t comp, uint32_t at) {
  Ids results = new_values(graph, comp, at);
  Ids operands = all_operand_values(graph, comp, instr_at(graph, comp, at));
  for (uint32_t k = 0; k < results.n && k < operands.n; k++)
    graph->values.at[results.at[k]].stands_for = operands.at[k];
  return results;
}

static Status add_custom_call(Graph *graph, uint32_t comp, uint32_t at, Ids *results) {
  const Instr *instr = instr_at(graph, comp, at);
  if (is_custom_call(instr, "xla.sdy.FuncResultSharding")) {
    *results = result_values(graph, comp, at);
  } else if (is_custom_call(instr, "xla.sdy.GlobalToLocalShape") ||
             is_custom_call(instr, "SPMDFullToShardShape")) {
    add_pass_through(graph, NODE_MANUAL_IN, comp, at, results);
  } else if (is_custom_call(instr, "xla.sdy.LocalToGlobalShape") ||
             is_custom_call(instr, "SPMDShardToFullShape")) {
    add_pass_through(graph, NODE_MANUAL_OUT, comp, at, results);
  } else {
    *results = new_values(graph, comp, at);
    add_op_node(graph, comp, at, *results);
  }
  return STATUS_OK;
}

static Status add_instr(Graph *graph, uint32_t comp, uint32_t at, const Ids *params, uint32_t depth) {
  const Instr *instr = instr_at(graph, comp, at);
  Ids *results = &graph->leaves[comp][at];
  switch (instr->op) {
  case OP_PARAMETER: *results = params == NULL ? new_values(graph, comp, at) : *params; return STATUS_OK;
  case OP_TUPLE: *results = all_operand_values(graph, comp, instr); return STATUS_OK;
  case OP_GET_TUPLE_ELEMENT: *results = element_values(graph, comp, instr); return STATUS_OK;
  case OP_WHILE: return add_while(graph, comp, at, results, depth);
  case OP_CONDITIONAL: return add_conditional(graph, comp, at, results, depth);
  case OP_OPT_BARRIER: add_pass_through(graph, NODE_EDGE, comp, at, results); return STATUS_OK;
  case OP_CUSTOM_CALL: return add_custom_call(graph, comp, at, results);
  case OP_CALL:
  case OP_FUSION:
  case OP_ASYNC_START:
    return diag_fail(graph->diag, STATUS_INVALID, instr->place,
                     "a program that comes partitioned is run as it is",
                     "cannot propagate shardings through %s", op_text(instr->op));
  default:
    *results = new_values(graph, comp, at);
    add_op_node(graph, comp, at, *results);
    return STATUS_OK;
  }
}

static Status add_comp(Graph *graph, uint32_t comp, const Ids *params, uint32_t depth) {
  const Comp *c = module_comp(graph->module, comp);
  RETURN_IF(depth > DEEPEST_NESTING || graph->leaves[comp] != NULL,
            diag_fail(graph->diag, STATUS_INVALID, c->place, NULL,
                      "computation '%.*s' is nested too deep or called more than once", STR_ARG(c->name)));
  graph->leaves[comp] = ARENA_ARRAY(graph->arena, Ids, c->instrs.n + 1);
  for (uint32_t at = 0; at < c->instrs.n; at++) TRY(add_instr(graph, comp, at, params, depth));
  return STATUS_OK;
}

/* --- Uses and outputs. --- */

static void count_use(Graph *graph, uint32_t value) {
  graph->values.at[used_value(graph, value)].uses++;
}

/* Tuples only pass values on, and so do the operands of a conditional, which branches use by themselves. */
static void count_uses_of(Graph *graph, uint32_t comp, const Instr *instr) {
  if (instr->op == OP_TUPLE || instr->op == OP_GET_TUPLE_ELEMENT) return;
  if (is_custom_call(instr, "xla.sdy.FuncResultSharding")) return;
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    Ids values = operand_values(graph, comp, instr, k);
    if (instr->op == OP_CONDITIONAL && k > 0) continue;
    for (uint32_t i = 0; i < values.n; i++) count_use(graph, values.at[i]);
  }
}

static void count_uses(Graph *graph) {
  for (uint32_t comp = 0; comp < graph->module->comps.n; comp++) {
    if (graph->leaves[comp] == NULL) continue;
    const Comp *c = module_comp(graph->module, comp);
    for (uint32_t at = 0; at < c->instrs.n; at++) count_uses_of(graph, comp, &c->instrs.at[at]);
    Ids root = root_values(graph, comp);
    for (uint32_t k = 0; k < root.n; k++) count_use(graph, root.at[k]);
  }
}

static void find_outputs(Graph *graph) {
  Ids root = root_values(graph, graph->module->entry);
  graph->outputs = ARENA_ARRAY(graph->arena, Output, root.n + 1);
  graph->n_outputs = root.n;
  for (uint32_t k = 0; k < root.n; k++) {
    uint32_t value = root.at[k];
    bool result = graph->values.at[value].stands_for != NO_ID;
    graph->outputs[k] = (Output){.value = used_value(graph, value),
                                 .shape = graph_slot(graph, value)->shape,
                                 .slot = result ? graph->values.at[value].slot : NO_ID};
  }
}

Status graph_build(Graph *graph) {
  graph->leaves = ARENA_ARRAY(graph->arena, Ids *, graph->module->comps.n + 1);
  TRY(add_comp(graph, graph->module->entry, NULL, 0));
  count_uses(graph);
  find_outputs(graph);
  return STATUS_OK;
}

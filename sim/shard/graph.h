/* The graph that propagation walks: values of arrays, slots that hold their shardings, and nodes that connect
 * them by factor rules. Tuples are taken apart; what flows through them, through loops and branches, is an
 * edge of its own. */
#pragma once

#include "sim/shard/projection.h"
#include "sim/shard/propagate.h"

/* A value: a leaf of an instruction's result. Several values share a slot where one edge decides for all of
 * them: a loop's result and the parameters of its body and condition. */
typedef struct {
  uint32_t slot;
  uint32_t uses;
  bool edge_target;      /* of a loop, branch, barrier or manual region */
  uint32_t stands_for;   /* of an output's result: the value that is given out; else NO_ID */
  Vec(uint32_t) readers; /* nodes that it is an operand of, in program order */
} Value;

typedef struct {
  const Sharding *sharding; /* NULL while nothing is known of it */
  const Sharding *wanted;   /* as the user gave it, with priorities; NULL where not given */
  const Shape *shape;
  uint32_t comp, instr;               /* that define it */
  uint32_t origin_comp, origin_instr; /* whose sharding it took over; its own at first */
  bool by_user;                       /* told by a --spec: not to be made divisible */
  uint32_t group;                     /* of values sharded alike; NO_ID where none */
  Vec(uint32_t) nodes;                /* that touch it, in program order */
} Slot;

typedef enum { NODE_OP, NODE_EDGE, NODE_MANUAL_IN, NODE_MANUAL_OUT, NODE_BARRIER } NodeKind;

typedef struct {
  NodeKind kind;
  const FactorRule *rule;
  uint32_t comp, instr;
  uint32_t *values;      /* operands, then results */
  AxisList manual;       /* MANUAL_*: the axes of the region */
  const Sharding *outer; /* MANUAL_*: what the program says of the value outside */
  Direction allowed;     /* BARRIER */
  bool elementwise, queued;
} Node;

/* What the program gives out: slot of the returned value, and the sharding of the result. */
typedef struct {
  uint32_t value;
  const Shape *shape;
  const Sharding *sharding;
  bool given;    /* by the program: not inferred */
  bool by_user;  /* told by a --spec: not to be made divisible */
  uint32_t slot; /* of the xla.sdy.FuncResultSharding; NO_ID where none */
} Output;

typedef struct {
  uint32_t comp, instr;
  const ManualBorder *border;
} Border;

typedef struct {
  Arena *arena;
  const Module *module;
  Diag *diag;
  Partitioner partitioner;
  const Mesh *mesh;
  const Mesh **meshes; /* that shardings of the program may name, sizes as they are now */
  uint32_t n_meshes;
  Vec(Value) values;
  Vec(Slot) slots;
  Vec(Node) nodes;
  Ids **
      leaves; /* leaves[computation][instruction]: values; NULL for computations that no data flows through */
  Output *outputs;
  uint32_t n_outputs;
  Vec(Border) borders;
} Graph;

/* The mesh that shardings are over: the user's, else the program's, else one made from its tile lists. */
Status graph_choose_mesh(Graph *graph, const ShardOptions *options);
/* Values, slots and nodes of the entry computation and all that it loops over or branches to. */
Status graph_build(Graph *graph);
/* Reads the program's shardings into the slots, and what the user overrides. */
Status graph_import(Graph *graph, const ShardOptions *options);
/* Gives every constraint's sharding to the value that it constrains where that is free to have it. */
void graph_apply_constraints(Graph *graph);

bool is_custom_call(const Instr *instr, const char *target);
uint32_t graph_new_value(Graph *graph, uint32_t comp, uint32_t instr, const Shape *shape);
/* Adds a node, as a reader of its operands. */
uint32_t graph_add_node(Graph *graph, Node node);

Slot *graph_slot(const Graph *graph, uint32_t value);
/* The slot's sharding as the node sees it: inside or outside a manual region. */
const Sharding *node_sharding(Arena *arena, const Graph *graph, const Node *node, uint32_t tensor);
/* The other way: what the slot holds when the node has found `sharding`. */
const Sharding *node_slot_sharding(Arena *arena, const Graph *graph, const Node *node, uint32_t tensor,
                                   const Sharding *sharding);
/* `sharding` without `axes`, in its dimensions and replicated axes. */
const Sharding *sharding_without_axes(Arena *arena, const Sharding *sharding, AxisList axes);

/* --- Of import.c, for manual.c. --- */

typedef struct {
  const Sharding **at;
  uint32_t n;
} ShardingList;

/* The shardings of an attribute, one or one a value, over the one mesh. */
Status import_sdy_list(Graph *graph, Str text, Place place, ShardingList *list);
/* Leaf `k` of sharding={…}; NULL where it says nothing: of values of a manual region, and unknown ones. */
Status import_hlo(Graph *graph, const Instr *instr, const HloSharding *hlo, uint32_t k, uint32_t rank,
                  const Sharding **sharding);
Status import_set(Graph *graph, Ids values, ShardingList list, const Instr *instr);
/* Axes of size 1 shard nothing. In place. */
AxisList axes_without_ones(AxisList axes);
/* Of manual.c: what bounds the region that node `first` and those of the same instruction lead into or out
 * of. */
Status import_manual(Graph *graph, uint32_t first);

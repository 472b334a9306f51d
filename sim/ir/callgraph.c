/* The call graph, walked depth first on a stack of its own, since calls can be as deep as a program is long.
 */
#include "sim/ir/callgraph.h"

typedef enum { UNSEEN, OPEN, DONE } Mark;

typedef struct {
  Ids callees;
  uint32_t comp, next; /* the next callee to visit */
} Visit;

typedef struct {
  Arena *arena;
  const Module *module;
  Mark *marks;
  Visit *stack; /* as deep as there are computations at most */
  uint32_t depth;
  Ids order;
} Walk;

static Ids callees_of(const Walk *walk, uint32_t comp) {
  Vec(uint32_t) all = {0};
  const Comp *at = module_comp(walk->module, comp);
  for (uint32_t i = 0; i < at->instrs.n; i++) {
    Ids called = instr_called(walk->arena, &at->instrs.at[i]);
    for (uint32_t c = 0; c < called.n; c++) VEC_PUSH(walk->arena, &all, called.at[c]);
  }
  return (Ids){all.at, all.n};
}

static void enter(Walk *walk, uint32_t comp) {
  walk->marks[comp] = OPEN;
  walk->stack[walk->depth++] = (Visit){.callees = callees_of(walk, comp), .comp = comp};
}

static void append(Walk *walk, uint32_t comp) {
  walk->order.at[walk->order.n++] = comp;
}

/* Visits `comp` and all that it calls; false on a circle. */
static bool visit(Walk *walk, uint32_t comp) {
  enter(walk, comp);
  while (walk->depth > 0) {
    Visit *top = &walk->stack[walk->depth - 1];
    if (top->next == top->callees.n) {
      walk->marks[top->comp] = DONE;
      append(walk, top->comp);
      walk->depth--;
      continue;
    }
    uint32_t callee = top->callees.at[top->next++];
    if (walk->marks[callee] == UNSEEN)
      enter(walk, callee);
    else if (walk->marks[callee] == OPEN) {
      append(walk, callee);
      return false;
    }
  }
  return true;
}

bool callees_first(Arena *arena, const Module *module, Ids *order) {
  uint32_t n = module->comps.n;
  Walk walk = {.arena = arena,
               .module = module,
               .marks = ARENA_ARRAY(arena, Mark, n),
               .stack = ARENA_ARRAY(arena, Visit, n),
               .order.at = ARENA_ARRAY(arena, uint32_t, n + 1)};
  bool right = true;
  for (uint32_t comp = 0; right && comp < n; comp++) {
    if (walk.marks[comp] == UNSEEN) right = visit(&walk, comp);
  }
  *order = walk.order;
  return right;
}

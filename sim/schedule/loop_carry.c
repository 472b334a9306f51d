/* Loop carries. In: a while; out: the elements of its carry that its body can make by itself. */
#include "sim/schedule/loop_carry.h"

enum { SMALL = 8 }; /* a broadcast's operand is at most such a part of it */

/* The value that a tuple was made of, where an element of it is taken. */
static const Instr *taken(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->op != OP_GET_TUPLE_ELEMENT) return instr;
  const Instr *tuple = comp_instr(module, comp, instr->operands.at[0]);
  int64_t index = instr_int(instr, ATTR_index, -1);
  bool known = tuple->op == OP_TUPLE && index >= 0 && index < tuple->operands.n;
  return known ? comp_instr(module, comp, tuple->operands.at[index]) : instr;
}

static bool widens_much(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->op != OP_BROADCAST || !shape_is_array(instr->shape)) return false;
  return shape_bytes(comp_instr(module, comp, instr->operands.at[0])->shape) <=
         shape_bytes(instr->shape) / SMALL;
}

/* Whether the body hands element `element` of its parameter on as it is. */
static bool hands_on(const Comp *body, uint32_t element) {
  const Instr *root = &body->instrs.at[body->root];
  if (root->op != OP_TUPLE || element >= root->operands.n || body->params.n != 1) return false;
  const Instr *next = &body->instrs.at[root->operands.at[element]];
  return next->op == OP_GET_TUPLE_ELEMENT && next->operands.at[0] == body->params.at[0] &&
         instr_int(next, ATTR_index, -1) == element;
}

const bool *loop_made_anew(Arena *arena, const Module *module, uint32_t comp, const Instr *loop) {
  uint32_t callee = instr_comp(loop, ATTR_body);
  if (loop->op != OP_WHILE || callee == NO_ID || loop->operands.n != 1) return NULL;
  const Instr *first = comp_instr(module, comp, loop->operands.at[0]);
  if (first->op != OP_TUPLE) return NULL;
  bool *anew = ARENA_ARRAY(arena, bool, first->operands.n + 1);
  for (uint32_t k = 0; k < first->operands.n; k++) {
    anew[k] =
        widens_much(module, comp, taken(module, comp, comp_instr(module, comp, first->operands.at[k]))) &&
        hands_on(module_comp(module, callee), k);
  }
  return anew;
}

/* Cost classes of the opcodes, from opcode.def. */
#include "models/cost.h"

static const Cost costs[OP_COUNT] = {
#define OP(name, text, arity, evaluator, rule, cost) [OP_##name] = COST_##cost,
#include "sim/ir/opcode.def"
#undef OP
};

Cost op_cost(Opcode op) {
  return costs[op];
}

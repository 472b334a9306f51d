/* Index columns that count: see iota_column.h. */
#include "sim/partition/iota_column.h"

/* Chains of reshapes and the like are short. */
enum { MOST_STEPS = 32 };

static const Instr *operand_of(const Comp *comp, const Instr *instr, uint32_t i) {
  return &comp->instrs.at[instr->operands.at[i]];
}

static bool is_zero(const Comp *comp, const Instr *instr) {
  while (instr->op == OP_BROADCAST) instr = operand_of(comp, instr, 0);
  if (instr->op != OP_CONSTANT || instr->literal == NULL || instr->literal->data == NULL) return false;
  const unsigned char *bytes = instr->literal->data;
  size_t n = (size_t)shape_elements(instr->shape) * dtype_bytes(instr->shape->dtype);
  for (size_t i = 0; i < n; i++)
    if (bytes[i] != 0) return false;
  return true;
}

/* select(x < 0, …, x): x itself, where x is known not to be negative. */
static bool is_wrapped(const Comp *comp, const Instr *select) {
  const Instr *test = operand_of(comp, select, 0);
  return test->op == OP_COMPARE && str_is(instr_word(test, ATTR_direction), "LT") &&
         test->operands.at[0] == select->operands.at[2] && is_zero(comp, operand_of(comp, test, 1));
}

/* Where a dimension is in the result of a reshape that adds or drops only dimensions of size 1. */
static int64_t reshaped_dim(const Shape *from, const Shape *to, int64_t dim) {
  uint32_t d = 0, t = 0;
  for (;; d++, t++) {
    while (d < from->rank && from->dims[d] == 1) d++;
    while (t < to->rank && to->dims[t] == 1) t++;
    if (d >= from->rank || t >= to->rank || from->dims[d] != to->dims[t]) return NO_COORDINATE;
    if (d == dim) return t;
  }
}

/* The dimension whose coordinate a value is. */
static int64_t coordinate_of(const Comp *comp, const Instr *instr, uint32_t steps) {
  if (steps == 0) return NO_COORDINATE;
  if (instr->op == OP_IOTA) return instr_int(instr, ATTR_iota_dimension, 0);
  uint32_t from = instr->op == OP_SELECT ? 2 : 0;
  bool passes = instr->op == OP_BROADCAST || instr->op == OP_RESHAPE || instr->op == OP_CONVERT ||
                instr->op == OP_COPY || (instr->op == OP_SELECT && is_wrapped(comp, instr));
  if (!passes) return NO_COORDINATE;
  const Instr *source = operand_of(comp, instr, from);
  int64_t dim = coordinate_of(comp, source, steps - 1);
  if (dim == NO_COORDINATE) return NO_COORDINATE;
  if (instr->op == OP_BROADCAST) return instr_ints(instr, ATTR_dimensions).at[dim];
  return instr->op == OP_RESHAPE ? reshaped_dim(source->shape, instr->shape, dim) : dim;
}

int64_t column_coordinate(const Comp *comp, uint32_t indices, int64_t vector_dim, int64_t column) {
  const Instr *instr = &comp->instrs.at[indices];
  bool joined = instr->op == OP_CONCATENATE && instr_ints(instr, ATTR_dimensions).at[0] == vector_dim;
  if (!joined) {
    bool alone = vector_dim >= instr->shape->rank || instr->shape->dims[vector_dim] == 1;
    return alone ? coordinate_of(comp, instr, MOST_STEPS) : NO_COORDINATE;
  }
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    const Instr *part = operand_of(comp, instr, i);
    int64_t width = part->shape->dims[vector_dim];
    if (column == 0 && width == 1) return coordinate_of(comp, part, MOST_STEPS);
    if (column < width) return NO_COORDINATE;
    column -= width;
  }
  return NO_COORDINATE;
}

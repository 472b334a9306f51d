/* See device_scalar.h: a small interpreter of integer scalars, for all devices at once. */
#include "sim/partition/device_scalar.h"

/* Chains are short; deeper ones are not followed. */
enum { MOST_DEPTH = 24 };

typedef struct {
  Arena *scratch;
  const Module *module;
  const Comp *comp;
  uint32_t devices;
} Scalars;

static bool follow(const Scalars *scalars, uint32_t at, uint32_t depth, int64_t *values);

static bool is_small_integer(DType dtype) {
  return dtype_class(dtype) == DCLASS_PRED || (dtype_is_integer(dtype) && dtype_bits(dtype) <= 32);
}

/* What an integer of a type keeps of a value. */
static int64_t wrapped(DType dtype, int64_t value) {
  if (dtype == DTYPE_PRED) return value != 0;
  uint32_t unused = 64 - dtype_bits(dtype);
  uint64_t moved = (uint64_t)value << unused;
  return dtype_class(dtype) == DCLASS_SIGNED ? (int64_t)moved >> unused : (int64_t)(moved >> unused);
}

static bool compared(const Instr *instr, int64_t a, int64_t b, int64_t *value) {
  Str direction = instr_word(instr, ATTR_direction);
  if (str_is(direction, "EQ"))
    *value = a == b;
  else if (str_is(direction, "NE"))
    *value = a != b;
  else if (str_is(direction, "LT"))
    *value = a < b;
  else if (str_is(direction, "LE"))
    *value = a <= b;
  else if (str_is(direction, "GT"))
    *value = a > b;
  else if (str_is(direction, "GE"))
    *value = a >= b;
  else
    return false;
  return true;
}

/* One device's value of an op whose operands are known. */
static bool computed(const Instr *instr, const int64_t *in, int64_t *value) {
  switch (instr->op) {
  case OP_CONVERT:
  case OP_RESHAPE:
  case OP_COPY:
  case OP_BITCAST: *value = in[0]; break;
  case OP_ADD: *value = in[0] + in[1]; break;
  case OP_SUBTRACT: *value = in[0] - in[1]; break;
  case OP_MULTIPLY: *value = in[0] * in[1]; break;
  case OP_DIVIDE:
    if (in[1] == 0) return false;
    *value = in[0] / in[1];
    break;
  case OP_REMAINDER:
    if (in[1] == 0) return false;
    *value = in[0] % in[1];
    break;
  case OP_AND: *value = in[0] & in[1]; break;
  case OP_OR: *value = in[0] | in[1]; break;
  case OP_MINIMUM: *value = in[0] < in[1] ? in[0] : in[1]; break;
  case OP_MAXIMUM: *value = in[0] > in[1] ? in[0] : in[1]; break;
  case OP_SELECT: *value = in[0] != 0 ? in[1] : in[2]; break;
  case OP_CLAMP: *value = in[1] < in[0] ? in[0] : in[1] > in[2] ? in[2] : in[1]; break;
  case OP_COMPARE: return compared(instr, in[0], in[1], value);
  default: return false;
  }
  *value = wrapped(instr->shape->dtype, *value);
  return true;
}

/* A row of a table of constants. */
static bool looked_up(const Scalars *scalars, const Instr *instr, uint32_t depth, int64_t *values) {
  const Instr *table = &scalars->comp->instrs.at[instr->operands.at[0]];
  bool plain = table->op == OP_CONSTANT && table->literal != NULL && !table->literal->elided &&
               table->shape->rank == 1 && instr->operands.n == 2;
  if (!plain || !follow(scalars, instr->operands.at[1], depth + 1, values)) return false;
  int64_t last = table->shape->dims[0] - 1;
  for (uint32_t d = 0; d < scalars->devices; d++) {
    int64_t row = values[d] < 0 ? 0 : values[d] > last ? last : values[d];
    values[d] = literal_int_at(table->literal, row);
  }
  return true;
}

static bool computed_everywhere(const Scalars *scalars, const Instr *instr, uint32_t depth, int64_t *values) {
  int64_t *operands[3], in[3];
  if (instr->operands.n == 0 || instr->operands.n > 3) return false;
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    operands[k] = ARENA_ARRAY(scalars->scratch, int64_t, scalars->devices);
    if (!follow(scalars, instr->operands.at[k], depth + 1, operands[k])) return false;
  }
  for (uint32_t d = 0; d < scalars->devices; d++) {
    for (uint32_t k = 0; k < instr->operands.n; k++) in[k] = operands[k][d];
    if (!computed(instr, in, &values[d])) return false;
  }
  return true;
}

static bool follow(const Scalars *scalars, uint32_t at, uint32_t depth, int64_t *values) {
  const Instr *instr = &scalars->comp->instrs.at[at];
  bool single = shape_is_array(instr->shape) && shape_elements(instr->shape) == 1;
  if (depth > MOST_DEPTH || !single || !is_small_integer(instr->shape->dtype)) return false;
  bool constant = instr->op == OP_CONSTANT && instr->literal != NULL && !instr->literal->elided;
  if (!constant && instr->op != OP_PARTITION_ID)
    return instr->op == OP_DYNAMIC_SLICE ? looked_up(scalars, instr, depth, values)
                                         : computed_everywhere(scalars, instr, depth, values);
  for (uint32_t d = 0; d < scalars->devices; d++)
    values[d] = constant ? literal_int_at(instr->literal, 0) : d;
  return true;
}

bool device_scalars(Arena *scratch, const Module *module, uint32_t comp, uint32_t instr, uint32_t devices,
                    int64_t *values) {
  Scalars scalars = {scratch, module, module_comp(module, comp), devices};
  return module->replica_count <= 1 && follow(&scalars, instr, 0, values);
}

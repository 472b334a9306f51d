/* Trips of a while. In: its text; out: how often the body runs, where the text tells.
 *
 * The one idea: every value that matters is a number, or an element of the loop's state plus a number. The
 * condition compares two such values, the body adds a step to one of them, the loop's operand says where they
 * start; that is how JAX writes scan and fori_loop, with calls in between or without. */
#include "sim/schedule/schedule.h"

#include <stdlib.h>

enum { LARGEST_SEARCH = 4096 }; /* values looked at for one loop: bounds what a hostile text can cost */

/* A value of a computation that belongs to a loop. */
typedef struct {
  enum { UNKNOWN, NUMBER, ELEMENT, STATE } kind;
  int64_t offset;   /* of NUMBER and ELEMENT */
  uint32_t element; /* of ELEMENT: index into the state */
} Known;

/* A computation with what is known of its parameters. */
typedef struct {
  const Module *module;
  uint32_t comp;
  const Known *params;
  uint32_t n_params;
  uint32_t *budget;
} Scope;

static const Known unknown = {.kind = UNKNOWN};

static Known value_of(const Scope *scope, uint32_t instr);
static Known part_of(const Scope *scope, uint32_t instr, uint32_t part);

static Known plus(Known a, Known b, int64_t sign) {
  Known sum = a;
  if (b.kind != NUMBER || (a.kind != NUMBER && a.kind != ELEMENT)) return unknown;
  if (__builtin_mul_overflow(b.offset, sign, &b.offset)) return unknown;
  return __builtin_add_overflow(a.offset, b.offset, &sum.offset) ? unknown : sum;
}

static Known constant_value(const Instr *instr) {
  const Literal *literal = instr->literal;
  bool integer =
      literal != NULL && shape_is_scalar(literal->shape) && dtype_is_integer(literal->shape->dtype);
  if (!integer || literal->data == NULL) return unknown;
  return (Known){.kind = NUMBER, .offset = literal_int_at(literal, 0)};
}

static const Instr *instr_of(const Scope *scope, uint32_t instr) {
  return comp_instr(scope->module, scope->comp, instr);
}

static Known operand_value(const Scope *scope, const Instr *instr, uint32_t i) {
  return i < instr->operands.n ? value_of(scope, instr->operands.at[i]) : unknown;
}

static uint32_t callee_of(const Instr *instr) {
  return instr_comp(instr, instr->op == OP_CALL ? ATTR_to_apply : ATTR_calls);
}

/* What a called computation's root is (part < 0) or a part of it, by the arguments of the call. */
static Known called_value(const Scope *scope, const Instr *call, int64_t part) {
  uint32_t callee = callee_of(call), n = call->operands.n;
  if (callee == NO_ID || n > *scope->budget) return unknown;
  Arena *scratch = arena_new();
  Known *args = ARENA_ARRAY(scratch, Known, n);
  for (uint32_t i = 0; i < n; i++) args[i] = operand_value(scope, call, i);
  Scope inner = {scope->module, callee, args, n, scope->budget};
  uint32_t root = module_comp(scope->module, callee)->root;
  Known value = part < 0 ? value_of(&inner, root) : part_of(&inner, root, (uint32_t)part);
  arena_free(scratch);
  return value;
}

/* Part `part` of a tuple. */
static Known part_of(const Scope *scope, uint32_t at, uint32_t part) {
  const Instr *instr = instr_of(scope, at);
  if (*scope->budget == 0 || --*scope->budget == 0) return unknown;
  switch (instr->op) {
  case OP_TUPLE: return operand_value(scope, instr, part);
  case OP_COPY:
  case OP_OPT_BARRIER: return instr->operands.n == 1 ? part_of(scope, instr->operands.at[0], part) : unknown;
  case OP_CALL:
  case OP_FUSION: return called_value(scope, instr, part);
  default: break;
  }
  Known whole = value_of(scope, at);
  return whole.kind == STATE ? (Known){.kind = ELEMENT, .element = part} : unknown;
}

static Known value_of(const Scope *scope, uint32_t at) {
  const Instr *instr = instr_of(scope, at);
  if (*scope->budget == 0 || --*scope->budget == 0) return unknown;
  switch (instr->op) {
  case OP_CONSTANT: return constant_value(instr);
  case OP_PARAMETER:
    return instr->parameter < (int64_t)scope->n_params ? scope->params[instr->parameter] : unknown;
  case OP_GET_TUPLE_ELEMENT:
    return instr->operands.n == 1
               ? part_of(scope, instr->operands.at[0], (uint32_t)instr_int(instr, ATTR_index, 0))
               : unknown;
  case OP_ADD: {
    Known a = operand_value(scope, instr, 0), b = operand_value(scope, instr, 1);
    return b.kind == NUMBER ? plus(a, b, 1) : plus(b, a, 1);
  }
  case OP_SUBTRACT: return plus(operand_value(scope, instr, 0), operand_value(scope, instr, 1), -1);
  case OP_CONVERT:
  case OP_COPY:
  case OP_BITCAST:
  case OP_RESHAPE:
  case OP_OPT_BARRIER: return operand_value(scope, instr, 0);
  case OP_CALL:
  case OP_FUSION: return called_value(scope, instr, -1);
  default: return unknown;
  }
}

typedef struct {
  Known left, right;
  Str direction; /* empty: no comparison */
} Comparison;

/* The comparison that a condition's root is, by itself or in a computation that it calls. */
static Comparison comparison_of(const Scope *scope) {
  const Instr *root = instr_of(scope, module_comp(scope->module, scope->comp)->root);
  if (root->op == OP_COMPARE)
    return (Comparison){operand_value(scope, root, 0), operand_value(scope, root, 1),
                        instr_word(root, ATTR_direction)};
  Comparison found = {unknown, unknown, {NULL, 0}};
  if ((root->op != OP_CALL && root->op != OP_FUSION) || callee_of(root) == NO_ID || *scope->budget == 0)
    return found;
  --*scope->budget;
  Arena *scratch = arena_new();
  Known *args = ARENA_ARRAY(scratch, Known, root->operands.n);
  for (uint32_t i = 0; i < root->operands.n; i++) args[i] = operand_value(scope, root, i);
  Scope inner = {scope->module, callee_of(root), args, root->operands.n, scope->budget};
  found = comparison_of(&inner);
  arena_free(scratch);
  return found;
}

/* Trips of `for (i = start; i DIRECTION bound; i += step)`; -1 where it never ends or steps over its end. */
static int64_t count(Str direction, __int128 start, __int128 bound, __int128 step) {
  if (str_is(direction, "GT") || str_is(direction, "GE")) {
    __int128 low = bound; /* the same loop upwards */
    bound = start, start = low, step = -step;
  }
  bool exact = str_is(direction, "NE"), closed = str_is(direction, "LE") || str_is(direction, "GE");
  __int128 gap = bound - start + closed;
  if (str_is(direction, "EQ")) return -1;
  if (exact ? gap == 0 : gap <= 0) return 0;
  if (step == 0 || (exact && gap % step != 0)) return -1;
  __int128 trips = gap / step + (gap % step != 0);
  return trips < 0 || trips > INT64_MAX ? -1 : (int64_t)trips;
}

static Str mirrored(Str direction) {
  static const char *const pairs[][2] = {{"LT", "GT"}, {"GT", "LT"}, {"LE", "GE"}, {"GE", "LE"}};
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (str_is(direction, pairs[i][0])) return str_of(pairs[i][1]);
  }
  return direction;
}

/* `"known_trip_count":{"n":"12"}` of a backend_config, in whatever spacing; -1 where there is none. */
static int64_t known_trip_count(const Instr *instr) {
  Str text = instr_word(instr, ATTR_backend_config);
  const char *found = text.n == 0 ? NULL : memmem(text.at, text.n, "known_trip_count", 16);
  if (found == NULL) return -1;
  Str rest = str_sub(text, (size_t)(found - text.at), text.n);
  size_t start = 0, stop;
  while (start < rest.n && (rest.at[start] < '0' || rest.at[start] > '9') && rest.at[start] != '}') start++;
  for (stop = start; stop < rest.n && rest.at[stop] >= '0' && rest.at[stop] <= '9';) stop++;
  int64_t trips;
  return str_to_int(str_sub(rest, start, stop), &trips) ? trips : -1;
}

/* What stays the same in every trip: a number, or an element that the body passes on, as it was at the start.
 */
static Known at_start(const Scope *caller, const Instr *loop, Known value) {
  if (value.kind != ELEMENT) return value;
  return plus(part_of(caller, loop->operands.at[0], value.element),
              (Known){.kind = NUMBER, .offset = value.offset}, 1);
}

int64_t while_trip_count(const Module *module, uint32_t comp, const Instr *instr) {
  int64_t known = known_trip_count(instr);
  uint32_t condition = instr_comp(instr, ATTR_condition), body = instr_comp(instr, ATTR_body);
  if (known >= 0 || condition == NO_ID || body == NO_ID || instr->operands.n != 1) return known;

  uint32_t budget = LARGEST_SEARCH;
  const Known state = {.kind = STATE};
  Scope caller = {module, comp, NULL, 0, &budget}, tested = {module, condition, &state, 1, &budget};
  Comparison test = comparison_of(&tested);
  if (test.left.kind != ELEMENT) test = (Comparison){test.right, test.left, mirrored(test.direction)};
  if (test.left.kind != ELEMENT) return -1;

  Scope next = {module, body, &state, 1, &budget};
  uint32_t root = module_comp(module, body)->root;
  Known step = part_of(&next, root, test.left.element);
  if (step.kind != ELEMENT || step.element != test.left.element) return -1;
  if (test.right.kind == ELEMENT) {
    Known passed = part_of(&next, root, test.right.element);
    if (passed.kind != ELEMENT || passed.element != test.right.element || passed.offset != 0) return -1;
  }
  Known start = at_start(&caller, instr, test.left), bound = at_start(&caller, instr, test.right);
  if (start.kind != NUMBER || bound.kind != NUMBER) return -1;
  return count(test.direction, start.offset, bound.offset, step.offset);
}

/* Operations with regions. HLO's computations see nothing of the code around them: what a region uses of it
 * becomes one more value that a loop carries, or an operand of the branch; constants are made again inside.
 */
#include "sim/read/stablehlo.h"

/* Computations. */

Status open_comp(Translator *tr, Str name, Around *around, uint32_t *comp) {
  enum { DEEPEST = 500 };
  RETURN_IF(++tr->depth > DEEPEST,
            OP_FAIL(tr, tr->op->at, NULL, "regions and calls nest more than %d deep", DEEPEST));
  *around = (Around){tr->comp, tr->trail.n, tr->op};
  *comp = tr->comp = module_add_comp(tr->module, name);
  module_comp(tr->module, *comp)->place = lex_place(&tr->mlir->lex, tr->op->at);
  return STATUS_OK;
}

void close_comp(Translator *tr, uint32_t root, const Around *around) {
  module_comp(tr->module, tr->comp)->root = root;
  while (tr->trail.n > around->trail) {
    const Rebound *last = &tr->trail.at[--tr->trail.n];
    tr->bindings[last->value] = last->was;
  }
  tr->comp = around->comp;
  tr->op = around->op;
  tr->depth--;
}

static void place_param(Translator *tr, uint32_t instr, const MlirValue *value) {
  Instr *param = made(tr, instr);
  param->place = lex_place(&tr->mlir->lex, value->at);
  param->origin = mlir_origin(tr->mlir, value->location);
}

void add_params(Translator *tr, const MlirRegion *region) {
  for (uint32_t i = 0; i < region->n_args; i++) {
    const MlirValue *value = &tr->mlir->values.at[region->arg + i];
    Str name = str_printf(tr->arena, "Arg_%u", i);
    uint32_t instr = comp_add_parameter(tr->module, tr->comp, i, name, value->type);
    place_param(tr, instr, value);
    bind_value(tr, region->arg + i, instr);
  }
}

static bool is_terminator(const MlirOp *op) {
  return str_is(op->name, "stablehlo.return") || str_is(op->name, "return") ||
         str_is(op->name, "func.return") || str_is(op->name, "sdy.return") || str_is(op->name, "mhlo.return");
}

static Status no_such_op(Translator *tr) {
  static const char *const names[] = {
#define STABLEHLO(text, opcode, translator) text,
#include "sim/read/stablehlo.def"
#undef STABLEHLO
  };
  const char *hint = did_you_mean(tr->scratch, tr->op->name, names, sizeof names / sizeof *names,
                                  "podsim reads what JAX lowers to: StableHLO, CHLO and Shardy");
  return OP_FAIL(tr, tr->op->at, hint, "the operation %.*s is not supported",
                 STR_ARG(str_sub(tr->op->name, 0, 80)));
}

static const struct {
  const char *text;
  Opcode op;
  Translate *translate;
} operations[] = {
#define STABLEHLO(text, opcode, translator) {text, OP_##opcode, translate_##translator},
#include "sim/read/stablehlo.def"
#undef STABLEHLO
};

static bool find_operation(Translator *tr, Str name, uint32_t *row) {
  if (tr->rows == NULL) {
    tr->rows = map_new(tr->scratch);
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
      map_put(tr->rows, str_of(operations[i].text), (uint32_t)i);
  }
  return map_get(tr->rows, name, row);
}

bool operation_known(Translator *tr, Str name) {
  uint32_t row;
  return find_operation(tr, name, &row);
}

Status translate_operation(Translator *tr) {
  uint32_t row;
  if (!find_operation(tr, tr->op->name, &row)) return no_such_op(tr);
  return operations[row].translate(tr, operations[row].op);
}

/* The operations of a region up to the one that returns, which is then at hand. */
static Status translate_ops(Translator *tr, const MlirRegion *region) {
  for (uint32_t i = 0; i < region->ops.n; i++) {
    tr->op = &region->ops.at[i];
    if (is_terminator(tr->op)) return STATUS_OK;
    TRY(translate_operation(tr));
  }
  return OP_FAIL(tr, tr->op->at, NULL, "a region here ends without returning anything");
}

Status translate_body(Translator *tr, const MlirRegion *region, Ids *roots) {
  TRY(translate_ops(tr, region));
  return use_operands(tr, roots);
}

uint32_t root_of(Translator *tr, Ids roots) {
  return roots.n == 1 ? roots.at[0] : emit_tuple(tr, roots.at, roots.n);
}

Status expect_regions(Translator *tr, uint32_t n) {
  RETURN_IF(tr->op->n_regions != n, OP_FAIL(tr, tr->op->at, NULL, "%.*s has %u regions, not %u",
                                            STR_ARG(str_sub(tr->op->name, 0, 80)), n, tr->op->n_regions));
  return STATUS_OK;
}

Status scalar_region(Translator *tr, uint32_t k, uint32_t *comp) {
  Around around;
  Ids roots;
  RETURN_IF(k >= tr->op->n_regions,
            OP_FAIL(tr, tr->op->at, NULL, "%.*s lacks a region", STR_ARG(str_sub(tr->op->name, 0, 80))));
  const MlirRegion *region = &tr->op->regions[k];
  TRY(open_comp(tr, STR("region"), &around, comp));
  add_params(tr, region);
  TRY(translate_body(tr, region, &roots));
  close_comp(tr, root_of(tr, roots), &around);
  return STATUS_OK;
}

/* What regions use of the code around. */

typedef struct {
  Translator *tr;
  uint32_t first; /* values from here on are the regions' own */
  Vec(uint32_t) values;
} Captures;

static void capture_value(Captures *captures, uint32_t value) {
  Translator *tr = captures->tr;
  value = tr->stands_for[value];
  if (value >= captures->first || tr->marks[value] == tr->mark || tr->makers[value] != NULL) return;
  tr->marks[value] = tr->mark;
  VEC_PUSH(tr->scratch, &captures->values, value);
}

static void capture_uses(Captures *captures, const MlirRegion *region) {
  for (uint32_t i = 0; i < region->ops.n; i++) {
    const MlirOp *op = &region->ops.at[i];
    for (uint32_t k = 0; k < op->operands.n; k++) capture_value(captures, op->operands.at[k]);
    for (uint32_t r = 0; r < op->n_regions; r++) capture_uses(captures, &op->regions[r]);
  }
}

/* The values of the code around that `n` regions use, each once, constants left out. */
static Ids captured(Translator *tr, const MlirRegion *regions, uint32_t n) {
  Captures captures = {.tr = tr, .first = tr->op->regions[0].arg};
  tr->mark++;
  for (uint32_t r = 0; r < n; r++) capture_uses(&captures, &regions[r]);
  return (Ids){captures.values.at, captures.values.n};
}

/* The instructions of values, behind those of `list`. */
static Status append_uses(Translator *tr, Ids values, MlirIds *list) {
  for (uint32_t i = 0; i < values.n; i++) {
    uint32_t instr;
    TRY(use_value(tr, values.at[i], &instr));
    VEC_PUSH(tr->scratch, list, instr);
  }
  return STATUS_OK;
}

/* One parameter for all of `values`: the one itself, or a tuple. */
static void add_tuple_param(Translator *tr, Ids values) {
  if (values.n == 1) {
    const MlirValue *value = &tr->mlir->values.at[values.at[0]];
    uint32_t instr = comp_add_parameter(tr->module, tr->comp, 0, STR("Arg_0"), value->type);
    place_param(tr, instr, value);
    bind_value(tr, values.at[0], instr);
    return;
  }
  const Shape **shapes = ARENA_ARRAY(tr->scratch, const Shape *, values.n);
  for (uint32_t i = 0; i < values.n; i++) shapes[i] = value_type(tr, values.at[i]);
  Str name = values.n == 0 ? STR("arg_empty_tuple") : STR("arg_tuple");
  uint32_t param =
      comp_add_parameter(tr->module, tr->comp, 0, name, shape_tuple(tr->scratch, shapes, values.n));
  made(tr, param)->place = lex_place(&tr->mlir->lex, tr->op->at);
  for (uint32_t i = 0; i < values.n; i++) bind_value(tr, values.at[i], emit_element(tr, param, i));
}

/* Loops. */

/* What a loop carries: those of its arguments that change, and values of the code around. An argument that
 * the body gives back as it is stands for the loop's operand, as in XLA. */
typedef struct {
  Ids changing; /* places among the arguments */
  Ids captures;
} Loop;

static Status check_loop(Translator *tr, const MlirOp **give) {
  TRY(expect_regions(tr, 2));
  const MlirRegion *body = &tr->op->regions[1];
  uint32_t n = tr->op->operands.n;
  *give = body->ops.n == 0 ? NULL : &body->ops.at[body->ops.n - 1];
  RETURN_IF(
      tr->op->regions[0].n_args != n || body->n_args != n || tr->op->n_results != n || *give == NULL ||
          !is_terminator(*give) || (*give)->operands.n != n,
      OP_FAIL(tr, tr->op->at, NULL, "a loop's regions take and give back what it carries: %u values", n));
  return STATUS_OK;
}

/* Finds the arguments that change; the others, and their results, come to stand for the operands. */
static void find_changing(Translator *tr, const MlirOp *give, Loop *loop) {
  const MlirOp *op = tr->op;
  loop->changing = (Ids){ARENA_ARRAY(tr->scratch, uint32_t, op->operands.n), 0};
  for (uint32_t k = 0; k < op->operands.n; k++) {
    if (give->operands.at[k] != op->regions[1].arg + k) {
      loop->changing.at[loop->changing.n++] = k;
      continue;
    }
    uint32_t outside = tr->stands_for[op->operands.at[k]];
    tr->stands_for[op->regions[0].arg + k] = outside;
    tr->stands_for[op->regions[1].arg + k] = outside;
    tr->stands_for[op->result + k] = outside;
  }
}

static void find_captures(Translator *tr, const MlirOp *give, Loop *loop) {
  MlirRegion body = tr->op->regions[1];
  Captures captures = {.tr = tr, .first = tr->op->regions[0].arg};
  tr->mark++;
  body.ops.n--;
  capture_uses(&captures, &tr->op->regions[0]);
  capture_uses(&captures, &body);
  for (uint32_t i = 0; i < loop->changing.n; i++)
    capture_value(&captures, give->operands.at[loop->changing.at[i]]);
  loop->captures = (Ids){captures.values.at, captures.values.n};
}

/* The values of a list that stand at the loop's changing places. */
static Ids changing_of(Translator *tr, const Loop *loop, Ids values) {
  Ids some = {ARENA_ARRAY(tr->scratch, uint32_t, loop->changing.n), loop->changing.n};
  for (uint32_t i = 0; i < some.n; i++) some.at[i] = values.at[loop->changing.at[i]];
  return some;
}

static Ids values_from(Translator *tr, uint32_t first, uint32_t n) {
  Ids values = {ARENA_ARRAY(tr->scratch, uint32_t, n), n};
  for (uint32_t i = 0; i < n; i++) values.at[i] = first + i;
  return values;
}

static Ids joined(Translator *tr, Ids first, Ids second) {
  Ids both = {ARENA_ARRAY(tr->scratch, uint32_t, first.n + second.n), 0};
  for (uint32_t i = 0; i < first.n; i++) both.at[both.n++] = first.at[i];
  for (uint32_t i = 0; i < second.n; i++) both.at[both.n++] = second.at[i];
  return both;
}

/* Region `k` of a loop: the condition, or the body, whose root is all that the loop carries. */
static Status loop_region(Translator *tr, uint32_t k, const Loop *loop, uint32_t *comp) {
  const MlirRegion *region = &tr->op->regions[k];
  Around around;
  MlirIds roots = {0};
  Ids args = changing_of(tr, loop, values_from(tr, region->arg, region->n_args));
  TRY(open_comp(tr, STR("region"), &around, comp));
  add_tuple_param(tr, joined(tr, args, loop->captures));
  TRY(translate_ops(tr, region));
  Ids given = tr->op->operands;
  RETURN_IF(k != 0 && given.n != region->n_args,
            OP_FAIL(tr, tr->op->at, NULL, "a loop that carries %u values gives %u back here", region->n_args,
                    given.n));
  if (k != 0) given = joined(tr, changing_of(tr, loop, given), loop->captures);
  TRY(append_uses(tr, given, &roots));
  close_comp(tr, root_of(tr, (Ids){roots.at, roots.n}), &around);
  return STATUS_OK;
}

static Status emit_loop(Translator *tr, Opcode op, const Loop *loop) {
  MlirIds carried = {0};
  uint32_t condition, body;
  Ids init = joined(tr, changing_of(tr, loop, tr->op->operands), loop->captures);
  TRY(append_uses(tr, init, &carried));
  TRY(loop_region(tr, 1, loop, &body));
  TRY(loop_region(tr, 0, loop, &condition));
  uint32_t instr = emit_unary(tr, op, root_of(tr, (Ids){carried.at, carried.n}));
  instr_set_comp(tr->module, made(tr, instr), ATTR_condition, condition);
  instr_set_comp(tr->module, made(tr, instr), ATTR_body, body);
  TRY(set_discardable(tr, instr));
  for (uint32_t k = 0; k < carried.n; k++) {
    uint32_t element = carried.n == 1 ? instr : emit_element(tr, instr, k);
    if (k < loop->changing.n) give_one(tr, loop->changing.at[k], element);
  }
  return STATUS_OK;
}

Status translate_while(Translator *tr, Opcode op) {
  const MlirOp *give;
  Loop loop;
  TRY(check_loop(tr, &give));
  find_changing(tr, give, &loop);
  find_captures(tr, give, &loop);
  return emit_loop(tr, op, &loop);
}

/* scan(inputs…, first carries…): the body takes a slice of each input, and the carries. */
Status translate_scan(Translator *tr, Opcode op) {
  const MlirAttr *dimension;
  Ids operands;
  int64_t dim;
  bool reverse;
  uint32_t comp;
  TRY(expect_regions(tr, 1));
  TRY(need_attr(tr, "dimension", &dimension));
  TRY(attr_int(tr, "dimension", 0, &dim));
  TRY(attr_flag(tr, "is_reverse", false, &reverse));
  TRY(use_operands(tr, &operands));
  const MlirRegion *body = &tr->op->regions[0];
  RETURN_IF(dim < 0 || body->n_args != operands.n,
            OP_FAIL(tr, tr->op->at, NULL, "the body of this scan takes %u arguments, it has %u", operands.n,
                    body->n_args));
  uint32_t carries = 0; /* the last operands whose type the body's argument has */
  while (carries < operands.n && shape_eq(instr_shape(tr, operands.at[operands.n - 1 - carries]),
                                          value_type(tr, body->arg + body->n_args - 1 - carries)))
    carries++;
  TRY(scalar_region(tr, 0, &comp));
  const Shape *shape = tr->op->n_results == 1 ? shape_tuple(tr->arena, (const Shape *[]){result_type(tr)}, 1)
                                              : result_type(tr);
  uint32_t instr = emit(tr, op, shape, operands.at, operands.n);
  instr_set_ints(tr->module, made(tr, instr), ATTR_dimensions, &dim, 1);
  instr_set_int(tr->module, made(tr, instr), ATTR_num_carries, carries);
  instr_set_flag(tr->module, made(tr, instr), ATTR_is_reverse, reverse);
  instr_set_comp(tr->module, made(tr, instr), ATTR_to_apply, comp);
  TRY(set_discardable(tr, instr));
  for (uint32_t k = 0; k < tr->op->n_results; k++) give_one(tr, k, emit_element(tr, instr, k));
  return STATUS_OK;
}

/* Branches. */

/* Branch `k` as a computation, and its operand. */
static Status branch_region(Translator *tr, uint32_t k, uint32_t *operand, uint32_t *comp) {
  const MlirRegion *region = &tr->op->regions[k];
  Around around;
  Ids roots;
  MlirIds uses = {0};
  RETURN_IF(region->n_args != 0, OP_FAIL(tr, tr->op->at, NULL, "a branch has no arguments"));
  Ids captures = captured(tr, region, 1);
  TRY(append_uses(tr, captures, &uses));
  *operand = root_of(tr, (Ids){uses.at, uses.n});
  TRY(open_comp(tr, STR("region"), &around, comp));
  add_tuple_param(tr, captures);
  TRY(translate_body(tr, region, &roots));
  close_comp(tr, root_of(tr, roots), &around);
  return STATUS_OK;
}

static Status emit_conditional(Translator *tr, Opcode op, uint32_t n, uint32_t *comps, uint32_t *instr) {
  uint32_t *operands = ARENA_ARRAY(tr->scratch, uint32_t, (size_t)n + 1);
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operands[0]));
  for (uint32_t k = 0; k < n; k++) TRY(branch_region(tr, k, &operands[k + 1], &comps[k]));
  *instr = emit(tr, op, result_type(tr), operands, n + 1);
  return STATUS_OK;
}

Status translate_case(Translator *tr, Opcode op) {
  uint32_t n = tr->op->n_regions, instr, *comps = ARENA_ARRAY(tr->scratch, uint32_t, n);
  RETURN_IF(n == 0, OP_FAIL(tr, tr->op->at, NULL, "case has no branches"));
  TRY(emit_conditional(tr, op, n, comps, &instr));
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_branch_computations, .comps = {comps, n}});
  return give(tr, instr);
}

Status translate_if(Translator *tr, Opcode op) {
  uint32_t instr, comps[2];
  TRY(expect_regions(tr, 2));
  TRY(emit_conditional(tr, op, 2, comps, &instr));
  instr_set_comp(tr->module, made(tr, instr), ATTR_true_computation, comps[0]);
  instr_set_comp(tr->module, made(tr, instr), ATTR_false_computation, comps[1]);
  return give(tr, instr);
}

/* Element by element. */

static Status emit_applied(Translator *tr, Opcode op) {
  Ids operands;
  Ints ints;
  uint32_t comp;
  TRY(use_operands(tr, &operands));
  TRY(attr_ints(tr, "dimensions", &ints));
  TRY(scalar_region(tr, 0, &comp));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, operands.n);
  instr_set_ints(tr->module, made(tr, instr), ATTR_dimensions, ints.at, ints.n);
  instr_set_comp(tr->module, made(tr, instr), ATTR_to_apply, comp);
  return give(tr, instr);
}

Status translate_reduce(Translator *tr, Opcode op) {
  return emit_applied(tr, op);
}

Status translate_map(Translator *tr, Opcode op) {
  return emit_applied(tr, op);
}

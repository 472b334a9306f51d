/* Shardy's operations, as XLA brings them through HLO: meshes become a frontend attribute of the module,
 * shardings frontend attributes of instructions (and sharding={…} beside them), constraints custom calls
 * "Sharding", a manual computation a call between xla.sdy.GlobalToLocalShape and xla.sdy.LocalToGlobalShape.
 * Source: xla/service/spmd/shardy/sdy_round_trip. */
#include "sim/read/stablehlo.h"

/* Texts. */

Str sdy_per_value(Translator *tr, Str text) {
  const char *one = "#sdy.sharding<";
  if (str_starts(text, one))
    return str_printf(tr->arena, "#sdy.sharding_per_value<[%.*s]>",
                      STR_ARG(str_sub(text, strlen(one) - 1, text.n)));
  if (str_starts(text, "#")) return text;
  bool list = str_starts(text, "[");
  return str_printf(tr->arena, list ? "#sdy.sharding_per_value<%.*s>" : "#sdy.sharding_per_value<[%.*s]>",
                    STR_ARG(text));
}

/* #sdy<manual_axes{"a"}>, whichever form stands there. */
static Str manual_axes(Translator *tr, const MlirAttr *attr) {
  if (attr->kind == MLIR_DIALECT && attr->name.n != 0) return attr->raw;
  return str_printf(tr->arena, "#sdy<manual_axes%.*s>", STR_ARG(attr->raw));
}

Status sdy_set_sharding(Translator *tr, uint32_t instr, const MlirAttr *attr) {
  Attr sharding = {.id = ATTR_sharding};
  add_frontend(tr, made(tr, instr), "xla.sdy.sharding", attr->raw);
  TRY(sdy_hlo_sharding(tr, attr->at, attr->raw, instr_shape(tr, instr), &sharding.sharding));
  if (sharding.sharding != NULL) instr_set_shared(tr->module, made(tr, instr), sharding);
  return STATUS_OK;
}

static const char MANUAL_BODY[] = "xla.sdy.manual_computation_body";

/* Custom calls. */

static uint32_t emit_custom(Translator *tr, const char *target, const Shape *shape, Ids operands,
                            bool effect) {
  uint32_t instr = emit(tr, OP_CUSTOM_CALL, shape, operands.at, operands.n);
  instr_set_word(tr->module, made(tr, instr), ATTR_custom_call_target, str_of(target));
  if (effect) instr_set_flag(tr->module, made(tr, instr), ATTR_custom_call_has_side_effect, true);
  return instr;
}

static Status emit_constraint(Translator *tr, const MlirAttr *sharding) {
  Ids operands;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operands(tr, &operands));
  uint32_t instr = emit_custom(tr, "Sharding", result_type(tr), operands, false);
  MlirAttr per_value = *sharding;
  per_value.raw = sdy_per_value(tr, sharding->raw);
  TRY(sdy_set_sharding(tr, instr, &per_value));
  return give(tr, instr);
}

/* sharding_constraint and reshard: both say where a value is to lie. */
Status translate_sharding_constraint(Translator *tr, Opcode op) {
  const MlirAttr *sharding = find_attr(tr, "sharding");
  (void)op;
  if (sharding == NULL) TRY(need_attr(tr, "list0", &sharding));
  return emit_constraint(tr, sharding);
}

/* A collective of Shardy's changes where a value lies, not the value. */
Status translate_sdy_collective(Translator *tr, Opcode op) {
  const MlirAttr *sharding;
  (void)op;
  TRY(need_attr(tr, "out_sharding", &sharding));
  return emit_constraint(tr, sharding);
}

/* What Shardy itself puts around values that flow in and out of regions; it may say a sharding. */
Status translate_data_flow_edge(Translator *tr, Opcode op) {
  const MlirAttr *sharding = find_attr(tr, "sharding");
  uint32_t operand;
  (void)op;
  if (sharding != NULL) return emit_constraint(tr, sharding);
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &operand));
  return give(tr, operand);
}

uint32_t sdy_result_sharding(Translator *tr, uint32_t instr, const MlirAttr *attr) {
  uint32_t call =
      emit_custom(tr, "xla.sdy.FuncResultSharding", instr_shape(tr, instr), (Ids){&instr, 1}, true);
  add_frontend(tr, made(tr, call), "xla.sdy.sharding", sdy_per_value(tr, attr->raw));
  return call;
}

Status translate_sharding_group(Translator *tr, Opcode op) {
  Ids operands;
  int64_t group;
  (void)op;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operands(tr, &operands));
  TRY(attr_int(tr, "group_id", 0, &group));
  uint32_t instr =
      emit_custom(tr, "xla.sdy.ShardingGroup", shape_tuple(tr->scratch, NULL, 0), operands, true);
  add_frontend(tr, made(tr, instr), "xla.sdy.sharding_group_id",
               str_printf(tr->scratch, "%lld : i64", (long long)group));
  return STATUS_OK;
}

Status translate_propagation_barrier(Translator *tr, Opcode op) {
  static const char *const directions[] = {"NONE", "FORWARD", "BACKWARD", "BOTH"};
  Ids operands;
  Str word;
  (void)op;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operands(tr, &operands));
  TRY(attr_word(tr, "allowed_direction", &word));
  for (int i = 0; i < 4; i++) {
    if (!str_is(word, directions[i])) continue;
    uint32_t instr = emit_custom(tr, "xla.sdy.PropagationBarrier", result_type(tr), operands, true);
    add_frontend(tr, made(tr, instr), "xla.sdy.allowed_direction", str_printf(tr->scratch, "%d : i32", i));
    return give(tr, instr);
  }
  return OP_FAIL(tr, tr->op->at, NULL, "unknown direction '%.*s'", STR_ARG(str_sub(word, 0, 80)));
}

/* Bodies. */

/* The operands as each device holds them; none where there are none. */
static Status enter_manual(Translator *tr, Str axes, const MlirAttr *shardings, Ids *locals) {
  const MlirRegion *region = &tr->op->regions[0];
  Ids operands;
  TRY(use_operands(tr, &operands));
  *locals = operands;
  if (operands.n == 0) return STATUS_OK;
  const Shape **shapes = ARENA_ARRAY(tr->scratch, const Shape *, operands.n);
  for (uint32_t k = 0; k < operands.n; k++) shapes[k] = value_type(tr, region->arg + k);
  const Shape *shape = operands.n == 1 ? shapes[0] : shape_tuple(tr->scratch, shapes, operands.n);
  uint32_t instr = emit_custom(tr, "xla.sdy.GlobalToLocalShape", shape, operands, true);
  add_frontend(tr, made(tr, instr), "xla.sdy.in_shardings", sdy_per_value(tr, shardings->raw));
  add_frontend(tr, made(tr, instr), "xla.sdy.manual_axes", axes);
  if (operands.n == 1) locals->at[0] = instr;
  for (uint32_t k = 0; k < operands.n && operands.n > 1; k++) locals->at[k] = emit_element(tr, instr, k);
  return STATUS_OK;
}

/* The body as a computation of its own, called. */
static Status call_body(Translator *tr, Str name, Ids locals, Ids *results) {
  Around around;
  Ids roots;
  uint32_t comp;
  TRY(open_comp(tr, name, &around, &comp));
  add_params(tr, &around.op->regions[0]);
  TRY(translate_body(tr, &around.op->regions[0], &roots));
  uint32_t root = root_of(tr, roots);
  const Shape *shape = instr_shape(tr, root);
  close_comp(tr, root, &around);
  uint32_t call = emit(tr, OP_CALL, shape, locals.at, locals.n);
  instr_set_comp(tr->module, made(tr, call), ATTR_to_apply, comp);
  if (str_is(name, MANUAL_BODY)) add_frontend(tr, made(tr, call), "inlineable", STR("false"));
  RETURN_IF(
      roots.n != tr->op->n_results,
      OP_FAIL(tr, tr->op->at, NULL, "the body returns %u values for %u results", roots.n, tr->op->n_results));
  *results = (Ids){ARENA_ARRAY(tr->scratch, uint32_t, roots.n), roots.n};
  for (uint32_t k = 0; k < roots.n; k++) results->at[k] = roots.n == 1 ? call : emit_element(tr, call, k);
  return STATUS_OK;
}

/* Custom calls that shard values as `attr`, [<@mesh, …>, …], says; where it is there. */
static Status constrain_each(Translator *tr, const char *name, Ids values) {
  const MlirAttr *attr = find_attr(tr, name);
  if (attr == NULL || attr->kind != MLIR_ARRAY) return STATUS_OK;
  RETURN_IF(attr->n != values.n,
            OP_FAIL(tr, attr->at, NULL, "%u shardings for %u values", attr->n, values.n));
  for (uint32_t k = 0; k < values.n; k++)
    values.at[k] = sdy_result_sharding(tr, values.at[k], &attr->items[k]);
  return STATUS_OK;
}

/* A function that stands where it is called. */
Status translate_named_computation(Translator *tr, Opcode op) {
  const MlirAttr *name;
  Ids operands, results;
  (void)op;
  TRY(expect_regions(tr, 1));
  TRY(need_attr(tr, "name", &name));
  TRY(use_operands(tr, &operands));
  RETURN_IF(tr->op->regions[0].n_args != operands.n,
            OP_FAIL(tr, tr->op->at, NULL, "the body has not an argument for each operand"));
  TRY(constrain_each(tr, "in_shardings", operands));
  TRY(call_body(tr, hlo_name(tr->arena, name->text), operands, &results));
  TRY(constrain_each(tr, "out_shardings", results));
  for (uint32_t k = 0; k < results.n; k++) give_one(tr, k, results.at[k]);
  return STATUS_OK;
}

Status translate_manual_computation(Translator *tr, Opcode op) {
  const MlirAttr *in, *out, *axes;
  Ids locals, results;
  (void)op;
  TRY(expect_regions(tr, 1));
  TRY(need_attr(tr, "in_shardings", &in));
  TRY(need_attr(tr, "out_shardings", &out));
  TRY(need_attr(tr, "manual_axes", &axes));
  RETURN_IF(tr->op->regions[0].n_args != tr->op->operands.n,
            OP_FAIL(tr, tr->op->at, NULL, "the body has not an argument for each operand"));
  TRY(enter_manual(tr, manual_axes(tr, axes), in, &locals));
  TRY(call_body(tr, str_of(MANUAL_BODY), locals, &results));
  if (results.n == 0) return STATUS_OK;
  uint32_t instr = emit_custom(tr, "xla.sdy.LocalToGlobalShape", result_type(tr), results, true);
  add_frontend(tr, made(tr, instr), "xla.sdy.manual_axes", manual_axes(tr, axes));
  add_frontend(tr, made(tr, instr), "xla.sdy.out_shardings", sdy_per_value(tr, out->raw));
  return give(tr, instr);
}

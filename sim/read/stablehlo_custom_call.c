/* Calls: of functions, of composites (by their decomposition), and custom calls, whose configuration and
 * layouts are carried along. */
#include "sim/ir/print.h"
#include "sim/read/stablehlo.h"

/* Calls. */

static Status emit_call(Translator *tr, const char *where, Str callee) {
  Ids operands;
  uint32_t comp;
  TRY(use_operands(tr, &operands));
  TRY(function_comp(tr, where, callee, &comp));
  const Comp *of = module_comp(tr->module, comp);
  RETURN_IF(of->params.n != operands.n,
            OP_FAIL(tr, tr->op->at, NULL, "'%.*s' takes %u arguments, here are %u",
                    STR_ARG(str_sub(callee, 0, 80)), of->params.n, operands.n));
  uint32_t instr = emit(tr, OP_CALL, result_type(tr), operands.at, operands.n);
  instr_set_comp(tr->module, made(tr, instr), ATTR_to_apply, comp);
  return give(tr, instr);
}

Status translate_call(Translator *tr, Opcode op) {
  const MlirAttr *callee;
  (void)op;
  TRY(need_attr(tr, "callee", &callee));
  return emit_call(tr, callee->at, callee->text);
}

Status translate_composite(Translator *tr, Opcode op) {
  const MlirAttr *decomposition;
  (void)op;
  TRY(need_attr(tr, "decomposition", &decomposition));
  return emit_call(tr, decomposition->at, decomposition->text);
}

/* Custom calls. */

static Status set_api(Translator *tr, uint32_t instr) {
  static const char *const versions[] = {"", "", "API_VERSION_STATUS_RETURNING",
                                         "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
  int64_t version;
  TRY(attr_int(tr, "api_version", 1, &version));
  const MlirAttr *config = find_attr(tr, "mhlo.backend_config");
  if (config != NULL) version = 4;
  RETURN_IF(version < 0 || version > 4,
            OP_FAIL(tr, tr->op->at, NULL, "unknown api_version %lld", (long long)version));
  if (version > 1) instr_set_word(tr->module, made(tr, instr), ATTR_api_version, str_of(versions[version]));
  return STATUS_OK;
}

/* A dictionary, or a string in quotes; JSON too stays a string. */
static Status set_config(Translator *tr, uint32_t instr) {
  const MlirAttr *typed = find_attr(tr, "mhlo.backend_config"), *config = find_attr(tr, "backend_config");
  if (typed != NULL) config = typed;
  if (config == NULL || (config->kind == MLIR_STRING && config->text.n == 0)) return STATUS_OK;
  RETURN_IF(config->kind != MLIR_STRING && config->kind != MLIR_DICT,
            OP_FAIL(tr, config->at, NULL, "expected a string or a dictionary"));
  StrBuf buf = {.arena = tr->arena};
  if (config->kind == MLIR_STRING)
    buf_quoted(&buf, config->text);
  else
    buf_add(&buf, config->raw);
  instr_set_shared(tr->module, made(tr, instr), (Attr){.id = ATTR_backend_config, .text = buf_str(&buf)});
  return STATUS_OK;
}

/* A shape with the layout that dense<[0, 1]> gives, minor to major. */
static Status with_layout(Translator *tr, const MlirAttr *attr, const Shape *shape, const Shape **made) {
  Ints order;
  *made = shape;
  if (!shape_is_array(shape)) return STATUS_OK;
  TRY(ints_of(tr, attr, &order));
  TRY(expect_order(tr, attr->at, order, shape->rank));
  Layout *layout = ARENA_NEW(tr->scratch, Layout);
  StrBuf text = {.arena = tr->scratch};
  for (uint32_t d = 0; d < order.n; d++)
    buf_printf(&text, "%s%lld", d == 0 ? "{" : ",", (long long)order.at[d]);
  buf_add(&text, order.n == 0 ? STR("{}") : STR("}"));
  *layout = (Layout){.minor_to_major = order, .text = buf_str(&text)};
  Shape *copy = arena_copy(tr->scratch, shape, sizeof *shape);
  copy->layout = order.n == 0 ? NULL : layout;
  *made = copy;
  return STATUS_OK;
}

static Status set_layouts(Translator *tr, uint32_t instr) {
  const MlirAttr *layouts = find_attr(tr, "operand_layouts");
  Ids operands = made(tr, instr)->operands;
  if (layouts == NULL) return STATUS_OK;
  RETURN_IF(layouts->kind != MLIR_ARRAY || layouts->n != operands.n,
            OP_FAIL(tr, layouts->at, NULL, "expected a layout for each operand"));
  const Shape **shapes = ARENA_ARRAY(tr->scratch, const Shape *, operands.n);
  for (uint32_t k = 0; k < operands.n; k++)
    TRY(with_layout(tr, &layouts->items[k], instr_shape(tr, operands.at[k]), &shapes[k]));
  instr_set(tr->module, made(tr, instr),
            (Attr){.id = ATTR_operand_layout_constraints, .shapes = {shapes, operands.n}});
  return STATUS_OK;
}

/* The result's shape with result_layouts. */
static Status call_shape(Translator *tr, const Shape **shape) {
  const MlirAttr *layouts = find_attr(tr, "result_layouts");
  uint32_t n = tr->op->n_results;
  *shape = result_type(tr);
  if (layouts == NULL) return STATUS_OK;
  RETURN_IF(layouts->kind != MLIR_ARRAY || layouts->n != n,
            OP_FAIL(tr, layouts->at, NULL, "expected a layout for each result"));
  const Shape **shapes = ARENA_ARRAY(tr->scratch, const Shape *, n);
  for (uint32_t k = 0; k < n; k++)
    TRY(with_layout(tr, &layouts->items[k], value_type(tr, tr->op->result + k), &shapes[k]));
  *shape = n == 1 ? shapes[0] : shape_tuple(tr->scratch, shapes, n);
  return STATUS_OK;
}

static void add_index(StrBuf *buf, Ints index) {
  buf_char(buf, '{');
  for (uint32_t i = 0; i < index.n; i++) buf_printf(buf, "%s%lld", i == 0 ? "" : ",", (long long)index.at[i]);
  buf_char(buf, '}');
}

/* {{0}:(1,{})}: output 0 is the buffer of operand 1. */
static Status set_aliases(Translator *tr, uint32_t instr) {
  const MlirAttr *aliases = find_attr(tr, "output_operand_aliases");
  StrBuf buf = {.arena = tr->arena};
  if (aliases == NULL || aliases->n == 0) return STATUS_OK;
  for (uint32_t i = 0; i < aliases->n; i++) {
    MlirDict dict;
    Ints output, part;
    int64_t operand;
    TRY(mlir_struct(tr->mlir, &aliases->items[i], &dict));
    TRY(dict_ints(tr, dict, "output_tuple_indices", &output));
    TRY(dict_ints(tr, dict, "operand_tuple_indices", &part));
    TRY(dict_int(tr, dict, "operand_index", 0, &operand));
    buf_char(&buf, i == 0 ? '{' : ',');
    add_index(&buf, output);
    buf_printf(&buf, ":(%lld,", (long long)operand);
    add_index(&buf, part);
    buf_char(&buf, ')');
  }
  buf_char(&buf, '}');
  instr_set_shared(tr->module, made(tr, instr),
                   (Attr){.id = ATTR_output_to_operand_aliasing, .text = buf_str(&buf)});
  return STATUS_OK;
}

static Status set_called(Translator *tr, uint32_t instr) {
  const MlirAttr *called = find_attr(tr, "called_computations");
  if (called == NULL || called->n == 0) return STATUS_OK;
  uint32_t *comps = ARENA_ARRAY(tr->scratch, uint32_t, called->n);
  for (uint32_t i = 0; i < called->n; i++)
    TRY(function_comp(tr, called->items[i].at, called->items[i].text, &comps[i]));
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_called_computations, .comps = {comps, called->n}});
  return STATUS_OK;
}

static Status fill_custom_call(Translator *tr, uint32_t instr) {
  bool effect;
  TRY(attr_flag(tr, "has_side_effect", false, &effect));
  if (effect) instr_set_flag(tr->module, made(tr, instr), ATTR_custom_call_has_side_effect, true);
  TRY(set_called(tr, instr));
  TRY(set_layouts(tr, instr));
  TRY(set_aliases(tr, instr));
  TRY(set_api(tr, instr));
  return set_config(tr, instr);
}

/* Along `dim` the first elements, as many as the result has. */
static uint32_t first_of(Translator *tr, uint32_t operand, const Shape *shape) {
  Slices slices = {ARENA_ARRAY(tr->scratch, SliceDim, shape->rank), shape->rank};
  for (uint32_t d = 0; d < shape->rank; d++) slices.at[d] = (SliceDim){0, shape->dims[d], 1};
  uint32_t instr = emit(tr, OP_SLICE, shape, &operand, 1);
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_slice, .slices = slices});
  return instr;
}

/* Whether result `k` is the operand but for a shorter dimension `dim`. */
static Status check_shorter(Translator *tr, const Shape *from, const Shape *to, int64_t dim) {
  bool fits = from->rank == to->rank && dim >= 0 && dim < from->rank;
  for (uint32_t d = 0; d < to->rank && fits; d++)
    fits = d == dim ? to->dims[d] <= from->dims[d] : to->dims[d] == from->dims[d];
  RETURN_IF(!fits,
            OP_FAIL(tr, tr->op->at, NULL, "the results are not the operands along a shorter dimension"));
  return STATUS_OK;
}

/* ApproxTopK(arrays…, initial values…) with a comparator: found exactly, by a sort, as XLA falls back to. */
static Status approximate_top_k(Translator *tr, Ids operands) {
  const MlirAttr *config = find_attr(tr, "mhlo.backend_config"),
                 *called = find_attr(tr, "called_computations");
  uint32_t n = operands.n / 2, comp;
  int64_t dim;
  RETURN_IF(config == NULL || config->kind != MLIR_DICT || called == NULL || called->n != 1 || n == 0 ||
                tr->op->n_results != n,
            OP_FAIL(tr, tr->op->at, NULL, "ApproxTopK lacks its configuration or comparator"));
  TRY(dict_int(tr, (MlirDict){config->entries, config->n}, "reduction_dim", 0, &dim));
  TRY(function_comp(tr, called->at, called->items[0].text, &comp));
  const Shape **shapes = ARENA_ARRAY(tr->scratch, const Shape *, n);
  for (uint32_t k = 0; k < n; k++) {
    shapes[k] = instr_shape(tr, operands.at[k]);
    TRY(check_shorter(tr, shapes[k], value_type(tr, tr->op->result + k), dim));
  }
  const Shape *shape = n == 1 ? shapes[0] : shape_tuple(tr->scratch, shapes, n);
  uint32_t sort = emit(tr, OP_SORT, shape, operands.at, n);
  instr_set_ints(tr->module, made(tr, sort), ATTR_dimensions, &dim, 1);
  instr_set_comp(tr->module, made(tr, sort), ATTR_to_apply, comp);
  for (uint32_t k = 0; k < n; k++) {
    uint32_t sorted = n == 1 ? sort : emit_element(tr, sort, k);
    give_one(tr, k, first_of(tr, sorted, value_type(tr, tr->op->result + k)));
  }
  return STATUS_OK;
}

Status translate_custom_call(Translator *tr, Opcode op) {
  Ids operands;
  Str target;
  const Shape *shape;
  TRY(use_operands(tr, &operands));
  TRY(attr_string(tr, "call_target_name", &target));
  if (str_is(target, "ApproxTopK")) return approximate_top_k(tr, operands);
  TRY(call_shape(tr, &shape));
  uint32_t instr = emit(tr, op, shape, operands.at, operands.n);
  instr_set_word(tr->module, made(tr, instr), ATTR_custom_call_target, target);
  TRY(fill_custom_call(tr, instr));
  return give(tr, instr);
}

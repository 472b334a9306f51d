/* StableHLO text to a module, the same that XLA makes of it: the syntax tree is read, then translated
 * function by function from the entry on; unused and unreached code is left out, and instructions stand in
 * the order in which XLA prints them. */
#include "sim/ir/callgraph.h"
#include "sim/ir/clean.h"
#include "sim/ir/verify.h"
#include "sim/read/stablehlo.h"

/* Functions. */

static Status add_function(Translator *tr, const MlirOp *op) {
  const MlirAttr *name = mlir_get(op->attrs, "sym_name");
  RETURN_IF(name == NULL || op->n_regions != 1,
            OP_FAIL(tr, op->at, NULL, "this function has no name or body"));
  uint32_t other;
  RETURN_IF(map_get(tr->function_names, name->text, &other),
            OP_FAIL(tr, op->at, NULL, "there are two functions '%.*s'", STR_ARG(str_sub(name->text, 0, 80))));
  map_put(tr->function_names, name->text, tr->functions.n);
  VEC_PUSH(tr->scratch, &tr->functions, (Function){.op = op, .name = name->text, .comp = NO_ID});
  return STATUS_OK;
}

/* The attributes of argument or result `k`. */
static MlirDict attrs_of(const MlirOp *function, const char *list, uint32_t k) {
  const MlirAttr *attrs = mlir_get(function->attrs, list);
  if (attrs == NULL || k >= attrs->n || attrs->items[k].kind != MLIR_DICT) return (MlirDict){0};
  return (MlirDict){attrs->items[k].entries, attrs->items[k].n};
}

static Status set_param_sharding(Translator *tr, uint32_t instr, MlirDict attrs) {
  const MlirAttr *sdy = mlir_get(attrs, "sdy.sharding"), *hlo = mlir_get(attrs, "mhlo.sharding");
  Attr sharding = {.id = ATTR_sharding};
  if (hlo != NULL) {
    TRY(sharding_of_text(tr, hlo->at, hlo->text, &sharding.sharding));
    instr_set_shared(tr->module, made(tr, instr), sharding);
  }
  return sdy == NULL ? STATUS_OK : sdy_set_sharding(tr, instr, sdy);
}

static Status set_params(Translator *tr, const MlirOp *function) {
  const MlirRegion *region = &function->regions[0];
  add_params(tr, region);
  for (uint32_t k = 0; k < region->n_args; k++)
    TRY(set_param_sharding(tr, tr->bindings[region->arg + k].instr, attrs_of(function, "arg_attrs", k)));
  return STATUS_OK;
}

/* sharding={…} of result `k` of the entry; NULL where nothing is said. */
static Status result_sharding(Translator *tr, const MlirOp *function, uint32_t k, const Shape *shape,
                              const HloSharding **sharding) {
  MlirDict attrs = attrs_of(function, "res_attrs", k);
  const MlirAttr *sdy = mlir_get(attrs, "sdy.sharding"), *hlo = mlir_get(attrs, "mhlo.sharding");
  *sharding = NULL;
  if (hlo != NULL) return sharding_of_text(tr, hlo->at, hlo->text, sharding);
  return sdy == NULL ? STATUS_OK : sdy_hlo_sharding(tr, sdy->at, sdy->raw, shape, sharding);
}

/* {{devices=…}, {replicated}} of the entry's results; nothing where none is said. */
static Status results_sharding(Translator *tr, const MlirOp *function, Ids roots, Str *text) {
  StrBuf buf = {.arena = tr->scratch};
  bool any = false;
  for (uint32_t k = 0; k < roots.n; k++) {
    const HloSharding *sharding;
    TRY(result_sharding(tr, function, k, instr_shape(tr, roots.at[k]), &sharding));
    any = any || sharding != NULL;
    if (k != 0) buf_add(&buf, STR(", "));
    buf_add(&buf, sharding == NULL ? STR("{replicated}") : sharding->text);
  }
  *text = any ? buf_str(&buf) : STR("");
  return STATUS_OK;
}

/* The entry's root carries the shardings of the results; one result passes through a tuple for it, as XLA has
 * it. */
static Status entry_root(Translator *tr, const MlirOp *function, Ids roots, uint32_t *root) {
  Str text;
  Attr sharding = {.id = ATTR_sharding};
  TRY(results_sharding(tr, function, roots, &text));
  *root = root_of(tr, roots);
  if (text.n == 0) return STATUS_OK;
  if (roots.n == 1)
    *root = emit_element(tr, emit_tuple(tr, root, 1), 0);
  else
    text = str_printf(tr->scratch, "{%.*s}", STR_ARG(text));
  TRY(sharding_of_text(tr, function->at, text, &sharding.sharding));
  instr_set_shared(tr->module, made(tr, *root), sharding);
  return STATUS_OK;
}

static Status function_root(Translator *tr, const MlirOp *function, Ids roots, bool entry, uint32_t *root) {
  for (uint32_t k = 0; k < roots.n; k++) {
    const MlirAttr *sdy = mlir_get(attrs_of(function, "res_attrs", k), "sdy.sharding");
    if (sdy != NULL) roots.at[k] = sdy_result_sharding(tr, roots.at[k], sdy);
  }
  if (entry) return entry_root(tr, function, roots, root);
  *root = root_of(tr, roots);
  return STATUS_OK;
}

static Status translate_function(Translator *tr, Function *function, bool entry) {
  const MlirOp *op = function->op;
  Around around;
  Ids roots;
  uint32_t comp, root;
  if (tr->op == NULL) tr->op = op;
  TRY(open_comp(tr, hlo_name(tr->arena, function->name), &around, &comp));
  tr->op = op;
  TRY(set_params(tr, op));
  TRY(translate_body(tr, &op->regions[0], &roots));
  TRY(function_root(tr, op, roots, entry, &root));
  close_comp(tr, root, &around);
  function->comp = comp;
  return STATUS_OK;
}

Status function_comp(Translator *tr, const char *where, Str name, uint32_t *comp) {
  uint32_t index;
  RETURN_IF(!map_get(tr->function_names, name, &index),
            OP_FAIL(tr, where, NULL, "there is no function '%.*s'", STR_ARG(str_sub(name, 0, 80))));
  Function *function = &tr->functions.at[index];
  if (function->comp == NO_ID) {
    RETURN_IF(function->busy,
              OP_FAIL(tr, where, NULL, "function '%.*s' calls itself", STR_ARG(str_sub(name, 0, 80))));
    function->busy = true;
    TRY(translate_function(tr, function, false));
  }
  *comp = function->comp;
  return STATUS_OK;
}

/* The module. */

static bool is_function(const MlirOp *op) {
  return str_is(op->name, "func.func") || str_is(op->name, "func");
}

static Status collect(Translator *tr, const MlirOp *module) {
  const MlirRegion *region = &module->regions[0];
  for (uint32_t i = 0; i < region->ops.n; i++) {
    const MlirOp *op = &region->ops.at[i];
    bool function = is_function(op), mesh = str_is(op->name, "sdy.mesh");
    RETURN_IF(!function && !mesh, OP_FAIL(tr, op->at, NULL, "%.*s cannot stand outside of a function",
                                          STR_ARG(str_sub(op->name, 0, 80))));
    TRY(function ? add_function(tr, op) : sdy_read_mesh(tr, op));
  }
  RETURN_IF(tr->functions.n == 0, OP_FAIL(tr, tr->mlir->lex.end, NULL, "there is no function in this text"));
  return STATUS_OK;
}

/* Which values a constant makes: regions may use those of the code around. */
static void find_constants(Translator *tr, const MlirRegion *region) {
  for (uint32_t i = 0; i < region->ops.n; i++) {
    const MlirOp *op = &region->ops.at[i];
    if (str_ends(op->name, ".constant") && op->n_results == 1) tr->makers[op->result] = op;
    for (uint32_t r = 0; r < op->n_regions; r++) find_constants(tr, &op->regions[r]);
  }
}

static void set_header(Translator *tr, const char *key, Str text) {
  VEC_PUSH(tr->arena, &tr->module->header, (HeaderKey){str_of(key), text});
}

/* input_output_alias={{0}:(1,{},may-alias)} and buffer_donor={(2,{})} from what arguments say. */
static Status set_donors(Translator *tr, const MlirOp *entry) {
  StrBuf aliases = {.arena = tr->arena}, donors = {.arena = tr->arena};
  bool tuple = mlir_get(entry->attrs, "res_attrs") == NULL || mlir_get(entry->attrs, "res_attrs")->n != 1;
  for (uint32_t k = 0; k < entry->regions[0].n_args; k++) {
    MlirDict attrs = attrs_of(entry, "arg_attrs", k);
    const MlirAttr *output = mlir_get(attrs, "tf.aliasing_output");
    const MlirAttr *donor = mlir_get(attrs, "jax.buffer_donor");
    if (output != NULL && output->kind == MLIR_INT) {
      buf_char(&aliases, aliases.n == 0 ? '{' : ',');
      if (tuple)
        buf_printf(&aliases, "{%lld}:(%u,{},may-alias)", (long long)output->integer, k);
      else
        buf_printf(&aliases, "{}:(%u,{},may-alias)", k);
    }
    if (donor != NULL && donor->integer != 0) buf_printf(&donors, "%s(%u,{})", donors.n == 0 ? "{" : ",", k);
  }
  if (aliases.n != 0) {
    buf_char(&aliases, '}');
    set_header(tr, "input_output_alias", buf_str(&aliases));
  }
  if (donors.n != 0) {
    buf_char(&donors, '}');
    set_header(tr, "buffer_donor", buf_str(&donors));
  }
  return STATUS_OK;
}

/* The public function, which JAX calls main. */
static Function *find_entry(Translator *tr) {
  uint32_t index;
  if (map_get(tr->function_names, STR("main"), &index)) return &tr->functions.at[index];
  for (uint32_t f = 0; f < tr->functions.n; f++) {
    const MlirOp *op = tr->functions.at[f].op;
    const MlirAttr *visibility = mlir_get(op->attrs, "sym_visibility");
    const MlirAttr *word = mlir_get(op->attrs, "word0");
    bool private = (visibility != NULL && str_is(visibility->text, "private")) ||
                   (word != NULL && str_is(word->text, "private"));
    if (!private) return &tr->functions.at[f];
  }
  return &tr->functions.at[0];
}

static Status translate_module(Translator *tr, const MlirOp *op) {
  const MlirAttr *name = mlir_get(op->attrs, "sym_name");
  const MlirAttr *replicas = mlir_get(op->attrs, "mhlo.num_replicas");
  Module *module = tr->module;
  RETURN_IF(op->n_regions != 1, OP_FAIL(tr, tr->mlir->lex.end, NULL, "there is no program in this text"));
  module->name = name == NULL ? STR("module") : hlo_name(tr->arena, name->text);
  if (replicas != NULL && replicas->integer > 1 && replicas->integer <= 1 << 24)
    module->replica_count = replicas->integer;
  TRY(collect(tr, op));
  find_constants(tr, &op->regions[0]);
  TRY(sdy_set_meshes(tr));
  Function *entry = find_entry(tr);
  entry->busy = true;
  TRY(set_donors(tr, entry->op));
  TRY(translate_function(tr, entry, true));
  module->entry = entry->comp;
  TRY(module_verify(module, tr->mlir->lex.diag)); /* what is dead must be sound too */
  module_remove_dead(module);
  module_merge_constants(module);
  module_sort(module);
  return STATUS_OK;
}

static Status read_module(MlirReader *mlir, Module *module) {
  MlirOp op;
  TRY(mlir_read_text(mlir, &op));
  uint32_t n = mlir->values.n;
  Translator tr = {.mlir = mlir,
                   .module = module,
                   .arena = module->arena,
                   .scratch = mlir->scratch,
                   .bindings = ARENA_ARRAY(mlir->scratch, Binding, n),
                   .makers = ARENA_ARRAY(mlir->scratch, const MlirOp *, n),
                   .stands_for = ARENA_ARRAY(mlir->scratch, uint32_t, n),
                   .marks = ARENA_ARRAY(mlir->scratch, uint32_t, n),
                   .function_names = map_new(mlir->scratch)};
  for (uint32_t v = 0; v < n; v++) {
    tr.bindings[v] = (Binding){NO_ID, NO_ID};
    tr.stands_for[v] = v;
  }
  return translate_module(&tr, &op);
}

Status stablehlo_read(const Source *source, const ReadLimits *limits, Module **made, Diag *diag) {
  Module *module = module_new(STR(""));
  module->source = source;
  MlirReader mlir = {
      .lex = lexer_of(source, limits, module->arena, diag), .arena = module->arena, .scratch = arena_new()};
  Status status = read_module(&mlir, module);
  arena_free(mlir.scratch);
  if (status != STATUS_OK) module_free(module);
  *made = status == STATUS_OK ? module : NULL;
  return status;
}

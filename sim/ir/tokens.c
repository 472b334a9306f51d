/* Every shape without tokens, then the entry's parameters and outputs. */
#include "sim/ir/tokens.h"

static bool is_token(const Shape *shape) {
  return shape->dtype == DTYPE_TOKEN;
}

static bool has_tokens(const Shape *shape) {
  if (!shape_is_tuple(shape)) return is_token(shape);
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (has_tokens(shape->parts[i])) return true;
  }
  return false;
}

/* What stands for a token: pred[0]. */
static const Shape *nothing(Arena *arena) {
  return shape_array(arena, DTYPE_PRED, (int64_t[]){0}, 1);
}

static const Shape *without_tokens(Arena *arena, const Shape *shape) {
  if (!has_tokens(shape)) return shape;
  if (is_token(shape)) return nothing(arena);
  const Shape **parts = ARENA_ARRAY(arena, const Shape *, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++) parts[i] = without_tokens(arena, shape->parts[i]);
  return shape_tuple(arena, parts, shape->rank);
}

/* Makes an instruction an empty constant. */
static void set_nothing(Module *flat, Instr *instr) {
  Literal literal = {.shape = nothing(flat->arena), .data = ""};
  instr->op = OP_CONSTANT;
  instr->operands.n = 0;
  instr->n_attrs = 0;
  instr->literal = literal_copy(flat->arena, &literal);
  instr->shape = instr->literal->shape;
}

/* The entry's parameters but for tokens, in their order. */
static void drop_parameters(Module *flat) {
  Comp *entry = module_entry(flat);
  uint32_t kept = 0;
  for (uint32_t p = 0; p < entry->params.n; p++) {
    uint32_t at = entry->params.at[p];
    Instr *parameter = comp_instr(flat, flat->entry, at);
    if (is_token(parameter->shape)) {
      set_nothing(flat, parameter);
      continue;
    }
    parameter->parameter = kept;
    entry->params.at[kept++] = at;
  }
  entry->params.n = kept;
}

/* sharding={…} of the outputs that are kept. */
static void keep_shardings(Module *flat, const Instr *old_root, uint32_t root) {
  const HloSharding *old = instr_sharding(old_root);
  const Shape *shape = old_root->shape;
  if (old == NULL || old->kind != HLO_SHARDING_TUPLE || old->n_parts != shape->rank) return;
  HloSharding *kept = ARENA_NEW(flat->arena, HloSharding);
  const HloSharding **parts = ARENA_ARRAY(flat->arena, const HloSharding *, shape->rank);
  StrBuf text = {.arena = flat->arena};
  *kept = (HloSharding){.kind = HLO_SHARDING_TUPLE, .parts = parts};
  for (uint32_t i = 0; i < shape->rank; i++) {
    if (is_token(shape->parts[i])) continue;
    buf_printf(&text, "%s%.*s", kept->n_parts == 0 ? "{" : ", ", STR_ARG(old->parts[i]->text));
    parts[kept->n_parts++] = old->parts[i];
  }
  buf_add(&text, kept->n_parts == 0 ? STR("{}") : STR("}"));
  kept->text = buf_str(&text);
  instr_set_shared(flat, comp_instr(flat, flat->entry, root), (Attr){.id = ATTR_sharding, .sharding = kept});
}

/* A new root of the outputs that are no tokens. */
static void drop_outputs(Module *flat) {
  uint32_t old = module_entry(flat)->root, n = 0;
  const Shape *shape = comp_instr(flat, flat->entry, old)->shape;
  if (!has_tokens(shape)) return;
  uint32_t most = shape_is_tuple(shape) ? shape->rank : 0;
  uint32_t *kept = ARENA_ARRAY(flat->arena, uint32_t, most + 1);
  const Shape **shapes = ARENA_ARRAY(flat->arena, const Shape *, most + 1);
  for (uint32_t i = 0; i < most; i++) {
    if (is_token(shape->parts[i])) continue;
    shapes[n] = without_tokens(flat->arena, shape->parts[i]);
    kept[n] = comp_add(flat, flat->entry, OP_GET_TUPLE_ELEMENT, STR(""), shapes[n], &old, 1);
    instr_set_int(flat, comp_instr(flat, flat->entry, kept[n++]), ATTR_index, i);
  }
  uint32_t root =
      comp_add(flat, flat->entry, OP_TUPLE, STR(""), shape_tuple(flat->arena, shapes, n), kept, n);
  keep_shardings(flat, comp_instr(flat, flat->entry, old), root);
  instr_unset(comp_instr(flat, flat->entry, old), ATTR_sharding);
  module_entry(flat)->root = root;
}

Status module_drop_tokens(Module *flat, Diag *diag) {
  bool any = false;
  for (uint32_t c = 0; c < flat->comps.n; c++) {
    for (uint32_t i = 0; i < flat->comps.at[c].instrs.n; i++) {
      const Instr *instr = comp_instr(flat, c, i);
      RETURN_IF(op_exchanges_with_host(instr->op),
                diag_fail(diag, STATUS_INVALID, instr->place, "leave it out of the program",
                          "%s of %.*s exchanges data with a host's program, which podsim does not run",
                          op_text(instr->op), STR_ARG(instr->name)));
      any = any || has_tokens(instr->shape);
    }
  }
  if (!any) return STATUS_OK;
  drop_outputs(flat);
  drop_parameters(flat);
  for (uint32_t c = 0; c < flat->comps.n; c++) {
    for (uint32_t i = 0; i < flat->comps.at[c].instrs.n; i++) {
      Instr *instr = comp_instr(flat, c, i);
      if (instr->op == OP_AFTER_ALL) set_nothing(flat, instr);
      instr->shape = without_tokens(flat->arena, instr->shape);
    }
  }
  return STATUS_OK;
}

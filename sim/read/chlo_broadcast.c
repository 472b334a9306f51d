/* chlo.broadcast_<name>: what StableHLO or CHLO calls <name>, its operands brought to the result's shape
 * first, as NumPy does it, or as broadcast_dimensions says for those of lower rank. */
#include "sim/read/stablehlo.h"

/* Which dimension of the result each of the operand's is. */
static Status result_dims(Translator *tr, const Shape *from, const Shape *to, Ints *dims) {
  TRY(attr_ints(tr, "broadcast_dimensions", dims));
  if (dims->n != from->rank || from->rank == to->rank) {
    RETURN_IF(from->rank > to->rank,
              OP_FAIL(tr, tr->op->at, NULL, "an operand has more dimensions than the result"));
    *dims = (Ints){ARENA_ARRAY(tr->scratch, int64_t, from->rank), from->rank};
    for (uint32_t d = 0; d < from->rank; d++) dims->at[d] = to->rank - from->rank + d;
  }
  for (uint32_t d = 0; d < from->rank; d++) {
    int64_t at = dims->at[d];
    bool fits = at >= 0 && at < to->rank && (d == 0 || at > dims->at[d - 1]) &&
                (from->dims[d] == 1 || from->dims[d] == to->dims[at]);
    RETURN_IF(!fits, OP_FAIL(tr, tr->op->at, NULL, "%.*s cannot be broadcast to the result's dimensions",
                             STR_ARG(shape_text(tr->scratch, from))));
  }
  return STATUS_OK;
}

/* Dimensions of size 1 that grow are dropped, then all are put in place. */
static Status brought_to(Translator *tr, const Shape *to, uint32_t operand, uint32_t *made_of) {
  const Shape *from = instr_shape(tr, operand);
  Ints dims;
  *made_of = operand;
  TRY(result_dims(tr, from, to, &dims));
  int64_t *sizes = ARENA_ARRAY(tr->scratch, int64_t, from->rank);
  uint32_t n = 0;
  for (uint32_t d = 0; d < from->rank; d++) {
    if (from->dims[d] != to->dims[dims.at[d]]) continue;
    dims.at[n] = dims.at[d];
    sizes[n++] = from->dims[d];
  }
  if (n == to->rank) return STATUS_OK;
  if (n < from->rank) operand = emit_reshape(tr, shape_with_dims(tr->arena, from, sizes, n), operand);
  *made_of = emit_broadcast(tr, shape_with_dtype(tr->arena, to, from->dtype), operand, (Ints){dims.at, n});
  return STATUS_OK;
}

/* The operation at hand under its name without `broadcast_`. */
static Status translate_inner(Translator *tr) {
  const MlirOp *outer = tr->op;
  Str name = str_sub(outer->name, strlen("chlo.broadcast_"), outer->name.n);
  MlirOp inner = *outer;
  inner.name = str_printf(tr->scratch, "stablehlo.%.*s", STR_ARG(name));
  if (!operation_known(tr, inner.name)) inner.name = str_printf(tr->scratch, "chlo.%.*s", STR_ARG(name));
  tr->op = &inner;
  TRY(translate_operation(tr));
  tr->op = outer;
  return STATUS_OK;
}

/* The operands' values stand for what they are brought to while the inner operation is translated. */
Status translate_broadcasting(Translator *tr, Opcode op) {
  Ids values = tr->op->operands, instrs;
  const Shape *shape = result_type(tr);
  (void)op;
  TRY(expect_operand_count(tr, 2, 3));
  TRY(use_operands(tr, &instrs));
  RETURN_IF(!shape_is_array(shape), OP_FAIL(tr, tr->op->at, NULL, "the result is no array"));
  for (uint32_t k = 0; k < instrs.n; k++) {
    RETURN_IF(!shape_is_array(instr_shape(tr, instrs.at[k])),
              OP_FAIL(tr, tr->op->at, NULL, "operand %u is no array", k));
    TRY(brought_to(tr, shape, instrs.at[k], &instrs.at[k]));
  }
  Binding *before = ARENA_ARRAY(tr->scratch, Binding, values.n);
  for (uint32_t k = 0; k < values.n; k++) before[k] = tr->bindings[tr->stands_for[values.at[k]]];
  for (uint32_t k = 0; k < values.n; k++)
    tr->bindings[tr->stands_for[values.at[k]]] = (Binding){tr->comp, instrs.at[k]};
  TRY(translate_inner(tr));
  for (uint32_t k = 0; k < values.n; k++) tr->bindings[tr->stands_for[values.at[k]]] = before[k];
  return STATUS_OK;
}

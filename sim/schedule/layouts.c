/* Layout assignment. In: a program for one device, not scheduled yet; out: the same with a layout on each
 * value that lies otherwise than the order that pads least, and copies in between, and of what products'
 * kernels would write over (carried_gathers.h).
 *
 * The one idea: few ops care. Convolutions say how they want their operands and give their result
 * (models/convolution.h), the entry's parameters and results lie in the order that pads least, and all other
 * values take what their neighbours have: forward from what they are made of, then backward from their users.
 * Where two meet that cannot agree stands a copy (XLA's layout assignment: constraints, propagation, copies).
 * An order is turned through transposes and reshapes where they only rename dimensions; such an op then moves
 * nothing. What loops, branches and calls carry lies as its users want it. */
#include "sim/schedule/layouts.h"

#include "models/convolution.h"
#include "models/relayout.h"
#include "models/tiling.h"
#include "sim/schedule/carried_gathers.h"
#include "sim/schedule/overwritten.h"

typedef struct {
  Arena *arena;
  const Module *from;
  uint32_t comp;
  const Comp *body;
  Ints *orders; /* by instruction; n == 0: any */
} Assigner;

static const Ints any_order = {NULL, 0};

static const Instr *operand_of(const Assigner *assigner, const Instr *instr, uint32_t k) {
  return &assigner->body->instrs.at[instr->operands.at[k]];
}

static bool has_order(const Shape *shape) {
  return shape_is_array(shape) && shape->rank > 1 && shape_elements(shape) > 0;
}

/* The order in which an op takes its operand `k` when it gives its result in its own. */
static Ints operand_order(const Assigner *assigner, uint32_t at, uint32_t k) {
  const Instr *instr = &assigner->body->instrs.at[at];
  const Shape *shape = operand_of(assigner, instr, k)->shape;
  if (!has_order(shape)) return any_order;
  if (instr->op == OP_CONVOLUTION)
    return convolution_order(assigner->arena, assigner->from, assigner->comp, instr, k);
  Ints order = assigner->orders[at];
  bool relaid = assigner->orders[instr->operands.at[k]].n > 0;
  if (instr->op == OP_RESHAPE && order.n == 0 && relaid)
    order = row_major_order(assigner->arena, instr->shape);
  return order_back(assigner->arena, assigner->from, assigner->comp, instr, k, order);
}

/* The order of the result that follows from the operands: from the first that has one. */
static Ints result_order(const Assigner *assigner, uint32_t at) {
  const Instr *instr = &assigner->body->instrs.at[at];
  if (!has_order(instr->shape)) return any_order;
  if (instr->op == OP_CONVOLUTION)
    return convolution_order(assigner->arena, assigner->from, assigner->comp, instr, 2);
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    Ints order = assigner->orders[instr->operands.at[k]];
    if (order.n == 0) continue;
    Ints made = order_through(assigner->arena, assigner->from, assigner->comp, instr, k, order);
    if (made.n > 0) return made;
  }
  return any_order;
}

/* Whether an operand is a parameter that lies as the result would where nothing else is wanted. */
static bool takes_parameter(const Assigner *assigner, const Instr *instr) {
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    const Instr *operand = operand_of(assigner, instr, k);
    if (operand->op == OP_PARAMETER && shape_eq(operand->shape, instr->shape)) return true;
  }
  return false;
}

/* An elementwise result that has to change lanes on its way out, and so do its parameters on their way in, is
 * better made in the order in which it is given out. */
static void settle_output(Assigner *assigner, uint32_t at) {
  const Instr *instr = &assigner->body->instrs.at[at];
  Ints *order = &assigner->orders[at];
  if (order->n == 0 || !op_is_elementwise(instr->op) || !takes_parameter(assigner, instr)) return;
  Ints least = least_padded_order(assigner->arena, instr->shape);
  if (least.at[0] != order->at[0]) *order = least;
}

static void settle_outputs(Assigner *assigner) {
  const Instr *root = &assigner->body->instrs.at[assigner->body->root];
  if (assigner->comp != assigner->from->entry) return;
  settle_output(assigner, assigner->body->root);
  for (uint32_t k = 0; k < root->operands.n && root->op == OP_TUPLE; k++)
    settle_output(assigner, root->operands.at[k]);
}

static void assign(Assigner *assigner) {
  const Comp *body = assigner->body;
  for (uint32_t i = 0; i < body->instrs.n; i++) assigner->orders[i] = result_order(assigner, i);
  settle_outputs(assigner);
  for (uint32_t i = body->instrs.n; i-- > 0;) {
    const Instr *instr = &body->instrs.at[i];
    for (uint32_t k = 0; k < instr->operands.n; k++) {
      const Instr *operand = operand_of(assigner, instr, k);
      Ints *order = &assigner->orders[instr->operands.at[k]];
      bool given = operand->op == OP_PARAMETER && assigner->comp == assigner->from->entry;
      if (order->n == 0 && !given) *order = operand_order(assigner, i, k);
    }
  }
}

/* ---- writing it down ---- */

typedef struct {
  const Assigner *assigner;
  Module *module;
  uint32_t *moved;        /* by instruction of the source; NO_ID: not written yet */
  const bool *carried;    /* by the same: as carried_gathers(); NULL: none */
  const bool *overwrites; /* by the same: as overwritten_parameters(); NULL: none */
  uint32_t *sent;         /* by carried gather: the copy that it sends */
  StrMap *copies;         /* those there are, by value and order */
} Writer;

static const Shape *laid(const Writer *writer, const Shape *shape, Ints order) {
  Arena *arena = writer->module->arena;
  order.at = arena_copy(arena, order.at, order.n * sizeof *order.at);
  return shape_laid(arena, shape, order);
}

/* A copy of `operand`, for `source` of the program as it was. */
static uint32_t add_copy(Writer *writer, const Instr *source, const Shape *shape, uint32_t operand) {
  uint32_t comp = writer->assigner->comp;
  uint32_t copy = comp_add(writer->module, comp, OP_COPY, STR("copy"), shape, &operand, 1);
  comp_instr(writer->module, comp, copy)->origin = source->origin;
  comp_instr(writer->module, comp, copy)->region = source->region;
  return copy;
}

/* A value in another order, made once for all who want it. */
static uint32_t relaid(Writer *writer, uint32_t value, Ints order) {
  const Assigner *assigner = writer->assigner;
  const Instr *source = &assigner->body->instrs.at[value];
  const Shape *shape = laid(writer, source->shape, order);
  Str key = str_printf(assigner->arena, "%u%.*s", value, STR_ARG(order_text(assigner->arena, shape)));
  uint32_t copy;
  if (map_get(writer->copies, key, &copy)) return copy;
  copy = add_copy(writer, source, shape, writer->moved[value]);
  map_put(writer->copies, key, copy);
  return copy;
}

/* The operand as a user finds it that wants it in an order. */
static uint32_t in_order(Writer *writer, uint32_t value, Ints wanted) {
  const Assigner *assigner = writer->assigner;
  const Shape *shape = assigner->body->instrs.at[value].shape;
  if (!has_order(shape) || wanted.n == 0) return writer->moved[value];
  Ints own = assigner->orders[value];
  if (own.n == 0) own = least_padded_order(assigner->arena, shape);
  return int64s_eq(own.at, own.n, wanted.at, wanted.n) ? writer->moved[value] : relaid(writer, value, wanted);
}

/* Whether operand `k` is a result of the program, which is given out in the order that pads least. */
static bool is_output(const Assigner *assigner, uint32_t at) {
  return assigner->comp == assigner->from->entry && at == assigner->body->root &&
         assigner->body->instrs.at[at].op == OP_TUPLE;
}

static Ints wanted_order(const Assigner *assigner, uint32_t at, uint32_t k) {
  const Instr *instr = &assigner->body->instrs.at[at];
  const Shape *shape = operand_of(assigner, instr, k)->shape;
  if (is_output(assigner, at) && has_order(shape)) return least_padded_order(assigner->arena, shape);
  return operand_order(assigner, at, k);
}

static void write_instr(Writer *writer, uint32_t at) {
  const Assigner *assigner = writer->assigner;
  const Instr *instr = &assigner->body->instrs.at[at];
  uint32_t *operands = ARENA_ARRAY(assigner->arena, uint32_t, instr->operands.n);
  for (uint32_t k = 0; k < instr->operands.n; k++)
    operands[k] = in_order(writer, instr->operands.at[k], wanted_order(assigner, at, k));
  if (writer->carried != NULL && writer->carried[at]) operands[0] = writer->sent[at];
  if (writer->overwrites != NULL && writer->overwrites[at])
    operands[0] = add_copy(writer, instr, operand_of(assigner, instr, 0)->shape, operands[0]);
  uint32_t made = comp_add_like(writer->module, assigner->comp, instr, operands, instr->operands.n);
  if (assigner->orders[at].n > 0)
    comp_instr(writer->module, assigner->comp, made)->shape =
        laid(writer, instr->shape, assigner->orders[at]);
  writer->moved[at] = made;
}

/* A parameter, or a name of one, and of that. */
static void write_given(Writer *writer, uint32_t at) {
  const Comp *body = writer->assigner->body;
  Vec(uint32_t) names = {0};
  while (writer->moved[at] == NO_ID) {
    VEC_PUSH(writer->assigner->arena, &names, at);
    if (body->instrs.at[at].op == OP_PARAMETER) break;
    at = body->instrs.at[at].operands.at[0];
  }
  while (names.n > 0) write_instr(writer, names.at[--names.n]);
}

/* What carried gathers send is copied before all else. */
static void write_sent(Writer *writer) {
  const Comp *body = writer->assigner->body;
  writer->sent = ARENA_ARRAY(writer->assigner->arena, uint32_t, body->instrs.n);
  for (uint32_t i = 0; i < body->instrs.n; i++) {
    if (!writer->carried[i]) continue;
    const Instr *gather = &body->instrs.at[i];
    write_given(writer, gather->operands.at[0]);
    const Shape *shape = operand_of(writer->assigner, gather, 0)->shape;
    writer->sent[i] = add_copy(writer, gather, shape, writer->moved[gather->operands.at[0]]);
  }
}

static void write_comp(const Assigner *assigner, const bool *carried, const bool *overwrites, Module *module,
                       uint32_t *moved) {
  Writer writer = {.assigner = assigner,
                   .module = module,
                   .moved = moved,
                   .carried = carried,
                   .overwrites = overwrites,
                   .copies = map_new(assigner->arena)};
  const Comp *body = assigner->body;
  for (uint32_t i = 0; i < body->instrs.n; i++) moved[i] = NO_ID;
  if (carried != NULL) write_sent(&writer);
  for (uint32_t i = 0; i < body->instrs.n; i++)
    if (moved[i] == NO_ID) write_instr(&writer, i);
  uint32_t root = moved[body->root];
  const Shape *shape = body->instrs.at[body->root].shape;
  if (assigner->comp == assigner->from->entry && has_order(shape))
    root = in_order(&writer, body->root, least_padded_order(assigner->arena, shape));
  module_comp(module, assigner->comp)->root = root;
}

static bool holds_convolution(const Module *module) {
  for (uint32_t c = 0; c < module->comps.n; c++) {
    const Comp *comp = module_comp(module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++)
      if (comp->instrs.at[i].op == OP_CONVOLUTION) return true;
  }
  return false;
}

bool module_lay_out(Arena *arena, const Module *from, Module *to, uint32_t ***moved) {
  bool assigns = holds_convolution(from);
  const bool *carried = carried_gathers(arena, from), *overwrites = overwritten_parameters(arena, from);
  if (!assigns && carried == NULL && overwrites == NULL) return false;
  *moved = ARENA_ARRAY(arena, uint32_t *, from->comps.n);
  for (uint32_t c = 0; c < from->comps.n; c++) module_add_comp(to, module_comp(from, c)->name);
  for (uint32_t c = 0; c < from->comps.n; c++) {
    Arena *scratch = arena_new();
    const Comp *body = module_comp(from, c);
    (*moved)[c] = ARENA_ARRAY(arena, uint32_t, body->instrs.n);
    Assigner assigner = {scratch, from, c, body, ARENA_ARRAY(scratch, Ints, body->instrs.n)};
    if (assigns) assign(&assigner);
    bool entry = c == from->entry;
    write_comp(&assigner, entry ? carried : NULL, entry ? overwrites : NULL, to, (*moved)[c]);
    arena_free(scratch);
  }
  to->entry = from->entry;
  return true;
}

/* ---- in words ---- */

Str order_text(Arena *arena, const Shape *laid) {
  StrBuf text = {.arena = arena};
  Ints order = laid_order(arena, laid);
  for (uint32_t i = 0; i < order.n; i++)
    buf_printf(&text, "%c%lld", i == 0 ? '{' : ',', (long long)order.at[i]);
  buf_char(&text, '}');
  return buf_str(&text);
}

/* What a user wants of a copy, its operand `k`; empty where it is not for it. */
static Str user_reason(Arena *arena, const Instr *user, uint32_t k, const Shape *copy, bool relays) {
  bool updates = user->op == OP_DYNAMIC_UPDATE_SLICE || user->op == OP_SCATTER;
  if (relays && user->op != OP_TUPLE)
    return str_printf(arena, "%s %.*s wants %.*s", op_text(user->op), STR_ARG(user->name),
                      STR_ARG(order_text(arena, copy)));
  if (!relays && user->op == OP_ALL_GATHER)
    return str_printf(arena, "kernels of products carry on %.*s, and pass on what it sends",
                      STR_ARG(user->name));
  if (!relays && updates && k == 0)
    return str_printf(arena, "%.*s writes over it, and what is copied is still needed", STR_ARG(user->name));
  return (Str){0};
}

Str copy_reason(Arena *arena, const Module *module, uint32_t comp, uint32_t copy) {
  const Comp *body = module_comp(module, comp);
  const Instr *instr = &body->instrs.at[copy];
  bool relays = is_relayout(module, comp, instr);
  if (instr->op != OP_COPY) return (Str){0};
  for (uint32_t i = copy + 1; i < body->instrs.n; i++) {
    const Instr *user = &body->instrs.at[i];
    for (uint32_t k = 0; k < user->operands.n; k++) {
      if (user->operands.at[k] != copy) continue;
      Str reason = user_reason(arena, user, k, instr->shape, relays);
      if (reason.n > 0) return reason;
    }
  }
  if (!relays) return (Str){0};
  return str_printf(arena, "the program's result lies in %.*s", STR_ARG(order_text(arena, instr->shape)));
}

/* Combines collectives. In: a program with several small all-reduces (or all-gathers) over the
 * same groups. Out: one with many operands, so that the latency of the ring is paid once. The one idea: those
 * that stand equally deep in the program, with equally much behind them, wait for each other without making
 * anything late; and they cannot depend on each other. Source: XLA's collective combiners. */
#include "sim/ir/clean.h"
#include "sim/partition/clean_collectives.h"

/* What a link of a v5e carries in 1.5 us (45 GB/s), which is about what one step of a ring costs anyway: so
 * little may wait for what comes later, where nothing waits for it in turn. */
static const int64_t MOST_LATE_BYTES = INT64_C(64) * 1024;
/* kDefaultAllReduceCombineThreshold and combine_threshold_count of XLA. */
static const int64_t MOST_COMBINED_BYTES = INT64_C(30) * 1024 * 1024;
enum { MOST_COMBINED = 256 };

typedef struct {
  Partitioned *out;
  Module *module;
  Arena *scratch;
  uint32_t comp, n;          /* what is combined; its instructions at first */
  uint32_t *before, *behind; /* by instruction: the most that must run one after another */
  bool *taken;
} Combiner;

typedef struct {
  uint32_t at[MOST_COMBINED], n;
  int64_t bytes;
} Batch;

/* Whether an instruction takes enough time to be waited for: not what XLA fuses into its users. */
static bool takes_time(const Instr *instr) {
  switch (instr->op) {
  case OP_DOT:
  case OP_RAGGED_DOT:
  case OP_CONVOLUTION:
  case OP_WHILE:
  case OP_CONDITIONAL:
  case OP_CALL:
  case OP_CUSTOM_CALL:
  case OP_SORT:
  case OP_FFT:
  case OP_CHOLESKY:
  case OP_TRIANGULAR_SOLVE:
  case OP_GATHER:
  case OP_SCATTER: return true;
  default: return op_is_collective(instr->op);
  }
}

static void raise(uint32_t *value, uint32_t least) {
  if (*value < least) *value = least;
}

static void measure(Combiner *c) {
  const Comp *comp = module_comp(c->module, c->comp);
  uint32_t n = c->n = comp->instrs.n;
  c->before = ARENA_ARRAY(c->scratch, uint32_t, n + 1);
  c->behind = ARENA_ARRAY(c->scratch, uint32_t, n + 1);
  c->taken = ARENA_ARRAY(c->scratch, bool, n + 1);
  for (uint32_t i = 0; i < n; i++) {
    Ids operands = comp->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++)
      raise(&c->before[i], c->before[operands.at[k]] + takes_time(&comp->instrs.at[operands.at[k]]));
  }
  for (uint32_t i = n; i-- > 0;) {
    Ids operands = comp->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++)
      raise(&c->behind[operands.at[k]], c->behind[i] + takes_time(&comp->instrs.at[i]));
  }
}

/* What is printed is to run everywhere: StableHLO's reduce-scatter takes one operand, and XLA's CPU runtime
 * gathers several rightly along the first dimension alone. */
static bool may_combine(const Combiner *c, uint32_t at) {
  const Comp *comp = module_comp(c->module, c->comp);
  const Instr *instr = &comp->instrs.at[at];
  if (c->taken[at] || at == comp->root || !shape_is_array(instr->shape) || instr->operands.n != 1)
    return false;
  if (instr->op == OP_ALL_GATHER) return instr_ints(instr, ATTR_dimensions).at[0] == 0;
  return instr->op == OP_ALL_REDUCE &&
         comp_binary_op(c->module, instr_comp(instr, ATTR_to_apply)) != OP_COUNT;
}

/* What has equally much behind it does not depend on each other. */
static bool belong_together(const Combiner *c, uint32_t a, uint32_t b) {
  const Instr *x = comp_instr(c->module, c->comp, a), *y = comp_instr(c->module, c->comp, b);
  return x->op == y->op && x->shape->dtype == y->shape->dtype && c->behind[a] == c->behind[b] &&
         instr_same_attrs(c->module, x, y);
}

/* The bytes that a batch with both of them may have. */
static int64_t most_bytes(const Combiner *c, uint32_t a, uint32_t b) {
  if (c->before[a] == c->before[b]) return MOST_COMBINED_BYTES;
  return c->behind[a] == 0 ? MOST_LATE_BYTES : 0;
}

/* The bytes of a collective's whole value. */
static int64_t whole_bytes(const Combiner *c, uint32_t at) {
  const Instr *instr = comp_instr(c->module, c->comp, at);
  int64_t in = shape_bytes(comp_instr(c->module, c->comp, instr->operands.at[0])->shape);
  int64_t out = shape_bytes(instr->shape);
  return in > out ? in : out;
}

static void gather_batch(Combiner *c, uint32_t first, Batch *batch) {
  *batch = (Batch){.at = {first}, .n = 1, .bytes = whole_bytes(c, first)};
  for (uint32_t i = first + 1; i < c->n && batch->n < MOST_COMBINED; i++) {
    if (!may_combine(c, i) || !belong_together(c, first, i)) continue;
    int64_t bytes = whole_bytes(c, i);
    if (bytes > most_bytes(c, first, i) - batch->bytes) continue;
    batch->at[batch->n++] = i;
    batch->bytes += bytes;
  }
}

static CollectiveReason *reason_of(const Combiner *c, uint32_t at) {
  int64_t channel = instr_int(comp_instr(c->module, c->comp, at), ATTR_channel_id, 0);
  return channel < 1 || channel > c->out->reasons.n ? NULL : &c->out->reasons.at[channel - 1];
}

/* The first collective's reason speaks of all. */
static void join_reasons(const Combiner *c, const Batch *batch) {
  CollectiveReason *first = reason_of(c, batch->at[0]);
  StrBuf text = {.arena = c->out->arena};
  Str last = {0};
  for (uint32_t i = 0; i < batch->n && first != NULL; i++) {
    const CollectiveReason *reason = reason_of(c, batch->at[i]);
    if (reason == NULL || str_eq(reason->because, last)) continue;
    if (text.n != 0) buf_add(&text, STR("; "));
    buf_add(&text, reason->because);
    last = reason->because;
  }
  if (first != NULL) first->because = buf_str(&text);
}

static uint32_t add_combined(const Combiner *c, const Batch *batch) {
  const Shape **shapes = ARENA_ARRAY(c->scratch, const Shape *, batch->n);
  uint32_t *operands = ARENA_ARRAY(c->scratch, uint32_t, batch->n);
  for (uint32_t i = 0; i < batch->n; i++) {
    const Instr *part = comp_instr(c->module, c->comp, batch->at[i]);
    shapes[i] = part->shape;
    operands[i] = part->operands.at[0];
  }
  const Instr first = *comp_instr(c->module, c->comp, batch->at[0]);
  uint32_t at = comp_add_like(c->module, c->comp, &first, operands, batch->n);
  comp_instr(c->module, c->comp, at)->shape = shape_tuple(c->module->arena, shapes, batch->n);
  return at;
}

/* Users of part `i` take it from the combined one. */
static void replace_part(const Combiner *c, uint32_t part, uint32_t combined, uint32_t i) {
  const Shape *shape = comp_instr(c->module, c->comp, part)->shape;
  uint32_t at = comp_add(c->module, c->comp, OP_GET_TUPLE_ELEMENT, (Str){0}, shape, &combined, 1);
  Instr *element = comp_instr(c->module, c->comp, at);
  element->origin = comp_instr(c->module, c->comp, part)->origin;
  instr_set_int(c->module, element, ATTR_index, i);
  Comp *comp = module_comp(c->module, c->comp);
  for (uint32_t user = 0; user < at; user++) {
    Ids operands = comp->instrs.at[user].operands;
    for (uint32_t k = 0; k < operands.n; k++)
      if (operands.at[k] == part) operands.at[k] = at;
  }
}

static void combine(Combiner *c, const Batch *batch) {
  join_reasons(c, batch);
  uint32_t combined = add_combined(c, batch);
  for (uint32_t i = 0; i < batch->n; i++) {
    c->taken[batch->at[i]] = true;
    replace_part(c, batch->at[i], combined, i);
  }
}

static bool combine_in(Combiner *c) {
  bool changed = false;
  measure(c);
  for (uint32_t i = 0; i < c->n; i++) {
    if (!may_combine(c, i)) continue;
    Batch batch;
    gather_batch(c, i, &batch);
    if (batch.n == 1) continue;
    combine(c, &batch);
    changed = true;
  }
  if (changed) comp_order(c->module, c->comp);
  return changed;
}

void combine_collectives(Partitioned *partitioned) {
  Combiner c = {.out = partitioned, .module = partitioned->module, .scratch = arena_new()};
  bool changed = false;
  for (c.comp = 0; c.comp < c.module->comps.n; c.comp++)
    if (combine_in(&c)) changed = true;
  if (changed) module_remove_dead(c.module);
  arena_free(c.scratch);
}

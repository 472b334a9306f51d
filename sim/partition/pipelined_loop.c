/* Software pipelining of loops. In: a while whose body gathers what only its counter tells, as a scan over
 * layers does with each layer's weights. Out: the same numbers from a loop that carries the gathered value
 * and gathers the next one beside its own work.
 *
 *   before   while i < n:  g = gather(w[i]);  work(g)
 *   after    g = gather(w[0]);  while i + 1 < n:  h = gather(w[i + 1]), work(g), g = h;  work(g)
 *
 * The one idea: what tells the operand is copied to where the next counter is known. The last iteration is
 * written out, so that nothing is gathered in vain. Source: XLA's collective pipeliner. */
#include "sim/partition/pipelined_loop.h"

#include "sim/ir/clean.h"

enum { LONGEST_SLICE = 64 }; /* instructions that are copied for a collective */

/* ---- where it can be done ---- */

typedef struct {
  Arena *arena;
  const Module *module;
  uint32_t body_comp;
  const Comp *body;
  uint32_t counter;
  bool *passed; /* by element: the body gives it on as it is */
  uint32_t left;
} Finder;

/* An element of the computation's one parameter; NO_ID: another value. */
static uint32_t state_element(const Comp *comp, uint32_t at) {
  const Instr *instr = &comp->instrs.at[at];
  bool element =
      instr->op == OP_GET_TUPLE_ELEMENT && comp->instrs.at[instr->operands.at[0]].op == OP_PARAMETER;
  return element ? (uint32_t)instr_int(instr, ATTR_index, 0) : NO_ID;
}

static bool is_simple(Opcode op) {
  switch (op) {
  case OP_CONSTANT:
  case OP_IOTA:
  case OP_PARTITION_ID:
  case OP_REPLICA_ID:
  case OP_BITCAST:
  case OP_RESHAPE:
  case OP_BROADCAST:
  case OP_TRANSPOSE:
  case OP_SLICE:
  case OP_DYNAMIC_SLICE:
  case OP_CONCATENATE:
  case OP_PAD:
  case OP_COPY: return true;
  default: return op_is_elementwise(op) && !op_is_collective(op);
  }
}

/* Whether a value follows from the counter, what the loop passes on, and constants, by a few simple ops. */
static bool follows(Finder *finder, uint32_t at) {
  uint32_t element = state_element(finder->body, at);
  if (element != NO_ID) return element == finder->counter || finder->passed[element];
  const Instr *instr = &finder->body->instrs.at[at];
  if (finder->left == 0 || !is_simple(instr->op)) return false;
  finder->left--;
  for (uint32_t k = 0; k < instr->operands.n; k++)
    if (!follows(finder, instr->operands.at[k])) return false;
  return true;
}

static bool can_fetch(Finder *finder, uint32_t at) {
  const Instr *instr = &finder->body->instrs.at[at];
  bool plain = instr->op == OP_ALL_GATHER || instr->op == OP_COLLECTIVE_PERMUTE ||
               instr->op == OP_ALL_TO_ALL || instr->op == OP_COLLECTIVE_BROADCAST;
  finder->left = LONGEST_SLICE;
  for (uint32_t k = 0; k < instr->operands.n && plain; k++) plain = follows(finder, instr->operands.at[k]);
  return plain;
}

static void find_passed(Finder *finder, const Instr *root) {
  finder->passed = ARENA_ARRAY(finder->arena, bool, root->operands.n);
  for (uint32_t i = 0; i < root->operands.n; i++)
    finder->passed[i] = state_element(finder->body, root->operands.at[i]) == i;
}

/* The condition looks at one element that changes: the counter. */
static uint32_t find_counter(const Finder *finder, const Comp *condition) {
  uint32_t counter = NO_ID;
  for (uint32_t i = 0; i < condition->instrs.n; i++) {
    uint32_t element = state_element(condition, i);
    bool whole = element == NO_ID && condition->instrs.at[i].op == OP_PARAMETER;
    if (whole || element == NO_ID || finder->passed[element]) continue;
    if (counter != NO_ID && counter != element) return NO_ID;
    counter = element;
  }
  return counter;
}

/* All that uses a computation's parameter takes an element of it. */
static bool takes_elements(const Comp *comp) {
  if (comp->params.n != 1) return false;
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    Ids operands = comp->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++)
      if (operands.at[k] == comp->params.at[0] && state_element(comp, i) == NO_ID) return false;
  }
  return comp->root != comp->params.at[0];
}

static void find_loop(Arena *arena, const Module *module, uint32_t comp, uint32_t loop,
                      PipelinedLoops *found) {
  const Instr *instr = comp_instr(module, comp, loop);
  const Comp *condition = module_comp(module, instr_comp(instr, ATTR_condition));
  Finder finder = {.arena = arena, .module = module, .body_comp = instr_comp(instr, ATTR_body)};
  finder.body = module_comp(module, finder.body_comp);
  const Instr *root = &finder.body->instrs.at[finder.body->root];
  if (root->op != OP_TUPLE || !takes_elements(finder.body) || !takes_elements(condition)) return;
  find_passed(&finder, root);
  finder.counter = find_counter(&finder, condition);
  finder.left = LONGEST_SLICE;
  if (finder.counter == NO_ID || !follows(&finder, root->operands.at[finder.counter])) return;
  PipelinedLoop pipelined = {.comp = comp, .loop = loop, .counter = finder.counter};
  for (uint32_t i = 0; i < finder.body->instrs.n; i++)
    if (can_fetch(&finder, i)) VEC_PUSH(arena, &pipelined.ahead, i);
  if (pipelined.ahead.n > 0) VEC_PUSH(arena, found, pipelined);
}

PipelinedLoops pipelined_loops_find(Arena *arena, const Partitioned *partitioned) {
  PipelinedLoops found = {0};
  const Module *module = partitioned->module;
  for (uint32_t c = 0; c < module->comps.n; c++)
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++)
      if (comp_instr(module, c, i)->op == OP_WHILE) find_loop(arena, module, c, i, &found);
  return found;
}

/* ---- the new program ---- */

typedef struct {
  const Partitioned *from;
  const PipelinedLoops *loops;
  Partitioned *out;
  Module *module;
  Arena *scratch;
  int64_t channel; /* the highest that is taken */
} Pipeliner;

/* A computation that is copied into another. */
typedef struct {
  Pipeliner *pipeliner;
  uint32_t source, target;
  uint32_t *copies;   /* by instruction of the source; NO_ID: not yet */
  uint32_t *elements; /* of the state, in the target; NULL where the parameter is copied as it is */
  const char *suffix; /* of names; NULL: none */
} Copy;

static Copy copy_open(Pipeliner *pipeliner, uint32_t source, uint32_t target, uint32_t *elements,
                      const char *suffix) {
  uint32_t n = module_comp(pipeliner->from->module, source)->instrs.n;
  Copy copy = {pipeliner, source, target, ARENA_ARRAY(pipeliner->scratch, uint32_t, n), elements, suffix};
  for (uint32_t i = 0; i < n; i++) copy.copies[i] = NO_ID;
  return copy;
}

static const Comp *source_of(const Copy *copy) {
  return module_comp(copy->pipeliner->from->module, copy->source);
}

static const PipelinedLoop *loop_at(const Pipeliner *pipeliner, uint32_t comp, uint32_t at) {
  for (uint32_t i = 0; i < pipeliner->loops->n; i++) {
    const PipelinedLoop *loop = &pipeliner->loops->at[i];
    if (loop->comp == comp && loop->loop == at) return loop;
  }
  return NULL;
}

static uint32_t copy_instr(Copy *copy, uint32_t at);
static uint32_t write_loop(Copy *copy, const PipelinedLoop *loop);

/* The reason of a collective goes along with its copies, each on a channel of its own. */
static void copy_reason(const Copy *copy, uint32_t at, uint32_t made) {
  Pipeliner *pipeliner = copy->pipeliner;
  Instr *instr = comp_instr(pipeliner->module, copy->target, made);
  if (copy->suffix != NULL && instr_attr(instr, ATTR_channel_id) != NULL)
    instr_set_int(pipeliner->module, instr, ATTR_channel_id, ++pipeliner->channel);
  for (uint32_t r = 0; r < pipeliner->from->reasons.n; r++) {
    CollectiveReason reason = pipeliner->from->reasons.at[r];
    if (reason.comp != copy->source || reason.instr != at) continue;
    reason.comp = copy->target;
    reason.instr = made;
    VEC_PUSH(pipeliner->module->arena, &pipeliner->out->reasons, reason);
  }
}

/* With its operands, and what those need. */
static uint32_t copy_instr(Copy *copy, uint32_t at) {
  if (copy->copies[at] != NO_ID) return copy->copies[at];
  Pipeliner *pipeliner = copy->pipeliner;
  Instr instr = source_of(copy)->instrs.at[at];
  uint32_t element = copy->elements == NULL ? NO_ID : state_element(source_of(copy), at);
  if (element != NO_ID) return copy->copies[at] = copy->elements[element];
  const PipelinedLoop *loop = loop_at(pipeliner, copy->source, at);
  if (loop != NULL) return copy->copies[at] = write_loop(copy, loop);
  uint32_t *operands = ARENA_ARRAY(pipeliner->scratch, uint32_t, instr.operands.n);
  for (uint32_t k = 0; k < instr.operands.n; k++) operands[k] = copy_instr(copy, instr.operands.at[k]);
  if (copy->suffix != NULL)
    instr.name = str_printf(pipeliner->module->arena, "%.*s.%s", STR_ARG(instr.name), copy->suffix);
  uint32_t made = comp_add_like(pipeliner->module, copy->target, &instr, operands, instr.operands.n);
  if (op_is_collective(instr.op)) copy_reason(copy, at, made);
  return copy->copies[at] = made;
}

static uint32_t copy_all(Copy *copy) {
  const Comp *source = source_of(copy);
  for (uint32_t i = 0; i < source->instrs.n; i++)
    if (copy->elements == NULL || source->instrs.at[i].op != OP_PARAMETER) copy_instr(copy, i);
  return copy->copies[source->root];
}

/* Elements [0, n) of a tuple. */
static uint32_t *add_elements(Pipeliner *pipeliner, uint32_t comp, uint32_t tuple, uint32_t n) {
  uint32_t *elements = ARENA_ARRAY(pipeliner->scratch, uint32_t, n);
  for (uint32_t k = 0; k < n; k++) {
    const Shape *shape = comp_instr(pipeliner->module, comp, tuple)->shape->parts[k];
    elements[k] = comp_add(pipeliner->module, comp, OP_GET_TUPLE_ELEMENT, (Str){0}, shape, &tuple, 1);
    instr_set_int(pipeliner->module, comp_instr(pipeliner->module, comp, elements[k]), ATTR_index, k);
  }
  return elements;
}

static uint32_t add_tuple(Pipeliner *pipeliner, uint32_t comp, const uint32_t *parts, uint32_t n) {
  const Shape **shapes = ARENA_ARRAY(pipeliner->scratch, const Shape *, n);
  for (uint32_t k = 0; k < n; k++) shapes[k] = comp_instr(pipeliner->module, comp, parts[k])->shape;
  const Shape *shape = shape_tuple(pipeliner->module->arena, shapes, n);
  return comp_add(pipeliner->module, comp, OP_TUPLE, (Str){0}, shape, parts, n);
}

/* A loop in the making. */
typedef struct {
  Pipeliner *pipeliner;
  const PipelinedLoop *loop;
  uint32_t body, n; /* of the source: its body; the elements of its state */
} Pipeline;

/* The collectives as the state `elements` of computation `comp` tells them. */
static void fetch(const Pipeline *pipeline, uint32_t comp, uint32_t *elements, const char *suffix,
                  uint32_t *fetched) {
  Copy copy = copy_open(pipeline->pipeliner, pipeline->body, comp, elements, suffix);
  for (uint32_t i = 0; i < pipeline->loop->ahead.n; i++)
    fetched[i] = copy_instr(&copy, pipeline->loop->ahead.at[i]);
}

/* The body with what was fetched for it: elements [n, …) of the state. Gives the elements of the next. */
static void write_body(const Pipeline *pipeline, uint32_t comp, uint32_t *elements, const char *suffix,
                       uint32_t *next) {
  Copy copy = copy_open(pipeline->pipeliner, pipeline->body, comp, elements, suffix);
  for (uint32_t i = 0; i < pipeline->loop->ahead.n; i++)
    copy.copies[pipeline->loop->ahead.at[i]] = elements[pipeline->n + i];
  copy_all(&copy);
  const Comp *body = source_of(&copy);
  for (uint32_t k = 0; k < pipeline->n; k++)
    next[k] = copy.copies[body->instrs.at[body->root].operands.at[k]];
}

static uint32_t *add_state(Pipeliner *pipeliner, uint32_t comp, const Shape *shape) {
  uint32_t state = comp_add_parameter(pipeliner->module, comp, 0, STR("state"), shape);
  return add_elements(pipeliner, comp, state, shape->rank);
}

static uint32_t write_new_body(const Pipeline *pipeline, const Shape *shape) {
  Pipeliner *pipeliner = pipeline->pipeliner;
  Str name = module_comp(pipeliner->from->module, pipeline->body)->name;
  uint32_t comp = module_add_comp(pipeliner->module, name);
  uint32_t *elements = add_state(pipeliner, comp, shape);
  uint32_t *next = ARENA_ARRAY(pipeliner->scratch, uint32_t, shape->rank);
  write_body(pipeline, comp, elements, NULL, next);
  uint32_t *told = arena_copy(pipeliner->scratch, elements, shape->rank * sizeof *told);
  told[pipeline->loop->counter] = next[pipeline->loop->counter];
  fetch(pipeline, comp, told, "next", next + pipeline->n);
  uint32_t root = add_tuple(pipeliner, comp, next, shape->rank);
  module_comp(pipeliner->module, comp)->root = root;
  return comp;
}

/* Whether there is an iteration after this one. */
static uint32_t write_condition(const Pipeline *pipeline, uint32_t condition, const Shape *shape) {
  Pipeliner *pipeliner = pipeline->pipeliner;
  uint32_t comp = module_add_comp(pipeliner->module, module_comp(pipeliner->from->module, condition)->name);
  uint32_t *elements = add_state(pipeliner, comp, shape);
  Copy counts = copy_open(pipeliner, pipeline->body, comp, elements, "next");
  const Comp *body = source_of(&counts);
  uint32_t counter = body->instrs.at[body->root].operands.at[pipeline->loop->counter];
  uint32_t *told = arena_copy(pipeliner->scratch, elements, shape->rank * sizeof *told);
  told[pipeline->loop->counter] = copy_instr(&counts, counter);
  Copy copy = copy_open(pipeliner, condition, comp, told, NULL);
  uint32_t root = copy_all(&copy);
  module_comp(pipeliner->module, comp)->root = root;
  return comp;
}

/* The first fetch, the loop, and its last iteration; its result stands for the loop's. */
static uint32_t write_loop(Copy *copy, const PipelinedLoop *loop) {
  Pipeliner *pipeliner = copy->pipeliner;
  const Instr *old = &source_of(copy)->instrs.at[loop->loop];
  Pipeline pipeline = {pipeliner, loop, instr_comp(old, ATTR_body), old->shape->rank};
  uint32_t target = copy->target, all = pipeline.n + loop->ahead.n;
  uint32_t start = copy_instr(copy, old->operands.at[0]);
  uint32_t *elements = add_elements(pipeliner, target, start, pipeline.n);
  uint32_t *state = ARENA_ARRAY(pipeliner->scratch, uint32_t, all);
  memcpy(state, elements, pipeline.n * sizeof *state);
  fetch(&pipeline, target, elements, "first", state + pipeline.n);
  uint32_t tuple = add_tuple(pipeliner, target, state, all);
  const Shape *shape = comp_instr(pipeliner->module, target, tuple)->shape;
  uint32_t body = write_new_body(&pipeline, shape);
  uint32_t condition = write_condition(&pipeline, instr_comp(old, ATTR_condition), shape);
  uint32_t made = comp_add_like(pipeliner->module, target, old, &tuple, 1);
  Instr *instr = comp_instr(pipeliner->module, target, made);
  instr->shape = shape;
  instr_unset(instr, ATTR_backend_config); /* another number of trips */
  instr_set_comp(pipeliner->module, instr, ATTR_body, body);
  instr_set_comp(pipeliner->module, instr, ATTR_condition, condition);
  uint32_t *last = add_elements(pipeliner, target, made, all);
  write_body(&pipeline, target, last, "last", state);
  return add_tuple(pipeliner, target, state, pipeline.n);
}

/* Instructions change their indices when what is dead goes; names stay. */
static void settle_reasons(Pipeliner *pipeliner, const Str *names) {
  Partitioned *out = pipeliner->out;
  uint32_t n = 0;
  for (uint32_t r = 0; r < out->reasons.n; r++) {
    CollectiveReason reason = out->reasons.at[r];
    for (reason.comp = 0; reason.comp < out->module->comps.n; reason.comp++) {
      reason.instr = comp_find(module_comp(out->module, reason.comp), names[r]);
      if (reason.instr != NO_ID) break;
    }
    if (reason.comp < out->module->comps.n) out->reasons.at[n++] = reason;
  }
  out->reasons.n = n;
}

static void clean(Pipeliner *pipeliner) {
  Partitioned *out = pipeliner->out;
  Str *names = ARENA_ARRAY(pipeliner->scratch, Str, out->reasons.n);
  for (uint32_t r = 0; r < out->reasons.n; r++)
    names[r] = comp_instr(out->module, out->reasons.at[r].comp, out->reasons.at[r].instr)->name;
  module_remove_dead(out->module);
  settle_reasons(pipeliner, names);
}

Partitioned *partitioned_pipeline(const Partitioned *from, const PipelinedLoops *loops) {
  Partitioned *out = partitioned_like(from);
  Module *module = out->module;
  Pipeliner pipeliner = {.from = from,
                         .loops = loops,
                         .out = out,
                         .module = module,
                         .scratch = arena_new(),
                         .channel = module_highest_channel(from->module)};
  for (uint32_t c = 0; c < from->module->comps.n; c++)
    module_add_comp(module, module_comp(from->module, c)->name);
  for (uint32_t c = 0; c < from->module->comps.n; c++) {
    Copy copy = copy_open(&pipeliner, c, c, NULL, NULL);
    uint32_t root = copy_all(&copy);
    module_comp(module, c)->root = root;
  }
  module->entry = from->module->entry;
  clean(&pipeliner);
  arena_free(pipeliner.scratch);
  return out;
}

/* Liveness. In: steps; out: which values die when, and the most memory that is taken at once.
 *
 * The one idea: count buffers, not values. A tuple, an element of it or a bitcast names buffers that are
 * there; a loop's result is its carry, so what the body passes on keeps its buffer. A buffer is born at the
 * step that makes it and dies at the last that reads it. In a loop's body the carry belongs to the caller:
 * there it counts as memory given back when it dies, so an update in place comes out as nothing. */
#include "sim/schedule/liveness.h"
#include "models/cost.h"
#include "models/tiling.h"
#include "sim/schedule/fuse.h"

#include <stdlib.h>

/* ---- frees ---- */

/* The step of each instruction; of a collective that is started and ended its end. */
static uint32_t *steps_of(Arena *arena, const Comp *body, const CompSchedule *made) {
  uint32_t *step_of = ARENA_ARRAY(arena, uint32_t, body->instrs.n);
  for (uint32_t s = 0; s < made->steps.n; s++) {
    Ids instrs = made->steps.at[s].instrs;
    for (uint32_t i = 0; i < instrs.n; i++) step_of[instrs.at[i]] = s;
  }
  return step_of;
}

/* Where its result's memory is taken: of a collective that is started and ended at its start. */
static uint32_t *births_of(Arena *arena, const Comp *body, const CompSchedule *made) {
  uint32_t *birth_of = ARENA_ARRAY(arena, uint32_t, body->instrs.n);
  for (uint32_t s = made->steps.n; s-- > 0;) {
    Ids instrs = made->steps.at[s].instrs;
    for (uint32_t i = 0; i < instrs.n; i++) birth_of[instrs.at[i]] = s;
  }
  return birth_of;
}

void find_frees(Arena *arena, const Module *module, uint32_t comp, CompSchedule *made) {
  const Comp *body = module_comp(module, comp);
  Arena *scratch = arena_new();
  uint32_t n = body->instrs.n, *step_of = steps_of(scratch, body, made);
  uint32_t *last = arena_copy(scratch, step_of, n * sizeof *step_of);
  for (uint32_t i = 0; i < n; i++) {
    Ids operands = body->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++) {
      uint32_t *use = &last[operands.at[k]];
      if (step_of[i] > *use) *use = step_of[i];
    }
  }
  for (uint32_t i = 0; i < n; i++) made->steps.at[last[i]].frees.n += i != body->root;
  for (uint32_t s = 0; s < made->steps.n; s++) {
    Ids *frees = &made->steps.at[s].frees;
    *frees = (Ids){ARENA_ARRAY(arena, uint32_t, frees->n), 0};
  }
  for (uint32_t i = 0; i < n; i++) {
    Ids *frees = &made->steps.at[last[i]].frees;
    if (i != body->root) frees->at[frees->n++] = i;
  }
  arena_free(scratch);
}

/* ---- buffers ---- */

typedef Vec(Held) Holding;

typedef struct {
  int64_t bytes;
  uint32_t instr;      /* that makes it */
  uint32_t born, dies; /* steps */
  bool given;          /* a part of a parameter */
  bool leaves;         /* a part of the root */
} Buffer;

/* What a caller must know of a computation. */
typedef struct {
  bool done;
  int64_t extra_bytes; /* beyond what the caller holds, at most at once */
  Holding held;        /* then */
  bool *passed;        /* of a loop's body: the parts of its carry that it passes on as they are */
  uint32_t n_parts;
} Memory;

typedef struct {
  const Schedule *schedule;
  Arena *arena;
  Memory *memories; /* by computation */
} Analysis;

/* One computation under analysis. */
typedef struct {
  Arena *arena;
  const Memory *memories;
  const Module *module;
  uint32_t comp;
  const Comp *body;
  const CompSchedule *made;
  uint32_t *step_of, *birth_of;
  Vec(Buffer) buffers;
  Ids *parts; /* by instruction: the buffer of each array of its value */
} Frame;

/* Sums of untrusted sizes stay in range. */
static int64_t plus(int64_t a, int64_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX / 4 : sum;
}

static uint32_t count_parts(const Shape *shape) {
  if (!shape_is_tuple(shape)) return 1;
  uint32_t sum = 0;
  for (uint32_t i = 0; i < shape->rank; i++) sum += count_parts(shape->parts[i]);
  return sum;
}

static int64_t hbm_bytes(const Shape *shape) {
  return shape->layout != NULL && shape->layout->memory_space != 0 ? 0 : tiled_bytes(shape);
}

static uint32_t *add_buffers(Frame *frame, const Shape *shape, Buffer like, uint32_t *into) {
  if (!shape_is_tuple(shape)) {
    like.bytes = hbm_bytes(shape);
    *into = frame->buffers.n;
    VEC_PUSH(frame->arena, &frame->buffers, like);
    return into + 1;
  }
  for (uint32_t i = 0; i < shape->rank; i++) into = add_buffers(frame, shape->parts[i], like, into);
  return into;
}

/* What is written to an empty buffer of a program that came scheduled counts there. */
static bool counts_later(const Frame *frame, const Instr *instr) {
  return is_empty_buffer(instr) && frame->made->in_vmem == NULL;
}

static Ids new_parts(Frame *frame, uint32_t at) {
  const Instr *instr = &frame->body->instrs.at[at];
  uint32_t n = count_parts(instr->shape);
  Ids parts = {ARENA_ARRAY(frame->arena, uint32_t, n), n};
  Buffer like = {.instr = at,
                 .born = frame->birth_of[at],
                 .dies = frame->step_of[at],
                 .given = instr->op == OP_PARAMETER};
  add_buffers(frame, instr->shape, like, parts.at);
  bool in_vmem = frame->made->in_vmem != NULL && frame->made->in_vmem[at];
  if (parts.n == 1 && (in_vmem || instr->on_host || counts_later(frame, instr)))
    frame->buffers.at[parts.at[0]].bytes = 0;
  return parts;
}

/* Lets a part name another buffer than its own. */
static void rename_part(Frame *frame, uint32_t *part, uint32_t buffer) {
  frame->buffers.at[*part].bytes = 0;
  *part = buffer;
}

static Ids operand_parts(const Frame *frame, const Instr *instr, uint32_t i) {
  return i < instr->operands.n ? frame->parts[instr->operands.at[i]] : (Ids){NULL, 0};
}

static Ids element_parts(Frame *frame, uint32_t at) {
  const Instr *instr = &frame->body->instrs.at[at];
  const Shape *tuple = frame->body->instrs.at[instr->operands.at[0]].shape;
  int64_t index = instr_int(instr, ATTR_index, 0);
  uint32_t start = 0;
  for (int64_t i = 0; i < index && i < tuple->rank; i++) start += count_parts(tuple->parts[i]);
  uint32_t n = count_parts(instr->shape);
  Ids all = operand_parts(frame, instr, 0);
  if (start + n > all.n) return new_parts(frame, at);
  if (instr->on_host) frame->buffers.at[all.at[start]].bytes = 0;
  return (Ids){all.at + start, n};
}

static Ids tuple_parts(const Frame *frame, const Instr *instr) {
  uint32_t n = count_parts(instr->shape), at = 0;
  Ids parts = {ARENA_ARRAY(frame->arena, uint32_t, n), n};
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    Ids part = operand_parts(frame, instr, i);
    for (uint32_t k = 0; k < part.n && at < n; k++) parts.at[at++] = part.at[k];
  }
  return parts;
}

static Ids while_parts(Frame *frame, uint32_t at) {
  const Instr *instr = &frame->body->instrs.at[at];
  Ids parts = new_parts(frame, at), carry = operand_parts(frame, instr, 0);
  const Memory *body = &frame->memories[instr_comp(instr, ATTR_body)];
  for (uint32_t i = 0; i < parts.n && i < carry.n && i < body->n_parts; i++) {
    if (body->passed[i]) rename_part(frame, &parts.at[i], carry.at[i]);
  }
  return parts;
}

/* Asynchronous ops hold (operand, result, …) or ((operands), result, …), a copy (result, operand, …). */
static Ids start_parts(Frame *frame, uint32_t at) {
  const Instr *instr = &frame->body->instrs.at[at];
  Ids parts = new_parts(frame, at);
  uint32_t part = instr->op == OP_COPY_START ? 1 : 0, n = instr->op == OP_ASYNC_START ? instr->operands.n : 1;
  for (uint32_t k = 0; k < n; k++) {
    Ids operand = operand_parts(frame, instr, k);
    for (uint32_t i = 0; i < operand.n && part < parts.n; i++)
      rename_part(frame, &parts.at[part++], operand.at[i]);
  }
  return parts;
}

static Ids done_parts(Frame *frame, uint32_t at) {
  const Instr *instr = &frame->body->instrs.at[at];
  const Shape *start = frame->body->instrs.at[instr->operands.at[0]].shape;
  Ids all = operand_parts(frame, instr, 0);
  bool second = instr->op == OP_ALL_GATHER_DONE || instr->op == OP_COLLECTIVE_PERMUTE_DONE ||
                instr->op == OP_ASYNC_DONE;
  uint32_t skip = second && shape_is_tuple(start) && start->rank > 1 ? count_parts(start->parts[0]) : 0;
  uint32_t n = count_parts(instr->shape);
  return skip + n <= all.n ? (Ids){all.at + skip, n} : new_parts(frame, at);
}

/* `{1}: (0, {}), {2}: (1, {})`, where the index of the operand is empty: the operand whose buffer part `part`
 * of the result takes over, or NO_ID. */
static uint32_t taken_over(const Instr *fusion, uint32_t part) {
  Str text = instr_word(fusion, ATTR_output_to_operand_aliasing);
  for (size_t colon; (colon = str_find(text, ':')) < text.n; text = str_sub(text, colon + 1, text.n)) {
    size_t open = colon, stop = colon + str_find(str_sub(text, colon, text.n), ',');
    while (open > 0 && text.at[open] != '{') open--;
    Str index = str_trim(str_sub(text, open + 1, open + str_find(str_sub(text, open, text.n), '}')));
    Str operand = str_trim(str_sub(text, colon + 1, stop));
    int64_t from = 0, to = -1;
    bool reads = (index.n == 0 || str_to_int(index, &from)) && operand.n > 1 &&
                 str_to_int(str_trim(str_sub(operand, 1, operand.n)), &to);
    if (reads && from == part && to >= 0 && to < (int64_t)fusion->operands.n) return (uint32_t)to;
  }
  return NO_ID;
}

/* Of a fusion's result what stands in an operand's buffer. */
static Ids fusion_parts(Frame *frame, uint32_t at) {
  const Instr *fusion = &frame->body->instrs.at[at];
  Ids parts = new_parts(frame, at);
  bool flat = !shape_is_tuple(fusion->shape) || fusion->shape->rank == parts.n;
  for (uint32_t part = 0; part < parts.n && flat; part++) {
    uint32_t operand = fusion_hands_on(frame->module, fusion, part);
    if (operand == NO_ID) operand = taken_over(fusion, part);
    Ids from = operand == NO_ID ? (Ids){NULL, 0} : operand_parts(frame, fusion, operand);
    if (from.n == 1) rename_part(frame, &parts.at[part], from.at[0]);
  }
  return parts;
}

/* The operand whose buffers an op names: of one that is made anew in its users the largest, which must live
 * on until then. NO_ID: it has buffers of its own. */
static uint32_t named_operand(const Frame *frame, uint32_t at) {
  const Instr *instr = &frame->body->instrs.at[at];
  bool repeated = frame->made->repeated != NULL && frame->made->repeated[at];
  bool names = repeated || instr->op == OP_OPT_BARRIER || instr->op == OP_ADD_DEPENDENCY ||
               instr->op == OP_DOMAIN || is_alias(frame->module, frame->comp, instr);
  if (!names || instr->operands.n == 0) return NO_ID;
  uint32_t named = 0;
  for (uint32_t k = 1; k < instr->operands.n && repeated; k++) {
    int64_t bytes = hbm_bytes(frame->body->instrs.at[instr->operands.at[k]].shape);
    if (bytes > hbm_bytes(frame->body->instrs.at[instr->operands.at[named]].shape)) named = k;
  }
  return operand_parts(frame, instr, named).n == count_parts(instr->shape) ? named : NO_ID;
}

static bool only_names(const Frame *frame, uint32_t at) {
  Opcode op = frame->body->instrs.at[at].op;
  return op == OP_TUPLE || op == OP_GET_TUPLE_ELEMENT || named_operand(frame, at) != NO_ID;
}

static Ids parts_of(Frame *frame, uint32_t at) {
  const Instr *instr = &frame->body->instrs.at[at];
  switch (instr->op) {
  case OP_TUPLE: return tuple_parts(frame, instr);
  case OP_GET_TUPLE_ELEMENT: return element_parts(frame, at);
  case OP_WHILE: return while_parts(frame, at);
  case OP_FUSION: return fusion_parts(frame, at);
  case OP_COPY_START:
  case OP_ASYNC_START:
  case OP_ALL_GATHER_START:
  case OP_COLLECTIVE_PERMUTE_START: return start_parts(frame, at);
  case OP_ALL_GATHER_DONE:
  case OP_ALL_REDUCE_DONE:
  case OP_ASYNC_DONE:
  case OP_COLLECTIVE_PERMUTE_DONE:
  case OP_COPY_DONE: return done_parts(frame, at);
  default: break;
  }
  uint32_t named = named_operand(frame, at);
  return named == NO_ID ? new_parts(frame, at) : operand_parts(frame, instr, named);
}

static void find_buffers(Frame *frame) {
  const Comp *body = frame->body;
  for (uint32_t at = 0; at < body->instrs.n; at++) {
    const Instr *instr = &body->instrs.at[at];
    frame->parts[at] = parts_of(frame, at);
    for (uint32_t k = 0; k < instr->operands.n && !only_names(frame, at); k++) {
      Ids parts = operand_parts(frame, instr, k);
      for (uint32_t p = 0; p < parts.n; p++) {
        Buffer *buffer = &frame->buffers.at[parts.at[p]];
        if (frame->step_of[at] > buffer->dies) buffer->dies = frame->step_of[at];
      }
    }
  }
  Ids root = frame->parts[body->root];
  for (uint32_t p = 0; p < root.n; p++) frame->buffers.at[root.at[p]].leaves = true;
}

/* ---- the most at once ---- */

/* Made and read within one kernel. */
static bool is_internal(const Frame *frame, const Buffer *buffer) {
  const Step *step = &frame->made->steps.at[buffer->born];
  return !buffer->given && !buffer->leaves && buffer->born == buffer->dies && step->kind == STEP_COMPUTE &&
         step->instrs.n > 1;
}

/* ---- what is written over ---- */

/* Whether a fusion's computation uses its parameter number `parameter` element by element only. */
static bool uses_elementwise(const Module *module, uint32_t callee, int64_t parameter) {
  const Comp *body = module_comp(module, callee);
  for (uint32_t i = 0; i < body->instrs.n; i++) {
    const Instr *user = &body->instrs.at[i];
    bool element = op_is_elementwise(user->op) || is_alias(module, callee, user);
    for (uint32_t k = 0; k < user->operands.n && !element; k++) {
      const Instr *operand = &body->instrs.at[user->operands.at[k]];
      if (operand->op == OP_PARAMETER && operand->parameter == parameter) return false;
    }
  }
  return true;
}

/* A fusion that ends element by element can put its result in place of an operand that it uses so. */
static bool fusion_in_place(const Frame *frame, const Instr *fusion) {
  uint32_t callee = instr_comp(fusion, ATTR_calls);
  if (callee == NO_ID || !shape_is_array(fusion->shape)) return false;
  const Comp *body = module_comp(frame->module, callee);
  Opcode root = body->instrs.at[body->root].op;
  if (root == OP_DYNAMIC_UPDATE_SLICE || root == OP_SCATTER) return true;
  for (uint32_t k = 0; k < fusion->operands.n && op_is_elementwise(root); k++) {
    const Shape *operand = frame->body->instrs.at[fusion->operands.at[k]].shape;
    if (shape_is_array(operand) && hbm_bytes(operand) == hbm_bytes(fusion->shape) &&
        uses_elementwise(frame->module, callee, k))
      return true;
  }
  return false;
}

static bool works_in_place(const Frame *frame, const Step *step) {
  const Instr *last = &frame->body->instrs.at[step->instrs.at[step->instrs.n - 1]];
  if (last->op == OP_FUSION) return fusion_in_place(frame, last);
  return step->kind == STEP_WHILE || op_is_elementwise(last->op) || last->op == OP_DYNAMIC_UPDATE_SLICE ||
         last->op == OP_SCATTER;
}

/* ---- outputs ---- */

/* Marks the outputs that stand in place of a parameter: `input_output_alias={ {1}: (0, {}, may-alias) }`. */
static void mark_aliases(const Module *module, uint32_t n_outputs, bool *donated) {
  Str text = module_header(module, "input_output_alias");
  for (size_t colon = str_find(text, ':'); colon < text.n;
       colon += 1 + str_find(str_sub(text, colon + 1, text.n), ':')) {
    size_t open = colon;
    while (open > 0 && text.at[open] != '{') open--;
    size_t close = open + str_find(str_sub(text, open, text.n), '}');
    int64_t index = 0;
    str_to_int(str_trim(str_sub(text, open + 1, close)), &index);
    if (index >= 0 && index < n_outputs) donated[index] = true;
  }
}

/* Marks an output of its size for each parameter that is given up: `buffer_donor={ (3, {}), (4, {}) }`. */
static void mark_donors(Arena *arena, const Module *module, const Shape *const *outputs, uint32_t n_outputs,
                        bool *donated) {
  const Comp *entry = module_entry(module);
  bool *donors = ARENA_ARRAY(arena, bool, entry->params.n + 1);
  module_mark_donated(module, "buffer_donor", donors);
  for (uint32_t p = 0; p < entry->params.n; p++) {
    const Shape *given = entry->instrs.at[entry->params.at[p]].shape;
    for (uint32_t i = 0; i < n_outputs && donors[p]; i++) {
      if (donated[i] || !shape_is_array(given) || !shape_eq(given, outputs[i])) continue;
      donated[i] = true;
      break;
    }
  }
}

/* By output of the entry, whether it takes the memory of a parameter. */
static const bool *find_donated(Arena *arena, const Module *module, const Shape *const **outputs,
                                uint32_t *n) {
  const Comp *entry = module_entry(module);
  const Shape *whole = entry->instrs.at[entry->root].shape;
  *n = shape_is_tuple(whole) ? whole->rank : 1;
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, *n + 1);
  bool *donated = ARENA_ARRAY(arena, bool, *n + 1);
  for (uint32_t i = 0; i < *n; i++) shapes[i] = shape_is_tuple(whole) ? whole->parts[i] : whole;
  mark_aliases(module, *n, donated);
  mark_donors(arena, module, shapes, *n, donated);
  *outputs = shapes;
  return donated;
}

/* The memory of an output before it is made, and until when temporaries have it. */
typedef struct {
  int64_t bytes;
  uint32_t born, taken; /* steps; free from `taken` on */
} Room;

static int larger_room_last(const void *left, const void *right) {
  const Room *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes < b->bytes ? -1 : 1;
  return a->born < b->born ? -1 : a->born > b->born;
}

static uint32_t output_rooms(Frame *frame, Room *rooms) {
  const Shape *const *outputs;
  uint32_t n, made = 0;
  const bool *donated = find_donated(frame->arena, frame->module, &outputs, &n);
  Ids root = frame->parts[frame->body->root];
  for (uint32_t i = 0; i < root.n && root.n == n; i++) {
    const Buffer *buffer = &frame->buffers.at[root.at[i]];
    if (!donated[i] && !buffer->given && buffer->bytes > 0)
      rooms[made++] = (Room){buffer->bytes, buffer->born, 0};
  }
  if (made > 0) qsort(rooms, made, sizeof *rooms, larger_room_last);
  return made;
}

/* A buffer that a kernel makes, and that goes before the program ends. */
static bool is_temporary(const Frame *frame, const Buffer *buffer) {
  StepKind kind = frame->made->steps.at[buffer->born].kind;
  bool made = (kind == STEP_COMPUTE || kind == STEP_CALL) && !buffer->given &&
              frame->body->instrs.at[buffer->instr].op != OP_CONSTANT;
  return made && !buffer->leaves && buffer->bytes > 0 && !is_internal(frame, buffer);
}

/* Whether an output can take over the memory of a temporary: of one that is gone, or that the kernel which
 * makes the output writes over. A collective leaves what it sends where it is. */
static bool follows_in_place(const Frame *frame, const Buffer *buffer, const Room *room) {
  const Step *maker = &frame->made->steps.at[room->born];
  if (room->born != buffer->dies) return room->born > buffer->dies;
  return room->bytes == buffer->bytes && maker->kind != STEP_COLLECTIVE && works_in_place(frame, maker);
}

/* Temporaries that are gone before an output of their size, up to twice as much, is made lie in its memory
 * (XLA's buffer assignment). In the order of their births; the smallest output that serves is taken. */
static void lie_in_outputs(Frame *frame) {
  Room *rooms = ARENA_ARRAY(frame->arena, Room, frame->parts[frame->body->root].n);
  uint32_t n = output_rooms(frame, rooms);
  for (uint32_t i = 0; i < frame->buffers.n && n > 0; i++) {
    Buffer *buffer = &frame->buffers.at[i];
    for (uint32_t r = 0; r < n && is_temporary(frame, buffer); r++) {
      Room *room = &rooms[r];
      bool fits = room->bytes >= buffer->bytes && room->bytes / 2 <= buffer->bytes;
      if (!fits || room->taken > buffer->born || !follows_in_place(frame, buffer, room)) continue;
      room->taken = buffer->dies + 1;
      buffer->bytes = 0;
    }
  }
}

/* ---- what lives when ---- */

/* Of the computations that a step calls the one that takes most; NULL where it calls none. */
static const Memory *largest_callee(const Frame *frame, const Step *step) {
  const Instr *instr = &frame->body->instrs.at[step->instrs.at[step->instrs.n - 1]];
  bool calls = step->kind == STEP_WHILE || step->kind == STEP_CONDITIONAL || instr->op == OP_CALL;
  const Memory *largest = NULL;
  Ids called = calls ? instr_called(frame->arena, instr) : (Ids){NULL, 0};
  for (uint32_t i = 0; i < called.n; i++) {
    const Memory *memory = &frame->memories[called.at[i]];
    if (largest == NULL || memory->extra_bytes > largest->extra_bytes) largest = memory;
  }
  return largest;
}

typedef struct {
  uint32_t step;
  int64_t bytes;
} Change;

typedef Vec(Change) Changes;

static int by_step_and_bytes(const void *left, const void *right) {
  const Change *a = left, *b = right;
  if (a->step != b->step) return a->step < b->step ? -1 : 1;
  return a->bytes < b->bytes ? -1 : a->bytes > b->bytes;
}

/* Memory of the computation's own: in a loop's body the carry and what replaces it too. */
static bool counts(const Frame *frame, const Buffer *buffer, bool loop) {
  return !is_internal(frame, buffer) && (loop || (!buffer->given && !buffer->leaves));
}

static void find_changes(Frame *frame, bool loop, Changes *births, Changes *deaths) {
  for (uint32_t i = 0; i < frame->buffers.n; i++) {
    const Buffer *buffer = &frame->buffers.at[i];
    if (!counts(frame, buffer, loop)) continue;
    if (!buffer->given) VEC_PUSH(frame->arena, births, (Change){buffer->born, buffer->bytes});
    if (!buffer->leaves) VEC_PUSH(frame->arena, deaths, (Change){buffer->dies, buffer->bytes});
  }
  if (births->n != 0) qsort(births->at, births->n, sizeof *births->at, by_step_and_bytes);
  if (deaths->n != 0) qsort(deaths->at, deaths->n, sizeof *deaths->at, by_step_and_bytes);
}

/* What lives at step `s`, with what the step calls. */
static Holding held_at(Frame *frame, bool loop, uint32_t s) {
  Holding held = {0};
  const Step *step = &frame->made->steps.at[s];
  for (uint32_t i = 0; i < frame->buffers.n; i++) {
    const Buffer *buffer = &frame->buffers.at[i];
    bool replaced = buffer->dies == s && buffer->born < s && works_in_place(frame, step);
    if (counts(frame, buffer, loop) && !buffer->given && buffer->bytes > 0 && buffer->born <= s &&
        (buffer->dies >= s || buffer->leaves) && !replaced)
      VEC_PUSH(frame->arena, &held, (Held){frame->comp, buffer->instr, buffer->bytes});
  }
  if (step->demand.temporary_bytes > 0)
    VEC_PUSH(frame->arena, &held,
             (Held){frame->comp, step->instrs.at[step->instrs.n - 1], step->demand.temporary_bytes});
  const Memory *callee = largest_callee(frame, step);
  for (uint32_t i = 0; callee != NULL && i < callee->held.n; i++)
    VEC_PUSH(frame->arena, &held, callee->held.at[i]);
  return held;
}

/* Bytes that step `s` makes beyond what it can put in place of what dies; moves past its changes. */
static int64_t grow(Changes births, Changes deaths, uint32_t *b, uint32_t *d, uint32_t s, bool in_place,
                    int64_t *freed) {
  int64_t made = 0;
  *freed = 0;
  while (*b < births.n && births.at[*b].step == s) {
    int64_t need = births.at[*b].bytes;
    while (in_place && *d < deaths.n && deaths.at[*d].step == s && deaths.at[*d].bytes < need)
      *freed = plus(*freed, deaths.at[(*d)++].bytes);
    bool reused = in_place && *d < deaths.n && deaths.at[*d].step == s && deaths.at[*d].bytes == need;
    if (reused) ++*d;
    if (!reused) made = plus(made, need);
    ++*b;
  }
  while (*d < deaths.n && deaths.at[*d].step == s) *freed = plus(*freed, deaths.at[(*d)++].bytes);
  return made;
}

static void find_most_at_once(Frame *frame, bool loop, Memory *memory) {
  Changes births = {0}, deaths = {0};
  find_changes(frame, loop, &births, &deaths);
  int64_t live = 0, freed;
  uint32_t fullest = 0;
  for (uint32_t s = 0, b = 0, d = 0; s < frame->made->steps.n; s++) {
    const Step *step = &frame->made->steps.at[s];
    live = plus(live, grow(births, deaths, &b, &d, s, works_in_place(frame, step), &freed));
    const Memory *callee = largest_callee(frame, step);
    int64_t within = plus(step->demand.temporary_bytes, callee == NULL ? 0 : callee->extra_bytes);
    int64_t now = plus(live, within);
    if (now > memory->extra_bytes) fullest = s;
    if (now > memory->extra_bytes) memory->extra_bytes = now;
    live -= freed;
  }
  memory->held = held_at(frame, loop, fullest);
}

static void find_passed(Frame *frame, Memory *memory) {
  Ids root = frame->parts[frame->body->root], carry = {NULL, 0};
  if (frame->body->params.n == 1) carry = frame->parts[frame->body->params.at[0]];
  memory->n_parts = root.n;
  memory->passed = ARENA_ARRAY(frame->arena, bool, root.n);
  for (uint32_t i = 0; i < root.n && i < carry.n; i++) memory->passed[i] = root.at[i] == carry.at[i];
}

static void analyse(Analysis *analysis, uint32_t comp, bool loop) {
  Memory *memory = &analysis->memories[comp];
  const Schedule *schedule = analysis->schedule;
  const CompSchedule *made = &schedule->comps[comp];
  const Comp *body = module_comp(schedule->module, comp);
  if (memory->done || made->steps.n == 0) return;
  memory->done = true;
  for (uint32_t i = 0; i < body->instrs.n; i++) {
    const Instr *instr = &body->instrs.at[i];
    if (instr->op != OP_WHILE && instr->op != OP_CONDITIONAL && instr->op != OP_CALL) continue;
    Ids called = instr_called(analysis->arena, instr);
    for (uint32_t k = 0; k < called.n; k++)
      analyse(analysis, called.at[k], instr->op == OP_WHILE && called.at[k] == instr_comp(instr, ATTR_body));
  }
  Frame frame = {.arena = analysis->arena,
                 .memories = analysis->memories,
                 .module = schedule->module,
                 .comp = comp,
                 .body = body,
                 .made = made,
                 .step_of = steps_of(analysis->arena, body, made),
                 .birth_of = births_of(analysis->arena, body, made),
                 .parts = ARENA_ARRAY(analysis->arena, Ids, body->instrs.n)};
  find_buffers(&frame);
  find_passed(&frame, memory);
  if (comp == schedule->module->entry) lie_in_outputs(&frame);
  find_most_at_once(&frame, loop, memory);
}

/* ---- the entry ---- */

/* Bytes of the outputs that take the memory of parameters. */
static int64_t donated_bytes(Arena *scratch, const Module *module) {
  const Shape *const *outputs;
  uint32_t n;
  const bool *donated = find_donated(scratch, module, &outputs, &n);
  int64_t sum = 0;
  for (uint32_t i = 0; i < n; i++) sum = plus(sum, donated[i] ? hbm_bytes(outputs[i]) : 0);
  return sum;
}

static int larger_first(const void *left, const void *right) {
  const Held *a = left, *b = right;
  if (a->bytes != b->bytes) return a->bytes > b->bytes ? -1 : 1;
  if (a->comp != b->comp) return a->comp < b->comp ? -1 : 1;
  return a->instr < b->instr ? -1 : a->instr > b->instr;
}

static void hold(Schedule *schedule, uint32_t instr) {
  int64_t bytes = hbm_bytes(comp_instr(schedule->module, schedule->module->entry, instr)->shape);
  if (bytes > 0) VEC_PUSH(schedule->arena, &schedule->held, (Held){schedule->module->entry, instr, bytes});
}

/* The root's parts where it is a tuple: what made them says more than the tuple. */
static void hold_outputs(Schedule *schedule) {
  const Comp *entry = module_entry(schedule->module);
  const Instr *root = &entry->instrs.at[entry->root];
  if (root->op != OP_TUPLE) hold(schedule, entry->root);
  for (uint32_t k = 0; k < root->operands.n && root->op == OP_TUPLE; k++)
    hold(schedule, root->operands.at[k]);
}

/* Outputs that are handed over on the host take no HBM. */
static int64_t output_bytes(const Comp *entry) {
  const Instr *root = &entry->instrs.at[entry->root];
  if (root->op != OP_TUPLE) return root->on_host ? 0 : hbm_bytes(root->shape);
  int64_t sum = 0;
  for (uint32_t i = 0; i < root->operands.n; i++) {
    const Instr *output = &entry->instrs.at[root->operands.at[i]];
    if (!output->on_host) sum = plus(sum, hbm_bytes(output->shape));
  }
  return sum;
}

void find_memory(Schedule *schedule) {
  const Module *module = schedule->module;
  const Comp *entry = module_entry(module);
  Arena *scratch = arena_new();
  Analysis analysis = {schedule, scratch, ARENA_ARRAY(scratch, Memory, module->comps.n)};
  analyse(&analysis, module->entry, false);
  const Memory *temporary = &analysis.memories[module->entry];
  schedule->hbm_temp_bytes = temporary->extra_bytes;
  schedule->hbm_argument_bytes = 0;
  schedule->held.n = 0;
  for (uint32_t p = 0; p < entry->params.n; p++) {
    int64_t bytes = hbm_bytes(entry->instrs.at[entry->params.at[p]].shape);
    schedule->hbm_argument_bytes = plus(schedule->hbm_argument_bytes, bytes);
    hold(schedule, entry->params.at[p]);
  }
  schedule->hbm_output_bytes = output_bytes(entry);
  hold_outputs(schedule);
  for (uint32_t i = 0; i < temporary->held.n; i++)
    VEC_PUSH(schedule->arena, &schedule->held, temporary->held.at[i]);
  if (schedule->held.n != 0)
    qsort(schedule->held.at, schedule->held.n, sizeof *schedule->held.at, larger_first);
  int64_t given = plus(schedule->hbm_argument_bytes, schedule->hbm_output_bytes);
  schedule->hbm_peak_bytes = plus(given, schedule->hbm_temp_bytes) - donated_bytes(scratch, module);
  arena_free(scratch);
}

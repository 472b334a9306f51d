/* Windowed products. In: a program with an all-gather before a product, or a reduce-scatter after one. Out:
 * the same numbers from partial products, with permutes between them that can run beside them.
 *
 * The one idea: blocks go round a ring both ways, one hop a step. What is gathered: with each step a device
 * has two blocks more, multiplies them with what belongs to them, and adds (where the gathered dimension is
 * contracted) or writes its part of the result. What is scattered: two sums per block go towards the device
 * that keeps it, and each device on the way adds its part. On the wire are the bytes of the collective.
 * Source: Wang et al., "Overlap Communication with Dependent Computation via Decomposition in Large Deep
 * Learning Models", ASPLOS 2023; the windowed dot-general of XLA's SPMD partitioner. */
#include "sim/partition/windowed_dot.h"

#include "sim/ir/device_groups.h"
#include "sim/partition/spmd.h"

/* ---- where it can be done ---- */

typedef struct {
  Arena *arena;
  const Partitioned *partitioned;
  uint32_t comp;
  const Comp *body;
  uint32_t *uses, *user; /* by instruction; one of its users */
  WindowedDots found;
} Finder;

static void find_users(Finder *finder) {
  finder->uses = comp_use_counts(finder->arena, finder->body);
  finder->user = ARENA_ARRAY(finder->arena, uint32_t, finder->body->instrs.n);
  for (uint32_t i = 0; i < finder->body->instrs.n; i++) {
    Ids operands = finder->body->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++) finder->user[operands.at[k]] = i;
  }
}

/* The one user of a value, past elements and reshapes that others do not use; NO_ID: none or several. */
static const Instr *only_user(const Finder *finder, uint32_t at) {
  return finder->uses[at] == 1 && at != finder->body->root ? &finder->body->instrs.at[finder->user[at]]
                                                           : NULL;
}

/* Groups of equal sizes that hold every device, as a window over partitions needs them. */
static bool whole_groups(const Finder *finder, const Instr *collective, GroupList *groups) {
  const Module *module = finder->partitioned->module;
  uint32_t devices = (uint32_t)module->num_partitions;
  if (module->replica_count != 1) return false;
  *groups = collective_groups_or_none(finder->arena, module, collective, devices);
  if (groups->n == 0 || groups->start[groups->n] != devices) return false;
  uint32_t size = groups->start[1];
  for (uint32_t g = 0; g < groups->n; g++)
    if (groups->start[g + 1] - groups->start[g] != size) return false;
  return size > 1;
}

/* A result that other devices' parts are added to would be the same on all of them. */
static bool is_summed(const Finder *finder, uint32_t dot) {
  const Instr *user = only_user(finder, dot);
  return user != NULL && user->op == OP_ALL_REDUCE;
}

static void find_gathered(Finder *finder, uint32_t at, uint32_t gather, uint32_t part) {
  const Instr *user = only_user(finder, at), *collective = &finder->body->instrs.at[gather];
  if (user == NULL || user->op != OP_DOT || is_summed(finder, finder->user[at])) return;
  WindowedDot dot = {.comp = finder->comp,
                     .dot = finder->user[at],
                     .collective = gather,
                     .operand = user->operands.at[0] == at ? 0 : 1,
                     .part = part,
                     .dim = instr_ints(collective, ATTR_dimensions).at[0]};
  if (whole_groups(finder, collective, &dot.groups)) VEC_PUSH(finder->arena, &finder->found, dot);
}

static void find_scattered(Finder *finder, uint32_t at) {
  const Instr *scatter = &finder->body->instrs.at[at];
  if (scatter->operands.n != 1 || !shape_is_array(scatter->shape)) return;
  uint32_t product = scatter->operands.at[0];
  bool adds = comp_binary_op(finder->partitioned->module, instr_comp(scatter, ATTR_to_apply)) == OP_ADD;
  if (!adds || finder->body->instrs.at[product].op != OP_DOT || only_user(finder, product) == NULL) return;
  WindowedDot dot = {.comp = finder->comp,
                     .dot = product,
                     .collective = at,
                     .operand = NO_ID,
                     .dim = instr_ints(scatter, ATTR_dimensions).at[0]};
  if (whole_groups(finder, scatter, &dot.groups)) VEC_PUSH(finder->arena, &finder->found, dot);
}

static void find_in(Finder *finder, uint32_t at) {
  const Instr *instr = &finder->body->instrs.at[at];
  if (instr->op == OP_ALL_GATHER && instr->operands.n == 1) find_gathered(finder, at, at, 0);
  if (instr->op == OP_REDUCE_SCATTER) find_scattered(finder, at);
  if (instr->op != OP_GET_TUPLE_ELEMENT) return;
  uint32_t tuple = instr->operands.at[0];
  if (finder->body->instrs.at[tuple].op == OP_ALL_GATHER)
    find_gathered(finder, at, tuple, (uint32_t)instr_int(instr, ATTR_index, 0));
}

/* A product is windowed once. */
static void keep_first(WindowedDots *found) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < found->n; i++) {
    bool again = false;
    for (uint32_t k = 0; k < n && !again; k++)
      again = found->at[k].comp == found->at[i].comp && found->at[k].dot == found->at[i].dot;
    if (!again) found->at[n++] = found->at[i];
  }
  found->n = n;
}

WindowedDots windowed_dots_find(Arena *arena, const Partitioned *partitioned) {
  Finder finder = {.arena = arena, .partitioned = partitioned};
  for (finder.comp = 0; finder.comp < partitioned->module->comps.n; finder.comp++) {
    finder.body = module_comp(partitioned->module, finder.comp);
    find_users(&finder);
    for (uint32_t i = 0; i < finder.body->instrs.n; i++) find_in(&finder, i);
  }
  keep_first(&finder.found);
  return finder.found;
}

/* ---- the new program ---- */

typedef struct {
  Spmd spmd;
  const Partitioned *from;
  int64_t channel;         /* the highest that is taken */
  const WindowedDot **dot; /* by instruction of the computation being copied: what it is the dot of */
  bool *gone;              /* by instruction: collectives that are windowed, and their elements */
  uint32_t *copies;        /* by instruction */
  uint32_t ended;          /* the result of the loop before this one; NO_ID: there is none */
  uint32_t *sums;   /* by instruction: of a product whose loop sums up, the buffer for that; else NO_ID */
  uint32_t buffers; /* the last of them; NO_ID: there are none */
} Windower;

/* One product in the making. */
typedef struct {
  Windower *windower;
  const WindowedDot *dot;
  const Instr *instr, *collective; /* as they were */
  uint32_t n;                      /* devices of a group */
  uint32_t *ring_of, *place_of;    /* by device: its group, and its place in the ring */
  uint32_t lhs, rhs;               /* new; of what is gathered the own block */
  int64_t block;                   /* rows of a block */
} Windowed;

static uint32_t ring_member(const Windowed *window, uint32_t group, int64_t place) {
  int64_t n = window->n;
  return window->dot->rings[group * window->n + (uint32_t)((place % n + n) % n)];
}

static void find_places(Windowed *window) {
  Arena *scratch = window->windower->spmd.scratch;
  const GroupList *groups = &window->dot->groups;
  uint32_t devices = groups->start[groups->n];
  window->ring_of = ARENA_ARRAY(scratch, uint32_t, devices);
  window->place_of = ARENA_ARRAY(scratch, uint32_t, devices);
  for (uint32_t g = 0; g < groups->n; g++)
    for (uint32_t p = 0; p < window->n; p++) {
      uint32_t device = groups->ids[groups->start[g] + ring_member(window, g, p)];
      window->ring_of[device] = g;
      window->place_of[device] = p;
    }
}

/* Where each device finds the first row of the block of the device `offset` places on in its ring. */
static const int64_t *block_starts(const Windowed *window, int64_t offset) {
  uint32_t devices = window->dot->groups.start[window->dot->groups.n];
  int64_t *starts = ARENA_ARRAY(window->windower->spmd.scratch, int64_t, devices);
  for (uint32_t d = 0; d < devices; d++)
    starts[d] = window->block * ring_member(window, window->ring_of[d], window->place_of[d] + offset);
  return starts;
}

static Str because_of(const Windowed *window) {
  const Partitioned *from = window->windower->from;
  for (uint32_t r = 0; r < from->reasons.n; r++) {
    const CollectiveReason *reason = &from->reasons.at[r];
    if (reason->comp == window->dot->comp && reason->instr == window->dot->collective) return reason->because;
  }
  return (Str){0};
}

/* A block to the next device of the ring (`way` 1) or the one before (-1): step `step` of that way. */
static uint32_t add_permute(const Windowed *window, uint32_t value, int way, uint32_t step) {
  Spmd *spmd = &window->windower->spmd;
  const GroupList *groups = &window->dot->groups;
  Pairs pairs = {ARENA_ARRAY(spmd->arena, Pair, groups->start[groups->n]), 0};
  for (uint32_t g = 0; g < groups->n; g++)
    for (uint32_t p = 0; p < window->n; p++) {
      const uint32_t *ids = groups->ids + groups->start[g];
      pairs.at[pairs.n++] =
          (Pair){ids[ring_member(window, g, p)], ids[ring_member(window, g, (int64_t)p + way)]};
    }
  Str whole = window->collective->name;
  Str name = str_printf(spmd->arena, "%.*s.%s.%u", STR_ARG(whole), way > 0 ? "up" : "down", step);
  const Shape *shape = spmd_shape(spmd, value);
  uint32_t at = comp_add(spmd->module, spmd->frame->comp, OP_COLLECTIVE_PERMUTE, name, shape, &value, 1);
  Instr *instr = spmd_instr(spmd, at);
  instr->origin = window->collective->origin;
  instr->place = window->collective->place;
  instr_set(spmd->module, instr, (Attr){.id = ATTR_source_target_pairs, .pairs = pairs});
  instr_set_int(spmd->module, instr, ATTR_channel_id, ++window->windower->channel);
  CollectiveReason reason = {.comp = spmd->frame->comp, .instr = at, .origin = window->collective->origin};
  reason.whole = whole;
  reason.because = str_printf(spmd->arena, "%.*s in steps beside %.*s: %.*s", STR_ARG(whole),
                              STR_ARG(window->instr->name), STR_ARG(because_of(window)));
  VEC_PUSH(spmd->arena, &spmd->out->reasons, reason);
  return at;
}

/* The dimension of a dot's result that comes of one of its operands' dimensions; -1: a contracted one.
 * `batch`: place in the batch dimensions, or -1. */
static int64_t result_dim(const Instr *dot, const Comp *body, uint32_t operand, int64_t dim, int64_t *batch) {
  Ints batches = instr_ints(dot, operand == 0 ? ATTR_lhs_batch_dims : ATTR_rhs_batch_dims);
  Ints contracting = instr_ints(dot, operand == 0 ? ATTR_lhs_contracting_dims : ATTR_rhs_contracting_dims);
  int64_t rank = body->instrs.at[dot->operands.at[operand]].shape->rank, before = 0;
  *batch = -1;
  for (uint32_t i = 0; i < batches.n; i++)
    if (batches.at[i] == dim) *batch = i;
  if (*batch >= 0) return *batch;
  for (int64_t d = 0; d < rank; d++) {
    bool named = false;
    for (uint32_t i = 0; i < batches.n; i++) named = named || batches.at[i] == d;
    for (uint32_t i = 0; i < contracting.n; i++) named = named || contracting.at[i] == d;
    if (d == dim && named) return -1;
    if (d == dim) break;
    before += !named;
  }
  int64_t lhs_rank = body->instrs.at[dot->operands.at[0]].shape->rank;
  int64_t lhs_contracted = instr_ints(dot, ATTR_lhs_contracting_dims).n;
  return operand == 0 ? (int64_t)batches.n + before : lhs_rank - lhs_contracted + before;
}

/* The partial product with dimension `dim` of the result (-1: none) cut to a block. */
static uint32_t add_dot(const Windowed *window, uint32_t lhs, uint32_t rhs, int64_t dim) {
  Spmd *spmd = &window->windower->spmd;
  uint32_t operands[2] = {lhs, rhs};
  uint32_t at = comp_add_like(spmd->module, spmd->frame->comp, window->instr, operands, 2);
  if (dim < 0) return at;
  const Shape *whole = window->instr->shape;
  int64_t *dims = arena_copy(spmd->scratch, whole->dims, whole->rank * sizeof *dims);
  dims[dim] = window->block;
  spmd_instr(spmd, at)->shape = shape_with_dims(spmd->arena, whole, dims, whole->rank);
  return at;
}

static uint32_t add_sum(const Windowed *window, uint32_t sum, uint32_t part) {
  return sum == NO_ID ? part : spmd_binary(&window->windower->spmd, OP_ADD, sum, part);
}

/* Writes a part of the result at starts[device] of dimension `dim`. */
static uint32_t add_update(const Windowed *window, uint32_t result, uint32_t part, int64_t dim,
                           const int64_t *starts) {
  Spmd *spmd = &window->windower->spmd;
  const Shape *whole = window->instr->shape;
  if (result == NO_ID) result = spmd_splat(spmd, spmd_scalar(spmd, whole->dtype, 0), whole);
  uint32_t *operands = ARENA_ARRAY(spmd->scratch, uint32_t, whole->rank + 2), zero = NO_ID;
  operands[0] = result;
  operands[1] = part;
  for (uint32_t d = 0; d < whole->rank; d++) {
    if (d != dim && zero == NO_ID) zero = spmd_scalar(spmd, DTYPE_S32, 0);
    operands[d + 2] = d == dim ? spmd_table(spmd, starts) : zero;
  }
  return spmd_add(spmd, OP_DYNAMIC_UPDATE_SLICE, whole, operands, whole->rank + 2);
}

/* ---- loops ---- */

/* XLA writes a window as a loop, whose body it doubles; of a single trip nothing of the loop is left. */
static bool is_loop(uint32_t devices) {
  return devices > 4 || devices % 2 != 0;
}

static uint32_t add_like(Spmd *spmd, Opcode op, uint32_t value) {
  return spmd_add(spmd, op, spmd_shape(spmd, value), &value, 1);
}

/* `value` once another is there; NO_ID: there is none to wait for. No kernel reaches over it. */
static uint32_t add_barrier(Spmd *spmd, uint32_t value, uint32_t after) {
  if (after == NO_ID) return add_like(spmd, OP_OPT_BARRIER, value);
  uint32_t operands[2] = {value, after};
  return spmd_add(spmd, OP_ADD_DEPENDENCY, spmd_shape(spmd, value), operands, 2);
}

/* A block or an operand goes into a loop once the loop before has run. */
static uint32_t enter_loop(const Windowed *window, uint32_t value, uint32_t after) {
  return is_loop(window->n) ? add_barrier(&window->windower->spmd, value, after) : value;
}

static uint32_t leave_loop(const Windowed *window, uint32_t result) {
  if (!is_loop(window->n)) return result;
  return window->windower->ended = add_barrier(&window->windower->spmd, result, NO_ID);
}

/* A loop writes over the block that it passes on: one of the caller's is copied first. */
static uint32_t own_copy(const Windowed *window, uint32_t block) {
  const Instr *instr = spmd_instr(&window->windower->spmd, block);
  while (instr->op == OP_RESHAPE || instr->op == OP_BITCAST || instr->op == OP_GET_TUPLE_ELEMENT)
    instr = spmd_instr(&window->windower->spmd, instr->operands.at[0]);
  bool copies = is_loop(window->n) && instr->op == OP_PARAMETER;
  return copies ? add_like(&window->windower->spmd, OP_COPY, block) : block;
}

/* ---- a gathered operand ---- */

/* Blocks that a device has at the same time, and how far on in the ring they come from. */
typedef struct {
  uint32_t at[2], n;
  int64_t offset[2];
} Blocks;

/* What goes with a block in the other operand: its rows of the dimension that the block's belong to. */
static uint32_t rows_for(const Windowed *window, uint32_t other, int64_t dim, int64_t offset) {
  return spmd_device_rows(&window->windower->spmd, other, (uint32_t)dim, block_starts(window, offset),
                          window->block);
}

/* Two blocks are one product: the longer the contraction, the less often sums are taken up again. */
static uint32_t add_contraction(const Windowed *window, uint32_t sum, const Blocks *blocks,
                                int64_t other_dim) {
  Spmd *spmd = &window->windower->spmd;
  bool lhs_gathered = window->dot->operand == 0;
  uint32_t other = lhs_gathered ? window->rhs : window->lhs, rows[2];
  for (uint32_t i = 0; i < blocks->n; i++) rows[i] = rows_for(window, other, other_dim, blocks->offset[i]);
  uint32_t gathered = spmd_concat(spmd, (uint32_t)window->dot->dim, blocks->at, blocks->n);
  uint32_t with = spmd_concat(spmd, (uint32_t)other_dim, rows, blocks->n);
  uint32_t part = lhs_gathered ? add_dot(window, gathered, with, -1) : add_dot(window, with, gathered, -1);
  return add_sum(window, sum, part);
}

static uint32_t add_parts(const Windowed *window, uint32_t result, const Blocks *blocks, int64_t result_dim,
                          int64_t other_dim) {
  bool lhs_gathered = window->dot->operand == 0;
  for (uint32_t i = 0; i < blocks->n; i++) {
    uint32_t other = lhs_gathered ? window->rhs : window->lhs;
    if (other_dim >= 0) other = rows_for(window, other, other_dim, blocks->offset[i]);
    uint32_t part = lhs_gathered ? add_dot(window, blocks->at[i], other, result_dim)
                                 : add_dot(window, other, blocks->at[i], result_dim);
    result = add_update(window, result, part, result_dim, block_starts(window, blocks->offset[i]));
  }
  return result;
}

/* The other operand's dimension that one of the gathered operand's contracted dimensions meets. */
static int64_t met_dim(const Windowed *window) {
  uint32_t operand = window->dot->operand;
  Ints own = instr_ints(window->instr, operand == 0 ? ATTR_lhs_contracting_dims : ATTR_rhs_contracting_dims);
  Ints met = instr_ints(window->instr, operand == 0 ? ATTR_rhs_contracting_dims : ATTR_lhs_contracting_dims);
  uint32_t i = 0;
  while (own.at[i] != window->dot->dim) i++;
  return met.at[i];
}

static uint32_t multiply_blocks(const Windowed *window, uint32_t result, const Blocks *blocks) {
  const Comp *body = module_comp(window->windower->from->module, window->dot->comp);
  int64_t batch, dim = result_dim(window->instr, body, window->dot->operand, window->dot->dim, &batch);
  if (dim < 0) return add_contraction(window, result, blocks, met_dim(window));
  Ints others =
      instr_ints(window->instr, window->dot->operand == 0 ? ATTR_rhs_batch_dims : ATTR_lhs_batch_dims);
  return add_parts(window, result, blocks, dim, batch < 0 ? -1 : others.at[batch]);
}

/* The next block from one of the neighbours: `way` 1 comes up the ring, -1 down. */
static void receive(const Windowed *window, Blocks *blocks, uint32_t *value, int way, uint32_t step) {
  *value = add_permute(window, *value, way, step);
  blocks->at[blocks->n] = *value;
  blocks->offset[blocks->n++] = -way * (int64_t)step;
}

/* The own block and, in a ring of an even number of devices, the first that comes up; then with each step one
 * from either side. */
static uint32_t window_gather(const Windowed *window) {
  uint32_t own = own_copy(window, window->dot->operand == 0 ? window->lhs : window->rhs);
  uint32_t up = own, down = own, n_up = 0, n_down = 0;
  if (window->n % 2 == 0) up = add_permute(window, up, 1, ++n_up);
  up = enter_loop(window, up, window->windower->ended);
  down = enter_loop(window, own, window->windower->ended);
  Blocks blocks = {{down, up}, 1 + n_up, {0, -1}};
  uint32_t result = window->windower->sums[window->dot->dot];
  while (blocks.n > 0) { /* the next are on their way while these are multiplied */
    Blocks next = {0};
    if (1 + n_up + n_down < window->n) {
      receive(window, &next, &down, -1, ++n_down);
      receive(window, &next, &up, 1, ++n_up);
    }
    result = multiply_blocks(window, result, &blocks);
    blocks = next;
  }
  return leave_loop(window, result);
}

/* ---- a scattered result ---- */

/* The product's part of the block that belongs `offset` places on in the ring. */
static uint32_t add_part_of(const Windowed *window, int64_t offset) {
  const Comp *body = module_comp(window->windower->from->module, window->dot->comp);
  uint32_t sides[2] = {window->lhs, window->rhs};
  for (uint32_t operand = 0; operand < 2; operand++) {
    const Shape *shape = body->instrs.at[window->instr->operands.at[operand]].shape;
    for (uint32_t d = 0; d < shape->rank; d++) {
      int64_t batch;
      if (result_dim(window->instr, body, operand, d, &batch) == window->dot->dim)
        sides[operand] = rows_for(window, sides[operand], d, offset);
    }
  }
  return add_dot(window, sides[0], sides[1], window->dot->dim);
}

/* The sum that goes one way towards the device that keeps the block, `steps` long. */
static uint32_t window_sum(const Windowed *window, int way, uint32_t steps) {
  uint32_t sum = NO_ID;
  for (uint32_t step = 0; step < steps; step++) {
    sum = add_sum(window, sum, add_part_of(window, way * (int64_t)(steps - step)));
    sum = add_permute(window, sum, way, step + 1);
  }
  return sum;
}

static uint32_t window_scatter(const Windowed *window) {
  uint32_t n_up = window->n / 2;
  uint32_t up = window_sum(window, 1, n_up), down = window_sum(window, -1, window->n - 1 - n_up);
  uint32_t sum = add_sum(window, up, add_part_of(window, 0));
  return down == NO_ID ? sum : leave_loop(window, add_sum(window, down, sum));
}

/* ---- the copy ---- */

static uint32_t window_dot(Windower *windower, const WindowedDot *dot) {
  const Comp *body = module_comp(windower->from->module, dot->comp);
  Windowed window = {.windower = windower,
                     .dot = dot,
                     .instr = &body->instrs.at[dot->dot],
                     .collective = &body->instrs.at[dot->collective],
                     .n = dot->groups.start[1]};
  uint32_t sides[2];
  for (uint32_t i = 0; i < 2; i++) sides[i] = windower->copies[window.instr->operands.at[i]];
  if (dot->operand != NO_ID)
    sides[dot->operand] = windower->copies[window.collective->operands.at[dot->part]];
  windower->spmd.instr = window.instr;
  uint32_t after = windower->ended != NO_ID ? windower->ended : windower->buffers;
  for (uint32_t i = 0; i < 2; i++)
    if (i != dot->operand) sides[i] = enter_loop(&window, sides[i], after);
  window.lhs = sides[0];
  window.rhs = sides[1];
  const Shape *cut = dot->operand == NO_ID ? window.instr->shape
                                           : body->instrs.at[window.instr->operands.at[dot->operand]].shape;
  window.block = cut->dims[dot->dim] / window.n;
  find_places(&window);
  return dot->operand == NO_ID ? window_scatter(&window) : window_gather(&window);
}

static uint32_t copy_instr(Windower *windower, uint32_t comp, uint32_t at) {
  const Instr *instr = comp_instr(windower->from->module, comp, at);
  if (windower->dot[at] != NULL) return window_dot(windower, windower->dot[at]);
  if (windower->gone[at]) return NO_ID;
  Ids operands = {ARENA_ARRAY(windower->spmd.scratch, uint32_t, instr->operands.n), instr->operands.n};
  for (uint32_t k = 0; k < operands.n; k++) operands.at[k] = windower->copies[instr->operands.at[k]];
  return comp_add_like(windower->spmd.module, comp, instr, operands.at, operands.n);
}

/* A scattered product stands where its reduce-scatter stood. */
static void mark_dot(Windower *windower, const WindowedDot *dot) {
  windower->gone[dot->collective] = true;
  bool scatters = dot->operand == NO_ID;
  if (scatters) windower->gone[dot->dot] = true;
  windower->dot[scatters ? dot->collective : dot->dot] = dot;
  const Instr *user = comp_instr(windower->from->module, dot->comp, dot->dot);
  if (!scatters) windower->gone[user->operands.at[dot->operand]] = true;
}

/* A loop that sums up works on a buffer that is there from the start: XLA allocates all of them before the
 * first loop. */
static void add_buffer(Windower *windower, const WindowedDot *dot) {
  Spmd *spmd = &windower->spmd;
  const Comp *body = module_comp(windower->from->module, dot->comp);
  const Instr *product = spmd->instr = &body->instrs.at[dot->dot];
  int64_t batch;
  if (dot->operand == NO_ID || !is_loop(dot->groups.start[1]) ||
      result_dim(product, body, dot->operand, dot->dim, &batch) >= 0)
    return;
  uint32_t buffer = spmd_add(spmd, OP_CUSTOM_CALL, product->shape, NULL, 0);
  instr_set_word(spmd->module, spmd_instr(spmd, buffer), ATTR_custom_call_target, STR("AllocateBuffer"));
  if (windower->buffers != NO_ID) buffer = add_barrier(spmd, buffer, windower->buffers);
  windower->sums[dot->dot] = windower->buffers = buffer;
}

static void copy_reasons(Windower *windower, uint32_t comp) {
  for (uint32_t r = 0; r < windower->from->reasons.n; r++) {
    CollectiveReason reason = windower->from->reasons.at[r];
    if (reason.comp != comp || windower->gone[reason.instr]) continue;
    reason.instr = windower->copies[reason.instr];
    VEC_PUSH(windower->spmd.arena, &windower->spmd.out->reasons, reason);
  }
}

static void copy_comp(Windower *windower, uint32_t at, const WindowedDots *dots) {
  const Comp *from = module_comp(windower->from->module, at);
  Spmd *spmd = &windower->spmd;
  uint32_t comp = module_add_comp(spmd->module, from->name), n = from->instrs.n;
  windower->dot = ARENA_ARRAY(spmd->scratch, const WindowedDot *, n);
  windower->gone = ARENA_ARRAY(spmd->scratch, bool, n);
  windower->copies = ARENA_ARRAY(spmd->scratch, uint32_t, n);
  spmd->frame->comp = comp;
  windower->ended = windower->buffers = NO_ID;
  windower->sums = ARENA_ARRAY(spmd->scratch, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) windower->sums[i] = NO_ID;
  for (uint32_t i = 0; i < dots->n; i++) {
    if (dots->at[i].comp != at) continue;
    mark_dot(windower, &dots->at[i]);
    add_buffer(windower, &dots->at[i]);
  }
  for (uint32_t i = 0; i < n; i++) windower->copies[i] = copy_instr(windower, at, i);
  module_comp(spmd->module, comp)->root = windower->copies[from->root];
  copy_reasons(windower, at);
}

Partitioned *partitioned_window(const Partitioned *from, const WindowedDots *dots) {
  Partitioned *out = partitioned_like(from);
  Module *module = out->module;
  Frame frame = {0};
  Windower windower = {.from = from, .channel = module_highest_channel(from->module)};
  windower.spmd = (Spmd){.arena = module->arena,
                         .scratch = arena_new(),
                         .mesh = from->mesh,
                         .out = out,
                         .module = module,
                         .frame = &frame};
  for (uint32_t c = 0; c < from->module->comps.n; c++) copy_comp(&windower, c, dots);
  module->entry = from->module->entry;
  arena_free(windower.spmd.scratch);
  return out;
}

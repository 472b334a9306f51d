/* Fusion. In: a computation; out: groups of instructions that run as one kernel each.
 *
 * The one idea: backwards over the program, a producer joins the group that all its users are in, where that
 * group can take it (XLA's instruction fusion without duplication). What it made then never reaches HBM. Such
 * a group can always run where its last member stands: nobody else waits for the others.
 *
 *   elementwise and moving ops   join any group; what a product leads to alone, one without another product
 *   reductions                   join ops on their results; in a softmax (softmax_rules.c) also ops on what
 *                                they reduced
 *   reductions of windows        take elementwise ops on their operands
 *   products                     join the elementwise ops and reductions that follow; one a group
 *   copies to another layout     join any group where the lanes stay; nothing joins them
 *   all else                     stays alone
 *
 * What several groups use is made anew in each where it follows, element by element, from one value no larger
 * than it is: it then is never stored. Else it joins the groups of its reductions, or a loop over as many
 * elements, which then has several results, if nothing that the group needs can depend on it: all else there
 * stands before it. */
#include "sim/schedule/fuse.h"
#include "models/convolution.h"
#include "models/cost.h"
#include "models/relayout.h"
#include "models/tiling.h"
#include "sim/schedule/fuser.h"
#include "sim/schedule/softmax_rules.h"

enum { FARTHEST_REDUCTION = 4096 }; /* instructions: bounds the search */

bool fuser_widens(const Module *module, uint32_t comp, const Instr *convert) {
  const Shape *from = comp_instr(module, comp, convert->operands.at[0])->shape;
  return dtype_bits(from->dtype) < dtype_bits(convert->shape->dtype);
}

/* A scatter of single elements into a constant: as a comparison with the index, it is made element by
 * element. */
static bool is_one_hot(const Module *module, uint32_t comp, const Instr *scatter) {
  const Instr *into = comp_instr(module, comp, scatter->operands.at[0]);
  bool constant =
      into->op == OP_BROADCAST && comp_instr(module, comp, into->operands.at[0])->op == OP_CONSTANT;
  return constant && scatter->operands.n == 3 && instr_ints(scatter, ATTR_update_window_dims).n == 0;
}

/* A pad between elements, half of an interleaving: no kernel of the TPU compiler makes it on its way. */
static bool spreads(const Instr *pad) {
  Padding padding = instr_padding(pad);
  for (uint32_t i = 0; i < padding.n; i++)
    if (padding.at[i].interior > 0) return true;
  return false;
}

Role fuser_role(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->on_host || instr->host_move != HOST_MOVE_NONE) return ROLE_ALONE;
  switch (instr->op) {
  case OP_BITCAST: return ROLE_SHAPE;
  case OP_TRANSPOSE:
  case OP_RESHAPE: return demand_is_free(module, comp, instr) ? ROLE_SHAPE : ROLE_LOOP;
  case OP_COPY:
    if (!is_relayout(module, comp, instr)) return ROLE_LOOP;
    return keeps_lanes(module, comp, instr) ? ROLE_COPY : ROLE_ALONE;
  case OP_BROADCAST:
  case OP_IOTA: return ROLE_REPEAT;
  case OP_CONVERT: return fuser_widens(module, comp, instr) ? ROLE_REPEAT : ROLE_LOOP;
  case OP_DYNAMIC_UPDATE_SLICE: return ROLE_UPDATE;
  case OP_PAD: return spreads(instr) ? ROLE_ALONE : ROLE_LOOP;
  case OP_REDUCE: return ROLE_REDUCE;
  case OP_REDUCE_WINDOW: return shape_is_array(instr->shape) ? ROLE_WINDOW : ROLE_ALONE;
  case OP_SCATTER: return is_one_hot(module, comp, instr) ? ROLE_REPEAT : ROLE_ALONE;
  case OP_DOT:
  case OP_CONVOLUTION: return ROLE_PRODUCT;
  case OP_COPY_START:
  case OP_COPY_DONE:
  case OP_RNG:
  case OP_RNG_BIT_GENERATOR:
  case OP_FFT:
  case OP_CHOLESKY:
  case OP_TRIANGULAR_SOLVE:
  case OP_MAP: return ROLE_ALONE;
  default: break;
  }
  Cost cost = op_cost(instr->op);
  bool loop = cost == COST_VPU_SIMPLE || cost == COST_VPU_DIVIDE || cost == COST_VPU_TRANSCENDENTAL ||
              cost == COST_DATA_MOVE;
  return loop && shape_is_array(instr->shape) ? ROLE_LOOP : ROLE_ALONE;
}

static void find_users(Arena *arena, Fuser *fuser) {
  const Comp *body = fuser->body;
  uint32_t n = body->instrs.n;
  fuser->first_user = ARENA_ARRAY(arena, uint32_t, n + 2);
  for (uint32_t i = 0; i < n; i++) {
    Ids operands = body->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++) fuser->first_user[operands.at[k] + 2]++;
  }
  for (uint32_t i = 2; i < n + 2; i++) fuser->first_user[i] += fuser->first_user[i - 1];
  fuser->users = ARENA_ARRAY(arena, uint32_t, fuser->first_user[n + 1]);
  for (uint32_t i = 0; i < n; i++) {
    Ids operands = body->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++) fuser->users[fuser->first_user[operands.at[k] + 1]++] = i;
  }
}

/* ---- what is cheaper made again than stored ---- */

/* An element of a loop's carry that the body makes by itself. */
static bool is_made_by_loop(const Fuser *fuser, uint32_t at) {
  const Instr *instr = &fuser->body->instrs.at[at];
  return fuser->anew != NULL && instr->op == OP_GET_TUPLE_ELEMENT &&
         instr->operands.at[0] == fuser->body->params.at[0] && fuser->anew[instr_int(instr, ATTR_index, 0)];
}

/* The large value that `operand` follows from, seen from a user of `bytes`; NO_ID for small ones. */
static uint32_t large_origin(const Fuser *fuser, uint32_t operand, int64_t bytes) {
  enum { SMALL = 8 };
  const Shape *shape = fuser->body->instrs.at[operand].shape;
  return !shape_is_array(shape) || shape_bytes(shape) < bytes / SMALL ? NO_ID : fuser->origin[operand];
}

/* A reshape whose result would take twice the memory of what it is made of. */
static bool pads_much(const Fuser *fuser, const Instr *instr) {
  if (instr->op != OP_RESHAPE) return false;
  return tiled_bytes(instr->shape) / 2 >= tiled_bytes(fuser->body->instrs.at[instr->operands.at[0]].shape);
}

/* Elementwise chains that follow from one value of no more bytes; others are origins of their own. `steps` by
 * instruction counts what it takes to make it again. */
static void find_origin(Fuser *fuser, uint32_t at, uint32_t *steps) {
  enum { MOST_STEPS = 32 };
  const Instr *instr = &fuser->body->instrs.at[at];
  Role role = fuser_role(fuser->module, fuser->comp, instr);
  fuser->origin[at] = is_made_by_loop(fuser, at) ? NO_ID : at;
  steps[at] = 0;
  bool moves = op_cost(instr->op) == COST_DATA_MOVE && instr->op != OP_CONVERT && !pads_much(fuser, instr);
  if (!shape_is_array(instr->shape) || moves ||
      (role != ROLE_LOOP && role != ROLE_REPEAT && role != ROLE_SHAPE))
    return;
  int64_t bytes = shape_bytes(instr->shape);
  uint32_t origin = NO_ID, sum = 1;
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    uint32_t operand = instr->operands.at[k], from = large_origin(fuser, operand, bytes);
    sum += steps[operand];
    if (from == NO_ID) continue;
    if (origin != NO_ID && origin != from) return;
    origin = from;
  }
  bool large = origin != NO_ID && shape_bytes(fuser->body->instrs.at[origin].shape) > bytes;
  if (large || sum > MOST_STEPS) return;
  fuser->origin[at] = origin;
  steps[at] = sum;
}

/* Whether it is the result of a reduction, or made of such alone. */
static bool find_reduced(const Fuser *fuser, uint32_t at) {
  const Instr *instr = &fuser->body->instrs.at[at];
  Role role = fuser_role(fuser->module, fuser->comp, instr);
  if (role == ROLE_REDUCE) return true;
  bool passes = role == ROLE_SHAPE || role == ROLE_REPEAT;
  return passes && instr->operands.n == 1 && fuser->reduced[instr->operands.at[0]];
}

static void find_origins(Arena *arena, Fuser *fuser) {
  uint32_t n = fuser->body->instrs.n;
  fuser->origin = ARENA_ARRAY(arena, uint32_t, n);
  uint32_t *steps = ARENA_ARRAY(arena, uint32_t, n);
  fuser->leans = ARENA_ARRAY(arena, bool, n);
  fuser->reduced = ARENA_ARRAY(arena, bool, n);
  for (uint32_t i = 0; i < n; i++) {
    find_origin(fuser, i, steps);
    fuser->reduced[i] = find_reduced(fuser, i);
    fuser->leans[i] = softmax_leans(fuser, i);
  }
}

/* ---- groups ---- */

bool is_there_from_start(const Comp *body, uint32_t at) {
  const Instr *instr = &body->instrs.at[at];
  if (instr->op == OP_CONSTANT || instr->op == OP_PARAMETER) return true;
  return instr->op == OP_GET_TUPLE_ELEMENT && body->instrs.at[instr->operands.at[0]].op == OP_PARAMETER;
}

/* The one group of all users; NO_ID where there are several, or none. */
static uint32_t group_of_users(const Fuser *fuser, uint32_t at) {
  uint32_t group = NO_ID;
  if (at == fuser->body->root) return NO_ID;
  for (uint32_t u = fuser->first_user[at]; u < fuser->first_user[at + 1]; u++) {
    uint32_t next = fuser->groups.last[fuser->users[u]];
    if (group != NO_ID && group != next) return NO_ID;
    group = next;
  }
  return group;
}

/* Whether a group goes back to as many elements as a reduction takes in. */
static bool would_go_back(const Fuser *fuser, const Instr *reduce, uint32_t group) {
  const Shape *result = fuser->body->instrs.at[fuser->result[group]].shape;
  return fuser->has_reduce[group] || !shape_is_array(reduce->shape) || !shape_is_array(result) ||
         shape_elements(result) > shape_elements(reduce->shape);
}

/* Whether it takes what a product made for it alone: as the end of that product's kernel it spares a result.
 */
static bool ends_product(const Fuser *fuser, const Instr *instr) {
  if (!op_is_elementwise(instr->op)) return false;
  for (uint32_t k = 0; k < instr->operands.n; k++) {
    uint32_t operand = instr->operands.at[k];
    bool alone = fuser->first_user[operand + 1] - fuser->first_user[operand] == 1;
    if (alone && fuser_role(fuser->module, fuser->comp, &fuser->body->instrs.at[operand]) == ROLE_PRODUCT)
      return true;
  }
  return false;
}

/* Whether several users take different parts of a value: within one kernel it would be made for each of them,
 * and what it is made of again for each. */
static bool is_parted(const Fuser *fuser, uint32_t at) {
  uint32_t parts = 0;
  for (uint32_t u = fuser->first_user[at]; u < fuser->first_user[at + 1]; u++) {
    Opcode op = fuser->body->instrs.at[fuser->users[u]].op;
    parts += op == OP_SLICE || op == OP_DYNAMIC_SLICE || op == OP_PAD;
  }
  return parts > 1;
}

static bool takes_producers(Role host) {
  return host != ROLE_ALONE && host != ROLE_SHAPE && host != ROLE_COPY;
}

/* A copy that a kernel of its own makes for a convolution that cuts what it copies. */
static bool is_for_cut(const Fuser *fuser, uint32_t at) {
  for (uint32_t u = fuser->first_user[at]; u < fuser->first_user[at + 1]; u++)
    if (convolution_cuts_image(&fuser->body->instrs.at[fuser->users[u]])) return true;
  return false;
}

/* A transpose that moves the lanes is a copy to another layout, in a kernel of its own; but a product writes
 * its results, and reads its operands, so. */
static bool is_copied_alone(const Fuser *fuser, uint32_t at) {
  const Instr *instr = &fuser->body->instrs.at[at];
  Ints order = instr_ints(instr, ATTR_dimensions);
  bool transposed;
  return instr->op == OP_TRANSPOSE && order.n > 1 && order.at[order.n - 1] != (int64_t)order.n - 1 &&
         fuser_role(fuser->module, fuser->comp, instr) == ROLE_LOOP &&
         softmax_product_below(fuser, at, &transposed) == NO_ID;
}

/* A copy that is there to be written over. */
static bool is_to_be_updated(const Fuser *fuser, uint32_t at) {
  if (fuser->body->instrs.at[at].op != OP_COPY || fuser->first_user[at] == fuser->first_user[at + 1])
    return false;
  const Instr *user = &fuser->body->instrs.at[fuser->users[fuser->first_user[at]]];
  return user->op == OP_DYNAMIC_UPDATE_SLICE && user->operands.at[0] == at;
}

static bool can_join(const Fuser *fuser, uint32_t at, uint32_t group) {
  const Comp *body = fuser->body;
  const Instr *instr = &body->instrs.at[at], *last = &body->instrs.at[group];
  Role host = fuser_role(fuser->module, fuser->comp, last);
  if (!takes_producers(host) || fuser->groups.repeated[group] || is_copied_alone(fuser, group)) return false;
  switch (fuser_role(fuser->module, fuser->comp, instr)) {
  case ROLE_COPY: return !is_for_cut(fuser, at);
  case ROLE_SHAPE: return true;
  case ROLE_REPEAT: return instr->op != OP_CONVERT || !is_parted(fuser, at);
  case ROLE_LOOP:
    if (is_copied_alone(fuser, at) && host == ROLE_LOOP && !fuser->has_product[group]) return false;
    return !is_parted(fuser, at) && !is_to_be_updated(fuser, at) &&
           (!fuser->has_product[group] || !ends_product(fuser, instr));
  case ROLE_REDUCE:
    return host != ROLE_WINDOW && !fuser->has_product[group] &&
           (softmax_goes_on(fuser, instr) || softmax_ends(fuser, at) || !would_go_back(fuser, instr, group));
  case ROLE_PRODUCT:
    return host != ROLE_WINDOW && !is_parted(fuser, at) && softmax_takes_product(fuser, group, at) &&
           shape_elements(instr->shape) == fuser->most_elements[group];
  default: return false;
  }
}

/* Whether a value that group `group` takes stands before instruction `at`, is there from the start, or is
 * made in the group, perhaps anew. */
static bool stands_before(const Fuser *fuser, uint32_t value, uint32_t group, uint32_t at) {
  if (value <= at || fuser->groups.last[value] == group || is_there_from_start(fuser->body, value))
    return true;
  Ids operands = fuser->body->instrs.at[value].operands;
  bool all = fuser->groups.repeated[value];
  for (uint32_t k = 0; k < operands.n && all; k++) all = stands_before(fuser, operands.at[k], group, at);
  return all;
}

/* Whether all that group `group` takes from outside, but for instruction `at`, stands before it. */
static bool needs_only_what_stands_before(const Fuser *fuser, uint32_t group, uint32_t at) {
  for (uint32_t i = at + 1; i <= group; i++) {
    if (fuser->groups.last[i] != group) continue;
    Ids operands = fuser->body->instrs.at[i].operands;
    for (uint32_t k = 0; k < operands.n; k++) {
      if (!stands_before(fuser, operands.at[k], group, at)) return false;
    }
  }
  return true;
}

/* Whether group `group` can make what instruction `at` makes too, and hand it out. */
static bool can_hand_out(const Fuser *fuser, uint32_t group, uint32_t at) {
  const Instr *instr = &fuser->body->instrs.at[at], *last = &fuser->body->instrs.at[group];
  Role role = fuser_role(fuser->module, fuser->comp, instr);
  if ((role != ROLE_LOOP && role != ROLE_PRODUCT) || !shape_is_array(instr->shape)) return false;
  if (is_copied_alone(fuser, at) || is_copied_alone(fuser, group)) return false;
  if (shape_elements(instr->shape) != fuser->most_elements[group]) return false;
  bool loop = fuser_role(fuser->module, fuser->comp, last) == ROLE_LOOP;
  bool reduce = fuser->has_reduce[group] && fuser->result[group] == group;
  if (role == ROLE_PRODUCT && !softmax_takes_product(fuser, group, at)) return false;
  return (loop || reduce) && !fuser->has_product[group] && group - at < FARTHEST_REDUCTION &&
         needs_only_what_stands_before(fuser, group, at);
}

/* The group of a reduction among those that use `value`, perhaps made anew for them, or, where `reduce` is
 * false, of any loop, that can hand out instruction `at`; NO_ID: none. */
static uint32_t group_of_several(const Fuser *fuser, uint32_t value, uint32_t at, bool reduce) {
  for (uint32_t u = fuser->first_user[value]; u < fuser->first_user[value + 1]; u++) {
    uint32_t user = fuser->users[u], group = fuser->groups.last[user];
    if (fuser->groups.repeated[user]) group = group_of_several(fuser, user, at, reduce);
    if (group != NO_ID && fuser->has_reduce[group] == reduce && can_hand_out(fuser, group, at)) return group;
  }
  return NO_ID;
}

/* Whether what stays alone is used by kernels only, each of which can make it anew, and should. */
static bool can_repeat(const Fuser *fuser, uint32_t at) {
  const Comp *body = fuser->body;
  const Instr *instr = &body->instrs.at[at];
  Role role = fuser_role(fuser->module, fuser->comp, instr);
  bool copy = role == ROLE_COPY && !is_for_cut(fuser, at);
  bool cheap = role == ROLE_REPEAT || copy || fuser->origin[at] != at;
  if (!cheap || at == body->root || (instr->op == OP_CONVERT && is_parted(fuser, at))) return false;
  for (uint32_t u = fuser->first_user[at]; u < fuser->first_user[at + 1]; u++) {
    uint32_t group = fuser->groups.last[fuser->users[u]];
    if (fuser->groups.repeated[group]) continue;
    if (!takes_producers(fuser_role(fuser->module, fuser->comp, &body->instrs.at[group]))) return false;
  }
  return true;
}

/* Sorts the members of each group by counting. */
static void list_members(Arena *arena, Groups *groups, uint32_t n) {
  groups->first = ARENA_ARRAY(arena, uint32_t, n + 2);
  groups->members = ARENA_ARRAY(arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) groups->first[groups->last[i] + 2]++;
  for (uint32_t i = 2; i < n + 2; i++) groups->first[i] += groups->first[i - 1];
  for (uint32_t i = 0; i < n; i++) groups->members[groups->first[groups->last[i] + 1]++] = i;
}

/* What others outside its group use, or make anew from it. */
static void find_leaves(Arena *arena, const Comp *body, Groups *groups) {
  uint32_t n = body->instrs.n;
  groups->leaves = ARENA_ARRAY(arena, bool, n);
  for (uint32_t i = n; i-- > 0;) {
    Ids operands = body->instrs.at[i].operands;
    groups->leaves[i] |= i == body->root || groups->last[i] == i;
    bool anew = groups->repeated[i] && groups->leaves[i];
    for (uint32_t k = 0; k < operands.n; k++)
      groups->leaves[operands.at[k]] |= anew || groups->last[operands.at[k]] != groups->last[i];
  }
}

/* Where each group runs: at the first of what leaves it. */
static void find_places(Arena *arena, const Comp *body, Groups *groups) {
  uint32_t n = body->instrs.n;
  find_leaves(arena, body, groups);
  groups->runs = ARENA_ARRAY(arena, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) groups->runs[i] = NO_ID;
  for (uint32_t i = n; i-- > 0;) {
    if (groups->last[i] != i) continue;
    Ids members = group_members(groups, i);
    uint32_t at = 0;
    while (!groups->leaves[members.at[at]]) at++;
    groups->runs[members.at[at]] = i;
  }
}

static Groups new_groups(Arena *arena, uint32_t n) {
  Groups groups = {.last = ARENA_ARRAY(arena, uint32_t, n), .repeated = ARENA_ARRAY(arena, bool, n)};
  for (uint32_t i = 0; i < n; i++) groups.last[i] = i;
  return groups;
}

/* The length of the last dimension, where it is reduced; else 0. */
static int64_t reduced_row(const Shape *in, const Instr *reduce) {
  Ints dims = instr_ints(reduce, ATTR_dimensions);
  for (uint32_t i = 0; i < dims.n; i++) {
    if (dims.at[i] == (int64_t)in->rank - 1) return in->dims[in->rank - 1];
  }
  return 0;
}

static void note_role(Fuser *fuser, uint32_t at) {
  uint32_t group = fuser->groups.last[at];
  const Instr *instr = &fuser->body->instrs.at[at];
  Role role = fuser_role(fuser->module, fuser->comp, instr);
  const Shape *shape =
      role == ROLE_REDUCE ? fuser->body->instrs.at[instr->operands.at[0]].shape : instr->shape;
  int64_t elements = shape_is_array(shape) ? shape_elements(shape) : 0;
  if (elements > fuser->most_elements[group]) fuser->most_elements[group] = elements;
  if (role == ROLE_PRODUCT) fuser->has_product[group] = true;
  if (role == ROLE_REDUCE && reduced_row(shape, instr) > fuser->longest_row[group])
    fuser->longest_row[group] = reduced_row(shape, instr);
  if (role == ROLE_REDUCE && group != at) fuser->goes_back[group] |= would_go_back(fuser, instr, group);
  if (role == ROLE_REDUCE) fuser->has_reduce[group] = true;
}

/* Whether group `host` uses a value, perhaps through what is made anew from it. */
static bool leads_to(const Fuser *fuser, uint32_t value, uint32_t host) {
  for (uint32_t u = fuser->first_user[value]; u < fuser->first_user[value + 1]; u++) {
    uint32_t user = fuser->users[u];
    if (fuser->groups.last[user] == host) return true;
    if (fuser->groups.repeated[user] && leads_to(fuser, user, host)) return true;
  }
  return false;
}

/* What a group makes anew from its own instruction `at` is a member of it; others still make it anew. */
static void take_along(Fuser *fuser, uint32_t at, uint32_t host) {
  for (uint32_t u = fuser->first_user[at]; u < fuser->first_user[at + 1]; u++) {
    uint32_t user = fuser->users[u];
    if (!fuser->groups.repeated[user] || fuser->groups.last[user] == host || !leads_to(fuser, user, host))
      continue;
    fuser->groups.last[user] = host;
    take_along(fuser, user, host);
  }
}

/* Makes one group of two, both of which use instruction `at`; its name. */
static uint32_t merge(Fuser *fuser, uint32_t at, uint32_t group, uint32_t other) {
  uint32_t last = group > other ? group : other;
  for (uint32_t i = at + 1; i <= last; i++) {
    if (fuser->groups.last[i] == group || fuser->groups.last[i] == other) fuser->groups.last[i] = last;
  }
  uint32_t first = group > other ? other : group;
  fuser->goes_back[last] |= fuser->goes_back[first];
  if (fuser->longest_row[first] > fuser->longest_row[last])
    fuser->longest_row[last] = fuser->longest_row[first];
  if (fuser->most_elements[first] > fuser->most_elements[last])
    fuser->most_elements[last] = fuser->most_elements[first];
  return last;
}

/* Into group `host`, and with it other reductions of the same. */
static void hand_out(Fuser *fuser, uint32_t at, uint32_t host) {
  for (uint32_t other = host; other != NO_ID; other = group_of_several(fuser, at, at, true)) {
    take_along(fuser, at, other);
    host = merge(fuser, at, host, other);
    fuser->has_reduce[other] = fuser->has_reduce[host] =
        false; /* they come after, and ask nothing of others */
  }
  fuser->groups.last[at] = host;
  fuser->result[host] = at;
}

/* Into the group of all users; where several use it, made anew in each, or handed out by that of a reduction
 * or a loop; or alone. What leans on a reduction is there with it, not elsewhere. */
static void place_instr(Fuser *fuser, uint32_t at) {
  uint32_t host = group_of_users(fuser, at);
  if (is_made_by_loop(fuser, at)) {
    fuser->groups.repeated[at] = true;
  } else if (host != NO_ID && softmax_leaves_to_product(fuser, at, host)) {
    fuser->groups.last[at] = at;
  } else if (host != NO_ID && can_join(fuser, at, host)) {
    fuser->groups.last[at] = host;
  } else {
    bool anew = can_repeat(fuser, at);
    host = group_of_several(fuser, at, at, true);
    if (host == NO_ID && !anew) host = group_of_several(fuser, at, at, false);
    if (host != NO_ID && (!anew || fuser->leans[at]))
      hand_out(fuser, at, host);
    else
      fuser->groups.repeated[at] = anew;
  }
  note_role(fuser, at);
}

Groups groups_fused(Arena *arena, const Pod *pod, const Module *module, uint32_t comp, const bool *anew) {
  const Comp *body = module_comp(module, comp);
  uint32_t n = body->instrs.n;
  Arena *scratch = arena_new();
  Fuser fuser = {.pod = pod, .module = module, .comp = comp, .body = body, .groups = new_groups(arena, n)};
  fuser.anew = anew;
  fuser.has_product = ARENA_ARRAY(scratch, bool, n);
  fuser.has_reduce = ARENA_ARRAY(scratch, bool, n);
  fuser.result = ARENA_ARRAY(scratch, uint32_t, n);
  fuser.longest_row = ARENA_ARRAY(scratch, int64_t, n);
  fuser.goes_back = ARENA_ARRAY(scratch, bool, n);
  fuser.most_elements = ARENA_ARRAY(scratch, int64_t, n);
  for (uint32_t i = 0; i < n; i++) fuser.result[i] = i;
  find_users(scratch, &fuser);
  find_origins(scratch, &fuser);
  for (uint32_t i = n; i-- > 0;) place_instr(&fuser, i);
  arena_free(scratch);
  list_members(arena, &fuser.groups, n);
  find_places(arena, body, &fuser.groups);
  return fuser.groups;
}

Groups groups_single(Arena *arena, const Module *module, uint32_t comp) {
  const Comp *body = module_comp(module, comp);
  Groups groups = new_groups(arena, body->instrs.n);
  list_members(arena, &groups, body->instrs.n);
  find_places(arena, body, &groups);
  return groups;
}

Groups groups_whole(Arena *arena, const Module *module, uint32_t comp) {
  const Comp *body = module_comp(module, comp);
  Groups groups = new_groups(arena, body->instrs.n);
  for (uint32_t i = 0; i < body->instrs.n; i++) groups.last[i] = body->root;
  list_members(arena, &groups, body->instrs.n);
  find_places(arena, body, &groups);
  return groups;
}

Ids group_members(const Groups *groups, uint32_t last) {
  return (Ids){groups->members + groups->first[last], groups->first[last + 1] - groups->first[last]};
}

bool is_alias(const Module *module, uint32_t comp, const Instr *instr) {
  return fuser_role(module, comp, instr) == ROLE_SHAPE;
}

bool is_name(const Module *module, uint32_t comp, const Instr *instr) {
  bool barrier = instr->op == OP_OPT_BARRIER || instr->op == OP_ADD_DEPENDENCY;
  return is_alias(module, comp, instr) || (barrier && shape_is_array(instr->shape));
}

bool groups_pass_on(const Groups *groups, const Module *module, uint32_t comp, uint32_t at) {
  return groups->repeated[at] || is_name(module, comp, comp_instr(module, comp, at));
}

bool is_empty_buffer(const Instr *instr) {
  return instr->op == OP_CUSTOM_CALL && str_is(instr_custom_call_target(instr), "AllocateBuffer");
}

Ids values_needed(const Instr *instr) {
  return instr->op == OP_ADD_DEPENDENCY ? (Ids){instr->operands.at, 1} : instr->operands;
}

uint32_t fusion_hands_on(const Module *module, const Instr *fusion, uint32_t part) {
  uint32_t callee = instr_comp(fusion, ATTR_calls);
  if (callee == NO_ID) return NO_ID;
  const Comp *body = module_comp(module, callee);
  const Instr *at = &body->instrs.at[body->root];
  if (at->op == OP_TUPLE && part < at->operands.n) at = &body->instrs.at[at->operands.at[part]];
  while (is_alias(module, callee, at) && at->operands.n > 0) at = &body->instrs.at[at->operands.at[0]];
  bool given = at->op == OP_PARAMETER && at->parameter < (int64_t)fusion->operands.n;
  return given ? (uint32_t)at->parameter : NO_ID;
}

/* Fusion. In: a computation; out: groups of instructions that run as one kernel each.
 *
 * The one idea: backwards over the program, a producer joins the group that all its users are in, where that
 * group can take it (XLA's instruction fusion without duplication). What it made then never reaches HBM. Such
 * a group can always run where its last member stands: nobody else waits for the others.
 *
 *   elementwise and moving ops   join any group
 *   reductions                   join one without a product, where what they reduce stays in VMEM meanwhile
 *   products                     join the elementwise ops that follow them; one a group
 *   all else                     stays alone
 *
 * A broadcast or iota of several groups is made anew in each, and costs nothing. */
#include "sim/schedule/fuse.h"
#include "models/cost.h"

typedef enum {
  ROLE_ALONE,  /* control flow, collectives, sorts, gathers, custom calls, names of what is there */
  ROLE_SHAPE,  /* bitcasts and free reshapes: no work, but may stand within a group */
  ROLE_REPEAT, /* broadcast, iota: cheap to make again */
  ROLE_LOOP,   /* elementwise and moving */
  ROLE_UPDATE, /* dynamic-update-slice: in place, so last in its group */
  ROLE_REDUCE,
  ROLE_PRODUCT
} Role;

static Role role_of(const Module *module, uint32_t comp, const Instr *instr) {
  switch (instr->op) {
  case OP_BITCAST: return ROLE_SHAPE;
  case OP_RESHAPE: return demand_is_free(module, comp, instr) ? ROLE_SHAPE : ROLE_LOOP;
  case OP_BROADCAST:
  case OP_IOTA: return ROLE_REPEAT;
  case OP_DYNAMIC_UPDATE_SLICE: return ROLE_UPDATE;
  case OP_REDUCE: return ROLE_REDUCE;
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

typedef struct {
  const Pod *pod;
  const Module *module;
  uint32_t comp;
  const Comp *body;
  Groups groups;
  bool *has_product, *has_reduce; /* by group */
  uint32_t *first_user, *users;   /* users[first_user[i] .. first_user[i + 1]) of instruction i */
} Fuser;

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

/* What eight rows, one a sublane, of the reduced dimensions take, so that they can be read twice from VMEM.
 */
static bool reduced_part_stays(const Fuser *fuser, const Instr *reduce) {
  enum { SUBLANES = 8, SHARE = 4 };
  const Shape *in = fuser->body->instrs.at[reduce->operands.at[0]].shape;
  int64_t kept = shape_is_array(reduce->shape) ? shape_elements(reduce->shape) : 0;
  if (kept == 0) return false;
  return (double)shape_bytes(in) / (double)kept * SUBLANES <= (double)fuser->pod->vmem_bytes / SHARE;
}

static bool can_join(const Fuser *fuser, uint32_t at, uint32_t group) {
  const Comp *body = fuser->body;
  const Instr *instr = &body->instrs.at[at], *last = &body->instrs.at[group];
  Role host = role_of(fuser->module, fuser->comp, last);
  if (host == ROLE_ALONE || host == ROLE_SHAPE || fuser->groups.repeated[group]) return false;
  switch (role_of(fuser->module, fuser->comp, instr)) {
  case ROLE_SHAPE:
  case ROLE_REPEAT:
  case ROLE_LOOP: return true;
  case ROLE_REDUCE: return !fuser->has_product[group] && reduced_part_stays(fuser, instr);
  case ROLE_PRODUCT:
    return !fuser->has_product[group] && !fuser->has_reduce[group] &&
           shape_elements(instr->shape) == shape_elements(last->shape);
  default: return false;
  }
}

/* Whether a broadcast or iota that stays alone is used by kernels only, each of which can make it anew. */
static bool can_repeat(const Fuser *fuser, uint32_t at) {
  const Comp *body = fuser->body;
  if (role_of(fuser->module, fuser->comp, &body->instrs.at[at]) != ROLE_REPEAT || at == body->root)
    return false;
  for (uint32_t u = fuser->first_user[at]; u < fuser->first_user[at + 1]; u++) {
    const Instr *last = &body->instrs.at[fuser->groups.last[fuser->users[u]]];
    Role host = role_of(fuser->module, fuser->comp, last);
    if (host == ROLE_ALONE || host == ROLE_SHAPE) return false;
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

static Groups new_groups(Arena *arena, uint32_t n) {
  Groups groups = {.last = ARENA_ARRAY(arena, uint32_t, n), .repeated = ARENA_ARRAY(arena, bool, n)};
  for (uint32_t i = 0; i < n; i++) groups.last[i] = i;
  return groups;
}

Groups groups_fused(Arena *arena, const Pod *pod, const Module *module, uint32_t comp) {
  const Comp *body = module_comp(module, comp);
  uint32_t n = body->instrs.n;
  Arena *scratch = arena_new();
  Fuser fuser = {.pod = pod, .module = module, .comp = comp, .body = body, .groups = new_groups(arena, n)};
  fuser.has_product = ARENA_ARRAY(scratch, bool, n);
  fuser.has_reduce = ARENA_ARRAY(scratch, bool, n);
  find_users(scratch, &fuser);
  for (uint32_t i = n; i-- > 0;) {
    uint32_t host = group_of_users(&fuser, i);
    bool joins = host != NO_ID && can_join(&fuser, i, host);
    if (joins) fuser.groups.last[i] = host;
    fuser.groups.repeated[i] = !joins && can_repeat(&fuser, i);
    Role role = role_of(module, comp, &body->instrs.at[i]);
    if (role == ROLE_PRODUCT) fuser.has_product[fuser.groups.last[i]] = true;
    if (role == ROLE_REDUCE) fuser.has_reduce[fuser.groups.last[i]] = true;
  }
  arena_free(scratch);
  list_members(arena, &fuser.groups, n);
  return fuser.groups;
}

Groups groups_single(Arena *arena, const Module *module, uint32_t comp) {
  uint32_t n = module_comp(module, comp)->instrs.n;
  Groups groups = new_groups(arena, n);
  list_members(arena, &groups, n);
  return groups;
}

Groups groups_whole(Arena *arena, const Module *module, uint32_t comp) {
  const Comp *body = module_comp(module, comp);
  Groups groups = new_groups(arena, body->instrs.n);
  for (uint32_t i = 0; i < body->instrs.n; i++) groups.last[i] = body->root;
  list_members(arena, &groups, body->instrs.n);
  return groups;
}

Ids group_members(const Groups *groups, uint32_t last) {
  return (Ids){groups->members + groups->first[last], groups->first[last + 1] - groups->first[last]};
}

bool is_alias(const Module *module, uint32_t comp, const Instr *instr) {
  return role_of(module, comp, instr) == ROLE_SHAPE;
}

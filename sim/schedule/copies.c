/* Copies beside the kernels. In: the groups of a computation in their order, and which values lie in VMEM all
 * their lives; out: what is brought to VMEM before a kernel that reads it, and what is made in VMEM and sent
 * to HBM after it.
 *
 * The one idea: while a kernel computes, HBM has time left; a copy goes through where the kernels between its
 * start and its end leave it enough, and VMEM has room for so long (the TPU compiler's assignment of memory
 * spaces: prefetches and evictions). Such a copy then costs nothing but its bytes, and the kernel at its end
 * finds its operand in VMEM. A copy starts as late as it can. */
#include "sim/schedule/copies.h"

#include "models/tiling.h"
#include "sim/schedule/schedule.h"
#include "sim/schedule/traffic.h"

#include <math.h>
#include <stdlib.h>

enum { FARTHEST_COPY = 512 }; /* places that a copy may take: bounds the search */

/* A place of the order: a kernel, or nothing that takes time. */
typedef struct {
  double compute_bytes; /* that HBM can move while its units work */
  double hbm_bytes, copy_bytes;
} Slot;

/* A read of a value in HBM. */
typedef struct {
  uint32_t value, place, group;
  int64_t bytes;
} Fetch;

typedef struct {
  Arena *arena;
  const Pod *pod;
  const Module *module;
  uint32_t comp;
  const Comp *body;
  Groups *groups;
  VmemRoom *room;
  Slot *slots;
  uint32_t *runs_at; /* by instruction: where its group runs */
  uint32_t *needed;  /* by instruction: the first place that looks for it in HBM, and is no kernel */
  Vec(Fetch) fetches;
} Copier;

static bool is_kernel(const Copier *copier, uint32_t leader) {
  const Instr *instr = &copier->body->instrs.at[leader];
  return step_kind_of(instr) == STEP_COMPUTE && !copier->groups->repeated[leader] &&
         !demand_is_free(copier->module, copier->comp, instr);
}

static bool passes_on(const Copier *copier, uint32_t at) {
  return groups_pass_on(copier->groups, copier->module, copier->comp, at);
}

/* Collectives, control flow and the end of the program look for a value in HBM. */
static void note_needs(Copier *copier) {
  uint32_t n = copier->body->instrs.n;
  for (uint32_t i = 0; i < n; i++) copier->needed[i] = n;
  for (uint32_t i = n; i-- > 0;) {
    Ids operands = values_needed(&copier->body->instrs.at[i]);
    if (!passes_on(copier, i) && is_kernel(copier, copier->groups->last[i])) continue;
    uint32_t at = passes_on(copier, i) ? copier->needed[i] : i;
    for (uint32_t k = 0; k < operands.n; k++) {
      uint32_t *needed = &copier->needed[operands.at[k]];
      if (at < *needed) *needed = at;
    }
  }
}

/* The kernel of a place, with what it reads from HBM. Of what it slices it finds out only then which part. A
 * copy leaves HBM no time, being one itself. */
static void note_kernel(Copier *copier, uint32_t at, uint32_t leader) {
  Demand demand = group_demand(copier->pod, copier->module, copier->comp, copier->groups, leader);
  double hbm_Bps = copier->pod->hbm_bw_Bps * copier->pod->hbm_efficiency;
  copier->slots[at].hbm_bytes = (double)demand.hbm_bytes;
  demand.hbm_bytes = demand.load_bytes = demand.store_bytes = 0;
  bool copies = copier->body->instrs.at[leader].op == OP_COPY;
  double compute_ps = copies ? 0 : (double)demand_ps(copier->pod, demand, NULL);
  copier->slots[at].compute_bytes = compute_ps * 1e-12 * hbm_Bps;
  Reads reads = group_reads(copier->arena, copier->pod, copier->module, copier->comp, copier->groups, leader);
  for (uint32_t i = 0; i < reads.n; i++) {
    Read read = reads.at[i];
    bool whole = read.bytes >= shape_bytes(copier->body->instrs.at[read.value].shape);
    if (whole && !copier->groups->in_vmem[read.value] && copier->runs_at[read.value] != NO_ID)
      VEC_PUSH(copier->arena, &copier->fetches, (Fetch){read.value, at, leader, read.bytes});
  }
}

static void note_places(Copier *copier) {
  uint32_t n = copier->body->instrs.n;
  for (uint32_t i = 0; i < n; i++) copier->runs_at[i] = NO_ID;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t leader = copier->groups->runs[i];
    Ids members = leader == NO_ID ? (Ids){NULL, 0} : group_members(copier->groups, leader);
    for (uint32_t k = 0; k < members.n; k++) copier->runs_at[members.at[k]] = i;
  }
  for (uint32_t i = 0; i < n; i++) {
    uint32_t leader = copier->groups->runs[i];
    if (leader != NO_ID && is_kernel(copier, leader)) note_kernel(copier, i, leader);
  }
}

static int by_value_and_place(const void *left, const void *right) {
  const Fetch *a = left, *b = right;
  if (a->value != b->value) return a->value < b->value ? -1 : 1;
  return a->place < b->place ? -1 : a->place > b->place;
}

static double spare_bytes(const Slot *place) {
  return fmax(0, place->compute_bytes - place->hbm_bytes - place->copy_bytes);
}

/* The last place from which a copy that must be there at `end` can start, no earlier than `least`; NO_ID. */
static uint32_t latest_start(const Copier *copier, uint32_t least, uint32_t end, double bytes) {
  for (uint32_t at = end; at > least && end - at < FARTHEST_COPY;) {
    bytes -= spare_bytes(&copier->slots[--at]);
    if (bytes <= 0) return at;
  }
  return NO_ID;
}

/* The first place after `start`, before `limit`, by whose end a copy is through; NO_ID. */
static uint32_t earliest_end(const Copier *copier, uint32_t start, uint32_t limit, double bytes) {
  for (uint32_t at = start + 1; at < limit && at - start < FARTHEST_COPY; at++) {
    bytes -= spare_bytes(&copier->slots[at]);
    if (bytes <= 0) return at;
  }
  return NO_ID;
}

/* Spreads a copy over what the places from `first` to `last` leave it. */
static void take_spare(Copier *copier, uint32_t first, uint32_t last, double bytes) {
  for (uint32_t at = first; at <= last && bytes > 0; at++) {
    double part = fmin(bytes, spare_bytes(&copier->slots[at]));
    copier->slots[at].copy_bytes += part;
    bytes -= part;
  }
}

/* A value that has been in VMEM: up to which place, and from where on it has room yet to take to stay. */
typedef struct {
  uint32_t until, next;
  bool there;
} Stay;

/* A value that a kernel makes goes to HBM beside the next kernels where it can. */
static Stay send(Copier *copier, uint32_t value) {
  const Shape *shape = copier->body->instrs.at[value].shape;
  uint32_t born = copier->runs_at[value];
  Stay not = {.until = is_there_from_start(copier->body, value) ? 0 : born};
  if (!is_kernel(copier, copier->groups->runs[born]) || !shape_is_array(shape)) return not ;
  double bytes = (double)shape_bytes(shape);
  uint32_t end = earliest_end(copier, born, copier->needed[value], bytes);
  if (end == NO_ID || !vmem_room_take(copier->room, born, end, tiled_bytes(shape))) return not ;
  take_spare(copier, born + 1, end, bytes);
  copier->slots[born].hbm_bytes = fmax(0, copier->slots[born].hbm_bytes - bytes);
  copier->groups->copies.sent[value] = true;
  return (Stay){end, end + 1, true};
}

/* Has a value in VMEM for a kernel: it is still there, or stays on, or is brought; else the kernel reads it
 * from HBM, and leaves it in VMEM. */
static Stay fetch(Copier *copier, const Fetch *fetch, Stay stay) {
  uint32_t end = fetch->place;
  double bytes = (double)fetch->bytes;
  bool whole = fetch->bytes == shape_bytes(copier->body->instrs.at[fetch->value].shape);
  bool there = stay.there && (end < stay.next || vmem_room_take(copier->room, stay.next, end, fetch->bytes));
  if (!there) {
    uint32_t start = latest_start(copier, stay.until + 1, end, bytes);
    if (start == NO_ID || !vmem_room_take(copier->room, start, end, fetch->bytes))
      return (Stay){end, end, whole};
    take_spare(copier, start, end - 1, bytes);
  }
  copier->slots[end].hbm_bytes = fmax(0, copier->slots[end].hbm_bytes - bytes);
  VEC_PUSH(copier->arena, &copier->groups->copies.fetched, (Use){fetch->group, fetch->value});
  uint32_t until = end > stay.until ? end : stay.until;
  return (Stay){until, until + 1, true};
}

/* All values in HBM, with their reads, both in order. */
static void place_values(Copier *copier) {
  for (uint32_t value = 0, next = 0; value < copier->body->instrs.n; value++) {
    bool in_hbm = copier->runs_at[value] != NO_ID && copier->groups->leaves[value] &&
                  !copier->groups->in_vmem[value] && !passes_on(copier, value);
    Stay stay = in_hbm ? send(copier, value) : (Stay){0};
    for (; next < copier->fetches.n && copier->fetches.at[next].value == value; next++)
      stay = fetch(copier, &copier->fetches.at[next], stay);
  }
}

static int by_use(const void *left, const void *right) {
  const Use *a = left, *b = right;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  return a->value < b->value ? -1 : a->value > b->value;
}

bool is_fetched(const Copies *copies, uint32_t group, uint32_t value) {
  Use use = {group, value};
  return copies->fetched.n > 0 &&
         bsearch(&use, copies->fetched.at, copies->fetched.n, sizeof use, by_use) != NULL;
}

void copies_place(Arena *arena, const Pod *pod, const Module *module, uint32_t comp, Groups *groups,
                  VmemRoom *room) {
  Arena *scratch = arena_new();
  const Comp *body = module_comp(module, comp);
  uint32_t n = body->instrs.n;
  Copier copier = {.arena = scratch,
                   .pod = pod,
                   .module = module,
                   .comp = comp,
                   .body = body,
                   .groups = groups,
                   .room = room,
                   .slots = ARENA_ARRAY(scratch, Slot, n),
                   .runs_at = ARENA_ARRAY(scratch, uint32_t, n),
                   .needed = ARENA_ARRAY(scratch, uint32_t, n)};
  note_needs(&copier);
  note_places(&copier);
  groups->copies.sent = ARENA_ARRAY(arena, bool, n);
  groups->copies.bytes = ARENA_ARRAY(arena, int64_t, n);
  if (copier.fetches.n > 0)
    qsort(copier.fetches.at, copier.fetches.n, sizeof *copier.fetches.at, by_value_and_place);
  place_values(&copier);
  Use *uses = arena_copy(arena, groups->copies.fetched.at, groups->copies.fetched.n * sizeof *uses);
  groups->copies.fetched.at = uses;
  groups->copies.fetched.cap = groups->copies.fetched.n;
  if (groups->copies.fetched.n > 0) qsort(uses, groups->copies.fetched.n, sizeof *uses, by_use);
  for (uint32_t i = 0; i < n; i++) {
    if (groups->runs[i] != NO_ID) groups->copies.bytes[groups->runs[i]] = (int64_t)copier.slots[i].copy_bytes;
  }
  arena_free(scratch);
}

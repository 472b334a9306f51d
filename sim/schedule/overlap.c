/* Overlap. In: a schedule whose collectives are synchronous; out: one in the same steps, in an order in which
 * compute runs while collectives are in flight.
 *
 * The one idea: list scheduling from the end, as XLA's latency hiding scheduler does it. A collective's DONE
 * is placed as late as its users allow; its START is held back until as much compute has been placed before
 * the DONE as the collective is expected to take, or nothing else is left. Among what may be placed, what
 * stands last in the program comes first, so that without collectives the order is the program's. Collectives
 * that go the same way along an axis share its links: each is expected to wait for those that end later. One
 * collective of a kind is in flight at once on a torus axis, but of permutes more, which hold blocks alone;
 * and a loop that holds collectives has the links to itself. Reductions stay synchronous unless the pod says
 * that the compiler splits them. Where the peak of memory gets too high, less time is hidden. All chips run
 * the one order, so they agree. */
#include "sim/schedule/overlap.h"

#include "sim/schedule/collective_time.h"
#include "sim/schedule/liveness.h"

#include <math.h>

/* The kinds, and how many may be in flight on one axis; the last two are moves to the host and from it. */
static const struct {
  Opcode op;
  uint32_t most;
} kinds[] = {
    {OP_ALL_GATHER, 1},         {OP_ALL_REDUCE, 1},           {OP_REDUCE_SCATTER, 1}, {OP_ALL_TO_ALL, 1},
    {OP_COLLECTIVE_PERMUTE, 8}, {OP_COLLECTIVE_BROADCAST, 1}, {OP_COUNT, 1},          {OP_COUNT, 1}};
enum {
  KINDS = sizeof kinds / sizeof *kinds,
  TO_HOST = KINDS - 2,
  FROM_HOST = KINDS - 1,
  NO_KIND = KINDS,
  AXES = 1 << POD_AXES, /* sets of them */
  LANES = KINDS * AXES,
  NO_LANE = LANES,
  MOST_IN_FLIGHT = 16,
  ATTEMPTS = 3,
  DEEPEST = 1000,
  DEEPEST_NAMES = 8
};

/* A step, before it has its place. */
typedef struct {
  Step step;
  Vec(uint32_t) needs;  /* nodes that come before it, repeated where they are needed several times */
  uint32_t users;       /* that have no place yet */
  uint32_t lane;        /* of a collective that may be split: its kind and torus axes; else NO_LANE */
  uint32_t ways;        /* of a collective: as CollectiveTime */
  bool wall;            /* runs with nothing in flight */
  bool names;           /* takes no time */
  bool goes_ahead;      /* a permute that brings a loop its first block: it starts as soon as it can */
  uint32_t depth;       /* collectives one after another on the longest way to it */
  double ps;            /* how long it keeps the core, or a collective the links */
  uint32_t work_before; /* of a collective: steps that take time, placed from the end, when its DONE was */
  bool hides;
} Node;

typedef enum { PLACED_STEP, PLACED_START, PLACED_DONE } PlacedKind;

typedef struct {
  uint32_t node;
  PlacedKind kind;
} Placed;

/* Nodes by rank, the highest first. */
typedef Vec(uint32_t) Heap;

typedef struct {
  uint32_t node;
  double due_ps;
} Flight;

typedef struct {
  Arena *arena; /* scratch */
  const Schedule *schedule;
  const Pod *pod;
  double *comp_ps; /* compute of a computation; below 0 until it is asked for */
  double part;     /* of a collective's time that is to be hidden */
} Overlap;

typedef struct {
  Overlap *overlap;
  uint32_t comp;
  Vec(Node) nodes;
  Heap ready, waiting[LANES]; /* steps; collectives all of whose users are placed */
  Flight flights[MOST_IN_FLIGHT];
  uint32_t in_flight, work;
  double now_ps;                /* from the end */
  double links_ps[POD_AXES][2]; /* from the end, by axis and way: until when the links are taken */
  Vec(Placed) placed;           /* from the end */
} List;

/* ---- heap ---- */

static void swap_ranks(uint32_t *a, uint32_t *b) {
  uint32_t kept = *a;
  *a = *b;
  *b = kept;
}

static void heap_push(Arena *arena, Heap *heap, uint32_t rank) {
  uint32_t at = heap->n;
  VEC_PUSH(arena, heap, rank);
  for (; at > 0 && heap->at[(at - 1) / 2] < heap->at[at]; at = (at - 1) / 2)
    swap_ranks(&heap->at[(at - 1) / 2], &heap->at[at]);
}

static void heap_pop(Heap *heap) {
  heap->at[0] = heap->at[--heap->n];
  for (uint32_t at = 0;;) {
    uint32_t left = 2 * at + 1, most = at;
    if (left < heap->n && heap->at[left] > heap->at[most]) most = left;
    if (left + 1 < heap->n && heap->at[left + 1] > heap->at[most]) most = left + 1;
    if (most == at) return;
    swap_ranks(&heap->at[at], &heap->at[most]);
    at = most;
  }
}

/* ---- what steps take ---- */

static bool is_flow(const Step *step) {
  return step->kind == STEP_WHILE || step->kind == STEP_CONDITIONAL || step->kind == STEP_CALL;
}

static const Instr *step_last(const Schedule *schedule, uint32_t comp, const Step *step) {
  return comp_instr(schedule->module, comp, step->instrs.at[step->instrs.n - 1]);
}

static Ids step_called(const Overlap *overlap, uint32_t comp, const Step *step) {
  return is_flow(step) ? instr_called(overlap->arena, step_last(overlap->schedule, comp, step))
                       : (Ids){NULL, 0};
}

static double step_ps(Overlap *overlap, uint32_t comp, const Step *step);

static double comp_ps(Overlap *overlap, uint32_t comp) {
  if (overlap->comp_ps[comp] >= 0) return overlap->comp_ps[comp];
  const CompSchedule *made = &overlap->schedule->comps[comp];
  double sum = 0;
  for (uint32_t s = 0; s < made->steps.n; s++) sum += step_ps(overlap, comp, &made->steps.at[s]);
  return overlap->comp_ps[comp] = sum;
}

static double step_ps(Overlap *overlap, uint32_t comp, const Step *step) {
  if (step->kind == STEP_START) return 0;
  Ids called = step_called(overlap, comp, step);
  double sum = 0;
  for (uint32_t i = 0; i < called.n; i++) sum += comp_ps(overlap, called.at[i]);
  return (double)step->time_ps + sum * (step->trips > 1 ? (double)step->trips : 1);
}

static bool holds_collectives(const Overlap *overlap, uint32_t comp) {
  const CompSchedule *made = &overlap->schedule->comps[comp];
  for (uint32_t s = 0; s < made->steps.n; s++) {
    const Step *step = &made->steps.at[s];
    if (step->kind == STEP_COLLECTIVE || step->kind == STEP_HOST || step->kind == STEP_START ||
        step->kind == STEP_DONE)
      return true;
    Ids called = step_called(overlap, comp, step);
    for (uint32_t i = 0; i < called.n; i++)
      if (holds_collectives(overlap, called.at[i])) return true;
  }
  return false;
}

/* ---- nodes ---- */

/* Whether the compiler makes such a collective asynchronous. */
static bool may_be_split(const Pod *pod, Opcode op) {
  return pod->async_reductions || (op != OP_ALL_REDUCE && op != OP_REDUCE_SCATTER);
}

static uint32_t kind_of(const Pod *pod, const Step *step, const Instr *instr) {
  uint32_t kind = 0;
  if (step->kind == STEP_HOST) return instr->host_move == HOST_MOVE_TO ? TO_HOST : FROM_HOST;
  if (step->kind != STEP_COLLECTIVE || !may_be_split(pod, instr->op)) return NO_KIND;
  while (kind < KINDS && kinds[kind].op != instr->op) kind++;
  return kind;
}

static bool only_names(const Step *step) {
  return step->kind == STEP_COMPUTE && step->time_ps == 0 && step->demand.flops == 0 &&
         step->demand.hbm_bytes == 0;
}

static void take_lane(const List *list, const Step *step, const Instr *instr, uint32_t kind, Node *node) {
  const Overlap *overlap = list->overlap;
  CollectiveTime time = {.ps = (double)step->time_ps, .axes = 1};
  if (step->kind != STEP_HOST)
    time = collective_time(overlap->pod, overlap->schedule->module, list->comp, instr);
  node->lane = kind * AXES + time.axes;
  node->ways = time.ways;
  node->ps = overlap->part * time.ps;
}

static void add_node(List *list, Step step) {
  const Overlap *overlap = list->overlap;
  const Instr *instr = step_last(overlap->schedule, list->comp, &step);
  step.frees = (Ids){NULL, 0};
  Node node = {.step = step, .lane = NO_LANE, .names = only_names(&step)};
  uint32_t kind = kind_of(overlap->pod, &step, instr);
  if (kind == NO_KIND) node.ps = step_ps(list->overlap, list->comp, &step);
  if (kind != NO_KIND) take_lane(list, &step, instr, kind, &node);
  bool is_unknown =
      step.kind == STEP_COLLECTIVE && node.lane == NO_LANE && may_be_split(overlap->pod, instr->op);
  node.wall = is_unknown || step.kind == STEP_START || step.kind == STEP_DONE;
  Ids called = step_called(overlap, list->comp, &step);
  for (uint32_t i = 0; i < called.n; i++) node.wall = node.wall || holds_collectives(overlap, called.at[i]);
  VEC_PUSH(overlap->arena, &list->nodes, node);
}

/* Names are nodes one by one: each waits for its own operands alone. */
static void add_nodes(List *list) {
  const CompSchedule *made = &list->overlap->schedule->comps[list->comp];
  for (uint32_t s = 0; s < made->steps.n; s++) {
    Step step = made->steps.at[s];
    Ids instrs = step.instrs;
    if (!only_names(&step)) add_node(list, step);
    for (uint32_t i = 0; only_names(&step) && i < instrs.n; i++) {
      step.instrs = (Ids){instrs.at + i, 1};
      add_node(list, step);
    }
  }
}

static void add_need(List *list, uint32_t node, uint32_t before) {
  if (node == before) return;
  VEC_PUSH(list->overlap->arena, &list->nodes.at[node].needs, before);
  list->nodes.at[before].users++;
}

/* What may do more than give its value keeps its order. */
static bool keeps_order(const Step *step, const Instr *instr) {
  return is_flow(step) || step->kind == STEP_START || step->kind == STEP_DONE ||
         (instr->op == OP_CUSTOM_CALL && step->kind != STEP_HOST) || instr->op == OP_INFEED ||
         instr->op == OP_OUTFEED || instr->op == OP_RNG || instr->op == OP_RNG_GET_AND_UPDATE_STATE;
}

static void find_depth(List *list, uint32_t node) {
  Node *own = &list->nodes.at[node];
  for (uint32_t i = 0; i < own->needs.n; i++) {
    const Node *need = &list->nodes.at[own->needs.at[i]];
    uint32_t depth = need->depth + (need->lane != NO_LANE);
    if (depth > own->depth && depth <= DEEPEST) own->depth = depth;
  }
}

static void find_needs(List *list) {
  const Schedule *schedule = list->overlap->schedule;
  const Comp *body = module_comp(schedule->module, list->comp);
  uint32_t *node_of = ARENA_ARRAY(list->overlap->arena, uint32_t, body->instrs.n), ordered = NO_ID;
  for (uint32_t i = 0; i < list->nodes.n; i++) {
    Ids instrs = list->nodes.at[i].step.instrs;
    for (uint32_t k = 0; k < instrs.n; k++) node_of[instrs.at[k]] = i;
  }
  for (uint32_t i = 0; i < list->nodes.n; i++) {
    const Step step = list->nodes.at[i].step;
    bool keeps = false;
    for (uint32_t k = 0; k < step.instrs.n; k++) {
      const Instr *instr = &body->instrs.at[step.instrs.at[k]];
      keeps = keeps || keeps_order(&step, instr);
      for (uint32_t o = 0; o < instr->operands.n; o++) add_need(list, i, node_of[instr->operands.at[o]]);
      if (instr->op == OP_OPT_BARRIER || instr->op == OP_ADD_DEPENDENCY)
        list->nodes.at[node_of[instr->operands.at[0]]].goes_ahead = true;
    }
    if (keeps && ordered != NO_ID) add_need(list, i, ordered);
    if (keeps) ordered = i;
    find_depth(list, i);
  }
}

/* ---- placing, from the end ---- */

/* Names come as late as they can, so that they ask for no collective early. */
static void make_ready(List *list, uint32_t node) {
  const Node *own = &list->nodes.at[node];
  uint32_t depth = own->names ? DEEPEST + 1 : own->depth;
  if (own->lane == NO_LANE)
    heap_push(list->overlap->arena, &list->ready, depth * list->nodes.n + node);
  else
    heap_push(list->overlap->arena, &list->waiting[own->lane], node);
}

static void place(List *list, uint32_t node, PlacedKind kind) {
  VEC_PUSH(list->overlap->arena, &list->placed, (Placed){node, kind});
  if (kind == PLACED_DONE) return;
  const Node *own = &list->nodes.at[node];
  for (uint32_t i = 0; i < own->needs.n; i++)
    if (--list->nodes.at[own->needs.at[i]].users == 0) make_ready(list, own->needs.at[i]);
}

static void place_step(List *list, uint32_t node) {
  heap_pop(&list->ready);
  list->now_ps += list->nodes.at[node].ps;
  list->work += list->nodes.at[node].ps > 0;
  place(list, node, PLACED_STEP);
}

/* The links of an axis, one way, that a collective takes. */
static bool takes_links(const Node *node, uint32_t axis, uint32_t way) {
  return (node->lane % AXES >> axis & 1) != 0 && (node->ways >> way & 1) != 0;
}

/* When a collective that ends now is due to start; its links are taken until then. */
static double take_links(List *list, const Node *node) {
  double due_ps = list->now_ps;
  for (uint32_t axis = 0; axis < POD_AXES; axis++)
    for (uint32_t way = 0; way < 2; way++)
      if (takes_links(node, axis, way) && list->links_ps[axis][way] > due_ps)
        due_ps = list->links_ps[axis][way];
  due_ps += node->ps;
  for (uint32_t axis = 0; axis < POD_AXES; axis++)
    for (uint32_t way = 0; way < 2; way++)
      if (takes_links(node, axis, way)) list->links_ps[axis][way] = due_ps;
  return due_ps;
}

/* Two that are in flight together are split, even where no compute runs beside them. */
static void place_done(List *list, uint32_t lane) {
  uint32_t node = list->waiting[lane].at[0];
  heap_pop(&list->waiting[lane]);
  Node *own = &list->nodes.at[node];
  for (uint32_t i = 0; i < list->in_flight; i++)
    own->hides = list->nodes.at[list->flights[i].node].hides = true;
  double due_ps = take_links(list, own);
  list->flights[list->in_flight++] = (Flight){node, own->goes_ahead ? INFINITY : due_ps};
  own->work_before = list->work;
  place(list, node, PLACED_DONE);
}

static void place_start(List *list, const Flight *flight) {
  uint32_t node = flight->node;
  if (list->work > list->nodes.at[node].work_before) list->nodes.at[node].hides = true;
  list->flights[flight - list->flights] = list->flights[--list->in_flight];
  place(list, node, PLACED_START);
}

/* The first that is due of those of a kind on one of these axes (NO_LANE: of all); `n`: how many there are.
 */
static const Flight *first_due(const List *list, uint32_t lane, uint32_t *n) {
  const Flight *first = NULL;
  *n = 0;
  for (uint32_t i = 0; i < list->in_flight; i++) {
    const Flight *flight = &list->flights[i];
    uint32_t other = list->nodes.at[flight->node].lane;
    bool shares = lane == NO_LANE || (other / AXES == lane / AXES && (other % AXES & lane % AXES) != 0);
    if (!shares) continue;
    ++*n;
    if (first == NULL || flight->due_ps < first->due_ps) first = flight;
  }
  return first;
}

/* What has to start before another of its kind can be in flight; NULL: nothing. */
static const Flight *in_the_way(const List *list, uint32_t lane) {
  uint32_t n;
  const Flight *first = first_due(list, lane, &n);
  return n < kinds[lane / AXES].most ? NULL : first;
}

/* The lane of the last collective in the program that may end here. */
static uint32_t next_done(const List *list) {
  uint32_t next = NO_LANE;
  for (uint32_t lane = 0; lane < LANES && list->in_flight < MOST_IN_FLIGHT; lane++) {
    if (list->waiting[lane].n == 0 || in_the_way(list, lane) != NULL) continue;
    if (next == NO_LANE || list->waiting[lane].at[0] > list->waiting[next].at[0]) next = lane;
  }
  return next;
}

/* What is in flight where a step would have one more collective of its kind wait for it: values that were
 * gathered early would fill memory, and the links are busy all the same. */
static const Flight *crowded(const List *list, uint32_t node, uint32_t depth) {
  const Node *own = &list->nodes.at[node];
  for (uint32_t i = 0; i < own->needs.n; i++) {
    const Node *need = &list->nodes.at[own->needs.at[i]];
    if (need->users != 1) continue;
    if (need->lane != NO_LANE && list->waiting[need->lane].n > 0 && in_the_way(list, need->lane) != NULL)
      return in_the_way(list, need->lane);
    const Flight *flight =
        depth < DEEPEST_NAMES && need->names ? crowded(list, own->needs.at[i], depth + 1) : NULL;
    if (flight != NULL) return flight;
  }
  return NULL;
}

/* What a node names: the first that it needs, past those that only name another. */
static uint32_t named(const List *list, uint32_t node) {
  for (uint32_t i = 0; i < DEEPEST_NAMES; i++) {
    const Node *own = &list->nodes.at[node];
    if (!own->names || own->needs.n == 0) break;
    node = own->needs.at[0];
  }
  return node;
}

static bool needs(const List *list, uint32_t node, uint32_t before) {
  const Node *own = &list->nodes.at[node];
  for (uint32_t i = 0; i < own->needs.n; i++)
    if (named(list, own->needs.at[i]) == before) return true;
  return false;
}

static bool is_permute(const List *list, uint32_t node) {
  uint32_t lane = list->nodes.at[node].lane;
  return lane != NO_LANE && kinds[lane / AXES].op == OP_COLLECTIVE_PERMUTE;
}

/* What a permute sends. */
static uint32_t sent_by(const List *list, uint32_t permute) {
  return named(list, list->nodes.at[permute].needs.at[0]);
}

/* A block on its way round a ring, where a step works on a block from farther back than the one that is
 * passed on: with the step beside it, all blocks between would be kept. */
static const Flight *run_ahead(const List *list, uint32_t node) {
  for (uint32_t i = 0; i < list->in_flight; i++) {
    if (!is_permute(list, list->flights[i].node)) continue;
    uint32_t block = sent_by(list, list->flights[i].node);
    if (needs(list, node, block)) continue;
    while (is_permute(list, block)) {
      block = sent_by(list, block);
      if (needs(list, node, block)) return &list->flights[i];
    }
  }
  return NULL;
}

static bool place_next(List *list) {
  uint32_t next = list->ready.n == 0 ? NO_ID : list->ready.at[0] % list->nodes.n, in_flight;
  bool wall = next != NO_ID && list->nodes.at[next].wall;
  const Flight *first = first_due(list, NO_LANE, &in_flight);
  const Flight *full = next != NO_ID ? crowded(list, next, 0) : NULL;
  if (next != NO_ID && full == NULL) full = run_ahead(list, next);
  uint32_t done = wall ? NO_LANE : next_done(list);
  if (first != NULL && (wall || first->due_ps <= list->now_ps))
    place_start(list, first);
  else if (done != NO_LANE)
    place_done(list, done);
  else if (full != NULL)
    place_start(list, full);
  else if (next != NO_ID)
    place_step(list, next);
  else if (first != NULL)
    place_start(list, first);
  else
    return false;
  return true;
}

/* ---- the new order ---- */

static void emit(Arena *arena, CompSchedule *made, const Node *node, PlacedKind placed) {
  Step step = node->step;
  if (placed != PLACED_STEP && !node->hides && placed == PLACED_DONE) return; /* ended where it started */
  if (placed != PLACED_STEP && node->hides) step.kind = placed == PLACED_START ? STEP_START : STEP_DONE;
  VEC_PUSH(arena, &made->steps, step);
}

/* Names that follow each other are one step again. */
static void join_names(Arena *arena, CompSchedule *made) {
  uint32_t n = 0;
  for (uint32_t s = 0; s < made->steps.n;) {
    Vec(uint32_t) names = {0};
    Step step = made->steps.at[s];
    for (; s < made->steps.n && only_names(&made->steps.at[s]); s++)
      VEC_PUSH(arena, &names, made->steps.at[s].instrs.at[0]);
    if (names.n > 0)
      step.instrs = (Ids){names.at, names.n};
    else
      s++;
    made->steps.at[n++] = step;
  }
  made->steps.n = n;
}

/* Whether anything is hidden; else the computation's steps stay as they are. */
static bool overlap_comp(Overlap *overlap, Schedule *schedule, uint32_t comp) {
  List list = {.overlap = overlap, .comp = comp};
  add_nodes(&list);
  find_needs(&list);
  for (uint32_t i = 0; i < list.nodes.n; i++)
    if (list.nodes.at[i].users == 0) make_ready(&list, i);
  while (place_next(&list)) {
  }
  bool hides = false;
  for (uint32_t i = 0; i < list.nodes.n; i++) hides = hides || list.nodes.at[i].hides;
  if (!hides) return false;
  CompSchedule *made = &schedule->comps[comp];
  made->steps.at = NULL;
  made->steps.n = made->steps.cap = 0;
  for (uint32_t i = list.placed.n; i-- > 0;)
    emit(schedule->arena, made, &list.nodes.at[list.placed.at[i].node], list.placed.at[i].kind);
  join_names(schedule->arena, made);
  find_frees(schedule->arena, schedule->module, comp, made);
  return true;
}

static bool has_collective(const CompSchedule *made) {
  for (uint32_t s = 0; s < made->steps.n; s++)
    if (made->steps.at[s].kind == STEP_COLLECTIVE || made->steps.at[s].kind == STEP_HOST) return true;
  return false;
}

static bool overlap_all(Schedule *schedule, const Pod *pod, double part) {
  uint32_t n = schedule->module->comps.n;
  Arena *scratch = arena_new();
  Overlap overlap = {scratch, schedule, pod, ARENA_ARRAY(scratch, double, n), part};
  for (uint32_t comp = 0; comp < n; comp++) overlap.comp_ps[comp] = -1;
  bool hides = false;
  for (uint32_t comp = 0; comp < n; comp++)
    if (has_collective(&schedule->comps[comp])) hides |= overlap_comp(&overlap, schedule, comp);
  arena_free(scratch);
  return hides;
}

void schedule_overlap(Schedule *schedule, const Pod *pod) {
  if (schedule->hbm_peak_bytes > pod->hbm_usable_bytes) return;
  Arena *scratch = arena_new();
  size_t bytes = schedule->module->comps.n * sizeof *schedule->comps;
  const CompSchedule *before = arena_copy(scratch, schedule->comps, bytes);
  double part = 1;
  bool hides = overlap_all(schedule, pod, part);
  for (int attempt = 1; hides; attempt++) {
    find_memory(schedule);
    if (schedule->hbm_peak_bytes <= pod->hbm_usable_bytes) break;
    memcpy(schedule->comps, before, bytes);
    part /= 4;
    hides = attempt < ATTEMPTS && overlap_all(schedule, pod, part);
    if (!hides) find_memory(schedule);
  }
  arena_free(scratch);
}

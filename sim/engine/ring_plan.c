/* Plans of rings. Over several axes the data is cut into parts, one for each order of the axes that starts
 * with another axis, so that all links work at once. The parts' sizes are such that every axis has the same
 * work; where axes differ, a part is cut into pieces that shrink geometrically, so that the second axis works
 * on one while the first works on the next. A gather is the reduce-scatter run backwards, an all-reduce is
 * both. Blocks are cut into chunks where that hides enough latency. A plan is timed by playing its items. */
#include "sim/engine/plan_parts.h"

#include <math.h>

/* Bytes over the fullest link of an axis, when `bytes` are gathered or scattered along it. */
static double axis_link_bytes(GroupAxis axis, double bytes) {
  double blocks = axis.length - 1.0;
  return axis.load * bytes / axis.length * (axis.ring ? blocks / 2 : blocks);
}

/* What a hop and a byte cost along an axis. */
static IciCost axis_cost(GroupAxis axis, IciCost cost) {
  return axis.dcn ? (IciCost){.hop = cost.dcn_hop, .byte = cost.dcn_byte} : cost;
}

/* Chunks of a block: two where each is on its way for at least a hop's latency, which then hides as a whole;
 * not of blocks that are so large that it does not matter. */
static uint32_t axis_chunks(GroupAxis axis, double bytes, IciCost cost) {
  enum { LARGE = 50 };
  IciCost own = axis_cost(axis, cost);
  double block = axis.load * bytes / axis.length * own.byte, hop = axis.hops * own.hop;
  return hop > 0 && block >= 2 * hop && block < LARGE * hop ? 2 : 1;
}

/* Hop latencies along an axis: one a step; with chunks one for all steps, and one for the opposite block of
 * an even ring, half of which goes each way. */
static double axis_hops(GroupAxis axis, uint32_t chunks) {
  uint32_t steps = group_axis_steps(axis), halves = axis.ring && axis.length % 2 == 0;
  return axis.hops * (chunks == 1 ? steps : halves + (steps > halves));
}

static double axis_time(GroupAxis axis, double bytes, uint32_t chunks, IciCost cost) {
  IciCost own = axis_cost(axis, cost);
  return axis_hops(axis, chunks) * own.hop + axis_link_bytes(axis, bytes) * own.byte;
}

static double total_bytes(const CollectivePlan *plan, int64_t elements) {
  double members = plan->kind == COLLECTIVE_ALL_REDUCE ? 1 : plan->group->members;
  return (double)elements * members * plan->element_bits / 8;
}

/* What is left of a piece before a phase of a reduce-scatter, and after it in a gather. */
static double phase_bytes(const CollectivePlan *plan, const Piece *piece, uint32_t phase) {
  double bytes = total_bytes(plan, piece->n);
  for (uint32_t i = 0; i < phase; i++) bytes /= piece->layout->axes[piece->order[i]].length;
  return bytes;
}

static GroupAxis item_axis(const CollectivePlan *plan, const PlanItem *item) {
  const Piece *piece = &plan->pieces.at[item->piece];
  return piece->layout->axes[piece->order[item->phase]];
}

static double item_time(const CollectivePlan *plan, const PlanItem *item, IciCost cost) {
  double bytes = phase_bytes(plan, &plan->pieces.at[item->piece], item->phase);
  return axis_time(item_axis(plan, item), bytes, item->chunks, cost);
}

/* Time that a whole payload spends on each torus axis when it takes them in the order that starts with axis
 * `part`. */
static void part_loads(const GroupLayout *group, uint32_t part, double loads[POD_AXES]) {
  const GroupLayout *layout = group_starting(group, part);
  double bytes = 1;
  uint32_t axes = group_torus_axes(group);
  for (uint32_t phase = 0; phase < axes; phase++) {
    uint32_t axis = (part + phase) % axes;
    loads[axis] = axis_link_bytes(layout->axes[axis], bytes);
    bytes /= layout->axes[axis].length;
  }
}

enum { UNKNOWNS = POD_AXES + 1 };

/* Solves n linear equations by elimination; column n is the right side. False where there is no one answer.
 */
static bool solve(double rows[UNKNOWNS][UNKNOWNS + 1], uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    uint32_t pivot = i;
    for (uint32_t row = i + 1; row < n; row++)
      if (fabs(rows[row][i]) > fabs(rows[pivot][i])) pivot = row;
    if (fabs(rows[pivot][i]) < 1e-12) return false;
    for (uint32_t column = 0; column <= n; column++) {
      double swap = rows[i][column];
      rows[i][column] = rows[pivot][column];
      rows[pivot][column] = swap;
    }
    for (uint32_t row = 0; row < n; row++) {
      double factor = row == i ? 0 : rows[row][i] / rows[i][i];
      for (uint32_t column = i; column <= n; column++) rows[row][column] -= factor * rows[i][column];
    }
  }
  for (uint32_t i = 0; i < n; i++) rows[i][n] /= rows[i][i];
  return true;
}

/* Shares of the parts, such that all torus axes have the same work: sum over parts of share * load = time,
 * shares sum to 1. */
static void part_shares(const GroupLayout *group, double shares[POD_AXES]) {
  uint32_t k = group_torus_axes(group);
  double rows[UNKNOWNS][UNKNOWNS + 1] = {0}, sum = 0;
  for (uint32_t part = 0; part < k; part++) {
    double loads[POD_AXES];
    part_loads(group, part, loads);
    for (uint32_t axis = 0; axis < k; axis++) rows[axis][part] = loads[axis];
    rows[part][k] = -1;
    rows[k][part] = 1;
  }
  rows[k][k + 1] = 1;
  bool solved = solve(rows, k + 1);
  for (uint32_t part = 0; part < k; part++) {
    shares[part] = !solved ? 1 : rows[part][k + 1] < 0 ? 0 : rows[part][k + 1];
    sum += shares[part];
  }
  for (uint32_t part = 0; part < k; part++) shares[part] /= sum;
}

/* How much smaller each piece of a part is than the one before: as the second axis' work is to the first's.
 * The network between slices has more work than any axis, so that its pieces are alike. */
static double piece_ratio(const GroupLayout *group, uint32_t part) {
  double loads[POD_AXES];
  uint32_t axes = group_torus_axes(group);
  if (axes < group->n_axes) return 1;
  part_loads(group, part, loads);
  double ratio = loads[(part + 1) % axes] / loads[part];
  return ratio < 1.0 / 32 ? 1.0 / 32 : ratio > 1 ? 1 : ratio;
}

/* Where the pieces of large values are cut: so that members have blocks of one size. */
static int64_t cut_at(const CollectivePlan *plan, double at) {
  enum { LARGE = 64 /* elements of a block */ };
  int64_t members = plan->group->members;
  bool whole_blocks = plan->kind == COLLECTIVE_ALL_REDUCE && plan->elements >= LARGE * members;
  return whole_blocks ? llround(at / (double)members) * members : llround(at);
}

/* Cuts elements [at, end), a part, into pieces. */
static void add_part(Arena *arena, CollectivePlan *plan, uint32_t part, int64_t at, int64_t end,
                     uint32_t pieces) {
  double ratio = pieces == 1 ? 1 : piece_ratio(plan->group, part), sizes = 0, size = (double)(end - at);
  for (uint32_t i = 0; i < pieces; i++) sizes += pow(ratio, i);
  for (uint32_t i = 0; i + 1 < pieces; i++) {
    int64_t next = cut_at(plan, (double)at + size * pow(ratio, i) / sizes);
    plan_add_piece(arena, plan, part, at, next < end ? next : end);
    at = next < end ? next : end;
  }
  plan_add_piece(arena, plan, part, at, end);
}

static void add_parts(Arena *arena, CollectivePlan *plan, uint32_t parts, uint32_t pieces) {
  double shares[POD_AXES] = {1}, share = 0;
  int64_t at = 0;
  if (parts > 1) part_shares(plan->group, shares);
  for (uint32_t part = 0; part < parts; part++) {
    share += shares[part];
    int64_t end = part + 1 == parts ? plan->elements : cut_at(plan, share * (double)plan->elements);
    add_part(arena, plan, part, at, end, pieces);
    at = end;
  }
}

/* The next phase of each piece, and when it may start. */
typedef struct {
  uint32_t phase;
  double ready;
} Progress;

/* The piece whose next item can start first; of several, the one that is less far. */
static uint32_t next_piece(const CollectivePlan *plan, const Progress *progress, const double *axis_free) {
  uint32_t best = NO_MEMBER;
  double best_start = 0;
  for (uint32_t i = 0; i < plan->pieces.n; i++) {
    if (progress[i].phase == plan->group->n_axes) continue;
    double start = fmax(progress[i].ready, axis_free[plan->pieces.at[i].order[progress[i].phase]]);
    bool better = best == NO_MEMBER || start < best_start ||
                  (start == best_start && progress[i].phase < progress[best].phase);
    if (better) best = i, best_start = start;
  }
  return best;
}

/* Lists the items of a reduce-scatter, each axis' in the order in which it comes to them. */
static void list_scatter_items(Arena *arena, CollectivePlan *plan, IciCost cost) {
  Progress *progress = ARENA_ARRAY(arena, Progress, plan->pieces.n);
  double axis_free[GROUP_AXES] = {0};
  for (uint32_t i; (i = next_piece(plan, progress, axis_free)) != NO_MEMBER;) {
    PlanItem item = {.piece = i, .phase = progress[i].phase, .stage = progress[i].phase};
    uint32_t axis = plan->pieces.at[i].order[item.phase];
    double start = fmax(progress[i].ready, axis_free[axis]);
    item.chunks =
        axis_chunks(item_axis(plan, &item), phase_bytes(plan, &plan->pieces.at[i], item.phase), cost);
    plan->chunks = item.chunks > plan->chunks ? item.chunks : plan->chunks;
    axis_free[axis] = progress[i].ready = start + item_time(plan, &item, cost);
    progress[i].phase++;
    VEC_PUSH(arena, &plan->items[axis], item);
  }
}

/* Turns a reduce-scatter's items into a gather's, or adds the gather's to them for an all-reduce. */
static void mirror_items(Arena *arena, CollectivePlan *plan, bool keep) {
  for (uint32_t axis = 0; axis < plan->group->n_axes; axis++) {
    uint32_t n = plan->items[axis].n;
    for (uint32_t i = 0; i < n; i++) {
      PlanItem item = plan->items[axis].at[n - 1 - i];
      item.gather = true;
      item.stage = (keep ? plan->group->n_axes : 0) + plan->group->n_axes - 1 - item.phase;
      VEC_PUSH(arena, &plan->items[axis], item);
    }
    if (keep) continue;
    memmove(plan->items[axis].at, plan->items[axis].at + n, n * sizeof(PlanItem));
    plan->items[axis].n = n;
  }
}

/* The time of the whole plan: axes side by side, each item after the one before it on its axis and in its
 * piece. */
static double play(Arena *arena, const CollectivePlan *plan, IciCost cost) {
  double axis_free[GROUP_AXES] = {0}, end = 0;
  double *piece_free = ARENA_ARRAY(arena, double, plan->pieces.n);
  uint32_t at[GROUP_AXES] = {0}, *stage = ARENA_ARRAY(arena, uint32_t, plan->pieces.n);
  for (bool moved = true; moved;) {
    moved = false;
    for (uint32_t axis = 0; axis < plan->group->n_axes; axis++) {
      if (at[axis] == plan->items[axis].n) continue;
      const PlanItem *item = &plan->items[axis].at[at[axis]];
      if (item->stage != stage[item->piece]) continue;
      double done = fmax(axis_free[axis], piece_free[item->piece]) + item_time(plan, item, cost);
      axis_free[axis] = piece_free[item->piece] = done;
      end = fmax(end, done);
      stage[item->piece]++;
      at[axis]++;
      moved = true;
    }
  }
  return end;
}

Split piece_split(const CollectivePlan *plan, uint32_t piece) {
  int64_t members = plan->group->members, each = plan->kind == COLLECTIVE_ALL_REDUCE ? 1 : members;
  const Piece *own = &plan->pieces.at[piece];
  return (Split){PLAN_WORK, own->at * each, own->n * each, (uint32_t)members};
}

/* The largest block that a phase of a piece sends. */
static int64_t largest_block(const CollectivePlan *plan, const PlanItem *item) {
  Split split = piece_split(plan, item->piece);
  int64_t blocks = 1;
  for (uint32_t phase = 0; phase <= item->phase; phase++)
    blocks *= plan->pieces.at[item->piece].layout->axes[plan->pieces.at[item->piece].order[phase]].length;
  return (split.n + blocks - 1) / blocks;
}

static void place_ports(CollectivePlan *plan) {
  plan->ports = plan->n_semaphores;
  plan->n_semaphores += RING_PORTS * plan->group->n_axes;
}

/* Semaphores and slots of every item. */
static void place_items(CollectivePlan *plan) {
  for (uint32_t axis = 0; axis < plan->group->n_axes; axis++) {
    for (uint32_t i = 0; i < plan->items[axis].n; i++) {
      PlanItem *item = &plan->items[axis].at[i];
      GroupAxis own = item_axis(plan, item);
      item->semaphores = plan->n_semaphores;
      plan->n_semaphores += ring_semaphores(own.length, own.ring);
      if (item->gather) continue;
      item->slots = (Slice){PLAN_SLOTS, plan->buffers[PLAN_SLOTS], RING_SLOTS * largest_block(plan, item)};
      plan->buffers[PLAN_SLOTS] += item->slots.n;
    }
  }
  plan->stage_semaphores = plan->n_semaphores;
  plan->n_semaphores += plan->pieces.n * plan->stages;
  plan->done_semaphore = plan->n_semaphores++;
  place_ports(plan);
}

CollectivePlan *plan_rings(Arena *arena, const CollectivePlan *question, IciCost cost, uint32_t parts,
                           uint32_t pieces) {
  CollectivePlan *plan = plan_new(arena, question, ALGORITHM_RINGS);
  bool both = plan->kind == COLLECTIVE_ALL_REDUCE;
  add_parts(arena, plan, parts, pieces);
  list_scatter_items(arena, plan, cost);
  if (plan->kind != COLLECTIVE_REDUCE_SCATTER) mirror_items(arena, plan, both);
  plan->stages = plan->group->n_axes * (both ? 2 : 1);
  plan->buffers[PLAN_WORK] = plan->elements * (both ? 1 : plan->group->members);
  place_items(plan);
  plan->seconds = cost.startup + play(arena, plan, cost);
  plan->steps = (uint32_t)llround(play(arena, plan, (IciCost){.hop = 1}));
  plan->link_bytes = play(arena, plan, (IciCost){.byte = 1});
  plan->dcn_steps = (uint32_t)llround(play(arena, plan, (IciCost){.dcn_hop = 1}));
  plan->dcn_bytes = play(arena, plan, (IciCost){.dcn_byte = 1});
  return plan;
}

CollectivePlan *plan_whole(Arena *arena, const CollectivePlan *question, IciCost cost) {
  CollectivePlan *plan = plan_new(arena, question, ALGORITHM_WHOLE);
  plan->seconds = cost.startup;
  plan->buffers[PLAN_WORK] = plan->elements;
  for (uint32_t i = 0; i < plan->group->n_axes; i++) {
    GroupAxis axis = plan->group->axes[i];
    double bytes = total_bytes(plan, plan->elements) * axis.length;
    plan->n_semaphores += ring_semaphores(axis.length, axis.ring);
    plan->buffers[PLAN_WORK] += plan->elements * axis.length;
    *(axis.dcn ? &plan->dcn_steps : &plan->steps) += group_axis_steps(axis) * axis.hops;
    *(axis.dcn ? &plan->dcn_bytes : &plan->link_bytes) += axis_link_bytes(axis, bytes);
    plan->seconds += axis_time(axis, bytes, 1, cost);
  }
  place_ports(plan);
  return plan;
}

/* Routes: see reshard_route.h. Levels that both ends share at the front of a dimension are left where they
 * are (Shardy's reshard_to_collectives.cc strips common prefixes too); so are atoms replicated at both ends.
 * A step costs its bytes and a little more, so that of equal routes the shorter one is taken. */
#include "sim/partition/reshard_route.h"

enum { ROUTE_NODES = 2000, ROUTE_REARRANGEMENTS = 200, POSITIONS = 512 };
static const double step_cost_bytes = 0.01, local_step_cost_bytes = 0.001;

typedef struct {
  Placement placement;
  double cost;
  uint32_t previous;
  bool settled;
  RouteStep step;
} Node;

typedef struct {
  Arena *arena;
  const AtomSpace *space;
  const Placement *from, *to;
  uint32_t *fixed; /* levels of each dimension that stay */
  uint32_t active; /* mask of the atoms that may move */
  double limit;    /* no way may cost as much */
  Vec(Node) nodes;
  uint32_t *table, table_size; /* open addressing: node + 1 */
} Search;

/* --- the graph --- */

static uint64_t placement_hash(const Placement *placement) {
  const unsigned char *bytes = (const unsigned char *)placement;
  uint64_t hash = 14695981039346656037u;
  for (size_t i = 0; i < sizeof *placement; i++) hash = (hash ^ bytes[i]) * 1099511628211u;
  return hash;
}

/* The table's slot where the placement's node is, or belongs. */
static uint32_t *slot_of(const Search *search, const Placement *placement) {
  uint32_t at = (uint32_t)(placement_hash(placement) % search->table_size);
  while (search->table[at] != 0 &&
         memcmp(&search->nodes.at[search->table[at] - 1].placement, placement, sizeof *placement) != 0)
    at = (at + 1) % search->table_size;
  return &search->table[at];
}

/* Offers a way to a placement; it is kept where it is new or cheaper. */
static void offer(Search *search, uint32_t from, RouteStep step) {
  bool local = step.kind == ROUTE_SLICE;
  double cost = search->nodes.at[from].cost + step.bytes + (local ? local_step_cost_bytes : step_cost_bytes);
  if (cost >= search->limit) return;
  uint32_t *slot = slot_of(search, &step.after);
  if (*slot == 0) {
    if (search->nodes.n >= ROUTE_NODES) return;
    VEC_PUSH(search->arena, &search->nodes, (Node){step.after, cost, from, false, step});
    *slot = search->nodes.n;
    return;
  }
  Node *node = &search->nodes.at[*slot - 1];
  if (cost < node->cost) *node = (Node){step.after, cost, from, false, step};
}

static uint32_t cheapest_open(const Search *search) {
  uint32_t best = NO_ID;
  for (uint32_t i = 0; i < search->nodes.n; i++)
    if (!search->nodes.at[i].settled &&
        (best == NO_ID || search->nodes.at[i].cost < search->nodes.at[best].cost))
      best = i;
  return best;
}

/* --- moves --- */

static int64_t atoms_product(const AtomSpace *space, const Levels *levels) {
  int64_t product = 1;
  for (uint32_t i = 0; i < levels->n; i++) product *= space->atoms[levels->atoms[i]].size;
  return product;
}

static Levels last_levels(const Levels *levels, uint32_t n) {
  Levels last = {.n = n};
  memcpy(last.atoms, levels->atoms + levels->n - n, n);
  return last;
}

static bool is_active(const Search *search, uint32_t atom) {
  return (search->active >> atom & 1) != 0;
}

/* What the target has at dimension `dim` beyond what is there, where it is all to come from atoms at `place`.
 */
static Levels missing_levels(const Search *search, const Placement *now, uint32_t dim, uint8_t place) {
  Levels have = placement_levels(search->space, now, dim),
         want = placement_levels(search->space, search->to, dim);
  Levels missing = {0};
  if (have.n >= want.n || memcmp(have.atoms, want.atoms, have.n) != 0) return missing;
  for (uint32_t i = have.n; i < want.n; i++) {
    if (now->place[want.atoms[i]] != place) return (Levels){0};
    missing.atoms[missing.n++] = want.atoms[i];
  }
  return missing;
}

/* Replicated atoms become levels of the dimension where the target has them: one alone, or all that miss. */
static void move_slice(Search *search, uint32_t node, const Placement *now, uint32_t dim) {
  RouteStep step = {.kind = ROUTE_SLICE, .to_dim = dim, .before = *now};
  Levels missing = missing_levels(search, now, dim, PLACE_REPLICATED);
  if (missing.n > 1) {
    step.moved = missing;
    step.after = *now;
    placement_push(search->space, &step.after, dim, missing.atoms, missing.n);
    offer(search, node, step);
  }
  for (uint32_t a = 0; a < search->space->n_atoms; a++) {
    if (!is_active(search, a) || now->place[a] != PLACE_REPLICATED || search->to->place[a] != dim) continue;
    uint8_t atom = (uint8_t)a;
    step.moved = (Levels){1, {atom}};
    step.after = *now;
    placement_push(search->space, &step.after, dim, &atom, 1);
    offer(search, node, step);
  }
}

static void move_reduce_scatter(Search *search, uint32_t node, const Placement *now, uint32_t dim) {
  RouteStep step = {.kind = ROUTE_REDUCE_SCATTER, .to_dim = dim, .before = *now};
  Levels missing = missing_levels(search, now, dim, PLACE_UNREDUCED);
  for (uint32_t a = 0; a <= search->space->n_atoms; a++) {
    Levels moved = missing; /* the last turn: all that miss */
    if (a < search->space->n_atoms) {
      if (!is_active(search, a) || now->place[a] != PLACE_UNREDUCED || search->to->place[a] != dim) continue;
      moved = (Levels){1, {(uint8_t)a}};
    } else if (missing.n < 2) {
      continue;
    }
    step.moved = moved;
    step.after = *now;
    placement_push(search->space, &step.after, dim, moved.atoms, moved.n);
    step.bytes =
        placement_bytes(search->space, &step.after) * (double)(atoms_product(search->space, &moved) - 1);
    offer(search, node, step);
  }
}

static void offer_all_reduce(Search *search, uint32_t node, const Placement *now, uint32_t mask) {
  RouteStep step = {.kind = ROUTE_ALL_REDUCE, .before = *now, .after = *now};
  for (uint32_t a = 0; a < search->space->n_atoms; a++)
    if ((mask >> a & 1) != 0) {
      step.moved.atoms[step.moved.n++] = (uint8_t)a;
      step.after.place[a] = PLACE_REPLICATED;
    }
  double group = (double)atoms_product(search->space, &step.moved);
  step.bytes = 2 * placement_bytes(search->space, now) * (group - 1) / group;
  if (mask != 0) offer(search, node, step);
}

/* All that is unreduced at once, those that the target has replicated, and each alone. */
static void move_all_reduce(Search *search, uint32_t node, const Placement *now) {
  uint32_t all = 0, replicated = 0;
  for (uint32_t a = 0; a < search->space->n_atoms; a++) {
    if (!is_active(search, a) || now->place[a] != PLACE_UNREDUCED) continue;
    all |= 1u << a;
    if (search->to->place[a] == PLACE_REPLICATED) replicated |= 1u << a;
    offer_all_reduce(search, node, now, 1u << a);
  }
  offer_all_reduce(search, node, now, all);
  offer_all_reduce(search, node, now, replicated);
}

static void move_all_gather(Search *search, uint32_t node, const Placement *now, uint32_t dim) {
  Levels levels = placement_levels(search->space, now, dim);
  if (levels.n <= search->fixed[dim]) return;
  RouteStep step = {.kind = ROUTE_ALL_GATHER, .dim = dim, .before = *now, .after = *now};
  step.moved = last_levels(&levels, 1);
  placement_pop(search->space, &step.after, dim, 1);
  step.bytes = placement_bytes(search->space, now) * (double)(atoms_product(search->space, &step.moved) - 1);
  offer(search, node, step);
}

/* All levels that may go at once, summed: it pays where there are more shards than rows. */
static void move_sum_gather(Search *search, uint32_t node, const Placement *now, uint32_t dim) {
  const AtomSpace *space = search->space;
  Levels levels = placement_levels(space, now, dim);
  uint32_t n = levels.n - search->fixed[dim];
  if (n == 0 || !levels_uniform(space, now, &levels, n)) return;
  RouteStep step = {.kind = ROUTE_SUM_GATHER, .dim = dim, .before = *now, .after = *now};
  step.moved = last_levels(&levels, n);
  placement_pop(space, &step.after, dim, n);
  double group = (double)atoms_product(space, &step.moved);
  step.bytes = 2 * placement_bytes(space, &step.after) * (group - 1) / group;
  offer(search, node, step);
}

/* The last levels of a dimension, one to all of them, move as they are to the end of another. */
static void move_all_to_all(Search *search, uint32_t node, const Placement *now, uint32_t dim) {
  const AtomSpace *space = search->space;
  Levels levels = placement_levels(space, now, dim);
  for (uint32_t n = 1; n + search->fixed[dim] <= levels.n; n++) {
    if (!levels_uniform(space, now, &levels, n)) break;
    RouteStep step = {.kind = ROUTE_ALL_TO_ALL, .dim = dim, .moved = last_levels(&levels, n), .before = *now};
    int64_t group = atoms_product(space, &step.moved);
    for (uint32_t to = 0; to < space->shape->rank; to++) {
      if (to == dim || placement_local(space, now, to) < group) continue;
      step.to_dim = to;
      step.after = *now;
      placement_pop(space, &step.after, dim, n);
      placement_push(space, &step.after, to, step.moved.atoms, n);
      Placement padded = step.after; /* what travels: local rows of `dim`, padded rows of `to` */
      double bytes = placement_bytes(space, now) / (double)placement_local(space, now, to) *
                     (double)(placement_local(space, &padded, to) * group);
      step.bytes = bytes * (double)(group - 1) / (double)group;
      offer(search, node, step);
    }
  }
}

/* Atoms that lie otherwise before than after. */
static Levels differing_atoms(const AtomSpace *space, const Placement *before, const Placement *after) {
  Levels atoms = {0};
  for (uint32_t a = 0; a < space->n_atoms; a++)
    if (before->place[a] != after->place[a] || before->order[a] != after->order[a] ||
        before->tile[a] != after->tile[a])
      atoms.atoms[atoms.n++] = (uint8_t)a;
  return atoms;
}

/* Whether the device at `position` (mixed radix over `atoms`) holds the same part before and after. */
static bool stays(const AtomSpace *space, const Levels *atoms, const Placement *before,
                  const Placement *after, int64_t position) {
  int64_t coordinates[PLACEMENT_ATOMS];
  for (uint32_t i = 0; i < atoms->n; i++) {
    coordinates[i] = position % space->atoms[atoms->atoms[i]].size;
    position /= space->atoms[atoms->atoms[i]].size;
  }
  for (uint32_t d = 0; d < space->shape->rank; d++) {
    int64_t shift = 0;
    for (uint32_t i = 0; i < atoms->n; i++) {
      uint8_t atom = atoms->atoms[i];
      if (before->place[atom] == d) shift += coordinates[i] * before->tile[atom];
      if (after->place[atom] == d) shift -= coordinates[i] * after->tile[atom];
    }
    if (shift != 0) return false;
  }
  return true;
}

/* The share of devices that must get another part; of many positions every few are looked at. */
static double moved_fraction(const AtomSpace *space, const Placement *before, const Placement *after) {
  Levels atoms = differing_atoms(space, before, after);
  int64_t all = atoms_product(space, &atoms), stride = 1 + all / POSITIONS, seen = 0, same = 0;
  for (int64_t position = 0; position < all; position += stride, seen++)
    same += stays(space, &atoms, before, after, position);
  return (double)(seen - same) / (double)seen;
}

typedef struct {
  Search *search;
  uint32_t node, count;
  RouteStep step;
} Rearrangement;

/* Fills dimension `dim` of `placement` with atoms of product `left`, minor tile `tile`; then the next
 * dimension. */
static void rearrange(Rearrangement *way, Placement placement, uint32_t dim, Levels chosen, int64_t left,
                      int64_t tile);

static void rearrange_dim(Rearrangement *way, Placement placement, uint32_t dim) {
  const Search *search = way->search;
  if (way->count > ROUTE_REARRANGEMENTS) return;
  if (dim == search->space->shape->rank) {
    if (memcmp(&placement, &way->step.before, sizeof placement) == 0) return;
    way->count++;
    way->step.after = placement;
    way->step.bytes = placement_bytes(search->space, &placement) *
                      moved_fraction(search->space, &way->step.before, &placement);
    offer(way->search, way->node, way->step);
    return;
  }
  Levels levels = placement_levels(search->space, &way->step.before, dim);
  uint32_t n = levels.n - search->fixed[dim];
  if (n == 0 || !levels_uniform(search->space, &way->step.before, &levels, n)) {
    rearrange_dim(way, placement, dim + 1);
    return;
  }
  Levels last = last_levels(&levels, n);
  rearrange(way, placement, dim, (Levels){0}, atoms_product(search->space, &last),
            way->step.before.tile[levels.atoms[levels.n - 1]]);
}

static void put_levels(const Search *search, Placement *placement, uint32_t dim, const Levels *chosen,
                       int64_t tile) {
  for (uint32_t i = chosen->n; i-- > 0;) {
    uint8_t atom = chosen->atoms[i];
    placement->place[atom] = (uint8_t)dim;
    placement->order[atom] = (uint8_t)(search->fixed[dim] + i);
    placement->tile[atom] = tile;
    tile *= search->space->atoms[atom].size;
  }
}

static void rearrange(Rearrangement *way, Placement placement, uint32_t dim, Levels chosen, int64_t left,
                      int64_t tile) {
  const Search *search = way->search;
  if (left == 1) {
    put_levels(search, &placement, dim, &chosen, tile);
    rearrange_dim(way, placement, dim + 1);
    return;
  }
  for (uint32_t a = 0; a < search->space->n_atoms; a++) {
    if (!is_active(search, a) || placement.place[a] != PLACE_REPLICATED) continue;
    int64_t size = search->space->atoms[a].size;
    if (left % size != 0 || memchr(chosen.atoms, (int)a, chosen.n) != NULL) continue;
    Levels more = chosen;
    more.atoms[more.n++] = (uint8_t)a;
    rearrange(way, placement, dim, more, left / size, tile);
  }
}

/* Every way to lie on other devices with the same tiles. */
static void move_permute(Search *search, uint32_t node, const Placement *now) {
  Rearrangement way = {.search = search, .node = node, .step = {.kind = ROUTE_PERMUTE, .before = *now}};
  Placement bare = *now;
  for (uint32_t d = 0; d < search->space->shape->rank; d++) {
    Levels levels = placement_levels(search->space, now, d);
    uint32_t n = levels.n - search->fixed[d];
    if (levels_uniform(search->space, now, &levels, n)) placement_pop(search->space, &bare, d, n);
  }
  rearrange_dim(&way, bare, 0);
}

/* The same levels cut otherwise: the first `prefix` of them as one, the rest as one within. */
static void move_retile(Search *search, uint32_t node, const Placement *now, uint32_t dim) {
  const AtomSpace *space = search->space;
  Levels levels = placement_levels(space, now, dim);
  int64_t shards = atoms_product(space, &levels);
  if (shards == 1 || space->shape->dims[dim] % shards == 0) return;
  for (uint32_t prefix = 1; prefix <= levels.n; prefix++) {
    RouteStep step = {.kind = ROUTE_RETILE, .dim = dim, .moved = levels, .before = *now, .after = *now};
    placement_pop(space, &step.after, dim, levels.n);
    placement_push(space, &step.after, dim, levels.atoms, prefix);
    placement_push(space, &step.after, dim, levels.atoms + prefix, levels.n - prefix);
    if (memcmp(&step.after, now, sizeof *now) == 0) continue;
    Exchange plan = retile_plan(search->arena, space, now, &step.after, dim);
    step.bytes = plan.rows * placement_bytes(space, now) / (double)placement_local(space, now, dim);
    offer(search, node, step);
  }
}

/* --- retile --- */

static Interval interval_at(const AtomSpace *space, const Placement *placement, const Levels *levels,
                            uint32_t dim, int64_t position) {
  Interval interval = {0, space->shape->dims[dim]};
  int64_t below = atoms_product(space, levels);
  for (uint32_t i = 0; i < levels->n; i++) {
    uint8_t atom = levels->atoms[i];
    below /= space->atoms[atom].size;
    interval.start += position / below % space->atoms[atom].size * placement->tile[atom];
    if (interval.start + placement->tile[atom] < interval.stop)
      interval.stop = interval.start + placement->tile[atom];
  }
  if (interval.start > interval.stop) interval.start = interval.stop;
  return interval;
}

Exchange retile_plan(Arena *arena, const AtomSpace *space, const Placement *before, const Placement *after,
                     uint32_t dim) {
  Levels levels = placement_levels(space, before, dim);
  uint32_t n = (uint32_t)atoms_product(space, &levels);
  Interval *have = ARENA_ARRAY(arena, Interval, n), *want = ARENA_ARRAY(arena, Interval, n);
  for (uint32_t p = 0; p < n; p++) {
    have[p] = interval_at(space, before, &levels, dim, p);
    want[p] = interval_at(space, after, &levels, dim, p);
  }
  return exchange_plan(arena, n, have, placement_local(space, before, dim), want);
}

/* --- the search --- */

static Search search_new(Arena *arena, const AtomSpace *space, const Placement *from, const Placement *to) {
  Search search = {.arena = arena, .space = space, .from = from, .to = to};
  search.table_size = 2 * ROUTE_NODES + 1;
  search.table = ARENA_ARRAY(arena, uint32_t, search.table_size);
  search.fixed = ARENA_ARRAY(arena, uint32_t, space->shape->rank + 1);
  for (uint32_t a = 0; a < space->n_atoms; a++)
    if (from->place[a] != to->place[a] || from->place[a] < PLACE_UNREDUCED) search.active |= 1u << a;
  for (uint32_t d = 0; d < space->shape->rank; d++) {
    Levels a = placement_levels(space, from, d), b = placement_levels(space, to, d);
    uint32_t n = 0;
    while (n < a.n && n < b.n && a.atoms[n] == b.atoms[n] && from->tile[a.atoms[n]] == to->tile[a.atoms[n]])
      search.active &= ~(1u << a.atoms[n++]);
    search.fixed[d] = n;
  }
  return search;
}

static void expand(Search *search, uint32_t node) {
  Placement now = search->nodes.at[node].placement;
  for (uint32_t d = 0; d < search->space->shape->rank; d++) {
    move_slice(search, node, &now, d);
    move_reduce_scatter(search, node, &now, d);
    move_all_gather(search, node, &now, d);
    move_sum_gather(search, node, &now, d);
    move_all_to_all(search, node, &now, d);
    move_retile(search, node, &now, d);
  }
  move_all_reduce(search, node, &now);
  if (search->nodes.at[node].step.kind != ROUTE_PERMUTE) move_permute(search, node, &now); /* two are one */
}

/* Two steps that one op can do: gathers of neighbouring levels, scatters that continue each other. */
static bool merge(const AtomSpace *space, RouteStep *step, const RouteStep *next) {
  if (step->kind != next->kind) return false;
  Levels levels = {.n = step->moved.n + next->moved.n};
  if (step->kind == ROUTE_ALL_GATHER && step->dim == next->dim) {
    memcpy(levels.atoms, next->moved.atoms, next->moved.n);
    memcpy(levels.atoms + next->moved.n, step->moved.atoms, step->moved.n);
    Levels all = placement_levels(space, &step->before, step->dim);
    if (!levels_uniform(space, &step->before, &all, levels.n)) return false;
  } else if (step->kind == ROUTE_REDUCE_SCATTER && step->to_dim == next->to_dim) {
    memcpy(levels.atoms, step->moved.atoms, step->moved.n);
    memcpy(levels.atoms + step->moved.n, next->moved.atoms, next->moved.n);
    Levels all = placement_levels(space, &next->after, step->to_dim);
    if (!levels_uniform(space, &next->after, &all, levels.n)) return false;
  } else {
    return false;
  }
  step->moved = levels;
  step->after = next->after;
  step->bytes += next->bytes;
  return true;
}

static void route_read(const Search *search, uint32_t goal, Route *route) {
  uint32_t n = 0;
  for (uint32_t at = goal; at != 0; at = search->nodes.at[at].previous) n++;
  RouteStep *steps = ARENA_ARRAY(search->arena, RouteStep, n + 1);
  for (uint32_t at = goal, i = n; at != 0; at = search->nodes.at[at].previous)
    steps[--i] = search->nodes.at[at].step;
  *route = (Route){.steps = steps, .cost = search->nodes.at[goal].cost};
  for (uint32_t i = 0; i < n; i++) {
    route->bytes += steps[i].bytes;
    if (route->n == 0 || !merge(search->space, &steps[route->n - 1], &steps[i])) steps[route->n++] = steps[i];
  }
}

bool route_find(Arena *arena, const AtomSpace *space, const Placement *from, const Placement *to,
                double limit, Route *route) {
  Search search = search_new(arena, space, from, to);
  search.limit = limit;
  VEC_PUSH(arena, &search.nodes, (Node){.placement = *from});
  *slot_of(&search, from) = 1;
  for (;;) {
    uint32_t node = cheapest_open(&search);
    if (node == NO_ID) return false;
    search.nodes.at[node].settled = true;
    if (memcmp(&search.nodes.at[node].placement, to, sizeof *to) == 0) {
      route_read(&search, node, route);
      return true;
    }
    expand(&search, node);
  }
}

Route route_plain(Arena *arena, const AtomSpace *space, const Placement *from, const Placement *to) {
  Route route = {.steps = ARENA_ARRAY(arena, RouteStep, 2 + 2 * (size_t)space->shape->rank)};
  Placement now = *from;
  RouteStep reduce = {.kind = ROUTE_ALL_REDUCE, .before = now};
  for (uint32_t a = 0; a < space->n_atoms; a++)
    if (now.place[a] == PLACE_UNREDUCED && to->place[a] != PLACE_UNREDUCED) {
      reduce.moved.atoms[reduce.moved.n++] = (uint8_t)a;
      now.place[a] = PLACE_REPLICATED;
    }
  double group = (double)atoms_product(space, &reduce.moved);
  reduce.after = now;
  reduce.bytes = 2 * placement_bytes(space, &now) * (group - 1) / group;
  if (reduce.moved.n != 0) route.steps[route.n++] = reduce;
  for (uint32_t d = 0; d < space->shape->rank; d++) {
    RouteStep gather = {.kind = ROUTE_ALL_GATHER, .dim = d, .before = now};
    gather.moved = placement_levels(space, &now, d);
    if (gather.moved.n == 0) continue;
    placement_pop(space, &now, d, gather.moved.n);
    gather.after = now;
    gather.bytes = placement_bytes(space, &gather.before) * (double)(atoms_product(space, &gather.moved) - 1);
    route.steps[route.n++] = gather;
  }
  for (uint32_t d = 0; d < space->shape->rank; d++) {
    RouteStep slice = {.kind = ROUTE_SLICE, .to_dim = d, .before = now};
    slice.moved = placement_levels(space, to, d);
    if (slice.moved.n == 0) continue;
    placement_push(space, &now, d, slice.moved.atoms, slice.moved.n);
    slice.after = now;
    route.steps[route.n++] = slice;
  }
  for (uint32_t i = 0; i < route.n; i++) route.bytes += route.steps[i].bytes;
  route.cost = route.bytes + step_cost_bytes * (route.n + 1);
  return route;
}

double route_bound(const AtomSpace *space, const Placement *from, const Placement *to) {
  double wanted = 0, element = dtype_bits(space->shape->dtype) / 8.0;
  for (uint32_t a = 0; a < space->n_atoms; a++)
    if (from->place[a] == PLACE_UNREDUCED) return 0;
  for (uint32_t device = 0; device < space->mesh->n_devices; device++) {
    double want = element, have = element;
    for (uint32_t d = 0; d < space->shape->rank; d++) {
      Interval a, b;
      placement_interval(space, from, d, device, &a.start, &a.stop);
      placement_interval(space, to, d, device, &b.start, &b.stop);
      int64_t start = a.start > b.start ? a.start : b.start, stop = a.stop < b.stop ? a.stop : b.stop;
      want *= (double)(b.stop - b.start);
      have *= (double)(stop > start ? stop - start : 0);
    }
    wanted += want - have;
  }
  return wanted / space->mesh->n_devices;
}

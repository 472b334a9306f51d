/* Resharding: a route (reshard_route.h) written out as instructions. In: an array as the devices hold it and
 * the sharding that is wanted. Out: the same array so. Routes are kept by shape and ends; results by value,
 * so that nothing is gathered twice. */
#include "sim/partition/reshard.h"

#include "sim/partition/reshard_route.h"
#include "sim/partition/row_exchange.h"

#include <math.h>

typedef struct CachedRoute {
  AtomSpace space;
  Route route;
} CachedRoute;

/* --- routes --- */

/* First in the axes and their parts that are spoken of; where that is above the bound, cut finer. */
static bool search_route(Arena *arena, CachedRoute *cached, const Shape *shape, const Sharding *from,
                         const Sharding *to) {
  if (!space_cut(&cached->space, shape, from, to, false)) return false;
  Placement a = placement_of(&cached->space, from), b = placement_of(&cached->space, to);
  cached->route = route_plain(arena, &cached->space, &a, &b);
  route_find(arena, &cached->space, &a, &b, cached->route.cost, &cached->route);
  if (cached->route.bytes <= route_bound(&cached->space, &a, &b) * 1.0001 || from->unreduced.n != 0)
    return true;
  CachedRoute finer = {0};
  if (!space_cut(&finer.space, shape, from, to, true) || finer.space.n_atoms == cached->space.n_atoms)
    return true;
  a = placement_of(&finer.space, from), b = placement_of(&finer.space, to);
  if (route_find(arena, &finer.space, &a, &b, cached->route.cost, &finer.route)) *cached = finer;
  return true;
}

static const CachedRoute *route_between(Spmd *spmd, const Shape *shape, const Sharding *from,
                                        const Sharding *to) {
  StrBuf key = {.arena = spmd->scratch};
  shape_print(&key, shape, false);
  buf_add(&key, sharding_sdy_text(spmd->scratch, from));
  if (from->unreduced.n != 0) buf_printf(&key, "unreduced=%d", (int)from->reduction);
  buf_add(&key, sharding_sdy_text(spmd->scratch, to));
  Str text = buf_str(&key);
  uint32_t at = 0;
  if (map_get(spmd->route_index, text, &at)) return spmd->routes.at[at];
  CachedRoute *cached = ARENA_NEW(spmd->scratch, CachedRoute);
  if (!search_route(spmd->scratch, cached, shape, from, to)) return NULL;
  map_put(spmd->route_index, text, spmd->routes.n);
  VEC_PUSH(spmd->scratch, &spmd->routes, cached);
  return cached;
}

/* --- steps --- */

typedef struct {
  Spmd *spmd;
  const AtomSpace *space;
  const RouteStep *step;
  uint32_t reducer;
} Emit;

static int64_t *dims_of(const Emit *emit, const Placement *placement) {
  int64_t *dims = ARENA_ARRAY(emit->spmd->scratch, int64_t, emit->space->shape->rank + 1);
  for (uint32_t d = 0; d < emit->space->shape->rank; d++)
    dims[d] = placement_local(emit->space, placement, d);
  return dims;
}

static AxisList moved_axes(const Emit *emit) {
  return atoms_axes(emit->spmd->scratch, emit->space, emit->step->moved.atoms, emit->step->moved.n);
}

static int64_t moved_product(const Emit *emit) {
  return axes_size(moved_axes(emit));
}

static GroupList moved_groups(const Emit *emit) {
  return mesh_groups(emit->spmd->scratch, emit->space->mesh, moved_axes(emit));
}

static uint32_t add_collective(const Emit *emit, Opcode op, uint32_t instr, const int64_t *dims,
                               int64_t dim) {
  Spmd *spmd = emit->spmd;
  const Shape *from = spmd_shape(spmd, instr);
  const Shape *shape = shape_with_dims(spmd->arena, from, dims, from->rank);
  uint32_t at = spmd_add(spmd, op, shape, &instr, 1);
  GroupList groups = moved_groups(emit);
  spmd_collective(spmd, at, &groups, op != OP_ALL_TO_ALL);
  if (dim >= 0) instr_set_ints(spmd->module, spmd_instr(spmd, at), ATTR_dimensions, &dim, 1);
  if (op == OP_ALL_REDUCE || op == OP_REDUCE_SCATTER)
    instr_set_comp(spmd->module, spmd_instr(spmd, at), ATTR_to_apply, emit->reducer);
  return at;
}

static uint32_t emit_slice(const Emit *emit, uint32_t instr) {
  Spmd *spmd = emit->spmd;
  const RouteStep *step = emit->step;
  int64_t *sizes = dims_of(emit, &step->after), *padded = dims_of(emit, &step->before);
  padded[step->to_dim] = sizes[step->to_dim] * moved_product(emit);
  int64_t *offsets = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  for (uint32_t device = 0; device < spmd->mesh->n_devices; device++)
    offsets[device] = mesh_index(spmd->mesh, moved_axes(emit), device) * sizes[step->to_dim];
  instr = spmd_resize(spmd, instr, padded, NO_ID);
  return spmd_dynamic_rows(spmd, instr, step->to_dim, spmd_table(spmd, offsets), sizes[step->to_dim]);
}

static uint32_t emit_all_gather(const Emit *emit, uint32_t instr) {
  int64_t *dims = dims_of(emit, &emit->step->before);
  dims[emit->step->dim] *= moved_product(emit);
  instr = add_collective(emit, OP_ALL_GATHER, instr, dims, emit->step->dim);
  return spmd_resize(emit->spmd, instr, dims_of(emit, &emit->step->after), NO_ID);
}

/* Each device's rows in their place among zeros; the sum over the group is all of them. */
static uint32_t emit_sum_gather(const Emit *emit, uint32_t instr) {
  Spmd *spmd = emit->spmd;
  uint32_t dim = emit->step->dim;
  int64_t rows = dims_of(emit, &emit->step->before)[dim], room = rows * (moved_product(emit) - 1);
  int64_t *start = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++)
    start[d] = room - mesh_index(spmd->mesh, moved_axes(emit), d) * rows;
  instr = spmd_pad(spmd, instr, dim, room, room, NO_ID);
  instr = spmd_device_rows(spmd, instr, dim, start, room + rows);
  int64_t *dims = dims_of(emit, &emit->step->after);
  Emit sum = *emit;
  sum.reducer = spmd_adder(spmd, emit->space->shape->dtype);
  return add_collective(&sum, OP_ALL_REDUCE, spmd_resize(spmd, instr, dims, NO_ID), dims, -1);
}

static uint32_t emit_all_reduce(const Emit *emit, uint32_t instr) {
  return add_collective(emit, OP_ALL_REDUCE, instr, dims_of(emit, &emit->step->after), -1);
}

static uint32_t emit_reduce_scatter(const Emit *emit, uint32_t instr) {
  int64_t *dims = dims_of(emit, &emit->step->after), *padded = dims_of(emit, &emit->step->before);
  padded[emit->step->to_dim] = dims[emit->step->to_dim] * moved_product(emit);
  instr = spmd_resize(emit->spmd, instr, padded, NO_ID);
  return add_collective(emit, OP_REDUCE_SCATTER, instr, dims, emit->step->to_dim);
}

/* [.., I, .., J, ..] -> [.., I, .., group, J/group, ..], exchanged along `group`, which then moves in front
 * of I: member by member the rows of I follow each other. */
static uint32_t emit_all_to_all(const Emit *emit, uint32_t instr) {
  Spmd *spmd = emit->spmd;
  const RouteStep *step = emit->step;
  uint32_t rank = emit->space->shape->rank, i = step->dim, j = step->to_dim;
  int64_t group = moved_product(emit), *before = dims_of(emit, &step->before);
  int64_t *after = dims_of(emit, &step->after), *split = ARENA_ARRAY(spmd->scratch, int64_t, rank + 1);
  before[j] = after[j] * group;
  instr = spmd_resize(spmd, instr, before, NO_ID);
  for (uint32_t d = 0, at = 0; d < rank; d++) {
    if (d == j) split[at++] = group;
    split[at++] = d == j ? after[j] : before[d];
  }
  instr = spmd_reshape(spmd, instr, split, rank + 1);
  instr = add_collective(emit, OP_ALL_TO_ALL, instr, split, j);
  int64_t *perm = ARENA_ARRAY(spmd->scratch, int64_t, rank + 1);
  for (uint32_t d = 0, at = 0; d < rank; d++) {
    if (d == i) perm[at++] = j;
    perm[at++] = d < j ? d : d + 1;
  }
  instr = spmd_transpose(spmd, instr, perm);
  before[j] = after[j];
  before[i] *= group;
  return spmd_resize(spmd, spmd_reshape(spmd, instr, before, rank), after, NO_ID);
}

/* The part that a device holds, by its place among devices that differ in the atoms that move. */
static bool same_part(const AtomSpace *space, const Placement *before, uint32_t holder,
                      const Placement *after, uint32_t taker) {
  for (uint32_t d = 0; d < space->shape->rank; d++) {
    int64_t held = 0, taken = 0;
    for (uint32_t a = 0; a < space->n_atoms; a++) {
      if (before->place[a] == d)
        held += mesh_coordinate(space->mesh, space->atoms[a], holder) * before->tile[a];
      if (after->place[a] == d)
        taken += mesh_coordinate(space->mesh, space->atoms[a], taker) * after->tile[a];
    }
    if (held != taken) return false;
  }
  return true;
}

/* Who sends to whom in a group: itself where it holds what it wants, else the first that is free. */
static void match_group(const Emit *emit, const uint32_t *ids, uint32_t n, Pair *pairs) {
  bool *busy = ARENA_ARRAY(emit->spmd->scratch, bool, n);
  const RouteStep *step = emit->step;
  for (uint32_t t = 0; t < n; t++) {
    busy[t] = same_part(emit->space, &step->before, ids[t], &step->after, ids[t]);
    pairs[t] = (Pair){busy[t] ? (int64_t)ids[t] : -1, ids[t]};
  }
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t s = 0; s < n && pairs[t].source < 0; s++)
      if (!busy[s] && same_part(emit->space, &step->before, ids[s], &step->after, ids[t])) {
        busy[s] = true;
        pairs[t].source = ids[s];
      }
}

static uint32_t emit_permute(const Emit *emit, uint32_t instr) {
  Spmd *spmd = emit->spmd;
  const Placement *a = &emit->step->before, *b = &emit->step->after;
  uint8_t atoms[PLACEMENT_ATOMS];
  uint32_t n = 0;
  for (uint32_t i = 0; i < emit->space->n_atoms; i++)
    if (a->place[i] != b->place[i] || a->order[i] != b->order[i] || a->tile[i] != b->tile[i])
      atoms[n++] = (uint8_t)i;
  AxisList axes = atoms_axes(spmd->scratch, emit->space, atoms, n);
  GroupList groups = mesh_groups(spmd->scratch, spmd->mesh, axes);
  Pairs pairs = {ARENA_ARRAY(spmd->scratch, Pair, spmd->mesh->n_devices), spmd->mesh->n_devices};
  for (uint32_t g = 0; g < groups.n; g++)
    match_group(emit, groups.ids + groups.start[g], groups.start[g + 1] - groups.start[g],
                pairs.at + groups.start[g]);
  return spmd_permute(spmd, instr, pairs);
}

/* --- retile --- */

static uint32_t emit_retile(const Emit *emit, uint32_t instr) {
  Spmd *spmd = emit->spmd;
  const RouteStep *step = emit->step;
  uint32_t devices = spmd->mesh->n_devices;
  Interval *have = ARENA_ARRAY(spmd->scratch, Interval, devices);
  Interval *want = ARENA_ARRAY(spmd->scratch, Interval, devices);
  int64_t *begin = ARENA_ARRAY(spmd->scratch, int64_t, devices);
  for (uint32_t d = 0; d < devices; d++) {
    placement_interval(emit->space, &step->before, step->dim, d, &have[d].start, &have[d].stop);
    placement_interval(emit->space, &step->after, step->dim, d, &want[d].start, &want[d].stop);
    begin[d] = want[d].start;
  }
  RowExchange exchange = {step->dim, moved_groups(emit),
                          have,      begin,
                          want,      placement_local(emit->space, &step->after, step->dim)};
  return exchange_rows(spmd, instr, &exchange);
}

static uint32_t (*const emitters[])(const Emit *, uint32_t) = {
    [ROUTE_SLICE] = emit_slice,           [ROUTE_PERMUTE] = emit_permute,
    [ROUTE_ALL_TO_ALL] = emit_all_to_all, [ROUTE_ALL_GATHER] = emit_all_gather,
    [ROUTE_SUM_GATHER] = emit_sum_gather, [ROUTE_REDUCE_SCATTER] = emit_reduce_scatter,
    [ROUTE_ALL_REDUCE] = emit_all_reduce, [ROUTE_RETILE] = emit_retile};

/* --- reshard --- */

/* Between shardings that cannot be told in the same atoms: what both have in front. */
static const Sharding *stopover(Spmd *spmd, const Sharding *from, const Sharding *to) {
  const Sharding *stop = sharding_replicated(spmd->arena, from->mesh, from->rank, false);
  for (uint32_t d = 0; d < from->rank; d++) {
    AxisList front = axes_common_prefix(spmd->arena, from->mesh, from->dims[d].axes, to->dims[d].axes);
    stop = sharding_with_dim(spmd->arena, stop, d, front);
  }
  return sharding_eq(stop, from) || sharding_eq(stop, to) ? NULL : stop;
}

double reshard_cost_between(Spmd *spmd, const Shape *global, const Sharding *from, const Sharding *to) {
  if (sharding_eq(from, to)) return 0;
  const CachedRoute *cached = route_between(spmd, global, from, to);
  if (cached != NULL) return cached->route.cost;
  const Sharding *stop = stopover(spmd, from, to);
  if (stop == NULL) return 1e30;
  return reshard_cost_between(spmd, global, from, stop) + reshard_cost_between(spmd, global, stop, to);
}

static bool reduces_alike(const Sharded *value, const Sharded *variant) {
  return variant->sharding->unreduced.n == 0 || variant->reducer == value->reducer;
}

/* The known form of a value that is nearest to `to`. */
static Sharded nearest(Spmd *spmd, const Sharded *value, const Sharding *to, double *cost) {
  const Variants *variants = spmd_variants(spmd, value);
  Sharded best = *value;
  *cost = reshard_cost_between(spmd, value->global, value->sharding, to);
  for (uint32_t i = 0; i < variants->n; i++) {
    const Sharded *variant = &variants->at[i];
    if (!shape_eq(variant->global, value->global) || !reduces_alike(value, variant)) continue;
    double other = reshard_cost_between(spmd, value->global, variant->sharding, to);
    if (other < *cost) {
      *cost = other;
      best = *variant;
    }
  }
  return best;
}

/* How the source of a broadcast lies where the broadcast lies as `to`. */
static const Sharding *source_sharding(Spmd *spmd, const Sharded *value, const Sharding *to) {
  const Sharding *sharding = sharding_replicated(spmd->arena, to->mesh, value->source->global->rank, false);
  for (uint32_t d = 0; d < sharding->rank; d++)
    sharding = sharding_with_dim(spmd->arena, sharding, d, to->dims[value->source_dims.at[d]].axes);
  return sharding;
}

double reshard_cost(Spmd *spmd, const Sharded *value, const Sharding *to) {
  double cost = 0;
  if (value->scalar != NO_ID) return 0;
  nearest(spmd, value, to, &cost);
  if (cost == 0 || value->source == NULL) return cost;
  return fmin(cost, reshard_cost(spmd, value->source, source_sharding(spmd, value, to)));
}

/* The broadcast made anew from its source, brought to where it is needed. */
static Status broadcast_again(Spmd *spmd, const Sharded *value, const Sharding *to, Sharded *result) {
  Sharded source;
  TRY(reshard(spmd, *value->source, source_sharding(spmd, value, to), &source));
  const Shape *local = sharding_local_shape(spmd->arena, to, value->global);
  *result = *value;
  result->sharding = to;
  result->instr = spmd_add(spmd, OP_BROADCAST, local, &source.instr, 1);
  Ints dims = value->source_dims;
  instr_set_ints(spmd->module, spmd_instr(spmd, result->instr), ATTR_dimensions, dims.at, dims.n);
  spmd_know(spmd, value, result);
  return STATUS_OK;
}

/* Writes the steps; each form on the way that is a sharding is remembered. */
static Sharded follow(Spmd *spmd, const Sharded *value, const CachedRoute *cached) {
  Sharded now = *value;
  for (uint32_t i = 0; i < cached->route.n; i++) {
    const RouteStep *step = &cached->route.steps[i];
    uint32_t reducer = value->reducer;
    if (reducer == NO_ID && value->sharding->unreduced.n != 0)
      reducer = spmd_adder(spmd, value->global->dtype);
    Emit emit = {spmd, &cached->space, step, reducer};
    now.instr = emitters[step->kind](&emit, now.instr);
    now.sharding = placement_sharding(spmd->arena, &cached->space, &step->after, value->sharding->reduction);
    if (now.sharding != NULL) spmd_know(spmd, value, &now);
  }
  return now;
}

/* What the program has on one device alone (a callback's operands and results) all devices have. */
static const Sharding *on_all_devices(const Spmd *spmd, const Sharding *sharding, const Shape *global) {
  if (sharding->device < 0) return sharding;
  return sharding_replicated(spmd->arena, spmd->mesh, global->rank, false);
}

Status reshard(Spmd *spmd, Sharded value, const Sharding *to, Sharded *result) {
  to = on_all_devices(spmd, to, value.global);
  value.sharding = on_all_devices(spmd, value.sharding, value.global);
  *result = value;
  if (sharding_eq(value.sharding, to)) return STATUS_OK;
  if (value.scalar != NO_ID) {
    const Shape *local = sharding_local_shape(spmd->arena, to, value.global);
    result->instr = spmd_splat(spmd, value.scalar, local);
    result->sharding = to;
    return STATUS_OK;
  }
  double cost = 0;
  Sharded from = nearest(spmd, &value, to, &cost);
  if (sharding_eq(from.sharding, to)) {
    *result = from;
    return STATUS_OK;
  }
  if (value.source != NULL && reshard_cost(spmd, value.source, source_sharding(spmd, &value, to)) < cost)
    return broadcast_again(spmd, &value, to, result);
  const CachedRoute *cached = route_between(spmd, value.global, from.sharding, to);
  const Sharding *stop = cached == NULL ? stopover(spmd, from.sharding, to) : NULL;
  if (stop != NULL) {
    TRY(reshard(spmd, from, stop, &from));
    return reshard(spmd, from, to, result);
  }
  RETURN_IF(cached == NULL,
            diag_fail(spmd->diag, STATUS_INVALID, NOWHERE, "use fewer axes or sub-axes",
                      "a mesh of more than %d parts of axes is not supported yet", PLACEMENT_ATOMS));
  *result = follow(spmd, &from, cached);
  result->sharding = to;
  return STATUS_OK;
}

/* Row maps: see row_map.h. */
#include "sim/partition/row_map.h"

#include "sim/partition/rows.h"

#include <math.h>

/* More rounds than this are no halo any more. */
enum { MOST_ROUNDS = 8 };

/* --- needs --- */

RowNeeds row_needs_new(Arena *scratch, int64_t n, int64_t source_rows, bool whole) {
  RowNeeds needs = {.at = ARENA_ARRAY(scratch, RowNeed, n), .n = n};
  int64_t held = ceil_div(source_rows, n);
  for (int64_t p = 0; p < n; p++)
    needs.at[p].have = whole ? (Interval){0, source_rows}
                             : (Interval){least(p * held, source_rows), least((p + 1) * held, source_rows)};
  return needs;
}

bool rows_are_whole(Arena *scratch, const Sharding *sharding, uint32_t dim, AxisList axes) {
  return axes.n != 0 && sharding->dims[dim].axes.n == 0 && sharding->unreduced.n == 0 &&
         !axes_overlap(sharding_used_axes(scratch, sharding), axes);
}

double row_needs_cost(Arena *scratch, const RowNeeds *needs, int64_t source_rows) {
  Interval *have = ARENA_ARRAY(scratch, Interval, needs->n), *want = ARENA_ARRAY(scratch, Interval, needs->n);
  for (int64_t p = 0; p < needs->n; p++) {
    have[p] = needs->at[p].have;
    want[p] = needs->at[p].want;
  }
  Exchange plan = exchange_plan(scratch, (uint32_t)needs->n, have, ceil_div(source_rows, needs->n), want);
  return plan.rounds.n > MOST_ROUNDS ? HUGE_VAL : plan.rows;
}

uint32_t row_needs_fetch(Spmd *spmd, uint32_t instr, uint32_t dim, const RowNeeds *needs, AxisList axes) {
  uint32_t devices = spmd->mesh->n_devices;
  Interval *have = ARENA_ARRAY(spmd->scratch, Interval, devices);
  Interval *want = ARENA_ARRAY(spmd->scratch, Interval, devices);
  int64_t *begin = ARENA_ARRAY(spmd->scratch, int64_t, devices);
  for (uint32_t d = 0; d < devices; d++) {
    const RowNeed *need = &needs->at[mesh_index(spmd->mesh, axes, d)];
    have[d] = need->have;
    want[d] = need->want;
    begin[d] = need->begin;
  }
  GroupList groups = mesh_groups(spmd->scratch, spmd->mesh, axes);
  RowExchange exchange = {dim, groups, have, begin, want, needs->size};
  return exchange_rows(spmd, instr, &exchange);
}

static void needs_rows(const Spmd *spmd, const RowNeeds *needs, AxisList axes, Interval rows, int64_t *start,
                       int64_t *stop) {
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++) {
    int64_t begin = needs->at[mesh_index(spmd->mesh, axes, d)].begin;
    start[d] = rows.start - begin;
    stop[d] = rows.stop - begin;
  }
}

uint32_t row_needs_fill(Spmd *spmd, uint32_t instr, uint32_t dim, const RowNeeds *needs, AxisList axes,
                        Interval rows, uint32_t fill) {
  int64_t *start = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  int64_t *stop = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  needs_rows(spmd, needs, axes, rows, start, stop);
  return spmd_merge_rows(spmd, dim, start, stop, instr, spmd_splat(spmd, fill, spmd_shape(spmd, instr)));
}

/* --- maps --- */

RowMap row_map_plain(int64_t rows, int64_t source_rows) {
  return (RowMap){
      .step = 1, .span = 1, .dilate = 1, .high = source_rows, .rows = rows, .source_rows = source_rows};
}

bool row_map_is_plain(const RowMap *map) {
  return map->first == 0 && map->step == 1 && map->span == 1 && map->dilate == 1 && map->low == 0 &&
         map->high == map->rows && map->rows == map->source_rows;
}

/* Rows of the dilated source that a tile takes. */
static int64_t taken_rows(const RowMap *map, int64_t n) {
  int64_t tile = ceil_div(map->rows, n);
  return map->step > 0 ? map->step * (tile - 1) + map->span : tile;
}

/* The row of the dilated source at which position p begins. */
static int64_t first_taken(const RowMap *map, int64_t n, int64_t p) {
  int64_t tile = ceil_div(map->rows, n);
  return map->step > 0 ? map->first + map->step * tile * p : map->first - tile * (p + 1) + 1;
}

/* Whether all devices begin as many rows of fill before a row of the source. */
static bool begins_alike(const RowMap *map, int64_t n) {
  return map->dilate == 1 || n == 1 || map->step * ceil_div(map->rows, n) % map->dilate == 0;
}

/* Where all begin alike, rows from the first one on that is no fill; else from the one before. */
static RowNeeds needs_of(Arena *scratch, const RowMap *map, int64_t n) {
  RowNeeds needs = row_needs_new(scratch, n, map->source_rows, map->whole);
  int64_t tile = ceil_div(map->rows, n), taken = taken_rows(map, n), d = map->dilate;
  bool alike = begins_alike(map, n);
  int64_t lead = alike ? ceil_div(map->first, d) * d - map->first : 0;
  needs.size = map->step < 0 ? taken : most(1, ceil_div(taken - lead + (alike ? 0 : d - 1), d));
  for (int64_t p = 0; p < n; p++) {
    RowNeed *need = &needs.at[p];
    int64_t from = p * tile, to = least(from + tile, map->rows), begin = first_taken(map, n, p);
    need->begin = alike ? ceil_div(begin, d) : floor_div(begin, d);
    if (map->step > 0)
      need->want = (Interval){ceil_div(begin, d), ceil_div(map->first + map->step * (to - 1) + map->span, d)};
    else
      need->want = (Interval){map->first - to + 1, map->first - from + 1};
    need->want.start = most(need->want.start, map->low);
    need->want.stop = least(need->want.stop, map->high);
    bool none = map->whole || from >= to || need->want.stop < need->want.start;
    if (none) need->want.stop = need->want.start;
  }
  return needs;
}

double row_map_cost(Arena *scratch, const RowMap *map, int64_t n) {
  if (map->whole) return 0;
  RowNeeds needs = needs_of(scratch, map, n);
  return row_needs_cost(scratch, &needs, map->source_rows);
}

/* The dilated rows themselves, where devices begin at different places between two rows. */
static uint32_t dilate_by_device(Spmd *spmd, uint32_t instr, uint32_t dim, const RowMap *map, AxisList axes,
                                 uint32_t fill) {
  int64_t n = axes_size(axes), taken = taken_rows(map, n);
  int64_t *start = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++) {
    int64_t begin = first_taken(map, n, mesh_index(spmd->mesh, axes, d));
    start[d] = begin - floor_div(begin, map->dilate) * map->dilate;
  }
  int64_t wide = (spmd_shape(spmd, instr)->dims[dim] - 1) * map->dilate + 1;
  int64_t behind = most(0, taken + map->dilate - 1 - wide);
  instr = spmd_dilate(spmd, instr, dim, (PaddingDim){0, behind, map->dilate - 1}, fill);
  return spmd_device_rows(spmd, instr, dim, start, taken);
}

FetchedRows row_map_fetch(Spmd *spmd, uint32_t instr, uint32_t dim, const RowMap *map, AxisList axes,
                          uint32_t fill) {
  RowNeeds needs = needs_of(spmd->scratch, map, axes_size(axes));
  uint32_t fetched = row_needs_fetch(spmd, instr, dim, &needs, axes);
  if (fill != NO_ID)
    fetched = row_needs_fill(spmd, fetched, dim, &needs, axes, (Interval){map->low, map->high}, fill);
  if (map->dilate == 1) return (FetchedRows){.instr = fetched, .dilate = 1};
  if (!begins_alike(map, axes_size(axes)))
    return (FetchedRows){.instr = dilate_by_device(spmd, fetched, dim, map, axes, fill), .dilate = 1};
  FetchedRows rows = {.instr = fetched, .dilate = map->dilate};
  rows.low = ceil_div(map->first, map->dilate) * map->dilate - map->first;
  rows.high = taken_rows(map, axes_size(axes)) - rows.low - ((needs.size - 1) * map->dilate + 1);
  return rows;
}

void row_map_given(const Spmd *spmd, const RowMap *map, AxisList axes, int64_t *start, int64_t *stop) {
  RowNeeds needs = needs_of(spmd->scratch, map, axes_size(axes));
  needs_rows(spmd, &needs, axes, (Interval){map->low, map->high}, start, stop);
}

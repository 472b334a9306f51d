/* Row maps: see row_map.h. */
#include "sim/partition/row_map.h"

#include <math.h>

/* More rounds than this are no halo any more. */
enum { MOST_ROUNDS = 8 };

RowMap row_map_plain(int64_t rows, int64_t source_rows) {
  return (RowMap){.step = 1, .span = 1, .high = source_rows, .rows = rows, .source_rows = source_rows};
}

bool row_map_is_plain(const RowMap *map) {
  return map->first == 0 && map->step == 1 && map->span == 1 && map->low == 0 && map->high == map->rows &&
         map->rows == map->source_rows;
}

static int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b != 0);
}
static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* What position p of n holds of the source, where its array is to begin and what it wants in there. */
typedef struct {
  Interval have, want;
  int64_t begin;
} RowNeed;

static int64_t need_size(const RowMap *map, int64_t n) {
  int64_t tile = ceil_div(map->rows, n);
  return map->step > 0 ? map->step * (tile - 1) + map->span : tile;
}

static RowNeed need_of(const RowMap *map, int64_t n, int64_t p) {
  int64_t tile = ceil_div(map->rows, n), held = ceil_div(map->source_rows, n);
  int64_t from = p * tile, to = least(from + tile, map->rows);
  RowNeed need = {.have = {least(p * held, map->source_rows), least((p + 1) * held, map->source_rows)}};
  if (map->step > 0) {
    need.begin = map->first + map->step * from;
    need.want = (Interval){need.begin, map->first + map->step * (to - 1) + map->span};
  } else {
    need.begin = map->first - (from + tile) + 1;
    need.want = (Interval){map->first - to + 1, map->first - from + 1};
  }
  need.want.start = most(need.want.start, map->low);
  need.want.stop = least(need.want.stop, map->high);
  if (from >= to || need.want.stop < need.want.start) need.want.stop = need.want.start;
  return need;
}

double row_map_cost(Arena *scratch, const RowMap *map, int64_t n) {
  if (map->step == 0) return HUGE_VAL;
  Interval *have = ARENA_ARRAY(scratch, Interval, n), *want = ARENA_ARRAY(scratch, Interval, n);
  for (int64_t p = 0; p < n; p++) {
    RowNeed need = need_of(map, n, p);
    have[p] = need.have;
    want[p] = need.want;
  }
  Exchange plan = exchange_plan(scratch, (uint32_t)n, have, ceil_div(map->source_rows, n), want);
  return plan.rounds.n > MOST_ROUNDS ? HUGE_VAL : plan.rows;
}

uint32_t row_map_fetch(Spmd *spmd, uint32_t instr, uint32_t dim, const RowMap *map, AxisList axes) {
  uint32_t devices = spmd->mesh->n_devices;
  Interval *have = ARENA_ARRAY(spmd->scratch, Interval, devices);
  Interval *want = ARENA_ARRAY(spmd->scratch, Interval, devices);
  int64_t *begin = ARENA_ARRAY(spmd->scratch, int64_t, devices), n = axes_size(axes);
  for (uint32_t d = 0; d < devices; d++) {
    RowNeed need = need_of(map, n, mesh_index(spmd->mesh, axes, d));
    have[d] = need.have;
    want[d] = need.want;
    begin[d] = need.begin;
  }
  RowExchange exchange = {
      dim, mesh_groups(spmd->scratch, spmd->mesh, axes), have, begin, want, need_size(map, n)};
  return exchange_rows(spmd, instr, &exchange);
}

void row_map_given(const Spmd *spmd, const RowMap *map, AxisList axes, int64_t *start, int64_t *stop) {
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++) {
    RowNeed need = need_of(map, axes_size(axes), mesh_index(spmd->mesh, axes, d));
    start[d] = map->low - need.begin;
    stop[d] = map->high - need.begin;
  }
}

uint32_t row_map_fetch_filled(Spmd *spmd, uint32_t instr, uint32_t dim, const RowMap *map, AxisList axes,
                              uint32_t fill) {
  int64_t *start = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  int64_t *stop = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  uint32_t fetched = row_map_fetch(spmd, instr, dim, map, axes);
  row_map_given(spmd, map, axes, start, stop);
  return spmd_merge_rows(spmd, dim, start, stop, fetched, spmd_splat(spmd, fill, spmd_shape(spmd, fetched)));
}

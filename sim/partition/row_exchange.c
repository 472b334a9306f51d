/* Exchanges of rows: see row_exchange.h. Where all devices do alike (a plain halo) the result is one
 * concatenation of what came and what was there; else blocks are placed at offsets by device and merged by
 * masks. */
#include "sim/partition/row_exchange.h"

/* One collective-permute: a table by device for each number. */
typedef struct {
  int64_t block;         /* rows that travel */
  Pairs pairs;           /* from holder to taker */
  int64_t *from;         /* first row sent, in the holder's array */
  int64_t *to;           /* row of the taker's result where the block begins; may be outside */
  int64_t *start, *stop; /* rows of the taker's result that are taken from the block */
  bool *holds, *takes;
} Round;

typedef struct {
  Spmd *spmd;
  const RowExchange *exchange;
  uint32_t instr;
  int64_t local;  /* rows that are there */
  int64_t *shift; /* row r of the result is row r + shift of what is there */
  bool *has_own;  /* whether any of the result is there */
  Vec(Round) rounds;
} Plan;

static int64_t *table(const Plan *plan) {
  return ARENA_ARRAY(plan->spmd->scratch, int64_t, plan->spmd->mesh->n_devices);
}

static bool *flags(const Plan *plan) {
  return ARENA_ARRAY(plan->spmd->scratch, bool, plan->spmd->mesh->n_devices);
}

/* --- what each device does --- */

static void add_group(const Plan *plan, Round *round, uint32_t group, const ExchangeRound *from) {
  const RowExchange *exchange = plan->exchange;
  const uint32_t *ids = exchange->groups.ids + exchange->groups.start[group];
  uint32_t n = exchange->groups.start[group + 1] - exchange->groups.start[group];
  if (from->size > round->block) round->block = from->size;
  for (uint32_t p = 0; p < n; p++) {
    if (from->source[p] == NO_SOURCE) continue;
    uint32_t taker = ids[p], holder = ids[from->source[p]];
    round->pairs.at[round->pairs.n++] = (Pair){holder, taker};
    round->holds[holder] = round->takes[taker] = true;
    round->from[holder] = from->start[p] - exchange->have[holder].start;
    round->to[taker] = from->start[p] - exchange->begin[taker];
    round->start[taker] = from->valid[p].start - exchange->begin[taker];
    round->stop[taker] = from->valid[p].stop - exchange->begin[taker];
  }
}

static Round *round_at(Plan *plan, uint32_t number) {
  while (plan->rounds.n <= number) {
    Round round = {.from = table(plan), .to = table(plan), .start = table(plan), .stop = table(plan)};
    round.holds = flags(plan);
    round.takes = flags(plan);
    round.pairs.at = ARENA_ARRAY(plan->spmd->scratch, Pair, plan->spmd->mesh->n_devices);
    VEC_PUSH(plan->spmd->scratch, &plan->rounds, round);
  }
  return &plan->rounds.at[number];
}

static void plan_group(Plan *plan, uint32_t group) {
  const RowExchange *exchange = plan->exchange;
  Arena *scratch = plan->spmd->scratch;
  const uint32_t *ids = exchange->groups.ids + exchange->groups.start[group];
  uint32_t n = exchange->groups.start[group + 1] - exchange->groups.start[group];
  Interval *have = ARENA_ARRAY(scratch, Interval, n), *want = ARENA_ARRAY(scratch, Interval, n);
  for (uint32_t p = 0; p < n; p++) {
    have[p] = exchange->have[ids[p]];
    want[p] = exchange->want[ids[p]];
  }
  Exchange found = exchange_plan(scratch, n, have, plan->local, want);
  for (uint32_t r = 0; r < found.rounds.n; r++)
    add_group(plan, round_at(plan, r), group, &found.rounds.at[r]);
}

/* Devices for which a number does not matter take the first one's for which it does. */
static void spread(const Plan *plan, int64_t *values, const bool *matters) {
  uint32_t first = 0, n = plan->spmd->mesh->n_devices;
  while (first < n && !matters[first]) first++;
  for (uint32_t d = 0; d < n && first < n; d++)
    if (!matters[d]) values[d] = values[first];
}

static bool uniform(const Plan *plan, const int64_t *values) {
  for (uint32_t d = 1; d < plan->spmd->mesh->n_devices; d++)
    if (values[d] != values[0]) return false;
  return true;
}

/* Devices that take nothing may overwrite rows that they do not want. */
static void spread_rows(const Plan *plan, Round *round) {
  uint32_t n = plan->spmd->mesh->n_devices, first = 0;
  while (!round->takes[first]) first++;
  for (uint32_t d = 0; d < n; d++) {
    const Interval *want = &plan->exchange->want[d];
    int64_t begin = plan->exchange->begin[d];
    bool apart = want->stop <= want->start || round->stop[first] <= want->start - begin ||
                 round->start[first] >= want->stop - begin;
    if (round->takes[d] || !apart) continue;
    round->start[d] = round->start[first];
    round->stop[d] = round->stop[first];
  }
}

static void plan_own(Plan *plan) {
  const RowExchange *exchange = plan->exchange;
  plan->shift = table(plan);
  plan->has_own = flags(plan);
  for (uint32_t d = 0; d < plan->spmd->mesh->n_devices; d++) {
    plan->shift[d] = exchange->begin[d] - exchange->have[d].start;
    plan->has_own[d] = plan->shift[d] > -exchange->size && plan->shift[d] < plan->local;
    if (!plan->has_own[d]) plan->shift[d] = 0;
  }
  spread(plan, plan->shift, plan->has_own);
}

/* --- all alike: one concatenation --- */

static bool all_alike(const Plan *plan) {
  bool alike = uniform(plan, plan->shift);
  for (uint32_t r = 0; r < plan->rounds.n && alike; r++) {
    const Round *round = &plan->rounds.at[r];
    alike = uniform(plan, round->to) && uniform(plan, round->start) && uniform(plan, round->stop);
    for (uint32_t q = 0; q < r && alike; q++)
      alike = round->stop[0] <= plan->rounds.at[q].start[0] || plan->rounds.at[q].stop[0] <= round->start[0];
  }
  return alike;
}

static uint32_t send(const Plan *plan, const Round *round) {
  Spmd *spmd = plan->spmd;
  uint32_t block = spmd_device_rows(spmd, plan->instr, plan->exchange->dim, round->from, round->block);
  return spmd_permute(spmd, block, round->pairs);
}

/* Rows [start, stop) of the result that are there already, zeros where none are. */
static uint32_t own_part(const Plan *plan, int64_t start, int64_t stop, uint32_t *parts) {
  Spmd *spmd = plan->spmd;
  uint32_t dim = plan->exchange->dim, n = 0;
  int64_t low = -plan->shift[0], high = plan->local - plan->shift[0];
  int64_t cuts[4] = {start, start > low ? start : low, stop < high ? stop : high, stop};
  if (cuts[1] > stop) cuts[1] = stop;
  if (cuts[2] < cuts[1]) cuts[2] = cuts[1];
  for (int i = 0; i < 3; i++) {
    if (cuts[i] >= cuts[i + 1]) continue;
    const Shape *from = spmd_shape(spmd, plan->instr);
    int64_t *dims = arena_copy(spmd->scratch, from->dims, from->rank * sizeof *dims);
    dims[dim] = cuts[i + 1] - cuts[i];
    if (i == 1)
      parts[n++] = spmd_rows(spmd, plan->instr, dim, cuts[1] + plan->shift[0], dims[dim]);
    else
      parts[n++] = spmd_splat(spmd, spmd_scalar(spmd, from->dtype, 0),
                              shape_with_dims(spmd->arena, from, dims, from->rank));
  }
  return n;
}

/* The first round that begins at or after a row of the result. */
static const Round *next_round(const Plan *plan, int64_t row) {
  const Round *next = NULL;
  for (uint32_t r = 0; r < plan->rounds.n; r++) {
    const Round *round = &plan->rounds.at[r];
    if (round->start[0] >= row && (next == NULL || round->start[0] < next->start[0])) next = round;
  }
  return next;
}

static uint32_t concatenate(const Plan *plan) {
  Spmd *spmd = plan->spmd;
  uint32_t *parts = ARENA_ARRAY(spmd->scratch, uint32_t, 4 * (size_t)plan->rounds.n + 4), n = 0;
  int64_t row = 0;
  for (const Round *round = next_round(plan, 0); round != NULL; round = next_round(plan, row)) {
    n += own_part(plan, row, round->start[0], parts + n);
    parts[n++] = spmd_rows(spmd, send(plan, round), plan->exchange->dim, round->start[0] - round->to[0],
                           round->stop[0] - round->start[0]);
    row = round->stop[0];
  }
  n += own_part(plan, row, plan->exchange->size, parts + n);
  return spmd_concat(spmd, plan->exchange->dim, parts, n);
}

/* --- by device: offsets and masks --- */

static uint32_t own_rows(const Plan *plan) {
  Spmd *spmd = plan->spmd;
  int64_t low = 0, high = 0, *start = table(plan);
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++) {
    int64_t shift = plan->shift[d], over = shift + plan->exchange->size - plan->local;
    if (-shift > low) low = -shift;
    if (over > high) high = over;
  }
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++) start[d] = plan->shift[d] + low;
  uint32_t wide = spmd_pad(spmd, plan->instr, plan->exchange->dim, low, high, NO_ID);
  return spmd_device_rows(spmd, wide, plan->exchange->dim, start, plan->exchange->size);
}

/* The block with room at both ends, seen so that its first row is row `to`, where it is wanted. */
static uint32_t place(const Plan *plan, const Round *round, uint32_t result) {
  Spmd *spmd = plan->spmd;
  uint32_t dim = plan->exchange->dim;
  int64_t room = plan->exchange->size + round->block, *start = table(plan);
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++) start[d] = room - round->to[d];
  uint32_t wide = spmd_pad(spmd, send(plan, round), dim, room, room, NO_ID);
  uint32_t placed = spmd_device_rows(spmd, wide, dim, start, plan->exchange->size);
  return spmd_merge_rows(spmd, dim, round->start, round->stop, placed, result);
}

uint32_t exchange_rows(Spmd *spmd, uint32_t instr, const RowExchange *exchange) {
  Plan plan = {.spmd = spmd, .exchange = exchange, .instr = instr};
  plan.local = spmd_shape(spmd, instr)->dims[exchange->dim];
  plan_own(&plan);
  for (uint32_t g = 0; g < exchange->groups.n; g++) plan_group(&plan, g);
  for (uint32_t r = 0; r < plan.rounds.n; r++) {
    Round *round = &plan.rounds.at[r];
    spread(&plan, round->from, round->holds);
    spread(&plan, round->to, round->takes);
    spread_rows(&plan, round);
  }
  if (all_alike(&plan)) return concatenate(&plan);
  uint32_t result = own_rows(&plan);
  for (uint32_t r = 0; r < plan.rounds.n; r++) result = place(&plan, &plan.rounds.at[r], result);
  return result;
}

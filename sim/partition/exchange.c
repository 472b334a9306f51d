/* Exchange: see exchange.h. Pieces are the edges of a bipartite graph from holders to takers; a round is a
 * matching of it, found greedily from the longest piece down, so that rounds hold pieces of like size. */
#include "sim/partition/exchange.h"

#include <stdlib.h>

typedef struct {
  uint32_t source, target;
  Interval rows;
} Piece;

typedef Vec(Piece) Pieces;

static int64_t length(Interval interval) {
  return interval.stop - interval.start;
}

static Interval meet(Interval a, Interval b) {
  Interval both = {a.start > b.start ? a.start : b.start, a.stop < b.stop ? a.stop : b.stop};
  if (both.stop < both.start) both.stop = both.start;
  return both;
}

/* Adds the pieces that cover `rows` for `target`, the nearest holders first. */
static void cover(Arena *arena, uint32_t n, const Interval *have, uint32_t target, Interval rows,
                  Pieces *pieces) {
  for (uint32_t distance = 1; distance < n && length(rows) > 0; distance++)
    for (int side = 0; side < 2; side++) {
      if (side == 0 ? distance > target : target + distance >= n) continue;
      uint32_t source = side == 0 ? target - distance : target + distance;
      Interval found = meet(rows, have[source]);
      if (length(found) == 0) continue;
      VEC_PUSH(arena, pieces, (Piece){source, target, found});
      Interval left = {rows.start, found.start}, right = {found.stop, rows.stop};
      if (length(left) > 0 && length(right) > 0) cover(arena, n, have, target, left, pieces);
      rows = length(right) > 0 ? right : left;
    }
}

static int longer_first(const void *a, const void *b) {
  const Piece *x = a, *y = b;
  int64_t dx = length(x->rows), dy = length(y->rows);
  if (dx != dy) return dx > dy ? -1 : 1;
  int64_t sx = (int64_t)x->target - x->source, sy = (int64_t)y->target - y->source;
  if (sx != sy) return sx < sy ? -1 : 1;
  return x->target < y->target ? -1 : x->target > y->target;
}

static bool round_takes(const ExchangeRound *round, uint32_t n, const Piece *piece) {
  if (round->source[piece->target] != NO_SOURCE) return false;
  for (uint32_t p = 0; p < n; p++)
    if (round->source[p] == piece->source) return false;
  return true;
}

static ExchangeRound *round_new(Arena *arena, Exchange *plan, int64_t size) {
  uint32_t at = VEC_GROW(arena, &plan->rounds);
  ExchangeRound *round = &plan->rounds.at[at];
  *round = (ExchangeRound){.size = size,
                           .source = ARENA_ARRAY(arena, uint32_t, plan->n_positions),
                           .start = ARENA_ARRAY(arena, int64_t, plan->n_positions),
                           .valid = ARENA_ARRAY(arena, Interval, plan->n_positions)};
  memset(round->source, 0xff, plan->n_positions * sizeof *round->source);
  return round;
}

/* The block that is sent has the round's size and stays within the holder's buffer. */
static void round_add(ExchangeRound *round, const Interval *have, int64_t local, const Piece *piece) {
  int64_t last = have[piece->source].start + local - round->size;
  round->source[piece->target] = piece->source;
  round->start[piece->target] = piece->rows.start < last ? piece->rows.start : last;
  round->valid[piece->target] = piece->rows;
}

Exchange exchange_plan(Arena *arena, uint32_t n, const Interval *have, int64_t local, const Interval *want) {
  Exchange plan = {.n_positions = n};
  Pieces pieces = {0};
  for (uint32_t target = 0; target < n; target++) {
    Interval own = meet(want[target], have[target]);
    if (length(own) == 0) own = (Interval){want[target].stop, want[target].stop};
    cover(arena, n, have, target, (Interval){want[target].start, own.start}, &pieces);
    cover(arena, n, have, target, (Interval){own.stop, want[target].stop}, &pieces);
  }
  if (pieces.n != 0) qsort(pieces.at, pieces.n, sizeof *pieces.at, longer_first);
  for (uint32_t i = 0; i < pieces.n; i++) {
    ExchangeRound *round = NULL;
    for (uint32_t r = 0; r < plan.rounds.n && round == NULL; r++)
      if (round_takes(&plan.rounds.at[r], n, &pieces.at[i])) round = &plan.rounds.at[r];
    if (round == NULL) round = round_new(arena, &plan, length(pieces.at[i].rows));
    round_add(round, have, local, &pieces.at[i]);
    plan.rows += (double)round->size / n;
  }
  return plan;
}

/* Exchange: the plan by which devices that lie along one dimension fetch the rows they want from those that
 * hold them, in rounds of one collective-permute each. It serves halos, shifts and changes of tile size. */
#pragma once

#include "sim/base/vec.h"

#include <stdbool.h>

/* [start, stop) of a dimension. */
typedef struct {
  int64_t start, stop;
} Interval;

/* Position p receives rows [start[p], start[p] + size) from position source[p] (NO_SOURCE: nothing); of these
 * [valid[p].start, valid[p].stop) are the ones it lacks. */
typedef struct {
  int64_t size;
  uint32_t *source;
  int64_t *start;
  Interval *valid;
} ExchangeRound;

enum { NO_SOURCE = UINT32_MAX };

typedef struct {
  uint32_t n_positions;
  Vec(ExchangeRound) rounds;
  double rows; /* sent, a position on average */
} Exchange;

/* Plans for `n` positions: position p holds rows have[p] (in a buffer of `local` rows that begins at
 * have[p].start) and wants want[p]. Rows that nobody holds stay unset. Where several hold a row the nearest
 * position above or below is asked. */
Exchange exchange_plan(Arena *arena, uint32_t n, const Interval *have, int64_t local, const Interval *want);

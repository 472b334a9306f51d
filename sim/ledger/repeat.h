/* Repetition: a part of a run that came again and again, put into the ledger without having been simulated.
 */
#pragma once

#include "sim/ledger/ledger.h"

/* What ended in [from_ps, to_ps), a period of `trips` trips of a loop, happened `times` more times, a period
 * later each; all that ended later is that much later still. The trip that stands in a name, as in
 * "dot.1[7]", goes up with it: on a chip until `named_from_ps`, from when on the run itself counted the trips
 * that it left out. */
typedef struct {
  int64_t from_ps, to_ps, trips, times;
  const int64_t *named_from_ps; /* by chip */
} LedgerRepeat;

/* Before ledger_finish(). Of several repeats the latest first. */
void ledger_repeat(Ledger *ledger, const LedgerRepeat *repeat);
/* A hash of what ended in [from_ps, to_ps), with dates from `from_ps` on, among the events from `first` on:
 * the same for two periods in which the same happened. Trips and flows' numbers do not count. */
uint64_t ledger_period_hash(const Ledger *ledger, size_t first, int64_t from_ps, int64_t to_ps);

/* Settled loops: a loop of the entry whose trips come to look alike is not simulated to its end. When three
 * periods in a row hold the same events at the same relative dates, on every chip and link, the state of the
 * pod repeats, and so does all that follows; the trips in between are then put into the ledger as copies
 * (sim/ledger/repeat.h). Only where no values are computed. */
#pragma once

#include "sim/engine/frame.h"

/* The watch over a loop that a chip enters, the same for all chips; NULL where it must run to its end: nested
 * in another, of unknown or few trips, or with decisions inside. */
LoopWatch *loop_watch(Frame *frame, const Step *step);
/* A chip is about to begin a trip (counted from 0, without those left out). How many trips are left out
 * before it. */
int64_t loop_trips_left_out(LoopWatch *watch, uint32_t chip, int64_t trip);
/* Of the loop, in all. */
int64_t loop_trips(const LoopWatch *watch);
/* Puts the trips that were left out into the ledger. Gives the time that they take together. */
int64_t loops_fill_in(Execution *execution);

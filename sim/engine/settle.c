/* Watches over loops. A chip's dates at the starts of its trips are kept for the last trips; when the last
 * chip has begun a trip, the periods before it are compared, first by the chips' dates, then event by event.
 */
#include "sim/engine/settle.h"

#include "sim/engine/control_flow.h"
#include "sim/ledger/repeat.h"

enum {
  DATES_KEPT = 128,     /* trips that a chip may be ahead of another, and some periods */
  TRIPS_LEAST = 8,      /* of a loop that is worth it */
  TRIPS_MOST = 1 << 24, /* that are counted */
  PERIODS_ALIKE = 3,
  PERIOD_MOST = 16 /* trips */
};

struct LoopWatch {
  Execution *execution;
  int64_t trips, left_out, farthest; /* the highest trip that a chip has begun */
  int64_t *dates_ps;                 /* of the starts of the last trips, by chip */
  uint32_t *begun;                   /* by trip: how many chips have begun it */
  size_t first_events[DATES_KEPT];   /* by trip: events in the ledger when all had begun it */
  int64_t *jumped_ps;                /* by chip: when it left trips out; never: INT64_MAX */
  LedgerRepeat repeat;
};

static LoopWatch *watch_new(Execution *execution, const Frame *frame, const Step *step) {
  Arena *arena = execution->arena;
  LoopWatch *watch = ARENA_NEW(arena, LoopWatch);
  const Instr *instr = frame_instr(frame, step_instr(step));
  *watch = (LoopWatch){.execution = execution, .trips = step->trips, .left_out = 0};
  if (step->trips < TRIPS_LEAST || step->trips > TRIPS_MOST ||
      schedule_decides(execution->schedule, instr_comp(instr, ATTR_body)))
    return watch;
  watch->dates_ps = ARENA_ARRAY(arena, int64_t, (size_t)execution->devices * DATES_KEPT);
  watch->jumped_ps = ARENA_ARRAY(arena, int64_t, execution->devices);
  watch->begun = ARENA_ARRAY(arena, uint32_t, (size_t)step->trips + 1);
  for (uint32_t chip = 0; chip < execution->devices; chip++) watch->jumped_ps[chip] = INT64_MAX;
  return watch;
}

LoopWatch *loop_watch(Frame *frame, const Step *step) {
  Chip *chip = frame->chip;
  Execution *execution = chip->execution;
  if (!execution->options->settle_loops || frame->trip.n > 0) return NULL;
  uint32_t at = chip->loops++;
  if (at == execution->loops.n)
    VEC_PUSH(execution->arena, &execution->loops, watch_new(execution, frame, step));
  LoopWatch *watch = execution->loops.at[at];
  return watch->begun == NULL ? NULL : watch;
}

int64_t loop_trips(const LoopWatch *watch) {
  return watch->trips;
}

static int64_t date_of(const LoopWatch *watch, uint32_t chip, int64_t trip) {
  return watch->dates_ps[(size_t)chip * DATES_KEPT + (size_t)(trip % DATES_KEPT)];
}

/* The time of so many trips, where it has been the same on all chips for some periods; else 0. */
static int64_t period_ps(const LoopWatch *watch, int64_t trip, int64_t trips) {
  int64_t oldest = trip - PERIODS_ALIKE * trips;
  if (oldest < 1 || watch->farthest - oldest >= DATES_KEPT) return 0;
  int64_t period = date_of(watch, 0, trip) - date_of(watch, 0, trip - trips);
  const Execution *execution = watch->execution;
  for (uint32_t i = 0; i < execution->n_simulated; i++) {
    uint32_t chip = execution->simulated[i];
    for (int64_t at = trip; at - trips >= oldest; at--) {
      if (date_of(watch, chip, at) - date_of(watch, chip, at - trips) != period) return 0;
    }
  }
  return period;
}

/* Whether the last periods before now hold the same events. */
static bool periods_alike(const LoopWatch *watch, int64_t oldest, int64_t period) {
  const Ledger *ledger = watch->execution->ledger;
  size_t first = watch->first_events[(oldest - 1) % DATES_KEPT];
  int64_t now = date_ps();
  uint64_t last = ledger_period_hash(ledger, first, now - period, now);
  for (int64_t back = 1; back < PERIODS_ALIKE; back++) {
    int64_t end = now - back * period;
    if (ledger_period_hash(ledger, first, end - period, end) != last) return false;
  }
  return true;
}

/* All chips have begun the trip: leaves out whole periods, of as few trips each as are alike. */
static void leave_out_trips(LoopWatch *watch, int64_t trip) {
  watch->first_events[trip % DATES_KEPT] = watch->execution->ledger->n_events;
  int64_t rest = watch->trips - watch->farthest - 2;
  for (int64_t trips = 1; trips <= PERIOD_MOST && trips <= rest; trips++) {
    int64_t period = period_ps(watch, trip, trips);
    if (period == 0 || !periods_alike(watch, trip - PERIODS_ALIKE * trips, period)) continue;
    watch->left_out = rest / trips * trips;
    watch->repeat = (LedgerRepeat){.from_ps = date_ps() - period,
                                   .to_ps = date_ps(),
                                   .trips = trips,
                                   .times = rest / trips,
                                   .named_from_ps = watch->jumped_ps};
    return;
  }
}

int64_t loop_trips_left_out(LoopWatch *watch, uint32_t chip, int64_t trip) {
  watch->dates_ps[(size_t)chip * DATES_KEPT + (size_t)(trip % DATES_KEPT)] = date_ps();
  if (trip > watch->farthest) watch->farthest = trip;
  bool all = ++watch->begun[trip] == watch->execution->n_simulated;
  if (all && watch->left_out == 0) leave_out_trips(watch, trip);
  if (watch->left_out > 0 && watch->jumped_ps[chip] == INT64_MAX) watch->jumped_ps[chip] = date_ps();
  return watch->left_out;
}

int64_t loops_fill_in(Execution *execution) {
  int64_t sum = 0;
  for (uint32_t i = execution->loops.n; i > 0; i--) {
    const LoopWatch *watch = execution->loops.at[i - 1];
    if (watch->left_out == 0) continue;
    ledger_repeat(execution->ledger, &watch->repeat);
    sum += watch->repeat.times * (watch->repeat.to_ps - watch->repeat.from_ps);
  }
  return sum;
}

/* A run in a process of its own, since SimGrid starts once a process: what a sweep's points are made of, and
 * the runs that a run is compared with. */
#pragma once

#include "sim/options.h"

#include <sys/types.h>

enum { OUTCOME_REASON_BYTES = 240, OUTCOME_LAYOUT_BYTES = 120 };

/* What its process sends back. */
typedef struct {
  Status status;
  int64_t time_ps, compute_ps, communication_ps, exposed_ps, hbm_peak_bytes, hbm_limit_bytes;
  double mfu;
  bool fits;
  bool late;                         /* ended by its limit */
  int64_t cpu_ms;                    /* of processor time that it took */
  uint64_t timeline;                 /* a hash of every event */
  char layout[OUTCOME_LAYOUT_BYTES]; /* how the mesh lay on the torus */
  char reason[OUTCOME_REASON_BYTES]; /* of a failure, one line */
} Outcome;

typedef struct {
  int pipe; /* where the outcome comes from */
  pid_t child;
} ForkedRun;

/* Starts `podsim run` with these options, but that nothing is written, that a program that does not fit runs
 * on, and that values are computed only where `numbers` is "on". It ends when it has taken cpu_ms_most of
 * processor time (0: no limit). */
Status forked_run_start(const Options *options, int64_t cpu_ms_most, ForkedRun *run, Diag *diag);
/* Waits for its outcome. */
Outcome forked_run_finish(ForkedRun *run);
/* Ends it early. */
void forked_run_stop(ForkedRun *run);

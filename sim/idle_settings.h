/* Settings that changed nothing: of each --set, whether the run is the same without it. Whoever turns a key
 * should know when it was the wrong one. */
#pragma once

#include "sim/forked_run.h"
#include "sim/pipeline.h"

typedef struct {
  const Options *options;
  ForkedRun *runs; /* one a --set, without it */
} IdleSettings;

/* Starts the runs to compare with; before the run itself, since they are forks of this process. */
Status idle_settings_start(Arena *arena, const Options *options, IdleSettings *settings, Diag *diag);
/* Says on stderr which settings changed neither the timeline nor memory of `run`; NULL: it failed, and
 * nothing is said. */
void idle_settings_report(IdleSettings *settings, const Pipeline *run);
/* pipeline_simulate(), and says so of the settings. */
Status idle_settings_simulate(Pipeline *pipeline, Diag *diag);

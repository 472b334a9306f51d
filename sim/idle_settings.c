/* A run a setting, without that setting and without numbers, beside the run itself. */
#include "sim/idle_settings.h"

#include "sim/ledger/unfold.h"

#include <stdio.h>

/* A run of so many events on all chips is not waited for a second time. */
enum { EVENTS_MOST = 2000000 };

Status idle_settings_start(Arena *arena, const Options *options, IdleSettings *settings, Diag *diag) {
  uint32_t n = options->sets.n;
  *settings = (IdleSettings){options, ARENA_ARRAY(arena, ForkedRun, n)};
  for (uint32_t i = 0; i < n; i++) {
    Options without = *options;
    without.numbers = "off";
    without.sets = (TextList){ARENA_ARRAY(arena, const char *, n), 0};
    for (uint32_t k = 0; k < n; k++) {
      if (k != i) without.sets.at[without.sets.n++] = options->sets.at[k];
    }
    TRY(forked_run_start(&without, 0, &settings->runs[i], diag));
  }
  return STATUS_OK;
}

static bool same_run(const Pipeline *run, const Outcome *other) {
  return other->status == STATUS_OK && other->timeline == ledger_hash(run->ledger) &&
         other->mfu == metrics_mfu(&run->metrics, run->config->pod.peak_flops) &&
         other->hbm_peak_bytes == run->schedule->hbm_peak_bytes &&
         other->hbm_limit_bytes == run->config->pod.hbm_usable_bytes;
}

void idle_settings_report(IdleSettings *settings, const Pipeline *run) {
  for (uint32_t i = 0; i < settings->options->sets.n; i++) {
    if (run == NULL || run->ledger->n_events * ledger_folds(run->ledger) > EVENTS_MOST) {
      forked_run_stop(&settings->runs[i]);
      continue;
    }
    Outcome without = forked_run_finish(&settings->runs[i]);
    if (!same_run(run, &without)) continue;
    fprintf(stderr, "podsim: note: --set %s changes neither time nor memory here\n",
            settings->options->sets.at[i]);
  }
}

Status idle_settings_simulate(Pipeline *pipeline, Diag *diag) {
  IdleSettings settings;
  TRY(idle_settings_start(pipeline->arena, pipeline->options, &settings, diag));
  Status status = pipeline_simulate(pipeline, diag);
  idle_settings_report(&settings, status == STATUS_OK ? pipeline : NULL);
  return status;
}

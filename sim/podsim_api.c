/* The public interface over the pipeline: a run is a command line that is put together flag by flag. */
#include "include/podsim.h"

#include "sim/pipeline.h"

#include <math.h>
#include <string.h>

struct ps_run {
  Arena *arena;
  Diag *diag;
  Vec(char *) argv;
  Options options;
  Pipeline pipeline;
  bool executed, simulated;
};

static void add_argument(ps_run *run, Str text) {
  VEC_PUSH(run->arena, &run->argv, (char *)str_terminated(run->arena, text));
}

ps_run *ps_run_new(const char *config_path, const char *program_path) {
  Arena *arena = arena_new();
  ps_run *run = ARENA_NEW(arena, ps_run);
  run->arena = arena;
  run->diag = diag_new();
  const char *const start[] = {"podsim", "run", config_path, program_path};
  for (uint32_t i = 0; i < 4; i++) add_argument(run, str_of(start[i]));
  return run;
}

int ps_run_flag(ps_run *run, const char *flag, const char *value) {
  static const char *const names[] = {
#define FLAG(key, name, argument, field, kind, commands, help) name,
#include "sim/flags.def"
#undef FLAG
  };
  bool known = false;
  for (uint32_t i = 0; i < sizeof names / sizeof names[0]; i++) known |= strcmp(names[i], flag) == 0;
  RETURN_IF(!known, (int)diag_fail(run->diag, STATUS_USAGE, NOWHERE, NULL, "there is no flag '%s'", flag));
  add_argument(run, value == NULL ? str_printf(run->arena, "--%s", flag)
                                  : str_printf(run->arena, "--%s=%s", flag, value));
  return STATUS_OK;
}

static Status execute(ps_run *run) {
  RETURN_IF(run->executed,
            diag_fail(run->diag, STATUS_USAGE, NOWHERE, "fork for each further run", "a run executes once"));
  run->executed = true;
  int argc = (int)run->argv.n;
  VEC_PUSH(run->arena, &run->argv, NULL);
  bool done = false;
  TRY(options_parse(run->arena, argc, run->argv.at, &run->options, &done, run->diag));
  run->pipeline = pipeline_new(&run->options);
  TRY(pipeline_run(&run->pipeline, run->diag));
  run->simulated = true;
  return STATUS_OK;
}

int ps_run_execute(ps_run *run) {
  return (int)execute(run);
}

const char *ps_run_message(const ps_run *run) {
  Str text = diag_error_text(run->diag);
  return text.n == 0 ? "" : text.at;
}

double ps_run_metric(const ps_run *run, const char *name) {
  if (!run->simulated) return NAN;
  const Metrics *metrics = &run->pipeline.metrics;
  const RunInfo *info = &run->pipeline.info;
#define METRIC(metric, kind, value, meaning)                                                                 \
  if (strcmp(name, #metric) == 0) return (double)(value);
#include "traces/metric.def"
#undef METRIC
  return NAN;
}

const char *ps_run_summary(const ps_run *run) {
  if (!run->simulated) return "";
  const Pipeline *pipeline = &run->pipeline;
  return summary_text(run->arena, &pipeline->info, pipeline->ledger, &pipeline->metrics).at;
}

void ps_run_free(ps_run *run) {
  if (run == NULL) return;
  if (run->pipeline.arena != NULL) pipeline_free(&run->pipeline);
  diag_free(run->diag);
  arena_free(run->arena);
}

const char *ps_version(void) {
  return PODSIM_VERSION;
}

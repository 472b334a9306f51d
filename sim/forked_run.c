/* Runs in processes of their own; an outcome comes back through a pipe. */
#include "sim/forked_run.h"

#include "sim/pipeline.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Into `room` zero bytes, as far as it goes. */
static void copy_text(char *into, size_t room, Str text) {
  if (text.n > 0) memcpy(into, text.at, text.n < room - 1 ? text.n : room - 1);
}

static void describe_failure(const Diag *diag, Outcome *outcome) {
  Str error = diag_error_text(diag);
  error = str_sub(error, 0, str_find(error, '\n'));
  if (str_starts(error, "podsim: error: ")) error = str_sub(error, sizeof "podsim: error: " - 1, error.n);
  copy_text(outcome->reason, OUTCOME_REASON_BYTES, error);
}

static Status simulate(Pipeline *pipeline, Diag *diag) {
  TRY(pipeline_read_pod(pipeline, diag));
  TRY(pipeline_read_program(pipeline, diag));
  TRY(pipeline_partition(pipeline, diag));
  TRY(pipeline_schedule(pipeline, diag));
  return pipeline_simulate(pipeline, diag);
}

static void describe_run(const Pipeline *pipeline, Outcome *outcome) {
  const Metrics *metrics = &pipeline->metrics;
  const Pod *pod = &pipeline->config->pod;
  outcome->time_ps = metrics->end_ps;
  outcome->compute_ps = metrics->compute_ps;
  outcome->communication_ps = metrics->communication_ps;
  outcome->exposed_ps = metrics->exposed_ps;
  outcome->mfu = metrics_mfu(metrics, pod->peak_flops);
  outcome->hbm_peak_bytes = pipeline->schedule->hbm_peak_bytes;
  outcome->hbm_limit_bytes = pod->hbm_usable_bytes;
  outcome->fits = outcome->hbm_peak_bytes <= outcome->hbm_limit_bytes;
  copy_text(outcome->layout, OUTCOME_LAYOUT_BYTES, pipeline->layout.text);
  outcome->timeline = ledger_hash(pipeline->ledger);
}

static Outcome run(const Options *options) {
  Options own = *options;
  own.allow_oom = true;
  if (strcmp(own.numbers, "on") != 0) own.numbers = "off";
  Pipeline pipeline = pipeline_new(&own);
  Diag *diag = diag_new();
  Outcome outcome = {.status = simulate(&pipeline, diag)};
  if (outcome.status == STATUS_OK)
    describe_run(&pipeline, &outcome);
  else
    describe_failure(diag, &outcome);
  diag_free(diag);
  pipeline_free(&pipeline);
  return outcome;
}

static int64_t ms_of(struct timeval time) {
  return time.tv_sec * 1000 + time.tv_usec / 1000;
}

/* Of this process: SIGPROF ends it. */
static void limit_cpu(int64_t ms) {
  struct itimerval timer = {.it_value = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000}};
  if (ms > 0) setitimer(ITIMER_PROF, &timer, NULL);
}

Status forked_run_start(const Options *options, int64_t cpu_ms_most, ForkedRun *forked, Diag *diag) {
  int ends[2];
  if (pipe(ends) != 0)
    return diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "cannot make a pipe: %s", strerror(errno));
  fflush(NULL);
  forked->child = fork();
  if (forked->child < 0)
    return diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "cannot fork: %s", strerror(errno));
  if (forked->child == 0) {
    close(ends[0]);
    limit_cpu(cpu_ms_most);
    Outcome outcome = run(options);
    ssize_t sent = write(ends[1], &outcome, sizeof outcome);
    _exit(sent == (ssize_t)sizeof outcome ? 0 : 1);
  }
  close(ends[1]);
  forked->pipe = ends[0];
  return STATUS_OK;
}

Outcome forked_run_finish(ForkedRun *forked) {
  Outcome outcome;
  ssize_t got = read(forked->pipe, &outcome, sizeof outcome);
  close(forked->pipe);
  int ended = 0;
  struct rusage used = {0};
  wait4(forked->child, &ended, 0, &used);
  if (got != (ssize_t)sizeof outcome)
    outcome = (Outcome){.status = STATUS_FAILED,
                        .late = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGPROF,
                        .reason = "its process ended early"};
  outcome.cpu_ms = ms_of(used.ru_utime) + ms_of(used.ru_stime);
  return outcome;
}

void forked_run_stop(ForkedRun *forked) {
  kill(forked->child, SIGKILL);
  close(forked->pipe);
  waitpid(forked->child, NULL, 0);
}

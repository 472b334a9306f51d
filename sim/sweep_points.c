/* Points: forks that are kept at work in order; ranks; a table and CSV. */
#include "sim/sweep_points.h"

#include "traces/csv.h"
#include "traces/human.h"

#include <stdlib.h>
#include <unistd.h>

static void append(Arena *arena, TextList *list, Str text) {
  const char **texts = ARENA_ARRAY(arena, const char *, list->n + 1);
  for (uint32_t i = 0; i < list->n; i++) texts[i] = list->at[i];
  texts[list->n] = str_terminated(arena, text);
  *list = (TextList){texts, list->n + 1};
}

static Status start_point(Arena *arena, const Options *options, int64_t cpu_ms_most, Point *point,
                          Diag *diag) {
  Options own = *options;
  if (point->mesh.n > 0) own.mesh = str_terminated(arena, point->mesh);
  if (point->layout.n > 0)
    append(arena, &own.sets, str_printf(arena, "mesh.layout=%.*s", STR_ARG(point->layout)));
  if (point->spec.n > 0) append(arena, &own.specs, point->spec);
  return forked_run_start(&own, cpu_ms_most, &point->run, diag);
}

static int faster_first(const void *a, const void *b) {
  const Point *p = a, *q = b;
  if (p->outcome.status != q->outcome.status) return p->outcome.status < q->outcome.status ? -1 : 1;
  if (p->outcome.fits != q->outcome.fits) return p->outcome.fits ? -1 : 1;
  if (p->outcome.time_ps != q->outcome.time_ps) return p->outcome.time_ps < q->outcome.time_ps ? -1 : 1;
  int order = str_cmp(p->label, q->label);
  return order != 0 ? order : str_cmp(p->layout, q->layout);
}

enum { SHARE_OF_ONE = 4 };

Status points_run(Arena *arena, const Options *options, int64_t cpu_ms_most, Points *points, Diag *diag) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t jobs = options->jobs > 0 ? (uint32_t)options->jobs : processors > 0 ? (uint32_t)processors : 1;
  uint32_t started = 0;
  int64_t used_ms = 0;
  for (uint32_t done = 0; done < points->n; done++) {
    bool goes_on = cpu_ms_most == 0 || used_ms < cpu_ms_most;
    for (; goes_on && started < points->n && started < done + jobs; started++)
      TRY(start_point(arena, options, cpu_ms_most / SHARE_OF_ONE, &points->at[started], diag));
    Outcome *outcome = &points->at[done].outcome;
    *outcome = done < started ? forked_run_finish(&points->at[done].run)
                              : (Outcome){.status = STATUS_FAILED, .late = true};
    used_ms += outcome->cpu_ms;
  }
  if (points->n > 1) qsort(points->at, points->n, sizeof *points->at, faster_first);
  return STATUS_OK;
}

/* The labels' column, as wide as the longest. */
static size_t label_width(const Points *points, const char *what) {
  size_t width = strlen(what);
  for (uint32_t i = 0; i < points->n; i++)
    if (points->at[i].label.n > width) width = points->at[i].label.n;
  return width + 2;
}

static void table_line(StrBuf *buf, const Point *point, size_t width, bool layouts, int64_t best_ps) {
  const Outcome *outcome = &point->outcome;
  size_t start = buf->n;
  buf_add(buf, point->label);
  buf_column(buf, start, width);
  if (outcome->status != STATUS_OK) {
    buf_printf(buf, "%s\n", outcome->reason);
    return;
  }
  const int64_t times[] = {outcome->time_ps, outcome->compute_ps, outcome->exposed_ps};
  for (uint32_t t = 0; t < 3; t++) {
    start = buf->n;
    human_time(buf, times[t]);
    buf_column(buf, start, 13);
  }
  buf_printf(buf, "%5.1f %%  ", outcome->mfu * 100);
  start = buf->n;
  human_bytes(buf, outcome->hbm_peak_bytes);
  buf_column(buf, start, 10);
  buf_printf(buf, "  %-4s  %6.2fx", outcome->fits ? "yes" : "no",
             best_ps == 0 ? 1 : (double)outcome->time_ps / (double)best_ps);
  buf_printf(buf, layouts ? "  %s\n" : "\n", outcome->layout);
}

void points_print(StrBuf *buf, const Points *points, const char *what, bool layouts, uint32_t most) {
  size_t width = label_width(points, what);
  buf_printf(buf, "%-*s%-13s%-13s%-13s%7s  %-10s  %-4s  %7s%s\n", (int)width, what, "step time", "compute",
             "exposed comm", "MFU", "HBM peak", "fits", "to best", layouts ? "  layout" : "");
  for (uint32_t i = 0; i < points->n && i < most; i++)
    table_line(buf, &points->at[i], width, layouts, points->at[0].outcome.time_ps);
  if (points->n > most) buf_printf(buf, "and %u more\n", points->n - most);
}

static const char *const columns[] = {"mesh",
                                      "time_seconds",
                                      "compute_seconds",
                                      "communication_seconds",
                                      "exposed_communication_seconds",
                                      "mfu",
                                      "hbm_peak_bytes",
                                      "fits",
                                      "layout",
                                      "error",
                                      "spec"};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void csv_row(Arena *arena, const Point *point, Str *row) {
  const Outcome *outcome = &point->outcome;
  row[0] = point->mesh;
  for (uint32_t c = 1; c < COLUMNS; c++) row[c] = STR("");
  row[9] = str_copy(arena, str_of(outcome->reason));
  row[10] = point->spec;
  if (outcome->status != STATUS_OK) return;
  const int64_t times[] = {outcome->time_ps, outcome->compute_ps, outcome->communication_ps,
                           outcome->exposed_ps};
  for (uint32_t t = 0; t < 4; t++) row[1 + t] = str_printf(arena, "%.12f", (double)times[t] * 1e-12);
  row[5] = str_printf(arena, "%.6f", outcome->mfu);
  row[6] = str_printf(arena, "%lld", (long long)outcome->hbm_peak_bytes);
  row[7] = outcome->fits ? STR("yes") : STR("no");
  row[8] = str_copy(arena, str_of(outcome->layout));
}

Status points_csv_write(Arena *arena, const Points *points, const char *path, Diag *diag) {
  Str header[COLUMNS];
  for (uint32_t c = 0; c < COLUMNS; c++) header[c] = str_of(columns[c]);
  Str *rows = ARENA_ARRAY(arena, Str, (size_t)points->n * COLUMNS);
  for (uint32_t i = 0; i < points->n; i++) csv_row(arena, &points->at[i], rows + (size_t)i * COLUMNS);
  return table_csv_write(path, header, rows, COLUMNS, points->n, diag);
}

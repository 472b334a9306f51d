/* `podsim sweep`: the program on every factoring of the pod's chips over its mesh axes. Each point is a
 * process of its own (forked_run.h). The table is ranked by step time; --csv writes it too. With --layouts
 * each mesh comes in all layouts that matter. */
#include "sim/command.h"
#include "sim/forked_run.h"
#include "sim/layout_choices.h"
#include "sim/pipeline.h"
#include "traces/csv.h"
#include "traces/human.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { POINTS_MOST = 4096 };

typedef struct {
  Str mesh;   /* data=4,model=2 */
  Str layout; /* of mesh.layout; empty: as the config has it */
  ForkedRun run;
  Outcome outcome;
} Point;

typedef Vec(Point) Points;

/* Every ordered factoring of `chips` over the axes from `axis` on. */
static void add_factorings(Arena *arena, const Mesh *axes, uint32_t axis, int64_t chips, Str so_far,
                           Points *points) {
  for (int64_t size = 1; size <= chips && points->n < POINTS_MOST; size++) {
    bool last = axis + 1 == axes->n_axes;
    if (chips % size != 0 || (last && size != chips)) continue;
    Str mesh = str_printf(arena, "%.*s%s%.*s=%lld", STR_ARG(so_far), axis == 0 ? "" : ",",
                          STR_ARG(axes->axes[axis].name), (long long)size);
    if (last)
      VEC_PUSH(arena, points, (Point){.mesh = mesh});
    else
      add_factorings(arena, axes, axis + 1, chips / size, mesh, points);
  }
}

static Status add_layouts(Arena *arena, const Pod *pod, Points *points, Diag *diag) {
  for (uint32_t i = 0, n = points->n; i < n; i++) {
    const Mesh *mesh;
    Str text = points->at[i].mesh;
    TRY(mesh_parse(arena, text, &mesh, diag));
    Layouts choices = layout_choices(arena, pod, mesh);
    for (uint32_t k = 0; k < choices.n && points->n < POINTS_MOST; k++)
      VEC_PUSH(arena, points, (Point){.mesh = text, .layout = choices.at[k]});
  }
  return STATUS_OK;
}

/* Of a mesh's layouts those that take as long as another say nothing new. Ranked points are given. */
static void drop_alike(Points *points) {
  uint32_t kept = 0;
  for (uint32_t i = 0; i < points->n; i++) {
    bool alike = false;
    for (uint32_t k = 0; k < kept && !alike; k++)
      alike = str_eq(points->at[k].mesh, points->at[i].mesh) &&
              points->at[k].outcome.time_ps == points->at[i].outcome.time_ps;
    if (!alike) points->at[kept++] = points->at[i];
  }
  points->n = kept;
}

static void set_layout(Arena *arena, Options *options, Str layout) {
  const char **sets = ARENA_ARRAY(arena, const char *, options->sets.n + 1);
  for (uint32_t i = 0; i < options->sets.n; i++) sets[i] = options->sets.at[i];
  sets[options->sets.n] = str_printf(arena, "mesh.layout=%.*s", STR_ARG(layout)).at;
  options->sets = (TextList){sets, options->sets.n + 1};
}

static Status start_point(Arena *arena, const Options *options, Point *point, Diag *diag) {
  Options own = *options;
  own.mesh = point->mesh.at;
  if (point->layout.n > 0) set_layout(arena, &own, point->layout);
  return forked_run_start(&own, &point->run, diag);
}

/* Keeps `jobs` processes at work, in order. */
static Status run_points(Arena *arena, const Options *options, Points *points, Diag *diag) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  uint32_t jobs = options->jobs > 0 ? (uint32_t)options->jobs : processors > 0 ? (uint32_t)processors : 1;
  uint32_t started = 0;
  for (uint32_t done = 0; done < points->n; done++) {
    for (; started < points->n && started < done + jobs; started++)
      TRY(start_point(arena, options, &points->at[started], diag));
    points->at[done].outcome = forked_run_finish(&points->at[done].run);
  }
  return STATUS_OK;
}

static int faster_first(const void *a, const void *b) {
  const Point *p = a, *q = b;
  if (p->outcome.status != q->outcome.status) return p->outcome.status < q->outcome.status ? -1 : 1;
  if (p->outcome.fits != q->outcome.fits) return p->outcome.fits ? -1 : 1;
  if (p->outcome.time_ps != q->outcome.time_ps) return p->outcome.time_ps < q->outcome.time_ps ? -1 : 1;
  int order = str_cmp(p->mesh, q->mesh);
  return order != 0 ? order : str_cmp(p->layout, q->layout);
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
                                      "error"};
enum { COLUMNS = sizeof columns / sizeof columns[0] };

static void csv_row(Arena *arena, const Point *point, Str *row) {
  const Outcome *outcome = &point->outcome;
  row[0] = point->mesh;
  for (uint32_t c = 1; c < COLUMNS; c++) row[c] = STR("");
  row[COLUMNS - 1] = str_copy(arena, str_of(outcome->reason));
  if (outcome->status != STATUS_OK) return;
  const int64_t times[] = {outcome->time_ps, outcome->compute_ps, outcome->communication_ps,
                           outcome->exposed_ps};
  for (uint32_t t = 0; t < 4; t++) row[1 + t] = str_printf(arena, "%.12f", (double)times[t] * 1e-12);
  row[5] = str_printf(arena, "%.6f", outcome->mfu);
  row[6] = str_printf(arena, "%lld", (long long)outcome->hbm_peak_bytes);
  row[7] = outcome->fits ? STR("yes") : STR("no");
  row[8] = str_copy(arena, str_of(outcome->layout));
}

static Status write_csv(Arena *arena, const Points *points, const char *path, Diag *diag) {
  Str header[COLUMNS];
  for (uint32_t c = 0; c < COLUMNS; c++) header[c] = str_of(columns[c]);
  Str *rows = ARENA_ARRAY(arena, Str, (size_t)points->n * COLUMNS);
  for (uint32_t i = 0; i < points->n; i++) csv_row(arena, &points->at[i], rows + (size_t)i * COLUMNS);
  return table_csv_write(path, header, rows, COLUMNS, points->n, diag);
}

/* The meshes' column, as wide as the longest. */
static size_t mesh_width(const Points *points) {
  size_t width = strlen("mesh");
  for (uint32_t i = 0; i < points->n; i++)
    if (points->at[i].mesh.n > width) width = points->at[i].mesh.n;
  return width + 2;
}

static void table_line(StrBuf *buf, const Point *point, size_t width, int64_t best_ps) {
  const Outcome *outcome = &point->outcome;
  size_t start = buf->n;
  buf_add(buf, point->mesh);
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
  buf_printf(buf, "  %-4s  %6.2fx  %s\n", outcome->fits ? "yes" : "no",
             best_ps == 0 ? 1 : (double)outcome->time_ps / (double)best_ps, outcome->layout);
}

static void print_table(Arena *arena, const Points *points) {
  StrBuf buf = {.arena = arena};
  size_t width = mesh_width(points);
  buf_printf(&buf, "%-*s%-13s%-13s%-13s%7s  %-10s  %-4s  %7s  %s\n", (int)width, "mesh", "step time",
             "compute", "exposed comm", "MFU", "HBM peak", "fits", "to best", "layout");
  for (uint32_t i = 0; i < points->n; i++)
    table_line(&buf, &points->at[i], width, points->at[0].outcome.time_ps);
  fwrite(buf.at, 1, buf.n, stdout);
}

static Status sweep(Pipeline *pipeline, Diag *diag) {
  const Options *options = pipeline->options;
  TRY(pipeline_read_pod(pipeline, diag));
  TRY(pipeline_read_program(pipeline, diag));
  const Mesh **meshes, *axes = NULL;
  uint32_t n_meshes;
  TRY(meshes_of_module(pipeline->arena, pipeline->module, &meshes, &n_meshes, diag));
  if (options->mesh != NULL)
    TRY(mesh_parse(pipeline->arena, str_of(options->mesh), &axes, diag));
  else if (n_meshes > 0)
    axes = meshes[0];
  if (axes == NULL || axes->n_axes == 0) {
    return diag_fail(diag, STATUS_INVALID, NOWHERE, "name its axes with --mesh, e.g. --mesh data=4,model=2",
                     "the program has no mesh axes to factor the chips over");
  }
  Points points = {0};
  add_factorings(pipeline->arena, axes, 0, pipeline->config->pod.n_chips, STR(""), &points);
  if (options->layouts) TRY(add_layouts(pipeline->arena, &pipeline->config->pod, &points, diag));
  TRY(run_points(pipeline->arena, options, &points, diag));
  qsort(points.at, points.n, sizeof *points.at, faster_first);
  if (options->layouts) drop_alike(&points);
  print_table(pipeline->arena, &points);
  if (options->csv_path != NULL) TRY(write_csv(pipeline->arena, &points, options->csv_path, diag));
  if (points.at[0].outcome.status == STATUS_OK) return STATUS_OK;
  return diag_fail(diag, points.at[0].outcome.status, NOWHERE, NULL,
                   "no mesh could be simulated; the first: %s", points.at[0].outcome.reason);
}

Status command_sweep(const Options *options, Diag *diag) {
  Pipeline pipeline = pipeline_new(options);
  Status status = sweep(&pipeline, diag);
  pipeline_free(&pipeline);
  return status;
}

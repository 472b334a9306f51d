/* `podsim sweep`: the program on every factoring of the pod's chips over its mesh axes. The table is ranked
 * by step time; --csv writes it too. With --layouts each mesh comes in all layouts that matter; with --specs
 * the mesh stays, and every PartitionSpec of one value is tried. */
#include "sim/command.h"
#include "sim/layout_choices.h"
#include "sim/spec_choices.h"
#include "sim/sweep_points.h"

#include <stdio.h>

enum { POINTS_MOST = 4096 };

/* Every ordered factoring of `chips` over the axes from `axis` on. */
static void add_factorings(Arena *arena, const Mesh *axes, uint32_t axis, int64_t chips, Str so_far,
                           Points *points) {
  for (int64_t size = 1; size <= chips && points->n < POINTS_MOST; size++) {
    bool last = axis + 1 == axes->n_axes;
    if (chips % size != 0 || (last && size != chips)) continue;
    Str mesh = str_printf(arena, "%.*s%s%.*s=%lld", STR_ARG(so_far), axis == 0 ? "" : ",",
                          STR_ARG(axes->axes[axis].name), (long long)size);
    if (last)
      VEC_PUSH(arena, points, (Point){.label = mesh, .mesh = mesh});
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
      VEC_PUSH(arena, points, (Point){.label = text, .mesh = text, .layout = choices.at[k]});
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

/* Every spec of one value, and the program as it is. */
static Status add_specs(Pipeline *pipeline, const char *name, Points *points, Diag *diag) {
  TRY(pipeline_partition(pipeline, diag));
  const Shape *shape;
  const Sharding *now;
  RETURN_IF(!spec_target(pipeline, str_of(name), &shape, &now),
            diag_fail(diag, STATUS_USAGE, NOWHERE, "name argN, outN or a value; `podsim show` lists them all",
                      "--specs: the program has no sharded array '%s'", name));
  bool *moves = ARENA_ARRAY(pipeline->arena, bool, now->mesh->n_axes + 1);
  for (uint32_t axis = 0; axis < now->mesh->n_axes; axis++) moves[axis] = true;
  SpecChoices choices = spec_choices(pipeline->arena, str_of(name), shape, now, moves);
  Str spec = sharding_spec_text(pipeline->arena, now);
  VEC_PUSH(pipeline->arena, points,
           (Point){.label = str_printf(pipeline->arena, "as it is: %.*s", STR_ARG(spec))});
  for (uint32_t i = 0; i < choices.n; i++)
    VEC_PUSH(pipeline->arena, points, (Point){.label = choices.at[i], .spec = choices.at[i]});
  return STATUS_OK;
}

/* Every mesh over the program's axes, or those of --mesh. */
static Status add_meshes(Pipeline *pipeline, Points *points, Diag *diag) {
  const Options *options = pipeline->options;
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
  add_factorings(pipeline->arena, axes, 0, pipeline->config->pod.n_chips, STR(""), points);
  return options->layouts ? add_layouts(pipeline->arena, &pipeline->config->pod, points, diag) : STATUS_OK;
}

static Status sweep(Pipeline *pipeline, Diag *diag) {
  const Options *options = pipeline->options;
  TRY(pipeline_read_pod(pipeline, diag));
  TRY(pipeline_read_program(pipeline, diag));
  Points points = {0};
  RETURN_IF(options->layouts && options->specs_of != NULL,
            diag_fail(diag, STATUS_USAGE, NOWHERE, "a layout is set with --set mesh.layout=...",
                      "--layouts is for sweeps of meshes, not of --specs"));
  TRY(options->specs_of != NULL ? add_specs(pipeline, options->specs_of, &points, diag)
                                : add_meshes(pipeline, &points, diag));
  TRY(points_run(pipeline->arena, options, 0, &points, diag));
  if (options->layouts) drop_alike(&points);
  StrBuf buf = {.arena = pipeline->arena};
  bool specs = options->specs_of != NULL;
  points_print(&buf, &points, specs ? "spec" : "mesh", !specs, points.n);
  fwrite(buf.at, 1, buf.n, stdout);
  if (options->csv_path != NULL) TRY(points_csv_write(pipeline->arena, &points, options->csv_path, diag));
  if (points.at[0].outcome.status == STATUS_OK) return STATUS_OK;
  return diag_fail(diag, points.at[0].outcome.status, NOWHERE, NULL,
                   "no %s could be simulated; the first: %s", specs ? "spec" : "mesh",
                   points.at[0].outcome.reason);
}

Status command_sweep(const Options *options, Diag *diag) {
  Pipeline pipeline = pipeline_new(options);
  Status status = sweep(&pipeline, diag);
  pipeline_free(&pipeline);
  return status;
}

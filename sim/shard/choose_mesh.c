/* The mesh that all shardings of a run are over: the user's, the program's, or one made from tile lists,
 * which know no names. */
#include "sim/shard/graph.h"

#include <stdlib.h>

static bool same_axis_names(const Mesh *a, const Mesh *b) {
  uint32_t axis;
  for (uint32_t i = 0; i < a->n_axes; i++)
    if (!mesh_axis_index(b, a->axes[i].name, &axis)) return false;
  return a->n_axes == b->n_axes;
}

/* A mesh under another name, as the program's texts name it. */
static const Mesh *renamed(Arena *arena, const Mesh *mesh, Str name) {
  Mesh *copy = arena_copy(arena, mesh, sizeof *mesh);
  copy->name = name;
  return copy;
}

static Status program_meshes(Graph *graph, const Mesh *instead) {
  TRY(meshes_of_module(graph->arena, graph->module, &graph->meshes, &graph->n_meshes, graph->diag));
  for (uint32_t m = 0; m < graph->n_meshes; m++) {
    const Mesh *mesh = graph->meshes[m];
    if (mesh->n_axes == 0) continue; /* of a single device */
    if (instead != NULL) {
      RETURN_IF(!same_axis_names(mesh, instead),
                diag_fail(graph->diag, STATUS_USAGE, NOWHERE, "only the sizes of the axes can be changed",
                          "the program's mesh is %s, not %s", mesh_text(graph->arena, mesh).at,
                          mesh_text(graph->arena, instead).at));
      graph->meshes[m] = renamed(graph->arena, instead, mesh->name);
    }
    if (graph->mesh == NULL || graph->meshes[m]->n_devices > graph->mesh->n_devices)
      graph->mesh = graph->meshes[m];
  }
  return STATUS_OK;
}

/* Sizes of mesh axes such that every tile list of the program can be said over them, as far as one chain of
 * divisors goes. `cuts` are strides between devices where one axis ends and the next begins. */
typedef struct {
  int64_t n_devices;
  Vec(int64_t) cuts;
} TileMesh;

static void add_cuts(Arena *arena, TileMesh *tiles, Ints sizes) {
  int64_t stride = 1;
  for (uint32_t d = sizes.n; d-- > 0;) {
    stride *= sizes.at[d];
    bool fits = stride > 1 && stride < tiles->n_devices && tiles->n_devices % stride == 0;
    for (uint32_t c = 0; c < tiles->cuts.n; c++) {
      int64_t low = tiles->cuts.at[c] < stride ? tiles->cuts.at[c] : stride;
      int64_t high = tiles->cuts.at[c] < stride ? stride : tiles->cuts.at[c];
      fits = fits && high != low && high % low == 0;
    }
    if (fits) VEC_PUSH(arena, &tiles->cuts, stride);
  }
}

static void add_tiles(Arena *arena, TileMesh *tiles, const HloSharding *hlo) {
  if (hlo == NULL) return;
  for (uint32_t p = 0; p < hlo->n_parts; p++) add_tiles(arena, tiles, hlo->parts[p]);
  Ints sizes = hlo->kind == HLO_SHARDING_NAMED ? hlo->mesh_sizes
               : hlo->devices.perm.n != 0      ? hlo->devices.reshape
                                               : hlo->tile_dims;
  int64_t n = 1;
  for (uint32_t d = 0; d < sizes.n; d++)
    if (sizes.at[d] < 1 || __builtin_mul_overflow(n, sizes.at[d], &n) || n > INT32_MAX) return;
  if (sizes.n != 0 && tiles->n_devices == 0) tiles->n_devices = n;
  if (sizes.n != 0 && tiles->n_devices == n) add_cuts(arena, tiles, sizes);
}

static int descending(const void *a, const void *b) {
  int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
  return (left < right) - (left > right);
}

static const Mesh *mesh_of_tiles(Graph *graph) {
  TileMesh tiles = {0};
  for (uint32_t c = 0; c < graph->module->comps.n; c++) {
    const Comp *comp = module_comp(graph->module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++)
      add_tiles(graph->arena, &tiles, instr_sharding(&comp->instrs.at[i]));
  }
  if (tiles.n_devices == 0) return NULL;
  VEC_PUSH(graph->arena, &tiles.cuts, 1);
  qsort(tiles.cuts.at, tiles.cuts.n, sizeof *tiles.cuts.at, descending);
  MeshAxis *axes = ARENA_ARRAY(graph->arena, MeshAxis, tiles.cuts.n);
  int64_t left = tiles.n_devices;
  for (uint32_t a = 0; a < tiles.cuts.n; a++) {
    axes[a] = (MeshAxis){str_printf(graph->arena, "axis_%u", a), left / tiles.cuts.at[a]};
    left = tiles.cuts.at[a];
  }
  return mesh_inferred(graph->arena, axes, tiles.cuts.n);
}

/* A program that says nothing of devices runs on each of them alike. */
static const Mesh *mesh_of_pod(Graph *graph, uint32_t n_devices) {
  int64_t n = graph->module->num_partitions > 1 ? graph->module->num_partitions
              : n_devices == 0                  ? 1
                                                : n_devices;
  MeshAxis axis = {STR("devices"), n};
  return mesh_inferred(graph->arena, &axis, 1);
}

Status graph_choose_mesh(Graph *graph, const ShardOptions *options) {
  TRY(program_meshes(graph, options->mesh));
  if (graph->mesh == NULL) graph->mesh = options->mesh;
  if (graph->mesh == NULL) graph->mesh = mesh_of_tiles(graph);
  if (graph->mesh == NULL) graph->mesh = mesh_of_pod(graph, options->n_devices);
  RETURN_IF(options->n_devices != 0 && options->n_devices != graph->mesh->n_devices,
            diag_fail(graph->diag, STATUS_INVALID, NOWHERE,
                      "take another pod, or give the mesh's sizes with --mesh",
                      "the program's mesh (%s) has %u devices, the pod has %u",
                      mesh_text(graph->arena, graph->mesh).at, graph->mesh->n_devices, options->n_devices));
  return STATUS_OK;
}

/* Boxes of manual regions, from the shardings that shard_map leaves on its borders: xla.sdy.in_shardings on
 * the way in and xla.sdy.out_shardings on the way out, or (through GSPMD) the sharding of the operand and of
 * the result. Only the region's manual axes cut; along the others all devices hold the same. */
#include "sim/region_boxes.h"

typedef struct {
  const Module *module;
  const Mesh **meshes;
  uint32_t n_meshes, devices;
} Regions;

/* The part of an axis list that lies on `manual`. */
static AxisList restricted(Arena *arena, AxisList axes, const AxisList *manual) {
  AxisList kept = {ARENA_ARRAY(arena, AxisRef, axes.n), 0};
  for (uint32_t i = 0; i < axes.n; i++) {
    bool is_manual = manual == NULL;
    for (uint32_t k = 0; manual != NULL && k < manual->n; k++)
      is_manual = is_manual || manual->at[k].axis == axes.at[i].axis;
    if (is_manual) kept.at[kept.n++] = axes.at[i];
  }
  return kept;
}

ShardBoxes shard_boxes(Arena *arena, const Sharding *sharding, const AxisList *manual, const int64_t *dims,
                       uint32_t rank, uint32_t devices) {
  size_t n = (size_t)rank * devices;
  int64_t *start = ARENA_ARRAY(arena, int64_t, n), *stop = ARENA_ARRAY(arena, int64_t, n);
  int64_t *local = ARENA_ARRAY(arena, int64_t, rank);
  bool whole = sharding == NULL || sharding->device >= 0;
  Sharding cut = whole ? (Sharding){0} : *sharding;
  cut.dims = ARENA_ARRAY(arena, DimSharding, rank);
  for (uint32_t i = 0; i < rank; i++) {
    if (!whole) cut.dims[i].axes = restricted(arena, sharding->dims[i].axes, manual);
    local[i] = whole ? dims[i] : sharding_local_size(&cut, i, dims[i]);
  }
  for (uint32_t d = 0; d < devices; d++) {
    for (uint32_t i = 0; i < rank; i++) {
      size_t at = (size_t)d * rank + i;
      stop[at] = dims[i];
      if (!whole) sharding_slice(&cut, i, dims[i], d, &start[at], &stop[at]);
    }
  }
  return (ShardBoxes){.rank = rank, .devices = devices, .start = start, .stop = stop, .local = local};
}

/* --- borders of regions --- */

/* What a border says: the sharding of a leaf, the axes that are manual, and the whole array's shape. */
typedef struct {
  const Sharding *sharding;
  AxisList manual;
  const Shape *global, *local;
} Border;

static bool is_entry(const Instr *instr) {
  Str target = instr_custom_call_target(instr);
  return str_is(target, "xla.sdy.GlobalToLocalShape") || str_is(target, "SPMDFullToShardShape");
}

static bool is_exit(const Instr *instr) {
  Str target = instr_custom_call_target(instr);
  return str_is(target, "xla.sdy.LocalToGlobalShape") || str_is(target, "SPMDShardToFullShape");
}

static const Shape *result_leaf(const Instr *instr, uint32_t leaf) {
  return shape_is_tuple(instr->shape) ? instr->shape->parts[leaf] : instr->shape;
}

/* The axes of `#sdy<manual_axes{"data", "model"}>`. */
static Status manual_axes(Arena *arena, const Mesh *mesh, const Instr *instr, AxisList *axes, Diag *diag) {
  Str text;
  RETURN_IF(!instr_frontend(instr, "xla.sdy.manual_axes", &text),
            diag_fail(diag, STATUS_INVALID, instr->place, NULL, "%.*s does not say its manual axes",
                      STR_ARG(instr->name)));
  *axes = (AxisList){ARENA_ARRAY(arena, AxisRef, mesh->n_axes + 1), 0};
  for (Str rest = text; (rest = str_sub(rest, str_find(rest, '"') + 1, rest.n)).n != 0;) {
    Str name = str_sub(rest, 0, str_find(rest, '"'));
    uint32_t axis;
    RETURN_IF(!mesh_axis_index(mesh, name, &axis) || axes->n == mesh->n_axes,
              diag_fail(diag, STATUS_INVALID, instr->place, NULL, "%.*s: the mesh has no axis \"%.*s\"",
                        STR_ARG(instr->name), STR_ARG(name)));
    axes->at[axes->n++] = axis_whole(mesh, axis);
    rest = str_sub(rest, name.n + 1, rest.n);
  }
  return STATUS_OK;
}

static Status sdy_border(Arena *arena, const Regions *regions, const Instr *instr, uint32_t leaf,
                         Border *border, Diag *diag) {
  const char *key = is_entry(instr) ? "xla.sdy.in_shardings" : "xla.sdy.out_shardings";
  const Sharding **shardings;
  uint32_t n;
  Str text;
  RETURN_IF(!instr_frontend(instr, key, &text),
            diag_fail(diag, STATUS_INVALID, instr->place, NULL, "%.*s has no %s", STR_ARG(instr->name), key));
  TRY(sharding_parse_per_value(arena, text, regions->meshes, regions->n_meshes, &shardings, &n, instr->place,
                               diag));
  RETURN_IF(leaf >= n, diag_fail(diag, STATUS_INVALID, instr->place, NULL, "%.*s has %u shardings, too few",
                                 STR_ARG(instr->name), n));
  border->sharding = shardings[leaf];
  return manual_axes(arena, border->sharding->mesh, instr, &border->manual, diag);
}

static Status hlo_border(Arena *arena, const Regions *regions, const Instr *instr, const Instr *operand,
                         Border *border, Diag *diag) {
  const HloSharding *hlo = instr_sharding(is_entry(instr) ? operand : instr);
  RETURN_IF(hlo == NULL, diag_fail(diag, STATUS_INVALID, instr->place, NULL,
                                   "%.*s: how the whole value is sharded is not said", STR_ARG(instr->name)));
  const Mesh *mesh = regions->n_meshes == 1 ? regions->meshes[0] : NULL;
  TRY(sharding_from_hlo(arena, hlo, mesh, border->global->rank, &border->sharding, instr->place, diag));
  border->manual = sharding_used_axes(arena, border->sharding);
  return STATUS_OK;
}

static Status border_of(Arena *arena, const Regions *regions, uint32_t comp, const Instr *instr,
                        uint32_t leaf, Border *border, Diag *diag) {
  const Instr *operand = comp_instr(regions->module, comp, instr->operands.at[leaf]);
  border->global = is_entry(instr) ? operand->shape : result_leaf(instr, leaf);
  border->local = is_entry(instr) ? result_leaf(instr, leaf) : operand->shape;
  return str_starts(instr_custom_call_target(instr), "SPMD")
             ? hlo_border(arena, regions, instr, operand, border, diag)
             : sdy_border(arena, regions, instr, leaf, border, diag);
}

/* Inside of another region: devices that differ only along the manual axes hold parts of one value. */
static const uint32_t *values_along(Arena *arena, const Mesh *mesh, AxisList manual) {
  uint32_t *value_of = ARENA_ARRAY(arena, uint32_t, mesh->n_devices);
  GroupList groups = mesh_groups(arena, mesh, manual);
  for (uint32_t g = 0; g < groups.n; g++) {
    uint32_t lowest = NO_ID;
    for (uint32_t i = groups.start[g]; i < groups.start[g + 1]; i++) {
      if (groups.ids[i] < lowest) lowest = groups.ids[i];
    }
    for (uint32_t i = groups.start[g]; i < groups.start[g + 1]; i++) value_of[groups.ids[i]] = lowest;
  }
  return value_of;
}

static bool fits(const Border *border, const ShardBoxes *boxes) {
  if (border->local->rank != boxes->rank) return false;
  for (uint32_t i = 0; i < boxes->rank; i++) {
    if (border->local->dims[i] != boxes->local[i]) return false;
  }
  return true;
}

static Status region_boxes(void *self, Arena *arena, uint32_t comp, const Instr *instr, uint32_t leaf,
                           ShardBoxes *boxes, Diag *diag) {
  const Regions *regions = self;
  Border border;
  TRY(border_of(arena, regions, comp, instr, leaf, &border, diag));
  const Mesh *mesh = border.sharding->mesh;
  bool everywhere = sharding_is_replicated(border.sharding); /* through GSPMD on no mesh at all */
  RETURN_IF(!everywhere &&
                (border.sharding->rank != border.global->rank || mesh->n_devices != regions->devices),
            diag_fail(diag, STATUS_INVALID, instr->place, NULL,
                      "%.*s: a sharding of %u dimensions on %u devices, for a value of %u on %u",
                      STR_ARG(instr->name), border.sharding->rank, mesh->n_devices, border.global->rank,
                      regions->devices));
  *boxes = shard_boxes(arena, everywhere ? NULL : border.sharding, &border.manual, border.global->dims,
                       border.global->rank, regions->devices);
  if (instr->region != 0 && mesh->n_devices == regions->devices)
    boxes->value_of = values_along(arena, mesh, border.manual);
  RETURN_IF(!fits(&border, boxes),
            diag_fail(diag, STATUS_INVALID, instr->place,
                      "the mesh is baked into a shard_map body: lower the program again for another mesh",
                      "%.*s: the local shape of value %u does not fit its sharding", STR_ARG(instr->name),
                      leaf));
  return STATUS_OK;
}

Status region_boxes_new(Arena *arena, const Module *module, uint32_t devices, RegionBoxes *result,
                        Diag *diag) {
  Regions *regions = ARENA_NEW(arena, Regions);
  *regions = (Regions){.module = module, .devices = devices};
  TRY(meshes_of_module(arena, module, &regions->meshes, &regions->n_meshes, diag));
  *result = (RegionBoxes){regions, region_boxes};
  return STATUS_OK;
}

/* --- unpartitioned programs --- */

/* Devices of the meshes that the borders of manual regions speak of; 1 where there is none. */
static Status region_devices(Arena *arena, const Regions *regions, uint32_t *devices, Diag *diag) {
  *devices = 1;
  for (uint32_t c = 0; c < regions->module->comps.n; c++) {
    const Comp *comp = module_comp(regions->module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      const Instr *instr = &comp->instrs.at[i];
      for (uint32_t leaf = 0; leaf < instr->operands.n && (is_entry(instr) || is_exit(instr)); leaf++) {
        Border border;
        TRY(border_of(arena, regions, c, instr, leaf, &border, diag));
        uint32_t n = border.sharding->mesh->n_devices;
        if (n > *devices) *devices = n;
      }
    }
  }
  return STATUS_OK;
}

static Status run_on_mesh(Arena *arena, const Module *module, Tensor *const *inputs, int64_t trip_limit,
                          Tensor **root, Diag *diag) {
  RegionBoxes boxes;
  uint32_t devices, n_params = module_entry(module)->params.n;
  TRY(region_boxes_new(arena, module, 0, &boxes, diag));
  Regions *regions = boxes.self;
  TRY(region_devices(arena, regions, &devices, diag));
  regions->devices = devices;
  Tensor **on_devices = ARENA_ARRAY(arena, Tensor *, (size_t)n_params * devices + 1);
  for (uint32_t p = 0; p < n_params; p++) {
    for (uint32_t d = 0; d < devices; d++) on_devices[(size_t)p * devices + d] = inputs[p];
  }
  Tensor **roots = ARENA_ARRAY(arena, Tensor *, devices);
  InterpretOptions options = {devices, &boxes, trip_limit};
  TRY(interpret(module, &options, on_devices, roots, diag));
  for (uint32_t d = 1; d < devices; d++) tensor_release(roots[d]);
  *root = roots[0];
  return STATUS_OK;
}

Status unpartitioned_run(const Module *module, Tensor *const *inputs, int64_t trip_limit, Tensor **root,
                         Diag *diag) {
  Arena *arena = arena_new();
  Status status = run_on_mesh(arena, module, inputs, trip_limit, root, diag);
  arena_free(arena);
  return status;
}

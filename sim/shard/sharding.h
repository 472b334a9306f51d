/* Shardings in the one internal form: a mesh, and per dimension of a value a list of axes or sub-axes of it.
 * Form and words after Shardy (shardy/dialect/sdy/ir/attrs.td). Immutable once made; owned by the arena they
 * were made in. */
#pragma once

#include "sim/base/diag.h"
#include "sim/base/vec.h"
#include "sim/ir/module.h"

typedef struct {
  Str name;
  int64_t size;
} MeshAxis;

/* A mesh: devices numbered row-major over its axes, the last axis fastest, then permuted by `device_ids`
 * where it is not NULL: position p of the mesh is device device_ids[p]. */
typedef struct {
  Str name;
  MeshAxis *axes;
  uint32_t n_axes;
  const int64_t *device_ids; /* NULL: position is device */
  const int64_t *positions;  /* the inverse of device_ids, NULL with it */
  uint32_t n_devices;
  bool is_inferred; /* from tile lists, or all devices as one axis: its axes are nobody's */
} Mesh;

/* An axis of the mesh or a part of it: the axis reshaped to [pre, size, rest], the middle taken. A whole axis
 * has pre 1 and size the axis's own. */
typedef struct {
  uint32_t axis;
  int64_t pre, size;
} AxisRef;

typedef struct {
  AxisRef *at;
  uint32_t n;
} AxisList;

typedef struct {
  AxisList axes;     /* major to minor */
  bool open;         /* propagation may add axes */
  uint32_t priority; /* of the user; 0 first */
} DimSharding;

typedef enum { REDUCTION_SUM, REDUCTION_MAX, REDUCTION_MIN } Reduction;

typedef struct {
  const Mesh *mesh;
  uint32_t rank;
  DimSharding *dims;
  AxisList replicated; /* explicitly, so that propagation may not use them */
  AxisList unreduced;  /* the value is the reduction of the devices' parts along these axes */
  Reduction reduction;
  int64_t device; /* >= 0: the whole value lies on this device alone */
} Sharding;

/* --- Meshes. --- */

/* A mesh of its own copies; `device_ids` (a permutation of 0 … n-1) may be NULL. The product of the sizes
 * must fit 32 bits. */
const Mesh *mesh_new(Arena *arena, Str name, const MeshAxis *axes, uint32_t n_axes,
                     const int64_t *device_ids);
/* A mesh whose axes podsim has named itself. */
const Mesh *mesh_inferred(Arena *arena, const MeshAxis *axes, uint32_t n_axes);
/* A mesh from `data=4,model=2`. */
Status mesh_parse(Arena *arena, Str text, const Mesh **mesh, Diag *diag);
bool mesh_eq(const Mesh *a, const Mesh *b);
/* `data=4, model=2`. */
Str mesh_text(Arena *arena, const Mesh *mesh);
bool mesh_axis_index(const Mesh *mesh, Str name, uint32_t *axis);
/* The hint after a name that no axis has: "did you mean model?", NULL where none is near. */
const char *mesh_axis_hint(Arena *arena, const Mesh *mesh, Str name);
/* How far apart in mesh positions neighbours along an axis reference are. */
int64_t mesh_stride(const Mesh *mesh, AxisRef axis);
/* Coordinate of device `device` along an axis reference, 0 … size-1. */
int64_t mesh_coordinate(const Mesh *mesh, AxisRef axis, uint32_t device);
/* Index of the device along a list of axes, the first one major: which shard of a dimension it holds. */
int64_t mesh_index(const Mesh *mesh, AxisList axes, uint32_t device);
/* The groups of devices that differ only along `axes`; members of a group in the order of mesh_index() along
 * `axes`. */
GroupList mesh_groups(Arena *arena, const Mesh *mesh, AxisList axes);

/* --- Axis lists. --- */

/* Greatest common divisor. */
int64_t sizes_gcd(int64_t a, int64_t b);
AxisRef axis_whole(const Mesh *mesh, uint32_t axis);
bool axis_eq(AxisRef a, AxisRef b);
/* They have a part in common, or cannot stand beside each other: "x":(1)2 and "x":(3)2 of an axis of 6. */
bool axis_overlaps(AxisRef a, AxisRef b);
/* `a` is `b` or its major part: "x":(2)2 of "x":(2)4. */
bool axis_is_prefix(AxisRef a, AxisRef b);
int64_t axes_size(AxisList axes);
bool axes_eq(AxisList a, AxisList b);
bool axes_overlap(AxisList a, AxisList b);
bool axes_is_prefix(AxisList a, AxisList b);
/* The longest common prefix, counting parts of sub-axes that agree ("x":(1)2 is a prefix of "x"). */
AxisList axes_common_prefix(Arena *arena, const Mesh *mesh, AxisList a, AxisList b);
/* `a` followed by `b`, neighbours that continue each other merged ("x":(1)2,"x":(2)4 is "x":(1)8). */
AxisList axes_concat(Arena *arena, const Mesh *mesh, AxisList a, AxisList b);
/* The rest of `a` after its prefix `prefix`. */
AxisList axes_after_prefix(Arena *arena, const Mesh *mesh, AxisList a, AxisList prefix);
/* The parts of `a` that no axis of `b` covers, in the order of `a`. */
AxisList axes_minus(Arena *arena, const Mesh *mesh, AxisList a, AxisList b);

/* --- Shardings. --- */

/* Every dimension without axes; `open` for all of them. */
const Sharding *sharding_replicated(Arena *arena, const Mesh *mesh, uint32_t rank, bool open);
const Sharding *sharding_copy(Arena *arena, const Sharding *sharding);
const Sharding *sharding_with_dim(Arena *arena, const Sharding *sharding, uint32_t dim, AxisList axes);
/* Same devices hold the same parts (axes, unreduced axes and device; open and priority do not count). */
bool sharding_eq(const Sharding *a, const Sharding *b);
bool sharding_is_replicated(const Sharding *sharding);
/* How many shards dimension `dim` has. */
int64_t sharding_shards(const Sharding *sharding, uint32_t dim);
/* Size of a shard: ceil(size / shards); the last shards are padded where it does not divide. */
int64_t sharding_local_size(const Sharding *sharding, uint32_t dim, int64_t size);
/* Shape of a device's shard of an array, padding included. */
const Shape *sharding_local_shape(Arena *arena, const Sharding *sharding, const Shape *global);
/* [start, stop) of the global value that a device holds along `dim`, clamped to `size`: what JAX calls its
 * slice. */
void sharding_slice(const Sharding *sharding, uint32_t dim, int64_t size, uint32_t device, int64_t *start,
                    int64_t *stop);
/* All axes in use by dimensions (not replicated, not unreduced). */
AxisList sharding_used_axes(Arena *arena, const Sharding *sharding);

/* `#sdy.sharding<@mesh, [{"data"}, {}]>` and its inner forms. `meshes` are the program's. */
Status sharding_parse_sdy(Arena *arena, Str text, const Mesh *const *meshes, uint32_t n_meshes,
                          const Sharding **sharding, Place place, Diag *diag);
/* `#sdy.sharding_per_value<[<@mesh, …>, …]>`. */
Status sharding_parse_per_value(Arena *arena, Str text, const Mesh *const *meshes, uint32_t n_meshes,
                                const Sharding ***shardings, uint32_t *n, Place place, Diag *diag);
/* The axes of `#sdy<manual_axes{"data", "model"}>`. */
Status axes_parse_manual(Arena *arena, Str text, const Mesh *mesh, AxisList *axes, Place place, Diag *diag);
/* The meshes of `xla.sdy.meshes={mesh = #sdy.mesh<["data"=4, "model"=2]>}`; none where the header has none.
 */
Status meshes_of_module(Arena *arena, const Module *module, const Mesh ***meshes, uint32_t *n, Diag *diag);
/* The same parts on the same devices, over another mesh of as many devices; over a mesh of its own where that
 * one's axes cannot say it. */
const Sharding *sharding_on_mesh(Arena *arena, const Sharding *sharding, const Mesh *mesh);
/* From HLO syntax. Tile lists are factored over the axes of `mesh` where they can be; else over a mesh of
 * their own (mesh NULL too). */
Status sharding_from_hlo(Arena *arena, const HloSharding *hlo, const Mesh *mesh, uint32_t rank,
                         const Sharding **sharding, Place place, Diag *diag);
/* Subgroup dimensions that are manual are dropped: inside a manual region a sharding speaks of the other
 * axes.
 */
/* The text of `sharding={…}` in the V2 form ({devices=[4,1,2]<=[8] last_tile_dim_replicate}), braces
 * included. */
Str sharding_hlo_text(Arena *arena, const Sharding *sharding);
/* As JAX writes a PartitionSpec: P('data', None), P(('data', 'model'),), trailing None kept, P() when nothing
 * is sharded at all. Sub-axes read 'x:(1)2'. */
Str sharding_spec_text(Arena *arena, const Sharding *sharding);
/* As Shardy writes it: [{"data"}, {"model":(1)2, ?}]. */
Str sharding_sdy_text(Arena *arena, const Sharding *sharding);
/* `P("data", None, ("a", "b"))` of either quote, fewer entries than `rank`, trailing comma. Dimensions are
 * closed. */
Status sharding_parse_spec(Arena *arena, Str text, const Mesh *mesh, uint32_t rank, const Sharding **sharding,
                           Diag *diag);
/* JAX's rule for an inferred output: per dimension the longest prefix of its axes whose size divides the
 * dimension. */
const Sharding *sharding_divisible(Arena *arena, const Sharding *sharding, const Shape *shape);
/* The same, but a sub-axis may stand last: what is not inferred keeps as many shards as fit. */
const Sharding *sharding_divisible_by_parts(Arena *arena, const Sharding *sharding, const Shape *shape);

/* HLO shardings as their text has them, V1 (tile lists), V2 (iota tiles) and V3 (named meshes). Only syntax:
 * what they mean is sim/shard/sharding.h's. Owned by the module's arena, immutable once made. */
#pragma once

#include "sim/base/str.h"
#include "sim/base/vec.h"

typedef enum {
  HLO_SHARDING_REPLICATED,
  HLO_SHARDING_MAXIMAL, /* one device */
  HLO_SHARDING_MANUAL,
  HLO_SHARDING_UNKNOWN,
  HLO_SHARDING_UNREDUCED,
  HLO_SHARDING_TILED, /* devices=[…] */
  HLO_SHARDING_NAMED, /* mesh['a'=2,…] */
  HLO_SHARDING_TUPLE
} HloShardingKind;

/* A list of device ids: explicit, or iota(product of reshape) reshaped to `reshape` and transposed by `perm`,
 * flattened. */
typedef struct {
  Ints ids;     /* explicit; n == 0 where iota */
  Ints reshape; /* n == 0 where explicit */
  Ints perm;    /* n == 0 where the identity is not written */
} DeviceList;

typedef enum { SUBGROUP_REPLICATED, SUBGROUP_MANUAL, SUBGROUP_UNREDUCED } SubgroupKind;

/* An axis of a named sharding, with `:(pre)size` where it is a sub-axis (else pre = size = 0). */
typedef struct {
  Str name;
  int64_t pre, size;
} NamedAxis;

typedef struct {
  NamedAxis *at;
  uint32_t n;
  bool open; /* ends with `?` */
} NamedAxes;

typedef struct HloSharding HloSharding;
struct HloSharding {
  HloShardingKind kind;
  int64_t device;     /* MAXIMAL */
  Ints tile_dims;     /* TILED: all of them, subgroup dimensions last */
  DeviceList devices; /* TILED, NAMED (n == 0 everywhere: iota) */
  bool last_tile_dim_replicate;
  SubgroupKind *last_tile_dims; /* of the last n_last_tile_dims of tile_dims */
  uint32_t n_last_tile_dims;
  Str *mesh_names; /* NAMED */
  Ints mesh_sizes;
  NamedAxes *dims; /* NAMED: an entry a dimension */
  uint32_t n_dims;
  NamedAxes replicated, unreduced, manual;
  Str unreduced_kind;              /* "", "sum", "max", "min" */
  const HloSharding *const *parts; /* TUPLE: one a leaf */
  uint32_t n_parts;
  Str text; /* the whole, braces included, as it stood (or as it is to be printed) */
};

/* A deep copy. */
const HloSharding *hlo_sharding_copy(Arena *arena, const HloSharding *sharding);

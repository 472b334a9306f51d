/* Placements: how an array lies on the mesh, in the form that the search for a reshard walks over. The mesh's
 * axes are cut into atoms, the parts that the shardings at hand speak of. Each atom is replicated, unreduced,
 * or a level of a dimension. A level has a tile: the rows of the dimension that a device holds once this
 * level and those before it are applied. Tiles make uneven sizes exact: a device holds
 *   [start, start + last tile) with start = sum over levels of coordinate * tile,
 * clipped at every level to the end of the tile of the level before. */
#pragma once

#include "sim/shard/sharding.h"

enum { PLACEMENT_ATOMS = 16, PLACE_UNREDUCED = 254, PLACE_REPLICATED = 255 };

/* The atoms that placements of one array are told in. */
typedef struct {
  const Mesh *mesh;
  const Shape *shape; /* global */
  uint32_t n_atoms;
  AxisRef atoms[PLACEMENT_ATOMS];
} AtomSpace;

/* Zeroed where an atom has no tile or order, so that two placements compare by their bytes. */
typedef struct {
  int64_t tile[PLACEMENT_ATOMS];
  uint8_t place[PLACEMENT_ATOMS]; /* dimension, or PLACE_… */
  uint8_t order[PLACEMENT_ATOMS]; /* of the level in its dimension, 0 the major one */
} Placement;

/* The levels of a dimension, major first, by their atoms. */
typedef struct {
  uint32_t n;
  uint8_t atoms[PLACEMENT_ATOMS];
} Levels;

/* Cuts the axes so that both shardings are told in whole atoms; with `finer` also where the shards of a
 * dimension that one of them has more of end: what must move to another dimension is then an atom. False
 * where that takes too many atoms, or parts of an axis do not fit together. */
bool space_cut(AtomSpace *space, const Shape *shape, const Sharding *from, const Sharding *to, bool finer);

/* The placement that a sharding is: tiles of ceil(size / shards). */
Placement placement_of(const AtomSpace *space, const Sharding *sharding);
/* The sharding that a placement is, in `arena`; NULL where its tiles are not those of a sharding. */
const Sharding *placement_sharding(Arena *arena, const AtomSpace *space, const Placement *placement,
                                   Reduction reduction);

Levels placement_levels(const AtomSpace *space, const Placement *placement, uint32_t dim);
/* Rows of a dimension that a device holds, padding included. */
int64_t placement_local(const AtomSpace *space, const Placement *placement, uint32_t dim);
/* Bytes that a device holds, padding included. */
double placement_bytes(const AtomSpace *space, const Placement *placement);
/* Rows left when the last `drop` levels of a dimension are taken away. */
int64_t placement_local_without(const AtomSpace *space, const Placement *placement, const Levels *levels,
                                uint32_t dim, uint32_t drop);
/* Appends atoms as levels of a dimension that are cut as one: tiles of ceil(local / their product). */
void placement_push(const AtomSpace *space, Placement *placement, uint32_t dim, const uint8_t *atoms,
                    uint32_t n);
/* Takes the last `n` levels of a dimension away: their atoms are replicated. */
void placement_pop(const AtomSpace *space, Placement *placement, uint32_t dim, uint32_t n);
/* Whether the last `n` levels of a dimension are one uniform cut (each tile the next one's times its atom).
 */
bool levels_uniform(const AtomSpace *space, const Placement *placement, const Levels *levels, uint32_t n);

/* The atoms of a mask or a list as an axis list, in the list's order, in `arena`. */
AxisList atoms_axes(Arena *arena, const AtomSpace *space, const uint8_t *atoms, uint32_t n);

/* [start, stop) of a dimension that a device holds, clipped to the array. */
void placement_interval(const AtomSpace *space, const Placement *placement, uint32_t dim, uint32_t device,
                        int64_t *start, int64_t *stop);

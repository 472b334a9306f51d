/* Device meshes: where JAX's create_device_mesh puts the axes of a mesh on a slice of TPUs, so that `auto`
 * lies as a user's own mesh would. In: a generation, a torus, sizes of mesh axes. Out: for each mesh axis the
 * parts of torus axes that it goes along, or an order of all chips. Source: jax/_src/mesh_utils.py. */
#pragma once

#include "sim/config/pod.h"

/* A part of a torus axis: `size` of its chips. */
typedef struct {
  uint32_t axis;
  int64_t size;
} TorusPart;

typedef Vec(TorusPart) TorusParts; /* major to minor; empty for an axis of size 1 */

/* Chips in an order in which each is next to the one before, and the last to the first: numbers with x
 * fastest (x + y X + z X Y). NULL where create_device_mesh knows none for such a slice, or does not take it
 * for such a mesh. */
const uint8_t *device_mesh_ring(const Pod *pod, const int64_t *sizes, uint32_t n_axes);

/* Parts for every mesh axis, the last axes first served: several whole torus axes before one, one before
 * parts of some. The sizes' product must be the torus's. Where mesh axes share a torus axis, the earlier one
 * is the outer. */
void device_mesh_parts(Arena *arena, const int64_t torus[POD_AXES], const int64_t *sizes, uint32_t n_axes,
                       TorusParts *parts);

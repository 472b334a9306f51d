/* Mesh layout: which chip each device of the program's mesh is, by [mesh] layout. Changes where bytes travel,
 * never what is computed.
 *
 *   auto             a mesh of the pod's shape axis by axis, others as JAX's create_device_mesh lays them; a
 *                    mesh that has a device order of its own, or none that the program tells, row-major
 *   row-major        device d is chip d
 *   data:x,model:y*z mesh axis : torus axes, major first. A number takes a part of a torus axis: data:x2 is
 *                    two of its chips; a mesh axis with one torus axis takes as many as it has anyway. Of
 * mesh axes that share a torus axis the program's earlier one is the outer.
 *
 * In a pod of several slices `dcn` stands for them, as a torus axis more: data:dcn*x. `auto` gives them to
 * the first axes of the mesh, as the outer part, as JAX's create_hybrid_device_mesh does; what is left of the
 * mesh lies in each slice alike. */
#pragma once

#include "sim/config/pod.h"
#include "sim/shard/sharding.h"

typedef struct {
  uint32_t *chip_of; /* by device */
  Str text;          /* "data along x, model along y*z" */
} MeshLayout;

/* `mesh` NULL: a single device. STATUS_INVALID where the layout names what is not there, or its parts do not
 * make up the mesh's axes and the torus. */
Status mesh_layout(Arena *arena, const Pod *pod, const Mesh *mesh, MeshLayout *layout, Diag *diag);

/* The layouts that a sweep tries for a mesh, as mesh.layout is written: row-major, and every way of laying
 * whole torus axes along the mesh's. */
#pragma once

#include "sim/config/pod.h"
#include "sim/shard/sharding.h"

typedef Vec(Str) Layouts;

Layouts layout_choices(Arena *arena, const Pod *pod, const Mesh *mesh);

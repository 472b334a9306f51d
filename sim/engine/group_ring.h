/* One ring through all members of a group, for kernels and programs that pass blocks on from neighbour to
 * neighbour. */
#pragma once

#include "sim/engine/group_layout.h"

typedef struct {
  uint32_t *members; /* in the order of the ring; the last is followed by the first */
  uint32_t load;     /* of the fullest link, when every chip sends to both of its neighbours */
} GroupRing;

/* On a torus or a box with an axis of even length all neighbours are one hop apart; on a line the ring closes
 * over the links that it is made of. */
GroupRing group_ring(Arena *arena, const Pod *pod, const GroupLayout *group);

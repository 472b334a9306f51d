/* The steps of a gather and of a reduce-scatter along one axis of a group, both ways at once: on a ring each
 * block goes half way round in each direction (the one opposite is split between them), on a line from end to
 * end. Steps: length / 2 on a ring, length - 1 on a line. */
#pragma once

#include "sim/engine/dma_kernel.h"

/* Elements [at, at + n) of a buffer in `parts` parts, as equal as can be. */
typedef struct {
  uint32_t buffer;
  int64_t at, n;
  uint32_t parts;
} Split;

/* Parts [first, first + count). */
Slice split_slice(Split split, uint32_t first, uint32_t count);

/* One axis as a member sees it. Block b of the axis is parts [first + b * stride, + stride) of the split. */
typedef struct {
  uint32_t position, length;
  bool ring;
  uint32_t next, previous; /* members; NO_MEMBER beyond the end of a line */
  uint32_t chunks;         /* that a block is passed on in, so that a hop's latency hides behind the next */
  Split split;
  uint32_t first, stride;
  uint32_t semaphores; /* the first of ring_semaphores() */
  uint32_t ports;      /* two semaphores, one a direction, at 1 while nothing is being sent there */
  Slice slots;         /* of a reduce-scatter: room for ring_slots() blocks */
} Ring;

uint32_t ring_semaphores(uint32_t length, bool ring);
enum { RING_SLOTS = 4 /* two for each direction */, RING_PORTS = 2 };

/* Every member holds its own block; after it all hold all blocks. */
void ring_gather(Kernel *kernel, const Ring *ring);
/* Every member holds a summand of all blocks; after it block `position` is the whole sum, the others are
 * spent. The order of summands is that of the ring, whoever comes first. */
void ring_scatter(Kernel *kernel, const Ring *ring);

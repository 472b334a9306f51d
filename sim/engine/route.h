/* Routes on the torus: dimension order, first axis first, the shorter way round on an axis that wraps. */
#pragma once

#include "sim/config/pod.h"

/* A directed link leaves `chip` along `axis`, upwards or downwards. */
typedef struct {
  uint32_t chip, axis;
  bool down;
} Link;

/* Links from each chip: 2 * axis + down. */
enum { LINKS_PER_CHIP = 2 * POD_AXES };

/* The chip at the far end of a link. */
uint32_t link_end(const Pod *pod, Link link);
/* Calls `visit` for every link from `from` to `to`, in order; returns how many. `visit` may be NULL. */
uint32_t route_links(const Pod *pod, uint32_t from, uint32_t to, void (*visit)(void *self, Link link),
                     void *self);
/* The way that an axis is gone from coordinate a to b: +1 or -1. */
int route_direction(int64_t a, int64_t b, int64_t length, bool wrap);

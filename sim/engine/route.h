/* Routes. Within a slice on the torus: dimension order, first axis first, the shorter way round on an axis
 * that wraps; on a twisted torus the shortest way over its seams. Between slices over the data-centre
 * network: out of one chip's part of its host's network cards, into the other's. */
#pragma once

#include "sim/config/pod.h"

enum { DCN_AXIS = POD_AXES };

/* A directed link leaves `chip` along `axis`, upwards or downwards. Along DCN_AXIS there are two, of the chip
 * alone: what it sends goes over the first, what comes to it over the one that is `down`. */
typedef struct {
  uint32_t chip, axis;
  bool down;
} Link;

/* Links of each chip: 2 * axis + down. */
enum { LINKS_PER_CHIP = 2 * (POD_AXES + 1) };

/* The chip at the far end of a link of the torus. */
uint32_t link_end(const Pod *pod, Link link);
/* Calls `visit` for every link from `from` to `to`, in order; returns how many. `visit` may be NULL. */
uint32_t route_links(const Pod *pod, uint32_t from, uint32_t to, void (*visit)(void *self, Link link),
                     void *self);
/* Of a route within a slice: steps along each axis, signed. */
void route_steps(const Pod *pod, uint32_t from, uint32_t to, int64_t steps[POD_AXES]);
/* Whether a route leaves its slice. */
bool route_is_dcn(const Pod *pod, uint32_t from, uint32_t to);
/* From the last byte's leaving to its landing. */
int64_t route_latency_ps(const Pod *pod, uint32_t from, uint32_t to);
/* The way that an axis is gone from coordinate a to b: +1 or -1. */
int route_direction(int64_t a, int64_t b, int64_t length, bool wrap);

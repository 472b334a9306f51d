/* The pod as a SimGrid platform: links without latency (the fabric pays it), shared fairly by the flows on
 * them. */
#pragma once

#include "sim/config/pod.h"

#include <simgrid/host.h>

typedef struct {
  sg_host_t *hosts; /* of each chip */
  sg_host_t *cards; /* of each chip: its end of the data-centre network; NULL in a pod of one slice */
} Platform;

/* The chip whose host is at the far end of a link in SimGrid's zone, which is not twisted: a flow from the
 * link's chip to it loads the link alone. */
uint32_t platform_link_end(const Pod *pod, uint32_t chip, uint32_t axis, bool down);
/* Starts SimGrid and loads the pod. Once a process: a second call is an error. */
Status platform_start(Arena *arena, const Pod *pod, Platform *platform, Diag *diag);

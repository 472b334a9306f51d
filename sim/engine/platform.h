/* The pod as a SimGrid platform: links without latency (the fabric pays it), shared fairly by the flows on
 * them. */
#pragma once

#include "sim/config/pod.h"

#include <simgrid/host.h>

typedef struct {
  sg_host_t *hosts; /* of each chip */
} Platform;

/* Starts SimGrid and loads the pod. Once a process: a second call is an error. */
Status platform_start(Arena *arena, const Pod *pod, Platform *platform, Diag *diag);
/* Bytes a second of a link, one way, as the platform has it. */
double pod_link_bw_Bps(const Pod *pod);
/* Latency of a hop. */
int64_t pod_hop_ps(const Pod *pod);

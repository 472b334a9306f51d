/* The pod as a SimGrid platform: links without latency (the fabric pays it), shared fairly by the flows on
 * them. */
#pragma once

#include "sim/config/pod.h"

#include <simgrid/host.h>

typedef struct {
  sg_host_t *hosts; /* of each chip */
  sg_host_t *cards; /* of each chip: its end of the data-centre network; NULL in a pod of one slice */
} Platform;

/* Starts SimGrid and loads the pod. Once a process: a second call is an error. */
Status platform_start(Arena *arena, const Pod *pod, Platform *platform, Diag *diag);

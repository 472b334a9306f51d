/* What transfers that run side by side leave on the links of their routes. */
#pragma once

#include "models/ici_model.h"
#include "sim/engine/route.h"

typedef struct {
  Arena *arena;
  const Pod *pod;
  double *link_bytes; /* LINKS_PER_CHIP a chip */
  double transfer_bytes;
  double most, most_dcn; /* on the fullest link of the torus, and of the network between slices */
  uint32_t hops;         /* of the longest route within a slice */
} RouteLoads;

/* Free it with route_loads_free(). */
RouteLoads route_loads_new(const Pod *pod);
void route_loads_add(RouteLoads *loads, uint32_t from, uint32_t to, double bytes);
void route_loads_free(RouteLoads *loads);

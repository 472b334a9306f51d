/* Loads of links, a transfer after the other. */
#include "sim/engine/route_loads.h"

RouteLoads route_loads_new(const Pod *pod) {
  Arena *arena = arena_new();
  return (RouteLoads){.arena = arena,
                      .pod = pod,
                      .link_bytes = ARENA_ARRAY(arena, double, (size_t)pod->n_chips *LINKS_PER_CHIP)};
}

static void add_load(void *self, Link link) {
  RouteLoads *loads = self;
  double *bytes = &loads->link_bytes[link.chip * LINKS_PER_CHIP + 2 * link.axis + link.down];
  double *most = link.axis == DCN_AXIS ? &loads->most_dcn : &loads->most;
  *bytes += loads->transfer_bytes;
  if (*bytes > *most) *most = *bytes;
}

void route_loads_add(RouteLoads *loads, uint32_t from, uint32_t to, double bytes) {
  loads->transfer_bytes = bytes;
  uint32_t hops = route_links(loads->pod, from, to, add_load, loads);
  if (!route_is_dcn(loads->pod, from, to) && hops > loads->hops) loads->hops = hops;
}

void route_loads_free(RouteLoads *loads) {
  arena_free(loads->arena);
}

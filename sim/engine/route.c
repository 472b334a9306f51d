/* Routes: the same ones that SimGrid's torus zone takes (tests hold them equal), so that the ledger's link
 * events name the links that the flows load. */
#include "sim/engine/route.h"

#include "models/ici_model.h"

int route_direction(int64_t a, int64_t b, int64_t length, bool wrap) {
  if (!wrap) return b > a ? 1 : -1;
  int64_t up = (b - a + length) % length;
  if (2 * up != length) return 2 * up < length ? 1 : -1;
  return b == 0 && 2 * a == length ? -1
                                   : 1; /* half way round: up, but for this one pair, as SimGrid has it */
}

static int64_t moved(const Pod *pod, uint32_t axis, int64_t at, int step) {
  int64_t length = pod->shape[axis];
  return (at + step + length) % length;
}

uint32_t link_end(const Pod *pod, Link link) {
  int64_t at[POD_AXES];
  pod_coordinates(pod, link.chip, at);
  at[link.axis] = moved(pod, link.axis, at[link.axis], link.down ? -1 : 1);
  return pod_chip(pod, pod_slice(pod, link.chip), at);
}

static uint32_t torus_links(const Pod *pod, uint32_t from, uint32_t to, void (*visit)(void *self, Link link),
                            void *self) {
  int64_t at[POD_AXES], end[POD_AXES];
  pod_coordinates(pod, from, at);
  pod_coordinates(pod, to, end);
  uint32_t hops = 0, slice = pod_slice(pod, from);
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    if (at[axis] == end[axis]) continue;
    int step = route_direction(at[axis], end[axis], pod->shape[axis], pod->wrap[axis]);
    for (; at[axis] != end[axis]; at[axis] = moved(pod, axis, at[axis], step), hops++)
      if (visit != NULL) visit(self, (Link){pod_chip(pod, slice, at), axis, step < 0});
  }
  return hops;
}

bool route_is_dcn(const Pod *pod, uint32_t from, uint32_t to) {
  return pod_slice(pod, from) != pod_slice(pod, to);
}

uint32_t route_links(const Pod *pod, uint32_t from, uint32_t to, void (*visit)(void *self, Link link),
                     void *self) {
  if (!route_is_dcn(pod, from, to)) return torus_links(pod, from, to, visit, self);
  if (visit != NULL) {
    visit(self, (Link){from, DCN_AXIS, false});
    visit(self, (Link){to, DCN_AXIS, true});
  }
  return 2;
}

int64_t route_latency_ps(const Pod *pod, uint32_t from, uint32_t to) {
  if (route_is_dcn(pod, from, to)) return pod->dcn_lat_ps;
  return torus_links(pod, from, to, NULL, NULL) * ici_hop_ps(pod);
}

/* Routes: the same ones that SimGrid's torus zone takes (tests hold them equal), so that the ledger's link
 * events name the links that the flows load. */
#include "sim/engine/route.h"

#include "models/ici_model.h"

#include <stdlib.h>

int route_direction(int64_t a, int64_t b, int64_t length, bool wrap) {
  if (!wrap) return b > a ? 1 : -1;
  int64_t up = (b - a + length) % length;
  if (2 * up != length) return 2 * up < length ? 1 : -1;
  return b == 0 && 2 * a == length ? -1
                                   : 1; /* half way round: up, but for this one pair, as SimGrid has it */
}

/* A step along an axis. Over the seam of a twisted torus a short axis comes back half way along the long
 * ones. */
static void move(const Pod *pod, uint32_t axis, int step, int64_t at[POD_AXES]) {
  int64_t length = pod->shape[axis];
  at[axis] += step;
  if (at[axis] >= 0 && at[axis] < length) return;
  at[axis] = (at[axis] + length) % length;
  if (!pod_axis_is_short(pod, axis)) return;
  for (uint32_t i = 0; i < pod->n_axes; i++)
    if (pod->shape[i] > length) at[i] = (at[i] + length) % pod->shape[i];
}

uint32_t link_end(const Pod *pod, Link link) {
  int64_t at[POD_AXES];
  pod_coordinates(pod, link.chip, at);
  move(pod, link.axis, link.down ? -1 : 1, at);
  return pod_chip(pod, pod_slice(pod, link.chip), at);
}

/* Steps along each axis, signed: on each its shorter way. */
static void plain_steps(const Pod *pod, const int64_t from[POD_AXES], const int64_t to[POD_AXES],
                        int64_t steps[POD_AXES]) {
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    int64_t length = pod->shape[axis], up = (to[axis] - from[axis] + length) % length;
    bool goes_up = up != 0 && route_direction(from[axis], to[axis], length, pod->wrap[axis]) > 0;
    steps[axis] = up == 0 ? 0 : goes_up ? up : up - length;
  }
}

/* Ways on a twisted torus that are alike in length. */
typedef struct {
  int64_t steps[64][POD_AXES];
  int64_t length;
  uint32_t n;
} Ways;

/* Signed steps when the seam of each short axis is crossed seams[axis] times, and a long axis gone half way
 * round downwards where `down` says so; false where either says nothing about its axis. */
static bool find_way(const Pod *pod, const int64_t there[POD_AXES], const int64_t seams[POD_AXES],
                     const bool down[POD_AXES], int64_t steps[POD_AXES]) {
  int64_t crossed = 0;
  for (uint32_t axis = 0; axis < POD_AXES; axis++) crossed += seams[axis];
  for (uint32_t axis = 0; axis < POD_AXES; axis++) {
    int64_t length = pod->shape[axis], up = (there[axis] - crossed * length / 2 + 4 * length) % length;
    bool is_short = pod_axis_is_short(pod, axis), is_half = !is_short && 2 * up == length;
    if ((!is_short && seams[axis] != 0) || (!is_half && down[axis])) return false;
    steps[axis] = is_short                        ? there[axis] + seams[axis] * length
                  : 2 * up > length || down[axis] ? up - length
                                                  : up;
  }
  return true;
}

static void add_way(Ways *ways, const int64_t steps[POD_AXES]) {
  int64_t length = 0;
  for (uint32_t axis = 0; axis < POD_AXES; axis++) length += llabs(steps[axis]);
  if (length > ways->length) return;
  if (length < ways->length) ways->n = 0;
  ways->length = length;
  memcpy(ways->steps[ways->n++], steps, sizeof ways->steps[0]);
}

/* One of the shortest ways: of several another for each pair of ends, so that all links carry the same. */
static void twisted_steps(const Pod *pod, const int64_t from[POD_AXES], const int64_t to[POD_AXES],
                          int64_t steps[POD_AXES]) {
  Ways ways = {.length = INT64_MAX};
  int64_t there[POD_AXES], sum = 0;
  for (uint32_t axis = 0; axis < POD_AXES; axis++) {
    there[axis] = to[axis] - from[axis];
    sum += to[axis] + from[axis];
  }
  for (uint32_t way = 0; way < 27 * 8; way++) {
    int64_t seams[POD_AXES] = {(int64_t)(way % 3) - 1, (int64_t)(way / 3 % 3) - 1,
                               (int64_t)(way / 9 % 3) - 1};
    bool down[POD_AXES] = {way / 27 & 1, way / 27 >> 1 & 1, way / 27 >> 2 & 1};
    if (find_way(pod, there, seams, down, steps)) add_way(&ways, steps);
  }
  memcpy(steps, ways.steps[sum % ways.n], sizeof ways.steps[0]);
}

void route_steps(const Pod *pod, uint32_t from, uint32_t to, int64_t steps[POD_AXES]) {
  int64_t at[POD_AXES], end[POD_AXES];
  pod_coordinates(pod, from, at);
  pod_coordinates(pod, to, end);
  memset(steps, 0, POD_AXES * sizeof *steps);
  (pod->twist ? twisted_steps : plain_steps)(pod, at, end, steps);
}

static uint32_t torus_links(const Pod *pod, uint32_t from, uint32_t to, void (*visit)(void *self, Link link),
                            void *self) {
  int64_t at[POD_AXES], steps[POD_AXES];
  pod_coordinates(pod, from, at);
  route_steps(pod, from, to, steps);
  uint32_t hops = 0, slice = pod_slice(pod, from);
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    int step = steps[axis] < 0 ? -1 : 1;
    for (int64_t left = llabs(steps[axis]); left > 0; left--, hops++) {
      if (visit != NULL) visit(self, (Link){pod_chip(pod, slice, at), axis, step < 0});
      move(pod, axis, step, at);
    }
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

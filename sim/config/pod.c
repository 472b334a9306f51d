/* Where a chip lies on the torus. */
#include "sim/config/pod.h"

void pod_coordinates(const Pod *pod, uint32_t chip, int64_t coordinates[POD_AXES]) {
  int64_t rest = chip;
  for (uint32_t axis = POD_AXES; axis-- > 0;) {
    int64_t length = axis < pod->n_axes ? pod->shape[axis] : 1;
    coordinates[axis] = rest % length;
    rest /= length;
  }
}

uint32_t pod_chip(const Pod *pod, uint32_t slice, const int64_t coordinates[POD_AXES]) {
  int64_t chip = slice;
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) chip = chip * pod->shape[axis] + coordinates[axis];
  return (uint32_t)chip;
}

uint32_t pod_slice(const Pod *pod, uint32_t chip) {
  return chip / pod->slice_chips;
}

bool pod_axis_is_short(const Pod *pod, uint32_t axis) {
  bool is_short = false;
  for (uint32_t i = 0; pod->twist && i < pod->n_axes; i++) is_short |= pod->shape[i] > pod->shape[axis];
  return is_short;
}

bool pod_axis_is_ring(const Pod *pod, uint32_t axis) {
  return pod->wrap[axis] && !pod_axis_is_short(pod, axis);
}

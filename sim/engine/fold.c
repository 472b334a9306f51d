/* Folds. Likeness is tried, not proven by rules: each member's kernel is run without time, and what it sends,
 * signals and waits for is hashed with chips and links relative to its own. */
#include "sim/engine/fold.h"

#include "sim/base/mix.h"

void likeness_add(const Likeness *likeness, const Pod *pod, const LaunchSpec *spec, uint64_t collective) {
  for (uint32_t member = 0; member < spec->members; member++) {
    uint64_t *own = &likeness->of_chip[spec->chips[member]];
    *own = mix64(mix64(*own ^ collective) ^ kernel_trace_hash(pod, spec, member));
  }
}

/* Whether each chip is as the one `stride` places further along an axis. */
static bool are_alike(const Pod *pod, const Likeness *likeness, uint32_t axis, int64_t stride) {
  for (uint32_t chip = 0; chip < pod->n_chips; chip++) {
    int64_t at[POD_AXES];
    pod_coordinates(pod, chip, at);
    at[axis] = (at[axis] + stride) % pod->shape[axis];
    if (likeness->of_chip[chip] != likeness->of_chip[pod_chip(pod, pod_slice(pod, chip), at)]) return false;
  }
  return true;
}

Fold fold_by_likeness(const Pod *pod, const Likeness *likeness) {
  Fold fold = {.pod = pod};
  for (uint32_t axis = 0; axis < POD_AXES; axis++) {
    int64_t length = pod->shape[axis];
    fold.stride[axis] = axis < pod->n_axes ? length : 1;
    if (axis >= pod->n_axes || !pod->wrap[axis] || pod->twist) continue;
    int64_t stride = 1;
    while (stride < length && (length % stride != 0 || !are_alike(pod, likeness, axis, stride))) stride++;
    fold.stride[axis] = stride;
  }
  return fold;
}

uint32_t fold_times(const Fold *fold) {
  int64_t times = 1;
  for (uint32_t axis = 0; axis < fold->pod->n_axes; axis++)
    times *= fold->pod->shape[axis] / fold->stride[axis];
  return (uint32_t)times;
}

uint32_t fold_chip(const Fold *fold, uint32_t chip) {
  if (fold == NULL) return chip;
  int64_t at[POD_AXES];
  pod_coordinates(fold->pod, chip, at);
  for (uint32_t axis = 0; axis < fold->pod->n_axes; axis++) at[axis] %= fold->stride[axis];
  return pod_chip(fold->pod, pod_slice(fold->pod, chip), at);
}

uint32_t fold_along(const Fold *fold, uint32_t chip, uint32_t moved) {
  if (fold == NULL || chip == NO_PEER) return chip;
  int64_t at[POD_AXES], from[POD_AXES];
  pod_coordinates(fold->pod, chip, at);
  pod_coordinates(fold->pod, moved, from);
  for (uint32_t axis = 0; axis < fold->pod->n_axes; axis++) {
    int64_t length = fold->pod->shape[axis], by = from[axis] - from[axis] % fold->stride[axis];
    at[axis] = (at[axis] - by + length) % length;
  }
  return pod_chip(fold->pod, pod_slice(fold->pod, chip), at);
}

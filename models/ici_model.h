/* Closed forms of ICI: what each collective takes on rings, lines and tori. Pure functions. Used for
 * `ideal_seconds`, `explain` and the tests of the engine. */
#pragma once

#include "sim/config/pod.h"

typedef enum {
  COLLECTIVE_ALL_GATHER,
  COLLECTIVE_REDUCE_SCATTER,
  COLLECTIVE_ALL_REDUCE,
  COLLECTIVE_ALL_TO_ALL,
  COLLECTIVE_PERMUTE,
  COLLECTIVE_BROADCAST,
  COLLECTIVE_RAGGED_ALL_TO_ALL,
  COLLECTIVE_KINDS
} CollectiveKind;

/* As HLO names it: "all-gather". */
const char *collective_text(CollectiveKind kind);

/* The torus segment that a group spans: `n_axes` axes of these lengths, wrapping or not (an axis wraps where
 * the group has all of it and the pod's axis wraps); n_axes 0 for a group that is none: it counts as a
 * ring of its members. */
typedef struct {
  uint32_t n_axes;
  int64_t length[POD_AXES];
  bool wrap[POD_AXES];
  int64_t members;
} GroupShape;

/* Seconds at full link bandwidth alone: no latency, no protocol cost. `bytes`: the whole gathered or reduced
 * value V for gather, scatter and all-reduce; what a chip holds for all-to-all, permute and broadcast. */
double collective_ideal_seconds(const Pod *pod, CollectiveKind kind, GroupShape group, double bytes);

/* Hops, one after another, that the collective cannot do without: times the latency, its time for few
 * bytes. A permute counts as one hop. */
int64_t collective_hops(CollectiveKind kind, GroupShape group);

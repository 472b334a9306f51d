/* What links cost, and the closed forms of ICI: what each collective takes on rings, lines and tori, and over
 * the network between slices. Pure functions. Used by the engine, for the choice of algorithms,
 * `ideal_seconds`, `explain` and tests. */
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

/* Payload that a link carries, one way; latency of a hop; what a kernel takes before its first DMA. With
 * ici.ideal the bandwidth is all that counts. */
double ici_link_bw_Bps(const Pod *pod);
int64_t ici_hop_ps(const Pod *pod);
int64_t ici_startup_ps(const Pod *pod);

/* The same in seconds: a kernel, a hop, a byte over a link (or one of them alone, in its own unit); and a
 * transfer and a byte between slices. */
typedef struct {
  double startup, hop, byte, dcn_hop, dcn_byte;
} IciCost;

IciCost ici_cost(const Pod *pod);
/* Of a kernel whose longest way has so many hops, one after the other, and so many bytes over one link after
 * the other. */
double ici_seconds(IciCost cost, double hops, double link_bytes);

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
  int64_t slices; /* that it spans, the same segment in each; 0 as 1 */
} GroupShape;

/* Seconds at full link bandwidth alone: no latency, no protocol cost. `bytes`: the whole gathered or reduced
 * value V for gather, scatter and all-reduce; what a chip holds for all-to-all, permute and broadcast. */
double collective_ideal_seconds(const Pod *pod, CollectiveKind kind, GroupShape group, double bytes);

/* What a collective is expected to take with its links to itself: the closed form at the payload's bandwidth,
 * its hops and its start-up. */
double collective_expected_seconds(const Pod *pod, CollectiveKind kind, GroupShape group, double bytes);

/* Hops, one after another, that the collective cannot do without: times the latency, its time for few
 * bytes. A permute counts as one hop. */
int64_t collective_hops(CollectiveKind kind, GroupShape group);

/* Closed forms of ICI. In: the segment of the torus that a group spans and bytes; out: seconds.
 *
 * The one idea is the fullest cut. A gather must bring V (N-1)/N bytes to every chip, through as many links
 * as the worst-placed chip has: two on an axis that wraps, one at the end of a line. An all-to-all must
 * bring half of a line's (or ring's) bytes across its middle: one link each way, two where it wraps.
 *
 *   all-gather, reduce-scatter   V (N-1)/N / (ports bw)
 *   all-reduce                   a reduce-scatter and an all-gather
 *   all-to-all                   its slowest axis: B L/8 / bw on a ring of L, B L/4 / bw on a line
 *   broadcast                    B / (ports bw)
 *   permute                      B / bw
 *
 * ports: over all axes 2 for a ring, 1 for a line. An odd ring or line of L counts as (L L - 1)/L chips
 * there. Source: JAX Scaling Book, "Sharded matrices" (there W = 2 bw, and N-1 counts as N).
 *
 * A group that spans S slices has the cut around each of them too, through its N/S chips there: for a gather
 * V (S-1)/S / (N/S dcn). The larger of both counts.
 *
 * A simulated collective takes more: start-up + hops x latency + bytes / (bw x efficiency). */
#include "models/ici_model.h"

static const char *const collective_texts[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALL_GATHER] = "all-gather",
    [COLLECTIVE_REDUCE_SCATTER] = "reduce-scatter",
    [COLLECTIVE_ALL_REDUCE] = "all-reduce",
    [COLLECTIVE_ALL_TO_ALL] = "all-to-all",
    [COLLECTIVE_PERMUTE] = "collective-permute",
    [COLLECTIVE_BROADCAST] = "collective-broadcast",
    [COLLECTIVE_RAGGED_ALL_TO_ALL] = "ragged-all-to-all",
};

double ici_link_bw_Bps(const Pod *pod) {
  return pod->ici_ideal ? pod->ici_bw_Bps : pod->ici_bw_Bps * pod->ici_efficiency;
}

int64_t ici_hop_ps(const Pod *pod) {
  return pod->ici_ideal ? 0 : pod->ici_lat_ps;
}

int64_t ici_startup_ps(const Pod *pod) {
  return pod->ici_ideal ? 0 : pod->ici_startup_ps;
}

IciCost ici_cost(const Pod *pod) {
  return (IciCost){.startup = (double)ici_startup_ps(pod) * 1e-12,
                   .hop = (double)ici_hop_ps(pod) * 1e-12,
                   .byte = 1 / ici_link_bw_Bps(pod),
                   .dcn_hop = (double)pod->dcn_lat_ps * 1e-12,
                   .dcn_byte = 1 / pod->dcn_bw_Bps};
}

double ici_seconds(IciCost cost, double hops, double link_bytes) {
  return cost.startup + hops * cost.hop + link_bytes * cost.byte;
}

const char *collective_text(CollectiveKind kind) {
  return collective_texts[kind];
}

/* A group that is no segment as the ring that its kernel runs on; other groups as they are. */
static GroupShape as_segment(GroupShape group) {
  if (group.n_axes != 0 || group.slices == group.members) return group;
  return (GroupShape){.n_axes = 1,
                      .length = {group.members},
                      .wrap = {true},
                      .members = group.members,
                      .slices = group.slices};
}

/* Links that bring bytes to the chip with the fewest. */
static int64_t ports(GroupShape group) {
  int64_t sum = 0;
  for (uint32_t axis = 0; axis < group.n_axes; axis++) {
    if (group.length[axis] > 1) sum += group.wrap[axis] ? 2 : 1;
  }
  return sum;
}

/* Of the `bytes` a chip spreads evenly over the group, those that each link of the fullest axis carries. */
static double all_to_all_link_bytes(GroupShape group, double bytes) {
  double most = 0;
  for (uint32_t axis = 0; axis < group.n_axes; axis++) {
    double length = (double)group.length[axis];
    double even = group.length[axis] % 2 == 0 ? length : (length * length - 1) / length;
    double link_bytes = bytes * even / (group.wrap[axis] ? 8 : 4);
    if (link_bytes > most) most = link_bytes;
  }
  return most;
}

/* Through the links of a chip, or across the middle of an axis. */
static double chip_cut_seconds(const Pod *pod, CollectiveKind kind, GroupShape group, double bytes) {
  double chip_Bps = (double)ports(group) * pod->ici_bw_Bps;
  if (chip_Bps == 0) return 0;
  if (group.slices > 1) chip_Bps += pod->dcn_bw_Bps;
  double members = (double)group.members, gather_s = bytes * (members - 1) / members / chip_Bps;
  switch (kind) {
  case COLLECTIVE_ALL_GATHER:
  case COLLECTIVE_REDUCE_SCATTER: return gather_s;
  case COLLECTIVE_ALL_REDUCE: return 2 * gather_s;
  case COLLECTIVE_ALL_TO_ALL:
  case COLLECTIVE_RAGGED_ALL_TO_ALL: {
    double within = group.slices > 1 ? bytes / (double)group.slices : bytes;
    return all_to_all_link_bytes(group, within) / pod->ici_bw_Bps;
  }
  case COLLECTIVE_BROADCAST: return bytes / chip_Bps;
  case COLLECTIVE_PERMUTE: return bytes / pod->ici_bw_Bps;
  case COLLECTIVE_KINDS: break;
  }
  return 0;
}

/* Out of a slice, or into it, through the network cards of the group's chips there. */
static double slice_cut_seconds(const Pod *pod, CollectiveKind kind, GroupShape group, double bytes) {
  if (group.slices <= 1) return 0;
  double slices = (double)group.slices, others = (slices - 1) / slices;
  double slice_Bps = (double)group.members / slices * pod->dcn_bw_Bps;
  switch (kind) {
  case COLLECTIVE_ALL_GATHER:
  case COLLECTIVE_REDUCE_SCATTER: return bytes * others / slice_Bps;
  case COLLECTIVE_ALL_REDUCE: return 2 * bytes * others / slice_Bps;
  case COLLECTIVE_ALL_TO_ALL:
  case COLLECTIVE_RAGGED_ALL_TO_ALL: return bytes * others / pod->dcn_bw_Bps;
  case COLLECTIVE_BROADCAST: return bytes / slice_Bps;
  case COLLECTIVE_PERMUTE: return bytes / pod->dcn_bw_Bps;
  case COLLECTIVE_KINDS: break;
  }
  return 0;
}

double collective_ideal_seconds(const Pod *pod, CollectiveKind kind, GroupShape group, double bytes) {
  group = as_segment(group);
  double chip_s = chip_cut_seconds(pod, kind, group, bytes);
  double slice_s = slice_cut_seconds(pod, kind, group, bytes);
  return chip_s > slice_s ? chip_s : slice_s;
}

int64_t collective_hops(CollectiveKind kind, GroupShape group) {
  group = as_segment(group);
  int64_t across = 0;
  for (uint32_t axis = 0; axis < group.n_axes; axis++)
    across += group.wrap[axis] ? group.length[axis] / 2 : group.length[axis] - 1;
  if (kind == COLLECTIVE_PERMUTE) return across > 0;
  return kind == COLLECTIVE_ALL_REDUCE ? 2 * across : across;
}

double collective_expected_seconds(const Pod *pod, CollectiveKind kind, GroupShape group, double bytes) {
  double payload = ici_link_bw_Bps(pod) / pod->ici_bw_Bps;
  double dcn_hops = group.slices <= 1 ? 0 : kind == COLLECTIVE_ALL_REDUCE ? 2 : 1;
  IciCost cost = ici_cost(pod);
  return collective_ideal_seconds(pod, kind, group, bytes) / payload + dcn_hops * cost.dcn_hop +
         ici_seconds(cost, (double)collective_hops(kind, group), 0);
}

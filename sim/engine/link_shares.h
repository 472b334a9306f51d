/* Fair shares of links, for folded runs, where a link stands for many and a flow may cross it more than once.
 * In: flows as they start. Out: the dates of their ends, those that SimGrid gives the unfolded pod: shares
 * are max-min fair, bytes flow without grain, an end is rounded up to a picosecond. */
#pragma once

#include "sim/engine/actors.h"

typedef struct LinkShares LinkShares;

typedef struct {
  const uint32_t *links; /* as often as it crosses each */
  uint32_t n_links;
  double bytes; /* more than 0 */
  /* Called at its end, or when the first later asks. */
  void (*ended)(void *argument, int64_t end_ps);
  void *argument;
} LinkFlow;

/* Links have bandwidths bw_Bps[0 … n_links). Everything lives in the arena. */
LinkShares *link_shares_new(Arena *arena, Actors *actors, const double *bw_Bps, uint32_t n_links);
/* Starts a flow now, and returns at its end. Call from an actor. */
void link_shares_run(LinkShares *shares, LinkFlow flow);
/* Ends the flows whose end has come by now. */
void link_shares_catch_up(LinkShares *shares);

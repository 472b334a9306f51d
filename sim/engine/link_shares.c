/* Fluid flows. Between two dates at which a flow starts or ends all of them move at fixed rates; then rates
 * are found anew by filling all flows alike until a link is full, which fixes those that cross it, and going
 * on with the others (progressive filling; Bertsekas and Gallager, Data Networks, 1992). */
#include "sim/engine/link_shares.h"

#include "sim/base/vec.h"

#include <math.h>

typedef struct Moving Moving;

struct Moving {
  LinkFlow flow;
  double left;      /* bytes */
  double rate_Bpps; /* bytes a picosecond */
  bool fixed;
  Actor *waiter;
  bool ended;
  Moving *next_ended;
};

typedef struct {
  double room_Bpps;  /* that no fixed flow takes */
  uint32_t crossing; /* by flows that are not fixed */
  bool is_full;
} LinkState;

struct LinkShares {
  Arena *arena;
  Actors *actors;
  const double *bw_Bps;
  LinkState *links;
  Vec(uint32_t) used; /* links that any flow crosses */
  Vec(Moving *) moving;
  int64_t base_ps; /* the date up to which bytes have moved is base_ps + past_ps */
  double past_ps;
  bool stale;    /* rates are not those of the flows that are there */
  bool asked;    /* a clock is about to start at this date */
  uint64_t turn; /* of the last clock that started: others are late */
};

/* What SimGrid's dates are rounded up by, and what its precision takes to be the same date. */
static const double ROUNDING_PS = 0.02, SAME_DATE_PS = 0.01;
static const double SAME_SHARE = 1 + 1e-9;

LinkShares *link_shares_new(Arena *arena, Actors *actors, const double *bw_Bps, uint32_t n_links) {
  LinkShares *shares = ARENA_NEW(arena, LinkShares);
  *shares = (LinkShares){.arena = arena, .actors = actors, .bw_Bps = bw_Bps};
  shares->links = ARENA_ARRAY(arena, LinkState, n_links);
  return shares;
}

/* ---- rates */

static void list_used_links(LinkShares *shares) {
  shares->used.n = 0;
  for (uint32_t i = 0; i < shares->moving.n; i++) {
    Moving *moving = shares->moving.at[i];
    moving->fixed = false;
    for (uint32_t k = 0; k < moving->flow.n_links; k++) {
      uint32_t at = moving->flow.links[k];
      LinkState *link = &shares->links[at];
      if (link->crossing++ > 0) continue;
      link->room_Bpps = shares->bw_Bps[at] * 1e-12;
      VEC_PUSH(shares->arena, &shares->used, at);
    }
  }
}

/* The least share that a link has for those that cross it; infinite where no flow is left to fix. */
static double least_share(const LinkShares *shares) {
  double least = INFINITY;
  for (uint32_t i = 0; i < shares->used.n; i++) {
    const LinkState *link = &shares->links[shares->used.at[i]];
    if (link->crossing > 0) least = fmin(least, link->room_Bpps / link->crossing);
  }
  return least;
}

static bool crosses_full_link(const LinkShares *shares, const Moving *moving) {
  for (uint32_t k = 0; k < moving->flow.n_links; k++)
    if (shares->links[moving->flow.links[k]].is_full) return true;
  return false;
}

static void fix_rate(LinkShares *shares, Moving *moving, double rate_Bpps) {
  moving->fixed = true;
  moving->rate_Bpps = rate_Bpps;
  for (uint32_t k = 0; k < moving->flow.n_links; k++) {
    LinkState *link = &shares->links[moving->flow.links[k]];
    link->room_Bpps = fmax(0, link->room_Bpps - rate_Bpps);
    link->crossing--;
  }
}

static void find_rates(LinkShares *shares) {
  list_used_links(shares);
  for (double share; isfinite(share = least_share(shares));) {
    for (uint32_t i = 0; i < shares->used.n; i++) {
      LinkState *link = &shares->links[shares->used.at[i]];
      link->is_full = link->crossing > 0 && link->room_Bpps / link->crossing <= share * SAME_SHARE;
    }
    for (uint32_t i = 0; i < shares->moving.n; i++) {
      Moving *moving = shares->moving.at[i];
      if (!moving->fixed && crosses_full_link(shares, moving)) fix_rate(shares, moving, share);
    }
  }
  for (uint32_t i = 0; i < shares->used.n; i++) shares->links[shares->used.at[i]].is_full = false;
  shares->stale = false;
}

/* ---- time */

static double time_left_ps(const Moving *moving) {
  return moving->rate_Bpps > 0 ? fmax(0, moving->left / moving->rate_Bpps) : INFINITY;
}

static double until_next_end_ps(const LinkShares *shares) {
  double least = INFINITY;
  for (uint32_t i = 0; i < shares->moving.n; i++) least = fmin(least, time_left_ps(shares->moving.at[i]));
  return least;
}

static int64_t rounded_up_ps(const LinkShares *shares, double later_ps) {
  return shares->base_ps + (int64_t)ceil(shares->past_ps + later_ps - ROUNDING_PS);
}

static void move_bytes(LinkShares *shares, double ps) {
  for (uint32_t i = 0; i < shares->moving.n; i++)
    shares->moving.at[i]->left -= ps * shares->moving.at[i]->rate_Bpps;
  shares->past_ps += ps;
}

/* Takes those out that are through; gives them added to a list. Nobody is woken yet: others would run. */
static Moving *end_flows(LinkShares *shares, int64_t end_ps, Moving *list) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < shares->moving.n; i++) {
    Moving *moving = shares->moving.at[i];
    if (time_left_ps(moving) >= SAME_DATE_PS) {
      shares->moving.at[n++] = moving;
      continue;
    }
    moving->flow.ended(moving->flow.argument, end_ps);
    moving->next_ended = list;
    list = moving;
  }
  shares->moving.n = n;
  return list;
}

static void wake_all(Moving *list) {
  for (Moving *moving = list, *next; moving != NULL; moving = next) {
    next = moving->next_ended;
    moving->ended = true;
    actor_wake(moving->waiter);
  }
}

void link_shares_catch_up(LinkShares *shares) {
  int64_t now_ps = date_ps();
  if (shares->stale && now_ps == shares->base_ps) return; /* more may start at this date */
  if (shares->stale) find_rates(shares);
  Moving *ended = NULL;
  for (double next_ps; isfinite(next_ps = until_next_end_ps(shares));) {
    int64_t end_ps = rounded_up_ps(shares, next_ps);
    if (end_ps > now_ps) break;
    move_bytes(shares, next_ps);
    ended = end_flows(shares, end_ps, ended);
    find_rates(shares);
  }
  double rest_ps = (double)(now_ps - shares->base_ps) - shares->past_ps;
  if (rest_ps > 0) move_bytes(shares, rest_ps);
  shares->past_ps = fmax(0, -rest_ps);
  shares->base_ps = now_ps;
  wake_all(ended);
}

/* Wakes up at each end; when flows start another clock takes over. */
static void run_clock(void *argument) {
  LinkShares *shares = argument;
  uint64_t turn = ++shares->turn;
  shares->asked = false;
  for (;;) {
    link_shares_catch_up(shares);
    if (shares->stale) find_rates(shares);
    double next_ps = until_next_end_ps(shares);
    if (!isfinite(next_ps)) return;
    sleep_until_ps(rounded_up_ps(shares, next_ps));
    if (shares->turn != turn) return;
  }
}

void link_shares_run(LinkShares *shares, LinkFlow flow) {
  link_shares_catch_up(shares);
  Moving own = {.flow = flow, .left = flow.bytes, .waiter = actor_self()};
  VEC_PUSH(shares->arena, &shares->moving, &own);
  shares->stale = true;
  if (!shares->asked) {
    shares->asked = true;
    actors_spawn(shares->actors, run_clock, shares);
  }
  while (!own.ended) actor_park(own.waiter, (Waiting){.what = "its links"});
}

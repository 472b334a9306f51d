/* Fabric: a helper actor a flow. It holds the flow's lanes while SimGrid moves the bytes, then pays the
 * latency and lands the transfer. A transfer by way of a third chip is two flows side by side, as a stream
 * that is cut through there. On a twisted torus, which SimGrid does not know, it is a flow on each link. In a
 * folded run links are those of the chips that are simulated, and link_shares moves the bytes. */
#include "sim/engine/fabric.h"

#include "models/ici_model.h"
#include "sim/engine/fold.h"
#include "sim/engine/link_shares.h"
#include "sim/engine/platform.h"

#include <math.h>
#include <simgrid/engine.h>

typedef struct Job Job;

/* One flow of a transfer. */
typedef struct {
  Job *job;
  uint32_t from, to, host; /* whose host is the flow's end */
  int64_t start_ps;
  Vec(uint32_t) lanes; /* taken on its links, in the order of the route */
  Vec(uint32_t) links; /* the places of these */
} Leg;

/* What DMAs take of a chip's HBM. */
typedef struct {
  int64_t ended_bytes;   /* of those that have ended */
  Vec(const Leg *) legs; /* that read or write there now */
} HbmUse;

struct Job {
  Fabric *fabric;
  Transfer transfer;
  Leg *legs;
  uint32_t n_legs, cap_legs, legs_left, lane;
  int64_t start_ps, left_ps, latency_ps;
  Job *next_free;
};

struct Fabric {
  Arena *arena;
  const Pod *pod;
  const Fold *fold;
  Ledger *ledger;
  Platform platform;
  LinkShares *shares; /* of a folded run, else NULL */
  Actors *actors;
  Lanes *dma_lanes;  /* a chip */
  Lanes *sync_lanes; /* a chip */
  Lanes *link_lanes; /* LINKS_PER_CHIP a chip */
  HbmUse *hbm;       /* a chip */
  Job *free_jobs;
  uint32_t flows;
};

static LinkShares *folded_links(const Fabric *fabric) {
  const Pod *pod = fabric->pod;
  uint32_t n = pod->n_chips * LINKS_PER_CHIP;
  double *bw_Bps = ARENA_ARRAY(fabric->arena, double, n);
  for (uint32_t i = 0; i < n; i++)
    bw_Bps[i] = i % LINKS_PER_CHIP / 2 == DCN_AXIS ? pod->dcn_bw_Bps : ici_link_bw_Bps(pod);
  return link_shares_new(fabric->arena, fabric->actors, bw_Bps, n);
}

Status fabric_new(Arena *arena, const Pod *pod, const Fold *fold, Ledger *ledger, Fabric **fabric,
                  Diag *diag) {
  Fabric *own = ARENA_NEW(arena, Fabric);
  *own = (Fabric){.arena = arena, .pod = pod, .fold = fold, .ledger = ledger};
  TRY(platform_start(arena, pod, &own->platform, diag));
  own->actors = actors_new(arena);
  if (fold != NULL) own->shares = folded_links(own);
  own->dma_lanes = ARENA_ARRAY(arena, Lanes, pod->n_chips);
  own->sync_lanes = ARENA_ARRAY(arena, Lanes, pod->n_chips);
  own->link_lanes = ARENA_ARRAY(arena, Lanes, (size_t)pod->n_chips * LINKS_PER_CHIP);
  own->hbm = ARENA_ARRAY(arena, HbmUse, pod->n_chips);
  *fabric = own;
  return STATUS_OK;
}

Actors *fabric_actors(const Fabric *fabric) {
  return fabric->actors;
}

Lanes *fabric_sync_lanes(Fabric *fabric, uint32_t chip) {
  return &fabric->sync_lanes[chip];
}

/* An event on a chip; in a folded run it is told of the chip that is simulated for it. */
static void add_event(const Job *job, Event event) {
  const Fold *fold = job->fabric->fold;
  event.name = job->transfer.name;
  event.op = job->transfer.op;
  event.peer = fold_along(fold, job->transfer.to, event.chip);
  event.chip = fold_chip(fold, event.chip);
  event.flow = job->transfer.flow;
  event.bytes = job->transfer.bytes;
  ledger_add(job->fabric->ledger, event);
}

static uint32_t link_place(const Fabric *fabric, Link link) {
  return fold_chip(fabric->fold, link.chip) * LINKS_PER_CHIP + 2 * link.axis + link.down;
}

static Lanes *lanes_of(const Job *job, Link link) {
  return &job->fabric->link_lanes[link_place(job->fabric, link)];
}

static void occupy_link(void *self, Link link) {
  Leg *leg = self;
  Fabric *fabric = leg->job->fabric;
  uint32_t lane = lane_take(fabric->arena, lanes_of(leg->job, link), leg->start_ps);
  VEC_PUSH(fabric->arena, &leg->lanes, lane);
  VEC_PUSH(fabric->arena, &leg->links, link_place(fabric, link));
}

/* The end of a leg, and which of its links is being given back. */
typedef struct {
  const Leg *leg;
  int64_t end_ps;
  uint32_t at;
} Vacation;

static void vacate_link(void *self, Link link) {
  Vacation *vacation = self;
  const Leg *leg = vacation->leg;
  uint32_t lane = leg->lanes.at[vacation->at++];
  lane_give(lanes_of(leg->job, link), lane, vacation->end_ps);
  bool is_dcn = link.axis == DCN_AXIS;
  add_event(leg->job,
            (Event){.kind = EVENT_LINK,
                    .track = is_dcn ? TRACK_DCN : TRACK_LINK,
                    .chip = link.chip,
                    .lane = is_dcn ? link.down + 2 * lane : 2 * (link.axis + POD_AXES * lane) + link.down,
                    .start_ps = leg->start_ps,
                    .duration_ps = vacation->end_ps - leg->start_ps});
}

/* ---- HBM */

/* The chips whose HBM a leg reads and writes: the first leg of a transfer leaves its source, the last one
 * comes to its target. */
static void hbm_of(const Leg *leg, HbmUse *uses[2]) {
  const Job *job = leg->job;
  Fabric *fabric = job->fabric;
  uses[0] = leg == &job->legs[0] ? &fabric->hbm[fold_chip(fabric->fold, leg->from)] : NULL;
  uses[1] = leg->to == job->transfer.to ? &fabric->hbm[fold_chip(fabric->fold, leg->to)] : NULL;
}

static void enter_hbm(const Leg *leg) {
  HbmUse *uses[2];
  hbm_of(leg, uses);
  for (int i = 0; i < 2; i++)
    if (uses[i] != NULL) VEC_PUSH(leg->job->fabric->arena, &uses[i]->legs, leg);
}

static void leave_hbm(const Leg *leg) {
  HbmUse *uses[2];
  hbm_of(leg, uses);
  for (int i = 0; i < 2; i++) {
    if (uses[i] == NULL) continue;
    uint32_t at = 0;
    while (uses[i]->legs.at[at] != leg) at++;
    uses[i]->legs.at[at] = uses[i]->legs.at[--uses[i]->legs.n];
    uses[i]->ended_bytes += leg->job->transfer.bytes;
  }
}

/* The most flows on one of a leg's links. */
typedef struct {
  const Leg *leg;
  uint32_t flows;
} Crowd;

static void count_flows(void *self, Link link) {
  Crowd *crowd = self;
  const Lanes *lanes = lanes_of(crowd->leg->job, link);
  uint32_t flows = 0;
  for (uint32_t lane = 0; lane < lanes->n; lane++) flows += lanes->at[lane] == LANE_TAKEN;
  if (flows > crowd->flows) crowd->flows = flows;
}

/* A leg that has its links to itself moves at their bandwidth; others are taken to have the same shares all
 * the time, which their end puts right. */
static double leg_bytes(const Fabric *fabric, const Leg *leg, int64_t date_ps) {
  Crowd crowd = {leg, 1};
  route_links(fabric->pod, leg->from, leg->to, count_flows, &crowd);
  const Pod *pod = fabric->pod;
  double bw_Bps = route_is_dcn(pod, leg->from, leg->to) ? pod->dcn_bw_Bps : ici_link_bw_Bps(pod);
  double bytes = (double)(date_ps - leg->start_ps) * 1e-12 * bw_Bps / crowd.flows;
  return fmin(bytes, (double)leg->job->transfer.bytes);
}

DmaBytes fabric_hbm_bytes(const Fabric *fabric, uint32_t chip, int64_t date_ps) {
  if (fabric->shares != NULL) link_shares_catch_up(fabric->shares);
  const HbmUse *use = &fabric->hbm[chip];
  DmaBytes bytes = {.ended = use->ended_bytes};
  for (uint32_t i = 0; i < use->legs.n; i++) bytes.under_way += leg_bytes(fabric, use->legs.at[i], date_ps);
  return bytes;
}

/* The end of a flow on SimGrid's clock, rounded up to a picosecond; what the clock's own rounding adds does
 * not count. */
static int64_t date_rounded_up_ps(void) {
  return (int64_t)ceil(simgrid_get_clock() * 1e12 - 0.02);
}

static void end_flow(void *argument, int64_t end_ps) {
  Leg *leg = argument;
  leave_hbm(leg);
  Vacation vacation = {.leg = leg, .end_ps = end_ps};
  route_links(leg->job->fabric->pod, leg->from, leg->to, vacate_link, &vacation);
  if (end_ps > leg->job->left_ps) leg->job->left_ps = end_ps;
}

static void run_simgrid_flow(Leg *leg) {
  const Fabric *fabric = leg->job->fabric;
  bool is_dcn = route_is_dcn(fabric->pod, leg->from, leg->to);
  sg_host_t *hosts = is_dcn ? fabric->platform.cards : fabric->platform.hosts;
  sg_host_sendto(hosts[leg->from], hosts[leg->host], (double)leg->job->transfer.bytes);
  end_flow(leg, date_rounded_up_ps());
}

/* The bytes of a leg over its links. */
static void run_flow(Leg *leg) {
  Fabric *fabric = leg->job->fabric;
  leg->lanes.n = leg->links.n = 0;
  route_links(fabric->pod, leg->from, leg->to, occupy_link, leg);
  enter_hbm(leg);
  if (fabric->shares == NULL)
    run_simgrid_flow(leg);
  else
    link_shares_run(fabric->shares, (LinkFlow){.links = leg->links.at,
                                               .n_links = leg->links.n,
                                               .bytes = (double)leg->job->transfer.bytes,
                                               .ended = end_flow,
                                               .argument = leg});
}

static void add_dma_event(const Job *job, int64_t landed_ps) {
  lane_give(&job->fabric->dma_lanes[job->transfer.from], job->lane, landed_ps);
  add_event(job, (Event){.kind = EVENT_DMA,
                         .track = TRACK_DMA,
                         .chip = job->transfer.from,
                         .lane = job->lane,
                         .start_ps = job->start_ps,
                         .duration_ps = landed_ps - job->start_ps});
}

static void land(Job *job) {
  Fabric *fabric = job->fabric;
  const Transfer *transfer = &job->transfer;
  int64_t landed_ps = job->left_ps + job->latency_ps;
  if (transfer->left != NULL) {
    sleep_until_ps(job->left_ps);
    transfer->left(transfer->argument);
  }
  sleep_until_ps(landed_ps);
  if (!transfer->is_signal) add_dma_event(job, landed_ps);
  if (transfer->landed != NULL) transfer->landed(transfer->argument);
  job->next_free = fabric->free_jobs;
  fabric->free_jobs = job;
}

static void run_leg(void *argument) {
  Leg *leg = argument;
  if (leg->job->transfer.bytes > 0) run_flow(leg);
  if (--leg->job->legs_left == 0) land(leg->job);
}

static Job *job_new(Fabric *fabric) {
  Job *job = fabric->free_jobs;
  if (job == NULL) return ARENA_NEW(fabric->arena, Job);
  fabric->free_jobs = job->next_free;
  return job;
}

static void add_leg(Job *job, uint32_t from, uint32_t to, uint32_t host) {
  if (job->n_legs == job->cap_legs) {
    Leg *legs = ARENA_ARRAY(job->fabric->arena, Leg, 2 * job->cap_legs + 2);
    if (job->n_legs > 0) memcpy(legs, job->legs, job->n_legs * sizeof *legs);
    job->cap_legs = 2 * job->cap_legs + 2;
    job->legs = legs;
  }
  Leg *leg = &job->legs[job->n_legs++];
  leg->job = job;
  leg->from = from;
  leg->to = to;
  leg->host = host;
  leg->start_ps = job->start_ps;
}

static void add_link_leg(void *self, Link link) {
  Job *job = self;
  const Pod *pod = job->fabric->pod;
  add_leg(job, link.chip, link_end(pod, link), platform_link_end(pod, link.chip, link.axis, link.down));
}

static void add_way(Job *job, uint32_t from, uint32_t to) {
  const Pod *pod = job->fabric->pod;
  if (pod->twist && !route_is_dcn(pod, from, to))
    route_links(pod, from, to, add_link_leg, job);
  else
    add_leg(job, from, to, to);
}

uint32_t fabric_next_flow(Fabric *fabric) {
  return ++fabric->flows;
}

void fabric_send(Fabric *fabric, Transfer transfer) {
  Job *job = job_new(fabric);
  uint32_t from = transfer.from, via = transfer.via, to = transfer.to;
  job->fabric = fabric;
  job->transfer = transfer;
  job->start_ps = job->left_ps = date_ps();
  job->latency_ps = via == NO_PEER
                        ? route_latency_ps(fabric->pod, from, to)
                        : route_latency_ps(fabric->pod, from, via) + route_latency_ps(fabric->pod, via, to);
  if (!transfer.is_signal) job->lane = lane_take(fabric->arena, &fabric->dma_lanes[from], job->start_ps);
  job->n_legs = 0;
  add_way(job, from, via == NO_PEER ? to : via);
  if (via != NO_PEER) add_way(job, via, to);
  job->legs_left = job->n_legs;
  for (uint32_t i = 0; i < job->n_legs; i++) actors_spawn(fabric->actors, run_leg, &job->legs[i]);
}

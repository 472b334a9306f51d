/* Fabric: a helper actor a flow. It holds the flow's lanes while SimGrid moves the bytes, then pays the
 * latency and lands the transfer. A transfer by way of a third chip is two flows side by side, as a stream
 * that is cut through there. On a twisted torus, which SimGrid does not know, it is a flow on each link. */
#include "sim/engine/fabric.h"

#include "models/ici_model.h"
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
  Ledger *ledger;
  Platform platform;
  Actors *actors;
  Lanes *dma_lanes;  /* a chip */
  Lanes *sync_lanes; /* a chip */
  Lanes *link_lanes; /* LINKS_PER_CHIP a chip */
  HbmUse *hbm;       /* a chip */
  Job *free_jobs;
  uint32_t flows;
};

Status fabric_new(Arena *arena, const Pod *pod, Ledger *ledger, Fabric **fabric, Diag *diag) {
  Fabric *own = ARENA_NEW(arena, Fabric);
  *own = (Fabric){.arena = arena, .pod = pod, .ledger = ledger};
  TRY(platform_start(arena, pod, &own->platform, diag));
  own->actors = actors_new(arena);
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

static void add_event(const Job *job, Event event) {
  event.name = job->transfer.name;
  event.op = job->transfer.op;
  event.peer = job->transfer.to;
  event.flow = job->transfer.flow;
  event.bytes = job->transfer.bytes;
  ledger_add(job->fabric->ledger, event);
}

static Lanes *lanes_of(const Job *job, Link link) {
  return &job->fabric->link_lanes[link.chip * LINKS_PER_CHIP + 2 * link.axis + link.down];
}

static void occupy_link(void *self, Link link) {
  Leg *leg = self;
  uint32_t lane = lane_take(leg->job->fabric->arena, lanes_of(leg->job, link), leg->start_ps);
  VEC_PUSH(leg->job->fabric->arena, &leg->lanes, lane);
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
  uses[0] = leg == &job->legs[0] ? &job->fabric->hbm[leg->from] : NULL;
  uses[1] = leg->to == job->transfer.to ? &job->fabric->hbm[leg->to] : NULL;
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

/* The bytes of a leg over its links. */
static void run_flow(Leg *leg) {
  Fabric *fabric = leg->job->fabric;
  bool is_dcn = route_is_dcn(fabric->pod, leg->from, leg->to);
  sg_host_t *hosts = is_dcn ? fabric->platform.cards : fabric->platform.hosts;
  leg->lanes.n = 0;
  route_links(fabric->pod, leg->from, leg->to, occupy_link, leg);
  enter_hbm(leg);
  sg_host_sendto(hosts[leg->from], hosts[leg->host], (double)leg->job->transfer.bytes);
  leave_hbm(leg);
  Vacation vacation = {.leg = leg, .end_ps = date_rounded_up_ps()};
  route_links(fabric->pod, leg->from, leg->to, vacate_link, &vacation);
  if (vacation.end_ps > leg->job->left_ps) leg->job->left_ps = vacation.end_ps;
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

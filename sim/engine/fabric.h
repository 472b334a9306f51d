/* The fabric: transfers between chips as SimGrid flows. A transfer of B bytes over h hops leaves at once,
 * shares every link of its route fairly, has left when the last byte is on its way (B / bandwidth when
 * alone), and lands h hop latencies (between slices, one of the network between them) after that. Dates are
 * integers: the end of a flow is rounded up. Every transfer puts one event on the sender's DMA track and one
 * on each link. While its bytes are on the way they are read from the sender's HBM and written to the
 * receiver's. */
#pragma once

#include "sim/engine/actors.h"
#include "sim/engine/lanes.h"
#include "sim/engine/route.h"
#include "sim/ledger/ledger.h"

typedef struct Fabric Fabric;
typedef struct Fold Fold;

typedef struct {
  uint32_t from, to; /* chips, not the same */
  uint32_t via;      /* a chip to pass, which chooses the way round; NO_PEER: the route in dimension order */
  int64_t bytes;     /* on the wire */
  bool is_signal;    /* of a semaphore alone: no event */
  uint32_t flow;     /* from fabric_next_flow() */
  uint32_t name, op; /* of the ledger */
  /* Called once each, at these dates, from another actor; may be NULL. */
  void (*left)(void *argument);
  void (*landed)(void *argument);
  void *argument;
} Transfer;

/* `pod`, `fold` (NULL: none) and `ledger` must outlive it. Starts SimGrid. Senders must be chips that are
 * simulated; their events stand for those of all chips that are alike. */
Status fabric_new(Arena *arena, const Pod *pod, const Fold *fold, Ledger *ledger, Fabric **fabric,
                  Diag *diag);
Actors *fabric_actors(const Fabric *fabric);
/* A number for a new transfer. */
uint32_t fabric_next_flow(Fabric *fabric);
/* Starts a transfer and returns at once. */
void fabric_send(Fabric *fabric, Transfer transfer);
/* Bytes that DMAs have read and written in a chip's HBM. */
typedef struct {
  int64_t ended;    /* of those that have ended */
  double under_way; /* so far, of the others */
} DmaBytes;

/* Up to a date, now or later: then as if those under way went on as now, and no others came. */
DmaBytes fabric_hbm_bytes(const Fabric *fabric, uint32_t chip, int64_t date_ps);
/* The lanes of a chip's waits. */
Lanes *fabric_sync_lanes(Fabric *fabric, uint32_t chip);

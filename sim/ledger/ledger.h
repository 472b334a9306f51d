/* The ledger: the one record of a run. The engine appends events; summary, CSV, trace and metrics are folds
 * over it, and so cannot disagree. Times are integer picoseconds from the start of the run. Owns its memory;
 * names are copied once each. */
#pragma once

#include "sim/base/map.h"
#include "sim/base/vec.h"

typedef enum {
  EVENT_COMPUTE,
  EVENT_COLLECTIVE,
  EVENT_DMA,
  EVENT_LINK,
  EVENT_WAIT,
  EVENT_HOST,
  EVENT_KINDS
} EventKind;

const char *event_kind_text(EventKind kind);

/* Where on a chip something happens. Events of one (chip, track, lane) never overlap. */
typedef enum {
  TRACK_CORE,  /* "XLA Ops": what the TensorCore runs, in order */
  TRACK_ASYNC, /* "Async XLA Ops": collectives in flight */
  TRACK_DMA,   /* "DMA": remote transfers, on the sender */
  TRACK_SYNC,  /* "Tensor Core Sync Flag": waits of kernels */
  TRACK_LINK,  /* "ICI +x": a directed link, on the chip it leaves; `lane` says which */
  TRACK_HOST,  /* "Host D2H", "Host H2D": PCIe, to the host in lane 0, from it in lane 1 */
  TRACK_DCN, /* "DCN out", "DCN in": a chip's part of its host's network cards; `lane` 0 out, 1 in, plus 2 for
                each flow beside it */
  TRACKS
} Track;

typedef struct {
  EventKind kind;
  Track track;
  uint32_t chip;
  uint32_t lane; /* of the track; for links 2*axis + (1 where downwards), plus 6 for each flow beside it */
  uint32_t name; /* index into names: the instruction (with its trip where in a loop), or the transfer */
  uint32_t op;   /* index into ops of what it belongs to, NO_OP where none */
  uint32_t peer; /* chip at the other end, NO_PEER where none */
  uint32_t flow; /* same number on the send, link and wait events of one transfer, 0 where none */
  int64_t start_ps, duration_ps;
  int64_t bytes, flops;
} Event;

#define NO_OP   UINT32_MAX
#define NO_PEER UINT32_MAX

/* What an instruction of the partitioned program is, once for all its events. */
typedef struct {
  Str name, category, shape, op_name, source; /* source "file:line" or empty */
  Str collective;                             /* kind of a collective, else empty */
  Str algorithm;                              /* which kernel ran it: "ring 4 both ways", else empty */
  Str axes;                                   /* mesh axes it runs over, e.g. data,model */
  Str because;                                /* why the collective is there */
  Str whole;                                  /* the collective that this one is a step of, else empty */
  Str bound;
  bool is_host;          /* a move between the chip and its host */
  bool product;          /* of compute: a kernel with a matrix product or a convolution */
  int64_t bytes_payload; /* of a collective, a chip, one execution */
  double ideal_seconds;  /* of one execution */
  uint32_t kernels;      /* one after the other, of one execution */
  uint32_t steps;        /* hop latencies on its longest way, of one execution */
  double link_bytes;     /* over its fullest link, one way, of one execution */
  uint32_t dcn_steps;    /* the same of the network between slices */
  double dcn_bytes;
} LedgerOp;

typedef struct {
  Arena *arena;
  StrMap *name_index; /* of names */
  uint32_t n_chips;
  int64_t pod_shape[3]; /* unused axes 1; a chip's x, y, z are its coordinates in it, last axis fastest */
  uint32_t n_axes;
  int64_t stride[3]; /* of a folded run: each event stands for those that are multiples of it apart along the
                        axes; the length of an axis: along it for itself alone */
  Event *events;     /* in the order they were appended; after ledger_finish() in order of time */
  size_t n_events, cap_events;
  Vec(Str) names;
  Vec(LedgerOp) ops;
  int64_t end_ps; /* the last end of an event */
} Ledger;

/* An empty ledger of a pod of 1 to 3 axes, or of several slices of that shape; the caller frees it with
 * ledger_free(). */
Ledger *ledger_new(uint32_t n_chips, const int64_t *pod_shape, uint32_t n_axes);
void ledger_free(Ledger *ledger);
/* The index of a name, the same for the same text. */
uint32_t ledger_name(Ledger *ledger, Str name);
/* The index of a new op; its texts are copied. */
uint32_t ledger_op(Ledger *ledger, const LedgerOp *op);
void ledger_add(Ledger *ledger, Event event);
/* Numbers the flows from 1 in the order of their sends by (start, chip, lane), whatever the order in which
 * the engine began those of one date. A flow without a send loses its number. */
void ledger_number_flows(Ledger *ledger);
/* Numbers the flows, and sorts events by (start, longer first, chip, track, lane, order of appending); call
 * once at the end. */
void ledger_finish(Ledger *ledger);
/* A hash of a finished ledger's events: the same where all their dates, places and sizes are. */
uint64_t ledger_hash(const Ledger *ledger);

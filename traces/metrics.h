/* Metrics: what a run amounts to, folded from the ledger. Exposed communication is the time in which a chip
 * has a collective in flight and its TensorCore does not compute (HTA's and ASTRA-sim's word). */
#pragma once

#include "traces/critical_path.h"

/* Ops that a table shows as one row, told of the first of them; `n` is 0 in the others. */
typedef struct {
  uint32_t first, n;  /* op; how many */
  int64_t count;      /* their executions in all */
  int64_t ps;         /* any of them runs, on the slowest chip */
  int64_t exposed_ps; /* of collectives: the same while the chip does not compute */
} OpGroup;

/* One instruction of the program over all its executions. */
typedef struct {
  uint32_t op;              /* index into the ledger's ops */
  int64_t count;            /* executions on the chip that ran it most */
  int64_t total_ps;         /* on the slowest chip */
  int64_t exposed_ps;       /* of a collective, on the slowest chip */
  int64_t flops, hbm_bytes; /* on the slowest chip; of a collective no bytes */
  int64_t critical_ps;      /* on the critical path */
  OpGroup whole;            /* the steps of one collective */
  OpGroup alike;      /* what one line of the user's asks for in one shape: the layers of an unrolled model */
  int64_t wire_bytes; /* of a collective: bytes that DMAs put on links' first hop, a chip on average */
} OpMetric;

typedef struct {
  uint32_t slowest_chip;                                    /* the one that ends last */
  int64_t end_ps, compute_ps, communication_ps, exposed_ps; /* of the slowest chip; end of the whole run */
  int64_t flops;                                            /* of the slowest chip */
  CriticalPath critical;
  int64_t hbm_bytes, other_hbm_bytes; /* that its kernels move; those without a product of them */
  OpMetric *ops;                      /* one a ledger op, in its order */
  uint32_t n_ops;
  uint32_t chips; /* that were recorded: in a folded run those that stand for all */
} Metrics;

/* `ledger` must be finished (sorted). The result lives in `arena`. */
Metrics metrics_fold(Arena *arena, const Ledger *ledger);

/* Model FLOP utilisation: flops a second of the run over the chip's peak. */
double metrics_mfu(const Metrics *metrics, double peak_flops);
/* Ops by time, longest first; `most` at the most. Gives indices into metrics->ops. */
Ids metrics_costliest(Arena *arena, const Metrics *metrics, uint32_t most);
/* The same where the steps of a collective, or ops that are alike, count as one: the first of them. */
Ids metrics_costliest_wholes(Arena *arena, const Metrics *metrics, uint32_t most);
Ids metrics_costliest_alike(Arena *arena, const Metrics *metrics, uint32_t most);

/* The critical path: the chain of events, each of which waits for the one before it, that ends with the run.
 * What lies on it sets the step time; what lies beside it can be made faster for nothing. */
#pragma once

#include "sim/ledger/ledger.h"

typedef struct {
  int64_t compute_ps, communication_ps;
  int64_t idle_ps; /* nothing runs, or the host is waited for; all together the run's end */
  int64_t *op_ps;  /* by op of the ledger: its part */
} CriticalPath;

/* Of a finished ledger. `last_chip` is the one that ends last. The result lives in `arena`. */
CriticalPath critical_path(Arena *arena, const Ledger *ledger, uint32_t last_chip);

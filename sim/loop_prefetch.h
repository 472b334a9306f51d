/* Which collectives of loops are fetched an iteration ahead, as run.loop_prefetch asks for it. */
#pragma once

#include "sim/config/pod.h"
#include "sim/partition/partition.h"

/* `program` itself where none is; else a new one, which partitioned_free() frees and `program` must outlive.
 */
Partitioned *loop_prefetch(Partitioned *program, const Pod *pod);

/* Clean-ups of the partitioned program that look at what its collectives mean. In: a program where collective
 * k + 1 by channel_id has reasons.at[k]. Out: the same numbers with fewer collectives and no more bytes on
 * the wire; instructions change their indices, channels keep theirs. Internal to sim/partition. */
#pragma once

#include "sim/partition/partition.h"

/* All of them, in their order; dead code is gone afterwards. */
void clean_collectives(Partitioned *partitioned);

/* Lets users of collectives that change nothing take their operands, and makes products of sums of what is
 * the same everywhere. Like the next ones it leaves dead code behind. */
void simplify_collectives(Partitioned *partitioned);

/* One all-reduce of all-reduces of all-reduces, and of sums of them. */
void reassociate_collectives(Partitioned *partitioned);

/* Reduce-scatters from all-reduces of which each device takes a part. */
void scatter_collectives(Partitioned *partitioned);

/* One all-reduce behind a loop for those of what the loop adds up. In: callees before callers. */
void sink_collectives(Partitioned *partitioned);

/* Several collectives of the same kind, groups and type in one, which then has a tuple as its result. */
void combine_collectives(Partitioned *partitioned);

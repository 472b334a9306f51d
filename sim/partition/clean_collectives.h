/* Clean-ups of the partitioned program that look at what its collectives mean. In: a program where collective
 * k + 1 by channel_id has reasons.at[k]. Out: the same numbers with fewer collectives and no more bytes on
 * the wire; instructions change their indices, channels keep theirs. Internal to sim/partition. */
#pragma once

#include "sim/partition/partition.h"

/* Lets users of collectives that change nothing take their operands; dead code is left behind. */
void simplify_collectives(Partitioned *partitioned);

/* Several collectives of the same kind, groups and type in one, which then has a tuple as its result. */
void combine_collectives(Partitioned *partitioned);

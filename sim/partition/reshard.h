/* Resharding: the one function between a value as it lies and as it is wanted. Internal to sim/partition. */
#pragma once

#include "sim/partition/spmd.h"

/* `value` as `to`, by the cheapest route from any form of it that is known already. */
Status reshard(Spmd *spmd, Sharded value, const Sharding *to, Sharded *result);
/* What that would put on the wire, in bytes a device on average, and a little for each step. */
double reshard_cost(Spmd *spmd, const Sharded *value, const Sharding *to);
/* The same for a value that is not there yet. */
double reshard_cost_between(Spmd *spmd, const Shape *global, const Sharding *from, const Sharding *to);

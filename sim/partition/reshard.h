/* Resharding: the one function between a value as it lies and as it is wanted. Internal to sim/partition. */
#pragma once

#include "sim/partition/exchange.h"
#include "sim/partition/spmd.h"

/* `value` as `to`, by the cheapest route from any form of it that is known already. */
Status reshard(Spmd *spmd, Sharded value, const Sharding *to, Sharded *result);
/* What that would put on the wire, in bytes a device on average, and a little for each step. */
double reshard_cost(Spmd *spmd, const Sharded *value, const Sharding *to);
/* The same for a value that is not there yet. */
double reshard_cost_between(Spmd *spmd, const Shape *global, const Sharding *from, const Sharding *to);

/* How rows of one dimension are to change hands. */
typedef struct {
  uint32_t dim;
  GroupList groups;     /* devices that may exchange, in the order of their places */
  const Interval *have; /* rows that a device holds, from the first row of its array on */
  const int64_t *begin; /* row at which the array that it is to get begins; any number */
  const Interval *want; /* rows that it is to find in there */
  int64_t size;         /* rows of that array; those that are not wanted are not set */
} RowExchange;

uint32_t exchange_rows(Spmd *spmd, uint32_t instr, const RowExchange *exchange);

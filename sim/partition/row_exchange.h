/* Exchanges of rows written out: what exchange.h plans, as instructions. Internal to sim/partition. */
#pragma once

#include "sim/partition/exchange.h"
#include "sim/partition/spmd.h"

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

/* Row maps: which rows of a source each row of a result is made of, along one dimension; and the exchange
 * that brings them to the devices when both are cut along the same axes. Internal to sim/partition. */
#pragma once

#include "sim/partition/row_exchange.h"

/* Result row r is made of the `span` rows of the source from first + step * r on, as far as these lie in
 * [low, high). Step -1 is a reversal (span 1). Step 0: the op must see the whole dimension. */
typedef struct {
  int64_t first, step, span, low, high;
  int64_t rows, source_rows; /* of the result's dimension and of the source's */
} RowMap;

/* Row r is row r. */
RowMap row_map_plain(int64_t rows, int64_t source_rows);
bool row_map_is_plain(const RowMap *map);
/* Rows that a device sends on average when both ends are cut in `shards`; HUGE_VAL where it may not be. */
double row_map_cost(Arena *scratch, const RowMap *map, int64_t shards);
/* The rows that a device's part of the result needs, in the order of the source; those outside of [low, high)
 * are not set. A tile of n result rows gets step * (n - 1) + span rows. */
uint32_t row_map_fetch(Spmd *spmd, uint32_t instr, uint32_t dim, const RowMap *map, AxisList axes);
/* Which of the fetched rows are set, a device each. */
void row_map_given(const Spmd *spmd, const RowMap *map, AxisList axes, int64_t *start, int64_t *stop);
/* The same, with `fill` (a scalar) where they are not. */
uint32_t row_map_fetch_filled(Spmd *spmd, uint32_t instr, uint32_t dim, const RowMap *map, AxisList axes,
                              uint32_t fill);

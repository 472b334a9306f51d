/* Row maps: which rows of a source each row of a result is made of, along one dimension; and the exchange
 * that brings them to the devices when both are cut along the same axes. Internal to sim/partition. */
#pragma once

#include "sim/partition/row_exchange.h"

/* Result row r is made of the `span` rows from first + step * r on of the source with dilate - 1 rows of fill
 * between its rows, as far as these lie in the source's rows [low, high). Step -1 is a reversal (span and
 * dilate are 1). */
typedef struct {
  int64_t first, step, span, dilate, low, high;
  int64_t rows, source_rows; /* of the result's dimension and of the source's */
  bool whole;                /* the devices hold all rows of the source: nothing is sent */
} RowMap;

/* Row r is row r. */
RowMap row_map_plain(int64_t rows, int64_t source_rows);
bool row_map_is_plain(const RowMap *map);
/* Rows that a device sends on average when both ends are cut in `shards`; HUGE_VAL where it may not be. */
double row_map_cost(Arena *scratch, const RowMap *map, int64_t shards);
/* Whether devices along `axes` hold dimension `dim` of a value whole and alike: each may take its rows as
 * they are. */
bool rows_are_whole(Arena *scratch, const Sharding *sharding, uint32_t dim, AxisList axes);

/* The rows that a device's part of the result needs, in the order of the source: `instr` with dilate - 1 rows
 * of fill between its rows, low before and high behind them (less than none: rows to be left out). A tile of
 * n result rows gets step * (n - 1) + span rows. */
typedef struct {
  uint32_t instr;
  int64_t dilate, low, high;
} FetchedRows;

/* `fill` (a scalar) is what rows outside of [low, high) become, and rows of fill; NO_ID: the former are not
 * set, and there are none of the latter. */
FetchedRows row_map_fetch(Spmd *spmd, uint32_t instr, uint32_t dim, const RowMap *map, AxisList axes,
                          uint32_t fill);
/* Which of the fetched rows are set, a device each. */
void row_map_given(const Spmd *spmd, const RowMap *map, AxisList axes, int64_t *start, int64_t *stop);

/* --- below it: what devices along a dimension have and want --- */

/* What a position along the cut dimension holds of the source, where its array is to begin and what it wants
 * in there. */
typedef struct {
  Interval have, want;
  int64_t begin;
} RowNeed;

typedef struct {
  RowNeed *at; /* by position */
  int64_t n;
  int64_t size; /* rows of the array that each is to get */
} RowNeeds;

/* Needs of `n` positions that hold equal tiles of `source_rows`, or all of them, with nothing wanted yet. */
RowNeeds row_needs_new(Arena *scratch, int64_t n, int64_t source_rows, bool whole);
/* Rows sent, a device on average; HUGE_VAL where it takes too many rounds to be a halo. */
double row_needs_cost(Arena *scratch, const RowNeeds *needs, int64_t source_rows);
uint32_t row_needs_fetch(Spmd *spmd, uint32_t instr, uint32_t dim, const RowNeeds *needs, AxisList axes);
/* Rows that are not source rows [low, high) become `fill`, a scalar. */
uint32_t row_needs_fill(Spmd *spmd, uint32_t instr, uint32_t dim, const RowNeeds *needs, AxisList axes,
                        Interval rows, uint32_t fill);

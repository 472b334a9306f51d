/* Routes: the cheapest way from one placement of an array to another, by bytes on the wire. Dijkstra's
 * algorithm over placements; the moves are the steps that a device can run. */
#pragma once

#include "sim/partition/exchange.h"
#include "sim/partition/placement.h"

typedef enum {
  ROUTE_SLICE,          /* no bytes: keep a part of what is there */
  ROUTE_PERMUTE,        /* the same tiles on other devices */
  ROUTE_ALL_TO_ALL,     /* levels move from one dimension to another */
  ROUTE_ALL_GATHER,     /* the last levels of a dimension go */
  ROUTE_SUM_GATHER,     /* the same as a sum of parts, where most devices hold padding alone */
  ROUTE_REDUCE_SCATTER, /* unreduced atoms become levels */
  ROUTE_ALL_REDUCE,     /* unreduced atoms become replicated */
  ROUTE_RETILE          /* other tile sizes of the same levels: rows change hands at the borders */
} RouteKind;

typedef struct {
  RouteKind kind;
  uint32_t dim, to_dim; /* gathered or retiled; cut (slice, scatter, to-all) */
  Levels moved;         /* atoms that the step moves, in the order of their levels */
  Placement before, after;
  double bytes; /* that a device sends, on average */
} RouteStep;

typedef struct {
  RouteStep *steps;
  uint32_t n;
  double bytes;
  double cost; /* bytes, and a little for each step, to break ties */
} Route;

/* The cheapest route from `from` to `to` that costs less than `limit`, in `arena`. False where there is none,
 * or the search gives up. */
bool route_find(Arena *arena, const AtomSpace *space, const Placement *from, const Placement *to,
                double limit, Route *route);
/* The route that needs no search: reduce all, gather all, slice. */
Route route_plain(Arena *arena, const AtomSpace *space, const Placement *from, const Placement *to);
/* Bytes that no route can save: what a device wants and does not hold, on average. 0 for unreduced values. */
double route_bound(const AtomSpace *space, const Placement *from, const Placement *to);
/* The rows that positions along the levels of a dimension hold and want, for a retile. Positions are the
 * levels' mixed radix, major first. */
Exchange retile_plan(Arena *arena, const AtomSpace *space, const Placement *before, const Placement *after,
                     uint32_t dim);

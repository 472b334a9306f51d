/* Collective matmul: products that work on what a collective brings, or for what it takes away, block by
 * block. */
#pragma once

#include "sim/partition/partition.h"

/* A product with the collective beside it, as the module has them. */
typedef struct {
  uint32_t comp;
  uint32_t dot;
  uint32_t collective; /* an all-gather that brings one of its operands, or a reduce-scatter of its result */
  uint32_t operand;    /* of the dot: the one that is gathered; NO_ID: the result is scattered */
  uint32_t part;       /* of a collective of several operands: which one */
  int64_t dim;         /* of the gathered operand or the result */
  GroupList groups;    /* of equal sizes */
  uint32_t *rings;     /* for the caller to fill in: the members of each group, by their numbers in it, in an
                        * order in which neighbours are near on the torus; group after group */
} WindowedDot;

typedef Vec(WindowedDot) WindowedDots;

/* Every product that could be windowed: one that alone uses an all-gather's result, or whose result only a
 * reduce-scatter that adds uses. One whose result is summed over other devices afterwards counts not. */
WindowedDots windowed_dots_find(Arena *arena, const Partitioned *partitioned);

/* The same program with these products windowed; `reasons` of the new permutes name the collective that they
 * stand for. An all-gather of several operands goes as a whole: all of its parts must be in the list. `from`
 * must outlive the result, which partitioned_free() frees. */
Partitioned *partitioned_window(const Partitioned *from, const WindowedDots *dots);

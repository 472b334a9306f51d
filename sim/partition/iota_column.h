/* Index columns that count: which columns of a gather's or a scatter's indices are a coordinate of the
 * indices themselves, as x[arange(n), i] has it. Such an index and its row of the operand can be cut alike
 * (GSPMD's index-parallel dimensions). Internal to sim/partition. */
#pragma once

#include "sim/ir/module.h"

enum { NO_COORDINATE = -1 };

/* The dimension of the indices whose coordinate column `column` is; NO_COORDINATE: none that is known.
 * `indices` is an instruction of `comp`, `vector_dim` the dimension that columns lie along (their rank: there
 * is one). */
int64_t column_coordinate(const Comp *comp, uint32_t indices, int64_t vector_dim, int64_t column);

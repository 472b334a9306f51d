/* Lanes of a track: side by side places, so that events of one lane never overlap. The lowest that is free is
 * taken. */
#pragma once

#include "sim/base/vec.h"

typedef Vec(int64_t) Lanes; /* the date until which each lane is taken; LANE_TAKEN while it is */
#define LANE_TAKEN INT64_MAX

uint32_t lane_take(Arena *arena, Lanes *lanes, int64_t start_ps);
void lane_give(Lanes *lanes, uint32_t lane, int64_t end_ps);

/* When values die, and what memory a chip needs. */
#pragma once

#include "sim/schedule/schedule.h"

/* Fills `frees` of every step: values whose last user is in it, and those that nobody uses; the root lives
 * on. */
void find_frees(Arena *arena, const Module *module, uint32_t comp, CompSchedule *made);

/* Fills the schedule's memory figures. Values within one step take none; a loop's carry is updated in place
 * where its old value is dead by then, as are elementwise ops and dynamic-update-slice. */
void find_memory(Schedule *schedule);

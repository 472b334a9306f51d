/* An order that hides collectives behind compute. */
#pragma once

#include "sim/schedule/schedule.h"

/* Splits a schedule's synchronous collectives into a START and a DONE where compute can run between them, in
 * all computations; the pair shares its instruction, whose value is there from DONE on. Needs find_memory()
 * to have run, and keeps its figures and `frees` right. A schedule whose peak would then be above usable HBM
 * hides less, at last nothing. */
void schedule_overlap(Schedule *schedule, const Pod *pod);

/* How much work the values of a program are, so that `--numbers auto` can leave them out of programs that
 * would be waited for. */
#pragma once

#include "sim/partition/partition.h"
#include "sim/schedule/schedule.h"

/* In floating-point operations, over all devices: those of the program, and as many as take the time of its
 * ops, of the bytes that they write or that collectives bring, and of the inputs that are drawn where
 * `draws`. Loops by their trips (once where unknown), the costliest branch. */
double value_work(const Partitioned *partitioned, const Schedule *schedule, uint32_t devices, bool draws);

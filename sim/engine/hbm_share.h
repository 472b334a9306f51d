/* Compute beside DMAs: both use the chip's HBM. */
#pragma once

#include "sim/engine/execution.h"

/* Passes the time of a step on a chip, from its actor: what the schedule says where no DMA reads or writes
 * the chip's HBM meanwhile, else so much more as HBM needs for both. */
void pass_step_time(const Execution *execution, uint32_t chip, const Step *step);

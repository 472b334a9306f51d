/* A chip: its TensorCore runs the steps of the entry's schedule, one after the other. */
#pragma once

#include "sim/engine/frame.h"

Chip *chip_new(Execution *execution, uint32_t number);
/* The body of the chip's actor: the entry, to its end or the run's first failure. */
void chip_run(void *chip);

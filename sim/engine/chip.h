/* A chip: its TensorCore runs the steps of the entry's schedule, one after the other. */
#pragma once

#include "sim/engine/frame.h"

Chip *chip_new(Execution *execution, uint32_t number);
/* Runs a computation in a new frame; takes the references out of `arguments`, gives the root (NULL where
 * there are no values). */
Status run_computation(Chip *chip, uint32_t comp, Str trip, Value **arguments, Value **root);
/* Frees what a run that did not come to its end has left. */
void chip_clear(Chip *chip);
/* The body of the chip's actor: the entry, to its end or the run's first failure. */
void chip_run(void *chip);

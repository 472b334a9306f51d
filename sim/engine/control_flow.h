/* Loops, conditionals and calls: computations run in frames of their own, decided by values, or by what the
 * text or the user tells where there are none. */
#pragma once

#include "sim/engine/frame.h"

/* Runs a computation on a chip in a new frame; takes over the arguments (the array too), gives the root. */
Status run_computation(Chip *chip, uint32_t comp, Str trip, Value **arguments, Value **root);

Status run_while(Frame *frame, const Step *step);
Status run_conditional(Frame *frame, const Step *step);
/* A call, or a fusion whose computation has steps with times of their own. */
Status run_call(Frame *frame, const Step *step);

/* Loops, conditionals and calls: computations run in frames of their own, decided by values, or by what the
 * text or the user tells where there are none. */
#pragma once

#include "sim/engine/frame.h"

Status run_while(Frame *frame, const Step *step);
Status run_conditional(Frame *frame, const Step *step);
/* A call, or a fusion whose computation has steps with times of their own. */
Status run_call(Frame *frame, const Step *step);

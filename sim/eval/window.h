/* Windows that slide over an array: what reduce-window, select-and-scatter and convolution share. */
#pragma once

#include "sim/ir/module.h"

/* For one place in the window of one dimension: the results whose window has an element of the input (not
 * padding, not a hole of dilation) there: result first_out + i * out_step meets input first_in + i * in_step.
 */
typedef struct {
  int64_t n, first_out, out_step, first_in, in_step;
} WindowReach;

WindowReach window_reach(const WindowDim *dim, int64_t in_size, int64_t out_size, int64_t place);

/* Pallas kernels that talk to each other: each chip's own, all at once. */
#pragma once

#include "sim/engine/frame.h"

/* Whether a step is such a kernel. */
bool is_joint_kernel(const Frame *frame, const Step *step);
/* Runs a chip's kernel to its end, from an actor of that chip. */
Status run_joint_kernel(Frame *frame, const Step *step);
/* Drops the results that chips did not come to take. */
void joint_kernels_clear(const Execution *execution);

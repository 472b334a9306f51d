/* Pallas kernels as a whole: whether one can be computed, and one that runs on several devices at once. */
#pragma once

#include "sim/eval/evaluate.h"

/* Whether podsim can compute a Pallas kernel: it can be read, and all its ops are known. */
bool pallas_kernel_exists(const Instr *instr);
/* Why not, as "a Pallas kernel with tpu.x at file.py:3:4, which …"; empty where it can. */
Str pallas_kernel_fault(Arena *arena, const Instr *instr);

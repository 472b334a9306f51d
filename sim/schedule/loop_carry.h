/* What a loop carries without need. */
#pragma once

#include "sim/ir/module.h"

/* By element of a while's carry: handed on unchanged, and at first a broadcast of something much smaller,
 * which the compiler makes anew in the body instead (XLA's sinking of constants into loops). NULL: none.
 * Lives in `arena`. */
const bool *loop_made_anew(Arena *arena, const Module *module, uint32_t comp, const Instr *loop);

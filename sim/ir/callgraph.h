/* Which computation calls which. */
#pragma once

#include "sim/ir/module.h"

/* All computations, callees before callers, else in their own order. Where computations call each other in a
 * circle, false, and `order` ends with one on that circle. */
bool callees_first(Arena *arena, const Module *module, Ids *order);

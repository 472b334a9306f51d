/* All-gathers that the kernels of products carry on. */
#pragma once

#include "sim/ir/module.h"

/* By instruction of the entry: all-gathers of parameters that products run beside; NULL: there are none. */
const bool *carried_gathers(Arena *arena, const Module *module);

/* Parameters that the program writes over without owning them. */
#pragma once

#include "sim/ir/module.h"

/* By instruction of the entry, whether it updates a parameter in place that the caller keeps, or that others
 * read after it: it then needs a copy of its own. NULL: none does. Lives in `arena`. */
const bool *overwritten_parameters(Arena *arena, const Module *module);

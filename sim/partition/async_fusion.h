/* Asynchronous collective fusions, as starts and ends of collectives (async_fusion.c). */
#pragma once

#include "sim/ir/module.h"

/* Rewrites them in place, in a scheduled program; nothing else changes. */
void module_split_async_fusions(Module *module);

/* Fusions that reduce-scatter, as reduce-scatters (scatter_fusion.c). */
#pragma once

#include "sim/ir/module.h"

/* Rewrites them in place, in a scheduled program; nothing else changes. */
void module_join_scatter_fusions(Module *module);

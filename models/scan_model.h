/* Prefix scans (cumulative sums, maxima, products, …), which are windows that reach from each place to an
 * end: what they demand beside their operands and results. Pure functions. */
#pragma once

#include "models/demand.h"

/* What a scan adds to its operands and results: the values that its kernels pass
 * on, through HBM or within VMEM, their starts, and the HBM that they take meanwhile. Forward or in reverse,
 * with a place's own element or without. Nothing of other instructions. */
Demand scan_demand(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr);

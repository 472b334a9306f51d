/* What an op demands of a chip, as pure functions of its shapes and the pod's constants. The engine makes
 * demands time. */
#pragma once

#include "sim/config/pod.h"
#include "sim/ir/module.h"

typedef enum { BOUND_FREE, BOUND_COMPUTE, BOUND_HBM, BOUND_VMEM, BOUND_ICI, BOUND_LATENCY } Bound;

typedef struct {
  int64_t mxu_ps, vpu_ps; /* time of the units when nothing else holds them up */
  int64_t hbm_bytes;      /* read and written */
  int64_t vmem_bytes;
  int64_t flops; /* useful ones: 2mnk for a dot, one an element for elementwise */
  int64_t transcendentals;
} Demand;

/* Demand of one instruction on its own (operands from HBM, result to HBM); control flow and collectives
 * demand nothing here. */
Demand demand_of(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr);
/* Sums, and the group's time on a chip alone: the longest of MXU + …, VPU, HBM, VMEM, in picoseconds. */
Demand demand_add(Demand a, Demand b);
int64_t demand_ps(const Pod *pod, Demand demand, Bound *bound);

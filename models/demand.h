/* What an op demands of a chip, as pure functions of its shapes and the pod's constants. The engine makes
 * demands time. */
#pragma once

#include "sim/config/pod.h"
#include "sim/ir/module.h"

typedef enum {
  BOUND_FREE,
  BOUND_COMPUTE,
  BOUND_HBM,
  BOUND_VMEM,
  BOUND_ICI,
  BOUND_LATENCY,
  BOUND_HOST,
  BOUND_KINDS
} Bound;

/* "free", "compute", "HBM", … */
const char *bound_text(Bound bound);

typedef struct {
  int64_t mxu_ps, vpu_ps; /* time of the units when nothing else holds them up */
  int64_t start_ps;       /* beside the work of a kernel that reads arrays, and holds no product */
  int64_t rounding_ps;    /* in which a product's results leave the arrays for a narrower type */
  int64_t relayout_ps;    /* in which a product's operands are put into another layout on their way */
  int64_t hbm_bytes;      /* read and written */
  int64_t copy_bytes;     /* that cross between HBM and VMEM meanwhile, for other kernels */
  int64_t vmem_bytes;
  int64_t kept_bytes;              /* of results that stay in VMEM */
  int64_t temporary_bytes;         /* of HBM that are taken meanwhile, beside operands and results */
  int64_t host_bytes;              /* over PCIe, one way */
  int64_t load_bytes, store_bytes; /* of hbm_bytes, what a product's kernel moves in windows while it runs */
  int64_t flops;                   /* useful ones: 2mnk for a dot, one an element for elementwise */
  int64_t transcendentals;
} Demand;

/* Demand of one instruction on its own (operands from HBM, result to HBM); control flow and collectives
 * demand nothing here. */
Demand demand_of(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr);
/* Whether results of this shape are narrower than the sums of a product that they are made of. */
bool is_rounded(const Shape *result);
/* Of it the units' part: no bytes; of a product as if its results were rounded. */
Demand demand_of_units(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr);

/* Bytes that an instruction reads of its operand number `operand`: of what it slices or looks up only the
 * part; 0 where it is in place. */
int64_t demand_read_bytes(const Module *module, uint32_t comp, const Instr *instr, uint32_t operand);
/* Bytes that it writes: its result, or of an update in place the part. */
int64_t demand_write_bytes(const Module *module, uint32_t comp, const Instr *instr);
/* No work at all: a name for what is there, as a tuple, a bitcast, or a reshape that keeps the minor
 * dimension. */
bool demand_is_free(const Module *module, uint32_t comp, const Instr *instr);

/* Picoseconds of so many cycles. */
int64_t demand_cycles_ps(const Pod *pod, double cycles);
/* Sum of both. */
Demand demand_add(Demand a, Demand b);
/* The time that HBM takes for it, in picoseconds. */
int64_t demand_hbm_ps(const Pod *pod, Demand demand);
/* What the time of a kernel is made of, in picoseconds. */
typedef struct {
  int64_t mxu, vpu, relayout; /* the units at work */
  int64_t windows, leaving;   /* of a product: its windows cross, and its results leave the arrays */
  int64_t edges; /* of a product, beside the longest of those: start and steps, first load, last store */
  int64_t hbm, vmem, host; /* bytes over bandwidth */
  int64_t start;           /* of a kernel without a product, beside the longest of all */
} KernelTimes;

KernelTimes demand_times(const Pod *pod, Demand demand);

/* The time on a chip alone, in picoseconds: the longest of MXU, VPU, HBM, VMEM and PCIe, which work side by
 * side, and for a product what its windows add; `bound` (may be NULL) says which. Never overflows: at most
 * 2^62. */
int64_t demand_ps(const Pod *pod, Demand demand, Bound *bound);

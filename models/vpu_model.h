/* Vector work: operations of the VPU that an instruction takes. Pure functions. */
#pragma once

#include "sim/config/pod.h"
#include "sim/ir/module.h"

typedef struct {
  double operations;      /* of one vector lane */
  double flops;           /* useful: what a user counts */
  double transcendentals; /* of those exp, log, tanh and their like */
} VectorWork;

VectorWork vector_work(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr);
/* Lane operations per second. */
double vpu_operations_per_second(const Pod *pod);
/* Elements of an array, or of all of a tuple's. */
double elements_of(const Shape *shape);

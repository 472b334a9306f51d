/* Cost classes: the last column of opcode.def says which kind of work an opcode is. */
#pragma once

#include "sim/ir/module.h"

typedef enum {
  COST_FREE,
  COST_VPU_SIMPLE,
  COST_VPU_DIVIDE,
  COST_VPU_TRANSCENDENTAL,
  COST_DATA_MOVE,
  COST_REDUCE,
  COST_GATHER,
  COST_SORT,
  COST_MXU,
  COST_CUSTOM,
  COST_COLLECTIVE,
  COST_CONTROL,
  COST_HOST
} Cost;

Cost op_cost(Opcode op);

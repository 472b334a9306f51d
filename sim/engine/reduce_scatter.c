/* Reduce-scatter: each chip starts with a summand of the whole and ends with the sum of its own part. */
#include "sim/engine/collectives.h"

void reduce_scatter_kernel(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  if (plan->algorithm == ALGORITHM_ONE_SHOT)
    run_one_shot(kernel);
  else
    run_rings(kernel);
}

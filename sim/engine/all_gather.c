/* All-gather: each chip starts with its own part of every piece and ends with all. */
#include "sim/engine/collectives.h"

void all_gather_kernel(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  if (plan->algorithm == ALGORITHM_ONE_SHOT)
    run_one_shot(kernel);
  else
    run_rings(kernel);
}

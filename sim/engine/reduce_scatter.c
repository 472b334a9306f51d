/* Reduce-scatter: each chip starts with a summand of the whole and ends with the sum of its own part. */
#include "sim/engine/collectives.h"

void reduce_scatter_kernel(Kernel *kernel) {
  run_rings(kernel);
}

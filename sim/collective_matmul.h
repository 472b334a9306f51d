/* Which products are run as collective matmuls, as the pod and run.collective_matmul ask for it. */
#pragma once

#include "sim/config/pod.h"
#include "sim/partition/partition.h"

/* `chip_of`: by device. The program as it is run: `partitioned` itself where no product is windowed; else a
 * new one, which partitioned_free() frees and `partitioned` must outlive. */
Status collective_matmuls(const Partitioned *partitioned, const Pod *pod, const uint32_t *chip_of,
                          Partitioned **run, Diag *diag);

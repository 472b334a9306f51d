/* The program for one device with layouts, as it is run. */
#pragma once

#include "sim/partition/partition.h"

/* `program` itself where every value lies as it would anyhow, or where a compiler laid it out already; else a
 * new one, which partitioned_free() frees and `program` must outlive. */
Partitioned *lay_out(Partitioned *program);

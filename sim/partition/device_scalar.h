/* Integer scalars of a partitioned program that follow from the device alone: axis indices and what is made
 * of them. Internal to sim/partition. */
#pragma once

#include "sim/ir/module.h"

/* values[d] = what instruction `instr` is on device d; false where that depends on anything else. */
bool device_scalars(Arena *scratch, const Module *module, uint32_t comp, uint32_t instr, uint32_t devices,
                    int64_t *values);

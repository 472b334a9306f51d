/* Values in the host's memory, and what moves them: jax.device_put to a memory kind within a program,
 * offloaded activations, buffers in memory space 5 of a program that the TPU compiler made. */
#pragma once

#include "sim/ir/module.h"

/* Sets on_host and host_move of every instruction. */
void module_find_host_values(Module *module);

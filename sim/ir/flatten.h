/* Flattening: every `call` is put in place of its callee, so that each value of the program is one
 * instruction (Shardy's flatten-call-graph). Bodies of while, conditional and reduce stay computations, each
 * with one caller: shared ones are cloned. A call of a manual computation body (between
 * xla.sdy.GlobalToLocalShape and LocalToGlobalShape, or SPMDFullToShardShape and SPMDShardToFullShape) is
 * inlined too; its instructions, and those of the computations it calls, get the number of a Region. Dead
 * instructions without side effects are left out. Call under sizes that recursion could blow up is refused.
 */
#pragma once

#include "sim/ir/module.h"

/* A new module with its own arena (the caller frees it); sources and names are shared with `module`, which
 * must outlive it. */
Status module_flatten(const Module *module, Module **flat, Diag *diag);

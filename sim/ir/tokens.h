/* Tokens order effects on the host, which podsim has not; before partitioning they are taken out. */
#pragma once

#include "sim/ir/module.h"

/* In a flat module: a token becomes an empty array, entry parameters and outputs that are tokens go (the
 * others are numbered anew). Exchanging data with the host (infeed, outfeed, send, recv) is an error. */
Status module_drop_tokens(Module *flat, Diag *diag);

/* What the ledger's ops get from the partitioner once a run is over: mesh axes that a collective runs over,
 * and why it is there. */
#pragma once

#include "sim/ledger/ledger.h"
#include "sim/partition/partition.h"

void ledger_annotate(Ledger *ledger, const Partitioned *partitioned);
/* `data,model`: the mesh axes along which the members of the collective's groups (or its pairs) differ. */
Str collective_axes(Arena *arena, const Partitioned *partitioned, const Instr *instr);

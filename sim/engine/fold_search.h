/* Whether a run can be folded, and how far. */
#pragma once

#include "sim/engine/execution.h"

/* Tries all collectives of the schedule, which are planned then. NULL where every chip must be simulated:
 * where options say so, chips may decide differently, or no two are alike. */
Status fold_search(Execution *execution, const Fold **fold);

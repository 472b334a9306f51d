/* The report of a deadlock: who waits, in which instruction, for what from whom. */
#pragma once

#include "sim/engine/execution.h"

/* STATUS_DEADLOCK, with the place of the first instruction that is waited in. */
Status deadlock_report(const Execution *execution);

/* --check: the unpartitioned program evaluated too, and its numbers compared with those that came out of the
 * pod. */
#pragma once

#include "sim/pipeline.h"

/* Prints a line an output on stdout, four at most, those that differ first; STATUS_FAILED where one differs
 * by more than its type's tolerance. */
Status check_numbers(const Pipeline *pipeline, Diag *diag);

/* What a run writes and prints: the files of -o and its kin, and the summary on stdout. Without them nothing
 * is written. */
#pragma once

#include "sim/pipeline.h"

Status outputs_write(Pipeline *pipeline, Diag *diag);
/* Fills pipeline->info from the pod, the partitioned program and the schedule. */
void outputs_describe(Pipeline *pipeline);
/* Tells on stderr how to get a program that has none of the user's lines lowered with them. */
void outputs_note_missing_lines(const Pipeline *pipeline);
/* `v5e 4x2`. */
Str pod_text(Arena *arena, const Pod *pod);

/* Groups whose results only leave the program run as soon as they can. */
#pragma once

#include "sim/schedule/fuse.h"

/* Moves them in `runs` of the groups of the entry computation; uses `scratch`. */
void groups_hasten(Arena *scratch, const Module *module, Groups *groups);

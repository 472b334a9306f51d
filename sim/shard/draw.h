/* Drawing a sharding. */
#pragma once

#include "sim/shard/sharding.h"

/* A grid of the shards of an array of one or two dimensions, and the devices that hold each: `TPU 0,1`, where
 * `kind` is "TPU". Lines end with a newline. Wider than 80 columns only where the labels are. */
Status sharding_draw(Arena *arena, const Sharding *sharding, const Shape *shape, const char *kind, Str *text,
                     Diag *diag);

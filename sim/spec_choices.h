/* Other PartitionSpecs of a value: what `sweep --specs` and `explain` try. */
#pragma once

#include "sim/pipeline.h"

typedef Vec(Str) SpecChoices;

/* The shape of argN, outN or a named value of the user's program, and how it lies; false where there is none,
 * or no array. */
bool spec_target(const Pipeline *pipeline, Str name, const Shape **shape, const Sharding **now);
/* The name that --spec takes for an instruction of the flat module that has a sharding of the user's own:
 * argN for a parameter, its name for a with_sharding_constraint; else empty. */
Str spec_name(Arena *arena, const Pipeline *pipeline, uint32_t comp, uint32_t instr);
/* `name=P(...)`: each way of laying the mesh axes `asked[axis]` of more than one device over the dimensions
 * or over none, in the mesh's order where several split one dimension, the other axes staying where they are;
 * only what divides the dimensions, and not what is `now`. At most 4096,
 * of the first 65536 ways. */
SpecChoices spec_choices(Arena *arena, Str name, const Shape *shape, const Sharding *now, const bool *asked);

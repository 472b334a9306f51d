/* Layouts: in which order the dimensions of each value lie in memory, and the copies where an op wants
 * another order than the value has, or memory of its own. */
#pragma once

#include "sim/ir/module.h"

/* Writes `from` with layouts, and copies between them, into the new module `to`; false, with nothing written,
 * where it holds no op that wants another layout than values have anyhow, no carried gather and no update of
 * a parameter that the caller keeps. `from` must outlive `to`. `moved` (by computation and instruction of
 * `from`) tells the instructions' new places; it lives in `arena`. */
bool module_lay_out(Arena *arena, const Module *from, Module *to, uint32_t ***moved);

/* The order of dimensions of a laid value, from the minor one: `{3,0,2,1}`. */
Str order_text(Arena *arena, const Shape *laid);
/* Why a copy is there: "convolution conv.1 wants {3,0,2,1}"; empty where it is no copy that module_lay_out()
 * makes. */
Str copy_reason(Arena *arena, const Module *module, uint32_t comp, uint32_t copy);

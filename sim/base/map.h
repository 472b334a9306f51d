/* Maps from names to numbers (uthash under it). Owned by its arena: never freed alone. */
#pragma once

#include "sim/base/str.h"

typedef struct StrMap StrMap;

/* An empty map; its entries and keys' slices live in `arena` (keys are not copied). */
StrMap *map_new(Arena *arena);
/* Adds or replaces. */
void map_put(StrMap *map, Str key, uint32_t value);
/* False where the key is not there; `value` is then untouched. */
bool map_get(const StrMap *map, Str key, uint32_t *value);

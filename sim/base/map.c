/* Maps from names to numbers: uthash with its nodes in an arena. */
#include "sim/base/map.h"

#define uthash_malloc(size)       map_memory(size)
#define uthash_free(memory, size) map_forget(memory)
static void *map_memory(size_t size);
static void map_forget(void *memory);
#include <uthash.h>

#include <stdlib.h>

typedef struct {
  UT_hash_handle hh;
  uint32_t value;
} Entry;

struct StrMap {
  Arena *arena;
  Entry *entries;
};

/* uthash takes its tables from here: the arena of the map at work (one thread builds a map at a time). */
static _Thread_local Arena *table_arena;

static void *map_memory(size_t size) {
  return arena_alloc(table_arena, size);
}

static void map_forget(void *memory) {
  (void)memory;
}

StrMap *map_new(Arena *arena) {
  StrMap *map = ARENA_NEW(arena, StrMap);
  map->arena = arena;
  return map;
}

void map_put(StrMap *map, Str key, uint32_t value) {
  Entry *entry;
  unsigned hash;
  HASH_VALUE(key.at, key.n, hash);
  HASH_FIND_BYHASHVALUE(hh, map->entries, key.at, key.n, hash, entry);
  if (entry == NULL) {
    table_arena = map->arena;
    entry = ARENA_NEW(map->arena, Entry);
    HASH_ADD_KEYPTR_BYHASHVALUE(hh, map->entries, key.at, key.n, hash, entry);
  }
  entry->value = value;
}

bool map_get(const StrMap *map, Str key, uint32_t *value) {
  Entry *entry;
  HASH_FIND(hh, map->entries, key.at, key.n, entry);
  if (entry == NULL) return false;
  *value = entry->value;
  return true;
}

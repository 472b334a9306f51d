/* Arena: memory that lives as long as one stage of the pipeline and is freed in one call.
 * Ownership: whatever is allocated from an arena belongs to it; nothing in it is freed alone. */
#pragma once

#include <stddef.h>

typedef struct Arena Arena;

/* A new, empty arena. The caller frees it with arena_free(). */
Arena *arena_new(void);

/* Frees the arena and all that was allocated from it; NULL is fine. */
void arena_free(Arena *arena);

/* `size` zeroed bytes, aligned for any type and for vector loads (64 bytes when size >= 64). */
void *arena_alloc(Arena *arena, size_t size);

/* The same for `count` elements of `size` bytes; aborts where the product overflows (callers bound untrusted
 * counts). */
void *arena_alloc_array(Arena *arena, size_t count, size_t size);

/* A copy of `size` bytes. */
void *arena_copy(Arena *arena, const void *from, size_t size);

/* Bytes handed out so far. */
size_t arena_used(const Arena *arena);

#define ARENA_NEW(arena, type)          ((type *)arena_alloc((arena), sizeof(type)))
#define ARENA_ARRAY(arena, type, count) ((type *)arena_alloc_array((arena), (size_t)(count), sizeof(type)))

/* Arena: a list of blocks, each twice the last; an allocation bumps a pointer in the newest. */
#include "sim/base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 16 << 10, LARGEST_STEP = 4 << 20, SMALL_ALIGN = 16, WIDE_ALIGN = 64 };

typedef struct Block {
  struct Block *next;
  size_t size, used;
  unsigned char *bytes;
} Block;

struct Arena {
  Block *newest;
  size_t used;
};

static void *must(void *memory) {
  if (memory == NULL) {
    fputs("podsim: out of memory\n", stderr);
    abort();
  }
  return memory;
}

Arena *arena_new(void) {
  return must(calloc(1, sizeof(Arena)));
}

void arena_free(Arena *arena) {
  if (arena == NULL) return;
  for (Block *block = arena->newest, *next; block != NULL; block = next) {
    next = block->next;
    free(block->bytes);
    free(block);
  }
  free(arena);
}

static size_t aligned(const Block *block, size_t align) {
  return (block->used + align - 1) / align * align;
}

static Block *block_for(Arena *arena, size_t size, size_t align) {
  Block *block = arena->newest;
  if (block != NULL && aligned(block, align) <= block->size && size <= block->size - aligned(block, align))
    return block;
  size_t step = block == NULL ? FIRST_BLOCK : block->size * 2;
  if (step > LARGEST_STEP) step = LARGEST_STEP;
  if (step < size) step = size;
  block = must(malloc(sizeof(Block)));
  size_t rounded = (step + WIDE_ALIGN - 1) / WIDE_ALIGN * WIDE_ALIGN;
  *block = (Block){.next = arena->newest, .size = rounded, .bytes = must(aligned_alloc(WIDE_ALIGN, rounded))};
  arena->newest = block;
  return block;
}

void *arena_alloc(Arena *arena, size_t size) {
  size_t align = size >= WIDE_ALIGN ? WIDE_ALIGN : SMALL_ALIGN;
  if (size == 0) size = 1;
  Block *block = block_for(arena, size, align);
  size_t start = aligned(block, align);
  block->used = start + size;
  arena->used += size;
  return memset(block->bytes + start, 0, size);
}

void *arena_alloc_array(Arena *arena, size_t count, size_t size) {
  if (size != 0 && count > SIZE_MAX / 2 / size) must(NULL);
  return arena_alloc(arena, count * size);
}

void *arena_copy(Arena *arena, const void *from, size_t size) {
  void *to = arena_alloc(arena, size);
  if (size != 0) memcpy(to, from, size);
  return to;
}

size_t arena_used(const Arena *arena) {
  return arena->used;
}

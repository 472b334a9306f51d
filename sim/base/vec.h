/* Growable arrays in an arena: Vec(T) is a struct of `at`, `n` and `cap`. The old storage stays in the arena.
 */
#pragma once

#include "sim/base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define Vec(type)                                                                                            \
  struct {                                                                                                   \
    type *at;                                                                                                \
    uint32_t n, cap;                                                                                         \
  }

/* Makes room for one more element and returns its index. */
#define VEC_GROW(arena, vec)                                                                                 \
  ((vec)->n < (vec)->cap                                                                                     \
       ? (vec)->n++                                                                                          \
       : ((vec)->at = vec_grown((arena), (vec)->at, (vec)->n, &(vec)->cap, sizeof *(vec)->at), (vec)->n++))

/* Appends a value. */
#define VEC_PUSH(arena, vec, ...)                                                                            \
  do {                                                                                                       \
    uint32_t vec_at_ = VEC_GROW(arena, vec);                                                                 \
    (vec)->at[vec_at_] = (__VA_ARGS__);                                                                      \
  } while (0)

static inline void *vec_grown(Arena *arena, const void *at, uint32_t n, uint32_t *cap, size_t size) {
  *cap = n < 4 ? 8 : n * 2;
  void *grown = arena_alloc_array(arena, *cap, size);
  if (n != 0) memcpy(grown, at, n * size);
  return grown;
}

/* A list of integers, as attributes and shapes hold them. Not owned. */
typedef struct {
  int64_t *at;
  uint32_t n;
} Ints;

static inline bool ints_have(Ints ints, int64_t value) {
  for (uint32_t i = 0; i < ints.n; i++) {
    if (ints.at[i] == value) return true;
  }
  return false;
}

/* Whether two lists, or the dimensions of two arrays, are the same. */
static inline bool int64s_eq(const int64_t *a, uint32_t n_a, const int64_t *b, uint32_t n_b) {
  return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof *a) == 0);
}

/* A list of indices. Not owned. */
typedef struct {
  uint32_t *at;
  uint32_t n;
} Ids;

/* Orders of elements by a key: what sort and topk share. */
#pragma once

#include "sim/eval/tensor.h"

/* An element's place and its key, as an unsigned number that orders as the key does. */
typedef struct {
  uint64_t key;
  int64_t place;
} Keyed;

/* The keys of n elements of any real type. Floats are in their total order, so that NaN is last (or,
 * negative, first); with `zeros_equal` -0 is 0. */
void sort_keys(DType dtype, int64_t n, const unsigned char *values, bool zeros_equal, Keyed *keyed);
/* Turns the order round. */
void sort_keys_descending(int64_t n, Keyed *keyed);
/* Sorts by key, equal keys as they stood. `space` holds n more. */
void sort_keyed(int64_t n, Keyed *keyed, Keyed *space);

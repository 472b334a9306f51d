/* A stable merge sort of keys with their places. */
#include "sim/eval/sort.h"
#include "sim/eval/kernel.h"

#include <string.h>

enum { INSERTION_RUN = 16 };

static uint64_t key_of_bits(DType dtype, uint64_t bits) {
  uint64_t sign = (uint64_t)1 << (8 * dtype_bytes(dtype) - 1), all = sign | (sign - 1);
  switch (dtype_class(dtype)) {
  case DCLASS_SIGNED: return bits ^ sign;
  case DCLASS_FLOAT: return bits & sign ? ~bits & all : bits | sign;
  default: return bits;
  }
}

void sort_keys(DType dtype, int64_t n, const unsigned char *values, bool zeros_equal, Keyed *keyed) {
  uint32_t bytes = dtype_bytes(dtype);
  uint64_t minus_zero = (uint64_t)1 << (8 * bytes - 1);
  bool is_float = dtype_class(dtype) == DCLASS_FLOAT;
  for (int64_t i = 0; i < n; i++) {
    uint64_t bits = 0;
    memcpy(&bits, values + i * bytes, bytes);
    if (is_float && zeros_equal && bits == minus_zero) bits = 0;
    keyed[i] = (Keyed){key_of_bits(dtype, bits), i};
  }
}

void sort_keys_descending(int64_t n, Keyed *keyed) {
  for (int64_t i = 0; i < n; i++) keyed[i].key = ~keyed[i].key;
}

static void insertion_sort(int64_t n, Keyed *keyed) {
  for (int64_t i = 1; i < n; i++) {
    Keyed moving = keyed[i];
    int64_t j = i;
    for (; j > 0 && keyed[j - 1].key > moving.key; j--) keyed[j] = keyed[j - 1];
    keyed[j] = moving;
  }
}

static void merge(const Keyed *left, int64_t n_left, const Keyed *right, int64_t n_right, Keyed *out) {
  int64_t l = 0, r = 0;
  while (l < n_left && r < n_right) {
    bool from_right = right[r].key < left[l].key;
    *out++ = from_right ? right[r] : left[l];
    l += !from_right;
    r += from_right;
  }
  memcpy(out, left + l, (size_t)(n_left - l) * sizeof *out);
  memcpy(out + (n_left - l), right + r, (size_t)(n_right - r) * sizeof *out);
}

void sort_keyed(int64_t n, Keyed *keyed, Keyed *space) {
  for (int64_t i = 0; i < n; i += INSERTION_RUN)
    insertion_sort(n - i < INSERTION_RUN ? n - i : INSERTION_RUN, keyed + i);
  Keyed *from = keyed, *to = space;
  for (int64_t run = INSERTION_RUN; run < n; run *= 2) {
    for (int64_t i = 0; i < n; i += 2 * run) {
      int64_t left = n - i < run ? n - i : run, right = n - i - left < run ? n - i - left : run;
      merge(from + i, left, from + i + left, right, to + i);
    }
    Keyed *swap = from;
    from = to;
    to = swap;
  }
  if (from != keyed) memcpy(keyed, from, (size_t)n * sizeof *keyed);
}

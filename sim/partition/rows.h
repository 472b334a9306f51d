/* Arithmetic on rows: quotients that round down and up for negative numbers too. Internal to sim/partition.
 */
#pragma once

#include <stdint.h>

static inline int64_t floor_div(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

static inline int64_t ceil_div(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}

static inline int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

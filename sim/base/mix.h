/* A hash of 64 bits: each bit of what goes in changes half of what comes out. Source: splitmix64 (Steele, Lea
 * and Flood, Fast splittable pseudorandom number generators, 2014). */
#pragma once

#include <stdint.h>

static inline uint64_t mix64(uint64_t x) {
  x += UINT64_C(0x9e3779b97f4a7c15);
  x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
  return x ^ (x >> 31);
}

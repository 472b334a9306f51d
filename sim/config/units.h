/* Numbers with units, as config values and flags have them: 819GB/s, 16GiB, 1.5us, 1.5GHz, 197TFLOP/s, 95%.
 */
#pragma once

#include "sim/base/diag.h"

typedef enum {
  UNIT_COUNT,
  UNIT_BYTES,
  UNIT_BPS,
  UNIT_HZ,
  UNIT_PS,
  UNIT_FLOPS,
  UNIT_RATIO,
  UNIT_FLAG,
  UNIT_WORD,
  UNIT_SHAPE,
  UNIT_FLAGS
} Unit;

/* The number in base units (bytes, bytes/s, Hz, ps, FLOP/s, 1 for true). False where it does not read as that
 * unit, or lies outside what the unit may be: above 0 (a time: 0 or more; a ratio: a millionth at least),
 * below 2^53 where it is a whole number (counts, bytes, ps; times are rounded to the nearest). Words, shapes
 * and lists are no numbers. */
bool unit_parse(Str text, Unit unit, double *value);
/* Shortest text that reads back to the same number: 4.5e+10 B/s is 45GB/s. */
Str unit_text(Arena *arena, double value, Unit unit);
/* An example of how the unit is written, for hints. */
const char *unit_example(Unit unit);

/* Units: what reads, what does not, and the shortest text. */
#include "sim/config/units.h"

#include <criterion/criterion.h>

Test(units, read_in_base_units) {
  const struct {
    const char *text;
    Unit unit;
    double value;
  } rows[] = {
      {"819GB/s", UNIT_BPS, 8.19e11},
      {"4.5e10", UNIT_BPS, 4.5e10},
      {"100Gbit/s", UNIT_BPS, 1.25e10},
      {"16GiB", UNIT_BYTES, 0x1p34},
      {"15.75GiB", UNIT_BYTES, 16911433728.0},
      {"4096", UNIT_BYTES, 4096},
      {"1.5us", UNIT_PS, 1.5e6},
      {"1 us", UNIT_PS, 1e6},
      {"0", UNIT_PS, 0},
      {"0.3333ps", UNIT_PS, 0},
      {"1.5GHz", UNIT_HZ, 1.5e9},
      {"197TFLOP/s", UNIT_FLOPS, 1.97e14},
      {"95%", UNIT_RATIO, 0.95},
      {"1", UNIT_RATIO, 1},
      {" true ", UNIT_FLAG, 1},
      {"off", UNIT_FLAG, 0},
      {"1e9", UNIT_COUNT, 1e9},
      {"4", UNIT_COUNT, 4},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double value = -1;
    cr_assert(unit_parse(str_of(rows[i].text), rows[i].unit, &value), "%s", rows[i].text);
    cr_assert_eq(value, rows[i].value, "%s is %.17g", rows[i].text, value);
  }
}

Test(units, refuse_the_rest) {
  const struct {
    const char *text;
    Unit unit;
  } rows[] = {
      {"", UNIT_BPS},
      {"GB/s", UNIT_BPS},
      {"45GB", UNIT_BPS},
      {"45gb/s", UNIT_BPS},
      {"0B/s", UNIT_BPS},
      {"-1GB/s", UNIT_BPS},
      {"nan", UNIT_BPS},
      {"inf", UNIT_BPS},
      {"0x10", UNIT_COUNT},
      {"1e400", UNIT_BPS},
      {"1e30GB/s", UNIT_BPS},
      {"1.2.3GB/s", UNIT_BPS},
      {"1", UNIT_PS},
      {"-1us", UNIT_PS},
      {"1e9s", UNIT_PS},
      {"0", UNIT_BYTES},
      {"1e20", UNIT_BYTES},
      {"2.5", UNIT_COUNT},
      {"0", UNIT_COUNT},
      {"4 chips", UNIT_COUNT},
      {"101%", UNIT_RATIO},
      {"0", UNIT_RATIO},
      {"1e-300", UNIT_RATIO},
      {"maybe", UNIT_FLAG},
      {"", UNIT_FLAG},
      {"5GB/s x", UNIT_BPS},
      {"1e", UNIT_COUNT},
      {"word", UNIT_WORD},
      {"11111111111111111111111111111111111111111111111111", UNIT_COUNT},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double value;
    cr_assert_not(unit_parse(str_of(rows[i].text), rows[i].unit, &value), "%s", rows[i].text);
  }
}

Test(units, shortest_text_reads_back) {
  const struct {
    double value;
    Unit unit;
    const char *text;
  } rows[] = {
      {4.5e10, UNIT_BPS, "45GB/s"},
      {8.19e11, UNIT_BPS, "819GB/s"},
      {0x1p34, UNIT_BYTES, "16GiB"},
      {16911433728.0, UNIT_BYTES, "15.75GiB"},
      {1e6, UNIT_PS, "1us"},
      {1500, UNIT_PS, "1.5ns"},
      {0, UNIT_PS, "0s"},
      {1.97e14, UNIT_FLOPS, "197TFLOP/s"},
      {0.95, UNIT_RATIO, "0.95"},
      {1, UNIT_FLAG, "true"},
      {128, UNIT_COUNT, "128"},
      {17, UNIT_BYTES, "17B"},
  };
  Arena *arena = arena_new();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    Str text = unit_text(arena, rows[i].value, rows[i].unit);
    cr_assert_str_eq(text.at, rows[i].text);
  }
  const double awkward[] = {1.0 / 3 * 1e10, 123456789.123, 4.5000000001e10, 1e24, 1};
  for (size_t i = 0; i < sizeof awkward / sizeof *awkward; i++) {
    double back;
    cr_assert(unit_parse(unit_text(arena, awkward[i], UNIT_BPS), UNIT_BPS, &back));
    cr_assert_eq(back, awkward[i]);
  }
  arena_free(arena);
}

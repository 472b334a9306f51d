/* Units: one table of suffixes, largest first in each unit. */
#include "sim/config/units.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  Unit unit;
  const char *suffix;
  double scale;
  bool written; /* unit_text() writes it; the rest is only read */
} suffixes[] = {
    {UNIT_COUNT, "", 1, true},

    {UNIT_BYTES, "TB", 1e12, true},
    {UNIT_BYTES, "GB", 1e9, true},
    {UNIT_BYTES, "MB", 1e6, true},
    {UNIT_BYTES, "kB", 1e3, true},
    {UNIT_BYTES, "TiB", 0x1p40, true},
    {UNIT_BYTES, "GiB", 0x1p30, true},
    {UNIT_BYTES, "MiB", 0x1p20, true},
    {UNIT_BYTES, "KiB", 0x1p10, true},
    {UNIT_BYTES, "B", 1, true},
    {UNIT_BYTES, "", 1, false},

    {UNIT_BPS, "TB/s", 1e12, true},
    {UNIT_BPS, "GB/s", 1e9, true},
    {UNIT_BPS, "MB/s", 1e6, true},
    {UNIT_BPS, "kB/s", 1e3, true},
    {UNIT_BPS, "B/s", 1, true},
    {UNIT_BPS, "GiB/s", 0x1p30, false},
    {UNIT_BPS, "MiB/s", 0x1p20, false},
    {UNIT_BPS, "Tbit/s", 1e12 / 8, false},
    {UNIT_BPS, "Gbit/s", 1e9 / 8, false},
    {UNIT_BPS, "", 1, false},

    {UNIT_HZ, "GHz", 1e9, true},
    {UNIT_HZ, "MHz", 1e6, true},
    {UNIT_HZ, "kHz", 1e3, true},
    {UNIT_HZ, "Hz", 1, true},
    {UNIT_HZ, "", 1, false},

    {UNIT_PS, "s", 1e12, true},
    {UNIT_PS, "ms", 1e9, true},
    {UNIT_PS, "us", 1e6, true},
    {UNIT_PS, "ns", 1e3, true},
    {UNIT_PS, "ps", 1, true},

    {UNIT_FLOPS, "PFLOP/s", 1e15, true},
    {UNIT_FLOPS, "TFLOP/s", 1e12, true},
    {UNIT_FLOPS, "GFLOP/s", 1e9, true},
    {UNIT_FLOPS, "MFLOP/s", 1e6, true},
    {UNIT_FLOPS, "FLOP/s", 1, true},
    {UNIT_FLOPS, "", 1, false},

    {UNIT_RATIO, "", 1, true},
    {UNIT_RATIO, "%", 0.01, false},
};

enum { SUFFIXES = sizeof suffixes / sizeof *suffixes, LONGEST_NUMBER = 40 };

/* Length of the decimal number that `text` begins with: no hex, inf or nan, as strtod() would take. */
static size_t number_length(Str text) {
  size_t i = 0;
  while (i < text.n && strchr("+-.0123456789", text.at[i]) != NULL && text.at[i] != 0) i++;
  if (i == 0 || i == text.n || (text.at[i] != 'e' && text.at[i] != 'E')) return i;
  size_t exponent = i + 1;
  if (exponent < text.n && (text.at[exponent] == '+' || text.at[exponent] == '-')) exponent++;
  size_t digits = exponent;
  while (exponent < text.n && text.at[exponent] >= '0' && text.at[exponent] <= '9') exponent++;
  return exponent > digits ? exponent : i;
}

static bool number_parse(Str text, double *value) {
  char digits[LONGEST_NUMBER + 1];
  if (text.n == 0 || text.n > LONGEST_NUMBER) return false;
  memcpy(digits, text.at, text.n);
  digits[text.n] = 0;
  char *end;
  *value = strtod(digits, &end);
  return end == digits + text.n;
}

static bool is_whole(Unit unit) {
  return unit == UNIT_COUNT || unit == UNIT_BYTES || unit == UNIT_PS;
}

static bool in_range(double value, Unit unit) {
  if (is_whole(unit)) return value >= (unit == UNIT_PS ? 0 : 1) && value <= 0x1p53 && value == floor(value);
  if (unit == UNIT_RATIO) return value >= 1e-6 && value <= 1;
  return value >= 1 && value <= 1e24;
}

static bool flag_parse(Str text, double *value) {
  *value = str_is(text, "true") || str_is(text, "yes") || str_is(text, "on");
  return *value != 0 || str_is(text, "false") || str_is(text, "no") || str_is(text, "off");
}

bool unit_parse(Str text, Unit unit, double *value) {
  text = str_trim(text);
  if (unit == UNIT_FLAG) return flag_parse(text, value);
  size_t n = number_length(text);
  Str suffix = str_trim(str_sub(text, n, text.n));
  double number;
  if (!number_parse(str_sub(text, 0, n), &number)) return false;
  for (size_t i = 0; i < SUFFIXES; i++) {
    if (suffixes[i].unit != unit || !str_is(suffix, suffixes[i].suffix)) continue;
    double scale = suffixes[i].scale;
    *value = scale < 1 ? number / (1 / scale) : number * scale; /* 95% is 0.95 to the last bit */
    if (unit == UNIT_PS || unit == UNIT_BYTES) *value = round(*value);
    return in_range(*value, unit);
  }
  return unit == UNIT_PS && number == 0 && suffix.n == 0 && (*value = 0, true);
}

/* `value` in a unit's suffix, as short as reads back to it; empty where no digits do. Once there is no
 * exponent, more digits change nothing. */
static Str scaled_text(Arena *arena, double value, Unit unit, double scale, const char *suffix) {
  char best[64] = "";
  for (int digits = 1; digits <= 17; digits++) {
    char text[64];
    double back;
    size_t n = (size_t)snprintf(text, sizeof text, "%.*g%s", digits, value / scale, suffix);
    if (!unit_parse((Str){text, n}, unit, &back) || back != value) continue;
    if (*best == 0 || n < strlen(best)) memcpy(best, text, n + 1);
    if (strchr(text, 'e') == NULL) break;
  }
  return str_copy(arena, str_of(best));
}

Str unit_text(Arena *arena, double value, Unit unit) {
  if (unit == UNIT_FLAG) return value != 0 ? STR("true") : STR("false");
  Str best = STR("");
  for (size_t i = 0; i < SUFFIXES; i++) {
    if (suffixes[i].unit != unit || !suffixes[i].written) continue;
    Str text = scaled_text(arena, value, unit, suffixes[i].scale, suffixes[i].suffix);
    if (text.n != 0 && (best.n == 0 || text.n < best.n)) best = text;
  }
  return best.n != 0 ? best : str_printf(arena, "%.17g", value);
}

const char *unit_example(Unit unit) {
  switch (unit) {
  case UNIT_COUNT: return "a whole number above 0, as 4 or 1e9";
  case UNIT_BYTES: return "bytes, as 16GiB, 128MiB or 4096B";
  case UNIT_BPS: return "bytes per second, as 45GB/s or 100Gbit/s";
  case UNIT_HZ: return "a frequency, as 1.5GHz";
  case UNIT_PS: return "a time with its unit, as 1us or 500ns";
  case UNIT_FLOPS: return "FLOP per second, as 197TFLOP/s";
  case UNIT_RATIO: return "a part of 1, as 0.95 or 95%";
  case UNIT_FLAG: return "true or false";
  case UNIT_WORD: return "a word";
  case UNIT_SHAPE: return "chips along one to three axes, as 4x2 or 16x16";
  case UNIT_FLAGS: return "auto, or true or false for each axis, as true,false";
  }
  return "";
}

/* Quantities for people. */
#include "traces/human.h"

static void scaled(StrBuf *buf, double value, double step, const char *const *units, uint32_t n_units) {
  uint32_t unit = 0;
  while (unit + 1 < n_units && value >= step * 0.9995) {
    value /= step;
    unit++;
  }
  int decimals = value >= 99.95 || (unit == 0 && value == (double)(int64_t)value) ? 0
                 : value >= 9.995                                                 ? 1
                                                                                  : 2;
  buf_printf(buf, "%.*f %s", decimals, value, units[unit]);
}

void human_time(StrBuf *buf, int64_t ps) {
  static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
  if (ps == 0)
    buf_add(buf, STR("0 s"));
  else
    scaled(buf, (double)ps, 1000, units, 5);
}

void human_bytes(StrBuf *buf, int64_t bytes) {
  static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  scaled(buf, (double)bytes, 1024, units, 6);
}

void human_flops(StrBuf *buf, int64_t flops) {
  static const char *const units[] = {"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP"};
  scaled(buf, (double)flops, 1000, units, 7);
}

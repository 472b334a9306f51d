/* Quantities for people: three significant digits and the unit that fits. */
#pragma once

#include "sim/base/str.h"

/* 1.23 ms, 371 us, 0 s. */
void human_time(StrBuf *buf, int64_t ps);
/* 15.8 GiB, 512 B. */
void human_bytes(StrBuf *buf, int64_t bytes);
/* 1.97 TFLOP, 17.7 kFLOP. */
void human_flops(StrBuf *buf, int64_t flops);

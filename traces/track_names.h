/* Names of tracks as XProf has them, coordinates and times, for CSV and trace alike. */
#pragma once

#include "sim/ledger/ledger.h"

/* "XLA Ops", "Async XLA Ops", "DMA", "ICI +x" (with " #2" for the second lane, and so on). */
void track_name(StrBuf *buf, const Event *event);
/* Coordinates of a chip in its slice, 0 on axes that it has not. */
void chip_coordinates(const Ledger *ledger, uint32_t chip, int64_t coordinates[3]);
/* "(1,0)" in a two-dimensional pod, "slice 1 (1,0)" in one of several slices. */
void chip_coordinates_text(StrBuf *buf, const Ledger *ledger, uint32_t chip);
/* Picoseconds as microseconds with six decimals. */
void microseconds_text(StrBuf *buf, int64_t ps);

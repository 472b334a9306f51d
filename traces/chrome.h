/* trace.json in Chrome's format, as Perfetto opens it: a process a chip ("/device:TPU:3 (1,1)"), a thread a
 * track ("XLA Ops", "Async XLA Ops", "DMA"), the links as a process of their own, flows from a DMA over its
 * links to the chip that waits for it. Names and args are XProf's (hlo_op, hlo_category, bytes_accessed, …).
 * Times are microseconds with six decimals. */
#pragma once

#include "sim/ledger/ledger.h"
#include "traces/file_out.h"

/* Chips that the trace shows: `shown[chip]`, or NULL for all. A link or transfer is shown with the chip it
 * leaves. */
Status chrome_trace_write(const Ledger *ledger, Str program, const bool *shown, const char *path, Diag *diag);

/* `0,5-8` as a table of ledger->n_chips flags in `arena`. */
Status chips_parse(Arena *arena, const char *text, uint32_t n_chips, bool **shown, Diag *diag);

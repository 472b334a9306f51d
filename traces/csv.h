/* timeline.csv: a row an event, times in microseconds with six decimals (picoseconds); and tables of texts as
 * CSV. */
#pragma once

#include "sim/ledger/ledger.h"
#include "traces/file_out.h"

Status timeline_csv_write(const Ledger *ledger, const char *path, Diag *diag);

/* A table of texts: `header` holds `columns` texts, `rows` that many for each of n_rows. */
Status table_csv_write(const char *path, const Str *header, const Str *rows, uint32_t columns,
                       uint32_t n_rows, Diag *diag);

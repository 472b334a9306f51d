/* Tables of a run, a row an op of the program, the longest first: ops.csv says where each lies on the
 * roofline and on the critical path, collectives.csv what each collective moves, why it is there, and its
 * closed form beside its simulated time. The columns are op_column.def and collective_column.def. */
#pragma once

#include "traces/summary.h"

Status ops_csv_write(const RunInfo *info, const Ledger *ledger, const Metrics *metrics, const char *path,
                     Diag *diag);
Status collectives_csv_write(const Ledger *ledger, const Metrics *metrics, const char *path, Diag *diag);

/* The same for people: what computes, what communicates; at most `most` rows. */
void ops_table(StrBuf *buf, const RunInfo *info, const Ledger *ledger, const Metrics *metrics, uint32_t most);
void collectives_table(StrBuf *buf, const Ledger *ledger, const Metrics *metrics, uint32_t most);

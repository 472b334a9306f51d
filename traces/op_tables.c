/* Tables of a run. An op's place on the roofline is its FLOPs a byte of HBM, and what it reaches of the
 * chip's FLOP/s and bytes/s (Williams et al., "Roofline", 2009). */
#include "traces/op_tables.h"
#include "traces/csv.h"
#include "traces/human.h"

#include <inttypes.h>
#include <stdio.h>

static double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

static double op_intensity(const OpMetric *metric) {
  return ratio((double)metric->flops, (double)metric->hbm_bytes);
}

static double op_of_peak_flops(const RunInfo *info, const OpMetric *metric) {
  return ratio((double)metric->flops, (double)metric->total_ps * 1e-12 * info->peak_flops);
}

static double op_of_hbm_bandwidth(const RunInfo *info, const OpMetric *metric) {
  return ratio((double)metric->hbm_bytes, (double)metric->total_ps * 1e-12 * info->hbm_bw_Bps);
}

/* Of these, in their order: the collectives, or all others. */
static Ids pick_ops(const Ledger *ledger, const Metrics *metrics, Ids ids, bool collectives) {
  Ids own = {ids.at, 0};
  for (uint32_t i = 0; i < ids.n; i++) {
    bool is_collective = ledger->ops.at[metrics->ops[ids.at[i]].op].collective.n > 0;
    if (is_collective == collectives) own.at[own.n++] = ids.at[i];
  }
  return own;
}

static Str real_text(Arena *arena, double value, const char *format) {
  char text[64];
  snprintf(text, sizeof text, format, value);
  return str_copy(arena, str_of(text));
}

#define CELL_TEXT(value)                        (value)
#define CELL_WHOLE(value)                       str_printf(arena, "%" PRId64, (value))
#define CELL_REAL(value)                        real_text(arena, (value), "%.12g")
#define COLUMN_NAME(name, kind, value, meaning) STR(#name),
#define COLUMN_CELL(name, kind, value, meaning) CELL_##kind(value),

#define OP_COLUMN COLUMN_NAME
static const Str op_columns[] = {
#include "traces/op_column.def"
};
#undef OP_COLUMN

#define COLLECTIVE_COLUMN COLUMN_NAME
static const Str collective_columns[] = {
#include "traces/collective_column.def"
};
#undef COLLECTIVE_COLUMN

enum {
  OP_COLUMNS = sizeof op_columns / sizeof *op_columns,
  COLLECTIVE_COLUMNS = sizeof collective_columns / sizeof *collective_columns
};

static void op_row(Arena *arena, const RunInfo *info, const LedgerOp *op, const OpMetric *metric, Str *row) {
#define OP_COLUMN COLUMN_CELL
  const Str cells[] = {
#include "traces/op_column.def"
  };
#undef OP_COLUMN
  memcpy(row, cells, sizeof cells);
}

static void collective_row(Arena *arena, const LedgerOp *op, const OpMetric *metric, Str *row) {
#define COLLECTIVE_COLUMN COLUMN_CELL
  const Str cells[] = {
#include "traces/collective_column.def"
  };
#undef COLLECTIVE_COLUMN
  memcpy(row, cells, sizeof cells);
}

Status ops_csv_write(const RunInfo *info, const Ledger *ledger, const Metrics *metrics, const char *path,
                     Diag *diag) {
  Arena *arena = arena_new();
  Ids ids = pick_ops(ledger, metrics, metrics_costliest(arena, metrics, metrics->n_ops), false);
  Str *rows = ARENA_ARRAY(arena, Str, (size_t)ids.n * OP_COLUMNS);
  for (uint32_t i = 0; i < ids.n; i++) {
    const OpMetric *metric = &metrics->ops[ids.at[i]];
    op_row(arena, info, &ledger->ops.at[metric->op], metric, rows + (size_t)i * OP_COLUMNS);
  }
  Status status = table_csv_write(path, op_columns, rows, OP_COLUMNS, ids.n, diag);
  arena_free(arena);
  return status;
}

Status collectives_csv_write(const Ledger *ledger, const Metrics *metrics, const char *path, Diag *diag) {
  Arena *arena = arena_new();
  Ids ids = pick_ops(ledger, metrics, metrics_costliest(arena, metrics, metrics->n_ops), true);
  Str *rows = ARENA_ARRAY(arena, Str, (size_t)ids.n * COLLECTIVE_COLUMNS);
  for (uint32_t i = 0; i < ids.n; i++) {
    const OpMetric *metric = &metrics->ops[ids.at[i]];
    collective_row(arena, &ledger->ops.at[metric->op], metric, rows + (size_t)i * COLLECTIVE_COLUMNS);
  }
  Status status = table_csv_write(path, collective_columns, rows, COLLECTIVE_COLUMNS, ids.n, diag);
  arena_free(arena);
  return status;
}

/* For people. */

enum { NAME_WIDTH = 34, CELL_WIDTH = 11 };

static void text_cell(StrBuf *buf, Str text) {
  size_t start = buf->n;
  buf_add(buf, text);
  buf_column(buf, start, CELL_WIDTH);
}

static void time_cell(StrBuf *buf, int64_t ps) {
  size_t start = buf->n;
  human_time(buf, ps);
  buf_column(buf, start, CELL_WIDTH);
}

static void bytes_cell(StrBuf *buf, int64_t bytes) {
  size_t start = buf->n;
  human_bytes(buf, bytes);
  buf_column(buf, start, CELL_WIDTH);
}

static void name_cell(StrBuf *buf, const LedgerOp *op, const OpMetric *metric) {
  size_t start = buf->n;
  buf_printf(buf, "  %.*s", STR_ARG(op->whole.n > 0 ? op->whole : op->name));
  if (metric->count > 1) buf_printf(buf, " x%" PRId64, metric->count);
  buf_column(buf, start, NAME_WIDTH);
}

static void head_line(StrBuf *buf, const char *title, const char *const *cells, uint32_t n) {
  buf_printf(buf, "%-*s", NAME_WIDTH, title);
  for (uint32_t i = 0; i < n; i++) buf_printf(buf, "%-*s", i + 1 < n ? CELL_WIDTH : 0, cells[i]);
  buf_char(buf, '\n');
}

static void rest_line(StrBuf *buf, uint32_t n, uint32_t most) {
  if (n > most) buf_printf(buf, "  and %u more\n", n - most);
}

static void op_line(StrBuf *buf, const RunInfo *info, const LedgerOp *op, const OpMetric *metric) {
  name_cell(buf, op, metric);
  time_cell(buf, metric->total_ps);
  time_cell(buf, metric->critical_ps);
  text_cell(buf, metric->hbm_bytes == 0 ? STR("-") : real_text(buf->arena, op_intensity(metric), "%.3g"));
  text_cell(buf, real_text(buf->arena, 100 * op_of_peak_flops(info, metric), "%.1f %%"));
  text_cell(buf, real_text(buf->arena, 100 * op_of_hbm_bandwidth(info, metric), "%.1f %%"));
  buf_add(buf, op->bound);
  if (op->source.n > 0) buf_printf(buf, "  (%.*s)", STR_ARG(op->source));
  buf_char(buf, '\n');
}

void ops_table(StrBuf *buf, const RunInfo *info, const Ledger *ledger, const Metrics *metrics,
               uint32_t most) {
  static const char *const cells[] = {"time", "critical", "FLOP/B", "FLOP/s", "HBM B/s", "bound by"};
  Ids ids = pick_ops(ledger, metrics, metrics_costliest(buf->arena, metrics, metrics->n_ops), false);
  head_line(buf, "kernels", cells, sizeof cells / sizeof *cells);
  buf_add(buf, STR("    FLOP/B: of HBM; FLOP/s and HBM B/s: of the chip's peak and bandwidth\n"));
  for (uint32_t i = 0; i < ids.n && i < most; i++) {
    const OpMetric *metric = &metrics->ops[ids.at[i]];
    op_line(buf, info, &ledger->ops.at[metric->op], metric);
  }
  rest_line(buf, ids.n, most);
}

/* What the steps of a collective come to. */
typedef struct {
  int64_t bytes, critical_ps;
  double ideal_ps;
} Sums;

static Sums sum_steps(const Ledger *ledger, const Metrics *metrics, uint32_t first) {
  Sums sums = {0};
  for (uint32_t i = first; i < metrics->n_ops; i++) {
    const OpMetric *metric = &metrics->ops[i];
    if (metric->whole.first != first) continue;
    const LedgerOp *op = &ledger->ops.at[metric->op];
    sums.bytes += op->bytes_payload * metric->count;
    sums.ideal_ps += op->ideal_seconds * (double)metric->count * 1e12;
    sums.critical_ps += metric->critical_ps;
  }
  return sums;
}

static void collective_line(StrBuf *buf, const Ledger *ledger, const Metrics *metrics, uint32_t first) {
  const OpMetric *metric = &metrics->ops[first];
  const LedgerOp *op = &ledger->ops.at[metric->op];
  Sums sums = sum_steps(ledger, metrics, first);
  name_cell(buf, op, metric);
  bytes_cell(buf, sums.bytes);
  time_cell(buf, metric->whole.ps);
  if (metric->whole.n > 1)
    text_cell(buf, STR("-")); /* steps run side by side */
  else
    time_cell(buf, (int64_t)sums.ideal_ps);
  time_cell(buf, metric->whole.exposed_ps);
  time_cell(buf, sums.critical_ps);
  buf_printf(buf, "%.*s: ", STR_ARG(op->axes));
  if (metric->whole.n > 1) buf_printf(buf, "%u steps, ", metric->whole.n);
  buf_printf(buf, "%.*s\n", STR_ARG(op->algorithm));
  if (op->because.n == 0 && op->source.n == 0) return;
  buf_printf(buf, "    %.*s", STR_ARG(op->because));
  if (op->source.n > 0) buf_printf(buf, "  (%.*s)", STR_ARG(op->source));
  buf_char(buf, '\n');
}

void collectives_table(StrBuf *buf, const Ledger *ledger, const Metrics *metrics, uint32_t most) {
  static const char *const cells[] = {"bytes", "simulated", "bytes/bw", "exposed", "critical", "over"};
  Ids ids = pick_ops(ledger, metrics, metrics_costliest_wholes(buf->arena, metrics, metrics->n_ops), true);
  if (ids.n == 0) buf_add(buf, STR("collectives: none\n"));
  if (ids.n == 0) return;
  head_line(buf, "collectives", cells, sizeof cells / sizeof *cells);
  buf_add(buf, STR("    simulated: in flight on the slowest chip; bytes/bw: at link bandwidth alone; "
                   "exposed: while it "
                   "computes nothing;\n    critical: of the critical path, whichever chips it leads over\n"));
  for (uint32_t i = 0; i < ids.n && i < most; i++) {
    collective_line(buf, ledger, metrics, ids.at[i]);
  }
  rest_line(buf, ids.n, most);
}

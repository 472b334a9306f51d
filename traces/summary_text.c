/* The summary for people: what ran, on what, how long, what held it up, and the costliest ops; at most 25
 * lines. */
#include "traces/human.h"
#include "traces/summary.h"

#include <inttypes.h>

enum { COSTLIEST_SHOWN = 8, FILES_SHOWN = 3, LABEL_WIDTH = 14, NAME_WIDTH = 34 };

static void label(StrBuf *buf, const char *text) {
  buf_printf(buf, "%-*s", LABEL_WIDTH, text);
}

static double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * (double)part / (double)whole;
}

static void time_line(StrBuf *buf, const char *text, int64_t ps, int64_t whole_ps, const char *note) {
  label(buf, text);
  human_time(buf, ps);
  if (whole_ps > 0) buf_printf(buf, "  (%.0f %% of the step%s)", percent(ps, whole_ps), note);
  buf_char(buf, '\n');
}

static void head_lines(StrBuf *buf, const RunInfo *info, const Ledger *ledger, const Metrics *metrics) {
  label(buf, "program");
  buf_printf(buf, "%.*s", STR_ARG(info->program));
  buf_printf(buf, "  (numbers %.*s)\n", STR_ARG(info->numbers));
  label(buf, "pod");
  buf_printf(buf, "%.*s, %u chip%s", STR_ARG(info->pod), ledger->n_chips, ledger->n_chips == 1 ? "" : "s");
  if (metrics->chips < ledger->n_chips) buf_printf(buf, ", %u simulated for all", metrics->chips);
  buf_char(buf, '\n');
  label(buf, "mesh");
  for (uint32_t axis = 0; axis < info->mesh_sizes.n; axis++) {
    buf_printf(buf, "%s%.*s=%" PRId64, axis == 0 ? "" : ", ", STR_ARG(info->mesh_names[axis]),
               info->mesh_sizes.at[axis]);
  }
  if (info->mesh_sizes.n == 0) buf_add(buf, STR("none"));
  if (info->layout.n > 0) buf_printf(buf, "  (%.*s)", STR_ARG(info->layout));
  buf_char(buf, '\n');
}

static void critical_line(StrBuf *buf, const Metrics *metrics) {
  const CriticalPath *path = &metrics->critical;
  label(buf, "critical path");
  buf_printf(buf, "%.0f %% compute, %.0f %% communication", percent(path->compute_ps, metrics->end_ps),
             percent(path->communication_ps, metrics->end_ps));
  if (path->idle_ps > 0) buf_printf(buf, ", %.0f %% idle", percent(path->idle_ps, metrics->end_ps));
  buf_char(buf, '\n');
}

static void resource_lines(StrBuf *buf, const RunInfo *info, const Metrics *metrics) {
  label(buf, "FLOPs, MFU");
  human_flops(buf, metrics->flops);
  buf_printf(buf, " a chip, %.1f %% of its peak\n", 100 * metrics_mfu(metrics, info->peak_flops));
  label(buf, "HBM");
  human_bytes(buf, info->hbm_peak_bytes);
  buf_add(buf, STR(" at the peak of "));
  human_bytes(buf, info->hbm_limit_bytes);
  buf_printf(buf, "  (%.0f %%)\n", percent(info->hbm_peak_bytes, info->hbm_limit_bytes));
}

/* The first of the reasons, and how many more there are. */
static void add_reason(StrBuf *buf, Str because) {
  size_t first = str_find(because, ';');
  buf_add(buf, str_sub(because, 0, first));
  size_t more = 0;
  for (size_t i = first; i < because.n; i++) more += because.at[i] == ';';
  if (more > 0) buf_printf(buf, " and %zu more", more);
}

static void add_collective(StrBuf *buf, const LedgerOp *op, const OpGroup *alike) {
  buf_printf(buf, " over %.*s, ", STR_ARG(op->axes));
  if (op->whole.n > 0 && alike->n > 1) buf_printf(buf, "%u times ", alike->n);
  human_bytes(buf, op->bytes_payload);
  if (op->whole.n == 0 && alike->n > 1) buf_printf(buf, ", %u alike", alike->n);
  buf_add(buf, STR(": "));
  add_reason(buf, op->because);
}

/* A kernel that sends by itself is a Pallas kernel with remote DMAs. */
static void add_bound(StrBuf *buf, const LedgerOp *op, const OpMetric *metric) {
  const OpGroup *alike = &metric->alike;
  bool fused = op->product && !str_is(op->category, "dot") && !str_is(op->category, "convolution");
  buf_printf(buf, "%s, %.*s-bound", fused ? " with a product" : "", STR_ARG(op->bound));
  if (alike->n > 1) buf_printf(buf, ", %u alike", alike->n);
  if (metric->wire_bytes == 0) return;
  buf_add(buf, STR(", sends "));
  human_bytes(buf, metric->wire_bytes);
  buf_add(buf, STR(" a chip over links"));
}

/* Of ops that are alike the first stands for all, of the steps of a collective its name. */
static void op_line(StrBuf *buf, const LedgerOp *op, const OpMetric *metric, int64_t end_ps) {
  const OpGroup *alike = &metric->alike;
  int64_t count = op->whole.n > 0 ? metric->count : alike->count;
  size_t start = buf->n;
  buf_printf(buf, "  %.*s", STR_ARG(op->whole.n > 0 ? op->whole : op->name));
  if (count > 1) buf_printf(buf, " x%" PRId64, count);
  while (buf->n - start < NAME_WIDTH) buf_char(buf, ' ');
  buf_char(buf, ' ');
  start = buf->n;
  human_time(buf, alike->ps);
  while (buf->n - start < 10) buf_char(buf, ' ');
  buf_printf(buf, "%3.0f %%  %.*s", percent(alike->ps, end_ps), STR_ARG(op->category));
  if (op->collective.n > 0)
    add_collective(buf, op, alike);
  else if (op->bound.n > 0)
    add_bound(buf, op, metric);
  if (op->source.n > 0) buf_printf(buf, "  %.*s", STR_ARG(op->source));
  buf_char(buf, '\n');
}

static void file_lines(StrBuf *buf, const RunInfo *info) {
  for (uint32_t i = 0; i < info->files.n && i < FILES_SHOWN; i++) {
    label(buf, i == 0 ? "written" : "");
    buf_printf(buf, "%.*s", STR_ARG(info->files.at[i]));
    if (i + 1 == FILES_SHOWN && info->files.n > FILES_SHOWN)
      buf_printf(buf, " and %u more", info->files.n - FILES_SHOWN);
    buf_char(buf, '\n');
  }
}

Str summary_text(Arena *arena, const RunInfo *info, const Ledger *ledger, const Metrics *metrics) {
  StrBuf buf = {.arena = arena};
  head_lines(&buf, info, ledger, metrics);
  time_line(&buf, "step time", metrics->end_ps, 0, "");
  time_line(&buf, "compute", metrics->compute_ps, metrics->end_ps, "");
  time_line(&buf, "communication", metrics->communication_ps, metrics->end_ps, "");
  time_line(&buf, "  exposed", metrics->exposed_ps, metrics->end_ps, ": no compute meanwhile");
  critical_line(&buf, metrics);
  resource_lines(&buf, info, metrics);
  Ids costliest = metrics_costliest_alike(arena, metrics, COSTLIEST_SHOWN);
  if (costliest.n > 0) buf_add(&buf, STR("costliest ops\n"));
  for (uint32_t i = 0; i < costliest.n; i++) {
    const OpMetric *metric = &metrics->ops[costliest.at[i]];
    op_line(&buf, &ledger->ops.at[metric->op], metric, metrics->end_ps);
  }
  file_lines(&buf, info);
  return buf_str(&buf);
}

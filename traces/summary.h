/* The summary of a run: summary.json for machines, at most 25 lines for people. Both are folds over ledger
 * and metrics, with what the pipeline knows beside them. */
#pragma once

#include "traces/file_out.h"
#include "traces/metrics.h"

typedef struct {
  Str file, dtype, spec;
  Ints shape;
  const int64_t *slices; /* [start, stop] for each device and dimension: devices * rank * 2 */
} OutputInfo;

typedef struct {
  Str program, pod, layout, numbers;
  uint32_t n_devices;
  const Str *mesh_names;
  Ints mesh_sizes;
  int64_t seed;
  double peak_flops, hbm_bw_Bps;
  int64_t hbm_peak_bytes, hbm_limit_bytes;
  const OutputInfo *outputs;
  uint32_t n_outputs;
  Vec(Str) files; /* written so far */
} RunInfo;

Status summary_json_write(const RunInfo *info, const Ledger *ledger, const Metrics *metrics, const char *path,
                          Diag *diag);
/* For the terminal; lives in `arena`. */
Str summary_text(Arena *arena, const RunInfo *info, const Ledger *ledger, const Metrics *metrics);

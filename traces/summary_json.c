/* summary.json, with the keys that the contract names. */
#include "traces/json_out.h"
#include "traces/summary.h"

static void put_mesh(JsonOut *json, const RunInfo *info) {
  json_key(json, "mesh");
  json_object(json);
  for (uint32_t axis = 0; axis < info->mesh_sizes.n; axis++) {
    json_text(json, info->mesh_names[axis]);
    json_int(json, info->mesh_sizes.at[axis]);
  }
  json_object_end(json);
}

static void put_slices(JsonOut *json, const OutputInfo *output, uint32_t device) {
  json_array(json);
  for (uint32_t dim = 0; dim < output->shape.n; dim++) {
    const int64_t *slice = output->slices + ((size_t)device * output->shape.n + dim) * 2;
    json_array(json);
    json_int(json, slice[0]);
    json_int(json, slice[1]);
    json_array_end(json);
  }
  json_array_end(json);
}

static void put_output(JsonOut *json, const RunInfo *info, const OutputInfo *output) {
  json_object(json);
  json_key_text(json, "file", output->file);
  json_key(json, "shape");
  json_array(json);
  for (uint32_t dim = 0; dim < output->shape.n; dim++) json_int(json, output->shape.at[dim]);
  json_array_end(json);
  json_key_text(json, "dtype", output->dtype);
  json_key_text(json, "spec", output->spec);
  json_key(json, "device_slices");
  json_array(json);
  for (uint32_t device = 0; device < info->n_devices; device++) put_slices(json, output, device);
  json_array_end(json);
  json_object_end(json);
}

#define PUT_CELL_TEXT(name, value)  json_key_text(json, #name, value);
#define PUT_CELL_REAL(name, value)  json_key_double(json, #name, value);
#define PUT_CELL_WHOLE(name, value) json_key_int(json, #name, value);

static void put_collective(JsonOut *json, const LedgerOp *op, const OpMetric *metric) {
  json_object(json);
#define COLLECTIVE_COLUMN(name, kind, value, meaning) PUT_CELL_##kind(name, value)
#include "traces/collective_column.def"
#undef COLLECTIVE_COLUMN
  json_object_end(json);
}

static void put_metrics(JsonOut *json, const RunInfo *info, const Metrics *metrics) {
#define METRIC(name, kind, value, meaning) PUT_CELL_##kind(name, value)
#include "traces/metric.def"
#undef METRIC
}

static void put_summary(JsonOut *json, const RunInfo *info, const Ledger *ledger, const Metrics *metrics) {
  json_object(json);
  json_key_text(json, "podsim_version", STR(PODSIM_VERSION));
  json_key_text(json, "program", info->program);
  json_key_text(json, "pod", info->pod);
  json_key_int(json, "chips", ledger->n_chips);
  put_mesh(json, info);
  json_key_text(json, "layout", info->layout);
  json_key_text(json, "numbers", info->numbers);
  json_key_int(json, "seed", info->seed);
  put_metrics(json, info, metrics);
  json_key(json, "outputs");
  json_array(json);
  for (uint32_t i = 0; i < info->n_outputs; i++) put_output(json, info, &info->outputs[i]);
  json_array_end(json);
  json_key(json, "collectives");
  json_array(json);
  for (uint32_t i = 0; i < metrics->n_ops; i++) {
    const LedgerOp *op = &ledger->ops.at[metrics->ops[i].op];
    if (op->collective.n > 0) put_collective(json, op, &metrics->ops[i]);
  }
  json_array_end(json);
  json_object_end(json);
}

Status summary_json_write(const RunInfo *info, const Ledger *ledger, const Metrics *metrics, const char *path,
                          Diag *diag) {
  FileOut *out;
  TRY(file_out_open(path, &out, diag));
  JsonOut *json = json_out_new(out, true);
  put_summary(json, info, ledger, metrics);
  json_out_free(json);
  return file_out_close(out, diag);
}

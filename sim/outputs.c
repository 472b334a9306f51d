/* The outputs: each format is a fold in traces/; here is only which of them are asked for and under which
 * names. */
#include "sim/outputs.h"

#include "sim/eval/npy.h"
#include "sim/ir/print.h"
#include "sim/ledger/unfold.h"
#include "traces/chrome.h"
#include "traces/csv.h"
#include "traces/op_tables.h"

#include <inttypes.h>
#include <stdio.h>

Str pod_text(Arena *arena, const Pod *pod) {
  StrBuf buf = {.arena = arena};
  if (pod->slices > 1) buf_printf(&buf, "%" PRId64 " slices of ", pod->slices);
  buf_add(&buf, pod->generation);
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    buf_printf(&buf, "%s%" PRId64, axis == 0 ? " " : "x", pod->shape[axis]);
  }
  if (pod->twist) buf_add(&buf, STR(" twisted"));
  return buf_str(&buf);
}

static void describe_mesh(Arena *arena, const Mesh *mesh, RunInfo *info) {
  if (mesh == NULL) return;
  Str *names = ARENA_ARRAY(arena, Str, mesh->n_axes);
  info->mesh_sizes = (Ints){ARENA_ARRAY(arena, int64_t, mesh->n_axes), mesh->n_axes};
  for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
    names[axis] = mesh->axes[axis].name;
    info->mesh_sizes.at[axis] = mesh->axes[axis].size;
  }
  info->mesh_names = names;
}

static OutputInfo describe_output(Arena *arena, const Partitioned *partitioned, uint32_t index,
                                  uint32_t n_devices) {
  const Shape *shape = partitioned->global_outputs[index];
  const Sharding *sharding = partitioned->outputs[index];
  OutputInfo output = {
      .file = str_printf(arena, "out%u.npy", index),
      .dtype = str_of(dtype_text(shape->dtype)),
      .spec = sharding == NULL ? STR("P()") : sharding_spec_text(arena, sharding),
      .shape = {arena_copy(arena, shape->dims, shape->rank * sizeof *shape->dims), shape->rank}};
  int64_t *slices = ARENA_ARRAY(arena, int64_t, (size_t)n_devices * shape->rank * 2);
  for (uint32_t device = 0; device < n_devices; device++) {
    for (uint32_t dim = 0; dim < shape->rank; dim++) {
      int64_t *slice = slices + ((size_t)device * shape->rank + dim) * 2;
      slice[1] = shape->dims[dim];
      if (sharding != NULL) sharding_slice(sharding, dim, shape->dims[dim], device, &slice[0], &slice[1]);
    }
  }
  output.slices = slices;
  return output;
}

void outputs_describe(Pipeline *pipeline) {
  Arena *arena = pipeline->arena;
  const Pod *pod = &pipeline->config->pod;
  const Partitioned *partitioned = pipeline->partitioned;
  RunInfo *info = &pipeline->info;
  info->program = pipeline->module->name;
  info->pod = pod_text(arena, pod);
  info->layout = pipeline->layout.text;
  info->numbers = pipeline->numbers ? STR("on") : STR("off");
  info->n_devices = pod->n_chips;
  info->seed = pipeline->options->seed;
  info->peak_flops = pod->peak_flops;
  info->hbm_bw_Bps = pod->hbm_bw_Bps;
  info->hbm_peak_bytes = pipeline->schedule->hbm_peak_bytes;
  info->hbm_limit_bytes = pod->hbm_usable_bytes;
  describe_mesh(arena, partitioned->mesh, info);
  OutputInfo *outputs = ARENA_ARRAY(arena, OutputInfo, partitioned->n_outputs);
  for (uint32_t i = 0; i < partitioned->n_outputs; i++) {
    outputs[i] = describe_output(arena, partitioned, i, info->n_devices);
  }
  info->outputs = outputs;
  info->n_outputs = partitioned->n_outputs;
}

static void wrote(Pipeline *pipeline, const char *path) {
  VEC_PUSH(pipeline->arena, &pipeline->info.files, str_copy(pipeline->arena, str_of(path)));
}

static Status write_csv(Pipeline *pipeline, const char *path, Diag *diag) {
  wrote(pipeline, path);
  ledger_unfold(pipeline->ledger);
  return timeline_csv_write(pipeline->ledger, path, diag);
}

static Status write_json(Pipeline *pipeline, const char *path, Diag *diag) {
  wrote(pipeline, path);
  return summary_json_write(&pipeline->info, pipeline->ledger, &pipeline->metrics, path, diag);
}

static Status write_trace(Pipeline *pipeline, const char *path, Diag *diag) {
  bool *shown = NULL;
  const char *chips = pipeline->options->chips;
  if (chips != NULL) TRY(chips_parse(pipeline->arena, chips, pipeline->ledger->n_chips, &shown, diag));
  wrote(pipeline, path);
  ledger_unfold(pipeline->ledger);
  return chrome_trace_write(pipeline->ledger, pipeline->module->name, shown, path, diag);
}

static Status write_tables(Pipeline *pipeline, const char *ops, const char *collectives, Diag *diag) {
  wrote(pipeline, ops);
  wrote(pipeline, collectives);
  TRY(ops_csv_write(&pipeline->info, pipeline->ledger, &pipeline->metrics, ops, diag));
  return collectives_csv_write(pipeline->ledger, &pipeline->metrics, collectives, diag);
}

static const char *in_folder(Pipeline *pipeline, const char *name) {
  return str_printf(pipeline->arena, "%s/%s", pipeline->options->output_dir, name).at;
}

static Status write_numbers(Pipeline *pipeline, Diag *diag) {
  for (uint32_t i = 0; i < pipeline->n_outputs; i++) {
    const char *path = in_folder(pipeline, str_printf(pipeline->arena, "out%u.npy", i).at);
    wrote(pipeline, path);
    TRY(npy_write(path, pipeline->outputs[i], diag));
  }
  return STATUS_OK;
}

static Status write_folder(Pipeline *pipeline, Diag *diag) {
  TRY(folder_make(pipeline->options->output_dir, diag));
  TRY(write_json(pipeline, in_folder(pipeline, "summary.json"), diag));
  TRY(write_csv(pipeline, in_folder(pipeline, "timeline.csv"), diag));
  TRY(write_trace(pipeline, in_folder(pipeline, "trace.json"), diag));
  TRY(write_tables(pipeline, in_folder(pipeline, "ops.csv"), in_folder(pipeline, "collectives.csv"), diag));
  const char *partitioned = in_folder(pipeline, "partitioned.hlo");
  wrote(pipeline, partitioned);
  TRY(file_write(partitioned, module_print(pipeline->arena, pipeline->partitioned->module), diag));
  return write_numbers(pipeline, diag);
}

Status outputs_write(Pipeline *pipeline, Diag *diag) {
  const Options *options = pipeline->options;
  outputs_describe(pipeline);
  if (options->output_dir != NULL) TRY(write_folder(pipeline, diag));
  if (options->csv_path != NULL) TRY(write_csv(pipeline, options->csv_path, diag));
  if (options->trace_path != NULL) TRY(write_trace(pipeline, options->trace_path, diag));
  if (options->json_path != NULL) TRY(write_json(pipeline, options->json_path, diag));
  return STATUS_OK;
}

void outputs_note_missing_lines(const Pipeline *pipeline) {
  const Module *module = pipeline->module;
  for (uint32_t c = 0; c < module->comps.n; c++)
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++)
      if (comp_instr(module, c, i)->origin.line > 0) return;
  fputs("podsim: note: the program does not say which lines it comes from; "
        "jax.jit(f).lower(...).as_text(debug_info=True) "
        "keeps them\n",
        stderr);
}

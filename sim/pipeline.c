/* podsim in one picture: read → flatten → propagate → partition → schedule → simulate → write. Each function
 * here is one stage, or the glue of one; what a stage does is in its folder. */
#include "sim/pipeline.h"

#include "sim/annotate.h"
#include "sim/collective_matmul.h"
#include "sim/eval/interpret.h"
#include "sim/eval/npy.h"
#include "sim/ir/flatten.h"
#include "sim/ir/host_values.h"
#include "sim/ir/print.h"
#include "sim/ir/tokens.h"
#include "sim/ir/verify.h"
#include "sim/lay_out.h"
#include "sim/loop_prefetch.h"
#include "sim/outputs.h"
#include "sim/partition/async_fusion.h"
#include "sim/partition/scatter_fusion.h"
#include "sim/read/program.h"
#include "sim/settings.h"
#include "sim/values.h"

#include <stdio.h>
#include <string.h>

Pipeline pipeline_new(const Options *options) {
  return (Pipeline){.arena = arena_new(), .options = options};
}

Status pipeline_run(Pipeline *pipeline, Diag *diag) {
  TRY(pipeline_read_pod(pipeline, diag));
  TRY(pipeline_read_program(pipeline, diag));
  TRY(pipeline_partition(pipeline, diag));
  TRY(pipeline_schedule(pipeline, diag));
  TRY(pipeline_simulate(pipeline, diag));
  return outputs_write(pipeline, diag);
}

Status pipeline_read_pod(Pipeline *pipeline, Diag *diag) {
  const Options *options = pipeline->options;
  return config_read(pipeline->arena, options->config_path, options->sets.at, options->sets.n,
                     &pipeline->config, diag);
}

static Status read_and_verify(Pipeline *pipeline, Diag *diag) {
  TRY(program_read(pipeline->source, &read_limits_default, &pipeline->module, diag));
  TRY(module_verify(pipeline->module, diag));
  return module_sizes_known(pipeline->module, diag);
}

Status pipeline_read_program(Pipeline *pipeline, Diag *diag) {
  TRY(source_read(pipeline->arena, pipeline->options->program_path, &read_limits_default, &pipeline->source,
                  diag));
  Status status = read_and_verify(pipeline, diag);
  if (status != STATUS_OK)
    diag_hint(
        diag,
        "a program is read as jax.jit(f).lower(...).as_text() writes it; lower it again if it was edited");
  return status;
}

/* The program of one device: made by the partitioner, or the program itself where it came partitioned. */
Status pipeline_partition(Pipeline *pipeline, Diag *diag) {
  const Pod *pod = &pipeline->config->pod;
  ShardOptions settings;
  TRY(shard_settings(pipeline->arena, pipeline->options, pod->n_chips, &settings, diag));
  if (module_is_partitioned(pipeline->module)) {
    module_split_async_fusions(pipeline->module);
    module_join_scatter_fusions(pipeline->module);
    TRY(partitioned_adopt(pipeline->module, &settings, &pipeline->partitioned, diag));
  } else {
    TRY(module_flatten(pipeline->module, &pipeline->flat, diag));
    TRY(module_drop_tokens(pipeline->flat, diag));
    module_split_constants(pipeline->flat);
    TRY(module_propagate(pipeline->flat, &settings, &pipeline->shardings, diag));
    TRY(module_partition(pipeline->flat, pipeline->shardings, &pipeline->partitioned, diag));
  }
  module_find_host_values(pipeline->partitioned->module);
  TRY(mesh_fits_pod(pipeline->partitioned, pod, diag));
  return mesh_layout(pipeline->arena, pod, pipeline->partitioned->mesh, &pipeline->layout, diag);
}

static Status lay_out_and_schedule(Pipeline *pipeline, Diag *diag) {
  pipeline->laid = lay_out(pipeline->pipelined);
  module_unique_names(pipeline->laid->module);
  return module_schedule(pipeline->laid->module, &pipeline->config->pod, &pipeline->schedule, diag);
}

Status pipeline_order(Pipeline *pipeline, Diag *diag) {
  const Pod *pod = &pipeline->config->pod;
  TRY(collective_matmuls(pipeline->partitioned, pod, pipeline->layout.chip_of, &pipeline->windowed, diag));
  pipeline->pipelined = loop_prefetch(pipeline->windowed, pod);
  if (pipeline->pipelined != pipeline->windowed) module_find_host_values(pipeline->pipelined->module);
  TRY(lay_out_and_schedule(pipeline, diag));
  bool fits = pipeline->schedule->hbm_peak_bytes <= pod->hbm_usable_bytes;
  if (fits || pipeline->pipelined == pipeline->windowed) return STATUS_OK;
  schedule_free(pipeline->schedule); /* what loops fetch ahead takes memory */
  pipeline->schedule = NULL;
  if (pipeline->laid != pipeline->pipelined) partitioned_free(pipeline->laid);
  partitioned_free(pipeline->pipelined);
  pipeline->pipelined = pipeline->laid = pipeline->windowed;
  return lay_out_and_schedule(pipeline, diag);
}

Status pipeline_schedule(Pipeline *pipeline, Diag *diag) {
  TRY(pipeline_order(pipeline, diag));
  if (pipeline->options->allow_oom) return STATUS_OK;
  return program_fits_hbm(pipeline, diag);
}

/* Gives every parameter its values: from the files of -i, else drawn from the seed. */
static Status read_inputs(Pipeline *pipeline, Diag *diag) {
  const Partitioned *partitioned = pipeline->partitioned;
  const Options *options = pipeline->options;
  uint32_t n = partitioned->n_params;
  pipeline->n_inputs = n;
  pipeline->inputs = ARENA_ARRAY(pipeline->arena, Tensor *, n);
  if (options->inputs.n > 0) {
    return inputs_read(options->inputs.at, options->inputs.n, parameter_names(pipeline->arena, pipeline),
                       partitioned->global_params, n, pipeline->inputs, diag);
  }
  for (uint32_t i = 0; i < n; i++) {
    pipeline->inputs[i] = tensor_random(partitioned->global_params[i], (uint64_t)options->seed, i);
  }
  return STATUS_OK;
}

static void release_roots(const Values *values, const RunResult *result, uint32_t n_chips) {
  const ValueOps *ops = values_ops(values);
  for (uint32_t chip = 0; result->outputs != NULL && chip < n_chips; chip++) {
    if (result->outputs[chip] != NULL) ops->release(ops->self, result->outputs[chip]);
  }
}

/* Runs the schedule on the pod: events into the ledger, outputs back as whole arrays. */
Status pipeline_simulate(Pipeline *pipeline, Diag *diag) {
  const Pod *pod = &pipeline->config->pod;
  TRY(decide_numbers(pipeline, diag));
  if (pipeline->numbers) TRY(read_inputs(pipeline, diag));
  RunOptions run;
  TRY(run_settings(pipeline, &run, diag));
  Values *values;
  TRY(values_new(pipeline->laid, pod->n_chips, pipeline->inputs, diag, &values));
  values_set_excess_precision(values, pod->excess_precision);
  run.values = values_ops(values);
  pipeline->ledger = ledger_new(pod->n_chips, pod->shape, pod->n_axes);
  RunResult result = {0};
  Status status = schedule_run(pod, pipeline->schedule, &run, pipeline->ledger, &result, diag);
  if (status == STATUS_OK && pipeline->numbers) {
    pipeline->n_outputs = pipeline->partitioned->n_outputs;
    pipeline->outputs = ARENA_ARRAY(pipeline->arena, Tensor *, pipeline->n_outputs);
    status = values_collect_outputs(values, result.outputs, pipeline->outputs);
  }
  release_roots(values, &result, pod->n_chips);
  values_free(values);
  TRY(status);
  ledger_finish(pipeline->ledger);
  ledger_annotate(pipeline->ledger, pipeline->laid);
  pipeline->metrics = metrics_fold(pipeline->arena, pipeline->ledger);
  return STATUS_OK;
}

static void release_all(Tensor **tensors, uint32_t n) {
  for (uint32_t i = 0; tensors != NULL && i < n; i++) {
    if (tensors[i] != NULL) tensor_release(tensors[i]);
  }
}

void pipeline_free(Pipeline *pipeline) {
  release_all(pipeline->inputs, pipeline->n_inputs);
  release_all(pipeline->outputs, pipeline->n_outputs);
  if (pipeline->ledger != NULL) ledger_free(pipeline->ledger);
  if (pipeline->schedule != NULL) schedule_free(pipeline->schedule);
  if (pipeline->laid != pipeline->pipelined) partitioned_free(pipeline->laid);
  if (pipeline->pipelined != pipeline->windowed) partitioned_free(pipeline->pipelined);
  if (pipeline->windowed != pipeline->partitioned) partitioned_free(pipeline->windowed);
  if (pipeline->partitioned != NULL) partitioned_free(pipeline->partitioned);
  if (pipeline->shardings != NULL) shardings_free(pipeline->shardings);
  if (pipeline->flat != NULL) module_free(pipeline->flat);
  if (pipeline->module != NULL) module_free(pipeline->module);
  arena_free(pipeline->arena);
}

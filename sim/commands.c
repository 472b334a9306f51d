/* The commands that are the pipeline up to a stage, and a print of what it made. */
#include "sim/check.h"
#include "sim/command.h"
#include "sim/idle_settings.h"
#include "sim/ir/print.h"
#include "sim/mosaic/mosaic.h"
#include "sim/outputs.h"
#include "sim/pipeline.h"

#include <math.h>
#include <stdio.h>

static void put(Str text) {
  fwrite(text.at, 1, text.n, stdout);
}

static Status run_and_report(Pipeline *pipeline, Diag *diag) {
  IdleSettings settings;
  TRY(idle_settings_start(pipeline->arena, pipeline->options, &settings, diag));
  Status status = pipeline_run(pipeline, diag);
  idle_settings_report(&settings, status == STATUS_OK ? pipeline : NULL);
  TRY(status);
  put(summary_text(pipeline->arena, &pipeline->info, pipeline->ledger, &pipeline->metrics));
  return pipeline->options->check ? check_numbers(pipeline, diag) : STATUS_OK;
}

Status command_run(const Options *options, Diag *diag) {
  Pipeline pipeline = pipeline_new(options);
  Status status = run_and_report(&pipeline, diag);
  pipeline_free(&pipeline);
  return status;
}

/* The first custom call of that name that holds a kernel. */
static const Instr *find_kernel(const Module *module, Str name) {
  for (uint32_t c = 0; c < module->comps.n; c++) {
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++) {
      const Instr *instr = comp_instr(module, c, i);
      if (holds_mosaic_kernel(instr) && str_eq(instr->name, name)) return instr;
    }
  }
  return NULL;
}

static const char *kernel_names(Arena *arena, const Module *module) {
  StrBuf names = {.arena = arena};
  for (uint32_t c = 0; c < module->comps.n; c++)
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++) {
      const Instr *instr = comp_instr(module, c, i);
      if (!holds_mosaic_kernel(instr)) continue;
      buf_printf(&names, "%s%.*s", names.n == 0 ? "its kernels: " : ", ", STR_ARG(instr->name));
    }
  return names.n == 0 ? "it has none" : str_terminated(arena, buf_str(&names));
}

static Status print_kernel(Pipeline *pipeline, Diag *diag) {
  MosaicKernel kernel;
  const char *name = pipeline->options->kernel;
  const Instr *instr = find_kernel(pipeline->module, str_of(name));
  RETURN_IF(instr == NULL,
            diag_fail(diag, STATUS_USAGE, NOWHERE, kernel_names(pipeline->arena, pipeline->module),
                      "--kernel: the program has no Pallas kernel named '%s'", name));
  TRY(mosaic_read(pipeline->arena, instr, &kernel, diag));
  put(mosaic_print(pipeline->arena, &kernel));
  return STATUS_OK;
}

static Status print_program(Pipeline *pipeline, Diag *diag) {
  TRY(pipeline_read_program(pipeline, diag));
  if (pipeline->options->kernel != NULL) return print_kernel(pipeline, diag);
  put(module_print(pipeline->arena, pipeline->module));
  return STATUS_OK;
}

Status command_print(const Options *options, Diag *diag) {
  Pipeline pipeline = pipeline_new(options);
  Status status = print_program(&pipeline, diag);
  pipeline_free(&pipeline);
  return status;
}

static Status print_partitioned(Pipeline *pipeline, Diag *diag) {
  TRY(pipeline_read_pod(pipeline, diag));
  TRY(pipeline_read_program(pipeline, diag));
  TRY(pipeline_partition(pipeline, diag));
  put(module_print(pipeline->arena, pipeline->partitioned->module));
  return STATUS_OK;
}

Status command_partition(const Options *options, Diag *diag) {
  Pipeline pipeline = pipeline_new(options);
  Status status = print_partitioned(&pipeline, diag);
  pipeline_free(&pipeline);
  return status;
}

static void put_entry(const ConfigEntry *entry) {
  printf("%-24.*s %-16.*s %-12.*s %.*s", STR_ARG(entry->key), STR_ARG(entry->value), STR_ARG(entry->origin),
         STR_ARG(entry->meaning));
  if (entry->source.n > 0) printf(" (%.*s)", STR_ARG(entry->source));
  putchar('\n');
}

/* What all chips come to together, and where a kernel turns from HBM to compute. */
static void put_totals(const Pod *pod) {
  double chips = pod->n_chips;
  const struct {
    const char *what;
    double value;
  } totals[] = {
      {"chips", chips},
      {"hosts", ceil(chips / (double)pod->host_chips)},
      {"TensorCores", chips * (double)pod->cores},
      {"bf16 FLOP/s", chips * pod->peak_flops},
      {"HBM bytes", chips * (double)pod->hbm_bytes},
      {"HBM bytes/s", chips * pod->hbm_bw_Bps},
      {"FLOP a byte of HBM", pod->peak_flops / pod->hbm_bw_Bps},
  };
  putchar('\n');
  for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
    printf("pod in all: %-20s %.6g\n", totals[i].what, totals[i].value);
}

Status command_config(const Options *options, Diag *diag) {
  Pipeline pipeline = pipeline_new(options);
  Status status = pipeline_read_pod(&pipeline, diag);
  if (status == STATUS_OK) {
    printf("%-24s %-16s %-12s %s\n", "key", "value", "origin", "meaning (source)");
    for (uint32_t i = 0; i < pipeline.config->entries.n; i++) put_entry(&pipeline.config->entries.at[i]);
    put_totals(&pipeline.config->pod);
  }
  pipeline_free(&pipeline);
  return status;
}

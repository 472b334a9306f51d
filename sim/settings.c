/* Settings: each flag's text is read here, in one place, with an error that shows how it is written. */
#include "sim/settings.h"

#include "models/kernel_model.h"
#include "sim/eval/evaluate.h"
#include "sim/eval/pallas_kernel.h"
#include "sim/value_work.h"
#include "traces/human.h"

#include <inttypes.h>
#include <math.h>

/* `NAME=REST`; false where there is no name. */
static bool split_assignment(const char *text, Str *name, Str *rest) {
  Str whole = str_of(text);
  size_t equals = str_find(whole, '=');
  *name = str_trim(str_sub(whole, 0, equals));
  *rest = str_trim(str_sub(whole, equals + 1, whole.n));
  return equals < whole.n && name->n > 0;
}

Status shard_settings(Arena *arena, const Options *options, uint32_t n_chips, ShardOptions *settings,
                      Diag *diag) {
  *settings = (ShardOptions){.n_devices = n_chips};
  if (str_is(str_of(options->partitioner), "gspmd")) settings->partitioner = PARTITIONER_GSPMD;
  if (options->mesh != NULL) TRY(mesh_parse(arena, str_of(options->mesh), &settings->mesh, diag));
  SpecOverride *specs = ARENA_ARRAY(arena, SpecOverride, options->specs.n);
  for (uint32_t i = 0; i < options->specs.n; i++) {
    if (!split_assignment(options->specs.at[i], &specs[i].name, &specs[i].spec)) {
      return diag_fail(diag, STATUS_USAGE, NOWHERE, "for example --spec 'arg0=P(\"data\", None)'",
                       "--spec '%s' names no value", options->specs.at[i]);
    }
  }
  settings->specs = specs;
  settings->n_specs = options->specs.n;
  return STATUS_OK;
}

static bool has_op(const Module *module, Opcode op, Str name) {
  for (uint32_t c = 0; c < module->comps.n; c++) {
    const Comp *comp = module_comp(module, c);
    uint32_t at = comp_find(comp, name);
    if (at != NO_ID && comp->instrs.at[at].op == op) return true;
  }
  return false;
}

/* NAME=NUMBER, where the partitioned program has an `op` of that name. */
static Status named_numbers(const Pipeline *pipeline, const char *flag, Opcode op, const TextList *texts,
                            const NamedNumber **numbers, Diag *diag) {
  NamedNumber *list = ARENA_ARRAY(pipeline->arena, NamedNumber, texts->n);
  for (uint32_t i = 0; i < texts->n; i++) {
    Str digits;
    bool good = split_assignment(texts->at[i], &list[i].name, &digits) && str_to_int(digits, &list[i].number);
    if (!good || list[i].number < 0) {
      return diag_fail(diag, STATUS_USAGE, NOWHERE, NULL, "--%s takes NAME=NUMBER, not '%s'", flag,
                       texts->at[i]);
    }
    if (!has_op(pipeline->partitioned->module, op, list[i].name)) {
      return diag_fail(diag, STATUS_USAGE, NOWHERE, "`podsim partition` prints the names of all ops",
                       "--%s: the program has no %s named '%.*s'", flag, op_text(op), STR_ARG(list[i].name));
    }
  }
  *numbers = list;
  return STATUS_OK;
}

static Status break_setting(const char *text, RunOptions *run, Diag *diag) {
  Str whole = str_of(text);
  int64_t nth = 0;
  bool wait = str_starts(whole, "wait:"), dma = str_starts(whole, "dma:");
  bool good = (wait || dma) && str_to_int(str_sub(whole, str_find(whole, ':') + 1, whole.n), &nth) && nth > 0;
  if (!good)
    return diag_fail(diag, STATUS_USAGE, NOWHERE, NULL,
                     "--break takes wait:N or dma:N with N from 1, not '%s'", text);
  if (wait)
    run->break_wait = nth;
  else
    run->break_dma = nth;
  return STATUS_OK;
}

Status run_settings(const Pipeline *pipeline, RunOptions *run, Diag *diag) {
  const Options *options = pipeline->options;
  *run = (RunOptions){.settle_loops = !pipeline->numbers && !options->full && !options->has_jitter,
                      .jitter = options->has_jitter,
                      .jitter_seed = (uint64_t)options->jitter,
                      .workers = (uint32_t)options->jobs,
                      .chip_of = pipeline->layout.chip_of};
  TRY(named_numbers(pipeline, "trip", OP_WHILE, &options->trips, &run->trips, diag));
  TRY(named_numbers(pipeline, "branch", OP_CONDITIONAL, &options->branches, &run->branches, diag));
  run->n_trips = options->trips.n;
  run->n_branches = options->branches.n;
  run->fold = run->settle_loops && options->breaks.n == 0 && pipeline->config->pod.fold;
  for (uint32_t i = 0; i < options->breaks.n; i++) TRY(break_setting(options->breaks.at[i], run, diag));
  return STATUS_OK;
}

static bool is_elided(const Instr *instr) {
  return instr->op == OP_CONSTANT && instr->literal->elided;
}

/* The first instruction whose values podsim cannot compute, or NULL. */
static const Instr *first_without_numbers(const Module *module) {
  for (uint32_t c = 0; c < module->comps.n; c++) {
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++) {
      const Instr *instr = comp_instr(module, c, i);
      if (!can_evaluate(instr) || is_elided(instr)) return instr;
    }
  }
  return NULL;
}

/* What an instruction is called where its values are missed. */
static Str what_is_missing(Arena *arena, const Instr *instr) {
  if (is_elided(instr)) return STR("the text leaves them out, {...}");
  if (instr->op != OP_CUSTOM_CALL) return str_of(op_text(instr->op));
  if (holds_mosaic_kernel(instr)) return pallas_kernel_fault(arena, instr);
  Str target = instr_custom_call_target(instr);
  if (memmem(target.at, target.n, "python", 6) != NULL)
    return STR("a callback into Python on the host, which it does not call");
  return str_printf(arena, "custom call to '%.*s'", STR_ARG(target));
}

/* A run whose values nobody reads, and that they do not lead either, is waited for less. */
enum { UNREAD = 10 };

static bool reads_values(const Pipeline *pipeline) {
  const Options *options = pipeline->options;
  return options->output_dir != NULL || options->check || options->inputs.n > 0 ||
         schedule_decides(pipeline->schedule, pipeline->schedule->module->entry);
}

Status decide_numbers(Pipeline *pipeline, Diag *diag) {
  Str wish = str_of(pipeline->options->numbers);
  const Pod *pod = &pipeline->config->pod;
  const Instr *unknown = first_without_numbers(pipeline->partitioned->module);
  pipeline->numbers = !str_is(wish, "off");
  if (unknown != NULL && str_is(wish, "on")) {
    return diag_fail(diag, STATUS_INVALID, unknown->place, "--numbers off simulates its time",
                     "podsim cannot compute the values of %.*s: %.*s", STR_ARG(unknown->name),
                     STR_ARG(what_is_missing(pipeline->arena, unknown)));
  }
  if (!str_is(wish, "auto")) return STATUS_OK;
  bool reads = reads_values(pipeline);
  double limit = (double)pod->numbers_limit / (reads ? 1 : UNREAD);
  bool draws = pipeline->options->inputs.n == 0;
  double work = value_work(pipeline->partitioned, pipeline->schedule, pod->n_chips, draws);
  if (unknown != NULL) {
    diag_note(diag, unknown->place,
              "only the time is simulated: podsim cannot compute the values of %.*s: %.*s",
              STR_ARG(unknown->name), STR_ARG(what_is_missing(pipeline->arena, unknown)));
    pipeline->numbers = false;
  } else if (work > limit) {
    diag_note(diag, NOWHERE,
              "only the time is simulated: the values take the work of %.2g floating-point operations, above "
              "%.2g (run.numbers_limit%s); --numbers on computes them",
              work, limit, reads ? "" : ", a tenth of it where none are written");
    pipeline->numbers = false;
  }
  return STATUS_OK;
}

Status mesh_fits_pod(const Partitioned *partitioned, const Pod *pod, Diag *diag) {
  uint32_t devices = partitioned->mesh == NULL ? 1 : partitioned->mesh->n_devices;
  if (devices == pod->n_chips) return STATUS_OK;
  return diag_fail(diag, STATUS_INVALID, NOWHERE, "use a config of as many chips, or another --mesh",
                   "the program's mesh has %u devices, the pod %u chips", devices, pod->n_chips);
}

/* The largest values at the peak: "; the largest: w1 5.22 GiB, w3 5.22 GiB (layer.py:7), …". */
static void add_largest(StrBuf *buf, const Schedule *schedule) {
  enum { MOST = 5 };
  for (uint32_t i = 0; i < schedule->held.n && i < MOST; i++) {
    const Held *held = &schedule->held.at[i];
    const Instr *instr = comp_instr(schedule->module, held->comp, held->instr);
    buf_printf(buf, "%s%.*s ", i == 0 ? "; the largest: " : ", ", STR_ARG(instr->name));
    human_bytes(buf, held->bytes);
    if (instr->origin.line > 0)
      buf_printf(buf, " (%.*s:%u)", STR_ARG(instr->origin.file), instr->origin.line);
  }
}

/* What would help, by what takes most. */
static const char *advice(Arena *arena, const Pipeline *pipeline) {
  const Schedule *schedule = pipeline->schedule;
  const Pod *pod = &pipeline->config->pod;
  double times = (double)schedule->hbm_peak_bytes / fmax(1, (double)pod->hbm_usable_bytes);
  int64_t given = schedule->hbm_argument_bytes + schedule->hbm_output_bytes;
  const char *what = given > schedule->hbm_temp_bytes
                         ? "shard the parameters over more axes (--spec), donate those that are replaced"
                         : "a smaller batch on each chip, or recompute (jax.checkpoint)";
  return str_printf(arena, "%s, or use %.0f times the chips; --allow-oom goes on", what, ceil(times)).at;
}

Status program_fits_hbm(const Pipeline *pipeline, Diag *diag) {
  const Pod *pod = &pipeline->config->pod;
  const Schedule *schedule = pipeline->schedule;
  if (schedule->hbm_peak_bytes <= pod->hbm_usable_bytes) return STATUS_OK;
  StrBuf buf = {.arena = pipeline->arena};
  buf_add(&buf, STR("the program needs "));
  human_bytes(&buf, schedule->hbm_peak_bytes);
  buf_add(&buf, STR(" of HBM a chip (arguments "));
  human_bytes(&buf, schedule->hbm_argument_bytes);
  buf_add(&buf, STR(", outputs "));
  human_bytes(&buf, schedule->hbm_output_bytes);
  buf_add(&buf, STR(", temporaries "));
  human_bytes(&buf, schedule->hbm_temp_bytes);
  buf_add(&buf, STR("), a chip has "));
  human_bytes(&buf, pod->hbm_usable_bytes);
  add_largest(&buf, schedule);
  return diag_fail(diag, STATUS_NO_FIT, NOWHERE, advice(pipeline->arena, pipeline), "%.*s",
                   STR_ARG(buf_str(&buf)));
}

const Str *parameter_names(Arena *arena, const Pipeline *pipeline) {
  const Comp *entry = module_entry(pipeline->partitioned->module);
  Str *names = ARENA_ARRAY(arena, Str, entry->params.n);
  for (uint32_t i = 0; i < entry->params.n; i++) names[i] = entry->instrs.at[entry->params.at[i]].name;
  return names;
}

static bool carries_sharding(const Instr *instr, bool is_root) {
  Str target = instr_custom_call_target(instr);
  if (str_is(target, "Sharding") || str_is(target, "SPMDFullToShardShape") || str_starts(target, "xla.sdy."))
    return true;
  return instr->op != OP_PARAMETER && !is_root && instr_sharding(instr) != NULL;
}

bool module_is_partitioned(const Module *module) {
  if (module_is_scheduled(module)) return true; /* a compiler's last word, of whatever devices */
  if (module->num_partitions <= 1 || keys_get(module->frontend, "xla.sdy.meshes").n > 0) return false;
  for (uint32_t c = 0; c < module->comps.n; c++) {
    const Comp *comp = module_comp(module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      if (carries_sharding(&comp->instrs.at[i], i == comp->root)) return false;
    }
  }
  return true;
}

/* `podsim explain CONFIG PROGRAM OP`: where an op's time comes from. The program is simulated without
 * numbers; what the schedule asked for and what the ledger recorded are then printed beside the formula, with
 * each constant's key, value and source. Without OP: a list of all ops. */
#include "models/ici_model.h"
#include "models/kernel_model.h"
#include "models/mxu_model.h"
#include "models/vpu_model.h"
#include "sim/command.h"
#include "sim/idle_settings.h"
#include "sim/ir/print.h"
#include "sim/outputs.h"
#include "sim/pipeline.h"
#include "sim/schedule/layouts.h"
#include "sim/why.h"
#include "traces/human.h"
#include "traces/op_tables.h"

#include <inttypes.h>
#include <stdio.h>

enum { TEXT_MOST = 220 };

typedef struct {
  Pipeline *pipeline;
  StrBuf *buf;
  uint32_t comp;
  uint32_t instr; /* that is asked for */
  const Step *step;
} Explanation;

/* The instruction, and the step that it runs in. An exact name first, then the only one that begins with it.
 */
static bool find_step(Explanation *explanation, Str name, bool exact, uint32_t *found) {
  const Pipeline *pipeline = explanation->pipeline;
  const Module *module = pipeline->laid->module;
  const Instr *last = NULL; /* a collective may be in two steps: its start and its end */
  *found = 0;
  for (uint32_t c = 0; c < module->comps.n; c++) {
    const CompSchedule *schedule = &pipeline->schedule->comps[c];
    for (uint32_t s = 0; s < schedule->steps.n; s++) {
      const Ids instrs = schedule->steps.at[s].instrs;
      for (uint32_t i = 0; i < instrs.n; i++) {
        const Instr *instr = comp_instr(module, c, instrs.at[i]);
        Str own = instr->name;
        bool same = exact ? str_eq(own, name) : own.n > name.n && str_eq(str_sub(own, 0, name.n), name);
        if (!same) continue;
        *found += instr != last;
        last = instr;
        explanation->comp = c;
        explanation->instr = instrs.at[i];
        explanation->step = &schedule->steps.at[s];
      }
    }
  }
  return *found == 1;
}

static void add_constant(Explanation *explanation, const char *key) {
  const Config *config = explanation->pipeline->config;
  for (uint32_t i = 0; i < config->entries.n; i++) {
    const ConfigEntry *entry = &config->entries.at[i];
    if (!str_is(entry->key, key)) continue;
    buf_printf(explanation->buf, "    %-22s %-14.*s %.*s", key, STR_ARG(entry->value),
               STR_ARG(entry->origin));
    if (entry->source.n > 0) buf_printf(explanation->buf, ": %.*s", STR_ARG(entry->source));
    buf_char(explanation->buf, '\n');
  }
}

static void add_time(Explanation *explanation, const char *what, int64_t ps) {
  buf_printf(explanation->buf, "  %-18s ", what);
  human_time(explanation->buf, ps);
}

static void add_instr(Explanation *explanation, uint32_t instr) {
  StrBuf text = {.arena = explanation->buf->arena};
  instr_print(&text, explanation->pipeline->laid->module, explanation->comp, instr);
  Str line = buf_str(&text);
  buf_printf(explanation->buf, "  %.*s%s\n", STR_ARG(str_sub(line, 0, TEXT_MOST)),
             line.n > TEXT_MOST ? "…" : "");
}

static void add_copy_reason(Explanation *explanation, uint32_t instr) {
  const Module *module = explanation->pipeline->laid->module;
  Str reason = copy_reason(explanation->buf->arena, module, explanation->comp, instr);
  if (reason.n > 0) buf_printf(explanation->buf, "  copy: %.*s\n", STR_ARG(reason));
}

/* The matrix product of an instruction of the step, if there is one. */
static void add_matmul(Explanation *explanation, const Instr *instr) {
  const Pipeline *pipeline = explanation->pipeline;
  const Module *module = pipeline->laid->module;
  const Pod *pod = &pipeline->config->pod;
  if (instr->op != OP_DOT && instr->op != OP_CONVOLUTION) return;
  Matmul product = matmul_of(module, explanation->comp, instr);
  double passes = mxu_passes(pod, module, explanation->comp, instr),
         cycles = mxu_cycles(pod, product, passes);
  buf_printf(explanation->buf,
             "  %.*s: %g x [%g,%g] x [%g,%g]: %.6g cycles on %" PRId64 " MXUs of %" PRId64 "x%" PRId64
             ", %g pass%s\n",
             STR_ARG(instr->name), product.batch, product.m, product.k, product.k, product.n, cycles,
             pod->mxu_count, pod->mxu_size, pod->mxu_size, passes, passes == 1 ? "" : "es");
}

/* What is known of a kernel that podsim does not see into. */
static void add_kernel(Explanation *explanation, const Instr *instr) {
  if (!holds_mosaic_kernel(instr)) return;
  KernelCost cost = kernel_cost(explanation->pipeline->laid->module, explanation->comp, instr);
  buf_printf(explanation->buf, "  %.*s is a Pallas kernel: %s\n", STR_ARG(instr->name),
             kernel_basis_text(cost.basis));
  buf_printf(explanation->buf, "  %.6g FLOPs on the %s, %.6g exponentials and their like\n", cost.flops,
             cost.has_products ? "MXU at its peak" : "VPU", cost.transcendentals);
}

/* The constants that had a part in it. */
static void add_kernel_constants(Explanation *explanation, const Demand *demand) {
  const struct {
    const char *key;
    bool used;
  } constants[] = {{"chip.clock", true},
                   {"chip.mxu_count", demand->mxu_ps > 0},
                   {"chip.mxu_size", demand->mxu_ps > 0},
                   {"chip.mxu_tile_cycles", demand->mxu_ps > 0},
                   {"chip.mxu_round_cycles", demand->mxu_ps > 0},
                   {"chip.mxu_keep_cycles", demand->mxu_ps > 0},
                   {"chip.kernel_start", demand->mxu_ps > 0},
                   {"chip.kernel_step", demand->mxu_ps > 0},
                   {"chip.window", demand->mxu_ps > 0},
                   {"chip.vector_start", demand->start_ps > 0},
                   {"chip.vpu_alus", demand->vpu_ps > 0},
                   {"hbm.bandwidth", true},
                   {"hbm.efficiency", true},
                   {"hbm.window_efficiency", demand->mxu_ps > 0},
                   {"vmem.bandwidth", true}};
  for (uint32_t i = 0; i < sizeof constants / sizeof constants[0]; i++)
    if (constants[i].used) add_constant(explanation, constants[i].key);
}

/* The kernels that an instruction is made anew in. */
static void add_kernels_that_use(Explanation *explanation, uint32_t instr) {
  const Module *module = explanation->pipeline->laid->module;
  const CompSchedule *schedule = &explanation->pipeline->schedule->comps[explanation->comp];
  const char *before = ": ";
  for (uint32_t s = 0; s < schedule->steps.n; s++) {
    const Step *step = &schedule->steps.at[s];
    bool uses = false;
    for (uint32_t i = 0; i < step->instrs.n; i++) {
      const Instr *own = comp_instr(module, explanation->comp, step->instrs.at[i]);
      for (uint32_t o = 0; o < own->operands.n; o++) uses |= own->operands.at[o] == instr;
    }
    if (!uses) continue;
    const Instr *last = comp_instr(module, explanation->comp, step->instrs.at[step->instrs.n - 1]);
    buf_printf(explanation->buf, "%s%.*s", before, STR_ARG(last->name));
    before = ", ";
  }
}

/* What stands in the program and is no work of its own. */
static void add_no_work(Explanation *explanation) {
  StrBuf *buf = explanation->buf;
  const CompSchedule *schedule = &explanation->pipeline->schedule->comps[explanation->comp];
  uint32_t instr = explanation->instr;
  add_instr(explanation, instr);
  bool parameter =
      comp_instr(explanation->pipeline->laid->module, explanation->comp, instr)->op == OP_PARAMETER;
  if (schedule->repeated != NULL && schedule->repeated[instr]) {
    buf_add(buf, STR("takes no time of its own: it is made anew in each kernel that uses it"));
    add_kernels_that_use(explanation, instr);
  } else {
    buf_add(buf, parameter ? STR("takes no time: it is there when the step begins; used by")
                           : STR("takes no time: a name for what is there already; used by"));
    add_kernels_that_use(explanation, instr);
  }
  buf_char(buf, '\n');
}

/* One part of a kernel's time, left out where there is none. */
static void add_part(Explanation *explanation, const char *what, int64_t ps, const char *formula) {
  if (ps == 0) return;
  add_time(explanation, what, ps);
  buf_printf(explanation->buf, "   %s\n", formula);
}

static void add_times(Explanation *explanation, const Demand *demand) {
  StrBuf *buf = explanation->buf;
  KernelTimes times = demand_times(&explanation->pipeline->config->pod, *demand);
  buf_add(buf, STR("time = the longest of\n"));
  add_part(explanation, "MXU", times.mxu, "cycles / clock");
  add_part(explanation, "VPU", times.vpu, "operations / (lanes x sublanes x ALUs x clock)");
  add_part(explanation, "relayout", times.relayout, "registers of operands that come in another layout");
  if (times.windows > 0 || times.leaving > 0) {
    add_time(explanation, "windows, results", times.windows + times.leaving);
    buf_printf(buf, "   %" PRId64 " bytes in, %" PRId64 " out / (bandwidth x window efficiency), and ",
               demand->load_bytes, demand->store_bytes);
    human_time(buf, times.leaving);
    buf_add(buf, STR(" of rounding results\n"));
  }
  add_part(explanation, "  and to these", times.edges,
           "kernel start, steps, the first load and the last store");
  if (times.hbm > 0) {
    add_time(explanation, "HBM", times.hbm);
    buf_printf(buf, "   %" PRId64 " bytes read and written / (bandwidth x efficiency)\n", demand->hbm_bytes);
  }
  if (demand->copy_bytes > 0)
    buf_printf(buf, "   beside it %" PRId64 " bytes to or from VMEM for other kernels\n", demand->copy_bytes);
  if (times.vmem > 0) {
    add_time(explanation, "VMEM", times.vmem);
    buf_printf(buf, "   %" PRId64 " bytes / bandwidth\n", demand->vmem_bytes);
  }
  add_part(explanation, "and its start", times.start, "cycles / clock");
  add_part(explanation, "= on a chip alone", explanation->step->time_ps,
           "beside DMAs, which go through the same HBM, it may take longer");
}

static void add_compute(Explanation *explanation) {
  StrBuf *buf = explanation->buf;
  const Step *step = explanation->step;
  const Demand *demand = &step->demand;
  for (uint32_t i = 0; i < step->instrs.n; i++) {
    const Module *module = explanation->pipeline->laid->module;
    const Instr *instr = comp_instr(module, explanation->comp, step->instrs.at[i]);
    add_matmul(explanation, instr);
    add_kernel(explanation, instr);
  }
  add_times(explanation, demand);
  buf_printf(buf, "bound by %s; ", bound_text(step->bound));
  human_flops(buf, demand->flops);
  if (demand->hbm_bytes > 0)
    buf_printf(buf, ", %.3g FLOP a byte of HBM", (double)demand->flops / (double)demand->hbm_bytes);
  buf_add(buf, STR("\nconstants\n"));
  add_kernel_constants(explanation, demand);
}

static void add_dcn(Explanation *explanation, const LedgerOp *op) {
  const Pod *pod = &explanation->pipeline->config->pod;
  add_time(explanation, "DCN latency", op->dcn_steps * pod->dcn_lat_ps);
  buf_printf(explanation->buf, "   %u transfer%s between slices, one after the other\n", op->dcn_steps,
             op->dcn_steps == 1 ? "" : "s");
  add_time(explanation, "DCN", (int64_t)(op->dcn_bytes / pod->dcn_bw_Bps * 1e12));
  buf_printf(explanation->buf, "   %.0f bytes one way: of rings after those over links, else beside them\n",
             op->dcn_bytes);
}

static void add_collective(Explanation *explanation, const LedgerOp *op) {
  StrBuf *buf = explanation->buf;
  const Pod *pod = &explanation->pipeline->config->pod;
  buf_printf(buf, "%.*s over %.*s: %.*s\n", STR_ARG(op->collective), STR_ARG(op->axes),
             STR_ARG(op->algorithm));
  if (op->because.n > 0) buf_printf(buf, "because %.*s\n", STR_ARG(op->because));
  if (op->source.n > 0) buf_printf(buf, "asked for at %.*s\n", STR_ARG(op->source));
  buf_printf(buf,
             "time = start-up + hops x latency + bytes over the fullest link / (bandwidth x efficiency)\n");
  add_time(explanation, "start-up", op->kernels * ici_startup_ps(pod));
  buf_printf(buf, "   %u kernel%s\n", op->kernels, op->kernels == 1 ? "" : "s");
  add_time(explanation, "latency", op->steps * ici_hop_ps(pod));
  buf_printf(buf, "   %u hop%s, one after the other\n", op->steps, op->steps == 1 ? "" : "s");
  add_time(explanation, "link", (int64_t)(op->link_bytes / ici_link_bw_Bps(pod) * 1e12));
  buf_printf(buf, "   %.0f bytes one way\n", op->link_bytes);
  if (op->dcn_steps > 0) add_dcn(explanation, op);
  add_time(explanation, "closed form", (int64_t)(op->ideal_seconds * 1e12));
  buf_add(buf, STR("   at link bandwidth alone\nconstants\n"));
  static const char *const keys[] = {"ici.startup", "ici.latency", "ici.bandwidth", "ici.efficiency",
                                     "ici.ideal"};
  for (uint32_t i = 0; i < sizeof keys / sizeof keys[0]; i++) add_constant(explanation, keys[i]);
  if (op->dcn_steps == 0) return;
  add_constant(explanation, "dcn.latency");
  add_constant(explanation, "dcn.bandwidth");
}

static void add_simulated(Explanation *explanation, const OpMetric *metric) {
  buf_printf(explanation->buf, "simulated          %" PRId64 " time%s, ", metric->count,
             metric->count == 1 ? "" : "s");
  human_time(explanation->buf, metric->count == 0 ? 0 : metric->total_ps / metric->count);
  buf_add(explanation->buf, STR(" each on the slowest chip, "));
  human_time(explanation->buf, metric->total_ps);
  buf_add(explanation->buf, STR(" in all\n"));
}

/* What the ledger has under the name of the step's last instruction. */
static void add_recorded(Explanation *explanation, Str name) {
  const Ledger *ledger = explanation->pipeline->ledger;
  for (uint32_t i = 0; i < ledger->ops.n; i++) {
    if (!str_eq(ledger->ops.at[i].name, name)) continue;
    if (ledger->ops.at[i].collective.n > 0) add_collective(explanation, &ledger->ops.at[i]);
    add_simulated(explanation, &explanation->pipeline->metrics.ops[i]);
  }
}

static void add_host(Explanation *explanation) {
  const Pod *pod = &explanation->pipeline->config->pod;
  int64_t bytes = explanation->step->demand.host_bytes;
  buf_add(explanation->buf, STR("time = bytes over PCIe / bandwidth, beside what the chip computes\n"));
  add_time(explanation, "PCIe", (int64_t)((double)bytes / pod->host_bw_Bps * 1e12));
  buf_printf(explanation->buf, "   %" PRId64 " bytes one way\nconstants\n", bytes);
  add_constant(explanation, "host.bandwidth");
}

static void describe(Explanation *explanation) {
  const Step *step = explanation->step;
  const Module *module = explanation->pipeline->laid->module;
  uint32_t last = step->instrs.at[step->instrs.n - 1];
  bool computes = step->kind == STEP_COMPUTE || step->kind == STEP_CALL;
  if (computes && step->time_ps == 0 && step->bound == BOUND_FREE) {
    add_no_work(explanation);
    return;
  }
  if (step->instrs.n > 1) buf_printf(explanation->buf, "one kernel of %u instructions\n", step->instrs.n);
  for (uint32_t i = 0; i < step->instrs.n; i++) add_instr(explanation, step->instrs.at[i]);
  for (uint32_t i = 0; i < step->instrs.n; i++) add_copy_reason(explanation, step->instrs.at[i]);
  if (computes) add_compute(explanation);
  if (step->demand.host_bytes > 0) add_host(explanation);
  add_recorded(explanation, comp_instr(module, explanation->comp, last)->name);
}

/* The name of an instruction that is near one that none has. */
static const char *name_hint(const Pipeline *pipeline, Str name) {
  static const char otherwise[] = "`podsim partition` prints the names of all ops";
  const Module *module = pipeline->laid->module;
  Vec(const char *) names = {0};
  for (uint32_t c = 0; c < module->comps.n; c++) {
    const Comp *comp = module_comp(module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++)
      VEC_PUSH(pipeline->arena, &names, str_terminated(pipeline->arena, comp->instrs.at[i].name));
  }
  return did_you_mean(pipeline->arena, name, names.at, names.n, otherwise);
}

static Status fail_without(const Pipeline *pipeline, Str name, Diag *diag) {
  return diag_fail(diag, STATUS_USAGE, NOWHERE, name_hint(pipeline, name),
                   "the partitioned program has no op named '%.*s'", STR_ARG(name));
}

/* The steps of a windowed product's collective, for one, are in no text that podsim prints. */
static Status fail_with_many(const Explanation *explanation, Str name, Diag *diag) {
  const Step *step = explanation->step;
  const Instr *instr = NULL;
  for (uint32_t i = 0; i < step->instrs.n; i++) {
    const Instr *own = comp_instr(explanation->pipeline->laid->module, explanation->comp, step->instrs.at[i]);
    if (str_eq(str_sub(own->name, 0, name.n), name)) instr = own;
  }
  Str hint = instr == NULL
                 ? (Str){0}
                 : str_printf(explanation->buf->arena, "one of them is %.*s; without a name all are listed",
                              STR_ARG(instr->name));
  return diag_fail(diag, STATUS_USAGE, NOWHERE, hint.at, "the names of several ops begin with '%.*s'",
                   STR_ARG(name));
}

enum { LISTED_MOST = 100000 };

static Status list_ops(Pipeline *pipeline, Diag *diag) {
  outputs_describe(pipeline);
  TRY(idle_settings_simulate(pipeline, diag));
  StrBuf buf = {.arena = pipeline->arena};
  collectives_table(&buf, pipeline->ledger, &pipeline->metrics, LISTED_MOST);
  ops_table(&buf, &pipeline->info, pipeline->ledger, &pipeline->metrics, LISTED_MOST);
  fwrite(buf.at, 1, buf.n, stdout);
  outputs_note_missing_lines(pipeline);
  return STATUS_OK;
}

static Status explain(Pipeline *pipeline, Diag *diag) {
  TRY(pipeline_read_pod(pipeline, diag));
  TRY(pipeline_read_program(pipeline, diag));
  TRY(pipeline_partition(pipeline, diag));
  TRY(pipeline_schedule(pipeline, diag));
  RETURN_IF(pipeline->options->op_name == NULL, list_ops(pipeline, diag));
  Str name = str_of(pipeline->options->op_name);
  StrBuf buf = {.arena = pipeline->arena};
  Explanation explanation = {.pipeline = pipeline, .buf = &buf};
  uint32_t found;
  if (!find_step(&explanation, name, true, &found) && !find_step(&explanation, name, false, &found)) {
    return found == 0 ? fail_without(pipeline, name, diag) : fail_with_many(&explanation, name, diag);
  }
  StrBuf why = {.arena = pipeline->arena};
  TRY(why_print(pipeline, explanation.comp, explanation.instr, &why, diag));
  TRY(idle_settings_simulate(pipeline, diag));
  describe(&explanation);
  buf_add(&buf, buf_str(&why));
  outputs_note_missing_lines(pipeline);
  fwrite(buf.at, 1, buf.n, stdout);
  return STATUS_OK;
}

Status command_explain(const Options *options, Diag *diag) {
  Options own = *options;
  own.numbers = "off";
  Pipeline pipeline = pipeline_new(&own);
  Status status = explain(&pipeline, diag);
  pipeline_free(&pipeline);
  return status;
}

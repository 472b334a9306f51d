/* `podsim show`: what sharding made of a program: mesh and how it lies, every value's sharding and local
 * shape, and memory; then, of a run, why each collective is there and what it costs, and where each kernel
 * lies on the roofline. */
#include "sim/command.h"
#include "sim/idle_settings.h"
#include "sim/outputs.h"
#include "sim/pipeline.h"
#include "sim/schedule/layouts.h"
#include "sim/show_draw.h"
#include "traces/human.h"
#include "traces/op_tables.h"

#include <stdio.h>

enum { NAME_WIDTH = 26, SHAPE_WIDTH = 20, SPEC_WIDTH = 26, BYTES_WIDTH = 10, OPS_SHOWN = 20 };

static void add_column(StrBuf *buf, Str text, size_t width) {
  size_t start = buf->n;
  buf_add(buf, text);
  buf_column(buf, start, width);
}

static Str plain_shape(Arena *arena, const Shape *shape) {
  StrBuf buf = {.arena = arena};
  shape_print(&buf, shape, false);
  return buf_str(&buf);
}

/* name, global shape, spec, local shape, its bytes, and a note where there is one. */
static void add_value(StrBuf *buf, Str name, const Shape *shape, const Sharding *sharding, Str note) {
  Arena *arena = buf->arena;
  const Shape *local = sharding == NULL ? shape : sharding_local_shape(arena, sharding, shape);
  buf_add(buf, STR("  "));
  add_column(buf, name, NAME_WIDTH);
  add_column(buf, plain_shape(arena, shape), SHAPE_WIDTH);
  add_column(buf, sharding == NULL ? STR("P()") : sharding_spec_text(arena, sharding), SPEC_WIDTH);
  add_column(buf, plain_shape(arena, local), SHAPE_WIDTH);
  size_t start = buf->n;
  human_bytes(buf, shape_bytes(local));
  if (note.n != 0) buf_column(buf, start, BYTES_WIDTH);
  buf_add(buf, note);
}

static void add_head(StrBuf *buf, const Pipeline *pipeline) {
  const RunInfo *info = &pipeline->info;
  buf_printf(buf, "program  %.*s\npod      %.*s\nmesh     ", STR_ARG(info->program), STR_ARG(info->pod));
  const Mesh *mesh = pipeline->partitioned->mesh;
  if (mesh == NULL)
    buf_add(buf, STR("none\n"));
  else
    buf_printf(buf, "%.*s  (%.*s)\n", STR_ARG(mesh_text(buf->arena, mesh)), STR_ARG(info->layout));
}

static void add_ends(StrBuf *buf, const Pipeline *pipeline) {
  const Partitioned *partitioned = pipeline->partitioned;
  const Comp *entry = module_entry(partitioned->module);
  buf_add(buf, STR("parameters                (global, spec, a chip's)\n"));
  for (uint32_t i = 0; i < partitioned->n_params; i++) {
    add_value(buf, entry->instrs.at[entry->params.at[i]].name, partitioned->global_params[i],
              partitioned->params[i], (Str){0});
    buf_char(buf, '\n');
  }
  buf_add(buf, STR("outputs\n"));
  for (uint32_t i = 0; i < partitioned->n_outputs; i++) {
    add_value(buf, str_printf(buf->arena, "out%u", i), partitioned->global_outputs[i],
              partitioned->outputs[i], (Str){0});
    buf_char(buf, '\n');
  }
}

/* A value of the user's program whose sharding says something: an array of rank 1 or more that is not a
 * constant's. */
static bool worth_showing(const Instr *instr, const ValueSharding *value) {
  return value->n == 1 && value->at[0] != NULL && shape_is_array(instr->shape) && instr->shape->rank > 0 &&
         instr->op != OP_PARAMETER && instr->op != OP_CONSTANT && instr->op != OP_BROADCAST &&
         instr->op != OP_GET_TUPLE_ELEMENT;
}

static void add_values(StrBuf *buf, const Pipeline *pipeline) {
  if (pipeline->shardings == NULL) return;
  buf_add(buf, STR("values\n"));
  for (uint32_t c = 0; c < pipeline->flat->comps.n; c++) {
    const Comp *comp = module_comp(pipeline->flat, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      const ValueSharding *value = &pipeline->shardings->values[c][i];
      if (!worth_showing(&comp->instrs.at[i], value)) continue;
      ShardOrigin from = pipeline->shardings->because[c][i];
      Str note = {0};
      if (comp->instrs.at[i].region != 0) note = STR("in shard_map: a device's own shape");
      if (from.instr != NO_ID)
        note = str_printf(buf->arena, "from %.*s",
                          STR_ARG(comp_instr(pipeline->flat, from.comp, from.instr)->name));
      add_value(buf, comp->instrs.at[i].name, comp->instrs.at[i].shape, value->at[0], note);
      buf_char(buf, '\n');
    }
  }
}

/* What fills HBM at the peak: name, shape, bytes and where it came from. */
static void add_held(StrBuf *buf, const Pipeline *pipeline) {
  enum { MOST = 8 };
  const Schedule *schedule = pipeline->schedule;
  buf_add(buf, STR("largest at the peak\n"));
  for (uint32_t i = 0; i < schedule->held.n && i < MOST; i++) {
    const Held *held = &schedule->held.at[i];
    const Instr *instr = comp_instr(schedule->module, held->comp, held->instr);
    buf_add(buf, STR("  "));
    add_column(buf, instr->name, NAME_WIDTH);
    bool element = shape_is_tuple(instr->shape);
    add_column(buf, element ? STR("one of its elements") : plain_shape(buf->arena, instr->shape),
               SHAPE_WIDTH);
    human_bytes(buf, held->bytes);
    if (instr->op == OP_PARAMETER) buf_add(buf, STR("  parameter"));
    if (instr->origin.line > 0)
      buf_printf(buf, "  (%.*s:%u)", STR_ARG(instr->origin.file), instr->origin.line);
    buf_char(buf, '\n');
  }
}

static void add_memory(StrBuf *buf, const Pipeline *pipeline) {
  const Schedule *schedule = pipeline->schedule;
  const struct {
    const char *name;
    int64_t bytes;
  } rows[] = {{"arguments", schedule->hbm_argument_bytes},
              {"outputs", schedule->hbm_output_bytes},
              {"temporaries", schedule->hbm_temp_bytes},
              {"peak", schedule->hbm_peak_bytes},
              {"limit", pipeline->config->pod.hbm_usable_bytes}};
  buf_add(buf, STR("memory of a chip\n"));
  for (uint32_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    buf_add(buf, STR("  "));
    add_column(buf, str_of(rows[i].name), NAME_WIDTH);
    human_bytes(buf, rows[i].bytes);
    buf_char(buf, '\n');
  }
  add_held(buf, pipeline);
}

/* Values that are copied to another layout, and who wants it. */
static void add_copies(StrBuf *buf, const Pipeline *pipeline) {
  const Module *module = pipeline->laid->module;
  bool any = false;
  for (uint32_t c = 0; c < module->comps.n && pipeline->laid != pipeline->pipelined; c++) {
    const Comp *comp = module_comp(module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      Str reason = copy_reason(buf->arena, module, c, i);
      if (reason.n == 0) continue;
      if (!any) buf_add(buf, STR("copies to other layouts, and to memory of their own\n"));
      any = true;
      buf_add(buf, STR("  "));
      add_column(buf, comp->instrs.at[i].name, NAME_WIDTH);
      add_column(buf, plain_shape(buf->arena, comp->instrs.at[i].shape), SHAPE_WIDTH);
      buf_printf(buf, "%.*s\n", STR_ARG(reason));
    }
  }
}

static Status show_pod(Pipeline *pipeline) {
  const Pod *pod = &pipeline->config->pod;
  StrBuf buf = {.arena = pipeline->arena};
  buf_printf(&buf, "%.*s, %u chip%s\n", STR_ARG(pod_text(pipeline->arena, pod)), pod->n_chips,
             pod->n_chips == 1 ? "" : "s");
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    buf_printf(&buf, "  axis %c  %lld chips, %s\n", "xyz"[axis], (long long)pod -> shape[axis],
               pod_axis_is_short(pod, axis)
                   ? "a ring twice as long: its ends meet half way along the long axes"
               : pod->wrap[axis] ? "a ring"
                                 : "a line (no wraparound link)");
  }
  if (pod->slices > 1)
    buf_printf(&buf, "  slices  %lld, joined by the data-centre network\n", (long long)pod->slices);
  fwrite(buf.at, 1, buf.n, stdout);
  return STATUS_OK;
}

static void put(StrBuf *buf) {
  fwrite(buf->at, 1, buf->n, stdout);
  buf->n = 0;
}

/* Nothing that is shown depends on numbers, unless they decide what runs. */
static void leave_out_numbers(const Pipeline *pipeline, Options *options) {
  const Schedule *schedule = pipeline->schedule;
  bool free_to = str_is(str_of(options->numbers), "auto");
  if (free_to && !schedule_decides(schedule, schedule->module->entry)) options->numbers = "off";
}

/* `options` are the pipeline's. */
static Status show(Pipeline *pipeline, Options *options, Diag *diag) {
  TRY(pipeline_read_pod(pipeline, diag));
  RETURN_IF(pipeline->options->program_path == NULL, show_pod(pipeline));
  TRY(pipeline_read_program(pipeline, diag));
  TRY(pipeline_partition(pipeline, diag));
  TRY(pipeline_order(pipeline, diag));
  outputs_describe(pipeline);
  StrBuf buf = {.arena = pipeline->arena};
  add_head(&buf, pipeline);
  add_ends(&buf, pipeline);
  add_values(&buf, pipeline);
  add_memory(&buf, pipeline);
  add_copies(&buf, pipeline);
  put(&buf);
  leave_out_numbers(pipeline, options);
  TRY(idle_settings_simulate(pipeline, diag));
  collectives_table(&buf, pipeline->ledger, &pipeline->metrics, OPS_SHOWN);
  ops_table(&buf, &pipeline->info, pipeline->ledger, &pipeline->metrics, OPS_SHOWN);
  put(&buf);
  outputs_note_missing_lines(pipeline);
  return STATUS_OK;
}

Status command_show(const Options *options, Diag *diag) {
  if (options->draw != NULL) return show_drawing(options, diag);
  Options own = *options;
  Pipeline pipeline = pipeline_new(&own);
  Status status = show(&pipeline, &own, diag);
  pipeline_free(&pipeline);
  return status;
}

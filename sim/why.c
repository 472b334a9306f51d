/* The op that asks for a collective, each of its values with its sharding and where that came from; then, for
 * the parameters and constraints behind them, other specs for the axes that move, by the step time that they
 * would give, as far as that takes some seconds. */
#include "sim/why.h"

#include "sim/spec_choices.h"
#include "sim/sweep_points.h"
#include "traces/human.h"

enum {
  NAME_WIDTH = 26,
  SHAPE_WIDTH = 20,
  SPEC_WIDTH = 26,
  NAMES_MOST = 3,
  ROWS_MOST = 8,
  CPU_MS_MOST = 2000 /* for all other specs */
};

typedef struct {
  Pipeline *pipeline;
  StrBuf *buf;
  const Conflict *conflict;
  Str names[NAMES_MOST]; /* that --spec takes, of what the op's shardings came from */
  uint32_t n_names;
} Why;

static const Conflict *conflict_of(const Partitioned *program, uint32_t comp, uint32_t instr) {
  for (uint32_t r = 0; r < program->reasons.n; r++) {
    const CollectiveReason *reason = &program->reasons.at[r];
    if (reason->comp == comp && reason->instr == instr && reason->conflict.from != NULL)
      return &reason->conflict;
  }
  return NULL;
}

static void remember(Why *why, Str name) {
  if (name.n == 0 || why->n_names == NAMES_MOST) return;
  for (uint32_t i = 0; i < why->n_names; i++)
    if (str_eq(why->names[i], name)) return;
  why->names[why->n_names++] = name;
}

static void add_cell(StrBuf *buf, Str text, size_t width) {
  size_t start = buf->n;
  buf_add(buf, text);
  buf_column(buf, start, width);
}

static void add_wanted(StrBuf *buf, const Conflict *conflict) {
  const Sharding *from = conflict->from;
  for (uint32_t i = 0; i < from->unreduced.n; i++)
    buf_printf(buf, "%s%.*s", i == 0 ? "; each device has a part, to be summed over " : ", ",
               STR_ARG(from->mesh->axes[from->unreduced.at[i].axis].name));
  if (from->unreduced.n == 0)
    buf_printf(buf, "; wanted as %.*s", STR_ARG(sharding_spec_text(buf->arena, conflict->wanted)));
}

/* Whose sharding a value has; its own perhaps. */
static ShardOrigin origin_of(const Why *why, uint32_t at) {
  uint32_t comp = why->conflict->comp;
  ShardOrigin from = why->pipeline->shardings->because[comp][at];
  return from.instr == NO_ID ? (ShardOrigin){comp, at} : from;
}

static Str name_of(const Why *why, ShardOrigin origin) {
  return spec_name(why->buf->arena, why->pipeline, origin.comp, origin.instr);
}

/* A value of the op: its shape and spec, and whose spec that was. */
static void add_value(Why *why, uint32_t at) {
  const Pipeline *pipeline = why->pipeline;
  const Conflict *conflict = why->conflict;
  StrBuf *buf = why->buf;
  const Instr *value = comp_instr(pipeline->flat, conflict->comp, at);
  const ValueSharding *lies = &pipeline->shardings->values[conflict->comp][at];
  const Sharding *sharding = at == conflict->value ? conflict->from : lies->n == 1 ? lies->at[0] : NULL;
  if (sharding == NULL || !shape_is_array(value->shape) || value->shape->rank == 0) return;
  ShardOrigin from = origin_of(why, at);
  bool own = from.comp == conflict->comp && from.instr == at;
  Str name = name_of(why, from);
  buf_add(buf, STR("  "));
  add_cell(buf, value->name, NAME_WIDTH);
  add_cell(buf, shape_text(buf->arena, value->shape), SHAPE_WIDTH);
  add_cell(buf, sharding_spec_text(buf->arena, sharding), SPEC_WIDTH);
  Str source = comp_instr(pipeline->flat, from.comp, from.instr)->name;
  buf_printf(buf, own ? "its own" : "as %.*s", STR_ARG(source));
  if (name.n > 0 && !str_eq(name, source)) buf_printf(buf, " (%.*s)", STR_ARG(name));
  if (at == conflict->value) add_wanted(buf, conflict);
  buf_char(buf, '\n');
  remember(why, name);
}

static void add_values(Why *why) {
  const Conflict *conflict = why->conflict;
  const Instr *asker = comp_instr(why->pipeline->flat, conflict->comp, conflict->asker);
  buf_printf(why->buf, "how the values of %.*s lie", STR_ARG(asker->name));
  if (asker->origin.line > 0)
    buf_printf(why->buf, "  (%.*s:%u)", STR_ARG(asker->origin.file), asker->origin.line);
  buf_char(why->buf, '\n');
  remember(why, name_of(why, origin_of(why, conflict->value))); /* the one that moves is tried first */
  for (uint32_t i = 0; i < asker->operands.n; i++) {
    bool again = false;
    for (uint32_t k = 0; k < i; k++) again |= asker->operands.at[k] == asker->operands.at[i];
    if (!again) add_value(why, asker->operands.at[i]);
  }
  add_value(why, conflict->asker);
}

/* The axes that a sharding has. */
static void mark_axes(const Sharding *sharding, bool *moves) {
  for (uint32_t d = 0; d < sharding->rank; d++)
    for (uint32_t i = 0; i < sharding->dims[d].axes.n; i++) moves[sharding->dims[d].axes.at[i].axis] = true;
  for (uint32_t i = 0; i < sharding->unreduced.n; i++) moves[sharding->unreduced.at[i].axis] = true;
}

static void add_choices(const Why *why, Str name, const bool *moves, Points *points) {
  Arena *arena = why->pipeline->arena;
  const Shape *shape;
  const Sharding *now;
  if (!spec_target(why->pipeline, name, &shape, &now)) return;
  SpecChoices choices = spec_choices(arena, name, shape, now, moves);
  for (uint32_t i = 0; i < choices.n; i++)
    VEC_PUSH(arena, points, (Point){.label = choices.at[i], .spec = choices.at[i]});
}

/* Those that could be run (a spec may contradict a shard_map), each timeline once. Ranked points are given.
 */
static Points without_idle(Arena *arena, const Points *points) {
  Points kept = {0};
  for (uint32_t i = 0; i < points->n && points->at[i].outcome.status == STATUS_OK; i++) {
    const Outcome *outcome = &points->at[i].outcome;
    bool alike = false;
    for (uint32_t k = 0; k < kept.n && !alike; k++)
      alike = kept.at[k].outcome.timeline == outcome->timeline &&
              kept.at[k].outcome.hbm_peak_bytes == outcome->hbm_peak_bytes;
    if (!alike || points->at[i].spec.n == 0) VEC_PUSH(arena, &kept, points->at[i]);
  }
  return kept;
}

static void add_ranked(StrBuf *buf, const Points *points) {
  StrBuf table = {.arena = buf->arena};
  points_print(&table, points, "spec", false, ROWS_MOST);
  for (Str rest = buf_str(&table); rest.n > 0;) {
    size_t end = str_find(rest, '\n');
    buf_printf(buf, "  %.*s\n", STR_ARG(str_sub(rest, 0, end)));
    rest = str_sub(rest, end + 1, rest.n);
  }
}

/* The command that waits for the specs that were not waited for. */
static void add_late(const Why *why, const Points *points) {
  for (uint32_t n = 0; n < why->n_names; n++) {
    Str name = why->names[n];
    uint32_t late = 0;
    for (uint32_t i = 0; i < points->n; i++) {
      Str spec = points->at[i].spec;
      late += points->at[i].outcome.late && str_eq(str_sub(spec, 0, str_find(spec, '=')), name);
    }
    if (late == 0) continue;
    buf_printf(why->buf, "  %u of %.*s not waited for: podsim sweep CONFIG PROGRAM --specs %.*s\n", late,
               STR_ARG(name), STR_ARG(name));
  }
}

static Status try_others(const Why *why, Diag *diag) {
  StrBuf *buf = why->buf;
  if (why->n_names == 0) return STATUS_OK;
  bool *moves = ARENA_ARRAY(buf->arena, bool, why->conflict->from->mesh->n_axes);
  mark_axes(why->conflict->from, moves);
  mark_axes(why->conflict->wanted, moves);
  Points points = {0};
  VEC_PUSH(buf->arena, &points, (Point){.label = STR("as it is")});
  for (uint32_t i = 0; i < why->n_names; i++) add_choices(why, why->names[i], moves, &points);
  TRY(points_run(buf->arena, why->pipeline->options, CPU_MS_MOST, &points, diag));
  Points kept = without_idle(buf->arena, &points);
  buf_add(buf, STR("the whole step with another --spec"));
  for (uint32_t i = 0; i < kept.n; i++) {
    if (kept.at[i].spec.n > 0) continue;
    buf_add(buf, STR(" (as it is: "));
    human_time(buf, kept.at[i].outcome.time_ps);
    buf_char(buf, ')');
  }
  buf_char(buf, '\n');
  if (kept.n > 0) add_ranked(buf, &kept);
  add_late(why, &points);
  return STATUS_OK;
}

Status why_print(Pipeline *pipeline, uint32_t comp, uint32_t instr, StrBuf *buf, Diag *diag) {
  const Conflict *conflict = conflict_of(pipeline->laid, comp, instr);
  if (conflict == NULL || pipeline->shardings == NULL) return STATUS_OK;
  Why why = {.pipeline = pipeline, .buf = buf, .conflict = conflict};
  add_values(&why);
  return try_others(&why, diag);
}

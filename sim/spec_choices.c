/* Specs to try: a counter with a digit for each mesh axis that moves: the dimension that it splits, or none.
 */
#include "sim/spec_choices.h"

enum { CHOICES_MOST = 4096, TRIES_MOST = 1 << 16 };

static bool numbered(Str name, const char *prefix, int64_t *number) {
  return str_starts(name, prefix) && str_to_int(str_sub(name, strlen(prefix), name.n), number) &&
         *number >= 0;
}

static bool named_value(const Pipeline *pipeline, Str name, const Shape **shape, const Sharding **now) {
  for (uint32_t c = 0; pipeline->flat != NULL && c < pipeline->flat->comps.n; c++) {
    uint32_t at = comp_find(module_comp(pipeline->flat, c), name);
    if (at == NO_ID || pipeline->shardings->values[c][at].n != 1) continue;
    *shape = comp_instr(pipeline->flat, c, at)->shape;
    *now = pipeline->shardings->values[c][at].at[0];
    return *now != NULL && shape_is_array(*shape);
  }
  return false;
}

bool spec_target(const Pipeline *pipeline, Str name, const Shape **shape, const Sharding **now) {
  const Partitioned *partitioned = pipeline->partitioned;
  int64_t number;
  if (numbered(name, "arg", &number) && number < partitioned->n_params) {
    *shape = partitioned->global_params[number];
    *now = partitioned->params[number];
  } else if (numbered(name, "out", &number) && number < partitioned->n_outputs) {
    *shape = partitioned->global_outputs[number];
    *now = partitioned->outputs[number];
  } else {
    return named_value(pipeline, name, shape, now);
  }
  return *now != NULL && shape_is_array(*shape);
}

Str spec_name(Arena *arena, const Pipeline *pipeline, uint32_t comp, uint32_t instr) {
  const Instr *of = comp_instr(pipeline->flat, comp, instr);
  if (of->op == OP_PARAMETER && comp == pipeline->flat->entry && shape_is_array(of->shape))
    return str_printf(arena, "arg%lld", (long long)of->parameter);
  return str_is(instr_custom_call_target(of), "Sharding") ? of->name : (Str){0};
}

/* Whether each dimension can be cut into as many parts as its axes make. */
static bool divides(const Shape *shape, const Sharding *now, const bool *moves, const uint32_t *digits) {
  const Mesh *mesh = now->mesh;
  for (uint32_t d = 0; d < now->rank; d++) {
    int64_t parts = 1;
    for (uint32_t i = 0; i < now->dims[d].axes.n; i++)
      if (!moves[now->dims[d].axes.at[i].axis]) parts *= axes_size((AxisList){&now->dims[d].axes.at[i], 1});
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
      if (moves[axis] && digits[axis] == d) parts *= mesh->axes[axis].size;
    if (shape->dims[d] % parts != 0) return false;
  }
  return true;
}

/* NULL where an axis list does not divide its dimension. */
static const Sharding *laid(Arena *arena, const Shape *shape, const Sharding *now, const bool *moves,
                            const uint32_t *digits) {
  RETURN_IF(!divides(shape, now, moves, digits), NULL);
  const Mesh *mesh = now->mesh;
  const Sharding *sharding = sharding_replicated(arena, mesh, now->rank, false);
  for (uint32_t d = 0; d < now->rank; d++) {
    AxisList axes = {ARENA_ARRAY(arena, AxisRef, mesh->n_axes + now->dims[d].axes.n), 0};
    for (uint32_t i = 0; i < now->dims[d].axes.n; i++)
      if (!moves[now->dims[d].axes.at[i].axis]) axes.at[axes.n++] = now->dims[d].axes.at[i];
    for (uint32_t axis = 0; axis < mesh->n_axes; axis++)
      if (moves[axis] && digits[axis] == d) axes.at[axes.n++] = axis_whole(mesh, axis);
    sharding = sharding_with_dim(arena, sharding, d, axes);
  }
  return sharding;
}

static bool count_on(const Mesh *mesh, const bool *moves, uint32_t rank, uint32_t *digits) {
  for (uint32_t axis = 0; axis < mesh->n_axes; axis++) {
    if (!moves[axis]) continue;
    if (++digits[axis] <= rank) return true;
    digits[axis] = 0;
  }
  return false;
}

/* An axis of one device splits nothing, wherever it is. */
static const bool *that_split(Arena *arena, const Mesh *mesh, const bool *moves) {
  bool *split = ARENA_ARRAY(arena, bool, mesh->n_axes + 1);
  for (uint32_t axis = 0; axis < mesh->n_axes; axis++) split[axis] = moves[axis] && mesh->axes[axis].size > 1;
  return split;
}

SpecChoices spec_choices(Arena *arena, Str name, const Shape *shape, const Sharding *now, const bool *asked) {
  const bool *moves = that_split(arena, now->mesh, asked);
  SpecChoices choices = {0};
  uint32_t *digits = ARENA_ARRAY(arena, uint32_t, now->mesh->n_axes + 1), tries = 0;
  do {
    const Sharding *sharding = laid(arena, shape, now, moves, digits);
    if (sharding == NULL || sharding_eq(sharding, now)) continue;
    VEC_PUSH(arena, &choices,
             str_printf(arena, "%.*s=%.*s", STR_ARG(name), STR_ARG(sharding_spec_text(arena, sharding))));
  } while (choices.n < CHOICES_MOST && ++tries < TRIES_MOST && count_on(now->mesh, moves, now->rank, digits));
  return choices;
}

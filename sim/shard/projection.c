/* Shardings to factors and back. A dimension is the product of its factors; its axes are dealt out to them
 * from the major one on, an axis being split where a factor ends inside it (shardy: sharding_projection). */
#include "sim/shard/projection.h"

static AxisList one_axis(Arena *arena, AxisRef axis) {
  return (AxisList){arena_copy(arena, &axis, sizeof axis), 1};
}

/* Moves as many axes from the front of `axes` to the factor as its size takes; `*left` is what stays
 * unsharded. */
static AxisList deal_out(Arena *arena, const Mesh *mesh, AxisList *axes, int64_t size, int64_t *left) {
  AxisList taken = {0};
  *left = size;
  while (axes->n != 0) {
    AxisRef axis = axes->at[0];
    int64_t part = sizes_gcd(*left, axis.size);
    if (part == 1 && axis.size != 1) break;
    AxisList major = one_axis(arena, (AxisRef){axis.axis, axis.pre, part});
    taken = axes_concat(arena, mesh, taken, major);
    *axes = axes_after_prefix(arena, mesh, *axes, major);
    *left /= part;
  }
  return taken;
}

static void project_dim(const Projection *projection, FactorSharding *factors, Ids dim, AxisList axes,
                        bool closed) {
  bool overflow = false;
  for (uint32_t i = 0; i < dim.n; i++) {
    FactorSharding *factor = &factors[dim.at[i]];
    int64_t left;
    factor->present = true;
    factor->minor_most = i + 1 == dim.n;
    factor->closed = closed || overflow;
    if (overflow) continue;
    if (factor->minor_most) {
      factor->axes = axes;
      continue;
    }
    factor->axes = deal_out(projection->arena, projection->mesh, &axes,
                            projection->rule->factors[dim.at[i]].size, &left);
    overflow = left > 1 && axes.n != 0;
    if (overflow) factor->overflow = axes;
  }
}

const TensorFactors *projection_dims(const Projection *projection, uint32_t t) {
  const FactorRule *rule = projection->rule;
  return t < rule->n_operands ? &rule->operands[t] : &rule->results[t - rule->n_operands];
}

Projection projection_of(Arena *arena, const Mesh *mesh, const FactorRule *rule,
                         const Sharding *const *shardings) {
  Projection projection = {
      .arena = arena, .mesh = mesh, .rule = rule, .n_tensors = rule->n_operands + rule->n_results};
  projection.tensors = ARENA_ARRAY(arena, TensorProjection, projection.n_tensors + 1);
  for (uint32_t t = 0; t < projection.n_tensors; t++) {
    const TensorFactors *dims = projection_dims(&projection, t);
    const Sharding *sharding = shardings[t];
    TensorProjection *tensor = &projection.tensors[t];
    tensor->factors = ARENA_ARRAY(arena, FactorSharding, rule->n_factors + 1);
    for (uint32_t d = 0; d < dims->rank; d++)
      project_dim(&projection, tensor->factors, dims->dims[d],
                  sharding == NULL ? (AxisList){0} : sharding->dims[d].axes,
                  sharding != NULL && !sharding->dims[d].open);
    if (sharding == NULL) continue;
    tensor->replicated = sharding->replicated;
    tensor->unreduced = sharding->unreduced;
  }
  return projection;
}

static DimSharding dim_of_factors(const Projection *projection, const FactorSharding *factors, Ids dim) {
  DimSharding result = {.open = true};
  for (uint32_t i = 0; i < dim.n; i++) {
    const FactorSharding *factor = &factors[dim.at[i]];
    if (factor->closed) result.open = false;
    result.axes = axes_concat(projection->arena, projection->mesh, result.axes, factor->axes);
    if (factor->overflow.n != 0) {
      result.axes = axes_concat(projection->arena, projection->mesh, result.axes, factor->overflow);
      break;
    }
    if (axes_size(factor->axes) < projection->rule->factors[dim.at[i]].size) break;
  }
  return result;
}

const Sharding *projection_sharding(const Projection *projection, uint32_t t, const Sharding *before) {
  const TensorFactors *dims = projection_dims(projection, t);
  Sharding *sharding = ARENA_NEW(projection->arena, Sharding);
  if (before != NULL) *sharding = *before;
  if (before == NULL) sharding->device = -1;
  sharding->mesh = projection->mesh;
  sharding->rank = dims->rank;
  sharding->dims = ARENA_ARRAY(projection->arena, DimSharding, dims->rank + 1);
  for (uint32_t d = 0; d < dims->rank; d++)
    sharding->dims[d] = dim_of_factors(projection, projection->tensors[t].factors, dims->dims[d]);
  return sharding;
}

/* The aggressive strategy of propagation, on one op. For each factor the axes that its tensors agree on are
 * found, the longest first come; then every tensor takes as many of them as do not conflict with what else it
 * has, the factors in an order of preference (shardy: aggressive_factor_propagation,
 * basic_factor_propagation). */
#include "sim/shard/projection.h"

#include <stdlib.h>

/* --- The axes that tensors agree on. --- */

typedef struct {
  AxisList axes;
  bool can_expand;
} Agreement;

/* Takes one more tensor's axes into account: the longer of two lists that continue each other, else their
 * common prefix, from which on nothing is added any more. */
static void agree(Arena *arena, const Mesh *mesh, Agreement *agreement, AxisList axes) {
  if (axes_is_prefix(axes, agreement->axes)) return;
  if (axes_is_prefix(agreement->axes, axes)) {
    if (agreement->can_expand) agreement->axes = axes;
    return;
  }
  agreement->axes = axes_common_prefix(arena, mesh, agreement->axes, axes);
  agreement->can_expand = false;
}

static void agree_over(const Projection *projection, Agreement *agreement, uint32_t factor, bool results) {
  uint32_t n_operands = projection->rule->n_operands;
  uint32_t from = results ? n_operands : 0, to = results ? projection->n_tensors : n_operands;
  for (uint32_t t = from; t < to; t++) {
    const FactorSharding *sharding = &projection->tensors[t].factors[factor];
    if (sharding->present) agree(projection->arena, projection->mesh, agreement, sharding->axes);
  }
}

/* In one direction only, the tensors at the other end may object but not add. */
static AxisList agreed_axes(const Projection *projection, uint32_t factor, Direction direction) {
  Agreement agreement = {.can_expand = true};
  if (direction == DIRECTION_NONE) return agreement.axes;
  bool backward = direction == DIRECTION_BACKWARD;
  agree_over(projection, &agreement, factor, backward);
  if (direction != DIRECTION_BOTH) agreement.can_expand = false;
  agree_over(projection, &agreement, factor, !backward);
  return agreement.axes;
}

/* --- The part of them that a tensor can take. --- */

/* The major part of `axis` that overlaps nothing in `list`; false where nothing is left. */
static bool cut_overlap(AxisRef *axis, AxisList list) {
  for (uint32_t i = 0; i < list.n; i++) {
    AxisRef other = list.at[i];
    if (!axis_overlaps(*axis, other)) continue;
    if (other.pre <= axis->pre || other.pre % axis->pre != 0) return false;
    int64_t left = other.pre / axis->pre;
    if (left >= axis->size || axis->size % left != 0) return false;
    axis->size = left;
  }
  return true;
}

static bool cut_other_factors(const Projection *projection, const TensorProjection *tensor, uint32_t factor,
                              AxisRef *axis) {
  for (uint32_t f = 0; f < projection->rule->n_factors; f++) {
    const FactorSharding *other = &tensor->factors[f];
    if (f == factor || !other->present) continue;
    if (!cut_overlap(axis, other->overflow) || !cut_overlap(axis, other->axes)) return false;
  }
  return true;
}

static bool axis_contains(AxisRef a, AxisRef b) {
  return a.axis == b.axis && a.pre <= b.pre && a.pre * a.size >= b.pre * b.size;
}

static bool list_contains(AxisList list, AxisRef axis) {
  for (uint32_t i = 0; i < list.n; i++)
    if (axis_contains(list.at[i], axis)) return true;
  return false;
}

/* The major part of `axis` that the factor can take behind axes of the size `taken`: it must be open, and
 * only the minor-most factor of a dimension may be divided unevenly. */
static bool cut_to_factor(const TensorProjection *tensor, const FactorSharding *sharding, int64_t size,
                          int64_t taken, AxisRef *axis) {
  if (!cut_overlap(axis, tensor->replicated) || !cut_overlap(axis, tensor->unreduced)) return false;
  if (list_contains(sharding->axes, *axis)) return true;
  if (!sharding->closed && sharding->overflow.n == 0) {
    if (sharding->minor_most) return true;
    int64_t part = size % taken == 0 ? sizes_gcd(size / taken, axis->size) : 1;
    if (part != 1) {
      axis->size = part;
      return true;
    }
  }
  AxisList own = sharding->axes;
  if (own.n == 0 || !axis_is_prefix(own.at[own.n - 1], *axis)) return false;
  *axis = own.at[own.n - 1];
  return true;
}

typedef bool CutFn(const Projection *projection, const TensorProjection *tensor, uint32_t factor,
                   int64_t taken, AxisRef *axis);

static bool cut_within(const Projection *projection, const TensorProjection *tensor, uint32_t factor,
                       int64_t taken, AxisRef *axis) {
  return cut_to_factor(tensor, &tensor->factors[factor], projection->rule->factors[factor].size, taken, axis);
}

static bool cut_across(const Projection *projection, const TensorProjection *tensor, uint32_t factor,
                       int64_t taken, AxisRef *axis) {
  (void)taken;
  return cut_other_factors(projection, tensor, factor, axis);
}

/* The axes up to the first one that had to be cut, which is the last. */
static AxisList truncated(const Projection *projection, const TensorProjection *tensor, uint32_t factor,
                          AxisList axes, CutFn *cut) {
  AxisList kept = {ARENA_ARRAY(projection->arena, AxisRef, axes.n + 1), 0};
  int64_t taken = 1;
  for (uint32_t i = 0; i < axes.n; i++) {
    AxisRef axis = axes.at[i];
    if (!cut(projection, tensor, factor, taken, &axis)) break;
    kept.at[kept.n++] = axis;
    if (!axis_eq(axis, axes.at[i])) break;
    taken *= axis.size;
  }
  return kept;
}

static bool is_strict_prefix(AxisList a, AxisList b) {
  return axes_is_prefix(a, b) && !axes_eq(a, b);
}

/* What the tensor gets along the factor, its own axes first; false where it gets nothing new. */
static bool extended_axes(const Projection *projection, uint32_t t, uint32_t factor, AxisList agreed,
                          AxisList *axes) {
  const TensorProjection *tensor = &projection->tensors[t];
  if (!tensor->factors[factor].present) return false;
  AxisList own = tensor->factors[factor].axes;
  *axes = truncated(projection, tensor, factor, agreed, cut_within);
  if (!is_strict_prefix(own, *axes)) return false;
  *axes = truncated(projection, tensor, factor, *axes, cut_across);
  return is_strict_prefix(own, *axes);
}

/* --- The order of factors. --- */

typedef struct {
  uint32_t factor;
  AxisList axes;       /* agreed */
  int64_t source_size; /* elements of the largest tensor that has a part of these axes; -1 where none */
  int64_t source;      /* the tensor; -1 */
  int64_t shards;      /* of an elementwise op: how many the axes make; else 0 */
} Candidate;

static int64_t tensor_size(const Projection *projection, uint32_t t) {
  int64_t size = 1;
  for (uint32_t f = 0; f < projection->rule->n_factors; f++)
    if (projection->tensors[t].factors[f].present &&
        __builtin_mul_overflow(size, projection->rule->factors[f].size, &size))
      return INT64_MAX;
  return size;
}

static void find_source(const Projection *projection, const int64_t *sizes, Candidate *candidate) {
  candidate->source = candidate->source_size = -1;
  for (uint32_t t = 0; t < projection->n_tensors && candidate->axes.n != 0; t++) {
    const FactorSharding *sharding = &projection->tensors[t].factors[candidate->factor];
    if (!sharding->present || !axes_is_prefix(candidate->axes, sharding->axes)) continue;
    if (sizes[t] <= candidate->source_size) continue;
    candidate->source_size = sizes[t];
    candidate->source = t;
  }
}

static int compare_int64(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int by_preference(const void *left, const void *right) {
  const Candidate *a = left, *b = right;
  int order = compare_int64(b->source_size, a->source_size);
  if (order == 0) order = compare_int64(b->shards, a->shards);
  if (order == 0) order = compare_int64(a->source, b->source);
  return order != 0 ? order : compare_int64(a->factor, b->factor);
}

static Candidate *candidates_of(const Projection *projection, const Direction *directions, bool elementwise,
                                bool *any) {
  uint32_t n = projection->rule->n_factors;
  Candidate *candidates = ARENA_ARRAY(projection->arena, Candidate, n + 1);
  int64_t *sizes = ARENA_ARRAY(projection->arena, int64_t, projection->n_tensors + 1);
  for (uint32_t t = 0; t < projection->n_tensors; t++) sizes[t] = tensor_size(projection, t);
  *any = false;
  for (uint32_t f = 0; f < n; f++) {
    Candidate *candidate = &candidates[f];
    candidate->factor = f;
    candidate->axes = agreed_axes(projection, f, directions[f]);
    find_source(projection, sizes, candidate);
    candidate->shards = elementwise ? axes_size(candidate->axes) : 0;
    *any |= candidate->axes.n != 0;
  }
  qsort(candidates, n, sizeof *candidates, by_preference);
  return candidates;
}

/* --- The step. --- */

/* Operands of an elementwise op take from each other only what its results took too. */
static void limit_to_results(const Projection *projection, uint32_t factor, AxisList *axes) {
  for (uint32_t t = projection->rule->n_operands; t < projection->n_tensors; t++) {
    const FactorSharding *result = &projection->tensors[t].factors[factor];
    if (result->present && is_strict_prefix(result->axes, *axes)) *axes = result->axes;
  }
}

static void extend_tensor(Projection *projection, uint32_t t, const Candidate *candidates, bool limited,
                          uint32_t *source) {
  TensorProjection *tensor = &projection->tensors[t];
  for (uint32_t c = 0; c < projection->rule->n_factors; c++) {
    AxisList axes;
    uint32_t factor = candidates[c].factor;
    if (!extended_axes(projection, t, factor, candidates[c].axes, &axes)) continue;
    if (limited) limit_to_results(projection, factor, &axes);
    if (!is_strict_prefix(tensor->factors[factor].axes, axes)) continue;
    tensor->factors[factor].axes = axes;
    if (!tensor->changed && candidates[c].source >= 0) source[t] = (uint32_t)candidates[c].source;
    tensor->changed = true;
  }
}

void projection_propagate(Projection *projection, const Direction *directions, bool elementwise,
                          uint32_t *source) {
  bool any;
  const Candidate *candidates = candidates_of(projection, directions, elementwise, &any);
  uint32_t n_operands = projection->rule->n_operands;
  for (uint32_t t = 0; t < projection->n_tensors; t++) source[t] = t;
  if (!any) return;
  for (uint32_t t = n_operands; t < projection->n_tensors; t++)
    extend_tensor(projection, t, candidates, false, source);
  for (uint32_t t = 0; t < n_operands; t++) extend_tensor(projection, t, candidates, elementwise, source);
}

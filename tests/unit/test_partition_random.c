/* A property of the partitioner: whatever the program, the mesh and the shardings, the devices together
 * compute what one device computes. Programs are made from a seed: HLO text with shardings on parameters and
 * constraints within. PODSIM_RANDOM_PROGRAMS says how many to try, PODSIM_RANDOM_SEED where to begin. */
#include "sim/eval/compare_tensors.h"
#include "sim/eval/interpret.h"
#include "sim/ir/flatten.h"
#include "sim/ir/print.h"
#include "sim/ir/verify.h"
#include "sim/partition/partition.h"
#include "sim/read/program.h"
#include "sim/region_boxes.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_RANK = 4, MOST_VALUES = 40, MOST_DEVICES = 16, MOST_ELEMENTS = 4096 };

/* --- chance
 * ------------------------------------------------------------------------------------------------------- */

typedef struct {
  uint64_t state;
} Chance;

static uint32_t below(Chance *chance, uint32_t n) {
  chance->state = chance->state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((chance->state >> 33) % n);
}

/* --- making a program
 * -------------------------------------------------------------------------------------------- */

typedef struct {
  char name[16];
  uint32_t rank;
  int64_t dims[MOST_RANK];
} Value;

typedef struct {
  Arena *arena;
  Chance chance;
  StrBuf body, comps; /* of the entry; computations it calls */
  uint32_t n_axes, n_params, n_names;
  int64_t axis_sizes[3];
  Value values[MOST_VALUES];
  uint32_t n_values;
} Maker;

static Str dims_text(Arena *arena, const int64_t *dims, uint32_t rank) {
  StrBuf text = {.arena = arena};
  for (uint32_t d = 0; d < rank; d++) buf_printf(&text, "%s%lld", d == 0 ? "" : ",", (long long)dims[d]);
  return buf_str(&text);
}

static Str shape_of(Maker *maker, const Value *value) {
  return str_printf(maker->arena, "f32[%.*s]", STR_ARG(dims_text(maker->arena, value->dims, value->rank)));
}

/* `[{"a"}, {}]`: every axis on a random dimension, or none. */
static Str random_spec(Maker *maker, uint32_t rank) {
  uint32_t place[3], order = below(&maker->chance, 2);
  for (uint32_t a = 0; a < maker->n_axes; a++) place[a] = below(&maker->chance, rank + 1);
  StrBuf text = {.arena = maker->arena};
  buf_char(&text, '[');
  for (uint32_t d = 0; d < rank; d++) {
    buf_add(&text, d == 0 ? STR("{") : STR(", {"));
    bool first = true;
    for (uint32_t i = 0; i < maker->n_axes; i++) {
      uint32_t a = order == 0 ? i : maker->n_axes - 1 - i;
      if (place[a] != d) continue;
      buf_printf(&text, "%s\\\"%c\\\"", first ? "" : ", ", 'a' + (int)a);
      first = false;
    }
    buf_char(&text, '}');
  }
  buf_char(&text, ']');
  return buf_str(&text);
}

static int64_t elements(const int64_t *dims, uint32_t rank) {
  int64_t n = 1;
  for (uint32_t d = 0; d < rank; d++) n *= dims[d];
  return n;
}

/* A new value of these dimensions; its instruction's text is to follow. NULL where it would be too large. */
static Value *value_new(Maker *maker, const int64_t *dims, uint32_t rank) {
  if (maker->n_values == MOST_VALUES || rank > MOST_RANK || elements(dims, rank) > MOST_ELEMENTS) return NULL;
  Value *value = &maker->values[maker->n_values++];
  value->rank = rank;
  memcpy(value->dims, dims, rank * sizeof *dims);
  snprintf(value->name, sizeof value->name, "v%u", maker->n_names++);
  buf_printf(&maker->body, "  %s = %.*s ", value->name, STR_ARG(shape_of(maker, value)));
  return value;
}

static Value any_value(Maker *maker) {
  return maker->values[below(&maker->chance, maker->n_values)];
}

static void add_param(Maker *maker) {
  static const int64_t sizes[] = {1, 2, 4, 5, 6, 8, 8, 12};
  int64_t dims[MOST_RANK];
  uint32_t rank = 1 + below(&maker->chance, 3);
  for (uint32_t d = 0; d < rank; d++) dims[d] = sizes[below(&maker->chance, 8)];
  value_new(maker, dims, rank);
  Str spec = random_spec(maker, rank);
  buf_printf(&maker->body,
             "parameter(%u), frontend_attributes={xla.sdy.sharding=\"#sdy.sharding<@mesh, %.*s>\"}\n",
             maker->n_params++, STR_ARG(spec));
}

/* --- ops
 * ----------------------------------------------------------------------------------------------------------
 */

static void add_constraint(Maker *maker) {
  Value from = any_value(maker);
  if (value_new(maker, from.dims, from.rank) == NULL) return;
  Str spec = random_spec(maker, from.rank);
  buf_printf(&maker->body,
             "custom-call(%s), custom_call_target=\"Sharding\", sharding={replicated}, "
             "frontend_attributes={xla.sdy.sharding=\"#sdy.sharding_per_value<[<@mesh, %.*s>]>\"}\n",
             from.name, STR_ARG(spec));
}

static void add_unary(Maker *maker) {
  static const char *const ops[] = {"negate", "tanh", "abs", "copy"};
  Value from = any_value(maker);
  if (value_new(maker, from.dims, from.rank) == NULL) return;
  buf_printf(&maker->body, "%s(%s)\n", ops[below(&maker->chance, 4)], from.name);
}

static bool same_dims(const Value *a, const Value *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* Another value of the same dimensions, or the same. */
static Value like(Maker *maker, const Value *value) {
  uint32_t from = below(&maker->chance, maker->n_values);
  for (uint32_t i = 0; i < maker->n_values; i++) {
    const Value *other = &maker->values[(from + i) % maker->n_values];
    if (same_dims(other, value)) return *other;
  }
  return *value;
}

static void add_binary(Maker *maker) {
  static const char *const ops[] = {"add", "subtract", "maximum", "multiply"};
  Value a = any_value(maker), b = like(maker, &a);
  if (value_new(maker, a.dims, a.rank) == NULL) return;
  buf_printf(&maker->body, "%s(%s, %s)\n", ops[below(&maker->chance, 4)], a.name, b.name);
}

static void add_transpose(Maker *maker) {
  Value from = any_value(maker);
  int64_t perm[MOST_RANK], dims[MOST_RANK];
  for (uint32_t d = 0; d < from.rank; d++) perm[d] = d;
  for (uint32_t d = from.rank; d > 1; d--) {
    uint32_t other = below(&maker->chance, d);
    int64_t swapped = perm[d - 1];
    perm[d - 1] = perm[other];
    perm[other] = swapped;
  }
  for (uint32_t d = 0; d < from.rank; d++) dims[d] = from.dims[perm[d]];
  if (value_new(maker, dims, from.rank) == NULL) return;
  buf_printf(&maker->body, "transpose(%s), dimensions={%.*s}\n", from.name,
             STR_ARG(dims_text(maker->arena, perm, from.rank)));
}

/* Merges two neighbours, or splits one dimension in two. */
static void add_reshape(Maker *maker) {
  Value from = any_value(maker);
  int64_t dims[MOST_RANK + 1];
  uint32_t rank = 0, at = from.rank == 0 ? 0 : below(&maker->chance, from.rank);
  bool merge = from.rank > 1 && at + 1 < from.rank && below(&maker->chance, 2) == 0;
  for (uint32_t d = 0; d < from.rank; d++) {
    if (merge && d == at) {
      dims[rank++] = from.dims[d] * from.dims[d + 1];
      d++;
    } else if (!merge && d == at && from.rank < MOST_RANK) {
      int64_t major = from.dims[d] % 2 == 0 ? 2 : 1;
      if (from.dims[d] % 4 == 0 && below(&maker->chance, 2) == 0) major = 4;
      dims[rank++] = major;
      dims[rank++] = from.dims[d] / major;
    } else {
      dims[rank++] = from.dims[d];
    }
  }
  if (value_new(maker, dims, rank) == NULL) return;
  buf_printf(&maker->body, "reshape(%s)\n", from.name);
}

/* Contracts the first pair of dimensions that fit. */
static void add_dot(Maker *maker) {
  Value a = any_value(maker), b = any_value(maker);
  for (uint32_t i = 0; i < a.rank; i++)
    for (uint32_t k = 0; k < b.rank; k++) {
      if (a.dims[i] != b.dims[k]) continue;
      int64_t dims[2 * MOST_RANK];
      uint32_t rank = 0;
      for (uint32_t d = 0; d < a.rank; d++)
        if (d != i) dims[rank++] = a.dims[d];
      for (uint32_t d = 0; d < b.rank; d++)
        if (d != k) dims[rank++] = b.dims[d];
      if (value_new(maker, dims, rank) == NULL) return;
      buf_printf(&maker->body, "dot(%s, %s), lhs_contracting_dims={%u}, rhs_contracting_dims={%u}\n", a.name,
                 b.name, i, k);
      return;
    }
}

/* The first dimension is a batch, the last one contracted. */
static void add_batch_dot(Maker *maker) {
  Value a = any_value(maker), b = like(maker, &a);
  if (a.rank < 2) return;
  uint32_t last = a.rank - 1, rank = 0;
  int64_t dims[2 * MOST_RANK];
  for (uint32_t d = 0; d < last; d++) dims[rank++] = a.dims[d];
  for (uint32_t d = 1; d < last; d++) dims[rank++] = b.dims[d];
  if (value_new(maker, dims, rank) == NULL) return;
  buf_printf(&maker->body,
             "dot(%s, %s), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={%u}, "
             "rhs_contracting_dims={%u}\n",
             a.name, b.name, last, last);
}

/* A product of many numbers leaves the range of floats by the order that they come in; one of signs is exact.
 */
static Value signs_of(Maker *maker, Value from) {
  const Value *made = value_new(maker, from.dims, from.rank);
  if (made == NULL) return (Value){0};
  buf_printf(&maker->body, "sign(%s)\n", from.name);
  return *made;
}

static void add_reduce(Maker *maker) {
  static const char *const kinds[][2] = {{"zero", "sum"}, {"low", "max"}, {"one", "sum"}, {"one", "product"}};
  Value from = any_value(maker);
  if (from.rank == 0) return;
  uint32_t mask = 1 + below(&maker->chance, (1u << from.rank) - 1), rank = 0, reduced = 0;
  uint32_t kind = below(&maker->chance, 4);
  if (strcmp(kinds[kind][1], "product") == 0) from = signs_of(maker, from);
  if (from.rank == 0) return;
  int64_t dims[MOST_RANK], gone[MOST_RANK];
  for (uint32_t d = 0; d < from.rank; d++)
    if ((mask >> d & 1) != 0)
      gone[reduced++] = d;
    else
      dims[rank++] = from.dims[d];
  if (value_new(maker, dims, rank) == NULL) return;
  buf_printf(&maker->body, "reduce(%s, %s), dimensions={%.*s}, to_apply=%s\n", from.name, kinds[kind][0],
             STR_ARG(dims_text(maker->arena, gone, reduced)), kinds[kind][1]);
}

/* The largest element along a dimension and where it stands. */
static void add_argmax(Maker *maker) {
  Value from = any_value(maker);
  if (from.rank == 0 || maker->n_values + 1 >= MOST_VALUES) return;
  uint32_t dim = below(&maker->chance, from.rank), rank = 0, n = maker->n_names++;
  int64_t dims[MOST_RANK];
  for (uint32_t d = 0; d < from.rank; d++)
    if (d != dim) dims[rank++] = from.dims[d];
  Str of = dims_text(maker->arena, from.dims, from.rank), left = dims_text(maker->arena, dims, rank);
  buf_printf(&maker->body, "  i%u = s32[%.*s] iota(), iota_dimension=%u\n", n, STR_ARG(of), dim);
  buf_printf(&maker->body,
             "  r%u = (f32[%.*s], s32[%.*s]) reduce(%s, i%u, low, none), dimensions={%u}, to_apply=argmax\n",
             n, STR_ARG(left), STR_ARG(left), from.name, n, dim);
  buf_printf(&maker->body, "  w%u = s32[%.*s] get-tuple-element(r%u), index=1\n", n, STR_ARG(left), n);
  value_new(maker, dims, rank);
  buf_printf(&maker->body, "convert(w%u)\n", n);
}

static void add_broadcast(Maker *maker) {
  Value from = any_value(maker);
  if (from.rank == MOST_RANK) return;
  uint32_t at = below(&maker->chance, from.rank + 1), rank = 0;
  int64_t dims[MOST_RANK], kept[MOST_RANK];
  for (uint32_t d = 0; d <= from.rank; d++) {
    if (d == at) dims[rank++] = 4 + 2 * below(&maker->chance, 2);
    if (d == from.rank) break;
    kept[d] = rank;
    dims[rank++] = from.dims[d];
  }
  if (value_new(maker, dims, rank) == NULL) return;
  buf_printf(&maker->body, "broadcast(%s), dimensions={%.*s}\n", from.name,
             STR_ARG(dims_text(maker->arena, kept, from.rank)));
}

static void add_slice(Maker *maker) {
  Value from = any_value(maker);
  int64_t dims[MOST_RANK];
  StrBuf text = {.arena = maker->arena};
  for (uint32_t d = 0; d < from.rank; d++) {
    int64_t start = below(&maker->chance, (uint32_t)from.dims[d]), stride = 1 + below(&maker->chance, 2);
    int64_t limit = start + 1 + below(&maker->chance, (uint32_t)(from.dims[d] - start));
    if (below(&maker->chance, 3) == 0) start = 0, limit = from.dims[d], stride = 1;
    dims[d] = (limit - start + stride - 1) / stride;
    buf_printf(&text, "%s[%lld:%lld:%lld]", d == 0 ? "" : ", ", (long long)start, (long long)limit,
               (long long)stride);
  }
  if (value_new(maker, dims, from.rank) == NULL) return;
  buf_printf(&maker->body, "slice(%s), slice={%.*s}\n", from.name, STR_ARG(buf_str(&text)));
}

static void add_pad(Maker *maker) {
  Value from = any_value(maker);
  if (from.rank == 0) return;
  int64_t dims[MOST_RANK];
  StrBuf text = {.arena = maker->arena};
  for (uint32_t d = 0; d < from.rank; d++) {
    int64_t low = (int64_t)below(&maker->chance, 4) - 1, high = (int64_t)below(&maker->chance, 4) - 1;
    int64_t interior = below(&maker->chance, 8) == 0;
    if (from.dims[d] < 3) low = high = 0;
    dims[d] = from.dims[d] + low + high + interior * (from.dims[d] - 1);
    buf_printf(&text, "%s%lld_%lld_%lld", d == 0 ? "" : "x", (long long)low, (long long)high,
               (long long)interior);
  }
  if (value_new(maker, dims, from.rank) == NULL) return;
  buf_printf(&maker->body, "pad(%s, one), padding=%.*s\n", from.name, STR_ARG(buf_str(&text)));
}

static void add_concatenate(Maker *maker) {
  Value a = any_value(maker), b = like(maker, &a);
  if (a.rank == 0) return;
  uint32_t dim = below(&maker->chance, a.rank);
  int64_t dims[MOST_RANK];
  memcpy(dims, a.dims, sizeof dims);
  dims[dim] *= 2;
  if (value_new(maker, dims, a.rank) == NULL) return;
  buf_printf(&maker->body, "concatenate(%s, %s), dimensions={%u}\n", a.name, b.name, dim);
}

/* Two slices of one value, put together the other way round. */
static void add_roll(Maker *maker) {
  Value from = any_value(maker);
  if (from.rank == 0 || from.dims[0] < 2 || maker->n_values + 3 > MOST_VALUES) return;
  int64_t cut = 1 + below(&maker->chance, (uint32_t)from.dims[0] - 1), dims[MOST_RANK],
          parts[2] = {cut, from.dims[0]};
  Str rest = STR("");
  for (uint32_t d = 1; d < from.rank; d++)
    rest = str_printf(maker->arena, "%.*s, [0:%lld]", STR_ARG(rest), (long long)from.dims[d]);
  memcpy(dims, from.dims, sizeof dims);
  for (int p = 0; p < 2; p++) {
    int64_t start = p == 0 ? 0 : cut;
    dims[0] = parts[p] - start;
    value_new(maker, dims, from.rank);
    buf_printf(&maker->body, "slice(%s), slice={[%lld:%lld]%.*s}\n", from.name, (long long)start,
               (long long)parts[p], STR_ARG(rest));
  }
  const char *a = maker->values[maker->n_values - 2].name, *b = maker->values[maker->n_values - 1].name;
  if (value_new(maker, from.dims, from.rank) == NULL) return;
  buf_printf(&maker->body, "concatenate(%s, %s), dimensions={0}\n", b, a);
}

static void add_reverse(Maker *maker) {
  Value from = any_value(maker);
  if (from.rank == 0 || value_new(maker, from.dims, from.rank) == NULL) return;
  buf_printf(&maker->body, "reverse(%s), dimensions={%u}\n", from.name, below(&maker->chance, from.rank));
}

static Str index_operands(Maker *maker, uint32_t rank) {
  StrBuf text = {.arena = maker->arena};
  for (uint32_t d = 0; d < rank; d++)
    buf_printf(&text, ", %s", below(&maker->chance, 2) == 0 ? "index" : "none");
  return buf_str(&text);
}

static void add_dynamic_slice(Maker *maker) {
  Value from = any_value(maker);
  int64_t dims[MOST_RANK];
  for (uint32_t d = 0; d < from.rank; d++) {
    dims[d] = from.dims[d];
    if (below(&maker->chance, 2) == 0) dims[d] = 1 + below(&maker->chance, (uint32_t)from.dims[d]);
  }
  if (value_new(maker, dims, from.rank) == NULL) return;
  Str index = index_operands(maker, from.rank);
  buf_printf(&maker->body, "dynamic-slice(%s%.*s), dynamic_slice_sizes={%.*s}\n", from.name, STR_ARG(index),
             STR_ARG(dims_text(maker->arena, dims, from.rank)));
}

static void add_update(Maker *maker) {
  Value from = any_value(maker), update = any_value(maker);
  if (update.rank != from.rank) update = from;
  for (uint32_t d = 0; d < from.rank; d++)
    if (update.dims[d] > from.dims[d]) update = from;
  if (value_new(maker, from.dims, from.rank) == NULL) return;
  Str index = index_operands(maker, from.rank);
  buf_printf(&maker->body, "dynamic-update-slice(%s, %s%.*s)\n", from.name, update.name, STR_ARG(index));
}

static void add_select(Maker *maker) {
  Value a = any_value(maker), b = like(maker, &a);
  uint32_t n = maker->n_names++;
  buf_printf(&maker->body, "  p%u = pred[%.*s] compare(%s, %s), direction=LT\n", n,
             STR_ARG(dims_text(maker->arena, a.dims, a.rank)), a.name, b.name);
  if (value_new(maker, a.dims, a.rank) == NULL) return;
  buf_printf(&maker->body, "select(p%u, %s, %s)\n", n, a.name, b.name);
}

/* Three trips of a body that mixes a value with its own sum and reversal. */
static void add_while(Maker *maker) {
  Value from = any_value(maker);
  if (from.rank == 0) return;
  uint32_t n = maker->n_names++;
  Str shape = shape_of(maker, &from);
  StrBuf all = {.arena = maker->arena};
  for (uint32_t d = 0; d < from.rank; d++) buf_printf(&all, "%s%u", d == 0 ? "" : ",", d);
  buf_printf(&maker->comps,
             "body%u {\n  t = (s32[], %.*s) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
             "  one = s32[] constant(1)\n  k = s32[] add(i, one)\n  v = %.*s get-tuple-element(t), index=1\n"
             "  zero = f32[] constant(0)\n  s = f32[] reduce(v, zero), dimensions={%.*s}, to_apply=sum\n"
             "  b = %.*s broadcast(s), dimensions={}\n  r = %.*s reverse(v), dimensions={%u}\n"
             "  a = %.*s add(b, r)\n  w = %.*s tanh(a)\n  ROOT u = (s32[], %.*s) tuple(k, w)\n}\n\n",
             n, STR_ARG(shape), STR_ARG(shape), STR_ARG(buf_str(&all)), STR_ARG(shape), STR_ARG(shape),
             below(&maker->chance, from.rank), STR_ARG(shape), STR_ARG(shape), STR_ARG(shape));
  buf_printf(&maker->comps,
             "cond%u {\n  t = (s32[], %.*s) parameter(0)\n  i = s32[] get-tuple-element(t), index=0\n"
             "  n = s32[] constant(3)\n  ROOT c = pred[] compare(i, n), direction=LT\n}\n\n",
             n, STR_ARG(shape));
  buf_printf(&maker->body, "  t%u = (s32[], %.*s) tuple(none, %s)\n", n, STR_ARG(shape), from.name);
  buf_printf(&maker->body, "  l%u = (s32[], %.*s) while(t%u), condition=cond%u, body=body%u\n", n,
             STR_ARG(shape), n, n, n);
  if (value_new(maker, from.dims, from.rank) != NULL)
    buf_printf(&maker->body, "get-tuple-element(l%u), index=1\n", n);
}

/* One of two branches, chosen by a number. */
static void add_conditional(Maker *maker) {
  Value from = any_value(maker), other = like(maker, &from);
  if (from.rank == 0) return;
  uint32_t n = maker->n_names++;
  Str shape = shape_of(maker, &from);
  buf_printf(&maker->comps,
             "yes%u {\n  v = %.*s parameter(0)\n  r = %.*s reverse(v), dimensions={0}\n  ROOT n = %.*s "
             "negate(r)\n}\n\n"
             "no%u {\n  v = %.*s parameter(0)\n  ROOT t = %.*s tanh(v)\n}\n\n",
             n, STR_ARG(shape), STR_ARG(shape), STR_ARG(shape), n, STR_ARG(shape), STR_ARG(shape));
  buf_printf(&maker->body, "  g%u = s32[] constant(%u)\n", n, below(&maker->chance, 2));
  if (value_new(maker, from.dims, from.rank) == NULL) return;
  buf_printf(&maker->body, "conditional(g%u, %s, %s), branch_computations={yes%u, no%u}\n", n, from.name,
             other.name, n, n);
}

static void (*const ops[])(Maker *) = {
    add_while,     add_conditional, add_constraint, add_constraint,   add_unary, add_binary,      add_binary,
    add_transpose, add_reshape,     add_reshape,    add_dot,          add_dot,   add_batch_dot,   add_reduce,
    add_reduce,    add_argmax,      add_broadcast,  add_slice,        add_pad,   add_concatenate, add_roll,
    add_reverse,   add_update,      add_select,     add_dynamic_slice};

static Str program_text(Arena *arena, uint64_t seed) {
  static const struct {
    uint32_t n;
    int64_t sizes[3];
  } meshes[] = {{2, {4, 2}}, {3, {2, 2, 2}}, {2, {3, 2}}, {1, {4}}, {2, {2, 2}}};
  Maker maker = {.arena = arena,
                 .chance = {seed * 0x9e3779b97f4a7c15u + 1},
                 .body = {.arena = arena},
                 .comps = {.arena = arena}};
  uint32_t mesh = below(&maker.chance, 5);
  maker.n_axes = meshes[mesh].n;
  StrBuf axes = {.arena = arena}, root = {.arena = arena}, shape = {.arena = arena};
  for (uint32_t a = 0; a < maker.n_axes; a++)
    buf_printf(&axes, "%s\"%c\"=%lld", a == 0 ? "" : ", ", 'a' + (int)a, (long long)meshes[mesh].sizes[a]);
  for (int i = 0; i < 3; i++) add_param(&maker);
  uint32_t n = 3 + below(&maker.chance, 8);
  for (uint32_t i = 0; i < n; i++) ops[below(&maker.chance, sizeof ops / sizeof *ops)](&maker);
  uint32_t first = maker.n_values > 4 ? maker.n_values - 4 : 0;
  for (uint32_t i = first; i < maker.n_values; i++) {
    buf_printf(&root, "%s%s", i == first ? "" : ", ", maker.values[i].name);
    buf_printf(&shape, "%s%.*s", i == first ? "" : ", ", STR_ARG(shape_of(&maker, &maker.values[i])));
  }
  return str_printf(
      arena,
      "HloModule random, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[%.*s]>}}\n\n"
      "sum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] add(a, b)\n}\n\n"
      "product {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] multiply(a, b)\n}\n\n"
      "max {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT c = f32[] maximum(a, b)\n}\n\n"
      "argmax {\n  a = f32[] parameter(0)\n  i = s32[] parameter(1)\n  b = f32[] parameter(2)\n"
      "  k = s32[] parameter(3)\n  g = pred[] compare(a, b), direction=GT\n"
      "  e = pred[] compare(a, b), direction=EQ\n  l = pred[] compare(i, k), direction=LT\n"
      "  t = pred[] and(e, l)\n  f = pred[] or(g, t)\n  v = f32[] select(f, a, b)\n  j = s32[] select(f, i, "
      "k)\n"
      "  ROOT r = (f32[], s32[]) tuple(v, j)\n}\n\n"
      "%.*sENTRY main {\n  zero = f32[] constant(0)\n  one = f32[] constant(1)\n  low = f32[] "
      "constant(-inf)\n"
      "  none = s32[] constant(0)\n  index = s32[] constant(2)\n%.*s  ROOT root = (%.*s) tuple(%.*s)\n}\n",
      STR_ARG(buf_str(&axes)), STR_ARG(buf_str(&maker.comps)), STR_ARG(buf_str(&maker.body)),
      STR_ARG(buf_str(&shape)), STR_ARG(buf_str(&root)));
}

/* --- the property
 * ------------------------------------------------------------------------------------------------- */

typedef struct {
  Arena *arena;
  Diag *diag;
  Module *program, *flat, *read_back;
  Shardings *shardings;
  Partitioned *partitioned;
  Str text, partitioned_text;
} Trial;

static Status read_text(Trial *t, Str text, Module **module) {
  Source *source = ARENA_NEW(t->arena, Source);
  *source = (Source){STR("random"), text};
  return hlo_read(source, &read_limits_default, module, t->diag);
}

static Status partition(Trial *t, uint64_t seed) {
  ShardOptions options = {0};
  t->text = program_text(t->arena, seed);
  TRY(read_text(t, t->text, &t->program));
  TRY(module_flatten(t->program, &t->flat, t->diag));
  module_split_constants(t->flat);
  TRY(module_propagate(t->flat, &options, &t->shardings, t->diag));
  TRY(module_partition(t->flat, t->shardings, &t->partitioned, t->diag));
  t->partitioned_text = module_print(t->arena, t->partitioned->module);
  TRY(read_text(t, t->partitioned_text, &t->read_back));
  return module_verify(t->read_back, t->diag);
}

static ShardBoxes boxes_of(const Trial *t, const Sharding *sharding, const Shape *global) {
  return shard_boxes(t->arena, sharding, NULL, global->dims, global->rank, t->partitioned->mesh->n_devices);
}

static bool outputs_agree(Trial *t, const Tensor *whole, Tensor *const *roots) {
  const Partitioned *p = t->partitioned;
  Tensor *locals[MOST_DEVICES];
  bool agree = true;
  for (uint32_t i = 0; i < p->n_outputs; i++) {
    const Shape *global = p->global_outputs[i];
    ShardBoxes boxes = boxes_of(t, p->outputs[i], global);
    for (uint32_t d = 0; d < p->mesh->n_devices; d++) locals[d] = roots[d]->parts[i];
    Tensor *found = tensor_join(locals, &boxes, global->dims);
    TensorDifference difference = tensor_compare(whole->parts[i], found, 1e-4);
    if (difference.outside != 0) {
      agree = false;
      fprintf(stderr, "output %u: %.*s\n", i,
              STR_ARG(tensor_difference_text(t->arena, whole->parts[i], &difference)));
    }
    tensor_release(found);
  }
  return agree;
}

static Status compare(Trial *t, uint64_t seed, bool *agree) {
  const Partitioned *p = t->partitioned;
  uint32_t devices = p->mesh->n_devices;
  Tensor *inputs[8], *locals[8 * MOST_DEVICES], *roots[MOST_DEVICES] = {0}, *whole = NULL;
  for (uint32_t i = 0; i < p->n_params; i++) {
    inputs[i] = tensor_random(p->global_params[i], seed, i);
    ShardBoxes boxes = boxes_of(t, p->params[i], p->global_params[i]);
    tensor_cut(inputs[i], &boxes, locals + (size_t)i * devices);
  }
  InterpretOptions options = {.devices = devices, .trip_limit = 100};
  Status status = unpartitioned_run(t->flat, inputs, 100, &whole, t->diag);
  if (status == STATUS_OK) status = interpret(t->read_back, &options, locals, roots, t->diag);
  if (status == STATUS_OK) *agree = outputs_agree(t, whole, roots);
  for (uint32_t i = 0; i < p->n_params; i++) tensor_release(inputs[i]);
  for (uint32_t i = 0; i < p->n_params * devices; i++) tensor_release(locals[i]);
  for (uint32_t d = 0; d < devices; d++) tensor_release(roots[d]);
  tensor_release(whole);
  return status;
}

static bool trial_passes(uint64_t seed) {
  Trial t = {.arena = arena_new(), .diag = diag_new()};
  bool agree = false;
  Status status = partition(&t, seed);
  if (status == STATUS_OK) status = compare(&t, seed, &agree);
  if (status != STATUS_OK || !agree)
    fprintf(stderr, "seed %llu: %.*s\n%.*s\n%.*s\n", (unsigned long long)seed,
            STR_ARG(diag_error_text(t.diag)), STR_ARG(t.text), STR_ARG(t.partitioned_text));
  partitioned_free(t.partitioned);
  shardings_free(t.shardings);
  module_free(t.read_back);
  module_free(t.flat);
  module_free(t.program);
  diag_free(t.diag);
  arena_free(t.arena);
  return status == STATUS_OK && agree;
}

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

Test(partition_random, devices_compute_what_one_computes) {
  uint64_t n = number_of("PODSIM_RANDOM_PROGRAMS", 300), first = number_of("PODSIM_RANDOM_SEED", 1),
           failed = 0;
  for (uint64_t seed = first; seed < first + n; seed++) failed += !trial_passes(seed);
  cr_assert_eq(failed, 0, "%llu of %llu programs fail", (unsigned long long)failed, (unsigned long long)n);
}

/* Orders of dimensions through ops. In: an op and the order of its operand, or of its result; out: the other.
 *
 * The one idea: an order is a list of dimensions, so an op that only renames dimensions renames the list. A
 * reshape renames groups of dimensions that follow each other in memory as they do in the shape. */
#include "models/relayout.h"

#include "models/tiling.h"

static const Ints any_order = {NULL, 0};

static Ints new_order(Arena *arena, uint32_t rank) {
  return (Ints){ARENA_ARRAY(arena, int64_t, rank), 0};
}

/* A result of the same rank lies as its operands do. */
static bool keeps_dimensions(const Instr *instr) {
  switch (instr->op) {
  case OP_PAD:
  case OP_SLICE:
  case OP_DYNAMIC_SLICE:
  case OP_DYNAMIC_UPDATE_SLICE:
  case OP_CONCATENATE:
  case OP_REVERSE:
  case OP_REDUCE_WINDOW:
  case OP_SELECT_AND_SCATTER:
  case OP_OPT_BARRIER:
  case OP_COPY: return true;
  default: return op_is_elementwise(instr->op) || op_is_collective(instr->op);
  }
}

/* Of a transpose: dimension i of the result is dimension dims[i] of the operand. */
static Ints transposed(Arena *arena, Ints dims, Ints order) {
  Ints made = new_order(arena, order.n);
  for (uint32_t i = 0; i < order.n; i++) {
    for (uint32_t d = 0; d < dims.n; d++)
      if (dims.at[d] == order.at[i]) made.at[made.n++] = d;
  }
  return made;
}

static Ints transposed_back(Arena *arena, Ints dims, Ints order) {
  Ints made = new_order(arena, order.n);
  for (uint32_t i = 0; i < order.n && order.at[i] < dims.n; i++) made.at[made.n++] = dims.at[order.at[i]];
  return made;
}

/* Where dimension `d` stands once others are gone. */
static int64_t place_without(Ints gone, int64_t d) {
  int64_t before = 0;
  for (uint32_t k = 0; k < gone.n; k++) before += gone.at[k] < d;
  return d - before;
}

/* What a reduction leaves. */
static Ints reduced(Arena *arena, const Instr *reduce, Ints order) {
  Ints dims = instr_ints(reduce, ATTR_dimensions), made = new_order(arena, order.n);
  for (uint32_t i = 0; i < order.n; i++) {
    if (!ints_have(dims, order.at[i])) made.at[made.n++] = place_without(dims, order.at[i]);
  }
  return made;
}

/* Dimensions of two shapes that hold the same elements: from[first, end) becomes to[to_first, to_end). */
typedef struct {
  uint32_t first, end, to_first, to_end;
} Group;

static Group next_group(const Shape *from, const Shape *to, Group before) {
  Group group = {before.end, before.end, before.to_end, before.to_end};
  int64_t a = 1, b = 1;
  do {
    if (a <= b && group.end < from->rank)
      a *= from->dims[group.end++];
    else if (group.to_end < to->rank)
      b *= to->dims[group.to_end++];
    else
      break;
  } while (a != b);
  return group;
}

static Group group_of(const Shape *from, const Shape *to, int64_t dim) {
  Group group = {0, 0, 0, 0};
  do group = next_group(from, to, group);
  while (group.end <= dim && group.end < from->rank);
  return group;
}

/* The groups of `order` in their order, each with its dimensions as the shape has them; any, where a group is
 * not whole in one place. Dimensions of one element may lie anywhere. */
static Ints regrouped(Arena *arena, const Shape *from, const Shape *to, Ints order) {
  Ints made = new_order(arena, to->rank);
  for (uint32_t i = 0; i < order.n; i++) {
    int64_t dim = order.at[i];
    if (from->dims[dim] == 1) continue;
    Group group = group_of(from, to, dim);
    for (uint32_t d = group.end; d-- > group.first;) {
      if (from->dims[d] == 1) continue;
      if (i >= order.n || order.at[i] != d) return any_order;
      do i++;
      while (i < order.n && from->dims[order.at[i]] == 1);
    }
    i--;
    for (uint32_t d = group.to_end; d-- > group.to_first;)
      if (to->dims[d] != 1) made.at[made.n++] = d;
  }
  for (uint32_t d = to->rank; d-- > 0;)
    if (to->dims[d] == 1) made.at[made.n++] = d;
  return made;
}

/* A product's result: the free dimensions of the left operand where they lay, those of the right one in place
 * of what is contracted. */
static Ints multiplied(Arena *arena, const Instr *dot, const Shape *lhs, Ints order) {
  Ints batch = instr_ints(dot, ATTR_lhs_batch_dims), contracted = instr_ints(dot, ATTR_lhs_contracting_dims);
  uint32_t rank = dot->shape->rank, left = lhs->rank - contracted.n;
  if (batch.n > 0 || left > rank) return any_order;
  Ints made = new_order(arena, rank);
  bool placed = false;
  for (uint32_t i = 0; i < order.n; i++) {
    bool is_contracted = ints_have(contracted, order.at[i]);
    if (!is_contracted) made.at[made.n++] = place_without(contracted, order.at[i]);
    for (uint32_t r = rank; is_contracted && !placed && r-- > left;) made.at[made.n++] = r;
    placed |= is_contracted;
  }
  return made;
}

Ints order_through(Arena *arena, const Module *module, uint32_t comp, const Instr *instr, uint32_t k,
                   Ints order) {
  const Shape *from = comp_instr(module, comp, instr->operands.at[k])->shape, *to = instr->shape;
  Ints made = any_order;
  if (keeps_dimensions(instr))
    made = order;
  else if (instr->op == OP_TRANSPOSE)
    made = transposed(arena, instr_ints(instr, ATTR_dimensions), order);
  else if (instr->op == OP_RESHAPE)
    made = regrouped(arena, from, to, order);
  else if (instr->op == OP_REDUCE && shape_is_array(to))
    made = reduced(arena, instr, order);
  else if (instr->op == OP_DOT && k == 0)
    made = multiplied(arena, instr, from, order);
  return made.n == to->rank ? made : any_order;
}

Ints order_back(Arena *arena, const Module *module, uint32_t comp, const Instr *instr, uint32_t k,
                Ints order) {
  const Shape *from = comp_instr(module, comp, instr->operands.at[k])->shape, *to = instr->shape;
  Ints made = any_order;
  if (order.n == 0) return any_order;
  if (keeps_dimensions(instr))
    made = order;
  else if (instr->op == OP_TRANSPOSE)
    made = transposed_back(arena, instr_ints(instr, ATTR_dimensions), order);
  else if (instr->op == OP_RESHAPE)
    made = regrouped(arena, to, from, order);
  if (instr->op == OP_RESHAPE && made.n != from->rank) return row_major_order(arena, from);
  return made.n == from->rank ? made : any_order;
}

/* What lies in a tile stays in it: the two minor dimensions are as long. */
static bool same_tiles(const Shape *a, Ints order_a, const Shape *b, Ints order_b) {
  for (uint32_t i = 0; i < 2 && i < order_a.n && i < order_b.n; i++)
    if (a->dims[order_a.at[i]] != b->dims[order_b.at[i]]) return false;
  return true;
}

/* Whether the result lies as it would if nothing moved. */
static bool stays(const Module *module, uint32_t comp, const Instr *instr) {
  Arena *scratch = arena_new();
  const Shape *operand = comp_instr(module, comp, instr->operands.at[0])->shape;
  Ints from = laid_order(scratch, operand), to = laid_order(scratch, instr->shape);
  Ints through = order_through(scratch, module, comp, instr, 0, from);
  bool same = through.n > 0 && int64s_eq(through.at, through.n, to.at, to.n) &&
              same_tiles(operand, from, instr->shape, to);
  arena_free(scratch);
  return same;
}

bool only_renames(const Module *module, uint32_t comp, const Instr *instr) {
  bool moves = instr->op == OP_TRANSPOSE || instr->op == OP_RESHAPE;
  return moves && shape_is_array(instr->shape) && shape_is_laid(instr->shape) && instr->shape->rank > 1 &&
         stays(module, comp, instr);
}

bool is_relayout(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->op != OP_COPY || !shape_is_array(instr->shape) || instr->shape->rank < 2) return false;
  const Shape *from = comp_instr(module, comp, instr->operands.at[0])->shape;
  if (!shape_is_laid(instr->shape) && !shape_is_laid(from)) return false;
  return !stays(module, comp, instr);
}

bool keeps_lanes(const Module *module, uint32_t comp, const Instr *copy) {
  const Shape *from = comp_instr(module, comp, copy->operands.at[0])->shape;
  return lane_dimension(from) == lane_dimension(copy->shape);
}

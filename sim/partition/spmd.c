/* Builders of instructions for the per-device program: see spmd.h. */
#include "sim/partition/spmd.h"

#include "sim/partition/clean_collectives.h"

void spmd_open(Spmd *spmd, Str name, const Mesh *mesh, Diag *diag) {
  Module *module = module_new(name);
  *spmd =
      (Spmd){.arena = module->arena, .scratch = arena_new(), .diag = diag, .mesh = mesh, .module = module};
  module->num_partitions = mesh->n_devices;
  spmd->route_index = map_new(spmd->scratch);
  spmd->out = ARENA_NEW(module->arena, Partitioned);
  spmd->out->module = module;
  spmd->out->arena = module->arena;
  spmd->out->mesh = mesh;
}

/* Finds each collective again by its channel, which the clean-ups leave alone, and numbers the channels anew.
 */
static void settle_collectives(Spmd *spmd) {
  Module *module = spmd->module;
  Partitioned *out = spmd->out;
  CollectiveReason *reasons = out->reasons.at;
  uint32_t n = 0;
  CollectiveReason *kept = ARENA_ARRAY(spmd->arena, CollectiveReason, out->reasons.n + 1);
  for (uint32_t c = 0; c < module->comps.n; c++)
    for (uint32_t i = 0; i < module->comps.at[c].instrs.n; i++) {
      Instr *instr = comp_instr(module, c, i);
      int64_t channel = instr_int(instr, ATTR_channel_id, 0);
      if (!op_is_collective(instr->op) || channel < 1 || channel > out->reasons.n) continue;
      kept[n] = reasons[channel - 1];
      kept[n].comp = c;
      kept[n++].instr = i;
      instr_set_int(module, instr, ATTR_channel_id, n);
    }
  out->reasons.at = kept;
  out->reasons.n = n;
}

void spmd_close(Spmd *spmd, bool keep) {
  if (keep) {
    clean_collectives(spmd->out);
    settle_collectives(spmd);
    module_unique_names(spmd->module);
  } else {
    module_free(spmd->module);
  }
  arena_free(spmd->scratch);
}

Sharded sharded(uint32_t instr, const Sharding *sharding, const Shape *global) {
  return (Sharded){.instr = instr, .sharding = sharding, .global = global, .scalar = NO_ID, .reducer = NO_ID};
}

Instr *spmd_instr(const Spmd *spmd, uint32_t instr) {
  return comp_instr(spmd->module, spmd->frame->comp, instr);
}

const Shape *spmd_shape(const Spmd *spmd, uint32_t instr) {
  return spmd_instr(spmd, instr)->shape;
}

uint32_t spmd_add(Spmd *spmd, Opcode op, const Shape *shape, const uint32_t *operands, uint32_t n) {
  uint32_t at = comp_add(spmd->module, spmd->frame->comp, op, (Str){0}, shape, operands, n);
  if (spmd->instr == NULL) return at;
  Instr *instr = spmd_instr(spmd, at);
  instr->origin = spmd->instr->origin;
  instr->place = spmd->instr->place;
  const Attr *metadata = instr_attr(spmd->instr, ATTR_metadata);
  if (metadata != NULL) instr_set(spmd->module, instr, *metadata);
  return at;
}

uint32_t spmd_binary(Spmd *spmd, Opcode op, uint32_t a, uint32_t b) {
  return spmd_add(spmd, op, spmd_shape(spmd, a), (uint32_t[]){a, b}, 2);
}

uint32_t spmd_compare(Spmd *spmd, uint32_t a, const char *direction, uint32_t b) {
  const Shape *shape = shape_with_dtype(spmd->arena, spmd_shape(spmd, a), DTYPE_PRED);
  uint32_t at = spmd_add(spmd, OP_COMPARE, shape, (uint32_t[]){a, b}, 2);
  instr_set_word(spmd->module, spmd_instr(spmd, at), ATTR_direction, str_of(direction));
  return at;
}

uint32_t spmd_select(Spmd *spmd, uint32_t mask, uint32_t yes, uint32_t no) {
  return spmd_add(spmd, OP_SELECT, spmd_shape(spmd, yes), (uint32_t[]){mask, yes, no}, 3);
}

static uint32_t add_constant(Spmd *spmd, const Literal *literal) {
  uint32_t at = spmd_add(spmd, OP_CONSTANT, literal->shape, NULL, 0);
  spmd_instr(spmd, at)->literal = literal;
  return at;
}

uint32_t spmd_scalar(Spmd *spmd, DType dtype, double value) {
  return add_constant(spmd, literal_scalar(spmd->arena, dtype, value));
}

uint32_t spmd_splat(Spmd *spmd, uint32_t scalar, const Shape *shape) {
  if (shape->rank == 0) return scalar;
  const Shape *bare = shape_with_dims(spmd->arena, shape, shape->dims, shape->rank);
  uint32_t at = spmd_add(spmd, OP_BROADCAST, bare, &scalar, 1);
  instr_set_ints(spmd->module, spmd_instr(spmd, at), ATTR_dimensions, NULL, 0);
  return at;
}

uint32_t spmd_reshape(Spmd *spmd, uint32_t instr, const int64_t *dims, uint32_t rank) {
  const Shape *from = spmd_shape(spmd, instr);
  if (int64s_eq(from->dims, from->rank, dims, rank)) return instr;
  return spmd_add(spmd, OP_RESHAPE, shape_with_dims(spmd->arena, from, dims, rank), &instr, 1);
}

uint32_t spmd_transpose(Spmd *spmd, uint32_t instr, const int64_t *perm) {
  const Shape *from = spmd_shape(spmd, instr);
  int64_t *dims = ARENA_ARRAY(spmd->scratch, int64_t, from->rank + 1);
  for (uint32_t d = 0; d < from->rank; d++) dims[d] = from->dims[perm[d]];
  uint32_t rank = from->rank;
  uint32_t at = spmd_add(spmd, OP_TRANSPOSE, shape_with_dims(spmd->arena, from, dims, rank), &instr, 1);
  instr_set_ints(spmd->module, spmd_instr(spmd, at), ATTR_dimensions, perm, rank);
  return at;
}

/* [starts, starts + sizes) of every dimension. */
static uint32_t add_slice(Spmd *spmd, uint32_t instr, const int64_t *starts, const int64_t *sizes) {
  const Shape *from = spmd_shape(spmd, instr);
  if (int64s_eq(from->dims, from->rank, sizes, from->rank)) return instr;
  Slices slices = {ARENA_ARRAY(spmd->scratch, SliceDim, from->rank + 1), from->rank};
  for (uint32_t d = 0; d < from->rank; d++) slices.at[d] = (SliceDim){starts[d], starts[d] + sizes[d], 1};
  const Shape *shape = shape_with_dims(spmd->arena, from, sizes, from->rank);
  uint32_t at = spmd_add(spmd, OP_SLICE, shape, &instr, 1);
  instr_set(spmd->module, spmd_instr(spmd, at), (Attr){.id = ATTR_slice, .slices = slices});
  return at;
}

static uint32_t add_pad(Spmd *spmd, uint32_t instr, const PaddingDim *padding, uint32_t fill) {
  const Shape *from = spmd_shape(spmd, instr);
  int64_t *dims = ARENA_ARRAY(spmd->scratch, int64_t, from->rank + 1);
  for (uint32_t d = 0; d < from->rank; d++) {
    int64_t between = from->dims[d] == 0 ? 0 : (from->dims[d] - 1) * padding[d].interior;
    dims[d] = from->dims[d] + padding[d].low + padding[d].high + between;
  }
  bool none = true;
  for (uint32_t d = 0; d < from->rank; d++)
    none = none && padding[d].low == 0 && padding[d].high == 0 && padding[d].interior == 0;
  if (none) return instr;
  const Shape *shape = shape_with_dims(spmd->arena, from, dims, from->rank);
  Padding copy = {arena_copy(spmd->scratch, padding, from->rank * sizeof *padding), from->rank};
  if (fill == NO_ID) fill = spmd_scalar(spmd, from->dtype, 0);
  uint32_t at = spmd_add(spmd, OP_PAD, shape, (uint32_t[]){instr, fill}, 2);
  instr_set(spmd->module, spmd_instr(spmd, at), (Attr){.id = ATTR_padding, .padding = copy});
  return at;
}

uint32_t spmd_resize(Spmd *spmd, uint32_t instr, const int64_t *dims, uint32_t fill) {
  const Shape *from = spmd_shape(spmd, instr);
  uint32_t rank = from->rank;
  int64_t *zeros = ARENA_ARRAY(spmd->scratch, int64_t, rank + 1);
  int64_t *kept = ARENA_ARRAY(spmd->scratch, int64_t, rank + 1);
  PaddingDim *padding = ARENA_ARRAY(spmd->scratch, PaddingDim, rank + 1);
  for (uint32_t d = 0; d < rank; d++) {
    kept[d] = dims[d] < from->dims[d] ? dims[d] : from->dims[d];
    padding[d] = (PaddingDim){0, dims[d] - kept[d], 0};
  }
  return add_pad(spmd, add_slice(spmd, instr, zeros, kept), padding, fill);
}

uint32_t spmd_rows(Spmd *spmd, uint32_t instr, uint32_t dim, int64_t start, int64_t size) {
  const Shape *from = spmd_shape(spmd, instr);
  int64_t *starts = ARENA_ARRAY(spmd->scratch, int64_t, from->rank);
  int64_t *sizes = arena_copy(spmd->scratch, from->dims, from->rank * sizeof *sizes);
  starts[dim] = start;
  sizes[dim] = size;
  return add_slice(spmd, instr, starts, sizes);
}

uint32_t spmd_dilate(Spmd *spmd, uint32_t instr, uint32_t dim, PaddingDim padding, uint32_t fill) {
  PaddingDim *dims = ARENA_ARRAY(spmd->scratch, PaddingDim, spmd_shape(spmd, instr)->rank);
  dims[dim] = padding;
  return add_pad(spmd, instr, dims, fill);
}

uint32_t spmd_pad(Spmd *spmd, uint32_t instr, uint32_t dim, int64_t before, int64_t after, uint32_t fill) {
  return spmd_dilate(spmd, instr, dim, (PaddingDim){before, after, 0}, fill);
}

uint32_t spmd_table(Spmd *spmd, const int64_t *values) {
  uint32_t n = spmd->mesh->n_devices;
  bool same = true;
  for (uint32_t i = 1; i < n && same; i++) same = values[i] == values[0];
  if (same) return spmd_scalar(spmd, DTYPE_S32, (double)values[0]);
  uint32_t table = add_constant(spmd, literal_ints(spmd->arena, DTYPE_S32, values, n));
  uint32_t id = spmd_add(spmd, OP_PARTITION_ID, shape_scalar(spmd->arena, DTYPE_U32), NULL, 0);
  int64_t one = 1;
  uint32_t row = spmd_add(spmd, OP_DYNAMIC_SLICE, shape_array(spmd->arena, DTYPE_S32, &one, 1),
                          (uint32_t[]){table, id}, 2);
  instr_set_ints(spmd->module, spmd_instr(spmd, row), ATTR_dynamic_slice_sizes, &one, 1);
  return spmd_reshape(spmd, row, NULL, 0);
}

uint32_t spmd_dynamic_slice(Spmd *spmd, uint32_t instr, const uint32_t *starts, const int64_t *sizes) {
  const Shape *from = spmd_shape(spmd, instr);
  if (int64s_eq(from->dims, from->rank, sizes, from->rank)) return instr;
  uint32_t *operands = ARENA_ARRAY(spmd->scratch, uint32_t, from->rank + 1), zero = NO_ID;
  operands[0] = instr;
  for (uint32_t d = 0; d < from->rank; d++) {
    if (starts[d] == NO_ID && zero == NO_ID) zero = spmd_scalar(spmd, DTYPE_S32, 0);
    operands[d + 1] = starts[d] == NO_ID ? zero : starts[d];
  }
  const Shape *shape = shape_with_dims(spmd->arena, from, sizes, from->rank);
  uint32_t at = spmd_add(spmd, OP_DYNAMIC_SLICE, shape, operands, from->rank + 1);
  instr_set_ints(spmd->module, spmd_instr(spmd, at), ATTR_dynamic_slice_sizes, sizes, from->rank);
  return at;
}

uint32_t spmd_dynamic_rows(Spmd *spmd, uint32_t instr, uint32_t dim, uint32_t start, int64_t size) {
  const Shape *from = spmd_shape(spmd, instr);
  uint32_t *starts = ARENA_ARRAY(spmd->scratch, uint32_t, from->rank);
  int64_t *sizes = arena_copy(spmd->scratch, from->dims, from->rank * sizeof *sizes);
  for (uint32_t d = 0; d < from->rank; d++) starts[d] = d == dim ? start : NO_ID;
  sizes[dim] = size;
  return spmd_dynamic_slice(spmd, instr, starts, sizes);
}

uint32_t spmd_device_rows(Spmd *spmd, uint32_t instr, uint32_t dim, const int64_t *starts, int64_t size) {
  for (uint32_t d = 1; d < spmd->mesh->n_devices; d++)
    if (starts[d] != starts[0]) return spmd_dynamic_rows(spmd, instr, dim, spmd_table(spmd, starts), size);
  return spmd_rows(spmd, instr, dim, starts[0], size);
}

uint32_t spmd_merge_rows(Spmd *spmd, uint32_t dim, const int64_t *start, const int64_t *stop, uint32_t inside,
                         uint32_t outside) {
  const Shape *shape = spmd_shape(spmd, inside);
  const Shape *rows = shape_with_dtype(spmd->arena, shape, DTYPE_S32);
  int64_t size = shape->dims[dim];
  bool from_start = true, to_end = true;
  for (uint32_t i = 0; i < spmd->mesh->n_devices; i++) {
    from_start = from_start && start[i] <= 0;
    to_end = to_end && stop[i] >= size;
  }
  if (from_start && to_end) return inside;
  uint32_t row = spmd_add(spmd, OP_IOTA, rows, NULL, 0), mask = NO_ID;
  instr_set_int(spmd->module, spmd_instr(spmd, row), ATTR_iota_dimension, dim);
  if (!from_start) mask = spmd_compare(spmd, row, "GE", spmd_splat(spmd, spmd_table(spmd, start), rows));
  if (!to_end) {
    uint32_t below = spmd_compare(spmd, row, "LT", spmd_splat(spmd, spmd_table(spmd, stop), rows));
    mask = mask == NO_ID ? below : spmd_binary(spmd, OP_AND, mask, below);
  }
  return spmd_select(spmd, mask, inside, outside);
}

uint32_t spmd_concat(Spmd *spmd, uint32_t dim, const uint32_t *parts, uint32_t n) {
  if (n == 1) return parts[0];
  const Shape *first = spmd_shape(spmd, parts[0]);
  int64_t *dims = arena_copy(spmd->scratch, first->dims, first->rank * sizeof *dims), at = dim;
  dims[dim] = 0;
  for (uint32_t i = 0; i < n; i++) dims[dim] += spmd_shape(spmd, parts[i])->dims[dim];
  const Shape *shape = shape_with_dims(spmd->arena, first, dims, first->rank);
  uint32_t joined = spmd_add(spmd, OP_CONCATENATE, shape, parts, n);
  instr_set_ints(spmd->module, spmd_instr(spmd, joined), ATTR_dimensions, &at, 1);
  return joined;
}

/* --- computations --- */

/* The attributes that name computations, redirected to their copies. */
static void copy_called(Spmd *spmd, uint32_t comp, uint32_t instr) {
  for (uint32_t i = 0; i < comp_instr(spmd->module, comp, instr)->n_attrs; i++) {
    Attr attr = comp_instr(spmd->module, comp, instr)->attrs[i];
    if (attr_kind(attr.id) == ATTR_KIND_COMP) {
      attr.comp = spmd_copy_comp(spmd, attr.comp);
    } else if (attr_kind(attr.id) == ATTR_KIND_COMPS) {
      attr.comps.at = arena_copy(spmd->arena, attr.comps.at, attr.comps.n * sizeof *attr.comps.at);
      for (uint32_t k = 0; k < attr.comps.n; k++) attr.comps.at[k] = spmd_copy_comp(spmd, attr.comps.at[k]);
    } else {
      continue;
    }
    comp_instr(spmd->module, comp, instr)->attrs[i] = attr;
  }
}

uint32_t spmd_copy_comp(Spmd *spmd, uint32_t flat_comp) {
  if (spmd->copied[flat_comp] != 0) return spmd->copied[flat_comp] - 1;
  const Comp *from = module_comp(spmd->flat, flat_comp);
  uint32_t comp = module_add_comp(spmd->module, from->name);
  spmd->copied[flat_comp] = comp + 1;
  for (uint32_t i = 0; i < from->instrs.n; i++) {
    const Instr *instr = &from->instrs.at[i];
    uint32_t at = comp_add_like(spmd->module, comp, instr, instr->operands.at, instr->operands.n);
    copy_called(spmd, comp, at);
  }
  module_comp(spmd->module, comp)->root = from->root;
  return comp;
}

uint32_t spmd_adder(Spmd *spmd, DType dtype) {
  if (spmd->adders[dtype] != 0) return spmd->adders[dtype] - 1;
  uint32_t comp = module_add_comp(spmd->module, STR("add"));
  const Shape *scalar = shape_scalar(spmd->arena, dtype);
  uint32_t x = comp_add_parameter(spmd->module, comp, 0, STR("x"), scalar);
  uint32_t y = comp_add_parameter(spmd->module, comp, 1, STR("y"), scalar);
  Opcode op = dtype == DTYPE_PRED ? OP_OR : OP_ADD;
  uint32_t sum = comp_add(spmd->module, comp, op, STR("sum"), scalar, (uint32_t[]){x, y}, 2);
  module_comp(spmd->module, comp)->root = sum;
  spmd->adders[dtype] = comp + 1;
  return comp;
}

/* --- collectives and variants --- */

void spmd_collective(Spmd *spmd, uint32_t at, const GroupList *groups, bool global_ids) {
  Instr *instr = spmd_instr(spmd, at);
  instr_set_int(spmd->module, instr, ATTR_channel_id, (int64_t)spmd->out->reasons.n + 1);
  if (groups != NULL) instr_set_groups(spmd->module, instr, groups);
  if (global_ids) instr_set_flag(spmd->module, instr, ATTR_use_global_device_ids, true);
  CollectiveReason reason = {.comp = spmd->frame->comp, .instr = at};
  reason.because = str_copy(spmd->arena, spmd->because);
  if (spmd->instr != NULL) reason.origin = spmd->instr->origin;
  reason.conflict = spmd->conflict;
  if (spmd->conflict.from != NULL) {
    reason.conflict.from = sharding_copy(spmd->arena, spmd->conflict.from);
    reason.conflict.wanted = sharding_copy(spmd->arena, spmd->conflict.wanted);
  }
  VEC_PUSH(spmd->arena, &spmd->out->reasons, reason);
}

/* What is permuted twice in a row is permuted at once. */
static Pairs pairs_composed(Spmd *spmd, Pairs first, Pairs second) {
  Pairs both = {ARENA_ARRAY(spmd->scratch, Pair, second.n + 1), 0};
  for (uint32_t s = 0; s < second.n; s++)
    for (uint32_t f = 0; f < first.n; f++)
      if (first.at[f].target == second.at[s].source)
        both.at[both.n++] = (Pair){first.at[f].source, second.at[s].target};
  return both;
}

uint32_t spmd_permute(Spmd *spmd, uint32_t instr, Pairs pairs) {
  const Instr *before = spmd_instr(spmd, instr);
  if (before->op == OP_COLLECTIVE_PERMUTE) {
    pairs = pairs_composed(spmd, instr_attr(before, ATTR_source_target_pairs)->pairs, pairs);
    instr = before->operands.at[0];
  }
  uint32_t at = spmd_add(spmd, OP_COLLECTIVE_PERMUTE, spmd_shape(spmd, instr), &instr, 1);
  instr_set(spmd->module, spmd_instr(spmd, at), (Attr){.id = ATTR_source_target_pairs, .pairs = pairs});
  spmd_collective(spmd, at, NULL, false);
  return at;
}

static void reach(Spmd *spmd, uint32_t instr) {
  while (spmd->frame->known.n <= instr) VEC_PUSH(spmd->scratch, &spmd->frame->known, NULL);
}

Variants *spmd_variants(Spmd *spmd, const Sharded *value) {
  reach(spmd, value->instr);
  Variants **variants = &spmd->frame->known.at[value->instr];
  if (*variants == NULL) {
    *variants = ARENA_NEW(spmd->scratch, Variants);
    VEC_PUSH(spmd->scratch, *variants, *value);
  }
  return *variants;
}

void spmd_know(Spmd *spmd, const Sharded *value, const Sharded *variant) {
  Variants *variants = spmd_variants(spmd, value);
  VEC_PUSH(spmd->scratch, variants, *variant);
  reach(spmd, variant->instr);
  spmd->frame->known.at[variant->instr] = variants;
}

/* What handlers share: values and their leaves, local instructions, masks, reasons. */
#include "sim/partition/handlers.h"

const double hbm_point_bytes = 12 * 45e9 / 819e9, mxu_point_bytes = 2 * 45e9 / 197e12;

ShardedValue operand_value(const Spmd *spmd, const Instr *instr, uint32_t i) {
  return spmd->frame->values[instr->operands.at[i]];
}

ValueSharding wanted_of(const Spmd *spmd, const Instr *instr) {
  const Comp *comp = module_comp(spmd->flat, spmd->frame->flat);
  return spmd->shardings->values[spmd->frame->flat][instr - comp->instrs.at];
}

uint32_t shape_leaves(const Shape *shape) {
  if (!shape_is_tuple(shape)) return shape_is_array(shape) ? 1 : 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < shape->rank; i++) n += shape_leaves(shape->parts[i]);
  return n;
}

const Shape *shape_leaf(const Shape *shape, uint32_t leaf) {
  if (!shape_is_tuple(shape)) return shape;
  for (uint32_t i = 0; i < shape->rank; i++) {
    uint32_t n = shape_leaves(shape->parts[i]);
    if (leaf < n) return shape_leaf(shape->parts[i], leaf);
    leaf -= n;
  }
  return NULL;
}

ShardedValue value_new(Spmd *spmd, uint32_t n) {
  return (ShardedValue){ARENA_ARRAY(spmd->scratch, Sharded, n + 1), n};
}

Status value_reshard(Spmd *spmd, const ShardedValue *value, const ValueSharding *to, ShardedValue *result) {
  ShardedValue moved = value_new(spmd, value->n);
  for (uint32_t i = 0; i < value->n; i++) {
    if (spmd->instr != NULL && to->n != 0)
      because_result(spmd, spmd->instr, value->at[i].sharding, to->at[i]);
    if (to->n == 0)
      moved.at[i] = value->at[i];
    else
      TRY(reshard(spmd, value->at[i], to->at[i], &moved.at[i]));
  }
  *result = moved;
  return STATUS_OK;
}

/* --- tuples --- */

static uint32_t pack(Spmd *spmd, const Sharded *leaves, const Shape *global, uint32_t *taken) {
  if (!shape_is_tuple(global)) return leaves[(*taken)++].instr;
  uint32_t *parts = ARENA_ARRAY(spmd->scratch, uint32_t, global->rank + 1);
  const Shape **shapes = ARENA_ARRAY(spmd->scratch, const Shape *, global->rank + 1);
  for (uint32_t i = 0; i < global->rank; i++) {
    parts[i] = pack(spmd, leaves, global->parts[i], taken);
    shapes[i] = spmd_shape(spmd, parts[i]);
  }
  return spmd_add(spmd, OP_TUPLE, shape_tuple(spmd->arena, shapes, global->rank), parts, global->rank);
}

uint32_t value_pack(Spmd *spmd, const ShardedValue *value, const Shape *global) {
  uint32_t taken = 0;
  return pack(spmd, value->at, global, &taken);
}

static void unpack(Spmd *spmd, uint32_t instr, const Shape *global, const ValueSharding *shardings,
                   ShardedValue *value) {
  if (!shape_is_tuple(global)) {
    if (!shape_is_array(global)) return;
    value->at[value->n] = sharded(instr, shardings->at[value->n], global);
    value->n++;
    return;
  }
  for (uint32_t i = 0; i < global->rank; i++) {
    uint32_t part = spmd_add(spmd, OP_GET_TUPLE_ELEMENT, spmd_shape(spmd, instr)->parts[i], &instr, 1);
    instr_set_int(spmd->module, spmd_instr(spmd, part), ATTR_index, i);
    unpack(spmd, part, global->parts[i], shardings, value);
  }
}

ShardedValue value_unpack(Spmd *spmd, uint32_t instr, const Shape *global, const ValueSharding *shardings) {
  ShardedValue value = value_new(spmd, shardings->n);
  value.n = 0;
  unpack(spmd, instr, global, shardings, &value);
  return value;
}

static const Shape *local_shape(Spmd *spmd, const Shape *global, const ValueSharding *shardings,
                                uint32_t *taken) {
  if (shape_is_array(global)) return sharding_local_shape(spmd->arena, shardings->at[(*taken)++], global);
  if (!shape_is_tuple(global)) return global;
  const Shape **parts = ARENA_ARRAY(spmd->scratch, const Shape *, global->rank + 1);
  for (uint32_t i = 0; i < global->rank; i++)
    parts[i] = local_shape(spmd, global->parts[i], shardings, taken);
  return shape_tuple(spmd->arena, parts, global->rank);
}

const Shape *value_local_shape(Spmd *spmd, const Shape *global, const ValueSharding *shardings) {
  uint32_t taken = 0;
  return local_shape(spmd, global, shardings, &taken);
}

/* --- local instructions --- */

void drop_annotations(Spmd *spmd, Instr *local) {
  instr_unset(local, ATTR_sharding);
  const Attr *frontend = instr_attr(local, ATTR_frontend_attributes);
  if (frontend == NULL) return;
  KeyValues keys = frontend->keys, kept = {ARENA_ARRAY(spmd->arena, KeyValue, keys.n + 1), 0};
  for (uint32_t i = 0; i < keys.n; i++)
    if (!str_starts(keys.at[i].key, "xla.sdy.")) kept.at[kept.n++] = keys.at[i];
  instr_unset(local, ATTR_frontend_attributes);
  if (kept.n != 0)
    instr_set_shared(spmd->module, local, (Attr){.id = ATTR_frontend_attributes, .keys = kept});
}

uint32_t add_local(Spmd *spmd, const Instr *instr, const Shape *shape, const uint32_t *operands, uint32_t n) {
  uint32_t at = comp_add_like(spmd->module, spmd->frame->comp, instr, operands, n);
  Instr *local = spmd_instr(spmd, at);
  local->shape = shape;
  drop_annotations(spmd, local);
  for (uint32_t i = 0; i < spmd_instr(spmd, at)->n_attrs; i++) {
    Attr attr = spmd_instr(spmd, at)->attrs[i];
    if (attr_kind(attr.id) != ATTR_KIND_COMP) continue;
    attr.comp = spmd_copy_comp(spmd, attr.comp);
    spmd_instr(spmd, at)->attrs[i] = attr;
  }
  return at;
}

uint32_t part_offset(Spmd *spmd, AxisList axes, int64_t tile) {
  int64_t *offsets = ARENA_ARRAY(spmd->scratch, int64_t, spmd->mesh->n_devices);
  for (uint32_t d = 0; d < spmd->mesh->n_devices; d++) offsets[d] = mesh_index(spmd->mesh, axes, d) * tile;
  return spmd_table(spmd, offsets);
}

bool same_scalar(const Spmd *spmd, uint32_t a, uint32_t b) {
  const Literal *x = spmd_instr(spmd, a)->literal, *y = spmd_instr(spmd, b)->literal;
  if (a == b) return true;
  return x != NULL && y != NULL && x->data != NULL && y->data != NULL &&
         memcmp(x->data, y->data, dtype_bytes(x->shape->dtype)) == 0;
}

double operands_spent(const Spmd *spmd, const Instr *instr) {
  double bytes = 0;
  for (uint32_t i = 0; i < instr->operands.n; i++)
    if (spmd->frame->uses[instr->operands.at[i]] == 1) bytes += spmd->frame->spent[instr->operands.at[i]];
  return bytes;
}

uint32_t mask_padding(Spmd *spmd, const Sharded *value, uint32_t dim, uint32_t fill) {
  int64_t size = value->global->dims[dim], local = sharding_local_size(value->sharding, dim, size);
  if (local * sharding_shards(value->sharding, dim) == size) return value->instr;
  uint32_t devices = spmd->mesh->n_devices;
  int64_t *start = ARENA_ARRAY(spmd->scratch, int64_t, devices),
          *stop = ARENA_ARRAY(spmd->scratch, int64_t, devices);
  for (uint32_t d = 0; d < devices; d++) {
    int64_t first = 0, end = 0;
    sharding_slice(value->sharding, dim, size, d, &first, &end);
    stop[d] = end - first;
  }
  uint32_t filled = spmd_splat(spmd, fill, spmd_shape(spmd, value->instr));
  return spmd_merge_rows(spmd, dim, start, stop, value->instr, filled);
}

/* --- reasons --- */

void because_text(Spmd *spmd, Str text) {
  spmd->because = text;
  spmd->conflict = (Conflict){0};
}

/* `instr` stands in the flat computation, or is made up: then nothing more is known. */
static void set_conflict(Spmd *spmd, const Instr *instr, uint32_t value, const Sharding *from,
                         const Sharding *wanted) {
  const Comp *comp = module_comp(spmd->flat, spmd->frame->flat);
  uintptr_t start = (uintptr_t)comp->instrs.at, place = (uintptr_t)instr;
  bool known = place >= start && place < (uintptr_t)(comp->instrs.at + comp->instrs.n) && from != NULL;
  uint32_t asker = known ? (uint32_t)(instr - comp->instrs.at) : NO_ID;
  spmd->conflict = known ? (Conflict){spmd->frame->flat, asker, value == NO_ID ? asker : value, from, wanted}
                         : (Conflict){0};
}

void because_operand(Spmd *spmd, const Instr *instr, uint32_t operand, const Sharding *wanted) {
  uint32_t value = instr->operands.at[operand];
  const Instr *of = comp_instr(spmd->flat, spmd->frame->flat, value);
  const ShardedValue *lies = &spmd->frame->values[value];
  const Sharding *from = lies->n == 1 ? lies->at[0].sharding : NULL;
  Str spec = sharding_spec_text(spmd->scratch, wanted);
  StrBuf text = {.arena = spmd->scratch};
  buf_printf(&text, "%.*s needs %.*s as %.*s", STR_ARG(instr->name), STR_ARG(of->name), STR_ARG(spec));
  if (from != NULL) buf_printf(&text, ", not %.*s", STR_ARG(sharding_spec_text(spmd->scratch, from)));
  spmd->because = buf_str(&text);
  set_conflict(spmd, instr, value, from, wanted);
}

static Str axes_names(Spmd *spmd, AxisList axes) {
  StrBuf text = {.arena = spmd->scratch};
  for (uint32_t i = 0; i < axes.n; i++)
    buf_printf(&text, "%s\"%.*s\"", i == 0 ? "" : ", ", STR_ARG(spmd->mesh->axes[axes.at[i].axis].name));
  return buf_str(&text);
}

void because_result(Spmd *spmd, const Instr *instr, const Sharding *from, const Sharding *wanted) {
  set_conflict(spmd, instr, NO_ID, from, wanted);
  if (from->unreduced.n != 0) {
    const char *verb = instr->op == OP_DOT ? "contracts" : "reduces";
    spmd->because = str_printf(spmd->scratch, "%.*s %s %.*s", STR_ARG(instr->name), verb,
                               STR_ARG(axes_names(spmd, from->unreduced)));
    return;
  }
  Str a = sharding_spec_text(spmd->scratch, from), b = sharding_spec_text(spmd->scratch, wanted);
  spmd->because = str_printf(spmd->scratch, "reshard %.*s from %.*s to %.*s", STR_ARG(instr->name),
                             STR_ARG(a), STR_ARG(b));
}

/* --- plans --- */

Status plan_operand(Spmd *spmd, const Instr *instr, const Plan *plan, uint32_t operand, Sharded *local) {
  const Sharding *sharding = plan_sharding(spmd, plan, &plan->rule->operands[operand], false);
  because_operand(spmd, instr, operand, sharding);
  return reshard(spmd, operand_value(spmd, instr, operand).at[0], sharding, local);
}

/* Whether ops of one kind take their dimensions alike. */
static bool same_dimensions(const Instr *a, const Instr *b) {
  for (uint32_t i = 0; i < a->n_attrs; i++) {
    const Attr *attr = &a->attrs[i], *other = instr_attr(b, attr->id);
    if (attr_kind(attr->id) == ATTR_KIND_INTS && (other == NULL || !attr_eq(attr, other))) return false;
  }
  return true;
}

static LikeUses *find_use_kind(const UseKinds *kinds, const Instr *instr, uint32_t operand) {
  for (uint32_t i = 0; i < kinds->n; i++) {
    LikeUses *kind = &kinds->at[i];
    if (kind->operand == operand && kind->first->op == instr->op && same_dimensions(kind->first, instr))
      return kind;
  }
  return NULL;
}

UseKinds *count_use_kinds(Arena *arena, const Comp *comp) {
  UseKinds *kinds = ARENA_ARRAY(arena, UseKinds, comp->instrs.n);
  for (uint32_t i = 0; i < comp->instrs.n; i++) {
    const Instr *instr = &comp->instrs.at[i];
    for (uint32_t k = 0; k < instr->operands.n; k++) {
      UseKinds *of_operand = &kinds[instr->operands.at[k]];
      LikeUses *kind = find_use_kind(of_operand, instr, k);
      if (kind == NULL)
        VEC_PUSH(arena, of_operand, (LikeUses){instr, k, 1});
      else
        kind->n++;
    }
  }
  return kinds;
}

/* How many like ops use an operand in the same place: what it is brought to serves them all. */
static uint32_t like_uses(const Spmd *spmd, const Instr *instr, uint32_t operand) {
  return find_use_kind(&spmd->frame->use_kinds[instr->operands.at[operand]], instr, operand)->n;
}

Status plan_instr(Spmd *spmd, const Instr *instr, const FactorRule *rule, bool reduces, Plan *plan) {
  ValueSharding wanted = wanted_of(spmd, instr);
  RETURN_IF(rule->n_results != wanted.n || rule->n_operands != instr->operands.n,
            diag_fail(spmd->diag, STATUS_INVALID, instr->place, NULL, "the rule of %.*s does not fit it",
                      STR_ARG(instr->name)));
  Sharded *operands = ARENA_ARRAY(spmd->scratch, Sharded, rule->n_operands + 1);
  uint32_t *shared = ARENA_ARRAY(spmd->scratch, uint32_t, rule->n_operands + 1);
  for (uint32_t i = 0; i < rule->n_operands; i++) {
    operands[i] = operand_value(spmd, instr, i).at[0];
    shared[i] = like_uses(spmd, instr, i);
  }
  const Shape **results = ARENA_ARRAY(spmd->scratch, const Shape *, rule->n_results + 1);
  for (uint32_t i = 0; i < rule->n_results; i++) results[i] = shape_leaf(instr->shape, i);
  PlanProblem problem = {.rule = rule,
                         .operands = operands,
                         .shared = shared,
                         .wanted = wanted.at,
                         .results = results,
                         .reduces = reduces,
                         .contracts = instr->op == OP_DOT,
                         .regroups = instr->op == OP_RESHAPE,
                         .point_cost_bytes = instr->op == OP_DOT ? mxu_point_bytes : hbm_point_bytes};
  *plan = plan_choose(spmd, &problem);
  return STATUS_OK;
}

/* Attributes copied whole into an arena, and compared by value. */
#include "sim/ir/module.h"

static Ids ids_copy(Arena *arena, Ids ids) {
  return (Ids){arena_copy(arena, ids.at, ids.n * sizeof *ids.at), ids.n};
}

static Ints ints_copy(Arena *arena, Ints ints) {
  return (Ints){arena_copy(arena, ints.at, ints.n * sizeof *ints.at), ints.n};
}

static Str *strs_copy(Arena *arena, const Str *strs, uint32_t n) {
  Str *copy = ARENA_ARRAY(arena, Str, n);
  for (uint32_t i = 0; i < n; i++) copy[i] = str_copy(arena, strs[i]);
  return copy;
}

static DeviceList devices_copy(Arena *arena, const DeviceList *devices) {
  return (DeviceList){ints_copy(arena, devices->ids), ints_copy(arena, devices->reshape),
                      ints_copy(arena, devices->perm)};
}

static NamedAxes axes_copy(Arena *arena, const NamedAxes *axes) {
  NamedAxes copy = {ARENA_ARRAY(arena, NamedAxis, axes->n), axes->n, axes->open};
  for (uint32_t i = 0; i < axes->n; i++)
    copy.at[i] = (NamedAxis){str_copy(arena, axes->at[i].name), axes->at[i].pre, axes->at[i].size};
  return copy;
}

static const ReplicaGroups *groups_copy(Arena *arena, const ReplicaGroups *groups) {
  ReplicaGroups *copy = arena_copy(arena, groups, sizeof *groups);
  copy->groups = arena_copy(arena, groups->groups, groups->n_groups * sizeof *groups->groups);
  for (uint32_t g = 0; g < groups->n_groups; g++) copy->groups[g] = ids_copy(arena, groups->groups[g]);
  copy->devices = devices_copy(arena, &groups->devices);
  copy->mesh_names = strs_copy(arena, groups->mesh_names, groups->mesh_sizes.n);
  copy->mesh_sizes = ints_copy(arena, groups->mesh_sizes);
  copy->axes = axes_copy(arena, &groups->axes);
  copy->text = str_copy(arena, groups->text);
  return copy;
}

const HloSharding *hlo_sharding_copy(Arena *arena, const HloSharding *sharding) {
  HloSharding *copy = arena_copy(arena, sharding, sizeof *sharding);
  copy->tile_dims = ints_copy(arena, sharding->tile_dims);
  copy->devices = devices_copy(arena, &sharding->devices);
  copy->last_tile_dims =
      arena_copy(arena, sharding->last_tile_dims, sharding->n_last_tile_dims * sizeof(SubgroupKind));
  copy->mesh_names = strs_copy(arena, sharding->mesh_names, sharding->mesh_sizes.n);
  copy->mesh_sizes = ints_copy(arena, sharding->mesh_sizes);
  copy->dims = ARENA_ARRAY(arena, NamedAxes, sharding->n_dims);
  for (uint32_t d = 0; d < sharding->n_dims; d++) copy->dims[d] = axes_copy(arena, &sharding->dims[d]);
  copy->replicated = axes_copy(arena, &sharding->replicated);
  copy->unreduced = axes_copy(arena, &sharding->unreduced);
  copy->manual = axes_copy(arena, &sharding->manual);
  copy->unreduced_kind = str_copy(arena, sharding->unreduced_kind);
  const HloSharding **parts = ARENA_ARRAY(arena, const HloSharding *, sharding->n_parts);
  for (uint32_t i = 0; i < sharding->n_parts; i++) parts[i] = hlo_sharding_copy(arena, sharding->parts[i]);
  copy->parts = parts;
  copy->text = str_copy(arena, sharding->text);
  return copy;
}

static const ConvLabels *labels_copy(Arena *arena, const ConvLabels *labels) {
  ConvLabels *copy = arena_copy(arena, labels, sizeof *labels);
  copy->lhs_spatial = ints_copy(arena, labels->lhs_spatial);
  copy->rhs_spatial = ints_copy(arena, labels->rhs_spatial);
  copy->out_spatial = ints_copy(arena, labels->out_spatial);
  copy->text = str_copy(arena, labels->text);
  return copy;
}

static KeyValues keys_copy(Arena *arena, KeyValues keys) {
  KeyValues copy = {ARENA_ARRAY(arena, KeyValue, keys.n), keys.n};
  for (uint32_t i = 0; i < keys.n; i++)
    copy.at[i] =
        (KeyValue){str_copy(arena, keys.at[i].key), str_copy(arena, keys.at[i].value), keys.at[i].quoted};
  return copy;
}

static const Shape *const *shapes_copy(Arena *arena, const Shape *const *shapes, uint32_t n) {
  const Shape **copy = ARENA_ARRAY(arena, const Shape *, n);
  for (uint32_t i = 0; i < n; i++) copy[i] = shape_copy(arena, shapes[i]);
  return copy;
}

Attr attr_copy(Arena *arena, Attr attr) {
  switch (attr_kind(attr.id)) {
  case ATTR_KIND_INT:
  case ATTR_KIND_BOOL:
  case ATTR_KIND_COMP: break;
  case ATTR_KIND_INTS: attr.ints = ints_copy(arena, attr.ints); break;
  case ATTR_KIND_WORD:
  case ATTR_KIND_NUMBER:
  case ATTR_KIND_STRING:
  case ATTR_KIND_RAW: attr.text = str_copy(arena, attr.text); break;
  case ATTR_KIND_COMPS: attr.comps = ids_copy(arena, attr.comps); break;
  case ATTR_KIND_SLICES:
    attr.slices.at = arena_copy(arena, attr.slices.at, attr.slices.n * sizeof(SliceDim));
    break;
  case ATTR_KIND_PADDING:
    attr.padding.at = arena_copy(arena, attr.padding.at, attr.padding.n * sizeof(PaddingDim));
    break;
  case ATTR_KIND_WINDOW:
    attr.window.at = arena_copy(arena, attr.window.at, attr.window.n * sizeof(WindowDim));
    break;
  case ATTR_KIND_LABELS: attr.labels = labels_copy(arena, attr.labels); break;
  case ATTR_KIND_GROUPS: attr.groups = groups_copy(arena, attr.groups); break;
  case ATTR_KIND_PAIRS: attr.pairs.at = arena_copy(arena, attr.pairs.at, attr.pairs.n * sizeof(Pair)); break;
  case ATTR_KIND_SHARDING: attr.sharding = hlo_sharding_copy(arena, attr.sharding); break;
  case ATTR_KIND_SHAPES: attr.shapes.at = shapes_copy(arena, attr.shapes.at, attr.shapes.n); break;
  case ATTR_KIND_KEYS: attr.keys = keys_copy(arena, attr.keys); break;
  }
  return attr;
}

static bool bytes_eq(const void *a, const void *b, uint32_t n, size_t size) {
  return n == 0 || memcmp(a, b, n * size) == 0;
}

/* What is compared by its text counts as different where it has none. */
static bool texts_eq(const void *a, Str a_text, const void *b, Str b_text) {
  return a == b || (a_text.n != 0 && str_eq(a_text, b_text));
}

static bool keys_eq(KeyValues a, KeyValues b) {
  if (a.n != b.n) return false;
  for (uint32_t i = 0; i < a.n; i++) {
    if (!str_eq(a.at[i].key, b.at[i].key) || !str_eq(a.at[i].value, b.at[i].value)) return false;
  }
  return true;
}

static bool windows_eq(Window a, Window b) {
  if (a.n != b.n) return false;
  for (uint32_t i = 0; i < a.n; i++) {
    const WindowDim *x = &a.at[i], *y = &b.at[i];
    if (x->size != y->size || x->stride != y->stride || x->pad_low != y->pad_low ||
        x->pad_high != y->pad_high || x->lhs_dilate != y->lhs_dilate || x->rhs_dilate != y->rhs_dilate ||
        x->reversal != y->reversal)
      return false;
  }
  return true;
}

bool attr_eq(const Attr *a, const Attr *b) {
  if (a->id != b->id) return false;
  switch (attr_kind(a->id)) {
  case ATTR_KIND_INT: return a->integer == b->integer;
  case ATTR_KIND_BOOL: return a->flag == b->flag;
  case ATTR_KIND_COMP: return a->comp == b->comp;
  case ATTR_KIND_INTS:
    return a->ints.n == b->ints.n && bytes_eq(a->ints.at, b->ints.at, a->ints.n, sizeof(int64_t));
  case ATTR_KIND_WORD:
  case ATTR_KIND_NUMBER:
  case ATTR_KIND_STRING:
  case ATTR_KIND_RAW: return str_eq(a->text, b->text);
  case ATTR_KIND_COMPS:
    return a->comps.n == b->comps.n && bytes_eq(a->comps.at, b->comps.at, a->comps.n, sizeof(uint32_t));
  case ATTR_KIND_SLICES:
    return a->slices.n == b->slices.n && bytes_eq(a->slices.at, b->slices.at, a->slices.n, sizeof(SliceDim));
  case ATTR_KIND_PADDING:
    return a->padding.n == b->padding.n &&
           bytes_eq(a->padding.at, b->padding.at, a->padding.n, sizeof(PaddingDim));
  case ATTR_KIND_WINDOW: return windows_eq(a->window, b->window);
  case ATTR_KIND_LABELS: return texts_eq(a->labels, a->labels->text, b->labels, b->labels->text);
  case ATTR_KIND_GROUPS: return texts_eq(a->groups, a->groups->text, b->groups, b->groups->text);
  case ATTR_KIND_PAIRS:
    return a->pairs.n == b->pairs.n && bytes_eq(a->pairs.at, b->pairs.at, a->pairs.n, sizeof(Pair));
  case ATTR_KIND_SHARDING: return texts_eq(a->sharding, a->sharding->text, b->sharding, b->sharding->text);
  case ATTR_KIND_SHAPES:
    if (a->shapes.n != b->shapes.n) return false;
    for (uint32_t i = 0; i < a->shapes.n; i++) {
      if (!shape_eq(a->shapes.at[i], b->shapes.at[i])) return false;
    }
    return true;
  case ATTR_KIND_KEYS: return keys_eq(a->keys, b->keys);
  }
  return false;
}

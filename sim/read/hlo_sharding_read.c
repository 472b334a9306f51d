/* Shardings and replica groups of HLO text, in all their generations: tile lists devices=[2,1]0,1; iota tiles
 * devices=[2,4]<=[4,2]T(1,0); named meshes mesh['a'=2,'b'=4], [{'a'}, {?}]. Sources: ParseSharding and
 * ParseReplicaGroups of xla/hlo/parser/hlo_parser.cc; named_sharding.cc and mesh_and_axis.cc of xla/hlo/ir.
 */
#include "sim/read/hlo_parse.h"

typedef Vec(NamedAxis) AxisList;

/* Device lists. */

/* The product of sizes that are each at least 1; 0 where it overflows. */
static int64_t product(Ints sizes) {
  int64_t all = 1;
  for (uint32_t i = 0; i < sizes.n; i++) {
    if (sizes.at[i] < 1 || __builtin_mul_overflow(all, sizes.at[i], &all)) return 0;
  }
  return all;
}

static bool is_permutation(Reader *reader, Ints perm) {
  bool *seen = ARENA_ARRAY(reader->scratch, bool, perm.n);
  for (uint32_t i = 0; i < perm.n; i++) {
    if (perm.at[i] < 0 || perm.at[i] >= perm.n || seen[perm.at[i]]) return false;
    seen[perm.at[i]] = true;
  }
  return true;
}

/* [4,2]T(1,0), after `<=`. */
static Status read_iota(Reader *reader, DeviceList *devices) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  TRY(lex_ints(lex, '[', ']', &devices->reshape));
  RETURN_IF(product(devices->reshape) == 0,
            LEX_FAIL(lex, start, NULL, "these are not sizes of a device list"));
  if (!lex_accept_word(lex, "T")) return STATUS_OK;
  lex_peek(lex);
  start = lex->at;
  TRY(lex_ints(lex, '(', ')', &devices->perm));
  bool right = devices->perm.n == devices->reshape.n && is_permutation(reader, devices->perm);
  RETURN_IF(!right, LEX_FAIL(lex, start, NULL, "this is no permutation of the %u dimensions before it",
                             devices->reshape.n));
  return STATUS_OK;
}

static int64_t count_of(const DeviceList *devices) {
  return devices->reshape.n != 0 ? product(devices->reshape) : devices->ids.n;
}

/* `<=[…]T(…)` or 0,2,1,3 after the tile dimensions, whose product is `expected`. */
static Status read_devices(Reader *reader, int64_t expected, DeviceList *devices) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  if (lex_accept_text(lex, "<=")) {
    TRY(read_iota(reader, devices));
  } else {
    Vec(int64_t) ids = {0};
    for (bool more = true; more; more = lex_accept(lex, ',')) {
      int64_t id;
      TRY(lex_int_from(lex, 0, &id));
      VEC_PUSH(reader->arena, &ids, id);
    }
    devices->ids = (Ints){ids.at, ids.n};
  }
  RETURN_IF(count_of(devices) != expected, LEX_FAIL(lex, start, NULL, "%lld devices for tiles of %lld",
                                                    (long long)count_of(devices), (long long)expected));
  return STATUS_OK;
}

/* Meshes and axes, of shardings and of replica groups. */

/* device_ids=([4,2]T(1,0)) or (0,2,1,3). */
static Status read_device_ids(Reader *reader, DeviceList *devices) {
  Lexer *lex = &reader->lex;
  Lexer ahead = *lex;
  if (lex_accept(&ahead, '(') && lex_peek(&ahead) == '[') {
    TRY(lex_expect(lex, '('));
    TRY(read_iota(reader, devices));
    return lex_expect(lex, ')');
  }
  return lex_ints(lex, '(', ')', &devices->ids);
}

typedef struct {
  Str *names;
  Ints sizes;
  DeviceList devices;
} NamedMesh;

/* 'a' or a: quotes around the names of axes come and go with XLA's versions. */
static Status read_axis_name(Lexer *lex, Str *name) {
  char c = lex_peek(lex);
  if (c == '\'' || c == '"') return lex_string(lex, name);
  *name = lex_word(lex);
  return name->n != 0 ? STATUS_OK : lex_expected(lex, "the name of an axis");
}

/* ['a'=2,'b'=4][, device_ids=…] after `mesh`. */
static Status read_mesh(Reader *reader, NamedMesh *mesh) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  *mesh = (NamedMesh){0};
  TRY(lex_axes(lex, reader->arena, read_axis_name, &mesh->names, &mesh->sizes));
  RETURN_IF(product(mesh->sizes) == 0, LEX_FAIL(lex, start, NULL, "this mesh has too many devices"));
  Lexer ahead = *lex;
  if (!lex_accept(&ahead, ',') || !lex_accept_word(&ahead, "device_ids")) return STATUS_OK;
  *lex = ahead;
  TRY(lex_expect(lex, '='));
  TRY(read_device_ids(reader, &mesh->devices));
  RETURN_IF(count_of(&mesh->devices) != product(mesh->sizes),
            LEX_FAIL(lex, start, NULL, "device_ids are not as many as the mesh has devices"));
  return STATUS_OK;
}

/* An axis is named, or told by its place in the mesh ('0'). */
static Status resolve_axis(Reader *reader, const char *where, const NamedMesh *mesh, Str *name) {
  int64_t place;
  for (uint32_t i = 0; i < mesh->sizes.n; i++) {
    if (str_eq(mesh->names[i], *name)) return STATUS_OK;
  }
  if (str_to_int(*name, &place) && place >= 0 && place < mesh->sizes.n) {
    *name = mesh->names[place];
    return STATUS_OK;
  }
  return LEX_FAIL(&reader->lex, where, NULL, "the mesh has no axis '%.*s'", STR_ARG(*name));
}

/* 'a' or 'a':(2)4 */
static Status read_axis(Reader *reader, const NamedMesh *mesh, NamedAxis *axis) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  *axis = (NamedAxis){0};
  TRY(read_axis_name(lex, &axis->name));
  TRY(resolve_axis(reader, start, mesh, &axis->name));
  if (!lex_accept(lex, ':')) return STATUS_OK;
  TRY(lex_expect(lex, '('));
  TRY(lex_int_from(lex, 1, &axis->pre));
  TRY(lex_expect(lex, ')'));
  return lex_int_from(lex, 2, &axis->size);
}

/* {'a', 'b':(2)2, ?} */
static Status read_axes(Reader *reader, const NamedMesh *mesh, NamedAxes *axes) {
  Lexer *lex = &reader->lex;
  AxisList list = {0};
  *axes = (NamedAxes){0};
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    axes->open = lex_accept(lex, '?');
    if (axes->open) {
      TRY(lex_expect(lex, '}'));
      break;
    }
    NamedAxis axis;
    TRY(read_axis(reader, mesh, &axis));
    VEC_PUSH(reader->arena, &list, axis);
    TRY(lex_more(lex, '}', &more));
  }
  axes->at = list.at;
  axes->n = list.n;
  return STATUS_OK;
}

/* Named shardings. */

static Status read_named_dims(Reader *reader, const NamedMesh *mesh, HloSharding *sharding) {
  Lexer *lex = &reader->lex;
  Vec(NamedAxes) dims = {0};
  TRY(lex_expect(lex, '['));
  for (bool more = !lex_accept(lex, ']'); more;) {
    NamedAxes axes;
    TRY(read_axes(reader, mesh, &axes));
    VEC_PUSH(reader->arena, &dims, axes);
    TRY(lex_more(lex, ']', &more));
  }
  sharding->dims = dims.at;
  sharding->n_dims = dims.n;
  return STATUS_OK;
}

/* `=sum{'a'}`, `={'a'}`, `=sum` or nothing, after a word; without axes the word speaks of the whole mesh. */
static Status read_word_axes(Reader *reader, const NamedMesh *mesh, HloSharding *sharding,
                             HloShardingKind whole, NamedAxes *axes) {
  Lexer *lex = &reader->lex;
  bool given = lex_accept(lex, '=');
  if (given && whole == HLO_SHARDING_UNREDUCED) sharding->unreduced_kind = lex_word(lex);
  if (lex_peek(lex) == '{') return read_axes(reader, mesh, axes);
  if (given && sharding->unreduced_kind.n == 0) return lex_expected(lex, "'{' and axes");
  sharding->kind = whole;
  return STATUS_OK;
}

static Status read_metadata(Reader *reader) {
  Str text;
  TRY(lex_expect(&reader->lex, '='));
  return lex_raw(&reader->lex, &text);
}

static Status read_named_part(Reader *reader, const NamedMesh *mesh, HloSharding *sharding) {
  Lexer *lex = &reader->lex;
  if (lex_peek(lex) == '[') return read_named_dims(reader, mesh, sharding);
  if (lex_accept_word(lex, "replicated"))
    return read_word_axes(reader, mesh, sharding, HLO_SHARDING_REPLICATED, &sharding->replicated);
  if (lex_accept_word(lex, "manual"))
    return read_word_axes(reader, mesh, sharding, HLO_SHARDING_MANUAL, &sharding->manual);
  if (lex_accept_word(lex, "unreduced"))
    return read_word_axes(reader, mesh, sharding, HLO_SHARDING_UNREDUCED, &sharding->unreduced);
  if (lex_accept_word(lex, "metadata")) return read_metadata(reader);
  return lex_expected(lex, "[dimensions], replicated, unreduced, manual or metadata");
}

static Status read_named(Reader *reader, HloSharding *sharding) {
  Lexer *lex = &reader->lex;
  NamedMesh mesh;
  TRY(read_mesh(reader, &mesh));
  sharding->kind = HLO_SHARDING_NAMED;
  sharding->mesh_names = mesh.names;
  sharding->mesh_sizes = mesh.sizes;
  sharding->devices = mesh.devices;
  while (lex_peek(lex) != '}') {
    lex_accept(lex, ',');
    TRY(read_named_part(reader, &mesh, sharding));
  }
  return STATUS_OK;
}

/* maximal_mesh[device_id=5] */
static Status read_single_device(Reader *reader, HloSharding *sharding) {
  Lexer *lex = &reader->lex;
  sharding->kind = HLO_SHARDING_MAXIMAL;
  TRY(lex_expect(lex, '['));
  if (!lex_accept_word(lex, "device_id")) return lex_expected(lex, "device_id");
  TRY(lex_expect(lex, '='));
  TRY(lex_int_from(lex, 0, &sharding->device));
  return lex_expect(lex, ']');
}

/* Tiled shardings. */

static Status read_tiles_devices(Reader *reader, HloSharding *sharding) {
  Lexer *lex = &reader->lex;
  sharding->kind = HLO_SHARDING_TILED;
  TRY(lex_expect(lex, '='));
  lex_peek(lex);
  const char *start = lex->at;
  TRY(lex_ints(lex, '[', ']', &sharding->tile_dims));
  int64_t tiles = product(sharding->tile_dims);
  RETURN_IF(tiles == 0 || sharding->tile_dims.n == 0,
            LEX_FAIL(lex, start, NULL, "these are not sizes of tiles"));
  return read_devices(reader, tiles, &sharding->devices);
}

static Status read_subgroup(Reader *reader, SubgroupKind *kind) {
  Lexer *lex = &reader->lex;
  static const char *const words[] = {"replicated", "manual", "unreduced"};
  for (uint32_t i = 0; i < 3; i++) {
    if (!lex_accept_word(lex, words[i])) continue;
    *kind = (SubgroupKind)i;
    return STATUS_OK;
  }
  return lex_expected(lex, "replicated, manual or unreduced");
}

static Status read_last_tile_dims(Reader *reader, HloSharding *sharding) {
  Lexer *lex = &reader->lex;
  Vec(SubgroupKind) kinds = {0};
  TRY(lex_expect(lex, '='));
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    SubgroupKind kind = SUBGROUP_REPLICATED;
    TRY(read_subgroup(reader, &kind));
    VEC_PUSH(reader->arena, &kinds, kind);
    TRY(lex_more(lex, '}', &more));
  }
  sharding->last_tile_dims = kinds.at;
  sharding->n_last_tile_dims = kinds.n;
  return STATUS_OK;
}

static Status read_device(Reader *reader, HloSharding *sharding) {
  TRY(lex_expect(&reader->lex, '='));
  return lex_int_from(&reader->lex, 0, &sharding->device);
}

static Status unknown_sharding_word(Lexer *lex) {
  static const char *const words[] = {
      "replicated", "maximal",     "manual",         "unknown",
      "unreduced",  "devices",     "device",         "last_tile_dim_replicate",
      "metadata",   "shard_like",  "last_tile_dims", "mesh",
      "shard_as",   "maximal_mesh"};
  Str word = lex_peek_word(lex);
  if (word.n == 0) return lex_expected(lex, "a sharding");
  return unknown_word(lex, word, "word of a sharding", words, sizeof words / sizeof *words);
}

/* One word of a sharding and what belongs to it; the words may stand in any order. */
static Status read_sharding_word(Reader *reader, HloSharding *sharding) {
  static const struct {
    const char *word;
    HloShardingKind kind;
  } kinds[] = {{"replicated", HLO_SHARDING_REPLICATED},
               {"maximal", HLO_SHARDING_MAXIMAL},
               {"manual", HLO_SHARDING_MANUAL},
               {"unknown", HLO_SHARDING_UNKNOWN},
               {"unreduced", HLO_SHARDING_UNREDUCED}};
  Lexer *lex = &reader->lex;
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (!lex_accept_word(lex, kinds[i].word)) continue;
    sharding->kind = kinds[i].kind;
    return STATUS_OK;
  }
  int64_t group;
  if (lex_accept_word(lex, "devices")) return read_tiles_devices(reader, sharding);
  if (lex_accept_word(lex, "device")) return read_device(reader, sharding);
  if (lex_accept_word(lex, "last_tile_dims")) return read_last_tile_dims(reader, sharding);
  if (lex_accept_word(lex, "metadata")) return read_metadata(reader);
  if (lex_accept_word(lex, "mesh")) return read_named(reader, sharding);
  if (lex_accept_word(lex, "maximal_mesh") || lex_accept_word(lex, "single_device"))
    return read_single_device(reader, sharding);
  if (lex_accept_word(lex, "shard_as") || lex_accept_word(lex, "shard_like")) return lex_int(lex, &group);
  sharding->last_tile_dim_replicate = lex_accept_word(lex, "last_tile_dim_replicate");
  return sharding->last_tile_dim_replicate ? STATUS_OK : unknown_sharding_word(lex);
}

static Status check_subgroups(Reader *reader, const char *start, const HloSharding *sharding) {
  uint32_t subgroups = sharding->n_last_tile_dims + sharding->last_tile_dim_replicate;
  RETURN_IF(subgroups > sharding->tile_dims.n,
            LEX_FAIL(&reader->lex, start, NULL, "this sharding has fewer tile dimensions than subgroups"));
  return STATUS_OK;
}

static Status read_one(Reader *reader, HloSharding *sharding) {
  Lexer *lex = &reader->lex;
  const char *start = lex->at - 1;
  while (!lex_accept(lex, '}')) TRY(read_sharding_word(reader, sharding));
  return check_subgroups(reader, start, sharding);
}

static Status read_parts(Reader *reader, HloSharding *sharding) {
  Lexer *lex = &reader->lex;
  Vec(const HloSharding *) parts = {0};
  sharding->kind = HLO_SHARDING_TUPLE;
  for (bool more = !lex_accept(lex, '}'); more;) {
    const HloSharding *part;
    TRY(read_sharding(reader, &part));
    VEC_PUSH(reader->arena, &parts, part);
    TRY(lex_more(lex, '}', &more));
  }
  sharding->parts = parts.at;
  sharding->n_parts = parts.n;
  return STATUS_OK;
}

Status read_sharding(Reader *reader, const HloSharding **made) {
  Lexer *lex = &reader->lex;
  HloSharding *sharding = ARENA_NEW(reader->arena, HloSharding);
  lex_peek(lex);
  const char *start = lex->at;
  TRY(lex_enter(lex));
  TRY(lex_expect(lex, '{'));
  char c = lex_peek(lex);
  TRY(c == '{' || c == '}' ? read_parts(reader, sharding) : read_one(reader, sharding));
  lex_leave(lex);
  sharding->text = lex_clean(lex, start);
  *made = sharding;
  return STATUS_OK;
}

/* Replica groups. */

/* {{0,1},{2,3}}; {} is one group of all. */
static Status read_group_list(Reader *reader, ReplicaGroups *groups) {
  Lexer *lex = &reader->lex;
  Vec(Ids) list = {0};
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    Vec(uint32_t) ids = {0};
    TRY(lex_expect(lex, '{'));
    for (bool more_ids = !lex_accept(lex, '}'); more_ids;) {
      int64_t id;
      TRY(lex_int_from(lex, 0, &id));
      RETURN_IF(id >= NO_ID, LEX_FAIL(lex, lex->at, NULL, "this device id is too large"));
      VEC_PUSH(reader->arena, &ids, (uint32_t)id);
      TRY(lex_more(lex, '}', &more_ids));
    }
    VEC_PUSH(reader->arena, &list, (Ids){ids.at, ids.n});
    TRY(lex_more(lex, '}', &more));
  }
  groups->groups = list.at;
  groups->n_groups = list.n;
  return STATUS_OK;
}

/* [groups,size]<=[…]T(…) */
static Status read_group_iota(Reader *reader, ReplicaGroups *groups) {
  Lexer *lex = &reader->lex;
  Ints sizes;
  const char *start = lex->at;
  groups->form = GROUPS_IOTA;
  TRY(lex_ints(lex, '[', ']', &sizes));
  RETURN_IF(sizes.n != 2 || product(sizes) == 0,
            LEX_FAIL(lex, start, NULL, "expected [number of groups, devices of a group]"));
  groups->group_count = sizes.at[0];
  groups->group_size = sizes.at[1];
  if (lex_peek(lex) != '<') return lex_expected(lex, "'<='");
  return read_devices(reader, product(sizes), &groups->devices);
}

/* mesh['a'=4,'b'=2] {'b'} */
static Status read_group_mesh(Reader *reader, ReplicaGroups *groups) {
  NamedMesh mesh;
  groups->form = GROUPS_MESH;
  if (!lex_accept_word(&reader->lex, "mesh")) return lex_expected(&reader->lex, "replica groups");
  TRY(read_mesh(reader, &mesh));
  groups->mesh_names = mesh.names;
  groups->mesh_sizes = mesh.sizes;
  groups->devices = mesh.devices;
  return read_axes(reader, &mesh, &groups->axes);
}

Status read_replica_groups(Reader *reader, const ReplicaGroups **made) {
  Lexer *lex = &reader->lex;
  ReplicaGroups *groups = ARENA_NEW(reader->arena, ReplicaGroups);
  char c = lex_peek(lex);
  const char *start = lex->at;
  if (c == '{')
    TRY(read_group_list(reader, groups));
  else if (c == '[')
    TRY(read_group_iota(reader, groups));
  else
    TRY(read_group_mesh(reader, groups));
  groups->text = c == 'm' ? lex_clean(lex, start) : lex_packed(lex, start);
  *made = groups;
  return STATUS_OK;
}

/* Shardings of Shardy as HLO has them: <@mesh, [{"a"}, {"b", ?}]> is {devices=[…]<=[…]T(…)}. A mesh axis is
 * cut into pieces where sub-axes end; the tiles' devices are the pieces in the order in which the dimensions
 * use them, the unused ones last. Source: convertToHloSharding of XLA's Shardy export. */
#include "sim/read/stablehlo.h"

enum { MOST_AXES = 64, MOST_PIECES = 128 };

/* A part of a mesh axis: devices along it are `stride` apart in the axis, `size` of them. */
typedef struct {
  uint32_t axis;
  int64_t pre, size;
} Piece;

typedef struct {
  Piece at[MOST_PIECES];
  uint32_t n;
} Pieces;

typedef struct {
  Translator *tr;
  const char *where;
  Lexer lex;
  SdyMesh mesh;
  Pieces used;    /* in the order of the dimensions */
  int64_t *tiles; /* of each dimension */
  uint32_t rank;
} Export;

/* Meshes. */

/* Names stand in HLO's frontend attributes as they are. */
static bool is_plain(Str name) {
  for (size_t i = 0; i < name.n; i++) {
    unsigned char c = (unsigned char)name.at[i];
    if (c < ' ' || c == 0x7f || c == '"' || c == '\\') return false;
  }
  return name.n != 0;
}

static Status check_mesh(Translator *tr, const char *where, const SdyMesh *mesh) {
  int64_t devices = 1;
  RETURN_IF(mesh->sizes.n > MOST_AXES,
            OP_FAIL(tr, where, NULL, "a mesh has at most %d axes here", MOST_AXES));
  for (uint32_t a = 0; a < mesh->sizes.n; a++) {
    RETURN_IF(!is_plain(mesh->axes[a]),
              OP_FAIL(tr, where, "give the axis another name, or lower with as_text(dialect=\"hlo\")",
                      "the name of axis %u of this mesh holds a quote or a backslash", a));
    RETURN_IF(__builtin_mul_overflow(devices, mesh->sizes.at[a], &devices) || devices > INT32_MAX,
              OP_FAIL(tr, where, NULL, "this mesh has too many devices"));
  }
  RETURN_IF(
      mesh->axes != NULL && mesh->device_ids.n != 0 && mesh->device_ids.n != devices,
      OP_FAIL(tr, where, NULL, "a mesh of %lld devices lists %u", (long long)devices, mesh->device_ids.n));
  for (uint32_t i = 0; i < mesh->device_ids.n; i++) {
    RETURN_IF(mesh->device_ids.at[i] < 0 || mesh->device_ids.at[i] > INT32_MAX,
              OP_FAIL(tr, where, NULL, "%lld is not a device", (long long)mesh->device_ids.at[i]));
  }
  return STATUS_OK;
}

/* ["a"=2, "b"=4], device_ids=[…] */
static Status read_mesh_body(Translator *tr, const char *where, Lexer *lex, SdyMesh *mesh) {
  TRY(lex_axes(lex, tr->scratch, mlir_string, &mesh->axes, &mesh->sizes));
  if (lex_accept(lex, ',')) {
    TRY(mlir_expect_word(lex, "device_ids"));
    TRY(lex_expect(lex, '='));
    TRY(lex_ints(lex, '[', ']', &mesh->device_ids));
  }
  return check_mesh(tr, where, mesh);
}

Status sdy_read_mesh(Translator *tr, const MlirOp *op) {
  const MlirAttr *name = mlir_get(op->attrs, "sym_name"), *mesh = mlir_get(op->attrs, "mesh");
  RETURN_IF(name == NULL || mesh == NULL || mesh->kind != MLIR_DIALECT,
            OP_FAIL(tr, op->at, NULL, "expected a mesh like @mesh = <[\"a\"=2]>"));
  RETURN_IF(!str_eq(hlo_name(tr->scratch, name->text), name->text),
            OP_FAIL(tr, name->at, NULL, "a mesh is named with letters, digits, _, . and -"));
  SdyMesh made = {.name = name->text, .text = mesh->text};
  Lexer lex = mlir_part(&tr->mlir->lex, mesh->text);
  TRY(read_mesh_body(tr, mesh->at, &lex, &made));
  VEC_PUSH(tr->scratch, &tr->meshes, made);
  return STATUS_OK;
}

Status sdy_set_meshes(Translator *tr) {
  StrBuf buf = {.arena = tr->arena};
  if (tr->meshes.n == 0) return STATUS_OK;
  for (uint32_t m = 0; m < tr->meshes.n; m++)
    buf_printf(&buf, "%s%.*s = #sdy.mesh<%.*s>", m == 0 ? "{" : ", ", STR_ARG(tr->meshes.at[m].name),
               STR_ARG(tr->meshes.at[m].text));
  buf_char(&buf, '}');
  KeyValue *key = ARENA_NEW(tr->arena, KeyValue);
  *key = (KeyValue){.key = STR("xla.sdy.meshes"), .value = buf_str(&buf)};
  tr->module->frontend = (KeyValues){key, 1};
  return STATUS_OK;
}

/* @name, or mesh<[…]> at once. */
static Status find_mesh(Export *export) {
  Lexer *lex = &export->lex;
  Translator *tr = export->tr;
  Str name;
  export->mesh = (SdyMesh){0};
  if (mlir_accept_word(lex, "mesh")) {
    TRY(lex_expect(lex, '<'));
    TRY(read_mesh_body(tr, export->where, lex, &export->mesh));
    return lex_expect(lex, '>');
  }
  TRY(lex_expect(lex, '@'));
  TRY(mlir_suffix_name(lex, "a mesh", &name));
  for (uint32_t m = 0; m < tr->meshes.n; m++) {
    if (!str_eq(tr->meshes.at[m].name, name)) continue;
    export->mesh = tr->meshes.at[m];
    return STATUS_OK;
  }
  RETURN_IF(!str_is(name, "empty_mesh"),
            OP_FAIL(tr, export->where, NULL, "there is no mesh '%.*s'", STR_ARG(str_sub(name, 0, 80))));
  return STATUS_OK;
}

/* Reading. */

static const char *axis_hint(const Export *export, Str name) {
  Arena *arena = export->tr->scratch;
  const SdyMesh *mesh = &export->mesh;
  const char **names = ARENA_ARRAY(arena, const char *, mesh->sizes.n + 1);
  StrBuf all = {.arena = arena};
  buf_add(&all, STR("its axes are"));
  for (uint32_t a = 0; a < mesh->sizes.n; a++) {
    names[a] = str_terminated(arena, mesh->axes[a]);
    buf_printf(&all, "%s \"%s\"", a == 0 ? "" : ",", names[a]);
  }
  return did_you_mean(arena, name, names, mesh->sizes.n, str_terminated(arena, buf_str(&all)));
}

/* An axis, or a part of it, splits an array once. */
static Status check_unused(const Export *export, const Piece *piece) {
  for (uint32_t i = 0; i < export->used.n; i++) {
    const Piece *other = &export->used.at[i];
    bool overlap = other->axis == piece->axis && other->pre < piece->pre * piece->size &&
                   piece->pre < other->pre * other->size && piece->size > 1 && other->size > 1;
    RETURN_IF(overlap, OP_FAIL(export->tr, export->where, "an axis can split one dimension of an array",
                               "the sharding uses axis \"%.*s\" twice",
                               STR_ARG(str_sub(export->mesh.axes[piece->axis], 0, 80))));
  }
  return STATUS_OK;
}

/* "a" or "b":(1)2 */
static Status read_piece(Export *export, Piece *piece) {
  Lexer *lex = &export->lex;
  Str name;
  *piece = (Piece){.axis = NO_ID, .pre = 1};
  TRY(mlir_string(lex, &name));
  for (uint32_t a = 0; a < export->mesh.sizes.n; a++) {
    if (str_eq(export->mesh.axes[a], name)) piece->axis = a;
  }
  RETURN_IF(piece->axis == NO_ID, OP_FAIL(export->tr, export->where, axis_hint(export, name),
                                          "the mesh has no axis \"%.*s\"", STR_ARG(str_sub(name, 0, 80))));
  int64_t whole = piece->size = export->mesh.sizes.at[piece->axis];
  if (lex_accept(lex, ':')) {
    TRY(lex_expect(lex, '('));
    TRY(lex_int_from(lex, 1, &piece->pre));
    TRY(lex_expect(lex, ')'));
    TRY(lex_int_from(lex, 1, &piece->size));
  }
  RETURN_IF(piece->pre > whole || piece->size > whole || whole % (piece->pre * piece->size) != 0,
            OP_FAIL(export->tr, export->where, NULL, "\"%.*s\" has no such part", STR_ARG(name)));
  return STATUS_OK;
}

/* {"a", ?}p0 */
static Status read_dimension(Export *export, int64_t *tiles) {
  Lexer *lex = &export->lex;
  *tiles = 1;
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    if (!lex_accept(lex, '?')) {
      Piece piece;
      TRY(read_piece(export, &piece));
      TRY(check_unused(export, &piece));
      RETURN_IF(
          export->used.n == MOST_PIECES / 2,
          OP_FAIL(export->tr, export->where, NULL, "a sharding names at most %d axes", MOST_PIECES / 2));
      export->used.at[export->used.n++] = piece;
      RETURN_IF(__builtin_mul_overflow(*tiles, piece.size, tiles),
                OP_FAIL(export->tr, export->where, NULL, "a dimension is cut into too many parts"));
    }
    TRY(lex_more(lex, '}', &more));
  }
  mlir_word(lex); /* a priority */
  return STATUS_OK;
}

/* [{"a"}, {}], and what follows, which HLO has no word for or does not need. */
static Status read_dimensions(Export *export) {
  Lexer *lex = &export->lex;
  Vec(int64_t) tiles = {0};
  export->used.n = 0;
  TRY(lex_expect(lex, '['));
  for (bool more = !lex_accept(lex, ']'); more;) {
    int64_t size;
    TRY(read_dimension(export, &size));
    VEC_PUSH(export->tr->scratch, &tiles, size);
    TRY(lex_more(lex, ']', &more));
  }
  export->tiles = tiles.at;
  export->rank = tiles.n;
  return STATUS_OK;
}

/* Pieces. */

/* The next cut above `pre`, or the axis's size. */
static int64_t next_cut(const Export *export, uint32_t axis, int64_t pre) {
  int64_t whole = export->mesh.sizes.at[axis], next = whole;
  for (uint32_t i = 0; i < export->used.n; i++) {
    const Piece *piece = &export->used.at[i];
    int64_t cuts[] = {piece->pre, piece->pre * piece->size};
    for (int c = 0; c < 2 && piece->axis == axis; c++)
      if (cuts[c] > pre && cuts[c] < next) next = cuts[c];
  }
  return next;
}

/* The whole mesh in pieces, major ones first. False where sub-axes overlap without dividing each other. */
static bool cut_mesh(const Export *export, Pieces *all) {
  all->n = 0;
  for (uint32_t a = 0; a < export->mesh.sizes.n; a++) {
    int64_t whole = export->mesh.sizes.at[a];
    for (int64_t pre = 1, next; pre < whole || (whole == 1 && pre == 1); pre = next) {
      next = next_cut(export, a, pre);
      if (next % pre != 0 || all->n == MOST_PIECES) return false;
      all->at[all->n++] = (Piece){a, pre, next / pre};
      if (whole == 1) break;
    }
  }
  return true;
}

static bool lies_in(const Piece *piece, const Piece *use) {
  return piece->axis == use->axis && piece->pre >= use->pre &&
         piece->pre * piece->size <= use->pre * use->size;
}

/* The order of pieces in the tiles: as the dimensions use them, then the others. `left` is how many devices
 * hold the same tile. */
static uint32_t order_pieces(const Export *export, const Pieces *all, uint32_t *order, int64_t *left) {
  bool taken[MOST_PIECES] = {false};
  uint32_t n = 0;
  *left = 1;
  for (uint32_t u = 0; u < export->used.n; u++) {
    for (uint32_t p = 0; p < all->n; p++) {
      if (taken[p] || !lies_in(&all->at[p], &export->used.at[u])) continue;
      taken[p] = true;
      order[n++] = p;
    }
  }
  for (uint32_t p = 0; p < all->n; p++) {
    if (taken[p]) continue;
    order[n++] = p;
    *left *= all->at[p].size;
  }
  return n;
}

/* Writing. */

/* Pieces that stay neighbours; `first` is the place of the first in the mesh. */
typedef struct {
  int64_t size;
  uint32_t first;
} Run;

/* Neighbours count as one, [4,2]T(0,1) is [8], and pieces of one device for nothing. */
static uint32_t join_neighbours(const Pieces *all, const uint32_t *order, Run *runs) {
  uint32_t place[MOST_PIECES], n = 0;
  for (uint32_t p = 0, next = 0; p < all->n; p++) {
    place[p] = next;
    next += all->at[p].size != 1;
  }
  for (uint32_t i = 0, before = 0; i < all->n; i++) {
    const Piece *piece = &all->at[order[i]];
    if (piece->size == 1) continue;
    if (n > 0 && place[order[i]] == before + 1)
      runs[n - 1].size *= piece->size;
    else
      runs[n++] = (Run){piece->size, place[order[i]]};
    before = place[order[i]];
  }
  return n;
}

/* The runs in the order of the mesh, and where each went. */
static void print_iota(StrBuf *buf, const Pieces *all, const uint32_t *order) {
  Run runs[MOST_PIECES];
  uint32_t places[MOST_PIECES] = {0}, in_mesh[MOST_PIECES] = {0}, n = join_neighbours(all, order, runs);
  for (uint32_t r = 0; r < n; r++) {
    for (uint32_t other = 0; other < n; other++) places[r] += runs[other].first < runs[r].first;
    in_mesh[places[r]] = r;
  }
  buf_add(buf, STR("<=["));
  for (uint32_t place = 0; place < n; place++)
    buf_printf(buf, "%s%lld", place == 0 ? "" : ",", (long long)runs[in_mesh[place]].size);
  buf_char(buf, ']');
  for (uint32_t r = 0; r < n && n > 1; r++) buf_printf(buf, "%s%u", r == 0 ? "T(" : ",", places[r]);
  if (n > 1) buf_char(buf, ')');
}

/* The devices one by one, where the mesh has an order of its own. */
static void print_list(StrBuf *buf, const Export *export, const Pieces *all, const uint32_t *order) {
  int64_t strides[MOST_PIECES], stride = 1, count[MOST_PIECES] = {0};
  for (uint32_t p = all->n; p-- > 0;) {
    strides[p] = stride;
    stride *= all->at[p].size;
  }
  for (int64_t i = 0; i < stride; i++) {
    int64_t at = 0;
    for (uint32_t k = 0; k < all->n; k++) at += count[k] * strides[order[k]];
    buf_printf(buf, "%s%lld", i == 0 ? "" : ",", (long long)export->mesh.device_ids.at[at]);
    for (uint32_t k = all->n; k-- > 0;) {
      if (++count[k] < all->at[order[k]].size) break;
      count[k] = 0;
    }
  }
}

static void print_tiles(StrBuf *buf, const Export *export, const Pieces *all) {
  uint32_t order[MOST_PIECES];
  int64_t left;
  order_pieces(export, all, order, &left);
  buf_add(buf, STR("{devices=["));
  for (uint32_t d = 0; d < export->rank; d++)
    buf_printf(buf, "%s%lld", d == 0 ? "" : ",", (long long)export->tiles[d]);
  if (left > 1) buf_printf(buf, "%s%lld", export->rank == 0 ? "" : ",", (long long)left);
  buf_char(buf, ']');
  if (export->mesh.device_ids.n != 0)
    print_list(buf, export, all, order);
  else
    print_iota(buf, all, order);
  buf_add(buf, left > 1 ? STR(" last_tile_dim_replicate}") : STR("}"));
}

/* One sharding, from behind its `<` to its `>`. False in `known` where HLO has no word for it. */
static Status export_one(Export *export, StrBuf *buf, bool *known) {
  Pieces all;
  TRY(find_mesh(export));
  TRY(lex_expect(&export->lex, ','));
  TRY(read_dimensions(export));
  while (lex_accept(&export->lex, ',')) {
    Str word = mlir_word(&export->lex), axes;
    TRY(lex_expect(&export->lex, '='));
    mlir_word(&export->lex); /* `max` or `min`, which the parts are joined by */
    TRY(mlir_balanced(&export->lex, &axes));
    *known = *known && !str_is(word, "unreduced");
  }
  TRY(lex_expect(&export->lex, '>'));
  if (export->mesh.sizes.n == 0 && export->mesh.device_ids.n == 1) {
    buf_printf(buf, "{maximal device=%lld}", (long long)export->mesh.device_ids.at[0]);
    return STATUS_OK;
  }
  int64_t parts = 1;
  for (uint32_t d = 0; d < export->rank; d++) parts *= export->tiles[d] == 1 ? 1 : 2;
  *known = *known && cut_mesh(export, &all);
  if (parts == 1)
    buf_add(buf, STR("{replicated}"));
  else if (*known)
    print_tiles(buf, export, &all);
  return STATUS_OK;
}

static Status export_all(Export *export, StrBuf *buf, bool *known) {
  Lexer *lex = &export->lex;
  bool list = lex_accept(lex, '[');
  uint32_t n = 0;
  for (bool more = !list || !lex_accept(lex, ']'); more; n++) {
    if (n != 0) buf_add(buf, STR(", "));
    TRY(lex_expect(lex, '<'));
    TRY(export_one(export, buf, known));
    more = false;
    if (list) TRY(lex_more(lex, ']', &more));
  }
  *known = *known && n != 0;
  return STATUS_OK;
}

/* The sharding or the list of them within `#sdy.sharding<…>` or `#sdy.sharding_per_value<…>`. */
static Str unwrapped(Str text, bool *value) {
  const char *const one = "#sdy.sharding", *const all = "#sdy.sharding_per_value<";
  *value = false;
  if (str_starts(text, all)) return str_sub(text, strlen(all), text.n - 1);
  *value = true;
  return str_starts(text, one) ? str_sub(text, strlen(one), text.n) : text;
}

Status sdy_hlo_sharding(Translator *tr, const char *where, Str text, const Shape *shape,
                        const HloSharding **sharding) {
  bool value, known = true;
  Export *export = ARENA_NEW(tr->scratch, Export);
  *export = (Export){.tr = tr, .where = where};
  export->lex = mlir_part(&tr->mlir->lex, unwrapped(text, &value));
  StrBuf buf = {.arena = tr->scratch};
  TRY(export_all(export, &buf, &known));
  *sharding = NULL;
  if (!known) return STATUS_OK;
  Str parts = buf_str(&buf);
  if (shape_is_tuple(shape)) parts = str_printf(tr->scratch, "{%.*s}", STR_ARG(parts));
  return sharding_of_text(tr, where, parts, sharding);
}

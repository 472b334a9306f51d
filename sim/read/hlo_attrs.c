/* Attributes of instructions: `, name=value`, in any order. The table attr.def says of what kind a value is;
 * a function below reads each kind. A few attributes whose text holds something to look at are read apart. */
#include "sim/read/hlo_parse.h"

static const char *const attr_names[] = {
#define ATTR(name, text, kind) text,
#include "sim/ir/attr.def"
#undef ATTR
};

/* Numbers, words and texts. */

static Status read_ints(Reader *reader, Attr *attr) {
  return lex_ints(&reader->lex, '{', '}', &attr->ints);
}

static Status read_int(Reader *reader, Attr *attr) {
  return lex_int(&reader->lex, &attr->integer);
}

static Status read_bool(Reader *reader, Attr *attr) {
  return lex_bool(&reader->lex, &attr->flag);
}

static Status read_word(Reader *reader, Attr *attr) {
  attr->text = lex_word(&reader->lex);
  return attr->text.n != 0 ? STATUS_OK : lex_expected(&reader->lex, "a word");
}

static Status read_raw(Reader *reader, Attr *attr) {
  return lex_raw(&reader->lex, &attr->text);
}

static Status read_string(Reader *reader, Attr *attr) {
  return lex_string(&reader->lex, &attr->text);
}

/* Computations, by their names or in place. */

static Status read_comp_name(Reader *reader, AttrId id, uint32_t element, uint32_t *comp) {
  Lexer *lex = &reader->lex;
  if (lex_peek(lex) == '{') return read_inline_comp(reader, comp);
  uint32_t instr = module_comp(reader->module, reader->comp)->instrs.n;
  CompRef ref = {.comp = reader->comp, .instr = instr, .attr = id, .element = element};
  ref.place = lex_place(lex, lex->at);
  TRY(lex_name(lex, "the name of a computation", &ref.name));
  *comp = module_find_comp(reader->module, ref.name);
  if (*comp != NO_ID && module_comp(reader->module, *comp)->root != NO_ID) return STATUS_OK;
  *comp = NO_ID;
  VEC_PUSH(reader->scratch, &reader->refs, ref);
  return STATUS_OK;
}

static Status read_comp(Reader *reader, Attr *attr) {
  return read_comp_name(reader, attr->id, 0, &attr->comp);
}

/* {%a, %b} or %a */
static Status read_comps(Reader *reader, Attr *attr) {
  Lexer *lex = &reader->lex;
  Vec(uint32_t) comps = {0};
  bool braced = lex_accept(lex, '{');
  for (bool more = !braced || !lex_accept(lex, '}'); more;) {
    uint32_t comp;
    TRY(read_comp_name(reader, attr->id, comps.n, &comp));
    VEC_PUSH(reader->arena, &comps, comp);
    more = false;
    if (braced) TRY(lex_more(lex, '}', &more));
  }
  attr->comps = (Ids){comps.at, comps.n};
  return STATUS_OK;
}

/* Slices, padding, windows. */

/* [0:4:2], [0:4] */
static Status read_slice(Reader *reader, SliceDim *slice) {
  Lexer *lex = &reader->lex;
  slice->stride = 1;
  TRY(lex_expect(lex, '['));
  TRY(lex_int_from(lex, 0, &slice->start));
  TRY(lex_expect(lex, ':'));
  TRY(lex_int_from(lex, 0, &slice->limit));
  if (lex_accept(lex, ':')) TRY(lex_int_from(lex, 1, &slice->stride));
  return lex_expect(lex, ']');
}

static Status read_slices(Reader *reader, Attr *attr) {
  Lexer *lex = &reader->lex;
  Vec(SliceDim) slices = {0};
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    SliceDim slice;
    TRY(read_slice(reader, &slice));
    VEC_PUSH(reader->arena, &slices, slice);
    TRY(lex_more(lex, '}', &more));
  }
  attr->slices = (Slices){slices.at, slices.n};
  return STATUS_OK;
}

/* low_high[_interior] */
static Status read_padding_dim(Reader *reader, PaddingDim *dim) {
  Lexer *lex = &reader->lex;
  *dim = (PaddingDim){0};
  TRY(lex_int(lex, &dim->low));
  TRY(lex_expect(lex, '_'));
  TRY(lex_int(lex, &dim->high));
  return lex_accept(lex, '_') ? lex_int_from(lex, 0, &dim->interior) : STATUS_OK;
}

static Status read_padding(Reader *reader, Attr *attr) {
  Vec(PaddingDim) dims = {0};
  do {
    PaddingDim dim;
    TRY(read_padding_dim(reader, &dim));
    VEC_PUSH(reader->arena, &dims, dim);
  } while (lex_accept(&reader->lex, 'x'));
  attr->padding = (Padding){dims.at, dims.n};
  return STATUS_OK;
}

typedef Vec(WindowDim) WindowDims;

/* The keys of a window: the field that each sets and the least it may be. */
static const struct WindowKey {
  const char *text;
  size_t offset;
  int64_t least;
} window_keys[] = {
    {"size", offsetof(WindowDim, size), 1},
    {"stride", offsetof(WindowDim, stride), 1},
    {"lhs_dilate", offsetof(WindowDim, lhs_dilate), 1},
    {"rhs_dilate", offsetof(WindowDim, rhs_dilate), 1},
};

static WindowDim *window_dim(Reader *reader, WindowDims *dims, uint32_t at) {
  if (at == dims->n)
    VEC_PUSH(reader->arena, dims, (WindowDim){.size = 1, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1});
  return &dims->at[at];
}

/* One dimension's value of a key: 3, 1_1 or 0. */
static Status read_window_value(Reader *reader, Str key, WindowDim *dim) {
  Lexer *lex = &reader->lex;
  int64_t reversal;
  if (str_is(key, "pad")) {
    TRY(lex_int(lex, &dim->pad_low));
    TRY(lex_expect(lex, '_'));
    return lex_int(lex, &dim->pad_high);
  }
  if (str_is(key, "rhs_reversal")) {
    TRY(lex_int_from(lex, 0, &reversal));
    dim->reversal = reversal != 0;
    return STATUS_OK;
  }
  for (size_t i = 0; i < sizeof window_keys / sizeof *window_keys; i++) {
    if (str_is(key, window_keys[i].text))
      return lex_int_from(lex, window_keys[i].least, (int64_t *)((char *)dim + window_keys[i].offset));
  }
  static const char *const names[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
  lex->at = key.at;
  return unknown_word(lex, key, "part of a window", names, sizeof names / sizeof *names);
}

/* The values of a key, one a dimension; the first key says how many there are. */
static Status read_window_key(Reader *reader, Str key, bool first, WindowDims *dims) {
  uint32_t n = 0;
  bool fits = true;
  do {
    fits = first || n < dims->n;
    if (fits) TRY(read_window_value(reader, key, window_dim(reader, dims, n++)));
  } while (fits && lex_accept(&reader->lex, 'x'));
  RETURN_IF(!fits || n != dims->n,
            LEX_FAIL(&reader->lex, key.at, NULL, "%.*s has not as many dimensions as the parts before it",
                     STR_ARG(key)));
  return STATUS_OK;
}

/* {size=3x3 pad=1_1x1_1}, in any order. */
static Status read_window(Reader *reader, Attr *attr) {
  Lexer *lex = &reader->lex;
  WindowDims dims = {0};
  TRY(lex_expect(lex, '{'));
  while (!lex_accept(lex, '}')) {
    Str key = lex_word(lex);
    if (key.n == 0) return lex_expected(lex, "a part of a window or '}'");
    TRY(lex_expect(lex, '='));
    TRY(read_window_key(reader, key, dims.n == 0, &dims));
    lex_accept(lex, ',');
  }
  attr->window = (Window){dims.at, dims.n};
  return STATUS_OK;
}

/* Labels of a convolution. */

/* b01f: the places of two letters, and of each spatial digit; `?` is a dimension that counts for nothing. */
static bool split_labels(Arena *arena, Str text, char first, char second, int64_t *first_at,
                         int64_t *second_at, Ints *spatial) {
  *first_at = *second_at = -1;
  spatial->at = ARENA_ARRAY(arena, int64_t, text.n);
  spatial->n = 0;
  for (size_t i = 0; i < text.n; i++) spatial->at[i] = -1;
  for (size_t i = 0; i < text.n; i++) {
    char c = text.at[i];
    size_t digit = (size_t)(c - '0');
    int64_t *place = c == first ? first_at : c == second ? second_at : NULL;
    if (c >= '0' && c <= '9' && digit < text.n) place = &spatial->at[digit];
    if (c == '?') continue;
    if (place == NULL || *place >= 0) return false;
    *place = (int64_t)i;
    spatial->n += c >= '0' && c <= '9';
  }
  for (uint32_t d = 0; d < spatial->n; d++) {
    if (spatial->at[d] < 0) return false;
  }
  return *first_at >= 0 && *second_at >= 0;
}

static bool is_label(char c) {
  return (c >= '0' && c <= '9') || c == 'b' || c == 'f' || c == 'i' || c == 'o' || c == '?';
}

static Str read_label_part(Lexer *lex) {
  lex_peek(lex);
  const char *start = lex->at;
  while (lex->at < lex->end && is_label(*lex->at)) lex->at++;
  return (Str){start, (size_t)(lex->at - start)};
}

/* b01f_01io->b01f */
static Status read_labels(Reader *reader, Attr *attr) {
  Lexer *lex = &reader->lex;
  ConvLabels *labels = ARENA_NEW(reader->arena, ConvLabels);
  lex_peek(lex);
  const char *start = lex->at;
  Str lhs = read_label_part(lex);
  TRY(lex_expect(lex, '_'));
  Str rhs = read_label_part(lex);
  if (!lex_accept_text(lex, "->")) return lex_expected(lex, "'->'");
  Str out = read_label_part(lex);
  Arena *arena = reader->arena;
  bool right =
      split_labels(arena, lhs, 'b', 'f', &labels->lhs_batch, &labels->lhs_feature, &labels->lhs_spatial) &&
      split_labels(arena, rhs, 'i', 'o', &labels->rhs_input_feature, &labels->rhs_output_feature,
                   &labels->rhs_spatial) &&
      split_labels(arena, out, 'b', 'f', &labels->out_batch, &labels->out_feature, &labels->out_spatial) &&
      labels->lhs_spatial.n == labels->rhs_spatial.n && labels->lhs_spatial.n == labels->out_spatial.n;
  RETURN_IF(!right,
            LEX_FAIL(lex, start, "write them like b01f_01io->b01f", "these are no labels of a convolution"));
  labels->text = lex_clean(lex, start);
  attr->labels = labels;
  return STATUS_OK;
}

/* Groups, pairs, shardings, shapes. */

static Status read_groups(Reader *reader, Attr *attr) {
  return read_replica_groups(reader, &attr->groups);
}

static Status read_pair(Reader *reader, Pair *pair) {
  Lexer *lex = &reader->lex;
  TRY(lex_expect(lex, '{'));
  TRY(lex_int_from(lex, 0, &pair->source));
  TRY(lex_expect(lex, ','));
  TRY(lex_int_from(lex, 0, &pair->target));
  return lex_expect(lex, '}');
}

static Status read_pairs(Reader *reader, Attr *attr) {
  Lexer *lex = &reader->lex;
  Vec(Pair) pairs = {0};
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    Pair pair;
    TRY(read_pair(reader, &pair));
    VEC_PUSH(reader->arena, &pairs, pair);
    TRY(lex_more(lex, '}', &more));
  }
  attr->pairs = (Pairs){pairs.at, pairs.n};
  return STATUS_OK;
}

static Status read_sharding_value(Reader *reader, Attr *attr) {
  return read_sharding(reader, &attr->sharding);
}

static Status read_shapes(Reader *reader, Attr *attr) {
  Lexer *lex = &reader->lex;
  Vec(const Shape *) shapes = {0};
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    const Shape *shape;
    TRY(read_shape(reader, reader->arena, &shape));
    VEC_PUSH(reader->arena, &shapes, shape);
    TRY(lex_more(lex, '}', &more));
  }
  attr->shapes.at = shapes.at;
  attr->shapes.n = shapes.n;
  return STATUS_OK;
}

static Status read_key_value(Reader *reader, KeyValue *value) {
  Lexer *lex = &reader->lex;
  value->key = lex_word(lex);
  if (value->key.n == 0) return lex_expected(lex, "a key");
  TRY(lex_expect(lex, '='));
  value->quoted = lex_peek(lex) != '{';
  return value->quoted ? lex_string(lex, &value->value) : lex_braced(lex, &value->value);
}

Status read_key_values(Reader *reader, KeyValues *keys) {
  Lexer *lex = &reader->lex;
  Vec(KeyValue) list = {0};
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    KeyValue value;
    TRY(read_key_value(reader, &value));
    VEC_PUSH(reader->arena, &list, value);
    TRY(lex_more(lex, '}', &more));
  }
  *keys = (KeyValues){list.at, list.n};
  return STATUS_OK;
}

static Status read_keys(Reader *reader, Attr *attr) {
  return read_key_values(reader, &attr->keys);
}

/* Attributes whose text is carried, but holds something to look at. */

static void origin_of_frame(const Reader *reader, int64_t frame, Origin *origin) {
  const SourceTables *tables = &reader->tables;
  if (frame < 1 || frame > tables->frames.n) return;
  int64_t at = tables->frames.at[frame - 1];
  if (at < 1 || at > tables->locations.n) return;
  FileLocation location = tables->locations.at[at - 1];
  if (location.file < 1 || location.file > tables->files.n) return;
  origin->file = tables->files.at[location.file - 1];
  origin->line = (uint32_t)location.line;
}

static Status read_metadata_value(Reader *reader, Str key, Origin *origin) {
  Lexer *lex = &reader->lex;
  int64_t number;
  Str text;
  if (str_is(key, "op_name")) return lex_string(lex, &origin->op_name);
  if (str_is(key, "source_file")) return lex_string(lex, &origin->file);
  bool line = str_is(key, "source_line");
  if (!line && !str_is(key, "stack_frame_id")) return lex_raw(lex, &text);
  TRY(lex_int(lex, &number));
  if (line && number > 0 && number <= UINT32_MAX) origin->line = (uint32_t)number;
  if (!line) origin_of_frame(reader, number, origin);
  return STATUS_OK;
}

/* {op_name="…" stack_frame_id=3}, blanks or commas between. */
static Status read_metadata(Reader *reader, Attr *attr, Origin *origin) {
  Lexer *lex = &reader->lex;
  lex_peek(lex);
  const char *start = lex->at;
  TRY(lex_expect(lex, '{'));
  while (!lex_accept(lex, '}')) {
    Str key = lex_word(lex);
    if (key.n == 0) return lex_expected(lex, "a key or '}'");
    TRY(lex_expect(lex, '='));
    TRY(read_metadata_value(reader, key, origin));
    lex_accept(lex, ',');
  }
  attr->text = lex_clean(lex, start);
  return STATUS_OK;
}

/* JSON is kept byte for byte; else a string. */
static Status read_backend_config(Reader *reader, Attr *attr) {
  if (lex_peek(&reader->lex) == '{') return lex_braced(&reader->lex, &attr->text);
  return lex_raw(&reader->lex, &attr->text);
}

/* {%a, %b}: names of instructions above. */
static Status read_predecessors(Reader *reader, Attr *attr) {
  Lexer *lex = &reader->lex;
  StrBuf text = {.arena = reader->arena};
  TRY(lex_expect(lex, '{'));
  for (bool more = !lex_accept(lex, '}'); more;) {
    Str name;
    uint32_t instr;
    lex_peek(lex);
    const char *start = lex->at;
    TRY(lex_name(lex, "the name of an instruction", &name));
    TRY(find_instr(reader, name, start, &instr));
    buf_printf(&text, "%s%%%.*s", text.n == 0 ? "{" : ", ", STR_ARG(name));
    TRY(lex_more(lex, '}', &more));
  }
  if (text.n == 0) buf_char(&text, '{');
  buf_char(&text, '}');
  attr->text = buf_str(&text);
  return STATUS_OK;
}

static Status read_shape_text(Reader *reader, Attr *attr) {
  const Shape *shape;
  StrBuf text = {.arena = reader->arena};
  TRY(read_shape(reader, reader->scratch, &shape));
  shape_print(&text, shape, true);
  attr->text = buf_str(&text);
  return STATUS_OK;
}

/* A literal with its shape before it, or a tuple ( literal, … ). */
static Status read_shaped_literal(Reader *reader, StrBuf *text) {
  Lexer *lex = &reader->lex;
  const Shape *shape;
  const Literal *literal;
  if (lex_accept(lex, '(')) {
    buf_add(text, STR("( "));
    TRY(lex_enter(lex));
    for (bool more = !lex_accept(lex, ')'); more;) {
      TRY(read_shaped_literal(reader, text));
      TRY(lex_more(lex, ')', &more));
      if (more) buf_add(text, STR(", "));
    }
    lex_leave(lex);
    buf_add(text, STR(" )"));
    return STATUS_OK;
  }
  TRY(read_shape(reader, reader->arena, &shape));
  TRY(read_literal(reader, shape, &literal));
  shape_print(text, shape, true);
  buf_char(text, ' ');
  literal_print(text, literal);
  return STATUS_OK;
}

static Status read_literal_text(Reader *reader, Attr *attr) {
  StrBuf text = {.arena = reader->arena};
  TRY(read_shaped_literal(reader, &text));
  attr->text = buf_str(&text);
  return STATUS_OK;
}

/* Dispatch. */

typedef Status ReadValue(Reader *reader, Attr *attr);

static ReadValue *const read_kind[] = {
    [ATTR_KIND_INTS] = read_ints,
    [ATTR_KIND_INT] = read_int,
    [ATTR_KIND_BOOL] = read_bool,
    [ATTR_KIND_WORD] = read_word,
    [ATTR_KIND_NUMBER] = read_raw,
    [ATTR_KIND_STRING] = read_string,
    [ATTR_KIND_COMP] = read_comp,
    [ATTR_KIND_COMPS] = read_comps,
    [ATTR_KIND_SLICES] = read_slices,
    [ATTR_KIND_PADDING] = read_padding,
    [ATTR_KIND_WINDOW] = read_window,
    [ATTR_KIND_LABELS] = read_labels,
    [ATTR_KIND_GROUPS] = read_groups,
    [ATTR_KIND_PAIRS] = read_pairs,
    [ATTR_KIND_SHARDING] = read_sharding_value,
    [ATTR_KIND_SHAPES] = read_shapes,
    [ATTR_KIND_KEYS] = read_keys,
    [ATTR_KIND_RAW] = read_raw,
};

static Status read_value(Reader *reader, Attr *attr, Instr *instr) {
  switch (attr->id) {
  case ATTR_metadata: return read_metadata(reader, attr, &instr->origin);
  case ATTR_backend_config: return read_backend_config(reader, attr);
  case ATTR_control_predecessors: return read_predecessors(reader, attr);
  case ATTR_outfeed_shape: return read_shape_text(reader, attr);
  case ATTR_literal: return read_literal_text(reader, attr);
  default: return read_kind[attr_kind(attr->id)](reader, attr);
  }
}

/* slice_sizes={{…}} of an in-place collective-permute is not the list that a gather has. */
static AttrId by_value(Reader *reader, AttrId id) {
  Lexer ahead = reader->lex;
  bool nested = id == ATTR_slice_sizes && lex_accept(&ahead, '{') && lex_peek(&ahead) == '{';
  return nested ? ATTR_permute_slice_sizes : id;
}

/* The attributes from `base` on are those of the instruction at hand. */
static Status check_new(Reader *reader, uint32_t base, AttrId id, Str name) {
  for (uint32_t i = base; i < reader->attrs.n; i++)
    RETURN_IF(reader->attrs.at[i].id == id,
              LEX_FAIL(&reader->lex, name.at, NULL, "%.*s is given twice", STR_ARG(name)));
  return STATUS_OK;
}

static Status read_attr(Reader *reader, uint32_t base, Instr *instr) {
  Lexer *lex = &reader->lex;
  Attr attr = {0};
  Str name = lex_peek_word(lex);
  if (name.n == 0) return lex_expected(lex, "an attribute");
  if (!attr_parse(name, &attr.id)) return unknown_word(lex, name, "attribute", attr_names, ATTR_COUNT);
  lex->at += name.n;
  TRY(lex_expect(lex, '='));
  attr.id = by_value(reader, attr.id);
  TRY(check_new(reader, base, attr.id, name));
  TRY(read_value(reader, &attr, instr));
  VEC_PUSH(reader->scratch, &reader->attrs, attr);
  return STATUS_OK;
}

Status read_attrs(Reader *reader, Instr *instr) {
  uint32_t base = reader->attrs.n;
  while (lex_accept(&reader->lex, ',')) TRY(read_attr(reader, base, instr));
  for (uint32_t i = base; i < reader->attrs.n; i++)
    instr_set_shared(reader->module, instr, reader->attrs.at[i]);
  reader->attrs.n = base;
  return STATUS_OK;
}

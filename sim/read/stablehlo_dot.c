/* Contractions: dot, dot_general, convolution. */
#include "sim/read/stablehlo.h"

/* dot. */

typedef struct {
  Ints lhs_batch, rhs_batch, lhs_contracting, rhs_contracting;
} DotDims;

/* `contracting_dims = [1] x [0]` of the pretty form. */
static Status list_pair(Translator *tr, const char *name, Ints *lhs, Ints *rhs) {
  const MlirAttr *attr = find_attr(tr, name);
  *lhs = *rhs = (Ints){0};
  if (attr == NULL) return STATUS_OK;
  RETURN_IF(attr->next == NULL, OP_FAIL(tr, attr->at, NULL, "expected two lists, like [1] x [0]"));
  TRY(ints_of(tr, attr, lhs));
  return ints_of(tr, attr->next, rhs);
}

static Status dot_dims_of(Translator *tr, MlirDict dict, DotDims *dims) {
  TRY(dict_ints(tr, dict, "lhs_batching_dimensions", &dims->lhs_batch));
  TRY(dict_ints(tr, dict, "rhs_batching_dimensions", &dims->rhs_batch));
  TRY(dict_ints(tr, dict, "lhs_contracting_dimensions", &dims->lhs_contracting));
  return dict_ints(tr, dict, "rhs_contracting_dimensions", &dims->rhs_contracting);
}

static Status read_dot_dims(Translator *tr, DotDims *dims) {
  const MlirAttr *attr = find_attr(tr, "dot_dimension_numbers");
  MlirDict dict;
  if (attr == NULL) {
    TRY(list_pair(tr, "batching_dims", &dims->lhs_batch, &dims->rhs_batch));
    return list_pair(tr, "contracting_dims", &dims->lhs_contracting, &dims->rhs_contracting);
  }
  TRY(mlir_struct(tr->mlir, attr, &dict));
  return dot_dims_of(tr, dict, dims);
}

static Str lowered(Arena *arena, Str text) {
  StrBuf buf = {.arena = arena};
  for (size_t i = 0; i < text.n; i++) {
    char c = text.at[i];
    buf_char(&buf, c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c);
  }
  return buf_str(&buf);
}

static Str type_text(MlirDict dict, const char *name) {
  const MlirAttr *attr = mlir_get(dict, name);
  return attr == NULL ? STR("") : attr->raw;
}

/* The name that XLA has for a combination of types, accumulation and passes. */
static Str algorithm_name(Translator *tr, MlirDict dict, int64_t passes, int64_t components) {
  Str lhs = type_text(dict, "lhs_precision_type"), rhs = type_text(dict, "rhs_precision_type");
  Str sum = type_text(dict, "accumulation_type");
  const MlirAttr *fast = mlir_get(dict, "allow_imprecise_accumulation");
  if (str_starts(lhs, "f8") && str_starts(rhs, "f8"))
    return fast != NULL && fast->integer != 0 ? STR("dot_any_f8_any_f8_f32_fast_accum")
                                              : STR("dot_any_f8_any_f8_f32");
  if (str_is(lhs, "bf16") && str_is(sum, "bf16")) return STR("dot_bf16_bf16_bf16");
  StrBuf buf = {.arena = tr->arena};
  buf_printf(&buf, "dot_%.*s_%.*s_%.*s", STR_ARG(lowered(tr->arena, lhs)), STR_ARG(lowered(tr->arena, rhs)),
             STR_ARG(lowered(tr->arena, sum)));
  if (passes > 1 || components > 1) buf_printf(&buf, "_x%lld", (long long)passes);
  return buf_str(&buf);
}

static Status set_algorithm(Translator *tr, uint32_t instr) {
  static const char *const known[] = {"dot_any_f8_any_f8_f32", "dot_any_f8_any_f8_f32_fast_accum",
                                      "dot_f16_f16_f16",       "dot_f16_f16_f32",
                                      "dot_bf16_bf16_bf16",    "dot_bf16_bf16_f32",
                                      "dot_bf16_bf16_f32_x3",  "dot_bf16_bf16_f32_x6",
                                      "dot_bf16_bf16_f32_x9",  "dot_tf32_tf32_f32",
                                      "dot_tf32_tf32_f32_x3",  "dot_f32_f32_f32",
                                      "dot_f64_f64_f64"};
  const MlirAttr *attr = find_attr(tr, "algorithm");
  MlirDict dict;
  int64_t passes, components;
  if (attr == NULL) return STATUS_OK;
  TRY(mlir_struct(tr->mlir, attr, &dict));
  TRY(dict_int(tr, dict, "num_primitive_operations", 1, &passes));
  TRY(dict_int(tr, dict, "lhs_component_count", 1, &components));
  Str name = algorithm_name(tr, dict, passes, components);
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!str_is(name, known[i])) continue;
    instr_set_word(tr->module, made(tr, instr), ATTR_algorithm, name);
    return STATUS_OK;
  }
  return OP_FAIL(tr, attr->at, NULL, "XLA has no dot algorithm of these types (%.*s)", STR_ARG(name));
}

static void set_dims(Translator *tr, uint32_t instr, AttrId id, Ints dims) {
  if (dims.n != 0) instr_set_ints(tr->module, made(tr, instr), id, dims.at, dims.n);
}

static void set_dot_dims(Translator *tr, uint32_t instr, const DotDims *dims) {
  set_dims(tr, instr, ATTR_lhs_batch_dims, dims->lhs_batch);
  set_dims(tr, instr, ATTR_lhs_contracting_dims, dims->lhs_contracting);
  set_dims(tr, instr, ATTR_rhs_batch_dims, dims->rhs_batch);
  set_dims(tr, instr, ATTR_rhs_contracting_dims, dims->rhs_contracting);
}

static Status emit_dot(Translator *tr, const DotDims *dims) {
  Ids operands;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operands(tr, &operands));
  uint32_t instr = emit(tr, OP_DOT, result_type(tr), operands.at, 2);
  set_dot_dims(tr, instr, dims);
  TRY(set_precision(tr, instr));
  TRY(set_algorithm(tr, instr));
  return give(tr, instr);
}

Status translate_dot_general(Translator *tr, Opcode op) {
  DotDims dims = {0};
  (void)op;
  TRY(read_dot_dims(tr, &dims));
  return emit_dot(tr, &dims);
}

/* #chlo.ragged_dot<…>: a dot of groups, whose sizes are the third operand. */
Status translate_ragged_dot(Translator *tr, Opcode op) {
  const MlirAttr *attr;
  MlirDict dict;
  DotDims dims;
  Ints ragged, group;
  Ids operands;
  TRY(expect_operand_count(tr, 3, 3));
  TRY(use_operands(tr, &operands));
  TRY(need_attr(tr, "ragged_dot_dimension_numbers", &attr));
  TRY(mlir_struct(tr->mlir, attr, &dict));
  TRY(dot_dims_of(tr, dict, &dims));
  TRY(dict_ints(tr, dict, "lhs_ragged_dimensions", &ragged));
  TRY(dict_ints(tr, dict, "rhs_group_dimensions", &group));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, 3);
  set_dot_dims(tr, instr, &dims);
  set_dims(tr, instr, ATTR_lhs_ragged_dims, ragged);
  set_dims(tr, instr, ATTR_rhs_group_dims, group);
  TRY(set_precision(tr, instr));
  return give(tr, instr);
}

/* The last dimension with the first. */
Status translate_dot(Translator *tr, Opcode op) {
  uint32_t lhs;
  (void)op;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operand(tr, 0, &lhs));
  uint32_t rank = instr_shape(tr, lhs)->rank;
  RETURN_IF(rank == 0, OP_FAIL(tr, tr->op->at, NULL, "dot takes vectors and matrices"));
  int64_t last = rank - 1, first = 0;
  return emit_dot(tr, &(DotDims){.lhs_contracting = {&last, 1}, .rhs_contracting = {&first, 1}});
}

/* Convolution. */

/* [b, 0, 1, f]: the places of two letters and of the spatial dimensions. */
static Status read_labels(Translator *tr, const MlirAttr *list, char first, char second, int64_t *first_at,
                          int64_t *second_at, Ints *spatial, StrBuf *text) {
  *first_at = *second_at = -1;
  *spatial = (Ints){ARENA_ARRAY(tr->scratch, int64_t, list->n), 0};
  bool fits = list->n >= 2;
  for (uint32_t i = 0; i < list->n; i++) spatial->at[i] = -1;
  for (uint32_t i = 0; i < list->n && fits; i++) {
    const MlirAttr *item = &list->items[i];
    bool number = item->kind == MLIR_INT && item->integer >= 0 && item->integer + 2 < list->n;
    char letter = item->kind == MLIR_WORD && item->text.n == 1 ? item->text.at[0] : 0;
    int64_t *place = number             ? &spatial->at[item->integer]
                     : letter == first  ? first_at
                     : letter == second ? second_at
                                        : NULL;
    fits = place != NULL && *place < 0;
    if (fits) *place = i;
    if (number)
      buf_printf(text, "%lld", (long long)item->integer);
    else if (fits)
      buf_char(text, letter);
  }
  RETURN_IF(!fits, OP_FAIL(tr, list->at, NULL, "expected dimensions like [%c, 0, 1, %c]", first, second));
  spatial->n = list->n - 2;
  return STATUS_OK;
}

/* The three lists, also as #stablehlo.conv<[b, f]x[i, o]->[b, f]>. */
static Status label_lists(Translator *tr, MlirAttr *lhs) {
  const MlirAttr *attr;
  TRY(need_attr(tr, "dimension_numbers", &attr));
  *lhs = *attr;
  if (attr->kind == MLIR_DIALECT) {
    Lexer outer = tr->mlir->lex;
    tr->mlir->lex = mlir_part(&outer, attr->text);
    TRY(mlir_attr(tr->mlir, lhs));
    tr->mlir->lex = outer;
  }
  const MlirAttr *rhs = lhs->next, *out = rhs == NULL ? NULL : rhs->next;
  RETURN_IF(out == NULL || lhs->n != rhs->n || lhs->n != out->n,
            OP_FAIL(tr, attr->at, NULL, "expected dimensions like [b, 0, f]x[0, i, o]->[b, 0, f]"));
  return STATUS_OK;
}

/* Letters and numbers by their places: batch, feature, spatial. */
static Status raw_places(Translator *tr, MlirDict dict, const char *const names[3], int64_t *first,
                         int64_t *second, Ints *spatial) {
  TRY(dict_int(tr, dict, names[0], -1, first));
  TRY(dict_int(tr, dict, names[1], -1, second));
  TRY(dict_ints(tr, dict, names[2], spatial));
  return STATUS_OK;
}

/* `bf01` of such places; each has to stand once. */
static Status write_labels(Translator *tr, const char *at, const char letters[2], int64_t first,
                           int64_t second, Ints spatial, StrBuf *text) {
  uint32_t rank = spatial.n + 2;
  char *row = arena_alloc(tr->scratch, rank + 1);
  memset(row, 0, rank + 1);
  for (uint32_t i = 0; i < rank; i++) {
    int64_t place = i == 0 ? first : i == 1 ? second : spatial.at[i - 2];
    RETURN_IF(place < 0 || place >= rank || row[place] != 0 || spatial.n > 10,
              OP_FAIL(tr, at, NULL, "these are not the dimensions of a convolution"));
    row[place] = i < 2 ? letters[i] : (char)('0' + i - 2);
  }
  buf_add(text, str_of(row));
  return STATUS_OK;
}

/* #stablehlo.conv<raw input_batch_dimension = 0, …>, for orders that the short form has no word for. */
static Status read_raw_labels(Translator *tr, const MlirAttr *attr, const Lexer *fields_at,
                              ConvLabels *labels) {
  static const char *const names[3][3] = {
      {"input_batch_dimension", "input_feature_dimension", "input_spatial_dimensions"},
      {"kernel_input_feature_dimension", "kernel_output_feature_dimension", "kernel_spatial_dimensions"},
      {"output_batch_dimension", "output_feature_dimension", "output_spatial_dimensions"}};
  MlirAttr fields = *attr;
  MlirDict dict;
  StrBuf text = {.arena = tr->arena};
  fields.text = (Str){fields_at->at, (size_t)(fields_at->end - fields_at->at)};
  TRY(mlir_struct(tr->mlir, &fields, &dict));
  TRY(raw_places(tr, dict, names[0], &labels->lhs_batch, &labels->lhs_feature, &labels->lhs_spatial));
  TRY(raw_places(tr, dict, names[1], &labels->rhs_input_feature, &labels->rhs_output_feature,
                 &labels->rhs_spatial));
  TRY(raw_places(tr, dict, names[2], &labels->out_batch, &labels->out_feature, &labels->out_spatial));
  TRY(write_labels(tr, attr->at, "bf", labels->lhs_batch, labels->lhs_feature, labels->lhs_spatial, &text));
  buf_char(&text, '_');
  TRY(write_labels(tr, attr->at, "io", labels->rhs_input_feature, labels->rhs_output_feature,
                   labels->rhs_spatial, &text));
  buf_add(&text, STR("->"));
  TRY(write_labels(tr, attr->at, "bf", labels->out_batch, labels->out_feature, labels->out_spatial, &text));
  labels->text = buf_str(&text);
  return STATUS_OK;
}

static Status read_all_labels(Translator *tr, ConvLabels *labels) {
  MlirAttr lhs;
  StrBuf text = {.arena = tr->arena};
  const MlirAttr *attr = find_attr(tr, "dimension_numbers");
  if (attr != NULL && attr->kind == MLIR_DIALECT) {
    Lexer inside = mlir_part(&tr->mlir->lex, attr->text);
    if (mlir_accept_word(&inside, "raw")) return read_raw_labels(tr, attr, &inside, labels);
  }
  TRY(label_lists(tr, &lhs));
  const MlirAttr *rhs = lhs.next, *out = rhs->next;
  TRY(read_labels(tr, &lhs, 'b', 'f', &labels->lhs_batch, &labels->lhs_feature, &labels->lhs_spatial, &text));
  buf_char(&text, '_');
  TRY(read_labels(tr, rhs, 'i', 'o', &labels->rhs_input_feature, &labels->rhs_output_feature,
                  &labels->rhs_spatial, &text));
  buf_add(&text, STR("->"));
  TRY(read_labels(tr, out, 'b', 'f', &labels->out_batch, &labels->out_feature, &labels->out_spatial, &text));
  labels->text = buf_str(&text);
  return STATUS_OK;
}

/* `window = {stride = […], pad = […]}` of the pretty form as the attributes of the generic one. */
static Status spread_window(Translator *tr, MlirDict *attrs) {
  static const struct {
    const char *pretty, *name;
  } names[] = {{"stride", "window_strides"},
               {"pad", "padding"},
               {"lhs_dilate", "lhs_dilation"},
               {"rhs_dilate", "rhs_dilation"},
               {"reverse", "window_reversal"}};
  const MlirAttr *window = find_attr(tr, "window");
  *attrs = tr->op->attrs;
  if (window == NULL) return STATUS_OK;
  RETURN_IF(window->kind != MLIR_DICT, OP_FAIL(tr, window->at, NULL, "expected {stride = …}"));
  MlirDict all = {0};
  for (uint32_t i = 0; i < attrs->n; i++)
    mlir_dict_add(tr->mlir, &all, attrs->at[i].name, attrs->at[i].value);
  for (uint32_t i = 0; i < window->n; i++) {
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
      if (str_is(window->entries[i].name, names[k].pretty))
        mlir_dict_add(tr->mlir, &all, str_of(names[k].name), window->entries[i].value);
    }
  }
  *attrs = all;
  return STATUS_OK;
}

/* A number for each window dimension, or the fallback for all. */
static Status window_ints(Translator *tr, const char *name, uint32_t n, int64_t fallback, Ints *ints) {
  TRY(attr_ints(tr, name, ints));
  RETURN_IF(ints->n != 0 && ints->n != n,
            OP_FAIL(tr, find_attr(tr, name)->at, NULL, "expected %u numbers, here are %u", n, ints->n));
  if (ints->n != 0) return STATUS_OK;
  *ints = (Ints){ARENA_ARRAY(tr->scratch, int64_t, n), n};
  for (uint32_t d = 0; d < n; d++) ints->at[d] = fallback;
  return STATUS_OK;
}

static Status set_window(Translator *tr, uint32_t instr, uint32_t n, const ConvLabels *labels) {
  Ints strides, padding, lhs, rhs, reversal;
  const Shape *kernel = instr_shape(tr, made(tr, instr)->operands.at[1]);
  TRY(window_ints(tr, "window_strides", n, 1, &strides));
  TRY(attr_pairs(tr, "padding", n, 0, &padding));
  TRY(window_ints(tr, "lhs_dilation", n, 1, &lhs));
  TRY(window_ints(tr, "rhs_dilation", n, 1, &rhs));
  TRY(window_ints(tr, "window_reversal", n, 0, &reversal));
  RETURN_IF(kernel->rank != n + 2, OP_FAIL(tr, tr->op->at, NULL, "the kernel has not these dimensions"));
  Window window = {ARENA_ARRAY(tr->scratch, WindowDim, n), n};
  for (uint32_t d = 0; d < n; d++)
    window.at[d] = (WindowDim){.size = kernel->dims[labels->rhs_spatial.at[d]],
                               .stride = strides.at[d],
                               .pad_low = padding.at[2 * d],
                               .pad_high = padding.at[2 * d + 1],
                               .lhs_dilate = lhs.at[d],
                               .rhs_dilate = rhs.at[d],
                               .reversal = reversal.at[d] != 0};
  if (n != 0) instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_window, .window = window});
  return STATUS_OK;
}

static Status set_count(Translator *tr, uint32_t instr, const char *name, AttrId id) {
  int64_t count;
  TRY(attr_int(tr, name, 1, &count));
  if (count != 1) instr_set_int(tr->module, made(tr, instr), id, count);
  return STATUS_OK;
}

static Status fill_convolution(Translator *tr, uint32_t instr) {
  ConvLabels labels = {0};
  TRY(read_all_labels(tr, &labels));
  TRY(set_window(tr, instr, labels.rhs_spatial.n, &labels));
  instr_set(tr->module, made(tr, instr), (Attr){.id = ATTR_dim_labels, .labels = &labels});
  TRY(set_count(tr, instr, "feature_group_count", ATTR_feature_group_count));
  TRY(set_count(tr, instr, "batch_group_count", ATTR_batch_group_count));
  return set_precision(tr, instr);
}

Status translate_convolution(Translator *tr, Opcode op) {
  Ids operands;
  MlirOp spread = *tr->op;
  const MlirOp *written = tr->op;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operands(tr, &operands));
  TRY(spread_window(tr, &spread.attrs));
  uint32_t instr = emit(tr, op, result_type(tr), operands.at, 2);
  tr->op = &spread;
  TRY(fill_convolution(tr, instr));
  tr->op = written;
  return give(tr, instr);
}

/* Attributes of the operation at hand, as translators ask for them. */
#include "sim/read/hlo_parse.h"
#include "sim/read/stablehlo.h"

const MlirAttr *find_attr(const Translator *tr, const char *name) {
  return mlir_get(tr->op->attrs, name);
}

Status need_attr(Translator *tr, const char *name, const MlirAttr **attr) {
  *attr = find_attr(tr, name);
  RETURN_IF(*attr == NULL, OP_FAIL(tr, tr->op->at, NULL, "%.*s lacks the attribute %s",
                                   STR_ARG(str_sub(tr->op->name, 0, 80)), name));
  return STATUS_OK;
}

static Status wrong_kind(Translator *tr, const MlirAttr *attr, const char *expected) {
  return OP_FAIL(tr, attr->at, NULL, "expected %s", expected);
}

/* Numbers. */

/* The elements of a dense attribute of integers; one for all is written out. */
static Status dense_ints(Translator *tr, const MlirAttr *attr, Ints *ints) {
  enum { MOST = 1 << 24 };
  int64_t n = shape_elements(attr->type);
  bool splat = attr->literal->shape->rank == 0;
  DClass class = dtype_class(attr->type->dtype);
  if (attr->literal->elided || (class != DCLASS_SIGNED && class != DCLASS_UNSIGNED && class != DCLASS_PRED))
    return wrong_kind(tr, attr, "integers");
  RETURN_IF(n > MOST, OP_FAIL(tr, attr->at, NULL, "an attribute of %lld elements", (long long)n));
  *ints = (Ints){ARENA_ARRAY(tr->scratch, int64_t, n), (uint32_t)n};
  for (int64_t i = 0; i < n; i++) ints->at[i] = literal_int_at(attr->literal, splat ? 0 : i);
  return STATUS_OK;
}

Status ints_of(Translator *tr, const MlirAttr *attr, Ints *ints) {
  if (attr->kind == MLIR_DENSE) return dense_ints(tr, attr, ints);
  if (attr->kind == MLIR_INT || attr->kind == MLIR_BOOL) {
    *ints = (Ints){(int64_t *)&attr->integer, 1};
    return STATUS_OK;
  }
  if (attr->kind != MLIR_ARRAY || attr->ints.n != attr->n) return wrong_kind(tr, attr, "a list of integers");
  *ints = attr->ints;
  return STATUS_OK;
}

Status attr_ints(Translator *tr, const char *name, Ints *ints) {
  const MlirAttr *attr = find_attr(tr, name);
  *ints = (Ints){0};
  return attr == NULL ? STATUS_OK : ints_of(tr, attr, ints);
}

Status need_ints(Translator *tr, const char *name, uint32_t n, Ints *ints) {
  const MlirAttr *attr;
  TRY(need_attr(tr, name, &attr));
  TRY(ints_of(tr, attr, ints));
  RETURN_IF(ints->n != n, OP_FAIL(tr, attr->at, NULL, "expected %u numbers, here are %u", n, ints->n));
  return STATUS_OK;
}

static Status int_of(Translator *tr, const MlirAttr *attr, int64_t fallback, int64_t *value) {
  Ints ints = {0};
  *value = fallback;
  if (attr == NULL) return STATUS_OK;
  TRY(ints_of(tr, attr, &ints));
  if (ints.n != 1) return wrong_kind(tr, attr, "an integer");
  *value = ints.at[0];
  return STATUS_OK;
}

Status attr_int(Translator *tr, const char *name, int64_t fallback, int64_t *value) {
  return int_of(tr, find_attr(tr, name), fallback, value);
}

Status attr_flag(Translator *tr, const char *name, bool fallback, bool *value) {
  const MlirAttr *attr = find_attr(tr, name);
  *value = fallback;
  if (attr == NULL) return STATUS_OK;
  if (attr->kind != MLIR_BOOL && attr->kind != MLIR_UNIT) return wrong_kind(tr, attr, "true or false");
  *value = attr->kind == MLIR_UNIT || attr->integer != 0;
  return STATUS_OK;
}

Status dict_ints(Translator *tr, MlirDict dict, const char *name, Ints *ints) {
  const MlirAttr *attr = mlir_get(dict, name);
  *ints = (Ints){0};
  return attr == NULL ? STATUS_OK : ints_of(tr, attr, ints);
}

Status dict_int(Translator *tr, MlirDict dict, const char *name, int64_t fallback, int64_t *value) {
  return int_of(tr, mlir_get(dict, name), fallback, value);
}

/* Appends the pair that an item holds. */
static Status add_pair(Translator *tr, const MlirAttr *item, int64_t *pair) {
  Ints ints;
  TRY(ints_of(tr, item, &ints));
  if (ints.n != 2) return wrong_kind(tr, item, "a pair of numbers");
  pair[0] = ints.at[0];
  pair[1] = ints.at[1];
  return STATUS_OK;
}

Status expect_rows(Translator *tr, const MlirAttr *attr, int64_t width) {
  const Shape *type = attr->kind == MLIR_DENSE ? attr->type : NULL;
  bool fits = type == NULL || (type->rank == 2 && (width < 0 || type->dims[1] == width));
  RETURN_IF(!fits, OP_FAIL(tr, attr->at, NULL, "expected rows of %s, as in dense<[[0, 1], [2, 3]]>",
                           width == 2 ? "two numbers" : "numbers"));
  return STATUS_OK;
}

Status attr_pairs(Translator *tr, const char *name, uint32_t n, int64_t fallback, Ints *flat) {
  const MlirAttr *attr = find_attr(tr, name);
  *flat = (Ints){ARENA_ARRAY(tr->scratch, int64_t, (size_t)2 * n), 2 * n};
  for (uint32_t i = 0; i < flat->n; i++) flat->at[i] = fallback;
  if (attr == NULL) return STATUS_OK;
  if (attr->kind == MLIR_DENSE) {
    TRY(expect_rows(tr, attr, 2));
    TRY(ints_of(tr, attr, flat));
    return flat->n == 2 * n ? STATUS_OK : wrong_kind(tr, attr, "a pair for each dimension");
  }
  if (attr->kind != MLIR_ARRAY || attr->n != n) return wrong_kind(tr, attr, "a pair for each dimension");
  for (uint32_t i = 0; i < n; i++) TRY(add_pair(tr, &attr->items[i], &flat->at[(size_t)2 * i]));
  return STATUS_OK;
}

Status expect_order(Translator *tr, const char *where, Ints order, uint32_t rank) {
  bool *seen = ARENA_ARRAY(tr->scratch, bool, rank), fits = order.n == rank;
  for (uint32_t d = 0; d < order.n && fits; d++) {
    int64_t dim = order.at[d];
    fits = dim >= 0 && dim < rank && !seen[dim];
    if (fits) seen[dim] = true;
  }
  RETURN_IF(!fits,
            OP_FAIL(tr, where, NULL, "these are not the dimensions of a value of rank %u, each once", rank));
  return STATUS_OK;
}

/* Words and texts. */

static bool is_text(const MlirAttr *attr) {
  return attr->kind == MLIR_STRING || attr->kind == MLIR_SYMBOL || attr->kind == MLIR_WORD;
}

Status attr_string(Translator *tr, const char *name, Str *text) {
  const MlirAttr *attr = find_attr(tr, name);
  *text = STR("");
  if (attr == NULL) return STATUS_OK;
  if (!is_text(attr)) return wrong_kind(tr, attr, "a word or a string");
  *text = attr->text;
  return STATUS_OK;
}

Status attr_word(Translator *tr, const char *name, Str *word) {
  TRY(attr_string(tr, name, word));
  RETURN_IF(word->n != 0 && !str_eq(hlo_name(tr->scratch, *word), *word),
            OP_FAIL(tr, find_attr(tr, name)->at, NULL, "'%.*s' is no keyword of %s",
                    STR_ARG(str_sub(*word, 0, 80)), name));
  return STATUS_OK;
}

static bool is_precision(const MlirAttr *item) {
  return is_text(item) &&
         (str_is(item->text, "DEFAULT") || str_is(item->text, "HIGH") || str_is(item->text, "HIGHEST"));
}

/* [DEFAULT, HIGHEST], one for each operand, as {default,highest} */
static Status precision_text(Translator *tr, const MlirAttr *attr, StrBuf *buf, bool *said) {
  *said = false;
  RETURN_IF(attr->n > 2, OP_FAIL(tr, attr->at, NULL, "two operands have %u precisions", attr->n));
  buf_char(buf, '{');
  for (uint32_t i = 0; i < attr->n; i++) {
    const MlirAttr *item = &attr->items[i];
    if (!is_precision(item)) return wrong_kind(tr, item, "a precision: DEFAULT, HIGH or HIGHEST");
    if (i != 0) buf_char(buf, ',');
    for (size_t c = 0; c < item->text.n; c++) buf_char(buf, (char)(item->text.at[c] | 0x20));
    *said = *said || !str_is(item->text, "DEFAULT");
  }
  buf_char(buf, '}');
  return STATUS_OK;
}

Status set_precision(Translator *tr, uint32_t instr) {
  const MlirAttr *attr = find_attr(tr, "precision_config");
  StrBuf buf = {.arena = tr->arena};
  bool said;
  if (attr == NULL) return STATUS_OK;
  TRY(precision_text(tr, attr, &buf, &said));
  if (said) instr_set_word(tr->module, made(tr, instr), ATTR_operand_precision, buf_str(&buf));
  return STATUS_OK;
}

/* Shardings and frontend attributes. */

Status sharding_of_text(Translator *tr, const char *where, Str text, const HloSharding **sharding) {
  Source *source = ARENA_NEW(tr->arena, Source);
  *source = (Source){STR("sharding"), str_copy(tr->arena, text)};
  Diag *diag = diag_new();
  Reader reader = {.lex = lexer_of(source, tr->mlir->lex.limits, tr->arena, diag),
                   .arena = tr->arena,
                   .scratch = tr->scratch,
                   .module = tr->module};
  Status status = read_sharding(&reader, sharding);
  if (status == STATUS_OK && !lex_at_end(&reader.lex)) status = STATUS_INVALID;
  diag_free(diag);
  return status == STATUS_OK ? STATUS_OK
                             : OP_FAIL(tr, where, "XLA writes them like {devices=[2,1]<=[2]} or {replicated}",
                                       "'%.*s' is not a sharding", STR_ARG(str_sub(text, 0, 80)));
}

void add_frontend(Translator *tr, Instr *instr, const char *key, Str value) {
  const Attr *attr = instr_attr(instr, ATTR_frontend_attributes);
  uint32_t n = attr == NULL ? 0 : attr->keys.n;
  KeyValue *keys = ARENA_ARRAY(tr->arena, KeyValue, (size_t)n + 1);
  if (n != 0) memcpy(keys, attr->keys.at, n * sizeof *keys);
  keys[n] = (KeyValue){str_of(key), str_copy(tr->arena, value), true};
  instr_set_shared(tr->module, instr, (Attr){.id = ATTR_frontend_attributes, .keys = {keys, n + 1}});
}

static Status set_frontend(Translator *tr, uint32_t instr, const MlirAttr *attr) {
  for (uint32_t i = 0; i < attr->n && attr->kind == MLIR_DICT; i++) {
    const MlirNamed *entry = &attr->entries[i];
    Str value = is_text(&entry->value) ? entry->value.text : entry->value.raw;
    RETURN_IF(
        !str_eq(hlo_name(tr->scratch, entry->name), entry->name),
        OP_FAIL(tr, entry->value.at, NULL, "frontend attributes are named with letters, digits, _, . and -"));
    add_frontend(tr, made(tr, instr), str_terminated(tr->arena, entry->name), value);
  }
  return STATUS_OK;
}

Status set_discardable(Translator *tr, uint32_t instr) {
  const MlirAttr *frontend = find_attr(tr, "mhlo.frontend_attributes"), *hlo = find_attr(tr, "mhlo.sharding"),
                 *sdy = find_attr(tr, "sdy.sharding"), *rule = find_attr(tr, "sdy.sharding_rule");
  if (frontend != NULL) TRY(set_frontend(tr, instr, frontend));
  if (hlo != NULL) {
    Attr sharding = {.id = ATTR_sharding};
    TRY(sharding_of_text(tr, hlo->at, hlo->text, &sharding.sharding));
    instr_set_shared(tr->module, made(tr, instr), sharding);
  }
  if (rule != NULL) add_frontend(tr, made(tr, instr), "xla.sdy.sharding_rule", rule->raw);
  return sdy == NULL ? STATUS_OK : sdy_set_sharding(tr, instr, sdy);
}

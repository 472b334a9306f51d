/* Attributes: the builtin dialect's own encoding (mlir/IR/BuiltinDialectBytecode.td tells the codes); those
 * of other dialects are text. An entry is read when it is first asked for; one that holds itself is refused.
 */
#include "sim/mosaic/bytecode.h"

enum {
  ATTR_OF_ARRAY,
  ATTR_OF_DICTIONARY,
  ATTR_OF_STRING,
  ATTR_OF_TYPED_STRING,
  ATTR_OF_FLAT_SYMBOL,
  ATTR_OF_SYMBOL,
  ATTR_OF_TYPE,
  ATTR_OF_UNIT,
  ATTR_OF_INTEGER,
  ATTR_OF_FLOAT,
  LOC_CALL_SITE,
  LOC_FILE,
  LOC_FUSED,
  LOC_FUSED_WITH,
  LOC_NAME,
  LOC_UNKNOWN,
  ATTR_OF_RESOURCE,
  ATTR_OF_DENSE_ARRAY,
  ATTR_OF_DENSE_ELEMENTS,
  LOC_FILE_RANGE = 22
};

static Status read_string(BytecodeTables *tables, Cursor *cursor, Str *text) {
  uint32_t index = 0;
  TRY(read_index(cursor, tables->n_strings, "string", &index));
  *text = tables->strings[index];
  return STATUS_OK;
}

static Status read_items(BytecodeTables *tables, Cursor *cursor, MosaicAttr *attr) {
  TRY(read_count(cursor, &attr->n));
  attr->items = ARENA_ARRAY(tables->file.arena, const MosaicAttr *, attr->n);
  for (uint32_t i = 0; i < attr->n; i++) TRY(read_attr(tables, cursor, &attr->items[i]));
  return STATUS_OK;
}

/* An attribute that is a string: a key, a symbol, a file. */
static Status read_text_attr(BytecodeTables *tables, Cursor *cursor, Str *text) {
  const MosaicAttr *attr = NULL;
  TRY(read_attr(tables, cursor, &attr));
  RETURN_IF(attr->kind != MOSAIC_ATTR_STRING, cursor_fail(cursor, "a name that is no string"));
  *text = attr->text;
  return STATUS_OK;
}

static Status read_dictionary(BytecodeTables *tables, Cursor *cursor, MosaicAttr *attr) {
  TRY(read_count(cursor, &attr->n));
  attr->kind = MOSAIC_ATTR_DICT;
  attr->items = ARENA_ARRAY(tables->file.arena, const MosaicAttr *, attr->n);
  attr->names = ARENA_ARRAY(tables->file.arena, Str, attr->n);
  for (uint32_t i = 0; i < attr->n; i++) {
    TRY(read_text_attr(tables, cursor, &attr->names[i]));
    TRY(read_attr(tables, cursor, &attr->items[i]));
  }
  return STATUS_OK;
}

/* A number of the type's width: a byte up to 8 bits, else a signed integer of variable width. */
static Status read_number(BytecodeTables *tables, Cursor *cursor, MosaicAttr *attr) {
  TRY(read_type(tables, cursor, &attr->type));
  RETURN_IF(attr->type->kind != MOSAIC_SCALAR, cursor_fail(cursor, "a number of no type"));
  attr->kind = dtype_class(attr->type->dtype) == DCLASS_FLOAT ? MOSAIC_ATTR_FLOAT : MOSAIC_ATTR_INTEGER;
  bool is_bit = attr->type->dtype == DTYPE_PRED;
  if (!is_bit && (attr->type->is_index || dtype_bits(attr->type->dtype) > 8)) {
    TRY(read_signed(cursor, &attr->bits));
    if (attr->type->dtype == DTYPE_S32) attr->bits = (int32_t)attr->bits;
    if (attr->type->dtype == DTYPE_S16) attr->bits = (int16_t)attr->bits;
    return STATUS_OK;
  }
  uint8_t byte = 0;
  TRY(read_byte(cursor, &byte));
  bool is_unsigned = dtype_class(attr->type->dtype) != DCLASS_SIGNED;
  attr->bits = is_bit ? byte & 1 : is_unsigned ? byte : (int8_t)byte;
  return STATUS_OK;
}

static int64_t signed_of(const unsigned char *at, uint32_t bytes) {
  uint64_t value = 0;
  for (uint32_t i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
  uint32_t unused = 64 - 8 * bytes;
  return (int64_t)(value << unused) >> unused;
}

static Status read_dense_array(BytecodeTables *tables, Cursor *cursor, MosaicAttr *attr) {
  uint32_t n = 0;
  uint64_t size = 0;
  attr->kind = MOSAIC_ATTR_INTS;
  TRY(read_type(tables, cursor, &attr->type));
  TRY(read_count(cursor, &n));
  TRY(read_varint(cursor, &size));
  TRY(read_bytes(cursor, size, &attr->raw));
  RETURN_IF(attr->type->kind != MOSAIC_SCALAR, cursor_fail(cursor, "an array of what is no number"));
  uint32_t bytes = attr->type->is_index ? 8 : dtype_bytes(attr->type->dtype);
  RETURN_IF((uint64_t)n * bytes != size, cursor_fail(cursor, "an array of another size than its values"));
  attr->ints = (Ints){ARENA_ARRAY(tables->file.arena, int64_t, n), n};
  for (uint32_t i = 0; i < n; i++)
    attr->ints.at[i] = signed_of((const unsigned char *)attr->raw.at + (size_t)i * bytes, bytes);
  return STATUS_OK;
}

static Status read_dense_elements(BytecodeTables *tables, Cursor *cursor, MosaicAttr *attr) {
  uint64_t size = 0;
  attr->kind = MOSAIC_ATTR_ELEMENTS;
  TRY(read_type(tables, cursor, &attr->type));
  TRY(read_varint(cursor, &size));
  TRY(read_bytes(cursor, size, &attr->raw));
  RETURN_IF(attr->type->kind != MOSAIC_VECTOR, cursor_fail(cursor, "dense elements of what is no vector"));
  return STATUS_OK;
}

/* --- locations --- */

static Status read_file_location(BytecodeTables *tables, Cursor *cursor, bool is_range, MosaicAttr *attr) {
  uint64_t n = 2, numbers[4] = {0};
  TRY(read_text_attr(tables, cursor, &attr->text));
  if (is_range) TRY(read_varint(cursor, &n));
  RETURN_IF(n > 4, cursor_fail(cursor, "a place in a file of %llu numbers", (unsigned long long)n));
  for (uint64_t i = 0; i < n; i++) TRY(read_varint(cursor, &numbers[i]));
  attr->line = (int64_t)(numbers[0] & INT32_MAX);
  attr->column = (int64_t)(numbers[1] & INT32_MAX);
  return STATUS_OK;
}

static Status read_children(BytecodeTables *tables, Cursor *cursor, uint32_t n, MosaicAttr *attr) {
  attr->n = n;
  attr->items = ARENA_ARRAY(tables->file.arena, const MosaicAttr *, n);
  for (uint32_t i = 0; i < n; i++) TRY(read_attr(tables, cursor, &attr->items[i]));
  return STATUS_OK;
}

static Status read_location(BytecodeTables *tables, Cursor *cursor, uint64_t code, MosaicAttr *attr) {
  const MosaicAttr *metadata = NULL;
  attr->kind = MOSAIC_ATTR_LOCATION;
  switch (code) {
  case LOC_CALL_SITE: return read_children(tables, cursor, 2, attr);
  case LOC_FILE: return read_file_location(tables, cursor, false, attr);
  case LOC_FILE_RANGE: return read_file_location(tables, cursor, true, attr);
  case LOC_FUSED: return read_items(tables, cursor, attr);
  case LOC_FUSED_WITH: TRY(read_items(tables, cursor, attr)); return read_attr(tables, cursor, &metadata);
  case LOC_NAME:
    TRY(read_text_attr(tables, cursor, &attr->text));
    return read_children(tables, cursor, 1, attr);
  default: return STATUS_OK;
  }
}

static Status read_builtin_attr(BytecodeTables *tables, Cursor *cursor, MosaicAttr *attr) {
  uint64_t code = 0;
  TRY(read_varint(cursor, &code));
  switch (code) {
  case ATTR_OF_ARRAY: attr->kind = MOSAIC_ATTR_ARRAY; return read_items(tables, cursor, attr);
  case ATTR_OF_DICTIONARY: return read_dictionary(tables, cursor, attr);
  case ATTR_OF_STRING:
  case ATTR_OF_TYPED_STRING:
    attr->kind = MOSAIC_ATTR_STRING;
    TRY(read_string(tables, cursor, &attr->text));
    return code == ATTR_OF_STRING ? STATUS_OK : read_type(tables, cursor, &attr->type);
  case ATTR_OF_FLAT_SYMBOL:
    attr->kind = MOSAIC_ATTR_SYMBOL;
    return read_text_attr(tables, cursor, &attr->text);
  case ATTR_OF_TYPE: attr->kind = MOSAIC_ATTR_TYPE; return read_type(tables, cursor, &attr->type);
  case ATTR_OF_UNIT: attr->kind = MOSAIC_ATTR_UNIT; return STATUS_OK;
  case ATTR_OF_INTEGER:
  case ATTR_OF_FLOAT: return read_number(tables, cursor, attr);
  case ATTR_OF_DENSE_ARRAY: return read_dense_array(tables, cursor, attr);
  case ATTR_OF_DENSE_ELEMENTS: return read_dense_elements(tables, cursor, attr);
  case LOC_CALL_SITE:
  case LOC_FILE:
  case LOC_FUSED:
  case LOC_FUSED_WITH:
  case LOC_NAME:
  case LOC_UNKNOWN:
  case LOC_FILE_RANGE: return read_location(tables, cursor, code, attr);
  default: return cursor_fail(cursor, "an attribute of code %llu", (unsigned long long)code);
  }
}

/* --- tables --- */

static bool is_builtin(const BytecodeTables *tables, const BytecodeEntry *entry) {
  return str_is(tables->dialects[entry->dialect], "builtin");
}

/* Runs up to one entry within others. */
static Status entry_begin(BytecodeTables *tables, BytecodeEntry *entry) {
  RETURN_IF(entry->in_progress, cursor_fail(&entry->bytes, "it holds itself"));
  RETURN_IF(tables->depth >= MOSAIC_MAX_DEPTH, cursor_fail(&entry->bytes, "too many within each other"));
  RETURN_IF(entry->has_custom_encoding && !is_builtin(tables, entry),
            cursor_fail(&entry->bytes, "an encoding of the dialect %.*s",
                        STR_ARG(tables->dialects[entry->dialect])));
  entry->in_progress = true;
  tables->depth++;
  return STATUS_OK;
}

static void entry_end(BytecodeTables *tables, BytecodeEntry *entry) {
  entry->in_progress = false;
  tables->depth--;
}

Status attr_at(BytecodeTables *tables, uint32_t index, const Cursor *from, const MosaicAttr **result) {
  RETURN_IF(index >= tables->n_attrs, cursor_fail(from, "attribute %u of %u", index, tables->n_attrs));
  BytecodeEntry *entry = &tables->attrs[index];
  if (entry->attr == NULL) {
    MosaicAttr *attr = ARENA_NEW(tables->file.arena, MosaicAttr);
    Cursor cursor = entry->bytes;
    TRY(entry_begin(tables, entry));
    attr->kind = MOSAIC_ATTR_TEXT;
    if (entry->has_custom_encoding)
      TRY(read_builtin_attr(tables, &cursor, attr));
    else
      TRY(read_terminated(&cursor, &attr->text));
    entry_end(tables, entry);
    entry->attr = attr;
  }
  *result = entry->attr;
  return STATUS_OK;
}

Status type_at(BytecodeTables *tables, uint32_t index, const Cursor *from, const MosaicType **result) {
  RETURN_IF(index >= tables->n_types, cursor_fail(from, "type %u of %u", index, tables->n_types));
  BytecodeEntry *entry = &tables->types[index];
  if (entry->type == NULL) {
    MosaicType *type = ARENA_NEW(tables->file.arena, MosaicType);
    Cursor cursor = entry->bytes;
    Str text = {0};
    TRY(entry_begin(tables, entry));
    if (entry->has_custom_encoding) {
      TRY(read_builtin_type(tables, &cursor, type));
    } else {
      TRY(read_terminated(&cursor, &text));
      type_of_text(text, type);
    }
    entry_end(tables, entry);
    entry->type = type;
  }
  *result = entry->type;
  return STATUS_OK;
}

Status read_attr(BytecodeTables *tables, Cursor *cursor, const MosaicAttr **attr) {
  uint32_t index = 0;
  TRY(read_index(cursor, tables->n_attrs, "attribute", &index));
  return attr_at(tables, index, cursor, attr);
}

Status read_type(BytecodeTables *tables, Cursor *cursor, const MosaicType **type) {
  uint32_t index = 0;
  TRY(read_index(cursor, tables->n_types, "type", &index));
  return type_at(tables, index, cursor, type);
}

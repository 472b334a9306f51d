/* MLIR bytecode, version 0 (which JAX writes for Mosaic), to a kernel. A file is a list of sections: strings,
 * names of dialects and ops, the encodings of attributes and types with their sizes, and the ops. */
#include "sim/mosaic/bytecode.h"

#include <string.h>

enum {
  SECTION_STRINGS,
  SECTION_DIALECTS,
  SECTION_ATTR_TYPES,
  SECTION_ATTR_TYPE_OFFSETS,
  SECTION_IR,
  SECTION_RESOURCES,
  SECTION_RESOURCE_OFFSETS,
  SECTION_COUNT
};

/* Serialization renames every op (jaxlib's mosaic serde), so that the name says which stable form it has. */
static const char prefix[] = "stable_mosaic.";

static Status read_section(Cursor *file, Cursor *sections) {
  uint8_t id = 0;
  uint64_t n = 0, alignment = 0;
  Str bytes = {0};
  Cursor before = *file;
  TRY(read_byte(file, &id));
  TRY(read_varint(file, &n));
  RETURN_IF((id & 0x7f) >= SECTION_COUNT, cursor_fail(&before, "a section of number %u", id & 0x7f));
  if (id & 0x80) {
    TRY(read_varint(file, &alignment));
    RETURN_IF(alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > file->end,
              cursor_fail(file, "an alignment that is no power of two"));
    size_t over = file->at & (size_t)(alignment - 1);
    TRY(read_bytes(file, over == 0 ? 0 : alignment - over, &bytes));
  }
  Cursor *section = &sections[id & 0x7f];
  RETURN_IF(section->file != NULL, cursor_fail(&before, "a section twice"));
  *section = *file;
  TRY(read_bytes(file, n, &bytes));
  section->end = file->at;
  return STATUS_OK;
}

static Status read_sections(const Bytecode *file, Cursor *sections) {
  Cursor cursor = {file, 0, file->bytes.n};
  uint64_t version = 0;
  Str text = {0};
  TRY(read_bytes(&cursor, cursor.end < 4 ? cursor.end : 4, &text));
  RETURN_IF(text.n < 4 || memcmp(text.at, "ML\xefR", 4) != 0, cursor_fail(&cursor, "it is no MLIR bytecode"));
  TRY(read_varint(&cursor, &version));
  RETURN_IF(version != 0, cursor_fail(&cursor, "bytecode of version %llu; JAX writes version 0",
                                      (unsigned long long)version));
  TRY(read_terminated(&cursor, &text));
  while (cursor.at < cursor.end) TRY(read_section(&cursor, sections));
  for (uint32_t i = 0; i <= SECTION_IR; i++)
    RETURN_IF(sections[i].file == NULL, cursor_fail(&cursor, "section %u is not there", i));
  return STATUS_OK;
}

/* Sizes from the last string to the first, then all strings, each with a 0 at its end. */
static Status read_strings(BytecodeTables *tables, Cursor cursor) {
  TRY(read_count(&cursor, &tables->n_strings));
  uint64_t *sizes = ARENA_ARRAY(tables->file.arena, uint64_t, tables->n_strings);
  tables->strings = ARENA_ARRAY(tables->file.arena, Str, tables->n_strings);
  for (uint32_t i = tables->n_strings; i-- > 0;) {
    TRY(read_varint(&cursor, &sizes[i]));
    RETURN_IF(sizes[i] == 0, cursor_fail(&cursor, "a string without an end"));
  }
  for (uint32_t i = 0; i < tables->n_strings; i++) {
    TRY(read_bytes(&cursor, sizes[i], &tables->strings[i]));
    tables->strings[i].n--;
  }
  return STATUS_OK;
}

static Str whole_name(const BytecodeTables *tables, Str dialect, Str op) {
  Str whole = str_printf(tables->file.arena, "%.*s.%.*s", STR_ARG(dialect), STR_ARG(op));
  return str_starts(whole, prefix) ? str_sub(whole, strlen(prefix), whole.n) : whole;
}

static Status read_op_group(BytecodeTables *tables, Cursor *cursor) {
  uint32_t dialect = 0, n = 0, name = 0;
  TRY(read_index(cursor, tables->n_dialects, "dialect", &dialect));
  TRY(read_count(cursor, &n));
  Str *names = ARENA_ARRAY(tables->file.arena, Str, (size_t)tables->n_op_names + n);
  for (uint32_t i = 0; i < tables->n_op_names; i++) names[i] = tables->op_names[i];
  for (uint32_t i = 0; i < n; i++) {
    TRY(read_index(cursor, tables->n_strings, "string", &name));
    names[tables->n_op_names + i] = whole_name(tables, tables->dialects[dialect], tables->strings[name]);
  }
  tables->op_names = names;
  tables->n_op_names += n;
  return STATUS_OK;
}

static Status read_dialects(BytecodeTables *tables, Cursor cursor) {
  uint32_t name = 0;
  TRY(read_count(&cursor, &tables->n_dialects));
  tables->dialects = ARENA_ARRAY(tables->file.arena, Str, tables->n_dialects);
  for (uint32_t i = 0; i < tables->n_dialects; i++) {
    TRY(read_index(&cursor, tables->n_strings, "string", &name));
    tables->dialects[i] = tables->strings[name];
  }
  for (uint32_t groups = 0; cursor.at < cursor.end; groups++) {
    RETURN_IF(groups > tables->n_dialects, cursor_fail(&cursor, "more groups of ops than dialects"));
    TRY(read_op_group(tables, &cursor));
  }
  return STATUS_OK;
}

/* A group of encodings of one dialect: their sizes; the encodings themselves lie one behind the other. */
static Status read_entry_group(BytecodeTables *tables, Cursor *offsets, Cursor *encodings,
                               BytecodeEntry *entries, uint32_t n_entries, uint32_t *done) {
  uint32_t dialect = 0, n = 0;
  TRY(read_index(offsets, tables->n_dialects, "dialect", &dialect));
  TRY(read_count(offsets, &n));
  RETURN_IF(n > n_entries - *done, cursor_fail(offsets, "more encodings than attributes and types"));
  for (uint32_t i = 0; i < n; i++) {
    uint64_t code = 0;
    Str bytes = {0};
    TRY(read_varint(offsets, &code));
    BytecodeEntry *entry = &entries[(*done)++];
    *entry = (BytecodeEntry){.dialect = dialect, .has_custom_encoding = code & 1, .bytes = *encodings};
    TRY(read_bytes(encodings, code >> 1, &bytes));
    entry->bytes.end = encodings->at;
  }
  return STATUS_OK;
}

static Status read_entries(BytecodeTables *tables, Cursor offsets, Cursor encodings) {
  TRY(read_count(&offsets, &tables->n_attrs));
  TRY(read_count(&offsets, &tables->n_types));
  tables->attrs = ARENA_ARRAY(tables->file.arena, BytecodeEntry, tables->n_attrs);
  tables->types = ARENA_ARRAY(tables->file.arena, BytecodeEntry, tables->n_types);
  for (uint32_t done = 0; done < tables->n_attrs;)
    TRY(read_entry_group(tables, &offsets, &encodings, tables->attrs, tables->n_attrs, &done));
  for (uint32_t done = 0; done < tables->n_types;)
    TRY(read_entry_group(tables, &offsets, &encodings, tables->types, tables->n_types, &done));
  return STATUS_OK;
}

static const MosaicOp *main_of(const MosaicKernel *kernel) {
  const MosaicOp *main = mosaic_function(kernel, STR("main"));
  const MosaicBlock *body = &kernel->module->regions[0].blocks[0];
  for (uint32_t i = 0; i < body->n_ops && main == NULL; i++) {
    if (str_is(body->ops[i].name, "func.func")) main = &body->ops[i];
  }
  return main;
}

Status mosaic_read_bytecode(Arena *arena, Str bytes, Str call, Place place, MosaicKernel *kernel,
                            Diag *diag) {
  BytecodeTables tables = {
      .file = {.arena = arena, .bytes = bytes, .call = call, .place = place, .diag = diag}};
  Cursor sections[SECTION_COUNT] = {0};
  TRY(read_sections(&tables.file, sections));
  TRY(read_strings(&tables, sections[SECTION_STRINGS]));
  TRY(read_dialects(&tables, sections[SECTION_DIALECTS]));
  TRY(read_entries(&tables, sections[SECTION_ATTR_TYPE_OFFSETS], sections[SECTION_ATTR_TYPES]));
  *kernel = (MosaicKernel){
      .arena = arena, .call = call, .place = place, .names = tables.op_names, .n_names = tables.n_op_names};
  TRY(read_ir(&tables, sections[SECTION_IR], &kernel->module));
  kernel->version = mosaic_int(kernel->module, "stable_mosaic.version", 0);
  kernel->main = main_of(kernel);
  RETURN_IF(kernel->main == NULL, cursor_fail(&sections[SECTION_IR], "it has no function"));
  return STATUS_OK;
}

/* MLIR's bytecode from below: a cursor over untrusted bytes, and the tables that ops refer to.
 * Source: https://mlir.llvm.org/docs/BytecodeFormat/. */
#pragma once

#include "sim/mosaic/mosaic.h"

enum { MOSAIC_MAX_DEPTH = 64 /* attributes, types and regions within each other */ };

/* What a whole file shares. */
typedef struct {
  Arena *arena;
  Str bytes; /* all of it */
  Str call;
  Place place;
  Diag *diag;
} Bytecode;

/* Bytes [at, end) of a file that are still to be read. */
typedef struct {
  const Bytecode *file;
  size_t at, end;
} Cursor;

/* An attribute or type: where its encoding lies, and what it was read as. */
typedef struct {
  uint32_t dialect;
  bool has_custom_encoding; /* the dialect's own; else text that ends with a 0 */
  bool in_progress;
  Cursor bytes;
  const MosaicAttr *attr;
  const MosaicType *type;
} BytecodeEntry;

typedef struct {
  Bytecode file;
  Str *strings;
  uint32_t n_strings;
  Str *dialects;
  uint32_t n_dialects;
  Str *op_names; /* whole: dialect.op */
  uint32_t n_op_names;
  BytecodeEntry *attrs, *types;
  uint32_t n_attrs, n_types;
  uint32_t depth;
} BytecodeTables;

/* An error at the cursor's byte. */
Status cursor_fail(const Cursor *cursor, const char *format, ...) __attribute__((format(printf, 2, 3)));
Status read_byte(Cursor *cursor, uint8_t *value);
/* PrefixVarInt: the zeros below the first byte's lowest 1 count the bytes that follow. */
Status read_varint(Cursor *cursor, uint64_t *value);
Status read_signed(Cursor *cursor, int64_t *value);
Status read_bytes(Cursor *cursor, uint64_t n, Str *bytes);
/* Text up to a 0, which is passed. */
Status read_terminated(Cursor *cursor, Str *text);
/* A number below `limit`; `what` names it in the error. */
Status read_index(Cursor *cursor, uint64_t limit, const char *what, uint32_t *index);
/* A count of things that take a byte or more each, so no larger than the bytes that are left. */
Status read_count(Cursor *cursor, uint32_t *count);

/* Entry `index` of the table, read on first use. */
Status attr_at(BytecodeTables *tables, uint32_t index, const Cursor *from, const MosaicAttr **attr);
Status type_at(BytecodeTables *tables, uint32_t index, const Cursor *from, const MosaicType **type);
/* The index, then the entry. */
Status read_attr(BytecodeTables *tables, Cursor *cursor, const MosaicAttr **attr);
Status read_type(BytecodeTables *tables, Cursor *cursor, const MosaicType **type);
/* A type of the builtin dialect's own encoding. */
Status read_builtin_type(BytecodeTables *tables, Cursor *cursor, MosaicType *type);
/* A type in assembly. */
void type_of_text(Str text, MosaicType *type);
/* The ops of the IR section; `module` is the one at the top. */
Status read_ir(BytecodeTables *tables, Cursor cursor, const MosaicOp **module);

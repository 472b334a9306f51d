/* Types: the builtin dialect's own encoding (mlir/IR/BuiltinDialectBytecode.td tells the codes), and the few
 * that are written as text. */
#include "sim/mosaic/bytecode.h"

enum {
  TYPE_INTEGER,
  TYPE_INDEX,
  TYPE_FUNCTION,
  TYPE_BF16,
  TYPE_F16,
  TYPE_F32,
  TYPE_F64,
  TYPE_F80,
  TYPE_F128,
  TYPE_COMPLEX,
  TYPE_MEMREF,
  TYPE_MEMREF_IN_SPACE,
  TYPE_NONE,
  TYPE_VECTOR = 19,
  TYPE_F8E5M2 = 22
};

/* Elements of one vector or memref; more cannot be meant. */
static const int64_t max_elements = (int64_t)1 << 40;

static DType integer_dtype(uint64_t width, bool is_unsigned) {
  switch (width) {
  case 1: return DTYPE_PRED;
  case 2: return is_unsigned ? DTYPE_U2 : DTYPE_S2;
  case 4: return is_unsigned ? DTYPE_U4 : DTYPE_S4;
  case 8: return is_unsigned ? DTYPE_U8 : DTYPE_S8;
  case 16: return is_unsigned ? DTYPE_U16 : DTYPE_S16;
  case 32: return is_unsigned ? DTYPE_U32 : DTYPE_S32;
  case 64: return is_unsigned ? DTYPE_U64 : DTYPE_S64;
  default: return DTYPE_OPAQUE;
  }
}

static Status read_integer(Cursor *cursor, MosaicType *type) {
  uint64_t code = 0;
  TRY(read_varint(cursor, &code));
  *type = (MosaicType){.kind = MOSAIC_SCALAR, .dtype = integer_dtype(code >> 2, (code & 3) == 2)};
  RETURN_IF(type->dtype == DTYPE_OPAQUE,
            cursor_fail(cursor, "integers of %llu bits", (unsigned long long)(code >> 2)));
  return STATUS_OK;
}

static Status read_dims(BytecodeTables *tables, Cursor *cursor, MosaicType *type) {
  TRY(read_count(cursor, &type->rank));
  RETURN_IF(type->rank > 32, cursor_fail(cursor, "an array of more than 32 dimensions"));
  type->dims = ARENA_ARRAY(tables->file.arena, int64_t, type->rank);
  int64_t elements = 1;
  for (uint32_t i = 0; i < type->rank; i++) {
    TRY(read_signed(cursor, &type->dims[i]));
    if (type->dims[i] == MOSAIC_DYNAMIC && type->kind == MOSAIC_MEMREF) continue;
    bool fits = type->dims[i] >= 0 && !__builtin_mul_overflow(elements, type->dims[i], &elements);
    RETURN_IF(!fits || elements > max_elements, cursor_fail(cursor, "an array of no possible size"));
  }
  return STATUS_OK;
}

static Status read_element(BytecodeTables *tables, Cursor *cursor, MosaicType *type) {
  TRY(read_type(tables, cursor, &type->element));
  MosaicTypeKind kind = type->element->kind;
  bool good = kind == MOSAIC_SCALAR ||
              (type->kind == MOSAIC_MEMREF && (kind == MOSAIC_SEMAPHORE || kind == MOSAIC_DMA_SEMAPHORE));
  RETURN_IF(!good && kind != MOSAIC_OTHER, cursor_fail(cursor, "an array of what is no number"));
  type->dtype = type->element->dtype;
  return STATUS_OK;
}

static Status read_array_type(BytecodeTables *tables, Cursor *cursor, MosaicTypeKind kind, bool in_space,
                              MosaicType *type) {
  type->kind = kind;
  if (in_space) TRY(read_attr(tables, cursor, &type->space));
  TRY(read_dims(tables, cursor, type));
  TRY(read_element(tables, cursor, type));
  return kind == MOSAIC_MEMREF ? read_attr(tables, cursor, &type->layout) : STATUS_OK;
}

static Status read_types(BytecodeTables *tables, Cursor *cursor, const MosaicType ***types, uint32_t *n) {
  TRY(read_count(cursor, n));
  *types = ARENA_ARRAY(tables->file.arena, const MosaicType *, *n);
  for (uint32_t i = 0; i < *n; i++) TRY(read_type(tables, cursor, &(*types)[i]));
  return STATUS_OK;
}

static Status read_function_type(BytecodeTables *tables, Cursor *cursor, MosaicType *type) {
  const MosaicType **inputs = NULL, **results = NULL;
  type->kind = MOSAIC_FUNCTION;
  TRY(read_types(tables, cursor, &inputs, &type->n_inputs));
  TRY(read_types(tables, cursor, &results, &type->n_results));
  type->parts = ARENA_ARRAY(tables->file.arena, const MosaicType *, (size_t)type->n_inputs + type->n_results);
  for (uint32_t i = 0; i < type->n_inputs; i++) type->parts[i] = inputs[i];
  for (uint32_t i = 0; i < type->n_results; i++) type->parts[type->n_inputs + i] = results[i];
  return STATUS_OK;
}

/* The narrow floats, by their codes from TYPE_F8E5M2 on. */
static const DType narrow_floats[] = {DTYPE_F8E5M2,     DTYPE_F8E4M3,        DTYPE_F8E4M3FN, DTYPE_F8E5M2FNUZ,
                                      DTYPE_F8E4M3FNUZ, DTYPE_F8E4M3B11FNUZ, DTYPE_F8E3M4,   DTYPE_F4E2M1FN,
                                      DTYPE_F6E2M3FN,   DTYPE_F6E3M2FN,      DTYPE_F8E8M0FNU};

static Status scalar(MosaicType *type, DType dtype) {
  *type = (MosaicType){.kind = MOSAIC_SCALAR, .dtype = dtype};
  return STATUS_OK;
}

Status read_builtin_type(BytecodeTables *tables, Cursor *cursor, MosaicType *type) {
  uint64_t code = 0;
  TRY(read_varint(cursor, &code));
  if (code >= TYPE_F8E5M2 && code - TYPE_F8E5M2 < sizeof narrow_floats / sizeof *narrow_floats)
    return scalar(type, narrow_floats[code - TYPE_F8E5M2]);
  switch (code) {
  case TYPE_INTEGER: return read_integer(cursor, type);
  case TYPE_INDEX:
    *type = (MosaicType){.kind = MOSAIC_SCALAR, .dtype = DTYPE_S32, .is_index = true};
    return STATUS_OK;
  case TYPE_FUNCTION: return read_function_type(tables, cursor, type);
  case TYPE_BF16: return scalar(type, DTYPE_BF16);
  case TYPE_F16: return scalar(type, DTYPE_F16);
  case TYPE_F32: return scalar(type, DTYPE_F32);
  case TYPE_F64: return scalar(type, DTYPE_F64);
  case TYPE_MEMREF: return read_array_type(tables, cursor, MOSAIC_MEMREF, false, type);
  case TYPE_MEMREF_IN_SPACE: return read_array_type(tables, cursor, MOSAIC_MEMREF, true, type);
  case TYPE_VECTOR: return read_array_type(tables, cursor, MOSAIC_VECTOR, false, type);
  case TYPE_NONE: *type = (MosaicType){.kind = MOSAIC_OTHER, .text = STR("none")}; return STATUS_OK;
  default: return cursor_fail(cursor, "a type of code %llu", (unsigned long long)code);
  }
}

void type_of_text(Str text, MosaicType *type) {
  static const struct {
    const char *text;
    MosaicTypeKind kind;
    DType dtype;
  } known[] = {
      {"!tpu.semaphore", MOSAIC_SEMAPHORE, DTYPE_S32},
      {"!tpu.dma_semaphore", MOSAIC_DMA_SEMAPHORE, DTYPE_S32},
  };
  *type = (MosaicType){.kind = MOSAIC_OTHER, .dtype = DTYPE_OPAQUE, .text = text};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    if (!str_is(text, known[i].text)) continue;
    type->kind = known[i].kind;
    type->dtype = known[i].dtype;
  }
}

/* A kernel as text, as MLIR's generic form has it: results, op, operands, attributes, types; regions
 * indented. Locations are left out, and what an attribute is by its type alone. For the eye; it is not read
 * back. */
#include "sim/mosaic/mosaic.h"

#include <inttypes.h>
#include <string.h>

static void print_attr(StrBuf *buf, const MosaicAttr *attr);
static void print_region(StrBuf *buf, const MosaicRegion *region, uint32_t indent);

static void print_list(StrBuf *buf, const MosaicType *const *types, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) {
    if (i > 0) buf_add(buf, STR(", "));
    mosaic_print_type(buf, types[i]);
  }
}

static void print_scalar_type(StrBuf *buf, const MosaicType *type) {
  DClass class = dtype_class(type->dtype);
  if (type->is_index)
    buf_add(buf, STR("index"));
  else if (class == DCLASS_FLOAT)
    buf_add(buf, str_of(dtype_text(type->dtype)));
  else
    buf_printf(buf, "%si%u", class == DCLASS_UNSIGNED ? "u" : "",
               class == DCLASS_PRED ? 1 : dtype_bits(type->dtype));
}

static void print_array_type(StrBuf *buf, const MosaicType *type) {
  buf_add(buf, type->kind == MOSAIC_VECTOR ? STR("vector<") : STR("memref<"));
  for (uint32_t i = 0; i < type->rank; i++) {
    if (type->dims[i] == MOSAIC_DYNAMIC)
      buf_add(buf, STR("?x"));
    else
      buf_printf(buf, "%" PRId64 "x", type->dims[i]);
  }
  mosaic_print_type(buf, type->element);
  if (type->layout != NULL && !str_starts(type->layout->text, "affine_map"))
    buf_printf(buf, ", %.*s", STR_ARG(type->layout->text));
  if (type->space != NULL) buf_printf(buf, ", %.*s", STR_ARG(type->space->text));
  buf_char(buf, '>');
}

void mosaic_print_type(StrBuf *buf, const MosaicType *type) {
  switch (type->kind) {
  case MOSAIC_SCALAR: print_scalar_type(buf, type); return;
  case MOSAIC_VECTOR:
  case MOSAIC_MEMREF: print_array_type(buf, type); return;
  case MOSAIC_SEMAPHORE: buf_add(buf, STR("!tpu.semaphore")); return;
  case MOSAIC_DMA_SEMAPHORE: buf_add(buf, STR("!tpu.dma_semaphore")); return;
  case MOSAIC_FUNCTION:
    buf_char(buf, '(');
    print_list(buf, type->parts, type->n_inputs);
    buf_add(buf, STR(") -> ("));
    print_list(buf, type->parts + type->n_inputs, type->n_results);
    buf_char(buf, ')');
    return;
  case MOSAIC_OTHER: buf_add(buf, type->text); return;
  }
}

static void print_float(StrBuf *buf, int64_t bits, DType dtype) {
  uint32_t low = (uint32_t)bits << (dtype == DTYPE_BF16 ? 16 : 0);
  float value;
  double wide;
  memcpy(&value, &low, sizeof value);
  memcpy(&wide, &bits, sizeof wide);
  if (dtype == DTYPE_F64)
    buf_printf(buf, "%.17g", wide);
  else if (dtype == DTYPE_F32 || dtype == DTYPE_BF16)
    buf_printf(buf, "%.9g", (double)value);
  else
    buf_printf(buf, "0x%" PRIX64, (uint64_t)bits);
}

/* The one number of a splat; else how many bytes there are. */
static void print_elements(StrBuf *buf, const MosaicAttr *attr) {
  uint32_t bytes = dtype_bytes(attr->type->dtype);
  int64_t bits = 0;
  buf_add(buf, STR("dense<"));
  if (attr->raw.n != bytes || bytes > sizeof bits) {
    buf_printf(buf, "%zu bytes", attr->raw.n);
  } else {
    memcpy(&bits, attr->raw.at, bytes);
    if (dtype_class(attr->type->dtype) == DCLASS_FLOAT)
      print_float(buf, bits, attr->type->dtype);
    else
      buf_printf(buf, "%" PRId64, (int64_t)((uint64_t)bits << (64 - 8 * bytes)) >> (64 - 8 * bytes));
  }
  buf_char(buf, '>');
}

static void print_ints(StrBuf *buf, Ints ints) {
  buf_char(buf, '[');
  for (uint32_t i = 0; i < ints.n; i++) buf_printf(buf, "%s%" PRId64, i > 0 ? ", " : "", ints.at[i]);
  buf_char(buf, ']');
}

static void print_items(StrBuf *buf, const MosaicAttr *attr, const char *brackets) {
  buf_char(buf, brackets[0]);
  for (uint32_t i = 0; i < attr->n; i++) {
    if (i > 0) buf_add(buf, STR(", "));
    if (attr->names != NULL) buf_printf(buf, "%.*s = ", STR_ARG(attr->names[i]));
    print_attr(buf, attr->items[i]);
  }
  buf_char(buf, brackets[1]);
}

static void print_attr(StrBuf *buf, const MosaicAttr *attr) {
  switch (attr->kind) {
  case MOSAIC_ATTR_ARRAY: print_items(buf, attr, "[]"); return;
  case MOSAIC_ATTR_DICT: print_items(buf, attr, "{}"); return;
  case MOSAIC_ATTR_STRING: buf_printf(buf, "\"%.*s\"", STR_ARG(attr->text)); return;
  case MOSAIC_ATTR_SYMBOL: buf_printf(buf, "@%.*s", STR_ARG(attr->text)); return;
  case MOSAIC_ATTR_TYPE: mosaic_print_type(buf, attr->type); return;
  case MOSAIC_ATTR_UNIT: buf_add(buf, STR("unit")); return;
  case MOSAIC_ATTR_INTEGER: buf_printf(buf, "%" PRId64, attr->bits); return;
  case MOSAIC_ATTR_FLOAT: print_float(buf, attr->bits, attr->type->dtype); return;
  case MOSAIC_ATTR_INTS: print_ints(buf, attr->ints); return;
  case MOSAIC_ATTR_ELEMENTS: print_elements(buf, attr); return;
  case MOSAIC_ATTR_LOCATION: buf_add(buf, STR("loc")); return;
  case MOSAIC_ATTR_TEXT: buf_add(buf, attr->text); return;
  }
}

static void print_spaces(StrBuf *buf, uint32_t n) {
  for (uint32_t i = 0; i < n; i++) buf_char(buf, ' ');
}

static void print_op(StrBuf *buf, const MosaicOp *op, uint32_t indent) {
  print_spaces(buf, indent);
  for (uint32_t i = 0; i < op->n_results; i++) buf_printf(buf, "%s%%%u", i > 0 ? ", " : "", op->first + i);
  if (op->n_results > 0) buf_add(buf, STR(" = "));
  buf_add(buf, op->name);
  for (uint32_t i = 0; i < op->operands.n; i++)
    buf_printf(buf, "%s%%%u", i > 0 ? ", " : " ", op->operands.at[i]);
  for (uint32_t i = 0; i < op->successors.n; i++) buf_printf(buf, " ^%u", op->successors.at[i]);
  if (op->attrs != NULL && op->attrs->n > 0) {
    buf_char(buf, ' ');
    print_attr(buf, op->attrs);
  }
  if (op->n_results > 0) buf_add(buf, STR(" : "));
  print_list(buf, op->result_types, op->n_results);
  buf_char(buf, '\n');
  for (uint32_t i = 0; i < op->n_regions; i++) print_region(buf, &op->regions[i], indent + 2);
}

static void print_block(StrBuf *buf, const MosaicBlock *block, uint32_t number, uint32_t indent) {
  if (number > 0 || block->n_args > 0) {
    print_spaces(buf, indent - 1);
    buf_printf(buf, "^%u(", number);
    for (uint32_t i = 0; i < block->n_args; i++) {
      buf_printf(buf, "%s%%%u: ", i > 0 ? ", " : "", block->first_arg + i);
      mosaic_print_type(buf, block->arg_types[i]);
    }
    buf_add(buf, STR(")\n"));
  }
  for (uint32_t i = 0; i < block->n_ops; i++) print_op(buf, &block->ops[i], indent);
}

static void print_region(StrBuf *buf, const MosaicRegion *region, uint32_t indent) {
  for (uint32_t i = 0; i < region->n; i++) print_block(buf, &region->blocks[i], i, indent);
}

Str mosaic_print(Arena *arena, const MosaicKernel *kernel) {
  StrBuf buf = {.arena = arena};
  print_op(&buf, kernel->module, 0);
  return buf_str(&buf);
}

/* From a custom call to the kernel that it holds, and what is asked of a kernel's ops. The call's
 * backend_config is JSON, in text or in a quoted string; `body` is the bytecode in base64. */
#include "sim/mosaic/mosaic.h"

#include <string.h>

bool holds_mosaic_kernel(const Instr *instr) {
  return instr->op == OP_CUSTOM_CALL && str_is(instr_custom_call_target(instr), "tpu_custom_call");
}

static int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The bytes that the letters stand for, up to the first that is none. */
static Str base64_decode(Arena *arena, Str text) {
  char *bytes = ARENA_ARRAY(arena, char, text.n);
  size_t n = 0;
  uint32_t bits = 0, n_bits = 0;
  for (size_t i = 0; i < text.n && base64_value(text.at[i]) >= 0; i++) {
    bits = bits << 6 | (uint32_t)base64_value(text.at[i]);
    n_bits += 6;
    if (n_bits < 8) continue;
    n_bits -= 8;
    bytes[n++] = (char)(bits >> n_bits & 0xff);
  }
  return (Str){bytes, n};
}

/* What follows a key, without the quotes, colons and escapes between them; empty where it is not there. */
static Str json_after(Str json, const char *key) {
  const char *found = json.n == 0 ? NULL : memmem(json.at, json.n, key, strlen(key));
  if (found == NULL) return (Str){0};
  size_t at = (size_t)(found - json.at) + strlen(key);
  while (at < json.n && strchr("\\\": \t\n", json.at[at]) != NULL) at++;
  return str_sub(json, at, json.n);
}

bool mosaic_communicates(const Instr *instr) {
  return holds_mosaic_kernel(instr) &&
         str_starts(json_after(instr_word(instr, ATTR_backend_config), "has_communication"), "true");
}

Status mosaic_read(Arena *arena, const Instr *instr, MosaicKernel *kernel, Diag *diag) {
  Str body = json_after(instr_word(instr, ATTR_backend_config), "\"body");
  if (body.n == 0) body = json_after(instr_word(instr, ATTR_backend_config), "body");
  RETURN_IF(body.n == 0, diag_fail(diag, STATUS_INVALID, instr->place, "--numbers off simulates its time",
                                   "%.*s: its backend_config holds no kernel", STR_ARG(instr->name)));
  return mosaic_read_bytecode(arena, base64_decode(arena, body), instr->name, instr->place, kernel, diag);
}

const MosaicOp *mosaic_function(const MosaicKernel *kernel, Str name) {
  const MosaicBlock *body = &kernel->module->regions[0].blocks[0];
  for (uint32_t i = 0; i < body->n_ops; i++) {
    const MosaicOp *op = &body->ops[i];
    const MosaicAttr *symbol = mosaic_attr(op, "sym_name");
    if (str_is(op->name, "func.func") && symbol != NULL && str_eq(symbol->text, name)) return op;
  }
  return NULL;
}

const MosaicAttr *mosaic_item(const MosaicAttr *dict, const char *name) {
  if (dict == NULL || dict->kind != MOSAIC_ATTR_DICT) return NULL;
  for (uint32_t i = 0; i < dict->n; i++) {
    if (str_is(dict->names[i], name)) return dict->items[i];
  }
  return NULL;
}

const MosaicAttr *mosaic_attr(const MosaicOp *op, const char *name) {
  return mosaic_item(op->attrs, name);
}

int64_t mosaic_int(const MosaicOp *op, const char *name, int64_t fallback) {
  const MosaicAttr *attr = mosaic_attr(op, name);
  return attr != NULL && attr->kind == MOSAIC_ATTR_INTEGER ? attr->bits : fallback;
}

bool mosaic_flag(const MosaicOp *op, const char *name) {
  const MosaicAttr *attr = mosaic_attr(op, name);
  return attr != NULL && (attr->kind == MOSAIC_ATTR_UNIT || mosaic_int(op, name, 0) != 0);
}

Ints mosaic_ints(const MosaicOp *op, const char *name) {
  const MosaicAttr *attr = mosaic_attr(op, name);
  return attr != NULL && attr->kind == MOSAIC_ATTR_INTS ? attr->ints : (Ints){0};
}

Str mosaic_enum(const MosaicAttr *attr) {
  if (attr == NULL || attr->kind != MOSAIC_ATTR_TEXT) return (Str){0};
  size_t open = str_find(attr->text, '<');
  return str_sub(attr->text, open + 1, attr->text.n == 0 ? 0 : attr->text.n - 1);
}

/* The first place in a file that a location tells. */
static const MosaicAttr *file_of(const MosaicAttr *location) {
  if (location == NULL || location->kind != MOSAIC_ATTR_LOCATION) return NULL;
  if (location->line > 0) return location;
  for (uint32_t i = 0; i < location->n; i++) {
    const MosaicAttr *file = file_of(location->items[i]);
    if (file != NULL) return file;
  }
  return NULL;
}

static Str file_text(Arena *arena, const MosaicAttr *file) {
  return str_printf(arena, "%.*s:%lld:%lld", STR_ARG(file->text), (long long)file->line,
                    (long long)file->column);
}

/* JAX writes no place for what its own functions make (sync_copy): then the last one before it says where to
 * look. */
Str mosaic_place(Arena *arena, const MosaicOp *op) {
  const MosaicAttr *file = file_of(op->location);
  if (file != NULL && file->text.n > 0) return file_text(arena, file);
  for (const MosaicOp *before = op->before; before != NULL; before = before->before) {
    file = file_of(before->location);
    if (file != NULL && file->text.n > 0)
      return str_printf(arena, "byte %zu of the kernel, after %.*s", op->offset,
                        STR_ARG(file_text(arena, file)));
  }
  return str_printf(arena, "byte %zu of the kernel", op->offset);
}

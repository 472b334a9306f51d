/* Fuzz target: any kernel that is read runs on zeros to its end, or is refused with an error; never past
 * memory. */
#include "sim/eval/pallas_kernel.h"
#include "sim/mosaic/mosaic.h"

#include <stdlib.h>

enum { MOST_OPS = 2000, MOST_ELEMENTS = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static Str as_base64(Arena *arena, const uint8_t *data, size_t n) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  StrBuf buf = {.arena = arena};
  buf_add(&buf, STR("{\"custom_call_config\": {\"body\": \""));
  for (size_t i = 0; i < n; i += 3) {
    uint32_t word = (uint32_t)data[i] << 16 | (i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0) |
                    (i + 2 < n ? data[i + 2] : 0);
    for (size_t k = 0; k < (n - i < 3 ? n - i : 3) + 1; k++)
      buf_char(&buf, letters[word >> (18 - 6 * k) & 63]);
  }
  buf_add(&buf, STR("\"}}"));
  return buf_str(&buf);
}

/* The shape of an argument that is memory; NULL where it is none, or large. */
static const Shape *shape_of(Arena *arena, const MosaicType *type) {
  int64_t elements = 1;
  if (type->kind != MOSAIC_MEMREF || type->element->kind != MOSAIC_SCALAR) return NULL;
  for (uint32_t d = 0; d < type->rank; d++) {
    if (type->dims[d] < 0 || __builtin_mul_overflow(elements, type->dims[d], &elements) ||
        elements > MOST_ELEMENTS)
      return NULL;
  }
  return shape_array(arena, type->dtype, type->dims, type->rank);
}

/* A call of the kernel: the last argument that is memory is its result, those before it are operands. */
static void run(Arena *arena, const MosaicKernel *kernel, Str config) {
  const MosaicBlock *body = kernel->main->n_regions == 1 && kernel->main->regions[0].n > 0
                                ? &kernel->main->regions[0].blocks[0]
                                : NULL;
  int64_t scratch = mosaic_int(kernel->main, "scratch_operands", 0);
  if (body == NULL || scratch < 0 || scratch > body->n_args) return;
  uint32_t count = body->n_args - (uint32_t)scratch, n = 0;
  const Shape **shapes = ARENA_ARRAY(arena, const Shape *, count + 1);
  for (uint32_t i = 0; i < count; i++) {
    const Shape *shape = shape_of(arena, body->arg_types[i]);
    if (shape != NULL) shapes[n++] = shape;
  }
  if (n == 0) return;
  Module *module = module_new(STR("fuzz"));
  uint32_t comp = module_add_comp(module, STR("main"));
  uint32_t *operands = ARENA_ARRAY(arena, uint32_t, n);
  Tensor **tensors = ARENA_ARRAY(arena, Tensor *, n), *result = NULL;
  for (uint32_t i = 0; i + 1 < n; i++) {
    operands[i] = comp_add_parameter(module, comp, i, (Str){0}, shapes[i]);
    tensors[i] = tensor_new(shapes[i], true);
    for (size_t k = 0; k < tensors[i]->bytes; k++) tensors[i]->data[k] = 0;
  }
  uint32_t call = comp_add(module, comp, OP_CUSTOM_CALL, STR("kernel"), shapes[n - 1], operands, n - 1);
  instr_set_word(module, comp_instr(module, comp, call), ATTR_backend_config, config);
  Diag *diag = diag_new();
  EvalContext context = {.module = module, .comp = comp, .diag = diag};
  PallasMeeting meeting = {.instr = comp_instr(module, comp, call),
                           .devices = 1,
                           .operands = (Tensor *const *const *)&tensors,
                           .context = &context,
                           .op_limit = MOST_OPS};
  Status status = pallas_kernel_values(&meeting, &result);
  if ((status == STATUS_OK) != (diag_error_text(diag).n == 0)) abort();
  tensor_release(result);
  for (uint32_t i = 0; i + 1 < n; i++) tensor_release(tensors[i]);
  diag_free(diag);
  module_free(module);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
  Arena *arena = arena_new();
  Diag *diag = diag_new();
  MosaicKernel kernel;
  if (mosaic_read_bytecode(arena, (Str){(const char *)data, n}, STR("fuzz"), NOWHERE, &kernel, diag) ==
      STATUS_OK)
    run(arena, &kernel, as_base64(arena, data, n));
  diag_free(diag);
  arena_free(arena);
  return 0;
}

/* What an opaque kernel demands: by its author's estimate, else by the shapes of its operands. */
#include "models/kernel_model.h"

#include "sim/read/program.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* "tpu.matmul" among other bytes, at each of the three places that base64 can cut it. */
static const char *const bodies[] = {"AHRwdS5tYXRtdWwA", "YWFhdHB1Lm1hdG11bA==", "YWF0cHUubWF0bXVs",
                                     "YWFhYXRwdS5tYXRtdWw="};

typedef struct {
  Arena *arena;
  Module *module;
} Program;

static Program program_of(const char *shapes, const char *result, const char *config) {
  Arena *arena = arena_new();
  StrBuf text = {.arena = arena};
  buf_add(&text, STR("HloModule m\nENTRY e {\n"));
  StrBuf operands = {.arena = arena};
  char copy[512];
  snprintf(copy, sizeof copy, "%s", shapes);
  int n = 0, parameters = 0;
  for (char *shape = strtok(copy, " "); shape != NULL; shape = strtok(NULL, " "), n++) {
    char *values = strchr(shape, '=');
    if (values != NULL) *values++ = '\0';
    if (values == NULL)
      buf_printf(&text, "  p%d = %s parameter(%d)\n", n, shape, parameters++);
    else
      buf_printf(&text, "  p%d = %s constant(%s)\n", n, shape, values);
    buf_printf(&operands, "%sp%d", n == 0 ? "" : ", ", n);
  }
  buf_printf(
      &text,
      "  ROOT k = %s custom-call(%.*s), custom_call_target=\"tpu_custom_call\", backend_config=%s\n}\n",
      result, (int)operands.n, operands.at, config);
  Diag *diag = diag_new();
  Source source = {.name = STR("test.hlo"), .text = buf_str(&text)};
  Source *kept = arena_copy(arena, &source, sizeof source);
  Program program = {arena, NULL};
  cr_assert_eq(program_read(kept, &read_limits_default, &program.module, diag), STATUS_OK, "%s",
               diag_error_text(diag).at);
  diag_free(diag);
  return program;
}

static KernelCost cost_of(const char *shapes, const char *result, const char *config) {
  Program program = program_of(shapes, result, config);
  const Comp *entry = module_entry(program.module);
  const Instr *kernel = &entry->instrs.at[entry->root];
  cr_assert(holds_mosaic_kernel(kernel));
  KernelCost cost = kernel_cost(program.module, program.module->entry, kernel);
  module_free(program.module);
  arena_free(program.arena);
  return cost;
}

static const char *config_with(const char *body, const char *rest) {
  static char text[512];
  snprintf(text, sizeof text, "{\"custom_call_config\": {\"body\": \"%s\"%s}}", body, rest);
  return text;
}

Test(kernel_model, the_author_s_estimate_counts) {
  const char *estimate =
      ", \"cost_estimate\": {\n\"bytes_accessed\":999424,\n\"flops\":12345678,\n\"transcendentals\":77\n}";
  KernelCost cost = cost_of("f32[256,128] f32[256,128]", "f32[256,128]", config_with("QUJD", estimate));
  cr_assert_eq(cost.basis, KERNEL_ESTIMATED);
  cr_assert_not(cost.has_products);
  cr_assert_eq(cost.flops, 12345678);
  cr_assert_eq(cost.transcendentals, 77);
  cr_assert_eq(cost.hbm_bytes, 999424);
}

Test(kernel_model, products_are_seen_in_the_body) {
  const char *estimate = ", \"cost_estimate\": {\"flops\": 1000}";
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
    cr_assert(cost_of("f32[8,8]", "f32[8,8]", config_with(bodies[i], estimate)).has_products, "%s",
              bodies[i]);
}

Test(kernel_model, attention_is_guessed_by_its_shapes) {
  KernelCost cost = cost_of("s32[8] bf16[2,4,512,128] bf16[2,4,256,128] bf16[2,4,256,64]", "bf16[2,4,512,64]",
                            config_with(bodies[0], ""));
  cr_assert_eq(cost.basis, KERNEL_ATTENTION);
  cr_assert_eq(cost.flops, 2.0 * 8 * 512 * 256 * (128 + 64));
  cr_assert_eq(cost.transcendentals, 8.0 * 512 * 256);
}

/* One kernel for the gradients of keys and values alone, or with parts of that of the queries. */
Test(kernel_model, attention_s_gradients_are_guessed_by_its_results) {
  const char *operands =
      "bf16[4,512,128] bf16[4,512,128] bf16[4,512,128] f32[4,512] bf16[4,512,128] f32[4,512]";
  KernelCost apart = cost_of(operands, "(bf16[4,512,128], bf16[4,512,128])", config_with(bodies[0], ""));
  KernelCost fused =
      cost_of(operands, "(bf16[2,4,512,128], bf16[4,512,128], bf16[4,512,128])", config_with(bodies[0], ""));
  cr_assert_eq(apart.flops, 4 * 4.0 * 512 * 512 * 256);
  cr_assert_eq(fused.flops, 5 * 4.0 * 512 * 512 * 256);
}

/* As splash attention has it for a causal mask of 2 x 2 blocks, and for one of a band, whose rows need two of
 * four blocks each. */
Test(kernel_model, attention_counts_the_blocks_that_a_mask_leaves) {
  KernelCost causal = cost_of(
      "s8[1,2,2]={{{0,0},{0,1}}} s8[1,2,2]={{{1,0},{2,1}}} bf16[4,512,128] bf16[4,512,128] bf16[4,512,128]",
      "bf16[4,512,128]", config_with(bodies[0], ""));
  cr_assert_eq(causal.basis, KERNEL_MASKED_ATTENTION);
  cr_assert_eq(causal.transcendentals, 4.0 * 512 * 512 * 3 / 4);
  cr_assert_eq(causal.flops, 4.0 * 128 * causal.transcendentals);
  KernelCost band =
      cost_of("s8[1,4,2]={{{0,0},{0,1},{1,2},{2,3}}} s8[1,4,2]={{{1,0},{1,1},{1,1},{1,1}}} bf16[4,512,128] "
              "bf16[4,512,128] bf16[4,512,128]",
              "bf16[4,512,128]", config_with(bodies[0], ""));
  cr_assert_eq(band.transcendentals, 4.0 * 512 * 512 * 7 / 16);
  KernelCost whole = cost_of(
      "s8[1,2,2]={{{0,1},{0,1}}} s8[1,2,2]={{{2,2},{2,2}}} bf16[4,512,128] bf16[4,512,128] bf16[4,512,128]",
      "bf16[4,512,128]", config_with(bodies[0], ""));
  cr_assert_eq(whole.basis, KERNEL_ATTENTION);
}

Test(kernel_model, a_grouped_product_is_guessed_by_its_shapes) {
  KernelCost cost =
      cost_of("s32[8] bf16[512,256] bf16[8,256,1024]", "f32[512,1024]", config_with(bodies[0], ""));
  cr_assert_eq(cost.basis, KERNEL_PRODUCT);
  cr_assert_eq(cost.flops, 2.0 * 512 * 256 * 1024);
}

Test(kernel_model, without_products_bytes_are_all_that_is_known) {
  KernelCost cost = cost_of("bf16[512,256] bf16[256,512]", "bf16[512,512]", config_with("QUJD", ""));
  cr_assert_eq(cost.basis, KERNEL_BYTES);
  cr_assert_eq(cost.flops, 0);
}

/* The table of values that the engine runs on: parameters cut to shards, ops, outputs put together. */
#include "sim/eval/evaluate.h"
#include "sim/read/program.h"
#include "sim/values.h"

#include <criterion/criterion.h>

static Arena *arena;
static Diag *diag;
static Module *module;
static Partitioned partitioned;
static Values *values;

/* On a mesh x=2, y=2: p is sharded along x, q along both of its dimensions, k is not known to be sharded. */
static const char text[] =
    "HloModule m, is_scheduled=true, num_partitions=4\n"
    "f { a = f32[1,2] parameter(0)\n b = f32[1,2] parameter(1)\n ROOT c = f32[1,2] add(a, b) }\n"
    "ENTRY main {\n p = f32[1,2] parameter(0)\n q = f32[1,1] parameter(1)\n"
    " k = s32[] parameter(2)\n d = u32[] partition-id()\n two = s32[] constant(2)\n"
    " n = s32[] add(two, two)\n fused = f32[1,2] fusion(p, p), kind=kLoop, calls=f\n"
    " odd = f32[1,2] custom-call(p), custom_call_target=\"nobody_knows\"\n"
    " room = f32[64,64] custom-call(), custom_call_target=\"AllocateBuffer\"\n"
    " whole = f32[2,2] custom-call(p, p), custom_call_target=\"ConcatBitcast\"\n"
    " narrow = bf16[1,2] convert(p)\n back = f32[1,2] convert(narrow)\n"
    " asked = bf16[1,2] convert(p), metadata={op_name=\"jit(f)/convert_element_type\"}\n"
    " ROOT r = (f32[1,2], f32[1,1], s32[]) tuple(p, q, k)\n}\n";

static const Sharding *sharding_of(const char *spec, const Mesh *mesh, uint32_t rank) {
  const Sharding *sharding;
  cr_assert_eq(sharding_parse_spec(arena, str_of(spec), mesh, rank, &sharding, diag), STATUS_OK);
  return sharding;
}

static void set_up(void) {
  arena = arena_new();
  diag = diag_new();
  Source *source = ARENA_NEW(arena, Source);
  *source = (Source){STR("test.hlo"), str_of(text)};
  cr_assert_eq(hlo_read(source, &read_limits_default, &module, diag), STATUS_OK, "%.*s",
               STR_ARG(diag_error_text(diag)));
  const Mesh *mesh;
  cr_assert_eq(mesh_parse(arena, STR("x=2,y=2"), &mesh, diag), STATUS_OK);
  const Sharding **shardings = ARENA_ARRAY(arena, const Sharding *, 3);
  const Shape **globals = ARENA_ARRAY(arena, const Shape *, 3);
  shardings[0] = sharding_of("P('x')", mesh, 2);
  shardings[1] = sharding_of("P('x', 'y')", mesh, 2);
  globals[0] = globals[1] = shape_array(arena, DTYPE_F32, (int64_t[]){2, 2}, 2);
  globals[2] = shape_scalar(arena, DTYPE_S32);
  partitioned = (Partitioned){.module = module,
                              .mesh = mesh,
                              .params = shardings,
                              .outputs = shardings,
                              .n_params = 3,
                              .n_outputs = 3,
                              .global_params = globals,
                              .global_outputs = globals};
  values = NULL;
}

static void tear_down(void) {
  values_free(values);
  module_free(module);
  diag_free(diag);
  arena_free(arena);
}

TestSuite(values, .init = set_up, .fini = tear_down);

static void start(bool numbers) {
  Tensor *inputs[3];
  for (uint32_t p = 0; p < 3; p++) {
    inputs[p] = tensor_new(partitioned.global_params[p], true);
    for (int64_t i = 0; i < tensor_elements(inputs[p]); i++)
      tensor_set_double(inputs[p], i, (double)(10 * p + i));
  }
  cr_assert_eq(values_new(&partitioned, 4, numbers ? inputs : NULL, diag, &values), STATUS_OK, "%.*s",
               STR_ARG(diag_error_text(diag)));
  for (int p = 0; p < 3; p++) tensor_release(inputs[p]);
}

static const Instr *named(const char *name) {
  const Comp *entry = module_entry(module);
  uint32_t i = 0;
  while (i < entry->instrs.n && !str_is(entry->instrs.at[i].name, name)) i++;
  cr_assert_lt(i, entry->instrs.n, "no %s", name);
  return &entry->instrs.at[i];
}

static Status evaluate(const char *name, uint32_t chip, Value *const *operands, Value **result) {
  const ValueOps *ops = values_ops(values);
  return ops->evaluate(ops->self, chip, module->entry, named(name), operands, NULL, result);
}

Test(values, parameters_are_shards_and_shared) {
  start(true);
  const ValueOps *ops = values_ops(values);
  Value *p[4], *q[4];
  for (uint32_t c = 0; c < 4; c++) {
    p[c] = ops->parameter(ops->self, c, 0);
    q[c] = ops->parameter(ops->self, c, 1);
    cr_assert_eq(((const float *)ops->bytes(ops->self, p[c]))[0], (float)(c / 2 * 2));
    cr_assert_eq(((const float *)ops->bytes(ops->self, q[c]))[0], (float)(10 + c));
  }
  cr_assert(p[0] == p[1] && p[2] == p[3] && p[0] != p[2]);
  for (uint32_t c = 0; c < 4; c++) {
    ops->release(ops->self, p[c]);
    ops->release(ops->self, q[c]);
  }
}

Test(values, outputs_are_put_together) {
  start(true);
  const ValueOps *ops = values_ops(values);
  Value *roots[4];
  for (uint32_t c = 0; c < 4; c++) {
    Value *parts[3];
    for (uint32_t p = 0; p < 3; p++) parts[p] = ops->parameter(ops->self, c, p);
    roots[c] = ops->tuple(ops->self, parts, 3);
    for (uint32_t p = 0; p < 3; p++) ops->release(ops->self, parts[p]);
  }
  Tensor *outputs[3];
  cr_assert_eq(values_collect_outputs(values, roots, outputs), STATUS_OK);
  for (int i = 0; i < 4; i++) {
    cr_assert_eq(tensor_double_at(outputs[0], i), i);
    cr_assert_eq(tensor_double_at(outputs[1], i), 10 + i);
    cr_assert_eq(tensor_int_at(outputs[2], i), 20);
  }
  cr_assert(outputs[2]->rank == 1 && outputs[2]->dims[0] == 4);
  for (int i = 0; i < 3; i++) tensor_release(outputs[i]);
  for (uint32_t c = 0; c < 4; c++) ops->release(ops->self, roots[c]);
}

Test(values, ops_know_their_chip_and_fusions_run) {
  start(true);
  const ValueOps *ops = values_ops(values);
  Value *id, *fused, *p = ops->parameter(ops->self, 2, 0);
  cr_assert_eq(evaluate("d", 3, NULL, &id), STATUS_OK);
  int64_t number;
  cr_assert(ops->integer(ops->self, id, &number) && number == 3);
  cr_assert_eq(evaluate("fused", 2, (Value *[]){p, p}, &fused), STATUS_OK);
  cr_assert_eq(((const float *)ops->bytes(ops->self, fused))[1], 6);
  cr_assert_not(ops->integer(ops->self, fused, &number));
  ops->release(ops->self, id);
  ops->release(ops->self, fused);
  ops->release(ops->self, p);
}

/* 257 takes nine bits; bf16 has eight. */
static float rounded_and_back(const char *convert, bool excess_precision) {
  values_set_excess_precision(values, excess_precision);
  const ValueOps *ops = values_ops(values);
  Tensor *p = tensor_new(named("p")->shape, true);
  for (int64_t i = 0; i < 2; i++) tensor_set_double(p, i, 257);
  Value *narrow, *back, *settled;
  cr_assert_eq(evaluate(convert, 0, (Value *[]){p}, &narrow), STATUS_OK);
  cr_assert_eq(evaluate("back", 0, &narrow, &back), STATUS_OK);
  settled = ops->settled(ops->self, narrow, named(convert)->shape);
  cr_assert_eq(((const Tensor *)settled)->dtype, DTYPE_BF16);
  cr_assert_eq(tensor_double_at(settled, 0), 256);
  float value = ((const float *)ops->bytes(ops->self, back))[1];
  Value *all[] = {p, narrow, back, settled};
  for (int i = 0; i < 4; i++) ops->release(ops->self, all[i]);
  return value;
}

Test(values, excess_precision_leaves_out_what_only_a_compiler_rounds) {
  start(true);
  cr_assert_eq(rounded_and_back("narrow", false), 256);
  cr_assert_eq(rounded_and_back("narrow", true), 257);
  cr_assert_eq(rounded_and_back("asked", true), 256);
}

Test(values, collectives_carry_narrow_floats_as_f32_in_excess_precision) {
  start(true);
  const ValueOps *ops = values_ops(values);
  values_set_excess_precision(values, true);
  cr_expect_eq(ops->carried(ops->self, DTYPE_BF16), DTYPE_F32);
  cr_expect_eq(ops->carried(ops->self, DTYPE_F64), DTYPE_F64);
  cr_expect_eq(ops->carried(ops->self, DTYPE_S8), DTYPE_S8);
  values_set_excess_precision(values, false);
  cr_expect_eq(ops->carried(ops->self, DTYPE_BF16), DTYPE_BF16);
}

static bool is_known(const char *name, Value *const *operands) {
  const ValueOps *ops = values_ops(values);
  Value *result;
  cr_assert_eq(evaluate(name, 0, operands, &result), STATUS_OK);
  bool known = ops->bytes(ops->self, result) != NULL;
  ops->release(ops->self, result);
  return known;
}

Test(values, without_numbers_custom_calls_are_unknown) {
  start(false);
  const ValueOps *ops = values_ops(values);
  Value *p = ops->parameter(ops->self, 0, 0);
  cr_expect_not(is_known("odd", &p));
  cr_expect_not(is_known("room", NULL));
  cr_expect_not(is_known("whole", (Value *[]){p, p}));
  ops->release(ops->self, p);
}

Test(values, without_numbers_only_small_constants_are_known) {
  start(false);
  const ValueOps *ops = values_ops(values);
  Value *p = ops->parameter(ops->self, 0, 0), *two, *n, *fused;
  cr_assert_null(ops->bytes(ops->self, p));
  cr_assert_eq(evaluate("two", 0, NULL, &two), STATUS_OK);
  cr_assert_eq(evaluate("n", 0, (Value *[]){two, two}, &n), STATUS_OK);
  int64_t number;
  cr_assert(ops->integer(ops->self, n, &number) && number == 4);
  cr_assert_eq(evaluate("fused", 0, (Value *[]){p, p}, &fused), STATUS_OK);
  cr_assert_null(ops->bytes(ops->self, fused));
  Value *all[] = {p, two, n, fused};
  for (int i = 0; i < 4; i++) ops->release(ops->self, all[i]);
}

Test(values, errors_reach_the_diag) {
  start(true);
  const ValueOps *ops = values_ops(values);
  Value *p = ops->parameter(ops->self, 0, 0), *result;
  cr_assert_eq(evaluate("odd", 0, &p, &result), STATUS_INVALID);
  cr_assert_null(result);
  cr_assert_not_null(strstr(str_terminated(arena, diag_error_text(diag)), "test.hlo:13:2"), "%.*s",
                     STR_ARG(diag_error_text(diag)));
  ops->release(ops->self, p);
}

Test(values, a_sharding_that_does_not_fit_is_refused) {
  partitioned.params[0] = partitioned.params[1];
  Tensor *inputs[3];
  for (uint32_t p = 0; p < 3; p++) inputs[p] = tensor_new(partitioned.global_params[p], true);
  cr_assert_eq(values_new(&partitioned, 4, inputs, diag, &values), STATUS_INVALID);
  for (uint32_t p = 0; p < 3; p++) tensor_release(inputs[p]);
}

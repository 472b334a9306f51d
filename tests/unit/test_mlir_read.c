/* The StableHLO reader. The cases are files: what tests/golden/mlir/NAME.mlir becomes is printed as HLO text
 * in NAME.print; tests/golden/mlir_errors/NAME.mlir is refused with the error NAME.error. */
#include "golden_files.h"

#include "sim/ir/verify.h"

static void check_valid(Bench bench, const char *path) {
  Module *module = read_text(bench, base_name(path), file_text(bench, path));
  cr_assert_eq(module_verify(module, bench.diag), STATUS_OK, "%.*s", STR_ARG(diag_error_text(bench.diag)));
  module_free(module);
}

Test(mlir, golden_texts_become_these_modules) {
  each_file(TESTS_DIR "/golden/mlir/*.mlir", check_print);
}

Test(mlir, what_is_read_is_valid) {
  each_file(TESTS_DIR "/golden/mlir/*.mlir", check_valid);
}

Test(mlir, malformed_texts_are_refused) {
  each_file(TESTS_DIR "/golden/mlir_errors/*.mlir", check_refused);
}

static Module *read_golden(Bench bench, const char *name) {
  const char *path = str_printf(bench.arena, "%s/golden/mlir/%s", TESTS_DIR, name).at;
  return read_text(bench, name, file_text(bench, path));
}

/* The first instruction of an opcode, in any computation. */
static const Instr *first_of(const Module *module, Opcode op) {
  for (uint32_t c = 0; c < module->comps.n; c++) {
    const Comp *comp = module_comp(module, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) {
      if (comp->instrs.at[i].op == op) return &comp->instrs.at[i];
    }
  }
  cr_assert_fail("no %s", op_text(op));
  return NULL;
}

Test(mlir, locations_give_the_origin) {
  Bench bench = bench_new();
  Module *module = read_golden(bench, "global_mean_locations.mlir");
  const Instr *reduce = first_of(module, OP_ALL_REDUCE);
  cr_expect(str_is(reduce->origin.op_name, "psum_invariant"));
  cr_expect(str_is(reduce->origin.file, "visible.py"));
  cr_expect_eq(reduce->origin.line, 8);
  cr_expect(str_is(first_of(module, OP_CUSTOM_CALL)->origin.op_name, "jit(_)/shard_map"));
  const Comp *entry = module_entry(module);
  cr_expect(str_is(entry->instrs.at[entry->params.at[0]].origin.op_name, "x"));
  module_free(module);
  bench_free(bench);
}

Test(mlir, locations_change_nothing_but_the_origin) {
  Bench bench = bench_new();
  Module *with = read_golden(bench, "jax_nestsm_locations.mlir"),
         *without = read_golden(bench, "jax_nestsm.mlir");
  for (uint32_t c = 0; c < with->comps.n; c++) {
    Comp *comp = module_comp(with, c);
    for (uint32_t i = 0; i < comp->instrs.n; i++) instr_unset(&comp->instrs.at[i], ATTR_metadata);
  }
  assert_same(module_print(bench.arena, with), module_print(bench.arena, without), "jax_nestsm");
  module_free(with);
  module_free(without);
  bench_free(bench);
}

Test(mlir, a_number_for_all_elements_takes_no_room) {
  Bench bench = bench_new();
  Module *module = read_golden(bench, "literals.mlir");
  cr_expect_lt(arena_used(module->arena), 1 << 20);
  module_free(module);
  bench_free(bench);
}

Test(mlir, what_a_loop_does_not_change_is_not_what_it_gives_back) {
  Bench bench = bench_new();
  Module *module = read_golden(bench, "two_level_loop.mlir");
  const Instr *loop = first_of(module, OP_WHILE);
  cr_expect_eq(loop->shape->rank, 4, "a counter, an array, and two values of the code around");
  cr_expect_eq(instr_called(bench.arena, loop).n, 2);
  module_free(module);
  bench_free(bench);
}

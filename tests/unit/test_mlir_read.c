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

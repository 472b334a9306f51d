/* The HLO reader and printer. The cases are files: tests/golden/hlo/NAME.hlo prints as NAME.print (itself
 * where there is none); tests/golden/hlo_errors/NAME.hlo is refused with the error NAME.error. */
#include "golden_files.h"

#include <zlib.h>

Test(hlo, golden_texts_print_as_written) {
  each_file(TESTS_DIR "/golden/hlo/*.hlo", check_print);
}

Test(hlo, malformed_texts_are_refused) {
  each_file(TESTS_DIR "/golden/hlo_errors/*.hlo", check_refused);
}

/* What the tests below look at: the instruction of the entry with that name. */
static const Instr *instr_named(const Module *module, const char *name) {
  uint32_t at = comp_find(module_entry(module), str_of(name));
  cr_assert_neq(at, NO_ID, "no instruction %s", name);
  return &module_entry(module)->instrs.at[at];
}

static Module *read_golden(Bench bench, const char *name) {
  const char *path = str_printf(bench.arena, "%s/golden/hlo/%s", TESTS_DIR, name).at;
  return read_text(bench, name, file_text(bench, path));
}

static uint32_t f32_bits_at(const Module *module, const char *name, size_t at) {
  uint32_t bits;
  memcpy(&bits, (const char *)instr_named(module, name)->literal->data + at * sizeof bits, sizeof bits);
  return bits;
}

Test(hlo, literals_have_the_bits_that_are_written) {
  Bench bench = bench_new();
  Module *module = read_golden(bench, "literals.hlo");
  const uint32_t specials[] = {0x7fc00000, 0xffc00000, 0x7fc00001, 0xffffffff, 0x7f800000, 0xff800000};
  for (size_t i = 0; i < 6; i++) cr_expect_eq(f32_bits_at(module, "h", i), specials[i]);
  cr_expect_eq(f32_bits_at(module, "ad", 0), 1, "the least denormal");
  cr_expect_eq(f32_bits_at(module, "ad", 2), 0x7f7fffff, "the largest float");
  cr_expect_eq(f32_bits_at(module, "w", 5), 0x40d00000, "6.5 is the sixth, row-major");
  const uint16_t halves[] = {0x7e00, 0xfe01, 0x7bff};
  cr_expect_arr_eq(instr_named(module, "i")->literal->data, halves, sizeof halves);
  const int8_t nibbles[] = {-8, 7, 0};
  cr_expect_arr_eq(instr_named(module, "b")->literal->data, nibbles, sizeof nibbles);
  const uint64_t large[] = {UINT64_MAX, 0};
  cr_expect_arr_eq(instr_named(module, "f")->literal->data, large, sizeof large);
  const Literal *tuple = instr_named(module, "y")->literal;
  cr_expect_eq(literal_int_at(tuple->parts[1]->parts[0], 0), 3);
  cr_expect(instr_named(module, "aa")->literal->elided);
  module_free(module);
  bench_free(bench);
}

Test(hlo, attributes_have_the_values_that_are_written) {
  Bench bench = bench_new();
  Module *module = read_golden(bench, "attributes.hlo");
  Window window = instr_window(instr_named(module, "conv2"));
  cr_assert_eq(window.n, 2);
  cr_expect_eq(window.at[0].size, 3);
  cr_expect_eq(window.at[0].stride, 3);
  cr_expect_eq(window.at[0].pad_low, -1);
  cr_expect_eq(window.at[1].pad_high, 1);
  cr_expect_eq(window.at[0].rhs_dilate, 2);
  cr_expect_eq(window.at[1].lhs_dilate, 1);
  cr_expect(window.at[0].reversal);
  const ConvLabels *labels = instr_attr(instr_named(module, "conv"), ATTR_dim_labels)->labels;
  cr_expect_eq(labels->rhs_output_feature, 3);
  cr_expect_eq(labels->out_spatial.at[1], 2);
  Slices slices = instr_slices(instr_named(module, "sl"));
  cr_expect(slices.n == 1 && slices.at[0].limit == 8 && slices.at[0].stride == 4);
  Padding padding = instr_padding(instr_named(module, "pad"));
  cr_expect(padding.n == 1 && padding.at[0].low == 1 && padding.at[0].high == -4 &&
            padding.at[0].interior == 1);
  cr_expect_eq(instr_comps(instr_named(module, "cd2"), ATTR_branch_computations).n, 2);
  cr_expect_eq(instr_ints(instr_named(module, "ga"), ATTR_slice_sizes).at[0], 1);
  cr_expect(str_is(instr_custom_call_target(instr_named(module, "cc")), "foo\nA"));
  const Instr *fusion = instr_named(module, "fu");
  cr_expect(str_is(fusion->origin.op_name, "a/b\"c"));
  cr_expect(str_is(fusion->origin.file, "x.py"));
  cr_expect_eq(fusion->origin.line, 3);
  module_free(module);
  bench_free(bench);
}

Test(hlo, shardings_and_groups_of_all_generations) {
  Bench bench = bench_new();
  Module *module = read_golden(bench, "tile_shardings.hlo");
  const HloSharding *iota = instr_sharding(instr_named(module, "f"));
  cr_expect_eq(iota->kind, HLO_SHARDING_TILED);
  cr_expect(iota->last_tile_dim_replicate);
  cr_expect(iota->tile_dims.n == 3 && iota->tile_dims.at[2] == 2);
  cr_expect(iota->devices.reshape.n == 2 && iota->devices.perm.at[0] == 1);
  const HloSharding *subgroups = instr_sharding(instr_named(module, "g"));
  cr_expect(subgroups->n_last_tile_dims == 2 && subgroups->last_tile_dims[0] == SUBGROUP_MANUAL);
  cr_expect_eq(instr_sharding(instr_named(module, "b"))->device, 3);
  cr_expect_eq(instr_sharding(instr_named(module, "j"))->parts[1]->kind, HLO_SHARDING_REPLICATED);
  module_free(module);

  module = read_golden(bench, "named_shardings.hlo");
  const HloSharding *named = instr_sharding(instr_named(module, "a"));
  cr_expect_eq(named->kind, HLO_SHARDING_NAMED);
  cr_expect(named->n_dims == 2 && named->dims[1].open && named->dims[1].at[0].pre == 2);
  cr_expect(str_is(named->replicated.at[0].name, "b"));
  cr_expect(str_is(instr_sharding(instr_named(module, "d"))->unreduced_kind, "max"));
  cr_expect(str_is(instr_sharding(instr_named(module, "h"))->dims[0].at[0].name, "a"), "told by its index");
  cr_expect_eq(instr_sharding(instr_named(module, "e"))->device, 5);
  module_free(module);

  module = read_golden(bench, "replica_groups.hlo");
  GroupList groups = instr_groups(bench.arena, instr_named(module, "d"), 8);
  const uint32_t columns[] = {0, 4, 1, 5, 2, 6, 3, 7};
  cr_expect(groups.n == 4);
  cr_expect_arr_eq(groups.ids, columns, sizeof columns);
  module_free(module);
  bench_free(bench);
}

Test(hlo, stack_frames_give_the_origin) {
  Bench bench = bench_new();
  Module *module = read_golden(bench, "global_mean_cpu.hlo");
  cr_expect(str_starts(module->tables, "FileNames\n1 "));
  const Comp *entry = module_entry(module);
  uint32_t placed = 0;
  for (uint32_t i = 0; i < entry->instrs.n; i++) {
    const Instr *instr = &entry->instrs.at[i];
    if (instr->origin.line == 0) continue;
    cr_expect(str_is(instr->origin.file, "visible.py") || str_is(instr->origin.file, "dbg.py"));
    placed++;
  }
  cr_expect_gt(placed, 0);
  module_free(module);
  bench_free(bench);
}

Test(hlo, places_are_those_of_the_text) {
  Bench bench = bench_new();
  Module *module = read_text(bench, "m", STR("ENTRY main {\n  ROOT a = f32[] parameter(0)\n}\n"));
  uint32_t line, column;
  place_line_column(instr_named(module, "a")->place, &line, &column);
  cr_expect(line == 2 && column == 8);
  module_free(module);
  bench_free(bench);
}

Test(hlo, what_is_nested_too_deep_is_refused) {
  Bench bench = bench_new();
  StrBuf text = {.arena = bench.arena};
  buf_add(&text, STR("ENTRY main { x = "));
  for (int i = 0; i < 100000; i++) buf_char(&text, '(');
  Str error = refused(bench, "deep", buf_str(&text));
  cr_expect(strstr(error.at, "nested deeper than 256") != NULL);

  text.n = 0;
  buf_add(&text, STR("ENTRY main { x = f32[] parameter(0) y = f32[] "));
  for (int i = 0; i < 100000; i++) buf_add(&text, STR("negate("));
  cr_expect(strstr(refused(bench, "deep", buf_str(&text)).at, "nested deeper than 256") != NULL);
  bench_free(bench);
}

/* Every text that is cut anywhere is refused, with one error. */
static void check_cuts(Bench bench, const char *path) {
  Str text = str_trim(file_text(bench, path));
  size_t step = text.n / 97 + 1;
  for (size_t n = 0; n < text.n - 1; n += step) {
    Module *module;
    Diag *diag = diag_new();
    Status status =
        program_read(source_of(bench, "cut", str_sub(text, 0, n)), &read_limits_default, &module, diag);
    cr_expect(status == STATUS_OK || diag_error_text(diag).n > 0);
    module_free(module);
    diag_free(diag);
  }
}

Test(hlo, cut_texts_never_crash) {
  each_file(TESTS_DIR "/golden/hlo/*.hlo", check_cuts);
}

Test(source, gzip_is_unpacked_and_limits_hold) {
  Bench bench = bench_new();
  const char text[] = "ENTRY main { ROOT x = f32[] parameter(0) }\n";
  char path[] = "/tmp/podsim_source_XXXXXX";
  cr_assert_geq(mkstemp(path), 0);
  gzFile file = gzopen(path, "wb");
  gzwrite(file, text, sizeof text - 1);
  gzclose(file);
  cr_expect(str_is(file_text(bench, path), text));
  const ReadLimits small = {.text_bytes = 10, .nesting = 1, .elements = 1};
  const Source *source;
  cr_expect_eq(source_read(bench.arena, path, &small, &source, bench.diag), STATUS_INVALID);
  cr_expect(strstr(diag_error_text(bench.diag).at, "larger than the limit") != NULL);
  cr_assert_eq(truncate(path, 30), 0);
  bench_free(bench);

  bench = bench_new();
  cr_expect_eq(source_read(bench.arena, path, &read_limits_default, &source, bench.diag), STATUS_INVALID);
  cr_expect(strstr(diag_error_text(bench.diag).at, "compression is") != NULL);
  unlink(path);
  bench_free(bench);
}

Test(source, what_cannot_be_read_says_why) {
  Bench bench = bench_new();
  const Source *source;
  cr_expect_eq(source_read(bench.arena, TESTS_DIR "/nowhere.hlo", &read_limits_default, &source, bench.diag),
               STATUS_INVALID);
  cr_expect(strstr(diag_error_text(bench.diag).at, "No such file") != NULL);
  bench_free(bench);
  bench = bench_new();
  cr_expect_eq(source_read(bench.arena, TESTS_DIR, &read_limits_default, &source, bench.diag),
               STATUS_INVALID);
  cr_expect(strstr(diag_error_text(bench.diag).at, "is a folder") != NULL);
  bench_free(bench);
}

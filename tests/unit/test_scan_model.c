/* Prefix scans: how often an array crosses HBM, and the memory that it takes meanwhile. The counts are those
 * of the TPU compiler's own programs for v5e. */
#include "schedule_fixture.h"

#include <stdio.h>

TestSuite(scan_model, .init = begin_scheduling, .fini = end_scheduling);

/* A reduce-window of `shape` to `result`, alone in its program. */
static void scan(const char *shape, const char *result, const char *window) {
  char text[1024];
  snprintf(text, sizeof text,
           "HloModule m\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
           "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  x = %s parameter(0)\n  z = f32[] constant(0)\n"
           "  ROOT r = %s reduce-window(x, z), window={%s}, to_apply=sum\n}\n",
           shape, result, window);
  read_program(text);
  cr_assert_eq(module_schedule(module, &pod, &schedule, diag), STATUS_OK, "%s", diag_error_text(diag).at);
}

static const Demand *scan_demand_of(void) {
  const CompSchedule *made = &schedule->comps[module->entry];
  for (uint32_t s = 0; s < made->steps.n; s++)
    if (made->steps.at[s].time_ps > 0) return &made->steps.at[s].demand;
  cr_assert_fail("no kernel");
  return NULL;
}

/* Reads and writes of the whole array; the initial value is another scalar. */
static void expect_crossings(int64_t array_bytes, int64_t crossings, int64_t temporary_bytes) {
  cr_assert_eq(scan_demand_of()->hbm_bytes / array_bytes, crossings);
  cr_assert_leq(scan_demand_of()->hbm_bytes % array_bytes, 4);
  cr_assert_eq(schedule->hbm_temp_bytes / array_bytes * array_bytes, temporary_bytes);
}

enum { MIB = 1 << 20 };

Test(scan_model, what_exceeds_vmem_crosses_hbm_with_each_kernel) {
  scan("f32[8192,4096]", "f32[8192,4096]", "size=1x4096 pad=0_0x4095_0");
  expect_crossings(128L * MIB, 12, 128L * MIB);
  scan("f32[8192,8192]", "f32[8192,8192]", "size=8192x1 pad=8191_0x0_0");
  expect_crossings(256L * MIB, 6, 256L * MIB);
  scan("f32[16,4096,1024]", "f32[16,4096,1024]", "size=1x4096x1 pad=0_0x4095_0x0_0");
  expect_crossings(256L * MIB, 6, 256L * MIB);
  scan("f32[2048,32,1024]", "f32[2048,32,1024]", "size=2048x1x1 pad=2047_0x0_0x0_0");
  expect_crossings(256L * MIB, 8, 256L * MIB);
  scan("f32[33554432]", "f32[33554432]", "size=33554432 pad=33554431_0");
  expect_crossings(128L * MIB, 8, 128L * MIB);
}

Test(scan_model, every_second_value_stays_in_vmem_where_one_fits) {
  scan("f32[4096,4096]", "f32[4096,4096]", "size=1x4096 pad=0_0x4095_0");
  expect_crossings(64L * MIB, 6, 0);
  scan("f32[4096,4096]", "f32[4096,4096]", "size=4096x1 pad=4095_0x0_0");
  expect_crossings(64L * MIB, 4, 64L * MIB);
}

Test(scan_model, what_fits_beside_its_neighbour_is_read_and_written_once) {
  scan("f32[4096,2048]", "f32[4096,2048]", "size=4096x1 pad=4095_0x0_0");
  expect_crossings(32L * MIB, 2, 0);
}

Test(scan_model, in_reverse_and_of_narrow_types_it_is_the_same) {
  scan("f32[8192,4096]", "f32[8192,4096]", "size=1x4096 pad=0_0x0_4095");
  expect_crossings(128L * MIB, 12, 128L * MIB);
  scan("bf16[8192,4096]", "bf16[8192,4096]", "size=1x4096 pad=0_0x4095_0");
  expect_crossings(64L * MIB, 6, 0);
}

Test(scan_model, where_blocks_do_not_fill_a_dimension_it_is_padded_and_cut) {
  scan("f32[8192,4000]", "f32[8192,4000]", "size=1x4000 pad=0_0x3999_0"); /* lies with 8192 along the lanes */
  int64_t ends = 2L * 8192 * 4000 * 4, passed_on = 8L * 8192 * 4096 * 4;
  cr_assert_float_eq((double)scan_demand_of()->hbm_bytes, (double)(ends + passed_on), 4);
  cr_assert_eq(schedule->hbm_temp_bytes / (128 * MIB), 2);
}

Test(scan_model, one_block_is_scanned_where_it_lies_but_along_lanes_and_rows_of_blocks) {
  scan("f32[262144,128]", "f32[262144,128]", "size=1x128 pad=0_0x127_0");
  expect_crossings(128L * MIB, 6, 128L * MIB);
  scan("f32[128,262144]", "f32[128,262144]", "size=128x1 pad=127_0x0_0");
  expect_crossings(128L * MIB, 2, 0);
  scan("f32[1024,64,512]", "f32[1024,64,512]", "size=1x64x1 pad=0_0x63_0x0_0");
  expect_crossings(128L * MIB, 4, 128L * MIB);
  scan("f32[64,1024,512]", "f32[64,1024,512]", "size=64x1x1 pad=63_0x0_0x0_0");
  expect_crossings(128L * MIB, 2, 0);
}

Test(scan_model, a_scheduled_program_is_taken_as_it_stands) {
  read_program("HloModule m, is_scheduled=true\nsum {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n"
               "  ROOT c = f32[] add(a, b)\n}\nENTRY e {\n  x = f32[8192,4096] parameter(0)\n"
               "  z = f32[] constant(0)\n  ROOT r = f32[8192,4096] reduce-window(x, z), "
               "window={size=1x4096 pad=0_0x4095_0}, to_apply=sum\n}\n");
  cr_assert_eq(module_schedule(module, &pod, &schedule, diag), STATUS_OK, "%s", diag_error_text(diag).at);
  expect_crossings(128L * MIB, 2, 0);
}

Test(scan_model, other_windows_are_no_scans) {
  scan("f32[8192,4096]", "f32[8192,4096]", "size=1x255 pad=0_0x127_127");
  expect_crossings(128L * MIB, 2, 0);
  scan("f32[8192,4096]", "f32[8192,4096]", "size=3x4096 pad=1_1x4095_0");
  expect_crossings(128L * MIB, 2, 0);
}

/* Without the place's own element there is one result more. */
Test(scan_model, exclusive_scans_too) {
  scan("f32[4096,8192]", "f32[4097,8192]", "size=4096x1 pad=4096_0x0_0");
  cr_assert_geq(scan_demand_of()->hbm_bytes, 6 * 128L * MIB);
  scan("f32[4096,8192]", "f32[4098,8192]", "size=4096x1 pad=4097_0x0_0");
  cr_assert_leq(scan_demand_of()->hbm_bytes, 3 * 128L * MIB, "it begins beyond the end");
}

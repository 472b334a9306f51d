/* Host values: which values lie in the host's memory, what moves them, and what that takes. */
#include "pod_fixture.h"
#include "program_fixture.h"
#include "sim/ir/host_values.h"
#include "sim/schedule/schedule.h"

TestSuite(host_values, .init = begin, .fini = end);

static void read_module(const char *text) {
  read_program(text);
  module_find_host_values(module);
}

static const Instr *named(const char *name) {
  for (uint32_t c = 0; c < module->comps.n; c++) {
    uint32_t at = comp_find(module_comp(module, c), str_of(name));
    if (at != NO_ID) return comp_instr(module, c, at);
  }
  cr_assert(false, "no %s", name);
  return NULL;
}

static void expect(const char *name, bool on_host, HostMove move) {
  cr_expect_eq(named(name)->on_host, on_host, "%s", name);
  cr_expect_eq(named(name)->host_move, move, "%s", name);
}

#define PLACE(value, kind)                                                                                   \
  "custom-call(" value                                                                                       \
  "), custom_call_target=\"annotate_device_placement\", custom_call_has_side_effect=true, "                  \
  "frontend_attributes={_xla_buffer_placement=\"" kind "\"}\n"

Test(host_values, placements_move_what_is_elsewhere) {
  read_module(
      "HloModule m\nENTRY main {\n  x = f32[1024,1024] parameter(0)\n"
      "  here = f32[1024,1024] " PLACE("x", "device") "  out = f32[1024,1024] " PLACE(
          "here",
          "pinned_host") "  again = f32[1024,1024] " PLACE("out",
                                                           "unpinned_host") "  row = f32[512,1024] "
                                                                            "slice(again), slice={[0:512], "
                                                                            "[0:1024]}\n"
                                                                            "  back = f32[512,1024] " PLACE(
                                                                                "row",
                                                                                "device") "  ROOT r = "
                                                                                          "(f32[512,1024], "
                                                                                          "f32[1024,1024]) "
                                                                                          "tuple(back, "
                                                                                          "again)\n}\n");
  expect("here", false, HOST_MOVE_NONE);
  expect("out", true, HOST_MOVE_TO);
  expect("again", true, HOST_MOVE_NONE);
  expect("row", true, HOST_MOVE_NONE);
  expect("back", false, HOST_MOVE_FROM);
  Pod pod = pod_fixture(arena, "v5e_1x1", "host.bandwidth=16GB/s");
  Schedule *schedule;
  cr_assert_eq(module_schedule(module, &pod, &schedule, diag), STATUS_OK);
  cr_expect_eq(schedule->hbm_output_bytes, 512 * 1024 * 4, "what is on the host takes no HBM");
  int64_t host_bytes = 0, host_ps = 0;
  const CompSchedule *made = &schedule->comps[module->entry];
  for (uint32_t s = 0; s < made->steps.n; s++) {
    const Step *step = &made->steps.at[s];
    if (step->demand.host_bytes == 0) continue;
    cr_expect(step->kind == STEP_HOST && step->bound == BOUND_HOST);
    host_bytes += step->demand.host_bytes;
    host_ps += step->time_ps;
  }
  cr_expect_eq(host_bytes, (1024 + 512) * 1024 * 4);
  cr_expect_float_eq((double)host_ps, (double)host_bytes / 16e9 * 1e12, 2);
  schedule_free(schedule);
}

/* A loop stacks what it offloads; another reads it back. */
Test(host_values, stacks_of_a_loop_lie_on_the_host) {
  read_module(
      "HloModule m\n"
      "fill {\n  p = (s32[], f32[4,8,128], f32[4,8,128]) parameter(0)\n"
      "  i = s32[] get-tuple-element(p), index=0\n  stack = f32[4,8,128] get-tuple-element(p), index=1\n"
      "  kept = f32[4,8,128] get-tuple-element(p), index=2\n  one = s32[] constant(1)\n"
      "  next = s32[] add(i, one)\n  z = s32[] constant(0)\n  c = f32[1,8,128] constant({...})\n"
      "  h = f32[1,8,128] " PLACE(
          "c", "pinned_host") "  put = f32[4,8,128] dynamic-update-slice(stack, h, i, z, z)\n"
                              "  keep = f32[4,8,128] dynamic-update-slice(kept, c, i, z, z)\n"
                              "  ROOT t = (s32[], f32[4,8,128], f32[4,8,128]) tuple(next, put, keep)\n}\n"
                              "less {\n  q = (s32[], f32[4,8,128], f32[4,8,128]) parameter(0)\n"
                              "  j = s32[] get-tuple-element(q), index=0\n  n = s32[] constant(4)\n"
                              "  ROOT lt = pred[] compare(j, n), direction=LT\n}\n"
                              "ENTRY main {\n  zero = s32[] constant(0)\n  f = f32[] constant(0)\n"
                              "  empty = f32[4,8,128] broadcast(f), dimensions={}\n  other = f32[4,8,128] "
                              "broadcast(f), dimensions={}\n"
                              "  init = (s32[], f32[4,8,128], f32[4,8,128]) tuple(zero, empty, other)\n"
                              "  loop = (s32[], f32[4,8,128], f32[4,8,128]) while(init), condition=less, "
                              "body=fill\n"
                              "  all = f32[4,8,128] get-tuple-element(loop), index=1\n"
                              "  rest = f32[4,8,128] get-tuple-element(loop), index=2\n"
                              "  last = f32[1,8,128] dynamic-slice(all, zero, zero, zero), "
                              "dynamic_slice_sizes={1,8,128}\n"
                              "  here = f32[1,8,128] " PLACE(
                                  "last",
                                  "device") "  ROOT r = (f32[1,8,128], f32[4,8,128]) tuple(here, rest)\n}\n");
  expect("h", true, HOST_MOVE_TO);
  expect("put", true, HOST_MOVE_NONE);
  expect("keep", false, HOST_MOVE_NONE);
  expect("stack", true, HOST_MOVE_NONE);
  expect("kept", false, HOST_MOVE_NONE);
  expect("empty", true, HOST_MOVE_NONE);
  expect("other", false, HOST_MOVE_NONE);
  expect("all", true, HOST_MOVE_NONE);
  expect("last", true, HOST_MOVE_NONE);
  expect("here", false, HOST_MOVE_FROM);
  expect("rest", false, HOST_MOVE_NONE);
}

/* A compiler's memory spaces count, not what could follow from them. */
Test(host_values, memory_space_5_is_the_hosts) {
  read_module("HloModule m, is_scheduled=true\nENTRY main {\n  x = f32[8,128]{1,0} parameter(0)\n  i = s32[] "
              "constant(0)\n"
              "  s = (f32[8,128]{1,0:S(5)}, f32[8,128]{1,0}, u32[]) copy-start(x)\n"
              "  d = f32[8,128]{1,0:S(5)} copy-done(s)\n"
              "  part = f32[4,128]{1,0} dynamic-slice(d, i, i), dynamic_slice_sizes={4,128}\n"
              "  ROOT back = f32[8,128]{1,0:S(1)} copy(d)\n}\n");
  expect("s", true, HOST_MOVE_TO);
  expect("d", true, HOST_MOVE_NONE);
  expect("part", false, HOST_MOVE_FROM);
  expect("back", false, HOST_MOVE_FROM);
}

/* The lockstep interpreter: every collective, control flow that devices take alike and apart, asynchronous
 * pairs, manual regions. Programs are HLO text; element i of parameter p on device d is 100 p + 10 d + i. */
#include "program_fixture.h"
#include "sim/region_boxes.h"

TestSuite(interpret, .init = begin, .fini = end);

static const char add[] =
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n";

/* A program of the reduction `add` and a body of entry. */
static void read_entry(const char *header, const char *body) {
  read_program(str_printf(arena, "HloModule m%s\n%sENTRY main {\n%s\n}\n", header, add, body).at);
}

static Status run(uint32_t devices, Tensor **outputs) {
  const Comp *entry = module_entry(module);
  Tensor **inputs = ARENA_ARRAY(arena, Tensor *, entry->params.n * devices + 1);
  for (uint32_t p = 0; p < entry->params.n; p++) {
    for (uint32_t d = 0; d < devices; d++) {
      Tensor *input = tensor_new(entry->instrs.at[entry->params.at[p]].shape, true);
      for (int64_t i = 0; i < tensor_elements(input); i++)
        tensor_set_double(input, i, (double)(100 * p + 10 * d + i));
      inputs[p * devices + d] = input;
    }
  }
  InterpretOptions options = {.devices = devices, .trip_limit = 1000};
  Status status = interpret(module, &options, inputs, outputs, diag);
  for (uint32_t i = 0; i < entry->params.n * devices; i++) {
    cr_assert_eq(atomic_load(&inputs[i]->references) >= 1, 1);
    tensor_release(inputs[i]);
  }
  return status;
}

static void check_values(const Tensor *tensor, const double **expected, const char *what) {
  if (tensor->dtype == DTYPE_TUPLE) {
    for (uint32_t i = 0; i < tensor->rank; i++) check_values(tensor->parts[i], expected, what);
    return;
  }
  for (int64_t i = 0; i < tensor_elements(tensor); i++, ++*expected)
    cr_assert_eq(tensor_double_at(tensor, i), **expected, "%s: element %d is %g, not %g", what, (int)i,
                 tensor_double_at(tensor, i), **expected);
}

/* Runs the program; `expected` are all elements of all outputs, device by device. */
static void check(uint32_t devices, const double *expected) {
  Tensor *outputs[16] = {0};
  cr_assert_eq(run(devices, outputs), STATUS_OK, "%.*s", STR_ARG(diag_error_text(diag)));
  for (uint32_t d = 0; d < devices; d++) {
    check_values(outputs[d], &expected, str_printf(arena, "device %u", d).at);
    tensor_release(outputs[d]);
  }
}

static void check_fails(uint32_t devices, Status status, const char *why) {
  Tensor *outputs[16] = {0};
  cr_assert_eq(run(devices, outputs), status);
  cr_assert_not_null(strstr(str_terminated(arena, diag_error_text(diag)), why), "expected '%s' in: %.*s", why,
                     STR_ARG(diag_error_text(diag)));
}

#define ROWS(...) ((const double[]){__VA_ARGS__})

/* --- collectives --- */

Test(interpret, all_reduce) {
  read_entry("", "x = f32[2] parameter(0)\n ROOT r = f32[2] all-reduce(x), channel_id=1, "
                 "replica_groups={{0,2},{1,3}}, use_global_device_ids=true, to_apply=add");
  check(4, ROWS(20, 22, 40, 42, 20, 22, 40, 42));
}

Test(interpret, all_reduce_of_several) {
  read_entry(
      "", "x = f32[1] parameter(0)\n y = f32[2] parameter(1)\n ROOT r = (f32[1], f32[2]) all-reduce(x, y), "
          "channel_id=1, replica_groups={{0,1}}, use_global_device_ids=true, to_apply=add");
  check(2, ROWS(10, 210, 212, 10, 210, 212));
}

Test(interpret, all_reduce_over_partitions_of_replicas) {
  read_entry(
      ", replica_count=2, num_partitions=2",
      "x = f32[1] parameter(0)\n ROOT r = f32[1] all-reduce(x), channel_id=1, replica_groups={{0},{1}}, "
      "to_apply=add");
  check(4, ROWS(10, 10, 50, 50));
}

Test(interpret, all_reduce_over_replicas) {
  read_entry(", replica_count=2, num_partitions=2",
             "x = f32[1] parameter(0)\n ROOT r = f32[1] all-reduce(x), replica_groups={{0,1}}, to_apply=add");
  check(4, ROWS(20, 40, 20, 40));
}

Test(interpret, reduce_scatter) {
  read_entry("", "x = f32[2,2] parameter(0)\n ROOT r = f32[2,1] reduce-scatter(x), channel_id=1, "
                 "replica_groups=[1,2]<=[2], use_global_device_ids=true, dimensions={1}, to_apply=add");
  check(2, ROWS(10, 14, 12, 16));
}

Test(interpret, all_gather_in_the_order_of_the_group) {
  read_entry("", "x = f32[1,2] parameter(0)\n ROOT r = f32[2,2] all-gather(x), channel_id=1, "
                 "replica_groups={{1,0}}, use_global_device_ids=true, dimensions={0}");
  check(2, ROWS(10, 11, 0, 1, 10, 11, 0, 1));
}

Test(interpret, all_gather_along_the_last_dimension) {
  read_entry("", "x = f32[2,1] parameter(0)\n ROOT r = f32[2,2] all-gather(x), channel_id=1, "
                 "replica_groups={{0,1}}, use_global_device_ids=true, dimensions={1}");
  check(2, ROWS(0, 10, 1, 11, 0, 10, 1, 11));
}

Test(interpret, all_to_all_of_an_array) {
  read_entry("", "x = f32[2,2] parameter(0)\n ROOT r = f32[2,2] all-to-all(x), channel_id=1, "
                 "replica_groups={{0,1}}, dimensions={1}");
  check(2, ROWS(0, 10, 2, 12, 1, 11, 3, 13));
}

Test(interpret, all_to_all_of_a_tuple) {
  read_entry(
      "", "x = f32[1] parameter(0)\n y = f32[1] parameter(1)\n ROOT r = (f32[1], f32[1]) all-to-all(x, y), "
          "channel_id=1, replica_groups={{0,1}}");
  check(2, ROWS(0, 10, 100, 110));
}

Test(interpret, collective_permute_gives_zeros_to_who_is_no_target) {
  read_entry("", "x = f32[2] parameter(0)\n ROOT r = f32[2] collective-permute(x), channel_id=1, "
                 "source_target_pairs={{0,1},{1,2}}");
  check(3, ROWS(0, 0, 0, 1, 10, 11));
}

Test(interpret, collective_permute_of_several) {
  read_entry("", "x = f32[1] parameter(0)\n y = f32[1] parameter(1)\n ROOT r = (f32[1], f32[1]) "
                 "collective-permute(x, y), channel_id=1, source_target_pairs={{0,1},{1,0}}");
  check(2, ROWS(10, 110, 0, 100));
}

Test(interpret, collective_broadcast) {
  read_entry("", "x = f32[1] parameter(0)\n ROOT r = f32[1] collective-broadcast(x), channel_id=1, "
                 "replica_groups={{2,0}}");
  check(3, ROWS(20, 0, 20));
}

Test(interpret, ragged_all_to_all) {
  read_program(
      "HloModule m\nENTRY main {\n x = f32[3] parameter(0)\n o = f32[3] parameter(1)\n"
      " p = u32[] partition-id()\n s = s32[] convert(p)\n b = s32[2] broadcast(s), dimensions={}\n"
      " zero = s32[2] constant({0, 1})\n one = s32[2] constant({1, 2})\n"
      " r = s32[2] constant({1, 1})\n"
      " ROOT a = f32[3] ragged-all-to-all(x, o, zero, one, b, r), channel_id=1, replica_groups={{0,1}}\n}\n");
  /* Member i sends one row (its row 0) to member 0 and two rows (1, 2) to member 1, to row i there. */
  check(2, ROWS(0, 10, 102, 1, 11, 12));
}

Test(interpret, starts_and_dones) {
  read_entry("", "x = f32[1,2] parameter(0)\n"
                 " gs = (f32[1,2], f32[2,2]) all-gather-start(x), channel_id=1, replica_groups={{0,1}}, "
                 "use_global_device_ids=true, dimensions={0}\n gd = f32[2,2] all-gather-done(gs)\n"
                 " rs = f32[2,2] all-reduce-start(gd), channel_id=2, replica_groups={{0,1}}, "
                 "use_global_device_ids=true, to_apply=add\n rd = f32[2,2] all-reduce-done(rs)\n"
                 " ps = (f32[2,2], f32[2,2], u32[], u32[]) collective-permute-start(rd), channel_id=3, "
                 "source_target_pairs={{0,1}}\n ROOT pd = f32[2,2] collective-permute-done(ps)\n");
  check(2, ROWS(0, 0, 0, 0, 0, 2, 20, 22));
}

Test(interpret, async_of_a_computation_and_its_sugar) {
  read_program(
      "HloModule m\n"
      "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
      "wrapped { x = f32[2] parameter(0)\n ROOT r = f32[1] reduce-scatter(x), channel_id=1, "
      "replica_groups={{0,1}}, use_global_device_ids=true, dimensions={0}, to_apply=add }\n"
      "ENTRY main {\n x = f32[2] parameter(0)\n"
      " s = ((f32[2]), f32[1], u32[]) async-start(x), calls=wrapped\n"
      " u = ((f32[2]), f32[1], u32[]) async-update(s)\n d = f32[1] async-done(u)\n"
      " t = ((f32[2]), f32[1], u32[]) reduce-scatter-start(x), channel_id=2, replica_groups={{0,1}}, "
      "use_global_device_ids=true, dimensions={0}, to_apply=add\n e = f32[1] reduce-scatter-done(t)\n"
      " ROOT r = f32[1] add(d, e)\n}\n");
  check(2, ROWS(20, 24));
}

/* --- control flow --- */

static const char loop_text[] =
    "HloModule m\n"
    "add { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
    "cond { s = (s32[], s32[], f32[1]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " n = s32[] get-tuple-element(s), index=1\n ROOT p = pred[] compare(i, n), direction=LT }\n"
    "body { s = (s32[], s32[], f32[1]) parameter(0)\n i = s32[] get-tuple-element(s), index=0\n"
    " n = s32[] get-tuple-element(s), index=1\n x = f32[1] get-tuple-element(s), index=2\n"
    " one = s32[] constant(1)\n j = s32[] add(i, one)\n %s\n ROOT t = (s32[], s32[], f32[1]) tuple(j, n, y) "
    "}\n"
    "ENTRY main {\n x = f32[1] parameter(0)\n zero = s32[] constant(0)\n %s\n"
    " t = (s32[], s32[], f32[1]) tuple(zero, n, x)\n w = (s32[], s32[], f32[1]) while(t), condition=cond, "
    "body=body\n"
    " ROOT r = f32[1] get-tuple-element(w), index=2\n}\n";

static void read_loop(const char *step, const char *trips) {
  read_program(str_printf(arena, loop_text, step, trips).at);
}

static const char per_device[] = "d = u32[] partition-id()\n n = s32[] convert(d)";
static const char reduced[] = "y = f32[1] all-reduce(x), channel_id=1, replica_groups={{0,1},{2,3}}, "
                              "use_global_device_ids=true, to_apply=add";

Test(interpret, while_loop) {
  read_loop("y = f32[1] add(x, x)", "n = s32[] constant(3)");
  check(2, ROWS(0, 80));
}

Test(interpret, while_of_trips_by_device) {
  read_loop("y = f32[1] add(x, x)", per_device);
  check(4, ROWS(0, 20, 80, 240));
}

Test(interpret, while_with_a_collective) {
  read_loop(reduced, "n = s32[] constant(2)");
  check(4, ROWS(20, 20, 100, 100));
}

Test(interpret, while_trips_alike_in_each_group) {
  read_loop(reduced,
            "d = u32[] partition-id()\n o = u32[] constant(1)\n h = u32[] shift-right-logical(d, o)\n"
            " n = s32[] convert(h)");
  check(4, ROWS(0, 10, 50, 50));
}

Test(interpret, while_trips_apart_in_a_group) {
  read_loop(reduced, per_device);
  check_fails(4, STATUS_DEADLOCK, "device 1 waits in y for device 0, which went another way in w");
}

Test(interpret, while_that_does_not_end) {
  read_loop("y = f32[1] add(x, x)", "n = s32[] constant(100000)");
  check_fails(1, STATUS_FAILED, "given up after 1000 iterations");
}

static const char branch_text[] = "HloModule m\n"
                                  "zero { a = f32[1] parameter(0)\n ROOT r = f32[1] negate(a) }\n"
                                  "one { b = f32[1] parameter(0)\n ROOT s = f32[1] add(b, b) }\n"
                                  "two { c = f32[1] parameter(0)\n ROOT t = f32[1] multiply(c, c) }\n"
                                  "ENTRY main {\n x = f32[1] parameter(0)\n d = u32[] partition-id()\n"
                                  " k = s32[] convert(d)\n m = s32[] constant(-1)\n i = s32[] add(k, m)\n"
                                  " z = s32[] constant(2)\n p = pred[] compare(k, z), direction=LT\n %s }\n";

Test(interpret, conditional_by_index_is_clamped_to_the_last) {
  read_program(str_printf(arena, branch_text,
                          "ROOT r = f32[1] conditional(i, x, x, x), branch_computations={zero, one, two}")
                   .at);
  check(5, ROWS(0, -10, 40, 900, 1600));
}

Test(interpret, conditional_by_predicate) {
  read_program(str_printf(arena, branch_text,
                          "ROOT r = f32[1] conditional(p, x, x), true_computation=zero, "
                          "false_computation=one")
                   .at);
  check(3, ROWS(0, -10, 40));
}

Test(interpret, collective_in_one_branch) {
  read_program(
      "HloModule m\nadd { a = f32[] parameter(0)\n b = f32[] parameter(1)\n ROOT c = f32[] add(a, b) }\n"
      "meet { a = f32[1] parameter(0)\n ROOT r = f32[1] all-reduce(a), channel_id=1, replica_groups={{0,1}}, "
      "use_global_device_ids=true, to_apply=add }\n"
      "pass { b = f32[1] parameter(0)\n ROOT s = f32[1] negate(b) }\n"
      "ENTRY main {\n x = f32[1] parameter(0)\n d = u32[] partition-id()\n z = u32[] constant(0)\n"
      " p = pred[] compare(d, z), direction=EQ\n ROOT c = f32[1] conditional(p, x, x), "
      "true_computation=meet, "
      "false_computation=pass\n}\n");
  check_fails(2, STATUS_DEADLOCK, "device 0 waits in r for device 1, which went another way in c (14:");
}

Test(interpret, call_and_fusion) {
  read_program("HloModule m\nf { a = f32[1] parameter(0)\n b = f32[1] parameter(1)\n ROOT c = f32[1] "
               "subtract(a, b) }\n"
               "ENTRY main {\n x = f32[1] parameter(0)\n y = f32[1] parameter(1)\n"
               " c = f32[1] call(x, y), to_apply=f\n ROOT r = f32[1] fusion(c, x), kind=kLoop, calls=f\n}\n");
  check(2, ROWS(-100, -110));
}

Test(interpret, recursion_is_refused) {
  read_entry("", "x = f32[1] parameter(0)\n ROOT r = f32[1] negate(x)");
  Comp *entry = module_entry(module);
  entry->instrs.at[entry->root].op = OP_CALL;
  instr_set_comp(module, &entry->instrs.at[entry->root], ATTR_to_apply, module->entry);
  check_fails(1, STATUS_INVALID, "nested too deeply");
}

/* --- manual regions --- */

static const char mesh_header[] =
    ", frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<[\"x\"=2, \"y\"=2]>}}";

static const char region_text[] =
    "x = f32[%s] parameter(0)\n"
    " l = f32[%s] custom-call(x), custom_call_target=\"xla.sdy.GlobalToLocalShape\", frontend_attributes={"
    "xla.sdy.in_shardings=\"#sdy.sharding_per_value<[<@mesh, "
    "[%s]>]>\",xla.sdy.manual_axes=\"#sdy<manual_axes{%s}>\"}\n"
    " %s\n"
    " ROOT g = f32[%s] custom-call(m), custom_call_target=\"xla.sdy.LocalToGlobalShape\", "
    "frontend_attributes={"
    "xla.sdy.out_shardings=\"#sdy.sharding_per_value<[<@mesh, "
    "[%s]>]>\",xla.sdy.manual_axes=\"#sdy<manual_axes{%s}>\"}";

#define X "{\\\"x\\\"}"
#define Y "{\\\"y\\\"}"

static void check_unpartitioned(int64_t elements, const double *expected) {
  Tensor *input = tensor_new_array(DTYPE_F32, &elements, 1, true), *output;
  for (int64_t i = 0; i < elements; i++) tensor_set_double(input, i, (double)i);
  cr_assert_eq(unpartitioned_run(module, &input, 0, &output, diag), STATUS_OK, "%.*s",
               STR_ARG(diag_error_text(diag)));
  check_values(output, &expected, "output");
  tensor_release(input);
  tensor_release(output);
}

Test(interpret, manual_region) {
  read_entry(mesh_header, str_printf(arena, region_text, "4", "2", X, "\\\"x\\\", \\\"y\\\"",
                                     "m = f32[2] all-reduce(l), channel_id=1, replica_groups={{0,2},{1,3}}, "
                                     "use_global_device_ids=true, to_apply=add",
                                     "2", "{}", "\\\"x\\\", \\\"y\\\"")
                              .at);
  check_unpartitioned(4, ROWS(2, 4));
}

Test(interpret, manual_region_of_uneven_shards) {
  read_entry(mesh_header, str_printf(arena, region_text, "3", "2", X, "\\\"x\\\"", "m = f32[2] add(l, l)",
                                     "3", X, "\\\"x\\\"")
                              .at);
  check_unpartitioned(3, ROWS(0, 2, 4));
}

Test(interpret, manual_region_along_one_axis_of_a_dimension) {
  read_entry(mesh_header, str_printf(arena, region_text, "4", "2", "{\\\"x\\\", \\\"y\\\"}", "\\\"x\\\"",
                                     "m = f32[2] collective-permute(l), channel_id=1, "
                                     "source_target_pairs={{0,2},{2,0},{1,3},{3,1}}",
                                     "4", X, "\\\"x\\\"")
                              .at);
  check_unpartitioned(4, ROWS(2, 3, 0, 1));
}

/* The inner region cuts what each of the outer one's devices holds. */
Test(interpret, nested_manual_regions) {
  const char *inner =
      "i = f32[1] custom-call(l), custom_call_target=\"xla.sdy.GlobalToLocalShape\", frontend_attributes={"
      "xla.sdy.in_shardings=\"#sdy.sharding_per_value<[<@mesh, [" Y
      "]>]>\",xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"y\\\"}>\"}\n"
      " p = u32[] partition-id()\n q = f32[] convert(p)\n b = f32[1] broadcast(q), dimensions={}\n"
      " h = f32[] constant(100)\n k = f32[1] broadcast(h), dimensions={}\n s = f32[1] multiply(b, k)\n"
      " o = f32[1] add(i, s)\n"
      " m = f32[2] custom-call(o), custom_call_target=\"xla.sdy.LocalToGlobalShape\", frontend_attributes={"
      "xla.sdy.out_shardings=\"#sdy.sharding_per_value<[<@mesh, [" Y
      "]>]>\",xla.sdy.manual_axes=\"#sdy<manual_axes{\\\"y\\\"}>\"}";
  read_entry(mesh_header,
             str_printf(arena, region_text, "4", "2", X, "\\\"x\\\"", inner, "4", X, "\\\"x\\\"").at);
  Comp *entry = module_entry(module);
  for (uint32_t i = 2; i + 1 < entry->instrs.n; i++) entry->instrs.at[i].region = 1;
  check_unpartitioned(4, ROWS(0, 101, 202, 303));
}

Test(interpret, region_of_another_mesh_is_refused) {
  read_entry(mesh_header, str_printf(arena, region_text, "4", "1", X, "\\\"x\\\"", "m = f32[1] add(l, l)",
                                     "4", X, "\\\"x\\\"")
                              .at);
  int64_t elements = 4;
  Tensor *input = tensor_new_array(DTYPE_F32, &elements, 1, true), *output;
  memset(input->data, 0, input->bytes);
  cr_assert_eq(unpartitioned_run(module, &input, 0, &output, diag), STATUS_INVALID);
  tensor_release(input);
}

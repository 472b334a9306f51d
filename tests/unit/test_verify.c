/* The verifier and shape inference: a row is the body of an entry computation (or a whole module) and a part
 * of the error, "" where the verifier must accept. Where no shape is written before an opcode it is inferred.
 */
#include "sim/ir/flatten.h"
#include "sim/ir/verify.h"
#include "sim/read/program.h"

#include <criterion/criterion.h>
#include <glob.h>

typedef struct {
  const char *text, *error;
} Row;

static const char prelude[] =
    "HloModule m, num_partitions=4\n"
    "sum { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = f32[] add(a, b) }\n"
    "isum { a = s32[] parameter(0) b = s32[] parameter(1) ROOT s = s32[] add(a, b) }\n"
    "less { a = f32[] parameter(0) b = f32[] parameter(1) ROOT s = pred[] compare(a, b), direction=LT }\n"
    "inc { a = f32[] parameter(0) ROOT s = f32[] add(a, a) }\n"
    "wide { a = f32[] parameter(0) ROOT s = f32[2] broadcast(a), dimensions={} }\n"
    "truth { a = f32[] parameter(0) ROOT s = pred[] compare(a, a), direction=EQ }\n"
    "both { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3)\n"
    "  x = f32[] add(a, c) y = s32[] add(b, d) ROOT t = (f32[], s32[]) tuple(x, y) }\n"
    "ENTRY main { s = f32[] parameter(0) v = f32[6] parameter(1) m = f32[4,6] parameter(2)\n"
    "  t = f32[2,4,6] parameter(3) i = s32[] parameter(4) iv = s32[6] parameter(5) p = pred[6] parameter(6)\n"
    "  h = bf16[6] parameter(7) c = c64[6] parameter(8) im = s32[3,2] parameter(9) is = s32[] "
    "parameter(10)\n";

/* What is inferred must be what the printer shows behind the name `r`. */
static const struct {
  const char *text, *shape;
} inferred[] = {
    {"r = tanh(m)", "f32[4,6]"},
    {"r = add(v, v)", "f32[6]"},
    {"r = compare(m, m), direction=LT", "pred[4,6]"},
    {"r = abs(c)", "f32[6]"},
    {"r = real(c)", "f32[6]"},
    {"r = complex(v, v)", "c64[6]"},
    {"r = is-finite(v)", "pred[6]"},
    {"r = select(p, v, v)", "f32[6]"},
    {"r = clamp(s, v, s)", "f32[6]"},
    {"r = transpose(t), dimensions={2,0,1}", "f32[6,2,4]"},
    {"r = reverse(t), dimensions={1}", "f32[2,4,6]"},
    {"r = slice(m), slice={[1:4:2], [0:5:2]}", "f32[2,3]"},
    {"r = pad(m, s), padding=1_2_1x-1_0", "f32[10,5]"},
    {"r = concatenate(m, m), dimensions={0}", "f32[8,6]"},
    {"r = dynamic-slice(m, i, i), dynamic_slice_sizes={1,6}", "f32[1,6]"},
    {"r = dynamic-update-slice(v, v, i)", "f32[6]"},
    {"r = tuple(s, i)", "(f32[], s32[])"},
    {"r = partition-id()", "u32[]"},
    {"r = dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}", "f32[4,4]"},
    {"r = dot(t, t), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={1}, "
     "rhs_contracting_dims={1}",
     "f32[2,6,6]"},
    {"r = reduce(t, s), dimensions={0,2}, to_apply=sum", "f32[4]"},
    {"r = reduce(v, iv, s, is), dimensions={0}, to_apply=both", "(f32[], s32[])"},
    {"r = reduce-window(m, s), window={size=2x3 stride=2x1 pad=0_0x1_1}, to_apply=sum", "f32[2,6]"},
    {"r = convolution(t, t), window={size=6 pad=2_3}, dim_labels=bf0_io0->bf0, feature_group_count=2",
     "f32[2,4,6]"},
    {"r = gather(m, im), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0,1}, "
     "index_vector_dim=1,"
     " slice_sizes={1,3}",
     "f32[3,3]"},
    {"r = all-gather(m), replica_groups={{0,1},{2,3}}, dimensions={1}, channel_id=1, "
     "use_global_device_ids=true",
     "f32[4,12]"},
    {"r = all-gather(v), replica_groups={}, dimensions={0}", "f32[24]"},
    {"r = reduce-scatter(m), replica_groups=[2,2]<=[4], dimensions={0}, to_apply=sum, channel_id=1,"
     " use_global_device_ids=true",
     "f32[2,6]"},
    {"r = all-reduce(v, v), replica_groups={{0,1,2,3}}, to_apply=sum", "(f32[6], f32[6])"},
    {"r = all-to-all(m), replica_groups={{0,1},{2,3}}, dimensions={1}, channel_id=1", "f32[4,6]"},
    {"r = collective-permute(v), source_target_pairs={{0,1},{1,0}}", "f32[6]"},
    {"r = topk(m), k=2, largest=true", "(f32[4,2], s32[4,2])"},
    {"r = fft(c), fft_type=IRFFT, fft_length={10}", "f32[10]"},
    {"r = ragged-dot(m, t, is), lhs_contracting_dims={1}, rhs_contracting_dims={2}, lhs_ragged_dims={0},"
     " rhs_group_dims={0}",
     NULL},
    {"g = s32[2] broadcast(is), dimensions={} r = ragged-dot(m, t, g), lhs_contracting_dims={1},"
     " rhs_contracting_dims={2}, lhs_ragged_dims={0}, rhs_group_dims={0}",
     "f32[4,4]"},
    {"g = s32[2] broadcast(is), dimensions={} r = ragged-dot(m, m, g), lhs_contracting_dims={0},"
     " rhs_contracting_dims={0}, lhs_ragged_dims={0}, rhs_group_dims={}",
     "f32[2,6,6]"},
    {"r = cholesky(dot(m, m))", NULL},
};

static const Row rows[] = {
    {"ROOT r = f32[6] add(v, v)", ""},
    {"ROOT r = f32[5] add(v, v)", "r: by its operands this add is f32[6], f32[5] is written"},
    {"ROOT r = f32[6]{0:T(256)} add(v, v)", ""},
    {"ROOT r = f32[6] add(v, s)",
     "operands of the same dimensions are expected, operand 0 is f32[6], operand 1 is f32[]"},
    {"ROOT r = f32[6] add(v, h)", "operands of one type are expected, these are f32[6] and bf16[6]"},
    {"ROOT r = s32[6] exponential(iv)", "exponential is of floats or complex numbers, operand 0 is s32[6]"},
    {"ROOT r = f32[6] and(v, v)", "and is of integers or pred, operand 0 is f32[6]"},
    {"ROOT r = pred[6] negate(p)", "negate is of numbers, operand 0 is pred[6]"},
    {"ROOT r = f32[6] select(v, v, v)", "operand 0 of select must be pred"},
    {"ROOT r = f32[4,6] select(p, m, m)",
     "operand 0 of select must be pred[] or have the dimensions of operand 1"},
    {"ROOT r = bf16[4,6] convert(m)", ""},
    {"ROOT r = bf16[6,4] convert(m)", "this convert is bf16[4,6], bf16[6,4] is written"},
    {"ROOT r = u8[6,4] bitcast-convert(v)", ""},
    {"ROOT r = u8[6,2] bitcast-convert(v)", "is u8[6,4], u8[6,2] is written"},
    {"ROOT r = f64[4,3] bitcast-convert(m)", "needs a last dimension of 2"},
    {"ROOT r = f32[4,6] broadcast(v), dimensions={1}", ""},
    {"ROOT r = f32[4,6] broadcast(v), dimensions={0}", "is f32[6,6], f32[4,6] is written"},
    {"ROOT r = f32[4,6] broadcast(v), dimensions={}", "dimensions names 0 dimensions, operand 0 is f32[6]"},
    {"ROOT r = f32[4,6] broadcast(v), dimensions={2}", "dimensions names dimension 2 of 2"},
    {"ROOT r = f32[3,8] reshape(m)", ""},
    {"ROOT r = f32[3,9] reshape(m)",
     "a reshape keeps the number of elements, f32[4,6] has 24 and f32[3,9] has 27"},
    {"ROOT r = f32[6,4] transpose(m), dimensions={1,1}", "dimensions names dimension 1 twice"},
    {"ROOT r = f32[1] slice(v), slice={[6:7]}", "[6:7:1] is not within dimension 0 of f32[6]"},
    {"ROOT r = f32[0] slice(v), slice={[6:6]}", ""},
    {"ROOT r = f32[6] pad(v, i), padding=0_0", "operand 1 must be f32[], it is s32[]"},
    {"ROOT r = f32[6] pad(v, s), padding=-4_-4", "leaves no size"},
    {"ROOT r = f32[6] concatenate(v, h), dimensions={0}", "operand 1 must be like operand 0, f32[6]"},
    {"ROOT r = s32[4,6] iota(), iota_dimension=2", "iota_dimension=2 is not below 2"},
    {"ROOT r = f32[1,6] dynamic-slice(m, i), dynamic_slice_sizes={1,6}",
     "2 start indices are expected, 1 are given"},
    {"ROOT r = f32[5,6] dynamic-slice(m, i, i), dynamic_slice_sizes={5,6}", "a slice of 5 of dimension 0"},
    {"ROOT r = f32[6] dynamic-update-slice(v, v, s)", "start indices are integers, operand 2 is f32[]"},
    {"ROOT r = f32[6] get-tuple-element(v), index=0", "operand 0 must be a tuple, it is f32[6]"},
    {"u = (f32[], s32[]) tuple(s, i) ROOT r = f32[] get-tuple-element(u), index=2", "index=2 is not below 2"},
    {"ROOT r = f32[4,4] dot(m, v), lhs_contracting_dims={0}, rhs_contracting_dims={0}",
     "dimension 0 of f32[4,6] is 4, dimension 0 of f32[6] must be the same and is 6"},
    {"ROOT r = c64[4] fft(v), fft_type=RFFT, fft_length={6}", ""},
    {"ROOT r = c64[5] fft(v), fft_type=RFFT, fft_length={8}", "fft_length does not fit operand 0, f32[6]"},
    {"ROOT r = f32[6] fft(v), fft_type=FFT, fft_length={6}",
     "FFT takes complex numbers, operand 0 is f32[6]"},
    {"ROOT r = f32[4] reduce(m, s), dimensions={1}, to_apply=isum",
     "parameter 0 of to_apply isum is s32[], f32[] is given"},
    {"ROOT r = f32[4] reduce(m, s), dimensions={1}, to_apply=less",
     "to_apply must give f32[], it gives pred[]"},
    {"ROOT r = f32[4] reduce(m, s), dimensions={2}, to_apply=sum", "dimensions names dimension 2 of 2"},
    {"ROOT r = f32[] while(s), condition=truth, body=inc", ""},
    {"ROOT r = f32[] while(s), condition=truth, body=wide",
     "the body must give f32[] as it takes, it gives f32[2]"},
    {"ROOT r = f32[] while(s), condition=inc, body=inc", "the condition must give pred[], it gives f32[]"},
    {"ROOT r = f32[] conditional(i, s, s), branch_computations={inc, inc}", ""},
    {"ROOT r = f32[] conditional(i, s, s), branch_computations={inc, wide}",
     "branch 1 gives f32[2], branch 0 gives f32[]"},
    {"ROOT r = f32[] conditional(i, s), branch_computations={inc, inc}", "2 branches have 2 operands"},
    {"ROOT r = f32[] call(v), to_apply=inc", "parameter 0 of to_apply inc is f32[], f32[6] is given"},
    {"ROOT r = f32[6] sort(v), dimensions={0}, to_apply=less", ""},
    {"ROOT r = f32[6] sort(v), dimensions={0}, to_apply=sum", "to_apply must give pred[], it gives f32[]"},
    {"ROOT r = f32[4,6] scatter(m, im, v), update_window_dims={}, inserted_window_dims={0,1},"
     " scatter_dims_to_operand_dims={0,1}, index_vector_dim=1, to_apply=sum",
     "updates f32[6] do not fit operand f32[4,6] and indices s32[3,2]"},
    {"ROOT r = f32[12] all-gather(v), replica_groups={{0,1},{1,3}}, dimensions={0}",
     "device 1 is in two groups"},
    {"ROOT r = f32[12] all-gather(v), replica_groups={{0,4}}, dimensions={0}", "device 4 in a program for 4"},
    {"ROOT r = f32[12] all-gather(v), replica_groups={}, dimensions={0}", "is f32[24], f32[12] is written"},
    {"ROOT r = f32[6] collective-permute(v), source_target_pairs={{0,1},{0,2}}", "device 0 sends twice"},
    {"ROOT r = f32[6] collective-permute(v), source_target_pairs={{0,1},{2,1}}", "device 1 receives twice"},
    {"ROOT r = f32[2] reduce-scatter(v), replica_groups={}, dimensions={0}, to_apply=sum",
     "dimension 0 of f32[6] in groups of 4"},
    {"ROOT r = (u32[2], u8[9]) rng-bit-generator(iv), algorithm=rng_default",
     "a state like operand 0, s32[6], and"},
    {"ROOT r = (s32[6], u8[9]) rng-bit-generator(iv), algorithm=rng_default", ""},
    {"k = token[] after-all() ROOT r = ((f32[2]), token[]) infeed(k)", ""},
    {"k = token[] after-all() ROOT r = f32[2] infeed(k)", "an infeed gives data and a token"},
    {"k = token[] after-all() ROOT r = token[] outfeed(v, k)", ""},
    {"ROOT r = token[] outfeed(v, v)", "operand 1 must be token[], it is f32[6]"},
    {"ROOT r = ((f32[6]), f32[2], u32[]) slice-start(v), slice={[0:2]}", ""},
    {"ROOT r = ((f32[6]), f32[3], u32[]) slice-start(v), slice={[0:2]}",
     "is ((f32[6]), f32[2], u32[]), ((f32[6]), f32[3], u32[]) is written"},
    {"r = ((f32[6]), f32[2], u32[]) slice-start(v), slice={[0:2]} ROOT d = f32[3] slice-done(r)",
     "d: by its operands this async-done is f32[2], f32[3] is written"},
    {"ROOT r = (f32[6], f32[6], u32[]) copy-start(v)", ""},
    {"r = (f32[6], f32[12]) all-gather-start(v), replica_groups={{0,1},{2,3}}, dimensions={0}"
     " ROOT d = f32[12] all-gather-done(r)",
     ""},
    {"ROOT r = (f32[6], f32[6]) all-gather-start(v), replica_groups={{0,1},{2,3}}, dimensions={0}",
     "is (f32[6], f32[12])"},
    {"ROOT r = f32[9] custom-call(v), custom_call_target=\"anything\"", ""},
};

typedef struct {
  Arena *arena;
  Diag *diag;
  Module *module;
} Reading;

static Status verify(Reading *reading, const char *text) {
  *reading = (Reading){arena_new(), diag_new(), NULL};
  Source *source = ARENA_NEW(reading->arena, Source);
  *source = (Source){STR("t.hlo"), str_of(text)};
  TRY(program_read(source, &read_limits_default, &reading->module, reading->diag));
  return module_verify(reading->module, reading->diag);
}

static void done(Reading *reading) {
  module_free(reading->module);
  diag_free(reading->diag);
  arena_free(reading->arena);
}

static const char *whole(Arena *arena, const char *body) {
  return str_printf(arena, "%s%s\n}\n", prelude, body).at;
}

Test(verify, shapes_are_inferred) {
  for (size_t k = 0; k < sizeof inferred / sizeof *inferred; k++) {
    Reading reading;
    Arena *arena = arena_new();
    Status status = verify(&reading, whole(arena, inferred[k].text));
    if (inferred[k].shape != NULL) {
      cr_expect_eq(status, STATUS_OK, "%s", diag_error_text(reading.diag).at);
      if (status == STATUS_OK) {
        const Comp *main = module_entry(reading.module);
        Str shape = shape_text(arena, main->instrs.at[main->root].shape);
        cr_expect_str_eq(shape.at, inferred[k].shape, "%s: %s", inferred[k].text, shape.at);
      }
    } else {
      cr_expect_eq(status, STATUS_INVALID);
    }
    done(&reading);
    arena_free(arena);
  }
}

Test(verify, what_is_wrong_is_said) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    Reading reading;
    Arena *arena = arena_new();
    Status status = verify(&reading, whole(arena, rows[k].text));
    Str error = diag_error_text(reading.diag);
    cr_expect_eq(status, rows[k].error[0] == 0 ? STATUS_OK : STATUS_INVALID, "%s\n%.*s", rows[k].text,
                 STR_ARG(error));
    if (status != STATUS_OK)
      cr_expect(strstr(error.at, rows[k].error) != NULL, "%s\nexpected: %s\nfound: %.*s", rows[k].text,
                rows[k].error, STR_ARG(error));
    done(&reading);
    arena_free(arena);
  }
}

Test(verify, an_error_has_its_place) {
  Reading reading;
  cr_assert_eq(
      verify(&reading,
             "HloModule m\nENTRY main {\n  a = f32[4] parameter(0)\n  ROOT b = f32[5] negate(a)\n}\n"),
      STATUS_INVALID);
  cr_assert_str_eq(diag_error_text(reading.diag).at,
                   "t.hlo:4:8: error: b: by its operands this negate is f32[4], f32[5] is written\n"
                   "    ROOT b = f32[5] negate(a)\n"
                   "         ^\n");
  done(&reading);
}

/* A compiler moves floats between precisions as it likes; a program of the user does not. */
Test(verify, scheduled_programs_may_mix_floats) {
  Reading reading;
  const char *body = "ENTRY main { a = f32[4] parameter(0) ROOT b = bf16[2] slice(a), slice={[0:2]} }\n";
  Arena *arena = arena_new();
  cr_assert_eq(verify(&reading, str_printf(arena, "HloModule m, is_scheduled=true\n%s", body).at), STATUS_OK);
  done(&reading);
  cr_assert_eq(verify(&reading, str_printf(arena, "HloModule m\n%s", body).at), STATUS_INVALID);
  done(&reading);
  arena_free(arena);
}

/* Modules that a pass built wrongly. */
Test(verify, built_modules) {
  Diag *diag = diag_new();
  Module *module = module_new(STR("m"));
  cr_assert_eq(module_verify(module, diag), STATUS_INVALID);
  module->entry = module_add_comp(module, STR("main"));
  const Shape *f32 = shape_scalar(module->arena, DTYPE_F32);
  uint32_t x = comp_add_parameter(module, 0, 0, STR("x"), f32);
  cr_assert_eq(module_verify(module, diag), STATUS_INVALID);
  module_entry(module)->root = comp_add(module, 0, OP_NEGATE, STR(""), f32, &x, 1);
  cr_assert_eq(module_verify(module, diag), STATUS_OK);
  comp_instr(module, 0, 1)->operands.at[0] = 1;
  cr_assert_eq(module_verify(module, diag), STATUS_INVALID);
  comp_instr(module, 0, 1)->operands.at[0] = 0;
  uint32_t call = comp_add(module, 0, OP_CALL, STR(""), f32, &x, 1);
  instr_set_comp(module, comp_instr(module, 0, call), ATTR_to_apply, 0);
  cr_assert_eq(module_verify(module, diag), STATUS_INVALID);
  module_free(module);
  diag_free(diag);
}

/* Verified, flattened, verified again. */
static Status verify_file(const char *path, Reading *reading) {
  *reading = (Reading){arena_new(), diag_new(), NULL};
  const Source *source;
  TRY(source_read(reading->arena, path, &read_limits_default, &source, reading->diag));
  TRY(program_read(source, &read_limits_default, &reading->module, reading->diag));
  TRY(module_verify(reading->module, reading->diag));
  Module *flat;
  TRY(module_flatten(reading->module, &flat, reading->diag));
  Status status = module_verify(flat, reading->diag);
  module_free(flat);
  return status;
}

static void verify_files(const char *pattern) {
  glob_t files;
  cr_assert_eq(glob(pattern, 0, NULL, &files), 0, "%s", pattern);
  for (size_t i = 0; i < files.gl_pathc; i++) {
    Reading reading;
    Status status = verify_file(files.gl_pathv[i], &reading);
    cr_expect_eq(status, STATUS_OK, "%s", diag_error_text(reading.diag).at);
    done(&reading);
  }
  globfree(&files);
}

Test(verify, programs_of_jax_and_xla) {
  verify_files(TESTS_DIR "/golden/hlo/*.hlo");
  verify_files(TESTS_DIR "/cases/jax/*/program.hlo");
}

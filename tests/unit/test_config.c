/* Config: presets, overrides, places of errors, wrap rules, chip numbering. */
#include "arena_fixture.h"
#include "sim/config/pod.h"

#include <stdio.h>
#include <unistd.h>

TestSuite(config, .init = begin, .fini = end);

/* Reads `text` as a file named pod.ini. */
static Status read_text(const char *text, const char *set, Config **config) {
  char folder[] = "/tmp/podsim-config-XXXXXX";
  cr_assert_not_null(mkdtemp(folder));
  cr_assert_eq(chdir(folder), 0);
  FILE *file = fopen("pod.ini", "w");
  fputs(text, file);
  fclose(file);
  Status status = config_read(arena, "pod.ini", &set, set != NULL, config, diag);
  remove("pod.ini");
  rmdir(folder);
  return status;
}

static const ConfigEntry *entry(const Config *config, const char *key) {
  for (uint32_t i = 0; i < config->entries.n; i++) {
    if (str_is(config->entries.at[i].key, key)) return &config->entries.at[i];
  }
  cr_assert(false, "no entry %s", key);
  return NULL;
}

static void expect_error(const char *text, const char *set, const char *error) {
  Config *config;
  cr_assert_eq(read_text(text, set, &config), STATUS_INVALID, "%s", text);
  cr_assert_str_eq(diag_error_text(diag).at, error);
  end();
  begin();
}

Test(config, every_pod_that_comes_with_podsim) {
  const struct {
    const char *name;
    int64_t x, y;
    bool wrap_x, wrap_y;
  } pods[] = {
      {"1x1", 1, 1, false, false},  {"2x2", 2, 2, false, false},   {"4x2", 4, 2, false, false},
      {"4x4", 4, 4, false, false},  {"8x4", 8, 4, false, false},   {"8x8", 8, 8, false, false},
      {"8x16", 8, 16, false, true}, {"16x16", 16, 16, true, true},
  };
  for (size_t i = 0; i < sizeof pods / sizeof *pods; i++) {
    Config *config;
    const char *path = str_printf(arena, "%s/configs/v5e_%s.ini", SOURCE_DIR, pods[i].name).at;
    cr_assert_eq(config_read(arena, path, NULL, 0, &config, diag), STATUS_OK, "%s", diag_error_text(diag).at);
    const Pod *pod = &config->pod;
    cr_assert(pod->n_axes == 2 && pod->shape[0] == pods[i].x && pod->shape[1] == pods[i].y);
    cr_assert_eq(pod->n_chips, pods[i].x * pods[i].y);
    cr_assert(pod->wrap[0] == pods[i].wrap_x && pod->wrap[1] == pods[i].wrap_y, "%s", path);
  }
}

Test(config, v5e_has_its_published_constants) {
  Config *config;
  cr_assert_eq(read_text("[pod]\nshape = 4x2\n", NULL, &config), STATUS_OK);
  const Pod *pod = &config->pod;
  cr_assert_float_eq(pod->peak_flops, 1.97e14, 1);
  double mxu = (double)(pod->mxu_count * pod->mxu_size * pod->mxu_size * 2) * pod->clock_hz;
  cr_assert_float_eq(mxu / pod->peak_flops, 1, 0.003);
  cr_assert_float_eq(pod->hbm_bw_Bps, 8.19e11, 1);
  cr_assert_eq(pod->hbm_bytes, 16LL << 30);
  cr_assert_eq(pod->hbm_usable_bytes, 63LL << 28, "15.75 GiB");
  cr_assert_float_eq(pod->ici_bw_Bps, 4.5e10, 1);
  cr_assert_eq(pod->ici_lat_ps, 1000000);
  cr_assert_not(pod->ici_ideal);
  for (uint32_t i = 0; i < config->entries.n; i++)
    cr_assert(config->entries.at[i].source.n > 0, "%s has no source", config->entries.at[i].key.at);
}

Test(config, file_and_set_override_and_say_so) {
  Config *config;
  const char *text = "; a comment\n[pod]\n  shape: 2x2x2\nwrap = true, false,true\n[ici]\n"
                     "bandwidth = 50GB/s ; nameplate\nlatency=0.5us\n";
  cr_assert_eq(read_text(text, "ici.latency = 250ns", &config), STATUS_OK, "%s", diag_error_text(diag).at);
  const Pod *pod = &config->pod;
  cr_assert(pod->n_axes == 3 && pod->n_chips == 8 && pod->wrap[0] && !pod->wrap[1] && pod->wrap[2]);
  cr_assert_eq(pod->ici_lat_ps, 250000);
  const ConfigEntry *bandwidth = entry(config, "ici.bandwidth"), *latency = entry(config, "ici.latency");
  cr_assert(str_is(bandwidth->value, "50GB/s") && str_is(bandwidth->origin, "pod.ini:6"));
  cr_assert(str_is(bandwidth->source, "nameplate"));
  cr_assert(str_is(latency->value, "250ns") && str_is(latency->origin, "--set"));
  cr_assert(str_is(entry(config, "pod.wrap")->value, "true,false,true"));
  cr_assert(str_is(entry(config, "hbm.bandwidth")->origin, "v5e"));
  cr_assert(str_is(entry(config, "mesh.layout")->origin, "default"));
}

Test(config, the_last_set_wins) {
  const char *sets[] = {"pod.shape=4", "pod.shape=8", "pod.generation=v5p"};
  Config *config;
  cr_assert_eq(config_read(arena, SOURCE_DIR "/configs/v5e_4x2.ini", sets, 3, &config, diag), STATUS_OK);
  cr_assert(config->pod.n_axes == 1 && config->pod.n_chips == 8);
  cr_assert(config->pod.wrap[0], "v5p wraps where every axis is a multiple of 4");
  cr_assert_float_eq(config->pod.ici_bw_Bps, 9e10, 1);
}

Test(config, cubes_wrap_only_when_whole) {
  Config *config;
  cr_assert_eq(read_text("[pod]\ngeneration=v4\nshape=4x4x8\n", NULL, &config), STATUS_OK);
  cr_assert(config->pod.wrap[0] && config->pod.wrap[1] && config->pod.wrap[2]);
  cr_assert_eq(read_text("[pod]\ngeneration=v4\nshape=4x4x2\n", NULL, &config), STATUS_OK);
  cr_assert(!config->pod.wrap[0] && !config->pod.wrap[1] && !config->pod.wrap[2]);
}

Test(config, unknown_names_are_refused_with_the_nearest) {
  expect_error("[pod]\nshape=4x2\n[icy]\n", NULL,
               "pod.ini:3:2: error: unknown section [icy]\n  [icy]\n   ^\nhint: did you mean [ici]?\n");
  expect_error("[pod]\nshape=4x2\n[ici]\n  bandwith = 1GB/s\n", NULL,
               "pod.ini:4:3: error: unknown key ici.bandwith\n    bandwith = 1GB/s\n    ^\n"
               "hint: did you mean ici.bandwidth?\n");
  expect_error("[pod]\nshape=4x2\nnumbers_limit=1\n", NULL,
               "pod.ini:3:1: error: unknown key pod.numbers_limit\n  numbers_limit=1\n  ^\n"
               "hint: did you mean run.numbers_limit?\n");
  expect_error("[pod]\nshape=4x2\n", "ici.latencies=1us",
               "--set:1:1: error: unknown key ici.latencies\n  ici.latencies=1us\n  ^\n"
               "hint: did you mean ici.latency?\n");
  expect_error("[pod]\nshape=4x2\ngeneration = v5f", NULL,
               "pod.ini:3:14: error: unknown generation v5f\n  generation = v5f\n               ^\n"
               "hint: did you mean v5e? known are v5e v4 v5p v6e tpu7x\n");
}

Test(config, lines_that_are_none) {
  expect_error("[pod]\nshape\n", NULL,
               "pod.ini:2:1: error: neither a section nor a key with its value\n  shape\n  ^\n"
               "hint: a line is `[section]`, `key = value` or a comment after ;\n");
  expect_error("[pod\nshape=4\n", NULL,
               "pod.ini:1:1: error: neither a section nor a key with its value\n  [pod\n  ^\n"
               "hint: a line is `[section]`, `key = value` or a comment after ;\n");
  expect_error("[pod] shape=4\n", NULL,
               "pod.ini:1:1: error: neither a section nor a key with its value\n  [pod] shape=4\n  ^\n"
               "hint: a line is `[section]`, `key = value` or a comment after ;\n");
  expect_error("shape=4\n", NULL,
               "pod.ini:1:1: error: key shape stands before any section\n  shape=4\n  ^\n"
               "hint: write [pod] before it\n");
  expect_error("[pod]\nshape=4\nshape=8\n", NULL,
               "pod.ini:3:1: error: pod.shape is given twice; first in line 2\n  shape=8\n  ^\n"
               "hint: leave one of them out\n");
  expect_error("[pod]\nshape=4x2\n", "ici.bandwidth",
               "--set:1:1: error: no section.key=value\n  ici.bandwidth\n  ^\n"
               "hint: write section.key=value, as ici.bandwidth=90GB/s\n");
}

Test(config, long_lines_are_refused_long_comments_are_not) {
  Config *config;
  char comment[400], text[1000];
  memset(comment, 'x', sizeof comment - 1);
  comment[sizeof comment - 1] = 0;
  snprintf(text, sizeof text, "[pod]\n ; %s\nshape=4x2\n", comment);
  cr_assert_eq(read_text(text, NULL, &config), STATUS_OK);
  snprintf(text, sizeof text, "[pod]\nshape=4x2 ; %s\n", comment);
  cr_assert_eq(read_text(text, NULL, &config), STATUS_INVALID);
  cr_assert(str_starts(diag_error_text(diag), "pod.ini:2:1: error: line longer than 198 bytes"));
}

Test(config, bad_values_point_at_the_value) {
  expect_error("[pod]\nshape=4x2\n[hbm]\nbandwidth = 819GB ; typo\n", NULL,
               "pod.ini:4:13: error: hbm.bandwidth = 819GB: does not read as its unit, or is out of range\n"
               "  bandwidth = 819GB ; typo\n              ^\n"
               "hint: write bytes per second, as 45GB/s or 100Gbit/s\n");
  const char *values[] = {
      "ici.bandwidth=0",    "ici.bandwidth=-1GB/s", "ici.latency=1",    "chip.clock=1us",
      "ici.efficiency=1.1", "ici.ideal=perhaps",    "chip.mxu_count=0", "hbm.capacity=1e30",
      "mesh.layout=",       "chip.mxu_size=1.5",    "pod.wrap=true",    "pod.wrap=true,true,true",
      "pod.wrap=yes,maybe", "pod.generation="};
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    Config *config;
    cr_assert_eq(read_text("[pod]\nshape=4x2\n", values[i], &config), STATUS_INVALID, "%s", values[i]);
    cr_assert(str_starts(diag_error_text(diag), "--set:1:"), "%s", diag_error_text(diag).at);
    end();
    begin();
  }
}

Test(config, shapes_that_are_no_pod) {
  const struct {
    const char *shape, *why;
  } rows[] = {
      {"0x2", "an axis has at least one chip"},
      {"-4x2", "an axis has at least one chip"},
      {"2x2x2x2", "a torus has at most three axes"},
      {"4x", "no shape"},
      {"x", "no shape"},
      {"four", "no shape"},
      {"256x257", "more than 65536 chips"},
      {"9223372036854775807x2", "more than 65536 chips"},
      {"99999999999999999999", "no shape"},
      {"4,2", "no shape"},
      {"", "no shape"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const char *text = str_printf(arena, "[pod]\nshape=%s\n", rows[i].shape).at;
    Config *config;
    cr_assert_eq(read_text(text, NULL, &config), STATUS_INVALID, "%s", rows[i].shape);
    const char *start =
        str_printf(arena, "pod.ini:2:7: error: pod.shape = %s: %s\n", rows[i].shape, rows[i].why).at;
    cr_assert(str_starts(diag_error_text(diag), start), "%s", diag_error_text(diag).at);
    end();
    begin();
  }
}

Test(config, missing_file_and_missing_shape) {
  Config *config;
  cr_assert_eq(config_read(arena, "/no/such.ini", NULL, 0, &config, diag), STATUS_INVALID);
  cr_assert_str_eq(diag_error_text(diag).at,
                   "podsim: error: cannot read /no/such.ini: No such file or directory\n"
                   "hint: pods that come with podsim lie in configs/, as v5e_4x2.ini\n");
  end();
  begin();
  cr_assert_eq(config_read(arena, "/tmp", NULL, 0, &config, diag), STATUS_INVALID, "a folder");
  end();
  begin();
  expect_error("", NULL,
               "podsim: error: pod.ini does not give pod.shape\n"
               "hint: write shape = … under [pod]: chips along one to three axes, as 4x2 or 16x16\n");
}

Test(config, chips_are_row_major_last_axis_fastest) {
  Config *config;
  cr_assert_eq(read_text("[pod]\nshape=4x2\n", NULL, &config), STATUS_OK);
  int64_t at[POD_AXES];
  pod_coordinates(&config->pod, 5, at);
  cr_assert(at[0] == 2 && at[1] == 1 && at[2] == 0);
  cr_assert_eq(read_text("[pod]\nshape=3x5x7\n", NULL, &config), STATUS_OK);
  for (uint32_t chip = 0; chip < config->pod.n_chips; chip++) {
    pod_coordinates(&config->pod, chip, at);
    cr_assert_eq(at[0] * 35 + at[1] * 7 + at[2], chip);
    cr_assert_eq(pod_chip(&config->pod, 0, at), chip);
  }
}

Test(config, slices_come_one_after_the_other) {
  Config *config;
  cr_assert_eq(read_text("[pod]\nshape=4x2\nslices=3\n", NULL, &config), STATUS_OK);
  const Pod *pod = &config->pod;
  cr_assert(pod->slices == 3 && pod->slice_chips == 8 && pod->n_chips == 24);
  int64_t at[POD_AXES];
  pod_coordinates(pod, 21, at);
  cr_assert(pod_slice(pod, 21) == 2 && at[0] == 2 && at[1] == 1);
  cr_assert_eq(pod_chip(pod, 2, at), 21);
  expect_error("[pod]\nshape=256x16\nslices=17\n", NULL,
               "podsim: error: pod.slices = 17: more than 65536 chips\nhint: take fewer slices\n");
}

Test(config, only_tori_of_k_and_2k_can_be_twisted) {
  Config *config;
  cr_assert_eq(read_text("[pod]\ngeneration=v4\nshape=4x8x4\ntwist=true\n", NULL, &config), STATUS_OK);
  const Pod *pod = &config->pod;
  cr_assert(pod_axis_is_short(pod, 0) && !pod_axis_is_short(pod, 1) && pod_axis_is_short(pod, 2));
  cr_assert(!pod_axis_is_ring(pod, 0) && pod_axis_is_ring(pod, 1));
  cr_assert_eq(read_text("[pod]\ngeneration=v4\nshape=4x8x4\n", NULL, &config), STATUS_OK);
  cr_assert(pod_axis_is_ring(&config->pod, 0), "not unless it is asked for");
  static const char *const others[] = {"4x4x4", "8x8x8", "4x4x12",
                                       "4x8",   "2x2x4", "4x4x8\nwrap=true,true,false"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    expect_error(
        str_printf(arena, "[pod]\ngeneration=v4\nshape=%s\ntwist=true\n", others[i]).at, NULL,
        "podsim: error: pod.twist: only a torus of k x k x 2k or k x 2k x 2k, k at least 4, whose axes "
        "all wrap can be twisted\nhint: for example shape = 4x4x8 or 4x8x8 of v4\n");
}

static const Pod *pod_of(const char *file, const char *const *sets, uint32_t n_sets) {
  Config *config;
  Str path = str_printf(arena, SOURCE_DIR "/configs/%s.ini", file);
  cr_assert_eq(config_read(arena, path.at, sets, n_sets, &config, diag), STATUS_OK, "%s", file);
  return &config->pod;
}

/* MXUs, their side and the clock make the peak that the datasheet tells, of every generation. */
Test(config, every_generation_reaches_its_peak) {
  static const char *const files[] = {"v5e_1x1", "v4_4x4x4", "v5p_4x4x4", "v6e_4x2", "tpu7x_4x4x4"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    const Pod *pod = pod_of(files[i], NULL, 0);
    double side = (double)pod->mxu_size;
    double flops = 2 * (double)pod->mxu_count * side * side * pod->clock_hz;
    cr_assert_float_eq(flops / pod->peak_flops, 1, 0.01, "%s: %g", files[i], flops);
  }
}

/* JAX Scaling Book, "TPUs", question 2: a v5p pod has 2240 hosts, 4.1e18 FLOP/s in bf16, and 860 TB of HBM at
 * 96e9 bytes a chip. */
Test(config, a_whole_v5p_pod) {
  const char *const sets[] = {"pod.shape=16x20x28", "hbm.capacity=96GB"};
  const Pod *pod = pod_of("v5p_4x4x4", sets, 2);
  cr_assert_eq(pod->n_chips / pod->host_chips, 2240);
  cr_assert_float_eq(pod->n_chips * pod->peak_flops, 4.1e18, 0.02 * 4.1e18);
  cr_assert_float_eq((double)pod->n_chips * (double)pod->hbm_bytes, 860e12, 0.02 * 860e12);
}

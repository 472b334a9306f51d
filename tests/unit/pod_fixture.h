/* Pods for tests, made as users make them: by config_read from a file in configs/ and keys set on top, so
 * that a new key never stands at zero. */
#pragma once

#include "sim/base/str.h"
#include "sim/config/pod.h"

#include <criterion/criterion.h>

/* Links that take exactly hops x latency + bytes / bandwidth, and kernels that start at once. */
#define EXACT_LINKS "ici.efficiency=100%", "ici.startup=0us"

enum { FIXTURE_SETS = 32 };

static inline Pod pod_with(Arena *arena, const char *config_name, const char *const *sets) {
  const char *path = str_printf(arena, SOURCE_DIR "/configs/%s.ini", config_name).at;
  Diag *diag = diag_new();
  Config *config;
  uint32_t n = 0;
  while (sets[n] != NULL) n++;
  cr_assert_eq(config_read(arena, path, sets, n, &config, diag), STATUS_OK, "%s", diag_error_text(diag).at);
  diag_free(diag);
  return config->pod;
}

/* The pod of configs/NAME.ini with keys set: pod_fixture(arena, "v5e_4x2", "ici.latency=0us"). It may refer
 * to `arena`. */
#define pod_fixture(arena, name, ...)                                                                        \
  pod_with(arena, name, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

/* A v5e pod of a shape, "4x2", with a letter an axis: w wraps, - does not; and up to FIXTURE_SETS - 2 keys.
 */
static inline Pod torus_with(Arena *arena, const char *shape, const char *wrap, const char *const *sets) {
  const char *all[FIXTURE_SETS + 1] = {NULL};
  StrBuf flags = {.arena = arena};
  for (const char *axis = wrap; *axis != 0; axis++)
    buf_printf(&flags, "%s%s", axis == wrap ? "pod.wrap=" : ",", *axis == 'w' ? "true" : "false");
  uint32_t n = 0;
  all[n++] = str_printf(arena, "pod.shape=%s", shape).at;
  all[n++] = buf_str(&flags).at;
  for (; *sets != NULL && n < FIXTURE_SETS; sets++) all[n++] = *sets;
  cr_assert_null(*sets, "more keys than the fixture has room for");
  return pod_with(arena, "v5e_1x1", all);
}

#define torus_fixture(arena, shape, wrap, ...)                                                               \
  torus_with(arena, shape, wrap, (const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

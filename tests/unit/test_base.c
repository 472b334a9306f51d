/* Arena, strings, maps and diagnostics. */
#include "sim/base/diag.h"
#include "sim/base/map.h"
#include "sim/base/vec.h"

#include <criterion/criterion.h>

Test(arena, memory_is_zeroed_and_aligned) {
  Arena *arena = arena_new();
  for (size_t size = 1; size < 100000; size = size * 3 + 1) {
    unsigned char *bytes = arena_alloc(arena, size);
    for (size_t i = 0; i < size; i++) cr_assert_eq(bytes[i], 0);
    cr_assert_eq((uintptr_t)bytes % (size >= 64 ? 64 : 16), 0);
    memset(bytes, 255, size);
  }
  arena_free(arena);
}

Test(vec, grows_and_keeps_values) {
  Arena *arena = arena_new();
  Vec(int) numbers = {0};
  for (int i = 0; i < 1000; i++) VEC_PUSH(arena, &numbers, i * i);
  cr_assert_eq(numbers.n, 1000);
  for (int i = 0; i < 1000; i++) cr_assert_eq(numbers.at[i], i * i);
  arena_free(arena);
}

Test(map, finds_what_was_put) {
  Arena *arena = arena_new();
  StrMap *map = map_new(arena);
  for (uint32_t i = 0; i < 500; i++) map_put(map, str_printf(arena, "name%u", i), i);
  map_put(map, STR("name7"), 70);
  uint32_t value;
  cr_assert(map_get(map, STR("name499"), &value) && value == 499);
  cr_assert(map_get(map, STR("name7"), &value) && value == 70);
  cr_assert_not(map_get(map, STR("name500"), &value));
  arena_free(arena);
}

Test(str, integers) {
  int64_t value;
  cr_assert(str_to_int(STR("-42"), &value) && value == -42);
  cr_assert_not(str_to_int(STR("4x"), &value));
  cr_assert_not(str_to_int(STR(""), &value));
  cr_assert_not(str_to_int(STR("99999999999999999999"), &value));
}

Test(str, nearest_name) {
  const char *names[] = {"bandwidth", "latency", "ideal"};
  cr_assert_str_eq(str_nearest(STR("bandwith"), names, 3), "bandwidth");
  cr_assert_null(str_nearest(STR("zzzzzzzzz"), names, 3));
}

Test(diag, error_has_place_line_caret_and_hint) {
  Diag *diag = diag_new();
  Source source = {STR("a.hlo"), STR("one\n  two three\n")};
  Status status =
      diag_fail(diag, STATUS_INVALID, (Place){&source, 10}, "write four", "%s is not known", "three");
  cr_assert_eq(status, STATUS_INVALID);
  Str text = diag_error_text(diag);
  cr_assert_str_eq(text.at,
                   "a.hlo:2:7: error: three is not known\n    two three\n        ^\nhint: write four\n");
  diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "later");
  cr_assert(str_eq(diag_error_text(diag), text), "the first error stays");
  diag_free(diag);
}

Test(diag, merge_keeps_the_first_error) {
  Diag *diag = diag_new(), *other = diag_new();
  diag_note(diag, NOWHERE, "a note");
  diag_note(other, NOWHERE, "a note");
  diag_fail(other, STATUS_FAILED, NOWHERE, NULL, "first");
  diag_merge(diag, other);
  diag_fail(diag, STATUS_FAILED, NOWHERE, NULL, "second");
  diag_free(other);
  cr_assert(str_is(diag_error_text(diag), "podsim: error: first\n"));
  cr_assert(str_is(diag_notes_text(diag), "podsim: note: a note\n"));
  diag_free(diag);
}

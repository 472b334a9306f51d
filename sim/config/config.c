/* Config: for every key of config.def the value that counts (--set, else the file, else the generation, else
 * the default) is turned into the pod's field. The tables say everything; only shape and wrap are read by
 * hand. */
#include "sim/config/ini_file.h"
#include "sim/config/pod.h"
#include "sim/config/units.h"

#include <stddef.h>

/* What a field of Pod holds, told by its C type. */
typedef enum { HOLDS_INTEGER, HOLDS_REAL, HOLDS_FLAG, HOLDS_TEXT, HOLDS_SHAPE, HOLDS_WRAP } Holds;

#define HOLDS_OF(field)                                                                                      \
  _Generic(((Pod *)NULL)->field,                                                                             \
      int64_t: HOLDS_INTEGER,                                                                                \
      double: HOLDS_REAL,                                                                                    \
      bool: HOLDS_FLAG,                                                                                      \
      Str: HOLDS_TEXT,                                                                                       \
      int64_t *: HOLDS_SHAPE,                                                                                \
      bool *: HOLDS_WRAP)

typedef struct {
  const char *section, *key;
  Unit unit;
  Holds holds;
  size_t offset;
  const char *fallback, *meaning, *source;
} Key;

static const Key keys[] = {
#define CONFIG(section, key, field, unit, fallback, meaning, source)                                         \
  {#section, #key, UNIT_##unit, HOLDS_OF(field), offsetof(Pod, field), fallback, meaning, source},
#include "sim/config/config.def"
#undef CONFIG
};

typedef enum { WRAP_AXES_OF_16, WRAP_CUBES } WrapRule;

static const struct {
  const char *name;
  WrapRule wrap;
  const char *source;
} generations[] = {
#define GENERATION(name, wrap, source) {#name, WRAP_##wrap, source},
#define PRESET(generation, section, key, value, source)
#include "sim/config/generation.def"
#undef GENERATION
#undef PRESET
};

static const struct {
  const char *generation, *section, *key, *value, *source;
} presets[] = {
#define GENERATION(name, wrap, source)
#define PRESET(generation, section, key, value, source) {#generation, #section, #key, value, source},
#include "sim/config/generation.def"
#undef GENERATION
#undef PRESET
};

#define LENGTH(array) (sizeof(array) / sizeof *(array))
enum { KEYS = LENGTH(keys), GENERATIONS = LENGTH(generations), PRESETS = LENGTH(presets) };

/* A key's value as text, and where it is from. */
typedef struct {
  Str text; /* at == NULL: not given */
  Place key_at, value_at;
  Str origin, source;
} Given;

typedef struct {
  Arena *arena;
  Diag *diag;
  Given given[KEYS];
  Pod *pod;
  uint32_t generation; /* of generations, once the pod has it */
} Reading;

/* ---- which key ---- */

static Status unknown_section(Reading *reading, Str section, Place at) {
  const char *sections[KEYS];
  size_t n = 0;
  for (size_t i = 0; i < KEYS; i++) {
    if (n == 0 || !str_is(str_of(sections[n - 1]), keys[i].section)) sections[n++] = keys[i].section;
  }
  StrBuf hint = {.arena = reading->arena};
  const char *nearest = str_nearest(section, sections, n);
  if (nearest != NULL) buf_printf(&hint, "did you mean [%s]?", nearest);
  if (nearest == NULL) buf_add(&hint, STR("sections are"));
  for (size_t i = 0; i < n && nearest == NULL; i++) buf_printf(&hint, " [%s]", sections[i]);
  return diag_fail(reading->diag, STATUS_INVALID, at, buf_str(&hint).at, "unknown section [%.*s]",
                   STR_ARG(section));
}

/* The nearest key of the section, else of any, else all of the section. */
static Status unknown_key(Reading *reading, Str section, Str key, Place at) {
  const char *here[KEYS], *all[KEYS];
  size_t n = 0;
  for (size_t i = 0; i < KEYS; i++) {
    all[i] = keys[i].key;
    if (str_is(section, keys[i].section)) here[n++] = keys[i].key;
  }
  StrBuf hint = {.arena = reading->arena};
  const char *near_here = str_nearest(key, here, n), *near = str_nearest(key, all, KEYS);
  for (size_t i = 0; i < KEYS && near_here == NULL && near != NULL && hint.n == 0; i++) {
    if (keys[i].key == near) buf_printf(&hint, "did you mean %s.%s?", keys[i].section, near);
  }
  if (near_here != NULL) buf_printf(&hint, "did you mean %.*s.%s?", STR_ARG(section), near_here);
  if (hint.n == 0) buf_printf(&hint, "keys of [%.*s] are", STR_ARG(section));
  for (size_t i = 0; i < n && near_here == NULL && near == NULL; i++) buf_printf(&hint, " %s", here[i]);
  return diag_fail(reading->diag, STATUS_INVALID, at, buf_str(&hint).at, "unknown key %.*s.%.*s",
                   STR_ARG(section), STR_ARG(key));
}

static Status find_section(Reading *reading, Str section, Place at) {
  for (size_t i = 0; i < KEYS; i++) {
    if (str_is(section, keys[i].section)) return STATUS_OK;
  }
  return unknown_section(reading, section, at);
}

static Status find_key(Reading *reading, Str section, Str key, Place at, size_t *index) {
  TRY(find_section(reading, section, at));
  for (*index = 0; *index < KEYS; ++*index) {
    if (str_is(section, keys[*index].section) && str_is(key, keys[*index].key)) return STATUS_OK;
  }
  return unknown_key(reading, section, key, at);
}

/* ---- who gives it ---- */

static Status on_line(void *self, const IniLine *line) {
  Reading *reading = self;
  if (line->key.n == 0) return find_section(reading, line->section, line->key_at);
  RETURN_IF(line->section.n == 0,
            diag_fail(reading->diag, STATUS_INVALID, line->key_at, "write [pod] before it",
                      "key %.*s stands before any section", STR_ARG(line->key)));
  size_t i;
  TRY(find_key(reading, line->section, line->key, line->key_at, &i));
  uint32_t number, column;
  Given *given = &reading->given[i];
  if (given->text.at != NULL) {
    place_line_column(given->key_at, &number, &column);
    return diag_fail(reading->diag, STATUS_INVALID, line->key_at, "leave one of them out",
                     "%s.%s is given twice; first in line %u", keys[i].section, keys[i].key, number);
  }
  place_line_column(line->key_at, &number, &column);
  Str origin = str_printf(reading->arena, "%.*s:%u", STR_ARG(line->key_at.source->name), number);
  Str source = line->comment.n != 0 ? line->comment : STR("given");
  *given = (Given){line->value, line->key_at, line->value_at, origin, source};
  return STATUS_OK;
}

/* `section.key=value`, with a source of its own for the caret. */
static Status on_set(Reading *reading, const char *text) {
  Source *source = ARENA_NEW(reading->arena, Source);
  *source = (Source){STR("--set"), str_copy(reading->arena, str_of(text))};
  Str set = source->text;
  size_t equals = str_find(set, '='), dot = str_find(str_sub(set, 0, equals), '.');
  Place at = {source, 0}, value_at = {source, equals + 1};
  RETURN_IF(equals == set.n || dot == equals,
            diag_fail(reading->diag, STATUS_INVALID, at, "write section.key=value, as ici.bandwidth=90GB/s",
                      "no section.key=value"));
  size_t i;
  Str key = str_trim(str_sub(set, dot + 1, equals));
  TRY(find_key(reading, str_trim(str_sub(set, 0, dot)), key, at, &i));
  reading->given[i] =
      (Given){str_trim(str_sub(set, equals + 1, set.n)), at, value_at, STR("--set"), STR("given")};
  return STATUS_OK;
}

/* The text that counts for key `i`. */
static Status effective(Reading *reading, size_t i, const char *path, Given *given) {
  const Key *key = &keys[i];
  *given = reading->given[i];
  if (given->text.at != NULL) return STATUS_OK;
  *given = (Given){str_of(key->fallback), NOWHERE, NOWHERE, STR("default"), str_of(key->source)};
  for (size_t p = 0; p < PRESETS; p++) {
    if (!str_is(reading->pod->generation, presets[p].generation) ||
        !str_is(str_of(key->section), presets[p].section) || !str_is(str_of(key->key), presets[p].key))
      continue;
    given->text = str_of(presets[p].value);
    given->origin = reading->pod->generation;
    given->source = str_of(presets[p].source);
  }
  RETURN_IF(given->text.n == 0, diag_fail(reading->diag, STATUS_INVALID, NOWHERE,
                                          str_printf(reading->arena, "write %s = … under [%s]: %s", key->key,
                                                     key->section, unit_example(key->unit))
                                              .at,
                                          "%s does not give %s.%s", path, key->section, key->key));
  return STATUS_OK;
}

/* ---- what it says ---- */

static Status bad_value(Reading *reading, const Key *key, const Given *given, const char *why) {
  const char *hint = str_printf(reading->arena, "write %s", unit_example(key->unit)).at;
  return diag_fail(reading->diag, STATUS_INVALID, given->value_at, hint, "%s.%s = %.*s: %s", key->section,
                   key->key, STR_ARG(given->text), why);
}

static Status read_shape(Reading *reading, const Key *key, const Given *given) {
  Pod *pod = reading->pod;
  Str rest = given->text;
  int64_t chips = 1;
  for (size_t next = 0; next <= rest.n;) {
    RETURN_IF(pod->n_axes == POD_AXES, bad_value(reading, key, given, "a torus has at most three axes"));
    size_t end = next + str_find(str_sub(rest, next, rest.n), 'x');
    int64_t length;
    RETURN_IF(!str_to_int(str_trim(str_sub(rest, next, end)), &length),
              bad_value(reading, key, given, "no shape"));
    RETURN_IF(length < 1, bad_value(reading, key, given, "an axis has at least one chip"));
    RETURN_IF(length > POD_CHIPS || chips * length > POD_CHIPS,
              bad_value(reading, key, given, "more than 65536 chips"));
    pod->shape[pod->n_axes++] = length;
    chips *= length;
    next = end + 1;
  }
  for (uint32_t axis = pod->n_axes; axis < POD_AXES; axis++) pod->shape[axis] = 1;
  pod->slice_chips = (uint32_t)chips;
  return STATUS_OK;
}

static bool generation_wraps(const Reading *reading, uint32_t axis) {
  const Pod *pod = reading->pod;
  if (generations[reading->generation].wrap == WRAP_AXES_OF_16) return pod->shape[axis] == 16;
  for (uint32_t a = 0; a < pod->n_axes; a++) {
    if (pod->shape[a] % 4 != 0) return false;
  }
  return true;
}

static Status read_wrap(Reading *reading, const Key *key, Given *given) {
  Pod *pod = reading->pod;
  bool automatic = str_is(given->text, "auto");
  size_t next = 0;
  StrBuf flags = {.arena = reading->arena};
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    Str rest = str_sub(given->text, next, given->text.n);
    size_t comma = str_find(rest, ',');
    double flag = generation_wraps(reading, axis);
    RETURN_IF(!automatic && !unit_parse(str_sub(rest, 0, comma), UNIT_FLAG, &flag),
              bad_value(reading, key, given, "one of true and false for each axis of the shape"));
    pod->wrap[axis] = flag != 0;
    next += comma + 1;
    buf_printf(&flags, "%s%s", axis == 0 ? "" : ",", pod->wrap[axis] ? "true" : "false");
  }
  RETURN_IF(!automatic && next <= given->text.n, bad_value(reading, key, given, "more flags than axes"));
  if (automatic) given->source = str_of(generations[reading->generation].source);
  given->text = buf_str(&flags);
  return STATUS_OK;
}

static Status read_text(Reading *reading, const Key *key, const Given *given) {
  RETURN_IF(given->text.n == 0, bad_value(reading, key, given, "nothing there"));
  *(Str *)((char *)reading->pod + key->offset) = str_copy(reading->arena, given->text);
  if (key->offset != offsetof(Pod, generation)) return STATUS_OK;
  const char *names[GENERATIONS];
  for (uint32_t i = 0; i < GENERATIONS; i++) {
    names[i] = generations[i].name;
    reading->generation = i;
    if (str_is(given->text, names[i])) return STATUS_OK;
  }
  const char *nearest = str_nearest(given->text, names, GENERATIONS);
  StrBuf hint = {.arena = reading->arena};
  buf_printf(&hint, nearest != NULL ? "did you mean %s? known are" : "known are", nearest);
  for (size_t i = 0; i < GENERATIONS; i++) buf_printf(&hint, " %s", names[i]);
  return diag_fail(reading->diag, STATUS_INVALID, given->value_at, buf_str(&hint).at,
                   "unknown generation %.*s", STR_ARG(given->text));
}

static Status read_number(Reading *reading, const Key *key, Given *given) {
  char *field = (char *)reading->pod + key->offset;
  double value;
  RETURN_IF(!unit_parse(given->text, key->unit, &value),
            bad_value(reading, key, given, "does not read as its unit, or is out of range"));
  if (key->holds == HOLDS_INTEGER) *(int64_t *)field = (int64_t)value;
  if (key->holds == HOLDS_REAL) *(double *)field = value;
  if (key->holds == HOLDS_FLAG) *(bool *)field = value != 0;
  given->text = unit_text(reading->arena, value, key->unit);
  return STATUS_OK;
}

static Status read_value(Reading *reading, const Key *key, Given *given) {
  switch (key->holds) {
  case HOLDS_TEXT: return read_text(reading, key, given);
  case HOLDS_SHAPE: return read_shape(reading, key, given);
  case HOLDS_WRAP: return read_wrap(reading, key, given);
  default: return read_number(reading, key, given);
  }
}

static Status count_chips(const Reading *reading) {
  Pod *pod = reading->pod;
  int64_t chips;
  RETURN_IF(__builtin_mul_overflow(pod->slices, pod->slice_chips, &chips) || chips > POD_CHIPS,
            diag_fail(reading->diag, STATUS_INVALID, NOWHERE, "take fewer slices",
                      "pod.slices = %lld: more than 65536 chips", (long long)pod->slices));
  pod->n_chips = (uint32_t)chips;
  return STATUS_OK;
}

/* Axes of k and of 2k, all of which wrap. */
static Status check_twist(const Reading *reading) {
  const Pod *pod = reading->pod;
  if (!pod->twist) return STATUS_OK;
  int64_t k = INT64_MAX;
  uint32_t n_short = 0, n_long = 0, wraps = 0;
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) k = pod->shape[axis] < k ? pod->shape[axis] : k;
  for (uint32_t axis = 0; axis < pod->n_axes; axis++) {
    n_short += pod->shape[axis] == k;
    n_long += pod->shape[axis] == 2 * k;
    wraps += pod->wrap[axis];
  }
  bool fits = k >= 4 && n_short > 0 && n_long > 0 && n_short + n_long == POD_AXES && wraps == POD_AXES;
  if (fits) return STATUS_OK;
  return diag_fail(
      reading->diag, STATUS_INVALID, NOWHERE, "for example shape = 4x4x8 or 4x8x8 of v4",
      "pod.twist: only a torus of k x k x 2k or k x 2k x 2k, k at least 4, whose axes all wrap can be "
      "twisted");
}

static bool is_program(Str text) {
  static const char *const beginnings[] = {"HloModule", "module ", "func.func", "builtin.module"};
  for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
    if (str_starts(str_trim(text), beginnings[i])) return true;
  return false;
}

Status config_read(Arena *arena, const char *path, const char *const *sets, uint32_t n_sets, Config **config,
                   Diag *diag) {
  Config *made = ARENA_NEW(arena, Config);
  Reading *reading = ARENA_NEW(arena, Reading);
  *reading = (Reading){.arena = arena, .diag = diag, .pod = &made->pod};
  const Source *source;
  TRY(ini_source(arena, path, &source, diag));
  RETURN_IF(is_program(source->text),
            diag_fail(diag, STATUS_INVALID, (Place){source, 0}, "CONFIG comes before PROGRAM",
                      "this is a program, not the description of a pod"));
  TRY(ini_read(source, on_line, reading, diag));
  for (uint32_t i = 0; i < n_sets; i++) TRY(on_set(reading, sets[i]));
  for (size_t i = 0; i < KEYS; i++) {
    Given given;
    TRY(effective(reading, i, path, &given));
    TRY(read_value(reading, &keys[i], &given));
    VEC_PUSH(arena, &made->entries,
             (ConfigEntry){str_printf(arena, "%s.%s", keys[i].section, keys[i].key), given.text, given.origin,
                           given.source, str_of(keys[i].meaning)});
  }
  TRY(count_chips(reading));
  TRY(check_twist(reading));
  made->pod.hbm_usable_bytes = (int64_t)(made->pod.hbm_usable * (double)made->pod.hbm_bytes);
  *config = made;
  return STATUS_OK;
}

/* JSON: yajl's generator with a file under it. */
#include "traces/json_out.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <yajl/yajl_gen.h>

struct JsonOut {
  yajl_gen gen;
};

static void print(void *out, const char *text, size_t n) {
  file_out_text(out, (Str){text, n});
}

JsonOut *json_out_new(FileOut *out, bool indent) {
  JsonOut *json = malloc(sizeof *json);
  if (json == NULL) abort();
  json->gen = yajl_gen_alloc(NULL);
  if (json->gen == NULL) abort();
  yajl_gen_config(json->gen, yajl_gen_beautify, indent ? 1 : 0);
  yajl_gen_config(json->gen, yajl_gen_indent_string, " ");
  yajl_gen_config(json->gen, yajl_gen_print_callback, print, out);
  return json;
}

void json_out_free(JsonOut *json) {
  yajl_gen_free(json->gen);
  free(json);
}

void json_object(JsonOut *json) {
  yajl_gen_map_open(json->gen);
}

void json_object_end(JsonOut *json) {
  yajl_gen_map_close(json->gen);
}

void json_array(JsonOut *json) {
  yajl_gen_array_open(json->gen);
}

void json_array_end(JsonOut *json) {
  yajl_gen_array_close(json->gen);
}

void json_key(JsonOut *json, const char *key) {
  json_text(json, str_of(key));
}

void json_text(JsonOut *json, Str text) {
  yajl_gen_string(json->gen, (const unsigned char *)text.at, text.n);
}

void json_int(JsonOut *json, int64_t value) {
  char digits[24];
  int n = snprintf(digits, sizeof digits, "%" PRId64, value);
  json_digits(json, (Str){digits, (size_t)n});
}

void json_double(JsonOut *json, double value) {
  if (!isfinite(value)) {
    yajl_gen_null(json->gen);
    return;
  }
  char digits[32];
  for (int precision = 6; precision <= 17; precision++) {
    snprintf(digits, sizeof digits, "%.*g", precision, value);
    if (strtod(digits, NULL) == value) break;
  }
  json_digits(json, str_of(digits));
}

void json_digits(JsonOut *json, Str digits) {
  yajl_gen_number(json->gen, digits.at, digits.n);
}

void json_key_text(JsonOut *json, const char *key, Str text) {
  json_key(json, key);
  json_text(json, text);
}

void json_key_int(JsonOut *json, const char *key, int64_t value) {
  json_key(json, key);
  json_int(json, value);
}

void json_key_double(JsonOut *json, const char *key, double value) {
  json_key(json, key);
  json_double(json, value);
}

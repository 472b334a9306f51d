/* JSON into a file through yajl, streaming. Numbers are printed shortest, so that they read back to the same
 * value. */
#pragma once

#include "traces/file_out.h"

typedef struct JsonOut JsonOut;

/* `indent` for people, without for machines. */
JsonOut *json_out_new(FileOut *out, bool indent);
void json_out_free(JsonOut *json);
void json_object(JsonOut *json);
void json_object_end(JsonOut *json);
void json_array(JsonOut *json);
void json_array_end(JsonOut *json);
void json_key(JsonOut *json, const char *key);
void json_text(JsonOut *json, Str text);
void json_int(JsonOut *json, int64_t value);
void json_double(JsonOut *json, double value); /* null where it is not finite */
void json_digits(JsonOut *json, Str digits);   /* a number as it is to stand */
void json_key_text(JsonOut *json, const char *key, Str text);
void json_key_int(JsonOut *json, const char *key, int64_t value);
void json_key_double(JsonOut *json, const char *key, double value);

/* The primitives of MLIR's bytecode: bytes, variable-width integers, text. Nothing is read past the end that
 * a cursor was given, and no count is believed that the bytes left could not hold. */
#include "sim/mosaic/bytecode.h"

#include <stdarg.h>
#include <stdio.h>

Status cursor_fail(const Cursor *cursor, const char *format, ...) {
  char what[256];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  const Bytecode *file = cursor->file;
  return diag_fail(file->diag, STATUS_INVALID, file->place,
                   "--numbers off simulates its time; lower the program again to get a whole kernel",
                   "%.*s: its kernel is not read: byte %zu: %s", STR_ARG(file->call), cursor->at, what);
}

static size_t left(const Cursor *cursor) {
  return cursor->end - cursor->at;
}

Status read_byte(Cursor *cursor, uint8_t *value) {
  RETURN_IF(left(cursor) == 0, cursor_fail(cursor, "it ends too early"));
  *value = (uint8_t)cursor->file->bytes.at[cursor->at++];
  return STATUS_OK;
}

Status read_varint(Cursor *cursor, uint64_t *value) {
  uint8_t first = 0;
  TRY(read_byte(cursor, &first));
  uint32_t more = first == 0 ? 8 : (uint32_t)__builtin_ctz(first);
  uint64_t high = 0;
  for (uint32_t i = 0; i < more; i++) {
    uint8_t next = 0;
    TRY(read_byte(cursor, &next));
    high |= (uint64_t)next << 8 * i;
  }
  /* A first byte with i zeros below the 1 gives 7 - i bits. */
  *value = more >= 8 ? high : high << (7 - more) | first >> (more + 1);
  return STATUS_OK;
}

Status read_signed(Cursor *cursor, int64_t *value) {
  uint64_t zigzag = 0;
  TRY(read_varint(cursor, &zigzag));
  *value = (int64_t)(zigzag >> 1 ^ (0 - (zigzag & 1)));
  return STATUS_OK;
}

Status read_bytes(Cursor *cursor, uint64_t n, Str *bytes) {
  RETURN_IF(n > left(cursor), cursor_fail(cursor, "it ends too early"));
  *bytes = (Str){cursor->file->bytes.at + cursor->at, (size_t)n};
  cursor->at += (size_t)n;
  return STATUS_OK;
}

Status read_terminated(Cursor *cursor, Str *text) {
  Str rest = {cursor->file->bytes.at + cursor->at, left(cursor)};
  size_t n = str_find(rest, '\0');
  RETURN_IF(n == rest.n, cursor_fail(cursor, "a text has no end"));
  *text = str_sub(rest, 0, n);
  cursor->at += n + 1;
  return STATUS_OK;
}

Status read_index(Cursor *cursor, uint64_t limit, const char *what, uint32_t *index) {
  Cursor before = *cursor;
  uint64_t value = 0;
  TRY(read_varint(cursor, &value));
  RETURN_IF(
      value >= limit || value >= UINT32_MAX,
      cursor_fail(&before, "%s %llu of %llu", what, (unsigned long long)value, (unsigned long long)limit));
  *index = (uint32_t)value;
  return STATUS_OK;
}

Status read_count(Cursor *cursor, uint32_t *count) {
  Cursor before = *cursor;
  uint64_t value = 0;
  TRY(read_varint(cursor, &value));
  RETURN_IF(value > left(cursor) || value >= UINT32_MAX,
            cursor_fail(&before, "%llu things in %zu bytes", (unsigned long long)value, left(cursor)));
  *count = (uint32_t)value;
  return STATUS_OK;
}

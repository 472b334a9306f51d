/* Payloads: runs of elements that are contiguous in both the array and the buffer are copied whole. */
#include "sim/engine/payload.h"

bool payload_add(Arena *arena, Payload *payload, uint32_t array, const Shape *shape, int64_t dimension) {
  PayloadArray own = {.array = array, .outer = 1, .inner = shape_elements(shape)};
  if (dimension >= 0) {
    if (dimension >= shape->rank || shape->dims[dimension] % payload->members != 0) return false;
    for (int64_t i = 0; i < dimension; i++) own.outer *= shape->dims[i];
    own.inner = own.outer == 0 ? 0 : own.inner / own.outer / payload->members;
  }
  /* The kernel's element may be smaller than the array's: bytes. */
  own.inner *= dtype_bytes(shape->dtype) / payload->element_bytes;
  VEC_PUSH(arena, &payload->arrays, own);
  if (!payload->array_of_member)
    payload->elements += own.outer * own.inner;
  else
    payload->elements = own.inner;
  return true;
}

/* Elements [at, at + n) of a member's share of one array, row by row. */
static void move_rows(const Payload *payload, PayloadMove move, const PayloadArray *array,
                      unsigned char *bytes, uint32_t member, int64_t at, int64_t n, unsigned char *buffer) {
  size_t width = payload->element_bytes;
  int64_t members = payload->array_of_member ? 1 : payload->members,
          place = payload->array_of_member ? 0 : member;
  while (n > 0) {
    int64_t row = at / array->inner, within = at % array->inner;
    int64_t run = array->inner - within < n ? array->inner - within : n;
    unsigned char *in_array = bytes + (size_t)((row * members + place) * array->inner + within) * width;
    if (move == PAYLOAD_READ)
      memcpy(buffer, in_array, (size_t)run * width);
    else
      memcpy(in_array, buffer, (size_t)run * width);
    buffer += (size_t)run * width;
    at += run;
    n -= run;
  }
}

void payload_move(const Payload *payload, PayloadMove move, unsigned char *const *arrays, uint32_t member,
                  int64_t at, int64_t n, unsigned char *buffer) {
  if (payload->array_of_member) {
    const PayloadArray *own = &payload->arrays.at[member];
    move_rows(payload, move, own, arrays[own->array], member, at, n, buffer);
    return;
  }
  for (uint32_t i = 0; i < payload->arrays.n && n > 0; i++) {
    const PayloadArray *array = &payload->arrays.at[i];
    int64_t share = array->outer * array->inner;
    if (at < share) {
      int64_t run = share - at < n ? share - at : n;
      move_rows(payload, move, array, arrays[array->array], member, at, run, buffer);
      buffer += (size_t)run * payload->element_bytes;
      n -= run;
      at += run;
    }
    at -= share;
  }
}

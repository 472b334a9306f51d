/* Payloads: the values of a collective's operands as the kernels see them, one row of elements a member. In:
 * shapes and the collective's dimension; out: copies between arrays and kernel buffers. */
#pragma once

#include "sim/ir/shape.h"

/* An array of shape [outer][members][inner], all in elements; a payload's own array has one member. */
typedef struct {
  uint32_t array; /* index into the operands or results */
  int64_t outer, inner;
} PayloadArray;

/* Arrays that travel together. The payload of a member is its share of each array, one after the other. */
typedef struct {
  Vec(PayloadArray) arrays;
  uint32_t members;
  bool array_of_member; /* array m is the whole payload of member m */
  uint32_t element_bytes;
  int64_t elements; /* of a member */
} Payload;

/* Adds an array, of which each member has a part of `dimension`; dimension < 0: one member has all of it.
 * False where the members do not divide the dimension. */
bool payload_add(Arena *arena, Payload *payload, uint32_t array, const Shape *shape, int64_t dimension);

typedef enum { PAYLOAD_READ, PAYLOAD_WRITE } PayloadMove;

/* Elements [at, at + n) of a member's payload: from the arrays into `buffer`, or the other way. */
void payload_move(const Payload *payload, PayloadMove move, unsigned char *const *arrays, uint32_t member,
                  int64_t at, int64_t n, unsigned char *buffer);

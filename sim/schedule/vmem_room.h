/* VMEM as a room that values share over time. */
#pragma once

#include "sim/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  int64_t *most, *whole; /* by node of a tree over places: the most at once below it; what all of it holds */
  int64_t bytes;         /* its size */
  uint32_t places;
} VmemRoom;

/* An empty room of so many bytes, over places 0 .. places - 1 of an order. Lives in `arena`. */
VmemRoom vmem_room_new(Arena *arena, int64_t bytes, uint32_t places);
/* Takes `bytes` from place `first` to `last`; false, and nothing taken, where they do not fit. */
bool vmem_room_take(VmemRoom *room, uint32_t first, uint32_t last, int64_t bytes);

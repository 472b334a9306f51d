/* VMEM over time. In: stretches of places and their bytes; out: whether they fit. The one idea: a tree of
 * sums over the places, so that a stretch is added, and its fullest place found, in a logarithm of steps. */
#include "sim/schedule/vmem_room.h"

typedef struct {
  uint32_t first, last;
  int64_t bytes;
} Stretch;

VmemRoom vmem_room_new(Arena *arena, int64_t bytes, uint32_t places) {
  size_t nodes = 4 * (size_t)places + 4;
  return (VmemRoom){ARENA_ARRAY(arena, int64_t, nodes), ARENA_ARRAY(arena, int64_t, nodes), bytes, places};
}

static void add(VmemRoom *room, uint32_t node, uint32_t low, uint32_t high, Stretch stretch) {
  if (stretch.last < low || stretch.first > high) return;
  if (stretch.first <= low && high <= stretch.last) {
    room->whole[node] += stretch.bytes;
    room->most[node] += stretch.bytes;
    return;
  }
  uint32_t middle = low + (high - low) / 2;
  add(room, 2 * node, low, middle, stretch);
  add(room, 2 * node + 1, middle + 1, high, stretch);
  int64_t left = room->most[2 * node], right = room->most[2 * node + 1];
  room->most[node] = room->whole[node] + (left > right ? left : right);
}

static int64_t fullest(const VmemRoom *room, uint32_t node, uint32_t low, uint32_t high, Stretch stretch) {
  if (stretch.last < low || stretch.first > high) return 0;
  if (stretch.first <= low && high <= stretch.last) return room->most[node];
  uint32_t middle = low + (high - low) / 2;
  int64_t left = fullest(room, 2 * node, low, middle, stretch);
  int64_t right = fullest(room, 2 * node + 1, middle + 1, high, stretch);
  return room->whole[node] + (left > right ? left : right);
}

bool vmem_room_take(VmemRoom *room, uint32_t first, uint32_t last, int64_t bytes) {
  Stretch stretch = {first, last, bytes};
  if (fullest(room, 1, 0, room->places - 1, stretch) > room->bytes - bytes) return false;
  add(room, 1, 0, room->places - 1, stretch);
  return true;
}

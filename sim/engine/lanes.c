/* Lanes: a lane in use is taken for ever until it is given back. */
#include "sim/engine/lanes.h"

uint32_t lane_take(Arena *arena, Lanes *lanes, int64_t start_ps) {
  uint32_t lane = 0;
  while (lane < lanes->n && lanes->at[lane] > start_ps) lane++;
  if (lane == lanes->n) VEC_PUSH(arena, lanes, 0);
  lanes->at[lane] = LANE_TAKEN;
  return lane;
}

void lane_give(Lanes *lanes, uint32_t lane, int64_t end_ps) {
  lanes->at[lane] = end_ps;
}

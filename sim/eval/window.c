/* Which results meet which inputs at a place of a window: result o covers the padded, dilated position
 * o * stride + place * rhs_dilate - pad_low, which holds an input where lhs_dilate divides it. */
#include "sim/eval/window.h"

static int64_t gcd(int64_t a, int64_t b) {
  while (b != 0) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

WindowReach window_reach(const WindowDim *dim, int64_t in_size, int64_t out_size, int64_t place) {
  int64_t dilate = dim->lhs_dilate, shift = place * dim->rhs_dilate - dim->pad_low;
  int64_t out_step = dilate / gcd(dim->stride, dilate), first = 0;
  WindowReach none = {.n = 0};
  while (first < out_step && (first * dim->stride + shift) % dilate != 0) first++;
  if (first == out_step) return none;
  /* The first result at or after `first` whose position is not before the input. */
  int64_t position = first * dim->stride + shift, stride = out_step * dim->stride;
  if (position < 0) {
    int64_t skipped = (-position + stride - 1) / stride;
    first += skipped * out_step;
    position += skipped * stride;
  }
  int64_t last_position = (in_size - 1) * dilate;
  if (position > last_position || first >= out_size) return none;
  int64_t by_input = (last_position - position) / stride + 1,
          by_output = (out_size - 1 - first) / out_step + 1;
  return (WindowReach){.n = by_input < by_output ? by_input : by_output,
                       .first_out = first,
                       .out_step = out_step,
                       .first_in = position / dilate,
                       .in_step = stride / dilate};
}

/* Random values that depend on a seed, a number and an element's place alone (Random123's Philox). */
#pragma once

#include "sim/eval/tensor.h"

void tensor_draw_normal(Tensor *tensor, uint64_t seed, uint64_t number, double mean, double deviation);
/* In [low, high); whole numbers where the type is not a float. */
void tensor_draw_uniform(Tensor *tensor, uint64_t seed, uint64_t number, double low, double high);

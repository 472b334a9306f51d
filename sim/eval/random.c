/* Random parameters: element i of parameter `number` comes from counter (i / 2, number) under the key `seed`
 * alone (Philox4x32-10 of Random123, Salmon et al., SC11), so that any part could be made anywhere. */
#include "sim/eval/draw_values.h"
#include "sim/eval/interpret.h"

#include <math.h>
#include <Random123/philox.h>

enum { INTEGERS = 10 };

static philox4x32_ctr_t random_bits(uint64_t seed, uint64_t number, uint64_t counter) {
  philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
  philox4x32_ctr_t at = {
      {(uint32_t)counter, (uint32_t)(counter >> 32), (uint32_t)number, (uint32_t)(number >> 32)}};
  return philox4x32(at, key);
}

/* In (0, 1), from the upper 53 of 64 bits. */
static double uniform(uint32_t low, uint32_t high) {
  uint64_t bits = ((uint64_t)high << 32 | low) >> 11;
  return ((double)bits + 0.5) * 0x1p-53;
}

/* Two independent normal numbers (Box and Muller, 1958). */
static void normal_pair(philox4x32_ctr_t bits, double *first, double *second) {
  const double two_pi = 6.283185307179586;
  double radius = sqrt(-2 * log(uniform(bits.v[0], bits.v[1])));
  double angle = two_pi * uniform(bits.v[2], bits.v[3]);
  *first = radius * cos(angle);
  *second = radius * sin(angle);
}

void tensor_draw_normal(Tensor *tensor, uint64_t seed, uint64_t number, double mean, double deviation) {
  int64_t elements = tensor_elements(tensor);
  for (int64_t i = 0; i < elements; i += 2) {
    double first, second;
    normal_pair(random_bits(seed, number, (uint64_t)i / 2), &first, &second);
    tensor_set_double(tensor, i, mean + deviation * first);
    if (i + 1 < elements) tensor_set_double(tensor, i + 1, mean + deviation * second);
  }
}

void tensor_draw_uniform(Tensor *tensor, uint64_t seed, uint64_t number, double low, double high) {
  int64_t elements = tensor_elements(tensor);
  bool whole = dtype_class(tensor->dtype) != DCLASS_FLOAT;
  for (int64_t i = 0; i < elements; i++) {
    philox4x32_ctr_t bits = random_bits(seed, number, (uint64_t)i);
    double value = low + (high - low) * uniform(bits.v[0], bits.v[1]);
    tensor_set_double(tensor, i, whole ? floor(value) : value);
    if (tensor_double_at(tensor, i) >= high) tensor_set_double(tensor, i, low); /* rounded up to the end */
  }
}

/* Real and imaginary part are a pair. */
static void fill_complex(Tensor *tensor, int64_t elements, uint64_t seed, uint64_t number) {
  for (int64_t i = 0; i < elements; i++) {
    double part[2];
    normal_pair(random_bits(seed, number, (uint64_t)i), &part[0], &part[1]);
    for (int p = 0; p < 2; p++) {
      if (tensor->dtype == DTYPE_C128) {
        ((double *)tensor->data)[2 * i + p] = part[p];
      } else {
        ((float *)tensor->data)[2 * i + p] = (float)part[p];
      }
    }
  }
}

/* 0 … 9, or as far as a narrow type goes: fit as values, as indices and as trip counts. */
static void fill_integers(Tensor *tensor, int64_t elements, uint64_t seed, uint64_t number) {
  uint32_t bits = dtype_bits(tensor->dtype);
  uint32_t value_bits = dtype_class(tensor->dtype) == DCLASS_SIGNED ? bits - 1 : bits;
  uint32_t values = tensor->dtype == DTYPE_PRED ? 2 : value_bits < 4 ? 1u << value_bits : INTEGERS;
  for (int64_t i = 0; i < elements; i++) {
    tensor_set_double(tensor, i, random_bits(seed, number, (uint64_t)i).v[0] % values);
  }
}

static Tensor *random_tuple(const Shape *shape, uint64_t seed, uint64_t number) {
  enum { PART_SHIFT = 32 };
  Arena *arena = arena_new();
  Tensor **parts = ARENA_ARRAY(arena, Tensor *, shape->rank);
  for (uint32_t i = 0; i < shape->rank; i++)
    parts[i] = tensor_random(shape->parts[i], seed, number + ((uint64_t)(i + 1) << PART_SHIFT));
  Tensor *tuple = tensor_tuple(parts, shape->rank);
  arena_free(arena);
  return tuple;
}

Tensor *tensor_random(const Shape *shape, uint64_t seed, uint64_t number) {
  if (shape_is_tuple(shape)) return random_tuple(shape, seed, number);
  Tensor *tensor = tensor_new(shape, true);
  int64_t elements = shape_elements(shape);
  switch (dtype_class(shape->dtype)) {
  case DCLASS_FLOAT: tensor_draw_normal(tensor, seed, number, 0, 1); break;
  case DCLASS_COMPLEX: fill_complex(tensor, elements, seed, number); break;
  case DCLASS_PRED:
  case DCLASS_SIGNED:
  case DCLASS_UNSIGNED: fill_integers(tensor, elements, seed, number); break;
  case DCLASS_OTHER: break;
  }
  return tensor;
}

/* The inverse of the error function, as XLA computes it: a polynomial in -log(1 - x²), with other
 * coefficients near the ends of the range (M. Giles, "Approximating the erfinv function", GPU Computing Gems
 * 2, 2010). */
#include "sim/read/stablehlo.h"

#include <math.h>

/* One range: coefficients, the highest power first. A polynomial of a later range has no more of them. */
typedef struct {
  const double *at;
  uint32_t n;
} Coefficients;

typedef struct {
  DType dtype;
  double limits[2];  /* of -log(1 - x²), where a range ends */
  double centers[3]; /* subtracted: from it in the first range, from its square root in the others */
  Coefficients ranges[3];
  uint32_t n_ranges;
} Approximation;

static const double single_near[] = {2.81022636e-08,  3.43273939e-07, -3.5233877e-06,
                                     -4.39150654e-06, 0.00021858087,  -0.00125372503,
                                     -0.00417768164,  0.246640727,    1.50140941};
static const double single_far[] = {-0.000200214257, 0.000100950558, 0.00134934322,
                                    -0.00367342844,  0.00573950773,  -0.0076224613,
                                    0.00943887047,   1.00167406,     2.83297682};

static const double double_near[] = {
    -3.64441206401782e-21,   -1.6850591381820166e-19, 1.28584807152564e-18,    1.1157877678025181e-17,
    -1.3331716628546209e-16, 2.0972767875968562e-17,  6.6376381343583238e-15,  -4.0545662729752069e-14,
    -8.1519341976054722e-14, 2.6335093153082323e-12,  -1.2975133253453532e-11, -5.4154120542946279e-11,
    1.0512122733215323e-09,  -4.1126339803469837e-09, -2.9070369957882005e-08, 4.2347877827932404e-07,
    -1.3654692000834679e-06, -1.3882523362786469e-05, 0.00018673420803405714,  -0.000740702534166267,
    -0.0060336708714301491,  0.24015818242558962,     1.6536545626831027};
static const double double_middle[] = {
    2.2137376921775787e-09,  9.0756561938885391e-08, -2.7517406297064545e-07, 1.8239629214389228e-08,
    1.5027403968909828e-06,  -4.013867526981546e-06, 2.9234449089955446e-06,  1.2475304481671779e-05,
    -4.7318229009055734e-05, 6.8284851459573175e-05, 2.4031110387097894e-05,  -0.00035503752036284748,
    0.0009532893797373805,   -0.0016882755560235047, 0.0024914420961078508,   -0.0037512085075692412,
    0.0053709145535900636,   1.0052589676941592,     3.0838856104922208};
static const double double_far[] = {-2.7109920616438573e-11, -2.5556418169965252e-10, 1.5076572693500548e-09,
                                    -3.789465440126737e-09,  7.61570120807834e-09,    -1.496002662714924e-08,
                                    2.9147953450901081e-08,  -6.7711997758452339e-08, 2.2900482228026655e-07,
                                    -9.9298272942317e-07,    4.5260625972231537e-06,  -1.9681778105531671e-05,
                                    7.5995277030017761e-05,  -0.00021503011930044477, -0.00013871931833623122,
                                    1.0103004648645344,      4.8499064014085844};

static const Approximation single_precision = {
    DTYPE_F32, {5}, {2.5, 3}, {{single_near, 9}, {single_far, 9}}, 2};
static const Approximation double_precision = {
    DTYPE_F64, {6.25, 16}, {3.125, 3.25, 5}, {{double_near, 23}, {double_middle, 19}, {double_far, 17}}, 3};

typedef struct {
  Translator *tr;
  const Approximation *of;
  const Shape *shape;
  uint32_t within[2]; /* whether -log(1 - x²) is below each limit */
} Ranges;

/* `values[r]` in range r, of the first `n` ranges. */
static uint32_t choose(const Ranges *ranges, const uint32_t *values, uint32_t n) {
  uint32_t chosen = values[n - 1];
  for (uint32_t r = n - 1; r-- > 0;) chosen = emit_select(ranges->tr, ranges->within[r], values[r], chosen);
  return chosen;
}

static uint32_t choose_number(const Ranges *ranges, const double *numbers, uint32_t n) {
  uint32_t values[3];
  for (uint32_t r = 0; r < n; r++) values[r] = emit_number(ranges->tr, ranges->shape, numbers[r]);
  return choose(ranges, values, n);
}

/* Coefficient `i` of those ranges that have so many. */
static uint32_t coefficient(const Ranges *ranges, uint32_t i, uint32_t *n) {
  double numbers[3];
  for (*n = 0; *n < ranges->of->n_ranges && i < ranges->of->ranges[*n].n; ++*n)
    numbers[*n] = ranges->of->ranges[*n].at[i];
  return choose_number(ranges, numbers, *n);
}

/* Horner's scheme; where a range has no further coefficient its sum stays. */
static uint32_t polynomial(const Ranges *ranges, uint32_t w) {
  Translator *tr = ranges->tr;
  uint32_t n, sum = coefficient(ranges, 0, &n);
  for (uint32_t i = 1; i < ranges->of->ranges[0].n; i++) {
    uint32_t next = coefficient(ranges, i, &n), product = emit_binary(tr, OP_MULTIPLY, sum, w);
    next = emit_binary(tr, OP_ADD, next, product);
    sum = n == ranges->of->n_ranges ? next : emit_select(tr, ranges->within[n - 1], next, sum);
  }
  return sum;
}

/* -log(1 - x²) less the center of its range. */
static uint32_t argument(Ranges *ranges, uint32_t x) {
  Translator *tr = ranges->tr;
  const Approximation *of = ranges->of;
  uint32_t square = emit_binary(tr, OP_MULTIPLY, x, emit_unary(tr, OP_NEGATE, x));
  uint32_t w = emit_unary(tr, OP_NEGATE, emit_unary(tr, OP_LOG1P, square));
  for (uint32_t r = 0; r + 1 < of->n_ranges; r++)
    ranges->within[r] = emit_compare(tr, "LT", w, emit_number(tr, ranges->shape, of->limits[r]));
  uint32_t near = emit_number(tr, ranges->shape, of->centers[0]);
  near = emit_binary(tr, OP_SUBTRACT, w, near);
  Ranges outer = *ranges;
  outer.within[0] = ranges->within[1];
  uint32_t center = choose_number(&outer, &of->centers[1], of->n_ranges - 1);
  uint32_t far = emit_unary(tr, OP_SQRT, w);
  far = emit_binary(tr, OP_SUBTRACT, far, center);
  return emit_select(tr, ranges->within[0], near, far);
}

static uint32_t erf_inv(Translator *tr, const Approximation *of, uint32_t x) {
  Ranges ranges = {.tr = tr, .of = of, .shape = instr_shape(tr, x)};
  uint32_t w = argument(&ranges, x);
  uint32_t inside = emit_binary(tr, OP_MULTIPLY, polynomial(&ranges, w), x);
  uint32_t size = emit_unary(tr, OP_ABS, x), one = emit_number(tr, ranges.shape, 1);
  uint32_t at_end = emit_compare(tr, "EQ", size, one);
  uint32_t infinite = emit_binary(tr, OP_MULTIPLY, x, emit_number(tr, ranges.shape, INFINITY));
  return emit_select(tr, at_end, infinite, inside);
}

/* Types below 32 bits are computed in f32. */
Status translate_erf_inv(Translator *tr, Opcode op) {
  uint32_t x;
  (void)op;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &x));
  const Shape *shape = instr_shape(tr, x);
  RETURN_IF(dtype_class(shape->dtype) != DCLASS_FLOAT,
            OP_FAIL(tr, tr->op->at, NULL, "erf_inv takes floating-point numbers"));
  if (shape->dtype == DTYPE_F64) return give(tr, erf_inv(tr, &double_precision, x));
  if (shape->dtype == DTYPE_F32) return give(tr, erf_inv(tr, &single_precision, x));
  uint32_t wide = emit(tr, OP_CONVERT, shape_with_dtype(tr->arena, shape, DTYPE_F32), &x, 1);
  uint32_t result = erf_inv(tr, &single_precision, wide);
  return give(tr, emit(tr, OP_CONVERT, shape, &result, 1));
}

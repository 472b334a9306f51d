/* The vectorised functions of f32 against C's functions of f64, over floats of every exponent and sign. */
#include "sim/eval/vecmath.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { STRIDE = 9973 };

/* The error in units in the last place of the rounded true value. */
static double ulps(float got, double want) {
  float rounded = (float)want;
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  if (got == rounded) return signbit(got) == signbit(rounded) ? 0 : INFINITY;
  if (fabs(want) < 0x1p-126 && fabsf(got) < 0x1p-126F) return fabs(want - got) / 0x1p-126 * 2;
  if (isinf(rounded) || isinf(got)) return fabsf(got) >= 3.4e38F && fabs(want) > 3.4e38 ? 1 : INFINITY;
  float above = nextafterf(fabsf(rounded), INFINITY);
  return fabs(got - want) / (above - fabsf(rounded));
}

static double logistic(double x) {
  return 1 / (1 + exp(-x));
}

static void check(const char *name, float (*fast)(float), double (*exact)(double)) {
  double worst = 0;
  float worst_at = 0;
  for (uint64_t bits = 0; bits < 1ULL << 32; bits += STRIDE) {
    float x = f32_from_bits((uint32_t)bits);
    double error = ulps(fast(x), exact(x));
    if (error > worst) worst = error, worst_at = x;
  }
  const float edges[] = {0,      -0.0F,  1,       -1,      INFINITY, -INFINITY, NAN,
                         88.72F, 88.73F, -87.34F, -103.9F, -104.5F,  0.3466F,   0x1p-149F};
  for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
    double error = ulps(fast(edges[i]), exact(edges[i]));
    if (error > worst) worst = error, worst_at = edges[i];
  }
  cr_expect(worst <= 2, "%s is off by %.2f ulp at %.9g: %.9g, not %.9g", name, worst, worst_at,
            fast(worst_at), exact(worst_at));
}

Test(vecmath, within_two_units_in_the_last_place) {
  check("erf", f32_erf, erf);
  check("exp", f32_exp, exp);
  check("expm1", f32_expm1, expm1);
  check("log", f32_log, log);
  check("log1p", f32_log1p, log1p);
  check("tanh", f32_tanh, tanh);
  check("logistic", f32_logistic, logistic);
}

/* Functions of CHLO that HLO has no opcode for, written out as XLA writes them out: erfc by the rational
 * approximations of Cephes (S. Moshier, ndtr.c), lgamma and digamma by Lanczos's approximation with g = 7
 * (P. Godfrey, 2001) and reflection below 1/2, the modified Bessel function exp(-|x|) I1(x) by Chebyshev
 * series of Cephes (i1.c), Hurwitz's zeta function by Euler and Maclaurin's formula, as in Cephes (zeta.c).
 */
#include "sim/read/stablehlo.h"

#include <math.h>

/* Building. */

static uint32_t number(Translator *tr, uint32_t like, double value) {
  return emit_number(tr, instr_shape(tr, like), value);
}

static uint32_t plus(Translator *tr, uint32_t x, double value) {
  uint32_t right = number(tr, x, value);
  return emit_binary(tr, OP_ADD, x, right);
}

static uint32_t times(Translator *tr, uint32_t x, double value) {
  uint32_t right = number(tr, x, value);
  return emit_binary(tr, OP_MULTIPLY, x, right);
}

static uint32_t from(Translator *tr, double value, uint32_t x) {
  uint32_t left = number(tr, x, value);
  return emit_binary(tr, OP_SUBTRACT, left, x);
}

static uint32_t over(Translator *tr, double value, uint32_t x) {
  uint32_t left = number(tr, x, value);
  return emit_binary(tr, OP_DIVIDE, left, x);
}

static uint32_t compared(Translator *tr, const char *direction, uint32_t x, double value) {
  uint32_t right = number(tr, x, value);
  return emit_compare(tr, direction, x, right);
}

typedef struct {
  const double *at; /* the highest power first */
  uint32_t n;
} Polynomial;

#define POLYNOMIAL(...)                                                                                      \
  { (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double) }

static uint32_t polynomial(Translator *tr, uint32_t x, Polynomial of) {
  uint32_t sum = number(tr, x, of.at[0]);
  for (uint32_t i = 1; i < of.n; i++) sum = plus(tr, emit_binary(tr, OP_MULTIPLY, sum, x), of.at[i]);
  return sum;
}

/* An expansion for f32 and f64; types below are computed in f32. */
typedef uint32_t Expansion(Translator *tr, uint32_t x);

static Status expand(Translator *tr, Expansion *expansion) {
  uint32_t x;
  TRY(expect_operand_count(tr, 1, 1));
  TRY(use_operand(tr, 0, &x));
  const Shape *shape = instr_shape(tr, x);
  RETURN_IF(dtype_class(shape->dtype) != DCLASS_FLOAT,
            OP_FAIL(tr, tr->op->at, NULL, "this function takes floating-point numbers"));
  if (dtype_bits(shape->dtype) >= 32) return give(tr, expansion(tr, x));
  uint32_t wide = emit(tr, OP_CONVERT, shape_with_dtype(tr->arena, shape, DTYPE_F32), &x, 1);
  uint32_t result = expansion(tr, wide);
  return give(tr, emit(tr, OP_CONVERT, shape, &result, 1));
}

/* erfc. */

/* Of x² below 1, and of 1/x² from 1 to 2 and beyond. */
static const Polynomial single_erf =
    POLYNOMIAL(7.853861353153693e-5, -8.010193625184903e-4, 5.188327685732524e-3, -2.685381193529856e-2,
               1.128358514861418e-1, -3.761262582423300e-1, 1.128379165726710e+0);
static const Polynomial single_near =
    POLYNOMIAL(2.326819970068386e-2, -1.387039388740657e-1, 3.687424674597105e-1, -5.824733027278666e-1,
               6.210004621745983e-1, -4.944515323274145e-1, 3.404879937665872e-1, -2.741127028184656e-1,
               5.638259427386472e-1);
static const Polynomial single_far =
    POLYNOMIAL(-1.047766399936249e+1, 1.297719955372516e+1, -7.495518717768503e+0, 2.921019019210786e+0,
               -1.015265279202700e+0, 4.218463358204948e-1, -2.820767439740514e-1, 5.641895067754075e-1);

/* Numerators and denominators: of x² below 1, of |x| below 8 and beyond. */
static const Polynomial double_erf[] = {
    POLYNOMIAL(9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
               7.00332514112805075473e3, 5.55923013010394962768e4),
    POLYNOMIAL(1, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
               2.26290000613890934246e4, 4.92673942608635921086e4)};
static const Polynomial double_near[] = {
    POLYNOMIAL(2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
               4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
               9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2),
    POLYNOMIAL(1, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
               9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
               1.65666309194161350182e3, 5.57535340817727675546e2)};
static const Polynomial double_far[] = {
    POLYNOMIAL(5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0,
               6.16021097993053585195e0, 7.40974269950448939160e0, 2.97886665372100240670e0),
    POLYNOMIAL(1, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1,
               1.70814450747565897222e1, 9.60896809063285878198e0, 3.36907645100081516050e0)};

static uint32_t quotient(Translator *tr, uint32_t x, const Polynomial *of) {
  uint32_t above = polynomial(tr, x, of[0]), below = polynomial(tr, x, of[1]);
  return emit_binary(tr, OP_DIVIDE, above, below);
}

/* exp(-x²) times an approximation, from |x| = 1 on. */
static uint32_t single_tail(Translator *tr, uint32_t size, uint32_t square) {
  uint32_t inverse = over(tr, 1, square), near = polynomial(tr, inverse, single_near);
  uint32_t far = polynomial(tr, inverse, single_far), below = compared(tr, "LT", size, 2);
  uint32_t chosen = emit_select(tr, below, near, far);
  uint32_t scale = emit_unary(tr, OP_EXP, emit_unary(tr, OP_NEGATE, square));
  scale = emit_binary(tr, OP_MULTIPLY, scale, over(tr, 1, size));
  return emit_binary(tr, OP_MULTIPLY, scale, chosen);
}

static uint32_t double_tail(Translator *tr, uint32_t size, uint32_t square) {
  uint32_t near = quotient(tr, size, double_near), far = quotient(tr, size, double_far);
  uint32_t chosen = emit_select(tr, compared(tr, "LT", size, 8), near, far);
  uint32_t scale = emit_unary(tr, OP_EXP, emit_unary(tr, OP_NEGATE, square));
  return emit_binary(tr, OP_MULTIPLY, scale, chosen);
}

static uint32_t erfc_of(Translator *tr, uint32_t x) {
  bool single = instr_shape(tr, x)->dtype == DTYPE_F32;
  uint32_t size = emit_unary(tr, OP_ABS, x), square = emit_binary(tr, OP_MULTIPLY, x, x);
  uint32_t erf = single ? polynomial(tr, square, single_erf) : quotient(tr, square, double_erf);
  uint32_t inner = from(tr, 1, emit_binary(tr, OP_MULTIPLY, x, erf));
  uint32_t tail = single ? single_tail(tr, size, square) : double_tail(tr, size, square);
  /* Beyond, exp(-x²) is no number that the type has. */
  double largest = single ? 88.72283905206835 : 709.782712893384;
  uint32_t nothing = compared(tr, "GT", square, largest), zero = number(tr, x, 0);
  tail = emit_select(tr, nothing, zero, tail);
  uint32_t negative = compared(tr, "LT", x, 0), mirrored = from(tr, 2, tail);
  uint32_t outer = emit_select(tr, negative, mirrored, tail);
  return emit_select(tr, compared(tr, "LT", size, 1), inner, outer);
}

Status translate_erfc(Translator *tr, Opcode op) {
  (void)op;
  return expand(tr, erfc_of);
}

/* lgamma and digamma. */

static const double lanczos_g = 7, lanczos_base = 0.99999999999980993227684700473478;
static const double lanczos[] = {676.520368121885098567009190444019, -1259.13921672240287047156078755283,
                                 771.3234287776530788486528258894,   -176.61502916214059906584551354,
                                 12.507343278686904814458936853,     -0.13857109526572011689554707,
                                 9.984369578019570859563e-6,         1.50563273514931155834e-7};
enum { LANCZOS = sizeof lanczos / sizeof *lanczos };

/* The argument from which the approximation goes on: x - 1, or -x below 1/2. */
static uint32_t reflected(Translator *tr, uint32_t x, uint32_t below) {
  uint32_t mirrored = emit_unary(tr, OP_NEGATE, x);
  return emit_select(tr, below, mirrored, plus(tr, x, -1));
}

/* Σ c / (z + i + 1) from the base on. */
static uint32_t lanczos_sum(Translator *tr, uint32_t z) {
  uint32_t sum = number(tr, z, lanczos_base);
  for (uint32_t i = 0; i < LANCZOS; i++)
    sum = emit_binary(tr, OP_ADD, sum, over(tr, lanczos[i], plus(tr, z, i + 1.0)));
  return sum;
}

/* log(z + g + 1/2) */
static uint32_t log_t(Translator *tr, uint32_t z) {
  double t = lanczos_g + 0.5;
  uint32_t ratio = emit_binary(tr, OP_DIVIDE, z, number(tr, z, t));
  return plus(tr, emit_unary(tr, OP_LOG1P, ratio), log(t));
}

static uint32_t log_gamma(Translator *tr, uint32_t z) {
  uint32_t t = plus(tr, z, lanczos_g + 0.5), log_of_t = log_t(tr, z);
  uint32_t quotient_of_t = emit_binary(tr, OP_DIVIDE, t, log_of_t);
  uint32_t power = emit_binary(tr, OP_SUBTRACT, plus(tr, z, 0.5), quotient_of_t);
  uint32_t y = plus(tr, emit_binary(tr, OP_MULTIPLY, power, log_of_t), (log(2) + log(M_PI)) / 2);
  return emit_binary(tr, OP_ADD, y, emit_unary(tr, OP_LOG, lanczos_sum(tr, z)));
}

/* log(π / |sin(πx)|) - y, where the sine is not zero. */
static uint32_t reflect_log(Translator *tr, uint32_t x, uint32_t y) {
  uint32_t size = emit_unary(tr, OP_ABS, x);
  uint32_t part = emit_binary(tr, OP_SUBTRACT, size, emit_unary(tr, OP_FLOOR, size));
  uint32_t far = compared(tr, "GT", part, 0.5), rest = from(tr, 1, part);
  part = emit_select(tr, far, rest, part);
  uint32_t log_sine = emit_unary(tr, OP_LOG, emit_unary(tr, OP_SIN, times(tr, part, M_PI)));
  const Shape *pred = shape_with_dtype(tr->arena, instr_shape(tr, x), DTYPE_PRED);
  uint32_t finite = emit(tr, OP_IS_FINITE, pred, &log_sine, 1);
  uint32_t value = emit_binary(tr, OP_SUBTRACT, from(tr, log(M_PI), log_sine), y);
  return emit_select(tr, finite, value, emit_unary(tr, OP_NEGATE, log_sine));
}

static uint32_t lgamma_of(Translator *tr, uint32_t x) {
  uint32_t below = compared(tr, "LT", x, 0.5);
  uint32_t y = log_gamma(tr, reflected(tr, x, below));
  uint32_t value = emit_select(tr, below, reflect_log(tr, x, y), y);
  uint32_t endless = compared(tr, "EQ", emit_unary(tr, OP_ABS, x), INFINITY);
  return emit_select(tr, endless, number(tr, x, INFINITY), value);
}

Status translate_lgamma(Translator *tr, Opcode op) {
  (void)op;
  return expand(tr, lgamma_of);
}

/* log t - g / t + (Σ c / (z + i + 1))' / Σ c / (z + i + 1) */
static uint32_t digamma_above(Translator *tr, uint32_t z) {
  uint32_t slope = number(tr, z, 0);
  for (uint32_t i = 0; i < LANCZOS; i++) {
    uint32_t step = plus(tr, z, i + 1.0), square = emit_binary(tr, OP_MULTIPLY, step, step);
    slope = emit_binary(tr, OP_SUBTRACT, slope, over(tr, lanczos[i], square));
  }
  uint32_t ratio = emit_binary(tr, OP_DIVIDE, slope, lanczos_sum(tr, z));
  uint32_t y = emit_binary(tr, OP_ADD, log_t(tr, z), ratio);
  return emit_binary(tr, OP_SUBTRACT, y, over(tr, lanczos_g, plus(tr, z, lanczos_g + 0.5)));
}

/* y - π / tan(πx), x brought near 0 first. */
static uint32_t reflect_slope(Translator *tr, uint32_t x, uint32_t y) {
  uint32_t whole = emit_unary(tr, OP_ABS, emit_unary(tr, OP_FLOOR, plus(tr, x, 0.5)));
  uint32_t angle = times(tr, emit_binary(tr, OP_ADD, x, whole), M_PI);
  uint32_t above = times(tr, emit_unary(tr, OP_COS, angle), M_PI);
  return emit_binary(tr, OP_SUBTRACT, y, emit_binary(tr, OP_DIVIDE, above, emit_unary(tr, OP_SIN, angle)));
}

static uint32_t digamma_of(Translator *tr, uint32_t x) {
  uint32_t below = compared(tr, "LT", x, 0.5);
  uint32_t y = digamma_above(tr, reflected(tr, x, below));
  uint32_t value = emit_select(tr, below, reflect_slope(tr, x, y), y);
  uint32_t whole = emit_compare(tr, "EQ", x, emit_unary(tr, OP_FLOOR, x));
  uint32_t pole = emit_binary(tr, OP_AND, compared(tr, "LE", x, 0), whole);
  return emit_select(tr, pole, number(tr, x, NAN), value);
}

Status translate_digamma(Translator *tr, Opcode op) {
  (void)op;
  return expand(tr, digamma_of);
}

/* bessel_i1e. */

/* Chebyshev coefficients for |x| up to 8 and beyond, the last terms first. f32 needs but the last of them. */
static const double bessel_near[] = {
    2.7779141127610464e-18, -2.111421214358166e-17,  1.5536319577362005e-16, -1.1055969477353862e-15,
    7.6006842947354077e-15, -5.0421855047279118e-14, 3.2237933659455748e-13, -1.9839743977649436e-12,
    1.1736186298890901e-11, -6.6634897235020271e-11, 3.6255902815521172e-10, -1.8872497517228294e-09,
    9.3815373864957726e-09, -4.4450591287963281e-08, 2.0032947535521353e-07, -8.5687202646954547e-07,
    3.4702513081376785e-06, -1.3273163656039436e-05, 4.7815651075500542e-05, -0.00016176081582589674,
    0.00051228595616857576, -0.0015135724506312532,  0.0041564229443128882,  -0.010564084894626197,
    0.024726449030626516,   -0.052945981208094989,   0.10264365868984709,    -0.17641651835783406,
    0.25258718644363365};
static const double bessel_far[] = {
    7.5172963108421052e-18,  4.4143483230717077e-18,  -4.6503053684893586e-17, -3.2095259219934238e-17,
    2.96262899764595e-16,    3.3082023109209285e-16,  -1.8803547755107825e-15, -3.8144030724370075e-15,
    1.0420276984128802e-14,  4.272440016711951e-14,   -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.1985517762459084e-13, 2.0356285441470896e-12,  1.4125807436613782e-11,  3.2526035830154884e-11,
    -1.8974958123505413e-11, -5.5897434621965838e-10, -3.835380385964237e-09,  -2.6314688468895196e-08,
    -2.5122362378702088e-07, -3.8825648088776906e-06, -0.00011058893876262371, -0.0097610974913614687,
    0.77857623501828011};

/* The series at `x`, by Clenshaw's recurrence. */
static uint32_t chebyshev(Translator *tr, uint32_t x, Polynomial series) {
  uint32_t before = number(tr, x, 0), last = before, sum = number(tr, x, series.at[0]);
  for (uint32_t i = 1; i < series.n; i++) {
    before = last;
    last = sum;
    sum = emit_binary(tr, OP_SUBTRACT, emit_binary(tr, OP_MULTIPLY, x, last), before);
    sum = plus(tr, sum, series.at[i]);
  }
  return times(tr, emit_binary(tr, OP_SUBTRACT, sum, before), 0.5);
}

static uint32_t bessel_i1e_of(Translator *tr, uint32_t x) {
  enum { NEAR = sizeof bessel_near / sizeof(double), FAR = sizeof bessel_far / sizeof(double) };
  bool single = instr_shape(tr, x)->dtype == DTYPE_F32;
  Polynomial near = {bessel_near, NEAR}, far = {bessel_far, FAR};
  if (single) near = (Polynomial){bessel_near + NEAR - 17, 17};
  if (single) far = (Polynomial){bessel_far + FAR - 7, 7};
  uint32_t size = emit_unary(tr, OP_ABS, x), root = emit_unary(tr, OP_SQRT, size);
  uint32_t inner = chebyshev(tr, plus(tr, times(tr, size, 0.5), -2), near);
  inner = emit_binary(tr, OP_MULTIPLY, size, inner);
  uint32_t outer = chebyshev(tr, plus(tr, over(tr, 32, size), -2), far);
  outer = emit_binary(tr, OP_DIVIDE, outer, root);
  uint32_t value = emit_select(tr, compared(tr, "LE", size, 8), inner, outer);
  return emit_binary(tr, OP_MULTIPLY, emit_unary(tr, OP_SIGN, x), value);
}

Status translate_bessel_i1e(Translator *tr, Opcode op) {
  (void)op;
  return expand(tr, bessel_i1e_of);
}

/* The Hurwitz zeta function, and polygamma, which follows from it. */

/* (2k)! / B_2k for k from 1 on. */
static const double zeta_divisors[] = {12.0,
                                       -720.0,
                                       30240.0,
                                       -1209600.0,
                                       47900160.0,
                                       -1.8924375803183791606e9,
                                       7.47242496e10,
                                       -2.950130727918164224e12,
                                       1.1646782814350067249e14,
                                       -4.5979787224074726105e15,
                                       1.8152105401943546773e17,
                                       -7.1661652561756670113e18};
enum { ZETA_TERMS = 9, ZETA_DIVISORS = sizeof zeta_divisors / sizeof *zeta_divisors };

/* x / w · (1 / A_1 + (x + 1)(x + 2) / w² · (1 / A_2 + …)) */
static uint32_t zeta_corrections(Translator *tr, uint32_t x, uint32_t w) {
  uint32_t inverse = over(tr, 1, w), sum = number(tr, x, 1 / zeta_divisors[ZETA_DIVISORS - 1]);
  uint32_t square = emit_binary(tr, OP_MULTIPLY, inverse, inverse);
  for (uint32_t k = ZETA_DIVISORS - 1; k-- > 0;) {
    uint32_t factor = emit_binary(tr, OP_MULTIPLY, plus(tr, x, 2 * k + 1.0), plus(tr, x, 2 * k + 2.0));
    factor = emit_binary(tr, OP_MULTIPLY, factor, square);
    sum = plus(tr, emit_binary(tr, OP_MULTIPLY, factor, sum), 1 / zeta_divisors[k]);
  }
  return emit_binary(tr, OP_MULTIPLY, emit_binary(tr, OP_MULTIPLY, x, inverse), sum);
}

/* Σ (q + k)^-x for q > 0. */
static uint32_t zeta_sum(Translator *tr, uint32_t x, uint32_t q) {
  uint32_t power = emit_unary(tr, OP_NEGATE, x), w = q, term = emit_binary(tr, OP_POWER, q, power),
           sum = term;
  for (uint32_t k = 0; k < ZETA_TERMS; k++) {
    w = plus(tr, w, 1);
    term = emit_binary(tr, OP_POWER, w, power);
    sum = emit_binary(tr, OP_ADD, sum, term);
  }
  uint32_t rest = emit_binary(tr, OP_DIVIDE, w, plus(tr, x, -1));
  rest = emit_binary(tr, OP_ADD, plus(tr, rest, -0.5), zeta_corrections(tr, x, w));
  return emit_binary(tr, OP_ADD, sum, emit_binary(tr, OP_MULTIPLY, term, rest));
}

static uint32_t is_whole(Translator *tr, uint32_t x) {
  return emit_compare(tr, "EQ", x, emit_unary(tr, OP_FLOOR, x));
}

static uint32_t is_odd(Translator *tr, uint32_t x) {
  return compared(tr, "EQ", emit_binary(tr, OP_REMAINDER, x, number(tr, x, 2)), 1);
}

/* Poles at q = 0, -1, …: infinite for even x; nothing for other q below and x that are not whole, and for x
 * below 1. */
static uint32_t zeta_of(Translator *tr, uint32_t x, uint32_t q) {
  uint32_t nothing = number(tr, x, NAN), endless = number(tr, x, INFINITY), value = zeta_sum(tr, x, q);
  uint32_t at_pole = emit_select(tr, is_odd(tr, x), nothing, endless);
  uint32_t below = emit_select(tr, is_whole(tr, x), value, nothing);
  below = emit_select(tr, is_whole(tr, q), at_pole, below);
  value = emit_select(tr, compared(tr, "LE", q, 0), below, value);
  value = emit_select(tr, compared(tr, "LT", x, 1), nothing, value);
  return emit_select(tr, compared(tr, "EQ", x, 1), endless, value);
}

/* Derivative n of digamma. */
static uint32_t polygamma_of(Translator *tr, uint32_t n, uint32_t x) {
  uint32_t next = plus(tr, n, 1), sign = emit_select(tr, is_odd(tr, n), number(tr, n, 1), number(tr, n, -1));
  uint32_t factorial = emit_unary(tr, OP_EXP, lgamma_of(tr, next));
  uint32_t value = emit_binary(tr, OP_MULTIPLY, factorial, zeta_of(tr, next, x));
  value = emit_binary(tr, OP_MULTIPLY, sign, value);
  value = emit_select(tr, compared(tr, "EQ", n, 0), digamma_of(tr, x), value);
  uint32_t derives = emit_binary(tr, OP_AND, is_whole(tr, n), compared(tr, "GE", n, 0));
  return emit_select(tr, derives, value, number(tr, n, NAN));
}

typedef uint32_t Expansion2(Translator *tr, uint32_t x, uint32_t y);

static Status expand_two(Translator *tr, Expansion2 *expansion) {
  uint32_t x, y;
  TRY(expect_operand_count(tr, 2, 2));
  TRY(use_operand(tr, 0, &x));
  TRY(use_operand(tr, 1, &y));
  const Shape *shape = instr_shape(tr, x), *wide = shape_with_dtype(tr->arena, shape, DTYPE_F32);
  RETURN_IF(dtype_class(shape->dtype) != DCLASS_FLOAT || !shape_eq(shape, instr_shape(tr, y)),
            OP_FAIL(tr, tr->op->at, NULL, "this function takes floating-point numbers of one shape"));
  if (dtype_bits(shape->dtype) >= 32) return give(tr, expansion(tr, x, y));
  x = emit(tr, OP_CONVERT, wide, &x, 1);
  y = emit(tr, OP_CONVERT, wide, &y, 1);
  uint32_t result = expansion(tr, x, y);
  return give(tr, emit(tr, OP_CONVERT, shape, &result, 1));
}

Status translate_zeta(Translator *tr, Opcode op) {
  (void)op;
  return expand_two(tr, zeta_of);
}

Status translate_polygamma(Translator *tr, Opcode op) {
  (void)op;
  return expand_two(tr, polygamma_of);
}

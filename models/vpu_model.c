/* Vector work. In: an instruction; out: how many lane operations it takes.
 *
 * The one idea: lanes x sublanes x ALUs operations a cycle (JAX Scaling Book, "TPUs"), one an element for
 * simple functions, more for divisions and transcendental ones by the pod's constants, and the textbook count
 * of steps for what is an algorithm: a bitonic network for a sort, n log n for an FFT, 20 rounds for
 * Threefry. Elements wider than 32 bits are handled in 32-bit words: four operations. */
#include "models/vpu_model.h"
#include "models/cost.h"

#include <math.h>

enum {
  WIDE_OPERATIONS = 4,      /* of a 64-bit element: a product of two pairs of words */
  THREEFRY_OPERATIONS = 50, /* of a word: 20 rounds of add, rotate, xor for two words, and keys */
  NORM_OPERATIONS = 8,      /* of an element of a batch norm: mean, variance, scale and shift */
};

double elements_of(const Shape *shape) {
  if (!shape_is_tuple(shape)) return (double)shape_elements(shape);
  double sum = 0;
  for (uint32_t i = 0; i < shape->rank; i++) sum += elements_of(shape->parts[i]);
  return sum;
}

static bool is_wide(const Shape *shape) {
  while (shape_is_tuple(shape) && shape->rank > 0) shape = shape->parts[0];
  return dtype_bits(shape->dtype) > 32;
}

static const Shape *operand_shape(const Module *module, uint32_t comp, const Instr *instr, uint32_t i) {
  return i < instr->operands.n ? comp_instr(module, comp, instr->operands.at[i])->shape : instr->shape;
}

/* Whether each place of a window holds all of a dimension: every result along it is the same. */
static bool covers(const WindowDim *window, int64_t in, int64_t out) {
  bool plain = window->lhs_dilate == 1 && window->rhs_dilate == 1 && window->stride > 0;
  return plain && window->size - window->pad_low >= in && window->pad_low / window->stride >= out - 1;
}

/* Combinations for one result of a window: one after another, or doubling the reach each time; where results
 * are the same, as many as a reduction takes. */
static double window_steps(Window window, const Shape *in, const Shape *out) {
  double steps = 0;
  for (uint32_t i = 0; i < window.n && i < in->rank && i < out->rank; i++) {
    double size = (double)window.at[i].size;
    steps += covers(&window.at[i], in->dims[i], out->dims[i]) ? size > 1
                                                              : fmin(size - 1, 2 * ceil(log2(fmax(size, 1))));
  }
  return steps;
}

/* A reduction's combiner runs once for each element that goes in. */
static VectorWork reduce_work(const Module *module, uint32_t comp, const Instr *instr, double out) {
  const Shape *from = operand_shape(module, comp, instr, 0), *to = instr->shape;
  uint32_t values = instr->operands.n < 2 ? 1 : instr->operands.n / 2;
  double in = elements_of(from), steps = fmax(in - out, 0);
  while (shape_is_tuple(to) && to->rank > 0) to = to->parts[0];
  if (instr->op != OP_REDUCE) steps = fmax(in, out) * window_steps(instr_window(instr), from, to);
  return (VectorWork){.operations = steps * values, .flops = steps};
}

/* Rounds of compare and exchange of a bitonic network for `length` elements. */
static double bitonic_rounds(double length) {
  double log = ceil(log2(fmax(length, 1)));
  return log * (log + 1) / 2;
}

/* The largest k: runs of k are sorted; then the larger half of two runs, which is bitonic, is made a run,
 * until one is left. Values and their places move. */
static VectorWork topk_work(const Module *module, uint32_t comp, const Instr *instr) {
  double elements = elements_of(operand_shape(module, comp, instr, 0));
  double k = (double)instr_int(instr, ATTR_k, 1);
  double rounds = bitonic_rounds(k) + 1 + ceil(log2(fmax(k, 1)));
  return (VectorWork){.operations = elements * rounds * 3, .flops = elements * rounds};
}

/* A bitonic network. */
static VectorWork sort_work(const Module *module, uint32_t comp, const Instr *instr) {
  const Shape *keys = operand_shape(module, comp, instr, 0);
  double elements = elements_of(keys);
  Ints dims = instr_ints(instr, ATTR_dimensions);
  int64_t dim = dims.n > 0 ? dims.at[0] : (int64_t)keys->rank - 1;
  double length = dim >= 0 && dim < (int64_t)keys->rank ? (double)keys->dims[dim] : 1;
  double rounds = bitonic_rounds(length);
  return (VectorWork){.operations = elements * rounds * (1 + instr->operands.n), .flops = elements * rounds};
}

/* What opcode.def calls simple, but is an algorithm of its own. */
static double operations_of_algorithm(const Module *module, uint32_t comp, const Instr *instr, double out) {
  const Shape *in = operand_shape(module, comp, instr, 0);
  double last = in->rank > 0 && shape_is_array(in) ? (double)in->dims[in->rank - 1] : 1;
  switch (instr->op) {
  case OP_RNG:
  case OP_RNG_BIT_GENERATOR: return out * THREEFRY_OPERATIONS;
  case OP_BATCH_NORM_GRAD:
  case OP_BATCH_NORM_INFERENCE:
  case OP_BATCH_NORM_TRAINING: return out * NORM_OPERATIONS;
  case OP_FFT: return out * 5 * log2(fmax(last, 2));
  case OP_CHOLESKY: return out * last / 3;
  case OP_TRIANGULAR_SOLVE: return out * last;
  default: return out;
  }
}

static VectorWork elementwise_work(double out, double operations, bool transcendental) {
  return (VectorWork){out * operations, transcendental ? 0 : out, transcendental ? out : 0};
}

static VectorWork narrow_work(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  double out = elements_of(instr->shape), operations;
  switch (op_cost(instr->op)) {
  case COST_VPU_SIMPLE:
    operations = operations_of_algorithm(module, comp, instr, out);
    if (instr->op == OP_BROADCAST) return (VectorWork){0}; /* an operand that is read again */
    return (VectorWork){.operations = operations, .flops = instr->op == OP_IOTA ? 0 : operations};
  case COST_VPU_DIVIDE: return elementwise_work(out, (double)pod->divide_ops, false);
  case COST_VPU_TRANSCENDENTAL: return elementwise_work(out, (double)pod->transcendental_ops, true);
  case COST_REDUCE: return reduce_work(module, comp, instr, out);
  case COST_SORT:
    return instr->op == OP_TOPK ? topk_work(module, comp, instr) : sort_work(module, comp, instr);
  case COST_DATA_MOVE: return (VectorWork){.operations = out};
  case COST_GATHER:
    if (instr->op == OP_SCATTER) out = elements_of(operand_shape(module, comp, instr, instr->operands.n - 1));
    return (VectorWork){.operations = out};
  default: return (VectorWork){0};
  }
}

VectorWork vector_work(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  VectorWork work = narrow_work(pod, module, comp, instr);
  if (is_wide(operand_shape(module, comp, instr, 0))) work.operations *= WIDE_OPERATIONS;
  return work;
}

double vpu_operations_per_second(const Pod *pod) {
  return (double)(pod->vpu_lanes * pod->vpu_sublanes * pod->vpu_alus) * pod->clock_hz;
}

/* batch-norm-training, -inference and -grad: each feature is normalised by its mean and variance over all
 * other dimensions (Ioffe and Szegedy, 2015). Computed in doubles and rounded once. */
#include "sim/eval/evaluators.h"

#include <math.h>

/* An array as [outer, features, inner]. */
typedef struct {
  int64_t outer, features, inner;
  double epsilon;
} Normalised;

/* Number of the element i of a feature, of outer * inner. */
static int64_t place(const Normalised *x, int64_t feature, int64_t i) {
  return (i / x->inner * x->features + feature) * x->inner + i % x->inner;
}

static double mean_of(const Normalised *x, const Tensor *values, int64_t feature) {
  double sum = 0;
  int64_t n = x->outer * x->inner;
  for (int64_t i = 0; i < n; i++) sum += tensor_double_at(values, place(x, feature, i));
  return sum / (double)n;
}

static double variance_of(const Normalised *x, const Tensor *values, int64_t feature, double mean) {
  double sum = 0;
  int64_t n = x->outer * x->inner;
  for (int64_t i = 0; i < n; i++) {
    double off = tensor_double_at(values, place(x, feature, i)) - mean;
    sum += off * off;
  }
  return sum / (double)n;
}

/* Operand 0, and whether the next `n_vectors` operands are one value a feature. */
static Status read_form(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                        uint32_t n_vectors, Normalised *form) {
  const Tensor *x = operands[0];
  int64_t feature = instr_int(instr, ATTR_feature_index, -1);
  bool fits = feature >= 0 && feature < x->rank;
  for (uint32_t i = 1; i <= n_vectors && fits; i++)
    fits = operands[i]->rank == 1 && operands[i]->dims[0] == x->dims[feature];
  if (!fits) return eval_unsupported(context, instr, "a batch norm of these shapes");
  *form = (Normalised){.outer = 1, .features = x->dims[feature], .inner = 1};
  form->epsilon = instr_number(instr, ATTR_epsilon, 0);
  for (int64_t d = 0; d < feature; d++) form->outer *= x->dims[d];
  for (int64_t d = feature + 1; d < x->rank; d++) form->inner *= x->dims[d];
  return STATUS_OK;
}

/* A feature's values as scale * (value - mean) / sqrt(variance + epsilon) + offset. */
static void normalise(const Normalised *form, const Tensor *x, int64_t feature, double mean, double variance,
                      double scale, double offset, Tensor *out) {
  double factor = scale / sqrt(variance + form->epsilon);
  for (int64_t i = 0; i < form->outer * form->inner; i++) {
    int64_t at = place(form, feature, i);
    tensor_set_double(out, at, factor * (tensor_double_at(x, at) - mean) + offset);
  }
}

/* Operand, scale, offset; normalised, means, variances. */
Status eval_batch_norm_training(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                                Tensor **result) {
  Normalised form;
  TRY(read_form(context, instr, operands, 2, &form));
  *result = tensor_new(instr->shape, true);
  for (int64_t f = 0; f < form.features; f++) {
    double mean = mean_of(&form, operands[0], f), variance = variance_of(&form, operands[0], f, mean);
    normalise(&form, operands[0], f, mean, variance, tensor_double_at(operands[1], f),
              tensor_double_at(operands[2], f), (*result)->parts[0]);
    tensor_set_double((*result)->parts[1], f, mean);
    tensor_set_double((*result)->parts[2], f, variance);
  }
  return STATUS_OK;
}

/* Operand, scale, offset, means, variances. */
Status eval_batch_norm_inference(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                                 Tensor **result) {
  Normalised form;
  TRY(read_form(context, instr, operands, 4, &form));
  *result = tensor_new(instr->shape, true);
  for (int64_t f = 0; f < form.features; f++) {
    normalise(&form, operands[0], f, tensor_double_at(operands[3], f), tensor_double_at(operands[4], f),
              tensor_double_at(operands[1], f), tensor_double_at(operands[2], f), *result);
  }
  return STATUS_OK;
}

/* What a feature's gradients are made of. */
typedef struct {
  double mean, variance, scale, gradient_sum, product_sum; /* of gradient, of gradient * (value - mean) */
} FeatureSums;

static FeatureSums sums_of(const Normalised *form, Tensor *const *operands, int64_t feature) {
  FeatureSums sums = {.mean = tensor_double_at(operands[2], feature),
                      .variance = tensor_double_at(operands[3], feature),
                      .scale = tensor_double_at(operands[1], feature)};
  for (int64_t i = 0; i < form->outer * form->inner; i++) {
    int64_t at = place(form, feature, i);
    double gradient = tensor_double_at(operands[4], at);
    sums.gradient_sum += gradient;
    sums.product_sum += gradient * (tensor_double_at(operands[0], at) - sums.mean);
  }
  return sums;
}

/* Operand, scale, means, variances, gradient of the normalised; gradients of operand, scale and offset. */
Status eval_batch_norm_grad(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                            Tensor **result) {
  Normalised form;
  TRY(read_form(context, instr, operands, 3, &form));
  if (tensor_elements(operands[4]) != tensor_elements(operands[0]))
    return eval_unsupported(context, instr, "a batch norm of these shapes");
  *result = tensor_new(instr->shape, true);
  double n = (double)(form.outer * form.inner);
  for (int64_t f = 0; f < form.features; f++) {
    FeatureSums sums = sums_of(&form, operands, f);
    double deviation = sqrt(sums.variance + form.epsilon);
    double slope = sums.product_sum / (n * (sums.variance + form.epsilon));
    for (int64_t i = 0; i < form.outer * form.inner; i++) {
      int64_t at = place(&form, f, i);
      double off = tensor_double_at(operands[0], at) - sums.mean;
      double gradient = tensor_double_at(operands[4], at) - sums.gradient_sum / n - off * slope;
      tensor_set_double((*result)->parts[0], at, sums.scale / deviation * gradient);
    }
    tensor_set_double((*result)->parts[1], f, sums.product_sum / deviation);
    tensor_set_double((*result)->parts[2], f, sums.gradient_sum);
  }
  return STATUS_OK;
}

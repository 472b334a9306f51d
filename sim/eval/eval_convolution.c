/* convolution: the windows of the input are laid out as rows of a matrix (positions by kernel places and
 * input features), which times the kernel gives the result. Operands are brought to the order batch, spatial,
 * feature and the kernel to spatial, input, output first. Groups of features or of the batch are separate
 * products. */
#include "sim/eval/dot.h"
#include "sim/eval/evaluators.h"
#include "sim/eval/window.h"

#include <string.h>

/* Everything in the inner order; sizes are of one group where `group` says so. */
typedef struct {
  Window window;
  uint32_t spatial;
  int64_t feature_groups, batch_groups;
  int64_t batch, in_features, out_features; /* of one group */
  int64_t kernel_places, out_places;
  const Tensor *input, *kernel; /* [batch, spatial…, feature], [spatial…, in, out] */
  Tensor *out;                  /* [batch, spatial…, feature] */
} Convolution;

/* An array in another order of its dimensions; gives a reference. */
static Tensor *reordered(Tensor *x, const int64_t *order) {
  for (uint32_t d = 0; d < x->rank; d++) {
    if (order[d] != d) return tensor_transposed(x, order);
  }
  return tensor_retain(x);
}

/* first, spatial dimensions, last; or spatial dimensions, first, last. */
static void order_dims(int64_t first, Ints spatial, int64_t last, bool spatial_first, int64_t *order) {
  uint32_t n = 0;
  if (!spatial_first) order[n++] = first;
  for (uint32_t i = 0; i < spatial.n; i++) order[n++] = spatial.at[i];
  if (spatial_first) order[n++] = first;
  order[n] = last;
}

/* Fills the columns of one kernel place for one batch element: the features of each position that has an
 * input there. */
static void fill_place(const Convolution *c, const int64_t *place, int64_t input_offset, Tensor *rows,
                       int64_t column) {
  int64_t in_steps[EVAL_MAX_RANK], out_steps[EVAL_MAX_RANK];
  dense_steps(c->input->dims, c->input->rank, 1, in_steps);
  dense_steps(c->out->dims + 1, c->spatial, 1, out_steps);
  int64_t row = rows->dims[1];
  View to = {.rank = c->spatial + 1, .offset = column},
       from = {.rank = c->spatial + 1, .offset = input_offset};
  for (uint32_t d = 0; d < c->spatial; d++) {
    int64_t at = c->window.at[d].reversal ? c->window.at[d].size - 1 - place[d] : place[d];
    WindowReach reach = window_reach(&c->window.at[d], c->input->dims[d + 1], c->out->dims[d + 1], at);
    if (reach.n == 0) return;
    to.dims[d] = from.dims[d] = reach.n;
    to.offset += reach.first_out * out_steps[d] * row;
    to.steps[d] = reach.out_step * out_steps[d] * row;
    from.offset += reach.first_in * in_steps[d + 1];
    from.steps[d] = reach.in_step * in_steps[d + 1];
  }
  to.dims[c->spatial] = from.dims[c->spatial] = c->in_features;
  to.steps[c->spatial] = from.steps[c->spatial] = 1;
  view_copy(rows, &to, c->input, &from);
}

/* Positions of one batch element by kernel places and features; what no input reaches is 0. */
static void fill_rows(const Convolution *c, int64_t input_offset, Tensor *rows) {
  memset(rows->data, 0, rows->bytes);
  int64_t place[EVAL_MAX_RANK] = {0};
  for (int64_t i = 0; i < c->kernel_places; i++) {
    fill_place(c, place, input_offset, rows, i * c->in_features);
    for (uint32_t d = c->spatial; d-- > 0;) {
      if (++place[d] < c->window.at[d].size) break;
      place[d] = 0;
    }
  }
}

/* One group of one batch element of the result: rows by kernel, into a dense product, which goes to its
 * place. */
static void convolve_group(const Convolution *c, int64_t batch, int64_t group, Tensor *rows,
                           Tensor *product) {
  int64_t input_batch = c->batch_groups > 1 ? group * c->batch + batch : batch;
  int64_t feature_group = c->feature_groups > 1 ? group : 0;
  int64_t image = tensor_elements(c->input) / c->input->dims[0], out_total = c->out->dims[c->spatial + 1];
  int64_t k = rows->dims[1], first_out = group * c->out_features;
  fill_rows(c, input_batch * image + feature_group * c->in_features, rows);
  Matrices lhs = {rows->data, 0, k, 1};
  Matrices rhs = {c->kernel->data + first_out * dtype_bytes(c->kernel->dtype), 0, out_total, 1};
  matmul(c->input->dtype, 1, c->out_places, c->out_features, k, lhs, rhs, product->data);
  View to = {.rank = 2,
             .offset = batch * c->out_places * out_total + first_out,
             .dims = {c->out_places, c->out_features},
             .steps = {out_total, 1}};
  view_put(c->out, &to, product);
}

static void convolve(const Convolution *c) {
  int64_t groups = c->feature_groups > 1 ? c->feature_groups : c->batch_groups;
  DType dtype = c->input->dtype;
  Tensor *rows =
      tensor_new_array(dtype, (int64_t[]){c->out_places, c->kernel_places * c->in_features}, 2, true);
  Tensor *product = tensor_new_array(dtype, (int64_t[]){c->out_places, c->out_features}, 2, true);
  for (int64_t b = 0; b < c->batch && c->out->bytes != 0; b++) {
    for (int64_t g = 0; g < groups; g++) convolve_group(c, b, g, rows, product);
  }
  tensor_release(rows);
  tensor_release(product);
}

/* An operand in the type of the products and in the inner order; gives a reference. */
static Tensor *prepared(Tensor *x, DType dtype, const int64_t *order) {
  Tensor *wide = tensor_converted(x, dtype), *ordered = reordered(wide, order);
  tensor_release(wide);
  return ordered;
}

/* The result in the inner order, not yet computed. */
static Tensor *inner_result(const Shape *shape, DType dtype, const int64_t *order) {
  int64_t dims[EVAL_MAX_RANK];
  for (uint32_t d = 0; d < shape->rank; d++) dims[d] = shape->dims[order[d]];
  return tensor_new_array(dtype, dims, shape->rank, true);
}

/* From the inner order back to the result's own. */
static Tensor *outer_result(const Shape *shape, Tensor *inner, const int64_t *order) {
  int64_t back[EVAL_MAX_RANK];
  for (uint32_t d = 0; d < shape->rank; d++) back[order[d]] = d;
  Tensor *ordered = reordered(inner, back), *narrow = tensor_converted(ordered, shape->dtype);
  tensor_release(ordered);
  return narrow;
}

static void set_sizes(Convolution *c) {
  c->batch = c->out->dims[0];
  c->in_features = c->kernel->dims[c->spatial];
  c->out_features = c->out->dims[c->spatial + 1] / (c->feature_groups * c->batch_groups);
  c->kernel_places = c->out_places = 1;
  for (uint32_t d = 0; d < c->spatial; d++) {
    c->kernel_places *= c->window.at[d].size;
    c->out_places *= c->out->dims[d + 1];
  }
}

static bool sizes_agree(const Convolution *c) {
  uint32_t last = c->spatial + 1;
  if (c->feature_groups < 1 || c->batch_groups < 1 || (c->feature_groups > 1 && c->batch_groups > 1))
    return false;
  return c->input->dims[last] == c->in_features * c->feature_groups &&
         c->input->dims[0] == c->batch * c->batch_groups && c->kernel->dims[last] == c->out->dims[last] &&
         c->out_features * c->feature_groups * c->batch_groups == c->out->dims[last];
}

Status eval_convolution(const EvalContext *context, const Instr *instr, Tensor *const *operands,
                        Tensor **result) {
  const Attr *attr = instr_attr(instr, ATTR_dim_labels);
  Window window = instr_window(instr);
  if (attr == NULL || attr->labels->lhs_spatial.n != window.n)
    return eval_unsupported(context, instr, "a convolution without dim_labels or window");
  const ConvLabels *labels = attr->labels;
  int64_t lhs[EVAL_MAX_RANK], rhs[EVAL_MAX_RANK], out[EVAL_MAX_RANK];
  order_dims(labels->lhs_batch, labels->lhs_spatial, labels->lhs_feature, false, lhs);
  order_dims(labels->rhs_input_feature, labels->rhs_spatial, labels->rhs_output_feature, true, rhs);
  order_dims(labels->out_batch, labels->out_spatial, labels->out_feature, false, out);
  DType dtype = product_dtype(operands[0]->dtype, operands[1]->dtype, instr->shape->dtype);
  Tensor *input = prepared(operands[0], dtype, lhs), *kernel = prepared(operands[1], dtype, rhs);
  Convolution c = {.window = window,
                   .spatial = window.n,
                   .feature_groups = instr_int(instr, ATTR_feature_group_count, 1),
                   .batch_groups = instr_int(instr, ATTR_batch_group_count, 1),
                   .input = input,
                   .kernel = kernel,
                   .out = inner_result(instr->shape, dtype, out)};
  set_sizes(&c);
  bool agree = sizes_agree(&c);
  if (agree) {
    convolve(&c);
    *result = outer_result(instr->shape, c.out, out);
  }
  tensor_release(input);
  tensor_release(kernel);
  tensor_release(c.out);
  return agree ? STATUS_OK : eval_unsupported(context, instr, "a convolution whose sizes do not agree");
}

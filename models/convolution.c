/* Convolutions. In: shapes and attributes; out: how operands and result lie in memory.
 *
 * The one idea: an array on which a window slides keeps its spatial dimensions major, so that a step of the
 * window is an address; batch and feature are the two minor ones, in the order that pads least. A batch of
 * fewer than eight is too small for that: the TPU compiler cuts the last spatial dimension in eight and takes
 * the pieces for a batch (XLA's space-to-batch), which leaves the first one to lie beside the features. Of
 * the kernel both features are minor. (Read off the layouts that the TPU compiler gives convolutions for
 * v5e.) */
#include "models/convolution.h"

#include "models/tiling.h"

enum { LEAST_BATCH = 8 };

static const ConvLabels *labels_of(const Instr *convolution) {
  const Attr *attr = instr_attr(convolution, ATTR_dim_labels);
  return attr == NULL ? NULL : attr->labels;
}

/* Whether the batch is made larger: where the results are an image that can be cut. */
static bool cuts_image(const Instr *convolution, const ConvLabels *labels) {
  Ints spatial = labels->out_spatial;
  const int64_t *dims = convolution->shape->dims;
  return spatial.n > 1 && dims[labels->out_batch] < LEAST_BATCH &&
         dims[spatial.at[spatial.n - 1]] >= LEAST_BATCH;
}

Ints convolution_order(Arena *arena, const Module *module, uint32_t comp, const Instr *convolution,
                       uint32_t k) {
  const ConvLabels *labels = labels_of(convolution);
  if (labels == NULL || convolution->operands.n < 2) return (Ints){NULL, 0};
  const Shape *shape =
      k < 2 ? comp_instr(module, comp, convolution->operands.at[k])->shape : convolution->shape;
  bool cut = cuts_image(convolution, labels);
  int64_t feature, beside;
  switch (k) {
  case 0:
    feature = labels->lhs_feature;
    beside = cut ? labels->lhs_spatial.at[0] : labels->lhs_batch;
    break;
  case 1:
    feature = labels->rhs_output_feature;
    beside = labels->rhs_input_feature;
    break;
  default:
    feature = labels->out_feature;
    beside = cut ? labels->out_spatial.at[0] : labels->out_batch;
    break;
  }
  return order_of_minor(arena, shape, (uint32_t)feature, (uint32_t)beside);
}

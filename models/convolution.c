/* Convolutions. In: shapes, layouts and attributes; out: how operands and result lie in memory, and the
 * products that run on the systolic arrays.
 *
 * The one idea: an array on which a window slides keeps its spatial dimensions major, so that a step of the
 * window is an address; batch and feature are the two minor ones, in the order that pads least. With features
 * along the lanes the kernel is held, a tile for each tap, and the images stream, a row for each place and
 * member of the batch; with the batch along the lanes the images are held and the kernel streams.
 *
 * Taps of few features are gathered into whole tiles (where the image comes in another layout only for
 * results that fill a tile), and the sums of a kernel's gradient run over all taps. Where the vector unit
 * must arrange registers for that, it does so before the arrays can begin: images that come in another
 * layout, and all that has the batch along the lanes. Depthwise kernels run on the vector unit alone. Holes
 * of a dilated image are skipped along the last dimension, padding and strides are not.
 *
 * A batch of fewer than eight is too small: the TPU compiler cuts the last spatial dimension in eight and
 * takes the pieces for a batch (XLA's space-to-batch); the image then lies with its first spatial dimension
 * beside the features. (Read off the layouts and estimates that the TPU compiler gives some 90 convolutions
 * for v5e.) */
#include "models/convolution.h"

#include "models/relayout.h"
#include "models/tiling.h"

#include <math.h>

enum { LANES = 128, SUBLANES = 8, LEAST_BATCH = 8, PIECES = 8, TILE = 128 };

static const ConvLabels *labels_of(const Instr *convolution) {
  const Attr *attr = instr_attr(convolution, ATTR_dim_labels);
  return attr == NULL || convolution->operands.n < 2 ? NULL : attr->labels;
}

static double up_to(double size, double grain) {
  return ceil(size / grain) * grain;
}

/* Whether the batch is made larger: where the results are an image whose pieces are still wide enough. */
static bool cuts_image(const Instr *convolution, const ConvLabels *labels) {
  enum { NARROWEST = 13 };
  Ints spatial = labels->out_spatial;
  const int64_t *dims = convolution->shape->dims;
  return spatial.n > 1 && dims[labels->out_batch] < LEAST_BATCH &&
         dims[spatial.at[spatial.n - 1]] >= NARROWEST;
}

/* How features fall apart into products of their own: not where each channel is one, which is depthwise. */
static double groups_of(const Instr *convolution, const ConvLabels *labels) {
  int64_t groups = instr_int(convolution, ATTR_feature_group_count, 1);
  return groups == convolution->shape->dims[labels->out_feature] ? 1 : (double)groups;
}

/* With features and what lies beside them minor; the features of a group are together. */
static Ints order_of_image(Arena *arena, const Shape *shape, int64_t feature, int64_t beside, double groups) {
  int64_t *dims = arena_copy(arena, shape->dims, shape->rank * sizeof *dims);
  dims[feature] = (int64_t)fmax(1, (double)dims[feature] / groups);
  const Shape *group = shape_with_dims(arena, shape, dims, shape->rank);
  return order_of_minor(arena, group, (uint32_t)feature, (uint32_t)beside);
}

Ints convolution_order(Arena *arena, const Module *module, uint32_t comp, const Instr *convolution,
                       uint32_t k) {
  const ConvLabels *labels = labels_of(convolution);
  if (labels == NULL) return (Ints){NULL, 0};
  const Shape *shape =
      k < 2 ? comp_instr(module, comp, convolution->operands.at[k])->shape : convolution->shape;
  bool cut = cuts_image(convolution, labels);
  double groups = groups_of(convolution, labels);
  switch (k) {
  case 0:
    return order_of_image(arena, shape, labels->lhs_feature,
                          cut ? labels->lhs_spatial.at[0] : labels->lhs_batch, groups);
  case 1:
    return order_of_minor(arena, shape, (uint32_t)labels->rhs_output_feature,
                          (uint32_t)labels->rhs_input_feature);
  default:
    return order_of_image(arena, shape, labels->out_feature,
                          cut ? labels->out_spatial.at[0] : labels->out_batch, groups);
  }
}

bool convolution_cuts_image(const Instr *convolution) {
  const ConvLabels *labels = convolution->op == OP_CONVOLUTION ? labels_of(convolution) : NULL;
  return labels != NULL && cuts_image(convolution, labels);
}

/* ---- windows ---- */

/* Taps of a window that meet an element, neither padding nor a hole of a dilated operand: the mean over the
 * output's positions along one dimension. */
static double mean_taps(const WindowDim *window, int64_t in, int64_t out) {
  enum { LARGEST_COUNT = 1 << 20 };
  if (out < 1 || in < 1 || window->lhs_dilate < 1) return 0;
  if ((double)out * (double)window->size > LARGEST_COUNT)
    return fmax(1, (double)window->size / (double)window->lhs_dilate);
  int64_t taps = 0;
  __int128 last = (__int128)(in - 1) * window->lhs_dilate; /* untrusted: products may pass 2^63 */
  for (int64_t o = 0; o < out; o++) {
    for (int64_t k = 0; k < window->size; k++) {
      __int128 at = (__int128)o * window->stride + (__int128)k * window->rhs_dilate - window->pad_low;
      taps += at >= 0 && at <= last && at % window->lhs_dilate == 0;
    }
  }
  return (double)taps / (double)out;
}

/* What a window is as a whole. The TPU compiler writes batches, groups and further dimensions of products as
 * windows too: of such a dimension one tap meets an element, for each result another, or one result meets
 * all. */
typedef struct {
  double met;        /* taps that meet an element, in the mean */
  double taken;      /* taps for which the arrays run */
  double batch;      /* products beside each other */
  double contracted; /* taps of dimensions with one result */
  bool covers;       /* in each dimension that slides it is longer than the output: a gradient's */
  bool slides;
} Taps;

static void take_dim(Taps *taps, const WindowDim *window, int64_t in, int64_t out, bool last) {
  double met = mean_taps(window, in, out);
  bool holes = window->lhs_dilate > 1, one = met == 1 && window->size > 1 && window->size == out;
  taps->met *= met;
  if (one) {
    taps->batch *= holes ? (double)out : 1;
    return;
  }
  if (out == 1 && window->size > 1) {
    taps->contracted *= met;
    return;
  }
  if (window->size == 1 && window->stride == 1 && !holes) return;
  double share = holes && last ? (double)window->lhs_dilate : 1;
  taps->taken *= fmax(1, (double)window->size / share);
  taps->covers = taps->covers && !holes && window->stride == 1 && window->size >= out;
  taps->slides = true;
}

static Taps taps_of(const Instr *convolution, const ConvLabels *labels, const Shape *lhs) {
  Window window = instr_window(convolution);
  Taps taps = {1, 1, 1, 1, true, false};
  for (uint32_t i = 0; i < window.n && i < labels->lhs_spatial.n && i < labels->out_spatial.n; i++)
    take_dim(&taps, &window.at[i], lhs->dims[labels->lhs_spatial.at[i]],
             convolution->shape->dims[labels->out_spatial.at[i]], i + 1 == window.n);
  return taps;
}

/* ---- images ---- */

/* An image as it lies in a kernel, for each group: batch and features are minor. */
typedef struct {
  double places, batch, features, groups;
  bool batch_in_lanes;
} Image;

static double image_registers(const Image *image) {
  double lanes = image->batch_in_lanes ? image->batch : image->features;
  double rows = image->batch_in_lanes ? image->features : image->batch;
  return image->groups * image->places * up_to(lanes, LANES) * up_to(rows, SUBLANES) / (LANES * SUBLANES);
}

/* A laid one lies as it says; what is cut, or has groups, as it pads least. */
static Image image_of(const Shape *shape, int64_t batch, int64_t feature, double groups, bool cut,
                      Ints spatial) {
  Image image = {1, (double)shape->dims[batch], (double)shape->dims[feature] / groups, groups, false};
  for (uint32_t i = 0; i < spatial.n; i++) image.places *= (double)shape->dims[spatial.at[i]];
  double width = cut ? (double)shape->dims[spatial.at[spatial.n - 1]] : 0;
  if (cut) image.batch *= PIECES;
  if (cut) image.places *= floor(width / PIECES + 1) / width;
  bool laid = !cut && groups == 1 && shape_is_laid(shape) && shape->rank > 1;
  Image turned = image;
  turned.batch_in_lanes = true;
  image.batch_in_lanes =
      laid ? (int64_t)lane_dimension(shape) == batch : image_registers(&turned) < image_registers(&image);
  return image;
}

/* Whether an instruction hands on, element by element, what a copy that keeps the lanes puts into another
 * layout. */
static bool relays(const Module *module, uint32_t comp, const Instr *instr) {
  enum { FARTHEST = 16 };
  for (uint32_t i = 0; i < FARTHEST; i++) {
    if (is_relayout(module, comp, instr)) return keeps_lanes(module, comp, instr);
    uint32_t callee = instr->op == OP_FUSION ? instr_comp(instr, ATTR_calls) : NO_ID;
    bool passes = op_is_elementwise(instr->op) || instr->op == OP_BITCAST;
    if (callee != NO_ID) {
      comp = callee;
      instr = comp_instr(module, comp, module_comp(module, comp)->root);
    } else if (passes && instr->operands.n > 0) {
      instr = comp_instr(module, comp, instr->operands.at[0]);
    } else {
      return false;
    }
  }
  return false;
}

/* ---- products ---- */

/* Without a window that slides it is a product like any other. */
static Matmul plain_product(const Instr *convolution, const ConvLabels *labels, double groups, double k,
                            Taps taps) {
  double features = (double)convolution->shape->dims[labels->out_feature];
  Matmul product = {.batch = groups * taps.batch,
                    .parts = 1,
                    .m = (double)shape_elements(convolution->shape) / fmax(features * taps.batch, 1),
                    .n = features / groups,
                    .k = k * taps.contracted};
  product.share = fmin(groups, fmax(1, floor(TILE / fmax(fmax(product.k, product.n), 1))));
  return product;
}

/* The contraction over so many taps of k features in tiles; gathered where features are few. */
static void set_contraction(Matmul *product, double k, double taps, bool gathers) {
  product->parts = gathers ? ceil(k * taps / TILE) : taps;
  product->k = gathers ? fmin(TILE, k * taps) : k;
}

/* Images or kernel on the arrays, as they lie. */
static void set_sides(Matmul *product, const Image *in, const Image *made) {
  bool held = in->batch_in_lanes && made->batch_in_lanes;
  product->batch = held ? made->groups * made->places : made->groups;
  double few = fmin(SUBLANES, exp2(ceil(log2(made->batch)))); /* rows that lie in smaller tiles */
  product->m = held ? made->features : made->places * up_to(made->batch, few);
  product->n = held ? made->batch : made->features;
}

/* Registers that are arranged before the product: of what has the batch along the lanes as they are made, of
 * gathered taps where the image comes in another layout. */
static double arranged_registers(const Image *in, const Image *made, bool gathers, bool relaid) {
  if (in->batch_in_lanes) return image_registers(made);
  return gathers && relaid ? fmax(image_registers(made), image_registers(in)) : 0;
}

/* On the vector unit: each tap of a result's register, or for a gradient each result of an image's register.
 */
static double depthwise_registers(const Image *in, const Image *made, const Taps *taps) {
  return fmin(taps->taken * taps->contracted * image_registers(made), made->places * image_registers(in));
}

static Matmul image_product(const Image *in, const Image *made, double k, const Taps *taps, bool relaid,
                            bool depthwise) {
  Matmul product = {.share = 1, .held = true, .registers = image_registers(made)};
  bool covers = taps->covers && taps->slides;
  bool whole = !relaid || made->batch_in_lanes || made->groups > 1 || made->features >= TILE;
  bool gathers = covers || (k < TILE && taps->taken > 1 && whole);
  if (depthwise) {
    product.vector_registers = depthwise_registers(in, made, taps);
    product.arranged = relaid ? image_registers(in) : 0;
    return product;
  }
  set_contraction(&product, k, taps->taken * taps->contracted, gathers);
  set_sides(&product, in, made);
  if (!covers) product.arranged = arranged_registers(in, made, gathers, relaid);
  return product;
}

Matmul convolution_product(const Module *module, uint32_t comp, const Instr *convolution) {
  const ConvLabels *labels = labels_of(convolution);
  if (labels == NULL) return (Matmul){0};
  const Instr *images = comp_instr(module, comp, convolution->operands.at[0]);
  const Shape *rhs = comp_instr(module, comp, convolution->operands.at[1])->shape;
  Taps taps = taps_of(convolution, labels, images->shape);
  double groups = (double)instr_int(convolution, ATTR_feature_group_count, 1) *
                  (double)instr_int(convolution, ATTR_batch_group_count, 1);
  double k = (double)rhs->dims[labels->rhs_input_feature];
  bool plain = !taps.slides && (labels->out_spatial.n < 2 || taps.batch > 1 || taps.contracted > 1);
  if (plain) return plain_product(convolution, labels, groups, k, taps);
  bool cut = cuts_image(convolution, labels);
  const Shape *out = convolution->shape;
  bool depthwise = groups > 1 && (k == 1 || groups == (double)out->dims[labels->out_feature]);
  double kept = depthwise ? 1 : groups_of(convolution, labels);
  Image in = image_of(images->shape, labels->lhs_batch, labels->lhs_feature, kept, cut, labels->lhs_spatial);
  Image made =
      image_of(out, labels->out_batch, labels->out_feature, depthwise ? 1 : groups, cut, labels->out_spatial);
  return image_product(&in, &made, k, &taps, relays(module, comp, images), depthwise);
}

double convolution_multiplications(const Module *module, uint32_t comp, const Instr *convolution) {
  const ConvLabels *labels = labels_of(convolution);
  if (labels == NULL) return 0;
  const Shape *images = comp_instr(module, comp, convolution->operands.at[0])->shape;
  const Shape *kernel = comp_instr(module, comp, convolution->operands.at[1])->shape;
  double met = taps_of(convolution, labels, images).met;
  return (double)shape_elements(convolution->shape) * met * (double)kernel->dims[labels->rhs_input_feature];
}

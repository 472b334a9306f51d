/* Copies of strided boxes. A box is first brought to the fewest dimensions (neighbours that lie as one are
 * merged); then the inner two are done by the fastest loop that fits: memcpy, a fill, tiles of a
 * transposition, or a strided loop for the element's size. */
#include "sim/eval/box.h"
#include "sim/eval/kernel.h"

#include <string.h>

enum { TILE = 16, SHORT_FILL = 32 };

typedef struct {
  unsigned char bytes[16];
} Element16;

void dense_steps(const int64_t *dims, uint32_t rank, uint32_t element_bytes, int64_t *steps) {
  int64_t step = element_bytes;
  for (uint32_t d = rank; d-- > 0; step *= dims[d]) steps[d] = step;
}

Box box_dense(const int64_t *dims, uint32_t rank, uint32_t element_bytes) {
  Box box = {.rank = rank, .element_bytes = element_bytes};
  if (rank != 0) memcpy(box.dims, dims, rank * sizeof *dims);
  dense_steps(dims, rank, element_bytes, box.to_step);
  dense_steps(dims, rank, element_bytes, box.from_step);
  return box;
}

void box_fill(unsigned char *to, const unsigned char *element, uint32_t element_bytes, int64_t n) {
  size_t total = (size_t)n * element_bytes, done = element_bytes;
  if (total == 0) return;
  if (element_bytes == 1) {
    memset(to, *element, total);
    return;
  }
  memmove(to, element, element_bytes);
  enum { REPEAT = 4096 };
  for (; done < total && done < REPEAT; done *= 2)
    memcpy(to + done, to, total - done < done ? total - done : done);
  for (; done < total; done += REPEAT) memcpy(to + done, to, total - done < REPEAT ? total - done : REPEAT);
}

static void drop_dim(Box *box, uint32_t d) {
  box->rank--;
  for (; d < box->rank; d++) {
    box->dims[d] = box->dims[d + 1];
    box->to_step[d] = box->to_step[d + 1];
    box->from_step[d] = box->from_step[d + 1];
  }
}

static void swap_dims(Box *box, uint32_t a, uint32_t b) {
  int64_t dim = box->dims[a], to = box->to_step[a], from = box->from_step[a];
  box->dims[a] = box->dims[b], box->to_step[a] = box->to_step[b], box->from_step[a] = box->from_step[b];
  box->dims[b] = dim, box->to_step[b] = to, box->from_step[b] = from;
}

/* Drops dimensions of one and merges a dimension with the next where they are walked as one. */
static void merge_dims(Box *box) {
  for (uint32_t d = box->rank; d-- > 0;) {
    if (box->dims[d] == 1) drop_dim(box, d);
  }
  for (uint32_t d = box->rank; d-- > 1;) {
    uint32_t o = d - 1;
    if (box->to_step[o] != box->to_step[d] * box->dims[d]) continue;
    if (box->from_step[o] != box->from_step[d] * box->dims[d]) continue;
    box->to_step[o] = box->to_step[d];
    box->from_step[o] = box->from_step[d];
    box->dims[o] *= box->dims[d];
    drop_dim(box, d);
  }
}

#define STRIDED_COPY(type)                                                                                   \
  static void strided_copy_##type(int64_t n, unsigned char *to, int64_t to_step, const unsigned char *from,  \
                                  int64_t from_step) {                                                       \
    for (int64_t i = 0; i < n; i++) memcpy(to + i * to_step, from + i * from_step, sizeof(type));            \
  }
STRIDED_COPY(uint8_t)
STRIDED_COPY(uint16_t)
STRIDED_COPY(uint32_t)
STRIDED_COPY(uint64_t)
STRIDED_COPY(Element16)

typedef void (*StridedCopy)(int64_t n, unsigned char *to, int64_t to_step, const unsigned char *from,
                            int64_t from_step);

static StridedCopy strided_copy(uint32_t element_bytes) {
  switch (element_bytes) {
  case 1: return strided_copy_uint8_t;
  case 2: return strided_copy_uint16_t;
  case 4: return strided_copy_uint32_t;
  case 8: return strided_copy_uint64_t;
  default: return strided_copy_Element16;
  }
}

/* The last dimension. */
static void copy_run(const void *self, const Box *box, unsigned char *to, const unsigned char *from) {
  (void)self;
  uint32_t d = box->rank - 1, bytes = box->element_bytes;
  int64_t n = box->dims[d], to_step = box->to_step[d], from_step = box->from_step[d];
  if (to_step == bytes && from_step == bytes) {
    memcpy(to, from, (size_t)n * bytes);
  } else if (to_step == bytes && from_step == 0 && n >= SHORT_FILL) {
    box_fill(to, from, bytes, n);
  } else {
    strided_copy(bytes)(n, to, to_step, from, from_step);
  }
}

/* The last two dimensions, of which the one is dense where it goes and the other where it comes from: in
 * tiles that stay in the cache. */
static void copy_tiles(const void *self, const Box *box, unsigned char *to, const unsigned char *from) {
  (void)self;
  uint32_t row = box->rank - 2, column = box->rank - 1;
  StridedCopy copy = strided_copy(box->element_bytes);
  for (int64_t r = 0; r < box->dims[row]; r += TILE) {
    int64_t rows = box->dims[row] - r < TILE ? box->dims[row] - r : TILE;
    for (int64_t c = 0; c < box->dims[column]; c += TILE) {
      int64_t columns = box->dims[column] - c < TILE ? box->dims[column] - c : TILE;
      for (int64_t i = r; i < r + rows; i++)
        copy(columns, to + i * box->to_step[row] + c * box->to_step[column], box->to_step[column],
             from + i * box->from_step[row] + c * box->from_step[column], box->from_step[column]);
    }
  }
}

/* Where the last dimension is not dense in the source but another is, that one becomes the last but one. */
static bool arrange_tiles(Box *box) {
  if (box->rank < 2) return false;
  int64_t bytes = box->element_bytes, last_step = box->from_step[box->rank - 1];
  if (last_step == bytes || last_step == 0) return false;
  for (uint32_t d = 0; d + 1 < box->rank; d++) {
    if (box->from_step[d] != bytes) continue;
    swap_dims(box, d, box->rank - 2);
    return true;
  }
  return false;
}

typedef void (*BoxStep)(const void *self, const Box *box, unsigned char *to, const unsigned char *from);

/* Calls `step` at each place of the first `outer` dimensions. */
static void each_place(const Box *box, uint32_t outer, BoxStep step, const void *self, unsigned char *to,
                       const unsigned char *from) {
  int64_t at[EVAL_MAX_RANK] = {0};
  for (;;) {
    step(self, box, to, from);
    uint32_t d = outer;
    for (; d > 0; d--) {
      to += box->to_step[d - 1];
      from += box->from_step[d - 1];
      if (++at[d - 1] < box->dims[d - 1]) break;
      to -= box->to_step[d - 1] * box->dims[d - 1];
      from -= box->from_step[d - 1] * box->dims[d - 1];
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

/* Merged; false where it is empty. A box of one element keeps one dimension. */
static bool prepare(const Box *original, Box *box) {
  for (uint32_t d = 0; d < original->rank; d++) {
    if (original->dims[d] == 0) return false;
  }
  *box = *original;
  merge_dims(box);
  if (box->rank != 0) return true;
  box->rank = 1;
  box->dims[0] = 1;
  box->to_step[0] = box->from_step[0] = box->element_bytes;
  return true;
}

void box_copy(const Box *original, unsigned char *to, const unsigned char *from) {
  Box box;
  if (!prepare(original, &box)) return;
  if (arrange_tiles(&box)) {
    each_place(&box, box.rank - 2, copy_tiles, NULL, to, from);
  } else {
    each_place(&box, box.rank - 1, copy_run, NULL, to, from);
  }
}

int64_t view_elements(const View *view) {
  int64_t n = 1;
  for (uint32_t d = 0; d < view->rank; d++) n *= view->dims[d];
  return n;
}

/* The box between two views of the same dimensions. */
static Box box_between(const View *to, const View *from, uint32_t element_bytes) {
  Box box = {.rank = to->rank, .element_bytes = element_bytes};
  for (uint32_t d = 0; d < to->rank; d++) {
    box.dims[d] = to->dims[d];
    box.to_step[d] = to->steps[d] * element_bytes;
    box.from_step[d] = from->steps[d] * element_bytes;
  }
  return box;
}

static View dense_view(const View *like) {
  View view = *like;
  view.offset = 0;
  dense_steps(view.dims, view.rank, 1, view.steps);
  return view;
}

static unsigned char *view_start(const Tensor *tensor, const View *view) {
  return tensor->data + view->offset * dtype_bytes(tensor->dtype);
}

void view_copy(Tensor *to, const View *to_view, const Tensor *from, const View *from_view) {
  Box box = box_between(to_view, from_view, dtype_bytes(to->dtype));
  box_copy(&box, view_start(to, to_view), view_start(from, from_view));
}

Tensor *view_take(const Tensor *from, const View *view) {
  int64_t n = view_elements(view);
  Tensor *vector = tensor_new_array(from->dtype, &n, 1, true);
  View dense = dense_view(view);
  view_copy(vector, &dense, from, view);
  return vector;
}

void view_put(Tensor *to, const View *view, const Tensor *vector) {
  View dense = dense_view(view);
  view_copy(to, view, vector, &dense);
}

typedef struct {
  Opcode op;
  DType dtype;
} Combine;

/* into = op(into, from) along the last dimension: as it lies, or by blocks where it is strided. */
static void combine_run(const void *self, const Box *box, unsigned char *into, const unsigned char *from) {
  const Combine *combine = self;
  uint32_t d = box->rank - 1, bytes = box->element_bytes;
  int64_t n = box->dims[d], to_step = box->to_step[d], from_step = box->from_step[d];
  if (to_step == bytes && from_step == bytes) {
    binary_run(combine->op, combine->dtype, n, into, from, into);
    return;
  }
  Element16 old[KERNEL_BLOCK], new[KERNEL_BLOCK];
  StridedCopy copy = strided_copy(bytes);
  for (int64_t i = 0; i < n; i += KERNEL_BLOCK) {
    int64_t some = n - i < KERNEL_BLOCK ? n - i : KERNEL_BLOCK;
    copy(some, (unsigned char *)old, bytes, into + i * to_step, to_step);
    copy(some, (unsigned char *)new, bytes, from + i * from_step, from_step);
    binary_run(combine->op, combine->dtype, some, old, new, old);
    copy(some, into + i * to_step, to_step, (unsigned char *)old, bytes);
  }
}

void view_combine(Opcode op, Tensor *into, const View *into_view, const Tensor *from, const View *from_view) {
  Combine combine = {op, into->dtype};
  Box original = box_between(into_view, from_view, dtype_bytes(into->dtype)), box;
  if (!prepare(&original, &box)) return;
  each_place(&box, box.rank - 1, combine_run, &combine, view_start(into, into_view),
             view_start(from, from_view));
}

/* Prefix scans. In: a reduce-window; out: the memory traffic of the kernels that a TPU runs it as.
 *
 * The one idea: a scan of more than 128 elements is one of blocks of 128, then one of the blocks' sums, which
 * are few, then an addition to each block (xla: reduce_window_rewriter, a tree reduction). The blocks become
 * a dimension of their own, along which no tile may lie, so that arrays are copied to another layout before
 * and after. Each kernel takes the array from the one before: in VMEM, where it fits beside its neighbour;
 * where only one fits at a time, every second one is stored in HBM; else all are. */
#include "models/scan_model.h"
#include "models/tiling.h"

#include <math.h>

enum { BLOCK = 128 };

static bool is_trivial(const WindowDim *window) {
  return window->size == 1 && window->stride == 1 && window->pad_low == 0 && window->pad_high == 0 &&
         window->lhs_dilate == 1 && window->rhs_dilate == 1;
}

/* `near` is the padding at the end that windows grow from, `far` the other. */
static bool reaches_from_end(const WindowDim *window, int64_t length, int64_t near, int64_t far) {
  return far == 0 && window->size == length && (near == length - 1 || near == length);
}

static bool scans(const WindowDim *window, int64_t length) {
  bool plain = window->stride == 1 && window->lhs_dilate == 1 && window->rhs_dilate == 1 && !window->reversal;
  return plain && (reaches_from_end(window, length, window->pad_low, window->pad_high) ||
                   reaches_from_end(window, length, window->pad_high, window->pad_low));
}

/* The dimension that is scanned; NO_ID: none, or more happens. */
static uint32_t scanned_dim(const Shape *in, Window window) {
  uint32_t scanned = NO_ID;
  for (uint32_t i = 0; i < window.n; i++) {
    if (is_trivial(&window.at[i])) continue;
    if (scanned != NO_ID || !scans(&window.at[i], in->dims[i])) return NO_ID;
    scanned = i;
  }
  return scanned;
}

static const Shape *scanned_shape(const Module *module, uint32_t comp, const Instr *instr) {
  return comp_instr(module, comp, instr->operands.at[0])->shape;
}

static uint32_t scan_dim_of(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->op != OP_REDUCE_WINDOW || instr->operands.n == 0) return NO_ID;
  const Shape *in = scanned_shape(module, comp, instr);
  Window window = instr_window(instr);
  return shape_is_array(in) && in->rank == window.n ? scanned_dim(in, window) : NO_ID;
}

/* Kernels that go through the whole array, by the place of the dimension among the minor ones. Copies lead in
 * and back; before rows and major dimensions those that lead in are parts of the scan's kernel. Along the
 * lanes the tiles of several rows are taken apart for blocks. */
static int64_t kernels_of(const Shape *in, uint32_t dim, bool in_blocks) {
  enum { LANES_COPIED = 2, TILES_TAKEN_APART = 2, ROWS_BACK = 1, MAJOR_BACK = 2 };
  Arena *scratch = arena_new();
  Ints order = laid_order(scratch, in);
  bool lanes = order.at[0] == dim, rows = order.n > 1 && order.at[1] == dim;
  bool tiles = order.n > 1 && in->dims[order.at[1]] > 1;
  arena_free(scratch);
  int64_t scan_and_add = in_blocks ? 2 : 1;
  if (lanes) return scan_and_add + LANES_COPIED + (in_blocks && tiles ? TILES_TAKEN_APART : 0);
  if (rows) return scan_and_add + (in_blocks || in->rank > 2 ? ROWS_BACK : 0);
  return scan_and_add + (in_blocks ? MAJOR_BACK : 0);
}

/* What a scan's kernels pass on, each value made from the one before. */
typedef struct {
  int64_t n, stored; /* values; of them those that VMEM does not hold */
  int64_t bytes;     /* of one */
  int64_t rooms;     /* in HBM, beside those of operands and results */
} PassedOn;

/* Bytes of the operands, dimension `padded` filled up to whole blocks; NO_ID: none. */
static int64_t passed_bytes(Arena *arena, const Module *module, uint32_t comp, const Instr *scan,
                            uint32_t padded) {
  const double largest = 0x1p60; /* so that a few of them do not overflow */
  double sum = 0;
  for (uint32_t k = 0; k < scan->operands.n / 2; k++) {
    const Shape *in = comp_instr(module, comp, scan->operands.at[k])->shape;
    Ints dims = {arena_copy(arena, in->dims, in->rank * sizeof *in->dims), in->rank};
    if (padded != NO_ID) dims.at[padded] = (dims.at[padded] - 1) / BLOCK * BLOCK + BLOCK;
    const Shape *filled = shape_array(arena, in->dtype, dims.at, dims.n);
    sum += (double)tiled_bytes(shape_laid(arena, filled, laid_order(arena, in)));
  }
  return (int64_t)fmin(sum, largest);
}

static PassedOn passed_on(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  enum { PAD_AND_CUT = 2 };
  uint32_t dim = scan_dim_of(module, comp, instr);
  if (dim == NO_ID) return (PassedOn){0};
  const Shape *in = scanned_shape(module, comp, instr);
  bool in_blocks = in->dims[dim] > BLOCK, padded = in_blocks && in->dims[dim] % BLOCK != 0;
  Arena *scratch = arena_new();
  int64_t bytes = passed_bytes(scratch, module, comp, instr, padded ? dim : NO_ID);
  arena_free(scratch);
  int64_t room = pod->vmem_bytes - pod->vmem_windows_bytes;
  int64_t n = kernels_of(in, dim, in_blocks) - 1 + (padded ? PAD_AND_CUT : 0);
  if (bytes <= room / 2) return (PassedOn){.n = n, .bytes = bytes};
  bool alternate = bytes <= room;
  int64_t rooms = alternate ? n % 2 == 0 : padded ? 2 : 1; /* a result's room takes none that is padded */
  return (PassedOn){n, alternate ? n / 2 : n, bytes, n > 0 ? rooms : 0};
}

Demand scan_demand(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  PassedOn passed = passed_on(pod, module, comp, instr);
  int64_t start_ps = demand_cycles_ps(pod, (double)pod->vector_start_cycles);
  Demand all = {.temporary_bytes = passed.rooms * passed.bytes};
  for (int64_t i = 0; i < passed.n; i++) {
    Demand kept = {.start_ps = start_ps, .vmem_bytes = passed.bytes};
    if (i < passed.stored) kept.hbm_bytes = passed.bytes;
    Demand read = {.vmem_bytes = kept.vmem_bytes, .hbm_bytes = kept.hbm_bytes};
    all = demand_add(all, demand_add(kept, read));
  }
  return all;
}

/* Demand: what one instruction asks of MXU, VPU and HBM, by the cost class of its opcode; and the time of a
 * sum of demands. In: shapes, attributes, the pod's constants; out: picoseconds and bytes.
 *
 * The one idea is the roofline: units and memory work side by side, so what is asked for most sets the time
 * (JAX Scaling Book, "Rooflines"). Bytes are those that must move at least: each operand once, the result
 * once, and of what is sliced or updated in place only the part.
 *
 * A kernel with a product runs in steps, a window of operands and results each: while one is computed, the
 * next is loaded and the last rounded and stored. So the first load and the last store stand alone, and a
 * step and the kernel's start cost something too. Other kernels on arrays have a start; scalars have a unit
 * of their own. */
#include "models/demand.h"
#include "models/cost.h"
#include "models/kernel_model.h"
#include "models/mxu_model.h"
#include "models/relayout.h"
#include "models/tiling.h"
#include "models/vpu_model.h"

#include <math.h>

static const double LARGEST = 0x1p62;

static int64_t whole(double value) {
  return (int64_t)fmin(ceil(value), LARGEST);
}

static int64_t ps_of(double amount, double per_second) {
  return whole(amount / per_second * 1e12);
}

int64_t demand_cycles_ps(const Pod *pod, double cycles) {
  return ps_of(cycles, pod->clock_hz);
}

static int64_t sum_of(int64_t a, int64_t b) {
  return whole((double)a + (double)b) == (int64_t)LARGEST ? (int64_t)LARGEST : a + b;
}

static const Shape *operand_shape(const Module *module, uint32_t comp, const Instr *instr, uint32_t i) {
  return comp_instr(module, comp, instr->operands.at[i])->shape;
}

/* The same bytes in the same order in memory: the minor dimension, which lies along the lanes, stays. */
static bool reshape_is_free(const Shape *from, const Shape *to) {
  if (from->rank == 0 || to->rank == 0) return true;
  return from->dims[from->rank - 1] == to->dims[to->rank - 1];
}

/* Custom calls that only mark or name a value; the last ones stand in what the TPU compiler makes. */
static bool is_mark(Str target) {
  static const char *const marks[] = {
      "Sharding",      "SPMDFullToShardShape", "SPMDShardToFullShape",     "AllocateBuffer",
      "ConcatBitcast", "AsyncCollectiveStart", "AsyncCollectiveDone",      "AssumeGatherIndicesInBound",
      "MoveToHost",    "MoveToDevice",         "annotate_device_placement"};
  for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
    if (str_is(target, marks[i])) return true;
  }
  return str_starts(target, "xla.sdy.");
}

bool demand_is_free(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->operands.n > 0 && shape_is_laid(instr->shape) && only_renames(module, comp, instr)) return true;
  if (instr->op == OP_RESHAPE && instr->operands.n > 0)
    return reshape_is_free(operand_shape(module, comp, instr, 0), instr->shape);
  if (instr->host_move != HOST_MOVE_NONE) return false;
  bool asynchronous = instr->op == OP_COPY_START || instr->op == OP_COPY_DONE;
  if (instr->on_host && !asynchronous) return true; /* where the host has it, no chip works on it */
  if (instr->op == OP_CUSTOM_CALL) return is_mark(instr_custom_call_target(instr));
  return op_cost(instr->op) == COST_FREE;
}

static bool asks_nothing(const Module *module, uint32_t comp, const Instr *instr) {
  Cost cost = op_cost(instr->op);
  return cost == COST_COLLECTIVE || cost == COST_CONTROL || instr->op == OP_COPY_DONE ||
         demand_is_free(module, comp, instr);
}

/* Rows of a narrow type share words with their neighbours (tiles of (8,128)(2,1) for 16 bits, XLA's tiled
 * layouts), so that those that are gathered come with them. */
static int64_t gathered_bytes(const Shape *table, const Instr *gather) {
  enum { WORD_BITS = 32 };
  int64_t bytes = shape_bytes(gather->shape), all = shape_bytes(table), bits = dtype_bits(table->dtype);
  Ints sizes = instr_ints(gather, ATTR_slice_sizes);
  if (table->rank < 2 || sizes.n != table->rank || bits >= WORD_BITS) return bytes;
  int64_t packed = WORD_BITS / bits, rows = sizes.at[table->rank - 2];
  if (rows < 1 || rows >= packed || table->dims[table->rank - 2] < packed) return bytes;
  return (int64_t)fmin((double)bytes * (double)packed / (double)rows, (double)all);
}

int64_t demand_read_bytes(const Module *module, uint32_t comp, const Instr *instr, uint32_t operand) {
  if (asks_nothing(module, comp, instr)) return 0;
  int64_t all = shape_bytes(operand_shape(module, comp, instr, operand));
  if (operand != 0) return all;
  switch (instr->op) {
  case OP_SLICE:
  case OP_DYNAMIC_SLICE: return shape_bytes(instr->shape);
  case OP_GATHER: return gathered_bytes(operand_shape(module, comp, instr, 0), instr);
  case OP_DYNAMIC_UPDATE_SLICE: return 0;
  case OP_SCATTER: return shape_bytes(operand_shape(module, comp, instr, instr->operands.n - 1));
  default: return all;
  }
}

int64_t demand_write_bytes(const Module *module, uint32_t comp, const Instr *instr) {
  if (asks_nothing(module, comp, instr)) return 0;
  if (instr->op == OP_COPY_START && shape_is_tuple(instr->shape) && instr->shape->rank > 0)
    return shape_bytes(instr->shape->parts[0]);
  switch (instr->op) {
  case OP_DYNAMIC_UPDATE_SLICE: return shape_bytes(operand_shape(module, comp, instr, 1));
  case OP_SCATTER: return shape_bytes(operand_shape(module, comp, instr, instr->operands.n - 1));
  default: return shape_bytes(instr->shape);
  }
}

static Demand product_demand(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  Matmul product = matmul_of(module, comp, instr);
  double cycles = mxu_cycles(pod, product, mxu_passes(pod, module, comp, instr));
  return (Demand){.mxu_ps = demand_cycles_ps(pod, cycles),
                  .rounding_ps = demand_cycles_ps(pod, mxu_rounding_cycles(pod, product)),
                  .flops = whole(2 * useful_multiplications(module, comp, instr))};
}

/* Within a product's kernel the rows of an operand in another layout are moved beside the product. */
static int64_t relayout_ps(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  if (!is_relayout(module, comp, instr)) return 0;
  return demand_cycles_ps(pod,
                          tiled_registers(instr->shape) * (double)pod->relayout_cycles / (double)pod->cores);
}

/* A Pallas kernel's FLOPs run at the peak of the unit that it uses. */
static Demand kernel_demand(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  KernelCost cost = kernel_cost(module, comp, instr);
  double vpu_ops =
      cost.transcendentals * (double)pod->transcendental_ops + (cost.has_products ? 0 : cost.flops);
  return (Demand){.mxu_ps = cost.has_products ? ps_of(cost.flops, mxu_peak_flops(pod)) : 0,
                  .vpu_ps = ps_of(vpu_ops, vpu_operations_per_second(pod)),
                  .flops = whole(cost.flops),
                  .transcendentals = whole(cost.transcendentals)};
}

/* What crosses PCIe: what is put into a buffer, else the result. */
static int64_t host_bytes(const Module *module, uint32_t comp, const Instr *instr) {
  if (instr->host_move == HOST_MOVE_NONE) return 0;
  return instr->op == OP_DYNAMIC_UPDATE_SLICE ? shape_bytes(operand_shape(module, comp, instr, 1))
         : shape_is_tuple(instr->shape)       ? shape_bytes(instr->shape->parts[0])
                                              : shape_bytes(instr->shape);
}

Demand demand_of_units(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  Demand demand = {.host_bytes = host_bytes(module, comp, instr)};
  if (asks_nothing(module, comp, instr) || demand.host_bytes > 0) return demand;
  if (op_cost(instr->op) == COST_MXU) return product_demand(pod, module, comp, instr);
  if (holds_mosaic_kernel(instr)) return kernel_demand(pod, module, comp, instr);
  VectorWork work = vector_work(pod, module, comp, instr);
  demand.relayout_ps = relayout_ps(pod, module, comp, instr);
  demand.vpu_ps = whole(work.operations / vpu_operations_per_second(pod) * 1e12);
  demand.flops = whole(work.flops);
  demand.transcendentals = whole(work.transcendentals);
  return demand;
}

bool is_rounded(const Shape *result) {
  return shape_is_array(result) && dtype_bits(result->dtype) < 32;
}

Demand demand_of(const Pod *pod, const Module *module, uint32_t comp, const Instr *instr) {
  Demand demand = demand_of_units(pod, module, comp, instr);
  if (!is_rounded(instr->shape)) demand.rounding_ps = 0;
  demand.hbm_bytes = demand_write_bytes(module, comp, instr);
  for (uint32_t i = 0; i < instr->operands.n; i++) {
    bool again = false;
    for (uint32_t j = 0; j < i && !again; j++) again = instr->operands.at[j] == instr->operands.at[i];
    if (!again) demand.hbm_bytes = sum_of(demand.hbm_bytes, demand_read_bytes(module, comp, instr, i));
  }
  demand.vmem_bytes = demand.hbm_bytes;
  if (demand.mxu_ps > 0) {
    demand.store_bytes = demand_write_bytes(module, comp, instr);
    demand.load_bytes = demand.hbm_bytes - demand.store_bytes;
  }
  return demand;
}

Demand demand_add(Demand a, Demand b) {
  return (Demand){.mxu_ps = sum_of(a.mxu_ps, b.mxu_ps),
                  .vpu_ps = sum_of(a.vpu_ps, b.vpu_ps),
                  .start_ps = sum_of(a.start_ps, b.start_ps),
                  .rounding_ps = sum_of(a.rounding_ps, b.rounding_ps),
                  .relayout_ps = sum_of(a.relayout_ps, b.relayout_ps),
                  .hbm_bytes = sum_of(a.hbm_bytes, b.hbm_bytes),
                  .copy_bytes = sum_of(a.copy_bytes, b.copy_bytes),
                  .vmem_bytes = sum_of(a.vmem_bytes, b.vmem_bytes),
                  .kept_bytes = sum_of(a.kept_bytes, b.kept_bytes),
                  .temporary_bytes = sum_of(a.temporary_bytes, b.temporary_bytes),
                  .host_bytes = sum_of(a.host_bytes, b.host_bytes),
                  .load_bytes = sum_of(a.load_bytes, b.load_bytes),
                  .store_bytes = sum_of(a.store_bytes, b.store_bytes),
                  .flops = sum_of(a.flops, b.flops),
                  .transcendentals = sum_of(a.transcendentals, b.transcendentals)};
}

typedef struct {
  int64_t ps;
  Bound bound;
} Part;

static Part longest(const Part *parts, size_t n) {
  Part longest = {0, BOUND_FREE};
  for (size_t i = 0; i < n; i++) {
    if (parts[i].ps > longest.ps) longest = parts[i];
  }
  return longest;
}

/* What a product's kernel adds: its start, a cost for each step, and the first window in and the last out,
 * when the arrays stand still. */
static int64_t edges_ps(const Pod *pod, Demand demand, double window_Bps) {
  double in = (double)demand.load_bytes, out = (double)demand.store_bytes, window = (double)pod->window_bytes;
  double steps = fmax(1, ceil((in + out) / (2 * window)));
  double cycles = (double)pod->kernel_start_cycles + steps * (double)pod->kernel_step_cycles;
  return sum_of(demand_cycles_ps(pod, cycles), ps_of(fmin(in, window) + fmin(out, window), window_Bps));
}

/* In which results leave the arrays: they are rounded, and put where they stay. */
static int64_t leaving_ps(const Pod *pod, Demand demand) {
  enum { NARROW_BYTES = 2 };
  double register_bytes = (double)(pod->vpu_lanes * pod->vpu_sublanes * NARROW_BYTES);
  double cycles =
      (double)demand.kept_bytes / register_bytes / (double)pod->cores * (double)pod->mxu_keep_cycles;
  return demand.rounding_ps == 0 ? 0 : sum_of(demand.rounding_ps, demand_cycles_ps(pod, cycles));
}

KernelTimes demand_times(const Pod *pod, Demand demand) {
  bool product = demand.mxu_ps > 0;
  double window_Bps = pod->hbm_bw_Bps * pod->hbm_window_efficiency;
  double moved = (double)demand.load_bytes + (double)demand.store_bytes;
  return (KernelTimes){.mxu = demand.mxu_ps,
                       .vpu = demand.vpu_ps,
                       .relayout = product ? demand.relayout_ps : 0,
                       .windows = product ? ps_of(moved, window_Bps) : 0,
                       .leaving = product ? leaving_ps(pod, demand) : 0,
                       .edges = product ? edges_ps(pod, demand, window_Bps) : 0,
                       .hbm = demand_hbm_ps(pod, demand),
                       .vmem = ps_of((double)demand.vmem_bytes, pod->vmem_bw_Bps),
                       .host = ps_of((double)demand.host_bytes, pod->host_bw_Bps),
                       .start = product ? 0 : demand.start_ps};
}

static Part units_time(KernelTimes times) {
  const Part parts[] = {
      {times.mxu, BOUND_COMPUTE},
      {times.vpu, BOUND_COMPUTE},
      {times.relayout, BOUND_COMPUTE},
      {sum_of(times.windows, times.leaving), times.windows >= times.leaving ? BOUND_HBM : BOUND_COMPUTE}};
  Part time = longest(parts, sizeof parts / sizeof *parts);
  time.ps = sum_of(time.ps, times.edges);
  return time;
}

int64_t demand_hbm_ps(const Pod *pod, Demand demand) {
  return ps_of((double)demand.hbm_bytes + (double)demand.copy_bytes, pod->hbm_bw_Bps * pod->hbm_efficiency);
}

int64_t demand_ps(const Pod *pod, Demand demand, Bound *bound) {
  KernelTimes times = demand_times(pod, demand);
  const Part parts[] = {
      units_time(times), {times.hbm, BOUND_HBM}, {times.vmem, BOUND_VMEM}, {times.host, BOUND_HOST}};
  Part time = longest(parts, sizeof parts / sizeof *parts);
  if (bound != NULL) *bound = times.start > time.ps ? BOUND_LATENCY : time.bound;
  return sum_of(time.ps, times.start);
}

const char *bound_text(Bound bound) {
  static const char *const texts[BOUND_KINDS] = {
      [BOUND_FREE] = "free", [BOUND_COMPUTE] = "compute", [BOUND_HBM] = "HBM",  [BOUND_VMEM] = "VMEM",
      [BOUND_ICI] = "ICI",   [BOUND_LATENCY] = "latency", [BOUND_HOST] = "PCIe"};
  return texts[bound];
}

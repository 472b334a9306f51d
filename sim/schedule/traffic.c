/* Traffic of a group. In: its members; out: its demand.
 *
 * The one idea: only what crosses the group's border moves through HBM. Every operand is followed through
 * bitcasts, and through broadcasts that are made anew, to the value that is stored; several reads of parts of
 * it sum up, to at most all of it. What is only sliced within the group is made only in that part. */
#include "sim/schedule/traffic.h"

#include "models/cost.h"
#include "models/kernel_model.h"
#include "models/mxu_model.h"
#include "models/relayout.h"
#include "models/scan_model.h"
#include "sim/schedule/copies.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
  uint32_t value;
  double share; /* of it that is needed */
} Remade;

/* A group of a computation, and how it reads what lies outside. */
typedef struct {
  const Pod *pod;
  const Module *module;
  uint32_t comp;
  const Comp *body;
  const Groups *groups;
  uint32_t last;
  Ids members;
  double *shares;     /* by member: the part of its value that the kernel needs */
  double *rounds;     /* by member: how often it is gone through for blocks of a product's results */
  Vec(Remade) remade; /* of other groups, what is made anew for it; filled with its reads */
} Kernel;

/* The operand whose bytes an instruction only names; NO_ID: it has bytes of its own. */
static uint32_t named_operand(const Kernel *kernel, uint32_t value) {
  const Instr *instr = &kernel->body->instrs.at[value];
  if (is_name(kernel->module, kernel->comp, instr) && instr->operands.n > 0) return instr->operands.at[0];
  uint32_t operand = instr->op == OP_FUSION && shape_is_array(instr->shape)
                         ? fusion_hands_on(kernel->module, instr, 0)
                         : NO_ID;
  return operand == NO_ID ? NO_ID : instr->operands.at[operand];
}

/* Where the bytes of a value lie. */
static uint32_t stored(const Kernel *kernel, uint32_t value) {
  for (uint32_t next; (next = named_operand(kernel, value)) != NO_ID;) value = next;
  return value;
}

/* Made by the group itself, or made anew in it. */
static bool is_made(const Kernel *kernel, uint32_t value) {
  bool member = kernel->groups->last[value] == kernel->last;
  return kernel->groups->repeated[value] || (member && kernel->body->instrs.at[value].op != OP_PARAMETER);
}

/* Of a tuple its first part: what a copy makes. */
static bool in_hbm(const Shape *shape) {
  while (shape_is_tuple(shape) && shape->rank > 0) shape = shape->parts[0];
  return shape->layout == NULL || shape->layout->memory_space == 0;
}

/* Where a value of the group's computation lies. */
static bool value_in_hbm(const Kernel *kernel, uint32_t value) {
  const bool *in_vmem = kernel->groups->in_vmem;
  if (kernel->body->instrs.at[value].on_host) return false;
  return in_vmem != NULL ? !in_vmem[value] : in_hbm(kernel->body->instrs.at[value].shape);
}

/* Where the kernel finds it. */
static bool read_from_hbm(const Kernel *kernel, uint32_t value) {
  return value_in_hbm(kernel, value) && !is_fetched(&kernel->groups->copies, kernel->last, value);
}

static bool written_to_hbm(const Kernel *kernel, uint32_t value) {
  const bool *sent = kernel->groups->copies.sent;
  return value_in_hbm(kernel, value) && (sent == NULL || !sent[value]);
}

static Reads reads_of(Arena *arena, Kernel *kernel);

static Kernel open_kernel(Arena *arena, const Pod *pod, const Module *module, uint32_t comp,
                          const Groups *groups, uint32_t last);

/* A fusion's computation, or a called one, as one kernel; false where there is none. */
static bool open_callee(Arena *arena, const Pod *pod, const Module *module, const Instr *instr,
                        Kernel *kernel) {
  if (instr->op != OP_FUSION && instr->op != OP_CALL) return false;
  uint32_t callee = instr_comp(instr, instr->op == OP_CALL ? ATTR_to_apply : ATTR_calls);
  if (callee == NO_ID) return false;
  Groups *groups = ARENA_NEW(arena, Groups);
  *groups = groups_whole(arena, module, callee);
  *kernel = open_kernel(arena, pod, module, callee, groups, module_comp(module, callee)->root);
  return true;
}

/* By operand of a member, the bytes it reads: of a fusion what its computation reads of its parameters. */
static int64_t *operand_reads(Arena *arena, const Kernel *kernel, const Instr *instr) {
  int64_t *bytes = ARENA_ARRAY(arena, int64_t, instr->operands.n);
  Kernel callee;
  if (!open_callee(arena, kernel->pod, kernel->module, instr, &callee)) {
    for (uint32_t k = 0; k < instr->operands.n; k++)
      bytes[k] = demand_read_bytes(kernel->module, kernel->comp, instr, k);
    return bytes;
  }
  Reads inner = reads_of(arena, &callee);
  for (uint32_t i = 0; i < inner.n; i++) {
    const Instr *from = &callee.body->instrs.at[inner.at[i].value];
    if (from->op == OP_PARAMETER && from->parameter < (int64_t)instr->operands.n)
      bytes[from->parameter] = inner.at[i].bytes;
  }
  return bytes;
}

/* The place of a value among the members; NO_ID. */
static uint32_t member_of(const Kernel *kernel, uint32_t value) {
  uint32_t low = 0, high = kernel->members.n;
  while (low + 1 < high) {
    uint32_t middle = low + (high - low) / 2;
    if (kernel->members.at[middle] <= value) low = middle;
    if (kernel->members.at[middle] > value) high = middle;
  }
  return kernel->members.n > 0 && kernel->members.at[low] == value ? low : NO_ID;
}

static double rounds_of(const Kernel *kernel, uint32_t member, uint32_t operand) {
  const Instr *instr = &kernel->body->instrs.at[kernel->members.at[member]];
  if (op_cost(instr->op) != COST_MXU) return kernel->rounds[member];
  return mxu_rounds(kernel->pod, matmul_of(kernel->module, kernel->comp, instr), operand);
}

/* What is only sliced is needed in part, and so is what it is made of; what a product goes through several
 * times is made as often. */
static void find_shares(Arena *arena, Kernel *kernel) {
  kernel->shares = ARENA_ARRAY(arena, double, kernel->members.n);
  kernel->rounds = ARENA_ARRAY(arena, double, kernel->members.n);
  for (uint32_t i = kernel->members.n; i-- > 0;) {
    uint32_t at = kernel->members.at[i];
    const Instr *instr = &kernel->body->instrs.at[at];
    if (kernel->groups->leaves[at]) kernel->shares[i] = 1;
    kernel->rounds[i] = fmax(1, kernel->rounds[i]);
    const int64_t *bytes = operand_reads(arena, kernel, instr);
    for (uint32_t k = 0; k < instr->operands.n; k++) {
      uint32_t member = member_of(kernel, instr->operands.at[k]);
      if (member == NO_ID) continue;
      double *share = &kernel->shares[member], *rounds = &kernel->rounds[member];
      *rounds = fmax(*rounds, rounds_of(kernel, i, k));
      double all = (double)shape_bytes(kernel->body->instrs.at[instr->operands.at[k]].shape);
      double part = bytes[k] > 0 && all > 0 ? (double)bytes[k] / all : 1;
      *share = fmin(1, *share + kernel->shares[i] * part);
    }
  }
}

static Kernel open_kernel(Arena *arena, const Pod *pod, const Module *module, uint32_t comp,
                          const Groups *groups, uint32_t last) {
  Kernel kernel = {.pod = pod,
                   .module = module,
                   .comp = comp,
                   .body = module_comp(module, comp),
                   .groups = groups,
                   .last = last,
                   .members = group_members(groups, last)};
  find_shares(arena, &kernel);
  return kernel;
}

static void add_remade(Arena *arena, Kernel *kernel, uint32_t value, double share) {
  for (uint32_t i = 0; i < kernel->remade.n; i++) {
    Remade *known = &kernel->remade.at[i];
    if (known->value != value) continue;
    known->share = fmin(1, known->share + share);
    return;
  }
  VEC_PUSH(arena, &kernel->remade, (Remade){value, share});
}

/* A read of `value`; of one that is made anew, reads of what that part is made of. */
static void add_source(Arena *arena, Kernel *kernel, uint32_t value, double bytes, double rounds,
                       Reads *reads) {
  value = stored(kernel, value);
  const Instr *instr = &kernel->body->instrs.at[value];
  if (kernel->groups->repeated[value] && kernel->groups->last[value] != kernel->last) {
    double share = fmin(1, bytes / fmax(1, (double)shape_bytes(instr->shape)));
    add_remade(arena, kernel, value, share);
    bool carried = instr->op == OP_GET_TUPLE_ELEMENT; /* made of what the loop knows */
    for (uint32_t k = 0; k < instr->operands.n && !carried; k++) {
      const Shape *shape = kernel->body->instrs.at[instr->operands.at[k]].shape;
      add_source(arena, kernel, instr->operands.at[k], share * (double)shape_bytes(shape), rounds, reads);
    }
  }
  if (is_made(kernel, value) || bytes <= 0) return;
  int64_t all = shape_bytes(instr->shape), needed = (int64_t)ceil(bytes);
  needed = needed < all ? needed : all;
  VEC_PUSH(arena, reads, (Read){value, needed, (int64_t)((double)needed * (rounds - 1))});
}

static void add_reads(Arena *arena, Kernel *kernel, uint32_t i, Reads *reads) {
  const Instr *instr = &kernel->body->instrs.at[kernel->members.at[i]];
  const int64_t *bytes = operand_reads(arena, kernel, instr);
  for (uint32_t k = 0; k < instr->operands.n; k++)
    add_source(arena, kernel, instr->operands.at[k], (double)bytes[k] * kernel->shares[i],
               rounds_of(kernel, i, k), reads);
}

static int by_value(const void *left, const void *right) {
  uint32_t a = ((const Read *)left)->value, b = ((const Read *)right)->value;
  return a < b ? -1 : a > b;
}

/* Sums the reads of one value, to at most its size. */
static void merge_reads(const Kernel *kernel, Reads *reads) {
  if (reads->n != 0) qsort(reads->at, reads->n, sizeof *reads->at, by_value);
  uint32_t kept = 0;
  for (uint32_t i = 0; i < reads->n; i++) {
    Read read = reads->at[i];
    if (kept == 0 || reads->at[kept - 1].value != read.value) {
      reads->at[kept++] = read;
      continue;
    }
    Read *sum = &reads->at[kept - 1];
    int64_t all = shape_bytes(kernel->body->instrs.at[read.value].shape);
    sum->bytes = all - sum->bytes < read.bytes ? all : sum->bytes + read.bytes;
    if (read.more_bytes > sum->more_bytes) sum->more_bytes = read.more_bytes;
  }
  reads->n = kept;
}

static Reads reads_of(Arena *arena, Kernel *kernel) {
  Reads reads = {0};
  for (uint32_t i = 0; i < kernel->members.n; i++) add_reads(arena, kernel, i, &reads);
  merge_reads(kernel, &reads);
  return reads;
}

/* Bytes written for a value that leaves the group; 0 for one that was there before. */
static int64_t written(const Kernel *kernel, uint32_t value) {
  uint32_t source = stored(kernel, value);
  const Instr *instr = &kernel->body->instrs.at[source];
  if (!is_made(kernel, source)) return 0;
  if (instr->op != OP_FUSION && instr->op != OP_CALL)
    return demand_write_bytes(kernel->module, kernel->comp, instr);
  Arena *scratch = arena_new();
  Kernel callee;
  bool array =
      open_callee(scratch, kernel->pod, kernel->module, instr, &callee) && shape_is_array(instr->shape);
  int64_t bytes = array ? written(&callee, callee.last) : shape_bytes(instr->shape);
  arena_free(scratch);
  return bytes;
}

static void load(Demand *demand, int64_t bytes, bool from_hbm) {
  int64_t hbm_bytes = from_hbm ? bytes : 0;
  *demand =
      demand_add(*demand, (Demand){.vmem_bytes = bytes, .hbm_bytes = hbm_bytes, .load_bytes = hbm_bytes});
}

static void store(Demand *demand, int64_t bytes, bool to_hbm) {
  int64_t hbm_bytes = to_hbm ? bytes : 0;
  *demand = demand_add(*demand, (Demand){.vmem_bytes = bytes,
                                         .hbm_bytes = hbm_bytes,
                                         .store_bytes = hbm_bytes,
                                         .kept_bytes = bytes - hbm_bytes});
}

/* Whether it takes something over a barrier, as the products of a ring do that runs as a loop. */
static bool reads_over_barrier(const Kernel *kernel) {
  for (uint32_t i = 0; i < kernel->members.n; i++) {
    Ids operands = kernel->body->instrs.at[kernel->members.at[i]].operands;
    for (uint32_t k = 0; k < operands.n; k++) {
      Opcode op = kernel->body->instrs.at[operands.at[k]].op;
      if (op == OP_OPT_BARRIER || op == OP_ADD_DEPENDENCY) return true;
    }
  }
  return false;
}

static bool copies_layout(const Kernel *kernel, uint32_t at, uint32_t value) {
  const Instr *instr = &kernel->body->instrs.at[at];
  return is_relayout(kernel->module, kernel->comp, instr) && stored(kernel, instr->operands.at[0]) == value;
}

/* Whether the kernel puts a value into another layout on its way in. */
static bool is_relaid(const Kernel *kernel, uint32_t value) {
  for (uint32_t i = 0; i < kernel->members.n; i++)
    if (copies_layout(kernel, kernel->members.at[i], value)) return true;
  for (uint32_t i = 0; i < kernel->remade.n; i++)
    if (copies_layout(kernel, kernel->remade.at[i].value, value)) return true;
  return false;
}

/* A product's largest operand that fits is brought to VMEM as a whole beforehand, the others in windows; also
 * one of which the kernel slices out a part, none that it puts into another layout. In a loop there is no
 * such time: what its kernels leave (copies.h) is all there is. */
static void prefetch_largest(const Pod *pod, const Kernel *kernel, const Reads *reads, Demand *demand) {
  if (kernel->comp != kernel->module->entry || reads_over_barrier(kernel)) return;
  int64_t most = 0, room = pod->vmem_bytes - pod->vmem_windows_bytes;
  for (uint32_t i = 0; i < reads->n; i++) {
    int64_t bytes = reads->at[i].bytes;
    bool fits = shape_bytes(kernel->body->instrs.at[reads->at[i].value].shape) <= room &&
                !is_relaid(kernel, reads->at[i].value);
    if (read_from_hbm(kernel, reads->at[i].value) && fits && bytes > most) most = bytes;
  }
  demand->load_bytes -= most < demand->load_bytes ? most : demand->load_bytes;
}

/* What the products of a kernel need beside their own work. */
typedef struct {
  double elements;       /* of the largest result */
  double summing_cycles; /* where the contraction goes in steps */
} Products;

static Products find_products(const Kernel *kernel) {
  Products products = {0};
  for (uint32_t i = 0; i < kernel->members.n; i++) {
    const Instr *instr = &kernel->body->instrs.at[kernel->members.at[i]];
    Products own = {0};
    Arena *scratch = arena_new();
    Kernel callee;
    if (open_callee(scratch, kernel->pod, kernel->module, instr, &callee)) own = find_products(&callee);
    arena_free(scratch);
    if (op_cost(instr->op) == COST_MXU && shape_is_array(instr->shape))
      own = (Products){(double)shape_elements(instr->shape),
                       mxu_summing_cycles(kernel->pod, matmul_of(kernel->module, kernel->comp, instr))};
    products.elements = fmax(products.elements, own.elements);
    products.summing_cycles += own.summing_cycles;
  }
  return products;
}

/* None, where `work`, that of the members, holds no product. */
static Products products_of(const Kernel *kernel, const Demand *work) {
  bool any = work->mxu_ps > 0 || work->rounding_ps > 0;
  return any ? find_products(kernel) : (Products){0};
}

/* A product that finds next to nothing in VMEM goes through its operands in blocks of results, and through
 * the contraction in steps; `more_bytes` more of HBM. */
static void add_steps(const Pod *pod, Products products, int64_t read_bytes, int64_t more_bytes,
                      Demand *demand) {
  if (demand->mxu_ps == 0 || read_bytes - demand->load_bytes > read_bytes / 16) return;
  load(demand, more_bytes, true);
  int64_t mxu_ps = demand_cycles_ps(pod, products.summing_cycles);
  *demand = demand_add(*demand, (Demand){.mxu_ps = mxu_ps});
}

/* Results that stay wide, or do not leave the kernel, are not rounded. */
static void keep_rounding(Products products, double rounded_elements, Demand *demand) {
  if (rounded_elements < products.elements / 2) demand->rounding_ps = 0;
}

static double rounded_elements(const Shape *result) {
  return is_rounded(result) ? (double)shape_elements(result) : 0;
}

/* A kernel starts with the first windows of the arrays that it reads. */
static void start_on(const Pod *pod, const Shape *shape, Demand *demand) {
  if (shape_is_array(shape) && shape_elements(shape) > 1)
    demand->start_ps = demand_cycles_ps(pod, (double)pod->vector_start_cycles);
}

/* Work of the members, and of what is made anew for them. */
static Demand work_of(const Pod *pod, const Kernel *kernel) {
  Demand demand = {0};
  for (uint32_t i = 0; i < kernel->remade.n; i++) {
    const Instr *instr = &kernel->body->instrs.at[kernel->remade.at[i].value];
    Demand own = demand_of_units(pod, kernel->module, kernel->comp, instr);
    own.vpu_ps = (int64_t)((double)own.vpu_ps * kernel->remade.at[i].share);
    demand = demand_add(demand, own);
  }
  for (uint32_t i = 0; i < kernel->members.n; i++) {
    const Instr *instr = &kernel->body->instrs.at[kernel->members.at[i]];
    Demand own = demand_of_units(pod, kernel->module, kernel->comp, instr);
    Arena *scratch = arena_new();
    Kernel callee;
    if (instr->op == OP_FUSION && open_callee(scratch, pod, kernel->module, instr, &callee))
      own = work_of(pod, &callee);
    arena_free(scratch);
    own.vpu_ps = (int64_t)((double)own.vpu_ps * kernel->shares[i]);
    demand = demand_add(demand, own);
  }
  return demand;
}

Reads group_reads(Arena *arena, const Pod *pod, const Module *module, uint32_t comp, const Groups *groups,
                  uint32_t last) {
  Kernel kernel = open_kernel(arena, pod, module, comp, groups, last);
  return reads_of(arena, &kernel);
}

/* A Pallas kernel may read what it is given more than once, as its author's estimate says. */
static void add_estimated_bytes(const Kernel *kernel, Demand *demand) {
  const Instr *instr = &kernel->body->instrs.at[kernel->members.at[0]];
  if (kernel->members.n != 1 || !holds_mosaic_kernel(instr)) return;
  double bytes = fmin(kernel_cost(kernel->module, kernel->comp, instr).hbm_bytes, 0x1p62);
  if (bytes > (double)demand->hbm_bytes) demand->hbm_bytes = (int64_t)bytes;
}

/* What its scans pass on between the kernels that they are run as; a scheduled program has these itself. */
static void add_scans(const Kernel *kernel, Demand *demand) {
  if (module_is_scheduled(kernel->module)) return;
  for (uint32_t i = 0; i < kernel->members.n; i++) {
    const Instr *instr = &kernel->body->instrs.at[kernel->members.at[i]];
    *demand = demand_add(*demand, scan_demand(kernel->pod, kernel->module, kernel->comp, instr));
  }
}

Demand group_demand(const Pod *pod, const Module *module, uint32_t comp, const Groups *groups,
                    uint32_t last) {
  if (groups->repeated[last]) return (Demand){0};
  Arena *scratch = arena_new();
  Kernel kernel = open_kernel(scratch, pod, module, comp, groups, last);
  Reads reads = reads_of(scratch, &kernel);
  Demand demand = work_of(pod, &kernel);
  Products products = products_of(&kernel, &demand);
  bool copies = kernel.body->instrs.at[last].op == OP_COPY_START || demand.host_bytes > 0; /* DMAs */
  int64_t more_bytes = 0;
  for (uint32_t i = 0; i < reads.n; i++) {
    bool from_hbm = read_from_hbm(&kernel, reads.at[i].value);
    load(&demand, reads.at[i].bytes, from_hbm);
    if (!copies) start_on(pod, kernel.body->instrs.at[reads.at[i].value].shape, &demand);
    more_bytes += from_hbm ? reads.at[i].more_bytes : 0;
  }
  int64_t read_bytes = demand.vmem_bytes;
  prefetch_largest(pod, &kernel, &reads, &demand);
  add_steps(pod, products, read_bytes, more_bytes, &demand);
  double rounded = 0;
  for (uint32_t i = 0; i < kernel.members.n; i++) {
    uint32_t value = kernel.members.at[i];
    if (!groups->leaves[value] || groups->repeated[value]) continue;
    store(&demand, written(&kernel, value), written_to_hbm(&kernel, value));
    rounded = fmax(rounded, rounded_elements(kernel.body->instrs.at[value].shape));
  }
  keep_rounding(products, rounded, &demand);
  if (groups->copies.bytes != NULL) demand.copy_bytes = groups->copies.bytes[last];
  add_estimated_bytes(&kernel, &demand);
  add_scans(&kernel, &demand);
  arena_free(scratch);
  return demand;
}

/* What a fusion's computation reads, as it stands outside, where its layout counts. */
static const Instr *given(const Kernel *kernel, uint32_t comp, const Instr *fusion, uint32_t value) {
  const Instr *from = &kernel->body->instrs.at[value];
  bool outside = from->op == OP_PARAMETER && from->parameter < (int64_t)fusion->operands.n;
  return outside ? comp_instr(kernel->module, comp, fusion->operands.at[from->parameter]) : from;
}

bool is_prefetch_across(const Instr *instr) {
  return instr->op == OP_COPY_START && instr_attr(instr, ATTR_cross_program_prefetch_index) != NULL;
}

/* A value that was brought to VMEM before the program began still has to come from HBM while it runs, else
 * programs that follow each other would ask more of HBM than it gives. */
static void load_given(const Module *module, uint32_t comp, const Instr *from, int64_t bytes,
                       Demand *demand) {
  load(demand, bytes, in_hbm(from->shape));
  if (from->op == OP_COPY_DONE && is_prefetch_across(comp_instr(module, comp, from->operands.at[0])))
    *demand = demand_add(*demand, (Demand){.hbm_bytes = bytes});
}

Demand fusion_demand(const Pod *pod, const Module *module, uint32_t comp, const Instr *fusion) {
  uint32_t callee = instr_comp(fusion, ATTR_calls);
  if (callee == NO_ID) return (Demand){0};
  Arena *scratch = arena_new();
  Groups groups = groups_whole(scratch, module, callee);
  const Comp *body = module_comp(module, callee);
  Kernel kernel = open_kernel(scratch, pod, module, callee, &groups, body->root);
  Reads reads = reads_of(scratch, &kernel);
  Demand demand = work_of(pod, &kernel);
  Products products = products_of(&kernel, &demand);
  int64_t more_bytes = 0;
  for (uint32_t i = 0; i < reads.n; i++) {
    const Instr *from = given(&kernel, comp, fusion, reads.at[i].value);
    load_given(module, comp, from, reads.at[i].bytes, &demand);
    start_on(pod, from->shape, &demand);
    more_bytes += in_hbm(from->shape) ? reads.at[i].more_bytes : 0;
  }
  add_steps(pod, products, demand.vmem_bytes, more_bytes, &demand);
  const Instr *root = &body->instrs.at[body->root];
  const Shape *result = fusion->shape;
  bool parts = root->op == OP_TUPLE && shape_is_tuple(result) && result->rank == root->operands.n;
  double rounded = parts ? 0 : rounded_elements(result);
  if (!parts) store(&demand, written(&kernel, body->root), in_hbm(result));
  for (uint32_t k = 0; parts && k < result->rank; k++) {
    store(&demand, written(&kernel, root->operands.at[k]), in_hbm(result->parts[k]));
    rounded = fmax(rounded, rounded_elements(result->parts[k]));
  }
  keep_rounding(products, rounded, &demand);
  arena_free(scratch);
  return demand;
}

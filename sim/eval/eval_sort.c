/* sort. The sorted dimension is brought last, so that the operands are lines of n elements, and each
 * line gets a permutation. Where the comparator compares the same function of both sides, or several of
 * them in turn, these are computed once an element and the lines are sorted by their values; any other
 * comparator is asked by a sorting network (Batcher's odd-even merge sort), whose comparisons do not depend
 * on data and so are made for all lines and pairs of a step at once. */
#include "sim/eval/evaluators.h"
#include "sim/eval/kernel.h"
#include "sim/eval/sort.h"

#include <stdlib.h>
#include <string.h>

/* Operands with the sorted dimension last. */
typedef struct {
  const EvalContext *context;
  uint32_t comp, n;
  Tensor **operands; /* [lines, length] */
  int64_t lines, length;
  int64_t *places; /* lines * length: which element stands where */
} Sorting;

enum { MIRROR_DEPTH = 12, MOST_KEYS = 16 };

/* Whether the right side computes from odd parameters what the left computes from the even ones beside them.
 */
static bool is_mirrored(const Comp *comp, uint32_t left, uint32_t right, uint32_t depth) {
  const Instr *l = &comp->instrs.at[left], *r = &comp->instrs.at[right];
  if (depth == MIRROR_DEPTH || l->op != r->op || !shape_eq(l->shape, r->shape)) return false;
  if (l->op == OP_PARAMETER) return l->parameter % 2 == 0 && r->parameter == l->parameter + 1;
  if (l->op == OP_CONSTANT) return left == right;
  if (!op_is_elementwise(l->op) || l->operands.n != r->operands.n) return false;
  if (l->op == OP_COMPARE && !str_eq(instr_word(l, ATTR_direction), instr_word(r, ATTR_direction)))
    return false;
  if (l->op == OP_COMPARE && !str_eq(instr_word(l, ATTR_type), instr_word(r, ATTR_type))) return false;
  for (uint32_t i = 0; i < l->operands.n; i++) {
    if (!is_mirrored(comp, l->operands.at[i], r->operands.at[i], depth + 1)) return false;
  }
  return true;
}

/* A comparison of one key of each side: less, or greater. */
static bool compares_key(const Comp *comp, const Instr *instr) {
  Str direction = instr_word(instr, ATTR_direction);
  return instr->op == OP_COMPARE && (str_is(direction, "LT") || str_is(direction, "GT")) &&
         is_mirrored(comp, instr->operands.at[0], instr->operands.at[1], 0);
}

/* Whether `instr` says that the keys of a comparison are equal. */
static bool says_equal(const Instr *instr, const Instr *comparison) {
  return instr->op == OP_COMPARE && str_is(instr_word(instr, ATTR_direction), "EQ") &&
         str_eq(instr_word(instr, ATTR_type), instr_word(comparison, ATTR_type)) &&
         memcmp(instr->operands.at, comparison->operands.at, 2 * sizeof *instr->operands.at) == 0;
}

/* The comparisons, first key first, that a comparator is made of: a < b, or a < b or (a == b and …), as
 * jax.lax.sort has it with several keys. 0 where it is another. */
static uint32_t key_comparisons(const Module *module, uint32_t comp_id, const Instr **comparisons) {
  const Comp *comp = module_comp(module, comp_id);
  const Instr *at = &comp->instrs.at[comp->root];
  uint32_t n = 0;
  while (at->op == OP_OR && n + 1 < MOST_KEYS) {
    const Instr *first = &comp->instrs.at[at->operands.at[0]], *tie = &comp->instrs.at[at->operands.at[1]];
    if (tie->op != OP_AND || !compares_key(comp, first) ||
        !says_equal(&comp->instrs.at[tie->operands.at[0]], first))
      return 0;
    comparisons[n++] = first;
    at = &comp->instrs.at[tie->operands.at[1]];
  }
  if (!compares_key(comp, at)) return 0;
  comparisons[n++] = at;
  return n;
}

/* Both sides of the comparator are given the same operand, all its elements at once. */
static Status compute_keys(const Sorting *sorting, uint32_t instr, Tensor **keys) {
  Tensor **params = calloc(2 * sorting->n, sizeof *params);
  for (uint32_t i = 0; i < 2 * sorting->n; i++) params[i] = sorting->operands[i / 2];
  Status status = comp_map_value(sorting->context, sorting->comp, instr, params, 2 * sorting->n,
                                 sorting->lines * sorting->length, keys);
  free(params);
  return status;
}

/* Sorts each line, as it stands in places, by one key. */
static Status sort_by_key(const Sorting *sorting, const Instr *comparison, Keyed *keyed) {
  Tensor *keys = NULL;
  TRY(compute_keys(sorting, comparison->operands.at[0], &keys));
  int64_t n = sorting->length;
  uint32_t bytes = dtype_bytes(keys->dtype);
  bool total = str_is(instr_word(comparison, ATTR_type), "TOTALORDER");
  bool descending = str_is(instr_word(comparison, ATTR_direction), "GT");
  Keyed *standing = keyed + n;
  for (int64_t line = 0; line < sorting->lines; line++) {
    int64_t *places = sorting->places + line * n;
    sort_keys(keys->dtype, n, keys->data + line * n * bytes, !total, keyed);
    if (descending) sort_keys_descending(n, keyed);
    for (int64_t i = 0; i < n; i++) standing[i] = keyed[places[i] - line * n];
    sort_keyed(n, standing, keyed);
    for (int64_t i = 0; i < n; i++) places[i] = line * n + standing[i].place;
  }
  tensor_release(keys);
  return STATUS_OK;
}

/* By the last key first: each sort keeps what the ones before it left where its own keys are equal. */
static Status sort_by_keys(const Sorting *sorting, const Instr *const *comparisons, uint32_t n_keys) {
  Keyed *keyed = malloc((size_t)(2 * sorting->length + 1) * sizeof *keyed);
  Status status = STATUS_OK;
  for (int64_t i = 0; i < sorting->lines * sorting->length; i++) sorting->places[i] = i;
  for (uint32_t k = n_keys; k-- > 0 && status == STATUS_OK;)
    status = sort_by_key(sorting, comparisons[k], keyed);
  free(keyed);
  return status;
}

/* Elements of every operand by their places, `at[i]` the i-th to take. */
static Tensor *taken(const Tensor *x, int64_t n, const int64_t *places) {
  Tensor *out = tensor_new_array(x->dtype, &n, 1, true);
  uint32_t bytes = dtype_bytes(x->dtype);
  for (int64_t i = 0; i < n; i++) memcpy(out->data + i * bytes, x->data + places[i] * bytes, bytes);
  return out;
}

/* Which of n pairs (a[i], b[i]) of elements are in order by the comparator. */
static Status ask(const Sorting *sorting, int64_t n, const int64_t *a, const int64_t *b, Tensor **in_order) {
  Tensor **params = calloc(2 * sorting->n, sizeof *params);
  for (uint32_t i = 0; i < 2 * sorting->n; i++)
    params[i] = taken(sorting->operands[i / 2], n, i % 2 == 0 ? a : b);
  Status status = comp_map(sorting->context, sorting->comp, params, 2 * sorting->n, n, in_order);
  for (uint32_t i = 0; i < 2 * sorting->n; i++) tensor_release(params[i]);
  free(params);
  return status;
}

/* One step of the network: exchanges the elements at low[i] and high[i] where the second comes first. Equal
 * ones stay by their places, which makes the sort stable. */
static Status exchange(const Sorting *sorting, int64_t n, const int64_t *low, const int64_t *high) {
  int64_t *a = malloc((size_t)(2 * n + 1) * sizeof *a), *b = a + n;
  Tensor *before = NULL, *after = NULL;
  for (int64_t i = 0; i < n; i++) {
    a[i] = sorting->places[low[i]];
    b[i] = sorting->places[high[i]];
  }
  Status status = ask(sorting, n, a, b, &before);
  if (status == STATUS_OK) status = ask(sorting, n, b, a, &after);
  for (int64_t i = 0; i < n && status == STATUS_OK; i++) {
    bool swap = after->data[i] || (!before->data[i] && b[i] < a[i]);
    if (!swap) continue;
    sorting->places[low[i]] = b[i];
    sorting->places[high[i]] = a[i];
  }
  tensor_release(before);
  tensor_release(after);
  free(a);
  return status;
}

/* The pairs of the step (size, reach) of the network in one line; gives how many. */
static int64_t network_pairs(int64_t n, int64_t size, int64_t reach, int64_t *low) {
  int64_t pairs = 0;
  for (int64_t j = reach % size; j + reach < n; j += 2 * reach) {
    int64_t stop = reach < n - j - reach ? reach : n - j - reach;
    for (int64_t i = 0; i < stop; i++) {
      if ((i + j) / (2 * size) == (i + j + reach) / (2 * size)) low[pairs++] = i + j;
    }
  }
  return pairs;
}

static Status sort_by_network(const Sorting *sorting) {
  int64_t n = sorting->length, total = sorting->lines * n;
  for (int64_t i = 0; i < total; i++) sorting->places[i] = i;
  int64_t *low = malloc((size_t)(2 * total + 1) * sizeof *low), *high = low + total;
  Status status = STATUS_OK;
  for (int64_t size = 1; size < n; size *= 2) {
    for (int64_t reach = size; reach >= 1 && status == STATUS_OK; reach /= 2) {
      int64_t pairs = network_pairs(n, size, reach, low);
      for (int64_t line = sorting->lines; line-- > 0;) {
        for (int64_t i = 0; i < pairs; i++) low[line * pairs + i] = low[i] + line * n;
      }
      for (int64_t i = 0; i < pairs * sorting->lines; i++) high[i] = low[i] + reach;
      status = exchange(sorting, pairs * sorting->lines, low, high);
    }
  }
  free(low);
  return status;
}

/* Dimension `d` last, as [lines, length]; or back to the shape of `like`. */
static Box lines_box(const Tensor *x, uint32_t d) {
  Box box = {.element_bytes = dtype_bytes(x->dtype)};
  int64_t dims[EVAL_MAX_RANK], steps[EVAL_MAX_RANK];
  dense_steps(x->dims, x->rank, box.element_bytes, steps);
  for (uint32_t i = 0; i < x->rank; i++) {
    uint32_t from = i + 1 == x->rank ? d : i < d ? i : i + 1;
    dims[i] = x->dims[from];
    box.from_step[i] = steps[from];
  }
  Box dense = box_dense(dims, x->rank, box.element_bytes);
  memcpy(dense.from_step, box.from_step, sizeof dense.from_step);
  return dense;
}

static Tensor *as_lines(const Tensor *x, uint32_t d, int64_t lines) {
  Tensor *out = tensor_new_array(x->dtype, (int64_t[]){lines, x->dims[d]}, 2, true);
  Box box = lines_box(x, d);
  box_copy(&box, out->data, x->data);
  return out;
}

static Tensor *from_lines(const Tensor *lines, const Tensor *like, uint32_t d) {
  Tensor *out = tensor_new_array(like->dtype, like->dims, like->rank, true);
  Box box = lines_box(like, d), back = box;
  memcpy(back.to_step, box.from_step, sizeof box.from_step);
  memcpy(back.from_step, box.to_step, sizeof box.to_step);
  box_copy(&back, out->data, lines->data);
  return out;
}

static Status find_order(const Sorting *sorting) {
  const Instr *comparisons[MOST_KEYS];
  uint32_t n = key_comparisons(sorting->context->module, sorting->comp, comparisons);
  return n > 0 ? sort_by_keys(sorting, comparisons, n) : sort_by_network(sorting);
}

Status eval_sort(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  uint32_t n = instr->operands.n;
  const Tensor *first = operands[0];
  int64_t elements = tensor_elements(first);
  Ints dimensions = instr_ints(instr, ATTR_dimensions);
  uint32_t d = dimensions.n == 0 ? 0 : (uint32_t)dimensions.at[0];
  if (elements == 0 || first->rank == 0) {
    for (uint32_t i = 0; i < n; i++) tensor_retain(operands[i]);
    *result = n == 1 && !shape_is_tuple(instr->shape) ? operands[0] : tensor_tuple((Tensor **)operands, n);
    return STATUS_OK;
  }
  Sorting sorting = {.context = context, .comp = instr_comp(instr, ATTR_to_apply), .n = n};
  sorting.length = first->dims[d];
  sorting.lines = elements / sorting.length;
  sorting.operands = calloc(n, sizeof(Tensor *));
  sorting.places = malloc((size_t)elements * sizeof(int64_t));
  for (uint32_t i = 0; i < n; i++) sorting.operands[i] = as_lines(operands[i], d, sorting.lines);
  Status status = find_order(&sorting);
  for (uint32_t i = 0; i < n; i++) {
    Tensor *lines = sorting.operands[i];
    if (status == STATUS_OK) {
      Tensor *sorted = taken(lines, elements, sorting.places);
      sorting.operands[i] = from_lines(sorted, operands[i], d);
      tensor_release(sorted);
    } else {
      sorting.operands[i] = NULL;
    }
    tensor_release(lines);
  }
  if (status == STATUS_OK)
    *result = shape_is_tuple(instr->shape) ? tensor_tuple(sorting.operands, n) : sorting.operands[0];
  free(sorting.operands);
  free(sorting.places);
  return status;
}

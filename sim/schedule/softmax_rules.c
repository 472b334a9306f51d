/* Softmaxes. In: a computation, of which groups are being formed; out: which reductions go on to what they
 * reduced, and which products of attention they take into their kernel.
 *
 * The one idea: a softmax reduces rows twice and goes back to their elements, so its kernel needs whole rows.
 * The TPU compiler finds it by how rows are reduced and broadcast, and misses rows that were reshaped. A
 * product makes its results block by block, so it only joins where a row is short enough for one block, and
 * where its kernel does not also take queries and keys apart into heads. Found by what that compiler makes of
 * such programs (docs/models.md). */
#include "sim/schedule/softmax_rules.h"

static bool is_maximum(const Module *module, const Instr *reduce) {
  uint32_t combiner = instr_comp(reduce, ATTR_to_apply);
  if (combiner == NO_ID) return false;
  Opcode root = comp_instr(module, combiner, module_comp(module, combiner)->root)->op;
  return root == OP_MAXIMUM || root == OP_MINIMUM;
}

/* What `value` is before it was widened; itself, where it was not. */
static uint32_t before_widening(const Fuser *fuser, uint32_t value) {
  uint32_t from = value;
  const Instr *instr = &fuser->body->instrs.at[from];
  while (instr->op == OP_BITCAST || instr->op == OP_RESHAPE) {
    from = instr->operands.at[0];
    instr = &fuser->body->instrs.at[from];
  }
  bool widened = instr->op == OP_CONVERT && fuser_widens(fuser->module, fuser->comp, instr);
  return widened ? instr->operands.at[0] : value;
}

static bool has_dim_of_one(const Shape *shape) {
  for (uint32_t i = 0; i < shape->rank; i++)
    if (shape->dims[i] == 1) return true;
  return false;
}

uint32_t softmax_product_below(const Fuser *fuser, uint32_t value, bool *transposed) {
  enum { MOST_STEPS = 32 };
  *transposed = false;
  for (int step = 0; step < MOST_STEPS; step++) {
    const Instr *instr = &fuser->body->instrs.at[value];
    if (fuser_role(fuser->module, fuser->comp, instr) == ROLE_PRODUCT) return value;
    *transposed |= instr->op == OP_TRANSPOSE;
    uint32_t next = NO_ID;
    for (uint32_t k = 0; k < instr->operands.n && next == NO_ID; k++) {
      const Instr *from = &fuser->body->instrs.at[instr->operands.at[k]];
      bool whole = shape_is_array(from->shape) && shape_is_array(instr->shape) &&
                   shape_elements(from->shape) == shape_elements(instr->shape);
      if (whole && from->op != OP_BROADCAST) next = instr->operands.at[k];
    }
    if (next == NO_ID) return NO_ID;
    value = next;
  }
  return NO_ID;
}

/* The exponentials that follow from a maximum; NO_ID. */
static uint32_t exponentials_of(const Fuser *fuser, uint32_t maximum) {
  enum { MOST_STEPS = 8 };
  uint32_t at = maximum;
  for (int step = 0; step < MOST_STEPS && fuser->first_user[at] < fuser->first_user[at + 1]; step++) {
    if (fuser->body->instrs.at[at].op == OP_EXP) return at;
    at = fuser->users[fuser->first_user[at]];
  }
  return NO_ID;
}

/* Whether exponentials are not only summed and divided, but wanted again for gradients. */
static bool is_trained(const Fuser *fuser, uint32_t maximum) {
  uint32_t at = exponentials_of(fuser, maximum);
  return at != NO_ID && fuser->first_user[at + 1] - fuser->first_user[at] > 2;
}

/* Whether the rows of a reduction are reshaped before: a product's that are transposed, in training or with a
 * dimension of 1; and where a dimension of 1 is no product's, or was cut to 1 by partitioning. */
static bool are_reshaped(const Fuser *fuser, const Instr *reduce) {
  uint32_t rows = reduce->operands.at[0], at = (uint32_t)(reduce - fuser->body->instrs.at);
  bool transposed, product = softmax_product_below(fuser, rows, &transposed) != NO_ID;
  if (product && transposed && is_trained(fuser, at)) return true;
  if (!has_dim_of_one(fuser->body->instrs.at[rows].shape)) return false;
  return fuser->module->num_partitions > 1 || !product || transposed;
}

/* Whether what `value` passes on, as it is, in at most so many steps, is what the rows `rows` are divided by.
 */
static bool divides(const Fuser *fuser, uint32_t value, uint32_t rows, int steps) {
  for (uint32_t u = fuser->first_user[value]; u < fuser->first_user[value + 1]; u++) {
    const Instr *user = &fuser->body->instrs.at[fuser->users[u]];
    bool passes = user->op == OP_CONVERT || user->op == OP_BROADCAST || user->op == OP_RESHAPE;
    if (user->op == OP_DIVIDE && before_widening(fuser, user->operands.at[0]) == rows) return true;
    if (passes && steps > 0 && divides(fuser, fuser->users[u], rows, steps - 1)) return true;
  }
  return false;
}

/* Whether the TPU compiler can find a softmax: what is broadcast as it was reduced, of arrays of three and
 * more dimensions. It misses rows that were reshaped. */
static bool is_softmax(const Fuser *fuser, const Instr *reduce) {
  enum { LEAST_RANK = 3 };
  uint32_t rows = reduce->operands.at[0];
  if (!shape_is_array(reduce->shape) || shape_elements(reduce->shape) == 0) return false;
  return fuser->body->instrs.at[rows].shape->rank >= LEAST_RANK && !are_reshaped(fuser, reduce);
}

bool softmax_goes_on(const Fuser *fuser, const Instr *reduce) {
  return is_maximum(fuser->module, reduce) && is_softmax(fuser, reduce) &&
         before_widening(fuser, reduce->operands.at[0]) == reduce->operands.at[0];
}

bool softmax_ends(const Fuser *fuser, uint32_t at) {
  enum { MOST_STEPS = 32 };
  const Instr *reduce = &fuser->body->instrs.at[at];
  return reduce->operands.n == 2 && is_softmax(fuser, reduce) &&
         divides(fuser, at, before_widening(fuser, reduce->operands.at[0]), MOST_STEPS);
}

bool softmax_leans(const Fuser *fuser, uint32_t at) {
  const Instr *instr = &fuser->body->instrs.at[at];
  Role role = fuser_role(fuser->module, fuser->comp, instr);
  if (role == ROLE_REDUCE) return softmax_goes_on(fuser, instr);
  bool leans = false, follows = role != ROLE_ALONE && role != ROLE_PRODUCT && role != ROLE_WINDOW;
  for (uint32_t k = 0; k < instr->operands.n && follows; k++) {
    uint32_t operand = instr->operands.at[k];
    if (fuser->leans[operand]) leans = true;
    if (fuser->reduced[operand] && !fuser->leans[operand]) return false;
  }
  return leans;
}

/* What an operand is but for the order of its elements, and its type. */
static const Instr *before_moves(const Fuser *fuser, uint32_t value) {
  const Instr *instr = &fuser->body->instrs.at[value];
  while (instr->op == OP_RESHAPE || instr->op == OP_TRANSPOSE || instr->op == OP_BITCAST ||
         instr->op == OP_CONVERT)
    instr = &fuser->body->instrs.at[instr->operands.at[0]];
  return instr;
}

/* Whether a projection writes its rows as they are: one that is wide, and wider than there are rows. Others
 * write their columns as rows, so that heads are there already. */
static bool comes_as_rows(const Shape *projection) {
  enum { WIDE = 2048 };
  if (!shape_is_array(projection) || projection->rank < 2) return false;
  int64_t columns = projection->dims[projection->rank - 1], rows = projection->dims[projection->rank - 2];
  return columns >= WIDE && columns > rows;
}

static bool repeats_one_head(const Fuser *fuser, const Instr *broadcast) {
  if (broadcast->op != OP_BROADCAST) return false;
  const Shape *head = fuser->body->instrs.at[broadcast->operands.at[0]].shape;
  return head->rank > 1 && head->dims[head->rank - 2] == 1;
}

/* Whether one head of keys serves several of queries, which then lie beside each other as rows. */
static bool shares_a_head(const Fuser *fuser, const Instr *product) {
  Ints batches = instr_ints(product, ATTR_lhs_batch_dims);
  const Shape *shapes[2];
  for (uint32_t k = 0; k < 2; k++) {
    shapes[k] = fuser->body->instrs.at[product->operands.at[k]].shape;
    if (repeats_one_head(fuser, before_moves(fuser, product->operands.at[k]))) return true;
  }
  return batches.n > 1 && shapes[0]->rank != shapes[1]->rank &&
         shapes[0]->dims[batches.at[batches.n - 1]] == 1;
}

/* Whether a product puts an operand together from parts, as after a rotary embedding. */
static bool puts_together(const Fuser *fuser, uint32_t product) {
  Ids operands = fuser->body->instrs.at[product].operands;
  for (uint32_t k = 0; k < operands.n; k++)
    if (before_moves(fuser, operands.at[k])->op == OP_CONCATENATE) return true;
  return false;
}

/* How many operands a product of queries and keys takes apart into heads within its kernel. */
static uint32_t reordered_operands(const Fuser *fuser, uint32_t at) {
  enum { HEAD = 128 };
  const Instr *product = &fuser->body->instrs.at[at];
  bool shared = shares_a_head(fuser, product);
  uint32_t n = 0;
  for (uint32_t k = 0; k < product->operands.n; k++) {
    const Shape *heads = fuser->body->instrs.at[product->operands.at[k]].shape;
    const Instr *from = before_moves(fuser, product->operands.at[k]);
    bool apart = shape_is_array(from->shape) && from->shape->rank < heads->rank &&
                 heads->dims[heads->rank - 1] % HEAD == 0;
    n += apart && from->op != OP_CONCATENATE && (shared || comes_as_rows(from->shape));
  }
  return n;
}

bool softmax_takes_product(const Fuser *fuser, uint32_t group, uint32_t product) {
  enum { LONGEST_ROW_GONE_BACK = 2048 };
  if (fuser->has_product[group]) return false;
  int64_t longest = puts_together(fuser, product) ? LONGEST_ROW_GONE_BACK / 2 : LONGEST_ROW_GONE_BACK;
  return !fuser->goes_back[group] ||
         (fuser->longest_row[group] <= longest && reordered_operands(fuser, product) == 0);
}

bool softmax_leaves_to_product(const Fuser *fuser, uint32_t at, uint32_t group) {
  bool transposed;
  if (!fuser->goes_back[group] || fuser->leans[at]) return false;
  uint32_t product = softmax_product_below(fuser, at, &transposed);
  return product != NO_ID && !fuser->has_product[group] && !softmax_takes_product(fuser, group, product) &&
         reordered_operands(fuser, product) < 2;
}

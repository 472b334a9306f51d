/* Control flow of a kernel: ops one after the other, regions that ops hold, what regions yield. */
#include "sim/eval/mosaic_run.h"

static const MosaicRow rows[] = {
#define MOSAIC_OP(text, evaluator, hlo, n_operands, n_results)                                               \
  {text, mosaic_##evaluator, OP_##hlo, n_operands, n_results},
#include "sim/eval/mosaic_op.def"
#undef MOSAIC_OP
};

const MosaicRow *mosaic_row(Str name) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (str_is(name, rows[i].text)) return &rows[i];
  }
  return NULL;
}

/* --- ops --- */

static Status check_operands(const MosaicFrame *frame, const MosaicOp *op, const MosaicRow *row) {
  RETURN_IF(op->operands.n < row->n_operands || op->n_results < row->n_results,
            mosaic_fail(frame, op, "it has %u operands and %u results", op->operands.n, op->n_results));
  for (uint32_t i = 0; i < op->operands.n; i++) {
    const MosaicValue *value = &frame->values[op->operands.at[i]];
    RETURN_IF(value->tensor == NULL && !value->is_memref,
              mosaic_fail(frame, op, "operand %u is used before it is there", i));
  }
  for (uint32_t i = 0; i < op->n_results; i++) {
    const MosaicType *type = op->result_types[i];
    bool holds_numbers = type->kind == MOSAIC_SCALAR || type->kind == MOSAIC_VECTOR;
    bool fits =
        !holds_numbers || (dtype_bytes(type->dtype) > 0 && mosaic_elements(type) <= MOSAIC_MAX_BYTES / 64);
    RETURN_IF(!fits, mosaic_unsupported(frame, op, "a vector of this type and size"));
  }
  return STATUS_OK;
}

static Status run_op(MosaicFrame *frame, const MosaicOp *op) {
  const MosaicRow *row = frame->run->rows[op->name_id];
  RETURN_IF(row == NULL, mosaic_fail(frame, op, "this op is not supported yet"));
  RETURN_IF(++frame->run->ops == frame->run->op_limit,
            mosaic_fail(frame, op, "given up: the kernel runs for too long"));
  TRY(check_operands(frame, op, row));
  return row->evaluator(frame, op, row->hlo);
}

Status mosaic_run_region(MosaicFrame *frame, const MosaicRegion *region, const MosaicOp **terminator) {
  RETURN_IF(region->n != 1 || region->blocks[0].n_ops == 0,
            diag_fail(frame->run->context->diag, STATUS_INVALID, frame->run->kernel->place, NULL,
                      "%.*s: a region of its kernel is not one block", STR_ARG(frame->run->kernel->call)));
  const MosaicBlock *block = &region->blocks[0];
  for (uint32_t i = 0; i + 1 < block->n_ops; i++) TRY(run_op(frame, &block->ops[i]));
  *terminator = &block->ops[block->n_ops - 1];
  const MosaicRow *row = frame->run->rows[(*terminator)->name_id];
  RETURN_IF(row == NULL || row->evaluator != mosaic_terminator,
            mosaic_fail(frame, *terminator, "it does not end its block"));
  return check_operands(frame, *terminator, row);
}

/* What ends a block is not run. */
Status mosaic_terminator(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  return mosaic_fail(frame, op, "it does not stand at the end of its block");
}

Status mosaic_nothing(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)frame, (void)op, (void)hlo;
  return STATUS_OK;
}

static Ids ids_from(Ids ids, uint32_t first) {
  return (Ids){ids.at + first, ids.n - first};
}

/* Runs a region without arguments; what it yields are the op's results. */
static Status run_part(MosaicFrame *frame, const MosaicOp *op, const MosaicRegion *region) {
  const MosaicOp *yield = NULL;
  TRY(mosaic_run_region(frame, region, &yield));
  RETURN_IF(yield->operands.n != op->n_results,
            mosaic_fail(frame, op, "its region does not yield its results"));
  return mosaic_move(frame, yield->operands, op->first);
}

Status mosaic_region(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  RETURN_IF(op->n_regions != 1, mosaic_fail(frame, op, "it has no region"));
  return run_part(frame, op, &op->regions[0]);
}

Status mosaic_if(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  int64_t condition = 0;
  TRY(mosaic_integers(frame, op, 0, 1, &condition));
  RETURN_IF(op->n_regions != 2, mosaic_fail(frame, op, "it has not two regions"));
  const MosaicRegion *region = &op->regions[condition ? 0 : 1];
  if (region->n == 0 && op->n_results == 0) return STATUS_OK;
  return run_part(frame, op, region);
}

/* Regions: the default, then one a case. */
Status mosaic_switch(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  int64_t index = 0;
  Ints cases = mosaic_ints(op, "cases");
  TRY(mosaic_integers(frame, op, 0, 1, &index));
  RETURN_IF(op->n_regions != cases.n + 1, mosaic_fail(frame, op, "it has not a region a case"));
  uint32_t chosen = 0;
  for (uint32_t i = 0; i < cases.n; i++) {
    if (cases.at[i] == index) chosen = i + 1;
  }
  return run_part(frame, op, &op->regions[chosen]);
}

/* Operands: from, to, step, and what the loop carries; the block takes the counter and the carries. */
Status mosaic_for(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  int64_t bounds[3];
  Ids carried = ids_from(op->operands, 3);
  TRY(mosaic_integers(frame, op, 0, 3, bounds));
  bool good = op->n_regions == 1 && op->regions[0].n == 1 &&
              op->regions[0].blocks[0].n_args == carried.n + 1 && op->n_results == carried.n &&
              bounds[2] > 0 && op->regions[0].blocks[0].arg_types[0]->kind == MOSAIC_SCALAR;
  RETURN_IF(!good, mosaic_fail(frame, op, "its region does not take what it carries"));
  const MosaicBlock *block = &op->regions[0].blocks[0];
  DType dtype = block->arg_types[0]->dtype;
  RETURN_IF(!dtype_is_integer(dtype), mosaic_fail(frame, op, "it counts in no integers"));
  for (int64_t i = bounds[0]; i < bounds[1];) {
    const MosaicOp *yield = NULL;
    TRY(mosaic_move(frame, carried, block->first_arg + 1));
    mosaic_set_tensor(frame, block->first_arg, mosaic_integer(dtype, i));
    TRY(mosaic_run_region(frame, &op->regions[0], &yield));
    RETURN_IF(yield->operands.n != op->n_results,
              mosaic_fail(frame, yield, "it does not yield what the loop carries"));
    carried = yield->operands;
    if (__builtin_add_overflow(i, bounds[2], &i)) break;
  }
  return mosaic_move(frame, carried, op->first);
}

/* Two regions: one ends with the condition and what it hands on, the other yields what the first takes. */
Status mosaic_while(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  bool good = op->n_regions == 2 && op->regions[0].n == 1 && op->regions[1].n == 1;
  RETURN_IF(!good, mosaic_fail(frame, op, "it has not two regions"));
  const MosaicBlock *before = &op->regions[0].blocks[0], *after = &op->regions[1].blocks[0];
  for (Ids carried = op->operands;;) {
    const MosaicOp *condition = NULL, *yield = NULL;
    int64_t goes_on = 0;
    RETURN_IF(carried.n != before->n_args,
              mosaic_fail(frame, op, "its region does not take what it carries"));
    TRY(mosaic_move(frame, carried, before->first_arg));
    TRY(mosaic_run_region(frame, &op->regions[0], &condition));
    TRY(mosaic_integers(frame, condition, 0, 1, &goes_on));
    Ids handed_on = ids_from(condition->operands, 1);
    if (!goes_on) {
      RETURN_IF(handed_on.n != op->n_results,
                mosaic_fail(frame, condition, "it does not give the loop's results"));
      return mosaic_move(frame, handed_on, op->first);
    }
    RETURN_IF(handed_on.n != after->n_args,
              mosaic_fail(frame, condition, "it does not give what the body takes"));
    TRY(mosaic_move(frame, handed_on, after->first_arg));
    TRY(mosaic_run_region(frame, &op->regions[1], &yield));
    carried = yield->operands;
  }
}

Status mosaic_assert(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  int64_t holds = 0;
  const MosaicAttr *message = mosaic_attr(op, "msg");
  TRY(mosaic_integers(frame, op, 0, 1, &holds));
  RETURN_IF(!holds,
            mosaic_fail(frame, op, "it does not hold: %.*s", message == NULL ? 0 : (int)message->text.n,
                        message == NULL ? "" : message->text.at));
  return STATUS_OK;
}

Status mosaic_iteration_bound(MosaicFrame *frame, const MosaicOp *op, Opcode hlo) {
  (void)hlo;
  Ints bounds = frame->run->bounds;
  int64_t dim = mosaic_int(op, "dim", -1);
  RETURN_IF(dim < 0 || dim >= bounds.n, mosaic_fail(frame, op, "the grid has no such dimension"));
  return mosaic_give_integer(frame, op, bounds.at[dim]);
}

/* The IR section: ops in blocks in regions. A value's number is its place among the values of the function so
 * far; a region's own come first, those of regions inside it behind them, and make room again when it ends.
 */
#include "sim/mosaic/bytecode.h"

enum {
  HAS_ATTRS = 1,
  HAS_RESULTS = 2,
  HAS_OPERANDS = 4,
  HAS_SUCCESSORS = 8,
  HAS_REGIONS = 16,
  MASK_KNOWN = 31
};

/* The values of what is isolated from above: a function. */
typedef struct {
  uint32_t n, longest; /* values at work now; at most */
} Frame;

typedef struct {
  BytecodeTables *tables;
  Frame *frame;
  uint32_t base;      /* slot of value 0: of a region that is isolated, where its own begin */
  uint32_t next, end; /* slots of the region's own values that are still to be defined */
  uint32_t n_blocks;
} RegionState;

static Status read_region(RegionState *outer, Cursor *cursor, MosaicRegion *region);

static Status take_slots(RegionState *state, const Cursor *cursor, uint32_t n, uint32_t *first) {
  RETURN_IF(n > state->end - state->next, cursor_fail(cursor, "more values than its region says"));
  *first = state->next;
  state->next += n;
  return STATUS_OK;
}

static Status read_results(RegionState *state, Cursor *cursor, MosaicOp *op) {
  Arena *arena = state->tables->file.arena;
  TRY(read_count(cursor, &op->n_results));
  op->result_types = ARENA_ARRAY(arena, const MosaicType *, op->n_results);
  for (uint32_t i = 0; i < op->n_results; i++) TRY(read_type(state->tables, cursor, &op->result_types[i]));
  return take_slots(state, cursor, op->n_results, &op->first);
}

static Status read_ids(RegionState *state, Cursor *cursor, uint32_t first, uint32_t limit, const char *what,
                       Ids *ids) {
  TRY(read_count(cursor, &ids->n));
  ids->at = ARENA_ARRAY(state->tables->file.arena, uint32_t, ids->n);
  for (uint32_t i = 0; i < ids->n; i++) {
    TRY(read_index(cursor, limit, what, &ids->at[i]));
    ids->at[i] += first;
  }
  return STATUS_OK;
}

/* Regions see the values around them, unless they are isolated: then they count their own from 0. A module
 * and a function begin a frame; whatever else is isolated, since it happens to use nothing from above, lives
 * in the frame that it is in. */
static Status read_regions(RegionState *state, Cursor *cursor, MosaicOp *op) {
  uint64_t code = 0;
  TRY(read_varint(cursor, &code));
  RETURN_IF(code >> 1 > cursor->end - cursor->at, cursor_fail(cursor, "more regions than bytes"));
  bool begins_frame = str_is(op->name, "func.func") || str_is(op->name, "builtin.module"),
       isolated = code & 1;
  RETURN_IF(begins_frame && !isolated, cursor_fail(cursor, "a function that is not isolated"));
  op->n_regions = (uint32_t)(code >> 1);
  op->regions = ARENA_ARRAY(state->tables->file.arena, MosaicRegion, op->n_regions);
  Frame own = {0};
  RegionState inner = {.tables = state->tables,
                       .frame = begins_frame ? &own : state->frame,
                       .base = begins_frame ? 0
                               : isolated   ? state->frame->n
                                            : state->base};
  for (uint32_t i = 0; i < op->n_regions; i++) TRY(read_region(&inner, cursor, &op->regions[i]));
  op->n_slots = own.longest;
  return STATUS_OK;
}

static Status read_op(RegionState *state, Cursor *cursor, MosaicOp *op) {
  BytecodeTables *tables = state->tables;
  uint8_t mask = 0;
  op->offset = cursor->at;
  TRY(read_index(cursor, tables->n_op_names, "op name", &op->name_id));
  op->name = tables->op_names[op->name_id];
  TRY(read_byte(cursor, &mask));
  RETURN_IF(mask & ~MASK_KNOWN, cursor_fail(cursor, "parts of an op of another version"));
  TRY(read_attr(tables, cursor, &op->location));
  if (mask & HAS_ATTRS) {
    TRY(read_attr(tables, cursor, &op->attrs));
    RETURN_IF(op->attrs->kind != MOSAIC_ATTR_DICT, cursor_fail(cursor, "attributes without names"));
  }
  if (mask & HAS_RESULTS) TRY(read_results(state, cursor, op));
  if (mask & HAS_OPERANDS)
    TRY(read_ids(state, cursor, state->base, state->frame->n - state->base, "value", &op->operands));
  if (mask & HAS_SUCCESSORS) TRY(read_ids(state, cursor, 0, state->n_blocks, "block", &op->successors));
  return mask & HAS_REGIONS ? read_regions(state, cursor, op) : STATUS_OK;
}

static Status read_block_args(RegionState *state, Cursor *cursor, MosaicBlock *block) {
  const MosaicAttr *location = NULL;
  TRY(read_count(cursor, &block->n_args));
  block->arg_types = ARENA_ARRAY(state->tables->file.arena, const MosaicType *, block->n_args);
  for (uint32_t i = 0; i < block->n_args; i++) {
    TRY(read_type(state->tables, cursor, &block->arg_types[i]));
    TRY(read_attr(state->tables, cursor, &location));
  }
  return take_slots(state, cursor, block->n_args, &block->first_arg);
}

static Status read_block(RegionState *state, Cursor *cursor, MosaicBlock *block) {
  uint64_t code = 0;
  TRY(read_varint(cursor, &code));
  if (code & 1) TRY(read_block_args(state, cursor, block));
  RETURN_IF(code >> 1 > cursor->end - cursor->at, cursor_fail(cursor, "more ops than bytes"));
  block->n_ops = (uint32_t)(code >> 1);
  block->ops = ARENA_ARRAY(state->tables->file.arena, MosaicOp, block->n_ops);
  for (uint32_t i = 0; i < block->n_ops; i++) {
    block->ops[i].before = i == 0 ? NULL : &block->ops[i - 1];
    TRY(read_op(state, cursor, &block->ops[i]));
  }
  return STATUS_OK;
}

static Status read_region(RegionState *outer, Cursor *cursor, MosaicRegion *region) {
  BytecodeTables *tables = outer->tables;
  Frame *frame = outer->frame;
  uint32_t n_values = 0, first = frame->n;
  RETURN_IF(tables->depth >= MOSAIC_MAX_DEPTH, cursor_fail(cursor, "too many regions within each other"));
  TRY(read_count(cursor, &region->n));
  if (region->n == 0) return STATUS_OK;
  TRY(read_count(cursor, &n_values));
  tables->depth++;
  frame->n += n_values;
  if (frame->n > frame->longest) frame->longest = frame->n;
  RegionState state = {.tables = tables,
                       .frame = frame,
                       .base = outer->base,
                       .next = first,
                       .end = frame->n,
                       .n_blocks = region->n};
  region->blocks = ARENA_ARRAY(tables->file.arena, MosaicBlock, region->n);
  for (uint32_t i = 0; i < region->n; i++) TRY(read_block(&state, cursor, &region->blocks[i]));
  frame->n = first;
  tables->depth--;
  return STATUS_OK;
}

/* One block without arguments, with one op: the module, of one region with one block. */
Status read_ir(BytecodeTables *tables, Cursor cursor, const MosaicOp **module) {
  Frame frame = {0};
  RegionState state = {.tables = tables, .frame = &frame, .n_blocks = 1};
  MosaicBlock top = {0};
  TRY(read_block(&state, &cursor, &top));
  RETURN_IF(top.n_ops != 1 || top.ops[0].n_regions != 1 || top.ops[0].regions[0].n != 1,
            cursor_fail(&cursor, "it is not one module"));
  *module = &top.ops[0];
  return STATUS_OK;
}

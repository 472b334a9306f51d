/* Handlers: each partitions one kind of op. Internal to sim/partition. */
#pragma once

#include "sim/partition/plan.h"
#include "sim/partition/reshard.h"

/* Emits what `instr` of the flat computation computes, and gives the value as its shardings want it. */
typedef Status (*Handler)(Spmd *spmd, const Instr *instr, ShardedValue *result);

/* Runs the handlers over a flat computation; `params` are the values of its parameters, already in the
 * computation being built (spmd->frame). `root` is its root's value. */
Status partition_body(Spmd *spmd, uint32_t flat_comp, const ShardedValue *params, ShardedValue *root);

/* The handler of an instruction. */
Handler handler_of(const Instr *instr);

Status handle_by_factors(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_replicated(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_dot(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_reduce(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_constant(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_iota(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_broadcast(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_window(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_dynamic_slice(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_dynamic_update_slice(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_gather(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_scatter(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_convolution(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_reduce_window(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_select_and_scatter(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_tuple(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_get_tuple_element(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_opt_barrier(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_while(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_conditional(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_custom_call(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_collective(Spmd *spmd, const Instr *instr, ShardedValue *result);
Status handle_device_id(Spmd *spmd, const Instr *instr, ShardedValue *result);

/* A point of an op's iteration space, in bytes on the wire that take as long: twelve bytes of HBM for most
 * ops, two operations for a dot, on a chip of 819 GB/s, 197 TFLOP/s and links of 45 GB/s (the v5e of
 * configs/). It only weighs computing the same on many devices against bringing it there. */
extern const double hbm_point_bytes, mxu_point_bytes;

/* --- what handlers share --- */

/* The value of operand `i`. */
ShardedValue operand_value(const Spmd *spmd, const Instr *instr, uint32_t i);
/* The shardings wanted of the result, one a leaf. */
ValueSharding wanted_of(const Spmd *spmd, const Instr *instr);
/* Leaf `leaf` of a shape, depth first. */
const Shape *shape_leaf(const Shape *shape, uint32_t leaf);
uint32_t shape_leaves(const Shape *shape);
/* Brings every leaf to its sharding, and says that `instr` needs it so. */
Status value_reshard(Spmd *spmd, const ShardedValue *value, const ValueSharding *to, ShardedValue *result);
/* The result where all leaves lie as wanted already. */
ShardedValue value_new(Spmd *spmd, uint32_t n);
/* One instruction that holds the leaves in tuples of the global shape's form; a leaf alone is itself. */
uint32_t value_pack(Spmd *spmd, const ShardedValue *value, const Shape *global);
/* The leaves of an instruction that has the local shape of a value of `global` shape. */
ShardedValue value_unpack(Spmd *spmd, uint32_t instr, const Shape *global, const ValueSharding *shardings);
/* The local shape of a value. */
const Shape *value_local_shape(Spmd *spmd, const Shape *global, const ValueSharding *shardings);
/* The instruction itself on local operands: attributes and name of `instr`, shape `shape`. */
uint32_t add_local(Spmd *spmd, const Instr *instr, const Shape *shape, const uint32_t *operands, uint32_t n);
/* Takes the shardings away that were said of the global value. */
void drop_annotations(Spmd *spmd, Instr *local);
/* Sets why the next collectives are needed: `dot.3 needs x.1 as P('data')`. */
void because_text(Spmd *spmd, Str text);
void because_operand(Spmd *spmd, const Instr *instr, uint32_t operand, const Sharding *wanted);
void because_result(Spmd *spmd, const Instr *instr, const Sharding *from, const Sharding *wanted);
/* Rows that lie past the end of the array (uneven shards) become `fill`, a scalar, along one dimension. */
uint32_t mask_padding(Spmd *spmd, const Sharded *value, uint32_t dim, uint32_t fill);
/* An operand as a plan wants it. */
Status plan_operand(Spmd *spmd, const Instr *instr, const Plan *plan, uint32_t operand, Sharded *local);
/* The row at which a device's part of a dimension begins that is cut along `axes` into tiles. */
uint32_t part_offset(Spmd *spmd, AxisList axes, int64_t tile);
/* Whether two scalars are surely the same. */
bool same_scalar(const Spmd *spmd, uint32_t a, uint32_t b);
/* Bytes on the wire that were spent on operands that nobody else needs: looking through them saves it. */
double operands_spent(const Spmd *spmd, const Instr *instr);
/* By instruction of a computation: its uses by kind. */
UseKinds *count_use_kinds(Arena *arena, const Comp *comp);
/* The plan of an instruction. */
Status plan_instr(Spmd *spmd, const Instr *instr, const FactorRule *rule, bool reduces, Plan *plan);

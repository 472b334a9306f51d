/* The partitioner's working state: what is read, what is built, and small builders of instructions that every
 * handler uses. Internal to sim/partition. */
#pragma once

#include "sim/partition/partition.h"

/* An array as the devices hold it: an instruction of the computation being built, of the local shape. */
typedef struct Sharded {
  uint32_t instr;
  const Sharding *sharding; /* may be unreduced */
  const Shape *global;
  uint32_t scalar;              /* the scalar that it is a broadcast of; NO_ID: anything else */
  uint32_t reducer;             /* of an unreduced value: the computation that combines the parts */
  const struct Sharded *source; /* the array that it is a broadcast of; NULL: anything else */
  Ints source_dims;             /* where the source's dimensions are */
} Sharded;

/* A value of the program: an array, or the leaves of a tuple. */
typedef struct {
  Sharded *at;
  uint32_t n;
} ShardedValue;

/* What one value has been resharded to so far: later uses begin at the nearest. */
typedef Vec(Sharded) Variants;

/* The ops of one kind that use a value in the same place and take their dimensions alike. */
typedef struct {
  const Instr *first;
  uint32_t operand, n;
} LikeUses;
typedef Vec(LikeUses) UseKinds;

/* A computation in the making. */
typedef struct {
  uint32_t flat;         /* computation that is read */
  uint32_t comp;         /* computation that is built */
  ShardedValue *values;  /* of the flat computation's instructions */
  uint32_t *uses;        /* of them in the flat computation */
  UseKinds *use_kinds;   /* the same uses, by kind */
  double *spent;         /* bytes on the wire to make a value that a user may do without (a slice) */
  Vec(Variants *) known; /* by instruction that is built; NULL: itself alone */
} Frame;

typedef struct {
  Arena *arena;   /* the new module's */
  Arena *scratch; /* of the stage */
  Diag *diag;
  const Module *flat;
  const Shardings *shardings;
  const Mesh *mesh;
  Partitioned *out;
  Module *module; /* being built */
  Frame *frame;
  const Instr *instr; /* being partitioned: what is emitted takes over its metadata */
  Str because;        /* why the next collectives are needed */
  Conflict conflict;  /* the same for tools */
  uint32_t *copied;   /* by computation of the flat module: its copy + 1 */
  uint32_t adders[DTYPE_COUNT];
  StrMap *route_index;
  Vec(struct CachedRoute *) routes;
} Spmd;

/* A new module for one device of the mesh; the caller closes it. */
void spmd_open(Spmd *spmd, Str name, const Mesh *mesh, Diag *diag);
/* Cleans the module up and settles the reasons; `keep` false frees it all. */
void spmd_close(Spmd *spmd, bool keep);

/* Appends an instruction with the origin and metadata of the one being partitioned. */
uint32_t spmd_add(Spmd *spmd, Opcode op, const Shape *shape, const uint32_t *operands, uint32_t n);
Instr *spmd_instr(const Spmd *spmd, uint32_t instr);
const Shape *spmd_shape(const Spmd *spmd, uint32_t instr);
/* A binary op of equal shapes. */
uint32_t spmd_binary(Spmd *spmd, Opcode op, uint32_t a, uint32_t b);
uint32_t spmd_compare(Spmd *spmd, uint32_t a, const char *direction, uint32_t b);
uint32_t spmd_select(Spmd *spmd, uint32_t mask, uint32_t yes, uint32_t no);
uint32_t spmd_scalar(Spmd *spmd, DType dtype, double value);
/* A scalar at every place of `shape`. */
uint32_t spmd_splat(Spmd *spmd, uint32_t scalar, const Shape *shape);
uint32_t spmd_reshape(Spmd *spmd, uint32_t instr, const int64_t *dims, uint32_t rank);
uint32_t spmd_transpose(Spmd *spmd, uint32_t instr, const int64_t *perm);
/* The same array with other dimensions, cut off or filled at the end of each. `fill` may be NO_ID: zero. */
uint32_t spmd_resize(Spmd *spmd, uint32_t instr, const int64_t *dims, uint32_t fill);
/* Rows [start, start + size) of one dimension. */
uint32_t spmd_rows(Spmd *spmd, uint32_t instr, uint32_t dim, int64_t start, int64_t size);
/* Puts `before` rows of the fill in front of a dimension and `after` behind it. */
uint32_t spmd_pad(Spmd *spmd, uint32_t instr, uint32_t dim, int64_t before, int64_t after, uint32_t fill);
/* The same, with rows of the fill between the rows too; fewer than none before and behind cut rows off. */
uint32_t spmd_dilate(Spmd *spmd, uint32_t instr, uint32_t dim, PaddingDim padding, uint32_t fill);
/* The s32 scalar values[device], a constant where all are the same. */
uint32_t spmd_table(Spmd *spmd, const int64_t *values);
/* A part of `sizes`, at starts[d] (s32 scalars; NO_ID: 0). */
uint32_t spmd_dynamic_slice(Spmd *spmd, uint32_t instr, const uint32_t *starts, const int64_t *sizes);
uint32_t spmd_dynamic_rows(Spmd *spmd, uint32_t instr, uint32_t dim, uint32_t start, int64_t size);
/* Rows [starts[device], + size) of one dimension. */
uint32_t spmd_device_rows(Spmd *spmd, uint32_t instr, uint32_t dim, const int64_t *starts, int64_t size);
/* Rows of dimension `dim` in [start[device], stop[device]) from `inside`, the others from `outside`. */
uint32_t spmd_merge_rows(Spmd *spmd, uint32_t dim, const int64_t *start, const int64_t *stop, uint32_t inside,
                         uint32_t outside);
uint32_t spmd_concat(Spmd *spmd, uint32_t dim, const uint32_t *parts, uint32_t n);

/* A computation of the flat module as it stands: reductions and the like. */
uint32_t spmd_copy_comp(Spmd *spmd, uint32_t flat_comp);
/* `add` of two scalars. */
uint32_t spmd_adder(Spmd *spmd, DType dtype);

/* Gives a collective its channel and groups, and writes down why it is there. */
void spmd_collective(Spmd *spmd, uint32_t instr, const GroupList *groups, bool global_ids);

uint32_t spmd_permute(Spmd *spmd, uint32_t instr, Pairs pairs);

/* Other arrays that are the same value as `value`, itself included. */
Variants *spmd_variants(Spmd *spmd, const Sharded *value);
void spmd_know(Spmd *spmd, const Sharded *value, const Sharded *variant);

/* An array that is what it seems. */
Sharded sharded(uint32_t instr, const Sharding *sharding, const Shape *global);

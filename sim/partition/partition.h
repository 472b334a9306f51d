/* The partitioner: from a flattened module and the shardings of its values to one device's program, with the
 * collectives put in. Each op states the factor shardings it can compute with; between what is there and what
 * is wanted stands reshard(). Parameters and root keep their order; `sharding=` is written on every entry
 * parameter and on the root, so that the text reads back. */
#pragma once

#include "sim/shard/propagate.h"

/* A value that does not lie as an op needs it; instructions of the flat module. A value that is its asker's
 * own result lies as the op gives it. */
typedef struct {
  uint32_t comp, asker, value;
  const Sharding *from, *wanted; /* NULL: nothing is known */
} Conflict;

/* Why a collective is in the program: the value that was there, the one that was wanted, in the words of the
 * user's program. */
typedef struct {
  uint32_t comp, instr; /* of the partitioned module */
  Str because;          /* e.g. `dot.3 contracts "model"`, `reshard x from P('data') to P()` */
  Str whole;            /* the collective that it is a step of, e.g. all-gather.3; else empty */
  Origin origin;
  Conflict conflict;
} CollectiveReason;

typedef struct {
  Module *module; /* for one device of num_partitions */
  const Mesh *mesh;
  const Sharding **params,
      **outputs; /* an output of NULL lies unknown: it is written stacked, a device a row */
  uint32_t n_params, n_outputs;
  const Shape **global_params,
      **global_outputs; /* the unpartitioned shapes; of an unknown output the local one */
  Vec(CollectiveReason) reasons;
  Arena *arena; /* all of the above but the module of an adopted program */
} Partitioned;

/* `flat` and `shardings` must outlive the result, which partitioned_free() frees. */
Status module_partition(const Module *flat, const Shardings *shardings, Partitioned **partitioned,
                        Diag *diag);
/* A program that came partitioned: specs tell how its parameters and outputs lie, else `sharding=` of the
 * parameters and the root; `module` stays the caller's. Global sizes are local ones times the shards. */
Status partitioned_adopt(const Module *module, const ShardOptions *options, Partitioned **partitioned,
                         Diag *diag);
/* Another partitioned program of the same mesh, parameters and outputs, whose module and reasons are empty
 * yet. */
Partitioned *partitioned_like(const Partitioned *from);
/* NULL is fine. */
void partitioned_free(Partitioned *partitioned);

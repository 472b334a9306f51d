/* Propagation: from the shardings that the program carries to one for every value, as Shardy does it: factor
 * rules per op, op priorities, the aggressive strategy. In: a flattened module. Out: tables beside it; the
 * module is not changed. */
#pragma once

#include "sim/shard/sharding.h"

/* What the user overrides on the command line. */
typedef struct {
  Str name; /* "arg0", "out1", or an instruction's name */
  Str spec; /* P("data", None) */
} SpecOverride;

/* Both propagate in the same way; GSPMD differs in what it knows of some ops, and keeps an inferred output
 * only where its sharding divides it as a whole. */
typedef enum { PARTITIONER_SHARDY, PARTITIONER_GSPMD } Partitioner;

typedef struct {
  Partitioner partitioner;
  const Mesh *mesh; /* --mesh; NULL: the program's own */
  const SpecOverride *specs;
  uint32_t n_specs;
  uint32_t n_devices; /* of the pod */
} ShardOptions;

/* Shardings of a value: one a leaf of its (tuple) shape, in order; n == 0 for tokens. */
typedef struct {
  const Sharding **at;
  uint32_t n;
} ValueSharding;

/* Where a manual region begins or ends: the custom call that leads in or out. */
typedef struct {
  AxisList manual;        /* axes of the region, those of size 1 left out */
  const Sharding **outer; /* of each value as it lies outside, manual axes included */
  uint32_t n;
} ManualBorder;

/* An instruction whose sharding another took over; NO_ID: its own. */
typedef struct {
  uint32_t comp, instr;
} ShardOrigin;

/* For instruction i of computation c: values[c][i]. Scalars inside reduction computations have n == 0. Shapes
 * inside a manual region are local over the region's axes; shardings there speak of the remaining axes only.
 */
typedef struct {
  Arena *arena;
  const Mesh *mesh; /* the mesh that all shardings are over */
  ValueSharding **values;
  /* Of the entry: what each parameter and each output leaf has after all (outputs by sharding_divisible()
   * where inferred). */
  const Sharding **params, **outputs;
  uint32_t n_params, n_outputs;
  ShardOrigin **because;         /* where the sharding of each value came from */
  const ManualBorder ***borders; /* borders[c][i]; NULL where instruction i is none */
} Shardings;

/* Gives every use of a constant, an iota, or what is made of them alone, a copy of its own, so that they
 * couple no shardings. In place, on the flattened module, before module_propagate(); equal copies may be
 * merged again by module_merge_equal() in the partitioned program. */
void module_split_constants(Module *flat);
/* `flat` is flattened, its constants split. */
Status module_propagate(const Module *flat, const ShardOptions *options, Shardings **shardings, Diag *diag);
void shardings_free(Shardings *shardings);

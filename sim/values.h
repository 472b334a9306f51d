/* The numbers of a run: the engine's table of values (sim/engine/run.h) over tensors and eval_op. Parameters
 * are cut to the chips' shards at once; shards that are the same share one tensor. Without inputs all values
 * but small ones that follow from constants (loop counters) are unknown. */
#pragma once

#include "sim/engine/run.h"
#include "sim/eval/tensor.h"
#include "sim/partition/partition.h"

typedef struct Values Values;

/* inputs: the program's whole parameters, borrowed for the call (they are retained as far as needed), of the
 * shapes global_params; NULL: numbers off. `partitioned` and `diag` must outlive the result, which the caller
 * frees. Where a parameter has no sharding each chip has all of it. */
Status values_new(const Partitioned *partitioned, uint32_t chips, Tensor *const *inputs, Diag *diag,
                  Values **values);
void values_free(Values *values);

/* Whether what only a compiler rounds keeps its bits (run.excess_precision); not, until this is called. */
void values_set_excess_precision(Values *values, bool excess_precision);

/* The table; it lives as long as `values`. Errors of evaluate() and combine() are in the Diag of
 * values_new(). */
const ValueOps *values_ops(const Values *values);

/* The program's whole outputs from the chips' roots (both borrowed): n_outputs tensors, given. An output
 * without a sharding is stacked: [chips, …local]. */
Status values_collect_outputs(const Values *values, Value *const *roots, Tensor **outputs);

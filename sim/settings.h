/* From the command line's texts to what the stages take: meshes and specs, run options, and the checks
 * between stages: whether values are computed, whether mesh and pod fit each other, whether the program fits
 * in HBM. */
#pragma once

#include "sim/pipeline.h"

/* --mesh and --spec. */
Status shard_settings(Arena *arena, const Options *options, uint32_t n_chips, ShardOptions *settings,
                      Diag *diag);
/* --trip, --branch, --jitter, --break, --jobs. */
Status run_settings(const Pipeline *pipeline, RunOptions *run, Diag *diag);

/* Sets pipeline->numbers from --numbers; auto computes values up to run.numbers_limit and says so where it
 * does not. */
Status decide_numbers(Pipeline *pipeline, Diag *diag);
/* STATUS_INVALID where the program's mesh has another number of devices than the pod has chips. */
Status mesh_fits_pod(const Partitioned *partitioned, const Pod *pod, Diag *diag);
/* STATUS_NO_FIT with what fills a chip's HBM. */
Status program_fits_hbm(const Pipeline *pipeline, Diag *diag);
/* Names of the entry's parameters as files may call them. */
const Str *parameter_names(Arena *arena, const Pipeline *pipeline);
/* Whether a program is one device's already: it says num_partitions and carries no shardings but those of its
 * parameters and root. */
bool module_is_partitioned(const Module *module);

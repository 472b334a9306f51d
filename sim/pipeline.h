/* The way of the data, from a pod's description and a program's text to numbers and a timeline. Each stage
 * has a typed input and output and changes nothing of its input; Pipeline holds what the stages made so far,
 * and owns it. */
#pragma once

#include "sim/config/pod.h"
#include "sim/engine/run.h"
#include "sim/eval/tensor.h"
#include "sim/ledger/ledger.h"
#include "sim/mesh_layout.h"
#include "sim/options.h"
#include "sim/partition/partition.h"
#include "sim/schedule/schedule.h"
#include "traces/summary.h"

typedef struct {
  Arena *arena;
  const Options *options;
  Config *config;           /* the pod */
  const Source *source;     /* the program's text */
  Module *module;           /* as it was read */
  Module *flat;             /* calls put in place; NULL for a program that came partitioned */
  Shardings *shardings;     /* of every value; NULL for a program that came partitioned */
  Partitioned *partitioned; /* one device's program */
  MeshLayout layout;        /* which chip each device is */
  Partitioned *windowed;    /* the same with collective matmuls; else `partitioned` itself */
  Partitioned *pipelined;   /* the same with loops that fetch ahead; else `windowed` itself */
  Partitioned *laid;        /* the same as it is run, with layouts; else `pipelined` itself */
  Schedule *schedule;
  bool numbers;     /* whether values are computed */
  Tensor **inputs;  /* the entry's parameters, whole; NULL where numbers are off */
  Tensor **outputs; /* the root's leaves, whole; NULL where numbers are off */
  uint32_t n_inputs, n_outputs;
  Ledger *ledger;
  Metrics metrics;
  RunInfo info;
} Pipeline;

/* An empty pipeline for the options, which must outlive it. Free with pipeline_free(), also after a failure.
 */
Pipeline pipeline_new(const Options *options);
void pipeline_free(Pipeline *pipeline);

/* The stages in groups, each for the commands that stop there. Every one runs those before it. */
Status pipeline_read_pod(Pipeline *pipeline, Diag *diag);
Status pipeline_read_program(Pipeline *pipeline, Diag *diag);
Status pipeline_partition(Pipeline *pipeline, Diag *diag); /* needs pod and program */
Status pipeline_order(Pipeline *pipeline, Diag *diag); /* needs the partitioned program; makes the schedule */
Status pipeline_schedule(Pipeline *pipeline, Diag *diag); /* the same, and refuses what does not fit in HBM */
Status pipeline_simulate(Pipeline *pipeline, Diag *diag); /* needs the schedule; at most once a process */

/* All of it, in order: what `podsim CONFIG PROGRAM` does. */
Status pipeline_run(Pipeline *pipeline, Diag *diag);

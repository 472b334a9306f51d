/* Launches: executions of kernels. A Machine is the simulated pod while it runs; a Launch is one execution of
 * a kernel by all members of a group, made when the first of them arrives. */
#pragma once

#include "sim/engine/dma_kernel.h"
#include "sim/engine/fabric.h"
#include "sim/engine/run.h"

typedef struct Launch Launch;
typedef struct Message Message;
typedef struct Fork Fork;

typedef struct {
  Arena *arena;
  const Pod *pod;
  Ledger *ledger;
  const RunOptions *options;
  const Fold *fold; /* NULL: every chip is simulated */
  Fabric *fabric;
  Actors *actors;
  int64_t waits, dmas; /* issued so far, over all chips */
  Launch *launches;    /* that have not ended */
  Message *free_messages;
  Fork *free_forks;
  Diag *diag;
  Status status; /* the first failure of a kernel: a step of a reduction, or a race */
} Machine;

/* Starts SimGrid. What it is given must outlive it; `fold` may be NULL. */
Status machine_new(Arena *arena, const Pod *pod, const Fold *fold, const RunOptions *options, Ledger *ledger,
                   Machine **machine, Diag *diag);
/* Frees what launches hold that were never ended. */
void machine_free(Machine *machine);

typedef struct {
  const uint32_t *chips; /* of each member */
  uint32_t members;
  void (*body)(Kernel *kernel);
  const void *plan;
  const int64_t *buffers; /* elements of each */
  uint32_t n_buffers, n_semaphores;
  uint32_t element_bytes, element_bits; /* in memory; on the wire */
  DType dtype;                          /* of a reduction */
  uint32_t reduction;                   /* computation; NO_ID where the kernel does not reduce */
  uint32_t name, op;                    /* of the ledger */
  Place place;                          /* of the instruction */
} LaunchSpec;

/* `spec` and what it points at must outlive the launch. */
Launch *launch_new(Machine *machine, const LaunchSpec *spec);
/* In a folded run a launch is that of all groups at once, by `members` chips that are simulated. */
Launch *launch_new_folded(Machine *machine, const LaunchSpec *spec, uint32_t members);
/* Whether the members' values are known: buffers hold numbers only while all of those who came have them. */
void launch_hide_values(Launch *launch);
bool launch_has_values(const Launch *launch);
/* Memory of a member's buffer, zero at first; NULL where there are no values. */
unsigned char *launch_buffer(Launch *launch, uint32_t member, uint32_t buffer);
/* Runs the kernel as one member, from its chip's actor, from its start-up to its end. In a folded launch
 * `spec` is that of the member's own group; else that of the launch. */
void launch_run(Launch *launch, const LaunchSpec *spec, uint32_t member);
/* A member wants nothing more of it. With the last one, and the last DMA, the launch is gone; a semaphore
 * that is not at zero then tells of a wait that is missing, and fails the machine with STATUS_DEADLOCK. */
void launch_leave(Launch *launch);
/* Members that have not yet run. */
uint32_t launch_missing(const Launch *launch);
/* A hash of what a member's kernel does, from one wait to the next, with chips and links relative to its own:
 * the same where only their places differ. Nothing is simulated. */
uint64_t kernel_trace_hash(const Pod *pod, const LaunchSpec *spec, uint32_t member);

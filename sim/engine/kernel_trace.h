/* Traces of kernels: what a member does, as a hash in which chips and links are relative to its own. */
#pragma once

#include "sim/config/pod.h"

typedef struct {
  const Pod *pod;
  uint32_t chip; /* of the member */
  uint64_t hash;
} KernelTrace;

/* Bytes, none for a signal, to a chip over every link of their way; `via` may be NO_PEER. */
void trace_send(KernelTrace *trace, uint32_t via, uint32_t to, int64_t bytes);
/* What is signalled or waited for: two numbers of semaphores, and how often. */
void trace_semaphores(KernelTrace *trace, uint32_t first, uint32_t second, int64_t n);

/* Semaphores of a chip: counted, signalled from here or there, waited for by one actor at a time. */
#pragma once

#include "sim/engine/actors.h"

typedef struct {
  int64_t value;
  uint32_t flow; /* the transfer that signalled last, 0 where none */
  Actor *waiter;
  int64_t wanted; /* by the waiter */
} Semaphore;

void semaphore_signal(Semaphore *semaphore, int64_t n, uint32_t flow);
/* Waits until the value is at least n, then takes n from it. */
void semaphore_wait(Semaphore *semaphore, int64_t n, Waiting waiting);

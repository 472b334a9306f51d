/* Semaphores: a counter, and the actor to wake when it is high enough. */
#include "sim/engine/semaphore.h"

void semaphore_signal(Semaphore *semaphore, int64_t n, uint32_t flow) {
  semaphore->value += n;
  semaphore->flow = flow;
  if (semaphore->waiter == NULL || semaphore->value < semaphore->wanted) return;
  Actor *waiter = semaphore->waiter;
  semaphore->waiter = NULL;
  actor_wake(waiter);
}

void semaphore_wait(Semaphore *semaphore, int64_t n, Waiting waiting) {
  if (semaphore->value < n) {
    semaphore->waiter = actor_self();
    semaphore->wanted = n;
    actor_park(semaphore->waiter, waiting);
  }
  semaphore->value -= n;
}

/* Pool: a queue of strands that have work. A thread takes a strand, does one piece of its work and puts it
 * back. */
#include "sim/engine/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct Work Work;
struct Work {
  void (*run)(void *argument);
  void *argument;
  Work *next;
};

struct Strand {
  Pool *pool;
  Work *first, **last;
  bool busy; /* in the queue, or in a thread's hands */
  Strand *next_ready, *next;
};

struct Pool {
  pthread_mutex_t lock;
  pthread_cond_t has_work, strand_done;
  pthread_t *threads;
  uint32_t n_threads;
  Strand *ready, **last_ready, *strands;
  bool closing;
};

static void *checked(void *memory) {
  if (memory != NULL) return memory;
  fputs("podsim: out of memory\n", stderr);
  abort();
}

static void make_ready(Pool *pool, Strand *strand) {
  strand->next_ready = NULL;
  *pool->last_ready = strand;
  pool->last_ready = &strand->next_ready;
  pthread_cond_signal(&pool->has_work);
}

static Strand *take_ready(Pool *pool) {
  Strand *strand = pool->ready;
  pool->ready = strand->next_ready;
  if (pool->ready == NULL) pool->last_ready = &pool->ready;
  return strand;
}

static Work *take_work(Strand *strand) {
  Work *work = strand->first;
  strand->first = work->next;
  if (strand->first == NULL) strand->last = &strand->first;
  return work;
}

static void *run_thread(void *argument) {
  Pool *pool = argument;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    while (pool->ready == NULL && !pool->closing) pthread_cond_wait(&pool->has_work, &pool->lock);
    if (pool->ready == NULL) break;
    Strand *strand = take_ready(pool);
    Work *work = take_work(strand);
    pthread_mutex_unlock(&pool->lock);
    work->run(work->argument);
    free(work);
    pthread_mutex_lock(&pool->lock);
    if (strand->first != NULL) {
      make_ready(pool, strand);
    } else {
      strand->busy = false;
      pthread_cond_broadcast(&pool->strand_done);
    }
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

Pool *pool_new(uint32_t workers) {
  long processors = sysconf(_SC_NPROCESSORS_ONLN);
  Pool *pool = checked(calloc(1, sizeof *pool));
  pool->last_ready = &pool->ready;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->has_work, NULL);
  pthread_cond_init(&pool->strand_done, NULL);
  uint32_t wanted = workers != 0 ? workers : processors > 0 ? (uint32_t)processors : 1;
  pool->threads = checked(calloc(wanted, sizeof *pool->threads));
  while (pool->n_threads < wanted &&
         pthread_create(&pool->threads[pool->n_threads], NULL, run_thread, pool) == 0)
    pool->n_threads++;
  return pool;
}

void pool_free(Pool *pool) {
  pthread_mutex_lock(&pool->lock);
  pool->closing = true;
  pthread_cond_broadcast(&pool->has_work);
  pthread_mutex_unlock(&pool->lock);
  for (uint32_t i = 0; i < pool->n_threads; i++) pthread_join(pool->threads[i], NULL);
  while (pool->strands != NULL) {
    Strand *strand = pool->strands;
    pool->strands = strand->next;
    free(strand);
  }
  free(pool->threads);
  free(pool);
}

Strand *strand_new(Pool *pool) {
  Strand *strand = checked(calloc(1, sizeof *strand));
  *strand = (Strand){.pool = pool, .next = pool->strands};
  strand->last = &strand->first;
  pool->strands = strand;
  return strand;
}

void strand_post(Strand *strand, void (*run)(void *argument), void *argument) {
  Pool *pool = strand->pool;
  if (pool->n_threads == 0) { /* no thread could be made */
    run(argument);
    return;
  }
  Work *work = checked(malloc(sizeof *work));
  *work = (Work){run, argument, NULL};
  pthread_mutex_lock(&pool->lock);
  *strand->last = work;
  strand->last = &work->next;
  if (!strand->busy) {
    strand->busy = true;
    make_ready(pool, strand);
  }
  pthread_mutex_unlock(&pool->lock);
}

void strand_join(Strand *strand) {
  pthread_mutex_lock(&strand->pool->lock);
  while (strand->busy) pthread_cond_wait(&strand->pool->strand_done, &strand->pool->lock);
  pthread_mutex_unlock(&strand->pool->lock);
}

/* The pool: work of a strand in its order, strands side by side. */
#include "sim/engine/pool.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>

enum { STRANDS = 5, PIECES = 400 };

typedef struct {
  uint32_t done; /* by this strand's work alone */
  bool in_order;
} Log;

typedef struct {
  Log *log;
  uint32_t number;
} Piece;

static void note(void *argument) {
  const Piece *piece = argument;
  if (piece->log->done != piece->number) piece->log->in_order = false;
  piece->log->done++;
}

static void run_strands(uint32_t workers) {
  static Log logs[STRANDS];
  static Piece pieces[STRANDS][PIECES];
  Pool *pool = pool_new(workers);
  Strand *strands[STRANDS];
  for (int s = 0; s < STRANDS; s++) {
    logs[s] = (Log){.in_order = true};
    strands[s] = strand_new(pool);
  }
  for (uint32_t i = 0; i < PIECES; i++)
    for (int s = 0; s < STRANDS; s++) {
      pieces[s][i] = (Piece){&logs[s], i};
      strand_post(strands[s], note, &pieces[s][i]);
    }
  for (int s = 0; s < STRANDS; s++) {
    strand_join(strands[s]);
    cr_expect(logs[s].in_order && logs[s].done == PIECES, "strand %d: %u pieces", s, logs[s].done);
  }
  pool_free(pool);
}

Test(pool, strands_keep_their_order) {
  run_strands(1);
  run_strands(4);
  run_strands(0);
}

/* Two strands that wait for each other can only end side by side. */
static void meet(void *barrier) {
  pthread_barrier_wait(barrier);
}

Test(pool, strands_run_side_by_side, .timeout = 20) {
  pthread_barrier_t barrier;
  pthread_barrier_init(&barrier, NULL, 2);
  Pool *pool = pool_new(2);
  Strand *one = strand_new(pool), *other = strand_new(pool);
  strand_post(one, meet, &barrier);
  strand_post(other, meet, &barrier);
  strand_join(one);
  strand_join(other);
  pool_free(pool);
  pthread_barrier_destroy(&barrier);
}

Test(pool, is_freed_when_its_work_is_done) {
  Log log = {.in_order = true};
  Piece pieces[PIECES];
  Pool *pool = pool_new(3);
  Strand *strand = strand_new(pool);
  for (uint32_t i = 0; i < PIECES; i++) {
    pieces[i] = (Piece){&log, i};
    strand_post(strand, note, &pieces[i]);
  }
  pool_free(pool);
  cr_expect_eq(log.done, PIECES);
}

/* A pool of threads that compute the values of ops while the simulation goes on. Work of one strand (a chip)
 * runs in the order in which it was posted, one piece at a time; strands run side by side. */
#pragma once

#include "sim/base/arena.h"

#include <stdint.h>

typedef struct Pool Pool;
typedef struct Strand Strand;

/* `workers` 0: as many threads as processors. Free with pool_free(), which waits for all work. */
Pool *pool_new(uint32_t workers);
void pool_free(Pool *pool);

/* A strand of the pool; lives as long as it. */
Strand *strand_new(Pool *pool);
void strand_post(Strand *strand, void (*work)(void *argument), void *argument);
/* Waits until all that was posted to the strand is done. */
void strand_join(Strand *strand);

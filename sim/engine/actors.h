/* Threads of control on SimGrid: the only file, with platform.c and fabric.c, that knows it. An actor runs
 * until it parks or sleeps; only one runs at a time, so that the engine's own data needs no locks. Dates are
 * integer picoseconds from the start of the run: every wake-up is asked for as an absolute date, so that
 * SimGrid's clock, a double, never drifts away from them. Ownership: everything lives in the arena given to
 * actors_new(). */
#pragma once

#include "sim/base/arena.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct Actors Actors;
typedef struct Actor Actor;
typedef void (*ActorBody)(void *argument);

/* What an actor waits for, for the report of a deadlock. */
typedef struct {
  uint32_t chip, op; /* the op: index into the ledger's */
  uint32_t peer;     /* the chip whose signal is missing, NO_PEER where several could send it */
  const char *what;  /* e.g. "data" */
} Waiting;

/* SimGrid must have been started by platform_start(). */
Actors *actors_new(Arena *arena);
/* Frees what SimGrid holds for them, after the run. */
void actors_free(Actors *actors);

/* A chip's own thread: the run ends when all of these have ended. */
void actors_start(Actors *actors, ActorBody body, void *argument);
/* A helper that may be left behind; reused from a pool. Starts at the current date. Call from an actor. */
void actors_spawn(Actors *actors, ActorBody body, void *argument);
/* Runs until all chips' threads have ended, or nothing can go on; false in the second case. */
bool actors_run(Actors *actors);

/* The actor that is running. */
Actor *actor_self(void);
/* Stops until actor_wake(); a wake-up that came first is not lost. */
void actor_park(Actor *self, Waiting waiting);
void actor_wake(Actor *actor);

int64_t date_ps(void);
void sleep_until_ps(int64_t date_ps);

/* Actors that were parked with a reason when the run stopped, in the order they were made: a call each. */
void actors_parked(const Actors *actors, void (*visit)(void *self, const Waiting *waiting), void *self);

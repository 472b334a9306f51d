/* Actors: a chip's thread is a plain SimGrid actor, helpers are daemons that wait for work. Stacks are small,
 * because the values of ops are computed by other threads (pool.c). */
#include "sim/engine/actors.h"

#include <math.h>
#include <simgrid/actor.h>
#include <simgrid/engine.h>
#include <simgrid/host.h>
#include <simgrid/semaphore.h>
#include <stdlib.h>

static const double PS_PER_SECOND = 1e12;

struct Actor {
  Actors *actors;
  sg_sem_t wake;
  ActorBody body;
  void *argument;
  Actor *next_idle, *next;
  bool parked;
  Waiting waiting;
};

struct Actors {
  Arena *arena;
  sg_host_t host; /* where they all run: the engine never uses a host's own speed */
  Actor *idle, *first, **last;
  uint32_t running;
};

Actors *actors_new(Arena *arena) {
  Actors *actors = ARENA_NEW(arena, Actors);
  sg_host_t *hosts = sg_host_list();
  *actors = (Actors){.arena = arena, .host = hosts[0]};
  actors->last = &actors->first;
  free(hosts);
  return actors;
}

void actors_free(Actors *actors) {
  for (Actor *actor = actors->first; actor != NULL; actor = actor->next) sg_sem_destroy(actor->wake);
}

static void run_once(int argc, char **argv) {
  (void)argc, (void)argv;
  Actor *self = actor_self();
  self->body(self->argument);
  self->actors->running--;
}

static void run_helper(int argc, char **argv) {
  (void)argc, (void)argv;
  Actor *self = actor_self();
  for (;;) {
    self->body(self->argument);
    self->next_idle = self->actors->idle;
    self->actors->idle = self;
    sg_sem_acquire(self->wake);
  }
}

static sg_actor_t actor_create(Actors *actors, ActorBody body, void *argument, void (*code)(int, char **)) {
  Actor *actor = ARENA_NEW(actors->arena, Actor);
  *actor = (Actor){.actors = actors, .wake = sg_sem_init(0), .body = body, .argument = argument};
  *actors->last = actor;
  actors->last = &actor->next;
  sg_actor_t created = sg_actor_init("podsim", actors->host);
  sg_actor_set_data(created, actor);
  sg_actor_start_(created, code, 0, NULL);
  return created;
}

void actors_start(Actors *actors, ActorBody body, void *argument) {
  actors->running++;
  actor_create(actors, body, argument, run_once);
}

void actors_spawn(Actors *actors, ActorBody body, void *argument) {
  Actor *helper = actors->idle;
  if (helper == NULL) {
    sg_actor_daemonize(actor_create(actors, body, argument, run_helper));
    return;
  }
  actors->idle = helper->next_idle;
  helper->body = body;
  helper->argument = argument;
  sg_sem_release(helper->wake);
}

bool actors_run(Actors *actors) {
  simgrid_run();
  return actors->running == 0;
}

Actor *actor_self(void) {
  return sg_actor_self_get_data();
}

void actor_park(Actor *self, Waiting waiting) {
  self->waiting = waiting;
  self->parked = true;
  sg_sem_acquire(self->wake);
  self->parked = false;
}

void actor_wake(Actor *actor) {
  sg_sem_release(actor->wake);
}

int64_t date_ps(void) {
  return llround(simgrid_get_clock() * PS_PER_SECOND);
}

void sleep_until_ps(int64_t date_ps) {
  sg_actor_sleep_until((double)date_ps / PS_PER_SECOND);
}

void actors_parked(const Actors *actors, void (*visit)(void *self, const Waiting *waiting), void *self) {
  for (const Actor *actor = actors->first; actor != NULL; actor = actor->next)
    if (actor->parked) visit(self, &actor->waiting);
}

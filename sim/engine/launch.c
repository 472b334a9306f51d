/* Launches, and the kernel interface on them. A member's memory is made when somebody first touches it: a DMA
 * may land before its chip has come to the collective, since the buffers are the execution's own. */
#include "sim/engine/launch.h"

#include "models/ici_model.h"
#include "sim/engine/semaphore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Kernel {
  Launch *launch;
  uint32_t member;
};

typedef struct {
  unsigned char *bytes; /* all its buffers */
  Semaphore *semaphores;
} Member;

struct Launch {
  Machine *machine;
  const LaunchSpec *spec;
  bool has_values;
  size_t *offsets; /* of each buffer in a member's bytes, and the end */
  Member *members;
  Kernel *kernels;
  uint32_t missing, present, pending; /* members to come and to leave; DMAs and forks under way */
  Launch *previous, *next;
};

static void *checked(void *memory) {
  if (memory != NULL) return memory;
  fputs("podsim: out of memory\n", stderr);
  abort();
}

static void *zeroed(size_t n, size_t size) {
  return checked(calloc(n == 0 ? 1 : n, size));
}

Status machine_new(Arena *arena, const Pod *pod, const RunOptions *options, Ledger *ledger, Machine **machine,
                   Diag *diag) {
  Machine *own = ARENA_NEW(arena, Machine);
  *own = (Machine){.arena = arena, .pod = pod, .ledger = ledger, .options = options, .diag = diag};
  TRY(fabric_new(arena, pod, ledger, &own->fabric, diag));
  own->actors = fabric_actors(own->fabric);
  *machine = own;
  return STATUS_OK;
}

static void launch_free(Launch *launch) {
  for (uint32_t i = 0; i < launch->spec->members; i++) {
    free(launch->members[i].bytes);
    free(launch->members[i].semaphores);
  }
  if (launch->previous != NULL)
    launch->previous->next = launch->next;
  else
    launch->machine->launches = launch->next;
  if (launch->next != NULL) launch->next->previous = launch->previous;
  free(launch->offsets);
  free(launch->members);
  free(launch->kernels);
  free(launch);
}

void machine_free(Machine *machine) {
  actors_free(machine->actors);
  while (machine->launches != NULL) launch_free(machine->launches);
}

/* What was signalled and never waited for may have been used before it was there. */
static void check_semaphores(const Launch *launch) {
  Machine *machine = launch->machine;
  const LaunchSpec *spec = launch->spec;
  for (uint32_t i = 0; i < spec->members; i++) {
    const Semaphore *semaphores = launch->members[i].semaphores;
    for (uint32_t k = 0; semaphores != NULL && k < spec->n_semaphores; k++) {
      if (semaphores[k].value == 0 || machine->status != STATUS_OK) continue;
      machine->status = diag_fail(
          machine->diag, STATUS_DEADLOCK, spec->place, NULL,
          "race: on chip %u semaphore %u of %.*s is left at %ld: it was signalled more often "
          "than waited for",
          spec->chips[i], k, STR_ARG(machine->ledger->names.at[spec->name]), (long)semaphores[k].value);
    }
  }
}

static void free_when_over(Launch *launch) {
  if (launch->present > 0 || launch->pending > 0) return;
  check_semaphores(launch);
  launch_free(launch);
}

Launch *launch_new(Machine *machine, const LaunchSpec *spec) {
  Launch *launch = zeroed(1, sizeof *launch);
  *launch = (Launch){.machine = machine,
                     .spec = spec,
                     .has_values = machine->options->values != NULL,
                     .offsets = zeroed(spec->n_buffers + 1, sizeof *launch->offsets),
                     .members = zeroed(spec->members, sizeof *launch->members),
                     .kernels = zeroed(spec->members, sizeof *launch->kernels),
                     .missing = spec->members,
                     .present = spec->members,
                     .next = machine->launches};
  for (uint32_t i = 0; i < spec->n_buffers; i++)
    launch->offsets[i + 1] = launch->offsets[i] + (size_t)spec->buffers[i] * spec->element_bytes;
  for (uint32_t i = 0; i < spec->members; i++) launch->kernels[i] = (Kernel){launch, i};
  if (launch->next != NULL) launch->next->previous = launch;
  machine->launches = launch;
  return launch;
}

void launch_hide_values(Launch *launch) {
  launch->has_values = false;
}

bool launch_has_values(const Launch *launch) {
  return launch->has_values;
}

unsigned char *launch_buffer(Launch *launch, uint32_t member, uint32_t buffer) {
  if (!launch->has_values) return NULL;
  Member *own = &launch->members[member];
  if (own->bytes == NULL) own->bytes = zeroed(launch->offsets[launch->spec->n_buffers], 1);
  return own->bytes + launch->offsets[buffer];
}

void launch_run(Launch *launch, uint32_t member) {
  int64_t startup_ps = ici_startup_ps(launch->machine->pod);
  launch->missing--;
  if (startup_ps > 0) sleep_until_ps(date_ps() + startup_ps);
  launch->spec->body(&launch->kernels[member]);
}

void launch_leave(Launch *launch) {
  launch->present--;
  free_when_over(launch);
}

uint32_t launch_missing(const Launch *launch) {
  return launch->missing;
}

static void pending_ended(Launch *launch) {
  launch->pending--;
  free_when_over(launch);
}

/* The kernel's side. */

uint32_t kernel_member(const Kernel *kernel) {
  return kernel->member;
}

uint32_t kernel_members(const Kernel *kernel) {
  return kernel->launch->spec->members;
}

const void *kernel_plan(const Kernel *kernel) {
  return kernel->launch->spec->plan;
}

static uint32_t chip_of(const Launch *launch, uint32_t member) {
  return member == NO_MEMBER ? NO_PEER : launch->spec->chips[member];
}

static Semaphore *semaphore_of(Launch *launch, uint32_t member, uint32_t semaphore) {
  Member *own = &launch->members[member];
  if (own->semaphores == NULL) own->semaphores = zeroed(launch->spec->n_semaphores, sizeof *own->semaphores);
  return &own->semaphores[semaphore];
}

static unsigned char *slice_bytes(Launch *launch, uint32_t member, Slice slice) {
  unsigned char *buffer = launch_buffer(launch, member, slice.buffer);
  return buffer == NULL ? NULL : buffer + (size_t)slice.at * launch->spec->element_bytes;
}

static void copy(Launch *launch, uint32_t to_member, Slice to, uint32_t from_member, Slice from) {
  unsigned char *into = slice_bytes(launch, to_member, to);
  if (into != NULL && from.n > 0)
    memmove(into, slice_bytes(launch, from_member, from), (size_t)from.n * launch->spec->element_bytes);
}

/* A DMA, or a signal alone, on its way. */
struct Message {
  Launch *launch;
  uint32_t from_member, to_member;
  Slice from, to;
  uint32_t sent, received;
  int64_t signals;
  uint32_t flow;
  Message *next_free;
};

static Message *message_new(Machine *machine) {
  Message *message = machine->free_messages;
  if (message == NULL) return ARENA_NEW(machine->arena, Message);
  machine->free_messages = message->next_free;
  return message;
}

static void message_free(Machine *machine, Message *message) {
  message->next_free = machine->free_messages;
  machine->free_messages = message;
}

static void message_left(void *argument) {
  const Message *message = argument;
  semaphore_signal(semaphore_of(message->launch, message->from_member, message->sent), 1, 0);
}

static void message_landed(void *argument) {
  Message *message = argument;
  Launch *launch = message->launch;
  copy(launch, message->to_member, message->to, message->from_member, message->from);
  if (message->received != NO_SEMAPHORE)
    semaphore_signal(semaphore_of(launch, message->to_member, message->received), message->signals,
                     message->flow);
  message_free(launch->machine, message);
  pending_ended(launch);
}

static int64_t wire_bytes(const LaunchSpec *spec, int64_t elements) {
  return (elements * spec->element_bits + 7) / 8;
}

/* Sends it over the fabric, or within the chip at once. */
static void message_send(Message message, uint32_t via, bool is_dma) {
  Launch *launch = message.launch;
  const LaunchSpec *spec = launch->spec;
  Message *own = message_new(launch->machine);
  *own = message;
  launch->pending++;
  if (message.from_member == message.to_member) {
    if (message.sent != NO_SEMAPHORE) message_left(own);
    message_landed(own);
    return;
  }
  Transfer transfer = {.from = chip_of(launch, message.from_member),
                       .to = chip_of(launch, message.to_member),
                       .via = chip_of(launch, via),
                       .bytes = wire_bytes(spec, message.from.n),
                       .is_signal = !is_dma,
                       .name = spec->name,
                       .op = spec->op,
                       .left = message.sent == NO_SEMAPHORE ? NULL : message_left,
                       .landed = message_landed,
                       .argument = own};
  own->flow = is_dma ? fabric_next_flow(launch->machine->fabric) : 0;
  transfer.flow = own->flow;
  fabric_send(launch->machine->fabric, transfer);
}

/* Whether this is the one that --break asks to skip. */
static bool is_broken(int64_t *issued, int64_t broken) {
  return ++*issued == broken;
}

static void dma_start(Kernel *kernel, Message message, uint32_t via) {
  Machine *machine = kernel->launch->machine;
  if (is_broken(&machine->dmas, machine->options->break_dma)) return;
  message.launch = kernel->launch;
  message.from_member = kernel->member;
  message.signals = 1;
  message_send(message, via, true);
}

void kernel_dma(Kernel *kernel, Slice from, uint32_t member, Slice to, uint32_t sent, uint32_t received) {
  kernel_dma_via(kernel, from, NO_MEMBER, member, to, sent, received);
}

void kernel_dma_via(Kernel *kernel, Slice from, uint32_t via, uint32_t member, Slice to, uint32_t sent,
                    uint32_t received) {
  dma_start(kernel,
            (Message){.to_member = member, .from = from, .to = to, .sent = sent, .received = received}, via);
}

void kernel_signal(Kernel *kernel, uint32_t member, uint32_t semaphore, int64_t n) {
  message_send((Message){.launch = kernel->launch,
                         .from_member = kernel->member,
                         .to_member = member,
                         .sent = NO_SEMAPHORE,
                         .received = semaphore,
                         .signals = n},
               NO_MEMBER, false);
}

static void add_wait_event(const Kernel *kernel, const Semaphore *semaphore, uint32_t peer,
                           int64_t start_ps) {
  Machine *machine = kernel->launch->machine;
  const LaunchSpec *spec = kernel->launch->spec;
  uint32_t chip = chip_of(kernel->launch, kernel->member);
  int64_t now_ps = date_ps();
  if (now_ps == start_ps || peer == chip) return; /* for another of its own threads: no news */
  Lanes *lanes = fabric_sync_lanes(machine->fabric, chip);
  uint32_t lane = lane_take(machine->arena, lanes, start_ps);
  lane_give(lanes, lane, now_ps);
  ledger_add(machine->ledger, (Event){.kind = EVENT_WAIT,
                                      .track = TRACK_SYNC,
                                      .chip = chip,
                                      .lane = lane,
                                      .name = spec->name,
                                      .op = spec->op,
                                      .peer = peer,
                                      .flow = semaphore->flow,
                                      .start_ps = start_ps,
                                      .duration_ps = now_ps - start_ps});
}

void kernel_wait(Kernel *kernel, uint32_t semaphore, int64_t n, uint32_t from, const char *what) {
  Launch *launch = kernel->launch;
  Machine *machine = launch->machine;
  if (is_broken(&machine->waits, machine->options->break_wait)) return;
  Semaphore *own = semaphore_of(launch, kernel->member, semaphore);
  int64_t start_ps = date_ps();
  uint32_t peer = chip_of(launch, from);
  semaphore_wait(
      own, n,
      (Waiting){.chip = chip_of(launch, kernel->member), .op = launch->spec->op, .peer = peer, .what = what});
  add_wait_event(kernel, own, peer, start_ps);
}

void kernel_barrier(Kernel *kernel, uint32_t semaphore) {
  uint32_t members = kernel_members(kernel);
  for (uint32_t member = 0; member < members; member++) kernel_signal(kernel, member, semaphore, 1);
  kernel_wait(kernel, semaphore, members, NO_MEMBER, "a barrier");
}

void kernel_give_credit(Kernel *kernel, uint32_t sender, uint32_t semaphore) {
  kernel_signal(kernel, sender, semaphore, 1);
}

void kernel_take_credit(Kernel *kernel, uint32_t receiver, uint32_t semaphore) {
  kernel_wait(kernel, semaphore, 1, receiver, "a credit");
}

void kernel_copy(Kernel *kernel, Slice to, Slice from) {
  copy(kernel->launch, kernel->member, to, kernel->member, from);
}

void kernel_combine(Kernel *kernel, Slice into, Slice from) {
  Launch *launch = kernel->launch;
  const LaunchSpec *spec = launch->spec;
  if (!launch->has_values || into.n == 0) return;
  const ValueOps *values = launch->machine->options->values;
  Status status =
      values->combine(values->self, spec->reduction, spec->dtype, slice_bytes(launch, kernel->member, into),
                      slice_bytes(launch, kernel->member, from), into.n);
  if (launch->machine->status == STATUS_OK) launch->machine->status = status;
}

struct Fork {
  Kernel *kernel;
  void (*body)(Kernel *kernel, uint32_t which);
  uint32_t which, done;
  Fork *next_free;
};

static void run_fork(void *argument) {
  Fork *own = argument, fork = *own;
  Launch *launch = fork.kernel->launch;
  own->next_free = launch->machine->free_forks;
  launch->machine->free_forks = own;
  fork.body(fork.kernel, fork.which);
  kernel_signal(fork.kernel, fork.kernel->member, fork.done, 1);
  pending_ended(launch);
}

void kernel_fork(Kernel *kernel, void (*body)(Kernel *kernel, uint32_t which), uint32_t which,
                 uint32_t done) {
  Machine *machine = kernel->launch->machine;
  Fork *fork = machine->free_forks;
  if (fork == NULL)
    fork = ARENA_NEW(machine->arena, Fork);
  else
    machine->free_forks = fork->next_free;
  *fork = (Fork){kernel, body, which, done, NULL};
  kernel->launch->pending++;
  actors_spawn(machine->actors, run_fork, fork);
}

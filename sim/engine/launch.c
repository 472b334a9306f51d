/* Launches, and the kernel interface on them. A member's memory is made when somebody first touches it: a DMA
 * may land before its chip has come to the collective, since the buffers are the execution's own. */
#include "sim/engine/launch.h"

#include "models/ici_model.h"
#include "sim/engine/fold.h"
#include "sim/engine/kernel_trace.h"
#include "sim/engine/semaphore.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct Kernel {
  Launch *launch;         /* NULL where it is traced */
  const LaunchSpec *spec; /* of its group */
  uint32_t member;
  KernelTrace *trace; /* NULL where it runs */
};

/* A member of the group; in a folded launch a chip. */
typedef struct {
  unsigned char *bytes; /* all its buffers */
  Semaphore *semaphores;
  uint32_t n_semaphores;
} Member;

struct Launch {
  Machine *machine;
  const LaunchSpec *spec;
  bool has_values;
  size_t *offsets; /* of each buffer in a member's bytes, and the end */
  uint32_t n_seats;
  Member *members; /* by seat */
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

Status machine_new(Arena *arena, const Pod *pod, const Fold *fold, const RunOptions *options, Ledger *ledger,
                   Machine **machine, Diag *diag) {
  Machine *own = ARENA_NEW(arena, Machine);
  *own =
      (Machine){.arena = arena, .pod = pod, .fold = fold, .ledger = ledger, .options = options, .diag = diag};
  TRY(fabric_new(arena, pod, fold, ledger, &own->fabric, diag));
  own->actors = fabric_actors(own->fabric);
  *machine = own;
  return STATUS_OK;
}

static void launch_free(Launch *launch) {
  for (uint32_t i = 0; i < launch->n_seats; i++) {
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
  for (uint32_t i = 0; i < launch->n_seats; i++) {
    const Semaphore *semaphores = launch->members[i].semaphores;
    for (uint32_t k = 0; k < launch->members[i].n_semaphores; k++) {
      if (semaphores[k].value == 0 || machine->status != STATUS_OK) continue;
      machine->status =
          diag_fail(machine->diag, STATUS_DEADLOCK, spec->place, NULL,
                    "race: on chip %u semaphore %u of %.*s is left at %ld: it was signalled more often "
                    "than waited for",
                    machine->fold == NULL ? spec->chips[i] : i, k,
                    STR_ARG(machine->ledger->names.at[spec->name]), (long)semaphores[k].value);
    }
  }
}

static void free_when_over(Launch *launch) {
  if (launch->present > 0 || launch->pending > 0) return;
  check_semaphores(launch);
  launch_free(launch);
}

static Launch *launch_of(Machine *machine, const LaunchSpec *spec, uint32_t members, uint32_t n_seats) {
  Launch *launch = zeroed(1, sizeof *launch);
  *launch = (Launch){.machine = machine,
                     .spec = spec,
                     .has_values = machine->options->values != NULL,
                     .offsets = zeroed(spec->n_buffers + 1, sizeof *launch->offsets),
                     .n_seats = n_seats,
                     .members = zeroed(n_seats, sizeof *launch->members),
                     .kernels = zeroed(n_seats, sizeof *launch->kernels),
                     .missing = members,
                     .present = members,
                     .next = machine->launches};
  for (uint32_t i = 0; i < spec->n_buffers; i++)
    launch->offsets[i + 1] = launch->offsets[i] + (size_t)spec->buffers[i] * spec->element_bytes;
  if (launch->next != NULL) launch->next->previous = launch;
  machine->launches = launch;
  return launch;
}

Launch *launch_new(Machine *machine, const LaunchSpec *spec) {
  return launch_of(machine, spec, spec->members, spec->members);
}

Launch *launch_new_folded(Machine *machine, const LaunchSpec *spec, uint32_t members) {
  Launch *launch = launch_of(machine, spec, members, machine->pod->n_chips);
  launch->has_values = false;
  return launch;
}

static uint32_t seat_of(const Kernel *kernel, uint32_t member) {
  const Fold *fold = kernel->launch->machine->fold;
  return fold == NULL ? member : fold_chip(fold, kernel->spec->chips[member]);
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

void launch_run(Launch *launch, const LaunchSpec *spec, uint32_t member) {
  int64_t startup_ps = ici_startup_ps(launch->machine->pod);
  Kernel own = {.launch = launch, .spec = spec, .member = member};
  Kernel *kernel = &launch->kernels[seat_of(&own, member)];
  *kernel = own;
  launch->missing--;
  if (startup_ps > 0) sleep_until_ps(date_ps() + startup_ps);
  spec->body(kernel);
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
  return kernel->spec->members;
}

const void *kernel_plan(const Kernel *kernel) {
  return kernel->spec->plan;
}

static uint32_t chip_of(const Kernel *kernel, uint32_t member) {
  return member == NO_MEMBER ? NO_PEER : kernel->spec->chips[member];
}

static Semaphore *semaphore_of(const Kernel *kernel, uint32_t member, uint32_t semaphore) {
  Member *own = &kernel->launch->members[seat_of(kernel, member)];
  if (own->semaphores == NULL) {
    own->n_semaphores = kernel->spec->n_semaphores;
    own->semaphores = zeroed(own->n_semaphores, sizeof *own->semaphores);
  }
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
  const Kernel *from;
  uint32_t to_member;
  Slice source, target;
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
  semaphore_signal(semaphore_of(message->from, message->from->member, message->sent), 1, 0);
}

static void message_landed(void *argument) {
  Message *message = argument;
  Launch *launch = message->from->launch;
  copy(launch, message->to_member, message->target, message->from->member, message->source);
  if (message->received != NO_SEMAPHORE)
    semaphore_signal(semaphore_of(message->from, message->to_member, message->received), message->signals,
                     message->flow);
  message_free(launch->machine, message);
  pending_ended(launch);
}

static int64_t wire_bytes(const LaunchSpec *spec, int64_t elements) {
  return (elements * spec->element_bits + 7) / 8;
}

/* Sends it over the fabric, or within the chip at once. */
static void message_send(Message message, uint32_t via, bool is_dma) {
  const Kernel *kernel = message.from;
  Launch *launch = kernel->launch;
  const LaunchSpec *spec = kernel->spec;
  Message *own = message_new(launch->machine);
  *own = message;
  launch->pending++;
  if (kernel->member == message.to_member) {
    if (message.sent != NO_SEMAPHORE) message_left(own);
    message_landed(own);
    return;
  }
  Transfer transfer = {.from = chip_of(kernel, kernel->member),
                       .to = chip_of(kernel, message.to_member),
                       .via = chip_of(kernel, via),
                       .bytes = wire_bytes(spec, message.source.n),
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

static void trace_message(const Kernel *kernel, const Message *message, uint32_t via) {
  trace_send(kernel->trace, chip_of(kernel, via), chip_of(kernel, message->to_member),
             wire_bytes(kernel->spec, message->source.n));
  trace_semaphores(kernel->trace, message->sent, message->received, message->signals);
}

void kernel_dma(Kernel *kernel, Slice from, uint32_t member, Slice to, uint32_t sent, uint32_t received) {
  kernel_dma_via(kernel, from, NO_MEMBER, member, to, sent, received);
}

void kernel_dma_via(Kernel *kernel, Slice from, uint32_t via, uint32_t member, Slice to, uint32_t sent,
                    uint32_t received) {
  Message message = {.from = kernel,
                     .to_member = member,
                     .source = from,
                     .target = to,
                     .sent = sent,
                     .received = received,
                     .signals = 1};
  if (kernel->trace != NULL) {
    trace_message(kernel, &message, via);
    return;
  }
  Machine *machine = kernel->launch->machine;
  if (!is_broken(&machine->dmas, machine->options->break_dma)) message_send(message, via, true);
}

void kernel_signal(Kernel *kernel, uint32_t member, uint32_t semaphore, int64_t n) {
  Message message = {
      .from = kernel, .to_member = member, .sent = NO_SEMAPHORE, .received = semaphore, .signals = n};
  if (kernel->trace != NULL)
    trace_message(kernel, &message, NO_MEMBER);
  else
    message_send(message, NO_MEMBER, false);
}

static void add_wait_event(const Kernel *kernel, const Semaphore *semaphore, uint32_t peer,
                           int64_t start_ps) {
  Machine *machine = kernel->launch->machine;
  const LaunchSpec *spec = kernel->spec;
  uint32_t chip = chip_of(kernel, kernel->member);
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
  if (kernel->trace != NULL) {
    trace_semaphores(kernel->trace, semaphore, chip_of(kernel, from) == chip_of(kernel, kernel->member), n);
    return;
  }
  Machine *machine = kernel->launch->machine;
  if (is_broken(&machine->waits, machine->options->break_wait)) return;
  Semaphore *own = semaphore_of(kernel, kernel->member, semaphore);
  int64_t start_ps = date_ps();
  uint32_t peer = chip_of(kernel, from);
  Waiting waiting = {
      .chip = chip_of(kernel, kernel->member), .op = kernel->spec->op, .peer = peer, .what = what};
  semaphore_wait(own, n, waiting);
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
  if (kernel->trace == NULL) copy(kernel->launch, kernel->member, to, kernel->member, from);
}

void kernel_combine(Kernel *kernel, Slice into, Slice from) {
  Launch *launch = kernel->launch;
  const LaunchSpec *spec = kernel->spec;
  if (kernel->trace != NULL || !launch->has_values || into.n == 0) return;
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
  if (kernel->trace != NULL) {
    trace_semaphores(kernel->trace, done, which, 0);
    body(kernel, which);
    return;
  }
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

uint64_t kernel_trace_hash(const Pod *pod, const LaunchSpec *spec, uint32_t member) {
  KernelTrace trace = {.pod = pod, .chip = spec->chips[member]};
  Kernel kernel = {.spec = spec, .member = member, .trace = &trace};
  trace_semaphores(&trace, spec->n_semaphores, 0, 0);
  spec->body(&kernel);
  return trace.hash;
}

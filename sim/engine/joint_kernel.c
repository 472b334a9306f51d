/* Kernels that talk to each other. The chips meet; the last to come has the numbers of all of them computed,
 * and with them what each kernel sends, signals and waits for (KernelTalk). That then happens on the
 * simulated links, chip by chip, beside the kernel's own compute: it ends when both have. */
#include "sim/engine/joint_kernel.h"

#include "sim/engine/launch.h"
#include "sim/mosaic/mosaic.h"

#include <stdlib.h>

/* An execution: which chips have come, and with what. */
typedef struct JointMeeting {
  uint64_t count;
  Value ***operands; /* by device; borrowed from the chips that wait */
  Value **results;   /* by device */
  Actor **waiting;   /* by device */
  uint32_t joined;
  bool ready;
  LaunchSpec spec;
  Launch *launch;
  struct JointMeeting *next;
} JointMeeting;

struct JointKernel {
  uint64_t *counts; /* executions by chip */
  JointMeeting *meetings;
  uint32_t op, name;
  const KernelTalk *talk; /* of all executions, where it is the same each time */
  JointKernel *next;      /* of the execution */
};

static JointKernel *joint_kernel(Frame *frame, const Step *step) {
  Execution *execution = frame->chip->execution;
  uint32_t instr = step_instr(step);
  InstrInfo *info = &execution->infos[frame->comp][instr];
  if (info->joint != NULL) return info->joint;
  JointKernel *own = info->joint = ARENA_NEW(execution->arena, JointKernel);
  *own = (JointKernel){.counts = ARENA_ARRAY(execution->arena, uint64_t, execution->devices),
                       .next = execution->joint_kernels};
  execution->joint_kernels = own;
  own->op = frame_op(frame, step);
  own->name = ledger_name(execution->ledger, frame_instr(frame, instr)->name);
  return own;
}

static JointMeeting *meet(Execution *execution, JointKernel *kernel, uint64_t count) {
  JointMeeting *meeting = kernel->meetings;
  while (meeting != NULL && meeting->count != count) meeting = meeting->next;
  if (meeting != NULL) return meeting;
  uint32_t n = execution->devices;
  meeting = ARENA_NEW(execution->arena, JointMeeting);
  *meeting = (JointMeeting){.count = count,
                            .operands = ARENA_ARRAY(execution->arena, Value **, n),
                            .results = ARENA_ARRAY(execution->arena, Value *, n),
                            .waiting = ARENA_ARRAY(execution->arena, Actor *, n),
                            .next = kernel->meetings};
  kernel->meetings = meeting;
  return meeting;
}

static void leave(JointKernel *kernel, JointMeeting *meeting) {
  JointMeeting **at = &kernel->meetings;
  if (--meeting->joined > 0) return;
  while (*at != meeting) at = &(*at)->next;
  *at = meeting->next;
}

/* ---- what happens on the links */

static void talk(Kernel *kernel) {
  const KernelTalk *all = kernel_plan(kernel);
  uint32_t member = kernel_member(kernel);
  for (uint32_t i = 0; i < all->of[member].n; i++) {
    const Talk *own = &all->of[member].at[i];
    Slice slice = {0, 0, own->n};
    switch (own->kind) {
    case TALK_DMA: kernel_dma(kernel, slice, own->device, slice, own->sent, own->semaphore); break;
    case TALK_SIGNAL: kernel_signal(kernel, own->device, own->semaphore, own->n); break;
    case TALK_WAIT:
      kernel_wait(kernel, own->semaphore, own->n, NO_MEMBER, "a signal or a DMA of its kernel");
      break;
    }
  }
}

/* Members are devices. */
static void prepare_launch(Execution *execution, const JointKernel *kernel, JointMeeting *meeting,
                           const KernelTalk *all, Place place) {
  int64_t *buffer = ARENA_ARRAY(execution->arena, int64_t, 1);
  *buffer = all->most_bytes;
  meeting->spec = (LaunchSpec){.chips = execution->chip_of,
                               .members = execution->devices,
                               .body = talk,
                               .plan = all,
                               .buffers = buffer,
                               .n_buffers = 1,
                               .n_semaphores = all->n_semaphores,
                               .element_bytes = 1,
                               .element_bits = 8,
                               .reduction = NO_ID,
                               .name = kernel->name,
                               .op = kernel->op,
                               .place = place};
  meeting->launch = launch_new(execution->machine, &meeting->spec);
  launch_hide_values(meeting->launch);
}

/* ---- the numbers */

void joint_kernels_clear(const Execution *execution) {
  const ValueOps *values = values_of(execution);
  for (const JointKernel *kernel = execution->joint_kernels; kernel != NULL; kernel = kernel->next) {
    for (const JointMeeting *meeting = kernel->meetings; meeting != NULL; meeting = meeting->next) {
      for (uint32_t d = 0; d < execution->devices; d++) {
        if (meeting->results[d] != NULL) values->release(values->self, meeting->results[d]);
      }
    }
  }
}

static Status evaluate(Frame *frame, const Step *step, JointKernel *kernel, JointMeeting *meeting) {
  Execution *execution = frame->chip->execution;
  const ValueOps *values = values_of(execution);
  const Instr *instr = frame_instr(frame, step_instr(step));
  KernelTalk *told = ARENA_NEW(execution->arena, KernelTalk);
  *told = (KernelTalk){.devices = execution->devices};
  if (values != NULL) {
    KernelTalk *wanted = kernel->talk == NULL ? told : NULL;
    TRY(values->together(values->self, execution->arena, frame->comp, instr, execution->devices,
                         (Value *const *const *)meeting->operands, meeting->results, wanted));
  }
  if (told->same_each_time) kernel->talk = told;
  const KernelTalk *all = kernel->talk != NULL ? kernel->talk : told;
  if (all->of != NULL) prepare_launch(execution, kernel, meeting, all, instr->place);
  return STATUS_OK;
}

static void wake_all(const JointMeeting *meeting, uint32_t devices) {
  for (uint32_t d = 0; d < devices; d++) {
    if (meeting->waiting[d] != NULL) actor_wake(meeting->waiting[d]);
  }
}

/* The last to come computes; the others sleep until it has. */
static Status wait_for_all(Frame *frame, const Step *step, JointKernel *kernel, JointMeeting *meeting) {
  Execution *execution = frame->chip->execution;
  uint32_t device = execution->device_of[frame->chip->number];
  meeting->operands[device] = frame->held;
  if (++meeting->joined == execution->devices) {
    Status status = evaluate(frame, step, kernel, meeting);
    meeting->ready = true;
    wake_all(meeting, execution->devices);
    return execution_fail(execution, status);
  }
  meeting->waiting[device] = actor_self();
  Waiting waiting = {
      .chip = frame->chip->number, .op = kernel->op, .peer = NO_PEER, .what = "the other chips"};
  while (!meeting->ready) actor_park(actor_self(), waiting);
  meeting->waiting[device] = NULL;
  return execution->status;
}

/* ---- a chip's part */

bool is_joint_kernel(const Frame *frame, const Step *step) {
  return mosaic_communicates(frame_instr(frame, step_instr(step)));
}

Status run_joint_kernel(Frame *frame, const Step *step) {
  Execution *execution = frame->chip->execution;
  JointKernel *kernel = joint_kernel(frame, step);
  uint32_t chip = frame->chip->number, device = execution->device_of[chip];
  TRY(frame_join(frame));
  frame_hold(frame, step);
  int64_t start_ps = date_ps();
  JointMeeting *meeting = meet(execution, kernel, kernel->counts[chip]++);
  TRY(wait_for_all(frame, step, kernel, meeting));
  int64_t met_ps = date_ps();
  if (meeting->launch != NULL) launch_run(meeting->launch, &meeting->spec, device);
  if (date_ps() < met_ps + step->time_ps) sleep_until_ps(met_ps + step->time_ps);
  if (meeting->launch != NULL) launch_leave(meeting->launch);
  frame_drop_held(frame);
  frame_set(frame, step, meeting->results[device]);
  meeting->results[device] = NULL;
  frame_release(frame, step);
  frame_add_event(frame, step, start_ps,
                  (Event){.kind = EVENT_COMPUTE,
                          .op = kernel->op,
                          .bytes = step->demand.hbm_bytes,
                          .flops = step->demand.flops});
  leave(kernel, meeting);
  return execution_fail(execution, execution->machine->status);
}

/* Collective-broadcast: the value in chunks, passed on from chip to chip as they come: along the first axis,
 * from each of its chips along the second, and so on. Where an axis is a ring, one half of the value goes
 * round upwards, the other downwards. */
#include "sim/engine/collectives.h"

/* One half of the value (or all of it), as it passes a chip. */
typedef struct {
  const CollectivePlan *plan;
  uint32_t stream, member;
} Stream;

static Slice chunk_of(const Stream *stream, uint32_t chunk) {
  const CollectivePlan *plan = stream->plan;
  Split whole = {PLAN_WORK, 0, plan->elements, plan->streams * plan->chunks};
  return split_slice(whole, stream->stream * plan->chunks + chunk, 1);
}

static uint32_t chunk_semaphore(const Stream *stream, uint32_t chunk) {
  return stream->stream * stream->plan->chunks + chunk;
}

static uint32_t first_port(const Stream *stream) {
  return stream->plan->ports + stream->stream * RING_PORTS * stream->plan->group->n_axes;
}

/* The last axis on which a chip's coordinate is not the root's: chunks come along it. -1 at the root. */
static int64_t incoming_axis(const Stream *stream) {
  const GroupLayout *group = stream->plan->group;
  for (uint32_t axis = group->n_axes; axis-- > 0;)
    if (group_position(group, axis, stream->member) != group_position(group, axis, stream->plan->root))
      return axis;
  return -1;
}

/* Whether a chip passes chunks on along an axis, up or down. */
static bool passes_on(const Stream *stream, uint32_t axis, bool down, const Ring *line) {
  uint32_t root = group_position(stream->plan->group, axis, stream->plan->root), length = line->length;
  if (line->ring) {
    uint32_t next = line->position + (down ? length - 1 : 1);
    return down == (stream->stream == 1) && next % length != root;
  }
  if (down) return line->position > 0 && line->position <= root;
  return line->position + 1 < length && line->position >= root;
}

static void pass_on(Kernel *kernel, const Stream *stream, uint32_t chunk, uint32_t axis) {
  Ring line = ring_along(kernel, axis);
  Slice slice = chunk_of(stream, chunk);
  for (uint32_t down = 0; down < 2; down++) {
    if (!passes_on(stream, axis, down == 1, &line)) continue;
    uint32_t child = down == 1 ? line.previous : line.next,
             port = first_port(stream) + RING_PORTS * axis + down;
    kernel_wait(kernel, port, 1, child, "its own DMA before");
    kernel_dma(kernel, slice, child, slice, port, chunk_semaphore(stream, chunk));
  }
}

static uint32_t parent_of(Kernel *kernel, const Stream *stream, uint32_t axis) {
  Ring line = ring_along(kernel, axis);
  bool from_above = line.ring ? stream->stream == 1
                              : line.position < group_position(stream->plan->group, axis, stream->plan->root);
  return from_above ? line.next : line.previous;
}

static void run_stream(Kernel *kernel, uint32_t number) {
  Stream stream = {kernel_plan(kernel), number, kernel_member(kernel)};
  int64_t incoming = incoming_axis(&stream);
  uint32_t axes = stream.plan->group->n_axes, first_axis = incoming < 0 ? 0 : (uint32_t)incoming;
  uint32_t parent = incoming < 0 ? NO_MEMBER : parent_of(kernel, &stream, first_axis);
  for (uint32_t port = 0; port < RING_PORTS * axes; port++)
    kernel_signal(kernel, stream.member, first_port(&stream) + port, 1);
  for (uint32_t chunk = 0; chunk < stream.plan->chunks; chunk++) {
    if (incoming >= 0) kernel_wait(kernel, chunk_semaphore(&stream, chunk), 1, parent, "a chunk");
    for (uint32_t axis = first_axis; axis < axes; axis++) pass_on(kernel, &stream, chunk, axis);
  }
  for (uint32_t port = 0; port < RING_PORTS * axes; port++)
    kernel_wait(kernel, first_port(&stream) + port, 1, NO_MEMBER, "its own last DMA");
}

void broadcast_kernel(Kernel *kernel) {
  const CollectivePlan *plan = kernel_plan(kernel);
  for (uint32_t stream = 1; stream < plan->streams; stream++)
    kernel_fork(kernel, run_stream, stream, plan->done_semaphore);
  run_stream(kernel, 0);
  for (uint32_t stream = 1; stream < plan->streams; stream++)
    kernel_wait(kernel, plan->done_semaphore, 1, kernel_member(kernel), "its other half");
}

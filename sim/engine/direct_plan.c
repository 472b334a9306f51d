/* Plans of what goes straight to where it is wanted. An all-to-all takes the axes one after the other, a
 * piece in each order, so that all links work at once; a broadcast is passed on in chunks, so many that the
 * first and the last wait for each other alike. */
#include "sim/engine/plan_parts.h"

#include <math.h>

/* Elements over the fullest link of an axis, when each of its chips sends `each` to each other one. */
static double pairs_link_bytes(GroupAxis axis, double each) {
  if (axis.dcn) return (axis.length - 1) * each;
  if (axis.pairs > 0) return axis.pairs * each;
  double length = axis.length, pairs = axis.length % 2 == 0 ? length * length : length * length - 1;
  return axis.load * each * pairs / (axis.ring ? 8 : 4);
}

Slice phase_slice(const CollectivePlan *plan, uint32_t buffer, uint32_t piece, uint32_t phase) {
  const Piece *own = &plan->pieces.at[piece];
  int64_t members = plan->group->members, phases = plan->group->n_axes;
  return (Slice){buffer, (phases * own->at + phase * own->n) * members, own->n * members};
}

static Slice slice_part(Slice slice, uint32_t part, int64_t n) {
  return (Slice){slice.buffer, slice.at + part * n, n};
}

Slice sent_slice(const CollectivePlan *plan, uint32_t piece, uint32_t target) {
  return slice_part(phase_slice(plan, PLAN_WORK, piece, 0), piece_part(plan, piece, target),
                    plan->pieces.at[piece].n);
}

/* In the end the axis that was gone last is the outermost. */
Slice received_slice(const CollectivePlan *plan, uint32_t piece, uint32_t source) {
  const Piece *own = &plan->pieces.at[piece];
  uint32_t part = 0, last = plan->group->n_axes - 1;
  for (uint32_t phase = last + 1; phase-- > 0;) {
    uint32_t axis = own->order[phase];
    part = part * plan->group->axes[axis].length + group_position(plan->group, axis, source);
  }
  return slice_part(phase_slice(plan, PLAN_SLOTS, piece, last), part, own->n);
}

/* Links and the network between slices work side by side; their latencies come one after the other. */
static double plan_seconds(const CollectivePlan *plan, IciCost cost) {
  return cost.startup + plan->steps * cost.hop + plan->dcn_steps * cost.dcn_hop +
         fmax(plan->link_bytes * cost.byte, plan->dcn_bytes * cost.dcn_byte);
}

const CollectivePlan *plan_all_to_all(Arena *arena, const CollectivePlan *question, IciCost cost) {
  CollectivePlan *plan = plan_new(arena, question, ALGORITHM_DIRECT);
  uint32_t parts = plan->group->n_axes;
  for (uint32_t part = 0; part < parts; part++)
    plan_add_piece(arena, plan, part, plan->elements * part / parts, plan->elements * (part + 1) / parts);
  if (plan->elements == 0) plan->pieces.n = 1;
  plan->buffers[PLAN_WORK] = plan->buffers[PLAN_SLOTS] = plan->elements * plan->group->members * parts;
  plan->stages = parts;
  plan->n_semaphores = plan->pieces.n * (parts + 1) + 1; /* received in each phase, sent; done */
  plan->done_semaphore = plan->n_semaphores - 1;
  double bytes = (double)plan->elements * plan->group->members * plan->element_bits / 8;
  for (uint32_t i = 0; i < parts; i++) {
    GroupAxis axis = plan->group->axes[i];
    double *most = axis.dcn ? &plan->dcn_bytes : &plan->link_bytes;
    if (axis.dcn)
      plan->dcn_steps++;
    else
      plan->steps += axis.farthest > 0 ? axis.farthest : group_axis_steps(axis) * axis.hops;
    *most = fmax(*most, pairs_link_bytes(axis, bytes / axis.length));
  }
  plan->seconds = plan_seconds(plan, cost);
  return plan;
}

/* ---- broadcast */

enum { MOST_CHUNKS = 32 };

/* Chunks that make latency on the way and waiting for the first chunk alike. */
static uint32_t best_chunks(double stream_seconds, double latency, uint32_t depth, int64_t elements) {
  double best = latency == 0 ? MOST_CHUNKS : depth * sqrt(stream_seconds / latency);
  if (best > MOST_CHUNKS) best = MOST_CHUNKS;
  if (best > (double)elements) best = (double)elements;
  return best < 1 ? 1 : (uint32_t)best;
}

/* Hops of the longest branch, and what passes over each; both streams leave a slice over the same card. */
static void find_branch(CollectivePlan *plan) {
  double bytes = (double)plan->elements * plan->element_bits / 8;
  for (uint32_t i = 0; i < plan->group->n_axes; i++) {
    GroupAxis axis = plan->group->axes[i];
    *(axis.dcn ? &plan->dcn_steps : &plan->steps) += (axis.length - 1) * axis.hops;
    if (axis.ring) plan->streams = 2;
  }
  plan->link_bytes = plan->steps == 0 ? 0 : bytes / plan->streams;
  plan->dcn_bytes = plan->dcn_steps == 0 ? 0 : bytes;
}

const CollectivePlan *broadcast_plan(Arena *arena, const Pod *pod, const GroupLayout *group, uint32_t root,
                                     int64_t elements, uint32_t element_bits) {
  CollectivePlan *plan = ARENA_NEW(arena, CollectivePlan);
  IciCost cost = ici_cost(pod);
  *plan = (CollectivePlan){.kind = COLLECTIVE_BROADCAST,
                           .algorithm = ALGORITHM_TREE,
                           .group = group,
                           .element_bits = element_bits,
                           .elements = elements,
                           .root = root,
                           .streams = 1,
                           .buffers = {elements, 0}};
  find_branch(plan);
  uint32_t depth = plan->steps + plan->dcn_steps;
  double latency = plan->steps * cost.hop + plan->dcn_steps * cost.dcn_hop;
  double stream = fmax(plan->link_bytes * cost.byte, plan->dcn_bytes * cost.dcn_byte);
  plan->chunks = best_chunks(stream, latency, depth, elements / plan->streams);
  plan->ports = plan->streams * plan->chunks;
  plan->done_semaphore = plan->ports + plan->streams * RING_PORTS * group->n_axes;
  plan->n_semaphores = plan->done_semaphore + 1;
  plan->seconds = cost.startup + latency + stream * (depth + plan->chunks - 1.0) / plan->chunks;
  plan->text = plan_text(arena, plan);
  return plan;
}

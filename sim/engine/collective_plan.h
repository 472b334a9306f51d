/* Plans: how a collective runs on its group, chosen by predicted time. In: layout, elements, link constants.
 * Out: which elements go over which axes in which order, and the semaphores and buffers that takes. Pure
 * data: read by the kernels, printed by `explain`. */
#pragma once

#include "sim/engine/group_layout.h"
#include "sim/engine/ring.h"

typedef enum {
  ALGORITHM_RINGS,    /* gather and reduce-scatter steps, axis by axis */
  ALGORITHM_WHOLE,    /* all-reduce: whole values gathered along each axis, and reduced on every chip */
  ALGORITHM_ONE_SHOT, /* each member to each other one at once */
  ALGORITHM_DIRECT, /* all-to-all: each chip to each other one of its line, axis by axis; a permute's DMAs */
  ALGORITHM_TREE    /* broadcast: chunks passed on from chip to chip */
} Algorithm;

/* A part of the data that takes the axes in an order of its own. */
typedef struct {
  const GroupLayout *layout;
  uint32_t order[GROUP_AXES];
  int64_t at, n; /* of `elements` below */
} Piece;

/* A piece's way along one axis. The items of an axis run one after the other, those of different axes side by
 * side. */
typedef struct {
  uint32_t piece, phase; /* the axis is order[phase] */
  uint32_t stage;        /* of the piece; it waits for the stage before */
  bool gather;           /* else reduce-scatter */
  uint32_t chunks;       /* that a block is passed on in */
  uint32_t semaphores;   /* the first of the ring's */
  Slice slots;
} PlanItem;

typedef struct {
  CollectiveKind kind;
  Algorithm algorithm;
  const GroupLayout *group;
  uint32_t element_bits;
  /* Of a member: the shard that a gather takes and a reduce-scatter leaves, the value of an all-reduce,
   * permute or broadcast, what an all-to-all sends to each member. */
  int64_t elements;
  Vec(Piece) pieces;
  Vec(PlanItem) items[GROUP_AXES]; /* of each axis, in order */
  uint32_t stages;                 /* of a piece */
  uint32_t stage_semaphores;       /* the first: piece * stages + stage */
  uint32_t ports;                  /* the first of RING_PORTS an axis */
  uint32_t done_semaphore;         /* of axes, or pieces, that run beside the first */
  uint32_t n_semaphores;
  int64_t buffers[2]; /* elements of each */
  uint32_t chunks;    /* that a block is passed on in, at most; TREE: a stream */
  uint32_t root;      /* TREE: the member that has the value */
  uint32_t streams;   /* TREE, permute: parts of a value that go ways of their own (the least of a pair) */
  const uint32_t *target_of, *source_of; /* permute: by member, NO_MEMBER where none */
  const uint32_t *corners;               /* permute: of further routes; NULL where all go one way */

  uint32_t steps;     /* hop latencies on the longest way */
  double link_bytes;  /* that pass one way over one link after the other on the longest way */
  uint32_t dcn_steps; /* the same of the network between slices */
  double dcn_bytes;
  double seconds; /* predicted */
  Str text;       /* e.g. "ring 16 x ring 8 both ways, 3 pieces" */
} CollectivePlan;

enum { PLAN_WORK, PLAN_SLOTS }; /* the two buffers */

/* The fastest plan that podsim knows. For gathers, reductions and all-to-alls. */
const CollectivePlan *collective_plan(Arena *arena, const Pod *pod, CollectiveKind kind,
                                      const GroupLayout *group, int64_t elements, uint32_t element_bits);
/* `target_of` and `source_of` must outlive the plan. The value stands in PLAN_WORK, what comes in PLAN_SLOTS.
 */
const CollectivePlan *permute_plan(Arena *arena, const Pod *pod, const GroupLayout *group,
                                   const uint32_t *target_of, const uint32_t *source_of, int64_t elements,
                                   uint32_t element_bits);
/* Parts that a member's value is sent in, and the member that a part goes by way of (NO_MEMBER: none). */
uint32_t permute_parts(const CollectivePlan *plan, uint32_t member);
uint32_t permute_corner(const CollectivePlan *plan, uint32_t member, uint32_t part);
/* The value stands in PLAN_WORK of the root, and in the end of all. */
const CollectivePlan *broadcast_plan(Arena *arena, const Pod *pod, const GroupLayout *group, uint32_t root,
                                     int64_t elements, uint32_t element_bits);

/* Where the work buffer of a gather, reduce-scatter or ring all-reduce holds a piece: in a part a member,
 * ordered by place with the first axis of the piece outermost. */
Split piece_split(const CollectivePlan *plan, uint32_t piece);
/* The part that belongs to a member. */
uint32_t piece_part(const CollectivePlan *plan, uint32_t piece, uint32_t member);
/* Of an all-to-all: where a piece of what a member is to get stands at first, in PLAN_WORK, and where what
 * came from a member stands in the end, in PLAN_SLOTS. */
Slice sent_slice(const CollectivePlan *plan, uint32_t piece, uint32_t target);
Slice received_slice(const CollectivePlan *plan, uint32_t piece, uint32_t source);
/* What all members of an all-to-all exchange in one phase of a piece: a buffer's n elements. */
Slice phase_slice(const CollectivePlan *plan, uint32_t buffer, uint32_t piece, uint32_t phase);

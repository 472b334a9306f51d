/* How a group of chips lies on the torus. A group whose chips are a product of coordinates (whole axes,
 * segments, boxes, the same in several slices) has an axis for each torus axis that it spans, and the last
 * for the slices; any other group is one axis, a logical ring or line over routes. */
#pragma once

#include "models/ici_model.h"
#include "sim/config/pod.h"

enum { GROUP_AXES = POD_AXES + 1 };

typedef struct {
  uint32_t length;
  bool ring;                /* the last is a neighbour of the first */
  uint32_t hops;            /* between neighbours, the longest */
  uint32_t load;            /* of the fullest link, when every chip sends to both of its neighbours */
  bool neighbours;          /* one hop apart, with links of their own */
  uint32_t pairs, farthest; /* load of the fullest link when each sends to each other one, and the longest of
                               these ways; 0 where that follows from the rest */
  bool dcn; /* neighbours are in different slices: hops and load are those of the network between them */
} GroupAxis;

typedef struct GroupLayout GroupLayout;

struct GroupLayout {
  uint32_t members;
  const uint32_t *chips; /* by member */
  uint32_t n_axes;       /* 0 for a single chip, which no kernel is run for */
  GroupAxis axes[GROUP_AXES];
  uint32_t *member_at; /* by place: row-major over the axes */
  uint32_t *place_of;  /* by member */
  GroupShape shape;    /* for closed forms */
  /* Of all chips of a twisted torus: for what starts along a short axis the layout in which that is a ring,
   * twice as long and over the seam, and a long axis half as long. NULL: this one. */
  const GroupLayout *starting[POD_AXES];
};

/* `chips` are all different, and must outlive the layout. */
const GroupLayout *group_layout(Arena *arena, const Pod *pod, const uint32_t *chips, uint32_t members);
/* The coordinate of a member along an axis, and the member at another coordinate of that axis. */
uint32_t group_position(const GroupLayout *group, uint32_t axis, uint32_t member);
uint32_t group_member_along(const GroupLayout *group, uint32_t axis, uint32_t member, uint32_t position);
/* The layout of what starts along an axis. */
const GroupLayout *group_starting(const GroupLayout *group, uint32_t axis);
/* The same group as one line over routes, on which each sends to each other one. */
const GroupLayout *group_of_pairs(Arena *arena, const Pod *pod, const GroupLayout *group);
/* Axes before the one over slices. */
uint32_t group_torus_axes(const GroupLayout *group);
/* Steps from one end of an axis to all of it. */
uint32_t group_axis_steps(GroupAxis axis);

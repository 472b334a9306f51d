/* Rings. In: how a group lies on the torus. Out: an order of its members.
 *
 * The one idea: the group as a table, an axis of even length for its rows and a snake over the other axes for
 * its columns. The ring goes through the rows forth and back, but for the first column, by which it comes
 * home. */
#include "sim/engine/group_ring.h"

#include "sim/engine/route.h"

/* The axis that gives the rows: of even length where there is one. */
static uint32_t row_axis(const GroupLayout *group) {
  for (uint32_t axis = 0; axis < group->n_axes; axis++)
    if (group->axes[axis].length % 2 == 0) return axis;
  return 0;
}

/* The member in a row and a column; columns count the other axes as a snake. */
static uint32_t member_in(const GroupLayout *group, uint32_t rows, uint32_t row, uint32_t column) {
  uint32_t at[GROUP_AXES] = {0}, place = 0;
  at[rows] = row;
  for (uint32_t axis = group->n_axes; axis-- > 0;) {
    if (axis == rows) continue;
    uint32_t length = group->axes[axis].length, above = column / length, step = column % length;
    at[axis] = above % 2 == 0 ? step : length - 1 - step;
    column = above;
  }
  for (uint32_t axis = 0; axis < group->n_axes; axis++) place = place * group->axes[axis].length + at[axis];
  return group->member_at[place];
}

static void add_load(void *self, Link link) {
  uint32_t *loads = self;
  loads[link.chip * LINKS_PER_CHIP + 2 * link.axis + link.down]++;
}

static uint32_t fullest_link(const Pod *pod, const GroupLayout *group, const uint32_t *members) {
  Arena *scratch = arena_new();
  size_t links = (size_t)pod->n_chips * LINKS_PER_CHIP;
  uint32_t *loads = ARENA_ARRAY(scratch, uint32_t, links), most = 0;
  for (uint32_t i = 0; i < group->members; i++) {
    uint32_t chip = group->chips[members[i]], next = group->chips[members[(i + 1) % group->members]];
    route_links(pod, chip, next, add_load, loads);
    route_links(pod, next, chip, add_load, loads);
  }
  for (size_t link = 0; link < links; link++)
    if (loads[link] > most) most = loads[link];
  arena_free(scratch);
  return most;
}

GroupRing group_ring(Arena *arena, const Pod *pod, const GroupLayout *group) {
  GroupRing ring = {.members = ARENA_ARRAY(arena, uint32_t, group->members)};
  if (group->n_axes == 0) return ring;
  uint32_t rows = row_axis(group), n_rows = group->axes[rows].length, n_columns = group->members / n_rows;
  bool home = n_columns > 1 && n_rows % 2 == 0; /* by the first column */
  uint32_t n = 0;
  for (uint32_t row = 0; row < n_rows; row++) {
    for (uint32_t i = 0; i < n_columns; i++) {
      uint32_t column = row % 2 == 0 ? i : n_columns - 1 - i;
      if (column > 0 || !home || row == 0) ring.members[n++] = member_in(group, rows, row, column);
    }
  }
  for (uint32_t row = n_rows; home && --row > 0;) ring.members[n++] = member_in(group, rows, row, 0);
  ring.load = fullest_link(pod, group, ring.members);
  return ring;
}

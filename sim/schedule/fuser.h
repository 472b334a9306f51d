/* What fusion knows of a computation while it forms groups: shared by fuse.c and the rules that it asks. */
#pragma once

#include "sim/schedule/fuse.h"

typedef enum {
  ROLE_ALONE,  /* control flow, collectives, sorts, gathers, custom calls, names of what is there */
  ROLE_SHAPE,  /* bitcasts and free reshapes: no work, but may stand within a group */
  ROLE_REPEAT, /* broadcast, iota, conversion to a wider type: cheap to make again */
  ROLE_LOOP,   /* elementwise and moving */
  ROLE_COPY,   /* to another layout that keeps the lanes: made on the way into a kernel, ends none */
  ROLE_UPDATE, /* dynamic-update-slice: in place, so last in its group */
  ROLE_WINDOW, /* reduction of windows: takes what its operand is made of, and joins none */
  ROLE_REDUCE,
  ROLE_PRODUCT
} Role;

typedef struct {
  const Pod *pod;
  const Module *module;
  uint32_t comp;
  const Comp *body;
  const bool *anew; /* by element of the parameter */
  Groups groups;
  bool *has_product, *has_reduce; /* by group */
  uint32_t *result;               /* by group: what it makes beside a reduction of it; else its last */
  int64_t *most_elements;         /* by group: of what it goes through */
  bool *goes_back;                /* by group: over what a reduction within it took in */
  int64_t *longest_row;           /* by group: of what is reduced along its last dimension */
  uint32_t *origin;             /* by instruction: the one large value that it follows from, itself, or NO_ID:
                                   it follows from small ones */
  bool *leans, *reduced;        /* by instruction: see softmax_leans(), find_reduced() */
  uint32_t *first_user, *users; /* users[first_user[i] .. first_user[i + 1]) of instruction i */
} Fuser;

Role fuser_role(const Module *module, uint32_t comp, const Instr *instr);
/* Of a conversion: it reads less than it makes. */
bool fuser_widens(const Module *module, uint32_t comp, const Instr *convert);

/* The points of a what-if: runs that differ from the command line in mesh, layout or spec, each in a process
 * of its own (forked_run.h), ranked by step time, as a table and as CSV. */
#pragma once

#include "sim/base/vec.h"
#include "sim/forked_run.h"

typedef struct {
  Str label;  /* of its row */
  Str mesh;   /* data=4,model=2; empty: as the command line has it */
  Str layout; /* of mesh.layout; empty: the same */
  Str spec;   /* arg1=P(None, 'model'); empty: the same */
  ForkedRun run;
  Outcome outcome;
} Point;

typedef Vec(Point) Points;

/* Runs them all, options->jobs side by side, and ranks them: what runs and fits first, then the fastest. They
 * share cpu_ms_most of processor time (0: no limit), of which one may take a quarter; the outcome of what has
 * not ended by then is late. */
Status points_run(Arena *arena, const Options *options, int64_t cpu_ms_most, Points *points, Diag *diag);
/* A table for people; `what` heads the labels, and at most `most` rows stand in it. How the mesh lies is told
 * where points may differ in it. */
void points_print(StrBuf *buf, const Points *points, const char *what, bool layouts, uint32_t most);
Status points_csv_write(Arena *arena, const Points *points, const char *path, Diag *diag);

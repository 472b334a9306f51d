/* Deadlock report: actors that wait, a line for each instruction and thing that is waited for. */
#include "sim/engine/deadlock.h"

#include "sim/engine/fold.h"

enum { MOST_CHIPS = 8, MOST_LINES = 12 };

/* Chips that wait in one instruction for the same. */
typedef struct {
  uint32_t op;
  const char *what;
  Vec(Waiting) waits;
} Knot;

typedef struct {
  Arena *arena;
  Vec(Knot) knots;
} Knots;

static void add_wait(void *self, const Waiting *waiting) {
  Knots *knots = self;
  if (waiting->peer == waiting->chip) return; /* for another of its own actors, which is here too */
  uint32_t i = 0;
  while (i < knots->knots.n &&
         (knots->knots.at[i].op != waiting->op || knots->knots.at[i].what != waiting->what))
    i++;
  if (i == knots->knots.n)
    VEC_PUSH(knots->arena, &knots->knots, (Knot){.op = waiting->op, .what = waiting->what});
  VEC_PUSH(knots->arena, &knots->knots.at[i].waits, *waiting);
}

static const Instr *instr_of(const Execution *execution, uint32_t op) {
  return execution->op_instrs.at[op - execution->first_op];
}

static void add_chip(StrBuf *buf, const Execution *execution, const Waiting *waiting) {
  buf_printf(buf, "chip %u", waiting->chip);
  if (waiting->peer == NO_PEER) return;
  uint32_t peer = fold_chip(execution->machine->fold, waiting->peer);
  bool over = peer < execution->devices && execution->ended[peer];
  buf_printf(buf, " from chip %u%s", waiting->peer, over ? " (which has ended)" : "");
}

static void add_knot(StrBuf *buf, const Execution *execution, const Knot *knot) {
  const Instr *instr = instr_of(execution, knot->op);
  buf_printf(buf, "\n  in %.*s", STR_ARG(instr->name));
  if (instr->place.source != NULL) {
    uint32_t line, column;
    place_line_column(instr->place, &line, &column);
    buf_printf(buf, " (%.*s:%u:%u)", STR_ARG(instr->place.source->name), line, column);
  }
  buf_printf(buf, ", waiting for %s: ", knot->what);
  for (uint32_t i = 0; i < knot->waits.n && i < MOST_CHIPS; i++) {
    if (i > 0) buf_add(buf, STR(", "));
    add_chip(buf, execution, &knot->waits.at[i]);
  }
  if (knot->waits.n > MOST_CHIPS) buf_printf(buf, " and %u more", knot->waits.n - MOST_CHIPS);
}

Status deadlock_report(const Execution *execution) {
  Knots knots = {.arena = execution->arena};
  StrBuf buf = {.arena = execution->arena};
  actors_parked(execution->machine->actors, add_wait, &knots);
  for (uint32_t i = 0; i < knots.knots.n && i < MOST_LINES; i++)
    add_knot(&buf, execution, &knots.knots.at[i]);
  if (knots.knots.n > MOST_LINES) buf_printf(&buf, "\n  and in %u more", knots.knots.n - MOST_LINES);
  Place at = knots.knots.n == 0 ? NOWHERE : instr_of(execution, knots.knots.at[0].op)->place;
  return diag_fail(execution->diag, STATUS_DEADLOCK, at,
                   "all members of a group must come to the same collectives in the same order",
                   "deadlock: nothing can go on%.*s", STR_ARG(buf_str(&buf)));
}

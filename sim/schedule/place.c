/* Placement. In: the groups of a computation in their order; out: the values that never see HBM.
 *
 * The one idea: VMEM is a room that values share over time. Operands of products that are there from the
 * start come first. Then values are taken in the order of what they save, reads and the write; one that finds
 * room over its whole life gets it (as the TPU compiler's assignment of memory spaces does). The rest of VMEM
 * is left to the kernels' own windows. Parameters, results, what is sent and what loops, branches and calls
 * carry stay in HBM; what collectives bring, which may start long before it is used, comes after all else. */
#include "sim/schedule/place.h"
#include "models/tiling.h"
#include "sim/schedule/collective_time.h"
#include "sim/schedule/copies.h"
#include "sim/schedule/expected_starts.h"
#include "sim/schedule/schedule.h"
#include "sim/schedule/traffic.h"

#include <math.h>
#include <stdlib.h>

/* In the order in which they get room; before what gathers bring come copies beside the kernels. */
typedef enum { RANK_MADE, RANK_BLOCK, RANK_GATHER } Rank;

typedef struct {
  uint32_t value, born, dies; /* places of groups in their order */
  uint32_t uses, first_use;
  int64_t longest_gap_ps; /* between one use and the next */
  int64_t bytes;
  Rank rank;
  bool enters; /* as the first block of a ring that runs as a loop */
  bool early;  /* there as soon as the computation begins */
} Life;

typedef Vec(Life) Lives;

typedef struct {
  const Pod *pod;
  const Module *module;
  uint32_t comp;
  const Comp *body;
  const Groups *groups;
  Life *lives; /* by instruction */
  bool *stays; /* by instruction: in HBM */
  ExpectedStarts starts;
} Placer;

static bool carries(const Instr *instr) {
  Opcode op = instr->op;
  if (is_empty_buffer(instr)) return false;
  return op == OP_TUPLE || op == OP_GET_TUPLE_ELEMENT || op == OP_WHILE || op == OP_CONDITIONAL ||
         op == OP_CALL || op == OP_PARAMETER || op == OP_CONSTANT || op == OP_OPT_BARRIER ||
         op == OP_CUSTOM_CALL || op == OP_DYNAMIC_UPDATE_SLICE || op == OP_SCATTER ||
         op == OP_ALL_GATHER_START;
}

static bool passes_on(const Placer *placer, uint32_t at) {
  return groups_pass_on(placer->groups, placer->module, placer->comp, at);
}

/* What a collective brings, or a copy for a ring: it may be there long before it is used. */
static bool is_gathered(const Placer *placer, uint32_t at) {
  Opcode op = placer->body->instrs.at[at].op;
  return op == OP_ALL_GATHER || op == OP_COLLECTIVE_PERMUTE || (op == OP_COPY && placer->lives[at].enters);
}

/* A copy of what products pass on while they carry on its gathering. */
static bool is_carried(const Placer *placer, uint32_t value, uint32_t user) {
  return placer->body->instrs.at[user].op == OP_ALL_GATHER && placer->body->instrs.at[value].op == OP_COPY;
}

/* What is sent lies in HBM, but for a block that goes on round a ring, and such copies. */
static bool is_sent(const Placer *placer, uint32_t value, uint32_t user) {
  Opcode op = placer->body->instrs.at[user].op;
  bool goes_on = is_gathered(placer, value) || passes_on(placer, value);
  return (op == OP_ALL_GATHER && !is_carried(placer, value, user)) ||
         (op == OP_COLLECTIVE_PERMUTE && !goes_on);
}

/* The time from a place to the first use behind it, as the last of the gaps so far; uses come from the end.
 */
static void note_gap(const Placer *placer, Life *life, uint32_t place) {
  if (life->first_use == NO_ID || place > life->first_use) return;
  int64_t gap_ps = placer->starts.at_ps[life->first_use] - placer->starts.at_ps[place];
  if (gap_ps > life->longest_gap_ps) life->longest_gap_ps = gap_ps;
}

/* Where a collective starts, if it is to be through when its result is used. */
static uint32_t gather_starts(const Placer *placer, uint32_t gather) {
  uint32_t at = placer->lives[gather].first_use;
  double time_ps =
      collective_time(placer->pod, placer->module, placer->comp, &placer->body->instrs.at[gather]).ps;
  double start_ps = (double)placer->starts.at_ps[at] - time_ps;
  while (at > 0 && (double)placer->starts.at_ps[at] > start_ps) at--;
  return at;
}

/* A copy of what a gather sends stays until what it brings is used; products pass it on from its start. */
static void note_carried(Placer *placer, uint32_t value, uint32_t gather) {
  Life *life = &placer->lives[value];
  if (placer->lives[gather].first_use == NO_ID) return;
  life->rank = RANK_GATHER;
  life->dies = placer->lives[gather].first_use;
  life->first_use = gather_starts(placer, gather);
}

static void note_use(Placer *placer, uint32_t value, uint32_t user) {
  const Instr *instr = &placer->body->instrs.at[user];
  Life *life = &placer->lives[value], *next = &placer->lives[user];
  bool passes = passes_on(placer, user);
  bool outside = placer->groups->last[value] != placer->groups->last[user];
  uint32_t dies = passes ? next->dies : next->born;
  note_gap(placer, life, dies);
  if (passes && next->longest_gap_ps > life->longest_gap_ps) life->longest_gap_ps = next->longest_gap_ps;
  uint32_t first = passes ? next->first_use : next->born;
  if (first < life->first_use) life->first_use = first;
  if (dies > life->dies) life->dies = dies;
  if (passes || outside) life->uses += passes ? next->uses : 1; /* what is made anew is used where that is */
  if (is_carried(placer, value, user)) note_carried(placer, value, user);
  if (instr->op == OP_OPT_BARRIER || instr->op == OP_ADD_DEPENDENCY) life->enters = true;
  bool stays = passes ? placer->stays[user] : carries(instr) || is_sent(placer, value, user);
  if (stays) placer->stays[value] = true;
}

/* Where each group stands in the order, as the birth of all its members. */
static void find_births(Placer *placer) {
  uint32_t n = placer->body->instrs.n;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t leader = placer->groups->runs[i];
    Ids members = leader == NO_ID ? (Ids){NULL, 0} : group_members(placer->groups, leader);
    for (uint32_t k = 0; k < members.n; k++)
      placer->lives[members.at[k]] = (Life){.value = members.at[k], .born = i, .dies = i, .first_use = NO_ID};
  }
}

/* Whether a value is used often enough to stay: as the TPU compiler's assignment of memory spaces has it, no
 * use may come later than so many times a copy of all of VMEM takes; else it is better sent and brought back.
 */
static bool is_used_often(const Placer *placer, Life *life) {
  enum { LONGEST_STAY = 8 };
  const Pod *pod = placer->pod;
  note_gap(placer, life, life->born);
  double copy_s = (double)pod->vmem_bytes / (pod->hbm_bw_Bps * pod->hbm_efficiency);
  return (double)life->longest_gap_ps * 1e-12 <= LONGEST_STAY * copy_s;
}

static void find_lives(Placer *placer) {
  for (uint32_t i = placer->body->instrs.n; i-- > 0;) {
    const Instr *instr = &placer->body->instrs.at[i];
    if (i == placer->body->root || (carries(instr) && !passes_on(placer, i))) placer->stays[i] = true;
    Ids operands = values_needed(instr);
    for (uint32_t k = 0; k < operands.n; k++) note_use(placer, operands.at[k], i);
  }
}

/* The largest operand of the group's kernel that is there from the start and fits. */
static int64_t largest_given(Arena *scratch, const Placer *placer, uint32_t group, int64_t room_bytes) {
  Reads reads = group_reads(scratch, placer->pod, placer->module, placer->comp, placer->groups, group);
  int64_t most = 0;
  for (uint32_t i = 0; i < reads.n; i++) {
    uint32_t value = reads.at[i].value;
    bool whole = reads.at[i].bytes >= shape_bytes(placer->body->instrs.at[value].shape);
    bool given = whole && is_there_from_start(placer->body, value) && reads.at[i].bytes <= room_bytes;
    if (given && reads.at[i].bytes > most) most = reads.at[i].bytes;
  }
  return most;
}

/* Such an operand of a product, as a weight, is brought to VMEM while the product before runs. */
static void reserve_operands(Arena *scratch, const Placer *placer, VmemRoom *room) {
  uint32_t before = 0;
  for (uint32_t i = 0; i < placer->body->instrs.n; i++) {
    if (!placer->starts.multiplies[i]) continue;
    int64_t most = largest_given(scratch, placer, placer->groups->runs[i], room->bytes);
    if (most > 0 && !vmem_room_take(room, before, i, most)) vmem_room_take(room, i, i, most);
    before = i;
  }
}

/* What is gathered takes its room from where it may start: where the computation begins or its operand is
 * made; within a ring that runs as a loop when the block before is there. A ring that is none starts all of
 * its blocks early, in HBM. */
static void start_early(Placer *placer) {
  for (uint32_t i = 0; i < placer->body->instrs.n; i++) {
    const Instr *instr = &placer->body->instrs.at[i];
    Life *life = &placer->lives[i];
    bool gathered = is_gathered(placer, i);
    if (gathered) life->rank = instr->op == OP_ALL_GATHER ? RANK_GATHER : RANK_BLOCK;
    if (!gathered && !is_alias(placer->module, placer->comp, instr)) continue;
    uint32_t from = instr->operands.at[0];
    life->early = is_there_from_start(placer->body, from) || placer->lives[from].early;
    if (life->early || instr->op == OP_ALL_GATHER) life->born = life->early ? 0 : placer->lives[from].born;
    if (instr->op == OP_COLLECTIVE_PERMUTE && life->early && !life->enters) placer->stays[i] = true;
  }
}

/* In VMEM; what is sent lies beside what is gathered there, where it has no place of its own. */
static int64_t room_of(const Placer *placer, uint32_t at) {
  const Instr *instr = &placer->body->instrs.at[at];
  int64_t bytes = tiled_bytes(instr->shape);
  uint32_t sent = instr->operands.n > 0 ? instr->operands.at[0] : NO_ID;
  if (instr->op == OP_ALL_GATHER && !is_carried(placer, sent, at))
    bytes += tiled_bytes(placer->body->instrs.at[sent].shape);
  return bytes;
}

/* What links bring is there when it is used, and so is memory that nothing is written to yet. */
static bool may_wait(const Life *life, const Instr *instr) {
  return life->rank == RANK_GATHER || instr->op == OP_COLLECTIVE_PERMUTE || is_empty_buffer(instr);
}

static Lives candidates(Arena *arena, Placer *placer, int64_t room) {
  Lives lives = {0};
  for (uint32_t i = 0; i < placer->body->instrs.n; i++) {
    const Instr *instr = &placer->body->instrs.at[i];
    Life *life = &placer->lives[i];
    bool made = placer->groups->leaves[i] && shape_is_array(instr->shape) && !passes_on(placer, i);
    life->bytes = made ? room_of(placer, i) : 0;
    if (!made || placer->stays[i] || life->uses == 0 || life->bytes > room) continue;
    if (is_used_often(placer, life) || may_wait(life, instr)) VEC_PUSH(arena, &lives, *life);
  }
  return lives;
}

/* The traffic that it saves over the root of its size, as in XLA's assignment of memory spaces. */
static double gain_of(const Life *life) {
  return (1.0 + life->uses) * sqrt((double)life->bytes);
}

/* What is gathered comes after all else. */
static int by_gain(const void *left, const void *right) {
  const Life *a = left, *b = right;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  double gain_a = gain_of(a), gain_b = gain_of(b);
  if (gain_a != gain_b) return gain_a > gain_b ? -1 : 1;
  return a->value < b->value ? -1 : 1;
}

static void take_room(VmemRoom *room, const Lives *lives, uint32_t from, uint32_t to, Groups *groups) {
  for (uint32_t i = from; i < to; i++) {
    const Life *life = &lives->at[i];
    groups->in_vmem[life->value] = vmem_room_take(room, life->born, life->dies, life->bytes);
  }
}

void groups_place(Arena *arena, const Pod *pod, const Module *module, uint32_t comp, Groups *groups) {
  Arena *scratch = arena_new();
  const Comp *body = module_comp(module, comp);
  uint32_t n = body->instrs.n;
  Placer placer = {pod,
                   module,
                   comp,
                   body,
                   groups,
                   ARENA_ARRAY(scratch, Life, n),
                   ARENA_ARRAY(scratch, bool, n),
                   expected_starts(scratch, pod, module, comp, groups)};
  find_births(&placer);
  find_lives(&placer);
  start_early(&placer);
  int64_t bytes = pod->vmem_bytes - pod->vmem_windows_bytes;
  Lives lives = candidates(scratch, &placer, bytes);
  if (lives.n != 0) qsort(lives.at, lives.n, sizeof *lives.at, by_gain);
  VmemRoom room = vmem_room_new(scratch, bytes, n);
  if (comp == module->entry) reserve_operands(scratch, &placer, &room);
  groups->in_vmem = ARENA_ARRAY(arena, bool, n);
  uint32_t first = 0;
  while (first < lives.n && lives.at[first].rank < RANK_GATHER) first++;
  take_room(&room, &lives, 0, first, groups);
  copies_place(arena, pod, module, comp, groups, &room);
  take_room(&room, &lives, first, lives.n, groups);
  arena_free(scratch);
}

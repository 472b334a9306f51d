/* The choice of collective matmuls. In: a partitioned program and the pod. Out: the program with those
 * products windowed where that is expected to be faster.
 *
 * The one idea is the rule of XLA's SPMD partitioner: a window is worth it where the longer of product (on
 * the MXU alone) and ring, and the ring's first and last step, which nothing hides, take less than product
 * and collective one after the other, and the ring is not too long. What the collective could hide behind
 * other products is not looked at, nor what more kernels cost: the TPU compiler does not either, and podsim
 * is to foretell its programs. */
#include "sim/collective_matmul.h"

#include "models/demand.h"
#include "models/ici_model.h"
#include "sim/engine/group_ring.h"
#include "sim/partition/windowed_dot.h"

typedef struct {
  const Partitioned *partitioned;
  const Pod *pod;
  const uint32_t *chip_of;
  Arena *scratch;
} Chooser;

typedef struct {
  double collective_s, ring_s; /* of the slowest group */
} Times;

/* Bytes of the whole gathered or scattered value. */
static double whole_bytes(const Chooser *chooser, const WindowedDot *dot) {
  const Module *module = chooser->partitioned->module;
  const Instr *product = comp_instr(module, dot->comp, dot->dot);
  if (dot->operand == NO_ID) return (double)shape_bytes(product->shape);
  return (double)shape_bytes(comp_instr(module, dot->comp, product->operands.at[dot->operand])->shape);
}

/* Lays each group on the torus: fills in its ring, and raises the times. */
static void lay_group(const Chooser *chooser, WindowedDot *dot, uint32_t g, Times *times) {
  const Pod *pod = chooser->pod;
  const GroupList *groups = &dot->groups;
  uint32_t n = groups->start[1];
  uint32_t *chips = ARENA_ARRAY(chooser->scratch, uint32_t, n);
  for (uint32_t i = 0; i < n; i++) chips[i] = chooser->chip_of[groups->ids[groups->start[g] + i]];
  const GroupLayout *layout = group_layout(chooser->scratch, pod, chips, n);
  GroupRing ring = group_ring(chooser->scratch, pod, layout);
  for (uint32_t p = 0; p < n; p++) dot->rings[g * n + p] = ring.members[p];
  IciCost cost = ici_cost(pod);
  double bytes = whole_bytes(chooser, dot), steps = (n - 1) / 2.0; /* either way */
  double collective_s = collective_expected_seconds(
      pod, dot->operand == NO_ID ? COLLECTIVE_REDUCE_SCATTER : COLLECTIVE_ALL_GATHER, layout->shape, bytes);
  double ring_s = steps * ici_seconds(cost, 1, bytes / n * ring.load);
  if (collective_s > times->collective_s) times->collective_s = collective_s;
  if (ring_s > times->ring_s) times->ring_s = ring_s;
}

static bool is_worth_it(const Chooser *chooser, WindowedDot *dot) {
  enum { MOST_DEVICES = 32 }; /* max_windowed_einsum_iteration of XLA's partitioner, by default */
  bool on = str_is(chooser->pod->collective_matmul, "on");
  if (!on && dot->groups.start[1] > MOST_DEVICES) return false;
  const Module *module = chooser->partitioned->module;
  Times times = {0};
  dot->rings = ARENA_ARRAY(chooser->scratch, uint32_t, dot->groups.start[dot->groups.n]);
  for (uint32_t g = 0; g < dot->groups.n; g++) lay_group(chooser, dot, g, &times);
  if (on) return true;
  const Instr *product = comp_instr(module, dot->comp, dot->dot);
  double product_s = (double)demand_of_units(chooser->pod, module, dot->comp, product).mxu_ps * 1e-12;
  double longer_s = product_s > times.ring_s ? product_s : times.ring_s;
  return longer_s + times.ring_s * 2 / dot->groups.start[1] < product_s + times.collective_s;
}

/* Of an all-gather of several operands all parts or none. */
static uint32_t parts_chosen(const WindowedDots *dots, const WindowedDot *dot) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < dots->n; i++)
    n += dots->at[i].comp == dot->comp && dots->at[i].collective == dot->collective;
  return n;
}

static void choose(const Chooser *chooser, WindowedDots *dots) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < dots->n; i++)
    if (is_worth_it(chooser, &dots->at[i])) dots->at[n++] = dots->at[i];
  WindowedDots chosen = {.at = arena_copy(chooser->scratch, dots->at, n * sizeof *dots->at), .n = n};
  dots->n = 0;
  for (uint32_t i = 0; i < n; i++) {
    const Instr *instr = comp_instr(chooser->partitioned->module, chosen.at[i].comp, chosen.at[i].collective);
    if (parts_chosen(&chosen, &chosen.at[i]) == instr->operands.n) dots->at[dots->n++] = chosen.at[i];
  }
}

static Status check_setting(Str setting, Diag *diag) {
  RETURN_IF(!str_is(setting, "auto") && !str_is(setting, "on") && !str_is(setting, "off"),
            diag_fail(diag, STATUS_USAGE, NOWHERE, NULL,
                      "run.collective_matmul is auto, on or off, not '%.*s'", STR_ARG(setting)));
  return STATUS_OK;
}

Status collective_matmuls(const Partitioned *partitioned, const Pod *pod, const uint32_t *chip_of,
                          Partitioned **run, Diag *diag) {
  *run = (Partitioned *)partitioned;
  TRY(check_setting(pod->collective_matmul, diag));
  if (str_is(pod->collective_matmul, "off") || module_is_scheduled(partitioned->module)) return STATUS_OK;
  Chooser chooser = {partitioned, pod, chip_of, arena_new()};
  WindowedDots dots = windowed_dots_find(chooser.scratch, partitioned);
  choose(&chooser, &dots);
  if (dots.n > 0) *run = partitioned_window(partitioned, &dots);
  arena_free(chooser.scratch);
  return STATUS_OK;
}

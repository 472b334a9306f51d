/* Plans: see plan.h. Every factor has options: how the operands and the wanted results cut it, what two of
 * those share in front, and not at all. Combinations are tried one by one; where they are too many, factor by
 * factor from a good start. */
#include "sim/partition/plan.h"

#include "sim/partition/reshard.h"

#include <math.h>

enum { OPTIONS = 8, COMBINATIONS = 300 };

typedef struct {
  AxisList at[OPTIONS];
  uint32_t n;
} FactorOptions;

typedef struct {
  Spmd *spmd;
  const PlanProblem *problem;
  FactorOptions *options; /* an entry a factor */
  uint32_t *chosen;       /* an option a factor */
  bool product;           /* a dot: as XLA chooses it */
  AxisList alike;         /* of a product: along which both operands have the same parts of the contraction */
} Choice;

static void option_add(FactorOptions *options, AxisList axes) {
  for (uint32_t i = 0; i < options->n; i++)
    if (axes_eq(options->at[i], axes)) return;
  if (options->n < OPTIONS) options->at[options->n++] = axes;
}

/* --- from shardings to factors and back --- */

/* Takes from the front of `axes` what cuts a factor of `size` evenly; `whole`: the factor is all there is,
 * and takes all. */
static AxisList take_axes(Spmd *spmd, AxisList *axes, int64_t size, bool whole) {
  AxisList taken = {ARENA_ARRAY(spmd->scratch, AxisRef, axes->n + 1), 0}, rest = {0};
  if (whole) {
    taken = *axes;
    *axes = rest;
    return taken;
  }
  while (axes->n != 0 && size > 1) {
    AxisRef first = axes->at[0], part = first;
    if (size % first.size != 0) {
      if (first.size % size != 0) break;
      part.size = size; /* the rest of the axis goes to the next factor */
    }
    taken.at[taken.n++] = part;
    size /= part.size;
    *axes = axes_after_prefix(spmd->scratch, spmd->mesh, *axes, (AxisList){&part, 1});
  }
  if (size > 1) *axes = rest; /* the minor factors cannot be cut where this one is not cut to its end */
  return taken;
}

static void tensor_options(Choice *choice, const TensorFactors *tensor, const Sharding *sharding) {
  const FactorRule *rule = choice->problem->rule;
  for (uint32_t d = 0; d < tensor->rank; d++) {
    AxisList axes = sharding->dims[d].axes;
    Ids factors = tensor->dims[d];
    for (uint32_t i = 0; i < factors.n && axes.n != 0; i++) {
      uint32_t f = factors.at[i];
      AxisList taken = take_axes(choice->spmd, &axes, rule->factors[f].size, factors.n == 1);
      if (taken.n != 0) option_add(&choice->options[f], taken);
    }
  }
}

const Sharding *plan_sharding(Spmd *spmd, const Plan *plan, const TensorFactors *tensor, bool unreduced) {
  Sharding *sharding = arena_copy(
      spmd->arena, sharding_replicated(spmd->arena, spmd->mesh, tensor->rank, false), sizeof(Sharding));
  for (uint32_t d = 0; d < tensor->rank; d++)
    for (uint32_t i = 0; i < tensor->dims[d].n; i++)
      sharding->dims[d].axes =
          axes_concat(spmd->arena, spmd->mesh, sharding->dims[d].axes, plan->axes[tensor->dims[d].at[i]]);
  if (unreduced) sharding->unreduced = plan_reduced_axes(spmd, plan);
  return sharding;
}

AxisList plan_reduced_axes(Spmd *spmd, const Plan *plan) {
  AxisList axes = {0};
  for (uint32_t f = 0; f < plan->rule->n_factors; f++)
    if (plan->rule->factors[f].kind == FACTOR_REDUCTION)
      axes = axes_concat(spmd->arena, spmd->mesh, axes, plan->axes[f]);
  return axes;
}

/* --- the choice --- */

static Plan plan_of(const Choice *choice) {
  const FactorRule *rule = choice->problem->rule;
  Plan plan = {.rule = rule, .axes = ARENA_ARRAY(choice->spmd->scratch, AxisList, rule->n_factors + 1)};
  for (uint32_t f = 0; f < rule->n_factors; f++) plan.axes[f] = choice->options[f].at[choice->chosen[f]];
  return plan;
}

/* Of several factors in a dimension a minor one is cut only where the major ones are cut to their ends, and
 * all evenly. */
static bool tensor_allows(const Plan *plan, const TensorFactors *tensor) {
  for (uint32_t d = 0; d < tensor->rank; d++) {
    Ids factors = tensor->dims[d];
    bool full = true;
    for (uint32_t i = 0; factors.n > 1 && i < factors.n; i++) {
      int64_t size = plan->rule->factors[factors.at[i]].size, shards = axes_size(plan->axes[factors.at[i]]);
      if (shards > 1 && (!full || size % shards != 0)) return false;
      full = full && shards == size;
    }
  }
  return true;
}

bool tensor_has(const TensorFactors *tensor, uint32_t factor) {
  for (uint32_t d = 0; d < tensor->rank; d++)
    for (uint32_t i = 0; i < tensor->dims[d].n; i++)
      if (tensor->dims[d].at[i] == factor) return true;
  return false;
}

/* What is cut must stay cut in every result, or be reduced. */
static bool factor_survives(const FactorRule *rule, uint32_t factor) {
  if (rule->factors[factor].kind == FACTOR_REDUCTION) return true;
  for (uint32_t i = 0; i < rule->n_results; i++)
    if (!tensor_has(&rule->results[i], factor)) return false;
  return true;
}

/* A dimension is cut only where it is the product of its factors: the rule of an op that takes a part of a
 * dimension says what goes together, not that the parts can be cut apart. */
static bool dims_are_whole(const Plan *plan, const TensorFactors *tensor, const Shape *shape) {
  for (uint32_t d = 0; d < tensor->rank; d++) {
    int64_t product = 1;
    bool cut = false;
    for (uint32_t i = 0; i < tensor->dims[d].n; i++) {
      product *= plan->rule->factors[tensor->dims[d].at[i]].size;
      cut = cut || plan->axes[tensor->dims[d].at[i]].n != 0;
    }
    if (cut && product != shape->dims[d]) return false;
  }
  return true;
}

static bool shapes_allow(const PlanProblem *problem, const Plan *plan) {
  const FactorRule *rule = plan->rule;
  if (problem->own_cost != NULL) return true; /* the handler sees to it */
  for (uint32_t f = 0; problem->regroups && f < rule->n_factors; f++)
    if (plan->axes[f].n != 0 && !tensor_has(&rule->operands[0], f)) return false;
  for (uint32_t i = 0; i < rule->n_operands; i++)
    if (!dims_are_whole(plan, &rule->operands[i], problem->operands[i].global)) return false;
  for (uint32_t i = 0; i < rule->n_results; i++)
    if (!dims_are_whole(plan, &rule->results[i], problem->results[i])) return false;
  return true;
}

static bool plan_allowed(const Plan *plan) {
  const FactorRule *rule = plan->rule;
  for (uint32_t f = 0; f < rule->n_factors; f++)
    if (plan->axes[f].n != 0 && !factor_survives(rule, f)) return false;
  for (uint32_t f = 0; f < rule->n_factors; f++)
    for (uint32_t g = 0; g < f; g++)
      if (axes_overlap(plan->axes[f], plan->axes[g])) return false;
  for (uint32_t i = 0; i < rule->n_operands; i++)
    if (!tensor_allows(plan, &rule->operands[i])) return false;
  for (uint32_t i = 0; i < rule->n_results; i++)
    if (!tensor_allows(plan, &rule->results[i])) return false;
  return true;
}

static double cut_size(int64_t size, int64_t shards) {
  int64_t rounded_up = (size + shards - 1) / shards;
  return (double)rounded_up;
}

static double local_elements(const Plan *plan, const TensorFactors *tensor, const Shape *global) {
  double elements = 1;
  for (uint32_t d = 0; d < tensor->rank; d++) {
    int64_t shards = 1;
    for (uint32_t i = 0; i < tensor->dims[d].n; i++) shards *= axes_size(plan->axes[tensor->dims[d].at[i]]);
    elements *= cut_size(global->dims[d], shards);
  }
  return elements;
}

static double compute_cost(const PlanProblem *problem, const Plan *plan) {
  const FactorRule *rule = plan->rule;
  double points = 1, largest = 0;
  for (uint32_t f = 0; f < rule->n_factors; f++)
    points *= cut_size(rule->factors[f].size, axes_size(plan->axes[f]));
  for (uint32_t i = 0; i < rule->n_operands; i++)
    largest = fmax(largest, local_elements(plan, &rule->operands[i], problem->operands[i].global));
  for (uint32_t i = 0; i < rule->n_results; i++)
    largest = fmax(largest, local_elements(plan, &rule->results[i], problem->results[i]));
  return (problem->contracts ? points : largest) * problem->point_cost_bytes;
}

static double result_cost(const Choice *choice, const Plan *plan, uint32_t i) {
  const PlanProblem *problem = choice->problem;
  const Sharding *made = plan_sharding(choice->spmd, plan, &problem->rule->results[i], true);
  double bytes = reshard_cost_between(choice->spmd, problem->results[i], made, problem->wanted[i]);
  AxisList sums = plan_reduced_axes(choice->spmd, plan);
  bool as_all_reduce = choice->product && sums.n != 0 && !axes_overlap(sums, choice->alike);
  return as_all_reduce ? 2 * bytes : bytes;
}

/* Bytes on the wire of the plan that is chosen now; infinite where it may not be. */
static double wire_cost(const Choice *choice) {
  const PlanProblem *problem = choice->problem;
  Plan plan = plan_of(choice);
  if (!plan_allowed(&plan) || !shapes_allow(problem, &plan)) return 1e300;
  double cost = problem->own_cost == NULL ? 0 : problem->own_cost(problem->self, problem, &plan);
  for (uint32_t i = 0; i < problem->rule->n_operands; i++)
    cost += reshard_cost(choice->spmd, &problem->operands[i],
                         plan_sharding(choice->spmd, &plan, &problem->rule->operands[i], false)) /
            (problem->shared == NULL ? 1 : problem->shared[i]);
  for (uint32_t i = 0; i < problem->rule->n_results; i++) cost += result_cost(choice, &plan, i);
  return cost;
}

static double total_cost(const Choice *choice) {
  double wire = wire_cost(choice);
  if (wire >= 1e300) return wire;
  Plan plan = plan_of(choice);
  return wire + compute_cost(choice->problem, &plan);
}

static bool next_combination(const Choice *choice) {
  for (uint32_t f = 0; f < choice->problem->rule->n_factors; f++) {
    if (++choice->chosen[f] < choice->options[f].n) return true;
    choice->chosen[f] = 0;
  }
  return false;
}

static void choose_of_all(Choice *choice) {
  size_t bytes = choice->problem->rule->n_factors * sizeof *choice->chosen;
  uint32_t *best = arena_copy(choice->spmd->scratch, choice->chosen, bytes);
  double least = 1e301;
  do {
    double cost = total_cost(choice);
    if (cost < least) {
      least = cost;
      memcpy(best, choice->chosen, bytes);
    }
  } while (next_combination(choice));
  memcpy(choice->chosen, best, bytes);
}

static void choose_by_factor(Choice *choice) {
  uint32_t n = choice->problem->rule->n_factors;
  for (uint32_t f = 0; f < n; f++) choice->chosen[f] = choice->options[f].n - 1; /* not at all */
  double least = total_cost(choice);
  for (bool better = true; better;) {
    better = false;
    for (uint32_t f = 0; f < n; f++) {
      uint32_t best = choice->chosen[f];
      for (uint32_t o = 0; o < choice->options[f].n; o++) {
        choice->chosen[f] = o;
        double cost = total_cost(choice);
        if (cost >= least) continue;
        least = cost;
        best = o;
        better = true;
      }
      choice->chosen[f] = best;
    }
  }
}

/* Axes of dimensions that the op must see whole may move to those that it may cut, and back. */
static void add_displaced(Choice *choice) {
  const PlanProblem *problem = choice->problem;
  const FactorRule *rule = problem->rule;
  AxisList displaced = {0};
  for (uint32_t d = 0; rule->n_operands != 0 && d < rule->operands[0].rank; d++) {
    Ids factors = rule->operands[0].dims[d];
    bool whole = factors.n == 1 && (rule->factors[factors.at[0]].kind == FACTOR_NEED_REPLICATION ||
                                    rule->factors[factors.at[0]].kind == FACTOR_PERMUTATION);
    AxisList axes = problem->operands[0].sharding->dims[d].axes;
    if (whole) displaced = axes_concat(choice->spmd->scratch, choice->spmd->mesh, displaced, axes);
  }
  for (uint32_t f = 0; f < rule->n_factors && displaced.n != 0; f++) {
    FactorOptions *options = &choice->options[f];
    if (rule->factors[f].kind != FACTOR_PASS_THROUGH) continue;
    for (uint32_t i = options->n; i-- > 0;)
      if (!axes_overlap(options->at[i], displaced))
        option_add(options,
                   axes_concat(choice->spmd->scratch, choice->spmd->mesh, options->at[i], displaced));
    option_add(options, displaced);
  }
}

/* Shared fronts of what is there, then "not at all", behind the options that shardings gave. */
static void complete_options(Choice *choice, uint32_t f) {
  FactorOptions *options = &choice->options[f];
  FactorKind kind = choice->problem->rule->factors[f].kind;
  bool may_cut = kind == FACTOR_PASS_THROUGH || (kind == FACTOR_REDUCTION && choice->problem->reduces);
  uint32_t given = may_cut ? options->n : 0;
  options->n = given;
  for (uint32_t i = 0; i < given; i++)
    for (uint32_t k = 0; k < i && options->n < OPTIONS - 1; k++)
      option_add(options, axes_common_prefix(choice->spmd->scratch, choice->spmd->mesh, options->at[i],
                                             options->at[k]));
  if (options->n == OPTIONS) options->n--;
  option_add(options, (AxisList){0});
}

static FactorOptions *options_of(Choice *choice, const TensorFactors *tensor, const Sharding *sharding) {
  Choice alone = *choice;
  alone.options = ARENA_ARRAY(choice->spmd->scratch, FactorOptions, choice->problem->rule->n_factors + 1);
  tensor_options(&alone, tensor, sharding);
  return alone.options;
}

/* XLA computes a product in the parts that its result is to have and brings the operands to that: FSDP
 * gathers weights, also where the activations are smaller. Sums over parts that an operand has are the other
 * way: the only one where both operands have them and the result is to have none of those parts. Where only
 * one operand has them, XLA counts them as an all-reduce, though of the sum only a part may be wanted. */
static void follow_product(Choice *choice) {
  const FactorRule *rule = choice->problem->rule;
  const Sharded *operands = choice->problem->operands;
  Arena *scratch = choice->spmd->scratch;
  const FactorOptions *lhs = options_of(choice, &rule->operands[0], operands[0].sharding);
  const FactorOptions *rhs = options_of(choice, &rule->operands[1], operands[1].sharding);
  const FactorOptions *result = options_of(choice, &rule->results[0], choice->problem->wanted[0]);
  AxisList contracted = {0}, wanted = {0};
  for (uint32_t f = 0; f < rule->n_factors; f++)
    if (result[f].n != 0) wanted = axes_concat(scratch, choice->spmd->mesh, wanted, result[f].at[0]);
  for (uint32_t f = 0; f < rule->n_factors; f++) {
    if (rule->factors[f].kind != FACTOR_REDUCTION) continue;
    bool alike = lhs[f].n != 0 && rhs[f].n != 0 && axes_eq(lhs[f].at[0], rhs[f].at[0]);
    if (lhs[f].n != 0) contracted = axes_concat(scratch, choice->spmd->mesh, contracted, lhs[f].at[0]);
    if (rhs[f].n != 0 && !alike)
      contracted = axes_concat(scratch, choice->spmd->mesh, contracted, rhs[f].at[0]);
    if (alike) choice->alike = axes_concat(scratch, choice->spmd->mesh, choice->alike, lhs[f].at[0]);
    if (alike && !axes_overlap(lhs[f].at[0], wanted)) choice->options[f] = lhs[f];
  }
  for (uint32_t f = 0; f < rule->n_factors; f++)
    if (result[f].n != 0 && !axes_overlap(result[f].at[0], contracted)) choice->options[f] = result[f];
}

Plan plan_choose(Spmd *spmd, const PlanProblem *problem) {
  const FactorRule *rule = problem->rule;
  Choice choice = {.spmd = spmd, .problem = problem};
  choice.product = problem->contracts && problem->own_cost == NULL && rule->n_operands == 2;
  choice.options = ARENA_ARRAY(spmd->scratch, FactorOptions, rule->n_factors + 1);
  choice.chosen = ARENA_ARRAY(spmd->scratch, uint32_t, rule->n_factors + 1);
  for (uint32_t i = 0; i < rule->n_results; i++)
    tensor_options(&choice, &rule->results[i], problem->wanted[i]);
  for (uint32_t i = 0; i < rule->n_operands; i++)
    tensor_options(&choice, &rule->operands[i], problem->operands[i].sharding);
  add_displaced(&choice);
  uint32_t combinations = 1;
  for (uint32_t f = 0; f < rule->n_factors; f++) {
    complete_options(&choice, f);
    if (combinations <= COMBINATIONS) combinations *= choice.options[f].n;
  }
  if (choice.product) follow_product(&choice);
  if (wire_cost(&choice) == 0) return plan_of(&choice); /* all agree */
  if (combinations <= COMBINATIONS)
    choose_of_all(&choice);
  else
    choose_by_factor(&choice);
  Plan plan = plan_of(&choice);
  plan.cost = total_cost(&choice);
  return plan;
}

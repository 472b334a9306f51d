/* Plans: along which mesh axes each factor of an op is cut while the op runs. Internal to sim/partition. */
#pragma once

#include "sim/partition/spmd.h"
#include "sim/shard/rules.h"

typedef struct {
  const FactorRule *rule;
  AxisList *axes; /* an entry a factor */
  double cost;    /* in bytes on the wire */
} Plan;

typedef struct PlanProblem PlanProblem;

/* Bytes on the wire that an op itself needs under a plan; HUGE_VAL where it cannot be cut so. */
typedef double (*OwnCost)(void *self, const PlanProblem *problem, const Plan *plan);

/* What a plan is chosen from. */
struct PlanProblem {
  const FactorRule *rule;
  const Sharded *operands; /* an entry an operand of the rule */
  const uint32_t *shared;  /* ops that need the operand likewise, this one included; NULL: only this one */
  const Sharding *const *wanted; /* an entry a result */
  const Shape *const *results;   /* global shapes */
  bool reduces;                  /* whether reduction factors may be cut (the result is then unreduced) */
  double point_cost_bytes;       /* of an element of its largest array, in bytes on the wire */
  bool contracts;                /* a dot or a convolution: of a point of its iteration space */
  bool regroups;    /* a reshape: no part of its operand makes a part of what the result alone has */
  OwnCost own_cost; /* NULL: none */
  void *self;       /* of own_cost */
};

/* The cheapest plan: bytes on the wire to bring the operands to it and its results to where they are wanted,
 * and the time of the op itself told in such bytes. */
Plan plan_choose(Spmd *spmd, const PlanProblem *problem);

/* The sharding that an operand or a result has under a plan; with `unreduced`, over the axes of the reduction
 * factors too. */
const Sharding *plan_sharding(Spmd *spmd, const Plan *plan, const TensorFactors *tensor, bool unreduced);
/* The axes of all reduction factors, in the order of the factors. */
AxisList plan_reduced_axes(Spmd *spmd, const Plan *plan);
/* Whether a factor is in a dimension of the tensor. */
bool tensor_has(const TensorFactors *tensor, uint32_t factor);

/* Shardings of an op's tensors, projected on the factors of its rule: the form in which they are compared and
 * extended. */
#pragma once

#include "sim/shard/rules.h"
#include "sim/shard/sharding.h"

/* How one tensor is sharded along one factor. */
typedef struct {
  bool present;      /* the tensor has the factor at all */
  bool closed;       /* may not be extended */
  bool minor_most;   /* of its dimension: the last factor, which need not be divided evenly */
  AxisList axes;     /* major to minor */
  AxisList overflow; /* axes of the dimension behind these that the factor's size cannot take */
} FactorSharding;

typedef struct {
  FactorSharding *factors; /* an entry a factor of the rule */
  AxisList replicated, unreduced;
  bool changed;
} TensorProjection;

typedef struct {
  Arena *arena;
  const Mesh *mesh;
  const FactorRule *rule;
  TensorProjection *tensors; /* operands, then results */
  uint32_t n_tensors;
} Projection;

/* `shardings`: an entry an operand and then one a result; NULL is open and without axes. */
Projection projection_of(Arena *arena, const Mesh *mesh, const FactorRule *rule,
                         const Sharding *const *shardings);
/* Back to a sharding of tensor `t`; `before` gives what a projection leaves out. Axes behind a factor that is
 * not fully sharded are dropped, since they would need a strided view. */
const Sharding *projection_sharding(const Projection *projection, uint32_t t, const Sharding *before);
/* Dimensions of the tensor as lists of factors. */
const TensorFactors *projection_dims(const Projection *projection, uint32_t t);

typedef enum {
  DIRECTION_NONE = 0,
  DIRECTION_FORWARD = 1,
  DIRECTION_BACKWARD = 2,
  DIRECTION_BOTH = 3
} Direction;

/* One step of the aggressive strategy: extends the axes of every tensor along every factor as far as the
 * tensors agree, and marks the tensors that changed. `directions` has an entry a factor. `source` gets for
 * every tensor the index of the tensor that its first new axes came from. */
void projection_propagate(Projection *projection, const Direction *directions, bool elementwise,
                          uint32_t *source);

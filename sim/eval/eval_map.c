/* map: a computation of scalars applied to each element. */
#include "sim/eval/evaluators.h"

#include <stdlib.h>

Status eval_map(const EvalContext *context, const Instr *instr, Tensor *const *operands, Tensor **result) {
  uint32_t n = instr->operands.n;
  int64_t elements = shape_elements(instr->shape);
  Tensor **vectors = calloc(n + 1, sizeof *vectors), *mapped = NULL;
  for (uint32_t i = 0; i < n; i++) vectors[i] = tensor_reshaped(operands[i], &elements, 1);
  Status status = comp_map(context, instr_comp(instr, ATTR_to_apply), vectors, n, elements, &mapped);
  if (status == STATUS_OK) *result = tensor_reshaped(mapped, instr->shape->dims, instr->shape->rank);
  tensor_release(mapped);
  for (uint32_t i = 0; i < n; i++) tensor_release(vectors[i]);
  free(vectors);
  return status;
}

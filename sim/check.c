/* --check: the unpartitioned program on the lockstep interpreter, compared output by output. */
#include "sim/check.h"

#include "sim/eval/compare_tensors.h"
#include "sim/region_boxes.h"

#include <stdio.h>

enum { TRIPS_MOST = 1000000 };

/* Leaf `i` of a root: the root itself where it is no tuple. */
static Tensor *leaf_of(Tensor *root, uint32_t i) {
  return root->dtype == DTYPE_TUPLE ? root->parts[i] : root;
}

static bool compare_output(const Pipeline *pipeline, uint32_t i, const Tensor *expected) {
  const Tensor *found = pipeline->outputs[i];
  TensorDifference difference = tensor_compare(expected, found, dtype_tolerance(found->dtype));
  Str text = tensor_difference_text(pipeline->arena, expected, &difference);
  printf("%-14sout%u %s: %.*s\n", i == 0 ? "check" : "", i, difference.outside == 0 ? "agrees" : "DIFFERS",
         STR_ARG(text));
  return difference.outside == 0;
}

Status check_numbers(const Pipeline *pipeline, Diag *diag) {
  if (pipeline->flat == NULL) {
    return diag_fail(diag, STATUS_INVALID, NOWHERE, "check the program that it was made from",
                     "--check needs the unpartitioned program; this one came partitioned");
  }
  if (!pipeline->numbers) {
    return diag_fail(diag, STATUS_FAILED, NOWHERE, "--numbers on computes them",
                     "--check needs the numbers, which are off");
  }
  Tensor *root = NULL;
  TRY(unpartitioned_run(pipeline->flat, pipeline->inputs, TRIPS_MOST, &root, diag));
  uint32_t differ = 0;
  for (uint32_t i = 0; i < pipeline->n_outputs; i++) differ += !compare_output(pipeline, i, leaf_of(root, i));
  tensor_release(root);
  RETURN_IF(differ == 0, STATUS_OK);
  return diag_fail(diag, STATUS_FAILED, NOWHERE, NULL,
                   "%u of %u outputs differ from the unpartitioned program's", differ, pipeline->n_outputs);
}

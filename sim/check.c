/* --check: the unpartitioned program on the lockstep interpreter, compared output by output. */
#include "sim/check.h"

#include "sim/eval/compare_tensors.h"
#include "sim/region_boxes.h"

#include <stdio.h>

enum { TRIPS_MOST = 1000000, OUTPUTS_SHOWN = 4 };

/* Leaf `i` of a root: the root itself where it is no tuple. */
static Tensor *leaf_of(Tensor *root, uint32_t i) {
  return root->dtype == DTYPE_TUPLE ? root->parts[i] : root;
}

static void print_output(const Pipeline *pipeline, uint32_t i, const Tensor *expected,
                         const TensorDifference *difference) {
  Str text = tensor_difference_text(pipeline->arena, expected, difference);
  printf("out%u %s: %.*s", i, difference->outside == 0 ? "agrees" : "DIFFERS", STR_ARG(text));
}

/* A line an output, those that differ first, and how many lines more there would be. */
static uint32_t compare_outputs(const Pipeline *pipeline, Tensor *root) {
  uint32_t n = pipeline->n_outputs, differ = 0, shown = 0;
  TensorDifference *differences = ARENA_ARRAY(pipeline->arena, TensorDifference, n);
  for (uint32_t i = 0; i < n; i++) {
    const Tensor *found = pipeline->outputs[i];
    differences[i] = tensor_compare(leaf_of(root, i), found, dtype_tolerance(found->dtype));
    differ += differences[i].outside != 0;
  }
  for (int agrees = 0; agrees < 2; agrees++) {
    for (uint32_t i = 0; i < n && shown < OUTPUTS_SHOWN; i++) {
      if ((differences[i].outside == 0) != agrees) continue;
      printf("%-14s", shown++ == 0 ? "check" : "");
      print_output(pipeline, i, leaf_of(root, i), &differences[i]);
      if (shown == OUTPUTS_SHOWN && differ > shown) {
        printf("; %u more differ", differ - shown);
      } else if (shown == OUTPUTS_SHOWN && n > shown) {
        printf("; %u more agree", n - shown);
      }
      putchar('\n');
    }
  }
  return differ;
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
  uint32_t differ = compare_outputs(pipeline, root);
  tensor_release(root);
  RETURN_IF(differ == 0, STATUS_OK);
  return diag_fail(diag, STATUS_FAILED, NOWHERE, NULL,
                   "%u of %u outputs differ from the unpartitioned program's", differ, pipeline->n_outputs);
}
